"""Closed forms against refits: weights against predict, dof against a Jacobian."""

import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from models import ncl
from reference import jacobian_trace, refitted
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, Ridge, RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from toy_regressors import MyRidge
from toy_tables import homes

from negcorr import NCLRegressor
from negcorr.bases import AutoBasis, FourierFeatures, LinearFeatures, NestedFeatures
from negcorr.dof import closed_forms, smoothers
from negcorr.dof.smoothers import KINDS, linear_smoother
from negcorr.exceptions import NotLinearError

FIXED = ConstantKernel(2.0, "fixed") * RBF(1.5, "fixed")
NOISY = FIXED + WhiteKernel(0.3, "fixed")
NCL = {"n_members": 4, "n_components": 3}

N, D = 17, 3


def data(outputs=None, n=N, seed=0):
    """Rows, two unrelated targets and new rows."""
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(n, D)) + 0.5, rng.normal(size=(6, D)) + 0.5
    shape = (n,) if outputs is None else (n, outputs)
    return X, rng.normal(size=shape) + 3.0, 10.0 * rng.normal(size=shape), new


def gauss(distances):
    return np.exp(-(distances**2))


def gauss_by_row(distances):
    return np.array([*map(gauss, distances), None], dtype=object)[:-1]


def inner(a, b, scale=1.0):
    return scale * (a @ b) ** 2


WEIGHTED = {
    "least squares": LinearRegression(),
    "least squares without intercept": LinearRegression(fit_intercept=False),
    "ridge": Ridge(alpha=2.0),
    "ridge without intercept": Ridge(alpha=2.0, fit_intercept=False),
    "ridge by another solver": Ridge(alpha=0.7, solver="svd"),
    "ridge by conjugate gradients": Ridge(alpha=0.7, solver="sparse_cg", tol=1e-14),
    "ridge without penalty": Ridge(alpha=0.0),
    "kernel ridge": KernelRidge(alpha=0.4, kernel="rbf", gamma=0.2),
    "kernel ridge, linear": KernelRidge(alpha=0.4),
    "kernel ridge, polynomial": KernelRidge(alpha=0.4, kernel="poly", degree=2, coef0=2.0),
    "kernel ridge, callable": KernelRidge(alpha=0.4, kernel=inner, kernel_params={"scale": 0.5}),
    "ncl": ncl(lam=0.6, **NCL),
    "ncl by gap": ncl(gap=1e-3, **NCL),
    "ncl, members apart": ncl(lam=0.0, **NCL),
    "ncl with a ridge": ncl(lam=0.5, alpha=0.2, **NCL),
    "ncl without intercept": ncl(lam=0.5, fit_intercept=False, **NCL),
    "ncl by qr": ncl(lam=0.9, solver="qr", **NCL),
    "ncl on trees": ncl(lam=0.7, basis="trees", **NCL),
    "ncl on functions of a kernel": ncl(lam=0.7, basis="kernel", **NCL),
    "ncl with more features than rows": ncl(lam=0.9, n_members=4, n_components=10),
    "ncl of two kinds of features": NCLRegressor(
        NestedFeatures([FourierFeatures(3, 2), LinearFeatures(3, 2)], [0.3, 0.8]), lam=0.7
    ),
    "mean": DummyRegressor(),
    "constant": DummyRegressor(strategy="constant", constant=7.0),
}
UNWEIGHTED = {
    "nearest": KNeighborsRegressor(1),
    "neighbours": KNeighborsRegressor(4),
    "neighbours by distance": KNeighborsRegressor(4, weights="distance"),
    "neighbours by function": KNeighborsRegressor(4, weights=gauss),
    "neighbours, brute force": KNeighborsRegressor(5, algorithm="brute", metric="manhattan"),
    "radius": RadiusNeighborsRegressor(3.0),
    "radius by distance": RadiusNeighborsRegressor(3.0, weights="distance"),
    "radius by function": RadiusNeighborsRegressor(3.0, weights=gauss_by_row),
    "process": GaussianProcessRegressor(FIXED, alpha=0.1),
    "process about its mean": GaussianProcessRegressor(FIXED, alpha=0.1, normalize_y=True),
    "process with noise": GaussianProcessRegressor(NOISY, normalize_y=True),
    "process with noise of each row": GaussianProcessRegressor(
        FIXED, alpha=np.linspace(0.1, 1.0, N)
    ),
    "process that is not searched": GaussianProcessRegressor(
        Matern(1.3) + WhiteKernel(0.2), optimizer=None, normalize_y=True
    ),
    "default process, not searched": GaussianProcessRegressor(alpha=0.2, optimizer=None),
    "scaled ridge": make_pipeline(StandardScaler(), Ridge(alpha=2.0)),
    "polynomials": make_pipeline(PolynomialFeatures(2), StandardScaler(), Ridge()),
    "passthrough": Pipeline([("no", "passthrough"), ("ridge", Ridge(alpha=3.0))]),
    "pipeline in a pipeline": make_pipeline(
        StandardScaler(), make_pipeline(SplineTransformer(4), LinearRegression())
    ),
    "components": make_pipeline(PCA(2), KNeighborsRegressor(3, weights="distance")),
    "seeded features": make_pipeline(RBFSampler(n_components=7, random_state=3), Ridge(alpha=0.1)),
    "sparse features": make_pipeline(
        SplineTransformer(4, sparse_output=True), Ridge(alpha=0.1, tol=1e-14)
    ),
    "ncl in a pipeline": make_pipeline(StandardScaler(), ncl(lam=0.8, **NCL)),
}
ALL = WEIGHTED | UNWEIGHTED


