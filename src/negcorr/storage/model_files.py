"""The format of model files: their parts, and checks before a model is built.

A file is one of skops, a zip of arrays and a JSON schema, with a second JSON, the envelope, that
says who wrote it and what it is about. A file that is something else, cut short, or made to unpack
to more than memory holds is refused with the reason. The model itself is not looked at here.
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
    "ENVELOPE",
    "FORMAT",
    "SCHEMA",
    "ModelFile",
    "bytes_of",
    "naming_damage",
    "read_about",
    "read_schema",
    "skops_io",
    "with_texts",
]

#: The format of the files; raised when older readers could not make sense of them.
FORMAT = 2

#: Names of the envelope, and of skops' own description of the model.
ENVELOPE, SCHEMA = "negcorr.json", "schema.json"

#: What the envelope says, and in which kinds of values.
FIELDS = {"format": int, "kind": str, "versions": dict, "notes": dict}

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
        Version of the format, 2.
    kind : str
        Of the estimator: "negcorr.NCLRegressor", "negcorr.DeepNCLRegressor", or the full name of
        its class.
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


@contextmanager
def naming_damage(path: Path, reason: str = "is damaged") -> Iterator[None]:
    """Turn every error inside, which a damaged or crafted file causes, into a ModelFileError."""
    try:
        yield
    except ModelFileError:
        raise
    except zipfile.BadZipFile as error:
        raise ModelFileError(path, "is damaged, cut short, or no file of a model.") from error
    except Exception as error:
        what = str(error).strip().rstrip(".")[:300]
        raise ModelFileError(path, f"{reason} ({type(error).__name__}: {what}).") from error


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
            path, "is a pickle, which can run any code when it is read; it is not read here."
        )
    if data[8:10] == b'{"':
        raise ModelFileError(
            path, "is a safetensors file; DeepNCLRegressor.load reads those of deep ensembles."
        )
    return data


def read_about(path: Path, data: bytes) -> ModelFile:
    """What the bytes of a file say about its model; other formats are refused."""
    with naming_damage(path), zipfile.ZipFile(io.BytesIO(data)) as file:
        names = file.namelist()
        if ENVELOPE not in names:
            other = "a file of skops" if SCHEMA in names else "a zip file"
            raise ModelFileError(path, f"is {other}, but was not written by negcorr.save.")
        envelope = _json_in(path, file, ENVELOPE)
    damage = f"is damaged: {ENVELOPE} does not say what it should"
    if not isinstance(envelope, dict):
        raise ModelFileError(path, f"{damage}.")
    number, versions = envelope.get("format"), envelope.get("versions")
    if type(number) is int and number != FORMAT:
        age, advice = "a newer", "Update negcorr."
        if number < FORMAT:
            age, advice = "an older", "Load it with that version, and fit again here."
        writer = versions.get("negcorr") if isinstance(versions, dict) else None
        by = f"{age} negcorr ({writer})" if isinstance(writer, str) else f"{age} negcorr"
        reads = f"this version reads format {FORMAT}"
        raise ModelFileError(path, f"has format {number}, of {by}; {reads}. {advice}")
    missing = [name for name in FIELDS if name not in envelope]
    wrong = [n for n, kind in FIELDS.items() if n in envelope and type(envelope[n]) is not kind]
    if missing or wrong:
        lacks = f"lacks {missing}" if missing else f"has {wrong} of another kind"
        raise ModelFileError(path, f"{damage}: it {lacks}.")
    return ModelFile(path=path, n_bytes=len(data), **{name: envelope[name] for name in FIELDS})


def read_schema(path: Path, data: bytes) -> dict[str, Any]:
    """The schema in a file; what :func:`negcorr.save` does not write is refused.

    Refused are packed arrays, two members of one name, and protocols of older skops.
    """
    with naming_damage(path), zipfile.ZipFile(io.BytesIO(data)) as file:
        members = file.infolist()
        packed = {m.filename for m in members if m.compress_type != zipfile.ZIP_STORED}
        if packed - {ENVELOPE, SCHEMA} or len({m.filename for m in members}) < len(members):
            raise ModelFileError(path, "is damaged, or was not written by negcorr.save.")
        schema: dict[str, Any] = _json_in(path, file, SCHEMA)
        protocol = schema.get("protocol")
        if not isinstance(protocol, int) or protocol < LEAST_PROTOCOL:
            raise ModelFileError(path, f"is damaged: its protocol is {protocol!r}.")
        return schema


def _json_in(path: Path, file: zipfile.ZipFile, name: str) -> Any:
    if file.getinfo(name).file_size > MOST_TEXT:
        raise ModelFileError(path, f"is damaged: {name} would unpack to more than 1 GiB.")
    return json.loads(file.read(name))


def with_texts(data: bytes, texts: dict[str, Any]) -> bytes:
    """A file with other JSON texts, by name; they are packed, arrays stay as they are."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name, text in texts.items():
            packed = json.dumps(text, separators=(",", ":"))
            new.writestr(name, packed, compress_type=zipfile.ZIP_DEFLATED)
        for member in old.infolist():
            if member.filename not in texts:
                new.writestr(member.filename, old.read(member))
    return out.getvalue()


def skops_io() -> Any:
    """The library that builds models from files, loaded when it is first needed."""
    # When skops is first imported it lists scikit-learn's estimators, and on the way loads every
    # library for which scikit-learn has an adapter: seconds that nobody needs. An adapter whose
    # library cannot be loaded is passed over.
    modules: dict[str, Any] = sys.modules
    slow = () if "skops.io" in modules else ("torch", "dask", "cupy")
    absent = [name for name in slow if name not in modules]
    modules.update(dict.fromkeys(absent))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from libraries that skops looks into
            import skops.io
    except ImportError as error:
        raise ImportError("files of models need skops: pip install skops") from error
    finally:
        for name in absent:
            if modules.get(name, name) is None:
                del modules[name]
    return skops.io
