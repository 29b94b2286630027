"""Cells of a data frame as the values they mean, by the forms in which columns are written."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.number_text import listed, shortened
from negcorr._common.types import AnyArray
from negcorr._common.validation import has_nan
from negcorr.exceptions import TableError
from negcorr.reading.dates import dates, iso_dates
from negcorr.reading.number_cells import (
    as_numbers,
    is_missing_mark,
    number_form,
    number_in_form,
)
from negcorr.reading.optional import import_optional
from negcorr.reading.schema import Column

__all__ = [
    "MISSING_LEVEL",
    "as_frame",
    "given_cells",
    "has_columns",
    "has_names",
    "level_names",
    "placing",
    "typed_cells",
]

#: A number as Python writes it, and what may be one that is written in another way.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)
_PERHAPS_NUMBER = re.compile(
    r"[-+%$€£¥\s]*[\d.,][\d.,eE+-]*[%$€£¥\s]*|true|false|[+-]?inf(inity)?", re.IGNORECASE
)

#: The category of rows that have none.
MISSING_LEVEL = "(missing)"


def has_columns(X: Any) -> bool:
    """Whether a table has columns of several kinds, or cells without a value.

    Data frames of pandas and polars, tables of pyarrow, arrays of objects or text, and arrays with
    NaN. Arrays of numbers have not, and need nothing of this room.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.columns.cells import has_columns
    >>> has_columns(np.array([[1.0, np.nan]])), has_columns(np.array([[1.0, 2.0]]))
    (True, False)
    """
    if hasattr(X, "columns") and hasattr(X, "shape"):
        return True
    if isinstance(X, (list, tuple)):
        X = np.asarray(X, dtype=object)
        return X.ndim == 2 and any(isinstance(cell, str) or cell is None for cell in X.ravel())
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return False
    return X.dtype.kind in "OUS" or has_nan(X)


def has_names(X: Any) -> bool:
    """Whether the columns of a table have names, as scikit-learn sees it: all of them are text."""
    columns = getattr(X, "column_names", getattr(X, "columns", ()))
    return len(columns) > 0 and all(isinstance(name, str) for name in columns)


def as_frame(X: Any) -> Any:
    """The table as a data frame of pandas; columns without names are named by their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.columns.cells import as_frame
    >>> as_frame(np.array([[1, "a"], [2, "b"]], dtype=object)).dtypes.tolist()
    [dtype('int64'), dtype('O')]
    """
    pandas = import_optional("pandas", "columns of several kinds are read by pandas")
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X  # polars and pyarrow
    if hasattr(frame, "iloc"):
        if not has_names(frame):
            return frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1)
        if not frame.columns.is_unique:
            twice = sorted(set(frame.columns[frame.columns.duplicated()]))
            raise TableError(
                f"the table has several columns {listed([shortened(name) for name in twice], 10)}."
            )
        return frame
    values = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    columns = {f"x{j}": _narrowed(values[:, j]) for j in range(values.shape[1])}
    return pandas.DataFrame(columns)


def _narrowed(cells: AnyArray) -> Any:
    """Cells of an array as numbers where all of them are, and else as objects."""
    import pandas

    if cells.dtype.kind in "US":
        return pandas.Series(cells.astype(str).astype(object), dtype=object)
    if cells.dtype != object:
        return cells
    series = pandas.Series(cells, dtype=object)
    narrow = series.infer_objects()
    return narrow if getattr(narrow.dtype, "kind", "O") in "biufM" else series


def level_names(series: Any) -> AnyArray:
    """A column as categories by name; whole numbers are named alike in every type.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.columns.cells import level_names
    >>> level_names(pd.Series([3.0, None])).tolist(), level_names(pd.Series(["a ", ""])).tolist()
    (['3', '(missing)'], ['a', '(missing)'])
    """
    if hasattr(series, "cat"):
        # Each category once: there are few of them, and rows may be millions.
        known = series.cat.categories.to_series().astype(object)
        named = np.append(level_names(known), MISSING_LEVEL).astype(object)
        return np.asarray(named[series.cat.codes.to_numpy()])
    import pandas

    cells = series.astype(object)
    codes, distinct = pandas.factorize(cells.to_numpy(), use_na_sentinel=True)
    names = []
    for value in distinct:
        is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
        name = str(int(value)) if is_whole else str(value).strip()
        names.append(name or MISSING_LEVEL)
    return np.array([*names, MISSING_LEVEL], dtype=object)[codes]


def given_cells(frame: Any) -> list[AnyArray]:
    """The cells of a data frame before anything is known of its columns, for row keys.

    A cell of text that can be read as a number, a truth value or an ISO date counts as that, and a
    mark of a missing value as missing, whatever other cells its column has: a file may hold as text
    what a data frame has as numbers or dates. Only what other cells decide is not seen: whether
    1,234 is a little more than one, or which of two numbers is the month.

    Parameters
    ----------
    frame : pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.columns.cells import given_cells
    >>> [cells.tolist() for cells in given_cells(pd.DataFrame({"x": [1, 2], "kind": ["a", "2"]}))]
    [[1.0, 2.0], ['a', 2.0]]
    """
    columns = []
    for j in range(frame.shape[1]):
        series = frame.iloc[:, j]
        kind = "O" if hasattr(series, "cat") else getattr(series.dtype, "kind", "O")
        if kind in "biufm":
            columns.append(as_numbers(series, "plain", str(series.name)))
        elif kind == "M":
            columns.append(np.asarray(dates(series, "datetime", str(series.name)).to_numpy()))
        else:
            columns.append(_by_value(series))
    return columns


def _by_value(series: Any) -> AnyArray:
    """Cells of text, those that are numbers and dates as such, and missing ones as None."""
    import pandas

    try:
        codes, words = pandas.factorize(level_names(series))
    except TypeError:  # lists and the like, which are never inputs
        return np.array([str(cell) for cell in series], dtype=object)
    values = words.copy()
    at = np.flatnonzero([_PLAIN_NUMBER.fullmatch(word) is not None for word in words])
    values[at] = words[at].astype(np.float64)
    for k in np.setdiff1d(np.arange(len(words)), at).tolist():
        values[k] = _alone(words[k])
    moments = iso_dates(words)
    at = np.flatnonzero(~np.isnat(moments))
    if len(at) and len(at) + np.count_nonzero(words == MISSING_LEVEL) == len(words):
        return np.asarray(moments[codes])
    values[at] = moments[at].astype(object)
    return np.asarray(values[codes])


def _alone(word: str) -> Any:
    """What a cell of text means without the others: a number, None where it is missing, or text."""
    if word == MISSING_LEVEL or is_missing_mark(word):
        return None
    form = number_form([word]) if _PERHAPS_NUMBER.fullmatch(word) else None
    value = None if form is None else number_in_form(word, form)
    if value is None:
        return word
    return value if math.isfinite(value) else None


def typed_cells(series: Any, column: Column) -> AnyArray:
    """The values of a column of inputs: floats, names of levels, or moments of datetime64.

    Parameters
    ----------
    series : pandas.Series
    column : Column
        Its role and form.

    Raises
    ------
    TableError
        If a cell is not what its column holds; the message names the column.
    """
    if column.role == "number":
        return as_numbers(series, column.form, column.name)
    if column.role == "date":
        return np.asarray(dates(series, column.form, column.name).to_numpy())
    return level_names(series)


@contextmanager
def placing(
    path: Path,
    frame: Any,
    read: Callable[[Any], object],
    row: int,
    advice: str = "Correct it, leave it empty, take the column as categorical, or drop it.",
) -> Iterator[None]:
    """Let errors about cells say in which row they are.

    Parameters
    ----------
    path : Path
        Of the file.
    frame : pandas.DataFrame
    read : callable
        Takes rows of the frame, and raises the error.
    row : int
        Number of rows before the frame.
    advice : str
    """

    def fails(n: int) -> bool:
        try:
            read(frame.iloc[:n])
        except TableError:
            return True
        return False

    try:
        yield
    except TableError as error:
        if fails(0) or not fails(len(frame)):
            raise
        # The shortest beginning of the frame that fails ends with the row.
        last = bisect_left(range(1, len(frame)), True, key=fails)
        raise TableError(f"{path}, row {row + last + 1}: {error} {advice}") from error
