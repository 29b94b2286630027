"""AutoBasis: what a search of features may choose from (the search is in ``selection``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.base import BaseEstimator

__all__ = ["AutoBasis"]


class AutoBasis(BaseEstimator):
    """Features that are chosen by the training rows, and what they may be chosen from.

    It stands for ``basis="auto"`` of :class:`~negcorr.NCLRegressor`. Candidates are compared by
    leave-one-out on at most 500 rows, the best kernels of large tables again on 2500. What these
    rows cannot distinguish from the best is taken together: each candidate becomes a member that is
    an ensemble itself, and λ is the one between those. A single value in place of several leaves
    nothing to choose there.

    Parameters
    ----------
    bases : str or sequence of str, default=("kernel", "fourier", "orthogonal", "trees")
        Allowed are "kernel", "nystroem", "fourier", "orthogonal" (Fourier features whose
        frequencies are orthogonal), "linear" and "trees". Kernels come first; another basis is
        taken where it is clearly better than the best kernel.
    kernels : str or sequence of str, default=("laplacian", "rbf", "linear")
        Of bases that have one; "cauchy" is allowed too, "linear" for "kernel" alone.
    inputs : str or sequence of str, default=("clip", "standard", "rank")
        What may be done to the columns of X, as in :class:`FourierFeatures`; "none" is allowed too.
    gamma : float, "kwok-tsang" or "auto", default="auto"
        Inverse bandwidth. "auto" goes from that of Kwok and Tsang, two steps a decade, to where
        leave-one-out is best.
    relevance : "auto", bool or array-like of shape (d,), default="auto"
        What mapped columns are multiplied by: numbers learnt by marginal likelihood (True), nothing
        (False), or given numbers; "auto" tries with and without.
    subspace : float or "auto", default="auto"
        Share of the columns that a member sees. "auto" halves the share of the best Gaussian kernel
        for as long as that pays, in tables of 20 columns or more.
    n_components : int, default=10
        Features per member H.
    n_members : int or "auto", default="auto"
        Number of members M, which candidates that are taken together share. "auto" is as many as
        ``budget`` and the rows allow for the functions of a kernel, and 100 where ``bases`` has no
        "kernel".
    max_members : int, default=6
        Most candidates that are taken together; at most 4 with 2000 distinct rows or more. 1 takes
        the best alone.
    budget : int, default=2000
        Most features that "auto" numbers of members come to. Up to 2000 distinct rows candidates
        have all rows as landmarks, but from 500 rows on more than two of them share 1500. With
        more rows an ensemble begins with 500 landmarks for each, 1000 for one alone, and doubles
        them within the budget, and half of the rows, for as long as it uses half of its features
        and the criterion falls by 1 % or more.

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
