"""As many fits as a standard error needs, and never more than allowed."""

import itertools
from functools import partial

import numpy as np
import pytest
from models import ncl
from reference import smoothing_matrix
from scipy.stats import chi2
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, Ridge, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from negcorr.dof.monte_carlo.precision import Limits, columns, deflate, is_linear, probe_until
from negcorr.dof.monte_carlo.probing import ProbeSource
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.dof.monte_carlo.responses import ResponseMeter
from negcorr.exceptions import ProbeError


def apply(S, X, y):
    return S @ y


def setup(estimator, X=None, y=None, n=100, scheme="forward", first=8, eps=0.1, seed=0):
    """Meter, source and the first probes."""
    rng = np.random.default_rng(seed)
    X = np.arange(n, dtype=float)[:, np.newaxis] if X is None else X
    y = rng.normal(size=len(X)) if y is None else y
    refit = Refit.of(estimator, X, y)
    meter = ResponseMeter(refit, np.full(refit.y.shape[1], eps), scheme, None)
    source = ProbeSource(refit, "rademacher", False, rng, np.random.default_rng(1))
    probes = source.no_probes(keeps_derivatives=True)
    probes.extend(meter, source, first)
    return meter, source, probes


# ---------------------------------------------------------------------------------------
# Plain probes
# ---------------------------------------------------------------------------------------


def test_wanted_probes_follow_from_the_error_at_hand():
    _, _, probes = setup(partial(apply, smoothing_matrix("symmetric")))
    # The spread of eight values may be too small by chance: an upper bound on it decides.
    bound = probes.mean_and_error()[1][0] * np.sqrt(7 / chi2.ppf(0.1, 7))
    assert Limits(bound / 3.0, 99).probes_wanted(probes) == pytest.approx(9 * 8)
    assert Limits(1.001 * bound, 99).reached(probes)
    assert not Limits(0.999 * bound, 99).reached(probes)


def test_every_output_must_be_precise_enough():
    S = smoothing_matrix("symmetric")
    y = np.random.default_rng(0).normal(size=(100, 2))
    _, _, probes = setup(lambda X, y: S @ y * [1.0, 100.0], y=y)
    small, large = probes.mean_and_error()[1]
    assert not Limits(2.0 * small, 99).reached(probes)
    assert Limits(2.0 * large, 99).reached(probes)
    wanted = [Limits(target, 99).probes_wanted(probes) for target in (large, large / 2.0)]
    assert wanted[1] == pytest.approx(4 * wanted[0])


@pytest.mark.parametrize("scheme", ["forward", "central"])
@pytest.mark.parametrize("max_fits", [17, 18, 30, 31, 10_000])
def test_probes_are_added_until_either_limit(scheme, max_fits):
    meter, source, probes = setup(partial(apply, smoothing_matrix("symmetric")), scheme=scheme)
    limits = Limits(0.5, max_fits)
    probe_until(probes, meter, source, limits)
    assert meter.n_fits <= max_fits
    if max_fits == 10_000:
        assert limits.reached(probes)
        assert meter.n_fits < 500
    else:
        # No room is left that another probe could use.
        assert max_fits - meter.n_fits < (2 if scheme == "central" else 1)


def test_probes_are_at_most_doubled_at_a_time():
    meter, source, probes = setup(partial(apply, smoothing_matrix("symmetric")))
    sizes = [len(probes.values)]
    extend = probes.extend

    def spy(*args):
        extend(*args)
        sizes.append(len(probes.values))

    probes.extend = spy
    probe_until(probes, meter, source, Limits(0.2, 2000))
    assert sizes[1] == 16
    assert all(b <= 2 * a for a, b in itertools.pairwise(sizes))
    assert len(sizes) < 12


# ---------------------------------------------------------------------------------------
# Linearity
# ---------------------------------------------------------------------------------------

ROWS = np.random.default_rng(5).normal(size=(40, 3))
TARGET = ROWS[:, 0] + np.random.default_rng(6).normal(size=40)


@pytest.mark.parametrize("scheme", ["forward", "central"])
@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression(),
        Ridge(random_state=0),
        KernelRidge(kernel="rbf"),
        KNeighborsRegressor(3),
        ncl(lam=0.6, n_members=3, n_components=3),
        lambda X, y: 3.0 * y.mean() + np.arange(40.0),
        lambda X, y: np.zeros(40),
    ],
    ids=["ols", "ridge", "kernel ridge", "neighbours", "ncl", "affine", "constant"],
)
def test_linear_fits_are_recognised_by_two_more_fits(estimator, scheme):
    meter, _, probes = setup(estimator, ROWS, TARGET, scheme=scheme)
    before = meter.n_fits
    assert is_linear(*columns(probes), meter, probes.directions[0].seed)
    assert meter.n_fits - before == (2 if scheme == "central" else 1)


