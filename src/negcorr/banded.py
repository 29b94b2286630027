"""Coefficients along the path from a tridiagonal reduction alone, without eigenvectors.

A fold of cross-validation is only ever asked for coefficients. With P = H T Hᵀ they are
W H (gM·I + (1 − g)T)⁻¹ Hᵀ Wᵀ c: a tridiagonal solve for each gap, which spares the fold
the eigenvectors of T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from negcorr._typing import FloatArray
from negcorr.gaps import gap_per_output, resolve_gap
from negcorr.modes import Tridiagonal
from negcorr.whitening import Whitening

__all__ = ["BandedFit", "CoefficientPath"]

#: The banded solve is used while gap·M exceeds this multiple of the rounding noise in T.
CLEAR_OF_NOISE = 1e3


class CoefficientPath(Protocol):
    """What a fold must answer; a :class:`~negcorr.spectrum.Spectrum` does as well."""

    @property
    def centre(self) -> FloatArray:
        """Point [c_φ, c_y] that every fit passes through."""

    @property
    def n_outputs(self) -> int:
        """Number of targets."""

    def coef(self, *, gap: npt.ArrayLike) -> FloatArray:
        """Coefficients of shape (outputs, Q) at one gap, or one per output."""

    def coef_path(self, gaps: FloatArray) -> FloatArray:
        """Coefficients for every gap and output, shape (outputs, Q, gaps)."""

    def intercept(self, coef: FloatArray) -> FloatArray:
        """Intercepts of shape (outputs,) that go with ``coef``."""


@dataclass(frozen=True)
class BandedFit:
    """The training rows of a fold, reduced to tridiagonal form.

    Attributes
    ----------
    whitening : Whitening
        W.
    reduction : Tridiagonal
        H and T.
    target : ndarray of shape (R, outputs)
        Hᵀ Wᵀ c.
    noise : float
        Size of the rounding errors in the eigenvalues of T.
    n_members : int
        M.
    centre : ndarray of shape (Q + outputs,)
        Means that were removed.
    """

    whitening: Whitening
    reduction: Tridiagonal
    target: FloatArray
    noise: float
    n_members: int
    centre: FloatArray

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return int(self.target.shape[1])

    def coef(self, *, gap: npt.ArrayLike) -> FloatArray:
        """Coefficients of shape (outputs, Q) at one gap, or one per output."""
        gaps = gap_per_output(resolve_gap(gap=gap), self.n_outputs)
        x = np.stack([self._solve(g)[:, j] for j, g in enumerate(gaps)], axis=1)
        return np.ascontiguousarray(self.whitening.times(self.reduction.times(x)).T)

    def coef_path(self, gaps: FloatArray) -> FloatArray:
        """Coefficients for every gap and output, shape (outputs, Q, gaps)."""
        x = np.stack([self._solve(g) for g in gaps], axis=2)
        beta = self.whitening.times(self.reduction.times(x.reshape(len(x), -1)))
        beta = beta.reshape(len(beta), self.n_outputs, len(gaps))
        return np.ascontiguousarray(beta.transpose(1, 0, 2))

    def intercept(self, coef: FloatArray) -> FloatArray:
        """Intercepts of shape (outputs,) that go with ``coef``."""
        q = coef.shape[1]
        return np.asarray(self.centre[q:] - coef @ self.centre[:q])

    def _solve(self, gap: float) -> FloatArray:
        """(gap·M·I + (1 − gap)T)⁻¹ target, shape (R, outputs)."""
        shift = gap * self.n_members
        if shift <= CLEAR_OF_NOISE * self.noise:
            return self._solve_by_eigenvectors(gap)
        diagonal = shift + (1.0 - gap) * self.reduction.diagonal
        off_diagonal = (1.0 - gap) * self.reduction.off_diagonal
        _, _, x, info = lapack.dptsv(diagonal, off_diagonal, self.target)
        if info != 0:
            raise np.linalg.LinAlgError(f"LAPACK dptsv failed with info={info}.")
        return np.asarray(x)

    @cached_property
    def _eigenvectors(self) -> tuple[FloatArray, FloatArray]:
        rho, vectors = self.reduction.eigenvectors()
        kept = rho > self.noise
        return rho[kept], vectors[:, kept]

    def _solve_by_eigenvectors(self, gap: float) -> FloatArray:
        """The same where the gap is lost in noise: modes of no size are left out."""
        rho, vectors = self._eigenvectors
        scale = 1.0 / (rho + gap * np.maximum(self.n_members - rho, 0.0))
        return np.asarray(vectors @ (scale[:, np.newaxis] * (vectors.T @ self.target)))
