"""Relevance of columns is where the marginal likelihood of a Gaussian process is largest."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize_scalar
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from negcorr.selection import relevance
from negcorr.selection.relevance import (
    BOUNDS,
    DECIMALS,
    FEWEST_ROWS,
    LEVEL_PRIOR,
    NOISE_CENTRE,
    NOISE_PRIOR,
    PRIOR,
    _Process,
    learn_relevance,
)

every_kernel = pytest.mark.parametrize("kernel", ["rbf", "laplacian"])

METRICS = {"rbf": "sqeuclidean", "laplacian": "cityblock"}


def noise(n=100, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def problem(n=30, d=3, outputs=1, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (
        np.sin(2.0 * X[:, :1])
        + X[:, 1:2] * np.arange(outputs)
        + 0.2 * rng.normal(size=(n, outputs))
    )
    mass = rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    return X, y - y.mean(axis=0), mass / mass.mean()


def thetas(X, logs, kernel):
    """Inverse scales of the columns: levels are about one over the mean distance."""
    pairs = ~np.eye(len(X), dtype=bool)
    mean = cdist(X, X, METRICS[kernel])[pairs].mean()
    return np.exp(logs[:-2] + logs[-2]) / mean


def literal_posterior(X, y, kernel, mass, logs):
    """Minus the log of density times prior, per output, at the size that is most likely."""
    n, outputs = y.shape
    covariance = np.ones((n, n))
    for column, theta in zip(X.T, thetas(X, logs, kernel), strict=True):
        difference = np.abs(column[:, np.newaxis] - column)
        covariance *= np.exp(-theta * (difference if kernel == "laplacian" else difference**2))
    covariance += np.diag(np.exp(logs[-1]) / mass)

    def minus_log_density(log_size):
        process = multivariate_normal(np.zeros(n), np.exp(log_size) * covariance)
        return -np.sum([process.logpdf(column) for column in y.T]) / outputs

    found = minimize_scalar(minus_log_density, bracket=(-1.0, 1.0), options={"xtol": 1e-10})
    constant = 0.5 * n * (np.log(2.0 * np.pi) + 1.0)
    prior = 0.5 * PRIOR * np.sum(logs[:-2] ** 2) + 0.5 * LEVEL_PRIOR * logs[-2] ** 2
    prior += 0.5 * NOISE_PRIOR * (logs[-1] - NOISE_CENTRE) ** 2
    return found.fun - constant + prior


def points(d, count=4):
    """Where all columns are alike, and anywhere."""
    anywhere = np.random.default_rng(1).normal(size=(count - 1, d + 2)) * ([1.0] * d + [0.7, 1.0])
    anywhere[:, -1] -= 2.0
    return [np.append(np.zeros(d + 1), np.log(0.1)), *anywhere]


def learnt(X, y, kernel="laplacian", **settings):
    return learn_relevance(X, y.reshape(len(X), -1), kernel, **settings)


def same(one, other):
    np.testing.assert_array_equal(other.columns, one.columns)
    np.testing.assert_array_equal(other.logs, one.logs)
    assert other.gamma == one.gamma


class TestPosterior:
    @every_kernel
    @pytest.mark.parametrize("outputs", [1, 3])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_is_that_of_a_normal_distribution_and_priors(self, kernel, outputs, weighted):
        X, y, mass = problem(outputs=outputs, weighted=weighted)
        process = _Process.of(X, y, kernel, mass)
        for logs in points(3):
            value, _ = process.negative_log_posterior(logs)
            expected = literal_posterior(X, y, kernel, mass, logs)
            # Distances are held in single precision.
            assert value == pytest.approx(expected, rel=2e-5, abs=2e-4)

    @every_kernel
    @pytest.mark.parametrize("outputs", [1, 3])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_has_the_slopes_of_finite_differences(self, kernel, outputs, weighted):
        X, y, mass = problem(outputs=outputs, weighted=weighted)
        process = _Process.of(X, y, kernel, mass)

        def literal(logs):
            return literal_posterior(X, y, kernel, mass, logs)

        for logs in points(3, 2):
            _, gradient = process.negative_log_posterior(logs)
            forward, backward = (approx_fprime(logs, literal, step) for step in (1e-5, -1e-5))
            np.testing.assert_allclose(gradient, (forward + backward) / 2.0, rtol=1e-3, atol=2e-3)

    @every_kernel
    def test_has_the_slopes_of_its_own_values(self, kernel):
        X, y, mass = problem(60, 2, weighted=True)
        process = _Process.of(X, y, kernel, mass)
        logs = np.array([0.4, -0.3, 0.2, -2.0])
        _, gradient = process.negative_log_posterior(logs)
        step = 1e-2 * np.eye(4)
        values = [
            [process.negative_log_posterior(logs + s)[0] for s in sign * step] for sign in (1, -1)
        ]
        slopes = (np.array(values[0]) - values[1]) / 2e-2
        np.testing.assert_allclose(gradient, slopes, rtol=5e-3, atol=2e-2)

    def test_starts_at_the_usual_bandwidth_with_a_tenth_of_noise(self):
        X, y, mass = problem()
        for kernel in METRICS:
            process = _Process.of(X, y, kernel, mass)
            np.testing.assert_allclose(process.start, [0.0, 0.0, 0.0, 0.0, np.log(0.1)])
            np.testing.assert_allclose(
                np.exp(process.level), thetas(X, process.start, kernel), rtol=1e-6
            )

    def test_does_not_care_for_units_of_the_target(self):
        X, y, mass = problem(outputs=2)
        one, large = (_Process.of(X, s * y, "laplacian", mass) for s in (1.0, 1e4))
        for logs in points(3):
            value, gradient = one.negative_log_posterior(logs)
            other, same_gradient = large.negative_log_posterior(logs)
            assert other - value == pytest.approx(30 * np.log(1e4), rel=1e-9)
            np.testing.assert_allclose(same_gradient, gradient, rtol=1e-6, atol=1e-9)

    def test_of_a_target_that_is_zero_is_a_number(self):
        X, y, mass = problem()
        value, gradient = _Process.of(X, 0.0 * y, "rbf", mass).negative_log_posterior(points(3)[0])
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


class TestLearnt:
    @every_kernel
    @pytest.mark.parametrize("useful", [0, 3])
    def test_relevance_finds_the_one_useful_column(self, kernel, useful):
        X = noise()
        found = learnt(X, np.sin(2.0 * X[:, useful]), kernel)
        assert found.columns[useful] == 1.0
        assert np.delete(found.columns, useful).max() < 0.3
        assert found.logs[useful] == found.logs[:-2].max()

    @every_kernel
    def test_relevance_is_by_how_fast_targets_change(self, kernel):
        X = noise(150, 3)
        found = learnt(X, np.sin(2.5 * X[:, 0]) + np.sin(0.8 * X[:, 1]), kernel)
        assert found.columns[0] == 1.0 > found.columns[1] > found.columns[2]

    @every_kernel
    def test_relevance_is_more_likely_than_where_it_started(self, kernel):
        X, y, mass = problem(60, 4)
        process = _Process.of(X, y, kernel, mass)
        found = learnt(X, y, kernel)
        at_first, at_last = (
            process.negative_log_posterior(logs) for logs in (process.start, found.logs)
        )
        assert at_last[0] < at_first[0] - 1.0
        assert np.abs(at_last[1]).max() < 0.3 * np.abs(at_first[1]).max()

    @every_kernel
    @pytest.mark.parametrize("outputs", [1, 2])
    def test_columns_and_bandwidth_are_those_of_the_logarithms(self, kernel, outputs):
        X, y, _ = problem(50, 4, outputs)
        found = learnt(X, y, kernel)
        power = 1 if kernel == "laplacian" else 2
        expected = thetas(X, found.logs, kernel)
        assert found.gamma == pytest.approx(expected.max(), rel=6e-4)
        np.testing.assert_allclose(
            found.columns**power, expected / expected.max(), rtol=1e-3, atol=1.01e-4
        )

    @every_kernel
    def test_columns_are_at_most_one_and_rounded_and_so_is_the_bandwidth(self, kernel):
        X = noise(60, 8)
        found = learnt(X, X[:, 0] + 0.1 * X[:, 1], kernel)
        assert found.columns.max() == 1.0
        assert found.columns.min() >= 10.0**-DECIMALS
        np.testing.assert_array_equal(found.columns, np.round(found.columns, DECIMALS))
        assert found.gamma == float(f"{found.gamma:.4g}")
        low, high = np.array([BOUNDS[0]] * 8 + list(BOUNDS[1:])).T
        assert (found.logs >= low).all()
        assert (found.logs <= high).all()

    @every_kernel
    def test_columns_that_do_not_vary_count_least(self, kernel):
        X = noise(60, 3)
        bare = learnt(X[:, :2], np.sin(2.0 * X[:, 0]), kernel)
        X[:, 2] = 0.3
        found = learnt(X, np.sin(2.0 * X[:, 0]), kernel)
        assert found.columns[2] == 10.0**-DECIMALS
        np.testing.assert_allclose(found.columns[:2], bare.columns, atol=0.02)

    def test_the_order_of_columns_does_not_matter(self):
        X = noise(80)
        y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
        order = np.array([3, 1, 4, 0, 2])
        one, other = learnt(X, y), learnt(X[:, order], y)
        np.testing.assert_allclose(other.columns, one.columns[order], atol=2e-3)
        assert other.gamma == pytest.approx(one.gamma, rel=1e-2)

    @every_kernel
    def test_units_of_the_target_do_not_matter_nor_does_its_mean(self, kernel):
        X, y, _ = problem(40)
        one, other = learnt(X, y, kernel), learnt(X, 8.0 * y + 16.0, kernel)
        np.testing.assert_allclose(other.columns, one.columns, atol=2e-4)
        assert other.gamma == pytest.approx(one.gamma, rel=2e-3)

    def test_the_same_again(self):
        X, y, mass = problem(50, 4, 2, True)
        same(learnt(X, y, weight=mass), learnt(X.copy(), y.copy(), weight=mass.copy()))

    def test_several_outputs_share_what_matters_to_any_of_them(self):
        X = noise(120)
        y = np.sin(2.0 * X[:, [1, 4]])
        found = learnt(X, y)
        assert found.columns[[1, 4]].min() > 0.5
        assert found.columns[[0, 2, 3]].max() < 0.3


class TestWeights:
    def test_have_no_scale(self):
        X, y, mass = problem(40, weighted=True)
        one, other = (learnt(X, y, weight=w) for w in (mass, 8.0 * mass))
        np.testing.assert_allclose(other.columns, one.columns, atol=2e-4)
        np.testing.assert_allclose(other.logs, one.logs, atol=1e-3)

    def test_that_are_equal_are_none(self):
        X, y, _ = problem(40)
        same(learnt(X, y), learnt(X, y, weight=np.ones(40)))

    def test_that_are_small_mean_rows_of_much_noise(self):
        X = noise(120, 2)
        clean = np.sin(2.0 * X[:, 0])
        wild = np.arange(120) % 2 == 0
        y = clean + np.where(wild, 2.0 * noise(120, 1, seed=3)[:, 0], 0.0)
        weight = np.where(wild, 1e-3, 1.0)
        plain, weighted = learnt(X, y), learnt(X, y, weight=weight)
        assert weighted.logs[-1] < plain.logs[-1] - 2.0
        assert weighted.columns[0] == 1.0 > 2.0 * weighted.columns[1]

    def test_move_the_mean_that_targets_are_taken_about(self, monkeypatch):
        seen = []

        class Noted(_Process):
            @classmethod
            def of(cls, rows, target, kernel, mass):
                seen.append((target, mass))
                return _Process.of(rows, target, kernel, mass)

        X, y, mass = problem(40, outputs=2, weighted=True)
        monkeypatch.setattr(relevance, "_Process", Noted)
        learnt(X, y, weight=3.0 * mass, n_steps=1)
        target, found = seen[0]
        np.testing.assert_allclose(found, mass, rtol=1e-12)
        np.testing.assert_allclose(mass @ target, 0.0, atol=1e-12)
        np.testing.assert_allclose(np.ptp(target - y, axis=0), 0.0, atol=1e-12)


class TestStart:
    def test_is_where_the_search_begins(self):
        X, y, _ = problem(50, 4)
        found = learnt(X, y, n_steps=50)
        again, cold = learnt(X, y, start=found.logs, n_steps=1), learnt(X, y, n_steps=1)
        np.testing.assert_allclose(again.logs, found.logs, atol=0.1)
        assert np.abs(cold.logs - found.logs).max() > 0.5

    def test_is_asked_first(self, monkeypatch):
        X, y, _ = problem(50, 4)
        asked, posterior = [], _Process.negative_log_posterior

        def noted(self, logs):
            asked.append(logs.copy())
            return posterior(self, logs)

        monkeypatch.setattr(_Process, "negative_log_posterior", noted)
        logs = np.array([0.5, -0.25, 0.0, -1.0, 0.125, -2.0])
        learnt(X, y, start=logs, n_steps=1)
        np.testing.assert_array_equal(asked[0], logs)


class TestNothing:
    @pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
    @pytest.mark.parametrize("outputs", [1, 2])
    def test_is_learnt_from_targets_that_do_not_vary(self, value, outputs):
        assert learnt(noise(), np.full((100, outputs), value)) is None

    def test_is_learnt_from_one_column(self):
        X = noise(60, 1)
        assert learnt(X, X[:, 0]) is None
        assert learnt(np.column_stack([X, np.ones(60), np.full(60, 0.1)]), X[:, 0]) is None
        assert learnt(np.column_stack([X, np.arange(60)]), X[:, 0]) is not None

    def test_is_learnt_from_too_few_rows(self):
        X = noise(FEWEST_ROWS, 2)
        assert learnt(X, X[:, 0]) is not None
        assert learnt(X[1:], X[1:, 0]) is None

    def test_is_learnt_from_columns_whose_distances_would_be_too_many(self, monkeypatch):
        X = noise(60, 4)
        monkeypatch.setattr(relevance, "MOST_DISTANCES", 4 * (FEWEST_ROWS - 1) ** 2 // 2)
        assert learnt(X, X[:, 0]) is None

    def test_is_learnt_from_rows_beyond_those_that_are_held(self, monkeypatch):
        X, y, mass = problem(60, 4, 2, True)
        few = learnt(X[:30], y[:30], weight=mass[:30])
        monkeypatch.setattr(relevance, "MOST_DISTANCES", 4 * 30**2 // 2)
        same(few, learnt(X, y, weight=mass))


def test_heavy_rows_that_are_close_do_no_harm():
    # Noise is least where weights are largest: there the covariance is nearest to singular.
    X, weight = noise(500, 2), np.where(np.arange(500) < 3, 1e6, 1.0)
    X[:3] *= 1e-3
    found = learnt(X, X @ [1.0, 0.5], "rbf", weight=weight)
    assert np.isfinite(found.columns).all()
    assert np.isfinite(found.logs).all()


@every_kernel
@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_units_of_all_columns_do_not_matter(kernel, scale):
    X, y, _ = problem(40)
    one, other = learnt(X, y, kernel), learnt(scale * X, y, kernel)
    np.testing.assert_allclose(other.columns, one.columns, atol=1e-3)
    power = 1 if kernel == "laplacian" else 2
    assert other.gamma * scale**power == pytest.approx(one.gamma, rel=1e-2)


@every_kernel
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_all_columns_do_not_matter_unless_extreme(kernel, scale):
    X, y, _ = problem(40)
    one, other = learnt(X, y, kernel), learnt(scale * X, y, kernel)
    np.testing.assert_allclose(other.columns, one.columns, atol=1e-2)
    power = 1 if kernel == "laplacian" else 2
    assert other.gamma * scale**power == pytest.approx(one.gamma, rel=2e-2)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("seed", range(3))
def test_the_rounding_of_rows_takes_the_search_nowhere_else(kernel, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 6))
    y = np.sin(3.0 * X[:, :1]) + 0.02 * X[:, 1:2]  # on the bounds of the search
    one = learn_relevance(X, y, kernel)
    for _ in range(3):
        jitter = 1.0 + 2.0**-52 * rng.integers(-1, 2, size=X.shape)
        other = learn_relevance(X * jitter, y, kernel)
        np.testing.assert_array_equal(other.logs, one.logs)
        np.testing.assert_array_equal(other.columns, one.columns)
        assert other.gamma == one.gamma
