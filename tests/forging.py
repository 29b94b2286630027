"""Files of models changed by hand, as a forger does it: with the checksum of what they hold now."""

import json
import zipfile

from negcorr.storage.model_files import ENVELOPE, digest_of


def members_of(file):
    """What a file of a model holds, by name."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def resealed(members):
    """The members with the right checksum, where there is an envelope to hold one."""
    try:
        envelope = json.loads(members[ENVELOPE])
        rest = [(name, data) for name, data in members.items() if name != ENVELOPE]
        envelope["sha256"] = digest_of(envelope, rest)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return members
    return members | {ENVELOPE: json.dumps(envelope).encode()}


def write_members(file, members, packing=zipfile.ZIP_STORED):
    """Write members to a file as they are; return the file."""
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file
