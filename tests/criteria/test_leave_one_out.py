"""Leave-one-out by rank-M updates equals n real refits."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import (
    Problem,
    fitted_by,
    literal_fit,
    make_problem,
    moments_of,
    random_problem,
    refitted_loo,
    spectrum_of,
    without_one,
)

from negcorr import ncl_path
from negcorr.bases import KernelFeatures
from negcorr.criteria.leave_one_out import LeaveOneOut
from negcorr.spectrum.factorise import factorise

GAPS = np.array([1.0, 0.5, 0.1, 1e-2, 1e-3])


def loo_of(problem, **settings):
    return LeaveOneOut(problem.features, problem.y, problem.weight, problem.starts, **settings)


def refits_by_qr(problem, gaps):
    """n refits by the accurate route, for gaps below what the literal formula resolves."""
    residuals = np.empty((len(gaps), *problem.y.shape))
    for i in range(len(problem.y)):
        without = spectrum_of(without_one(problem, i))
        for k, gap in enumerate(gaps):
            residuals[k, i] = problem.y[i] - fitted_by(without, problem.features[[i]], gap)[0]
    return residuals


def assert_loo_is_refits(problem, gaps=GAPS, **settings):
    residuals = loo_of(problem, **settings).residuals(gaps)
    for k, gap in enumerate(gaps):
        wanted = refitted_loo(problem, gap, **settings)
        scale = max(1.0, np.abs(wanted).max())
        assert_allclose(residuals[k], wanted, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize(
    "kind", ["tall", "unequal blocks", "one member", "wide", "weighted", "multi-output"]
)
def test_residuals_equal_n_refits(kind, alpha, fit_intercept):
    assert_loo_is_refits(make_problem(kind), alpha=alpha, fit_intercept=fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_three_rows_more_than_columns_in_a_block_are_enough(fit_intercept):
    problem = random_problem(np.random.default_rng(6), 7, [4, 3, 4])
    assert_loo_is_refits(problem, fit_intercept=fit_intercept)


@pytest.mark.parametrize("kind", ["tall", "unequal blocks", "multi-output"])
def test_at_lam_1_with_independent_features_residuals_equal_refits(kind):
    assert_loo_is_refits(make_problem(kind), gaps=np.array([0.0]))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_row_that_takes_a_columns_only_entry_with_it_is_refitted(weighted, fit_intercept):
    """One-hot columns with a single one: the row has leverage 1 in its block."""
    problem = random_problem(np.random.default_rng(9), 20, [3, 3, 3], weighted=weighted)
    features = problem.features.copy()
    features[:, 2] = 0.0
    features[4, 2] = 1.0
    features[:, 8] = 0.0
    features[11, 8] = 1.0
    assert_loo_is_refits(replace(problem, features=features), fit_intercept=fit_intercept)


def test_one_hot_members_with_rare_categories_equal_refits():
    rng = np.random.default_rng(2)
    category = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 0, 1, 2, 0, 1])
    one_hot = np.eye(4)[category]
    other = rng.normal(size=(15, 3))
    problem = Problem(
        np.hstack([one_hot, other]), rng.normal(size=(15, 1)), np.ones(15), np.array([0, 4, 7])
    )
    gaps = np.array([1.0, 0.3, 1e-2])
    residuals = loo_of(problem).residuals(gaps)
    others = np.arange(15) != 9
    for k, gap in enumerate(gaps):
        # The only row of its category sees a column that the others know nothing of: what is
        # predicted there is a convention, the package's own.
        assert_allclose(residuals[k, others], refitted_loo(problem, gap)[others], atol=1e-8)
    assert_allclose(residuals[:, 9], refits_by_qr(problem, gaps)[:, 9], rtol=1e-9)


def test_blocks_that_interpolate_are_refitted_row_by_row():
    problem = make_problem("interpolating blocks")
    gaps = np.array([0.5, 1e-3])
    assert_allclose(loo_of(problem).residuals(gaps), refits_by_qr(problem, gaps), rtol=1e-9)


def test_dependent_columns_inside_blocks_equal_refits():
    problem = random_problem(np.random.default_rng(3), 25, [3, 3, 3], weighted=True)
    features = problem.features.copy()
    features[:, 1] = features[:, 0]
    features[:, 5] = features[:, 3] + features[:, 4]
    assert_loo_is_refits(replace(problem, features=features))


def test_rows_without_weight_are_predicted_by_everyone_else():
    problem = make_problem("weighted")
    gap = 0.1
    residuals = loo_of(problem).residuals(np.array([gap]))[0]
    unused = problem.weight == 0
    assert unused.sum() > 2
    whole = problem.y - literal_fit(problem, gap).fitted
    assert_allclose(residuals[unused], whole[unused], atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_integer_weights_are_repeated_rows(alpha):
    """One copy leaves and the others stay, as they would in the repeated data."""
    problem = random_problem(np.random.default_rng(1), 20, [2, 3])
    times = np.random.default_rng(2).integers(1, 4, size=20)
    weighted = replace(problem, weight=times.astype(float))
    rows = np.repeat(np.arange(20), times)
    one, other = loo_of(weighted, alpha=alpha), loo_of(problem.take(rows), alpha=alpha)
    assert_allclose(one.residuals(GAPS)[:, rows], other.residuals(GAPS), rtol=1e-8, atol=1e-10)
    assert_allclose(one.error(GAPS), other.error(GAPS), rtol=1e-9)
    assert_loo_is_refits(weighted, alpha=alpha)


def test_error_is_the_weighted_mean_square_of_the_residuals():
    problem = make_problem("multi-output")
    loo = loo_of(problem)
    squares = loo.residuals(GAPS) ** 2
    wanted = np.average(squares, axis=1, weights=problem.weight)
    assert_allclose(loo.error(GAPS), wanted, rtol=1e-12)


@pytest.mark.parametrize("gap", [1.0, 0.3, 0.05])
def test_the_shortcut_of_ridge_is_wrong_for_lam_below_1(gap):
    problem = make_problem("tall")
    fit = literal_fit(problem, gap)
    shortcut = (problem.y - fit.fitted) / (1.0 - fit.leverage)[:, None]
    residuals = loo_of(problem).residuals(np.array([gap]))[0]
    assert (np.abs(shortcut - residuals) / np.abs(residuals)).max() > 0.01


def test_the_shortcut_of_ridge_is_right_at_lam_1():
    problem = make_problem("tall")
    fit = literal_fit(problem, 0.0)
    shortcut = (problem.y - fit.fitted) / (1.0 - fit.leverage)[:, None]
    assert_allclose(loo_of(problem).residuals(np.array([0.0]))[0], shortcut, atol=1e-9)


def test_rows_in_several_batches_give_the_same_residuals(monkeypatch):
    problem = make_problem("tall")
    whole = loo_of(problem).residuals(GAPS)
    monkeypatch.setattr("negcorr.criteria.leave_one_out._BATCH_BYTES", 8 * 4 * (12 + 8) * 7)
    assert_allclose(loo_of(problem).residuals(GAPS), whole, rtol=1e-11, atol=1e-13)


def test_lam_1_with_features_dependent_across_members_is_an_error():
    with pytest.raises(ValueError, match=r"loo at lam=1 is not defined.*give gap > 0"):
        loo_of(make_problem("wide")).residuals(np.array([0.0]))


@pytest.mark.parametrize("kind", ["tall", "wide", "unequal blocks"])
def test_gaps_down_to_1e_minus_8_keep_six_digits(kind):
    problem = make_problem(kind)
    gaps = np.array([1e-4, 1e-6, 1e-8])
    wanted = refits_by_qr(problem, gaps)
    residuals = loo_of(problem).residuals(gaps)
    assert_allclose(residuals, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("solver", ["auto", "qr"])
def test_the_choice_is_that_of_refits_where_rows_are_fewer_than_features(solver):
    """Rounding at tiny gaps must not look like a small error."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    features = np.cos(x @ rng.normal(size=(2, 80)) + rng.uniform(0, 2 * np.pi, size=80))
    y = np.sin(x.sum(axis=1)) + 0.1 * rng.normal(size=40)
    starts = np.arange(0, 81, 4)
    path = ncl_path(features, y, starts, criterion="loo", solver=solver)
    problem = Problem(features, y[:, None], np.ones(40), starts)
    curve = (refits_by_qr(problem, path.gaps) ** 2).mean(axis=(1, 2))
    assert path.gap == pytest.approx(path.gaps[np.argmin(curve)], rel=1e-9)
    assert path.loo() == pytest.approx(curve.min(), rel=1e-6)