def said_of(estimator):
    """The name of an estimator, with that of the last step of a pipeline."""
    name = type(estimator).__name__
    if name != "Pipeline":
        return name
    return f"{name} ending in {type(estimator.steps[-1][1]).__name__}"


def close(found, wanted, rtol=1e-9):
    """To the digits that a solve leaves, in units of the largest value."""
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=rtol * max(scale, 1.0))


def check(estimator, X, y, other, new, rtol=1e-9, sample_weight=None):
    """Weights and dof against refits; y and other are two targets of one shape."""
    smoother = linear_smoother(estimator, X, y, sample_weight)
    first = refitted(estimator, X, y, sample_weight)
    second = refitted(estimator, X, other, sample_weight)
    step = (y - other).reshape(len(y), -1)
    assert smoother.n_samples == len(y)
    assert smoother.n_outputs == step.shape[1]
    assert smoother.dof.shape == (step.shape[1],)
    for rows in (X, new):
        moved = first.predict(rows) - second.predict(rows)
        weights = [smoother.weights(rows, j) for j in range(step.shape[1])]
        found = np.column_stack([w @ column for w, column in zip(weights, step.T, strict=True)])
        close(found, moved.reshape(found.shape), rtol)
    traces = [np.trace(smoother.weights(X, j)) for j in range(step.shape[1])]
    close(smoother.dof, traces, rtol)
    close(smoother.dof, jacobian_trace(estimator, X, y, sample_weight), rtol)
    return smoother


@pytest.mark.parametrize("name", ALL)
def test_weights_give_predictions_and_their_trace_the_jacobian(name):
    X, y, other, new = data()
    before = X.copy()
    smoother = check(ALL[name], X, y, other, new)
    assert smoother.name == said_of(ALL[name])
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", [name for name in ALL if name != "constant"])
def test_weights_times_targets_is_the_whole_prediction(name):
    X, y, _, new = data()
    predicted = refitted(ALL[name], X, y).predict(new)
    close(linear_smoother(ALL[name], X, y).weights(new) @ y, predicted)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_rows_enter_as_the_estimator_takes_them(name):
    X, y, other, new = data(seed=1)
    weight = np.random.default_rng(2).uniform(0.3, 2.0, N)
    weight[[2, 11]] = 0.0
    smoother = check(WEIGHTED[name], X, y, other, new, sample_weight=weight)
    assert (smoother.weights(new)[:, [2, 11]] == 0.0).all()


@pytest.mark.parametrize("name", WEIGHTED)
def test_integer_weights_equal_repeated_rows(name):
    X, y, _, new = data(seed=3)
    weight = np.random.default_rng(4).integers(0, 4, N)
    copies = np.repeat(np.arange(N), weight)
    weighted = linear_smoother(WEIGHTED[name], X, y, weight)
    repeated = linear_smoother(WEIGHTED[name], X[copies], y[copies])
    close(weighted.dof, repeated.dof)
    by_row = np.zeros((len(new), N))
    np.add.at(by_row.T, copies, repeated.weights(new).T)
    close(weighted.weights(new), by_row)


