"""Singular values that always come out."""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from negcorr._arrays import place_of
from negcorr._typing import FloatArray

__all__ = ["thin_svd"]


def thin_svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U, s and Vᵀ of the thin decomposition, s descending.

    The fast divide-and-conquer driver of LAPACK is known to give up on some matrices with
    many equal singular values, as identical members make; the classical driver, slower and
    as accurate, does those.
    """
    place = place_of(matrix)
    if not place.is_home:
        return tuple(place.xp.linalg.svd(matrix, full_matrices=False))
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        left, values, right = svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return left, values, right
