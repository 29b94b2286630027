"""The options of the search for features (:class:`SearchSpace`), and one :class:`Candidate`."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_positive_int
from negcorr.bases import AutoBasis, Basis, KernelFeatures
from negcorr.bases.input_maps import INPUTS
from negcorr.bases.kernel_functions import KERNEL_VALUES, check_share
from negcorr.bases.named import BASES, named_basis

__all__ = ["WITH_KERNEL", "Candidate", "SearchSpace", "candidate_basis", "search_space"]

#: Kernels and the inputs that suit them: what is tried where both are open.
LINES = (
    ("laplacian", "clip"),
    ("laplacian", "rank"),
    ("rbf", "clip"),
    ("rbf", "standard"),
    ("linear", "standard"),
)

#: Bases with a kernel and a bandwidth.
WITH_KERNEL = ("kernel", "nystroem", "fourier", "orthogonal")

#: Columns of a linear member: a few, so that members differ.
LINEAR_COLUMNS = 3

#: Ridges that are tried where alpha="auto".
ALPHAS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class Candidate:
    """One way to make features.

    Attributes
    ----------
    basis : {"kernel", "nystroem", "fourier", "orthogonal", "linear", "trees"}
    kernel : {"rbf", "laplacian", "cauchy", "linear"} or None
        For the first four, "linear" for the first alone.
    multiple : float
        Bandwidth γ over that of Kwok and Tsang.
    inputs : {"standard", "clip", "rank", "none"}
        What is done to columns (:mod:`negcorr.bases.input_maps`).
    relevant : bool
        Whether columns are multiplied by learnt relevances (:mod:`negcorr.selection.relevance`).
    alpha : float
        Ridge inside the blocks.
    columns : int or None
        Columns of each linear member, where they were given.
    subspace : float
        Share of the columns that a member sees.
    """

    basis: str
    kernel: str | None = None
    multiple: float = 1.0
    inputs: str = "standard"
    relevant: bool = False
    alpha: float = 0.0
    columns: int | None = None
    subspace: float = 1.0

    def __str__(self) -> str:
        parts = [self.basis if self.kernel is None else f"{self.basis} {self.kernel}"]
        if self.kernel not in (None, "linear"):
            parts.append(f"gamma x{self.multiple:.2g}")
        parts.append(f"inputs {self.inputs}")
        parts += ["by relevance"] * self.relevant
        parts += [f"subspaces of {self.subspace:.3g}"] * (self.subspace < 1.0)
        parts += [f"alpha {self.alpha:.2g}"] * (self.alpha > 0 and self.basis != "kernel")
        return ", ".join(parts)

    @property
    def metric(self) -> str:
        """The kernel with whose distance relevance is learnt."""
        return "laplacian" if self.kernel == "laplacian" else "rbf"


def candidate_basis(
    candidate: Candidate,
    gamma: float,
    n_members: int,
    n_components: int,
    n_columns: int,
    random_state: Any,
    *,
    inputs: str,
    relevance: FloatArray | None = None,
) -> Basis:
    """The unfitted basis of a candidate.

    Parameters
    ----------
    candidate : Candidate
    gamma : float
        Bandwidth.
    n_members, n_components : int
        M and H; linear members have few of the ``n_columns`` columns, unless they were given.
    n_columns : int
        d.
    random_state : int, RandomState or None
    inputs : str
        "none" for columns that have been mapped already.
    relevance : ndarray of shape (d,), optional
    """
    if candidate.basis == "linear":
        few = max(1, min(LINEAR_COLUMNS, n_columns - 1, n_components))
        n_components = few if candidate.columns is None else min(candidate.columns, n_columns)
    return named_basis(
        candidate.basis,
        n_members=n_members,
        n_components=n_components,
        kernel=candidate.kernel or "rbf",
        gamma=gamma,
        inputs=inputs,
        relevance=relevance,
        subspace=candidate.subspace,
        random_state=random_state,
    )


@dataclass(frozen=True)
class SearchSpace:
    """What may be chosen; a single value leaves no choice.

    Attributes
    ----------
    bases, kernels, inputs : tuple of str
        Allowed names, the most promising first.
    gamma : float, "kwok-tsang" or None
        A given bandwidth; None searches for it.
    relevance : tuple of bool
        Whether relevance of columns is learnt.
    given_relevance : ndarray of shape (d,) or None
        Relevance of columns that was given.
    subspace : float or None
        Share of the columns that a member sees; None halves it as long as the error falls.
    alphas : tuple of float
        Ridges; the first is taken unless another is better.
    n_components : int
        Features per member.
    n_members : int or None
        Members that were asked for.
    max_members : int
        Largest number of candidates that are combined.
    budget : int
        Most features in all.
    """

    bases: tuple[str, ...] = ("kernel", "fourier", "orthogonal", "trees")
    kernels: tuple[str, ...] = ("laplacian", "rbf", "linear")
    inputs: tuple[str, ...] = ("clip", "standard", "rank")
    gamma: float | str | None = None
    relevance: tuple[bool, ...] = (False, True)
    given_relevance: FloatArray | None = None
    subspace: float | None = None
    alphas: tuple[float, ...] = (0.0,)
    n_components: int = 10
    n_members: int | None = None
    max_members: int = 6
    budget: int = 2000

    @property
    def several(self) -> bool:
        """Whether several candidates may be combined; combined candidates are always kernels."""
        return self.max_members > 1 and "kernel" in self.bases

    def lines(self, basis: str) -> list[Candidate]:
        """Candidates of a basis with a kernel, each at the bandwidth of the heuristic."""
        kernels = ("rbf",) if basis == "orthogonal" else self.kernels
        share = 1.0 if self.subspace is None else self.subspace
        if len(kernels) > 1 and (basis != "kernel" or share < 1.0):
            kernels = tuple(name for name in kernels if name != "linear")
        pairs = [(kernel, kind) for kernel in kernels for kind in self.inputs]
        if len(self.inputs) > 1:
            # A kernel that none of these inputs is known to suit is tried with all of them.
            known = [pair for pair in LINES if pair in pairs]
            pairs = known + [p for p in pairs if p[0] not in dict(known)]
        relevant, alpha = self.relevance == (True,), self.alphas[0]
        return [
            Candidate(basis, kernel, 1.0, kind, relevant, alpha, subspace=share)
            for kernel, kind in pairs
        ]

    def suited_to(self, X: Table) -> SearchSpace:
        """The space without open options that are impossible for these rows."""
        sparse, without = sp.issparse(X), set()
        if X.shape[1] == 1 or sparse:
            without.add("linear")  # of one column all members would be the same
        left = tuple(name for name in self.bases if name not in without)
        space = replace(self, bases=left or self.bases)
        if not sparse:
            return space
        if space.relevance == (True,):
            raise ValueError(
                "relevance=True is not learnt from sparse X; allowed are 'auto', False, and a "
                "number for each column of X."
            )
        affine = tuple(kind for kind in space.inputs if kind in ("standard", "none"))
        share = 1.0 if space.subspace is None else space.subspace
        # If a given kind is not possible, fitting it raises the error.
        return replace(space, inputs=affine or space.inputs, relevance=(False,), subspace=share)

    def plain_basis(self, random_state: Any) -> Basis:
        """The basis that is used if there are too few rows for a search."""
        first = {"bases": "fourier", "kernels": "rbf", "inputs": "standard"}
        name, kernel, inputs = (
            usual if usual in getattr(self, field) else getattr(self, field)[0]
            for field, usual in first.items()
        )
        return named_basis(
            name,
            n_members=self.n_members or 100,
            n_components=self.n_components,
            kernel="rbf" if kernel == "linear" and name != "kernel" else kernel,
            gamma=self.gamma or "kwok-tsang",
            inputs=inputs,
            relevance=self.given_relevance,
            subspace=1.0 if self.subspace is None else self.subspace,
            random_state=random_state,
        )


def search_space(basis: AutoBasis, alpha: Any) -> SearchSpace:
    """The space that an :class:`~negcorr.bases.AutoBasis` describes, checked.

    Parameters
    ----------
    basis : AutoBasis
    alpha : float, "auto" or None
        The ridge inside the blocks; None means the usual one of the bases.

    Examples
    --------
    >>> from negcorr.bases import AutoBasis
    >>> from negcorr.selection.space import search_space
    >>> [str(line) for line in search_space(AutoBasis(kernels="rbf"), None).lines("kernel")]
    ['kernel rbf, gamma x1, inputs clip', 'kernel rbf, gamma x1, inputs standard']
    """
    bases = _names("bases", basis.bases, tuple(BASES))
    kernels = _names("kernels", basis.kernels, tuple(KERNEL_VALUES))
    inputs = _names("inputs", basis.inputs, INPUTS)
    if bases == ("orthogonal",) and "rbf" not in kernels:
        raise ValueError(f"kernels={basis.kernels!r} has no 'rbf', which 'orthogonal' needs.")
    for name in ("n_components", "max_members", "budget"):
        check_positive_int(name, getattr(basis, name))
    if not _is_auto(basis.n_members):
        if isinstance(basis.n_members, str):
            raise ValueError(
                f"n_members={basis.n_members!r} must be 'auto' or an integer of at least 1."
            )
        check_positive_int("n_members", basis.n_members)
    share = None if _is_auto(basis.subspace) else check_share(basis.subspace, kernels[0])
    if share not in (None, 1.0) and not {"kernel", "fourier", "nystroem"} & set(bases):
        raise ValueError(
            f"subspace={basis.subspace!r} is not known to bases={basis.bases!r}; allowed are 1, "
            "'auto', and the bases 'kernel', 'fourier' and 'nystroem'."
        )
    given = None
    relevance: tuple[bool, ...] = (False, True)
    if isinstance(basis.relevance, (bool, np.bool_)):
        relevance = (bool(basis.relevance),)
    elif not _is_auto(basis.relevance):
        if basis.relevance is None or isinstance(basis.relevance, str):
            raise ValueError(
                f"relevance={basis.relevance!r} is unknown; allowed are 'auto', True, False, and "
                "a number for each column of X."
            )
        relevance, given = (False,), basis.relevance
    return SearchSpace(
        bases=bases,
        kernels=kernels,
        inputs=inputs,
        gamma=_given_gamma(basis.gamma),
        relevance=relevance,
        given_relevance=given,
        subspace=share,
        alphas=_ridges(alpha, KernelFeatures.usual_ridge if "kernel" in bases else 0.0),
        n_components=int(basis.n_components),
        n_members=None if _is_auto(basis.n_members) else int(basis.n_members),
        max_members=int(basis.max_members),
        budget=int(basis.budget),
    )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _names(name: str, given: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """One name or several, each of them allowed."""
    names = (given,) if isinstance(given, str) else tuple(given) if np.iterable(given) else ()
    unknown = [each for each in names if each not in allowed]
    if unknown or not names:
        raise ValueError(
            f"{name}={given!r} is unknown; allowed are {list(allowed)}, one or several of them."
        )
    return tuple(dict.fromkeys(names))


def _given_gamma(gamma: Any) -> float | str | None:
    if isinstance(gamma, str) and gamma in ("auto", "kwok-tsang"):
        return None if gamma == "auto" else gamma
    number = isinstance(gamma, numbers.Real) and not isinstance(gamma, (bool, np.bool_))
    if not number or not 0.0 < float(gamma) < np.inf:
        raise ValueError(
            f"gamma={gamma!r} is unknown; allowed are 'auto', 'kwok-tsang' and finite numbers > 0."
        )
    return float(gamma)


def _ridges(alpha: Any, usual: float) -> tuple[float, ...]:
    if _is_auto(alpha):
        return (usual, *(each for each in ALPHAS if each != usual))
    number = isinstance(alpha, numbers.Real) and not isinstance(alpha, (bool, np.bool_))
    if alpha is not None and not number:
        raise ValueError(f"alpha={alpha!r} must be None, 'auto' or a finite number of at least 0.")
    return (usual if alpha is None else float(alpha),)
