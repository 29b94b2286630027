"""The rows that candidates are tried on (:class:`SearchSample`), and the trial of a candidate.

A candidate is tried on at most 500 rows. Distances between them serve all bandwidths, and are kept.
Relevance that was learnt from half of the rows is tested on the other half.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from negcorr._common.arrays import rows_at, to_host
from negcorr._common.threads import spread
from negcorr._common.types import BoolArray, FloatArray, Table
from negcorr.bases import kwok_tsang_gamma
from negcorr.bases.input_maps import fit_input_map
from negcorr.bases.kernel_functions import kernel_values
from negcorr.criteria.quick_leave_one_out import ridge_losses, screen
from negcorr.rows.keys import RowKeys, on_host
from negcorr.rows.rows import Rows, weight_of
from negcorr.selection.relevance import Relevance, learn_relevance
from negcorr.selection.space import Candidate, SearchSpace, candidate_basis

__all__ = ["SearchSample", "Trial", "comparable"]

#: Distinct rows that candidates are tried on.
ROWS = 500

#: Where there are as many rows, kernels are tried again on more of them, and in the end relevance
#: is learnt from more of them.
MANY_ROWS, MORE_ROWS, ROWS_FOR_RELEVANCE = 2000, 2500, 1000

#: Members of a candidate that is tried by its features.
MEMBERS = 50

#: Where leave-one-out is evaluated: gaps of features, ridges of kernels, four a decade.
SEARCH_GAPS = np.power(10.0, -np.arange(0.0, 10.25, 0.25))
SEARCH_RIDGES = np.power(10.0, np.arange(1.5, -6.25, -0.25))

#: Parts of the rows that the search is validated by.
PARTS = 5

#: Largest number of steps that refine a relevance learnt from fewer rows.
REFINING_STEPS = 8

_METRICS = {"rbf": "sqeuclidean", "laplacian": "cityblock"}

#: Rows of the sample that relevance is learnt from; "all" are those of the larger sample, too.
LearntFrom = Literal["nothing", "even", "odd", "both", "all"]


def comparable(errors: FloatArray) -> FloatArray:
    """Errors rounded to 26 significant bits, so that no rounding decides between equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.selection.sample import comparable
    >>> int(np.argmin(comparable(np.array([0.5, 0.5 - 1e-16]))))
    0
    """
    mantissa, exponent = np.frexp(errors)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**26), exponent - 26))


@dataclass(frozen=True, eq=False)
class Trial:
    """Leave-one-out errors of a candidate.

    Attributes
    ----------
    candidate : Candidate
    by_part : ndarray of shape (strengths, parts)
        Weighted sums of squared errors, outputs of unit variance, by strength of regularisation
        and part of the rows.
    losses : ndarray of shape (n,)
        Squared error of every row at the strength where their sum is least.
    error : float
        Their weighted mean, relative to the variance of y.
    strength : float
        That strength: the ridge of a kernel, the gap of other features.
    """

    candidate: Candidate
    by_part: FloatArray = field(repr=False)
    losses: FloatArray = field(repr=False)
    error: float
    strength: float

    @classmethod
    def of(
        cls, candidate: Candidate, losses: FloatArray, weight: FloatArray, strengths: FloatArray
    ) -> Trial:
        """The trial with given losses, of shape (strengths, n).

        Rows stand in the order of a hash, so parts of every fifth row are random.
        """
        weighted = losses * weight
        by_part = np.stack([weighted[:, k::PARTS].sum(axis=1) for k in range(PARTS)], axis=1)
        errors = by_part.sum(axis=1) / weight.sum()
        best = int(np.argmin(comparable(errors)))
        return cls(candidate, by_part, losses[best], float(errors[best]), float(strengths[best]))

    @property
    def rank(self) -> tuple[float, str]:
        """What trials are ordered by: the error, and of equal errors the name."""
        return float(comparable(np.array(self.error))), str(self.candidate)


@dataclass(frozen=True)
class SearchSample:
    """Rows on which candidates are compared.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Distinct rows.
    y : ndarray of shape (n, outputs)
        Targets of unit variance, those of equal rows averaged.
    weight : ndarray of shape (n,)
        Number of rows that each stands for.
    space : SearchSpace
        What may be chosen.
    seed : int
        Of all draws.
    gaps : ndarray of shape (k,)
        Gaps at which candidates that are tried by their features are compared.
    n_distinct : int
        Distinct rows of positive weight that there are in all.
    keys : RowKeys
        Of these rows.
    as_they_are : ndarray of bool of shape (d,) or None
        Columns that are not mapped.
    larger : SearchSample or None
        These rows and others, on which kernels are tried again (:mod:`negcorr.selection.rescoring`)
        and from which the relevance of what was chosen is learnt.
    """

    X: Table
    y: FloatArray
    weight: FloatArray
    space: SearchSpace
    seed: int
    gaps: FloatArray
    n_distinct: int
    keys: RowKeys
    as_they_are: BoolArray | None = None
    larger: SearchSample | None = None
    _mapped: dict[str, Table] = field(default_factory=dict, repr=False)
    _relevance: dict[tuple[str, str, str], Relevance | None] = field(
        default_factory=dict, repr=False
    )
    _distances: dict[tuple[str, str, str], FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        rows: Rows,
        space: SearchSpace,
        seed: int,
        gap: float | None = None,
        most_rows: int = ROWS,
    ) -> SearchSample:
        """Distinct training rows, the first by content; targets of equal rows are averaged.

        Parameters
        ----------
        rows : Rows
        space : SearchSpace
        seed : int
        gap : float, optional
            The only gap at which candidates are compared; all of a grid by default.
        most_rows : int, default=500
        """
        X = rows.X if sp.issparse(rows.X) else to_host(rows.X)
        weight = weight_of(rows)
        used = np.flatnonzero(weight > 0)
        by_x, by_xy = (on_host(each)[used] for each in (rows.keys.x, rows.keys.xy))
        _, first, number = np.unique(by_x, return_index=True, return_inverse=True)
        n_distinct = min(len(first), most_rows)
        inside = number < n_distinct
        target, part, number = to_host(rows.y)[used[inside]], weight[used[inside]], number[inside]
        # Sums in an order that content decides, about a value that makes constants exactly zero.
        order = np.lexsort((by_xy[inside], part, number))
        target, part, number = (target - target.min(axis=0))[order], part[order], number[order]
        mass = np.bincount(number, part, n_distinct).astype(np.float64)
        sums = [np.bincount(number, part * column, n_distinct) for column in target.T]
        y = np.stack(sums, axis=1) / mass[:, np.newaxis]
        centre = mass @ y / mass.sum()
        deviation = np.sqrt(mass @ (y - centre) ** 2 / mass.sum())
        varies = deviation > 0
        y = (y[:, varies] - centre[varies]) / deviation[varies]
        gaps = SEARCH_GAPS if gap is None else np.array([gap])
        larger = None
        if most_rows == ROWS and len(first) >= MANY_ROWS:
            larger = cls.of(rows, space, seed, gap, MORE_ROWS)
        chosen = used[first[:n_distinct]]
        keys = RowKeys(by_x[first[:n_distinct]], by_xy[first[:n_distinct]])
        X = rows_at(X, chosen)
        return cls(X, y, mass, space, seed, gaps, len(first), keys, rows.as_they_are, larger)

    @property
    def n_rows(self) -> int:
        """Distinct rows of the sample."""
        return int(self.y.shape[0])

    def mapped(self, inputs: str) -> Table:
        """The rows after their columns have been mapped, by given relevance too."""
        if inputs not in self._mapped:
            more = self.space.given_relevance, self.as_they_are
            learnt = fit_input_map(inputs, self.X, self.weight, *more)
            self._mapped[inputs] = learnt(self.X)
        return self._mapped[inputs]

    def prepare(self, candidates: Iterable[Candidate]) -> None:
        """Make what several of these need, each thing once, before they are tried in parallel."""
        needed = [(c, part) for c in candidates for part in _taught_by(c)]
        for inputs in dict.fromkeys(c.inputs for c, _ in needed):
            self.mapped(inputs)
        learnt = dict.fromkeys((c.inputs, c.metric, part) for c, part in needed if c.relevant)
        spread(lambda key: self.relevance(*key), list(learnt))
        one_of_each = {
            (c.inputs, c.kernel, part): (c, part)
            for c, part in needed
            if c.basis == "kernel" and c.kernel in _METRICS and c.subspace == 1.0
        }
        spread(lambda pair: self._distances_of(*pair), list(one_of_each.values()))

    def relevance(
        self, inputs: str, kernel: str, learnt_from: LearntFrom = "both"
    ) -> Relevance | None:
        """Learnt relevance of the mapped columns; None where nothing could be learnt."""
        if learnt_from == "all" and self.larger is None:
            learnt_from = "both"
        key = (inputs, kernel, learnt_from)
        if key not in self._relevance:
            sample = self.larger if learnt_from == "all" and self.larger is not None else self
            first = slice(ROWS_FOR_RELEVANCE)
            rows = {"even": slice(0, None, 2), "odd": slice(1, None, 2)}.get(learnt_from, first)
            before = {"both": ("even", "odd"), "all": ("both",)}.get(learnt_from, ())
            known = [self._relevance.get((inputs, kernel, each)) for each in before]
            starts = [each.logs for each in known if each is not None]
            given: tuple[Any, ...]
            given = sample.mapped(inputs)[rows], sample.y[rows], kernel, sample.weight[rows]
            if starts:
                given += np.mean(starts, axis=0), REFINING_STEPS
            self._relevance[key] = learn_relevance(*given)
        return self._relevance[key]

    def relevance_of(
        self, candidate: Candidate, learnt_from: LearntFrom = "both"
    ) -> Relevance | None:
        """Learnt relevance for a candidate; None if it has none."""
        if not candidate.relevant or learnt_from == "nothing":
            return None
        return self.relevance(candidate.inputs, candidate.metric, learnt_from)

    def rows_for(self, candidate: Candidate, relevance: Relevance | None) -> Table:
        """The rows as the features of a candidate see them, with a learnt relevance."""
        mapped = self.mapped(candidate.inputs)
        return mapped if relevance is None else mapped * relevance.columns

    def gamma(self, candidate: Candidate, learnt_from: LearntFrom = "both") -> float:
        """The bandwidth of a candidate as a number."""
        given = self.space.gamma
        if isinstance(given, float):
            return given
        kernel, learnt = candidate.kernel or "rbf", self.relevance_of(candidate, learnt_from)
        if learnt is not None and kernel in _METRICS and given is None:
            return candidate.multiple * learnt.gamma
        like = "rbf" if kernel == "linear" else kernel
        rows = self.rows_for(candidate, learnt)
        return candidate.multiple * kwok_tsang_gamma(rows, self.weight, like)

    def trial_of(self, candidate: Candidate, by_own_rows: bool = False) -> Trial:
        """Leave-one-out errors of a candidate at all strengths of regularisation.

        Relevance that was learnt from the even rows is tested on the odd rows, and vice versa: on
        the rows that it was learnt from, errors would be too small. With ``by_own_rows`` it is
        learnt from all rows, and errors are too small.
        """
        parts = ("both",) if by_own_rows and candidate.relevant else _taught_by(candidate)
        losses, *others = (self._losses(candidate, part) for part in parts)
        if others:
            losses = np.where(np.arange(self.n_rows) % 2 == 1, losses, others[0])
        strengths = SEARCH_RIDGES if candidate.basis == "kernel" else self.gaps
        return Trial.of(candidate, losses, self.weight, strengths)

    def _losses(self, candidate: Candidate, learnt_from: LearntFrom) -> FloatArray:
        """Squared leave-one-out errors, of shape (strengths, n)."""
        gamma, share = self.gamma(candidate, learnt_from), candidate.subspace
        kernel = candidate.kernel or "rbf"
        if candidate.basis == "kernel" and kernel in _METRICS and share == 1.0:
            values = np.exp(-gamma * self._distances_of(candidate, learnt_from))
            return ridge_losses(values, self.y, self.weight, SEARCH_RIDGES)
        rows = self.rows_for(candidate, self.relevance_of(candidate, learnt_from))
        if candidate.basis == "kernel":
            values = kernel_values(kernel, rows, rows, gamma, share)
            return ridge_losses(values, self.y, self.weight, SEARCH_RIDGES)
        width = min(self.space.n_components, max(self.n_rows // 2, 1))
        basis = candidate_basis(
            candidate, gamma, MEMBERS, width, rows.shape[1], self.seed, inputs="none"
        )
        features = basis.fit_rows(Rows(rows, self.y, self.weight, self.keys)).transform(rows)
        fit = screen(features, self.y, basis.block_starts_, self.weight, candidate.alpha)
        return fit.losses(self.gaps)

    def _distances_of(self, candidate: Candidate, learnt_from: LearntFrom) -> FloatArray:
        """Distances between all rows: what γ is multiplied by in the exponent of the kernel."""
        kernel = candidate.kernel or "rbf"
        key = (candidate.inputs, kernel, learnt_from)
        if key not in self._distances:
            rows = self.rows_for(candidate, self.relevance_of(candidate, learnt_from))
            if not sp.issparse(rows):
                found = cdist(rows, rows, _METRICS[kernel])
            elif kernel == "rbf":
                found = euclidean_distances(rows, squared=True)
            else:
                # scikit-learn's Manhattan distances know 32-bit indices only.
                parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
                found = manhattan_distances(sp.csr_array(parts, rows.shape))
            self._distances[key] = np.asarray(found)
        return self._distances[key]


def _taught_by(candidate: Candidate) -> tuple[LearntFrom, ...]:
    """Rows that the relevance of a candidate is learnt from, for its trial."""
    return ("even", "odd") if candidate.relevant else ("nothing",)
