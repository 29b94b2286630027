"""Checks of the fields of objects that a file gave: their names, types and numbers, and indices.

skops builds an object without its constructor, so nothing else has looked at its fields. Types are
those that the classes declare. Numbers are finite, but for a few that a fit may leave without a
value. Trees and sparse matrices are sound: compiled code follows their indices without a check.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from functools import cache
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

from negcorr._common.arrays import is_ours

__all__ = ["check_fields", "check_sound", "check_values", "has_fields"]

#: Fields whose numbers need not be finite, by the names of their classes: criteria without a noise
#: variance, candidates that failed, and columns without a value.
MAY_LACK = {
    "NCLPath": {"all_values", "given_noise"},
    "PathSettings": {"noise_variance"},
    "CurveTable": {"values"},
    "Choice": {"validated"},
    "Trial": {"by_part", "losses", "error", "strength"},
    "HuberTargets": {"scale"},
    "NumberPart": {"low", "high"},
    "InputCells": {"smallest", "medians"},
    "Rows": {"X"},
}

#: What counts as a number of each kind.
NUMBERS: dict[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
}


def has_fields(thing: Any) -> bool:
    """Whether something is of this package or an estimator, whose fields are looked at."""
    return is_ours(thing) or (isinstance(thing, BaseEstimator) and not isinstance(thing, type))


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


def check_values(thing: Any, where: str) -> None:
    """Refuse fields of ours that are not of their declared type, or not finite."""
    kind: Any = type(thing)
    if kind.__module__.partition(".")[0] != "negcorr":
        return
    estimator = isinstance(thing, BaseEstimator)
    hints, exempt = _hints(kind), MAY_LACK.get(kind.__name__, set())
    for name, value in vars(thing).items():
        if estimator and not name.endswith("_") and not name.startswith("_"):
            continue  # a parameter: the next fit looks at it
        if not _fits(value, hints.get(name, Any)):
            shown = f"a {type(value).__name__}"
            if isinstance(value, np.ndarray):
                shown = f"an array of {value.dtype}"
            raise ValueError(f"{where}.{name} is {shown}, not of the kind that belongs there")
        if name not in exempt and not _finite(value):
            raise ValueError(f"{where}.{name} is not finite")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Declared types of fields of ours."""
    ours = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == "negcorr"]
    names = {name for base in ours for name in vars(base).get("__annotations__", ())}
    return {name: hint for name, hint in typing.get_type_hints(kind).items() if name in names}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type, items of tuples and lists included."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(origin, "__value__"):  # a type statement, as NDArray is from NumPy 2.5 on
        return _fits(value, origin.__value__[inner])
    if hint is Any or origin is typing.ClassVar:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return type(value) is str and value in inner
    if origin is tuple and inner[-1] is not Ellipsis:
        pairs = zip(value, inner, strict=True) if type(value) is tuple else ()
        return type(value) is tuple and len(value) == len(inner) and all(_fits(*p) for p in pairs)
    if origin in (tuple, list):
        return type(value) is origin and all(_fits(each, inner[0]) for each in value)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _is_of(value.dtype, typing.get_args(inner[1])[0])
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint in NUMBERS:
        return isinstance(value, NUMBERS[hint]) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _is_of(dtype: Any, wanted: Any) -> bool:
    """Whether an array's type is the declared one, or of less precision."""
    if wanted is Any:
        return True
    if wanted is np.float64:
        return dtype in (np.float64, np.float32)
    return bool(dtype == np.dtype(wanted))


def _finite(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_finite(each) for each in value)
    if isinstance(value, np.ndarray | np.generic | float) and np.asarray(value).dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return not sp.issparse(value) or bool(np.isfinite(value.data).all())


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
