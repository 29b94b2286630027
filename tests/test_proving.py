"""Candidates are tried on distinct rows, and relevance never on rows that it was learnt from."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from negcorr import proving
from negcorr.bases import (
    FourierFeatures,
    LinearFeatures,
    NystroemFeatures,
    OrthogonalFourierFeatures,
    TreeFeatures,
    kwok_tsang_gamma,
)
from negcorr.bases.inputs import fit_input_map
from negcorr.candidates import Candidate, bare_basis, linear_width
from negcorr.proving import PARTS, ProvingGround, Rung
from negcorr.relevance import column_relevance
from negcorr.rows import Rows
from negcorr.screening import screen


def data(n=80, d=3, seed=0, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(n, outputs))
    return X, y


def ground_of(X, y, weight=None, **settings):
    return ProvingGround.of(Rows(X, y, weight), **{"n_components": 4, "seed": 0} | settings)


def sorted_rows(ground):
    """Rows, targets and weights in an order of their own, one row each."""
    X = ground.X.toarray() if sp.issparse(ground.X) else ground.X
    rows = np.column_stack([X, ground.y, ground.weight])
    return rows[np.lexsort(rows.T)]


def same_ground(one, other, tolerance=0.0):
    np.testing.assert_allclose(other.X, one.X, rtol=0, atol=0)
    np.testing.assert_allclose(other.y, one.y, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(other.weight, one.weight, rtol=tolerance)


class TestRows:
    def test_are_the_distinct_ones_with_weighted_means_of_unit_variance(self):
        X, _ = data(20, 2)
        rng = np.random.default_rng(1)
        index = rng.integers(0, 20, 90)
        y, weight = rng.normal(size=(90, 2)) + 5.0, rng.uniform(0.5, 3.0, 90)
        ground = ground_of(X[index], y, weight)
        distinct = np.unique(index)
        means = np.array(
            [np.average(y[index == i], axis=0, weights=weight[index == i]) for i in distinct]
        )
        mass = np.array([weight[index == i].sum() for i in distinct])
        centre = np.average(means, axis=0, weights=mass)
        spread = np.sqrt(np.average((means - centre) ** 2, axis=0, weights=mass))
        expected = np.column_stack([X[distinct], (means - centre) / spread, mass])
        expected = expected[np.lexsort(expected.T)]
        np.testing.assert_allclose(sorted_rows(ground), expected, rtol=1e-12, atol=1e-12)

    def test_of_no_weight_are_none(self):
        X, y = data()
        weight = np.where(np.arange(80) % 3 == 0, 0.0, 2.0)
        ground = ground_of(np.where(weight[:, np.newaxis] > 0, X, 1e9), y, weight)
        assert ground.n_rows == np.count_nonzero(weight)
        same_ground(ground_of(X[weight > 0], y[weight > 0], weight[weight > 0]), ground)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_come_in_an_order_of_their_own_to_the_last_bit(self, weighted):
        X, _ = data(40)
        rng = np.random.default_rng(2)
        index = rng.integers(0, 40, 200)
        X, y = X[index], rng.normal(size=(200, 2))
        weight = rng.uniform(0.1, 3.0, 200) if weighted else None
        one = ground_of(X, y, weight)
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(200)
            moved = ground_of(X[order], y[order], None if weight is None else weight[order])
            same_ground(one, moved)

    def test_weights_mean_repeated_rows(self):
        X, y = data()
        weight = np.random.default_rng(3).integers(0, 4, 80)
        repeated = ground_of(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
        same_ground(repeated, ground_of(X, y, weight.astype(float)), 1e-12)

    def test_are_not_too_many_and_the_same_whatever_comes_before(self):
        few = Rung(30, 50)
        X, y = data(100)
        ground = ground_of(X, y, rung=few)
        assert ground.n_rows == len(ground.weight) == ground.X.shape[0] == 30
        order = np.random.default_rng(0).permutation(100)
        same_ground(ground, ground_of(X[order], y[order], rung=few))
        np.testing.assert_allclose(ground.y.mean(), 0.0, atol=1e-12)
        np.testing.assert_allclose(ground.y.std(), 1.0)
        # Targets are those of the rows.
        where = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in ground.X]
        np.testing.assert_allclose(np.corrcoef(ground.y.T, y[where].T)[0, 1], 1.0)

    def test_are_at_most_1500(self):
        X, y = data(1600, 2)
        assert ground_of(X, y).n_rows == 1500
        assert ground_of(X[:1500], y[:1500]).n_rows == 1500

    @pytest.mark.parametrize("weighted", [False, True])
    def test_lose_outputs_that_do_not_vary(self, weighted):
        X, y = data()
        weight = np.random.default_rng(4).uniform(0.1, 3.0, 80) if weighted else None
        both = np.column_stack([np.full(80, 0.1), y[:, 0], np.full(80, -1e6)])
        X, both = np.tile(X, (2, 1)), np.tile(both, (2, 1))
        weight = None if weight is None else np.tile(weight, 2)
        ground = ground_of(X, both, weight)
        assert ground.y.shape == (80, 1)
        np.testing.assert_allclose(
            ground.y, ground_of(X, both[:, 1:2], weight).y, rtol=1e-12, atol=1e-12
        )
        assert ground_of(X, both[:, [0, 2]], weight).y.shape == (80, 0)

    def test_may_be_sparse_and_stay_so(self):
        X, y = data()
        X = np.where(np.abs(X) > 0.7, X, 0.0)
        ground = ground_of(sp.csr_array(X), y)
        assert sp.issparse(ground.X)
        same = ground_of(X, y)
        np.testing.assert_array_equal(ground.X.toarray(), same.X)
        np.testing.assert_array_equal(ground.y, same.y)

    def test_have_parts_of_about_equal_size(self):
        counts = np.bincount(ground_of(*data(83)).parts)
        assert len(counts) == PARTS
        assert np.ptp(counts) <= 1


class TestLandmarks:
    def test_are_drawn_without_replacement_for_each_member(self):
        ground = ground_of(*data(), n_components=6)
        starts = ground.landmark_starts
        assert (np.diff(starts) == 6).all()
        draws = [ground.landmarks[a:b] for a, b in itertools.pairwise(starts)]
        assert all(len(set(draw)) == 6 for draw in draws)
        assert len({frozenset(draw) for draw in draws}) == 50

    def test_are_at_most_half_of_the_rows(self):
        ground = ground_of(*data(31), n_components=400)
        assert len(ground.landmarks) == 50 * 15
        assert ground.landmark_starts[-1] == 50 * 15

    def test_follow_the_seed(self):
        X, y = data()
        one, same, other = (ground_of(X, y, seed=s).landmarks for s in (0, 0, 1))
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, other)


class TestRelevance:
    def test_of_a_half_never_sees_the_targets_of_the_other(self):
        X, y = data()
        ground = ground_of(X, y)
        odd = np.arange(ground.n_rows) % 2 == 1
        wild = np.random.default_rng(5).normal(size=ground.y.shape) * 7.0
        for half, theirs in (("even", odd), ("odd", ~odd)):
            moved = replace(
                ground, y=np.where(theirs[:, np.newaxis], wild, ground.y), _relevance={}
            )
            for inputs in ("standard", "clip", "rank"):
                mine = ground.relevance(inputs, half)
                np.testing.assert_array_equal(moved.relevance(inputs, half), mine)
                assert not np.allclose(moved.relevance(inputs, "both"), ground.relevance(inputs))

    def test_is_learnt_from_the_rows_of_the_half_alone(self):
        ground = ground_of(*data(), np.random.default_rng(0).uniform(0.5, 2.0, 80))
        mapped = ground.mapped("clip")
        for half, rows in (("both", slice(None)), ("even", slice(0, None, 2))):
            found = ground.relevance("clip", half)
            expected = column_relevance(
                mapped[rows],
                ground.y[rows],
                mapped[ground.landmarks],
                ground.landmark_starts,
                proving.SEARCH_GAPS,
                ground.weight[rows],
            )
            np.testing.assert_array_equal(found, expected)
        assert not np.allclose(ground.relevance("clip", "odd"), ground.relevance("clip", "even"))

    def test_is_judged_by_the_other_half(self):
        ground = ground_of(*data())
        candidate = Candidate("nystroem", "laplace", inputs="standard", relevant=True)
        losses = np.empty((len(ground.gaps), ground.n_rows))
        for learnt, judged in (("even", 1), ("odd", 0)):
            rows = ground.mapped("standard") * ground.relevance("standard", learnt)
            gamma = kwok_tsang_gamma(rows, ground.weight, "laplace")
            values = kernel_values(rows, rows[ground.landmarks], gamma)
            fit = screen(values, ground.y, ground.landmark_starts, ground.weight)
            losses[:, judged::2] = fit.losses(ground.gaps)[:, judged::2]
        errors = losses.mean(axis=1)
        trial = ground.try_out(candidate)
        assert trial.error == pytest.approx(errors.min(), rel=1e-9)
        assert trial.gap == ground.gaps[errors.argmin()]


def kernel_values(rows, landmarks, gamma):
    distances = np.abs(rows[:, np.newaxis] - landmarks).sum(axis=2)
    return np.exp(-gamma * distances)


KINDS = (
    ("fourier", "laplace"),
    ("nystroem", "gaussian"),
    ("nystroem", "laplace"),
    ("nystroem", "cauchy"),
    ("trees", None),
)

CANDIDATES = [
    Candidate("nystroem", "gaussian", inputs="clip"),
    Candidate("nystroem", "laplace", multiple=0.1, inputs="rank"),
    Candidate("nystroem", "cauchy"),
    Candidate("nystroem", "gaussian", alpha=0.1),
    Candidate("fourier", "laplace", multiple=3.0),
    Candidate("orthogonal", "gaussian"),
    Candidate("linear", alpha=0.01),
    Candidate("trees", inputs="none"),
]


class TestTrial:
    @pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
    def test_error_is_the_weighted_mean_of_leave_one_out_at_the_best_gap(self, candidate):
        X, y = data(outputs=2)
        weight = np.random.default_rng(6).uniform(0.5, 2.0, 80)
        ground = ground_of(X, y, weight)
        learnt = fit_input_map(candidate.inputs, ground.X, ground.weight)
        rows = learnt(ground.X)
        kernel = candidate.kernel or "gaussian"
        gamma = candidate.multiple * kwok_tsang_gamma(rows, ground.weight, kernel)
        basis = bare_basis(candidate, gamma, 50, 4, 3, 0).fit(rows, sample_weight=ground.weight)
        features, starts = basis.transform(rows), basis.block_starts_
        if candidate.basis == "nystroem" and candidate.alpha == 0 and kernel != "cauchy":
            landmarks, starts = rows[ground.landmarks], ground.landmark_starts
            bare = NystroemFeatures(1, 4, kernel=kernel, gamma=gamma, random_state=0).fit(rows)
            bare.landmarks_, bare.normalization_ = landmarks, np.eye(200)[np.newaxis]
            bare.block_starts_ = np.array([0, 200])
            features = bare.transform(rows)
        fit = screen(features, ground.y, starts, ground.weight, candidate.alpha)
        losses = fit.losses(ground.gaps)
        errors = losses @ ground.weight / ground.weight.sum()
        trial = ground.try_out(candidate)
        assert trial.candidate == candidate
        assert trial.gap == ground.gaps[errors.argmin()]
        assert trial.error == pytest.approx(errors.min(), rel=1e-6)
        assert ground.gamma(candidate) == pytest.approx(gamma)
        for part in range(PARTS):
            inside = ground.parts == part
            expected = losses[:, inside] @ ground.weight[inside]
            np.testing.assert_allclose(trial.by_part[:, part], expected, rtol=1e-5)

    def test_bare_kernel_values_and_nystroem_features_are_one(self):
        ground = ground_of(*data())
        candidate = Candidate("nystroem", "gaussian", multiple=3.0)
        rows = ground.mapped("standard")
        basis = NystroemFeatures(50, 4, gamma=ground.gamma(candidate), random_state=0).fit(rows)
        basis.landmarks_ = rows[ground.landmarks]
        roots = [
            np.linalg.inv(np.linalg.cholesky(gaussian(block, basis.gamma_))).T
            for block in basis.landmarks_.reshape(50, 4, 3)
        ]
        basis.normalization_ = np.stack(roots)
        fit = screen(basis.transform(rows), ground.y, basis.block_starts_)
        errors = fit.losses(ground.gaps).mean(axis=1)
        assert ground.try_out(candidate).error == pytest.approx(errors.min(), rel=1e-4)

    def test_a_given_gap_is_the_only_one(self):
        X, y = data()
        trial = ground_of(X, y, gap=0.05).try_out(CANDIDATES[0])
        assert trial.gap == 0.05
        assert trial.by_part.shape == (1, PARTS)
        free = ground_of(X, y).try_out(CANDIDATES[0])
        assert free.by_part.shape == (len(proving.SEARCH_GAPS), PARTS)
        assert free.error < trial.error

    def test_a_given_bandwidth_and_relevance_are_kept(self):
        X, y = data()
        ground = ground_of(X, y, given_gamma=0.37, given_relevance=[1.0, 0.0, 0.5])
        assert ground.gamma(CANDIDATES[0]) == 0.37
        standard = fit_input_map("standard", ground.X)(ground.X)
        np.testing.assert_allclose(ground.mapped("standard"), standard * [1.0, 0.0, 0.5])

    def test_sparse_rows_are_tried_like_dense_ones(self):
        X, y = data()
        X = np.where(np.abs(X) > 0.7, X, 0.0)
        for basis, kernel in KINDS:
            candidate = Candidate(basis, kernel, inputs="none", alpha=0.1 * (basis == "trees"))
            one, other = (ground_of(table, y).try_out(candidate) for table in (X, sp.csr_array(X)))
            assert one.error == pytest.approx(other.error, rel=1e-6)

    def test_several_outputs_count_alike_in_units_of_their_own(self):
        X, y = data()
        single = ground_of(X, y).try_out(CANDIDATES[0])
        both = ground_of(X, np.column_stack([y, 1e6 * y - 3.0])).try_out(CANDIDATES[0])
        assert both.error == pytest.approx(single.error, rel=1e-6)

    def test_errors_are_relative_to_the_variance(self):
        X, _ = data(200)
        y = np.random.default_rng(7).normal(size=(200, 1)) * 1e-3
        assert ground_of(X, y).try_out(Candidate("linear")).error == pytest.approx(1.0, abs=0.1)


def gaussian(block, gamma):
    squares = ((block[:, np.newaxis] - block) ** 2).sum(axis=2)
    return np.exp(-gamma * squares)


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (Candidate("nystroem", "laplace"), NystroemFeatures),
        (Candidate("fourier", "cauchy"), FourierFeatures),
        (Candidate("orthogonal", "gaussian"), OrthogonalFourierFeatures),
        (Candidate("linear"), LinearFeatures),
        (Candidate("trees"), TreeFeatures),
    ],
    ids=str,
)
def test_the_basis_of_a_candidate(candidate, kind):
    basis = bare_basis(candidate, 0.3, 7, 4, 9, 5)
    given = {"n_estimators": 7, "n_components": 4, "random_state": 5, "gamma": 0.3}
    given |= {"kernel": candidate.kernel, "standardize": False}
    given |= {"n_components": 3} if kind is LinearFeatures else {}
    assert type(basis) is kind
    for name, value in basis.get_params().items():
        assert value == given[name]


@pytest.mark.parametrize(
    ("n_columns", "n_components", "width"),
    [(1, 10, 1), (2, 10, 1), (3, 10, 2), (4, 10, 3), (50, 10, 3), (50, 2, 2)],
)
def test_linear_members_have_few_columns(n_columns, n_components, width):
    assert linear_width(Candidate("linear"), n_columns, n_components) == width


def test_a_candidate_says_what_it_is():
    one = Candidate("nystroem", "laplace", 0.316, "clip", relevant=True, alpha=0.01)
    assert str(one) == "nystroem laplace, gamma x0.32, inputs clip, by relevance, alpha 0.01"
    assert str(Candidate("trees")) == "trees, inputs standard"


class TestTeacher:
    """Relevance that fewer of the same rows have taught is judged by the others."""

    def grounds(self):
        X, y = data(90)
        few = ground_of(X, y, rung=Rung(40, 10))
        return few, ground_of(X, y, rung=Rung(70, 10), teacher=few)

    def test_has_the_first_of_the_rows(self):
        few, many = self.grounds()
        np.testing.assert_array_equal(few.X, many.X[:40])
        np.testing.assert_array_equal(many.relevance("clip", "taught"), few.relevance("clip"))

    @pytest.mark.parametrize("relevant", [False, True])
    def test_rows_that_it_has_not_seen_judge(self, relevant):
        few, many = self.grounds()
        candidate = Candidate("nystroem", "laplace", inputs="clip", relevant=relevant)
        trial = many.try_out(candidate)
        seen = many.mapped("clip") * (few.relevance("clip") if relevant else 1.0)
        gamma = kwok_tsang_gamma(seen, None, "laplace")
        distance = np.abs(seen[:, np.newaxis] - seen[many.landmarks]).sum(axis=2)
        losses = screen(np.exp(-gamma * distance), many.y, many.landmark_starts).losses(many.gaps)
        expected = losses[:, 40:].mean(axis=1)
        assert trial.error == pytest.approx(expected.min(), rel=1e-8)
        assert trial.gap == many.gaps[int(np.argmin(expected))]

    def test_what_is_prepared_changes_nothing(self):
        _, many = self.grounds()
        tried = [Candidate("nystroem", "gaussian", relevant=r) for r in (False, True)]
        before = [many.try_out(candidate).error for candidate in tried]
        _, other = self.grounds()
        other.prepare(tried)
        assert [other.try_out(candidate).error for candidate in tried] == before