def test_a_path_with_this_criterion_shows_the_same_curve():
    problem = make_problem("tall")
    path = ncl_path(problem.features, problem.y[:, 0], problem.starts, criterion="loo", cv=2)
    assert_allclose(path.loo(gap=GAPS), loo_of(problem).error(GAPS)[:, 0], rtol=1e-9)
    assert path.loo() == pytest.approx(path.values.min(), rel=1e-9)


def small_rounded_table(seed):
    """Kernel features of few rows, rounded so that some are equal."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 4))
    X = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 3)))
    y = np.round(X[:, 0] + 0.3 * rng.normal(size=n), int(rng.integers(0, 2)))
    features = KernelFeatures(random_state=0).fit(X).transform(X)
    return Problem(features, y[:, None], np.ones(n), np.array([0, features.shape[1]]))


@pytest.mark.parametrize("seed", [39, 56, 58])
def test_rows_that_alone_span_a_direction_have_the_residual_of_the_limit(seed):
    """Their leverage in the ensemble comes within rounding of 1 as λ → 1."""
    problem, alpha = small_rounded_table(seed), 1e-3
    gaps = np.array([1.0, 1e-2, 1e-4, 1e-8, 1e-12, 1e-16, 1e-20, 1e-30])
    residuals = loo_of(problem, alpha=alpha).residuals(gaps)
    assert np.isfinite(residuals).all()
    scale = np.abs(problem.y).max()
    for i in range(len(problem.y)):
        left = without_one(problem, i)
        spectrum = factorise(moments_of(left), problem.starts, alpha=alpha, every_mode=True)
        for k, gap in enumerate(gaps):
            wanted = problem.y[i] - fitted_by(spectrum, problem.features[[i]], gap)[0]
            assert_allclose(residuals[k, i], wanted, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.filterwarnings("ignore::negcorr.exceptions.SearchBoundaryWarning")
@pytest.mark.parametrize("seed", [39, 56, 58])
def test_small_rounded_tables_can_be_fitted_by_it(seed):
    problem = small_rounded_table(seed)
    path = ncl_path(
        problem.features, problem.y[:, 0], problem.starts, criterion="loo", alpha=1e-3, cv=2
    )
    assert np.isfinite(path.values).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_that_an_ensemble_nearly_interpolates_keep_nine_digits(fit_intercept):
    """The update divides by what leverages leave of 1: these rows are refitted."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(8, 1))
    phase = rng.uniform(0, 6, size=35)
    features = np.cos(X * rng.normal(size=35) + phase)
    problem = Problem(features, rng.normal(size=(8, 1)), np.ones(8), np.arange(0, 36, 7))
    gaps = np.array([1.0, 1e-2, 1e-4])
    found = loo_of(problem, alpha=1e-8, fit_intercept=fit_intercept).residuals(gaps)
    for i in range(8):
        left = without_one(problem, i)
        spectrum = factorise(
            moments_of(left),
            problem.starts,
            alpha=1e-8,
            fit_intercept=fit_intercept,
            every_mode=True,
        )
        q = spectrum.n_features
        fitted = (features[i] - spectrum.centre[:q]) @ spectrum.coef_path(gaps)[0]
        wanted = problem.y[i] - spectrum.centre[q:] - fitted
        assert_allclose(found[:, i, 0], wanted, rtol=0, atol=1e-9 * np.abs(problem.y).max())
