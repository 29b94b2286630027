"""Names that the user typed: columns in lists, choices, estimators."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from negcorr.cli.errors import UsageError

__all__ = ["check_choice", "check_target", "columns_named", "parts_of"]


def columns_named(given: Sequence[str], known: Iterable[str]) -> list[str]:
    """Columns from options: each value is a name, or several with commas between.

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
    >>> from negcorr.cli.names import columns_named
    >>> columns_named(["a,b", "c, d"], ["a", "b", "c, d"])
    ['a', 'b', 'c, d']
    """
    names = set(known)
    found: list[str] = []
    for value in given:
        found += [value] if value in names else _matched(parts_of(value), names)
    return list(dict.fromkeys(found))


def check_target(target: Sequence[str], data: Path) -> None:
    """Refuse a request without a target, and say what could be one.

    Raises
    ------
    UsageError
        With the columns of the table.
    """
    if any(parts_of(value) for value in target):
        return
    from negcorr._common.number_text import shortened
    from negcorr.reading.table_chunks import TableChunks

    names = TableChunks.open(data).names
    shown = ", ".join(map(shortened, names[:30]))
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    raise UsageError(f"--target: name the column to predict. {data.name} has {shown}{more}.")


def parts_of(value: str) -> list[str]:
    """What stands between the commas of a value.

    Examples
    --------
    >>> from negcorr.cli.names import parts_of
    >>> parts_of('a, b,"c,d"')
    ['a', 'b', 'c,d']
    """
    rows = csv.reader(io.StringIO(value, newline=""), skipinitialspace=True)
    return [part.strip() for row in rows for part in row if part.strip()]


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among those allowed.

    Raises
    ------
    UsageError
        With what may have been meant.
    """
    if value in allowed:
        return
    close = difflib.get_close_matches(value, allowed, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(f"{option} {value}: allowed are {', '.join(allowed)}.{hint}")


def _matched(parts: list[str], names: set[str]) -> list[str]:
    """Names with spaces around them are found although cells between commas have none."""
    stripped = {name.strip(): name for name in names}
    return [part if part in names else stripped.get(part, part) for part in parts]
