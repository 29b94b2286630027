"""What the user typed: lists of columns, choices and whole numbers, and the error about them."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from negcorr.exceptions import ModelFileError, TableError

__all__ = [
    "UsageError",
    "check_choice",
    "check_jobs",
    "check_seed",
    "check_target",
    "columns_asked_for",
    "columns_named",
    "errors_about",
    "parts_of",
]


class UsageError(Exception):
    """What the user typed cannot be carried out."""


@contextmanager
def errors_about(name: str) -> Iterator[None]:
    """Errors about the rows of a table, from wherever they come, as errors that name the table.

    Parameters
    ----------
    name : str
        Of the table.
    """
    try:
        yield
    except (TableError, ModelFileError):
        raise
    except (ValueError, ArithmeticError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        raise TableError(f"{name}: {reason}") from error


def parts_of(value: str) -> list[str]:
    """What stands between the commas of a value.

    Examples
    --------
    >>> from negcorr.cli.arguments import parts_of
    >>> parts_of('a, b,"c,d"')
    ['a', 'b', 'c,d']
    """
    rows = csv.reader(io.StringIO(value, newline=""), skipinitialspace=True)
    return [part.strip() for row in rows for part in row if part.strip()]


def columns_named(given: Sequence[str], known: Iterable[str]) -> list[str]:
    """Names of columns from the values of an option: each is a name, or several with commas.

    A value that is itself the name of a column is that one, whatever commas it has; in a list,
    such a name can stand in quotes.

    Parameters
    ----------
    given : sequence of str
        Values of an option that may be repeated.
    known : iterable of str
        Columns of the table.

    Examples
    --------
    >>> from negcorr.cli.arguments import columns_named
    >>> columns_named(["a,b", "c, d"], ["a", "b", "c, d"])
    ['a', 'b', 'c, d']
    """
    names = set(known)
    # Cells between commas have no spaces around them, and names of columns may have some.
    stripped = {name.strip(): name for name in names}
    found: list[str] = []
    for value in given:
        parts = [value] if value in names else parts_of(value)
        found += [part if part in names else stripped.get(part, part) for part in parts]
    return list(dict.fromkeys(found))


def columns_asked_for(options: Any, names: Iterable[Any]) -> dict[str, Any]:
    """Targets, columns to leave out and categories, as names of columns of a table.

    Parameters
    ----------
    options : FitOptions or DofOptions
    names : iterable
        Of the columns of the table.
    """
    known = [str(name) for name in names]
    wanted = ("target", "drop", "categorical")
    return {name: columns_named(getattr(options, name), known) for name in wanted}


def check_target(target: Sequence[str], data: Path) -> None:
    """Refuse a request without a target, and name the columns of the table.

    Raises
    ------
    UsageError
        With the columns of the table.
    """
    if any(parts_of(value) for value in target):
        return
    from negcorr._common.number_text import listed, shortened
    from negcorr.reading.table_chunks import TableChunks

    names = listed([shortened(name) for name in TableChunks.open(data).names], 30)
    raise UsageError(f"--target: name the column to predict. {data.name} has {names}.")


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among those allowed, and suggest the nearest one.

    Raises
    ------
    UsageError
        Naming the option, its value and what is allowed.
    """
    if value in allowed:
        return
    close = difflib.get_close_matches(value, allowed, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(f"{option} {value}: allowed are {', '.join(allowed)}.{hint}")


def check_seed(seed: int) -> None:
    """Refuse a seed that NumPy does not take."""
    if not 0 <= seed < 2**32:
        raise UsageError(f"--seed {seed}: must be at least 0 and below 2**32.")


def check_jobs(jobs: int | None, what: str) -> None:
    """Refuse a number of jobs other than -1, which stands for all cores, or at least 1."""
    if jobs is not None and (jobs == 0 or jobs < -1):
        raise UsageError(f"--jobs {jobs}: give a number of {what}, or -1 for all cores.")
