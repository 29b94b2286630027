"""Monte-Carlo degrees of freedom: against exact ones, within the error that is reported."""

import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ncl
from numpy.testing import assert_allclose
from reference import (
    adaptive_kernel_ridge,
    algorithm_1,
    complex_step_trace,
    directional_derivative,
    smoothing_matrix,
    unit_step_trace,
)
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from negcorr.dof.monte_carlo import estimate as module
from negcorr.dof.monte_carlo.estimate import monte_carlo_dof
from negcorr.dof.monte_carlo.refits import NonFiniteError
from negcorr.dof.smoothers import linear_smoother
from negcorr.exceptions import NoResponseWarning, ProbeError, ProbeLimitWarning, StepSizeWarning

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None, max_examples=25)

N = 40
SMALL_NCL = {"n_members": 3, "n_components": 3}


def data(n=N, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    signal = X[:, 0] if outputs is None else X[:, [0] * outputs]
    return X, signal + rng.normal(size=signal.shape)


X, Y = data()
COLLINEAR = np.column_stack([X, X[:, 0] - 2.0 * X[:, 1], np.ones(N)])
WIDE = np.random.default_rng(1).normal(size=(N, 2 * N))
DIABETES = load_diabetes(return_X_y=True)


#: Probes before the first look at the precision.
FIRST = module.FIRST_LOOK


def fewest_fits(n_probes):
    """The smallest limit that is accepted."""
    for max_fits in range(1, 1000):
        try:
            fit = Counting()
            monte_carlo_dof(fit, X, Y, n_probes=n_probes, target_std_error=1.0, max_fits=max_fits)
        except ValueError:
            assert fit.calls == 0
        else:
            return max_fits
    raise AssertionError("no limit is accepted")


class Log(list):
    """Shared by all clones of the estimator that holds it."""

    def __deepcopy__(self, memo):
        return self


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts its targets times a random number, and writes down what it was fitted with."""

    def __init__(self, log=None, noise=0.1, random_state=None):
        self.log = log
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        self.log.append((np.array(y), self.random_state))
        state = np.random.RandomState(self.random_state)
        self.fitted_ = np.asarray(y) * (1.0 + self.noise * state.standard_normal())
        return self

    def predict(self, X):
        return self.fitted_


class Counting:
    """A callable that counts its calls, and fails at some of them."""

    def __init__(self, S=None, fails=()):
        self.S = 0.5 * np.eye(N) if S is None else S
        self.fails = fails
        self.calls = 0

    def __call__(self, X, y):
        self.calls += 1
        if self.calls - 1 in self.fails:
            raise ArithmeticError(f"call {self.calls - 1}")
        return self.S @ y


def apply(S, X, y):
    return S @ y


def nothing_said(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return monte_carlo_dof(*args, **options)


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return monte_carlo_dof(*args, **options)


# ---------------------------------------------------------------------------------------
# Calibration against exact degrees of freedom
# ---------------------------------------------------------------------------------------

FIXED = ConstantKernel(2.0, "fixed") * RBF(1.5, "fixed")
CALIBRATED = {
    "least squares": (LinearRegression(), X),
    "least squares, collinear": (LinearRegression(), COLLINEAR),
    "ridge": (Ridge(alpha=2.0), X),
    "ridge, collinear": (Ridge(alpha=2.0), COLLINEAR),
    "ridge, wide": (Ridge(alpha=20.0), WIDE),
    "kernel ridge": (KernelRidge(alpha=0.4, kernel="rbf", gamma=0.2), X),
    "kernel ridge, wide": (KernelRidge(alpha=5.0), WIDE),
    "neighbours": (KNeighborsRegressor(4), X),
    "process": (GaussianProcessRegressor(FIXED, alpha=0.1), X),
    "process about its mean": (GaussianProcessRegressor(FIXED, alpha=0.5, normalize_y=True), X),
    "ncl": (ncl(lam=0.6, **SMALL_NCL), X),
    "ncl, wide": (ncl(lam=0.9, **SMALL_NCL | {"n_components": 20}), X),
    "mean": (DummyRegressor(), X),
}


def assert_calibrated(values, errors, exact, covered=0.97):
    assert np.mean(np.abs(values - exact) <= 3.0 * errors) >= covered
    assert_allclose(np.sqrt(np.mean(errors**2)), values.std(ddof=1), rtol=0.15)


@pytest.mark.parametrize("probe", ["rademacher", "gaussian"])
@pytest.mark.parametrize("name", CALIBRATED)
def test_exact_value_is_within_the_error_that_is_reported(name, probe):
    """Repetitions are outputs: one target many times, each with probes of its own."""
    estimator, table = CALIBRATED[name]
    repetitions = 200 if "ncl" in name else 800
    exact = linear_smoother(estimator, table, Y).dof[0]
    result = monte_carlo_dof(
        estimator,
        table,
        np.tile(Y[:, np.newaxis], repetitions),
        eps=0.1,
        n_probes=30,
        probe=probe,
        scheme="forward",
        random_state=1,
    )
    assert_calibrated(result.dof, result.std_error, exact)


def test_exact_value_is_within_the_error_for_other_seeds():
    options = {"eps": 0.1, "n_probes": 30, "scheme": "forward"}
    found = [
        monte_carlo_dof(LinearRegression(), X, Y, random_state=s, **options) for s in range(200)
    ]
    values = np.array([result.dof for result in found])
    assert_calibrated(values, np.array([result.std_error for result in found]), 5.0)
    assert len(set(values)) == 200


def test_gaussian_probes_of_an_interpolating_fit_vary():
    estimator = LinearRegression()
    exact = linear_smoother(estimator, WIDE, Y).dof[0]
    assert exact == N
    many = np.tile(Y[:, np.newaxis], 800)
    options = {"eps": 0.1, "n_probes": 30, "probe": "gaussian", "scheme": "forward"}
    for fit, table in ((estimator, WIDE), (KNeighborsRegressor(1), X)):
        result = monte_carlo_dof(fit, table, many, random_state=0, **options)
        assert_calibrated(result.dof, result.std_error, N)


@pytest.mark.parametrize("n_probes", [2, 30, 500])
@pytest.mark.parametrize("scheme", ["central", "forward"])
@pytest.mark.parametrize("level", [0.0, 1e6])
@pytest.mark.parametrize("eps", [0.1, 1e-3])
def test_nearest_neighbour_has_n_degrees_up_to_rounding(eps, level, scheme, n_probes):
    """Signs square to 1, so that all there is is rounding, and rounding is what is reported."""
    y = np.round(Y, 3) + level
    for seed in range(5):
        result = monte_carlo_dof(
            partial(apply, np.eye(N)) if n_probes == 500 else KNeighborsRegressor(1),
            X,
            y,
            eps=eps,
            n_probes=n_probes,
            scheme=scheme,
            random_state=seed,
        )
        assert abs(result.dof - N) <= 3.0 * result.std_error
        assert result.std_error < 1e-13 * N * (1.0 + level) / eps


# ---------------------------------------------------------------------------------------
# Known numbers
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["central", "forward"])
@pytest.mark.parametrize(
    ("estimator", "table", "exact"),
    [
        (LinearRegression(), X, 5),
        (LinearRegression(), COLLINEAR, 5),
        (LinearRegression(fit_intercept=False), COLLINEAR, 5),
        (LinearRegression(), WIDE, N),
        (DummyRegressor(), X, 1),
        (KNeighborsRegressor(1), X, N),
        (make_pipeline(StandardScaler(), LinearRegression()), X, 5),
    ],
    ids=["rank", "collinear", "no intercept", "wide", "mean", "nearest", "pipeline"],
)
def test_known_values(estimator, table, exact, scheme):
    result = nothing_said(estimator, table, Y, scheme=scheme, n_probes=100, random_state=0)
    assert abs(result.dof - exact) <= 3.0 * result.std_error + 1e-9
    assert result.std_error < 0.5


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("target", [None, 0.1])
def test_a_constant_has_none_and_says_that_nothing_moved(outputs, target):
    rows, y = data(outputs=outputs)
    constant = 3.0 if outputs is None else [3.0, 4.0]
    estimator = DummyRegressor(strategy="constant", constant=constant)
    with pytest.warns(NoResponseWarning, match="did not move with y in any of") as said:
        result = monte_carlo_dof(estimator, rows, y, target_std_error=target, random_state=0)
    assert np.all(result.dof == 0.0)
    assert np.all(result.std_error < 1e-10)
    assert said[0].filename == __file__


def test_values_make_the_mean_and_the_error():
    result = monte_carlo_dof(Ridge(), X, Y, n_probes=20, random_state=0)
    assert result.values.shape == (20,)
    assert result.dof == pytest.approx(result.values.mean())
    assert result.std_error == pytest.approx(result.values.std(ddof=1) / np.sqrt(20))
    assert (result.n_samples, result.probe, result.scheme) == (N, "rademacher", "central")
    assert (result.linear, result.n_deflated) == (None, 0)
    assert repr(result).startswith(f"MonteCarloDof(dof={result.dof:.4g} ± ")
    assert repr(result).endswith(f"n_probes=20, n_fits={result.n_fits}, n_samples={N})")


# ---------------------------------------------------------------------------------------
# Algorithm 1 and Theorem 8
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize(
    "fit", [adaptive_kernel_ridge, partial(apply, smoothing_matrix("symmetric", N))]
)
def test_algorithm_1_is_reproduced(fit, eps):
    seen = []

    def fit_predict(X, y):
        seen.append(y.copy())
        return fit(X, y)

    result = monte_carlo_dof(
        fit_predict, X, Y, eps=eps, probe="gaussian", scheme="forward", n_probes=1, random_state=0
    )
    assert result.n_fits == len(seen) == 2
    assert (seen[0] == Y).all()
    b = (seen[1] - Y) / eps
    assert_allclose(result.values, [algorithm_1(fit, X, Y, b, eps)], rtol=1e-8)
    assert result.dof == result.values[0]
    assert np.isnan(result.std_error)
    assert 0.5 < b.std() < 1.5
    assert len(np.unique(np.abs(b))) > N / 2


@pytest.mark.parametrize("eps", [1e-3, 0.5])
def test_both_neighbours_are_used_by_the_central_scheme(eps):
    seen = []

    def fit_predict(X, y):
        seen.append(y.copy())
        return adaptive_kernel_ridge(X, y)

    result = monte_carlo_dof(fit_predict, X, Y, eps=eps, n_probes=3, random_state=0)
    assert result.n_fits == len(seen) == 6
    for value, ahead, behind in zip(result.values, seen[::2], seen[1::2], strict=True):
        b = np.round((ahead - Y) / eps)
        assert set(b) == {-1.0, 1.0}
        assert_allclose(behind, Y - eps * b)
        moved = adaptive_kernel_ridge(X, Y + eps * b) - adaptive_kernel_ridge(X, Y - eps * b)
        assert value == pytest.approx(b @ moved / (2.0 * eps), rel=1e-8)


@pytest.mark.parametrize("probe", ["rademacher", "gaussian"])
@pytest.mark.parametrize(("scheme", "order"), [("forward", 1), ("central", 2)])
def test_one_probe_tends_to_the_derivative_along_it(scheme, order, probe):
    seen = []

    def fit_predict(X, y):
        seen.append(y.copy())
        return adaptive_kernel_ridge(X, y)

    options = {"probe": probe, "scheme": scheme, "n_probes": 1, "random_state": 3}
    steps = (8e-3, 4e-3, 2e-3, 1e-3)
    values = [monte_carlo_dof(fit_predict, X, Y, eps=eps, **options).dof for eps in steps]
    b = (seen[1 if scheme == "forward" else 0] - Y) / steps[0]
    exact = b @ directional_derivative(adaptive_kernel_ridge, X, Y, b)
    errors = np.abs(np.array(values) - exact)
    assert errors[0] > 1e-5
    assert_allclose(np.log2(errors[:-1] / errors[1:]), order, atol=0.15)


@pytest.mark.parametrize("probe", ["rademacher", "gaussian"])
@pytest.mark.parametrize("scheme", ["forward", "central"])
def test_mean_over_probes_tends_to_the_trace_of_the_jacobian(scheme, probe):
    exact = complex_step_trace(adaptive_kernel_ridge, X, Y)
    options = {"eps": 1e-4, "probe": probe, "scheme": scheme, "random_state": 0}
    few, many = (
        monte_carlo_dof(adaptive_kernel_ridge, X, Y, n_probes=n, **options) for n in (50, 1250)
    )
    for result in (few, many):
        assert abs(result.dof - exact) < 3.0 * result.std_error
    assert many.std_error < 0.3 * few.std_error
    # With the bandwidth of y itself held the trace is another one: it is the response to y.
    gamma = 0.5 + 0.4 * np.sin(Y @ np.linspace(-1.0, 1.0, N))
    held = linear_smoother(KernelRidge(alpha=0.3, kernel="rbf", gamma=gamma), X, Y).dof[0]
    assert abs(many.dof - held) > 4.0 * many.std_error


def test_a_network_trained_to_its_minimum():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2.0, 2.0, size=(30, 1))
    y = np.sin(2.0 * rows[:, 0]) + 0.2 * rng.normal(size=30)
    network = MLPRegressor(
        hidden_layer_sizes=(3,),
        activation="tanh",
        solver="lbfgs",
        alpha=0.1,
        tol=1e-10,
        max_iter=20_000,
        random_state=0,
    )
    trained = clone(network).fit(rows, y)
    assert trained.n_iter_ < 1000
    further = trained.set_params(warm_start=True)
    loss = further.loss_
    assert abs(further.fit(rows, y).loss_ - loss) < 1e-6 * loss

    def fit_predict(X, y):
        return clone(network).fit(X, y).predict(X)

    exact = unit_step_trace(fit_predict, rows, y, 0.1)
    results = [
        nothing_said(network, rows, y, eps=eps, n_probes=30, random_state=0) for eps in (0.1, 0.05)
    ]
    # Along the same probes the derivative does not depend on the step.
    assert_allclose(results[0].values, results[1].values, atol=0.05)
    for result in results:
        assert abs(result.dof - exact) < 3.0 * result.std_error
        assert result.std_error < 0.6


@repeatable
@given(st.integers(2, 6), st.integers(0, 10_000), st.sampled_from(["central", "forward"]))
def test_probes_of_a_linear_callable_are_its_quadratic_form(n, seed, scheme):
    rng = np.random.default_rng(seed)
    S, y, seen = rng.normal(size=(n, n)), rng.normal(size=n), []

    def fit_predict(X, y):
        seen.append(y.copy())
        return S @ y + 1.0

    result = monte_carlo_dof(
        fit_predict, np.zeros((n, 1)), y, eps=0.5, scheme=scheme, n_probes=6, random_state=seed
    )
    probes = (np.array(seen[::2] if scheme == "central" else seen[1:]) - y) / 0.5
    assert_allclose(result.values, [b @ S @ b for b in probes], atol=1e-10)


# ---------------------------------------------------------------------------------------
# Common random numbers
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forest",
    [
        ExtraTreesRegressor(5, max_depth=4, max_features=1),
        RandomForestRegressor(5, max_depth=3),
        make_pipeline(StandardScaler(), ExtraTreesRegressor(5, max_depth=4, max_features=1)),
    ],
    ids=["random splits", "forest", "pipeline"],
)
def test_seeds_held_within_a_probe_make_a_small_spread(forest):
    options = {"eps": 1e-3, "n_probes": 10, "random_state": 0}
    held = monte_carlo_dof(forest, X, Y, **options)
    free = monte_carlo_dof(forest, X, Y, seeding="none", **options)
    assert held.values.std() < free.values.std() / 3.0


def test_values_with_held_seeds_are_degrees_of_freedom():
    """Splits that do not look at y: every leaf is a mean, so dof is the number of leaves."""
    forest = ExtraTreesRegressor(1, max_depth=4, max_features=1)
    result = monte_carlo_dof(forest, X, Y, eps=0.02, n_probes=60, random_state=0)
    leaves = [
        clone(forest).set_params(random_state=s).fit(X, Y)[0].get_n_leaves() for s in range(60)
    ]
    error = np.hypot(result.std_error, np.std(leaves) / np.sqrt(60))
    assert abs(result.dof - np.mean(leaves)) < 3.0 * error


def seeds_of(log, per_probe):
    return np.reshape([seed for _, seed in log], (-1, per_probe))


def test_fits_of_a_probe_share_their_seed_and_probes_do_not():
    log = Log()
    monte_carlo_dof(Recorder(log), X, Y, eps=0.1, n_probes=6, random_state=0)
    seeds = seeds_of(log, 2)
    assert (seeds[:, 0] == seeds[:, 1]).all()
    assert len(set(seeds[:, 0])) == 6
    assert all(isinstance(seed, int) for _, seed in log)


def test_a_second_step_meets_the_seeds_of_the_first():
    log = Log()
    quietly(Recorder(log), X, Y, n_probes=6, random_state=0)
    seeds = seeds_of(log, 2)[:, 0]
    assert len(seeds) == 6 + 4
    assert (seeds[6:] == seeds[:4]).all()


def test_one_sided_differences_have_a_base_of_their_own_seed():
    log = Log()
    monte_carlo_dof(Recorder(log), X, Y, eps=0.1, n_probes=5, scheme="forward", random_state=0)
    still = [seed for y, seed in log if (y == Y).all()]
    moved = [seed for y, seed in log if not (y == Y).all()]
    assert len(set(moved)) == 5
    assert sorted(still) == sorted(moved)


def test_shared_seeds_are_the_same_in_all_fits():
    log = Log()
    result = monte_carlo_dof(
        Recorder(log), X, Y, eps=0.1, n_probes=5, seeding="shared", random_state=0
    )
    assert len(log) == result.n_fits == 10
    assert len({seed for _, seed in log}) == 1
    assert log[0][1] is not None


@pytest.mark.parametrize(
    ("seeding", "given", "wanted"),
    [("per-probe", 5, 5), ("shared", 5, 5), ("none", 5, 5), ("none", None, None)],
)
def test_seeds_that_are_set_and_seeds_that_are_to_stay_are_untouched(seeding, given, wanted):
    log = Log()
    monte_carlo_dof(Recorder(log, random_state=given), X, Y, eps=0.1, seeding=seeding)
    assert {seed for _, seed in log} == {wanted}


def test_directions_do_not_depend_on_seeds():
    options = {"eps": 0.1, "random_state": 0}
    free = monte_carlo_dof(Ridge(), X, Y, **options)
    for other in (
        monte_carlo_dof(Ridge(random_state=0), X, Y, **options),
        monte_carlo_dof(Ridge(), X, Y, seeding="shared", **options),
        monte_carlo_dof(Ridge(), X, Y, seeding="none", **options),
    ):
        assert_allclose(other.values, free.values, rtol=1e-12)


@pytest.mark.parametrize("n_probes", [3, 8, 30])
def test_seeds_that_do_not_matter_are_shared(n_probes):
    options = {"eps": 0.1, "scheme": "forward", "n_probes": n_probes, "random_state": 0}
    assert monte_carlo_dof(Ridge(), X, Y, **options).n_fits == n_probes + 2
    assert monte_carlo_dof(Ridge(random_state=0), X, Y, **options).n_fits == n_probes + 1
    assert monte_carlo_dof(Recorder(Log()), X, Y, **options).n_fits == 2 * n_probes


def test_search_over_shuffled_folds_is_smooth():
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=KFold(4, shuffle=True))
    exact = [linear_smoother(Ridge(alpha=a), X, Y).dof[0] for a in (10.0, 0.1)]
    result = monte_carlo_dof(search, X, Y, eps=1e-3, n_probes=30, random_state=0)
    assert exact[0] - 3 * result.std_error < result.dof < exact[1] + 3 * result.std_error
    assert result.std_error < 1.0


def test_ncl_with_a_searched_lam_is_smooth():
    rows, y = data(60)
    for cv in (5, None):
        model = ncl(n_members=5, n_components=4, cv=cv)
        result = monte_carlo_dof(model, rows, y, eps=1e-4, random_state=0)
        assert 1.0 < result.dof < 21.0
        assert result.std_error < 3.0


# ---------------------------------------------------------------------------------------
# The step
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [Ridge(), KernelRidge(kernel="rbf"), ncl(lam=0.5, **SMALL_NCL), LinearRegression()],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("factor", [10.0, 1e-3])
def test_step_and_value_follow_the_units_of_y(estimator, factor):
    options = {"random_state": 0, "seeding": "shared"}
    first = nothing_said(estimator, X, Y, **options)
    scaled = nothing_said(estimator, X, factor * Y, **options)
    assert scaled.eps == pytest.approx(factor * first.eps, rel=1e-9)
    assert scaled.dof == pytest.approx(first.dof, rel=1e-7)
    assert scaled.std_error == pytest.approx(first.std_error, rel=1e-6)


def test_value_of_a_nonlinear_fit_follows_the_units_of_y():
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    first, scaled = (quietly(tree, X, f * Y, random_state=0) for f in (1.0, 16.0))
    assert scaled.eps == pytest.approx(16.0 * first.eps)
    assert scaled.dof == pytest.approx(first.dof, rel=1e-9)


def frame(kind):
    colour = np.array(["red", "green", "blue"])[np.arange(N) % 3]
    columns = {"a": X[:, 0], "b": X[:, 1], "colour": colour.tolist()}
    return pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_with_names_go_through_a_pipeline(kind):
    table = frame(kind)
    columns = ColumnTransformer(
        [("number", StandardScaler(), ["a", "b"]), ("name", OneHotEncoder(), ["colour"])]
    )
    model = make_pipeline(columns, Ridge(alpha=0.5))
    y = pd.Series(Y) if kind == "pandas" else pl.Series(Y)
    result = nothing_said(model, table, y, n_probes=30, random_state=0)
    exact = linear_smoother(model, frame("pandas"), Y).dof[0]
    assert abs(result.dof - exact) < 3.0 * result.std_error
    assert 0.0 < result.eps < 2.0 * Y.std() / N**0.3  # neighbours are nearer than the spread


def test_frames_of_numbers_are_their_arrays():
    names = ["a", "b", "c", "d"]
    wanted = nothing_said(Ridge(), X, Y, random_state=0)
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        result = nothing_said(Ridge(), table, Y.tolist(), random_state=0)
        assert_allclose(result.values, wanted.values, rtol=1e-9)
        assert result.eps == pytest.approx(wanted.eps)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_sparse_tables(form):
    table = np.where(np.abs(X) < 0.7, 0.0, X)
    exact = linear_smoother(Ridge(), table, Y).dof[0]
    result = nothing_said(Ridge(), form(table), Y, n_probes=60, random_state=0)
    assert abs(result.dof - exact) < 3.0 * result.std_error
    assert result.eps > 0


@pytest.mark.parametrize("level", [0.0, 7.0, -1e-3, 1e6])
def test_constant_targets(level):
    exact = linear_smoother(Ridge(), X, Y).dof[0]
    result = nothing_said(Ridge(), X, np.full(N, level), n_probes=60, random_state=0)
    assert abs(result.dof - exact) < 3.0 * result.std_error
    assert result.eps > 0


def test_trees_are_told_that_the_step_matters():
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    told = 0
    for seed in range(10):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = monte_carlo_dof(tree, *DIABETES, random_state=seed)
        check = result.step_check
        assert check.n_probes == 4
        assert check.eps == pytest.approx(result.eps / 2.0)
        assert check.dof == pytest.approx(result.values[:4].mean() - check.difference)
        assert check.std_error > 0
        assert check.agree == (len(said) == 0)
        if said:
            assert (said[0].category, said[0].filename) == (StepSizeWarning, __file__)
            assert "the step matters" in str(said[0].message)
        told += len(said)
    assert told >= 3
    # An eps that is given is accepted.
    assert nothing_said(tree, *DIABETES, eps=result.eps, random_state=0).step_check is None


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        Lasso(0.1),
        ncl(n_members=10),
        LinearRegression(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_smooth_fits_are_told_nothing(estimator):
    for seed in range(3):
        check = nothing_said(estimator, *DIABETES, random_state=seed).step_check
        assert check.agree


def test_the_check_repeats_the_first_probes_with_half_the_step():
    seen = []

    def fit_predict(X, y):
        seen.append(y.copy())
        return adaptive_kernel_ridge(X, y)

    result = quietly(fit_predict, X, Y, n_probes=6, random_state=0)
    ahead = (np.array(seen[::2]) - Y) / result.eps
    assert_allclose(ahead[6:], ahead[:4] / 2.0, atol=1e-12)
    again = monte_carlo_dof(
        adaptive_kernel_ridge, X, Y, eps=result.eps / 2.0, n_probes=4, random_state=0
    )
    assert result.step_check.dof == pytest.approx(again.dof)
    difference = result.values[:4] - again.values
    assert result.step_check.difference == pytest.approx(difference.mean())
    assert result.step_check.std_error == pytest.approx(difference.std(ddof=1) / 2.0)


@pytest.mark.parametrize(("n_probes", "checked"), [(1, 1), (3, 3), (4, 4), (9, 4)])
def test_at_most_four_probes_are_repeated(n_probes, checked):
    fit = Counting()
    result = monte_carlo_dof(fit, X, Y, n_probes=n_probes, random_state=0)
    assert result.step_check.n_probes == checked
    assert fit.calls == result.n_fits == 2 * (n_probes + checked)


def test_declared_linear_fits_need_no_check():
    fit = Counting()
    result = monte_carlo_dof(fit, X, Y, linear=True, random_state=0)
    assert result.step_check is None
    assert (result.linear, result.scheme) == (True, "forward")
    assert fit.calls == result.n_fits == 8 + 1


# ---------------------------------------------------------------------------------------
# A wanted standard error
# ---------------------------------------------------------------------------------------


def falling_ridge():
    """1000 rows whose singular values fall as 1/k."""
    rng = np.random.default_rng(0)
    left = np.linalg.qr(rng.normal(size=(1000, 100)))[0]
    right = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    rows = (left / np.arange(1, 101)) @ right.T
    model = Ridge(alpha=1e-2, fit_intercept=False, solver="cholesky", random_state=0)
    return model, rows, 10.0 * rows @ rng.normal(size=100) + rng.normal(size=1000)


def test_deflation_takes_at_most_half_the_fits():
    model, rows, y = falling_ridge()
    exact = linear_smoother(model, rows, y).dof[0]
    for target in (0.2, 0.15):
        options = {"eps": 0.1, "target_std_error": target, "max_fits": 5000, "random_state": 0}
        plain = monte_carlo_dof(model, rows, y, scheme="forward", linear=False, **options)
        found = monte_carlo_dof(model, rows, y, **options)
        declared = monte_carlo_dof(model, rows, y, linear=True, **options)
        assert (plain.linear, found.linear, declared.linear) == (False, True, True)
        assert plain.n_deflated == 0
        for result in (plain, found, declared):
            assert result.std_error <= target
            assert abs(result.dof - exact) < 3.0 * result.std_error
        for result in (found, declared):
            assert result.n_deflated > 0
            assert 2 * result.n_fits <= plain.n_fits
        assert declared.n_fits < found.n_fits


@pytest.mark.parametrize("linear", ["auto", True])
@pytest.mark.parametrize("kind", ["symmetric", "neighbours", "local means"])
def test_deflated_values_are_as_good_as_they_say(kind, linear):
    S = smoothing_matrix(kind)
    rows, y = np.zeros((100, 1)), np.random.default_rng(0).normal(size=100)
    target = {"symmetric": 0.2, "neighbours": 0.3, "local means": 0.15}[kind]
    scores, deflated = [], 0
    for seed in range(200):
        result = monte_carlo_dof(
            partial(apply, S),
            rows,
            y,
            eps=0.1,
            scheme="forward",
            linear=linear,
            target_std_error=target,
            probe="gaussian" if seed % 2 else "rademacher",
            random_state=seed,
        )
        assert result.std_error <= target
        deflated += result.n_deflated > 0
        scores.append((result.dof - np.trace(S)) / result.std_error)
    assert np.mean(np.abs(scores) < 3.0) >= 0.97
    assert 0.7 < np.sqrt(np.mean(np.square(scores))) < 1.2
    assert deflated == 200


@pytest.mark.parametrize("linear", ["auto", True])
def test_a_rank_below_the_number_of_probes_is_found_exactly(linear):
    S = smoothing_matrix("low rank")
    rows, y = np.zeros((100, 1)), np.random.default_rng(0).normal(size=100)
    for seed in range(20):
        result = monte_carlo_dof(
            partial(apply, S),
            rows,
            y,
            eps=0.1,
            linear=linear,
            target_std_error=1e-6,
            random_state=seed,
        )
        assert result.n_deflated == 5
        assert result.std_error < 1e-10
        assert abs(result.dof - np.trace(S)) < max(3.0 * result.std_error, 1e-11)
        assert result.n_fits < 60


def test_least_squares_is_its_rank_to_rounding():
    result = nothing_said(
        LinearRegression(), COLLINEAR, Y, target_std_error=0.01, random_state=0, eps=0.1
    )
    assert result.dof == pytest.approx(5.0, abs=1e-9)
    assert (result.linear, result.n_deflated) == (True, 5)


def test_piecewise_linear_fits_are_not_exact_at_their_kinks():
    """The lasso is linear in y near y; further out other columns come in."""
    lasso, (rows, y) = Lasso(1.0, tol=1e-10), DIABETES
    options = {"eps": 4.0, "target_std_error": 0.4}
    plain = monte_carlo_dof(lasso, rows, y, eps=4.0, n_probes=500, random_state=0)
    for seed in range(6):
        result = monte_carlo_dof(lasso, rows, y, random_state=seed, **options)
        error = np.hypot(result.std_error, plain.std_error)
        assert abs(result.dof - plain.dof) < 4.0 * error


@pytest.mark.parametrize("scheme", ["central", "forward"])
@pytest.mark.parametrize("linear", ["auto", True, False])
@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        KernelRidge(kernel="rbf"),
        GradientBoostingRegressor(n_estimators=3, random_state=0),
        Recorder(Log(), noise=0.3),
    ],
    ids=["ridge", "kernel ridge", "boosting", "unseeded"],
)
def test_wanted_standard_error_is_reached(estimator, linear, scheme):
    if linear is True and not isinstance(estimator, Ridge | KernelRidge):
        linear = "auto"
    result = nothing_said(
        estimator,
        X,
        Y,
        eps=0.3,
        target_std_error=0.9,
        linear=linear,
        scheme=scheme,
        max_fits=5000,
        random_state=0,
    )
    assert result.std_error <= 0.9
    assert len(result.values) >= 8


def test_standard_error_may_be_reached_at_the_first_look():
    fit = Counting()
    result = monte_carlo_dof(fit, X, Y, eps=0.1, target_std_error=1.0, random_state=0)
    assert fit.calls == result.n_fits == 2 * FIRST
    assert (result.linear, result.n_deflated) == (None, 0)


@pytest.mark.parametrize("more", [0, 1, 2, 9])
@pytest.mark.parametrize("eps", ["auto", 0.1])
@pytest.mark.parametrize("scheme", ["central", "forward"])
@pytest.mark.parametrize("linear", ["auto", True, False])
@pytest.mark.parametrize("kind", ["callable", "seeded", "unset", "matters", "nonlinear"])
def test_limit_on_fits_is_kept(kind, linear, scheme, eps, more):
    max_fits = fewest_fits(8) + more
    fit = Counting(smoothing_matrix("symmetric", N))
    estimator = {
        "callable": fit,
        "seeded": Ridge(random_state=0),
        "unset": Ridge(),
        "matters": Recorder(Log()),
        "nonlinear": adaptive_kernel_ridge,
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepSizeWarning)
        with pytest.warns(ProbeLimitWarning, match=f"raise max_fits={max_fits}") as said:
            result = monte_carlo_dof(
                estimator,
                X,
                Y,
                eps=eps,
                scheme=scheme,
                linear=linear,
                target_std_error=1e-20,
                max_fits=max_fits,
                random_state=0,
            )
    assert said[0].filename == __file__
    assert result.n_fits <= max_fits
    assert result.std_error > 1e-20
    if kind == "callable":
        assert fit.calls == result.n_fits


def test_limit_on_fits_holds_for_many_first_probes():
    for scheme in ("central", "forward"):
        options = {"n_probes": 50, "target_std_error": 1e-20, "max_fits": fewest_fits(50)}
        result = quietly(Ridge(), X, Y, scheme=scheme, random_state=0, **options)
        assert result.n_fits <= options["max_fits"]
        assert len(result.values) >= 8


# ---------------------------------------------------------------------------------------
# Outputs, weights, callables
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["central", "forward"])
def test_outputs_have_values_of_their_own(scheme):
    rows, y = data(outputs=3)
    model = Ridge(alpha=[0.1, 10.0, 1000.0])
    exact = linear_smoother(model, rows, y).dof
    result = nothing_said(model, rows, y, scheme=scheme, n_probes=100, random_state=0)
    assert result.dof.shape == result.std_error.shape == result.eps.shape == (3,)
    assert result.values.shape == (100, 3)
    assert (np.abs(result.dof - exact) < 3.0 * result.std_error).all()
    assert result.step_check.dof.shape == (3,)
    assert abs(np.corrcoef(result.values.T)[0, 1]) < 0.4
    assert repr(result).startswith("MonteCarloDof(dof=[")


def test_one_column_is_one_output():
    both = [nothing_said(Ridge(), X, y, random_state=0) for y in (Y, Y[:, np.newaxis])]
    assert isinstance(both[0].dof, float)
    assert both[1].dof.shape == (1,)
    assert_allclose(both[1].values[:, 0], both[0].values, rtol=1e-9)


def test_each_output_has_its_own_step():
    rows, y = data(outputs=2)
    y = y * [1.0, 1000.0]
    chosen = nothing_said(Ridge(), rows, y, random_state=0)
    assert 300 < chosen.eps[1] / chosen.eps[0] < 3000
    given_steps = nothing_said(Ridge(), rows, y, eps=[0.1, 50.0], random_state=0)
    assert_allclose(given_steps.eps, [0.1, 50.0])
    assert_allclose(given_steps.values, chosen.values, rtol=1e-9)


def test_a_wanted_standard_error_is_for_all_outputs():
    rows, y = data(outputs=2)
    model = Ridge(alpha=[0.1, 1000.0])
    result = nothing_said(model, rows, y, eps=0.1, target_std_error=0.3, random_state=0)
    assert (result.std_error <= 0.3).all()
    # Deflation is for one output.
    assert (result.linear, result.n_deflated) == (None, 0)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression(),
        Ridge(alpha=3.0),
        KernelRidge(alpha=0.5, kernel="rbf", gamma=0.1),
        ncl(lam=0.6, **SMALL_NCL),
    ],
    ids=["least squares", "ridge", "kernel ridge", "ncl"],
)
def test_integer_weights_are_repeated_rows(estimator):
    weight = np.random.default_rng(2).integers(0, 4, N)
    weight[:3] = 0
    copies = np.repeat(np.arange(N), weight)
    exact = linear_smoother(estimator, X, Y, weight).dof[0]
    assert exact == pytest.approx(linear_smoother(estimator, X[copies], Y[copies]).dof[0])
    options = {"scheme": "forward", "n_probes": 150}
    result = nothing_said(estimator, X, Y, sample_weight=weight, random_state=0, **options)
    assert abs(result.dof - exact) < 3.0 * result.std_error
    assert result.std_error < 0.5


def test_weights_in_a_pipeline_are_those_of_its_last_step():
    model = make_pipeline(StandardScaler(), Ridge(alpha=30.0))
    weight = np.geomspace(0.01, 10.0, N)
    exact = linear_smoother(model, X, Y, weight).dof[0]
    result = nothing_said(model, X, Y, sample_weight=weight, target_std_error=0.05, random_state=0)
    assert abs(result.dof - exact) <= 3.0 * result.std_error
    assert abs(exact - linear_smoother(model, X, Y).dof[0]) > 0.15


def test_rows_of_weight_zero_are_not_moved():
    log = Log()
    weight = np.tile([0.0, 1.0], N // 2)
    monte_carlo_dof(Recorder(log), X, Y, sample_weight=weight, eps=0.1, random_state=0)
    for y, _ in log:
        assert (y[weight == 0] == Y[weight == 0]).all()
        assert (y[weight > 0] != Y[weight > 0]).all()


def test_rows_of_weight_zero_may_be_left_out():
    weight = np.tile([0.0, 1.0], N // 2)
    exact = linear_smoother(Ridge(), X[1::2], Y[1::2]).dof[0]
    result = nothing_said(
        Ridge(), X, Y, sample_weight=weight, target_std_error=0.05, random_state=0
    )
    assert abs(result.dof - exact) <= 3.0 * result.std_error


def test_callables_may_be_anything_that_returns_fitted_values():
    exact = linear_smoother(Ridge(), X, Y).dof[0]

    def fit_predict(X, y):
        return Ridge().fit(X, y).predict(X).tolist()

    called = nothing_said(fit_predict, X, Y, random_state=0)
    assert_allclose(called.values, nothing_said(Ridge(), X, Y, random_state=0).values, rtol=1e-9)
    assert abs(called.dof - exact) < 3.0 * called.std_error
    untabled = monte_carlo_dof(lambda X, y: 0.25 * y, [{"id": i} for i in range(N)], Y)
    assert untabled.dof == pytest.approx(N / 4)


# ---------------------------------------------------------------------------------------
# Reproducible, and nothing of the user's is changed
# ---------------------------------------------------------------------------------------

JOBS = {
    "plain": {"eps": 0.5},
    "second step": {},
    "one-sided": {"eps": 0.5, "scheme": "forward"},
    "error": {"eps": 0.5, "target_std_error": 3.0},
}


@pytest.mark.parametrize("options", JOBS.values(), ids=JOBS)
@pytest.mark.parametrize(
    "estimator", [ExtraTreesRegressor(2, max_depth=2), Ridge()], ids=["forest", "ridge"]
)
def test_jobs_do_not_matter(estimator, options):
    settings = {"random_state": 3, **options}
    alone = quietly(estimator, X, Y, **settings)
    results = [quietly(estimator, X, Y, n_jobs=2, **settings)]
    with joblib.parallel_config(backend="threading", n_jobs=2):
        results.append(quietly(estimator, X, Y, **settings))
    for result in results:
        np.testing.assert_array_equal(result.values, alone.values)
        assert (result.dof, result.std_error) == (alone.dof, alone.std_error)
        assert (result.n_fits, result.n_deflated) == (alone.n_fits, alone.n_deflated)
        assert result.step_check == alone.step_check


@pytest.mark.parametrize("probe", ["rademacher", "gaussian"])
@pytest.mark.parametrize("estimator", [Ridge(), ExtraTreesRegressor(2, max_depth=2)])
def test_random_state_makes_it_reproducible(estimator, probe):
    options = {"eps": 0.5, "probe": probe}
    first, again, other = (
        monte_carlo_dof(estimator, X, Y, random_state=s, **options).values for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    state = np.random.RandomState(0)
    one, two = (
        monte_carlo_dof(estimator, X, Y, random_state=state, **options).values for _ in range(2)
    )
    np.testing.assert_array_equal(one, first)
    assert (two != first).all()


def test_without_random_state_probes_differ():
    one, two = (monte_carlo_dof(Ridge(), X, Y, eps=0.1).values for _ in range(2))
    assert (one != two).any()


def test_numbers_are_not_drawn_from_the_global_state():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    monte_carlo_dof(ExtraTreesRegressor(2), X, Y, eps=0.1, random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        RandomForestRegressor(2, max_depth=2),
        ncl(n_members=3, n_components=3, random_state=None),
        GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=KFold(2, shuffle=True)),
        make_pipeline(StandardScaler(), Ridge()),
    ],
    ids=lambda e: type(e).__name__,
)
def test_estimator_and_data_are_left_as_they_were(estimator):
    rows, y, weight = X.copy(), Y.copy(), np.ones(N)
    params = {k: (id(v), repr(v)) for k, v in estimator.get_params().items()}
    quietly(estimator, rows, y, sample_weight=weight, target_std_error=5.0, random_state=0)
    assert {k: (id(v), repr(v)) for k, v in estimator.get_params().items()} == params
    assert not [name for name in vars(estimator) if name.endswith("_") and name[0] != "_"]
    for now, before in ((rows, X), (y, Y), (weight, np.ones(N))):
        np.testing.assert_array_equal(now, before)


def test_frames_are_left_as_they_were():
    table, y = pd.DataFrame(X, columns=["a", "b", "c", "d"]), pd.Series(Y)
    before, target = table.copy(), y.copy()
    monte_carlo_dof(Ridge(), table, y, random_state=0)
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_series_equal(y, target)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (Ridge(random_state=0), {"eps": 0.1}),
        (Ridge(random_state=0), {}),
        (Ridge(), {}),
        (Ridge(), {"scheme": "forward"}),
        (Ridge(random_state=0), {"scheme": "forward"}),
        (Recorder(Log(), noise=0.01), {"eps": 0.1, "scheme": "forward", "n_probes": 2}),
        (Recorder(Log(), noise=0.01), {"eps": 0.1, "scheme": "forward"}),
        (Ridge(random_state=0), {"linear": True}),
        (Ridge(), {"target_std_error": 0.5}),
    ],
    ids=str,
)
def test_progress_is_told_of_every_fit(monkeypatch, estimator, options):
    told = {"advances": 0}
    real = module.progress_bar

    def spy(progress, total, title):
        told["total"] = total
        bar = real(progress, total, title)

        class Wrapped:
            def __enter__(self):
                inner = bar.__enter__()

                def advance():
                    told["advances"] += 1
                    inner()

                return advance

            def __exit__(self, *error):
                return bar.__exit__(*error)

        return Wrapped()

    monkeypatch.setattr(module, "progress_bar", spy)
    result = nothing_said(estimator, X, Y, random_state=0, **options)
    assert told["advances"] == result.n_fits
    assert told["total"] in (None, result.n_fits)
    if "target_std_error" not in options and not (
        options.get("scheme") == "forward" and estimator.random_state is None
    ):
        assert told["total"] is not None


# ---------------------------------------------------------------------------------------
# Failures
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fails", "probe"), [((0,), 0), ((7,), 3), ((4, 10, 11), 2)])
def test_a_failing_fit_is_named_and_the_others_are_kept(fails, probe):
    S = smoothing_matrix("symmetric", N)
    options = {"eps": 0.1, "n_probes": 8, "random_state": 0}
    whole = monte_carlo_dof(Counting(S), X, Y, **options)
    with pytest.raises(
        ProbeError, match=f"the fit of probe {probe} failed with ArithmeticError: call {fails[0]}"
    ) as caught:
        monte_carlo_dof(Counting(S, fails), X, Y, **options)
    error = caught.value
    assert error.probe == probe
    assert isinstance(error.__cause__, ArithmeticError)
    kept = np.delete(whole.values, sorted({f // 2 for f in fails}))
    np.testing.assert_array_equal(error.partial.values, kept)
    assert error.partial.dof == pytest.approx(kept.mean())
    plain = kept.std(ddof=1) / np.sqrt(len(kept))
    assert (1.0 - 1e-12) * plain <= error.partial.std_error < 1.5 * plain
    assert error.partial.n_fits == 16


def test_a_failing_second_step_keeps_all_probes():
    whole = monte_carlo_dof(Counting(), X, Y, eps=0.1, n_probes=6, random_state=0)
    with pytest.raises(ProbeError, match="the fit of probe 1 failed") as caught:
        monte_carlo_dof(Counting(fails=(14,)), X, Y, n_probes=6, random_state=0)
    assert_allclose(caught.value.partial.values, whole.values)
    assert caught.value.partial.step_check is None


def test_a_failure_on_the_way_to_a_standard_error_keeps_the_first_probes():
    S = smoothing_matrix("symmetric", N)
    options = {"eps": 0.1, "random_state": 0}
    whole = monte_carlo_dof(Counting(S), X, Y, n_probes=FIRST, **options)
    for linear in ("auto", False):
        fit = Counting(S, fails=(2 * FIRST + 4,))
        with pytest.raises(ProbeError) as caught:
            monte_carlo_dof(fit, X, Y, linear=linear, target_std_error=0.01, **options)
        assert caught.value.probe >= FIRST
        assert_allclose(caught.value.partial.values[:FIRST], whole.values)


@pytest.mark.parametrize("call", [2 * FIRST, 2 * FIRST + 1], ids=["as given", "combination"])
def test_a_failure_of_the_test_for_linearity_keeps_the_probes(call):
    S = smoothing_matrix("symmetric", N)
    options = {"eps": 0.1, "random_state": 0}
    whole = monte_carlo_dof(Counting(S), X, Y, n_probes=FIRST, **options)
    with pytest.raises(ProbeError, match=f"ArithmeticError: call {call}") as caught:
        monte_carlo_dof(Counting(S, fails=(call,)), X, Y, target_std_error=0.01, **options)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert_allclose(caught.value.partial.values, whole.values)


def test_a_failing_fit_on_the_targets_as_given_is_no_probe():
    def fit_predict(X, y):
        if (y == Y).all():
            raise ArithmeticError("as given")
        return y

    options = {"eps": 0.1, "scheme": "forward", "random_state": 0}
    with pytest.raises((ProbeError, ArithmeticError), match="as given") as caught:
        monte_carlo_dof(fit_predict, X, Y, **options)
    assert getattr(caught.value, "probe", None) is None


def test_where_every_fit_fails_their_own_error_is_raised():
    def fit_predict(X, y):
        raise ZeroDivisionError("never")

    with pytest.raises(ZeroDivisionError, match="never"):
        monte_carlo_dof(fit_predict, X, Y)
    with pytest.raises(ValueError, match="NaN") as caught:
        monte_carlo_dof(Ridge(), np.full((N, 2), np.nan), Y)
    assert not isinstance(caught.value, NonFiniteError)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (lambda y: np.where(y > y.mean(), np.nan, y), NonFiniteError, "of 40 .*NaN or infinite"),
        (lambda y: y[:-1], ValueError, r"shape \(39,\)"),
        (lambda y: np.column_stack([y, y]), ValueError, r"shape \(40, 2\)"),
        (lambda y: y + 0j, ValueError, "real numbers, got dtype complex128"),
        (lambda y: y.astype(str), ValueError, "real numbers, got dtype <U"),
    ],
    ids=["nan", "short", "two", "complex", "strings"],
)
def test_bad_predictions_of_one_probe_are_named(bad, error, message):
    calls = []

    def fit_predict(X, y):
        calls.append(1)
        return bad(y) if len(calls) == 6 else y

    with pytest.raises(ProbeError, match=f"probe 2 failed with {error.__name__}") as caught:
        monte_carlo_dof(fit_predict, X, Y, eps=0.1, random_state=0)
    assert isinstance(caught.value.__cause__, error)
    assert caught.match(message)
    assert len(caught.value.partial.values) == 7
    with pytest.raises(error, match=message):
        monte_carlo_dof(lambda X, y: bad(y), X, Y, eps=0.1, random_state=0)


def fails_ahead(X, y):
    if y[0] > Y[0] and y[1] > Y[1]:
        raise ArithmeticError("ahead")
    return y


def test_failures_in_other_processes_are_named():
    alone, apart = (pytest.raises(ProbeError, match="ArithmeticError: ahead") for _ in range(2))
    with alone as here:
        monte_carlo_dof(fails_ahead, X, Y, eps=0.1, random_state=0)
    with apart as there:
        monte_carlo_dof(fails_ahead, X, Y, eps=0.1, random_state=0, n_jobs=2)
    assert there.value.probe == here.value.probe
    np.testing.assert_array_equal(there.value.partial.values, here.value.partial.values)


# ---------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (LogisticRegression(), "is a classifier"),
        (KMeans(), "is a clusterer"),
        (PCA(), "is a transformer"),
        (Ridge, "is a class"),
        ("ridge", "must be a regressor"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_what_is_no_regressor_is_refused(estimator, reason):
    with pytest.raises(TypeError, match=reason):
        monte_carlo_dof(estimator, X, Y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_probes": 0}, ValueError, "n_probes=0 must be at least 1"),
        ({"n_probes": -3}, ValueError, "n_probes=-3 must be at least 1"),
        ({"n_probes": 2.5}, TypeError, "n_probes=2.5 must be an integer"),
        ({"n_probes": True}, TypeError, "n_probes=True must be an integer"),
        ({"max_fits": 0}, ValueError, "max_fits=0 must be at least 1"),
        ({"eps": 0.0}, ValueError, "eps=0.0 must be greater than 0"),
        ({"eps": -1}, ValueError, "eps=-1 must be greater than 0"),
        ({"eps": [0.1, 0.2]}, ValueError, "one number or one for each of 1 output"),
        ({"eps": "small"}, ValueError, "eps='small' is unknown"),
        ({"eps": None}, TypeError, "eps=None must be"),
        ({"probe": "uniform"}, ValueError, "probe='uniform' is unknown.*'rademacher'"),
        ({"scheme": "backward"}, ValueError, "scheme='backward' is unknown.*'central'"),
        ({"seeding": "all"}, ValueError, "seeding='all' is unknown.*'shared'"),
        ({"linear": "yes"}, ValueError, "linear='yes' is unknown; allowed are 'auto', True"),
        ({"linear": None}, ValueError, "linear=None is unknown"),
        ({"target_std_error": 0.0}, ValueError, "target_std_error=0.0 must be greater than 0"),
        ({"target_std_error": np.inf}, ValueError, "target_std_error=inf must be"),
        ({"target_std_error": "small"}, TypeError, "target_std_error='small' must be a number"),
        ({"target_std_error": True}, TypeError, "target_std_error=True must be a number"),
        ({"target_std_error": 1.0, "max_fits": 2 * FIRST}, ValueError, "leaves no room"),
        (
            {"target_std_error": 1.0, "max_fits": 60, "n_probes": 30},
            ValueError,
            "max_fits=60 leaves no room",
        ),
        ({"sample_weight": -np.ones(N)}, ValueError, "Negative values"),
        ({"sample_weight": np.ones(3)}, ValueError, "shape"),
        ({"random_state": "seed"}, ValueError, "seed"),
        ({"progress": "bar"}, TypeError, "progress='bar' must be"),
    ],
    ids=str,
)
def test_bad_options_are_refused_before_the_first_fit(options, error, message):
    log = Log()
    with pytest.raises(error, match=message):
        monte_carlo_dof(Recorder(log), X, Y, **options)
    assert len(log) == 0


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (lambda X, y: y, "cannot be handed to a callable"),
        (KNeighborsRegressor(), "KNeighborsRegressor.fit takes none"),
        (GaussianProcessRegressor(), "GaussianProcessRegressor.fit takes none"),
    ],
    ids=["callable", "neighbours", "process"],
)
def test_weights_that_nobody_takes_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        monte_carlo_dof(estimator, X, Y, sample_weight=np.ones(N))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y[:-1], "inconsistent numbers of samples"),
        (np.where(np.arange(N) == 3, np.nan, Y), "y contains NaN"),
        (np.zeros((N, 2, 2)), "dim"),
        (["a"] * N, "could not convert"),
    ],
    ids=["short", "nan", "three dimensions", "strings"],
)
def test_bad_targets_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        monte_carlo_dof(Ridge(), X, y)


def test_rows_of_weight_zero_do_not_add_to_the_error():
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    weight = np.repeat([0.0, 1.0], [60, 20])
    found = [
        monte_carlo_dof(
            LinearRegression(), table, y, sample_weight=weight, eps=0.1, n_probes=8, random_state=s
        )
        for s in range(150)
    ]
    values = np.array([result.dof for result in found])
    errors = np.array([result.std_error for result in found])
    assert_calibrated(values, errors, 5.0)
