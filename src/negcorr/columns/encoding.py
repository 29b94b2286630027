"""Encoding: how the cells of a data frame become numbers, and what was made of each column.

Numbers stay as they are, with the median where one is missing, and a column of 0 and 1 that says
so. Categories become columns of 0 and 1, with missing as a level and rare levels in one. Dates
become days, and sines and cosines of month, weekday and hour. Scaling is left to the basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._common.quantiles import weighted_quantile
from negcorr._common.types import AnyArray, BoolArray, FloatArray
from negcorr.columns.cells import typed_cells
from negcorr.columns.counts import CellCounts
from negcorr.exceptions import TableError
from negcorr.reading.schema import Column, Schema

__all__ = ["CategoryPart", "DatePart", "Encoding", "NumberPart", "learn_encoding"]

#: Rows that a level of a category needs for a column of its own; rarer ones share one.
LEAST_ROWS_OF_LEVEL = 5

#: Most columns that a category becomes.
MOST_COLUMNS_OF_CATEGORY = 100

#: The level of rare and new ones.
OTHER_LEVELS = "(others)"


@dataclass(frozen=True)
class NumberPart:
    """A column of numbers.

    Attributes
    ----------
    name : str
    median : float
        What a missing number counts as.
    indicator : bool
        Whether a column of 0 and 1 says which are missing.
    low, high : float
        The smallest and the largest number of the rows that this was learnt from.
    """

    name: str
    median: float
    indicator: bool
    low: float
    high: float

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns that are made."""
        return (self.name, f"{self.name}_missing") if self.indicator else (self.name,)

    @property
    def n_scaled(self) -> int:
        """Of these, how many a basis may scale; they are the first."""
        return 1

    def encode(self, values: AnyArray, out: FloatArray) -> None:
        """Write floats, NaN where missing, into the columns."""
        missing = np.isnan(values)
        out[:, 0] = values
        if missing.any():
            out[missing, 0] = self.median
        if self.indicator:
            out[:, 1] = missing


@dataclass(frozen=True)
class CategoryPart:
    """A column of categories.

    Attributes
    ----------
    name : str
    levels : tuple of str
        That have a column of their own.
    others : bool
        Whether there is one more, for all other levels.
    """

    name: str
    levels: tuple[str, ...]
    others: bool

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns that are made."""
        every = (*self.levels, *((OTHER_LEVELS,) if self.others else ()))
        return tuple(f"{self.name}_{level}" for level in every)

    @property
    def n_scaled(self) -> int:
        """Columns of 0 and 1 are not scaled: a rare level would be far away from everything."""
        return 0

    def encode(self, values: AnyArray, out: FloatArray) -> None:
        """Write 1 where a level is that of the column."""
        place = {level: k for k, level in enumerate(self.levels)}
        last = len(self.levels) if self.others else -1
        names, number = np.unique(values, return_inverse=True)
        at = np.array([place.get(name, last) for name in names.tolist()], dtype=np.intp)[number]
        out[...] = 0.0
        known = np.flatnonzero(at >= 0)
        out[known, at[known]] = 1.0


@dataclass(frozen=True)
class DatePart:
    """A column of dates.

    Attributes
    ----------
    name : str
    origin, median : float
        The first moment and the one that a missing date counts as, in days since 1970.
    cycles : tuple of str
        Those of "month", "weekday" and "hour" that vary among the rows.
    indicator : bool
        Whether a column of 0 and 1 says which are missing.
    """

    name: str
    origin: float
    median: float
    cycles: tuple[str, ...]
    indicator: bool

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns that are made."""
        turns = [f"{self.name}_{c}_{way}" for c in self.cycles for way in ("sin", "cos")]
        last = [f"{self.name}_missing"] if self.indicator else []
        return (f"{self.name}_days", *turns, *last)

    @property
    def n_scaled(self) -> int:
        """Days are scaled; sines, cosines and the column of 0 and 1 are not."""
        return 1

    def encode(self, values: AnyArray, out: FloatArray) -> None:
        """Write days since the origin, positions in the year, week and day, and what is missing."""
        missing = np.isnat(values)
        out[:, 0] = np.where(missing, self.median, _days(values)) - self.origin
        turns = _turns(values)
        for k, cycle in enumerate(self.cycles):
            angle = 2.0 * np.pi * turns[cycle]
            # A missing one is at the centre of the circle, equally far from all months. The sine of
            # noon is 1e-16 by rounding, which must not look like a value.
            out[:, 1 + 2 * k] = np.where(missing, 0.0, np.sin(angle).round(12))
            out[:, 2 + 2 * k] = np.where(missing, 0.0, np.cos(angle).round(12))
        if self.indicator:
            out[:, -1] = missing


