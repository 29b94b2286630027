"""Bytes as text: the encoding by a byte order mark, or else by a guess, which makes a note."""

from __future__ import annotations

import codecs
from pathlib import Path

from negcorr.exceptions import TableError

__all__ = ["decode", "encoding_by_mark", "not_utf8", "nul_byte", "wrong_mark"]

#: Byte order marks, their encodings in Python's words and in ours; that of UTF-32 begins with
#: that of UTF-16.
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
        If the bytes are not in the encoding of their mark, or have a NUL, which no text has.

    Examples
    --------
    >>> from pathlib import Path
    >>> from negcorr.reading.decoding import decode
    >>> decode("a\n\u00e9".encode("latin-1"), Path("data.csv"))
    ('a\né', ('line 2 is not UTF-8; the file was read as Windows-1252, so check its accents.',))
    """
    encoding, notes = encoding_by_mark(data)
    try:
        text = data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding:
            # The mark itself may be gone from what was decoded.
            byte = error.start + len(data) - len(error.object)
            raise wrong_mark(path, encoding, byte, error.reason) from error
        line = data.count(b"\n", 0, error.start) + 1
        try:
            text, name = data.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            text, name = data.decode("latin-1"), "Latin-1"
        notes = (not_utf8(line, name),)
    at = text.find("\0")
    if at >= 0:
        raise nul_byte(path, text.count("\n", 0, at) + 1)
    return text, notes


def encoding_by_mark(head: bytes) -> tuple[str, tuple[str, ...]]:
    """Encoding by the byte order mark at the beginning of a file, and a note; "" without one."""
    for mark, encoding, name in MARKS:
        if head.startswith(mark):
            notes = () if name == "UTF-8" else (f"read as {name}, by its byte order mark.",)
            return encoding, notes
    return "", ()


def nul_byte(path: Path, line: int) -> TableError:
    """The error for a byte that no text has."""
    return TableError(
        f"{path}, line {line}: a NUL byte; the file is binary, damaged, or UTF-16 without a byte "
        "order mark."
    )


def wrong_mark(path: Path, encoding: str, byte: int, reason: str) -> TableError:
    """The error for bytes that are not in the encoding of their byte order mark."""
    name = next((name for _, known, name in MARKS if known == encoding), encoding)
    return TableError(f"{path} begins with the mark of {name} but is not: byte {byte} ({reason}).")


def not_utf8(line: int, name: str) -> str:
    """The note on a file whose encoding was guessed."""
    return f"line {line} is not UTF-8; the file was read as {name}, so check its accents."
