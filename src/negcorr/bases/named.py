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
    KernelFeatures,
    LinearFeatures,
    MappedFeatures,
    NestedFeatures,
    NystroemFeatures,
    OrthogonalFourierFeatures,
    TreeFeatures,
)
from negcorr.bases.input_maps import INPUTS
from negcorr.bases.kernel_functions import KERNEL_VALUES
from negcorr.bases.random_subspaces import check_share

__all__ = [
    "BASES",
    "PLAIN_ESTIMATORS",
    "RIDGE",
    "check_choices",
    "is_auto",
    "is_switch",
    "make_basis",
    "named_inputs",
    "plain_estimators",
    "takes_device_arrays",
    "usual_ridge",
]

#: Bases that can be named by a string.
BASES: dict[str, type[Basis]] = {
    "fourier": FourierFeatures,
    "orthogonal": OrthogonalFourierFeatures,
    "nystroem": NystroemFeatures,
    "kernel": KernelFeatures,
    "linear": LinearFeatures,
    "trees": TreeFeatures,
}

#: Ridge inside the blocks of a kernel's own functions where none is given: with it an ensemble is
#: near to kernel ridge regression.
RIDGE = 10.0

#: Members where their number is left open and no budget is shared out.
PLAIN_ESTIMATORS = 100

#: What "auto" means where nothing is searched for.
PLAIN_BASIS, PLAIN_KERNEL, PLAIN_GAMMA, PLAIN_INPUTS = (
    "fourier",
    "gaussian",
    "kwok-tsang",
    "standard",
)


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
        basis, n_estimators=plain_estimators(estimator), random_state=estimator.random_state
    )


def plain_estimators(estimator: Any) -> Any:
    """The number of members as given, or the usual one."""
    given = estimator.n_estimators
    return PLAIN_ESTIMATORS if is_auto(given) else given


def takes_device_arrays(estimator: Any) -> bool:
    """Whether the features are made of arrays of other libraries where they are.

    Known without making the basis, which would draw seeds.
    """
    basis = estimator.basis
    if isinstance(basis, str):
        basis = BASES.get(PLAIN_BASIS if is_auto(basis) else basis)
    kind = basis
    return bool(getattr(kind, "array_api", False))


def usual_ridge(basis: Any) -> float:
    """The ridge inside the blocks of a basis where nothing else is said."""
    if isinstance(basis, MappedFeatures):
        return usual_ridge(basis.basis)
    if isinstance(basis, NestedFeatures):
        return max((usual_ridge(each) for each in basis.bases), default=0.0)
    kernel = isinstance(basis, KernelFeatures) or (isinstance(basis, str) and basis == "kernel")
    return RIDGE if kernel else 0.0


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


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the data."""
    return isinstance(value, str) and value == "auto"


def is_switch(value: Any) -> bool:
    """Whether a parameter is True or False, NumPy's among them."""
    return isinstance(value, (bool, np.bool_))


def named_inputs(estimator: Any) -> str:
    """The ``inputs`` of an estimator, of which ``standardize=False`` makes "none"."""
    standardize, inputs = estimator.standardize, estimator.inputs
    if not is_switch(standardize):
        raise TypeError(f"standardize={standardize!r} must be True or False.")
    if standardize:
        return str(inputs)
    if inputs not in ("auto", "none"):
        raise ValueError(f"standardize=False leaves X as it is, and inputs={inputs!r} does not.")
    return "none"


def check_choices(estimator: Any) -> None:
    """Raise where a parameter that names one of several is none of them."""
    allowed = {
        "kernel": ("auto", *sorted(KERNEL_VALUES)),
        "inputs": ("auto", *INPUTS),
    }
    for name, names in allowed.items():
        value = getattr(estimator, name)
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"{name}={value!r} is unknown; allowed are {list(names)}.")
    relevance = estimator.relevance
    if relevance is None or (isinstance(relevance, str) and not is_auto(relevance)):
        raise ValueError(
            f"relevance={relevance!r} is unknown; allowed are 'auto', True, False, and "
            "a number for each column of X."
        )
    _check_subspace(estimator)
    if isinstance(estimator.alpha, str) and not is_auto(estimator.alpha):
        raise ValueError(f"alpha={estimator.alpha!r} must be 'auto' or a number of at least 0.")


def _check_subspace(estimator: Any) -> None:
    share, basis = estimator.subspace, estimator.basis
    if is_auto(share):
        return
    check_share(share, "gaussian" if is_auto(estimator.kernel) else estimator.kernel)
    kind = BASES.get(basis) if isinstance(basis, str) else None
    if share != 1 and kind is not None and "subspace" not in kind._get_param_names():
        raise ValueError(
            f"subspace={share!r} is not known to basis={basis!r}; allowed are 1, 'auto', and the "
            "bases 'kernel', 'fourier' and 'nystroem'."
        )


def _named(estimator: Any, name: str) -> Basis:
    """A basis by its name, with plain values for what is left to the data."""
    if name != "auto" and name not in BASES:
        raise ValueError(
            f"basis={name!r} is unknown; allowed are {sorted(BASES)}, a transformer, or a list of "
            "transformers."
        )
    kind = BASES[PLAIN_BASIS if is_auto(name) else name]
    values = {key: getattr(estimator, key) for key in ("n_components", "random_state")}
    values["n_estimators"] = plain_estimators(estimator)
    values["kernel"] = PLAIN_KERNEL if is_auto(estimator.kernel) else estimator.kernel
    values["gamma"] = PLAIN_GAMMA if is_auto(estimator.gamma) else estimator.gamma
    values["subspace"] = 1.0 if is_auto(estimator.subspace) else estimator.subspace
    known = kind._get_param_names()
    if "kernel" not in known and "gamma" in known and values["kernel"] != PLAIN_KERNEL:
        raise ValueError(f"kernel={values['kernel']!r} is not known to basis={name!r}.")
    basis = kind(**{key: value for key, value in values.items() if key in known})
    return _on_columns(basis, estimator)


def _on_columns(basis: Basis, estimator: Any) -> Basis:
    """The basis with what is done to columns before it."""
    inputs, relevance = named_inputs(estimator), estimator.relevance
    inputs = PLAIN_INPUTS if is_auto(inputs) else inputs
    if is_switch(relevance) and relevance:
        raise ValueError(
            "relevance=True is learnt in a search: set basis='auto' or gamma='auto' too, or give "
            "a number for each column."
        )
    if is_auto(relevance) or is_switch(relevance):
        relevance = None
    if relevance is None and inputs in ("standard", "none"):
        # Folded into the frequencies, and nothing becomes dense.
        if "standardize" in basis._get_param_names():
            return basis.set_params(standardize=inputs == "standard")
        return basis
    return MappedFeatures(basis, inputs=inputs, relevance=relevance)


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
