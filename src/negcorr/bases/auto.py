"""AutoBasis: the options of the search for features (the search itself is in ``selection``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.base import BaseEstimator

__all__ = ["AutoBasis"]


class AutoBasis(BaseEstimator):
    """Features that a search on the training rows chooses, and the options of this search.

    ``basis="auto"`` of :class:`~negcorr.NCLRegressor` means this basis. The search compares
    candidates by leave-one-out on at most 500 rows; with large tables it compares the best kernels
    again on 2500 rows. Candidates that these rows cannot distinguish from the best one are
    combined: each becomes a member that is an ensemble itself, and λ acts between these members. A
    parameter with a single value is fixed: the search does not vary it.

    Parameters
    ----------
    bases : str or sequence of str, default=("kernel", "fourier", "orthogonal", "trees")
        Bases that are tried: "kernel", "nystroem", "fourier", "orthogonal" (Fourier features whose
        frequencies are orthogonal), "linear" and "trees". Kernels are preferred; another basis is
        chosen only if it is clearly better than the best kernel.
    kernels : str or sequence of str, default=("laplacian", "rbf", "linear")
        Kernels of the bases that have one. "cauchy" is allowed too; "linear" is only for the basis
        "kernel".
    inputs : str or sequence of str, default=("clip", "standard", "rank")
        Maps of the columns of X that are tried, as in :class:`FourierFeatures`; "none" is allowed
        too.
    gamma : float, "kwok-tsang" or "auto", default="auto"
        Inverse bandwidth. "auto" starts at the heuristic of Kwok and Tsang and moves, in steps of
        half a decade, to the value with the smallest leave-one-out error.
    relevance : "auto", bool or array-like of shape (d,), default="auto"
        Factors of the mapped columns: learnt by marginal likelihood (True), none (False), or given
        numbers; "auto" tries both with and without learnt factors.
    subspace : float or "auto", default="auto"
        Share of the columns that a member sees. "auto" halves the share of the best Gaussian kernel
        as long as the error falls, in tables of 20 columns or more.
    n_components : int, default=10
        Features per member H.
    n_members : int or "auto", default="auto"
        Number of members M. Candidates that are combined share this number. "auto" means as many
        members as ``budget`` and the rows allow if ``bases`` contains "kernel", and 100 if it does
        not.
    max_members : int, default=6
        Largest number of candidates that are combined; at most 4 with 2000 distinct rows or more.
        With 1 only the best candidate is used.
    budget : int, default=2000
        Largest number of features in all if ``n_members`` is "auto". With up to 2000 distinct rows
        each candidate has all rows as landmarks; but from 500 rows on, more than two candidates
        share 1500 landmarks. With more rows an ensemble starts with 500 landmarks for each
        candidate (1000 for a single one). The number is doubled, within the budget and half of the
        rows, as long as the ensemble uses half of its features and the criterion falls by 1 % or
        more.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor
    >>> from negcorr.bases import AutoBasis
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bandwidth_alone = AutoBasis(
    ...     bases="fourier", kernels="rbf", inputs="standard", relevance=False, subspace=1.0
    ... )
    >>> NCLRegressor(basis=bandwidth_alone).fit(X, y).basis_.gamma_ < 0.05
    True
    """

    def __init__(
        self,
        bases: str | Sequence[str] = ("kernel", "fourier", "orthogonal", "trees"),
        *,
        kernels: str | Sequence[str] = ("laplacian", "rbf", "linear"),
        inputs: str | Sequence[str] = ("clip", "standard", "rank"),
        gamma: float | str = "auto",
        relevance: Any = "auto",
        subspace: float | Literal["auto"] = "auto",
        n_components: int = 10,
        n_members: int | Literal["auto"] = "auto",
        max_members: int = 6,
        budget: int = 2000,
    ) -> None:
        self.bases = bases
        self.kernels = kernels
        self.inputs = inputs
        self.gamma = gamma
        self.relevance = relevance
        self.subspace = subspace
        self.n_components = n_components
        self.n_members = n_members
        self.max_members = max_members
        self.budget = budget
