"""Limits of what one file may hold: a budget of memory, and how far an archive may unpack.

Bytes are counted where they come in, cells and columns where they are cut, before memory is taken
for them. A limit grows with the size of the file, so that a small file cannot take a large machine.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr._common.memory import available_bytes, in_words
from negcorr.exceptions import TableError

__all__ = [
    "MOST_COLUMNS",
    "MOST_RECORD",
    "Budget",
    "Unpacked",
    "check_n_columns",
    "damage_as_table_error",
    "most_unpacked",
    "record_too_long",
    "unpacks_too_far",
]

#: Bytes of memory that any file may take, and more for each of its bytes where that is more: plain
#: text takes less.
LEAST_BUDGET = 3 * 2**29
BUDGET_PER_BYTE = 150

#: Share of the free memory that one file may take.
SHARE_OF_FREE = 0.8

#: Bytes that any archive may unpack to, and more for each of its bytes.
LEAST_UNPACKED = 2**28
UNPACKED_PER_BYTE = 50

#: Columns of a table.
MOST_COLUMNS = 100_000

#: Characters of a record of text, a line or several by quotes, and of a cell.
MOST_RECORD = 2**26


@dataclass
class Budget:
    """Memory that reading one file may take.

    Attributes
    ----------
    path : Path
    most : int
        Bytes that may be taken.
    taken : float
        Bytes that were counted so far.

    Examples
    --------
    >>> from pathlib import Path
    >>> from negcorr.reading.limits import Budget
    >>> budget = Budget(Path("data.csv"), 2**20)
    >>> budget.take(2**19, "its text")
    >>> budget.take(2**30, "its cells")
    Traceback (most recent call last):
        ...
    negcorr.exceptions.TableError: data.csv needs too much memory: its cells take it over \
the limit of 1.0 MiB, which follows the size of the file and the free memory.
    """

    path: Path
    most: int
    taken: float = 0.0

    @classmethod
    def of(cls, path: Path) -> Budget:
        """The budget of a file."""
        most = max(LEAST_BUDGET, BUDGET_PER_BYTE * path.stat().st_size)
        free = available_bytes()
        return cls(path, most if free is None else min(most, int(SHARE_OF_FREE * free)))

    def take(self, n_bytes: float, what: str) -> None:
        """Count some more bytes, before they are taken.

        Parameters
        ----------
        n_bytes : float
        what : str
            What they are for, in the plural.

        Raises
        ------
        TableError
            If these are too many.
        """
        self.taken += n_bytes
        if self.taken > self.most:
            raise TableError(
                f"{self.path} needs too much memory: {what} take it over the limit of "
                f"{in_words(self.most)}, which follows the size of the file and the free memory."
            )


def check_n_columns(n_columns: int, path: Path) -> None:
    """Raise an error where a table has more columns than are read."""
    if n_columns > MOST_COLUMNS:
        raise TableError(f"{path} has {n_columns} columns; the limit is {MOST_COLUMNS}.")


def record_too_long(path: Path) -> TableError:
    """The error for a record of text without an end."""
    return TableError(
        f"{path} has a line, or a cell in quotes, that is longer than the limit of "
        f"{in_words(MOST_RECORD)}."
    )


def most_unpacked(path: Path) -> int:
    """Bytes that archives in a file may unpack to."""
    return max(LEAST_UNPACKED, UNPACKED_PER_BYTE * path.stat().st_size)


def unpacks_too_far(path: Path) -> TableError:
    """The error for an archive that holds far more than its size suggests."""
    return TableError(
        f"{path} unpacks to more than the limit of {in_words(most_unpacked(path))}, which follows "
        "its size. If that is meant, unpack it first."
    )


class Unpacked(io.RawIOBase):
    """A stream of unpacked bytes that refuses to grow beyond a limit.

    Parameters
    ----------
    stream : file
        Open for reading.
    path : Path
        For errors.
    """

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream, self._path = stream, path
        self.name = getattr(stream, "name", "")
        self._left = most_unpacked(path)

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some more bytes."""
        data = self._stream.read(min(len(buffer), 2**20))
        self._left -= len(data)
        if self._left < 0:
            raise unpacks_too_far(self._path)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def damage_as_table_error(path: Path, what: str = "") -> Iterator[None]:
    """Errors of the libraries that read a file as errors that name the file.

    Parameters
    ----------
    path : Path
    what : str
        What the file is taken for, such as "gzip".
    """
    try:
        yield
    except (TableError, ImportError):
        raise
    except MemoryError as error:
        raise TableError(f"{path} needs more memory to be read than there is.") from error
    except Exception as error:  # libraries raise whatever the broken part happens to cause
        problem = f"is {what} but damaged" if what else "cannot be read"
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise TableError(f"{path} {problem}: {reason}.") from error
