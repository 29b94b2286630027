"""Both routes from both forms of moments give the literal answers of Theorems 4 and 5."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import (
    GAPS,
    KINDS,
    ROUTES,
    fitted_by,
    gram_and_diagonal,
    literal_fit,
    literal_whitened_gram,
    make_problem,
    random_problem,
    spectrum_of,
)

#: Kinds whose blocks have full column rank, so that coefficients are unique for λ < 1.
FULL_RANK_BLOCKS = tuple(k for k in KINDS if k not in ("rank-deficient", "interpolating blocks"))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", KINDS)
def test_everything_equals_the_literal_theorems(kind, route, alpha, fit_intercept):
    problem = make_problem(kind)
    settings = {"alpha": alpha, "fit_intercept": fit_intercept}
    spectrum = spectrum_of(problem, route, **settings)
    size = np.abs(problem.y).max()
    for gap in GAPS:
        literal = literal_fit(problem, gap, **settings)
        close = {"rtol": 1e-9, "atol": 1e-9 * size}
        assert_allclose(fitted_by(spectrum, problem.features, gap), literal.fitted, **close)
        assert_allclose(spectrum.dof(gap=gap), literal.dof, rtol=1e-9)
        close["atol"] *= size
        assert_allclose(spectrum.train_error(gap=gap), literal.train_error, **close)
        assert_allclose(spectrum.member_error(gap=gap), literal.member_error, **close)
        assert_allclose(spectrum.diversity(gap=gap), literal.diversity, **close)
        of_rows = {"gap": gap, "sample_weight": problem.weight}
        leverage = spectrum.leverage(problem.features, **of_rows)
        assert_allclose(leverage, literal.leverage, atol=1e-9)
        smoothing = spectrum.smoothing_matrix(problem.features, **of_rows)
        assert_allclose(smoothing, literal.smoothing, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", FULL_RANK_BLOCKS)
def test_coefficients_equal_theorem_4_where_they_are_unique(kind, route, alpha):
    problem = make_problem(kind)
    spectrum = spectrum_of(problem, route, alpha=alpha)
    for gap in GAPS:
        literal = literal_fit(problem, gap, alpha=alpha)
        scale = np.abs(literal.coef).max()
        assert_allclose(spectrum.coef(gap=gap), literal.coef, atol=1e-9 * scale)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", KINDS)
def test_at_lam_1_the_training_fit_and_dof_are_those_of_theorem_4(kind, route):
    problem = make_problem(kind)
    spectrum, literal = spectrum_of(problem, route), literal_fit(problem, 0.0)
    assert_allclose(fitted_by(spectrum, problem.features, 0.0), literal.fitted, atol=1e-9)
    assert_allclose(spectrum.dof(gap=0.0), literal.dof, rtol=1e-9)


@pytest.mark.parametrize("route", ROUTES)
def test_at_lam_1_predictions_elsewhere_are_the_limit_and_not_the_pseudo_inverse(route):
    problem = make_problem("wide")
    elsewhere = 2.0 * np.random.default_rng(5).normal(size=(7, problem.features.shape[1]))
    spectrum = spectrum_of(problem, route)
    at_one = fitted_by(spectrum, elsewhere, 0.0)
    size = np.abs(at_one).max()
    distance = [
        np.abs(fitted_by(spectrum, elsewhere, g) - at_one).max() for g in (1e-4, 1e-6, 1e-8)
    ]
    assert distance[0] > 30 * distance[1] > 900 * distance[2]
    assert distance[2] < 1e-5 * size
    # Theorem 4 itself, at a gap where it is still well conditioned, heads for the same limit.
    near_one = literal_fit(problem, 1e-5).predict(elsewhere)
    assert np.abs(near_one - at_one).max() < 1e-2 * size
    assert np.abs(literal_fit(problem, 0.0).predict(elsewhere) - at_one).max() > 0.1 * size


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", KINDS)
def test_rho_are_the_positive_eigenvalues_of_the_whitened_gram_matrix(kind, route):
    problem = make_problem(kind)
    P, ranks = literal_whitened_gram(problem)
    spectrum = spectrum_of(problem, route)
    values = np.linalg.eigvalsh(P)
    positive = values[values > 1e-10]
    assert_allclose(spectrum.rho, positive, rtol=1e-9)
    assert (np.diff(spectrum.rho) >= 0).all()
    assert spectrum.block_ranks.tolist() == ranks


@pytest.mark.parametrize("route", ROUTES)
def test_with_more_rows_than_needed_the_rank_of_the_spectrum_is_that_of_the_features(route):
    problem = make_problem("rank-deficient")
    G, _ = gram_and_diagonal(problem)
    assert len(spectrum_of(problem, route).rho) == np.linalg.matrix_rank(G)


@pytest.mark.parametrize("route", ROUTES)
def test_features_that_are_all_constant_leave_the_mean(route):
    problem = make_problem("tall")
    constant = np.full_like(problem.features, 7.3)
    spectrum = spectrum_of(replace(problem, features=constant), route)
    assert len(spectrum.rho) == 0
    assert_allclose(fitted_by(spectrum, constant, 0.5), problem.y.mean(), rtol=1e-12)
    assert spectrum.dof(gap=0.5) == 1.0
    assert spectrum.smallest_useful_gap == 1.0
    assert_allclose(spectrum.train_error(gap=0.5), problem.y.var(), rtol=1e-9)


@pytest.mark.parametrize("route", ROUTES)
def test_units_of_features_do_not_matter(route):
    problem = make_problem("tall")
    units = np.power(10.0, np.linspace(-9, 9, problem.features.shape[1]))
    scaled = spectrum_of(replace(problem, features=problem.features * units), route)
    plain = spectrum_of(problem, route)
    assert_allclose(scaled.rho, plain.rho, rtol=1e-10)
    assert_allclose(scaled.coef(gap=0.1) * units, plain.coef(gap=0.1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("route", ROUTES)
def test_integer_weights_are_repeated_rows(route):
    problem = make_problem("unequal blocks")
    times = np.random.default_rng(1).integers(0, 4, size=len(problem.y))
    weighted = replace(problem, weight=times.astype(float))
    repeated = problem.take(np.repeat(np.arange(len(problem.y)), times))
    one, other = spectrum_of(weighted, route), spectrum_of(repeated, route)
    assert one.weight == other.weight == times.sum()
    assert_allclose(one.rho, other.rho, rtol=1e-10)
    for gap in GAPS:
        assert_allclose(one.coef(gap=gap), other.coef(gap=gap), rtol=1e-8, atol=1e-10)
        assert_allclose(one.train_error(gap=gap), other.train_error(gap=gap), rtol=1e-10)
        assert_allclose(one.residual_dof(gap=gap), other.residual_dof(gap=gap), rtol=1e-10)


def test_the_reflectors_of_a_large_reduction_give_the_same_spectrum():
    """More than 64 whitened coordinates go through the tridiagonal reduction."""
    problem = random_problem(np.random.default_rng(3), 160, [10] * 8, outputs=2)
    by_gram, by_qr = spectrum_of(problem, "gram moments"), spectrum_of(problem)
    assert len(by_gram.rho) == 80
    assert_allclose(by_gram.rho, by_qr.rho, rtol=1e-9)
    for gap in (0.5, 1e-2, 1e-4):
        literal = literal_fit(problem, gap)
        for spectrum in (by_gram, by_qr):
            assert_allclose(fitted_by(spectrum, problem.features, gap), literal.fitted, atol=1e-9)
            assert_allclose(spectrum.dof(gap=gap), literal.dof, rtol=1e-9)
