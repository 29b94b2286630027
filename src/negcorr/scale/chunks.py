"""Chunks of rows from all kinds of sources: arrays, iterables, files, pyarrow datasets."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import is_device_array, to_host
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr.exceptions import ChunkError

__all__ = [
    "TEXT_NUMBERS",
    "ArraySource",
    "Chunk",
    "IterableSource",
    "Source",
    "Width",
    "usable",
    "weightless",
]

#: Numbers of 8 bytes whose memory a cell of text takes: its place in the column, and an object of
#: Python with some twenty letters.
TEXT_NUMBERS = 10


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
        For people: file and rows before, or number of the chunk.
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

    @contextmanager
    def placing_errors(self) -> Iterator[None]:
        """Let errors about these rows say where the rows were found."""
        try:
            yield
        except (ValueError, TypeError) as error:
            last = self.first_row + max(self.n_rows, 1)
            rows = f"rows {self.first_row + 1} to {last}"
            raise ChunkError(f"{self.where} ({rows}): {error}") from error


@dataclass(frozen=True)
class Width:
    """What is known of the columns before rows are read.

    Attributes
    ----------
    n_inputs, n_outputs : int
        Columns of X and of y.
    n_numbers : int
        Numbers of a row that are held: inputs, targets and frequency, but no zeros of sparse rows.
        A cell of text counts as several (:data:`TEXT_NUMBERS`).
    reading : int
        Bytes that a reader of files holds, whatever the size of chunks.
    row_of_text : int
        Bytes of a row that is read as text, however many of its cells are numbers.
    n_encoded : int
        Columns that inputs of several kinds become; 0 for arrays of numbers, and while the first
        pass has not told.
    """

    n_inputs: int
    n_outputs: int
    n_numbers: int
    reading: int = 0
    row_of_text: int = 0
    n_encoded: int = 0


class Source(ABC):
    """Rows that can be read in chunks."""

    @property
    def repeatable(self) -> bool:
        """Whether they can be read twice."""
        return True

    @property
    def n_chunks(self) -> int | None:
        """How many chunks there will be, None where that is not known."""
        return None

    @property
    def width(self) -> Width | None:
        """What is known of the columns, None where chunks are as the user makes them."""
        return None

    def in_chunks_of(self, n_rows: int) -> Self:
        """The same rows in chunks of at most so many, unless chunks are as the user makes them."""
        return self

    def count_rows(self) -> int | None:
        """How many rows there are, None where only reading them would tell."""
        return None

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """All rows, chunk by chunk, from the start."""


@dataclass(frozen=True, repr=False)
class ArraySource(Source):
    """Rows in memory, cut into blocks of consecutive rows.

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

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, block_size: int) -> Self:
        """A table with a target, and where given a weight, for each of its rows."""
        table = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
        n_rows = table.shape[0] if len(table.shape) == 2 else 0
        if n_rows == 0:
            raise ValueError(f"X must be a table of rows, got shape {tuple(table.shape)}.")
        columns = {}
        for argument, given in (("y", y), ("sample_weight", sample_weight)):
            values = given if given is None or is_device_array(given) else np.asarray(given)
            if values is not None and values.shape[:1] != (n_rows,):
                raise ValueError(
                    f"{argument} must have a value for each of the {n_rows} rows of X, got shape "
                    f"{values.shape}."
                )
            columns[argument] = values
        return cls(table, columns["y"], columns["sample_weight"], block_size)

    @property
    def n_chunks(self) -> int:
        """Blocks."""
        return -(-self.count_rows() // self.block_size)

    @property
    def width(self) -> Width:
        """Of the table."""
        n_rows, n_inputs = (int(size) for size in self.X.shape)
        # A value of a sparse table has the number of its column beside it.
        filled = -(-3 * int(self.X.nnz) // (2 * n_rows)) if sp.issparse(self.X) else n_inputs
        filled += (TEXT_NUMBERS - 1) * _n_text(self.X)
        n_outputs = self.y.shape[1] if self.y.ndim == 2 else 1
        return Width(n_inputs, n_outputs, filled + n_outputs + (self.weight is not None))

    def in_chunks_of(self, n_rows: int) -> Self:
        """The same table, cut at other rows."""
        return replace(self, block_size=n_rows)

    def count_rows(self) -> int:
        """Rows of the table."""
        return int(self.X.shape[0])

    def chunks(self) -> Iterator[Chunk]:
        """Blocks of consecutive rows."""
        n_rows = self.count_rows()
        for number, start in enumerate(range(0, n_rows, self.block_size)):
            rows = slice(start, min(start + self.block_size, n_rows))
            X = self.X.iloc[rows] if hasattr(self.X, "iloc") else _at(self.X, rows)
            weight = None if self.weight is None else self.weight[rows]
            yield Chunk(X, _at(self.y, rows), weight, f"chunk {number}", start)


@dataclass(frozen=True, repr=False)
class IterableSource(Source):
    """Chunks as the user makes them: (X, y) or (X, y, weight), or tables with named targets.

    Attributes
    ----------
    parts : iterable
        Generators can be read once, lists and objects that start anew with every loop twice.
    target : str, sequence of str or None
        Columns of the tables that are targets.
    weight : str or None
        Column of the tables that has frequencies.
    """

    parts: Iterable[Any]
    target: str | list[str] | None
    weight: str | None = None

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
                X, y, weight = split_frame(part, self.target, self.weight, where)
            elif isinstance(part, tuple | list) and len(part) in (2, 3):
                X, y, weight = (*part, None)[:3]
            else:
                raise ChunkError(
                    f"{where} is a {type(part).__name__}; chunks must be (X, y) or (X, y, weight), "
                    f"or tables if target names columns.{_hint(part)}"
                )
            chunk = Chunk(X, y, weight, where, row)
            try:
                row += chunk.n_rows
            except (TypeError, IndexError) as error:
                kind = type(X).__name__
                raise ChunkError(f"{where}: X must be a table of rows, got {kind}.") from error
            yield chunk


def _n_text(table: Table) -> int:
    """Columns of a data frame whose cells are no numbers of some bytes each."""
    if not hasattr(table, "columns"):
        return 0
    numeric = [
        kind.is_numeric()  # of polars
        if hasattr(kind, "is_numeric")
        else hasattr(kind, "categories") or getattr(kind, "kind", "O") in "biufmM"
        for kind in table.dtypes
    ]
    return numeric.count(False)


def _at(table: Table, rows: slice) -> Table:
    """Rows of an array; the array API standard wants all axes named."""
    return table[rows, ...] if is_device_array(table) else table[rows]


def split_frame(
    table: Any, target: str | list[str], weight: str | None, where: str
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Inputs, targets and frequencies of a data frame, by the names of its columns.

    Parameters
    ----------
    table : data frame, or table of pyarrow
    target : str or list of str
        Columns that are targets; a list makes y two-dimensional.
    weight : str or None
        Column of frequencies, if there is one.
    where : str
        What the table is, for errors.

    Returns
    -------
    X : data frame
    y : ndarray of shape (n,) or (n, outputs)
    weight : ndarray of shape (n,) or None
    """
    frame = table.to_pandas() if hasattr(table, "column_names") else table  # pyarrow's
    targets = [target] if isinstance(target, str) else target
    arguments = {} if weight is None else {"sample_weight": [weight]}
    arguments["target"] = targets
    numbers = {}
    for argument, names in arguments.items():
        if not hasattr(frame, "columns"):
            raise ChunkError(
                f"{where} is a {type(table).__name__} without column names, of which "
                f"{argument}={', '.join(map(repr, names))} could be some.{_hint(table)}"
            )
        known = list(frame.columns)
        for name in names:
            if known.count(name) != 1:
                many = "no column" if name not in known else "several columns"
                raise ChunkError(f"{where} has {many} {name!r} ({argument}); it has {known}.")
            try:
                numbers[name] = np.asarray(frame[name], dtype=np.float64)
            except (ValueError, TypeError) as error:
                raise ChunkError(f"{where}: column {name!r} must be numbers: {error}") from error
    inputs = [name for name in frame.columns if name not in numbers]
    if not inputs:
        raise ChunkError(f"{where}: target={target!r} leaves no column as input.")
    y = np.column_stack([numbers[name] for name in targets])
    y = y[:, 0] if isinstance(target, str) else y
    return frame[inputs], y, None if weight is None else numbers[weight]


def _hint(part: Any) -> str:
    """What to do with names of files, of which a user may have a list."""
    return " Files are given as a folder, or by pyarrow.dataset.dataset([...])." * is_path(part)


def usable(chunks: Iterator[Chunk], name: str) -> Iterator[Chunk]:
    """Chunks that have rows of positive weight.

    Parameters
    ----------
    chunks : iterator of Chunk
    name : str
        What they are chunks of, for the error when there are none.
    """
    n_rows, found = 0, False
    for chunk in chunks:
        n_rows += chunk.n_rows
        if chunk.n_rows > 0 and not weightless(chunk.weight):
            found = True
            yield chunk
    if not found:
        raise ChunkError(f"{name} has no rows{' of positive weight' if n_rows else ''}.")


def weightless(weight: Any) -> bool:
    """Whether all frequencies are zero; values that are not frequencies are refused elsewhere."""
    if weight is None:
        return False
    try:
        return not to_host(weight).astype(np.float64).any()
    except (ValueError, TypeError):
        return False


def is_path(source: Any) -> bool:
    """Whether a source is the name of a file or folder."""
    return isinstance(source, str | os.PathLike)
