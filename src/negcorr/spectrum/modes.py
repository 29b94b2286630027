"""Eigenvectors of the whitened Gram matrix, as matrices or as tridiagonal reflectors.

Reducing P to tridiagonal form takes a third of the time of a full eigendecomposition, and
multiplying by the eigenvectors is all that is ever asked of them. So they are kept as the
Householder reflectors of that reduction and the eigenvectors of the tridiagonal matrix.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh_tridiagonal, lapack

from negcorr._common.lapack import reduce_lower
from negcorr._common.types import FloatArray

__all__ = [
    "DenseModes",
    "Modes",
    "Tridiagonal",
    "TridiagonalModes",
    "tridiagonalise",
]

#: LAPACK writes into the reflectors while it applies them, and puts back what was there: of two
#: threads that share them, one would read what the other has written.
_REFLECTING = threading.Lock()


class Modes(Protocol):
    """An R×r matrix U with orthonormal columns that can be multiplied by."""

    def times(self, x: FloatArray) -> FloatArray:
        """U x for x of shape (r, k)."""

    def transposed_times(self, v: FloatArray) -> FloatArray:
        """Uᵀ v for v of shape (R, k)."""


@dataclass(frozen=True)
class DenseModes:
    """U held as a matrix of shape (R, r)."""

    vectors: FloatArray

    def times(self, x: FloatArray) -> FloatArray:
        return self.vectors @ x

    def transposed_times(self, v: FloatArray) -> FloatArray:
        return self.vectors.T @ v


@dataclass(frozen=True)
class Tridiagonal:
    """P = H T Hᵀ: Householder reflectors H and a tridiagonal matrix T.

    Attributes
    ----------
    reflectors : ndarray of shape (R - 1, R - 1)
        LAPACK's compact form of H, in Fortran order.
    tau : ndarray of shape (R - 1,)
        Its scalars.
    diagonal : ndarray of shape (R,)
        Diagonal of T.
    off_diagonal : ndarray of shape (R - 1,)
        What stands beside it.
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
            # Relatively robust representations are fast, but for some tight clusters of eigenvalues
            # they are not found; QR iterations always end.
            return eigh_tridiagonal(self.diagonal, self.off_diagonal, lapack_driver="stev")

    def _reflect(self, v: FloatArray, trans: bytes) -> FloatArray:
        # The first coordinate is untouched by the reduction of the lower triangle.
        below = np.asfortranarray(v[1:])
        result = np.array(v, dtype=np.float64)
        work = max(1, 64 * below.shape[1])
        with _REFLECTING:
            out, _, info = lapack.dormqr(b"L", trans, self.reflectors, self.tau, below, work)
        if info != 0:
            raise np.linalg.LinAlgError(f"LAPACK dormqr failed with info={info}.")
        result[1:] = out
        return result


@dataclass(frozen=True)
class TridiagonalModes:
    """U = H V: reflectors of the tridiagonal reduction, eigenvectors V of its result."""

    reduction: Tridiagonal
    vectors: FloatArray

    def times(self, x: FloatArray) -> FloatArray:
        return self.reduction.times(self.vectors @ x)

    def transposed_times(self, v: FloatArray) -> FloatArray:
        return self.vectors.T @ self.reduction.transposed_times(v)


def tridiagonalise(matrix: FloatArray) -> Tridiagonal:
    """Reduce a symmetric matrix of at least two rows; its contents may be overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.spectrum.modes import tridiagonalise
    >>> P = np.array([[2.0, 1.0, 1.0], [1.0, 3.0, 0.0], [1.0, 0.0, 4.0]])
    >>> reduction = tridiagonalise(P.copy())
    >>> float(np.round(reduction.diagonal.sum(), 12))
    9.0
    """
    # The transpose of a C-ordered symmetric matrix is itself in Fortran order.
    reduced = np.asfortranarray(matrix.T)
    diagonal, off_diagonal, tau = reduce_lower(reduced)
    return Tridiagonal(np.asfortranarray(reduced[1:, :-1]), tau, diagonal, off_diagonal)
