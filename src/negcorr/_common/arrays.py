"""Arrays of other libraries than NumPy, on whatever device they are (the array API standard).

The mathematics of a fit is written once, against the standard's functions. What decides rather than
computes (folds, ranks, the choice of λ) takes a few numbers home to NumPy; rows, features, moments
and factorisations stay where they are.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
import sklearn

from negcorr._common.types import AnyArray

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
    "taken",
    "to_host",
]

#: Libraries whose arrays can be computed with: those that can be written into.
SUPPORTED = "NumPy, PyTorch, CuPy and array-api-strict"


@dataclass(frozen=True)
class Place:
    """A library and a device, where arrays are made.

    Attributes
    ----------
    xp : module
        Functions of the array API standard.
    device : object
        Where its arrays are; None for NumPy.
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
        """Numbers from anywhere as double precision here."""
        return self._array(values, self.xp.float64)

    def integers(self, values: Any) -> Any:
        """Row numbers from anywhere, here."""
        return self._array(values, self.xp.int64)

    def empty(self, shape: tuple[int, ...]) -> Any:
        """An array of double precision to be written into."""
        return self.xp.empty(shape, dtype=self.xp.float64, device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Zeros in double precision."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def ones(self, shape: tuple[int, ...]) -> Any:
        """Ones in double precision."""
        return self.xp.ones(shape, dtype=self.xp.float64, device=self.device)

    def eye(self, size: int) -> Any:
        """The identity in double precision."""
        return self.xp.eye(size, dtype=self.xp.float64, device=self.device)

    def _array(self, values: Any, dtype: Any) -> Any:
        if self.is_numpy:
            return np.asarray(to_host(values) if is_device_array(values) else values, dtype=dtype)
        if is_device_array(values) and place_of(values) == self:
            return self.xp.astype(values, dtype, copy=False)
        # Not from negative strides or read-only memory, which some libraries cannot take.
        array = np.array(to_host(values), order="C", copy=True)
        return self.xp.asarray(array, dtype=dtype, device=self.device)


#: Kinds of arrays that follow the standard, but cannot be written into.
_READ_ONLY = (
    array_api_compat.is_jax_array,
    array_api_compat.is_pydata_sparse_array,
)

#: NumPy.
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
    # Dask's arrays are no arrays before they are computed, which NumPy does when asked.
    lazy = array_api_compat.is_dask_array(values)
    return bool(array_api_compat.is_array_api_obj(values)) and not lazy


def place_of(values: Any) -> Place:
    """Where an array is; tables that are no arrays are at home."""
    if not is_device_array(values):
        return NUMPY
    if any(is_of(values) for is_of in _READ_ONLY):
        raise TypeError(
            f"arrays of type {type(values).__module__}.{type(values).__name__} cannot be written "
            f"into; allowed are arrays of {SUPPORTED}."
        )
    return Place(array_api_compat.array_namespace(values), array_api_compat.device(values))


def place_within(thing: Any) -> Place:
    """Where the arrays that an object holds are, also within a list of objects that it holds."""
    for part in vars(thing).values():
        if is_device_array(part):
            return place_of(part)
        for inner in part if isinstance(part, list) else ():
            place = place_within(inner) if hasattr(inner, "__dict__") else NUMPY
            if not place.is_numpy:
                return place
    return NUMPY


def dispatched(X: Any) -> Place:
    """Where a user's table asks to be worked on: at home, unless scikit-learn dispatches."""
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


def taken(values: Any, index: Any) -> Any:
    """Rows of an array at row numbers from anywhere."""
    place = place_of(values)
    if place.is_numpy:
        return values[to_host(index)]
    return place.xp.take(values, place.integers(index), axis=0)


def contiguous(values: Any) -> Any:
    """The same numbers with the last axis next to each other in memory, as products like them."""
    xp = place_of(values).xp
    return xp.reshape(xp.reshape(values, (math.prod(values.shape),)), values.shape)


def detached(values: Any) -> Any:
    """The same numbers without the history of how they came about, which gradients need."""
    if not is_device_array(values) or not getattr(values, "requires_grad", False):
        return values
    return values.detach()


def arrays_to_numpy(thing: Any) -> Any:
    """A copy of an object whose arrays are all NumPy's, however deep inside they are.

    It shares no memory with arrays of other libraries.
    """
    return _to_numpy(thing, {})


def _to_numpy(thing: Any, known: dict[int, Any]) -> Any:
    if id(thing) in known:
        return known[id(thing)]
    if is_device_array(thing):
        found: Any = np.array(to_host(thing), order="C", copy=True)
    elif isinstance(thing, tuple | list):
        found = type(thing)(_to_numpy(part, known) for part in thing)
    elif isinstance(thing, Mapping):
        found = {name: _to_numpy(part, known) for name, part in thing.items()}
    elif is_ours(thing):
        found = known[id(thing)] = copy.copy(thing)
        # Not those of the original: a copy may leave out what it makes anew.
        parts = vars(found)
        parts.update({name: _to_numpy(part, known) for name, part in parts.items()})
    else:
        found = thing
    known[id(thing)] = found
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
