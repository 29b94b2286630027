"""Curves and matrices of one spectrum agree with their definitions and with each other."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import (
    GAPS,
    KINDS,
    Problem,
    fitted_by,
    literal_fit,
    make_problem,
    separate_member_fits,
    spectrum_of,
)


@pytest.mark.parametrize("kind", KINDS)
def test_shrinkage_is_the_spectrum_of_the_smoothing_matrix(kind):
    problem = make_problem(kind)
    used = problem.take(problem.weight > 0)
    spectrum = spectrum_of(used)
    for gap in (*GAPS, 0.0):
        S = literal_fit(used, gap).smoothing
        root = np.sqrt(used.weight)
        # S is similar to a symmetric matrix; the intercept is one more eigenvalue of 1.
        values = np.linalg.eigvalsh(S * root[:, None] / root)
        shrinkage = np.sort(np.append(spectrum.shrinkage(gap=gap), 1.0))
        padded = np.concatenate([np.zeros(len(values) - len(shrinkage)), shrinkage])
        assert_allclose(values, padded, atol=1e-9)


def test_curves_follow_the_shape_of_lam_and_end_with_outputs():
    spectrum = spectrum_of(make_problem("multi-output"))
    gaps = np.array([[0.1, 0.5, 1.0], [0.0, 0.2, 0.3]])
    assert spectrum.shrinkage(gap=gaps).shape == (2, 3, len(spectrum.rho))
    for name in ("dof", "dof_derivative", "dof_second_derivative", "residual_dof"):
        curve = getattr(spectrum, name)
        assert curve(gap=gaps).shape == (2, 3)
        assert_allclose(curve(gap=gaps)[1, 2], curve(0.7), rtol=1e-12)
    for name in ("train_error", "member_error", "diversity"):
        curve = getattr(spectrum, name)
        assert curve(gap=gaps).shape == (2, 3, 3)
        assert_allclose(curve(gap=gaps)[1, 2], curve(0.7), rtol=1e-12)


def test_curves_with_a_ridge_keep_that_shape():
    spectrum = spectrum_of(make_problem("multi-output"), alpha=0.2)
    gaps = np.array([[0.1, 0.5, 1.0], [0.0, 0.2, 0.3]])
    whole = spectrum.diversity(gap=gaps)
    assert whole.shape == (2, 3, 3)
    for index in np.ndindex(2, 3):
        assert_allclose(whole[index], spectrum.diversity(gap=gaps[index]), rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_a_path_of_coefficients_is_one_fit_for_every_gap(alpha):
    spectrum = spectrum_of(make_problem("multi-output"), alpha=alpha)
    gaps = np.array([1.0, 0.1, 1e-5, 0.0])
    path = spectrum.coef_path(gaps)
    for k, gap in enumerate(gaps):
        assert_allclose(path[:, :, k], spectrum.coef(gap=gap), rtol=1e-10, atol=1e-13)


def test_every_output_may_have_its_own_gap():
    spectrum = spectrum_of(make_problem("multi-output"))
    own = spectrum.coef(gap=[1.0, 0.1, 0.01])
    for j, gap in enumerate([1.0, 0.1, 0.01]):
        assert_allclose(own[j], spectrum.coef(gap=gap)[j], rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize("kind", KINDS)
def test_member_error_is_train_error_plus_diversity(kind, alpha):
    spectrum = spectrum_of(make_problem(kind), alpha=alpha)
    gaps = np.array([1.0, 0.3, 1e-2, 1e-6])
    total = spectrum.train_error(gap=gaps) + spectrum.diversity(gap=gaps)
    assert_allclose(spectrum.member_error(gap=gaps), total, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_leverages_add_up_to_dof_and_are_the_diagonal_of_the_smoother(kind):
    problem = make_problem(kind)
    spectrum = spectrum_of(problem)
    for gap in GAPS:
        of_rows = {"gap": gap, "sample_weight": problem.weight}
        leverage = spectrum.leverage(problem.features, **of_rows)
        assert_allclose(leverage.sum(), spectrum.dof(gap=gap), rtol=1e-10)
        S = spectrum.smoothing_matrix(problem.features, **of_rows)
        assert_allclose(np.diagonal(S), leverage, atol=1e-12)


def test_leverage_is_the_derivative_of_the_fit_by_its_target():
    problem = make_problem("weighted")
    gap, row, step = 0.05, 4, 0.5
    leverage = spectrum_of(problem).leverage(
        problem.features, gap=gap, sample_weight=problem.weight
    )
    moved = problem.y.copy()
    moved[row] += step
    change = literal_fit(replace(problem, y=moved), gap)
    # The smoother is linear in y, so a difference of any size is the derivative.
    slope = (change.fitted - literal_fit(problem, gap).fitted)[row, 0] / step
    assert_allclose(leverage[row], slope, rtol=1e-9)


def test_without_weights_every_row_counts_once():
    problem = make_problem("tall")
    spectrum = spectrum_of(problem)
    ones = np.ones(len(problem.y))
    assert_allclose(
        spectrum.leverage(problem.features, 0.5),
        spectrum.leverage(problem.features, 0.5, sample_weight=ones),
    )
    assert_allclose(
        spectrum.smoothing_matrix(problem.features, 0.5),
        literal_fit(problem, 0.5).smoothing,
        atol=1e-10,
    )


@pytest.mark.parametrize("kind", ["tall", "wide", "rank-deficient", "multi-output"])
def test_residual_dof_is_n_minus_2_tr_s_plus_tr_s_squared(kind):
    problem = make_problem(kind)
    spectrum = spectrum_of(problem)
    for gap in (*GAPS, 0.0):
        S = literal_fit(problem, gap).smoothing
        wanted = problem.weight.sum() - 2.0 * np.trace(S) + np.trace(S @ S)
        assert_allclose(spectrum.residual_dof(gap=gap), wanted, atol=1e-9)


def test_residual_dof_keeps_its_digits_near_an_interpolating_fit():
    """n − 2 tr S + tr S² is Σ(1 − s)² there, which a difference would drown in rounding."""
    problem = make_problem("wide")
    spectrum = spectrum_of(problem)
    assert len(spectrum.rho) == len(problem.y) - 1
    gaps = np.array([1e-3, 1e-6, 1e-9])
    stiffness = (problem.n_members - spectrum.rho) / spectrum.rho
    left = gaps[:, None] * stiffness / (1.0 + gaps[:, None] * stiffness)
    assert_allclose(spectrum.residual_dof(gap=gaps), (left**2).sum(axis=1), rtol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_variance_factor_is_the_squared_length_of_the_rows_weights_on_y(fit_intercept):
    problem = make_problem("unequal blocks")
    spectrum = spectrum_of(problem, fit_intercept=fit_intercept)
    elsewhere = np.random.default_rng(2).normal(size=(6, problem.features.shape[1]))
    for gap in GAPS:
        # F(x) = Σ_i s_i(x) y_i; the s_i(x) are the fit to each unit vector in place of y.
        units = replace(problem, y=np.eye(len(problem.y)))
        rows = literal_fit(units, gap, fit_intercept=fit_intercept).predict(elsewhere)
        factor = spectrum.variance_factor(elsewhere, gap)
        assert_allclose(factor[:, 0], (rows**2).sum(axis=1), rtol=1e-8)


@pytest.mark.parametrize("kind", ["tall", "weighted", "multi-output", "rank-deficient"])
def test_lam_0_is_the_average_of_members_trained_alone(kind):
    problem = make_problem(kind)
    spectrum = spectrum_of(problem)
    ensemble = fitted_by(spectrum, problem.features, 1.0)
    members = separate_member_fits(problem)
    assert_allclose(ensemble, members.mean(axis=0), atol=1e-9)
    errors = ((members - problem.y) ** 2).mean(axis=0)
    wanted = np.average(errors, axis=0, weights=problem.weight)
    assert_allclose(spectrum.member_error(0.0), wanted, rtol=1e-9)


@pytest.mark.parametrize("kind", ["tall", "weighted", "rank-deficient"])
def test_lam_1_is_one_least_squares_fit_on_all_features(kind):
    problem = make_problem(kind)
    spectrum = spectrum_of(problem)
    together = replace(problem, starts=np.array([0, problem.features.shape[1]]))
    ensemble = fitted_by(spectrum, problem.features, 0.0)
    assert_allclose(ensemble, separate_member_fits(together)[0], atol=1e-9)


def test_gap_for_dof_inverts_dof():
    spectrum = spectrum_of(make_problem("wide"))
    gaps = np.array([1.0, 0.3, 1e-2, 1e-4, 1e-7, 0.0])
    assert_allclose(spectrum.gap_for_dof(spectrum.dof(gap=gaps))[1:-1], gaps[1:-1], rtol=1e-5)
    assert spectrum.gap_for_dof(spectrum.dof(gap=1.0)) == 1.0
    assert spectrum.gap_for_dof(spectrum.dof(gap=0.0)) == 0.0
    wanted = np.linspace(float(spectrum.dof(0.0)), float(spectrum.dof(1.0)), 9)
    assert_allclose(spectrum.dof(gap=spectrum.gap_for_dof(wanted)), wanted, rtol=1e-12)


@pytest.mark.parametrize("wanted", [0.5, 1e3, np.nan])
def test_gap_for_dof_says_what_can_be_reached(wanted):
    spectrum = spectrum_of(make_problem("tall"))
    with pytest.raises(ValueError, match=r"dof=.* cannot be reached: at lam=0 .* 4 .* 13"):
        spectrum.gap_for_dof(wanted)


def test_gaps_of_1e_minus_20_are_not_lam_1():
    """Two members that differ by 1e-9: the mode between them moves at gaps of 1e-18."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 1))
    features = np.hstack([x, x + 1e-9 * rng.normal(size=(30, 1))])
    y = features[:, :1] + rng.normal(size=(30, 1))
    spectrum = spectrum_of(Problem(features, y, np.ones(30), np.array([0, 1, 2])))
    dof = spectrum.dof(gap=[1e-16, 1e-18, 1e-20, 1e-22, 0.0])
    assert (np.diff(dof) > 1e-4).all()
    assert_allclose(dof[[0, -1]], [2.0, 3.0], atol=0.02)
    error = spectrum.train_error(gap=[1e-16, 1e-18, 1e-20, 0.0])[:, 0]
    assert (np.diff(error) < 0).all()


