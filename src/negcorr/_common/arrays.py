"""Arrays of NumPy and of other libraries, on any device (the array API standard).

The mathematics of a fit is written once, with the functions of the standard. Decisions (folds,
ranks, the choice of λ) copy a few numbers to NumPy; rows, features, moments and factorisations stay
on their device.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

import array_api_compat
import numpy as np
import sklearn
from scipy.linalg import svd

from negcorr._common.types import AnyArray, FloatArray

__all__ = [
    "NUMPY",
    "Place",
    "arrays_to_numpy",
    "contiguous",
    "detached",
    "dispatched",
    "is_device_array",
    "is_ours",
    "place_of",
    "place_within",
    "rows_at",
    "thin_svd",
    "to_host",
]

#: Libraries whose arrays a fit accepts: arrays that can be written into.
SUPPORTED = "NumPy, PyTorch, CuPy and array-api-strict"


@dataclass(frozen=True)
class Place:
    """An array library and a device of it.

    Attributes
    ----------
    xp : module
        The library's functions, as the array API standard names them.
    device : object
        The device; None for NumPy.
    """

    xp: Any
    device: Any

    def __str__(self) -> str:
        library = self.xp.__name__.rpartition(".")[2]
        return library if self.is_numpy else f"{library} on {self.device!s}"

    @property
    def is_numpy(self) -> bool:
        """Whether this is NumPy."""
        return self.xp is NUMPY.xp

    def floats(self, values: Any) -> Any:
        """Numbers of any library as an array of this place, in double precision."""
        if self.is_numpy:
            return np.asarray(
                to_host(values) if is_device_array(values) else values, dtype=np.float64
            )
        if is_device_array(values) and place_of(values) == self:
            return self.xp.astype(values, self.xp.float64, copy=False)
        # Some libraries cannot read negative strides or read-only memory.
        array = np.array(to_host(values), order="C", copy=True)
        return self.xp.asarray(array, dtype=self.xp.float64, device=self.device)

    def integers(self, values: Any) -> Any:
        """Row numbers of any library as an array of this place."""
        if is_device_array(values) and place_of(values) == self:
            return self.xp.astype(values, self.xp.int64, copy=False)
        array = np.asarray(to_host(values), dtype=np.int64)
        return array if self.is_numpy else self.xp.asarray(array.copy(), device=self.device)

    def empty(self, shape: tuple[int, ...]) -> Any:
        """An array in double precision, whose values are still to be written."""
        return self.xp.empty(shape, dtype=self.xp.float64, device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Zeros, in double precision."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def ones(self, shape: tuple[int, ...]) -> Any:
        """Ones, in double precision."""
        return self.xp.ones(shape, dtype=self.xp.float64, device=self.device)

    def eye(self, size: int) -> Any:
        """The identity matrix, in double precision."""
        return self.xp.eye(size, dtype=self.xp.float64, device=self.device)


#: Functions that test for arrays that follow the standard but cannot be written into.
_READ_ONLY = (array_api_compat.is_jax_array, array_api_compat.is_pydata_sparse_array)

#: NumPy as a place of arrays.
NUMPY = Place(array_api_compat.array_namespace(np.empty(0)), None)


def is_device_array(values: Any) -> bool:
    """Whether something is an array of another library than NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr._common.arrays import is_device_array
    >>> is_device_array(np.ones(3)), is_device_array([1.0, 2.0])
    (False, False)
    """
    if isinstance(values, np.ndarray | np.generic | float | int | list | tuple):
        return False
    # A Dask array has no values yet; NumPy computes them on conversion.
    lazy = array_api_compat.is_dask_array(values)
    return bool(array_api_compat.is_array_api_obj(values)) and not lazy


def place_of(values: Any) -> Place:
    """The place of an array; NumPy for tables that are not arrays."""
    if not is_device_array(values):
        return NUMPY
    if any(is_of(values) for is_of in _READ_ONLY):
        raise TypeError(
            f"arrays of type {type(values).__module__}.{type(values).__name__} cannot be written "
            f"into; allowed are arrays of {SUPPORTED}."
        )
    return Place(array_api_compat.array_namespace(values), array_api_compat.device(values))


def place_within(thing: Any) -> Place:
    """The place of the arrays in an object's attributes, or in objects held there; else NumPy."""
    for part in vars(thing).values():
        if is_device_array(part):
            return place_of(part)
        for inner in part if isinstance(part, list) else [part] if is_dataclass(part) else ():
            place = place_within(inner) if hasattr(inner, "__dict__") else NUMPY
            if not place.is_numpy:
                return place
    return NUMPY


