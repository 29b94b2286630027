"""The rows that features are drawn from: all rows, or the distinct ones with the smallest keys.

Everything that is chosen before the moments are added up (kinds of columns, medians, scales,
bandwidths, landmarks, the basis itself) is chosen on these rows. They depend neither on the order
of the rows nor on chunks, so a fit in memory and a stream choose the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.types import IntArray
from negcorr.rows.keys import HashArray
from negcorr.rows.rows import Rows, joined, total_weight, weight_of

__all__ = ["SAMPLE_ROWS", "RowSample"]

#: With more rows than this features are drawn from a sample of as many: scales, medians and
#: bandwidths are known well from them.
SAMPLE_ROWS = 20_000


@dataclass(frozen=True)
class RowSample:
    """A sample of rows that have come so far.

    Attributes
    ----------
    rows : Rows
        All rows of positive weight while they are at most 20 000. Then the distinct x with the
        smallest keys, each once: its weight is the sum of the weights, its target their mean.
    n_rows : int
        Rows of positive weight so far.
    weight : float
        Σw of all rows so far.

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

    @classmethod
    def of(cls, rows: Rows) -> RowSample:
        """The sample of rows in memory."""
        used, mass = rows.of_weight(), total_weight(rows)
        if used.n_rows > SAMPLE_ROWS:
            return cls(_distinct(used), used.n_rows, mass)
        return cls(used, used.n_rows, mass)

    def merged(self, other: RowSample) -> RowSample:
        """The sample of the rows of both."""
        rows, n_rows = joined([self.rows, other.rows]), self.n_rows + other.n_rows
        if n_rows > SAMPLE_ROWS:
            rows = _distinct(rows)
        return RowSample(rows, n_rows, self.weight + other.weight)


def _distinct(rows: Rows) -> Rows:
    """Distinct x with the smallest keys: of equal ones the weights are added, targets averaged."""
    keys = to_host(rows.keys.x)
    near = _smallest(keys, SAMPLE_ROWS)
    # Of equal x the row with the smallest key of (x, y) stands for all.
    near = near[np.lexsort((to_host(rows.keys.xy)[near], keys[near]))]
    _, first, number = np.unique(keys[near], return_index=True, return_inverse=True)
    weight = weight_of(rows)[near]
    mass = np.bincount(number, weight)
    target = to_host(rows.y)[near]
    # About the first of the equal ones, so that a single row keeps its bits.
    beyond = target - target[first][number]
    means = [np.bincount(number, weight * column) / mass for column in beyond.T]
    kept = slice(min(len(first), SAMPLE_ROWS))
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
