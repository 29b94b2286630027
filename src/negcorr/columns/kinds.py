"""infer_columns: the role of every column of a data frame, and how its cells are written."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from negcorr._common.number_text import listed, shortened
from negcorr.columns.cells import given_cells
from negcorr.columns.counts import CellCounts
from negcorr.exceptions import TableError
from negcorr.reading.dates import date_form, date_remark
from negcorr.reading.number_cells import as_numbers, missing_cells, number_form, numbers
from negcorr.reading.schema import Column, Schema
from negcorr.rows.keys import row_keys
from negcorr.rows.rows import Rows
from negcorr.rows.sample import RowSample, is_sampled

__all__ = ["infer_columns", "input_columns", "large_columns", "no_column"]


#: A column with more different words than this, and than the share of rows below, is text.
MOST_LEVELS = 20
MOST_LEVELS_SHARE = 0.2

#: The remark on an identifier that counts the rows.
_ROW_NUMBERS = "numbers the rows"

_LIKE_AN_ID = re.compile(
    r"(id|idx|index|row|row_?(id|no|nr|num|number)|no|nr|num|number|key|uuid|guid|unnamed: \d+"
    r"|column_1|#)$|.*_(id|uuid|guid|key)$|__index_level_\d+__$"
)


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
    """Find the role of every column of a table.

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
        Column that gives the order of rows, so that the last are predicted from the first; not an
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
    asked = {"target": target, "weights": weights, "group": group, "time": time}
    roles = _asked_roles(list(frame.columns), **asked, drop=drop, categorical=categorical)
    if len(frame) == 0:
        raise TableError("the table has no row.")
    if is_sampled(len(frame)):
        kept = frame[[name for name in frame.columns if roles.get(name) != "drop"]]
        # Groups and times decide what is held out, for which all of them count.
        whole = [name for name in frame.columns if roles.get(name) in ("group", "time")]
        return _by_sample(list(frame.columns), roles, *_looked_at(kept), frame[whole])
    columns = [_column(frame[name], roles.get(name, ""), len(frame)) for name in frame.columns]
    return _with_inputs(columns, len(frame))


def large_columns(
    names: Sequence[str],
    sample: Any,
    counts: CellCounts,
    target: str | Sequence[str],
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weights: str | None = None,
) -> Schema:
    """What :func:`infer_columns` finds in a table of which only a sample is in memory.

    Parameters
    ----------
    names : sequence of str
        All columns of the table.
    sample : pandas.DataFrame
        Rows with the smallest keys, of all columns that are not dropped.
    counts : CellCounts
        Of all rows.
    target, drop, categorical, weights
        As there.
    """
    asked = {"target": target, "weights": weights, "group": None, "time": None}
    roles = _asked_roles(list(names), **asked, drop=drop, categorical=categorical)
    return _by_sample(list(names), roles, sample, counts)


def _looked_at(frame: Any) -> tuple[Any, CellCounts]:
    """The rows with the smallest keys, and counts of all rows."""
    none = np.empty((len(frame), 0))
    rows = Rows(frame, none, None, row_keys(given_cells(frame), none))
    return RowSample.of(rows).rows.X, CellCounts.of(frame)


def _by_sample(
    names: list[str], roles: Mapping[str, str], sample: Any, counts: CellCounts, whole: Any = ()
) -> Schema:
    n_rows = counts.n_rows
    columns = []
    for name in names:
        if roles.get(name) == "drop":
            columns.append(Column(name, "dropped", "", 0, 0, "as asked"))
            continue
        cells = whole[name] if name in whole else sample[name]
        of_all = counts.n_missing(name), counts.levels.get(name)
        columns.append(_column(cells, roles.get(name, ""), n_rows, *of_all))
    return _with_inputs(columns, n_rows)


def input_columns(
    frame: Any, counts: CellCounts, *, named: bool = True, repeated: bool = False
) -> Schema:
    """Find the role of every column of inputs, as :func:`infer_columns` does.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows, or a sample of them.
    counts : CellCounts
        Of all rows.
    named : bool, default=True
        Whether columns have names. Columns of numbers without a name are left out only
        where they have no value.
    repeated : bool, default=False
        Whether a row counts more than once, by its weight: then no number is that of one row.

    Returns
    -------
    Schema
        With the number of all rows, and their missing values.
    """
    n_rows = counts.n_rows
    columns = []
    for name in frame.columns:
        of_all = counts.n_missing(name), counts.levels.get(name)
        column = _column(frame[name], "", n_rows, *of_all, repeated)
        kept = not named and column.n_distinct > 0
        if kept and column.role in ("constant", "identifier"):
            column = _by_content(frame[name].dropna(), replace(column, remark=""))
            number = column.role == "number"
            column = column if number else _column(frame[name], "", n_rows, *of_all, repeated)
        columns.append(column)
    return _with_inputs(columns, n_rows)


