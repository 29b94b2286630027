"""What a search adds: against covariances over many targets, and where it must be nothing."""

import warnings

import numpy as np
import pytest
from models import ncl
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LogisticRegression,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toy_regressors import CountedPieces

from negcorr import NCLRegressor, SURESearch, degrees_of_freedom, excess_optimism, monte_carlo_dof
from negcorr.bases import FourierFeatures
from negcorr.dof.monte_carlo.probing import ProbeSource
from negcorr.dof.monte_carlo.responses import Direction
from negcorr.exceptions import StepSizeWarning
from negcorr.optimism.excess import STEP_SHARE, ExcessOptimism

# Few probes often leave the choice where it was; one test looks at what is said then.
SAME = "the choice .* was the same in all"
pytestmark = pytest.mark.filterwarnings(f"ignore:{SAME}:negcorr.exceptions.StepSizeWarning")

ALPHAS = [0.1, 1.0, 10.0, 100.0]

#: Close enough that the noise decides.
MANY = np.logspace(-1, 4, 12)

PIPELINE = make_pipeline(StandardScaler(), RidgeCV(ALPHAS))

SEARCHES = {
    "ncl by sure": ncl(5, 4, criterion="sure", noise_variance=0.3),
    "ncl by folds": ncl(5, 4, criterion="kfold"),
    "ridge": RidgeCV(ALPHAS),
    "grid": GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3),
    "grid by sure": SURESearch(Ridge(), {"alpha": ALPHAS}),
    "grid of lassos": GridSearchCV(Lasso(), {"alpha": [0.03, 0.3]}, cv=3),
    "lasso": LassoCV(alphas=[0.03, 0.3], cv=3),
    "pipeline": PIPELINE,
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


