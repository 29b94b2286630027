"""Bytes as text: which encoding, and what it says if that had to be guessed."""

from __future__ import annotations

import codecs
from pathlib import Path

from negcorr.exceptions import TableError

__all__ = ["MARKS", "decode", "not_utf8", "nul_byte", "wrong_mark"]

#: Marks at the beginning of a file; that of UTF-32 begins with that of UTF-16.
MARKS = (
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
    >>> from negcorr.reading.decoding import decode
    >>> decode("a\n\u00e9".encode("latin-1"), Path("data.csv"))
    ('a\né', ('line 2 is not UTF-8; the file was read as Windows-1252, so check its accents.',))
    """
    text, notes = _by_mark(data, path) or _without_mark(data, path)
    at = text.find("\0")
    if at >= 0:
        raise nul_byte(path, text.count(chr(10), 0, at) + 1)
    return text, notes


def nul_byte(path: Path, line: int) -> TableError:
    """The error for a byte that no text has."""
    return TableError(
        f"{path}, line {line}: a NUL byte; the file is binary, damaged, or UTF-16 without a byte "
        "order mark."
    )


def wrong_mark(path: Path, name: str, byte: int, reason: str) -> TableError:
    """The error for bytes that are not in the encoding that their mark promises."""
    return TableError(f"{path} begins with the mark of {name} but is not: byte {byte} ({reason}).")


def not_utf8(line: int, name: str) -> str:
    """The note on a file whose encoding was guessed."""
    return f"line {line} is not UTF-8; the file was read as {name}, so check its accents."


def _by_mark(data: bytes, path: Path) -> tuple[str, tuple[str, ...]] | None:
    for mark, encoding, name in MARKS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                # The mark itself may be gone from what was decoded.
                byte = error.start + len(data) - len(error.object)
                raise wrong_mark(path, name, byte, error.reason) from error
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
    return text, (not_utf8(line, name),)