@pytest.mark.parametrize(
    "name",
    [
        "least squares",
        "ridge",
        "kernel ridge",
        "neighbours",
        "radius by distance",
        "process with noise",
        "process with noise of each row",
        "ncl",
        "mean",
        "scaled ridge",
    ],
)
def test_outputs_share_a_smoother_where_they_share_a_penalty(name):
    X, y, other, new = data(outputs=3, seed=5)
    smoother = check(ALL[name], X, y, other, new)
    close(smoother.dof, np.repeat(linear_smoother(ALL[name], X, y[:, 0]).dof, 3))


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(alpha=[0.1, 30.0]),
        KernelRidge(alpha=[0.1, 3.0], kernel="rbf", gamma=0.3),
        ncl(lam=[0.1, 0.95], **NCL),
        ncl(gap=[1.0, 1e-4], **NCL),
        make_pipeline(StandardScaler(), Ridge(alpha=np.array([0.1, 30.0]))),
    ],
    ids=lambda e: repr(e)[:40],
)
def test_each_output_has_its_own_penalty(estimator):
    X, y, other, new = data(outputs=2, seed=6)
    smoother = check(estimator, X, y, other, new)
    assert abs(smoother.dof[0] - smoother.dof[1]) > 0.5


def test_one_column_of_targets_is_one_output():
    X, y, other, new = data(outputs=1)
    for estimator in (Ridge(alpha=[2.0]), KernelRidge(alpha=[2.0]), ncl(lam=[0.5], **NCL)):
        assert check(estimator, X, y, other, new).n_outputs == 1


# ---------------------------------------------------------------------------------------
# Known numbers
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_has_the_degrees_of_freedom_of_its_rank(intercept):
    X, y, _, _ = data()
    tall = np.column_stack([X, X @ [1.0, -2.0, 3.0], np.zeros(N)])
    constant = np.column_stack([X, np.full(N, 0.1)])
    wide = np.random.default_rng(0).normal(size=(N, 2 * N))
    for table, rank in ((X, 3), (tall, 3), (constant, 3 + (not intercept)), (wide, N - intercept)):
        for estimator in (LinearRegression(), Ridge(alpha=0.0, solver="svd")):
            estimator.set_params(fit_intercept=intercept)
            assert linear_smoother(estimator, table, y).dof == rank + intercept


@pytest.mark.parametrize("value", [0.1, 0.0, 1e9, 1 / 3])
@pytest.mark.parametrize("n", [5, 7, 100])
def test_columns_that_are_constant_leave_a_mean(value, n):
    X, y = np.full((n, 2), value), np.arange(float(n))
    for estimator in (LinearRegression(), Ridge()):
        smoother = linear_smoother(estimator, X, y)
        assert smoother.dof == 1.0
        np.testing.assert_array_equal(smoother.weights(X), np.full((n, n), 1.0 / n))


def test_columns_with_large_means_still_count():
    X, y, other, new = data()
    shift = np.array([1e6, -3e4, 0.0])
    for estimator in (LinearRegression(), Ridge(alpha=2.0)):
        moved = check(estimator, X + shift, y, other, new + shift, rtol=1e-7)
        close(moved.dof, linear_smoother(estimator, X, y).dof, 1e-7)


def test_rank_is_the_one_that_the_estimator_found():
    # Some releases of scikit-learn leave out directions that others keep.
    X, y, _, _ = data()
    X = X * [1.0, 1.0, 1e-8]
    fitted = LinearRegression().fit(X, y)
    smoother = linear_smoother(LinearRegression(), X, y)
    assert smoother.dof == fitted.rank_ + 1
    close(smoother.weights(X) @ y, fitted.predict(X))