def noise_alone(n=40):
    """Targets after which a search runs."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, 10)), rng.normal(size=n)


# ---------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------


def test_dof_of_a_search_are_the_covariance_of_fits_and_targets():
    rng = np.random.default_rng(0)
    n, p, eps = 30, 8, 0.5
    X = np.linalg.qr(rng.normal(size=(n, p)))[0]
    coef, alphas = np.full(p, 0.9), (0.0, 0.3, 1.0, 3.0, 1e6)

    # Targets moved by a step ε have noise of variance v = 1 + ε². Of a choice at z a probe sees
    # bᵀSb, where b is ε(z − μ)/v on average and varies by 1/v about that.
    v = 1.0 + eps**2
    noise = np.sqrt(v) * rng.normal(size=(400_000, p))
    fits, chosen = tuned(coef + noise, alphas)
    shrunk = 1.0 / (1.0 + np.array(alphas)[chosen])
    of_search = np.sum(noise * fits, axis=1) / v
    of_choice = shrunk * (p / v + eps**2 * np.sum(noise**2, axis=1) / v**2)
    wanted = np.mean(of_search - of_choice)

    search = OrthogonalSearch(Ridge(fit_intercept=False), alphas)
    found = []
    for seed in range(40):
        y = X @ coef + rng.normal(size=n)
        result = excess_optimism(search, X, y, n_probes=25, eps=eps, random_state=seed)
        assert result.dof_at_choice == pytest.approx(p / (1.0 + result.choice["alpha"]))
        found.append(result.excess)
    error = np.std(found, ddof=1) / np.sqrt(40)
    assert abs(np.mean(found) - wanted) < 4 * error
    assert wanted > 6 * error


@pytest.mark.parametrize("name", SEARCHES)
def test_parts_add_up(name):
    X, y = data()
    found = excess_optimism(SEARCHES[name], X, y, n_probes=4, eps=0.3, random_state=0)
    assert isinstance(found, ExcessOptimism)
    assert type(found.dof) is type(found.excess) is type(found.std_error) is float
    assert found.dof == pytest.approx(found.dof_at_choice + found.excess, rel=1e-12)
    assert found.dof_at_choice == found.at_choice.dof
    assert found.values.shape == (4,)
    assert found.excess == pytest.approx(found.values.mean(), rel=1e-12)
    assert found.std_error == pytest.approx(found.values.std(ddof=1) / 2.0, rel=1e-12)
    assert found.eps == 0.3
    assert found.at_choice.method == ("monte-carlo" if "lasso" in name else "exact")


def test_a_probe_compares_two_choices_on_the_same_targets(monkeypatch):
    X, y = noise_alone()
    vectors = np.random.default_rng(1).normal(size=(6, 40, 1))
    drawn = [Direction(vector, 0) for vector in vectors]
    monkeypatch.setattr(ProbeSource, "draw", lambda self, count: drawn[:count])
    found = excess_optimism(RidgeCV(MANY), X, y, n_probes=6, eps=0.8)
    for value, b in zip(found.values, vectors[:, :, 0], strict=True):
        ahead, behind = y + 0.8 * b, y - 0.8 * b
        first, second = (RidgeCV(MANY).fit(X, t).alpha_ for t in (ahead, behind))
        fits = [
            [Ridge(alpha).fit(X, target).predict(X) for target in (ahead, behind)]
            for alpha in (first, second)
        ]
        wanted = b @ (fits[0][0] + fits[0][1] - fits[1][0] - fits[1][1]) / (4 * 0.8)
        assert value == pytest.approx(wanted, abs=1e-12)
        assert (value == 0.0) == (first == second)
    assert 0 < np.count_nonzero(found.values) < 6


@pytest.mark.parametrize("name", [name for name in SEARCHES if "ncl" not in name])
def test_choice_is_that_of_the_search(name):
    X, y = data()
    found = excess_optimism(SEARCHES[name], X, y, n_probes=2, random_state=0)
    fitted = clone(SEARCHES[name]).fit(X, y)
    if name == "pipeline":
        X, fitted = StandardScaler().fit_transform(X), fitted[-1]
    alpha = fitted.best_params_["alpha"] if "grid" in name else fitted.alpha_
    assert found.choice == {"alpha": alpha}
    if "lasso" not in name:
        wanted = degrees_of_freedom(Ridge(alpha), X, y).dof
        assert found.dof_at_choice == pytest.approx(wanted, rel=1e-12)


def test_choice_keeps_what_the_search_was_told():
    X, y = data()
    elastic = ElasticNetCV(
        l1_ratio=[0.2, 0.9], alphas=[0.05, 0.5], cv=3, fit_intercept=False, positive=True
    )
    found = excess_optimism(elastic, X, y, n_probes=8, eps=0.1, random_state=0)
    fitted = elastic.fit(X, y)
    assert found.choice == {"alpha": fitted.alpha_, "l1_ratio": fitted.l1_ratio_}
    settings = {"fit_intercept": False, "positive": True}
    chosen = ElasticNet(fitted.alpha_, l1_ratio=fitted.l1_ratio_, **settings)
    # Of an elastic net in a fixed set of columns dof is a trace; all are in or out here.
    kept = chosen.fit(X, y).coef_ != 0
    penalty = 40 * fitted.alpha_ * (1 - fitted.l1_ratio_)
    wanted = degrees_of_freedom(Ridge(penalty, fit_intercept=False), X[:, kept], y).dof
    assert abs(found.dof_at_choice - wanted) < 4 * found.at_choice.std_error


@pytest.mark.parametrize("criterion", ["sure", "gcv", "loo"])
def test_choice_of_an_ensemble(criterion):
    X, y = data()
    model = ncl(5, 4, criterion=criterion, noise_variance=0.3).fit(X, y)
    found = excess_optimism(model, X, y, n_probes=2, random_state=0)
    assert set(found.choice) == {"lam", "gap"}
    assert found.choice["gap"] == pytest.approx(model.gap_)
    assert found.choice["lam"] == pytest.approx(model.lam_)
    assert found.dof_at_choice == pytest.approx(model.dof_, rel=1e-9)


def test_choice_of_an_ensemble_keeps_its_basis():
    X, y = data()
    search = GridSearchCV(
        NCLRegressor(FourierFeatures(5, 4), gap=0.1), {"basis__gamma": [0.02, 2.0]}, cv=3
    )
    found = excess_optimism(search, X, y, n_probes=2, random_state=0)
    best = search.fit(X, y).best_estimator_
    assert found.choice == {"basis__gamma": best.basis.gamma}
    assert found.dof_at_choice == pytest.approx(best.dof_, rel=1e-9)
    alone = NCLRegressor(FourierFeatures(5, 4), criterion="gcv").fit(X, y)
    found = excess_optimism(clone(alone), X, y, n_probes=2, random_state=0)
    assert found.dof_at_choice == pytest.approx(alone.dof_, rel=1e-9)


@pytest.mark.parametrize(
    "search",
    [
        RidgeCV([3.0]),
        GridSearchCV(Ridge(), {"alpha": [3.0]}, cv=3),
        SURESearch(Ridge(), {"alpha": [3.0]}),
        GridSearchCV(ExtraTreesRegressor(3), {"max_depth": [2]}, cv=2),
        SURESearch(ncl(4, 3, random_state=None), {"gap": [0.1]}),
        SURESearch(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [3.0]}),
        make_pipeline(StandardScaler(), RidgeCV([3.0])),
    ],
    ids=["ridge", "grid", "sure", "trees", "ncl", "grid of pipelines", "pipeline"],
)
def test_a_search_over_one_model_adds_nothing(search):
    X, y = data()
    found = excess_optimism(search, X, y, n_probes=3, random_state=0)
    assert found.excess == found.std_error == 0.0
    assert found.dof == found.dof_at_choice


def test_a_search_that_follows_noise_costs_something():
    X, y = noise_alone()
    search = RidgeCV(MANY)
    found = excess_optimism(search, X, y, n_probes=150, eps=0.3, random_state=0)
    assert found.excess > 3 * found.std_error
    assert found.dof > found.dof_at_choice + 0.1


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


@pytest.mark.filterwarnings("ignore::negcorr.exceptions.SearchBoundaryWarning")
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
        model = ncl(5, 4, gap=found.choice["gap"])
    else:
        fitted = SEARCHES[name].fit(X, y, sample_weight=weight)
        alpha = fitted.alpha_ if name == "ridge" else fitted.best_params_["alpha"]
        assert found.choice == {"alpha": alpha}
        model = Ridge(alpha)
    wanted = degrees_of_freedom(model, X, y, sample_weight=weight).dof
    assert found.dof_at_choice == pytest.approx(wanted, rel=1e-9)


def test_every_fit_is_weighted(monkeypatch):
    X, y = noise_alone()
    weight = np.arange(40) % 4
    seen = []
    for kind in (Ridge, RidgeCV):
        fit = kind.fit

        def watched(self, X, y, sample_weight=None, fit=fit):
            seen.append(np.array_equal(sample_weight, weight))
            return fit(self, X, y, sample_weight=sample_weight)

        monkeypatch.setattr(kind, "fit", watched)
    found = excess_optimism(
        RidgeCV(MANY), X, y, n_probes=4, eps=0.8, sample_weight=weight, random_state=0
    )
    moved = np.count_nonzero(found.values)
    assert moved > 0
    # The search and its choice, two searches a probe, two fits where the choice moved.
    assert seen == [True] * (2 + 2 * 4 + 2 * moved)


def test_ridge_without_an_intercept_stays_without():
    X, y = data()
    found = excess_optimism(RidgeCV([3.0], fit_intercept=False), X, y, n_probes=2, random_state=0)
    wanted = degrees_of_freedom(Ridge(3.0, fit_intercept=False), X, y).dof
    assert found.dof_at_choice == pytest.approx(wanted)


# ---------------------------------------------------------------------------------------
# Random states
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "search",
    [
        RidgeCV(MANY),
        ncl(4, 3, random_state=None),
        SURESearch(ExtraTreesRegressor(3), {"max_depth": [1, 4]}),
        GridSearchCV(Ridge(), {"alpha": MANY[::2]}, cv=KFold(3, shuffle=True)),
    ],
    ids=["ridge", "ncl", "trees", "shuffled folds"],
)
def test_random_state_makes_runs_equal(search):
    X, y = noise_alone()
    first, again, other = (
        excess_optimism(search, X, y, n_probes=6, eps=0.8, random_state=state)
        for state in (0, np.random.RandomState(0), 1)
    )
    assert (first.excess, first.choice) == (again.excess, again.choice)
    assert first.excess != other.excess
    assert not [key for key in vars(search) if key.endswith("_") and key[0] != "_"]


def test_one_probe_has_no_standard_error():
    X, y = data()
    assert np.isnan(excess_optimism(RidgeCV(ALPHAS), X, y, n_probes=1).std_error)


def test_step_is_a_share_of_the_usual_one():
    X, y = data(outputs=2)
    found = excess_optimism(RidgeCV(ALPHAS), X, y, n_probes=1)
    usual = monte_carlo_dof(Ridge(), X, y, n_probes=1, random_state=0).eps
    assert 0.0 < STEP_SHARE < 1.0
    np.testing.assert_allclose(found.eps, STEP_SHARE * usual)
    given = excess_optimism(RidgeCV(ALPHAS), X, y, n_probes=1, eps=[0.1, 0.2])
    np.testing.assert_array_equal(given.eps, [0.1, 0.2])


def test_a_choice_that_never_moves_is_said_to():
    X, y = data()
    several = SURESearch(Ridge(), {"alpha": [1.0, 1e6]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(StepSizeWarning, match=SAME):
            excess_optimism(several, X, y, n_probes=3, random_state=0)
        excess_optimism(SURESearch(Ridge(), {"alpha": [1.0]}), X, y, n_probes=3, random_state=0)


def test_progress_is_told_of_every_probe():
    pytest.importorskip("sklearn.callback")
    X, y = data()
    ticks = CountedPieces()
    excess_optimism(RidgeCV(ALPHAS), X, y, n_probes=5, progress=ticks)
    assert ticks.done == ticks.total == 5


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{"lam": 0.5}, {"gap": 0.1}, {"lam": 0.0}], ids=lambda s: next(iter(s))
)
def test_an_ensemble_at_a_given_lam_does_not_search(settings):
    X, y = data()
    with pytest.raises(ValueError, match="does not search: give lam='auto'"):
        excess_optimism(ncl(4, 3, **settings), X, y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Ridge(), r"estimator=Ridge\(\) must be an NCLRegressor\(lam='auto'\)"),
        (KNeighborsRegressor(), r"estimator=KNeighborsRegressor\(\) must be"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()), "must be an NCLRegressor"),
        (lambda X, y: y, "estimator="),
        (RidgeCV, "is a class"),
        (LogisticRegression(), "is a classifier"),
    ],
    ids=["ridge", "neighbours", "pipeline", "callable", "class", "classifier"],
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


def test_a_search_that_does_not_refit_is_refused():
    X, y = data()
    for kind in (GridSearchCV, SURESearch):
        with pytest.raises(ValueError, match="a search needs refit=True"):
            excess_optimism(kind(Ridge(), {"alpha": ALPHAS}, refit=False), X, y)


def test_results_say_what_they_are():
    X, y = data()
    text = repr(excess_optimism(RidgeCV([3.0]), X, y, n_probes=2, random_state=0))
    assert text.startswith("ExcessOptimism(dof=4.6")
    assert "choice={'alpha': 3.0})" in text
