"""LAPACK without the interpreter's lock, so that lanes can reduce matrices side by side.

SciPy's wrappers hold the lock while LAPACK works, and with it all other threads. SciPy offers the
bare routines to compiled code too (``scipy.linalg.cython_lapack``); through ``ctypes``, which lets
go of the lock, they are called here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack, svd

from negcorr._common.arrays import place_of
from negcorr._common.types import FloatArray

__all__ = ["EPS", "inverse_from_upper", "reduce_lower", "thin_svd"]


def reduce_lower(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Tridiagonal form of a symmetric matrix, by reflectors that take its place (``dsytrd``).

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        In Fortran order, n at least 2; its lower triangle is read and overwritten.

    Returns
    -------
    diagonal : ndarray of shape (n,)
    off_diagonal, tau : ndarray of shape (n - 1,)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr._common.lapack import reduce_lower
    >>> matrix = np.asfortranarray([[2.0, 1.0, 1.0], [1.0, 3.0, 0.0], [1.0, 0.0, 4.0]])
    >>> diagonal, _, _ = reduce_lower(matrix)
    >>> float(np.round(diagonal.sum(), 12))
    9.0
    """
    n = _checked(matrix)
    diagonal, off_diagonal, tau = np.empty(n), np.empty(n - 1), np.empty(n - 1)
    work = np.empty(64 * n)
    arrays = (diagonal, off_diagonal, tau, work)
    _call("dsytrd", b"L", n, matrix, n, *arrays, len(work))
    return diagonal, off_diagonal, tau


def inverse_from_upper(factor: FloatArray) -> None:
    """Upper triangle of A⁻¹ in place of that of U, for A = UᵀU (``dpotri``).

    Parameters
    ----------
    factor : ndarray of shape (n, n)
        In Fortran order.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr._common.lapack import inverse_from_upper
    >>> factor = np.asfortranarray([[2.0, 1.0], [0.0, 1.0]])
    >>> inverse_from_upper(factor)
    >>> np.triu(factor)
    array([[ 0.5, -0.5],
           [ 0. ,  1. ]])
    """
    n = _checked(factor)
    _call("dpotri", b"U", n, factor, n)


def _checked(matrix: FloatArray) -> int:
    n = matrix.shape[0]
    fits = matrix.shape == (n, n) and matrix.dtype == np.float64
    if not (fits and matrix.flags.f_contiguous and matrix.flags.writeable):
        raise ValueError("LAPACK works in place on square matrices of doubles in Fortran order.")
    return n


def _call(name: str, *arguments: Any) -> None:
    """Call a routine whose last argument is its report; raise where that is not zero."""
    # What is pointed to has to live until the routine is back.
    held = [_held(each) for each in (*arguments, 0)]
    _routine(name, len(held))(*(_address(each) for each in held))
    info = held[-1].value
    if info != 0:
        raise np.linalg.LinAlgError(f"LAPACK {name} failed with info={info}.")


def _held(value: Any) -> Any:
    if isinstance(value, bytes):
        return ctypes.c_char(value)
    return ctypes.c_int(value) if isinstance(value, int) else value


def _address(value: Any) -> int:
    return int(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.addressof(value)


@cache
def _routine(name: str, n_arguments: int) -> Callable[..., None]:
    """A routine as SciPy exports it, taking pointers."""
    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    signature = name_of(capsule)
    if signature.count(b",") != n_arguments - 1 or b" int *" not in signature:
        raise RuntimeError(f"SciPy's {name} is not what is expected: {signature.decode()}.")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(pointer_of(capsule, signature))


def thin_svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U, s and Vᵀ of the thin decomposition, s descending.

    The fast divide-and-conquer driver of LAPACK is known to give up on some matrices with
    many equal singular values, as identical members make; the classical driver, slower and
    as accurate, does those.
    """
    place = place_of(matrix)
    if not place.is_numpy:
        return tuple(place.xp.linalg.svd(matrix, full_matrices=False))
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        left, values, right = svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return left, values, right


EPS = float(np.finfo(np.float64).eps)
