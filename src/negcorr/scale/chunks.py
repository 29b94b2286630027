"""Chunks of rows from wherever rows are: arrays, iterables, files, pyarrow datasets."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from negcorr._typing import AnyArray, Table
from negcorr.exceptions import ChunkError

__all__ = ["ArraySource", "Chunk", "IterableSource", "Source", "read_ahead"]


@dataclass(frozen=True, repr=False)
class Chunk:
    """Some rows, and where they were found.

    Attributes
    ----------
    X : table of shape (n, d)
        Inputs.
    y : array of shape (n,) or (n, outputs)
        Targets.
    weight : array of shape (n,) or None
        Frequencies.
    where : str
        For people: file and row group, or number of the chunk.
    first_row : int
        Number of its first row among all, from 0.
    """

    X: Table
    y: Any
    weight: Any
    where: str
    first_row: int

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def failed(self, error: Exception) -> ChunkError:
        """An error that says where it was."""
        last = self.first_row + max(self.n_rows, 1)
        return ChunkError(f"{self.where} (rows {self.first_row + 1} to {last}): {error}")


class Source(Protocol):
    """Rows that can be read in chunks."""

    @property
    def repeatable(self) -> bool:
        """Whether they can be read twice."""

    @property
    def n_chunks(self) -> int | None:
        """How many chunks there will be, None where that is not known."""

    def chunks(self) -> Iterator[Chunk]:
        """All rows, chunk by chunk, from the start."""


@dataclass(frozen=True, repr=False)
class ArraySource:
    """Rows in memory, cut into blocks.

    Attributes
    ----------
    X : table of shape (n, d)
    y : array of shape (n,) or (n, outputs)
    weight : array of shape (n,) or None
    block_size : int
        Rows of a chunk.
    """

    X: Table
    y: AnyArray
    weight: AnyArray | None
    block_size: int

    @property
    def repeatable(self) -> bool:
        """Always."""
        return True

    @property
    def n_chunks(self) -> int:
        """Blocks."""
        return -(-int(self.X.shape[0]) // self.block_size)

    def chunks(self) -> Iterator[Chunk]:
        """Blocks of consecutive rows."""
        for number, start in enumerate(range(0, int(self.X.shape[0]), self.block_size)):
            rows = slice(start, start + self.block_size)
            X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
            weight = None if self.weight is None else self.weight[rows]
            yield Chunk(X, self.y[rows], weight, f"chunk {number}", start)


@dataclass(frozen=True, repr=False)
class IterableSource:
    """Chunks as the user makes them: (X, y) or (X, y, weight), or tables with named targets.

    Attributes
    ----------
    parts : iterable
        Generators can be read once, lists and objects that start anew with every loop twice.
    target : str, sequence of str or None
        Columns of the tables that are targets.
    """

    parts: Iterable[Any]
    target: str | list[str] | None

    @property
    def repeatable(self) -> bool:
        """Whether a loop over it starts anew."""
        return iter(self.parts) is not self.parts

    @property
    def n_chunks(self) -> int | None:
        """Known for lists and the like."""
        return len(self.parts) if isinstance(self.parts, Sized) else None

    def chunks(self) -> Iterator[Chunk]:
        """What the iterable gives, one by one."""
        row = 0
        for number, part in enumerate(self.parts):
            where = f"chunk {number}"
            if self.target is not None:
                X, y = split_target(part, self.target, where)
                chunk = Chunk(X, y, None, where, row)
            elif isinstance(part, tuple | list) and len(part) in (2, 3):
                chunk = Chunk(part[0], part[1], part[2] if len(part) == 3 else None, where, row)
            else:
                raise ChunkError(
                    f"{where} is a {type(part).__name__}; chunks must be (X, y) or (X, y, weight), "
                    "or tables if target names columns."
                )
            row += chunk.n_rows
            yield chunk


def split_target(table: Any, target: str | list[str], where: str) -> tuple[Any, Any]:
    """Inputs and targets of a data frame."""
    if not hasattr(table, "columns"):
        raise ChunkError(
            f"{where} is a {type(table).__name__} without column names, of which target={target!r} "
            "could be some."
        )
    names = [target] if isinstance(target, str) else target
    missing = [name for name in names if name not in list(table.columns)]
    if missing:
        raise ChunkError(f"{where} has no column {missing[0]!r}; it has {list(table.columns)}.")
    inputs = [name for name in table.columns if name not in names]
    y = np.column_stack([np.asarray(table[name], dtype=np.float64) for name in names])
    return table[inputs], y[:, 0] if isinstance(target, str) else y


#: The end of a stream, and an error of the thread that reads.
_END = object()


def read_ahead(chunks: Iterator[Chunk], depth: int = 2) -> Iterator[Chunk]:
    """The same chunks, read by a thread while those before are worked on.

    Parameters
    ----------
    chunks : iterator of Chunk
    depth : int, default=2
        Chunks that may wait: what bounds the memory.
    """
    waiting: queue.Queue[Any] = queue.Queue(maxsize=depth)
    stop = threading.Event()

    def offer(item: Any) -> bool:
        while not stop.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def read() -> None:
        try:
            for chunk in chunks:
                if not offer(chunk):
                    return
            offer(_END)
        except BaseException as error:  # told to the thread that waits, whatever it is
            offer(error)

    thread = threading.Thread(target=read, name="negcorr-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is _END:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join()


def is_path(source: Any) -> bool:
    """Whether a source is the name of a file or folder."""
    return isinstance(source, str | Path)
