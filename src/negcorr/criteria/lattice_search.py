"""The search for the minimum of a criterion on the lattice of gaps, for each output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from negcorr._common.types import BoolArray, FloatArray
from negcorr.spectrum.gap import lattice

__all__ = ["SearchResult", "search_lattice"]

#: First every tenth point. A mode shrinks as a logistic function of log(gap), a decade wide, so no
#: minimum lies unseen between two points at a distance of a fifth of a decade.
STRIDE = 10

#: Other local minima are refined too where they exceed the best by at most this share of the
#: curve's range.
SECOND_VALLEY = 0.02

#: Values this close to the minimum, relative to the curve's size, count as equal. Of equal values
#: the one at the largest gap is chosen, so that rounding does not choose where a curve is flat.
TIE_RTOL = 1e-10


@dataclass(frozen=True)
class SearchResult:
    """The evaluated points of a criterion and the chosen gaps.

    Attributes
    ----------
    gaps : ndarray of shape (k,)
        Lattice points at which the criterion was evaluated, descending.
    values : ndarray of shape (k, outputs)
        The criterion there.
    chosen : ndarray of shape (outputs,)
        The best gap of each output.
    at_small_end : ndarray of bool of shape (outputs,)
        Whether that is the smallest gap of the search.
    """

    gaps: FloatArray
    values: FloatArray
    chosen: FloatArray
    at_small_end: BoolArray


def search_lattice(
    curve: Callable[[FloatArray], FloatArray],
    smallest_gap: float,
    rounding: FloatArray | None = None,
) -> SearchResult:
    """Minimise a criterion over gaps 10^(−i/50) between 1 and ``smallest_gap``.

    Parameters
    ----------
    curve : callable
        Maps gaps ``(k,)`` to values ``(k, outputs)``; lower is better, infinity allowed.
    smallest_gap : float
        Where the search ends.
    rounding : ndarray of shape (outputs,), optional
        Where values are mean squared errors: the size of residuals that are rounding of the target.
        Errors whose roots differ by less count as equal.

    Returns
    -------
    SearchResult

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.criteria.lattice_search import search_lattice
    >>> found = search_lattice(lambda g: (np.log10(g)[:, None] + 3.0) ** 2, 1e-8)
    >>> float(found.chosen[0])
    0.001
    """
    gaps = lattice(smallest_gap)
    coarse = np.unique(np.append(np.arange(0, len(gaps), STRIDE), len(gaps) - 1))
    coarse_values = curve(gaps[coarse])
    if not (coarse_values < np.inf).any(axis=0).all():
        raise ValueError(
            "the criterion is not finite at any lam: the ensemble has no fewer degrees of "
            "freedom than there are samples. Use criterion='kfold', smaller members, or more rows."
        )
    fine: set[int] = set()
    for column in coarse_values.T:
        # Lattice points around every local minimum that could be the global one.
        v = np.where(np.isnan(column), np.inf, column)
        finite = v[np.isfinite(v)]
        limit = v.min() + (SECOND_VALLEY * np.ptp(finite) if len(finite) else 0.0)
        left, right = np.append(np.inf, v[:-1]), np.append(v[1:], np.inf)
        for valley in coarse[(v <= left) & (v <= right) & (v <= limit)].tolist():
            fine |= set(range(max(valley - STRIDE + 1, 0), min(valley + STRIDE, len(gaps))))
    index = np.concatenate([coarse, np.array(sorted(fine - set(coarse.tolist())), dtype=np.intp)])
    fine_gaps = gaps[index[len(coarse) :]]
    values = np.concatenate([coarse_values, curve(fine_gaps)]) if len(fine_gaps) else coarse_values
    order = np.argsort(index)
    index, values = index[order], values[order]
    best = []
    shares = np.zeros(values.shape[1]) if rounding is None else rounding
    for column, share in zip(values.T, shares.tolist(), strict=True):
        finite = column[np.isfinite(column)]
        least = float(np.nanmin(column))
        tolerance = TIE_RTOL * float(np.median(np.abs(finite))) if len(finite) else 0.0
        if share > 0:
            tolerance = max(tolerance, share * (2.0 * np.sqrt(max(least, 0.0)) + share))
        best.append(int(np.flatnonzero(column <= least + tolerance)[0]))
    at_end = (index[best] == len(gaps) - 1) & (len(gaps) > 1)
    return SearchResult(gaps[index], values, gaps[index[best]], at_end)
