"""LAPACK routines called without the interpreter's lock, so that threads can run them in parallel.

SciPy's wrappers hold the lock while LAPACK works, and all other threads wait. SciPy also exports
the routines to compiled code (``scipy.linalg.cython_lapack``). Here they are called through
``ctypes``, which releases the lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from negcorr._common.types import FloatArray

__all__ = ["EPS", "inverse_from_upper", "reduce_lower"]

#: Distance from 1 to the next larger number in double precision.
EPS = float(np.finfo(np.float64).eps)


def reduce_lower(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Tridiagonal form of a symmetric matrix, which reflectors overwrite (``dsytrd``).

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
    """Overwrite U with the upper triangle of A⁻¹, for A = UᵀU (``dpotri``).

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
    # The list keeps alive what the pointers point to until the routine returns.
    values: list[Any] = [
        ctypes.c_char(value)
        if isinstance(value, bytes)
        else ctypes.c_int(value)
        if isinstance(value, int)
        else value
        for value in (*arguments, 0)
    ]
    pointers = [
        int(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.addressof(value)
        for value in values
    ]
    _routine(name, len(pointers))(*pointers)
    info = values[-1].value
    if info != 0:
        raise np.linalg.LinAlgError(f"LAPACK {name} failed with info={info}.")


@cache
def _routine(name: str, n_arguments: int) -> Callable[..., None]:
    """A LAPACK routine as SciPy exports it: a function of pointers."""
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
