"""Bytes as text: which encoding, and what it says if that had to be guessed."""

from __future__ import annotations

import codecs
from pathlib import Path

from negcorr.exceptions import TableError

__all__ = ["decode"]

#: Marks at the beginning of a file; that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)


def decode(data: bytes, path: Path) -> tuple[str, tuple[str, ...]]:
    r"""Text of a file, and notes where its encoding is not plain UTF-8.

    Parameters
    ----------
    data : bytes
    path : Path
        For errors.

    Raises
    ------
    TableError
        If the file breaks its own mark, or holds NUL bytes, which no text does.

    Examples
    --------
    >>> from pathlib import Path
    >>> from negcorr.tabular.decoding import decode
    >>> decode("a\n\u00e9".encode("latin-1"), Path("data.csv"))
    ('a\né', ('line 2 is not UTF-8; the file was read as Windows-1252, so check its accents.',))
    """
    text, notes = _by_mark(data, path) or _without_mark(data, path)
    at = text.find("\0")
    if at >= 0:
        raise TableError(
            f"{path}, line {text.count(chr(10), 0, at) + 1}: a NUL byte; the file is binary, "
            "damaged, or UTF-16 without a byte order mark."
        )
    return text, notes


def _by_mark(data: bytes, path: Path) -> tuple[str, tuple[str, ...]] | None:
    for mark, encoding, name in _MARKS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise TableError(
                    f"{path} begins with the mark of {name} but is not: byte {error.start} "
                    f"({error.reason})."
                ) from error
            return text, () if name == "UTF-8" else (f"read as {name}, by its byte order mark.",)
    return None


def _without_mark(data: bytes, path: Path) -> tuple[str, tuple[str, ...]]:
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    try:
        text, name = data.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        text, name = data.decode("latin-1"), "Latin-1"
    return text, (f"line {line} is not UTF-8; the file was read as {name}, so check its accents.",)