def test_mean_has_one_degree_of_freedom_and_a_constant_none():
    X, y, _, new = data(outputs=2)
    weight = np.arange(float(N))
    for w in (None, weight):
        assert (linear_smoother(DummyRegressor(), X, y, w).dof == 1.0).all()
        constant = linear_smoother(DummyRegressor(strategy="constant", constant=[1, 2]), X, y, w)
        assert (constant.dof == 0.0).all()
        assert (constant.weights(new) == 0.0).all()


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("algorithm", ["auto", "brute"])
def test_nearest_neighbour_on_distinct_rows_has_n_degrees_of_freedom(weights, algorithm):
    X, y, _, _ = data(n=60)
    estimator = KNeighborsRegressor(1, weights=weights, algorithm=algorithm)
    assert linear_smoother(estimator, X, y).dof == 60.0


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_equal_rows_are_told_apart_as_the_estimator_tells_them(weights, algorithm):
    X, y, _, _ = data(n=24, seed=8)
    X = np.round(X[np.arange(24) // 3])
    settings = {"weights": weights, "algorithm": algorithm}
    for k in (1, 2, 5):
        estimator = KNeighborsRegressor(k, **settings)
        smoother = linear_smoother(estimator, X, y)
        close(smoother.weights(X) @ y, refitted(estimator, X, y).predict(X))
        close(smoother.dof, np.trace(smoother.weights(X)))
    assert linear_smoother(KNeighborsRegressor(1, **settings), X, y).dof <= 8.0
    # Of equal rows within the radius each weighs the same on all.
    estimator = RadiusNeighborsRegressor(1e-3, **settings)
    close(linear_smoother(estimator, X, y).dof, len(np.unique(X, axis=0)))


@pytest.mark.parametrize("weights", ["uniform", "distance", gauss_by_row])
def test_rows_without_a_neighbour_are_nan_as_their_predictions_are(weights):
    X, y, _, _ = data()
    smoother = linear_smoother(RadiusNeighborsRegressor(2.0, weights=weights), X, y)
    found = smoother.weights(np.vstack([X[:1], np.full((1, D), 99.0)]))
    assert np.isfinite(smoother.dof).all()
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()
    assert np.isnan(smoother.weights(np.full((1, D), 99.0))).all()


def test_neighbours_from_given_distances():
    X, y, other, new = data()
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    away = np.linalg.norm(new[:, None] - X, axis=2)
    check(KNeighborsRegressor(3, metric="precomputed", weights="distance"), apart, y, other, away)


def test_process_with_one_noise_for_all_rows_given_as_an_array():
    X, y, other, new = data()
    alpha = np.array([0.3])
    estimator = GaussianProcessRegressor(FIXED, alpha=alpha)
    check(estimator, X, y, other, new)
    assert estimator.alpha is alpha


@pytest.mark.parametrize("normalize", [False, True])
def test_normalising_targets_only_removes_their_mean(normalize):
    # Kernel and noise act on the scaled target, so its scale must not show.
    X, y, other, new = data()
    estimator = GaussianProcessRegressor(NOISY, alpha=0.05, normalize_y=normalize)
    dofs = [check(estimator, X, c * y, other, new).dof for c in (1e-3, 1.0, 1e3)]
    assert np.ptp(dofs) < 1e-12


def test_white_noise_counts_like_alpha():
    X, y, _, new = data()
    noisy = linear_smoother(GaussianProcessRegressor(NOISY, alpha=0.1), X, y)
    plain = linear_smoother(GaussianProcessRegressor(FIXED, alpha=0.4), X, y)
    by_hand = KernelRidge(alpha=0.4, kernel=lambda a, b: FIXED([a], [b]).item())
    ridge = linear_smoother(by_hand, X, y)
    for other in (plain, ridge):
        close(noisy.dof, other.dof)
        close(noisy.weights(new), other.weights(new))


def test_kernel_given_as_a_matrix():
    X, y, other, new = data()
    K, cross = rbf_kernel(X, gamma=0.3), rbf_kernel(new, X, gamma=0.3)
    before = K.copy()
    given = check(KernelRidge(alpha=0.3, kernel="precomputed"), K, y, other, cross)
    np.testing.assert_array_equal(K, before)
    named = linear_smoother(KernelRidge(alpha=0.3, kernel="rbf", gamma=0.3), X, y)
    close(given.dof, named.dof)


@pytest.mark.parametrize("alpha", [0.0, 1e-12])
def test_singular_kernel_system_gets_its_least_squares_solution(alpha):
    X, y, _, new = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says that the matrix is singular
        smoother = linear_smoother(KernelRidge(alpha=alpha), X, y)
    plain = linear_smoother(LinearRegression(fit_intercept=False), X, y)
    close(smoother.dof, plain.dof)
    if alpha == 0.0:  # a tiny one magnifies rounding, in scikit-learn's own predictions too
        close(smoother.weights(new), plain.weights(new))


@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_tables(intercept):
    X, y, other, new = data()
    X, new = X * (X > 0), new * (new > 0)
    weight = np.linspace(0.5, 2.0, N)
    plain = LinearRegression(fit_intercept=intercept)
    if "tol" in plain.get_params():  # older releases stop at 1e-6, whatever one asks
        plain.set_params(tol=1e-14)
    for estimator in (
        plain,
        Ridge(alpha=2.0, fit_intercept=intercept, tol=1e-14),
        KernelRidge(alpha=2.0),
        KNeighborsRegressor(3),
        ncl(lam=0.5, fit_intercept=intercept, **NCL),
    ):
        rows = sp.csr_array(X)
        smoother = check(estimator, rows, y, other, sp.csr_array(new), rtol=1e-5)
        dense = linear_smoother(estimator, X, y)
        close(smoother.dof, dense.dof)
        close(smoother.weights(new), dense.weights(new))
        if "Neighbors" not in smoother.name:
            weighted = linear_smoother(estimator, rows, y, weight)
            close(weighted.dof, linear_smoother(estimator, X, y, weight).dof)


def test_single_precision_tables_have_double_precision_weights():
    X, y, _, new = data()
    for estimator in (Ridge(), KernelRidge(), KNeighborsRegressor(3), ncl(lam=0.5, **NCL)):
        smoother = linear_smoother(estimator, X.astype(np.float32), y)
        assert smoother.weights(new.astype(np.float32)).dtype == np.float64
        close(smoother.dof, linear_smoother(estimator, X, y).dof, 1e-5)


# ---------------------------------------------------------------------------------------
# Predictions and their variance
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "outputs"), [(n, k) for n in ALL for k in (None, 2) if (n, k) != ("constant", 2)]
)
def test_predictions_are_those_of_the_estimator_and_vary_by_the_weights(name, outputs):
    X, y, _, new = data(outputs)
    smoother = linear_smoother(ALL[name], X, y)
    for rows in (X, new):
        found = smoother.predict(rows)
        wanted = refitted(ALL[name], X, y).predict(rows)
        assert found.shape == wanted.shape
        close(found, wanted)
        for j in range(outputs or 1):
            variance = smoother.variance(rows, j)
            assert variance.shape == (len(rows),)
            close(variance, [sum(w**2) for w in smoother.weights(rows, j)])


