"""Models in the form in which a file holds them, and back.

A file holds no data frames and no values that can be made again: frames become columns, caches are
left out. What comes back from a file is checked before anybody uses it: every field must be there,
and trees and sparse matrices, through which compiled code steps without looking, must be sound.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import sys
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

from negcorr._common.arrays import is_device_array
from negcorr.ensemble.fitted import LazyAttributes
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.path.path import NCLPath
from negcorr.storage.stored_types import StoredDeep, StoredFrame, StoredSpline, deep_kind

__all__ = ["KEPT", "from_file_form", "to_file_form"]

#: How much of a fitted NCLRegressor a file can hold.
KEPT = ("all", "path", "predictions")


def to_file_form(model: Any, keep: str = "all") -> Any:
    """A copy of a model in which everything can be written; arrays are shared with it.

    Parameters
    ----------
    model : estimator
        Left as it is.
    keep : {"all", "path", "predictions"}, default="all"
        As in :func:`negcorr.save`.

    Raises
    ------
    TypeError, ValueError
        Where it holds what a file cannot: arrays on a device, networks, nameless functions.
    """
    return _packed(model, "model", {}, keep)


def _packed(thing: Any, where: str, known: dict[int, tuple[Any, Any]], keep: str) -> Any:
    if id(thing) in known:
        return known[id(thing)][1]
    _refuse(thing, where)
    found: Any = thing
    if _is_frame(thing):
        found = StoredFrame.of(thing)
    elif type(thing) is BSpline:
        found = StoredSpline.of(thing)
    elif deep_kind(thing) is not None:
        found = StoredDeep.of(thing)
        vars(found)["path"] = _packed(found.path, f"{where}.path_", known, keep)
    elif type(thing) in (list, tuple):
        parts = [_packed(p, f"{where}[{i}]", known, keep) for i, p in enumerate(thing)]
        found = type(thing)(parts)
    elif type(thing) is dict:
        found = {name: _packed(p, f"{where}[{name!r}]", known, keep) for name, p in thing.items()}
    elif _has_parts(thing):
        found = copy.copy(_reduced(thing, keep))
        known[id(thing)] = thing, found
        fields = vars(found)
        for name in _caches(found):
            fields.pop(name, None)
        for name, part in list(fields.items()):
            fields[name] = _packed(part, f"{where}.{name}", known, keep)
    known[id(thing)] = thing, found
    return found


def _reduced(thing: Any, keep: str) -> Any:
    """A fitted ensemble without what is not to be kept; anything else as it is."""
    if keep == "all" or not isinstance(thing, NCLRegressor) or not thing.__sklearn_is_fitted__():
        return thing
    if keep == "predictions":
        return thing.compact()
    return thing.without_folds() if hasattr(thing, "path_") else thing


def _refuse(thing: Any, where: str) -> None:
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
        home = sys.modules.get(thing.__module__)
        if getattr(home, thing.__name__, None) is not thing:
            raise TypeError(
                f"{where} is the function {thing.__qualname__!r}, which cannot be found again by "
                "its name; define it at the top of a module."
            )


def from_file_form(model: Any) -> Any:
    """The model from what a file gave, changed in place.

    Raises
    ------
    ValueError
        Where fields are missing or unknown, or contents are not sound.
    """
    return _unpacked(model, "model", {})


def _unpacked(thing: Any, where: str, known: dict[int, tuple[Any, Any]]) -> Any:
    if id(thing) in known:
        return known[id(thing)][1]
    known[id(thing)] = thing, thing
    found: Any = thing
    if isinstance(thing, StoredFrame):
        _check_fields(thing, where)
        found = thing.frame()
    elif isinstance(thing, StoredSpline):
        _check_fields(thing, where)
        found = thing.spline()
    elif isinstance(thing, StoredDeep):
        _check_fields(thing, where)
        vars(thing)["path"] = _unpacked_path(thing.path, where, known)
        found = thing.model()
    elif type(thing) is tuple:
        found = tuple(_unpacked(p, f"{where}[{i}]", known) for i, p in enumerate(thing))
    elif type(thing) is list or isinstance(thing, dict):
        items = thing.items() if isinstance(thing, dict) else enumerate(thing)
        for name, part in list(items):
            thing[name] = _unpacked(part, f"{where}[{name!r}]", known)
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        for part in thing.ravel():
            _unpacked(part, where, known)
    elif _has_parts(thing):
        _check_fields(thing, where)
        for name, part in list(vars(thing).items()):
            vars(thing)[name] = _unpacked(part, f"{where}.{name}", known)
    _check_sound(thing, where)
    known[id(thing)] = thing, found
    return found


def _unpacked_path(path: Any, where: str, known: dict[int, tuple[Any, Any]]) -> NCLPath | None:
    """The path of refitted heads, and nothing else under its name."""
    found = _unpacked(path, f"{where}.path_", known)
    if not isinstance(found, NCLPath | None):
        raise ValueError(f"{where}.path_ is a {type(found).__name__}, not an NCLPath")
    return found


def _has_parts(thing: Any) -> bool:
    """Whether something is of this package or an estimator, whose fields are looked at."""
    if isinstance(thing, type) or not hasattr(thing, "__dict__"):
        return False
    if isinstance(thing, BaseEstimator):
        return True
    return any(kind.__module__.partition(".")[0] == "negcorr" for kind in type(thing).__mro__)


def _is_frame(thing: Any) -> bool:
    library = type(thing).__module__.partition(".")[0]
    return library in ("pandas", "polars") and type(thing).__name__ == "DataFrame"


def _caches(thing: Any) -> set[str]:
    """Names of values that an object makes at first use and could make again."""
    static = {name: inspect.getattr_static(type(thing), name, None) for name in vars(thing)}
    return {name for name, found in static.items() if isinstance(found, cached_property)}


def _check_fields(thing: Any, where: str) -> None:
    """Fill in what older versions did not have; refuse what other versions of it have written."""
    kind = type(thing)
    if kind.__module__.partition(".")[0] != "negcorr":
        return
    for name, default in _defaults(kind).items():
        vars(thing).setdefault(name, default)
    have = set(vars(thing))
    wanted: set[str] = set()
    allowed = have
    if dataclasses.is_dataclass(kind):
        fields = dataclasses.fields(kind)
        wanted, allowed = {f.name for f in fields if f.init}, {f.name for f in fields}
    elif isinstance(thing, BaseEstimator):
        wanted = set(kind._get_param_names())
    elif isinstance(thing, LazyAttributes):
        wanted = {"stream", "settings", "_known"}
    elif hasattr(kind, "__init__"):
        wanted = set(inspect.signature(kind).parameters)
    for what, names in (("lacks", wanted - have), ("has the unknown", have - allowed)):
        if names:
            raise ValueError(f"{where}, a {kind.__name__}, {what} field(s) {sorted(names)}")


def _defaults(kind: type) -> dict[str, Any]:
    """Fields and parameters of a class that it can do without: later versions bring new ones."""
    if not dataclasses.is_dataclass(kind):
        if not issubclass(kind, BaseEstimator):
            return {}
        found = inspect.signature(kind).parameters.items()
        return {name: p.default for name, p in found if p.default is not p.empty}
    made = {}
    for field in dataclasses.fields(kind):
        if field.default is not dataclasses.MISSING:
            made[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            made[field.name] = field.default_factory()
    return made


def _check_sound(thing: Any, where: str) -> None:
    """Refuse indices that point outside, before compiled code follows them."""
    if sp.issparse(thing):
        thing.check_format(full_check=True)
    elif isinstance(thing, Tree):
        _check_tree(thing, where)
    elif isinstance(tree := vars(thing).get("tree_") if _has_parts(thing) else None, Tree):
        if tree.n_features != getattr(thing, "n_features_in_", None):
            raise ValueError(f"{where}.tree_ is damaged: it splits columns that there are not")
    elif _has_parts(thing) and "estimators_features_" not in vars(thing):
        trees = [t for t in np.ravel(vars(thing).get("estimators_", [])) if hasattr(t, "tree_")]
        if any(t.n_features_in_ != getattr(thing, "n_features_in_", None) for t in trees):
            raise ValueError(f"{where} is damaged: its trees split columns that there are not")


def _check_tree(tree: Any, where: str) -> None:
    count = tree.node_count
    node = np.arange(count)
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    # Children come after their parents in every tree that was grown: so there are no circles.
    fine = all(
        ((side[inner] > node[inner]) & (side[inner] < count)).all() for side in (left, right)
    )
    split = tree.feature[inner]
    if count < 1 or not fine or not ((split >= 0) & (split < tree.n_features)).all():
        raise ValueError(f"{where} is damaged: a node points outside of the tree or its columns")
