"""Arrays of other libraries than NumPy, on whatever device they are (the array API standard).

The mathematics of a fit is written once, against the standard's functions. What decides rather than
computes (folds, ranks, the choice of λ) takes a few numbers home to NumPy; rows, features, moments
and factorisations stay where they are.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import array_api_compat
import numpy as np
import sklearn

from negcorr._typing import AnyArray

__all__ = ["HOME", "Place", "everything_at_home", "is_abroad", "place_of", "taken", "to_host"]

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

    @property
    def is_home(self) -> bool:
        """Whether this is NumPy."""
        return self.xp is HOME.xp

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
        if self.is_home:
            return np.asarray(to_host(values), dtype=dtype)
        if is_abroad(values) and place_of(values) == self:
            return self.xp.astype(values, dtype, copy=False)
        # Not from negative strides or read-only memory, which some libraries cannot take.
        array = np.array(to_host(values), order="C", copy=True)
        return self.xp.asarray(array, dtype=dtype, device=self.device)


#: NumPy.
HOME = Place(array_api_compat.array_namespace(np.empty(0)), None)


def is_abroad(values: Any) -> bool:
    """Whether something is an array of another library than NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr._arrays import is_abroad
    >>> is_abroad(np.ones(3)), is_abroad([1.0, 2.0])
    (False, False)
    """
    if isinstance(values, np.ndarray | np.generic | float | int | list | tuple):
        return False
    return bool(array_api_compat.is_array_api_obj(values))


def place_of(values: Any) -> Place:
    """Where an array is; tables that are no arrays are at home."""
    if not is_abroad(values):
        return HOME
    if array_api_compat.is_jax_array(values) or array_api_compat.is_dask_array(values):
        raise TypeError(
            f"arrays of type {type(values).__module__}.{type(values).__name__} cannot be written "
            f"into; allowed are arrays of {SUPPORTED}."
        )
    return Place(array_api_compat.array_namespace(values), array_api_compat.device(values))


def dispatched(X: Any) -> Place:
    """Where a user's table asks to be worked on: at home, unless scikit-learn dispatches."""
    if not is_abroad(X) or not sklearn.get_config()["array_api_dispatch"]:
        return HOME
    return place_of(X)


def to_host(values: Any) -> AnyArray:
    """The same numbers as a NumPy array.

    Examples
    --------
    >>> from negcorr._arrays import to_host
    >>> to_host([1.0, 2.0])
    array([1., 2.])
    """
    if not is_abroad(values):
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
    if place.is_home:
        return values[to_host(index)]
    return place.xp.take(values, place.integers(index), axis=0)


def everything_at_home(thing: Any) -> Any:
    """A copy of an object whose arrays are all NumPy's, however deep inside they are."""
    return _at_home(thing, {})


def _at_home(thing: Any, known: dict[int, Any]) -> Any:
    if id(thing) in known:
        return known[id(thing)]
    if is_abroad(thing):
        found: Any = to_host(thing)
    elif isinstance(thing, tuple | list):
        found = type(thing)(_at_home(part, known) for part in thing)
    elif isinstance(thing, Mapping):
        found = {name: _at_home(part, known) for name, part in thing.items()}
    elif is_dataclass(thing) and not isinstance(thing, type):
        found = copy.copy(thing)
        for field in fields(thing):
            object.__setattr__(found, field.name, _at_home(getattr(thing, field.name), known))
        # What was computed late from fields, and is kept beside them.
        for name in vars(found).keys() - {field.name for field in fields(thing)}:
            vars(found)[name] = _at_home(vars(found)[name], known)
    elif type(thing).__module__.partition(".")[0] == "negcorr" and hasattr(thing, "__dict__"):
        found = copy.copy(thing)
        vars(found).update({name: _at_home(part, known) for name, part in vars(thing).items()})
    else:
        found = thing
    known[id(thing)] = found
    return found
