"""The ``basis`` parameter of an estimator, turned into an unfitted basis object."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from negcorr.bases import (
    Basis,
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    NystroemFeatures,
    OrthogonalFourierFeatures,
    TreeFeatures,
)

__all__ = ["BASES", "make_basis", "takes_device_arrays"]

#: Bases that can be named by a string.
BASES: dict[str, type[Basis]] = {
    "fourier": FourierFeatures,
    "orthogonal": OrthogonalFourierFeatures,
    "nystroem": NystroemFeatures,
    "trees": TreeFeatures,
}


def make_basis(estimator: Any) -> Basis:
    """A new basis from an estimator's ``basis`` and the parameters that concern it.

    Strings make one of :data:`BASES`; our own bases are cloned; a list becomes
    :class:`~negcorr.bases.BlockFeatures`, any other transformer
    :class:`~negcorr.bases.ClonedFeatures`. Seeds that the user left open are drawn from the
    estimator's ``random_state``.
    """
    basis = estimator.basis
    if isinstance(basis, str):
        return _named(estimator, basis)
    if isinstance(basis, BlockFeatures):
        basis = basis.transformers
    if isinstance(basis, Basis):
        seeded: Basis = _seeded(clone(basis), estimator.random_state)
        return seeded
    if isinstance(basis, (list, tuple)):
        _check_members(basis)
        rng = check_random_state(estimator.random_state)
        return BlockFeatures([_seeded_member(member, rng) for member in basis])
    if isinstance(basis, type) or not (hasattr(basis, "fit") and hasattr(basis, "transform")):
        raise TypeError(
            f"basis={basis!r} must be one of {sorted(BASES)}, a transformer, a Basis, or a list of "
            "transformers."
        )
    return ClonedFeatures(
        basis, n_estimators=estimator.n_estimators, random_state=estimator.random_state
    )


def takes_device_arrays(estimator: Any) -> bool:
    """Whether the features are made of arrays of other libraries where they are.

    Known without making the basis, which would draw seeds.
    """
    basis = estimator.basis
    kind = BASES.get(basis) if isinstance(basis, str) else basis
    return bool(getattr(kind, "array_api", False))


def _check_members(members: Any) -> None:
    if len(members) == 0:
        raise ValueError("basis is an empty list; give one transformer for each member.")
    for i, member in enumerate(members):
        transformer = member[1] if isinstance(member, tuple) and len(member) == 2 else member
        if isinstance(transformer, type) or not hasattr(transformer, "transform"):
            raise TypeError(
                f"basis[{i}]={member!r} is not a transformer or a (name, transformer) pair; a list "
                "holds one for each member. Names such as 'fourier' are given alone."
            )


def _named(estimator: Any, name: str) -> Basis:
    if name not in BASES:
        raise ValueError(
            f"basis={name!r} is unknown; allowed are {sorted(BASES)}, a transformer, or a list of "
            "transformers."
        )
    kind = BASES[name]
    wanted = ("n_estimators", "n_components", "gamma", "standardize", "random_state")
    known = kind._get_param_names()
    return kind(**{key: getattr(estimator, key) for key in wanted if key in known})


def _seeded_member(member: Any, rng: np.random.RandomState) -> Any:
    if isinstance(member, tuple) and len(member) == 2 and hasattr(member[1], "get_params"):
        return (member[0], _seeded(clone(member[1]), rng))
    return _seeded(clone(member), rng) if hasattr(member, "get_params") else member


def _seeded(transformer: Any, random_state: Any) -> Any:
    """Give every ``random_state`` inside that is None a seed of its own."""
    rng = check_random_state(random_state)
    parameters = transformer.get_params(deep=True)
    seeds = {
        key: rng.randint(np.iinfo(np.int32).max)
        for key in sorted(parameters)
        if (key == "random_state" or key.endswith("__random_state")) and parameters[key] is None
    }
    return transformer.set_params(**seeds) if seeds else transformer