def _with_inputs(columns: list[Column], n_rows: int) -> Schema:
    """The columns, of which one at least must be an input."""
    if not any(column.is_input for column in columns):
        # Row numbers as a number after all: there is nothing else to predict from.
        as_number: dict[str, Any] = {"role": "number", "remark": f"{_ROW_NUMBERS}; the only input"}
        columns = [replace(c, **as_number) if c.remark == _ROW_NUMBERS else c for c in columns]
    if not any(column.is_input for column in columns):
        lines = "; ".join(f"{c.name!r} is {c.role}" for c in columns)
        raise TableError(f"no column is left to predict from: {lines}.")
    return Schema(tuple(columns), n_rows)


def no_column(argument: str, name: Any, known: Iterable[Any]) -> TableError:
    """The error for a name that no column has, with those it may have been meant for."""
    names = [str(each) for each in known]
    close = difflib.get_close_matches(str(name), names, n=3)
    # difflib does not treat capital and small letters as equal.
    close += [n for n in names if n.lower() == str(name).lower() and n not in close]
    if close:
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    else:
        hint = f"the columns are {listed([shortened(name) for name in names], 10)}."
    return TableError(f"{argument}={name!r} is no column; {hint}")


def _asked_roles(columns: list[Any], **asked: Any) -> dict[str, str]:
    """For each column that an argument names, that argument; all arguments are checked."""
    odd = [name for name in columns if not isinstance(name, str)]
    if odd:
        raise TableError(
            f"columns must have text as names, got {odd[0]!r}; frame.rename(columns=str) helps."
        )
    twice = sorted(name for name, count in Counter(columns).items() if count > 1)
    if twice:
        raise TableError(
            f"the table has several columns {listed([shortened(name) for name in twice], 10)}."
        )
    if asked["group"] is not None and asked["time"] is not None:
        raise TableError(f"group={asked['group']!r} and time={asked['time']!r}: give one of them.")
    roles: dict[str, str] = {}
    for argument, given in asked.items():
        names = () if given is None else (given,) if isinstance(given, str) else tuple(given)
        for name in names:
            if name not in columns:
                raise no_column(argument, name, columns)
        if len(set(names)) < len(names):
            raise TableError(f"{argument}={list(names)!r} names a column twice.")
        if argument == "target" and not names:
            raise TableError("target=[] must name a column at least.")
        for name in names:
            role = roles.setdefault(name, argument)
            if (role, argument) == ("drop", "categorical"):
                raise TableError(f"{name!r} is in drop and in categorical; which is it?")
            if role != argument:
                raise TableError(f"{argument}={name!r} is already the {role} column.")
    return roles


def _column(
    series: Any,
    asked: str,
    n_rows: int,
    n_missing: int | None = None,
    levels: Mapping[str, float] | None = None,
    repeated: bool = False,
) -> Column:
    """The role of a column and the form of its cells.

    ``asked`` is the argument that names it. Where ``series`` is a sample of the rows, ``n_rows`` is
    the number of all of them, ``n_missing`` that of their missing cells, and ``levels`` are their
    different words.
    """
    name = series.name
    missing = missing_cells(series)
    n_missing = int(missing.sum()) if n_missing is None else n_missing
    present = series[~missing]
    try:
        n_distinct = int(present.astype(object).nunique())
    except TypeError as error:
        problem = "lists or the like, not single values"
        if asked not in ("", "drop"):
            raise TableError(f"column {name!r} holds {problem}.") from error
        return Column(name, "dropped", "", n_missing, 0, problem)
    is_text = not hasattr(series, "cat") and getattr(series.dtype, "kind", "O") not in "biufmM"
    each_once = bool(levels) and is_text and all(isinstance(cell, str) for cell in present)
    if levels is not None and each_once:
        # All different words say more than a sample of the cells.
        n_distinct = len(levels)
        present = type(series)(sorted(levels), dtype=object, name=name)
    plain = Column(name, "", "", n_missing, n_distinct)
    if asked in _CHECKS:
        return _CHECKS[asked](present, _by_content(present, plain), n_rows)
    if asked == "drop":
        return replace(plain, role="dropped", remark="as asked")
    if n_distinct + (n_missing > 0) < 2:
        only = f"{shortened(present.iloc[0])} in every row" if n_distinct else "no values at all"
        return replace(plain, role="constant", remark=only)
    if asked == "categorical":
        numeric = getattr(series.dtype, "kind", "O") in "iuf"
        return replace(plain, role="category", form="plain" if numeric else "", remark="as asked")
    column = _by_content(present, plain)
    if repeated and column.role == "number":
        return column
    return _left_out_if_useless(present, column, n_rows, each_once=each_once)


