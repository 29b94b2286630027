"""Candidates are tried on distinct rows, and relevance never on rows that it was learnt from."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_loo

from negcorr.bases import (
    FourierFeatures,
    KernelFeatures,
    LinearFeatures,
    NystroemFeatures,
    TreeFeatures,
    kwok_tsang_gamma,
)
from negcorr.bases.input_maps import fit_input_map
from negcorr.criteria.quick_leave_one_out import screen
from negcorr.rows.rows import Rows
from negcorr.selection import sample as sampling
from negcorr.selection.relevance import learn_relevance
from negcorr.selection.sample import (
    PARTS,
    REFINING_STEPS,
    SEARCH_GAPS,
    SEARCH_RIDGES,
    SearchSample,
)
from negcorr.selection.space import Candidate, SearchSpace, candidate_basis

every_kernel = pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cauchy", "linear"])

every_metric = pytest.mark.parametrize("kernel", ["rbf", "laplacian"])


def data(n=80, d=3, seed=0, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(n, outputs))
    return X, y


def sample_of(X, y, weight=None, gap=None, most_rows=500, **space):
    space = SearchSpace(**{"n_components": 4} | space)
    return SearchSample.of(Rows(X, y, weight), space, 0, gap, most_rows)


def sorted_rows(sample):
    """Rows, targets and weights in an order of their own, one row each."""
    X = sample.X.toarray() if sp.issparse(sample.X) else sample.X
    rows = np.column_stack([X, sample.y, sample.weight])
    return rows[np.lexsort(rows.T)]


def same_sample(one, other, tolerance=0.0):
    np.testing.assert_allclose(other.X, one.X, rtol=0, atol=0)
    np.testing.assert_allclose(other.y, one.y, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(other.weight, one.weight, rtol=tolerance)


def same_relevance(one, other):
    np.testing.assert_array_equal(other.columns, one.columns)
    np.testing.assert_array_equal(other.logs, one.logs)
    assert other.gamma == one.gamma


def literal_kernel(kernel, X, gamma):
    difference = X[:, np.newaxis] - X
    return {
        "rbf": lambda: np.exp(-gamma * (difference**2).sum(axis=2)),
        "laplacian": lambda: np.exp(-gamma * np.abs(difference).sum(axis=2)),
        "cauchy": lambda: np.prod(1.0 / (1.0 + gamma * difference**2), axis=2),
        "linear": lambda: gamma * X @ X.T,
    }[kernel]()


def refits(kernel, y, weight, ridges=SEARCH_RIDGES):
    """Squared errors of kernel ridge regression without each row, (ridges, n)."""
    return np.array([kernel_loo(kernel, y, weight, ridge) for ridge in ridges])


def columns_of(sample, candidate):
    """What columns are multiplied by in the end; None where nothing was learnt."""
    learnt = sample.relevance_of(candidate, "all")
    return None if learnt is None else learnt.columns


def same_trial(trial, losses, sample, strengths):
    """A trial is what these losses, (strengths, n), come to."""
    errors = losses @ sample.weight / sample.weight.sum()
    best = int(errors.argmin())
    assert trial.error == pytest.approx(errors[best], rel=1e-6)
    assert trial.strength == strengths[best]
    np.testing.assert_allclose(trial.losses, losses[best], rtol=1e-4, atol=1e-9)
    assert trial.by_part.shape == (len(strengths), PARTS)
    for part in range(PARTS):
        inside = np.arange(sample.n_rows) % PARTS == part
        expected = losses[:, inside] @ sample.weight[inside]
        np.testing.assert_allclose(trial.by_part[:, part], expected, rtol=1e-4)


class TestRows:
    def test_are_the_distinct_ones_with_weighted_means_of_unit_variance(self):
        X, _ = data(20, 2)
        rng = np.random.default_rng(1)
        index = rng.integers(0, 20, 90)
        y, weight = rng.normal(size=(90, 2)) + 5.0, rng.uniform(0.5, 3.0, 90)
        sample = sample_of(X[index], y, weight)
        distinct = np.unique(index)
        means = np.array(
            [np.average(y[index == i], axis=0, weights=weight[index == i]) for i in distinct]
        )
        mass = np.array([weight[index == i].sum() for i in distinct])
        centre = np.average(means, axis=0, weights=mass)
        spread = np.sqrt(np.average((means - centre) ** 2, axis=0, weights=mass))
        expected = np.column_stack([X[distinct], (means - centre) / spread, mass])
        expected = expected[np.lexsort(expected.T)]
        np.testing.assert_allclose(sorted_rows(sample), expected, rtol=1e-12, atol=1e-12)

    def test_of_no_weight_are_none(self):
        X, y = data()
        weight = np.where(np.arange(80) % 3 == 0, 0.0, 2.0)
        sample = sample_of(np.where(weight[:, np.newaxis] > 0, X, 1e9), y, weight)
        assert sample.n_rows == np.count_nonzero(weight)
        same_sample(sample_of(X[weight > 0], y[weight > 0], weight[weight > 0]), sample)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_come_in_an_order_of_their_own_to_the_last_bit(self, weighted):
        X, _ = data(40)
        rng = np.random.default_rng(2)
        index = rng.integers(0, 40, 200)
        X, y = X[index], rng.normal(size=(200, 2))
        weight = rng.uniform(0.1, 3.0, 200) if weighted else None
        one = sample_of(X, y, weight)
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(200)
            moved = sample_of(X[order], y[order], None if weight is None else weight[order])
            same_sample(one, moved)

    def test_weights_mean_repeated_rows(self):
        X, y = data()
        weight = np.random.default_rng(3).integers(0, 4, 80)
        repeated = sample_of(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
        same_sample(repeated, sample_of(X, y, weight.astype(float)), 1e-12)

    def test_are_not_too_many_and_the_same_whatever_comes_before(self):
        X, y = data(100)
        sample = sample_of(X, y, most_rows=30)
        assert sample.n_rows == len(sample.weight) == sample.X.shape[0] == 30
        order = np.random.default_rng(0).permutation(100)
        same_sample(sample, sample_of(X[order], y[order], most_rows=30))
        np.testing.assert_allclose(sample.y.mean(), 0.0, atol=1e-12)
        np.testing.assert_allclose(sample.y.std(), 1.0)
        # Targets are those of the rows.
        where = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in sample.X]
        np.testing.assert_allclose(np.corrcoef(sample.y.T, y[where].T)[0, 1], 1.0)

    def test_are_at_most_500(self):
        X, y = data(600, 2)
        assert sample_of(X, y).n_rows == 500
        assert sample_of(X[:500], y[:500]).n_rows == 500

    @pytest.mark.parametrize("weighted", [False, True])
    def test_lose_outputs_that_do_not_vary(self, weighted):
        X, y = data()
        weight = np.random.default_rng(4).uniform(0.1, 3.0, 80) if weighted else None
        both = np.column_stack([np.full(80, 0.1), y[:, 0], np.full(80, -1e6)])
        X, both = np.tile(X, (2, 1)), np.tile(both, (2, 1))
        weight = None if weight is None else np.tile(weight, 2)
        sample = sample_of(X, both, weight)
        assert sample.y.shape == (80, 1)
        np.testing.assert_allclose(
            sample.y, sample_of(X, both[:, 1:2], weight).y, rtol=1e-12, atol=1e-12
        )
        assert sample_of(X, both[:, [0, 2]], weight).y.shape == (80, 0)

    def test_may_be_sparse_and_stay_so(self):
        X, y = data()
        X = np.where(np.abs(X) > 0.7, X, 0.0)
        sample = sample_of(sp.csr_array(X), y)
        assert sp.issparse(sample.X)
        same = sample_of(X, y)
        np.testing.assert_array_equal(sample.X.toarray(), same.X)
        np.testing.assert_array_equal(sample.y, same.y)


class TestMoreRows:
    """Where there are many, relevance is learnt from more of them in the end."""

    @pytest.fixture(autouse=True)
    def small_numbers(self, monkeypatch):
        monkeypatch.setattr(sampling, "ROWS", 40)
        monkeypatch.setattr(sampling, "MANY_ROWS", 90)
        monkeypatch.setattr(sampling, "MORE_ROWS", 70)
        monkeypatch.setattr(sampling, "ROWS_FOR_RELEVANCE", 60)

    def sample(self, n=100, **settings):
        rng = np.random.default_rng(0)
        X, y = data(n)
        return sample_of(X, y, rng.uniform(0.5, 2.0, n), most_rows=40, **settings)

    def test_are_the_same_and_others(self):
        sample = self.sample(gamma=0.3, given_relevance=[1.0, 0.5, 0.2], gap=0.1)
        assert (sample.n_rows, sample.larger.n_rows) == (40, 70)
        np.testing.assert_array_equal(sample.larger.X[:40], sample.X)
        np.testing.assert_array_equal(sample.larger.weight[:40], sample.weight)
        # Targets have unit variance over other rows.
        assert np.corrcoef(sample.larger.y[:40, 0], sample.y[:, 0])[0, 1] == pytest.approx(1.0)
        assert sample.larger.larger is None
        for name in ("space", "seed"):
            assert getattr(sample.larger, name) == getattr(sample, name)
        np.testing.assert_array_equal(sample.larger.gaps, sample.gaps)

    def test_are_there_where_distinct_ones_are_many(self):
        assert self.sample(90).larger is not None
        assert self.sample(89).larger is None
        X, y = data(89)
        repeated = sample_of(np.tile(X, (2, 1)), np.tile(y, (2, 1)), most_rows=40)
        assert repeated.larger is None

    def test_are_all_where_these_are_fewer_than_are_wanted(self, monkeypatch):
        monkeypatch.setattr(sampling, "MORE_ROWS", 1000)
        assert self.sample(100).larger.n_rows == 100

    @every_metric
    def test_teach_relevance_from_where_fewer_have_led(self, kernel):
        sample = self.sample()
        start = sample.relevance("clip", kernel, "both").logs
        larger = sample.larger
        first = larger.mapped("clip")[:60], larger.y[:60], kernel, larger.weight[:60]
        expected = learn_relevance(*first, start, REFINING_STEPS)
        same_relevance(expected, sample.relevance("clip", kernel, "all"))
        candidate = Candidate("kernel", kernel, 10.0, "clip", relevant=True)
        np.testing.assert_array_equal(columns_of(sample, candidate), expected.columns)
        assert sample.gamma(candidate, "all") == 10.0 * expected.gamma
        assert sample.gamma(candidate) == 10.0 * sample.relevance("clip", kernel).gamma

    def test_teach_relevance_from_the_start_where_nothing_is_known(self):
        sample = self.sample()
        larger = sample.larger
        first = larger.mapped("rank")[:60], larger.y[:60], "laplacian", larger.weight[:60]
        expected = learn_relevance(*first)
        same_relevance(expected, sample.relevance("rank", "laplacian", "all"))

    def test_that_are_not_there_change_nothing(self):
        sample = self.sample(80)
        same_relevance(
            sample.relevance("clip", "laplacian"), sample.relevance("clip", "laplacian", "all")
        )

    def test_do_not_change_what_is_tried(self):
        sample = self.sample()
        alone = replace(sample, larger=None, _relevance={}, _mapped={}, _distances={})
        for relevant in (False, True):
            candidate = Candidate("kernel", "laplacian", inputs="clip", relevant=relevant)
            one, other = sample.trial_of(candidate), alone.trial_of(candidate)
            np.testing.assert_array_equal(one.by_part, other.by_part)


class TestRelevance:
    @every_metric
    def test_of_a_half_never_sees_the_targets_of_the_other(self, kernel):
        sample = sample_of(*data())
        odd = np.arange(sample.n_rows) % 2 == 1
        wild = np.random.default_rng(5).normal(size=sample.y.shape) * 7.0
        for half, theirs in (("even", odd), ("odd", ~odd)):
            moved = replace(
                sample, y=np.where(theirs[:, np.newaxis], wild, sample.y), _relevance={}
            )
            for inputs in ("standard", "clip", "rank"):
                mine = sample.relevance(inputs, kernel, half)
                same_relevance(mine, moved.relevance(inputs, kernel, half))
                both = sample.relevance(inputs, kernel)
                assert not np.allclose(moved.relevance(inputs, kernel).logs, both.logs)

    @every_metric
    def test_of_a_half_is_tested_on_no_row_of_its_own_half(self, kernel):
        sample = sample_of(*data(40))
        candidate = Candidate("kernel", kernel, relevant=True)
        trial = sample.trial_of(candidate)
        # A row's own target decides its error, but not the relevance that it is tested with.
        for i in (0, 7):
            y = sample.y.copy()
            y[i] += 3.0
            moved = replace(sample, y=y, _relevance={}, _distances={})
            half = "odd" if i % 2 == 0 else "even"
            same_relevance(
                sample.relevance("standard", kernel, half),
                moved.relevance("standard", kernel, half),
            )
            learnt = sample.relevance("standard", kernel, half)
            seen = sample.mapped("standard") * learnt.columns
            values = literal_kernel(kernel, seen, learnt.gamma)
            losses = refits(values, sample.y, sample.weight, [trial.strength])[0]
            assert trial.losses[i] == pytest.approx(losses[i], rel=1e-6)

    @every_metric
    def test_is_learnt_from_the_rows_of_the_half_alone(self, kernel):
        sample = sample_of(*data(), np.random.default_rng(0).uniform(0.5, 2.0, 80))
        mapped = sample.mapped("clip")
        for half, rows in (("even", slice(0, None, 2)), ("odd", slice(1, None, 2))):
            expected = learn_relevance(mapped[rows], sample.y[rows], kernel, sample.weight[rows])
            same_relevance(expected, sample.relevance("clip", kernel, half))
        one, other = (sample.relevance("clip", kernel, half).logs for half in ("even", "odd"))
        assert not np.allclose(one, other)

    @every_metric
    def test_of_all_rows_goes_on_from_between_the_halves(self, kernel):
        fresh, sample = sample_of(*data()), sample_of(*data())
        given = (sample.mapped("clip"), sample.y, kernel, sample.weight)
        same_relevance(learn_relevance(*given), fresh.relevance("clip", kernel))
        halves = [sample.relevance("clip", kernel, half).logs for half in ("even", "odd")]
        expected = learn_relevance(*given, np.mean(halves, axis=0), REFINING_STEPS)
        same_relevance(expected, sample.relevance("clip", kernel, "both"))

    def test_is_learnt_once(self, monkeypatch):
        calls = []
        monkeypatch.setattr(sampling, "learn_relevance", lambda *given: calls.append(given))
        sample = sample_of(*data())
        for _ in range(2):
            assert sample.relevance("clip", "laplacian", "even") is None
            assert sample.relevance("clip", "rbf", "even") is None
        assert [given[2] for given in calls] == ["laplacian", "rbf"]

    @every_metric
    def test_is_tested_on_the_other_half(self, kernel):
        weight = np.random.default_rng(3).uniform(0.5, 2.0, 40)
        sample = sample_of(*data(40), weight)
        candidate = Candidate("kernel", kernel, inputs="standard", relevant=True)
        losses = np.empty((len(SEARCH_RIDGES), sample.n_rows))
        for learnt, tested in (("even", 1), ("odd", 0)):
            found = sample.relevance("standard", kernel, learnt)
            rows = sample.mapped("standard") * found.columns
            values = literal_kernel(kernel, rows, found.gamma)
            losses[:, tested::2] = refits(values, sample.y, sample.weight)[:, tested::2]
        same_trial(sample.trial_of(candidate), losses, sample, SEARCH_RIDGES)

    @every_metric
    def test_may_be_tested_on_its_own_rows(self, kernel):
        sample = sample_of(*data(40))
        candidate = Candidate("kernel", kernel, inputs="rank", relevant=True)
        fair = sample.trial_of(candidate)
        trial = sample.trial_of(candidate, by_own_rows=True)
        found = sample.relevance("rank", kernel, "both")
        values = literal_kernel(kernel, sample.mapped("rank") * found.columns, found.gamma)
        losses = refits(values, sample.y, sample.weight)
        same_trial(trial, losses, sample, SEARCH_RIDGES)
        assert trial.error < fair.error

    def test_of_features_that_are_no_kernels_is_tested_on_the_other_half(self):
        sample = sample_of(*data())
        candidate = Candidate("fourier", "laplacian", 3.0, "clip", relevant=True)
        losses = np.empty((len(SEARCH_GAPS), sample.n_rows))
        for half, tested in (("even", 1), ("odd", 0)):
            learnt = sample.relevance("clip", "laplacian", half)
            rows = sample.mapped("clip") * learnt.columns
            basis = FourierFeatures(
                50, 4, kernel="laplacian", gamma=3.0 * learnt.gamma, inputs="none"
            )
            basis.set_params(random_state=0).fit(rows)
            fit = screen(basis.transform(rows), sample.y, basis.block_starts_)
            losses[:, tested::2] = fit.losses(SEARCH_GAPS)[:, tested::2]
        same_trial(sample.trial_of(candidate), losses, sample, SEARCH_GAPS)

    def test_of_kernels_without_a_metric_is_that_of_the_gaussian(self):
        sample = sample_of(*data(40))
        learnt = sample.relevance("clip", "rbf")
        for kernel in ("cauchy", "linear"):
            candidate = Candidate("kernel", kernel, 10.0, "clip", relevant=True)
            np.testing.assert_array_equal(columns_of(sample, candidate), learnt.columns)
            seen = sample.mapped("clip") * learnt.columns
            assert sample.gamma(candidate) == 10.0 * kwok_tsang_gamma(seen, sample.weight)

    def test_that_cannot_be_learnt_leaves_columns_alone(self):
        X, y = data(40, 1)
        sample = sample_of(X, y)
        plain, relevant = (
            Candidate("kernel", "laplacian", inputs="clip", relevant=r) for r in (False, True)
        )
        assert columns_of(sample, relevant) is None
        assert sample.gamma(relevant) == sample.gamma(plain)
        np.testing.assert_array_equal(
            sample.trial_of(relevant).by_part, sample.trial_of(plain).by_part
        )

    def test_that_is_not_asked_for_is_none(self):
        assert columns_of(sample_of(*data(40)), Candidate("kernel", "laplacian")) is None


#: Tried by their features.
FEATURES = [
    Candidate("nystroem", "laplacian", multiple=0.1, inputs="rank"),
    Candidate("nystroem", "cauchy"),
    Candidate("nystroem", "rbf", alpha=0.1),
    Candidate("fourier", "laplacian", multiple=3.0),
    Candidate("orthogonal", "rbf"),
    Candidate("linear", alpha=0.01),
    Candidate("trees", inputs="none"),
]


class TestTrial:
    @every_kernel
    @pytest.mark.parametrize("inputs", ["clip", "rank"])
    def test_of_a_kernel_is_leave_one_out_of_kernel_ridge_regression(self, kernel, inputs):
        X, y = data(35, outputs=2)
        sample = sample_of(X, y, np.random.default_rng(6).uniform(0.5, 2.0, 35))
        rows = fit_input_map(inputs, sample.X, sample.weight)(sample.X)
        like = "rbf" if kernel == "linear" else kernel
        gamma = 3.0 * kwok_tsang_gamma(rows, sample.weight, like)
        candidate = Candidate("kernel", kernel, 3.0, inputs, alpha=10.0)
        assert sample.gamma(candidate) == pytest.approx(gamma, rel=1e-12)
        losses = refits(literal_kernel(kernel, rows, gamma), sample.y, sample.weight)
        trial = sample.trial_of(candidate)
        assert trial.candidate == candidate
        same_trial(trial, losses, sample, SEARCH_RIDGES)

    @pytest.mark.parametrize("candidate", FEATURES, ids=str)
    def test_of_features_is_leave_one_out_with_whitening_held(self, candidate):
        X, y = data(outputs=2)
        sample = sample_of(X, y, np.random.default_rng(6).uniform(0.5, 2.0, 80))
        rows = fit_input_map(candidate.inputs, sample.X, sample.weight)(sample.X)
        kernel = candidate.kernel or "rbf"
        gamma = candidate.multiple * kwok_tsang_gamma(rows, sample.weight, kernel)
        assert sample.gamma(candidate) == pytest.approx(gamma, rel=1e-12)
        basis = candidate_basis(candidate, gamma, 50, 4, 3, 0, inputs="none")
        basis.fit_rows(Rows(rows, sample.y, sample.weight, sample.keys))
        fit = screen(
            basis.transform(rows), sample.y, basis.block_starts_, sample.weight, candidate.alpha
        )
        trial = sample.trial_of(candidate)
        assert trial.candidate == candidate
        same_trial(trial, fit.losses(SEARCH_GAPS), sample, SEARCH_GAPS)

    def test_of_members_that_are_wide_has_half_of_the_rows_at_most(self, monkeypatch):
        made, given = [], candidate_basis

        def noted(*settings, **inputs):
            made.append(settings)
            return given(*settings, **inputs)

        monkeypatch.setattr(sampling, "candidate_basis", noted)
        sample_of(*data(31), n_components=400).trial_of(Candidate("fourier", "rbf"))
        assert made[0][2:] == (50, 15, 3, 0)

    def test_at_a_given_gap_has_that_one_unless_it_is_of_a_kernel(self):
        X, y = data()
        given, free = sample_of(X, y, gap=0.05), sample_of(X, y)
        candidate = Candidate("fourier", "laplacian")
        trial = given.trial_of(candidate)
        assert trial.strength == 0.05
        assert trial.by_part.shape == (1, PARTS)
        assert free.trial_of(candidate).error < trial.error
        candidate = Candidate("kernel", "laplacian")
        assert given.trial_of(candidate).error == free.trial_of(candidate).error

    def test_has_a_given_bandwidth_and_relevance(self):
        X, y = data(40)
        columns = [1.0, 0.0, 0.5]
        sample = sample_of(X, y, gamma=0.37, given_relevance=columns)
        rows = fit_input_map("standard", sample.X)(sample.X) * columns
        np.testing.assert_allclose(sample.mapped("standard"), rows)
        for relevant in (False, True):
            assert sample.gamma(Candidate("kernel", "laplacian", relevant=relevant)) == 0.37
        losses = refits(literal_kernel("laplacian", rows, 0.37), sample.y, sample.weight)
        candidate = Candidate("kernel", "laplacian", multiple=10.0)
        same_trial(sample.trial_of(candidate), losses, sample, SEARCH_RIDGES)

    @pytest.mark.parametrize(
        ("basis", "kernel"),
        [
            ("kernel", "rbf"),
            ("kernel", "laplacian"),
            ("kernel", "cauchy"),
            ("kernel", "linear"),
            ("fourier", "laplacian"),
            ("nystroem", "rbf"),
            ("nystroem", "laplacian"),
            ("trees", None),
        ],
    )
    def test_of_sparse_rows_is_that_of_dense_ones(self, basis, kernel):
        X, y = data()
        X = np.where(np.abs(X) > 0.7, X, 0.0)
        candidate = Candidate(basis, kernel, inputs="none", alpha=0.1 * (basis == "trees"))
        one, other = (sample_of(table, y).trial_of(candidate) for table in (X, sp.csr_array(X)))
        assert one.error == pytest.approx(other.error, rel=1e-6)

    def test_of_several_outputs_counts_them_alike_in_units_of_their_own(self):
        X, y = data()
        for candidate in (Candidate("kernel", "laplacian"), FEATURES[0]):
            single = sample_of(X, y).trial_of(candidate)
            both = sample_of(X, np.column_stack([y, 1e6 * y - 3.0])).trial_of(candidate)
            assert both.error == pytest.approx(single.error, rel=1e-6)

    @pytest.mark.parametrize("candidate", [Candidate("linear"), Candidate("kernel", "laplacian")])
    def test_has_errors_relative_to_the_variance(self, candidate):
        X, _ = data(200)
        y = np.random.default_rng(7).normal(size=(200, 1)) * 1e-3
        assert sample_of(X, y).trial_of(candidate).error == pytest.approx(1.0, abs=0.1)


class TestPreparing:
    CANDIDATES = tuple(
        Candidate("kernel", kernel, multiple, "clip", relevant)
        for kernel in ("rbf", "laplacian", "linear")
        for multiple in (1.0, 10.0)
        for relevant in (False, True)
    )

    def test_changes_nothing(self):
        ready, bare = sample_of(*data(40)), sample_of(*data(40))
        ready.prepare(self.CANDIDATES)
        for candidate in self.CANDIDATES:
            one, other = ready.trial_of(candidate), bare.trial_of(candidate)
            np.testing.assert_array_equal(one.by_part, other.by_part)

    def test_makes_everything_once_that_trials_need(self, monkeypatch):
        learnt, measured, maps = [], [], []

        def noted(calls, function, key):
            def call(*given):
                calls.append(key(given))
                return function(*given)

            return call

        of_rows = sampling.learn_relevance, sampling.cdist, sampling.fit_input_map
        keys = (lambda given: (given[2], len(given[0]))), (lambda given: given[2]), (lambda g: g[0])
        for calls, function, key in zip((learnt, measured, maps), of_rows, keys, strict=True):
            monkeypatch.setattr(sampling, function.__name__, noted(calls, function, key))
        sample = sample_of(*data(41))
        sample.prepare([*self.CANDIDATES, Candidate("fourier", "laplacian", inputs="rank")])
        halves = [("laplacian", 20), ("laplacian", 21), ("rbf", 20), ("rbf", 21)]
        assert sorted(learnt) == halves
        assert sorted(measured) == ["cityblock"] * 3 + ["sqeuclidean"] * 3
        assert sorted(maps) == ["clip", "rank"]
        for candidate in self.CANDIDATES:
            sample.trial_of(candidate)
        assert (len(learnt), len(measured), len(maps)) == (4, 6, 2)

    def test_for_nothing_is_nothing(self):
        sample = sample_of(*data(40))
        sample.prepare([])
        assert not sample._mapped
        assert not sample._relevance


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (Candidate("kernel", "laplacian"), KernelFeatures),
        (Candidate("kernel", "linear"), KernelFeatures),
        (Candidate("kernel", "rbf", subspace=0.25), KernelFeatures),
        (Candidate("fourier", "rbf", subspace=0.5), FourierFeatures),
        (Candidate("nystroem", "laplacian"), NystroemFeatures),
        (Candidate("fourier", "cauchy"), FourierFeatures),
        (Candidate("orthogonal", "rbf"), FourierFeatures),
        (Candidate("linear"), LinearFeatures),
        (Candidate("trees"), TreeFeatures),
    ],
    ids=str,
)
def test_the_basis_of_a_candidate(candidate, kind):
    columns = np.arange(9.0)
    given = {"inputs": "rank", "relevance": columns}
    basis = candidate_basis(candidate, 0.3, 7, 4, 9, 5, **given)
    given |= {"n_members": 7, "n_components": 4, "random_state": 5, "gamma": 0.3}
    given |= {"kernel": candidate.kernel, "subspace": candidate.subspace}
    given |= {"n_components": 3} if kind is LinearFeatures else {}
    given |= {"orthogonal": candidate.basis == "orthogonal"}
    assert type(basis) is kind
    for name, value in basis.get_params().items():
        assert value is given[name] if name == "relevance" else value == given[name]


@pytest.mark.parametrize(
    ("n_columns", "n_components", "width"),
    [(1, 10, 1), (2, 10, 1), (3, 10, 2), (4, 10, 3), (50, 10, 3), (50, 2, 2)],
)
def test_linear_members_have_few_columns(n_columns, n_components, width):
    candidate = Candidate("linear")
    basis = candidate_basis(candidate, 1.0, 7, n_components, n_columns, 0, inputs="none")
    assert basis.n_components == width


@pytest.mark.parametrize(("columns", "width"), [(1, 1), (5, 5), (9, 9), (20, 9)])
def test_linear_members_have_the_columns_that_are_given(columns, width):
    candidate = Candidate("linear", columns=columns)
    assert candidate_basis(candidate, 1.0, 7, 2, 9, 0, inputs="none").n_components == width


@pytest.mark.parametrize(
    ("candidate", "text"),
    [
        (
            Candidate("nystroem", "laplacian", 0.316, "clip", relevant=True, alpha=0.01),
            "nystroem laplacian, gamma x0.32, inputs clip, by relevance, alpha 0.01",
        ),
        (
            Candidate("kernel", "rbf", 10.0, "rank", relevant=True, alpha=10.0),
            "kernel rbf, gamma x10, inputs rank, by relevance",
        ),
        (Candidate("kernel", "linear"), "kernel linear, inputs standard"),
        (Candidate("trees"), "trees, inputs standard"),
        (Candidate("trees", alpha=10.0), "trees, inputs standard, alpha 10"),
    ],
)
def test_a_candidate_says_what_it_is(candidate, text):
    assert str(candidate) == text
