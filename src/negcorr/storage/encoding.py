"""Models in the form in which a file holds them, and back.

A file holds no data frames, splines or networks, but stored types that make them again, and no
values that can be computed again. Everything is checked on the way. An object that goes in must be
one that can be found or made again. An object that comes out is checked before anybody uses it: it
must have every field, and trees and sparse matrices, whose indices compiled code follows without a
check, must be sound.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import sys
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

from negcorr._common.arrays import is_device_array, is_ours
from negcorr._common.forks import late
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
    elif _has_fields(found):
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
        Where fields are missing or unknown, or contents are not sound.
    """
    return _decoded(model, "model", {})


def _decoded(thing: Any, where: str, known: dict[int, tuple[Any, Any]]) -> Any:
    if id(thing) in known:
        return known[id(thing)][1]
    known[id(thing)] = thing, thing
    _check_sound(thing, where)
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
    elif _has_fields(thing):
        _check_fields(thing, where)
        fields = vars(thing)
        for name, part in list(fields.items()):
            fields[name] = _decoded(part, f"{where}.{name}", known)
        if isinstance(thing, STORED):
            found = thing.restored()
    known[id(thing)] = thing, found
    return found


def _has_fields(thing: Any) -> bool:
    """Whether something is of this package or an estimator, whose fields are looked at."""
    return is_ours(thing) or (isinstance(thing, BaseEstimator) and not isinstance(thing, type))


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


def _check_fields(thing: Any, where: str) -> None:
    """Fill in what older versions did not have; refuse what other versions of it have written."""
    kind = type(thing)
    if kind.__module__.partition(".")[0] != "negcorr":
        return
    have = vars(thing)
    parameters = inspect.signature(kind).parameters
    wanted, allowed = set(parameters), None
    if dataclasses.is_dataclass(kind):
        fields = dataclasses.fields(kind)
        wanted, allowed = {f.name for f in fields if f.init}, {f.name for f in fields}
        for field in fields:
            if field.default is not dataclasses.MISSING:
                have.setdefault(field.name, field.default)
            elif field.default_factory is not dataclasses.MISSING:
                have.setdefault(field.name, field.default_factory())
    elif isinstance(thing, BaseEstimator):
        for name, parameter in parameters.items():
            if parameter.default is not parameter.empty:
                have.setdefault(name, parameter.default)
    unknown = set() if allowed is None else set(have) - allowed
    for what, names in (("lacks", wanted - set(have)), ("has the unknown", unknown)):
        if names:
            raise ValueError(f"{where}, a {kind.__name__}, {what} field(s) {sorted(names)}")


def _check_sound(thing: Any, where: str) -> None:
    """Refuse indices that point outside, before compiled code follows them."""
    if sp.issparse(thing):
        thing.check_format(full_check=True)
    elif isinstance(thing, Tree):
        node = np.arange(thing.node_count)
        inner = thing.children_left != -1
        # Children come after their parents in every tree that was grown: so there are no circles.
        sound = thing.node_count >= 1 and all(
            ((side[inner] > node[inner]) & (side[inner] < thing.node_count)).all()
            for side in (thing.children_left, thing.children_right)
        )
        split = thing.feature[inner]
        if not sound or not ((split >= 0) & (split < thing.n_features)).all():
            raise ValueError(
                f"{where} is damaged: a node points outside of the tree or its columns"
            )
    elif _has_fields(thing):
        fields = vars(thing)
        tree = fields.get("tree_")
        if isinstance(tree, Tree) and tree.n_features != getattr(thing, "n_features_in_", None):
            raise ValueError(f"{where}.tree_ is damaged: it splits columns that there are not")
        if "estimators_features_" not in fields:
            trees = [t for t in np.ravel(fields.get("estimators_", [])) if hasattr(t, "tree_")]
            if any(t.n_features_in_ != getattr(thing, "n_features_in_", None) for t in trees):
                raise ValueError(f"{where} is damaged: its trees split columns that there are not")
