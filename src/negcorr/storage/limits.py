"""Limits on what a file of a model may make of its bytes, kept before anything is built.

A file is small beside what a few of its bytes can ask for: texts that unpack to a thousand times
their size, arrays that say that they are larger than they are, one array that is read for each of a
million names. Each limit has a name, and a file beyond it is refused by that name.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.memory import available_bytes, in_words
from negcorr.exceptions import ModelFileError

__all__ = ["MOST_NAME", "MOST_TEXT", "check_arrays", "check_members", "check_nodes", "check_size"]

#: Share of the free memory that one file may take.
SHARE_OF_FREE = 0.8

#: Bytes that each of the two texts may unpack to. The objects that are made of a text take up to
#: fifty times its bytes, and a second for each million of them.
MOST_TEXT, OBJECTS_PER_BYTE = 24 * 2**20, 50

#: Bytes that sparse matrices, the only packed arrays, may unpack to: this, or a multiple of the
#: bytes of the file.
MOST_UNPACKED, UNPACKED_SHARE = 64 * 2**20, 50

#: Ways of packing: the others unpack a whole block at once, however large it becomes.
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

#: Members of the file.
MOST_MEMBERS = 100_000

#: Parts of the description within one another; a pipeline of a search of an ensemble has fifty.
MOST_DEPTH = 200

#: Copies of a file's bytes that there are at most while a model is built of them.
COPIES = 4

#: Longest name of a class or a module.
MOST_NAME = 500


def beyond(path: Path, limit: str, found: str, allowed: str) -> ModelFileError:
    """The error about a file beyond a limit, by the limit's name."""
    return ModelFileError(path, f"is beyond the limit on {limit}: {found}, and {allowed} at most.")


def check_size(path: Path, n_bytes: int) -> None:
    """Refuse a file that would not fit into memory."""
    allowed = _share_of_free() / COPIES
    if n_bytes > allowed:
        raise beyond(path, "memory", f"it has {in_words(n_bytes)}", in_words(allowed))


def _share_of_free() -> float:
    """Bytes that one file may take, as many as it likes where nobody says how many are free."""
    free = available_bytes()
    return math.inf if free is None else SHARE_OF_FREE * free


def check_members(path: Path, file: zipfile.ZipFile, texts: frozenset[str], n_bytes: int) -> None:
    """Refuse members that :func:`negcorr.save` does not write, or that unpack to too much.

    Parameters
    ----------
    path : Path
        Of the file, for errors.
    file : ZipFile
    texts : frozenset of str
        Names of members that may be packed.
    n_bytes : int
        Size of the file.
    """
    members = file.infolist()
    if len(members) > MOST_MEMBERS:
        raise beyond(path, "members", f"it has {len(members)}", f"{MOST_MEMBERS}")
    damaged = ModelFileError(path, "is damaged, or was not written by negcorr.save.")
    if len({member.filename for member in members}) < len(members):
        raise damaged
    stored, most_text = 0, min(MOST_TEXT, _share_of_free() / OBJECTS_PER_BYTE)
    for member in members:
        if member.flag_bits & 1:
            raise ModelFileError(path, "is encrypted; files of negcorr.save never are.")
        if member.filename in texts:
            if member.compress_type not in PACKINGS:
                raise damaged
            if member.file_size > most_text:
                found = f"{member.filename} unpacks to {in_words(member.file_size)}"
                raise beyond(path, "texts", found, in_words(most_text))
        elif member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise damaged
        else:
            stored += member.file_size
    if stored > n_bytes:
        raise damaged  # members that lie on top of one another


def check_arrays(path: Path, contents: Iterable[bytes], n_bytes: int) -> None:
    """Refuse arrays that say they are larger than their bytes, or that unpack to too much.

    Parameters
    ----------
    path : Path
        Of the file, for errors.
    contents : iterable of bytes
        Of members: arrays, sparse matrices, or neither.
    n_bytes : int
        Size of the file.
    """
    unpacked, allowed = 0, max(MOST_UNPACKED, UNPACKED_SHARE * n_bytes)
    for content in contents:
        if content.startswith(np.lib.format.MAGIC_PREFIX):
            _check_header(content[: 2**16], len(content))
        if not content.startswith(b"PK"):
            continue
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            unpacked += sum(member.file_size for member in parts.infolist())
            if unpacked > allowed:
                found = f"sparse matrices unpack to {in_words(unpacked)}"
                raise beyond(path, "packed arrays", found, in_words(allowed))
            for member in parts.infolist():
                if member.compress_type not in PACKINGS:
                    raise ValueError("a sparse matrix is packed in another way than ours are")
                with parts.open(member) as part:
                    _check_header(part.read(2**16), member.file_size)


def _check_header(start: bytes, n_bytes: int) -> None:
    """Refuse an array whose header does not fit its bytes, or that holds objects."""
    head = io.BytesIO(start)
    version = np.lib.format.read_magic(head)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"an array has the format {version}")
    shape, _, dtype = readers[version](head)
    if dtype.hasobject:
        raise ValueError("an array holds a pickle")
    count = math.prod(shape)
    if min(shape, default=0) < 0 or (count and not dtype.itemsize):
        raise ValueError(f"an array has the shape {shape} of {dtype}")
    left = n_bytes - head.tell()
    if count * dtype.itemsize != left:
        raise ValueError(f"an array of shape {shape} of {dtype} has {left} bytes")


def check_nodes(path: Path, schema: Any) -> None:
    """Refuse a description whose parts name one another so that little text becomes much.

    A part that stands in several places has one id, and is written out in all of them. So a text
    that is short is short when it is followed too.
    """
    sizes: dict[Any, int] = {}
    owners: dict[Any, Any] = {}

    def size_of(part: Any, depth: int) -> int:
        if depth > MOST_DEPTH:
            found = "parts of the description are deeper within one another"
            raise beyond(path, "nesting", found, f"{MOST_DEPTH}")
        size = 1 + sum(size_of(inner, depth + 1) for inner in _parts(part))
        if isinstance(part, dict):
            name = part.get("__id__")
            if isinstance(name, dict):  # a key of the user, in a dict of theirs
                return size
            if name is not None and sizes.setdefault(name, size) != size:
                raise ValueError(f"two parts have the id {name!r}")
            file = part.get("file")
            if isinstance(file, str) and (name is None or owners.setdefault(file, name) != name):
                raise ValueError(f"two parts read {file!r}")
            if part.get("__loader__") == "CachedNode":
                raise ValueError("a part stands for another")
            for kind in (part.get("__module__", ""), part.get("__class__", "")):
                if type(kind) is str and not (kind.isprintable() and len(kind) <= MOST_NAME):
                    raise ValueError("a class has a name that cannot be shown")
        return size

    size_of(schema, 0)


def _parts(part: Any) -> Iterator[Any]:
    """What a part of a text holds that holds more."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return (each for each in inner if isinstance(each, dict | list))
