"""Eigenvectors of the whitened Gram matrix, as matrices or as tridiagonal reflectors.

Reducing P to tridiagonal form takes a third of the time of a full eigendecomposition, and
multiplying by the eigenvectors is all that is ever asked of them. So they are kept as the
Householder reflectors of that reduction and the eigenvectors of the tridiagonal matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import eigh_tridiagonal, lapack

from negcorr._typing import FloatArray

__all__ = ["DenseModes", "Modes", "TridiagonalModes", "eigenmodes"]

#: Below this size a plain eigendecomposition is as fast.
SMALL = 64


class Modes(Protocol):
    """An R×r matrix U with orthonormal columns that can be multiplied by."""

    def times(self, x: FloatArray) -> FloatArray:
        """U x for x of shape (r, k)."""

    def transposed_times(self, v: FloatArray) -> FloatArray:
        """Uᵀ v for v of shape (R, k)."""

    def without_first(self, first: int) -> Modes:
        """U without its first columns."""


@dataclass(frozen=True)
class DenseModes:
    """U held as a matrix of shape (R, r)."""

    vectors: FloatArray

    def times(self, x: FloatArray) -> FloatArray:
        return self.vectors @ x

    def transposed_times(self, v: FloatArray) -> FloatArray:
        return self.vectors.T @ v

    def without_first(self, first: int) -> DenseModes:
        return replace(self, vectors=self.vectors[:, first:]) if first else self


@dataclass(frozen=True)
class TridiagonalModes:
    """U = H V: reflectors H of the tridiagonal reduction, eigenvectors V of its result."""

    reflectors: FloatArray
    tau: FloatArray
    vectors: FloatArray

    def times(self, x: FloatArray) -> FloatArray:
        return self._reflect(self.vectors @ x, b"N")

    def transposed_times(self, v: FloatArray) -> FloatArray:
        return self.vectors.T @ self._reflect(v, b"T")

    def without_first(self, first: int) -> TridiagonalModes:
        return replace(self, vectors=self.vectors[:, first:]) if first else self

    def _reflect(self, v: FloatArray, trans: bytes) -> FloatArray:
        # The first coordinate is untouched by the reduction of the lower triangle.
        below = np.asfortranarray(v[1:])
        result = np.array(v, dtype=np.float64)
        work = max(1, 64 * below.shape[1])
        out, _, info = lapack.dormqr(b"L", trans, self.reflectors, self.tau, below, work)
        if info != 0:
            raise np.linalg.LinAlgError(f"LAPACK dormqr failed with info={info}.")
        result[1:] = out
        return result


def eigenmodes(matrix: FloatArray) -> tuple[FloatArray, Modes]:
    """Eigenvalues in ascending order and eigenvectors of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (R, R)
        Symmetric; its contents may be overwritten.

    Returns
    -------
    values : ndarray of shape (R,)
    modes : Modes
        Eigenvectors in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.modes import eigenmodes
    >>> values, modes = eigenmodes(np.diag([3.0, 1.0]))
    >>> values
    array([1., 3.])
    """
    size = matrix.shape[0]
    if size < SMALL:
        values, vectors = np.linalg.eigh(matrix)
        return values, DenseModes(vectors)
    # The transpose of a C-ordered symmetric matrix is itself in Fortran order.
    reduced, diagonal, off_diagonal, tau, info = lapack.dsytrd(
        matrix.T, lower=1, lwork=64 * size, overwrite_a=1
    )
    if info != 0:
        raise np.linalg.LinAlgError(f"LAPACK dsytrd failed with info={info}.")
    values, vectors = eigh_tridiagonal(diagonal, off_diagonal, lapack_driver="stemr")
    return values, TridiagonalModes(np.asfortranarray(reduced[1:, :-1]), tau, vectors)
