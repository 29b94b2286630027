"""A search without held-out data: whether it finds what is best, and scikit-learn's interface."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from models import ncl
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import get_tags
from toy_regressors import CountedPieces, MyRidge

from negcorr import (
    NCLRegressor,
    SURESearch,
    degrees_of_freedom,
    difference_noise_variance,
    monte_carlo_dof,
    sure_score,
)
from negcorr.bases import FourierFeatures

ALPHAS = {"alpha": [0.1, 3.0, 100.0]}


class CubicRidge(Ridge):
    """Whose response depends on the step."""

    def predict(self, X):
        return super().predict(X) ** 3


class Fragile(RegressorMixin, BaseEstimator):
    """A mean that cannot be fitted in some ways."""

    def __init__(self, how="well", shrink=1.0):
        self.how = how
        self.shrink = shrink

    def fit(self, X, y):
        if self.how == "badly":
            raise RuntimeError("as asked")
        self.mean_ = self.shrink * np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def data(outputs=None, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=(outputs or 1, n))).T
    return X, y[:, 0] if outputs is None else y


# ---------------------------------------------------------------------------------------
# What it is for
# ---------------------------------------------------------------------------------------

GRID = {"alpha": np.logspace(-3, 1, 5), "gamma": np.logspace(-1.5, 1.5, 5)}


def waves(X):
    return np.sin(5 * X[:, 0]) * np.cos(5 * X[:, 1])


def slope(X):
    return np.sin(3 * X[:, 0]) + X[:, 1] ** 2


def ratios(function, noise, repetitions=50, n=100, **settings):
    """A search, and its choice over the best point of the grid, in the mean over repetitions.

    Error against the function at the training inputs, at new inputs, and against new targets at
    the training inputs.
    """
    found = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, size=(n + 200, 2))
        mean = function(X)
        y = mean[:n] + noise * rng.normal(size=n)
        search = SURESearch(
            KernelRidge(kernel="rbf"), GRID, noise_variance=noise**2, random_state=seed, **settings
        )
        search.fit(X[:n], y)
        squares = [
            (KernelRidge(kernel="rbf", **params).fit(X[:n], y).predict(X) - mean) ** 2
            for params in search.cv_results_["params"]
        ]
        here = np.array([s[:n].mean() for s in squares])
        errors = np.array([here, [s[n:].mean() for s in squares], here + noise**2])
        found.append(errors[:, search.best_index_] / errors.min(axis=1))
    return search, np.mean(found, axis=0)


@pytest.mark.parametrize(("method", "fits"), [("auto", 1), ("monte-carlo", 2)])
def test_choice_is_within_five_percent_of_the_best_point(method, fits):
    search, (at_training, at_new, _) = ratios(waves, 0.2, method=method)
    assert 1.0 <= at_training <= 1.05
    assert 1.0 <= at_new <= 1.15
    # Five folds would take five fits a point.
    assert search.n_fits_ == fits * 25
    assert (search.cv_results_["n_fits"] == fits).all()


def test_choice_among_models_with_few_degrees_of_freedom():
    # The best error is small beside the noise, and with it beside the error of SURE.
    _, (at_training, _, of_targets) = ratios(slope, 0.3)
    assert 1.0 <= of_targets <= 1.05
    assert 1.0 <= at_training <= 1.5


@pytest.mark.parametrize(
    ("settings", "fits"),
    [
        ({"method": "exact"}, 1),
        ({"method": "monte-carlo", "n_probes": 4}, 5),
        ({"method": "monte-carlo", "scheme": "central"}, 3),
        ({"method": "monte-carlo", "scheme": "central", "n_probes": 4}, 9),
    ],
)
@pytest.mark.parametrize("estimator", [Ridge(), Ridge(random_state=0)])
def test_fits_are_those_that_are_said(settings, fits, estimator):
    X, y = data()
    seen = []

    class Counted(Ridge):
        def fit(self, *args, **kwargs):
            seen.append(self.alpha)
            return super().fit(*args, **kwargs)

    search = SURESearch(estimator, ALPHAS, **settings).fit(X, y)
    assert search.n_fits_ == 3 * fits
    if settings["method"] == "monte-carlo":
        search = SURESearch(Counted(), ALPHAS, **settings, refit=False).fit(X, y)
        assert len(seen) == search.n_fits_ == 3 * fits


# ---------------------------------------------------------------------------------------
# Scores
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_points_are_their_sure(weighted):
    X, y = data()
    weight = np.arange(40) % 4 if weighted else None
    search = SURESearch(Ridge(), ALPHAS, noise_variance=0.3).fit(X, y, sample_weight=weight)
    results = search.cv_results_
    for i, params in enumerate(results["params"]):
        model = Ridge(**params).fit(X, y, sample_weight=weight)
        dof = degrees_of_freedom(model, X, y, sample_weight=weight)
        wanted = sure_score(model, X, y, dof, noise_variance=0.3, sample_weight=weight)
        assert results["sure"][i] == pytest.approx(wanted, rel=1e-10)
        assert results["dof"][i] == pytest.approx(dof.dof, rel=1e-10)
    assert search.best_index_ == np.argmin(results["sure"])
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.best_score_ == -results["sure"].min()
    assert search.noise_variance_ == 0.3
    fitted = Ridge(**search.best_params_).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(search.predict(X), fitted.predict(X), rtol=1e-12)


@pytest.mark.parametrize("outputs", [None, 2])
def test_noise_comes_from_neighbours_unless_given(outputs):
    X, y = data(outputs)
    search = SURESearch(Ridge(), ALPHAS).fit(X, y)
    noise = difference_noise_variance(X, y)
    np.testing.assert_allclose(search.noise_variance_, noise)
    assert np.shape(search.noise_variance_) == np.shape(noise)
    again = SURESearch(Ridge(), ALPHAS, noise_variance=noise).fit(X, y)
    np.testing.assert_allclose(again.cv_results_["sure"], search.cv_results_["sure"])


def test_more_noise_asks_for_simpler_models():
    X, y = data()
    chosen = [
        SURESearch(Ridge(), ALPHAS, noise_variance=v).fit(X, y).best_params_["alpha"]
        for v in (1e-4, 3.0, 1e4)
    ]
    assert chosen == [0.1, 3.0, 100.0]


def test_two_outputs_share_a_choice_whatever_their_units():
    X, y = data(outputs=2)
    first, second = (
        SURESearch(Ridge(), ALPHAS, noise_variance=0.3 * scale**2).fit(X, y * scale)
        for scale in (np.ones(2), np.array([1e-3, 1e3]))
    )
    np.testing.assert_allclose(first.cv_results_["sure"], second.cv_results_["sure"])
    by_one = [
        SURESearch(Ridge(), ALPHAS, noise_variance=0.3).fit(X, t).cv_results_["sure"] / t.var()
        for t in y.T
    ]
    np.testing.assert_allclose(first.cv_results_["sure"], np.mean(by_one, axis=0))
    assert first.predict(X).shape == (40, 2)
    assert first.cv_results_["dof_1"].shape == (3,)
    np.testing.assert_allclose(first.noise_variance_, [0.3, 0.3])


@pytest.mark.parametrize("outputs", [None, 2])
def test_integer_weights_equal_repeated_rows(outputs):
    X, y = data(outputs)
    if outputs:
        y = y * [1.0, 5.0]
    weight = np.random.default_rng(2).integers(0, 4, 40)
    copies = np.repeat(np.arange(40), weight)
    weighted = SURESearch(Ridge(), ALPHAS).fit(X, y, sample_weight=weight)
    repeated = SURESearch(Ridge(), ALPHAS).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.cv_results_["sure"], repeated.cv_results_["sure"])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))


def test_probes_are_the_same_for_all_points():
    X, y = data()
    grid = {"alpha": np.append(np.logspace(-1, 3, 15), 0.1)}
    search = SURESearch(MyRidge(), grid, random_state=3).fit(X, y)
    dof = search.cv_results_["dof"]
    # bᵀS(α)b falls with α for every b; new probes at every point would not.
    assert (np.diff(dof[:-1]) < 0).all()
    assert dof[-1] == dof[0]
    exact = SURESearch(Ridge(), grid).fit(X, y).cv_results_["dof"]
    assert np.abs(dof - exact).max() > 0.1
    assert set(search.cv_results_["method"]) == {"monte-carlo"}


@pytest.mark.parametrize("eps", [0.2, "auto"])
def test_probes_are_those_of_monte_carlo_dof(eps):
    X, y = data()
    settings = {"n_probes": 3, "probe": "gaussian", "scheme": "central"}
    search = SURESearch(CubicRidge(), ALPHAS, eps=eps, random_state=3, **settings).fit(X, y)
    results = search.cv_results_
    if eps == "auto":
        eps = monte_carlo_dof(Ridge(), X, y).eps
    seed = np.random.RandomState(3).randint(2**31)
    for i, params in enumerate(results["params"]):
        run = monte_carlo_dof(CubicRidge(**params), X, y, eps=eps, random_state=seed, **settings)
        assert results["dof"][i] == pytest.approx(run.dof, rel=1e-9)
        assert results["dof_std_error"][i] == pytest.approx(run.std_error, rel=1e-9)
        noise = search.noise_variance_
        assert results["sure_std_error"][i] == pytest.approx(2 * noise / 40 * run.std_error)


def test_probes_agree_with_the_closed_form():
    X, y = data()
    exact = SURESearch(Ridge(), ALPHAS).fit(X, y).cv_results_
    many = SURESearch(MyRidge(), ALPHAS, n_probes=100, random_state=0).fit(X, y).cv_results_
    assert (np.abs(many["sure"] - exact["sure"]) < 4 * many["sure_std_error"]).all()
    assert (many["sure_std_error"] < 0.05).all()
    assert (exact["sure_std_error"] == 0.0).all()
    one = SURESearch(MyRidge(), ALPHAS, random_state=0).fit(X, y).cv_results_
    assert np.isnan(one["sure_std_error"]).all()


# ---------------------------------------------------------------------------------------
# Random states and workers
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (MyRidge(), ALPHAS),
        (ExtraTreesRegressor(5), {"max_depth": [2, 4]}),
        (ncl(4, 3, random_state=None), {"gap": [0.1, 1.0]}),
    ],
    ids=["probes", "trees", "ncl"],
)
def test_random_state_makes_searches_equal(estimator, grid):
    X, y = data()
    first, again, other = (
        SURESearch(estimator, grid, random_state=state).fit(X, y)
        for state in (0, np.random.RandomState(0), 1)
    )
    np.testing.assert_array_equal(first.cv_results_["sure"], again.cv_results_["sure"])
    assert np.abs(first.cv_results_["sure"] - other.cv_results_["sure"]).max() > 1e-6
    np.testing.assert_array_equal(first.predict(X), again.predict(X))


@pytest.mark.parametrize("gap", [1e-3, 1.0])
def test_what_is_fitted_is_what_was_scored(gap):
    # Features without a seed of their own: those of the best estimator had the best SURE.
    X, y = data()
    search = SURESearch(ncl(4, 3, random_state=None), {"gap": [gap]}, random_state=0).fit(X, y)
    error = np.mean((search.predict(X) - y) ** 2)
    assert search.cv_results_["train_error"][0] == pytest.approx(error)
    assert search.cv_results_["dof"][0] == pytest.approx(search.best_estimator_.dof_)


def test_parameters_of_a_basis_are_searched_by_their_names():
    X, y = data()
    grid = {"basis__gamma": [0.05, 0.5], "basis__n_components": [2, 4], "gap": [0.1]}
    search = SURESearch(NCLRegressor(FourierFeatures(5)), grid, noise_variance=0.3).fit(X, y)
    best = search.best_estimator_
    assert (best.basis.gamma, best.basis.n_components) == (
        search.best_params_["basis__gamma"],
        search.best_params_["basis__n_components"],
    )
    for params, sure in zip(search.cv_results_["params"], search.cv_results_["sure"], strict=True):
        features = FourierFeatures(5, params["basis__n_components"], gamma=params["basis__gamma"])
        model = NCLRegressor(features, gap=0.1).fit(X, y)
        wanted = sure_score(model, X, y, model.dof_, noise_variance=0.3)
        assert sure == pytest.approx(wanted, rel=1e-9)
    with pytest.raises(ValueError, match="Invalid parameter 'gamma' for estimator NCLRegressor"):
        SURESearch(NCLRegressor(FourierFeatures(5)), {"gamma": [0.1]}).fit(X, y)


def test_two_workers_find_the_same():
    X, y = data()
    one, two = (
        SURESearch(Lasso(), {"alpha": [0.01, 0.1, 1.0]}, random_state=0, n_jobs=jobs).fit(X, y)
        for jobs in (None, 2)
    )
    for name in ("sure", "dof", "train_error", "n_fits", "rank_sure"):
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    assert one.best_params_ == two.best_params_


def test_progress_is_told_of_every_point():
    pytest.importorskip("sklearn.callback")
    X, y = data()
    ticks = CountedPieces()
    SURESearch(Ridge(), ALPHAS, progress=ticks).fit(X, y)
    assert ticks.done == ticks.total == 3


# ---------------------------------------------------------------------------------------
# The interface
# ---------------------------------------------------------------------------------------


def test_results_are_columns_of_one_length():
    X, y = data()
    grid = [{"kernel": ["linear"], "alpha": [1.0, 2.0]}, {"kernel": ["rbf"], "gamma": [0.1]}]
    search = SURESearch(KernelRidge(), grid).fit(X, y)
    results = search.cv_results_
    assert set(results) == {
        "params",
        "param_alpha",
        "param_gamma",
        "param_kernel",
        "sure",
        "sure_std_error",
        "train_error",
        "dof",
        "dof_std_error",
        "method",
        "n_fits",
        "fit_time",
        "rank_sure",
        "mean_test_score",
        "rank_test_score",
    }
    assert {len(column) for column in results.values()} == {3}
    assert results["param_alpha"].mask.tolist() == [False, False, True]
    assert results["param_gamma"].mask.tolist() == [True, True, False]
    assert results["param_kernel"].tolist() == ["linear", "linear", "rbf"]
    assert sorted(results["rank_sure"]) == [1, 2, 3]
    assert results["rank_sure"][search.best_index_] == 1
    assert (
        results["rank_sure"].dtype
        == GridSearchCV(Ridge(), ALPHAS).fit(X, y).cv_results_["rank_test_score"].dtype
    )
    np.testing.assert_array_equal(results["mean_test_score"], -results["sure"])
    np.testing.assert_array_equal(results["rank_test_score"], results["rank_sure"])
    assert (results["fit_time"] > 0).all()


@pytest.mark.parametrize("outputs", [None, 1, 2])
def test_results_make_a_data_frame(outputs):
    X, y = data(outputs)
    grid = [ALPHAS, {"fit_intercept": [False]}]
    frame = pd.DataFrame(SURESearch(Ridge(), grid).fit(X, y).cv_results_)
    assert len(frame) == 4
    assert frame.sort_values("sure")["rank_sure"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("points", [{}, [{}], {"alpha": [2.0]}])
def test_a_grid_of_one_point(points):
    X, y = data()
    search = SURESearch(Ridge(), points).fit(X, y)
    assert search.n_fits_ == 1
    assert search.best_index_ == 0


def test_ties_go_to_the_first():
    X, y = data()
    search = SURESearch(Ridge(), {"alpha": [100.0, 1.0, 1.0]}, noise_variance=0.1).fit(X, y)
    assert search.cv_results_["rank_sure"].tolist() == [3, 1, 1]
    assert search.best_index_ == 1


def test_without_refit_there_is_a_choice_but_no_model():
    X, y = data()
    search = SURESearch(Ridge(), ALPHAS, refit=False).fit(X, y)
    assert search.best_params_ == SURESearch(Ridge(), ALPHAS).fit(X, y).best_params_
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "refit_time_")
    assert not hasattr(search, "n_features_in_")
    for name in ("predict", "score"):
        assert not hasattr(search, name)
        with pytest.raises(AttributeError) as caught:
            getattr(search, name)
        assert f"{name} needs refit=True" in str(caught.value.__cause__)
    # Asking for it afterwards does not make a model.
    search.set_params(refit=True)
    with pytest.raises(AttributeError, match="predict needs refit=True when the search is fitted"):
        search.predict(X)


def test_methods_are_those_of_the_estimator():
    X, y = data()
    search = SURESearch(Ridge(), ALPHAS)
    assert hasattr(search, "predict")
    assert hasattr(search, "score")
    assert not hasattr(search, "transform")
    search.fit(X, y)
    assert not hasattr(search, "transform")
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.score(X, y) == pytest.approx(search.best_estimator_.score(X, y))
    parts = SURESearch(PLSRegression(), {"n_components": [1, 2]}).fit(X, y)
    assert parts.transform(X).shape == (40, parts.best_params_["n_components"])


def test_before_it_is_fitted():
    X, y = data()
    search = SURESearch(Ridge(), ALPHAS)
    assert not hasattr(search, "n_features_in_")
    for method, args in ((search.predict, (X,)), (search.score, (X, y))):
        with pytest.raises(NotFittedError):
            method(*args)


def test_columns_are_remembered():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    search = SURESearch(Ridge(), ALPHAS).fit(frame, pd.Series(y))
    assert search.n_features_in_ == 3
    assert search.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(
        search.predict(frame), SURESearch(Ridge(), ALPHAS).fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame.rename(columns={"a": "z"}))
    assert not hasattr(SURESearch(Ridge(), ALPHAS).fit(X, y), "feature_names_in_")


def test_clones_and_nested_parameters():
    X, y = data()
    search = SURESearch(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]})
    fresh = clone(search.fit(X, y))
    assert not hasattr(fresh, "best_params_")
    assert fresh.get_params()["estimator__ridge__alpha"] == 1.0
    fresh.set_params(estimator__ridge__fit_intercept=False, n_probes=3)
    assert fresh.estimator.named_steps["ridge"].fit_intercept is False
    assert search.estimator.named_steps["ridge"].fit_intercept is True
    assert (fresh.n_probes, search.n_probes) == (3, 1)


def test_what_is_passed_in_is_left_as_it_was():
    X, y = data()
    estimator, grid = Ridge(alpha=7.0), {"alpha": [0.1, 1.0]}
    before = [copy.deepcopy(thing) for thing in (X, y, grid)]
    search = SURESearch(estimator, grid).fit(X, y)
    assert search.estimator is estimator
    assert search.param_grid is grid
    assert estimator.alpha == 7.0
    assert not hasattr(estimator, "coef_")
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert grid == before[2]


def test_searches_travel():
    X, y = data()
    search = SURESearch(Ridge(), ALPHAS).fit(X, y)
    copied = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copied.predict(X), search.predict(X))
    assert copied.best_params_ == search.best_params_
    np.testing.assert_array_equal(copied.cv_results_["sure"], search.cv_results_["sure"])


def test_it_is_a_regressor_like_its_estimator():
    search = SURESearch(Ridge(), ALPHAS, noise_variance=1.0)
    assert is_regressor(search)
    assert get_tags(search).target_tags.multi_output
    assert get_tags(search).input_tags.sparse
    pairwise = SURESearch(KernelRidge(kernel="precomputed"), ALPHAS, noise_variance=1.0)
    assert get_tags(pairwise).input_tags.pairwise
    assert not get_tags(search).input_tags.pairwise


def test_pipelines_exact_and_by_probes():
    X, y = data()
    pipeline = make_pipeline(PolynomialFeatures(), StandardScaler(), Ridge())
    grid = {"polynomialfeatures__degree": [1, 3], "ridge__alpha": [0.1, 10.0]}
    search = SURESearch(pipeline, grid).fit(X, y)
    assert set(search.cv_results_["method"]) == {"exact"}
    assert search.n_fits_ == 4
    assert search.n_features_in_ == 3
    pipeline = make_pipeline(StandardScaler(), Lasso())
    search = SURESearch(pipeline, {"lasso__alpha": [0.01, 10.0]}, random_state=0).fit(X, y)
    assert search.best_params_ == {"lasso__alpha": 0.01}
    assert search.n_fits_ == 4


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = data()
    weight = np.arange(40) % 4
    pipeline = make_pipeline(StandardScaler(), Ridge())
    search = SURESearch(pipeline, {"ridge__alpha": [3.0]}).fit(X, y, sample_weight=weight)
    wanted = pipeline.fit(X, y, ridge__sample_weight=weight).set_params(ridge__alpha=3.0)
    wanted.fit(X, y, ridge__sample_weight=weight)
    np.testing.assert_allclose(search.predict(X), wanted.predict(X))


def test_estimators_as_values_of_the_grid():
    X, y = data()
    values = [LinearRegression(), KernelRidge(kernel="rbf", alpha=0.1), Lasso(0.01)]
    pipeline = Pipeline([("scale", StandardScaler()), ("model", Ridge())])
    grid = [{"model": values}, {"model": [Ridge()], "model__alpha": [1.0, 2.0]}]
    search = SURESearch(pipeline, grid, random_state=0).fit(X, y)
    methods = search.cv_results_["method"].tolist()
    assert methods == ["exact", "exact", "monte-carlo", "exact", "exact"]
    assert search.cv_results_["param_model"][1] is values[1]
    for value in values:
        assert not [key for key in vars(value) if key.endswith("_")]
    chosen = search.best_params_["model"]
    assert search.best_estimator_.named_steps["model"] is not chosen
    assert type(search.best_estimator_.named_steps["model"]) is type(chosen)


def test_penalties_for_each_output_as_values():
    X, y = data(outputs=2)
    grid = {"alpha": [np.array([0.1, 1.0]), np.array([1.0, 0.1]), 3.0]}
    search = SURESearch(Ridge(), grid).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["param_alpha"][1], [1.0, 0.1])
    dof = np.column_stack([search.cv_results_[f"dof_{j}"] for j in range(2)])
    np.testing.assert_allclose(dof[0], dof[1][::-1])


def test_it_nests_in_other_searches_and_in_cross_validation():
    X, y = data()
    search = SURESearch(Ridge(), ALPHAS)
    scores = cross_val_score(search, X, y, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.2).all()
    outer = GridSearchCV(search, {"estimator__fit_intercept": [True, False]}, cv=3).fit(X, y)
    assert outer.best_estimator_.best_params_["alpha"] in ALPHAS["alpha"]
    inner = SURESearch(outer, {"cv": [2, 3]}, random_state=0).fit(X, y)
    assert set(inner.cv_results_["method"]) == {"monte-carlo"}


# ---------------------------------------------------------------------------------------
# Fits that fail
# ---------------------------------------------------------------------------------------

HALF = {"how": ["well", "badly"], "shrink": [0.5, 1.0]}


def test_a_failed_fit_is_raised():
    X, y = data()
    search = SURESearch(Fragile(), HALF, random_state=0)
    with pytest.raises((ValueError, RuntimeError), match="as asked") as caught:
        search.fit(X, y)
    said = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    assert "{'how': 'badly', 'shrink': 0.5}" in " ".join(said)
    assert not hasattr(search, "best_params_")


def test_a_failed_fit_that_counts_as_nothing():
    X, y = data()
    search = SURESearch(Fragile(), HALF, error_score=np.nan, random_state=0)
    with pytest.warns(
        FitFailedWarning, match=r"the fit at .*'badly'.*counts with a SURE of nan"
    ) as caught:
        search.fit(X, y)
    assert len(caught) == 2
    results = search.cv_results_
    assert np.isnan(results["sure"]).tolist() == [False, False, True, True]
    assert results["rank_sure"].tolist()[2:] == [3, 3]
    assert results["method"].tolist()[2:] == ["failed", "failed"]
    assert results["n_fits"].tolist() == [2, 2, 0, 0]
    assert search.n_fits_ == 4
    assert search.best_params_["how"] == "well"
    assert search.predict(X).shape == (40,)
    assert len(pd.DataFrame(results)) == 4


def test_a_failed_fit_that_counts_as_a_number():
    X, y = data()
    search = SURESearch(Fragile(), HALF, error_score=1e6, random_state=0)
    with pytest.warns(FitFailedWarning, match="counts with a SURE of 1000000"):
        search.fit(X, y)
    assert search.cv_results_["sure"].tolist()[2:] == [1e6, 1e6]
    assert search.best_params_["how"] == "well"


@pytest.mark.parametrize("score", [np.nan, 0.0])
@pytest.mark.parametrize("refit", [True, False])
def test_when_all_fail(score, refit):
    X, y = data()
    search = SURESearch(Fragile(), {"how": ["badly"]}, error_score=score, refit=refit)
    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(ValueError, match="all 1 points of param_grid failed"),
    ):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")


def test_a_failed_refit_leaves_the_search_as_it_was():
    X, y = data()
    search = SURESearch(Fragile(), {"shrink": [0.5, 1.0]}, random_state=0).fit(X, y)
    before = dict(vars(search))
    search.set_params(param_grid=HALF, error_score=-1e6)
    with pytest.warns(FitFailedWarning), pytest.raises(RuntimeError, match="as asked"):
        search.fit(X, y)
    for name in ("best_params_", "cv_results_", "best_estimator_", "n_fits_"):
        assert getattr(search, name) is before[name]


def test_a_second_fit_without_refit_forgets_the_model():
    X, y = data()
    search = SURESearch(Ridge(), ALPHAS).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    search.set_params(refit=False).fit(X, y)
    for name in ("best_estimator_", "refit_time_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(search, name)


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"method": "mc"}, ValueError, "method='mc' is unknown"),
        ({"n_probes": 0}, ValueError, "n_probes=0"),
        ({"n_probes": 1.5}, TypeError, "n_probes=1.5"),
        ({"eps": -0.1}, ValueError, "eps=-0.1"),
        ({"eps": "small"}, ValueError, "eps='small'"),
        ({"probe": "uniform"}, ValueError, "probe='uniform'"),
        ({"scheme": "backward"}, ValueError, "scheme='backward'"),
        ({"noise_variance": -1.0}, ValueError, "noise_variance=-1.0"),
        ({"noise_variance": None}, TypeError, "noise_variance=None"),
        ({"noise_variance": "paper"}, ValueError, "noise_variance='paper'"),
        ({"noise_variance": [1.0, 2.0]}, ValueError, r"noise_variance=\[1.0, 2.0\]"),
        ({"error_score": "ignore"}, ValueError, "error_score='ignore'"),
        ({"error_score": None}, TypeError, "error_score=None"),
        ({"param_grid": "alpha"}, TypeError, "param_grid='alpha'"),
        ({"param_grid": None}, TypeError, "param_grid=None"),
        ({"param_grid": {"alpha": []}}, ValueError, "alpha"),
        ({"param_grid": []}, ValueError, r"param_grid=\[\] has no points"),
        ({"param_grid": {"beta": [1.0]}}, ValueError, "beta"),
        ({"estimator": LogisticRegression()}, TypeError, "is a classifier"),
        ({"estimator": StandardScaler()}, TypeError, "is a transformer"),
        ({"estimator": lambda X, y: y}, TypeError, "must be a regressor with set_params"),
        ({"estimator": Ridge}, TypeError, "is a class"),
        ({"estimator": None}, TypeError, "estimator=None"),
        ({"estimator": Lasso(), "method": "exact"}, ValueError, "Lasso has no closed form"),
        ({"random_state": "x"}, ValueError, "seed"),
    ],
    ids=lambda v: re.sub(" at 0x.*", "", str(v))[:40],
)
def test_bad_settings_are_named(settings, error, message):
    X, y = data()
    search = SURESearch(**{"estimator": Ridge(), "param_grid": ALPHAS} | settings)
    with pytest.raises(error, match=message):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")


def test_bad_data_are_refused():
    X, y = data()
    search = SURESearch(Ridge(), ALPHAS)
    with pytest.raises(ValueError, match="requires y to be passed"):
        search.fit(X)
    with pytest.raises(ValueError, match="inconsistent"):
        search.fit(X, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        search.fit(X, np.where(y > 0, y, np.nan))
    with pytest.raises(ValueError, match="sample_weight"):
        search.fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="takes none"):
        SURESearch(PLSRegression(), {"n_components": [1]}).fit(X, y, sample_weight=np.ones(40))
