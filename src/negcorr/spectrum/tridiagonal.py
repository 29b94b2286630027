"""A spectrum from a tridiagonal reduction alone; eigenvectors are computed only when needed.

With P = H T Hᵀ the coefficients are W H (gM·I + (1 − g)T)⁻¹ Hᵀ Wᵀ c: a tridiagonal solve for each
gap. Eigenvalues of T, cheap, give the degrees of freedom. So a fit, and every fold of its
cross-validation, is tuned without eigenvectors, which take as long as the reduction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal, lapack

from negcorr._common.forks import late, lock_before_forks
from negcorr._common.lapack import reduce_lower
from negcorr._common.threads import our_own_threads
from negcorr._common.types import FloatArray, GapLike
from negcorr.spectrum.gap import gap_per_output, resolve_gap
from negcorr.spectrum.spectrum import Spectrum
from negcorr.spectrum.whitening import Whitening

__all__ = ["BandedSpectrum", "Tridiagonal", "tridiagonalise"]

#: LAPACK changes the reflectors while it applies them, and restores them: threads that share them
#: must take turns.
_REFLECTING = lock_before_forks()

#: The tridiagonal solve is used while gap·M exceeds this multiple of the rounding noise in T.
CLEAR_OF_NOISE = 1e3


@dataclass(frozen=True)
class Tridiagonal:
    """P = H T Hᵀ: Householder reflectors H and a tridiagonal matrix T.

    The reduction takes a third of the time of a full eigendecomposition.

    Attributes
    ----------
    reflectors : ndarray of shape (R - 1, R - 1)
        LAPACK's compact form of H, in Fortran order.
    tau : ndarray of shape (R - 1,)
        Its scalars.
    diagonal : ndarray of shape (R,)
        Diagonal of T.
    off_diagonal : ndarray of shape (R - 1,)
        Entries beside the diagonal of T.
    """

    reflectors: FloatArray
    tau: FloatArray
    diagonal: FloatArray
    off_diagonal: FloatArray

    def times(self, x: FloatArray) -> FloatArray:
        """H x for x of shape (R, k)."""
        return self._reflect(x, b"N")

    def transposed_times(self, v: FloatArray) -> FloatArray:
        """Hᵀ v for v of shape (R, k)."""
        return self._reflect(v, b"T")

    def eigenvectors(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of T, ascending, and its eigenvectors."""
        try:
            return eigh_tridiagonal(self.diagonal, self.off_diagonal, lapack_driver="stemr")
        except np.linalg.LinAlgError:
            # The fast driver fails for some tight clusters of eigenvalues, QR iterations do not.
            return eigh_tridiagonal(self.diagonal, self.off_diagonal, lapack_driver="stev")

    def _reflect(self, v: FloatArray, trans: bytes) -> FloatArray:
        # The reduction of the lower triangle leaves the first coordinate as it is.
        below = np.asfortranarray(v[1:])
        result = np.array(v, dtype=np.float64)
        work = max(1, 64 * below.shape[1])
        with _REFLECTING:
            out, _, info = lapack.dormqr(b"L", trans, self.reflectors, self.tau, below, work)
        if info != 0:
            raise np.linalg.LinAlgError(f"LAPACK dormqr failed with info={info}.")
        result[1:] = out
        return result


def tridiagonalise(matrix: FloatArray) -> Tridiagonal:
    """Reduce a symmetric matrix of at least two rows; its contents may be overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.spectrum.tridiagonal import tridiagonalise
    >>> P = np.array([[2.0, 1.0, 1.0], [1.0, 3.0, 0.0], [1.0, 0.0, 4.0]])
    >>> reduction = tridiagonalise(P.copy())
    >>> float(np.round(reduction.diagonal.sum(), 12))
    9.0
    """
    # The transpose of a C-ordered symmetric matrix is itself in Fortran order.
    reduced = np.asfortranarray(matrix.T)
    diagonal, off_diagonal, tau = reduce_lower(reduced)
    return Tridiagonal(np.asfortranarray(reduced[1:, :-1]), tau, diagonal, off_diagonal)


@dataclass(frozen=True, repr=False)
class BandedSpectrum(Spectrum):
    """A spectrum that keeps P in tridiagonal form; see :class:`Spectrum` for the common fields.

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

    @late  # type: ignore[misc]  # a field of the parent, computed late
    def rho(self) -> FloatArray:
        """Positive eigenvalues of P, ascending."""
        values = eigvalsh_tridiagonal(self.reduction.diagonal, self.reduction.off_diagonal)
        first = int(np.searchsorted(values, self.noise, "right"))
        return np.asarray(values[max(first, len(values) - self.max_rank) :])

    @late
    def vectors(self) -> FloatArray:
        """V, the eigenvectors of T, one column for each of ``rho``: U = H V."""
        # These and kappa on one BLAS thread, as within a fit: a copy that computes them again gets
        # the same bits.
        with our_own_threads():
            values, vectors = self.reduction.eigenvectors()
        return vectors[:, len(values) - len(self.rho) :]

    @late  # type: ignore[misc]
    def kappa(self) -> FloatArray:
        """Components of y/√n along the modes."""
        with our_own_threads():
            along = self.vectors.T @ self.target
        return np.asarray(along / np.sqrt(self.rho)[:, np.newaxis])

    @late  # type: ignore[misc]
    def outside(self) -> FloatArray:
        """Mean square of y outside all modes."""
        return np.asarray(np.maximum(self.total - (self.kappa**2).sum(axis=0), 0.0))

    def train_error(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Mean squared training error of the ensemble, shape (..., outputs)."""
        gaps = resolve_gap(lam, gap)
        if not self._clear_of_noise(gaps):
            return super().train_error(gap=gaps)
        errors = []
        for gap in gaps.ravel().tolist():
            # Total − zᵀx − gap·xᵀ(M − T)x with x the solution for the target z.
            x = self._solve(gap)
            stiff = (self.n_members - self.reduction.diagonal)[:, np.newaxis] * x
            stiff[:-1] -= self.reduction.off_diagonal[:, np.newaxis] * x[1:]
            stiff[1:] -= self.reduction.off_diagonal[:, np.newaxis] * x[:-1]
            fitted = ((self.target + gap * stiff) * x).sum(axis=0)
            errors.append(np.maximum(self.total - fitted, 0.0))
        return np.reshape(errors, (*gaps.shape, self.n_outputs))

    def coef(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
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

    def combine_modes(self, x: FloatArray) -> FloatArray:
        """U x for x of shape (r, k)."""
        return self.reduction.times(self.vectors @ x)

    def along_modes(self, v: FloatArray) -> FloatArray:
        """Uᵀ v for v of shape (R, k)."""
        return self.vectors.T @ self.reduction.transposed_times(v)

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
