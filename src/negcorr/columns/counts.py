"""CellCounts: what is counted in all rows of a table, whole or chunk by chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.columns.cells import MISSING_LEVEL, level_names
from negcorr.rows.keys import without_last_digits

__all__ = ["MOST_COUNTED", "CellCounts"]

#: Of a column with more different words than this the words are not counted: it is text.
MOST_COUNTED = 100_000


@dataclass(frozen=True)
class CellCounts:
    """Counts of the cells of all columns.

    Weights of levels are sums, whose last digits depend on the order of rows and on chunks: what
    is decided by them is decided by :meth:`mass_of`.

    Attributes
    ----------
    weight : float
        Σw of the rows.
    missing : mapping of str to float
        Weight of the cells without a value, for each column.
    levels : mapping of str to (mapping of str to float, or None)
        Weight of every different word, for columns that have other cells than numbers and dates;
        None where there are too many.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.columns.counts import CellCounts
    >>> one = CellCounts.of(pd.DataFrame({"kind": ["a", "b", None]}))
    >>> both = one.merged(CellCounts.of(pd.DataFrame({"kind": ["b"]})))
    >>> both.missing["kind"], both.levels["kind"]
    (1.0, {'a': 1.0, 'b': 2.0})
    """

    weight: float
    missing: Mapping[str, float]
    levels: Mapping[str, dict[str, float] | None]

    @classmethod
    def of(cls, frame: Any, weight: FloatArray | None = None) -> CellCounts:
        """The counts of a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
        weight : ndarray of shape (n,), optional
            Frequencies.
        """
        weight = np.ones(len(frame)) if weight is None else weight
        missing: dict[str, float] = {}
        levels: dict[str, dict[str, float] | None] = {}
        for name in frame.columns:
            series = frame[name]
            if getattr(series.dtype, "kind", "O") in "biufmM" and not hasattr(series, "cat"):
                missing[name] = float(weight[series.isna().to_numpy()].sum())
                continue
            try:
                words, number = np.unique(level_names(series), return_inverse=True)
            except TypeError:  # lists and the like, which have no names
                missing[name], levels[name] = 0.0, None
                continue
            mass = np.bincount(number, weight, len(words)).tolist()
            counted = {w: m for w, m in zip(words.tolist(), mass, strict=True) if m > 0}
            missing[name] = counted.pop(MISSING_LEVEL, 0.0)
            levels[name] = counted if len(counted) <= MOST_COUNTED else None
        return cls(float(weight.sum()), missing, levels)

    @property
    def n_rows(self) -> int:
        """Σw as a whole number."""
        return round(float(without_last_digits(self.weight)))

    def n_missing(self, name: str) -> int:
        """Weight of the missing cells of a column as a whole number."""
        return round(float(without_last_digits(self.missing[name])))

    def mass_of(self, name: str) -> dict[str, float]:
        """Weight of every word of a column, and of missing cells, to 26 significant bits."""
        every = dict(self.levels.get(name) or {})
        if self.missing.get(name, 0.0) > 0:
            every[MISSING_LEVEL] = self.missing[name]
        return {word: float(without_last_digits(mass)) for word, mass in every.items()}

    def merged(self, other: CellCounts) -> CellCounts:
        """The counts of the rows of both."""
        missing = {n: m + other.missing.get(n, 0.0) for n, m in self.missing.items()}
        levels = dict(self.levels) | {n: v for n, v in other.levels.items() if n not in self.levels}
        for name in self.levels.keys() & other.levels.keys():
            one, two = self.levels[name], other.levels[name]
            both = None
            if one is not None and two is not None:
                both = {word: one.get(word, 0.0) + two.get(word, 0.0) for word in {**one, **two}}
            levels[name] = both if both is not None and len(both) <= MOST_COUNTED else None
        return CellCounts(self.weight + other.weight, missing, levels)
