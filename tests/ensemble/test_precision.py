"""Against fifty digits: how many digits the routes lose, down to gaps of 1e-20.

A fair yardstick is what the data themselves leave open: the exact answers for features moved
by one unit in the last place.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import (
    Problem,
    exact_fit,
    fitted_by,
    moments_of,
    one_ulp,
    random_problem,
    spectrum_of,
)

import negcorr.moments.scan
from negcorr.moments.moments import FactorMoments, GramMoments, total
from negcorr.moments.scan import scan_moments
from negcorr.path.tune import GivenFeatures
from negcorr.rows.rows import Rows
from negcorr.spectrum.factorise import factorise

GAPS = (1.0, 1e-2, 1e-5, 1e-8, 1e-12, 1e-16, 1e-20)

N_PERTURBATIONS = 4


def plain(rng):
    return random_problem(rng, 24, [3, 3, 3])


def weighted(rng):
    return random_problem(rng, 24, [2, 4, 2], outputs=2, weighted=True)


def polynomials(rng):
    """Powers of x on [0, 1] in each of two members, on different inputs."""
    x = rng.uniform(size=(28, 2))
    features = np.hstack([x[:, [j]] ** np.arange(1, 6) for j in range(2)])
    y = np.exp(x.sum(axis=1, keepdims=True)) + 0.1 * rng.normal(size=(28, 1))
    return Problem(features, y, np.ones(28), np.array([0, 5, 10]))


def nearly_equal_members(rng):
    """Members that differ by 1e-8: modes that move only at gaps of about 1e-16."""
    one = rng.normal(size=(24, 3))
    features = np.hstack([one, one + 1e-8 * rng.normal(size=(24, 3)), rng.normal(size=(24, 3))])
    y = one[:, :1] + rng.normal(size=(24, 1))
    return Problem(features, y, np.ones(24), np.array([0, 3, 6, 9]))


def nearly_dependent_columns(rng):
    """A block whose columns are dependent but for 1e-7."""
    problem = random_problem(rng, 26, [4, 4])
    features = problem.features.copy()
    features[:, 3] = features[:, 0] - features[:, 1] + 1e-7 * rng.normal(size=26)
    return replace(problem, features=features)


def scaled_columns(rng):
    """A condition number of 1e12 that comes from the units of the columns alone."""
    problem = random_problem(rng, 24, [4, 4])
    units = rng.permutation(np.power(10.0, np.linspace(-6, 6, 8)))
    return replace(problem, features=problem.features * units)


def as_fitted(spectrum, problem):
    return np.array([fitted_by(spectrum, problem.features, gap) for gap in GAPS])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "make",
    [plain, weighted, polynomials, nearly_equal_members, nearly_dependent_columns, scaled_columns],
)
def test_qr_errs_by_at_most_100_times_what_one_ulp_of_the_features_changes(make, fit_intercept):
    problem = make(np.random.default_rng(7))
    exact, exact_dof = exact_fit(problem, GAPS, fit_intercept=fit_intercept)
    change, dof_change = np.zeros(len(GAPS)), np.zeros(len(GAPS))
    rng = np.random.default_rng(8)
    for _ in range(N_PERTURBATIONS):
        moved = replace(problem, features=one_ulp(problem.features, rng))
        other, other_dof = exact_fit(moved, GAPS, fit_intercept=fit_intercept)
        change = np.maximum(change, np.abs(other - exact).max(axis=(1, 2)))
        dof_change = np.maximum(dof_change, np.abs(other_dof - exact_dof))
    spectrum = spectrum_of(problem, fit_intercept=fit_intercept)
    error = np.abs(as_fitted(spectrum, problem) - exact).max(axis=(1, 2))
    dof_error = np.abs(spectrum.dof(gap=GAPS) - exact_dof)
    assert (error <= 100.0 * change).all(), error / change
    # A dof that is a whole number at the ends does not move at all but for rounding.
    assert (dof_error <= 100.0 * np.maximum(dof_change, np.spacing(exact_dof))).all()


@pytest.mark.parametrize("route", ["gram moments", "factor moments, qr"])
def test_units_that_make_a_condition_number_of_1e12_cost_nothing(route):
    problem = scaled_columns(np.random.default_rng(1))
    assert np.linalg.cond(problem.features) > 1e12
    exact, exact_dof = exact_fit(problem, GAPS)
    spectrum = spectrum_of(problem, route)
    assert_allclose(as_fitted(spectrum, problem), exact, rtol=0, atol=1e-8)
    assert_allclose(spectrum.dof(gap=GAPS), exact_dof, rtol=1e-8)


def test_the_qr_route_needs_no_warning_at_a_gap_that_matters_at_1e_minus_16():
    """The Gram route cannot see modes of 1e-16; the QR route gets a third of their digits."""
    problem = nearly_equal_members(np.random.default_rng(2))
    _, exact_dof = exact_fit(problem, GAPS)
    by_qr, by_gram = (spectrum_of(problem, r) for r in ("factor moments, qr", "gram moments"))
    moving = slice(4, 7)
    assert np.ptp(exact_dof[moving]) > 1.0
    assert np.abs(by_qr.dof(gap=GAPS) - exact_dof).max() < 1e-5
    assert np.abs(by_gram.dof(gap=GAPS) - exact_dof)[moving].max() > 0.1


def shifted(rng, size=1e4):
    """Unit variance around a mean that is large."""
    problem = random_problem(rng, 40, [3, 3, 3], weighted=True)
    spread = problem.features.std(axis=0)
    features = (problem.features - problem.features.mean(axis=0)) / spread
    # The floats are what they are after the shift; the exact answer is for those floats.
    return replace(problem, features=features + size * rng.choice([-1.0, 1.0], size=9))


def from_blocks(problem, form, n_parts):
    rows = Rows(problem.features, problem.y, problem.weight)
    parts = np.array_split(np.random.default_rng(0).permutation(len(problem.y)), n_parts)
    moments = scan_moments(rows, GivenFeatures(problem.starts), [np.sort(p) for p in parts], form)
    return total(moments)


FORMS = {"gram": GramMoments, "factor": FactorMoments}


@pytest.mark.parametrize("n_parts", [1, 5])
@pytest.mark.parametrize("form", ["gram", "factor"])
def test_feature_means_of_1e4_cost_no_digits_in_a_scan(form, n_parts):
    problem = shifted(np.random.default_rng(3))
    gaps = (1.0, 0.1, 1e-3, 1e-6)
    exact, exact_dof = exact_fit(problem, gaps)
    spectrum = factorise(from_blocks(problem, form, n_parts), problem.starts)
    # Fitted from centred features, so that only the moments' own digits are measured.
    q = spectrum.n_features
    centred = problem.features - spectrum.centre[:q]
    fitted = [centred @ spectrum.coef(gap=g).T + spectrum.centre[q:] for g in gaps]
    assert_allclose(np.array(fitted), exact, rtol=0, atol=1e-11)
    assert_allclose(spectrum.dof(gap=gaps), exact_dof, rtol=1e-12)


@pytest.mark.parametrize("form", ["gram", "factor"])
def test_feature_means_of_1e4_cost_no_digits_in_rows_held_in_memory(form):
    problem = shifted(np.random.default_rng(3))
    gaps = (1.0, 0.1, 1e-3, 1e-6)
    exact, exact_dof = exact_fit(problem, gaps)
    spectrum = factorise(moments_of(problem, FORMS[form]), problem.starts)
    q = spectrum.n_features
    centred = problem.features - spectrum.centre[:q]
    fitted = [centred @ spectrum.coef(gap=g).T + spectrum.centre[q:] for g in gaps]
    assert_allclose(np.array(fitted), exact, rtol=0, atol=1e-11)
    assert_allclose(spectrum.dof(gap=gaps), exact_dof, rtol=1e-12)


@pytest.mark.parametrize("form", ["gram", "factor"])
def test_feature_means_of_1e4_cost_no_digits_over_many_small_blocks(form, monkeypatch):
    """Blocks of 64 rows, the smallest that a scan makes."""
    monkeypatch.setattr(negcorr.moments.scan, "BLOCK_BYTES", 1)
    rng = np.random.default_rng(4)
    problem = random_problem(rng, 400, [3, 3, 3])
    features = (problem.features - problem.features.mean(axis=0)) / problem.features.std(axis=0)
    moved = replace(problem, features=features + 1e4)
    # Subtracting 1e4 again is exact, so both hold the same rows.
    back = replace(problem, features=moved.features - 1e4)
    one, other = (factorise(from_blocks(p, form, n_parts=1), problem.starts) for p in (moved, back))
    assert_allclose(one.rho, other.rho, rtol=1e-12)
    assert_allclose(one.coef(gap=1e-3), other.coef(gap=1e-3), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("form", ["gram", "factor"])
def test_rows_without_weight_do_not_decide_where_the_features_are_shifted_to(form):
    problem = shifted(np.random.default_rng(3))
    gaps = (1.0, 0.1, 1e-3)
    exact, exact_dof = exact_fit(problem, gaps)
    ghosts = np.random.default_rng(5).normal(size=(300, 9))
    padded = Problem(
        np.vstack([ghosts, problem.features]),
        np.vstack([np.zeros((300, 1)), problem.y]),
        np.concatenate([np.zeros(300), problem.weight]),
        problem.starts,
    )
    rows = Rows(padded.features, padded.y, padded.weight)
    (moments,) = scan_moments(rows, GivenFeatures(padded.starts), [np.arange(340)], form)
    spectrum = factorise(moments, padded.starts)
    q = spectrum.n_features
    centred = problem.features - spectrum.centre[:q]
    fitted = [centred @ spectrum.coef(gap=g).T + spectrum.centre[q:] for g in gaps]
    assert_allclose(np.array(fitted), exact, rtol=0, atol=1e-11)
    assert_allclose(spectrum.dof(gap=gaps), exact_dof, rtol=1e-12)
