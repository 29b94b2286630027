"""Cells of text as numbers: the form in which a whole column is written, and its values.

A *form* is that way, in a word: ``"plain"``, ``"truth"`` (true and false), ``"thousands"``
(1,234.5), ``"comma"`` (1234,5 or 1.234,5), and all but truth with a sign in front that every cell
has, as in ``"% plain"`` or ``"$ thousands"``. A column has a form or it is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr._common.types import BoolArray, FloatArray
from negcorr.exceptions import TableError

__all__ = [
    "MISSING_MARKS",
    "as_numbers",
    "is_missing_mark",
    "missing_cells",
    "number_form",
    "number_in_form",
    "numbers",
    "plain_number",
    "plain_numbers",
]


#: Marks of missing values, in lower case.
MISSING_MARKS = frozenset(["", "na", "n/a", "nan", "null", "none", "?", "-", "--", "<na>"])

#: What spreadsheets leave where a formula failed.
_FAILED = frozenset(["#n/a", "#div/0!", "#name?", "#null!", "#num!", "#ref!", "#value!"])

_TRUTH = {"true": 1.0, "false": 0.0}
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)
_COMMA = re.compile(r"[+-]?(\d*,\d+|[1-9]\d{0,2}(\.\d{3})+(,\d+)?|\d+,?)([eE][+-]?\d+)?", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII)
# Line ends stand between cells, and blanks of the pattern are none: it would begin at each again.
_ZERO_SOMEWHERE = re.compile(r"^[^\S\n]*[+-]?0\d", re.ASCII | re.MULTILINE)
_SIGNS = "%$€£¥"


def is_missing_mark(cell: str) -> bool:
    """Whether a cell says that there is no value.

    Examples
    --------
    >>> from negcorr.reading.number_cells import is_missing_mark
    >>> [is_missing_mark(cell) for cell in ("", " N/A ", "?", "0")]
    [True, True, True, False]
    """
    word = cell.strip().lower() if len(cell) < 16 else cell.strip()
    return word in MISSING_MARKS or word in _FAILED


def plain_number(cell: str) -> float | None:
    """The value of a cell such as 12, -1.5 or 2e3; None for all others.

    Examples
    --------
    >>> from negcorr.reading.number_cells import plain_number
    >>> plain_number(" 2e3 "), plain_number("1_000"), plain_number("007")
    (2000.0, None, None)
    """
    text = cell.strip()
    # 1_000 is a number to Python only, and 007 is a code whose zeros matter.
    if "_" in text or _LEADING_ZERO.match(text) or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def plain_numbers(cells: Sequence[str]) -> FloatArray | None:
    """Values of cells that are all plain numbers; None if one of them is not.

    Examples
    --------
    >>> from negcorr.reading.number_cells import plain_numbers
    >>> plain_numbers(["1", "2.5"]), plain_numbers(["1", "a"])
    (array([1. , 2.5]), None)
    """
    together = "\n".join(cells)
    # All at once: files have millions of cells, and most of them are nothing but numbers.
    if "_" in together or not together.isascii() or _ZERO_SOMEWHERE.search(together):
        return None
    try:
        return np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        return None


def number_form(cells: Iterable[str]) -> str | None:
    """The form that all cells share which are not marks of missing values; None if there is none.

    Parameters
    ----------
    cells : iterable of str
        Cells of a column, or its distinct ones.

    Returns
    -------
    str or None
        ``"plain"`` also where nothing but marks of missing values is given.

    Examples
    --------
    >>> from negcorr.reading.number_cells import number_form
    >>> number_form(["1,234", "5", "NA"]), number_form(["12 %", "3 %"]), number_form(["a", "1"])
    ('thousands', '% plain', None)
    """
    present = [cell.strip() for cell in cells if not is_missing_mark(cell)]
    # Of money or percent, at one end of every cell.
    sign = next(
        (s for s in _SIGNS if present and all(cell.count(s) == 1 for cell in present)), None
    )
    bare = present if sign is None else [_without(cell, sign) for cell in present]
    inner = next((f for f, of in _INNER.items() if all(of(c) is not None for c in bare)), None)
    if inner is None or (sign is not None and inner == "truth"):
        return None
    return inner if sign is None else f"{sign} {inner}"


def numbers(cells: Iterable[Any], form: str, column: str) -> FloatArray:
    """Values of cells in a known form, NaN where one is missing or infinite.

    Cells that are numbers already are taken as they are, so that a column of a form may also come
    from elsewhere with its values.

    Parameters
    ----------
    cells : iterable
        Text, numbers or missing values.
    form : str
        See :func:`number_form`.
    column : str
        Name of the column, for errors.

    Raises
    ------
    TableError
        If a cell is neither in this form nor a plain number.

    Examples
    --------
    >>> from negcorr.reading.number_cells import numbers
    >>> numbers(["$1,234", "?", "$5"], "$ thousands", "price")
    array([1234.,   nan,    5.])
    """
    known: dict[str, float | None] = {}
    values = []
    for cell in cells:
        if isinstance(cell, str):
            if cell not in known:
                known[cell] = number_in_form(cell, form)
            value = known[cell]
        elif type(cell).__name__ in ("NoneType", "NAType", "NaTType"):
            value = math.nan
        else:
            try:
                value = float(cell)
            except (TypeError, ValueError):
                raise TableError(f"column {column!r}: {shortened(cell)} is not a number.") from None
        if value is None:
            written = "" if form == "plain" else f" (written as {form!r})"
            raise TableError(
                f"column {column!r}: {shortened(cell)} is not a number, as the others are{written}."
            )
        values.append(value if math.isfinite(value) else math.nan)
    return np.array(values, dtype=np.float64)


def number_in_form(cell: str, form: str) -> float | None:
    """The value of a cell in a known form, NaN for a mark of a missing value; None for text."""
    if is_missing_mark(cell):
        return math.nan
    sign, _, inner = form.rpartition(" ")
    value = _INNER[inner](_without(cell, sign) if sign else cell.strip())
    return plain_number(cell) if value is None else value


def as_numbers(series: Any, form: str, column: str) -> FloatArray:
    """Values of a column of numbers, whatever type it has; NaN where one is missing or infinite.

    Parameters
    ----------
    series : pandas.Series
    form : str
        Form of its text, if it has any.
    column : str
        Its name, for errors.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.reading.number_cells import as_numbers
    >>> as_numbers(pd.Series([1, None], dtype="Int64"), "plain", "x")
    array([ 1., nan])
    """
    kind = getattr(series.dtype, "kind", "O")
    if kind == "m":
        return np.asarray(series.dt.total_seconds() / 86400.0, dtype=np.float64)
    if kind in "biuf":
        values = np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
        values[np.isinf(values)] = np.nan
        return values
    if kind == "c":
        raise TableError(f"column {column!r} holds complex numbers.")
    return numbers(series.astype(object), form or "plain", column)


def missing_cells(series: Any) -> BoolArray:
    """Which cells of a column have no value: None, NaN, NaT, or text of nothing but blanks."""
    blank = [isinstance(cell, str) and not cell.strip() for cell in series.astype(object)]
    return np.asarray(series.isna().to_numpy() | np.array(blank, dtype=bool), dtype=bool)


def _truth(cell: str) -> float | None:
    return _TRUTH.get(cell.lower())


def _thousands(cell: str) -> float | None:
    return float(cell.replace(",", "")) if _THOUSANDS.fullmatch(cell) else plain_number(cell)


def _comma(cell: str) -> float | None:
    if not _COMMA.fullmatch(cell) or _LEADING_ZERO.match(cell):
        return None
    return float(cell.replace(".", "").replace(",", "."))


#: In the order in which they are tried: 1,234 is 1234 and not 1.234.
_INNER = {"plain": plain_number, "truth": _truth, "thousands": _thousands, "comma": _comma}


def _without(cell: str, sign: str) -> str:
    """The cell without its sign, or as it is where the sign is in the middle."""
    text = cell.strip()
    minus = "-" if text.startswith("-") and sign != "%" else ""
    bare = text.removeprefix(minus).strip()
    if bare.endswith(sign):
        return minus + bare[:-1].strip()
    if bare.startswith(sign) and sign != "%":
        return minus + bare[1:].strip()
    return text
