"""A spectrum from a tridiagonal reduction alone, which leaves the eigenvectors for later.

With P = H T Hᵀ the coefficients are W H (gM·I + (1 − g)T)⁻¹ Hᵀ Wᵀ c: a tridiagonal solve for
each gap. Eigenvalues of T, cheap, give the degrees of freedom. So a fit, and every fold of
its cross-validation, can be tuned without eigenvectors, which take as long as the reduction;
they are computed when a question needs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigvalsh_tridiagonal, lapack

from negcorr._common.threads import one_blas_thread
from negcorr._common.types import FloatArray
from negcorr.spectrum.gap import gap_per_output, resolve_gap
from negcorr.spectrum.modes import Tridiagonal, TridiagonalModes
from negcorr.spectrum.spectrum import Spectrum
from negcorr.spectrum.whitening import Whitening

__all__ = ["BandedSpectrum"]

#: The banded solve is used while gap·M exceeds this multiple of the rounding noise in T.
CLEAR_OF_NOISE = 1e3


@dataclass(frozen=True, repr=False)
class BandedSpectrum(Spectrum):
    """The training rows in tridiagonal form.

    Attributes
    ----------
    reduction : Tridiagonal
        H and T.
    target : ndarray of shape (R, outputs)
        Hᵀ Wᵀ c.
    noise : float
        Size of the rounding errors in the eigenvalues of T.
    max_rank : int
        Most eigenvalues that can differ from zero, from the number of rows.
    total, weight, n_members, fit_intercept, centre, alpha, whitening
        As in :class:`~negcorr.spectrum.spectrum.Spectrum`.
    """

    whitening: Whitening
    reduction: Tridiagonal
    target: FloatArray
    noise: float
    max_rank: int

    @cached_property  # type: ignore[misc]  # a field of the parent, found late
    def rho(self) -> FloatArray:
        """Positive eigenvalues of P, ascending."""
        values = eigvalsh_tridiagonal(self.reduction.diagonal, self.reduction.off_diagonal)
        return np.asarray(values[self._first_kept(values) :])

    @cached_property  # type: ignore[misc]
    def modes(self) -> TridiagonalModes:
        """U, one column for each of ``rho``."""
        # These and kappa on one BLAS thread, as within a fit: a copy that makes them again gets the
        # same bits.
        with one_blas_thread():
            values, vectors = self.reduction.eigenvectors()
        return TridiagonalModes(self.reduction, vectors[:, len(values) - len(self.rho) :])

    @cached_property  # type: ignore[misc]
    def kappa(self) -> FloatArray:
        """Components of y/√n along the modes."""
        with one_blas_thread():
            along = self.modes.vectors.T @ self.target
        return np.asarray(along / np.sqrt(self.rho)[:, np.newaxis])

    @cached_property  # type: ignore[misc]
    def outside(self) -> FloatArray:
        """Mean square of y outside all modes."""
        return np.asarray(np.maximum(self.total - (self.kappa**2).sum(axis=0), 0.0))

    def train_error(
        self, lam: npt.ArrayLike | None = None, *, gap: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Mean squared training error of the ensemble, shape (..., outputs)."""
        gaps = resolve_gap(lam, gap)
        if not self._clear_of_noise(gaps):
            return super().train_error(gap=gaps)
        errors = [self._train_error(float(g)) for g in gaps.ravel()]
        return np.reshape(errors, (*gaps.shape, self.n_outputs))

    def coef(
        self, lam: npt.ArrayLike | None = None, *, gap: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Ensemble coefficients β of shape (outputs, Q) at one λ, or one per output."""
        gaps = gap_per_output(resolve_gap(lam, gap), self.n_outputs)
        if not self._clear_of_noise(gaps):
            return super().coef(gap=gaps)
        x = np.stack([self._solve(float(g))[:, j] for j, g in enumerate(gaps)], axis=1)
        return np.ascontiguousarray(self.whitening.times(self.reduction.times(x)).T)

    def coef_path(self, gaps: FloatArray) -> FloatArray:
        """β for every gap of a grid and every output, shape (outputs, Q, gaps)."""
        if not self._clear_of_noise(gaps):
            return super().coef_path(gaps)
        x = np.stack([self._solve(float(g)) for g in gaps], axis=2)
        beta = self.whitening.times(self.reduction.times(x.reshape(len(x), -1)))
        beta = beta.reshape(self.n_features, self.n_outputs, len(gaps))
        return np.ascontiguousarray(beta.transpose(1, 0, 2))

    def _first_kept(self, values: FloatArray) -> int:
        return max(int(np.searchsorted(values, self.noise, "right")), len(values) - self.max_rank)

    def _clear_of_noise(self, gaps: FloatArray) -> bool:
        """Whether gap·M stands out from rounding, so that no mode must be left out."""
        return bool((gaps * self.n_members > CLEAR_OF_NOISE * self.noise).all())

    def _solve(self, gap: float) -> FloatArray:
        """(gap·M·I + (1 − gap)T)⁻¹ target, shape (R, outputs)."""
        diagonal = gap * self.n_members + (1.0 - gap) * self.reduction.diagonal
        off_diagonal = (1.0 - gap) * self.reduction.off_diagonal
        _, _, x, info = lapack.dptsv(diagonal, off_diagonal, self.target)
        if info != 0:
            raise np.linalg.LinAlgError(f"LAPACK dptsv failed with info={info}.")
        return np.asarray(x)

    def _train_error(self, gap: float) -> FloatArray:
        """Total − zᵀx − gap·xᵀ(M − T)x with x the solution for the target z."""
        x = self._solve(gap)
        stiff = (self.n_members - self.reduction.diagonal)[:, np.newaxis] * x
        stiff[:-1] -= self.reduction.off_diagonal[:, np.newaxis] * x[1:]
        stiff[1:] -= self.reduction.off_diagonal[:, np.newaxis] * x[:-1]
        fitted = ((self.target + gap * stiff) * x).sum(axis=0)
        return np.asarray(np.maximum(self.total - fitted, 0.0))
