"""What arithmetic does not resolve is no mode: redundant features, tiny gaps, repeated rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import exact_fit, fitted_by, random_problem, spectrum_of

from negcorr import NCLRegressor
from negcorr._common.lapack import EPS
from negcorr.spectrum.whitening import RESOLVED, resolved

GAPS = (1.0, 1e-4, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16, 1e-18, 0.0)


def redundant():
    """A thousand features of one input, of which each member's ten are nearly dependent."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    return X, X[:, 0] + 0.3 * rng.normal(size=200)


@pytest.mark.parametrize("solver", ["auto", "qr"])
@pytest.mark.parametrize("gap", GAPS)
def test_redundant_features_fit_at_every_gap_as_they_claim(gap, solver):
    X, y = redundant()
    model = NCLRegressor(basis="fourier", gap=gap, solver=solver).fit(X, y)
    assert model.score(X, y) > 0.905
    assert model.dof_ < 14.0
    claimed = model.path_.train_error()
    assert np.mean((y - model.predict(X)) ** 2) == pytest.approx(claimed, rel=1e-6)
    sizes = EPS * np.abs(model.basis_.transform(X)) @ np.abs(model.coef_)
    assert sizes.max() < 1e-6 * y.std()


@pytest.mark.parametrize("basis", ["fourier", "orthogonal", "kernel", "nystroem"])
@pytest.mark.parametrize("gap", GAPS)
def test_one_row_alone_is_predicted_as_in_a_batch_and_by_the_mean_of_the_members(gap, basis):
    X, y = redundant()
    model = NCLRegressor(basis=basis, gap=gap).fit(X, y)
    batch = model.predict(X)
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(len(X))])
    assert np.abs(alone - batch).max() < 1e-6 * y.std()
    members = model.predict_members(X).mean(axis=0)
    assert np.abs(members - batch).max() < 1e-6 * y.std()


@pytest.mark.parametrize("basis", ["fourier", "orthogonal", "kernel", "trees"])
@pytest.mark.parametrize("n_distinct", [3, 5, 12])
def test_dof_are_at_most_the_number_of_distinct_rows(basis, n_distinct):
    rng = np.random.default_rng(n_distinct)
    distinct = rng.normal(size=(n_distinct, 1))
    X = distinct[rng.permutation(np.arange(60) % n_distinct)]
    y = rng.normal(size=60)
    model = NCLRegressor(basis=basis, lam=1.0).fit(X, y)
    assert model.dof_ <= n_distinct + 1e-9
    assert max(model.path_.spectrum.block_ranks) <= n_distinct


def test_the_rule_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(6, 4)) * np.power(10.0, np.arange(4) * 4)
    size = np.ones(6)
    expected = [True, True, True, False]
    assert resolved(unit, size).tolist() == expected
    scale = np.power(10.0, np.linspace(-100, 100, 6))
    assert resolved(unit / scale[:, None], size * scale).tolist() == expected


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_modes_that_are_kept_are_those_of_fifty_digits(fit_intercept):
    """Members that differ by 1e-8 are real; a copy that differs by rounding adds nothing."""
    rng = np.random.default_rng(3)
    problem = random_problem(rng, 24, [3, 3, 3])
    near = problem.features.copy()
    near[:, 3:6] = near[:, :3] + 1e-8 * near[:, 3:6]
    spectrum = spectrum_of(
        type(problem)(near, problem.y, problem.weight, problem.starts),
        fit_intercept=fit_intercept,
    )
    assert len(spectrum.rho) == 9
    exact, exact_dof = exact_fit(
        type(problem)(near, problem.y, problem.weight, problem.starts),
        (1e-16,),
        fit_intercept=fit_intercept,
    )
    assert_allclose(spectrum.dof(gap=[1e-16]), exact_dof, rtol=1e-6)
    assert_allclose([fitted_by(spectrum, near, 1e-16)], exact, atol=1e-5)
    copied = near.copy()
    copied[:, 3:6] = np.nextafter(copied[:, :3], np.inf)
    spectrum = spectrum_of(
        type(problem)(copied, problem.y, problem.weight, problem.starts),
        fit_intercept=fit_intercept,
    )
    assert len(spectrum.rho) == 6


def test_what_is_resolved_bounds_the_rounding_of_a_unit_direction():
    size = np.ones(2)
    limit = RESOLVED / EPS
    unit = np.array([[0.49, 0.51], [-0.49, -0.51]]) * limit
    assert resolved(unit, size).tolist() == [True, False]
