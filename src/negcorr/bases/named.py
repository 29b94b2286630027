"""The parameter ``basis`` of an estimator as an unfitted basis: strings, transformers, lists."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from negcorr.bases import (
    AutoBasis,
    Basis,
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    KernelFeatures,
    LinearFeatures,
    NestedFeatures,
    NystroemFeatures,
    TreeFeatures,
)

__all__ = [
    "BASES",
    "as_basis",
    "basis_name",
    "named_basis",
    "takes_device_arrays",
    "takes_tables",
]

#: Strings that stand for a basis with its defaults, "auto" for :class:`AutoBasis` aside.
BASES: dict[str, type[Basis]] = {
    "fourier": FourierFeatures,
    "orthogonal": FourierFeatures,
    "nystroem": NystroemFeatures,
    "kernel": KernelFeatures,
    "linear": LinearFeatures,
    "trees": TreeFeatures,
}


def named_basis(name: str, **parameters: Any) -> Basis:
    """The basis with the given name; it receives those of the parameters that it has.

    Examples
    --------
    >>> from negcorr.bases.named import named_basis
    >>> named_basis("orthogonal", n_members=5, gamma=0.1)
    FourierFeatures(gamma=0.1, n_members=5, orthogonal=True)
    """
    kind = BASES[name]
    known = kind._get_param_names()
    given = {key: value for key, value in parameters.items() if key in known}
    return kind(**given, **({"orthogonal": True} if name == "orthogonal" else {}))


def as_basis(basis: Any, random_state: Any) -> Basis | AutoBasis:
    """A new basis from the parameter ``basis`` of an estimator.

    Strings are short for a basis with its defaults; bases are cloned; a list becomes
    :class:`~negcorr.bases.BlockFeatures`, any other transformer
    :class:`~negcorr.bases.ClonedFeatures`.

    Parameters
    ----------
    basis : str, Basis, AutoBasis, transformer or list
        As the user gave it.
    random_state : int, RandomState or None
        Takes the place of a basis' own ``random_state`` that is None; seeds of what a basis is made
        of are drawn from it.
    """
    if isinstance(basis, str):
        if basis == "auto":
            return AutoBasis()
        if basis not in BASES:
            raise ValueError(
                f"basis={basis!r} is unknown; allowed are {['auto', *sorted(BASES)]}, a Basis, an "
                "AutoBasis, a transformer, or a list of transformers."
            )
        return named_basis(basis, random_state=random_state)
    if isinstance(basis, AutoBasis):
        return clone(basis)
    if isinstance(basis, (list, tuple)):
        _check_members(basis)
        basis = BlockFeatures(list(basis))
    elif not isinstance(basis, Basis):
        if isinstance(basis, type) or not (hasattr(basis, "fit") and hasattr(basis, "transform")):
            raise TypeError(
                f"basis={basis!r} must be one of {['auto', *sorted(BASES)]}, a Basis, an "
                "AutoBasis, a transformer, or a list of transformers."
            )
        basis = ClonedFeatures(basis)
    return basis.with_seed(random_state)


def takes_device_arrays(basis: Any) -> bool:
    """Whether features are made of arrays of other libraries than NumPy, on their device.

    Known without making the basis, which would draw seeds.
    """
    if isinstance(basis, str):
        return basis == "auto" or bool(getattr(BASES.get(basis), "array_api", False))
    return isinstance(basis, AutoBasis) or bool(getattr(basis, "array_api", False))


def takes_tables(basis: Any) -> bool:
    """Whether X is for a user's transformers to check, data frames and missing values too."""
    if isinstance(basis, (ClonedFeatures, BlockFeatures)):
        return basis.inputs == "none" and basis.relevance is None
    return not isinstance(basis, (str, Basis, AutoBasis))


def basis_name(basis: Basis) -> str:
    """A short name of a basis.

    Examples
    --------
    >>> from negcorr.bases import FourierFeatures
    >>> from negcorr.bases.named import basis_name
    >>> basis_name(FourierFeatures(orthogonal=True))
    'orthogonal'
    """
    if isinstance(basis, NestedFeatures):
        return "nested ensembles"
    if isinstance(basis, BlockFeatures):
        return f"list of {len(basis.transformers)} transformers"
    if isinstance(basis, FourierFeatures) and basis.orthogonal:
        return "orthogonal"
    kind = type(basis)
    return next((name for name, named in BASES.items() if named is kind), kind.__name__)


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
