"""Common random numbers: the same seeds for fits whose difference is measured.

A forest grown twice with different seeds gives different fitted values for the same targets.
Divided by a small step that difference would swamp the response to y, so all fits of a
probe start from the same seeds.
"""

from __future__ import annotations

import copy
import numbers
from typing import Any

import numpy as np
from sklearn.base import clone

from negcorr.ensemble.regressor import NCLRegressor
from negcorr.rows.folds import ContentKFold

__all__ = ["free_seeds", "seeded"]

LARGEST_SEED = 2**31 - 1

#: Parameters of searches that can hold estimators out of reach of ``get_params``.
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
    names = [name for name, value in _parameters(estimator) if _is_free(name, value)]
    for name, value in _parameters(estimator):
        if name.rpartition("__")[2] in GRIDS:
            names += [f"{name}: {inner}" for inner in _free_inside(value)]
    return names


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
        its hash of (x, y) would deal all rows anew at the smallest change of y.
    """
    copied = clone(estimator)
    parameters = _parameters(copied)
    changes: dict[str, Any] = {}
    names = [name for name, value in parameters if _is_free(name, value)]
    values = np.random.default_rng(seed).integers(0, LARGEST_SEED, size=len(names))
    fresh = dict(zip(names, (int(value) for value in values), strict=True))
    for name, value in parameters:
        if name in fresh and _is_seed(name):
            changes[name] = fresh[name]
        elif name in fresh:
            changes[name] = copy.copy(value)
            changes[name].random_state = fresh[name]
        elif name.rpartition("__")[2] in GRIDS:
            changes[name] = _seeded_inside(value, seed)
        elif _deals_by_content(copied, name, value):
            # None means five folds by content there.
            n_splits = getattr(value, "n_splits", 5 if value is None else value)
            changes[name] = ContentKFold(n_splits, getattr(value, "seed", 0), inputs_only=True)
    return copied.set_params(**changes)


def _free_inside(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [name for inner in value for name in _free_inside(inner)]
    is_estimator = hasattr(value, "get_params") and not isinstance(value, type)
    return free_seeds(value) if is_estimator else []


def _seeded_inside(value: Any, seed: int) -> Any:
    """The same lists and dicts, with seeds for the estimators in them."""
    if isinstance(value, dict):
        return {key: _seeded_inside(inner, seed) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_seeded_inside(inner, seed) for inner in value)
    is_estimator = hasattr(value, "get_params") and hasattr(value, "fit")
    return seeded(value, seed) if is_estimator and not isinstance(value, type) else value


def _parameters(estimator: Any) -> list[tuple[str, Any]]:
    return sorted(estimator.get_params(deep=True).items())


def _is_seed(name: str) -> bool:
    return name.rpartition("__")[2] == "random_state"


def _is_free(name: str, value: Any) -> bool:
    if _is_seed(name):
        return value is None
    # A splitter is no estimator, so get_params does not look inside.
    inner = getattr(value, "random_state", 0)
    return inner is None and not hasattr(value, "get_params")


def _deals_by_content(estimator: Any, name: str, value: Any) -> bool:
    if isinstance(value, ContentKFold):
        return True
    owner, _, last = name.rpartition("__")
    holder = estimator.get_params(deep=True)[owner] if owner else estimator
    is_count = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return last == "cv" and (is_count or value is None) and isinstance(holder, NCLRegressor)