@pytest.mark.parametrize("scheme", ["forward", "central"])
@pytest.mark.parametrize(
    "estimator",
    [
        Lasso(0.2),
        RidgeCV(np.geomspace(1e-2, 1e2, 30)),
        DecisionTreeRegressor(random_state=0, max_depth=3),
        IsotonicRegression(),
        ncl(n_members=3, n_components=3, criterion="gcv"),
        lambda X, y: y**2,
        lambda X, y: y + 1e-4 * y**2,
        lambda X, y: np.maximum(y, y.mean()),
        lambda X, y: y / np.linalg.norm(y),
    ],
    ids=["lasso", "ridge cv", "tree", "isotonic", "ncl", "square", "slight", "kink", "norm"],
)
def test_other_fits_are_not_taken_for_linear(estimator, scheme):
    X = ROWS[:, :1] if isinstance(estimator, IsotonicRegression) else ROWS
    meter, _, probes = setup(estimator, X, TARGET, scheme=scheme, eps=2.0)
    assert not is_linear(*columns(probes), meter, probes.directions[0].seed)


# ---------------------------------------------------------------------------------------
# Deflation
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["symmetric", "neighbours", "local means"])
def test_deflation_reaches_the_error_with_fewer_fits(kind):
    S = smoothing_matrix(kind)
    meter, source, probes = setup(partial(apply, S))
    limits = Limits(0.15, 5000)
    found, deflation = deflate(probes, meter, source, limits)
    assert limits.reached(found)
    plain_meter, plain_source, plain = setup(partial(apply, S))
    probe_until(plain, plain_meter, plain_source, limits)
    assert 2 * meter.n_fits < plain_meter.n_fits
    assert deflation.directions.shape[1] > 0
    mean, error = found.mean_and_error()
    assert abs(mean - np.trace(S)) < 4 * error


def test_low_rank_is_exact_after_one_deflation():
    S = smoothing_matrix("low rank")
    meter, source, probes = setup(partial(apply, S))
    found, deflation = deflate(probes, meter, source, Limits(1e-6, 1000))
    assert deflation.directions.shape[1] == 5
    # Probes, the fit to the targets as given, directions, those together, fresh probes.
    assert meter.n_fits == 8 + 1 + 5 + 1 + 8
    mean, error = found.mean_and_error()
    assert error < 1e-11
    assert abs(mean - np.trace(S)) <= 3 * error


@pytest.mark.parametrize("max_fits", [*range(26, 60, 3), 100])
@pytest.mark.parametrize("kind", ["symmetric", "low rank"])
def test_deflation_keeps_within_the_fits_allowed(kind, max_fits):
    S = smoothing_matrix(kind)
    meter, source, probes = setup(partial(apply, S))
    found, _ = deflate(probes, meter, source, Limits(1e-9, max_fits))
    assert meter.n_fits <= max_fits
    assert len(found.values) >= 8
    if kind == "symmetric":
        assert meter.n_fits == max_fits


def test_a_scarce_budget_is_spent_on_what_leaves_less_variance():
    S = smoothing_matrix("symmetric")
    errors = {}
    for max_fits in (40, 80, 160):
        meter, source, probes = setup(partial(apply, S))
        found, _ = deflate(probes, meter, source, Limits(1e-3, max_fits))
        errors[max_fits] = found.mean_and_error()[1][0]
    plain = np.sqrt(2.0) * np.linalg.norm(S) / np.sqrt(np.array([40, 80, 160]))
    assert (np.array(list(errors.values())) < [1.2, 0.6, 0.2] * plain).all()


def test_identity_needs_no_deflation():
    meter, source, probes = setup(lambda X, y: y)
    found, deflation = deflate(probes, meter, source, Limits(1.0, 1000))
    assert abs(found.mean_and_error()[0] - 100.0) < 4.0
    assert meter.n_fits <= 1000
    assert deflation.directions.shape[1] <= 100


def test_nothing_to_deflate_is_zero():
    meter, source, probes = setup(lambda X, y: np.ones(100))
    found, deflation = deflate(probes, meter, source, Limits(1e-3, 1000))
    assert (found.mean_and_error()[0] == 0.0).all()
    assert deflation.directions.shape == (100, 0)


def test_fits_that_are_not_linear_further_out_are_not_deflated():
    """Random directions hardly move the mean; the direction that is deflated does."""

    def fit_predict(X, y):
        return np.full(100, np.clip(y.mean() - mean, -0.3, 0.3))

    y = np.random.default_rng(0).normal(size=100)
    mean = y.mean()
    meter, source, probes = setup(fit_predict, y=y, eps=0.5)
    assert deflate(probes.copied(), meter, source, Limits(1e-3, 1000)) is None
    assert np.abs(np.ravel(probes.values)).max() > 0.0


def test_failures_among_deflated_directions_are_named():
    S, calls = smoothing_matrix("low rank"), []

    def fit_predict(X, y):
        calls.append(1)
        if len(calls) == 11:
            raise ArithmeticError("eleventh")
        return S @ y

    meter, source, probes = setup(fit_predict)
    with pytest.raises(ProbeError, match="ArithmeticError: eleventh") as caught:
        deflate(probes, meter, source, Limits(1e-6, 1000))
    assert caught.value.probe == 8 + 1
