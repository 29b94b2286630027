"""Columns of cells as the types they hold, and data frames of them.

A column is numbers where all its cells are, and else text. Readers of whole files use this for all
rows, readers of chunks for the first rows or a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from negcorr._common.number_text import shortened
from negcorr._common.types import AnyArray, FloatArray
from negcorr.exceptions import TableError
from negcorr.reading.number_cells import (
    is_missing_mark,
    number_form,
    numbers,
    plain_number,
    plain_numbers,
)

__all__ = ["data_frame", "kind_of_numbers", "typed_column", "typed_objects", "uses_decimal_commas"]

#: Above this, not every whole number is a float.
_EXACT = 2**53


#: A column in its type, whole numbers, floats, or objects (text, and None where a cell is empty);
#: and notes on what was odd.
TypedColumn: TypeAlias = tuple[AnyArray, tuple[str, ...]]


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A data frame of named columns; text stays objects, whatever type pandas has for it.

    Parameters
    ----------
    columns : mapping of str to array-like
        Arrays, Series or Categoricals of one length.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.reading.column_types import data_frame
    >>> frame = data_frame({"x": np.array([1, 2]), "w": np.array(["a", None], dtype=object)})
    >>> frame.dtypes.tolist()
    [dtype('int64'), dtype('O')]
    """
    import pandas

    typed = {
        name: pandas.Series(values, dtype=object) if values.dtype == object else values
        for name, values in columns.items()
    }
    frame = pandas.DataFrame(typed)
    frame.columns = pandas.Index(list(columns), dtype=object)
    return frame


def uses_decimal_commas(columns: list[list[str]], delimiter: str) -> bool:
    """Whether numbers in a text with semicolons have commas where others have points."""
    return delimiter == ";" and any(
        any("," in cell for cell in column) and _follow_decimal_commas(column) for column in columns
    )


def kind_of_numbers(cells: Iterable[str], decimal_commas: bool) -> str:
    """The kind of a column of numbers, "number" or "comma", also for cells that are yet to come.

    In a file with decimal commas, whole numbers may be followed by others with a comma.
    """
    others = {cell for cell in cells if not is_missing_mark(cell)}
    has_points = any("." in cell for cell in others)
    by_comma = decimal_commas and (not has_points or _follow_decimal_commas(others))
    return "comma" if by_comma else "number"


def typed_column(name: str, cells: list[str], decimal_commas: bool = False) -> TypedColumn:
    """A column of cells in its type.

    Marks of missing values count as such where all other cells are numbers; in text, "NA" and "-"
    may be words like others, and only empty cells are missing.

    Parameters
    ----------
    name : str
        For notes.
    cells : list of str
    decimal_commas : bool
        Whether the file writes 1,5 for one and a half, and 1.000 for a thousand.

    Examples
    --------
    >>> from negcorr.reading.column_types import typed_column
    >>> typed_column("size", ["1", "?", "3"])
    (array([ 1., nan,  3.]), ("column 'size': 1 '?' read as missing.",))
    >>> typed_column("word", ["NA", "b", ""])[0].tolist()
    ['NA', 'b', None]
    """
    whole = None if decimal_commas else plain_numbers(cells)
    if whole is not None and np.isfinite(whole).all():
        return _whole(whole, cells), ()
    distinct = set(cells)
    marks = {cell for cell in distinct if is_missing_mark(cell)}
    others = distinct - marks
    if decimal_commas and _follow_decimal_commas(others):
        return numbers(cells, "comma", name), _about_marks(name, cells, marks)
    values = plain_numbers(["nan" if cell in marks else cell for cell in cells])
    if values is not None:
        return _whole(values, others), _about_marks(name, cells, marks)
    text = np.array([cell if cell.strip() else None for cell in cells], dtype=object)
    # A note where digits stay text on purpose, or where few cells are the reason for text.
    bad = sorted(cell for cell in others if plain_number(cell) is None)
    notes: tuple[str, ...] = ()
    if all(cell.strip().isdigit() for cell in bad):
        why = f"{shortened(bad[0])} begins with a zero that a number would lose"
        notes = (f"column {shortened(name)}: kept as text, since {why}.",)
    elif len(bad) <= 3 and len(others) - len(bad) > 10 * len(bad):
        listed = ", ".join(map(shortened, bad))
        notes = (f"column {shortened(name)}: text, since {listed} is no number; all others are.",)
    return text, notes


def typed_objects(name: str, values: Iterable[Any]) -> TypedColumn:
    """A column of Python objects, as sheets have them, in its type.

    Parameters
    ----------
    name : str
        For notes.
    values : iterable
        Numbers, text, dates, None.
    """
    items = [None if value is None or value != value else value for value in values]
    kinds = {type(item) for item in items if item is not None}
    if kinds and not any(issubclass(kind, str) for kind in kinds):
        if all(issubclass(kind, int | float) and kind is not bool for kind in kinds):
            floats = np.array([np.nan if v is None else float(v) for v in items])
            whole = kinds == {int} and None not in items and np.abs(floats).max() < _EXACT
            return floats.astype(np.int64) if whole else floats, ()
        if len(kinds) == 1:
            return np.array(items, dtype=object), ()
    return typed_column(name, ["" if item is None else str(item) for item in items])


def _follow_decimal_commas(cells: Iterable[str]) -> bool:
    """Whether cells are numbers, and written as in a file with decimal commas: 1,5 or 1.000."""
    present = [cell for cell in set(cells) if not is_missing_mark(cell)]
    try:
        numbers(present, "comma", "")
    except TableError:
        return False
    # 1.5 is a number with a point; the point of 1.500 may group digits.
    pointed = [cell for cell in present if "." in cell and "," not in cell]
    return (bool(pointed) or any("," in cell for cell in present)) and all(
        number_form([cell.replace(".", ",")]) == "thousands" for cell in pointed
    )


def _whole(values: FloatArray, cells: Iterable[str]) -> AnyArray:
    """As integers where the cells are written so, none is missing and none is too large."""
    if not np.isfinite(values).all() or not len(values) or np.abs(values).max() >= _EXACT:
        return values
    written = not any("." in cell or "e" in cell or "E" in cell for cell in cells)
    return values.astype(np.int64) if written else values


def _about_marks(name: str, cells: list[str], marks: set[str]) -> tuple[str, ...]:
    """The note on marks of missing values that are not just blank."""
    marked = sorted(cell for cell in marks if cell.strip())
    if not marked:
        return ()
    counts = Counter(cells)
    words = ", ".join(f"{counts[cell]} {shortened(cell.strip())}" for cell in marked)
    return (f"column {shortened(name)}: {words} read as missing.",)
