"""Batches of pyarrow joined into larger ones, and errors of pyarrow that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from negcorr.exceptions import ChunkError

__all__ = ["joined_batches", "placing_errors", "unreadable"]


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
