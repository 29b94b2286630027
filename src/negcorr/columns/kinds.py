"""infer_columns: what every column of a data frame is for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.dates import date_form, says_of_dates
from negcorr.reading.number_cells import as_numbers, missing_cells, number_form, numbers
from negcorr.reading.schema import Column, Schema

__all__ = ["check_role", "infer_columns", "no_column"]


#: More different words than this, and than the share of the rows below, are text.
MOST_LEVELS = 20
MOST_LEVELS_SHARE = 0.2

_LIKE_AN_ID = re.compile(
    r"(id|idx|index|row|row_?(id|no|nr|num|number)|no|nr|num|number|key|uuid|guid|unnamed: \d+"
    r"|column_1|#)$|.*_(id|uuid|guid|key)$|__index_level_\d+__$"
)


@dataclass(frozen=True)
class _Asked:
    """Columns whose role the caller decides on."""

    targets: tuple[str, ...]
    drop: tuple[str, ...]
    categorical: tuple[str, ...]
    roles: dict[str, str]


def infer_columns(
    frame: Any,
    target: str | Sequence[str],
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weights: str | None = None,
    group: str | None = None,
    time: str | None = None,
) -> Schema:
    """Find out what every column of a table is.

    Numbers stay numbers, also 0/1 and small whole ones. Text is a number where every cell is
    written as one ("1,234", "12 %", "$3", true/false), a date where every cell is one, and else a
    category; text that differs in every row, or has too many different values, is left out, and
    so are row numbers and constants.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : str or sequence of str
        Columns to predict. Rows without their values are counted here and left out of fits.
    drop : sequence of str
        Columns to leave out.
    categorical : sequence of str
        Columns to take as categories, whatever they hold.
    weights : str, optional
        Column of frequencies.
    group : str, optional
        Column of groups that belong on one side of every split; not an input.
    time : str, optional
        Column that tells the order of rows, so that the last are predicted from the first; not an
        input.

    Returns
    -------
    Schema

    Raises
    ------
    TableError
        If a name is not there or asked for twice, a target is text or constant, or no input is
        left.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tables import infer_columns
    >>> frame = pd.DataFrame(
    ...     {"price": ["$3", "$1,200"], "kind": ["a", "a"], "day": ["2024-01-31", "2024-02-01"],
    ...      "sold": [1.0, 2.0]}
    ... )
    >>> print(infer_columns(frame, "sold"))
    column  role      missing  distinct  remark
    price   number          0         2  numbers written like '$3'
    kind    constant        0         1  'a' in every row
    day     date            0         2
    sold    target          0         2
    """
    asked = _asked(frame, target, drop, categorical, weights, group, time)
    if len(frame) == 0:
        raise TableError("the table has no row.")
    columns = [_column(frame[name], asked) for name in frame.columns]
    if not any(column.is_input for column in columns):
        columns = [_restored(frame[c.name], c) for c in columns]
    if not any(column.is_input for column in columns):
        lines = "; ".join(f"{c.name!r} is {c.role}" for c in columns)
        raise TableError(f"no column is left to predict from: {lines}.")
    return Schema(tuple(columns), len(frame))


def no_column(argument: str, name: Any, known: Iterable[Any]) -> TableError:
    """The error for a name that no column has, with those it may have been meant for."""
    names = [str(each) for each in known]
    close = difflib.get_close_matches(str(name), names, n=3)
    # Letters that differ in size only are not close to difflib.
    close += [n for n in names if n.lower() == str(name).lower() and n not in close]
    if close:
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    else:
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        hint = f"the columns are {', '.join(map(shortened, names[:10]))}{more}."
    return TableError(f"{argument}={name!r} is no column; {hint}")


def _asked(
    frame: Any,
    target: Any,
    drop: Any,
    categorical: Any,
    weights: Any,
    group: Any,
    time: Any,
) -> _Asked:
    names = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise TableError(
                f"columns must have text as names, got {name!r}; frame.rename(columns=str) helps."
            )
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise TableError(f"the table has several columns {', '.join(map(repr, twice))}.")
    targets = _names("target", target, names)
    if not targets:
        raise TableError("target=[] must name a column at least.")
    if group is not None and time is not None:
        raise TableError(f"group={group!r} and time={time!r}: give one of them.")
    roles = dict.fromkeys(targets, "target")
    for argument, given in (("weights", weights), ("group", group), ("time", time)):
        for name in () if given is None else _names(argument, given, names):
            _check_free(argument, name, roles)
            roles[name] = argument
    lists = {
        "drop": _names("drop", drop, names),
        "categorical": _names("categorical", categorical, names),
    }
    for argument, given in lists.items():
        for name in given:
            _check_free(argument, name, roles)
    both = set(lists["drop"]) & set(lists["categorical"])
    if both:
        raise TableError(f"{min(both)!r} is in drop and in categorical; which is it?")
    return _Asked(targets, lists["drop"], lists["categorical"], roles)


def _names(argument: str, given: Any, known: list[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in known:
            raise no_column(argument, name, known)
    if len(set(names)) < len(names):
        raise TableError(f"{argument}={list(names)!r} names a column twice.")
    return names


def _check_free(argument: str, name: str, roles: dict[str, str]) -> None:
    if name in roles:
        raise TableError(f"{argument}={name!r} is already the {roles[name]} column.")


def _column(series: Any, asked: _Asked) -> Column:
    name = series.name
    values = series.astype(object)
    missing = missing_cells(values) | series.isna().to_numpy()
    present = series[~missing]
    try:
        n_distinct = int(present.astype(object).nunique())
    except TypeError:
        return _nested(name, int(missing.sum()), asked)
    plain = Column(name, "", "", int(missing.sum()), n_distinct)
    role = asked.roles.get(name)
    if role is not None:
        return check_role(role, present, _guess(present, plain), len(series))
    if name in asked.drop:
        return replace(plain, role="dropped", remark="as asked")
    if n_distinct == 0:
        return replace(plain, role="constant", remark="no values at all")
    if n_distinct == 1 and plain.n_missing == 0:
        return replace(plain, role="constant", remark=f"{shortened(present.iloc[0])} in every row")
    if name in asked.categorical:
        numeric = getattr(series.dtype, "kind", "O") in "iuf"
        return replace(plain, role="category", form="plain" if numeric else "", remark="as asked")
    return _left_out_if_useless(present, _guess(present, plain))


def _nested(name: str, n_missing: int, asked: _Asked) -> Column:
    if name in asked.roles or name in asked.categorical:
        raise TableError(f"column {name!r} holds lists or the like, not single values.")
    return Column(name, "dropped", "", n_missing, 0, "lists or the like, not single values")


def _guess(present: Any, plain: Column) -> Column:
    """Number, date or category, by type and by what is written."""
    kind = getattr(present.dtype, "kind", "O")
    if kind in "biufm":
        infinite = 0 if kind == "m" else int((~np.isfinite(present.to_numpy(dtype=float))).sum())
        remark = f"{infinite} infinite taken as missing" if infinite else ""
        n_missing = plain.n_missing + infinite
        return replace(plain, role="number", form="plain", n_missing=n_missing, remark=remark)
    if hasattr(present, "cat"):
        return replace(plain, role="category")
    distinct = list(present.unique())
    form = date_form(present)
    if form is not None:
        return replace(plain, role="date", form=form, remark=says_of_dates(form, distinct))
    if all(isinstance(value, str) for value in distinct):
        form = number_form(distinct)
        if form is not None:
            return _written_numbers(present, plain, form)
    elif not any(isinstance(value, str) for value in distinct) and _floats(distinct):
        return replace(plain, role="number", form="plain")
    return replace(plain, role="category")


def _written_numbers(present: Any, plain: Column, form: str) -> Column:
    values = numbers(present, form, plain.name)
    lost = int(np.isnan(values).sum())
    if lost == len(values):
        # Nothing but words for missing values, which may as well be words.
        return replace(plain, role="category")
    shown = max(present.unique(), key=lambda text: not str(text).strip().isdigit())
    marks = f", {lost} of them missing" if lost else ""
    remark = f"numbers written like {shortened(shown)}{marks}"
    return replace(
        plain,
        role="number",
        form=form,
        n_missing=plain.n_missing + lost,
        n_distinct=len(np.unique(values[~np.isnan(values)])),
        remark=remark,
    )


def _floats(values: list[Any]) -> bool:
    """Whether objects such as decimals are numbers."""
    try:
        [float(value) for value in values]
    except (TypeError, ValueError):
        return False
    return True


def _left_out_if_useless(present: Any, column: Column) -> Column:
    n = len(present)
    if column.role == "number" and column.n_missing == 0 and _is_row_number(present, column):
        return replace(column, role="identifier", remark="numbers the rows")
    if column.role != "category" or hasattr(present, "cat"):
        return column
    if column.n_distinct == n and n > 1:
        return replace(column, role="identifier", remark="differs in every row")
    if column.n_distinct > max(MOST_LEVELS, MOST_LEVELS_SHARE * n):
        return replace(
            column, role="text", remark=f"{column.n_distinct} different texts in {n} rows"
        )
    return column


def _is_row_number(present: Any, column: Column) -> bool:
    if column.n_distinct < max(2, len(present)) or getattr(present.dtype, "kind", "O") == "m":
        return False
    values = as_numbers(present, column.form, column.name)
    if not (values == np.round(values)).all():
        return False
    in_order = values[0] in (0.0, 1.0) and bool((np.diff(values) == 1.0).all())
    return in_order or _LIKE_AN_ID.match(column.name.lower()) is not None


def _restored(series: Any, column: Column) -> Column:
    """Row numbers as a number after all: there is nothing else to predict from."""
    if column.remark != "numbers the rows":
        return column
    return replace(column, role="number", remark="numbers the rows; the only input")


def check_role(role: str, present: Any, column: Column, n_rows: int) -> Column:
    """The column in its role, or an error that says why it cannot have it.

    Parameters
    ----------
    role : {"target", "weights", "group", "time"}
    present : pandas.Series
        Its values that are not missing.
    column : Column
        What it would be without this role.
    n_rows : int
        Rows of the table.

    Raises
    ------
    TableError
        If the values do not suit the role.
    """
    return _CHECKS[role](present, column, n_rows)


def _target(present: Any, column: Column, n_rows: int) -> Column:
    name = column.name
    if column.n_missing >= n_rows or column.n_distinct == 0:
        raise TableError(f"target {name!r} has no values.")
    if column.role != "number":
        what = "dates" if column.role == "date" else "text"
        raise TableError(
            f"target {name!r} must hold numbers; it holds {what} such as "
            f"{shortened(_first_odd(present))}. Classes cannot be predicted here."
        )
    if column.n_distinct == 1:
        raise TableError(
            f"target {name!r} is {shortened(present.iloc[0])} in every row that has it: there is "
            "nothing to predict."
        )
    rows = f"{column.n_missing} rows without it are left out" if column.n_missing else ""
    return replace(column, role="target", remark="; ".join(filter(None, [column.remark, rows])))


def _first_odd(present: Any) -> Any:
    return next(
        (v for v in present if isinstance(v, str) and number_form([v]) is None), present.iloc[0]
    )


def _weights(present: Any, column: Column, n_rows: int) -> Column:
    if column.role != "number" or column.n_missing:
        raise TableError(f"weights={column.name!r} must hold a number in every row.")
    values = as_numbers(present, column.form, column.name)
    if (values < 0).any() or not values.any():
        raise TableError(f"weights={column.name!r} must not be negative, nor all of them zero.")
    return replace(column, role="weights")


def _group(present: Any, column: Column, n_rows: int) -> Column:
    if column.n_missing:
        raise TableError(f"group={column.name!r} has no value in {column.n_missing} rows.")
    if column.n_distinct < 2:
        raise TableError(f"group={column.name!r} is one group; splits need two at least.")
    return replace(column, role="group", form="", remark=f"{column.n_distinct} groups")


def _time(present: Any, column: Column, n_rows: int) -> Column:
    if column.n_missing:
        raise TableError(f"time={column.name!r} has no value in {column.n_missing} rows.")
    if column.role not in ("number", "date"):
        raise TableError(
            f"time={column.name!r} must hold dates or numbers, got {shortened(present.iloc[0])}."
        )
    return replace(column, role="time")


_CHECKS = {"target": _target, "weights": _weights, "group": _group, "time": _time}