@dataclass(frozen=True)
class Encoding:
    """How the columns of a data frame become numbers.

    Attributes
    ----------
    schema : Schema
        The role of every column, and what was made of it.
    parts : tuple of NumberPart, CategoryPart and DatePart
        For each input, in the order of the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.columns.encoding import learn_encoding
    >>> frame = pd.DataFrame({"size": [3.0, None, 1.5, 8.0] * 3, "kind": list("aabb") * 3})
    >>> encoding = learn_encoding(frame)
    >>> encoding.feature_names
    ('size', 'size_missing', 'kind_a', 'kind_b')
    >>> encoding.encode(encoding.typed(frame))[1].tolist()
    [3.0, 1.0, 1.0, 0.0]
    """

    schema: Schema
    parts: tuple[NumberPart | CategoryPart | DatePart, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns that are made."""
        return tuple(name for part in self.parts for name in part.features)

    @property
    def as_they_are(self) -> BoolArray:
        """Which of these columns no basis scales."""
        marks = [[k >= p.n_scaled for k in range(len(p.features))] for p in self.parts]
        return np.array([mark for each in marks for mark in each], dtype=bool)

    def typed(self, frame: Any) -> list[AnyArray]:
        """The values of the inputs: floats, names of levels, moments.

        Parameters
        ----------
        frame : pandas.DataFrame
            With these columns; others are ignored.
        """
        missing = [name for name in self.schema.inputs if name not in frame.columns]
        if missing:
            word = "column" if len(missing) == 1 else "columns"
            lacked, known = (", ".join(map(repr, n)) for n in (missing, list(frame.columns)[:20]))
            raise TableError(f"X lacks the {word} {lacked}; it has {known}.")
        return [typed_cells(frame[c.name], c) for c in self.schema.columns if c.is_input]

    def encode(self, typed: Sequence[AnyArray]) -> FloatArray:
        """The values of :meth:`typed` as numbers, of shape (n, features)."""
        widths = [len(part.features) for part in self.parts]
        out = np.empty((len(typed[0]), sum(widths)))
        start = 0
        for part, values, width in zip(self.parts, typed, widths, strict=True):
            part.encode(values, out[:, start : start + width])
            start += width
        return out


def learn_encoding(
    frame: Any,
    schema: Schema | None = None,
    counts: CellCounts | None = None,
    weight: FloatArray | None = None,
) -> Encoding:
    """Learn how to encode the columns of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows from which forms, medians and cycles are learnt.
    schema : Schema, optional
        The role of every column; by default that of
        :func:`~negcorr.columns.kinds.input_columns`.
    counts : CellCounts, optional
        Of all rows, where these are some of them.
    weight : ndarray of shape (n,), optional
        Frequencies.

    Returns
    -------
    Encoding
    """
    from negcorr.columns.kinds import input_columns

    if counts is None:
        counts = CellCounts.of(frame, weight)
    weight = np.ones(len(frame)) if weight is None else weight
    if schema is None:
        schema = input_columns(frame, counts, repeated=bool((weight > 1.0).any()))
    parts: list[NumberPart | CategoryPart | DatePart] = []
    columns: list[Column] = []
    for column in schema.columns:
        if not column.is_input:
            columns.append(column)
            continue
        name, missing = column.name, counts.missing.get(column.name, 0.0) > 0
        part: NumberPart | CategoryPart | DatePart
        if column.role == "category":
            part = _category(name, frame[name], counts)
        elif column.role == "number":
            values = typed_cells(frame[name], column)
            missing |= bool((np.isnan(values) & (weight > 0)).any())
            used = values[~np.isnan(values) & (weight > 0)]
            low, high = float(used.min(initial=np.inf)), float(used.max(initial=-np.inf))
            part = NumberPart(name, _median(values, weight), missing, low, high)
        else:
            part = _dates(name, typed_cells(frame[name], column), weight, missing)
        parts.append(part)
        columns.append(replace(column, made=_made(part)))
    return Encoding(replace(schema, columns=tuple(columns)), tuple(parts))


def _category(name: str, series: Any, counts: CellCounts) -> CategoryPart:
    """Levels by how often they are: those of five rows or more, the most frequent ninety-nine."""
    if counts.levels.get(name) is None:
        here = CellCounts.of(series.astype(object).to_frame(name))
        counts = replace(counts, levels={name: here.levels[name]})
    every = counts.mass_of(name)
    frequent = [level for level, mass in every.items() if mass >= LEAST_ROWS_OF_LEVEL]
    frequent.sort(key=lambda level: (-every[level], level))
    if len(frequent) > MOST_COLUMNS_OF_CATEGORY or len(frequent) < len(every):
        frequent = frequent[: MOST_COLUMNS_OF_CATEGORY - 1]
    return CategoryPart(name, tuple(sorted(frequent)), len(frequent) < len(every))


def _dates(name: str, moments: AnyArray, weight: FloatArray, missing: bool) -> DatePart:
    present = ~np.isnat(moments) & (weight > 0)
    days = _days(moments[present])
    missing |= bool((np.isnat(moments) & (weight > 0)).any())
    turns = _turns(moments[present])
    cycles = tuple(cycle for cycle, turn in turns.items() if len(np.unique(turn)) > 1)
    return DatePart(name, float(days.min()), _median(days, weight[present]), cycles, missing)


def _median(values: FloatArray, weight: FloatArray) -> float:
    """The weighted median of the values that are there."""
    used = ~np.isnan(values) & (weight > 0)
    if not used.any():
        return 0.0
    return float(weighted_quantile(values[used, np.newaxis], weight[used], 0.5)[0])


def _made(part: NumberPart | CategoryPart | DatePart) -> str:
    """What was made of a column, in words."""
    missing = " and missing or not" if getattr(part, "indicator", False) else ""
    if isinstance(part, CategoryPart):
        n = len(part.features)
        rare = ", rare levels in one" if part.others else ""
        return f"{n} column{'s' if n > 1 else ''} of 0 and 1{rare}"
    if isinstance(part, DatePart):
        return ", ".join(["days", *part.cycles]) + missing
    return "the number" + missing


def _days(times: AnyArray) -> FloatArray:
    """Days since 1970."""
    moments = np.asarray(times, dtype="datetime64[us]")
    return np.asarray((moments - np.datetime64(0, "us")) / np.timedelta64(1, "D"), dtype=np.float64)


def _turns(times: AnyArray) -> dict[str, FloatArray]:
    """Positions in the year by month, in the week by day, in the day by hour, from 0 to 1."""
    import pandas

    index = pandas.DatetimeIndex(np.asarray(times, dtype="datetime64[us]"))
    hours = index.hour + index.minute / 60.0
    parts = (index.month - 1) / 12.0, index.day_of_week / 7.0, hours / 24.0
    of_floats = (np.asarray(part, dtype=np.float64) for part in parts)
    return dict(zip(("month", "weekday", "hour"), of_floats, strict=True))
