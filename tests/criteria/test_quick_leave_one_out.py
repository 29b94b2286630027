"""Screening is leave-one-out with whitening held: equal to refits that hold it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import (
    KINDS,
    held_whitening_loo,
    kernel_loo,
    literal_fit,
    make_problem,
    random_problem,
    span_loo,
)

from negcorr import ncl_path
from negcorr.criteria.quick_leave_one_out import ridge_losses, screen, span_losses

GAPS = np.array([1.0, 0.3, 1e-2, 1e-6])


def screened(problem, alpha=0.0):
    return screen(problem.features, problem.y, problem.starts, problem.weight, alpha)


def refits(problem, gaps, alpha=0.0):
    """Squared residuals of refits, mean over outputs, (gaps, n)."""
    losses = [held_whitening_loo(problem, gap, alpha=alpha) ** 2 for gap in gaps]
    return np.mean(losses, axis=2)


def shapes():
    """Few rows and many features, the other way round, with weights and several outputs."""
    rng = np.random.default_rng(3)
    return {
        "tall": random_problem(rng, 40, [3, 3, 3, 3]),
        "unequal": random_problem(rng, 30, [1, 4, 2, 5], outputs=2),
        "one member": random_problem(rng, 25, [4]),
        "wide": random_problem(rng, 14, [4] * 5),
        "weighted": random_problem(rng, 35, [3, 2, 4], outputs=2, weighted=True),
        "wide, weighted": random_problem(rng, 12, [3] * 6, outputs=2, weighted=True),
        "as wide as tall": random_problem(rng, 12, [3] * 4, weighted=True),
    }


every_shape = pytest.mark.parametrize("name", shapes())
every_alpha = pytest.mark.parametrize("alpha", [0.0, 0.3])


@every_shape
@every_alpha
def test_losses_are_those_of_refits_with_whitening_held(name, alpha):
    problem = shapes()[name]
    found = screened(problem, alpha).losses(GAPS)
    # Of interpolating fits at tiny gaps the literal solution loses digits itself.
    tolerance = 1e-10 if "w" not in name else 1e-7
    np.testing.assert_allclose(found, refits(problem, GAPS, alpha), rtol=tolerance, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 24),
    widths=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    outputs=st.integers(1, 2),
    gap=st.floats(1e-3, 1.0),
    alpha=st.sampled_from([0.0, 0.1]),
)
def test_losses_are_those_of_refits_for_any_shape(seed, n, widths, outputs, gap, alpha):
    problem = random_problem(np.random.default_rng(seed), n, widths, outputs, weighted=True)
    gaps = np.array([gap])
    found = screened(problem, alpha).losses(gaps)
    np.testing.assert_allclose(found, refits(problem, gaps, alpha), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"interpolating blocks"}))
def test_deficient_identical_and_constant_features_are_no_trouble(kind):
    problem = make_problem(kind)
    problem = problem.take(problem.weight > 0)
    found = screened(problem).losses(GAPS[:3])
    np.testing.assert_allclose(found, refits(problem, GAPS[:3]), rtol=1e-6, atol=1e-9)


def test_features_that_do_not_vary_leave_the_mean_of_the_other_rows():
    y = np.arange(6.0)[:, np.newaxis]
    fit = screen(np.ones((6, 4)), y, np.array([0, 2, 4]))
    assert fit.rho.shape == (0,)
    others = (y.sum() - y) / 5
    np.testing.assert_allclose(fit.losses(GAPS), np.tile(((y - others) ** 2).T, (4, 1)))
    np.testing.assert_array_equal(fit.coef(0.5), np.zeros((4, 1)))


@every_shape
@every_alpha
@pytest.mark.parametrize("gap", [1.0, 0.3, 1e-3])
def test_coefficients_are_theorem_4(name, alpha, gap):
    problem = shapes()[name]
    found = screened(problem, alpha).coef(gap).T
    expected = literal_fit(problem, gap, alpha=alpha).coef
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    path = ncl_path(
        problem.features,
        problem.y,
        problem.starts,
        sample_weight=problem.weight,
        alpha=alpha,
        gap=gap,
        solver="qr",
    )
    np.testing.assert_allclose(found, np.atleast_2d(path.coef(gap=gap)), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [9, 12, 30])
def test_rows_or_features_are_decomposed_whichever_are_fewer(n, monkeypatch):
    sizes, eigh = [], np.linalg.eigh

    def noted(matrix):
        sizes.append(matrix.shape[-1])
        return eigh(matrix)

    problem = random_problem(np.random.default_rng(0), n, [3] * 4)
    monkeypatch.setattr(np.linalg, "eigh", noted)
    screened(problem)
    assert sizes == [3, 3, 3, 3, min(n, 12)]


@every_alpha
def test_both_sides_agree(alpha):
    # Rows written twice with half of the weight are the same moments, and more rows.
    few = random_problem(np.random.default_rng(0), 10, [3] * 5, outputs=2, weighted=True)
    many = replace(few.take(np.tile(np.arange(10), 2)), weight=np.tile(few.weight / 2.0, 2))
    one, other = screened(few, alpha), screened(many, alpha)
    np.testing.assert_allclose(one.rho, other.rho[-len(one.rho) :], rtol=1e-9)
    for gap in GAPS[:3]:
        np.testing.assert_allclose(one.coef(gap), other.coef(gap), rtol=1e-7, atol=1e-9)


def test_weights_mean_repeated_rows_in_the_fit_but_a_row_is_left_out_whole():
    rng = np.random.default_rng(0)
    problem = replace(
        random_problem(rng, 20, [3, 2, 3]), weight=rng.integers(1, 4, 20).astype(float)
    )
    index = np.repeat(np.arange(20), problem.weight.astype(int))
    repeated = replace(problem.take(index), weight=np.ones(len(index)))
    one, other = screened(problem), screened(repeated)
    np.testing.assert_allclose(one.rho, other.rho, rtol=1e-10)
    for gap in GAPS[:3]:
        np.testing.assert_allclose(one.coef(gap), other.coef(gap), rtol=1e-8, atol=1e-12)
    whole, copy = one.losses(GAPS[:3])[:, index], other.losses(GAPS[:3])
    twice = problem.weight[index] > 1
    np.testing.assert_allclose(whole[:, ~twice], copy[:, ~twice], rtol=1e-8)
    # The copy that stays knows the answer.
    assert (copy[:, twice].sum(axis=1) < 0.9 * whole[:, twice].sum(axis=1)).all()


def test_no_weights_are_ones_and_their_scale_does_not_matter():
    problem = shapes()["tall"]
    one = screen(problem.features, problem.y, problem.starts).losses(GAPS)
    np.testing.assert_array_equal(one, screened(problem).losses(GAPS))
    scaled = screened(replace(problem, weight=7.0 * problem.weight)).losses(GAPS)
    np.testing.assert_allclose(scaled, one, rtol=1e-9)


def test_shrinkage_is_one_without_a_gap_and_rho_over_members_at_lam_0():
    fit = screened(shapes()["tall"])
    np.testing.assert_array_equal(fit.shrinkage(np.array([0.0])), np.ones((1, len(fit.rho))))
    np.testing.assert_allclose(fit.shrinkage(np.array([1.0]))[0], fit.rho / 4, rtol=1e-12)


RIDGES = np.array([30.0, 1.0, 1e-2, 1e-5])


def kernel_problem(kind, n=18, outputs=1, weighted=False, seed=0):
    """Kernel between rows, targets about their mean, weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    difference = X[:, np.newaxis] - X
    kernel = {
        "laplacian": np.exp(-0.5 * np.abs(difference).sum(axis=2)),
        "rbf": np.exp(-0.5 * (difference**2).sum(axis=2)),
        "linear": X @ X.T,
    }[kind]
    weight = rng.uniform(0.2, 4.0, n) if weighted else np.ones(n)
    y = np.sin(X[:, :1]) + rng.normal(size=(n, outputs))
    return kernel, y - weight @ y / weight.sum(), weight


