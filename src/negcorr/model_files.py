"""Files of models from the outside: what is in them, and whether they are what they say.

Nothing here looks at the model itself. A file that is something else, cut short or made to unpack
to more than memory holds is refused with the reason.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr.exceptions import ModelFileError

__all__ = [
    "FORMAT",
    "ModelFile",
    "bytes_of",
    "check_members",
    "read_about",
    "short",
    "with_envelope",
]

#: Of the files; raised when older readers could not make sense of them.
FORMAT = 1

#: What says so, and skops' own description of the model.
ENVELOPE, SCHEMA = "negcorr.json", "schema.json"

#: Smallest protocol of skops in our files: the checks of older ones were weaker.
LEAST_PROTOCOL = 2

#: Bytes that the two descriptions may unpack to; arrays are not compressed at all.
MOST_TEXT = 2**30


@dataclass(frozen=True)
class ModelFile:
    """What a file says about the model in it.

    Attributes
    ----------
    path : Path
        The file.
    format : int
        Version of the format, 1.
    kind : str
        Full name of the estimator's class.
    versions : dict
        Of negcorr, numpy, scikit-learn and skops, by name, when it was saved.
    notes : dict
        As given to :func:`save`.
    n_bytes : int
        Size of the file.
    """

    path: Path
    format: int
    kind: str
    versions: dict[str, str]
    notes: dict[str, Any]
    n_bytes: int


def with_envelope(data: bytes, envelope: dict[str, Any]) -> bytes:
    """A file of skops with ours beside the schema; texts packed, arrays as they are."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        texts = {ENVELOPE: envelope, SCHEMA: json.loads(old.read(SCHEMA))}
        for name, text in texts.items():
            packed = json.dumps(text, separators=(",", ":"))
            new.writestr(name, packed, compress_type=zipfile.ZIP_DEFLATED)
        for member in old.infolist():
            if member.filename != SCHEMA:
                new.writestr(member.filename, old.read(member))
    return out.getvalue()


def bytes_of(path: Path) -> bytes:
    """All of a file, unless it is of a kind that is known not to be a model of ours."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ModelFileError(path, "there is no such file.") from error
    except OSError as error:
        raise ModelFileError(path, f"cannot be read ({error}).") from error
    if not data:
        raise ModelFileError(path, "is empty.")
    if data[:1] == b"\x80":
        raise ModelFileError(
            path, "is a pickle, which would run whatever it likes; it is not read here."
        )
    if data[8:10] == b'{"':
        raise ModelFileError(
            path, "is a safetensors file; DeepNCLRegressor.load reads those of deep ensembles."
        )
    return data


def read_about(path: Path, data: bytes) -> ModelFile:
    """What the bytes of a file say about its model."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            names = file.namelist()
            if ENVELOPE not in names:
                other = "a file of skops" if SCHEMA in names else "a zip file"
                raise ModelFileError(path, f"is {other}, but was not written by negcorr.save.")
            _check_text(path, file, ENVELOPE)
            envelope = json.loads(file.read(ENVELOPE))
    except zipfile.BadZipFile as error:
        raise ModelFileError(path, "is damaged, cut short, or no file of a model.") from error
    except (ValueError, RecursionError, NotImplementedError, RuntimeError, OSError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(path, f"is damaged ({short(error)}).") from error
    number = envelope.get("format") if isinstance(envelope, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise ModelFileError(
            path,
            f"has format {number}, of a newer negcorr; this version reads format {FORMAT}. "
            "Update negcorr.",
        )
    kinds = {"format": int, "kind": str, "versions": dict, "notes": dict}
    if number != FORMAT or not all(isinstance(envelope.get(k), t) for k, t in kinds.items()):
        raise ModelFileError(path, f"is damaged: {ENVELOPE} does not say what it should.")
    return ModelFile(path=path, n_bytes=len(data), **{name: envelope[name] for name in kinds})


def _check_text(path: Path, file: zipfile.ZipFile, name: str) -> None:
    if file.getinfo(name).file_size > MOST_TEXT:
        raise ModelFileError(path, f"is damaged: {name} would unpack to more than 1 GiB.")


def check_members(path: Path, data: bytes) -> None:
    """Refuse what :func:`negcorr.save` does not write: packed arrays, old protocols."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = file.infolist()
            _check_text(path, file, SCHEMA)
            packed = [m.filename for m in members if m.compress_type != zipfile.ZIP_STORED]
            strange = set(packed) - {ENVELOPE, SCHEMA}
            if strange or len({m.filename for m in members}) < len(members):
                raise ModelFileError(path, "is damaged, or was not written by negcorr.save.")
            schema = json.loads(file.read(SCHEMA))
        protocol = schema.get("protocol")
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(path, f"is damaged ({short(error)}).") from error
    if not isinstance(protocol, int) or protocol < LEAST_PROTOCOL:
        raise ModelFileError(path, f"is damaged: its protocol is {protocol!r}.")


def short(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {str(error).strip().rstrip('.')[:300]}"