@pytest.mark.parametrize("name", WEIGHTED)
def test_weighted_rows_have_less_noise(name):
    X, y, _, new = data(seed=1)
    weight = np.random.default_rng(2).uniform(0.3, 2.0, N)
    weight[[2, 11]] = 0.0
    smoother = linear_smoother(WEIGHTED[name], X, y, weight)
    close(smoother.predict(new), refitted(WEIGHTED[name], X, y, weight).predict(new))
    used = weight > 0
    for rows in (X, new):
        found = smoother.variance(rows)
        close(found, [sum(w[used] ** 2 / weight[used]) for w in smoother.weights(rows)])


@pytest.mark.parametrize("name", WEIGHTED)
def test_variance_with_integer_weights_equals_that_with_repeated_rows(name):
    X, y, _, new = data(seed=3)
    weight = np.random.default_rng(4).integers(0, 4, N)
    copies = np.repeat(np.arange(N), weight)
    weighted = linear_smoother(WEIGHTED[name], X, y, weight)
    repeated = linear_smoother(WEIGHTED[name], X[copies], y[copies])
    close(weighted.variance(new), repeated.variance(new))
    close(weighted.predict(new), repeated.predict(new))


def test_variance_of_outputs_with_penalties_of_their_own():
    X, y, _, new = data(outputs=2)
    for estimator in (
        Ridge(alpha=[0.1, 30.0]),
        KernelRidge(alpha=[0.1, 3.0], kernel="rbf", gamma=0.3),
        ncl(gap=[1.0, 1e-4], **NCL),
    ):
        smoother = linear_smoother(estimator, X, y)
        first, second = (smoother.variance(new, j) for j in (0, 1))
        close(first, np.sum(smoother.weights(new, 0) ** 2, axis=1))
        close(second, np.sum(smoother.weights(new, 1) ** 2, axis=1))
        assert np.abs(first - second).max() > 1e-3


@pytest.mark.parametrize("name", ["ridge", "kernel ridge", "ncl", "neighbours", "scaled ridge"])
@pytest.mark.parametrize(("cells", "blocks"), [(1, [1] * 6), (4 * N + 3, [4, 2]), (6 * N, [6])])
def test_variance_is_the_same_in_blocks(name, cells, blocks, monkeypatch):
    X, y, _, new = data()
    smoother = linear_smoother(ALL[name], X, y)
    wanted = np.sum(smoother.weights(new) ** 2, axis=1)
    monkeypatch.setattr(smoothers, "BLOCK_CELLS", cells)
    sizes = []

    def watched(answer, rows, output):
        sizes.append(len(rows))
        return answer(rows, output)

    form = smoother._form
    answer = "weights" if form.variance is None else "variance"
    watched_form = replace(form, **{answer: partial(watched, getattr(form, answer))})
    close(replace(smoother, _form=watched_form).variance(new), wanted)
    assert sizes == blocks


def test_variance_of_tables_of_other_kinds(monkeypatch):
    monkeypatch.setattr(smoothers, "BLOCK_CELLS", 2 * N)
    X, y, _, new = data()
    names = ["a", "b", "c"]
    wanted = linear_smoother(Ridge(), X, y).variance(new)
    of_frame = linear_smoother(Ridge(), pd.DataFrame(X, columns=names), y)
    close(of_frame.variance(pd.DataFrame(new, columns=names)), wanted)
    close(linear_smoother(Ridge(), X.tolist(), y).variance(new.tolist()), wanted)
    sparse = linear_smoother(Ridge(tol=1e-14), sp.csr_array(X), y)
    close(sparse.variance(sp.csr_array(new)), wanted)
    kernels = linear_smoother(KernelRidge(kernel="precomputed"), rbf_kernel(X, gamma=0.3), y)
    named = linear_smoother(KernelRidge(kernel="rbf", gamma=0.3), X, y)
    close(kernels.variance(rbf_kernel(new, X, gamma=0.3)), named.variance(new))


