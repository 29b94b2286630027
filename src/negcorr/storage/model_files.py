"""Files of models from the outside: what is in them, and whether they are what they say.

Nothing here looks at the model itself. A file that is something else, cut short or made to unpack
to more than memory holds is refused with the reason.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
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
    "skops_io",
    "with_envelope",
]

#: Of the files; raised when older readers could not make sense of them.
FORMAT = 1

#: The oldest format that is still read.
OLDEST = 1

#: What says so, and skops' own description of the model.
ENVELOPE, SCHEMA = "negcorr.json", "schema.json"

#: What the first of them says, and in which kinds of values.
FIELDS: dict[str, type] = {"format": int, "kind": str, "versions": dict, "notes": dict}

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
    keep : {"all", "path", "predictions"}
        As given to :func:`save`.
    """

    path: Path
    format: int
    kind: str
    versions: dict[str, str]
    notes: dict[str, Any]
    n_bytes: int
    keep: str = "all"


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
    _check_envelope(path, envelope)
    return ModelFile(
        path=path,
        n_bytes=len(data),
        # Files of before there was a choice hold everything.
        keep=envelope.get("keep", "all"),
        **{name: envelope[name] for name in FIELDS},
    )


def _check_envelope(path: Path, envelope: Any) -> None:
    """Refuse formats that are not read here, and descriptions that are not whole."""
    if not isinstance(envelope, dict):
        raise ModelFileError(path, f"is damaged: {ENVELOPE} does not say what it should.")
    number = envelope.get("format")
    if type(number) is int and not OLDEST <= number <= FORMAT:
        reads = f"format {FORMAT}" if OLDEST == FORMAT else f"formats {OLDEST} to {FORMAT}"
        newer = number > FORMAT
        raise ModelFileError(
            path,
            f"has format {number}, of {'a newer' if newer else 'an older'} negcorr"
            f"{_writer(envelope)}; this version reads {reads}. "
            + ("Update negcorr." if newer else "Load it with that version, and fit again here."),
        )
    missing = [name for name in FIELDS if name not in envelope]
    wrong = [n for n, kind in FIELDS.items() if n in envelope and type(envelope[n]) is not kind]
    if not isinstance(envelope.get("keep", "all"), str):
        wrong.append("keep")
    if missing or wrong:
        lacks = f"lacks {missing}" if missing else f"has {wrong} of another kind"
        raise ModelFileError(
            path, f"is damaged: {ENVELOPE} does not say what it should: it {lacks}."
        )


def _writer(envelope: dict[str, Any]) -> str:
    versions = envelope.get("versions")
    found = versions.get("negcorr") if isinstance(versions, dict) else None
    return f" ({found})" if isinstance(found, str) else ""


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


def skops_io() -> Any:
    """The library that builds models from files, loaded when it is first needed."""
    try:
        with warnings.catch_warnings(), _left_alone("torch", "dask", "cupy"):
            # Of libraries that skops looks into, when it is first imported.
            warnings.simplefilter("ignore")
            import skops.io
    except ImportError as error:
        raise ImportError("files of models need skops: pip install skops") from error
    return skops.io


@contextmanager
def _left_alone(*names: str) -> Iterator[None]:
    """Libraries that are not loaded inside, unless they have been already.

    When skops is first imported it lists scikit-learn's estimators, and on the way loads every
    library for which scikit-learn has an adapter: seconds that nobody needs. An adapter that cannot
    be loaded is passed over.
    """
    modules: dict[str, Any] = sys.modules
    absent = [name for name in names if name not in modules and "skops.io" not in modules]
    modules.update(dict.fromkeys(absent))
    try:
        yield
    finally:
        for name in absent:
            if modules.get(name, name) is None:
                del modules[name]
