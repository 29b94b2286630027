"""Rows on which candidates are tried, and what leave-one-out says of each.

A candidate is tried with few members on some of the rows (:data:`RUNGS`). One draw of landmarks,
and one of frequencies, serves all bandwidths; distances to landmarks are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from negcorr._arrays import taken, to_host
from negcorr._threads import spread
from negcorr._typing import FloatArray, IntArray, Table
from negcorr.bases import kwok_tsang_gamma
from negcorr.bases.inputs import fit_input_map
from negcorr.candidates import Candidate, bare_basis
from negcorr.relevance import column_relevance
from negcorr.rowhash import content_hash
from negcorr.rows import Rows
from negcorr.screening import screen

__all__ = ["RUNGS", "ProvingGround", "Rung", "Trial"]


@dataclass(frozen=True)
class Rung:
    """How much effort goes into a trial: rows at most, and members."""

    n_rows: int
    n_members: int


#: Many candidates on few rows; then, where there are more rows, the best of them on more.
RUNGS = (Rung(1500, 50), Rung(4000, 100))

#: Leave-one-out is asked at these gaps, four a decade.
SEARCH_GAPS = np.power(10.0, -np.arange(0.0, 10.25, 0.25))

#: Parts of the rows that the search is validated by.
PARTS = 5

_METRICS = {"gaussian": "sqeuclidean", "laplace": "cityblock"}


@dataclass(frozen=True)
class Trial:
    """What leave-one-out said of a candidate.

    Attributes
    ----------
    candidate : Candidate
    by_part : ndarray of shape (gaps, parts)
        Weighted sums of squared errors, outputs of unit variance, by gap and part of the rows.
    error : float
        Mean squared error at the best gap, relative to the variance of y.
    gap : float
        That gap.
    """

    candidate: Candidate
    by_part: FloatArray = field(repr=False)
    error: float
    gap: float


@dataclass(frozen=True)
class ProvingGround:
    """Rows on which candidates are compared.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Distinct rows.
    y : ndarray of shape (n, outputs)
        Targets of unit variance, those of equal rows averaged.
    weight : ndarray of shape (n,)
        Rows that each stands for.
    n_components : int
        Features per member.
    seed : int
        Of all draws.
    gaps : ndarray of shape (k,)
        At which candidates are compared.
    n_members : int
        With which candidates are tried.
    given_gamma : float or None
        A bandwidth that is not open.
    given_relevance : ndarray of shape (d,) or None
        Relevance of columns that is not open.
    teacher : ProvingGround or None
        Fewer of the same rows, from which relevance is learnt; the others judge then.
    """

    X: Table
    y: FloatArray
    weight: FloatArray
    n_components: int
    seed: int
    gaps: FloatArray
    n_members: int = RUNGS[0].n_members
    given_gamma: float | None = None
    given_relevance: FloatArray | None = None
    teacher: ProvingGround | None = None
    _mapped: dict[str, Table] = field(default_factory=dict, repr=False)
    _relevance: dict[tuple[str, str], FloatArray] = field(default_factory=dict, repr=False)
    _distances: dict[tuple[str, str, str], FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        rows: Rows,
        n_components: int,
        seed: int,
        gap: float | None = None,
        given_gamma: float | None = None,
        given_relevance: FloatArray | None = None,
        rung: Rung = RUNGS[0],
        teacher: ProvingGround | None = None,
    ) -> ProvingGround:
        """From training rows: distinct ones, the first by content, averaged where they repeat."""
        keys = content_hash(_home(rows.X))
        weight = np.ones(rows.n_rows) if rows.weight is None else to_host(rows.weight)
        used = np.flatnonzero(weight > 0)
        _, first, number = np.unique(keys[used], return_index=True, return_inverse=True)
        n_distinct = min(len(first), rung.n_rows)
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
        return cls(
            X,
            y,
            mass,
            n_components,
            seed,
            gaps,
            rung.n_members,
            given_gamma,
            given_relevance,
            teacher,
        )

    @property
    def n_rows(self) -> int:
        """Distinct rows."""
        return int(self.y.shape[0])

    @cached_property
    def parts(self) -> IntArray:
        """A part for every row; rows stand in the order of a hash, so any rule is random."""
        return np.arange(self.n_rows) % PARTS

    @cached_property
    def landmarks(self) -> IntArray:
        """Rows that are landmarks, those of each member side by side."""
        rng = np.random.RandomState(self.seed)
        width = min(self.n_components, max(self.n_rows // 2, 1))
        return np.concatenate([rng.permutation(self.n_rows)[:width] for _ in range(self.n_members)])

    @cached_property
    def landmark_starts(self) -> IntArray:
        """Where the landmarks of each member begin."""
        return np.linspace(0, len(self.landmarks), self.n_members + 1).astype(np.intp)

    def mapped(self, inputs: str) -> Table:
        """The rows as features see them."""
        if inputs not in self._mapped:
            learnt = fit_input_map(inputs, self.X, self.weight, self.given_relevance)
            self._mapped[inputs] = learnt(self.X)
        return self._mapped[inputs]

    @cached_property
    def judges(self) -> FloatArray:
        """Weights of the rows whose errors count."""
        if self.teacher is None:
            return self.weight
        return self.weight * (np.arange(self.n_rows) >= self.teacher.n_rows)

    def prepare(self, candidates: Iterable[Candidate]) -> None:
        """Make what several of these need, each thing once, before they are tried at once."""
        needed = [(c, half) for c in candidates for half in self._halves(c)]
        learnt = dict.fromkeys((c.inputs, half) for c, half in needed if half != "none")
        for inputs in dict.fromkeys(c.inputs for c, _ in needed):
            self.mapped(inputs)
        spread(lambda key: self.relevance(*key), list(learnt))
        one_of_each = {
            (c.inputs, c.kernel, half): (c, half)
            for c, half in needed
            if c.basis == "nystroem" and c.kernel in _METRICS
        }
        spread(lambda pair: self._distances_to_landmarks(*pair), list(one_of_each.values()))

    def _halves(self, candidate: Candidate) -> tuple[str, ...]:
        """Rows that the relevance of a candidate is learnt from, for its trial."""
        if not candidate.relevant:
            return ("none",)
        return ("even", "odd") if self.teacher is None else ("taught",)

    def relevance(self, inputs: str, half: str = "both") -> FloatArray:
        """Relevance of the columns, learnt from even rows, odd ones, all, or by a teacher."""
        if half == "taught" and self.teacher is not None:
            return self.teacher.relevance(inputs)
        if (inputs, half) not in self._relevance:
            rows = {"both": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}[half]
            mapped = self.mapped(inputs)
            self._relevance[inputs, half] = column_relevance(
                mapped[rows],
                self.y[rows],
                mapped[self.landmarks],
                self.landmark_starts,
                SEARCH_GAPS,
                self.weight[rows],
            )
        return self._relevance[inputs, half]

    def gamma(self, candidate: Candidate) -> float:
        """The bandwidth of a candidate as a number."""
        half = "both" if candidate.relevant else "none"
        return self._gamma(candidate, half)

    def _gamma(self, candidate: Candidate, half: str) -> float:
        kernel = candidate.kernel or "gaussian"
        return candidate.multiple * self._unit_gamma(candidate.inputs, kernel, half)

    def _unit_gamma(self, inputs: str, kernel: str, half: str) -> float:
        if self.given_gamma is not None:
            return self.given_gamma
        return kwok_tsang_gamma(self._seen(inputs, half), self.weight, kernel)

    def _seen(self, inputs: str, half: str) -> Table:
        mapped = self.mapped(inputs)
        return mapped if half == "none" else mapped * self.relevance(inputs, half)

    def try_out(self, candidate: Candidate) -> Trial:
        """Leave-one-out of a candidate at all gaps.

        Relevance that was learnt from the even rows is judged by the odd ones, and the other way
        round; that of a teacher by rows which the teacher has not seen: errors of rows that it was
        learnt from would flatter it.
        """
        losses, *others = (self._losses(candidate, half) for half in self._halves(candidate))
        if others:
            odd = np.arange(self.n_rows) % 2 == 1
            losses = np.where(odd, losses, others[0])
        weighted = losses * self.judges
        by_part = np.stack([weighted[:, self.parts == k].sum(axis=1) for k in range(PARTS)], axis=1)
        errors = by_part.sum(axis=1) / self.judges.sum()
        best = int(np.argmin(errors))
        return Trial(candidate, by_part, float(errors[best]), float(self.gaps[best]))

    def _losses(self, candidate: Candidate, half: str) -> FloatArray:
        features, starts = self._features(candidate, half)
        fit = screen(features, self.y, starts, self.weight, candidate.alpha)
        return fit.losses(self.gaps)

    def _features(self, candidate: Candidate, half: str) -> tuple[FloatArray, IntArray]:
        plain = candidate.alpha == 0 and candidate.kernel in _METRICS
        # Where blocks are whitened alone, normalised features and bare kernel values are as good.
        if candidate.basis == "nystroem" and plain:
            distances = self._distances_to_landmarks(candidate, half)
            return np.exp(-self._gamma(candidate, half) * distances), self.landmark_starts
        rows = self._seen(candidate.inputs, half)
        width = min(self.n_components, max(self.n_rows // 2, 1))
        gamma = self._gamma(candidate, half)
        basis = bare_basis(candidate, gamma, self.n_members, width, rows.shape[1], self.seed)
        return basis.fit(rows, sample_weight=self.weight).transform(rows), basis.block_starts_

    def _distances_to_landmarks(self, candidate: Candidate, half: str) -> FloatArray:
        kernel = candidate.kernel or "gaussian"
        key = (candidate.inputs, kernel, half)
        if key not in self._distances:
            rows = self._seen(candidate.inputs, half)
            self._distances[key] = _distances(rows, rows[self.landmarks], kernel)
        return self._distances[key]


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
