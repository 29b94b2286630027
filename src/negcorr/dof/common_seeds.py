"""Common random numbers: the same seeds for fits whose difference is measured.

A forest grown twice with different seeds gives different fitted values for the same targets.
Divided by a small step, this difference would be much larger than the response to y. All fits of
a probe therefore start from the same seeds.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from negcorr._common.validation import is_integer
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.rows.folds import ContentKFold

__all__ = ["free_seeds", "seeded"]

LARGEST_SEED = 2**31 - 1

#: Parameters of searches whose lists and dicts can hold estimators, which ``get_params`` omits.
GRIDS = ("param_grid", "param_distributions")


def free_seeds(estimator: Any) -> list[str]:
    """Names of the nested parameters whose ``random_state`` is unset.

    A ``RandomState`` object counts as set: every clone starts from a copy of it. Splitters
    given as parameters, such as ``KFold(shuffle=True)``, count by their own ``random_state``.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor
    >>> from negcorr.dof.common_seeds import free_seeds
    >>> free_seeds(BaggingRegressor(ExtraTreesRegressor(random_state=0)))
    ['random_state']
    """
    parameters = _parameters(estimator)
    inside = [
        f"{name}: {inner}"
        for name, value in parameters.items()
        if name.rpartition("__")[2] in GRIDS
        for inner in _free_inside(value)
    ]
    return _unset(parameters) + inside


def seeded(estimator: Any, seed: int) -> Any:
    """A clone whose unset random states are set, and whose folds by content ignore y.

    Parameters
    ----------
    estimator : estimator
        Left as it is.
    seed : int
        Every unset ``random_state``, at any depth, gets a number of its own that follows from
        this one.

    Returns
    -------
    estimator
        Integer seeds and ``RandomState`` objects stay. Integer ``cv`` of an
        :class:`~negcorr.NCLRegressor` becomes a :class:`~negcorr.ContentKFold` of x alone:
        the hash of (x, y) would put rows into other folds at the smallest change of y.
    """
    copied = clone(estimator)
    parameters = _parameters(copied)
    unset = _unset(parameters)
    drawn = np.random.default_rng(seed).integers(0, LARGEST_SEED, size=len(unset)).tolist()
    new_seeds = dict(zip(unset, drawn, strict=True))
    changes: dict[str, Any] = {}
    for name, value in parameters.items():
        owner, _, last = name.rpartition("__")
        if name in new_seeds and last == "random_state":
            changes[name] = new_seeds[name]
        elif name in new_seeds:
            changes[name] = copy.copy(value)
            changes[name].random_state = new_seeds[name]
        elif last in GRIDS:
            changes[name] = _seeded_inside(value, seed)
        elif isinstance(value, ContentKFold):
            changes[name] = ContentKFold(value.n_splits, value.seed, inputs_only=True)
        elif (
            last == "cv"
            and isinstance(parameters[owner], NCLRegressor)
            and (value is None or is_integer(value))
        ):
            # None means five folds there.
            changes[name] = ContentKFold(5 if value is None else value, inputs_only=True)
    return copied.set_params(**changes)


def _free_inside(value: Any) -> list[str]:
    """Unset random states of the estimators in lists and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [name for inner in value for name in _free_inside(inner)]
    return free_seeds(value) if _is_estimator(value) else []


def _seeded_inside(value: Any, seed: int) -> Any:
    """The same lists and dicts, with seeds for the estimators in them."""
    if isinstance(value, dict):
        return {key: _seeded_inside(inner, seed) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_seeded_inside(inner, seed) for inner in value)
    return seeded(value, seed) if _is_estimator(value) else value


def _is_estimator(value: Any) -> bool:
    has_methods = hasattr(value, "get_params") and hasattr(value, "fit")
    return has_methods and not isinstance(value, type)


def _parameters(estimator: Any) -> dict[str, Any]:
    """The estimator under the empty name, and its parameters at any depth, sorted by name."""
    return {"": estimator, **dict(sorted(estimator.get_params(deep=True).items()))}


def _unset(parameters: dict[str, Any]) -> list[str]:
    """Names of unset random states, and of splitters with one."""
    # An ensemble gives its own random state to a basis that has none.
    seeded_bases = tuple(
        f"{name}__basis__".removeprefix("__")
        for name, value in parameters.items()
        if isinstance(value, NCLRegressor) and value.random_state is not None
    )
    names = []
    for name, value in parameters.items():
        if name.rpartition("__")[2] == "random_state":
            is_unset = value is None and not name.startswith(seeded_bases)
        else:
            # A splitter is no estimator, so get_params does not look inside.
            is_splitter = not hasattr(value, "get_params")
            is_unset = is_splitter and getattr(value, "random_state", 0) is None
        if is_unset:
            names.append(name)
    return names