def test_variance_is_nan_where_the_prediction_is():
    X, y, _, _ = data()
    smoother = linear_smoother(RadiusNeighborsRegressor(2.0), X, y)
    found = smoother.variance(np.vstack([X[:1], np.full((1, D), 99.0)]))
    assert np.isfinite(found[0])
    assert np.isnan(found[1])


def test_variance_of_known_fits():
    X, y, _, new = data()
    close(linear_smoother(DummyRegressor(), X, y).variance(new), np.full(6, 1.0 / N))
    close(linear_smoother(KNeighborsRegressor(4), X, y).variance(new), np.full(6, 0.25))
    constant = linear_smoother(DummyRegressor(strategy="constant", constant=7.0), X, y)
    assert (constant.variance(new) == 0.0).all()
    # The variances of least squares at its own rows add up to its rank.
    close(linear_smoother(LinearRegression(), X, y).variance(X).sum(), 4.0)


# ---------------------------------------------------------------------------------------
# Pipelines
# ---------------------------------------------------------------------------------------


def test_features_without_a_seed_are_drawn_once():
    X, y, _, new = data()
    both = FeatureUnion([("a", RBFSampler(n_components=4)), ("b", RBFSampler(n_components=4))])
    smoother = linear_smoother(make_pipeline(both, LinearRegression()), X, y)
    assert smoother.dof == 9.0  # with one seed for both it would be 5
    np.testing.assert_array_equal(smoother.weights(new), smoother.weights(new))
    close(np.trace(smoother.weights(X)), 9.0)
    assert both.transformer_list[0][1].random_state is None


def test_steps_that_write_into_their_input_get_their_own():
    X, y, _, new = data()
    rows, at = X.copy(), new.copy()
    smoother = linear_smoother(
        make_pipeline(StandardScaler(copy=False), Ridge(alpha=2.0, copy_X=False)), X, y
    )
    found = smoother.weights(new)
    bare = linear_smoother(LinearRegression(copy_X=False), X, y)
    np.testing.assert_array_equal(X, rows)
    np.testing.assert_array_equal(new, at)
    scaled = linear_smoother(ALL["scaled ridge"], X, y)
    np.testing.assert_array_equal(found, scaled.weights(new))
    np.testing.assert_array_equal(smoother.dof, scaled.dof)
    assert bare.dof == 4.0


def test_ncl_without_a_seed_is_one_fit():
    X, y, _, _ = data()
    smoother = linear_smoother(ncl(lam=0.5, n_members=3, n_components=3, random_state=None), X, y)
    close(np.trace(smoother.weights(X)), smoother.dof[0])


def test_data_frames_with_a_column_transformer():
    X, y, other, new = data(seed=9)

    def frame(rows):
        names = np.array(["red", "green", "blue"])[np.arange(len(rows)) % 3]
        return pd.DataFrame(rows, columns=["a", "b", "c"]).assign(colour=names)

    named = ColumnTransformer(
        [("number", StandardScaler(), ["a", "b"]), ("name", OneHotEncoder(), ["colour"])]
    )
    # Between the steps travels a frame of numbers and names.
    kept = ColumnTransformer(
        [("keep", "passthrough", ["a", "b", "colour"])], verbose_feature_names_out=False
    ).set_output(transform="pandas")
    for estimator in (make_pipeline(named, Ridge(alpha=0.5)), make_pipeline(kept, named, Ridge())):
        check(estimator, frame(X), y, other, frame(new))
    numbers = pd.DataFrame(X, columns=["a", "b", "c"])
    for estimator in (Ridge(), KernelRidge(), KNeighborsRegressor(3), ncl(lam=0.3, **NCL)):
        smoother = linear_smoother(estimator, numbers, pd.Series(y))
        close(smoother.weights(numbers) @ y, refitted(estimator, X, y).predict(X))


def test_weights_of_rows_go_to_the_last_step():
    X, y, _, new = data()
    weight = np.linspace(0.0, 2.0, N)
    estimator = make_pipeline(StandardScaler(), Ridge(alpha=2.0))
    smoother = linear_smoother(estimator, X, y, weight)
    fitted = estimator.fit(X, y, ridge__sample_weight=weight)
    close(smoother.weights(new) @ y, fitted.predict(new))


