"""Large text as bytes of UTF-8, piece by piece; what one look at all of it tells."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.types import BoolArray
from negcorr.reading.decoding import MARKS, not_utf8, nul_byte, wrong_mark
from negcorr.reading.file_format import Layers

__all__ = ["BytesReader", "TextBytes", "mark_of", "whole_records"]

#: Bytes of a file that are read at a time.
BLOCK_BYTES = 2**22

#: Bytes that Windows-1252 has no letters for.
_NOT_1252 = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])

_QUOTE = ord('"')


@dataclass(frozen=True)
class TextBytes:
    """A text of any encoding as bytes of UTF-8.

    Attributes
    ----------
    layers : Layers
    encoding : str
        Its own, as Python calls it.
    n_lines : int
        Line ends, those within quotes too.
    quotes : {"none", "plain", "odd"}
        Plain ones enclose whole cells and are doubled within, as in RFC 4180.
    spaces : bool
        Whether cells begin with a space.
    notes : tuple of str
    """

    layers: Layers
    encoding: str
    n_lines: int
    quotes: str
    spaces: bool
    notes: tuple[str, ...]

    @classmethod
    def look_at(cls, layers: Layers, delimiter: str) -> TextBytes:
        """Read all bytes once.

        The encoding of a text without a mark shows nowhere but in all of its bytes.

        Parameters
        ----------
        layers : Layers
        delimiter : str

        Raises
        ------
        TableError
            If the text breaks its own mark, or holds NUL bytes, or its archive is damaged.
        """
        mark = mark_of(next(layers.blocks(4), b""))
        look = _Look(layers, delimiter)
        encoding, _, notes = mark if mark is not None else ("", "", ())
        for block in _transcoded(layers, encoding):
            look.at(block)
        look.at_the_end()
        if mark is None:
            encoding, notes = look.encoding()
        return cls(layers, encoding, look.n_lines, look.quotes, look.spaces, notes)

    def blocks(self, skip: int = 0) -> Iterator[bytes]:
        """Pieces of UTF-8 without a mark, after the first ``skip`` bytes of it."""
        for block in _transcoded(self.layers, self.encoding):
            if skip < len(block):
                yield block[skip:] if skip else block
            skip = max(0, skip - len(block))


def mark_of(head: bytes) -> tuple[str, str, tuple[str, ...]] | None:
    """Encoding, its name and a note, by the mark at the beginning of a file."""
    for mark, encoding, name in MARKS:
        if head.startswith(mark):
            notes = () if name == "UTF-8" else (f"read as {name}, by its byte order mark.",)
            return encoding, name, notes
    return None


def _transcoded(layers: Layers, encoding: str) -> Iterator[bytes]:
    """Pieces of UTF-8; as they are where nothing is known of the encoding yet."""
    if encoding in ("", "utf-8"):
        yield from layers.blocks(BLOCK_BYTES)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    done = 0
    for block, last in _with_end(layers.blocks(BLOCK_BYTES)):
        try:
            text = decoder.decode(block, final=last)
        except UnicodeDecodeError as error:
            pending = len(error.object) - len(block)
            name = next((name for _, known, name in MARKS if known == encoding), encoding)
            raise wrong_mark(
                layers.path, name, max(done - pending, 0) + error.start, error.reason
            ) from error
        done += len(block)
        if text:
            yield text.encode("utf-8", "surrogatepass")


def _with_end(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    for block in blocks:
        yield block, False
    yield b"", True


def whole_records(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces that end where a record does: at a line end outside of quotes; none is empty."""
    waiting = b""
    for block in blocks:
        waiting += block
        cut = _last_end(waiting)
        if waiting[:cut].strip(b"\r\n"):
            yield waiting[:cut]
        waiting = waiting[cut:]
    if waiting.strip(b"\r\n"):
        yield waiting


def _last_end(data: bytes) -> int:
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


class BytesReader(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        super().__init__()
        self._blocks = blocks
        self._rest = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """What is at hand of the next bytes."""
        if not self._rest:
            self._rest = next(self._blocks, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        """With the file behind it."""
        getattr(self._blocks, "close", lambda: None)()
        super().close()


class _Look:
    """What was seen so far; structure is the same in all encodings that ASCII is a part of."""

    def __init__(self, layers: Layers, delimiter: str) -> None:
        self.path = layers.path
        self.n_lines = 0
        self.spaces = False
        self._cell_starts = tuple(edge + b" " for edge in (delimiter.encode(), b"\n", b"\r"))
        self._edges = _table(delimiter.encode() + b"\r\n")
        self._n_quotes = 0
        self._plain = True
        # A text begins as a line does.
        self._before, self._last = b"\n", b""
        self._utf8: Any = codecs.getincrementaldecoder("utf-8")()
        self._first_odd: int | None = None
        self._is_1252 = True

    def at(self, block: bytes) -> None:
        """One more piece."""
        nul = block.find(b"\0")
        if nul >= 0:
            raise nul_byte(self.path, self.n_lines + block.count(b"\n", 0, nul) + 1)
        self._letters(block)
        self.n_lines += block.count(b"\n")
        if not self.spaces:
            seen = (self._last or self._before) + block
            self.spaces = any(start in seen for start in self._cell_starts)
        # The last byte waits for the one after it.
        data = self._last + block
        self._check_quotes(data[:-1], data[-1:])
        self._before, self._last = data[-2:-1] or self._before, data[-1:]

    def at_the_end(self) -> None:
        """Nothing more."""
        self._check_quotes(self._last, b"\n")
        if self._first_odd is None and self._utf8.getstate()[0]:
            self._first_odd = self.n_lines + 1

    @property
    def quotes(self) -> str:
        """See :class:`TextBytes`."""
        if self._n_quotes == 0:
            return "none"
        return "plain" if self._plain and self._n_quotes % 2 == 0 else "odd"

    def encoding(self) -> tuple[str, tuple[str, ...]]:
        """Of a text without a mark, and a note."""
        if self._first_odd is None:
            return "utf-8", ()
        encoding, name = ("cp1252", "Windows-1252") if self._is_1252 else ("latin-1", "Latin-1")
        return encoding, (not_utf8(self._first_odd, name),)

    def _letters(self, block: bytes) -> None:
        if block.isascii() and not self._utf8.getstate()[0]:
            return
        self._is_1252 = self._is_1252 and not any(byte in block for byte in _NOT_1252)
        if self._first_odd is None:
            pending = len(self._utf8.getstate()[0])
            try:
                self._utf8.decode(block)
            except UnicodeDecodeError as error:
                at = max(error.start - pending, 0)
                self._first_odd = self.n_lines + block.count(b"\n", 0, at) + 1

    def _check_quotes(self, data: bytes, after: bytes) -> None:
        """Quotes open and close in turn: the first at an edge of a cell, the second before one.

        Two in a row, within a cell, close and open it again.
        """
        if b'"' not in data:
            return
        bytes_ = np.frombuffer(self._before + data + after, dtype=np.uint8)
        at = np.flatnonzero(bytes_[1:-1] == _QUOTE) + 1
        opens = (self._n_quotes + np.arange(len(at))) % 2 == 0
        beside = np.where(opens, bytes_[at - 1], bytes_[at + 1])
        fine = self._edges[beside] | (beside == _QUOTE)
        self._plain = self._plain and bool(fine.all())
        self._n_quotes += len(at)


def _table(edges: bytes) -> BoolArray:
    table = np.zeros(256, dtype=bool)
    table[list(edges)] = True
    return table