def _by_content(present: Any, plain: Column) -> Column:
    """The column as number, date or category, by its type and how its values are written."""
    kind = getattr(present.dtype, "kind", "O")
    if kind in "biufm":
        infinite = 0 if kind == "m" else int((~np.isfinite(present.to_numpy(dtype=float))).sum())
        remark = f"{infinite} infinite taken as missing" if infinite else ""
        n_missing = plain.n_missing + infinite
        return replace(plain, role="number", form="plain", n_missing=n_missing, remark=remark)
    category = replace(plain, role="category")
    if hasattr(present, "cat"):
        return category
    distinct = list(present.unique())
    form = date_form(present)
    if form is not None:
        return replace(plain, role="date", form=form, remark=date_remark(form, distinct))
    if not any(isinstance(value, str) for value in distinct):
        try:  # decimals, say
            [float(value) for value in distinct]
        except (TypeError, ValueError):
            return category
        return replace(plain, role="number", form="plain")
    form = number_form(distinct) if all(isinstance(value, str) for value in distinct) else None
    values = numbers(present, form, plain.name) if form is not None else np.array([])
    lost = int(np.isnan(values).sum())
    if form is None or lost == len(values):
        # Text, or only marks of missing values, which may also be ordinary words.
        return category
    # One that depends on no order of rows.
    shown = max(distinct, key=lambda text: (not text.strip().isdigit(), text))
    marks = f", {lost} of them missing" if lost else ""
    remark = f"numbers written like {shortened(shown)}{marks}"
    n_distinct = len(np.unique(values[~np.isnan(values)]))
    return Column(plain.name, "number", form, plain.n_missing + lost, n_distinct, remark)


def _left_out_if_useless(
    present: Any, column: Column, n_rows: int, *, each_once: bool = False
) -> Column:
    """The column, or the same as identifier or text: row numbers, and texts that hardly repeat.

    The order of rows does not matter: row numbers are distinct whole numbers up to the number of
    rows. With ``each_once`` the cells are the different ones of all rows, and not those of rows.
    """
    n, n_distinct = max(len(present), n_rows - column.n_missing), column.n_distinct
    if column.role == "number":
        is_time = getattr(present.dtype, "kind", "O") == "m"
        if is_time or column.n_missing or n_distinct < max(2, n if each_once else len(present)):
            return column
        values = as_numbers(present, column.form, column.name)
        is_whole = bool((values == np.round(values)).all())
        counts = is_whole and values.min() >= 0.0 and values.max() <= n_rows
        if len(present) == n_rows:
            counts = counts and np.ptp(values) == n_rows - 1
        if counts or (is_whole and _LIKE_AN_ID.match(column.name.lower())):
            return replace(column, role="identifier", remark=_ROW_NUMBERS)
        return column
    if column.role != "category" or hasattr(present, "cat"):
        return column
    if n_distinct == n and n > 1:
        return replace(column, role="identifier", remark="differs in every row")
    if n_distinct > max(MOST_LEVELS, MOST_LEVELS_SHARE * n):
        return replace(column, role="text", remark=f"{n_distinct} different texts in {n} rows")
    return column


def _target(present: Any, column: Column, n_rows: int) -> Column:
    name = column.name
    if column.n_missing >= n_rows or column.n_distinct == 0:
        raise TableError(f"target {name!r} has no values.")
    if column.role != "number":
        what = "dates" if column.role == "date" else "text"
        odd = (v for v in present if isinstance(v, str) and number_form([v]) is None)
        raise TableError(
            f"target {name!r} must hold numbers; it holds {what} such as "
            f"{shortened(next(odd, present.iloc[0]))}. Classes cannot be predicted here."
        )
    if column.n_distinct == 1 and len(present) == n_rows - column.n_missing:
        raise TableError(
            f"target {name!r} is {shortened(present.iloc[0])} in every row that has it: there is "
            "nothing to predict."
        )
    rows = f"{column.n_missing} rows without it are left out" if column.n_missing else ""
    return replace(column, role="target", remark="; ".join(filter(None, [column.remark, rows])))


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
        held = shortened(present.iloc[0])
        raise TableError(f"time={column.name!r} must hold dates or numbers, got {held}.")
    return replace(column, role="time")


#: Each gives a column its role, or says why its values do not suit that.
_CHECKS = {"target": _target, "weights": _weights, "group": _group, "time": _time}