@pytest.mark.parametrize("kind", ["tall", "weighted", "multi-output", "unequal blocks"])
def test_member_coefficients_predict_as_the_members_do(kind):
    problem = make_problem(kind)
    spectrum = spectrum_of(problem)

    def members(gap):
        coef = spectrum.member_coef(gap=gap)
        intercepts = spectrum.member_intercepts(coef)
        return np.stack(
            [
                problem.features[:, b] @ coef[:, b].T + intercept
                for b, intercept in zip(problem.blocks, intercepts, strict=True)
            ]
        )

    assert_allclose(members(1.0), separate_member_fits(problem), rtol=1e-8, atol=1e-9)
    for gap in (0.5, 1e-3):
        assert_allclose(
            members(gap).mean(axis=0),
            fitted_by(spectrum, problem.features, gap),
            rtol=1e-8,
            atol=1e-9,
        )


def test_a_curve_at_one_lam_is_an_array_without_axes():
    spectrum = spectrum_of(make_problem("tall"))
    for name in ("dof", "dof_derivative", "dof_second_derivative", "residual_dof"):
        found = getattr(spectrum, name)(0.5)
        assert type(found) is np.ndarray
        assert found.shape == ()


def test_coefficients_are_contiguous():
    spectrum = spectrum_of(make_problem("multi-output"))
    assert spectrum.coef(0.5).flags.c_contiguous
    assert spectrum.coef_path(np.array([1.0, 0.5, 0.1])).flags.c_contiguous
