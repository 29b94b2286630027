"""Curves over λ as tables, for fitted models that no longer have their factorisation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NoReturn

import numpy as np
from scipy.interpolate import CubicSpline

from negcorr._common.types import FloatArray
from negcorr.spectrum.spectrum import Spectrum

__all__ = ["CurveTable", "CurvesOnly"]


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
    >>> from negcorr.spectrum.gap import lattice
    >>> from negcorr.spectrum.curve_table import CurveTable
    >>> gaps = lattice(1e-4, stride=5)
    >>> table = CurveTable(gaps, 1.0 / (1.0 + 100.0 * gaps))
    >>> bool(abs(table.at(np.array([0.0123]))[0] - 1.0 / 2.23) < 1e-5)
    True
    """

    gaps: FloatArray
    values: FloatArray

    def at(self, gaps: FloatArray) -> FloatArray:
        """Values at gaps of shape (m,): exact at those of the table.

        Below the smallest gap of the table, above 0, nothing changes any more: there values are on
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


@dataclass(frozen=True, repr=False)
class CurvesOnly(Spectrum):
    """A spectrum with every curve, but without coefficients.

    Attributes
    ----------
    rho, kappa, outside, total, weight, n_members, fit_intercept, centre, alpha
        As in :class:`Spectrum`.
    excess_table : CurveTable or None
        What members pay beyond the length of their predictions, where they do.
    """

    rho: FloatArray
    kappa: FloatArray
    outside: FloatArray
    excess_table: CurveTable | None

    @classmethod
    def of(cls, spectrum: Spectrum, excess: CurveTable | None) -> CurvesOnly:
        """The curves of a spectrum."""
        kept = (each.name for each in fields(cls) if each.init and each.name != "excess_table")
        return cls(**{name: getattr(spectrum, name) for name in kept}, excess_table=excess)

    @property
    def has_excess(self) -> bool:
        """Whether members pay for more than the length of their predictions."""
        return self.excess_table is not None

    def excess(self, gaps: FloatArray) -> FloatArray:
        """What members pay beyond the length of their predictions, shape (gaps, outputs)."""
        assert self.excess_table is not None
        return self.place.floats(self.excess_table.at(gaps))

    def combine_modes(self, x: FloatArray) -> NoReturn:
        """An error that says which model has the modes."""
        self._raise_dropped()

    def along_modes(self, v: FloatArray) -> NoReturn:
        """An error that says which model has the modes."""
        self._raise_dropped()

    def _raise_dropped(self) -> NoReturn:
        raise ValueError(
            "this needs the factorisation, which compact() has dropped; use the model that "
            "compact() was called on, or compact(path=True)."
        )

    whitening = property(_raise_dropped)
