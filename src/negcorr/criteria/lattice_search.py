"""The minimum of a criterion on the lattice of gaps, one for each output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from negcorr._common.types import BoolArray, FloatArray, IntArray
from negcorr.spectrum.gap import lattice

__all__ = ["SearchResult", "search_lattice"]

#: Every tenth point first. A mode shrinks as a logistic function of log(gap), a decade wide,
#: so no minimum fits between two points a fifth of a decade apart.
STRIDE = 10

#: Other valleys within this fraction of the curve's range above the best are refined too.
SECOND_VALLEY = 0.02

#: Values this close to the minimum, relative to the curve's size, count as equal; of equals
#: the largest gap wins, so that flat ends do not depend on rounding.
TIE_RTOL = 1e-10


@dataclass(frozen=True)
class SearchResult:
    """What was evaluated and what was chosen.

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


def search_lattice(curve: Callable[[FloatArray], FloatArray], smallest_gap: float) -> SearchResult:
    """Minimise a criterion over gaps 10^(−i/50) between 1 and ``smallest_gap``.

    Parameters
    ----------
    curve : callable
        Maps gaps ``(k,)`` to values ``(k, outputs)``; lower is better, infinity allowed.
    smallest_gap : float
        Where the search ends.

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
    fine = np.unique(
        np.concatenate([_near_minima(coarse, column, len(gaps)) for column in coarse_values.T])
    )
    fine = np.setdiff1d(fine, coarse)
    index = np.concatenate([coarse, fine])
    values = np.concatenate([coarse_values, curve(gaps[fine])]) if len(fine) else coarse_values
    order = np.argsort(index)
    index, values = index[order], values[order]
    best = np.array([_first_minimum(column) for column in values.T])
    at_end = (index[best] == len(gaps) - 1) & (len(gaps) > 1)
    return SearchResult(gaps[index], values, gaps[index[best]], at_end)


def _near_minima(coarse: IntArray, values: FloatArray, n_gaps: int) -> IntArray:
    """Lattice points around every local minimum that could be the global one."""
    v = np.where(np.isnan(values), np.inf, values)
    finite = v[np.isfinite(v)]
    limit = v.min() + (SECOND_VALLEY * np.ptp(finite) if len(finite) else 0.0)
    left, right = np.append(np.inf, v[:-1]), np.append(v[1:], np.inf)
    valleys = coarse[(v <= left) & (v <= right) & (v <= limit)]
    around = valleys[:, np.newaxis] + np.arange(-STRIDE + 1, STRIDE)
    return np.unique(np.clip(around, 0, n_gaps - 1))


def _first_minimum(values: FloatArray) -> int:
    finite = values[np.isfinite(values)]
    tolerance = TIE_RTOL * float(np.median(np.abs(finite))) if len(finite) else 0.0
    return int(np.flatnonzero(values <= np.nanmin(values) + tolerance)[0])