def dispatched(X: Any) -> Place:
    """The place in which to compute with a user's table.

    NumPy, unless scikit-learn is set to dispatch arrays of other libraries.
    """
    if not is_device_array(X) or not sklearn.get_config()["array_api_dispatch"]:
        return NUMPY
    return place_of(X)


def to_host(values: Any) -> AnyArray:
    """The same numbers as a NumPy array.

    Examples
    --------
    >>> from negcorr._common.arrays import to_host
    >>> to_host([1.0, 2.0])
    array([1., 2.])
    """
    if not is_device_array(values):
        return np.asarray(values)
    if array_api_compat.is_torch_array(values):
        return np.asarray(values.detach().cpu().numpy())
    if array_api_compat.is_cupy_array(values):
        return np.asarray(values.get())
    xp = array_api_compat.array_namespace(values)
    if hasattr(xp, "Device"):  # array-api-strict pretends to have several
        values = xp.asarray(values, device=xp.Device("CPU_DEVICE"))
    return np.asarray(np.from_dlpack(values))


def rows_at(values: Any, index: Any) -> Any:
    """The rows of an array with the given numbers, which may be an array of another library."""
    place = place_of(values)
    if place.is_numpy:
        return values[to_host(index)]
    return place.xp.take(values, place.integers(index), axis=0)


def contiguous(values: Any) -> Any:
    """The same array in C order, in which matrix products are fast."""
    xp = place_of(values).xp
    return xp.reshape(xp.reshape(values, (math.prod(values.shape),)), values.shape)


def detached(values: Any) -> Any:
    """The same array without the record of operations that a library keeps for gradients."""
    if not is_device_array(values) or not getattr(values, "requires_grad", False):
        return values
    return values.detach()


def thin_svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U, s and Vᵀ of the thin singular value decomposition, s descending.

    LAPACK's fast divide-and-conquer driver sometimes fails on a matrix with many equal singular
    values, which identical members cause. Then the classical driver is used. It is slower and
    equally accurate.
    """
    if is_device_array(matrix):
        return tuple(place_of(matrix).xp.linalg.svd(matrix, full_matrices=False))
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        left, values, right = svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return left, values, right


def arrays_to_numpy(thing: Any, copies: dict[int, Any] | None = None) -> Any:
    """A copy of an object in which all arrays are NumPy's, at any depth.

    The copy shares no memory with arrays of other libraries.

    Parameters
    ----------
    thing : object
        An array, a container, or an object of this package or of a class derived from one of its.
        Anything else is returned as it is.
    copies : dict, optional
        Copies made so far, by the ``id`` of the originals. So shared parts stay shared.
    """
    copies = {} if copies is None else copies
    if id(thing) in copies:
        return copies[id(thing)]
    if is_device_array(thing):
        found: Any = np.array(to_host(thing), order="C", copy=True)
    elif isinstance(thing, tuple | list):
        found = type(thing)(arrays_to_numpy(part, copies) for part in thing)
    elif isinstance(thing, Mapping):
        found = {name: arrays_to_numpy(part, copies) for name, part in thing.items()}
    elif is_ours(thing):
        found = copies[id(thing)] = copy.copy(thing)
        # The copy's own state: it may omit values that are computed again when needed.
        parts = vars(found)
        parts.update({name: arrays_to_numpy(part, copies) for name, part in parts.items()})
    else:
        found = thing
    copies[id(thing)] = found
    return found


def is_ours(thing: Any) -> bool:
    """Whether something is an object of this package, or of a class made from one of its.

    Examples
    --------
    >>> from negcorr._common.arrays import NUMPY, is_ours
    >>> is_ours(NUMPY), is_ours([1.0, 2.0])
    (True, False)
    """
    if isinstance(thing, type) or not hasattr(thing, "__dict__"):
        return False
    return any(kind.__module__.partition(".")[0] == "negcorr" for kind in type(thing).__mro__)
