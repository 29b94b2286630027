"""The rows that features are drawn from: all rows, or the distinct ones with the smallest keys.

Everything that is chosen before the moments are added up (kinds of columns, medians, scales,
bandwidths, landmarks, the basis itself) is chosen on these rows. They depend neither on the order
of the rows nor on chunks, so a fit in memory and a stream choose the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.types import IntArray
from negcorr.rows.keys import HashArray
from negcorr.rows.rows import Rows, joined, total_weight, weight_of

__all__ = ["SAMPLE_ROWS", "RowSample", "is_sampled"]

#: With more rows than this features are drawn from a sample of as many: scales, medians and
#: bandwidths are known well from them.
SAMPLE_ROWS = 20_000


def is_sampled(n_rows: int) -> bool:
    """Whether these are too many rows to draw features from all of them."""
    return n_rows > SAMPLE_ROWS


@dataclass(frozen=True)
class RowSample:
    """A sample of rows that have come so far.

    Attributes
    ----------
    rows : Rows
        All rows of positive weight while they are at most ``most``. Then the distinct ones with the
        smallest keys, each once: its weight is the sum of the weights, its target their mean.
    n_rows : int
        Rows of positive weight so far.
    weight : float
        Σw of all rows so far.
    by : {"x", "xy"}
        Whether rows are distinct by their inputs, or by inputs and targets.
    most : int

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.rows import Rows
    >>> from negcorr.rows.sample import RowSample
    >>> X = np.arange(30_000.0)[:, np.newaxis]
    >>> rows = Rows(X, X)
    >>> halves = [RowSample.of(rows.take(half)) for half in np.split(np.arange(30_000), 2)]
    >>> both = halves[1].merged(halves[0])
    >>> both.n_rows, np.array_equal(both.rows.X, RowSample.of(rows).rows.X)
    (30000, True)
    """

    rows: Rows
    n_rows: int
    weight: float
    by: Literal["x", "xy"]
    most: int

    @classmethod
    def of(
        cls, rows: Rows, by: Literal["x", "xy"] = "x", last: np.uint64 | None = None
    ) -> RowSample:
        """The sample of rows in memory.

        Parameters
        ----------
        rows : Rows
        by : {"x", "xy"}, default="x"
        last : uint64, optional
            The largest key of a full sample that this one will be merged with (:attr:`last`): only
            rows up to it are kept.
        """
        used = kept = rows.of_weight()
        most = SAMPLE_ROWS
        if last is not None:
            kept = used.take(np.flatnonzero(_keys(used, by) <= last))
        if kept.n_rows > most:
            kept = _distinct(kept, by, most)
        return cls(kept, used.n_rows, total_weight(rows), by, most)

    @property
    def is_whole(self) -> bool:
        """Whether it is all rows."""
        return self.n_rows <= self.most

    @property
    def last(self) -> np.uint64 | None:
        """The largest key of a sample that is full: other rows come in by smaller ones alone."""
        full = not self.is_whole and self.rows.n_rows == self.most
        return _keys(self.rows, self.by)[-1] if full else None

    def merged(self, other: RowSample) -> RowSample:
        """The sample of the rows of both."""
        n_rows, weight = self.n_rows + other.n_rows, self.weight + other.weight
        parts = [self.rows, other.rows]
        if self.last is not None:
            # Others have smaller keys than these.
            parts[1] = other.rows.take(np.flatnonzero(_keys(other.rows, self.by) <= self.last))
        rows = joined(parts)
        if n_rows > self.most:
            rows = _distinct(rows, self.by, self.most)
        return RowSample(rows, n_rows, weight, self.by, self.most)


def _keys(rows: Rows, by: Literal["x", "xy"]) -> HashArray:
    return to_host(rows.keys.x if by == "x" else rows.keys.xy)


def _distinct(rows: Rows, by: Literal["x", "xy"], most: int) -> Rows:
    """Distinct rows with the smallest keys: of equal ones weights are added, targets averaged."""
    keys = _keys(rows, by)
    near = _smallest(keys, most)
    # Of equal x the row with the smallest key of (x, y) stands for all.
    near = near[np.lexsort((to_host(rows.keys.xy)[near], keys[near]))]
    _, first, number = np.unique(keys[near], return_index=True, return_inverse=True)
    weight = weight_of(rows)[near]
    mass = np.bincount(number, weight)
    target = to_host(rows.y)[near]
    # About the first of the equal ones, so that a single row keeps its bits.
    beyond = target - target[first][number]
    means = [np.bincount(number, weight * column) / mass for column in beyond.T]
    kept = slice(min(len(first), most))
    chosen = rows.take(near[first[kept]])
    place = place_of(chosen.y)
    shift = np.stack(means, axis=1)[kept] if means else np.zeros((len(first[kept]), 0))
    y = chosen.y + place.floats(shift)
    return replace(chosen, y=y, weight=place.floats(mass[kept]))


def _smallest(keys: HashArray, most: int) -> IntArray:
    """All rows whose keys are among the smallest distinct ones, ``most`` of these or more."""
    count = 2 * most
    while count < len(keys):
        index = np.flatnonzero(keys <= np.partition(keys, count)[count])
        if len(np.unique(keys[index])) > most:
            return index
        count *= 4
    return np.arange(len(keys))
