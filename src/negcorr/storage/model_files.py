"""The format of model files: their parts, and checks before a model is built.

A file is one of skops, a zip of arrays and a JSON schema, with a second JSON, the envelope, that
says who wrote it and what it is about, and has a checksum of all the rest. A file is refused with
the reason where it is something else, damaged, or made to unpack to more than memory holds
(:mod:`negcorr.storage.limits`). The model itself is not looked at here.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr._common.memory import in_words
from negcorr.exceptions import ModelFileError
from negcorr.storage.limits import (
    MOST_NAME,
    MOST_TEXT,
    check_arrays,
    check_members,
    check_nodes,
    check_size,
)

__all__ = [
    "ENVELOPE",
    "FORMAT",
    "SCHEMA",
    "ModelFile",
    "bytes_of",
    "digest_of",
    "naming_damage",
    "read_about",
    "read_schema",
    "sealed",
    "skops_io",
    "with_schema",
]

#: The format of the files; raised when older readers could not make sense of them.
FORMAT = 3

#: Names of the envelope, and of skops' own description of the model.
ENVELOPE, SCHEMA = "negcorr.json", "schema.json"

#: What the envelope says, and in which kinds of values.
FIELDS = {"format": int, "kind": str, "versions": dict, "notes": dict, "sha256": str}

#: Smallest protocol of skops in our files: the checks of older ones were weaker.
LEAST_PROTOCOL = 2


@dataclass(frozen=True)
class ModelFile:
    """What a file says about the model in it.

    Attributes
    ----------
    path : Path
        The file.
    format : int
        Version of the format, 3.
    kind : str
        Of the estimator: "negcorr.NCLRegressor", "negcorr.DeepNCLRegressor", or the full name of
        its class.
    versions : dict
        Of negcorr, numpy, scikit-learn and skops, by name, when it was saved.
    notes : dict
        As given to :func:`save`.
    sha256 : str
        Checksum of all that the file holds.
    n_bytes : int
        Size of the file.
    """

    path: Path
    format: int
    kind: str
    versions: dict[str, str]
    notes: dict[str, Any]
    sha256: str
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
    except MemoryError as error:
        raise ModelFileError(path, "does not fit into memory.") from error
    except Exception as error:
        what = " ".join(str(error).split()).rstrip(".")[:300]
        raise ModelFileError(path, f"{reason} ({type(error).__name__}: {what}).") from error


def bytes_of(path: Path) -> bytes:
    """All of a file, unless it is of a kind that is known not to be a model of ours."""
    if path.exists() and not path.is_file():  # a device, say, which may have no end
        raise ModelFileError(path, "cannot be read: it is no file.")
    try:
        check_size(path, path.stat().st_size)
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
    """What the bytes of a file say about its model, once they are known to be whole.

    Other formats are refused, as is all that :func:`negcorr.save` does not write.
    """
    with naming_damage(path), zipfile.ZipFile(io.BytesIO(data)) as file:
        check_members(path, file, frozenset({ENVELOPE, SCHEMA}), len(data))
        names = file.namelist()
        if ENVELOPE not in names:
            other = "a file of skops" if SCHEMA in names else "a zip file"
            raise ModelFileError(path, f"is {other}, but was not written by negcorr.save.")
        envelope = json.loads(file.read(ENVELOPE))
        about = _about(path, envelope, len(data))
        contents = ((name, file.read(name)) for name in names if name != ENVELOPE)
        if digest_of(envelope, contents) != about.sha256:
            raise ModelFileError(
                path, "is damaged, or was changed: what it holds does not match its checksum."
            )
        arrays = (file.read(name) for name in names if name not in (ENVELOPE, SCHEMA))
        check_arrays(path, arrays, len(data))
    return about


def _about(path: Path, envelope: Any, n_bytes: int) -> ModelFile:
    """What an envelope says, after a check that it says all that it should."""
    damage = f"is damaged: {ENVELOPE} does not say what it should"
    if not isinstance(envelope, dict):
        raise ModelFileError(path, f"{damage}.")
    number, versions = envelope.get("format"), envelope.get("versions")
    if type(number) is int and number != FORMAT:
        age, advice = "a newer", "Update negcorr."
        if number < FORMAT:
            age, advice = "an older", "Load it with that version, and fit again here."
        writer = versions.get("negcorr") if isinstance(versions, dict) else None
        by = f"{age} negcorr ({writer})" if _can_be_shown(writer) else f"{age} negcorr"
        reads = f"this version reads format {FORMAT}"
        raise ModelFileError(path, f"has format {number}, of {by}; {reads}. {advice}")
    missing = [name for name in FIELDS if name not in envelope]
    wrong = [n for n, kind in FIELDS.items() if n in envelope and type(envelope[n]) is not kind]
    if missing or wrong:
        lacks = f"lacks {missing}" if missing else f"has {wrong} of another kind"
        raise ModelFileError(path, f"{damage}: it {lacks}.")
    told = [envelope["kind"]]
    for pair in envelope["versions"].items():
        told += pair
    if not all(map(_can_be_shown, told)):
        raise ModelFileError(path, f"{damage}: it has names that cannot be shown.")
    return ModelFile(path=path, n_bytes=n_bytes, **{name: envelope[name] for name in FIELDS})


def _can_be_shown(name: Any) -> bool:
    """Whether a message can repeat a name."""
    return type(name) is str and name.isprintable() and len(name) <= MOST_NAME


def digest_of(envelope: Mapping[str, Any], contents: Iterable[tuple[str, bytes]]) -> str:
    """Checksum of an envelope and of all other members, as pairs of name and content."""
    rest = {name: part for name, part in envelope.items() if name != "sha256"}
    parts = [hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).digest()]
    for name, content in contents:
        parts.append(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
    return hashlib.sha256(b"".join(sorted(parts))).hexdigest()


def read_schema(path: Path, data: bytes) -> dict[str, Any]:
    """The schema in a file of which :func:`read_about` has found that it is whole."""
    with naming_damage(path), zipfile.ZipFile(io.BytesIO(data)) as file:
        schema: dict[str, Any] = json.loads(file.read(SCHEMA))
        check_nodes(path, schema)
        protocol = schema.get("protocol")
        if not isinstance(protocol, int) or protocol < LEAST_PROTOCOL:
            raise ModelFileError(path, f"is damaged: its protocol is {protocol!r}.")
        return schema


def sealed(data: bytes, envelope: dict[str, Any], change: Callable[[Any], None]) -> bytes:
    """A file of skops with an envelope, and with a schema that a function has changed in place.

    Raises
    ------
    ValueError
        Where a text is longer than a file may hold.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        schema = json.loads(old.read(SCHEMA))
        change(schema)
        text = _text(schema)
        arrays = ((n, old.read(n)) for n in old.namelist() if n != SCHEMA)
        digest = digest_of(envelope, itertools.chain([(SCHEMA, text)], arrays))
    texts = {ENVELOPE: _text(envelope | {"sha256": digest}), SCHEMA: text}
    if max(map(len, texts.values())) > MOST_TEXT:
        raise ValueError(
            f"its description would have more than {in_words(MOST_TEXT)}; save model.compact(), "
            "which drops training rows."
        )
    return _with_texts(data, texts)


def with_schema(data: bytes, schema: Any) -> bytes:
    """A file with another schema."""
    return _with_texts(data, {SCHEMA: _text(schema)})


def _text(thing: Any) -> bytes:
    return json.dumps(thing, separators=(",", ":")).encode()


def _with_texts(data: bytes, texts: dict[str, bytes]) -> bytes:
    """A file with other texts, by name; they are packed, arrays stay as they are."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name, text in texts.items():
            new.writestr(name, text, compress_type=zipfile.ZIP_DEFLATED)
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
