"""Curves over λ as tables, for fitted models that no longer hold what the curves are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from negcorr._common.types import FloatArray
from negcorr.spectrum.gap import lattice

__all__ = ["CurveTable", "tabulated_gaps"]

#: Every fifth point of the lattice, ten a decade. A mode moves over a decade, so that cubic splines
#: between these points are accurate to about 1e-5 of what it moves.
STRIDE = 5


@dataclass(frozen=True)
class CurveTable:
    """Values at some gaps, and between them by cubic splines in the logarithm of the gap.

    Attributes
    ----------
    gaps : ndarray of shape (k,)
        Descending; the last may be 0, which is λ = 1.
    values : ndarray of shape (k, ...)
        Exact values there.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.spectrum.tabulated import CurveTable, tabulated_gaps
    >>> gaps = tabulated_gaps(1e-4)
    >>> table = CurveTable(gaps, 1.0 / (1.0 + 100.0 * gaps))
    >>> bool(abs(table.at(np.array([0.0123]))[0] - 1.0 / 2.23) < 1e-5)
    True
    """

    gaps: FloatArray
    values: FloatArray

    def at(self, gaps: FloatArray) -> FloatArray:
        """Values at gaps of shape (m,): exact at those of the table.

        Below the smallest gap of the table, above 0, nothing moves any more: there values are on
        the straight line to λ = 1, or constant where the table does not have it.
        """
        positive = self.gaps[self.gaps > 0]
        end = len(positive) - 1
        found = np.empty((len(gaps), *self.values.shape[1:]))
        below = gaps < positive[end]
        share = (gaps[below] / positive[end]).reshape(-1, *[1] * (self.values.ndim - 1))
        found[below] = self.values[-1] + share * (self.values[end] - self.values[-1])
        if len(positive) == 1:
            found[~below] = self.values[0]
        elif not below.all():
            curve = CubicSpline(-np.log10(positive), self.values[: end + 1])
            found[~below] = curve(-np.log10(gaps[~below]))
        # A spline through a value may miss it by rounding.
        exact, index = np.isin(gaps, self.gaps), np.searchsorted(-self.gaps, -gaps)
        found[exact] = self.values[index[exact]]
        return found


def tabulated_gaps(smallest: float) -> FloatArray:
    """Gaps of the lattice, ten a decade from 1 down to about ``smallest``, descending.

    Examples
    --------
    >>> from negcorr.spectrum.tabulated import tabulated_gaps
    >>> tabulated_gaps(0.5).round(3)
    array([1.   , 0.794, 0.631, 0.501])
    """
    return lattice(smallest)[::STRIDE]