class TestRidgeLosses:
    @pytest.mark.parametrize("kind", ["laplacian", "rbf", "linear"])
    @pytest.mark.parametrize("outputs", [1, 3])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_are_those_of_refits_without_each_row(self, kind, outputs, weighted):
        kernel, y, weight = kernel_problem(kind, outputs=outputs, weighted=weighted)
        found = ridge_losses(kernel, y, weight, RIDGES)
        assert found.shape == (4, 18)
        for losses, ridge in zip(found, RIDGES, strict=True):
            expected = kernel_loo(kernel, y, weight, ridge)
            np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=1e-9)

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(
        seed=st.integers(0, 10**6),
        n=st.integers(2, 16),
        outputs=st.integers(1, 3),
        kind=st.sampled_from(["laplacian", "rbf", "linear"]),
        ridge=st.floats(1e-4, 1e3),
    )
    def test_are_those_of_refits_for_any_shape(self, seed, n, outputs, kind, ridge):
        kernel, y, weight = kernel_problem(kind, n, outputs, True, seed)
        found = ridge_losses(kernel, y, weight, np.array([ridge]))[0]
        expected = kernel_loo(kernel, y, weight, ridge)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)

    def test_are_those_of_a_row_that_is_left_out_with_all_that_it_stands_for(self):
        kernel, y, _ = kernel_problem("laplacian")
        weight = np.random.default_rng(1).integers(1, 4, 18)
        index = np.repeat(np.arange(18), weight)
        found = ridge_losses(kernel, y, weight.astype(float), RIDGES[1:2])[0]
        for i in range(18):
            rest = index[index != i]
            n = len(rest)
            system = np.ones((n + 1, n + 1))
            system[:n, :n], system[n, n] = kernel[np.ix_(rest, rest)] + np.eye(n), 0.0
            dual = np.linalg.solve(system, np.vstack([y[rest], np.zeros((1, y.shape[1]))]))
            expected = np.mean((y[i] - kernel[i, rest] @ dual[:n] - dual[n]) ** 2)
            assert found[i] == pytest.approx(expected, rel=1e-8)

    def test_have_weights_whose_scale_is_that_of_the_ridge(self):
        kernel, y, weight = kernel_problem("rbf", weighted=True)
        one = ridge_losses(kernel, y, weight, RIDGES)
        scaled = ridge_losses(kernel, y, 7.0 * weight, 7.0 * RIDGES)
        np.testing.assert_allclose(scaled, one, rtol=1e-7)
        assert not np.allclose(ridge_losses(kernel, y, 7.0 * weight, RIDGES), one)

    def test_do_not_depend_on_the_level_of_targets(self):
        kernel, y, weight = kernel_problem("laplacian", outputs=2, weighted=True)
        moved = ridge_losses(kernel, y + 50.0, weight, RIDGES)
        np.testing.assert_allclose(moved, ridge_losses(kernel, y, weight, RIDGES), rtol=1e-7)

    def test_of_rows_that_were_centred_together_are_not_told_by_the_others(self):
        # Noise, which nothing can predict: each row is minus the sum of the others.
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(30, 200)), rng.normal(size=(30, 1))
        X, y = X - X.mean(axis=0), y - y.mean(axis=0)
        losses = ridge_losses(X @ X.T, y, np.ones(30), np.array([1e-6, 1.0]))
        assert (losses.mean(axis=1) > 0.5 * y.var()).all()

    @staticmethod
    def of_the_mean(y, weight):
        """Squared errors of predicting the mean of the other rows."""
        others = weight.sum() - weight
        mean = (weight @ y - weight[:, np.newaxis] * y) / others[:, np.newaxis]
        return np.mean((y - mean) ** 2, axis=1)

    def test_of_a_very_large_ridge_are_those_of_the_mean(self):
        kernel, y, weight = kernel_problem("laplacian", outputs=2, weighted=True)
        found = ridge_losses(kernel, y, weight, np.array([1e9]))[0]
        np.testing.assert_allclose(found, self.of_the_mean(y, weight), rtol=1e-5)

    def test_with_rows_that_are_equal_are_those_of_the_mean(self):
        _, y, weight = kernel_problem("laplacian", weighted=True)
        for losses in ridge_losses(np.ones((18, 18)), y, weight, RIDGES):
            np.testing.assert_allclose(losses, self.of_the_mean(y, weight), rtol=1e-5)


