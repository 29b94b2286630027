"""Checks of single objects on their way into a file of a model and out of it.

An object that goes in must be one that can be found or made again. An object that comes out is
checked before anybody uses it: it must have every field, and trees and sparse matrices, whose
indices compiled code follows without a check, must be sound.
"""

from __future__ import annotations

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
from negcorr.storage.stored_types import deep_kind

__all__ = ["check_fields", "check_sound", "check_storable", "has_fields"]


def has_fields(thing: Any) -> bool:
    """Whether something is of this package or an estimator, whose fields are looked at."""
    if isinstance(thing, BaseEstimator) and not isinstance(thing, type):
        return True
    return is_ours(thing)


def check_storable(thing: Any, where: str) -> None:
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


def check_fields(thing: Any, where: str) -> None:
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


def check_sound(thing: Any, where: str) -> None:
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
    elif has_fields(thing):
        fields = vars(thing)
        tree = fields.get("tree_")
        if isinstance(tree, Tree) and tree.n_features != getattr(thing, "n_features_in_", None):
            raise ValueError(f"{where}.tree_ is damaged: it splits columns that there are not")
        if "estimators_features_" not in fields:
            trees = [t for t in np.ravel(fields.get("estimators_", [])) if hasattr(t, "tree_")]
            if any(t.n_features_in_ != getattr(thing, "n_features_in_", None) for t in trees):
                raise ValueError(f"{where} is damaged: its trees split columns that there are not")
