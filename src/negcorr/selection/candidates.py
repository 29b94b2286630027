"""Candidates for the features of an ensemble: what each of them is, and its basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from negcorr.bases import Basis
from negcorr.bases.named import BASES

__all__ = ["Candidate", "bare_basis", "linear_width"]

#: Columns of a linear member: a few, so that members differ.
LINEAR_COLUMNS = 3


@dataclass(frozen=True)
class Candidate:
    """One way to make features.

    Attributes
    ----------
    basis : {"kernel", "nystroem", "fourier", "orthogonal", "linear", "trees"}
    kernel : {"gaussian", "laplace", "cauchy", "linear"} or None
        For the first four, "linear" for the first alone.
    multiple : float
        Bandwidth γ over that of Kwok and Tsang.
    inputs : {"standard", "clip", "rank", "none"}
        What is done to columns (:mod:`negcorr.bases.input_maps`).
    relevant : bool
        Whether columns count by their relevance (:mod:`negcorr.selection.relevance`).
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


def bare_basis(
    candidate: Candidate,
    gamma: float,
    n_estimators: int,
    n_components: int,
    n_columns: int,
    random_state: Any,
) -> Basis:
    """The basis of a candidate, for columns that are mapped already."""
    linear, kind = candidate.basis == "linear", BASES[candidate.basis]
    values = {
        "n_estimators": n_estimators,
        "n_components": linear_width(candidate, n_columns, n_components)
        if linear
        else n_components,
        "kernel": candidate.kernel or "gaussian",
        "gamma": gamma,
        "random_state": random_state,
        "subspace": candidate.subspace,
    }
    known = kind._get_param_names()
    return kind(**{name: value for name, value in values.items() if name in known})


def linear_width(candidate: Candidate, n_columns: int, n_components: int) -> int:
    """Columns of a linear member: as given, or else few, and never all of several."""
    if candidate.columns is not None:
        return min(candidate.columns, n_columns)
    return max(1, min(LINEAR_COLUMNS, n_columns - 1, n_components))
