"""Large text as bytes of UTF-8 in blocks, and their encoding and quotes, from one pass.

Between the file and the reader of records: pyarrow's reader wants UTF-8, whole records in each
block, and to know how quotes are used.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from negcorr.reading.decoding import encoding_by_mark, not_utf8, nul_byte, wrong_mark
from negcorr.reading.file_format import TableFile
from negcorr.reading.limits import MOST_RECORD, record_too_long

__all__ = ["TextBytes", "whole_records"]

#: Bytes of a file that are read at a time.
BLOCK_BYTES = 2**22

#: Bytes that stand for no character in Windows-1252.
_NOT_1252 = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])


@dataclass(frozen=True)
class TextBytes:
    """A text of any encoding as bytes of UTF-8.

    Attributes
    ----------
    file : TableFile
    encoding : str
        Its own, as Python calls it.
    n_lines : int
        Line ends, those within quotes too.
    quotes : {"none", "plain", "odd"}
        Plain ones enclose whole cells and are doubled inside them, as in RFC 4180.
    spaces : bool
        Whether cells begin with a space.
    notes : tuple of str
    """

    file: TableFile
    encoding: str
    n_lines: int
    quotes: str
    spaces: bool
    notes: tuple[str, ...]

    @classmethod
    def scan(cls, file: TableFile, delimiter: str) -> TextBytes:
        """Read all bytes once.

        The encoding of a text without a mark is known only after all of its bytes are read.

        Parameters
        ----------
        file : TableFile
        delimiter : str

        Raises
        ------
        TableError
            If the bytes are not in the encoding of their mark, or have a NUL, or if the archive is
            damaged.
        """
        encoding, notes = encoding_by_mark(next(file.blocks(4), b""))
        scan = _Scan(file.path, delimiter)
        for block in _in_utf8(file, encoding):
            scan.add(block)
        scan.finish()
        if not encoding:
            encoding, notes = scan.encoding()
        return cls(file, encoding, scan.n_lines, scan.quotes, scan.spaces, notes)

    def blocks(self, skip: int = 0) -> Iterator[bytes]:
        """Blocks of UTF-8 without a mark, after the first ``skip`` bytes of it."""
        for block in _in_utf8(self.file, self.encoding):
            if skip < len(block):
                yield block[skip:] if skip else block
            skip = max(0, skip - len(block))


def _in_utf8(file: TableFile, encoding: str) -> Iterator[bytes]:
    """Blocks of UTF-8; as they are in the file where nothing is known of its encoding yet."""
    if encoding in ("", "utf-8"):
        yield from file.blocks(BLOCK_BYTES)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    done = 0
    # An empty block behind the last one ends the text.
    for block in itertools.chain(file.blocks(BLOCK_BYTES), [b""]):
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            pending = len(error.object) - len(block)
            at = max(done - pending, 0) + error.start
            raise wrong_mark(file.path, encoding, at, error.reason) from error
        done += len(block)
        if text:
            yield text.encode("utf-8", "surrogatepass")


def whole_records(blocks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """Blocks that end where a record does: at a line end outside of quotes; none is empty."""
    waiting = b""
    for block in blocks:
        waiting += block
        cut = _end_of_last_record(waiting)
        if len(waiting) - cut > MOST_RECORD:
            raise record_too_long(path)
        if waiting[:cut].strip(b"\r\n"):
            yield waiting[:cut]
        waiting = waiting[cut:]
    if waiting.strip(b"\r\n"):
        yield waiting


def _end_of_last_record(data: bytes) -> int:
    """Bytes up to the last line end outside of quotes; 0 where there is none."""
    end, odd = len(data), data.count(b'"') % 2
    while end:
        line_feed = data.rfind(b"\n", 0, end)
        cut = max(line_feed, data.rfind(b"\r", line_feed + 1, end)) + 1
        odd ^= data.count(b'"', cut, end) % 2
        if not odd:
            return cut
        end = cut - 1
    return 0


class _Scan:
    """What the blocks so far show; structure is the same in all encodings that ASCII is a part of.

    Quotes are plain where they open and close in turn: the first at an edge of a cell, the second
    before one. Two in a row, inside a cell, close and open it again.
    """

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path = path
        self.n_lines = 0
        self.spaces = False
        self._cell_starts = tuple(edge + b" " for edge in (delimiter.encode(), b"\n", b"\r"))
        self._beside_quotes = np.zeros(256, dtype=bool)
        self._beside_quotes[list(delimiter.encode() + b'\r\n"')] = True
        self._n_quotes = 0
        self._plain = True
        # A text begins as a line does; the last byte waits for the one after it.
        self._before, self._last = b"\n", b""
        self._utf8: Any = codecs.getincrementaldecoder("utf-8")()
        self._line_not_utf8: int | None = None
        self._is_1252 = True

    def add(self, block: bytes) -> None:
        """One more block."""
        nul = block.find(b"\0")
        if nul >= 0:
            raise nul_byte(self.path, self.n_lines + block.count(b"\n", 0, nul) + 1)
        pending = len(self._utf8.getstate()[0])
        if pending or not block.isascii():
            self._is_1252 = self._is_1252 and not any(byte in block for byte in _NOT_1252)
            if self._line_not_utf8 is None:
                try:
                    self._utf8.decode(block)
                except UnicodeDecodeError as error:
                    at = max(error.start - pending, 0)
                    self._line_not_utf8 = self.n_lines + block.count(b"\n", 0, at) + 1
        self.n_lines += block.count(b"\n")
        if not self.spaces:
            seen = (self._last or self._before) + block
            # Most texts of numbers have no space at all, which one byte tells much faster.
            self.spaces = b" " in seen and any(start in seen for start in self._cell_starts)
        data = self._last + block
        self._check_quotes(data[:-1], data[-1:])
        self._before, self._last = data[-2:-1] or self._before, data[-1:]

    def finish(self) -> None:
        """The end of the text."""
        self._check_quotes(self._last, b"\n")
        if self._line_not_utf8 is None and self._utf8.getstate()[0]:
            self._line_not_utf8 = self.n_lines + 1

    @property
    def quotes(self) -> str:
        """See :class:`TextBytes`."""
        if self._n_quotes == 0:
            return "none"
        return "plain" if self._plain and self._n_quotes % 2 == 0 else "odd"

    def encoding(self) -> tuple[str, tuple[str, ...]]:
        """Of a text without a mark, and a note."""
        if self._line_not_utf8 is None:
            return "utf-8", ()
        encoding, name = ("cp1252", "Windows-1252") if self._is_1252 else ("latin-1", "Latin-1")
        return encoding, (not_utf8(self._line_not_utf8, name),)

    def _check_quotes(self, data: bytes, after: bytes) -> None:
        if b'"' not in data:
            return
        bytes_ = np.frombuffer(self._before + data + after, dtype=np.uint8)
        at = np.flatnonzero(bytes_[1:-1] == ord('"')) + 1
        opens = (self._n_quotes + np.arange(len(at))) % 2 == 0
        beside = np.where(opens, bytes_[at - 1], bytes_[at + 1])
        self._plain = self._plain and bool(self._beside_quotes[beside].all())
        self._n_quotes += len(at)
