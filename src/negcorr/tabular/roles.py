"""Columns with a part of their own: what a target, weights, groups and times must be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from negcorr.exceptions import TableError
from negcorr.tabular.cells import as_numbers, number_form, shortened
from negcorr.tabular.schema import Column

__all__ = ["check_role"]


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
