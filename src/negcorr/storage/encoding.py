"""Models in the form in which a file holds them, and back.

A file holds no data frames, splines or networks, but stored types that make them again, and no
values that can be computed again. Everything is checked on the way. An object that goes in must be
one that can be found or made again. An object that comes out is checked before anybody uses it
(:mod:`negcorr.storage.fields`, :mod:`negcorr.storage.shapes`).
"""

from __future__ import annotations

import copy
import inspect
import sys
from types import FunctionType
from typing import Any

import numpy as np

from negcorr._common.arrays import is_device_array
from negcorr._common.forks import late
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.storage.fields import check_fields, check_sound, check_values, has_fields
from negcorr.storage.shapes import check_ensemble
from negcorr.storage.stored_types import STORED, deep_kind, stored_type_of

__all__ = ["from_file_form", "to_file_form"]


def to_file_form(model: Any) -> Any:
    """A copy of a model in which everything can be written; arrays are shared with it.

    Parameters
    ----------
    model : estimator
        Left as it is.

    Raises
    ------
    TypeError, ValueError
        Where it holds what a file cannot: arrays on a device, networks, nameless functions.
    """
    return _encoded(model, "model", {})


def _encoded(thing: Any, where: str, known: dict[int, tuple[Any, Any]]) -> Any:
    if id(thing) in known:
        return known[id(thing)][1]
    _check_storable(thing, where)
    stored_type = stored_type_of(thing)
    found: Any = thing if stored_type is None else stored_type.of(thing)
    if type(thing) in (list, tuple):
        parts = [_encoded(p, f"{where}[{i}]", known) for i, p in enumerate(thing)]
        found = type(thing)(parts)
    elif type(thing) is dict:
        found = {name: _encoded(p, f"{where}[{name!r}]", known) for name, p in thing.items()}
    elif has_fields(found):
        found = copy.copy(found)
        known[id(thing)] = thing, found
        fields = vars(found)
        for name, part in list(fields.items()):
            # Values that an object makes at first use and could make again are left out.
            if isinstance(inspect.getattr_static(type(found), name, None), late):
                del fields[name]
            else:
                fields[name] = _encoded(part, f"{where}.{name}", known)
    known[id(thing)] = thing, found
    return found


def from_file_form(model: Any) -> Any:
    """The model from what a file gave, changed in place.

    Raises
    ------
    ValueError
        Where fields are missing or unknown, or of another kind, or do not fit together.
    """
    return _decoded(model, "model", {})


def _decoded(thing: Any, where: str, known: dict[int, tuple[Any, Any]]) -> Any:
    if id(thing) in known:
        return known[id(thing)][1]
    known[id(thing)] = thing, thing
    check_sound(thing, where)
    found: Any = thing
    if type(thing) is tuple:
        found = tuple(_decoded(p, f"{where}[{i}]", known) for i, p in enumerate(thing))
    elif type(thing) is list or isinstance(thing, dict):
        items = thing.items() if isinstance(thing, dict) else enumerate(thing)
        for name, part in list(items):
            thing[name] = _decoded(part, f"{where}[{name!r}]", known)
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        for part in thing.ravel():
            if not isinstance(part, str):
                _decoded(part, where, known)
    elif has_fields(thing):
        check_fields(thing, where)
        fields = vars(thing)
        for name, part in list(fields.items()):
            fields[name] = _decoded(part, f"{where}.{name}", known)
        check_values(thing, where)
        if isinstance(thing, STORED):
            found = thing.restored()
        elif isinstance(thing, NCLRegressor):
            check_ensemble(thing)
    known[id(thing)] = thing, found
    return found


def _check_storable(thing: Any, where: str) -> None:
    """Refuse what a file cannot hold: arrays on a device, a user's networks, nameless functions."""
    # Types, np.float64 among them, look like arrays to those who ask for attributes.
    if not isinstance(thing, type) and is_device_array(thing):
        raise ValueError(
            f"{where} is an array of {type(thing).__module__.partition('.')[0]}, on its device; "
            "call to_numpy() on the fitted NCLRegressor first, and save what it returns."
        )
    if deep_kind(thing) not in (None, type(thing)):
        raise TypeError(
            f"{where} is a {type(thing).__name__}, a kind of DeepNCLRegressor of your own, which a "
            "file cannot name; use its methods save(path) and load(path)."
        )
    if isinstance(thing, FunctionType):
        module = sys.modules.get(thing.__module__)
        if getattr(module, thing.__name__, None) is not thing:
            raise TypeError(
                f"{where} is the function {thing.__qualname__!r}, which cannot be found again by "
                "its name; define it at the top of a module."
            )
