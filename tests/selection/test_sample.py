"""Candidates are tried on distinct rows, and relevance never on rows that it was learnt from."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from negcorr.selection.candidates import Candidate, bare_basis, linear_width
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
from negcorr.selection import sample as proving
from negcorr.selection.relevance import learn_relevance
from negcorr.selection.sample import (
    PARTS,
    REFINING_STEPS,
    SEARCH_GAPS,
    SEARCH_RIDGES,
    ProvingGround,
)

every_kernel = pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cauchy", "linear"])

every_metric = pytest.mark.parametrize("kernel", ["rbf", "laplacian"])


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


def same_trial(trial, losses, ground, strengths):
    """A trial is what these losses, (strengths, n), come to."""
    errors = losses @ ground.weight / ground.weight.sum()
    best = int(errors.argmin())
    assert trial.error == pytest.approx(errors[best], rel=1e-6)
    assert trial.strength == strengths[best]
    np.testing.assert_allclose(trial.losses, losses[best], rtol=1e-4, atol=1e-9)
    assert trial.by_part.shape == (len(strengths), PARTS)
    for part in range(PARTS):
        inside = ground.parts == part
        expected = losses[:, inside] @ ground.weight[inside]
        np.testing.assert_allclose(trial.by_part[:, part], expected, rtol=1e-4)


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
        X, y = data(100)
        ground = ground_of(X, y, most_rows=30)
        assert ground.n_rows == len(ground.weight) == ground.X.shape[0] == 30
        order = np.random.default_rng(0).permutation(100)
        same_ground(ground, ground_of(X[order], y[order], most_rows=30))
        np.testing.assert_allclose(ground.y.mean(), 0.0, atol=1e-12)
        np.testing.assert_allclose(ground.y.std(), 1.0)
        # Targets are those of the rows.
        where = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in ground.X]
        np.testing.assert_allclose(np.corrcoef(ground.y.T, y[where].T)[0, 1], 1.0)

    def test_are_at_most_500(self):
        X, y = data(600, 2)
        assert ground_of(X, y).n_rows == 500
        assert ground_of(X[:500], y[:500]).n_rows == 500

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


class TestMoreRows:
    """Where there are many, relevance is learnt from more of them in the end."""

    @pytest.fixture(autouse=True)
    def small_numbers(self, monkeypatch):
        monkeypatch.setattr(proving, "ROWS", 40)
        monkeypatch.setattr(proving, "MANY_ROWS", 90)
        monkeypatch.setattr(proving, "MORE_ROWS", 70)
        monkeypatch.setattr(proving, "ROWS_FOR_RELEVANCE", 60)

    def ground(self, n=100, **settings):
        rng = np.random.default_rng(0)
        X, y = data(n)
        return ground_of(X, y, rng.uniform(0.5, 2.0, n), most_rows=40, **settings)

    def test_are_the_same_and_others(self):
        ground = self.ground(given_gamma=0.3, given_relevance=[1.0, 0.5, 0.2], gap=0.1)
        assert (ground.n_rows, ground.more.n_rows) == (40, 70)
        np.testing.assert_array_equal(ground.more.X[:40], ground.X)
        np.testing.assert_array_equal(ground.more.weight[:40], ground.weight)
        # Targets have unit variance over other rows.
        assert np.corrcoef(ground.more.y[:40, 0], ground.y[:, 0])[0, 1] == pytest.approx(1.0)
        assert ground.more.more is None
        for name in ("n_components", "seed", "given_gamma"):
            assert getattr(ground.more, name) == getattr(ground, name)
        np.testing.assert_array_equal(ground.more.given_relevance, ground.given_relevance)
        np.testing.assert_array_equal(ground.more.gaps, ground.gaps)

    def test_are_there_where_distinct_ones_are_many(self):
        assert self.ground(90).more is not None
        assert self.ground(89).more is None
        X, y = data(89)
        repeated = ground_of(np.tile(X, (2, 1)), np.tile(y, (2, 1)), most_rows=40)
        assert repeated.more is None

    def test_are_all_where_these_are_fewer_than_are_wanted(self, monkeypatch):
        monkeypatch.setattr(proving, "MORE_ROWS", 1000)
        assert self.ground(100).more.n_rows == 100

    @every_metric
    def test_teach_relevance_from_where_fewer_have_led(self, kernel):
        ground = self.ground()
        start = ground.relevance("clip", kernel, "both").logs
        more = ground.more
        first = more.mapped("clip")[:60], more.y[:60], kernel, more.weight[:60]
        expected = learn_relevance(*first, start, REFINING_STEPS)
        same_relevance(expected, ground.relevance("clip", kernel, "all"))
        candidate = Candidate("kernel", kernel, 10.0, "clip", relevant=True)
        np.testing.assert_array_equal(ground.columns(candidate), expected.columns)
        assert ground.gamma(candidate) == 10.0 * expected.gamma

    def test_teach_relevance_from_the_start_where_nothing_is_known(self):
        ground = self.ground()
        more = ground.more
        first = more.mapped("rank")[:60], more.y[:60], "laplacian", more.weight[:60]
        expected = learn_relevance(*first)
        same_relevance(expected, ground.relevance("rank", "laplacian", "all"))

    def test_that_are_not_there_change_nothing(self):
        ground = self.ground(80)
        same_relevance(
            ground.relevance("clip", "laplacian"), ground.relevance("clip", "laplacian", "all")
        )

    def test_do_not_change_what_is_tried(self):
        ground = self.ground()
        alone = replace(ground, more=None, _relevance={}, _mapped={}, _distances={})
        for relevant in (False, True):
            candidate = Candidate("kernel", "laplacian", inputs="clip", relevant=relevant)
            one, other = ground.try_out(candidate), alone.try_out(candidate)
            np.testing.assert_array_equal(one.by_part, other.by_part)


class TestRelevance:
    @every_metric
    def test_of_a_half_never_sees_the_targets_of_the_other(self, kernel):
        ground = ground_of(*data())
        odd = np.arange(ground.n_rows) % 2 == 1
        wild = np.random.default_rng(5).normal(size=ground.y.shape) * 7.0
        for half, theirs in (("even", odd), ("odd", ~odd)):
            moved = replace(
                ground, y=np.where(theirs[:, np.newaxis], wild, ground.y), _relevance={}
            )
            for inputs in ("standard", "clip", "rank"):
                mine = ground.relevance(inputs, kernel, half)
                same_relevance(mine, moved.relevance(inputs, kernel, half))
                both = ground.relevance(inputs, kernel)
                assert not np.allclose(moved.relevance(inputs, kernel).logs, both.logs)

    @every_metric
    def test_of_a_half_judges_no_row_by_the_targets_of_its_own_half(self, kernel):
        ground = ground_of(*data(40))
        candidate = Candidate("kernel", kernel, relevant=True)
        trial = ground.try_out(candidate)
        # A row's own target decides its error, but not what it is judged by.
        for i in (0, 7):
            y = ground.y.copy()
            y[i] += 3.0
            moved = replace(ground, y=y, _relevance={}, _distances={})
            half = "odd" if i % 2 == 0 else "even"
            same_relevance(
                ground.relevance("standard", kernel, half),
                moved.relevance("standard", kernel, half),
            )
            learnt = ground.relevance("standard", kernel, half)
            seen = ground.mapped("standard") * learnt.columns
            values = literal_kernel(kernel, seen, learnt.gamma)
            losses = refits(values, ground.y, ground.weight, [trial.strength])[0]
            assert trial.losses[i] == pytest.approx(losses[i], rel=1e-6)

    @every_metric
    def test_is_learnt_from_the_rows_of_the_half_alone(self, kernel):
        ground = ground_of(*data(), np.random.default_rng(0).uniform(0.5, 2.0, 80))
        mapped = ground.mapped("clip")
        for half, rows in (("even", slice(0, None, 2)), ("odd", slice(1, None, 2))):
            expected = learn_relevance(mapped[rows], ground.y[rows], kernel, ground.weight[rows])
            same_relevance(expected, ground.relevance("clip", kernel, half))
        one, other = (ground.relevance("clip", kernel, half).logs for half in ("even", "odd"))
        assert not np.allclose(one, other)

    @every_metric
    def test_of_all_rows_goes_on_from_between_the_halves(self, kernel):
        fresh, ground = ground_of(*data()), ground_of(*data())
        given = (ground.mapped("clip"), ground.y, kernel, ground.weight)
        same_relevance(learn_relevance(*given), fresh.relevance("clip", kernel))
        halves = [ground.relevance("clip", kernel, half).logs for half in ("even", "odd")]
        expected = learn_relevance(*given, np.mean(halves, axis=0), REFINING_STEPS)
        same_relevance(expected, ground.relevance("clip", kernel, "both"))

    def test_is_learnt_once(self, monkeypatch):
        calls = []
        monkeypatch.setattr(proving, "learn_relevance", lambda *given: calls.append(given))
        ground = ground_of(*data())
        for _ in range(2):
            assert ground.relevance("clip", "laplacian", "even") is None
            assert ground.relevance("clip", "rbf", "even") is None
        assert [given[2] for given in calls] == ["laplacian", "rbf"]

    @every_metric
    def test_is_judged_by_the_other_half(self, kernel):
        weight = np.random.default_rng(3).uniform(0.5, 2.0, 40)
        ground = ground_of(*data(40), weight)
        candidate = Candidate("kernel", kernel, inputs="standard", relevant=True)
        losses = np.empty((len(SEARCH_RIDGES), ground.n_rows))
        for learnt, judged in (("even", 1), ("odd", 0)):
            found = ground.relevance("standard", kernel, learnt)
            rows = ground.mapped("standard") * found.columns
            values = literal_kernel(kernel, rows, found.gamma)
            losses[:, judged::2] = refits(values, ground.y, ground.weight)[:, judged::2]
        same_trial(ground.try_out(candidate), losses, ground, SEARCH_RIDGES)

    @every_metric
    def test_may_be_judged_by_its_own_rows(self, kernel):
        ground = ground_of(*data(40))
        candidate = Candidate("kernel", kernel, inputs="rank", relevant=True)
        fair = ground.try_out(candidate)
        trial = ground.try_out(candidate, by_own_rows=True)
        found = ground.relevance("rank", kernel, "both")
        values = literal_kernel(kernel, ground.mapped("rank") * found.columns, found.gamma)
        losses = refits(values, ground.y, ground.weight)
        same_trial(trial, losses, ground, SEARCH_RIDGES)
        assert trial.error < fair.error

    def test_of_features_that_are_no_kernels_is_judged_by_the_other_half(self):
        ground = ground_of(*data())
        candidate = Candidate("fourier", "laplacian", 3.0, "clip", relevant=True)
        losses = np.empty((len(SEARCH_GAPS), ground.n_rows))
        for half, judged in (("even", 1), ("odd", 0)):
            learnt = ground.relevance("clip", "laplacian", half)
            rows = ground.mapped("clip") * learnt.columns
            basis = FourierFeatures(
                50, 4, kernel="laplacian", gamma=3.0 * learnt.gamma, inputs="none"
            )
            basis.set_params(random_state=0).fit(rows)
            fit = screen(basis.transform(rows), ground.y, basis.block_starts_)
            losses[:, judged::2] = fit.losses(SEARCH_GAPS)[:, judged::2]
        same_trial(ground.try_out(candidate), losses, ground, SEARCH_GAPS)

    def test_of_kernels_without_a_metric_is_that_of_the_gaussian(self):
        ground = ground_of(*data(40))
        learnt = ground.relevance("clip", "rbf")
        for kernel in ("cauchy", "linear"):
            candidate = Candidate("kernel", kernel, 10.0, "clip", relevant=True)
            np.testing.assert_array_equal(ground.columns(candidate), learnt.columns)
            seen = ground.mapped("clip") * learnt.columns
            assert ground.gamma(candidate) == 10.0 * kwok_tsang_gamma(seen, ground.weight)

    def test_that_cannot_be_learnt_leaves_columns_alone(self):
        X, y = data(40, 1)
        ground = ground_of(X, y)
        plain, relevant = (
            Candidate("kernel", "laplacian", inputs="clip", relevant=r) for r in (False, True)
        )
        assert ground.columns(relevant) is None
        assert ground.gamma(relevant) == ground.gamma(plain)
        np.testing.assert_array_equal(
            ground.try_out(relevant).by_part, ground.try_out(plain).by_part
        )

    def test_that_is_not_asked_for_is_none(self):
        assert ground_of(*data(40)).columns(Candidate("kernel", "laplacian")) is None


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
        ground = ground_of(X, y, np.random.default_rng(6).uniform(0.5, 2.0, 35))
        rows = fit_input_map(inputs, ground.X, ground.weight)(ground.X)
        like = "rbf" if kernel == "linear" else kernel
        gamma = 3.0 * kwok_tsang_gamma(rows, ground.weight, like)
        candidate = Candidate("kernel", kernel, 3.0, inputs, alpha=10.0)
        assert ground.gamma(candidate) == pytest.approx(gamma, rel=1e-12)
        losses = refits(literal_kernel(kernel, rows, gamma), ground.y, ground.weight)
        trial = ground.try_out(candidate)
        assert trial.candidate == candidate
        same_trial(trial, losses, ground, SEARCH_RIDGES)

    @pytest.mark.parametrize("candidate", FEATURES, ids=str)
    def test_of_features_is_leave_one_out_with_whitening_held(self, candidate):
        X, y = data(outputs=2)
        ground = ground_of(X, y, np.random.default_rng(6).uniform(0.5, 2.0, 80))
        rows = fit_input_map(candidate.inputs, ground.X, ground.weight)(ground.X)
        kernel = candidate.kernel or "rbf"
        gamma = candidate.multiple * kwok_tsang_gamma(rows, ground.weight, kernel)
        assert ground.gamma(candidate) == pytest.approx(gamma, rel=1e-12)
        basis = bare_basis(candidate, gamma, 50, 4, 3, 0).fit(rows, sample_weight=ground.weight)
        fit = screen(
            basis.transform(rows), ground.y, basis.block_starts_, ground.weight, candidate.alpha
        )
        trial = ground.try_out(candidate)
        assert trial.candidate == candidate
        same_trial(trial, fit.losses(SEARCH_GAPS), ground, SEARCH_GAPS)

    def test_of_members_that_are_wide_has_half_of_the_rows_at_most(self, monkeypatch):
        made, given = [], bare_basis

        def noted(*settings):
            made.append(settings)
            return given(*settings)

        monkeypatch.setattr(proving, "bare_basis", noted)
        ground_of(*data(31), n_components=400).try_out(Candidate("fourier", "rbf"))
        assert made[0][2:] == (50, 15, 3, 0)

    def test_at_a_given_gap_has_that_one_unless_it_is_of_a_kernel(self):
        X, y = data()
        given, free = ground_of(X, y, gap=0.05), ground_of(X, y)
        candidate = Candidate("fourier", "laplacian")
        trial = given.try_out(candidate)
        assert trial.strength == 0.05
        assert trial.by_part.shape == (1, PARTS)
        assert free.try_out(candidate).error < trial.error
        candidate = Candidate("kernel", "laplacian")
        assert given.try_out(candidate).error == free.try_out(candidate).error

    def test_has_a_given_bandwidth_and_relevance(self):
        X, y = data(40)
        columns = [1.0, 0.0, 0.5]
        ground = ground_of(X, y, given_gamma=0.37, given_relevance=columns)
        rows = fit_input_map("standard", ground.X)(ground.X) * columns
        np.testing.assert_allclose(ground.mapped("standard"), rows)
        for relevant in (False, True):
            assert ground.gamma(Candidate("kernel", "laplacian", relevant=relevant)) == 0.37
        losses = refits(literal_kernel("laplacian", rows, 0.37), ground.y, ground.weight)
        candidate = Candidate("kernel", "laplacian", multiple=10.0)
        same_trial(ground.try_out(candidate), losses, ground, SEARCH_RIDGES)

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
        one, other = (ground_of(table, y).try_out(candidate) for table in (X, sp.csr_array(X)))
        assert one.error == pytest.approx(other.error, rel=1e-6)

    def test_of_several_outputs_counts_them_alike_in_units_of_their_own(self):
        X, y = data()
        for candidate in (Candidate("kernel", "laplacian"), FEATURES[0]):
            single = ground_of(X, y).try_out(candidate)
            both = ground_of(X, np.column_stack([y, 1e6 * y - 3.0])).try_out(candidate)
            assert both.error == pytest.approx(single.error, rel=1e-6)

    @pytest.mark.parametrize("candidate", [Candidate("linear"), Candidate("kernel", "laplacian")])
    def test_has_errors_relative_to_the_variance(self, candidate):
        X, _ = data(200)
        y = np.random.default_rng(7).normal(size=(200, 1)) * 1e-3
        assert ground_of(X, y).try_out(candidate).error == pytest.approx(1.0, abs=0.1)


class TestPreparing:
    CANDIDATES = tuple(
        Candidate("kernel", kernel, multiple, "clip", relevant)
        for kernel in ("rbf", "laplacian", "linear")
        for multiple in (1.0, 10.0)
        for relevant in (False, True)
    )

    def test_changes_nothing(self):
        ready, bare = ground_of(*data(40)), ground_of(*data(40))
        ready.prepare(self.CANDIDATES)
        for candidate in self.CANDIDATES:
            one, other = ready.try_out(candidate), bare.try_out(candidate)
            np.testing.assert_array_equal(one.by_part, other.by_part)

    def test_makes_everything_once_that_trials_need(self, monkeypatch):
        learnt, measured, maps = [], [], []

        def noted(calls, function, key):
            def call(*given):
                calls.append(key(given))
                return function(*given)

            return call

        of_rows = proving.learn_relevance, proving._distances, proving.fit_input_map
        keys = (lambda given: (given[2], len(given[0]))), (lambda given: given[2]), (lambda g: g[0])
        for calls, function, key in zip((learnt, measured, maps), of_rows, keys, strict=True):
            monkeypatch.setattr(proving, function.__name__, noted(calls, function, key))
        ground = ground_of(*data(41))
        ground.prepare([*self.CANDIDATES, Candidate("fourier", "laplacian", inputs="rank")])
        assert sorted(learnt) == [
            ("rbf", 20),
            ("rbf", 21),
            ("laplacian", 20),
            ("laplacian", 21),
        ]
        assert sorted(measured) == ["rbf"] * 3 + ["laplacian"] * 3
        assert sorted(maps) == ["clip", "rank"]
        for candidate in self.CANDIDATES:
            ground.try_out(candidate)
        assert (len(learnt), len(measured), len(maps)) == (4, 6, 2)

    def test_for_nothing_is_nothing(self):
        ground = ground_of(*data(40))
        ground.prepare([])
        assert not ground._mapped
        assert not ground._relevance


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (Candidate("kernel", "laplacian"), KernelFeatures),
        (Candidate("kernel", "linear"), KernelFeatures),
        (Candidate("kernel", "rbf", subspace=0.25), KernelFeatures),
        (Candidate("fourier", "rbf", subspace=0.5), FourierFeatures),
        (Candidate("nystroem", "laplacian"), NystroemFeatures),
        (Candidate("fourier", "cauchy"), FourierFeatures),
        (Candidate("orthogonal", "rbf"), OrthogonalFourierFeatures),
        (Candidate("linear"), LinearFeatures),
        (Candidate("trees"), TreeFeatures),
    ],
    ids=str,
)
def test_the_basis_of_a_candidate(candidate, kind):
    basis = bare_basis(candidate, 0.3, 7, 4, 9, 5)
    given = {"n_members": 7, "n_components": 4, "random_state": 5, "gamma": 0.3}
    given |= {"kernel": candidate.kernel, "standardize": False, "subspace": candidate.subspace}
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


@pytest.mark.parametrize(("columns", "width"), [(1, 1), (5, 5), (9, 9), (20, 9)])
def test_linear_members_have_the_columns_that_are_given(columns, width):
    assert linear_width(Candidate("linear", columns=columns), 9, 2) == width


@pytest.mark.parametrize(
    ("candidate", "text"),
    [
        (
            Candidate("nystroem", "laplacian", 0.316, "clip", relevant=True, alpha=0.01),
            "nystroem laplace, gamma x0.32, inputs clip, by relevance, alpha 0.01",
        ),
        (
            Candidate("kernel", "rbf", 10.0, "rank", relevant=True, alpha=10.0),
            "kernel gaussian, gamma x10, inputs rank, by relevance",
        ),
        (Candidate("kernel", "linear"), "kernel linear, inputs standard"),
        (Candidate("trees"), "trees, inputs standard"),
        (Candidate("trees", alpha=10.0), "trees, inputs standard, alpha 10"),
    ],
)
def test_a_candidate_says_what_it_is(candidate, text):
    assert str(candidate) == text