class TestSpan:
    """Kernel ridge regression in the span of kernels at some rows."""

    def problem(self, seed=0, outputs=2, n=40, n_landmarks=12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, 3)), rng.normal(size=(n, outputs))
        kernel = np.exp(-0.3 * np.abs(X[:, np.newaxis] - X).sum(axis=2))
        values, between = kernel[:, :n_landmarks], kernel[:n_landmarks, :n_landmarks]
        return values, between, y, rng.uniform(0.5, 3.0, n)

    @settings(max_examples=15, deadline=None)
    @given(
        seed=st.integers(0, 10**6),
        outputs=st.integers(1, 3),
        n_landmarks=st.integers(1, 25),
        ridge=st.floats(1e-4, 10.0),
    )
    def test_losses_are_those_of_refits(self, seed, outputs, n_landmarks, ridge):
        problem = self.problem(seed, outputs, n_landmarks=n_landmarks)
        found = span_losses(*problem, np.array([ridge]))
        np.testing.assert_allclose(found[0], span_loo(*problem, ridge), rtol=1e-6, atol=1e-12)

    def test_of_all_rows_is_kernel_ridge_regression(self):
        values, between, *about = self.problem(n_landmarks=40)
        ridges = np.array([1e-3, 0.1, 5.0])
        np.testing.assert_allclose(
            span_losses(values, between, *about, ridges),
            ridge_losses(between, *about, ridges),
            rtol=1e-6,
        )

    def test_landmarks_may_repeat(self):
        values, between, *about = self.problem()
        twice = np.r_[0:12, 0:12]
        found = span_losses(values[:, twice], between[np.ix_(twice, twice)], *about, np.ones(1))
        np.testing.assert_allclose(
            found, span_losses(values, between, *about, np.ones(1)), rtol=1e-6
        )
