"""Models in the form in which a file holds them, and back.

A file holds no data frames, splines or networks, but stored types that make them again, and no
values that can be computed again. Everything is checked on the way (:mod:`negcorr.storage.checks`).
"""

from __future__ import annotations

import copy
import inspect
from functools import cached_property
from typing import Any

import numpy as np

from negcorr.storage.checks import check_fields, check_sound, check_storable, has_fields
from negcorr.storage.stored_types import StoredDeep, StoredFrame, StoredSpline, stored_type_of

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
    check_storable(thing, where)
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
            if isinstance(inspect.getattr_static(type(found), name, None), cached_property):
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
        Where fields are missing or unknown, or contents are not sound.
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
        if isinstance(thing, StoredDeep | StoredFrame | StoredSpline):
            found = thing.restored()
    known[id(thing)] = thing, found
    return found
