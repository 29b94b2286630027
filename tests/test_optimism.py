"""What a search adds: against covariances over many targets, and where it must be nothing."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import (
    MonteCarloDof,
    NCLRegressor,
    SURESearch,
    degrees_of_freedom,
    excess_optimism,
    monte_carlo_dof,
)
from negcorr.optimism import ExcessOptimism

ALPHAS = [0.1, 1.0, 10.0, 100.0]

SEARCHES = {
    "ncl by sure": NCLRegressor(5, 4, criterion="sure", noise_variance=0.3, random_state=0),
    "ncl by folds": NCLRegressor(5, 4, criterion="kfold", random_state=0),
    "ridge": RidgeCV(ALPHAS),
    "grid": GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3),
    "grid by sure": SURESearch(Ridge(), {"alpha": ALPHAS}),
    "grid of lassos": GridSearchCV(Lasso(), {"alpha": [0.03, 0.3]}, cv=3),
}


class OrthogonalSearch(RegressorMixin, BaseEstimator):
    """Ridge on orthonormal columns, its penalty by SURE with known noise of variance 1."""

    def __init__(self, estimator=None, alphas=(1.0,)):
        self.estimator = estimator
        self.alphas = alphas

    def fit(self, X, y):
        self.coef_, chosen = tuned(X.T @ y, self.alphas)
        self.best_params_ = {"alpha": self.alphas[int(chosen)]}
        return self

    def predict(self, X):
        return X @ self.coef_


def tuned(z, alphas):
    """Coefficients z/(1 + α) with the α of least SURE, and its place; z is (..., columns)."""
    shrunk = 1.0 / (1.0 + np.asarray(alphas))
    squares = np.sum(z**2, axis=-1, keepdims=True)
    sure = squares * (1.0 - shrunk) ** 2 + 2.0 * z.shape[-1] * shrunk
    chosen = np.argmin(sure, axis=-1)
    return z * shrunk[chosen][..., np.newaxis], chosen


def data(outputs=None, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=(outputs or 1, n))).T
    return X, y[:, 0] if outputs is None else y


# ---------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------


def test_dof_of_a_search_are_the_covariance_of_fits_and_targets():
    rng = np.random.default_rng(0)
    n, p, eps = 30, 8, 0.5
    X = np.linalg.qr(rng.normal(size=(n, p)))[0]
    coef, alphas = np.full(p, 0.9), (0.0, 0.3, 1.0, 3.0, 1e6)

    # Smoothed over a step ε, dof is on average that for noise of variance 1 + ε².
    noise = np.sqrt(1.0 + eps**2) * rng.normal(size=(200_000, p))
    covariance = np.mean(np.sum(noise * tuned(coef + noise, alphas)[0], axis=1)) / (1.0 + eps**2)
    chosen = tuned(coef + rng.normal(size=(200_000, p)), alphas)[1]
    wanted = covariance - np.mean(p / (1.0 + np.array(alphas)[chosen]))

    search = OrthogonalSearch(Ridge(fit_intercept=False), alphas)
    found = []
    for seed in range(50):
        y = X @ coef + rng.normal(size=n)
        result = excess_optimism(search, X, y, n_probes=10, eps=eps, random_state=seed)
        assert result.dof_at_choice == pytest.approx(p / (1.0 + result.choice["alpha"]))
        found.append(result.excess)
    error = np.std(found, ddof=1) / np.sqrt(50)
    assert abs(np.mean(found) - wanted) < 4 * error
    assert wanted > 6 * error


@pytest.mark.parametrize("name", SEARCHES)
def test_parts_add_up(name):
    X, y = data()
    found = excess_optimism(SEARCHES[name], X, y, n_probes=4, random_state=0)
    assert isinstance(found, ExcessOptimism)
    assert type(found.dof) is type(found.excess) is type(found.std_error) is float
    assert found.dof == pytest.approx(found.dof_at_choice + found.excess, rel=1e-12)
    assert found.dof_at_choice == found.at_choice.dof
    assert found.std_error >= 0
    assert isinstance(found.monte_carlo, MonteCarloDof)
    assert len(found.monte_carlo.values) == 4
    assert found.monte_carlo.probe == "gaussian"
    assert found.at_choice.method == ("monte-carlo" if name == "grid of lassos" else "exact")


@pytest.mark.parametrize("name", ["ridge", "grid", "grid by sure", "grid of lassos"])
def test_choice_is_that_of_the_search(name):
    X, y = data()
    found = excess_optimism(SEARCHES[name], X, y, n_probes=2, random_state=0)
    fitted = SEARCHES[name].fit(X, y)
    alpha = fitted.alpha_ if name == "ridge" else fitted.best_params_["alpha"]
    assert found.choice == {"alpha": alpha}
    if name != "grid of lassos":
        wanted = degrees_of_freedom(Ridge(alpha), X, y).dof
        assert found.dof_at_choice == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("criterion", ["sure", "gcv", "loo"])
def test_choice_of_an_ensemble(criterion):
    X, y = data()
    settings = {"n_estimators": 5, "n_components": 4, "random_state": 0}
    model = NCLRegressor(**settings, criterion=criterion, noise_variance=0.3).fit(X, y)
    found = excess_optimism(model, X, y, n_probes=2, random_state=0)
    assert set(found.choice) == {"lam", "gap"}
    assert found.choice["gap"] == pytest.approx(model.gap_)
    assert found.choice["lam"] == pytest.approx(model.lam_)
    assert found.dof_at_choice == pytest.approx(model.dof_, rel=1e-9)


@pytest.mark.parametrize(
    "search",
    [
        RidgeCV([3.0]),
        GridSearchCV(Ridge(), {"alpha": [3.0]}, cv=3),
        SURESearch(Ridge(), {"alpha": [3.0]}),
        GridSearchCV(ExtraTreesRegressor(3), {"max_depth": [2]}, cv=2),
        SURESearch(NCLRegressor(4, 3), {"gap": [0.1]}),
        SURESearch(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [3.0]}),
    ],
    ids=["ridge", "grid", "sure", "trees", "ncl", "pipeline"],
)
def test_a_search_over_one_model_adds_nothing(search):
    X, y = data()
    found = excess_optimism(search, X, y, n_probes=3, random_state=0)
    assert found.excess == pytest.approx(0.0, abs=1e-9)
    assert found.std_error == pytest.approx(0.0, abs=1e-9)
    assert found.dof == pytest.approx(found.dof_at_choice, abs=1e-9)


def test_a_search_that_follows_noise_costs_something():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 10)), rng.normal(size=40)
    found = excess_optimism(RidgeCV(np.logspace(-1, 4, 12)), X, y, n_probes=60, random_state=0)
    assert found.excess > -2 * found.std_error
    assert found.excess > 0.3
    assert found.std_error < 0.5 * found.excess


def test_common_probes_leave_little_of_the_spread():
    X, y = data()
    search = RidgeCV([0.5, 1.0, 2.0])
    found = excess_optimism(search, X, y, n_probes=20, random_state=0)
    assert found.std_error < 0.2 * found.monte_carlo.std_error


@pytest.mark.parametrize("name", ["ncl by sure", "ridge", "grid", "grid by sure"])
def test_several_outputs(name):
    X, y = data(outputs=2)
    found = excess_optimism(SEARCHES[name], X, y, n_probes=3, random_state=0)
    for value in (found.dof, found.dof_at_choice, found.excess, found.std_error):
        assert np.shape(value) == (2,)
    np.testing.assert_allclose(found.dof, found.dof_at_choice + found.excess)


def test_each_output_may_have_its_own_penalty():
    X, y = data(outputs=2)
    y[:, 1] = np.random.default_rng(5).normal(size=40)
    search = RidgeCV(ALPHAS, alpha_per_target=True)
    found = excess_optimism(search, X, y, n_probes=2, random_state=0)
    alpha = search.fit(X, y).alpha_
    assert alpha[0] != alpha[1]
    np.testing.assert_array_equal(found.choice["alpha"], alpha)
    np.testing.assert_allclose(found.dof_at_choice, degrees_of_freedom(Ridge(alpha), X, y).dof)


@pytest.mark.parametrize("name", ["ncl by sure", "ncl by folds", "ridge", "grid", "grid by sure"])
def test_weights_reach_search_and_choice(name):
    X, y = data()
    # Rows that count follow x, the others do not.
    weight = np.arange(40) % 2
    noise = np.random.default_rng(1).normal(size=40)
    y = np.where(weight, 3.0 * X[:, 0] + 0.1 * noise, 9.0 * noise)
    settings = {"n_probes": 2, "random_state": 0}
    found = excess_optimism(SEARCHES[name], X, y, sample_weight=weight, **settings)
    assert found.choice != excess_optimism(SEARCHES[name], X, y, **settings).choice
    if name.startswith("ncl"):
        model = NCLRegressor(5, 4, gap=found.choice["gap"], random_state=0)
    else:
        fitted = SEARCHES[name].fit(X, y, sample_weight=weight)
        alpha = fitted.alpha_ if name == "ridge" else fitted.best_params_["alpha"]
        assert found.choice == {"alpha": alpha}
        model = Ridge(alpha)
    wanted = degrees_of_freedom(model, X, y, sample_weight=weight).dof
    assert found.dof_at_choice == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("weight", [None, np.arange(40) % 4])
def test_run_of_the_search_is_that_of_monte_carlo_dof(weight):
    X, y = data()
    found = excess_optimism(
        RidgeCV(ALPHAS), X, y, n_probes=3, eps=0.2, sample_weight=weight, random_state=0
    )
    state = np.random.RandomState(0)
    _, seed = state.randint(2**31), state.randint(2**31)
    settings = {"n_probes": 3, "eps": 0.2, "probe": "gaussian", "random_state": seed}
    wanted = monte_carlo_dof(RidgeCV(ALPHAS), X, y, sample_weight=weight, **settings)
    np.testing.assert_allclose(found.monte_carlo.values, wanted.values)


def test_ridge_without_an_intercept_stays_without():
    X, y = data()
    found = excess_optimism(RidgeCV([3.0], fit_intercept=False), X, y, n_probes=2, random_state=0)
    wanted = degrees_of_freedom(Ridge(3.0, fit_intercept=False), X, y).dof
    assert found.dof_at_choice == pytest.approx(wanted)
    assert found.excess == pytest.approx(0.0, abs=1e-9)


# ---------------------------------------------------------------------------------------
# Random states
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "search",
    [
        RidgeCV(ALPHAS),
        NCLRegressor(4, 3),
        SURESearch(ExtraTreesRegressor(3), {"max_depth": [1, 4]}),
        GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=KFold(3, shuffle=True)),
    ],
    ids=["ridge", "ncl", "trees", "shuffled folds"],
)
def test_random_state_makes_runs_equal(search):
    X, y = data()
    first, again, other = (
        excess_optimism(search, X, y, n_probes=2, random_state=state)
        for state in (0, np.random.RandomState(0), 1)
    )
    assert (first.dof, first.excess, first.choice) == (again.dof, again.excess, again.choice)
    assert abs(first.monte_carlo.dof - other.monte_carlo.dof) > 1e-6
    assert not [key for key in vars(search) if key.endswith("_") and key[0] != "_"]


def test_one_probe_has_no_standard_error():
    X, y = data()
    assert np.isnan(excess_optimism(RidgeCV(ALPHAS), X, y, n_probes=1).std_error)


def test_step_is_handed_on():
    X, y = data()
    found = excess_optimism(RidgeCV(ALPHAS), X, y, n_probes=2, eps=0.125)
    assert found.monte_carlo.eps == 0.125


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{"lam": 0.5}, {"gap": 0.1}, {"lam": 0.0}], ids=lambda s: next(iter(s))
)
def test_an_ensemble_at_a_given_lam_does_not_search(settings):
    X, y = data()
    with pytest.raises(ValueError, match="does not search: give lam='auto'"):
        excess_optimism(NCLRegressor(4, 3, **settings), X, y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Ridge(), r"estimator=Ridge\(\) must be an NCLRegressor\(lam='auto'\)"),
        (LassoCV(cv=3), r"estimator=LassoCV\(cv=3\) must be"),
        (make_pipeline(StandardScaler(), RidgeCV()), "must be an NCLRegressor"),
        (lambda X, y: y, "estimator="),
        (RidgeCV, "is a class"),
        (LogisticRegression(), "is a classifier"),
    ],
    ids=["ridge", "lasso", "pipeline", "callable", "class", "classifier"],
)
def test_what_does_not_search_is_refused(estimator, message):
    X, y = data()
    with pytest.raises(TypeError, match=message):
        excess_optimism(estimator, X, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_probes": 0}, ValueError, "n_probes=0"),
        ({"eps": 0.0}, ValueError, "eps=0.0"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight"),
    ],
)
def test_bad_arguments_are_named(settings, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        excess_optimism(RidgeCV(ALPHAS), X, y, **settings)


def test_results_say_what_they_are():
    X, y = data()
    text = repr(excess_optimism(RidgeCV([3.0]), X, y, n_probes=2, random_state=0))
    assert text.startswith("ExcessOptimism(dof=4.6")
    assert "choice={'alpha': 3.0})" in text
