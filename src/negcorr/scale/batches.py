"""Batches of pyarrow as matrices of numbers, and errors of pyarrow that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.exceptions import ChunkError

__all__ = ["joined_batches", "matrix", "placing_errors", "unreadable", "with_names"]


def unreadable() -> tuple[type[Exception], ...]:
    """Types of the errors that pyarrow raises for files that are damaged, gone or unusual.

    Errors of pyarrow are of many types, TypeError among them, and have one parent. Other errors of
    these types would come from mistakes in our code, and no message may name the file as the cause.
    """
    import pyarrow

    return OSError, ValueError, pyarrow.ArrowException


@contextmanager
def placing_errors(where: str) -> Iterator[None]:
    """Let errors of pyarrow say where they happened."""
    try:
        yield
    except ChunkError:
        raise
    except unreadable() as error:
        raise ChunkError(f"{where}: {error}") from error


def joined_batches(batches: Iterator[Any], most_rows: int) -> Iterator[Any]:
    """Consecutive batches joined into larger ones of at most so many rows.

    Text comes in batches of a megabyte, and filters leave few rows of a batch, but each chunk that
    is worked on takes some time of its own.
    """
    import pyarrow

    waiting: list[Any] = []
    n_rows = 0
    for batch in batches:
        if waiting and n_rows + batch.num_rows > most_rows:
            yield from pyarrow.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, n_rows = [], 0
        waiting.append(batch)
        n_rows += batch.num_rows
    if waiting:
        yield from pyarrow.Table.from_batches(waiting).combine_chunks().to_batches()


def matrix(batch: Any, names: list[str], where: str, row: int) -> FloatArray:
    """Columns of a batch as numbers; an error names the column and row of what is no number."""
    import pyarrow

    out = np.empty((batch.num_rows, len(names)), order="F")
    for k, name in enumerate(names):
        column = batch.column(batch.schema.get_field_index(name))
        kind, types = column.type, pyarrow.types
        is_cast = types.is_boolean(kind) or types.is_decimal(kind)
        if not (is_cast or types.is_integer(kind) or types.is_floating(kind)):
            raise ChunkError(
                f"{where}: column {name!r} is of type {kind}; columns must be numbers. Encode it "
                "before, or leave it out: pyarrow.dataset.dataset(path, schema=pyarrow.schema("
                "[...])) reads the columns that the schema names."
            )
        if is_cast:
            column = column.cast(pyarrow.float64(), safe=False)
        out[:, k] = column.to_numpy(zero_copy_only=False)
        finite = np.isfinite(out[:, k])
        if not finite.all():
            first = int(np.argmin(finite))
            value = "missing" if np.isnan(out[first, k]) else "infinite"
            at = f"column {name!r} is {value} in row {row + first + 1} of all"
            raise ChunkError(f"{where}: {at}.")
    return np.ascontiguousarray(out)


def with_names(X: FloatArray, names: list[str]) -> Any:
    """The matrix as a data frame, so that columns keep their names; itself without pandas."""
    try:
        import pandas
    except ImportError:
        return X
    return pandas.DataFrame(X, columns=names, copy=False)
