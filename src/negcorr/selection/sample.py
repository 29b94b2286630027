"""Rows on which candidates are tried, and what leave-one-out says of each.

A candidate is tried on some of the rows. One draw of frequencies serves all bandwidths; distances
are kept. Relevance that was learnt from half of the rows is judged by the other half.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from negcorr._common.arrays import taken, to_host
from negcorr._common.threads import spread
from negcorr._common.types import FloatArray, IntArray, Table
from negcorr.bases import kwok_tsang_gamma
from negcorr.bases.input_maps import fit_input_map
from negcorr.bases.random_subspaces import kernel_values
from negcorr.criteria.quick_leave_one_out import ridge_losses, screen
from negcorr.rows.keys import content_hash
from negcorr.rows.rows import Rows
from negcorr.selection.candidates import Candidate, bare_basis
from negcorr.selection.relevance import Relevance, learn_relevance

__all__ = ["ProvingGround", "Trial"]

#: Distinct rows that candidates are tried on.
ROWS = 500

#: Where there are as many, kernels are asked again by more of them, and relevance is learnt from
#: more of them in the end.
MANY_ROWS, MORE_ROWS, ROWS_FOR_RELEVANCE = 2000, 2500, 1000

#: Members of a candidate that is tried by its features.
MEMBERS = 50

#: Where leave-one-out is asked: gaps of features, ridges of kernels, four a decade.
SEARCH_GAPS = np.power(10.0, -np.arange(0.0, 10.25, 0.25))
SEARCH_RIDGES = np.power(10.0, np.arange(1.5, -6.25, -0.25))

#: Parts of the rows that the search is validated by.
PARTS = 5

#: Steps that relevance is refined by, from where fewer rows have led.
REFINING_STEPS = 8

_METRICS = {"gaussian": "sqeuclidean", "laplace": "cityblock"}


@dataclass(frozen=True, eq=False)
class Trial:
    """What leave-one-out said of a candidate.

    Attributes
    ----------
    candidate : Candidate
    by_part : ndarray of shape (strengths, parts)
        Weighted sums of squared errors, outputs of unit variance, by strength of regularisation
        and part of the rows.
    losses : ndarray of shape (n,)
        Squared error of every row where the sum over all is least.
    error : float
        Their weighted mean, relative to the variance of y.
    strength : float
        There: the ridge of a kernel, the gap of other features.
    """

    candidate: Candidate
    by_part: FloatArray = field(repr=False)
    losses: FloatArray = field(repr=False)
    error: float
    strength: float


@dataclass(frozen=True)
class ProvingGround:
    """Rows on which candidates are compared.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Distinct rows that candidates are tried on.
    y : ndarray of shape (n, outputs)
        Targets of unit variance, those of equal rows averaged.
    weight : ndarray of shape (n,)
        Rows that each stands for.
    more : ProvingGround or None
        The same rows and others, by which kernels are judged (:mod:`negcorr.selection.rescoring`)
        and from which the relevance of what was chosen is learnt.
    n_distinct : int
        Distinct rows of positive weight that there are in all.
    n_components : int
        Features per member.
    seed : int
        Of all draws.
    gaps : ndarray of shape (k,)
        At which candidates that are tried by their features are compared.
    given_gamma : float, "kwok-tsang" or None
        A bandwidth that is not open.
    given_relevance : ndarray of shape (d,) or None
        Relevance of columns that is not open.
    """

    X: Table
    y: FloatArray
    weight: FloatArray
    n_components: int
    seed: int
    gaps: FloatArray
    given_gamma: float | str | None = None
    given_relevance: FloatArray | None = None
    more: ProvingGround | None = None
    n_distinct: int = 0
    _mapped: dict[str, Table] = field(default_factory=dict, repr=False)
    _relevance: dict[tuple[str, str, str], Relevance | None] = field(
        default_factory=dict, repr=False
    )
    _distances: dict[tuple[str, str, str], FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        rows: Rows,
        n_components: int,
        seed: int,
        gap: float | None = None,
        given_gamma: float | str | None = None,
        given_relevance: FloatArray | None = None,
        most_rows: int = ROWS,
    ) -> ProvingGround:
        """From training rows: distinct ones, the first by content, averaged where they repeat."""
        keys = content_hash(_home(rows.X))
        weight = np.ones(rows.n_rows) if rows.weight is None else to_host(rows.weight)
        used = np.flatnonzero(weight > 0)
        _, first, number = np.unique(keys[used], return_index=True, return_inverse=True)
        n_distinct = min(len(first), most_rows)
        inside = number < n_distinct
        target, part, number = to_host(rows.y)[used[inside]], weight[used[inside]], number[inside]
        # Sums in an order that content decides, about a value that makes constants exactly zero.
        order = np.lexsort((content_hash(target), part, number))
        target, part, number = (target - target.min(axis=0))[order], part[order], number[order]
        mass = np.bincount(number, part, n_distinct).astype(np.float64)
        sums = [np.bincount(number, part * column, n_distinct) for column in target.T]
        y = np.stack(sums, axis=1) / mass[:, np.newaxis]
        centre = mass @ y / mass.sum()
        spread = np.sqrt(mass @ (y - centre) ** 2 / mass.sum())
        varies = spread > 0
        y = (y[:, varies] - centre[varies]) / spread[varies]
        X = _home(taken(rows.X, used[first[:n_distinct]]))
        gaps = SEARCH_GAPS if gap is None else np.array([gap])
        given = (n_components, seed, gap, given_gamma, given_relevance)
        more = None
        if most_rows == ROWS and len(first) >= MANY_ROWS:
            more = cls.of(rows, *given, most_rows=MORE_ROWS)
        return cls(
            X, y, mass, n_components, seed, gaps, given_gamma, given_relevance, more, len(first)
        )

    @property
    def n_rows(self) -> int:
        """Distinct rows."""
        return int(self.y.shape[0])

    @cached_property
    def parts(self) -> IntArray:
        """A part for every row; rows stand in the order of a hash, so any rule is random."""
        return np.arange(self.n_rows) % PARTS

    def mapped(self, inputs: str) -> Table:
        """The rows as features see them."""
        if inputs not in self._mapped:
            learnt = fit_input_map(inputs, self.X, self.weight, self.given_relevance)
            self._mapped[inputs] = learnt(self.X)
        return self._mapped[inputs]

    def prepare(self, candidates: Iterable[Candidate]) -> None:
        """Make what several of these need, each thing once, before they are tried at once."""
        needed = [(c, half) for c in candidates for half in _halves(c)]
        for inputs in dict.fromkeys(c.inputs for c, _ in needed):
            self.mapped(inputs)
        learnt = dict.fromkeys((c.inputs, _metric(c), half) for c, half in needed if half != "none")
        spread(lambda key: self.relevance(*key), list(learnt))
        one_of_each = {
            (c.inputs, c.kernel, half): (c, half)
            for c, half in needed
            if c.basis == "kernel" and c.kernel in _METRICS and c.subspace == 1.0
        }
        spread(lambda pair: self._distances_between(*pair), list(one_of_each.values()))

    def relevance(self, inputs: str, kernel: str, half: str = "both") -> Relevance | None:
        """Relevance of the columns; None where nothing could be learnt.

        From even rows, odd ones, both, or "all" rows that there are.
        """
        key = (inputs, kernel, half)
        if key not in self._relevance:
            self._relevance[key] = self._learnt(*key)
        return self._relevance[key]

    def _learnt(self, inputs: str, kernel: str, half: str) -> Relevance | None:
        if half == "all" and self.more is None:
            return self.relevance(inputs, kernel)
        ground = self.more if half == "all" and self.more is not None else self
        first = slice(ROWS_FOR_RELEVANCE)
        rows = {"even": slice(0, None, 2), "odd": slice(1, None, 2)}.get(half, first)
        before = {"both": ("even", "odd"), "all": ("both",)}.get(half, ())
        known = [self._relevance.get((inputs, kernel, each)) for each in before]
        starts = [each.logs for each in known if each is not None]
        given = (ground.mapped(inputs)[rows], ground.y[rows], kernel, ground.weight[rows])
        if not starts:
            return learn_relevance(*given)
        return learn_relevance(*given, np.mean(starts, axis=0), REFINING_STEPS)

    def learnt_relevance(self, candidate: Candidate) -> Relevance | None:
        """Relevance for a candidate from these rows; None if it has none."""
        if not candidate.relevant:
            return None
        return self.relevance(candidate.inputs, _metric(candidate))

    def columns(self, candidate: Candidate) -> FloatArray | None:
        """What the columns of a candidate are multiplied by, learnt from all rows."""
        if not candidate.relevant:
            return None
        found = self.relevance(candidate.inputs, _metric(candidate), "all")
        return None if found is None else found.columns

    def gamma(self, candidate: Candidate) -> float:
        """The bandwidth of a candidate as a number."""
        return self._gamma(candidate, "all" if candidate.relevant else "none")

    def searched_gamma(self, candidate: Candidate) -> float:
        """The same, as these rows have taught it."""
        return self._gamma(candidate, "both" if candidate.relevant else "none")

    def _gamma(self, candidate: Candidate, half: str) -> float:
        if isinstance(self.given_gamma, float):
            return self.given_gamma
        kernel = candidate.kernel or "gaussian"
        learnt = (
            self.relevance(candidate.inputs, _metric(candidate), half) if half != "none" else None
        )
        if learnt is not None and kernel in _METRICS and self.given_gamma is None:
            return candidate.multiple * learnt.gamma
        like = "gaussian" if kernel == "linear" else kernel
        rows = self._seen(candidate, half)
        return candidate.multiple * kwok_tsang_gamma(rows, self.weight, like)

    def seen_as(self, candidate: Candidate, relevance: Relevance | None) -> Table:
        """The rows as features of a candidate see them, with a relevance that was learnt."""
        mapped = self.mapped(candidate.inputs)
        return mapped if relevance is None else mapped * relevance.columns

    def _seen(self, candidate: Candidate, half: str) -> Table:
        if half == "none":
            return self.mapped(candidate.inputs)
        return self.seen_as(candidate, self.relevance(candidate.inputs, _metric(candidate), half))

    def try_out(self, candidate: Candidate, by_own_rows: bool = False) -> Trial:
        """Leave-one-out of a candidate at all strengths of regularisation.

        Relevance that was learnt from the even rows is judged by the odd ones, and the other way
        round: errors of rows that it was learnt from would flatter it. With ``by_own_rows`` it is
        learnt from all and flattered.
        """
        halves = ("both",) if by_own_rows and candidate.relevant else _halves(candidate)
        first, *others = (self._losses(candidate, half) for half in halves)
        losses = first
        if others:
            odd = np.arange(self.n_rows) % 2 == 1
            losses = np.where(odd, first, others[0])
        weighted = losses * self.weight
        by_part = np.stack([weighted[:, self.parts == k].sum(axis=1) for k in range(PARTS)], axis=1)
        errors = by_part.sum(axis=1) / self.weight.sum()
        best = int(np.argmin(errors))
        strengths = SEARCH_RIDGES if candidate.basis == "kernel" else self.gaps
        return Trial(candidate, by_part, losses[best], float(errors[best]), float(strengths[best]))

    def _losses(self, candidate: Candidate, half: str) -> FloatArray:
        if candidate.basis == "kernel":
            return ridge_losses(self._kernel(candidate, half), self.y, self.weight, SEARCH_RIDGES)
        rows = self._seen(candidate, half)
        width = min(self.n_components, max(self.n_rows // 2, 1))
        gamma = self._gamma(candidate, half)
        basis = bare_basis(candidate, gamma, MEMBERS, width, rows.shape[1], self.seed)
        features = basis.fit(rows, sample_weight=self.weight).transform(rows)
        fit = screen(features, self.y, basis.block_starts_, self.weight, candidate.alpha)
        return fit.losses(self.gaps)

    def _kernel(self, candidate: Candidate, half: str) -> FloatArray:
        gamma, kernel = self._gamma(candidate, half), candidate.kernel or "gaussian"
        if kernel in _METRICS and candidate.subspace == 1.0:
            return np.asarray(np.exp(-gamma * self._distances_between(candidate, half)))
        rows = self._seen(candidate, half)
        return kernel_values(kernel, rows, rows, gamma, candidate.subspace)

    def _distances_between(self, candidate: Candidate, half: str) -> FloatArray:
        kernel = candidate.kernel or "gaussian"
        key = (candidate.inputs, kernel, half)
        if key not in self._distances:
            rows = self._seen(candidate, half)
            self._distances[key] = _distances(rows, rows, kernel)
        return self._distances[key]


def _halves(candidate: Candidate) -> tuple[str, ...]:
    """Rows that the relevance of a candidate is learnt from, for its trial."""
    return ("even", "odd") if candidate.relevant else ("none",)


def _metric(candidate: Candidate) -> str:
    """The kernel that relevance is learnt by."""
    return "laplace" if candidate.kernel == "laplace" else "gaussian"


def _distances(X: Table, Z: Table, kernel: str) -> FloatArray:
    """What γ is multiplied by in the exponent of a kernel."""
    if not sp.issparse(X):
        return np.asarray(cdist(X, Z, _METRICS[kernel]))
    if kernel == "gaussian":
        return np.asarray(euclidean_distances(X, Z, squared=True))
    # scikit-learn's Manhattan distances know 32-bit indices only.
    parts = ((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)) for A in (X, Z))
    X, Z = (
        sp.csr_array(part, shape) for part, shape in zip(parts, (X.shape, Z.shape), strict=True)
    )
    return np.asarray(manhattan_distances(X, Z))


def _home(X: Table) -> Table:
    return X if sp.issparse(X) else to_host(X)
