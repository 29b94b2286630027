"""Columns of text as the types they hold: numbers where all cells are numbers, or else text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr._common.types import AnyArray, FloatArray
from negcorr.reading.number_cells import (
    is_missing_mark,
    number_form,
    numbers,
    plain_number,
    plain_numbers,
)

__all__ = [
    "TypedColumn",
    "decimal_mark",
    "typed_column",
    "typed_objects",
    "uses_decimal_commas",
]

#: Whole numbers beyond have gaps between them as floats.
_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """A column in its type.

    Attributes
    ----------
    values : ndarray
        Whole numbers, floats, or objects: text, and None where a cell is empty.
    notes : tuple of str
        What was odd.
    """

    values: AnyArray
    notes: tuple[str, ...]


def uses_decimal_commas(columns: list[list[str]], delimiter: str) -> bool:
    """Whether numbers in a text with semicolons have commas where others have points."""
    return delimiter == ";" and any(_has_commas(column) for column in columns)


def decimal_mark(cells: Iterable[str], decimal_commas: bool) -> str:
    """Which sign ends the whole part of a column of numbers, for cells that are yet to come.

    In a file with decimal commas, whole numbers may be followed by others with a comma.
    """
    others = {cell for cell in cells if not is_missing_mark(cell)}
    pointed = any("." in cell for cell in others)
    by_comma = not pointed or _has_commas(others) or _only_thousands(others)
    return "," if decimal_commas and by_comma else "."


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
    TypedColumn(values=array([ 1., nan,  3.]), notes=("column 'size': 1 '?' read as missing.",))
    >>> typed_column("word", ["NA", "b", ""]).values.tolist()
    ['NA', 'b', None]
    """
    whole = None if decimal_commas else plain_numbers(cells)
    if whole is not None and np.isfinite(whole).all():
        return TypedColumn(_whole(whole, cells), ())
    distinct = set(cells)
    marks = {cell for cell in distinct if is_missing_mark(cell)}
    others = distinct - marks
    if decimal_commas and (_has_commas(others) or _only_thousands(others)):
        return TypedColumn(numbers(cells, "comma", name), _about_marks(name, cells, marks))
    values = plain_numbers(["nan" if cell in marks else cell for cell in cells])
    if values is not None:
        return TypedColumn(_whole(values, others), _about_marks(name, cells, marks))
    text = np.array([cell if cell.strip() else None for cell in cells], dtype=object)
    return TypedColumn(text, _about_text(name, others))


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
            return TypedColumn(floats.astype(np.int64) if whole else floats, ())
        if len(kinds) == 1:
            return TypedColumn(np.array(items, dtype=object), ())
    return typed_column(name, ["" if item is None else str(item) for item in items])


def _has_commas(cells: Iterable[str]) -> bool:
    """Whether all cells are numbers with decimal commas, one at least with a comma."""
    present = [cell for cell in set(cells) if not is_missing_mark(cell)]
    if not any("," in cell for cell in present):
        return False
    try:
        numbers(present, "comma", "")
    except ValueError:
        return False
    return not any(_point_only(cell) for cell in present)


def _point_only(cell: str) -> bool:
    """1.5 is a number with a point, 1.500 need not be."""
    return "." in cell and number_form([cell.replace(".", ",")]) != "thousands" and "," not in cell


def _only_thousands(cells: Iterable[str]) -> bool:
    """Whether points group digits by three in every cell that has one."""
    pointed = [cell.strip() for cell in cells if "." in cell]
    return bool(pointed) and all(
        number_form([cell.replace(".", ",")]) == "thousands" for cell in pointed
    )


def _whole(values: FloatArray, cells: Iterable[str]) -> AnyArray:
    """As integers where the cells are written so, none is missing and none is too large."""
    if not np.isfinite(values).all() or not len(values) or np.abs(values).max() >= _EXACT:
        return values
    written = not any("." in cell or "e" in cell or "E" in cell for cell in cells)
    return values.astype(np.int64) if written else values


def _about_marks(name: str, cells: list[str], marks: set[str]) -> tuple[str, ...]:
    said = sorted(cell for cell in marks if cell.strip())
    if not said:
        return ()
    counts = Counter(cells)
    words = ", ".join(f"{counts[cell]} {shortened(cell.strip())}" for cell in said)
    return (f"column {shortened(name)}: {words} read as missing.",)


def _about_text(name: str, cells: set[str]) -> tuple[str, ...]:
    """A word where digits were left as text on purpose, or where few cells keep numbers from it."""
    bad = sorted(cell for cell in cells if plain_number(cell) is None)
    if all(cell.strip().isdigit() for cell in bad):
        return (
            f"column {shortened(name)}: kept as text, since {shortened(bad[0])} begins with a zero "
            "that a number would lose.",
        )
    if len(bad) <= 3 and len(cells) - len(bad) > 10 * len(bad):
        listed = ", ".join(map(shortened, bad))
        return (f"column {shortened(name)}: text, since {listed} is no number; all others are.",)
    return ()