class Jumpy(TransformerMixin, BaseEstimator):
    """Places rows elsewhere when it is fitted on them than when it meets them again."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X)

    def fit_transform(self, X, y=None):
        return 2.0 * np.asarray(X)


class OptionalTarget(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.scale_ = 1.0 if y is None else np.std(y[: len(y) // 2])
        return self

    def transform(self, X):
        return np.asarray(X) * self.scale_


def test_steps_whose_two_ways_differ():
    X, y, other, new = data()
    smoother = check(make_pipeline(Jumpy(), Ridge()), X, y, other, new)
    assert abs(smoother.dof - linear_smoother(Ridge(), 2.0 * X, y).dof) > 0.1


def test_steps_without_fit_transform():
    class Plain(BaseEstimator):
        def fit(self, X, y=None):
            self.mean_ = np.mean(X, axis=0)
            return self

        def transform(self, X):
            return np.asarray(X) - self.mean_

        def __sklearn_is_fitted__(self):
            return hasattr(self, "mean_")

    X, y, other, new = data()
    check(make_pipeline(Plain(), VarianceThreshold(), Ridge()), X, y, other, new)


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


REFUSED = [
    (Lasso(), r"^Lasso has no closed form here"),
    (RidgeCV(), r"^RidgeCV has no closed form here"),
    (MyRidge(), r"^MyRidge has no closed form here"),
    ("passthrough", r"^str has no closed form here"),
    (LinearRegression(positive=True), r"positive=True.*depends on y"),
    (Ridge(positive=True), r"positive=True.*depends on y"),
    (DummyRegressor(strategy="median"), r"strategy='median'.*not linear in y"),
    (DummyRegressor(strategy="quantile", quantile=0.3), r"strategy='quantile'"),
    (NCLRegressor(), r"search for lam depends on y"),
    (NCLRegressor(lam=0.5), r"basis is 'auto' or an AutoBasis .*features depends on y"),
    (NCLRegressor(AutoBasis("fourier"), gap=0.1), r"Give a basis, as in basis='fourier'"),
    (NCLRegressor("fourier", lam=0.5, loss="huber"), r"loss='huber'.*Give loss='squared'"),
    (GaussianProcessRegressor(RBF()), r"fits 1 hyperparameters"),
    (GaussianProcessRegressor(RBF() + WhiteKernel()), r"fits 2 hyperparameters"),
    (make_pipeline(StandardScaler(), Lasso()), r"last step of the pipeline, 'lasso': Lasso has"),
    (make_pipeline(SelectKBest(f_regression, k=1), Ridge()), r"step 'selectkbest'.*without y"),
    (make_pipeline(SelectKBest(f_regression, k=3), Ridge()), r"step 'selectkbest'.*without y"),
    (make_pipeline(TargetEncoder(), Ridge()), r"step 'targetencoder'.*without y"),
    (make_pipeline(StandardScaler(), OptionalTarget(), Ridge()), r"'optionaltarget'.*looks at y"),
    (Pipeline([("a", StandardScaler()), ("b", "passthrough")]), r"last step of the pipeline, 'b'"),
]


@pytest.mark.parametrize(("estimator", "reason"), REFUSED, ids=lambda v: repr(v)[:50])
def test_estimators_without_a_closed_form_are_refused_with_a_reason(estimator, reason):
    X, y, _, _ = data()
    with pytest.raises(NotLinearError, match=reason):
        linear_smoother(estimator, np.round(X) if "Target" in repr(estimator) else X, y)


def test_default_process_is_refused_where_its_kernel_is_searched():
    X, y, _, _ = data()
    free = GaussianProcessRegressor(optimizer=None).fit(X, y).kernel_.n_dims > 0
    if not free:
        assert np.isfinite(linear_smoother(GaussianProcessRegressor(), X, y).dof).all()
        return
    with pytest.raises(NotLinearError, match="hyperparameters"):
        linear_smoother(GaussianProcessRegressor(), X, y)


def test_kernel_matrix_that_is_not_symmetric_is_refused():
    X, y, _, _ = data()
    K = rbf_kernel(X)
    K[0, 1] += 0.1
    with pytest.raises(NotLinearError, match="not symmetric"):
        linear_smoother(KernelRidge(kernel="precomputed"), K, y)


def test_sparse_table_that_is_too_large_is_refused(monkeypatch):
    X, y, _, _ = data()
    monkeypatch.setattr(closed_forms, "DENSE_CELLS", X.size)
    assert linear_smoother(Ridge(), sp.csr_array(X), y).n_samples == N
    monkeypatch.setattr(closed_forms, "DENSE_CELLS", X.size - 1)
    with pytest.raises(NotLinearError, match=r"shape \(17, 3\) is too large.*more than 50 cells"):
        linear_smoother(Ridge(), sp.csr_array(X), y)
    assert linear_smoother(Ridge(), X, y).n_samples == N


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsRegressor(2), RadiusNeighborsRegressor(), GaussianProcessRegressor(FIXED)],
    ids=lambda e: type(e).__name__,
)
def test_weights_where_none_are_taken_are_an_error_not_a_refusal(estimator):
    X, y, _, _ = data()
    with pytest.raises(ValueError, match="sample_weight was given") as caught:
        linear_smoother(estimator, X, y, np.ones(N))
    assert not isinstance(caught.value, NotLinearError)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(-np.ones(N), "Negative values"), (np.zeros(N), "zero")],
)
def test_bad_weights_are_refused(weight, message):
    X, y, _, _ = data()
    with pytest.raises(ValueError, match=message):
        linear_smoother(Ridge(), X, y, weight)


def test_penalties_that_do_not_fit_the_targets_are_refused():
    X, y, _, _ = data(outputs=3)
    with pytest.raises(ValueError, match=r"alpha=.*1\., 2\..*3 output"):
        linear_smoother(KernelRidge(alpha=[1.0, 2.0]), X, y)


@pytest.mark.parametrize("name", [n for n in ALL if n not in ("mean", "constant")])
def test_bad_data_meet_the_checks_of_the_estimator(name):
    X, y, _, _ = data()
    missing, short = y.copy(), y[:-1]
    missing[3] = np.nan
    for target in (missing, short):
        with pytest.raises(ValueError, match=r"NaN|inconsistent|shape") as caught:
            linear_smoother(ALL[name], X, target)
        assert not isinstance(caught.value, NotLinearError)


def test_a_class_is_not_an_estimator():
    with pytest.raises(TypeError, match="is a class"):
        linear_smoother(Ridge, [[0.0]], [0.0])


@pytest.mark.parametrize("output", [-1, 2, 0.0, True, None, "0"])
def test_output_must_be_one_of_those_there_are(output):
    X, y, _, _ = data(outputs=2)
    smoother = linear_smoother(Ridge(), X, y)
    for answer in (smoother.weights, smoother.variance):
        with pytest.raises(ValueError, match=r"output=.* from 0 to 1"):
            answer(X, output)


@pytest.mark.parametrize("name", ALL)
def test_estimator_is_left_as_it_was_and_new_rows_are_checked(name):
    X, y, _, new = data()
    estimator = ALL[name]
    before = repr(estimator.get_params())
    smoother = linear_smoother(estimator, X, y)
    smoother.weights(new, np.int64(0))
    assert repr(estimator.get_params()) == before
    assert not [key for key in vars(estimator) if key.endswith("_") and key[0] != "_"]
    if name not in ("mean", "constant"):
        for answer in (smoother.weights, smoother.variance, smoother.predict):
            with pytest.raises(ValueError, match="features"):
                answer(new[:, :2])


def test_smoothers_travel_and_say_what_they_are():
    X, y, _, new = data()
    for name in ("ridge", "kernel ridge", "neighbours", "process", "ncl", "mean", "scaled ridge"):
        smoother = linear_smoother(ALL[name], X, y)
        copy = pickle.loads(pickle.dumps(smoother))
        np.testing.assert_array_equal(copy.weights(new), smoother.weights(new))
        np.testing.assert_array_equal(copy.variance(new), smoother.variance(new))
    assert repr(linear_smoother(DummyRegressor(), X, y)) == (
        "LinearSmoother(name='DummyRegressor', dof=array([1.]), n_samples=17, n_outputs=1)"
    )


def test_every_kind_is_covered_here():
    assert {type(estimator) for estimator in ALL.values()} == set(KINDS)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "objects"])
def test_ensembles_on_data_frames_have_weights_of_the_same_rows(library):
    frame = homes(60)
    X, y = frame[["size", "kind", "built"]], frame["price"].to_numpy()
    if library == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    elif library == "pyarrow":
        X = pytest.importorskip("pyarrow").Table.from_pandas(X, preserve_index=False)
    elif library == "objects":
        X = X.to_numpy(dtype=object)
    model = ncl(4, 3, lam=0.6)
    fitted, smoother = ncl(4, 3, lam=0.6).fit(X, y), linear_smoother(model, X, y)
    np.testing.assert_allclose(smoother.dof, [fitted.dof_])
    np.testing.assert_allclose(smoother.weights(X) @ y, fitted.predict(X), rtol=1e-9)
    np.testing.assert_allclose(smoother.variance(X), (smoother.weights(X) ** 2).sum(axis=1))
