"""Degrees of freedom by either route: exact against refits, Monte Carlo against exact."""

import numpy as np
import pandas as pd
import pytest
from models import ncl
from reference import jacobian_trace
from sklearn.cluster import KMeans
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor, IsolationForest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toy_regressors import MyRidge

from negcorr import DegreesOfFreedom, degrees_of_freedom, monte_carlo_dof
from negcorr.dof.degrees import closed_form
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.dof.smoothers import KINDS
from negcorr.exceptions import NoResponseWarning, NotLinearError, StepSizeWarning

NCL = {"n_members": 4, "n_components": 3}

KNOWN = {
    "least squares": LinearRegression(),
    "ridge": Ridge(alpha=2.0),
    "kernel ridge": KernelRidge(alpha=0.4, kernel="rbf", gamma=0.2),
    "neighbours": KNeighborsRegressor(3),
    "neighbours in a radius": RadiusNeighborsRegressor(3.0, weights="distance"),
    "process": GaussianProcessRegressor(RBF(1.5, "fixed"), alpha=0.1),
    "ncl": ncl(gap=1e-2, **NCL),
    "mean": DummyRegressor(),
    "constant": DummyRegressor(strategy="constant", constant=2.0),
    "pipeline": make_pipeline(StandardScaler(), Ridge(alpha=2.0)),
}
WEIGHTED = ["least squares", "ridge", "kernel ridge", "ncl", "mean", "constant"]


def data(outputs=None, n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=(outputs or 1, n))).T
    return X, y[:, 0] if outputs is None else y


# ---------------------------------------------------------------------------------------
# The exact route
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KNOWN)
def test_exact_where_there_is_a_closed_form(name):
    X, y = data()
    for method in ("auto", "exact"):
        found = degrees_of_freedom(KNOWN[name], X, y, method=method)
        assert type(found.dof) is float
        assert found.dof == pytest.approx(jacobian_trace(KNOWN[name], X, y)[0], abs=1e-8)
        assert found.std_error == 0.0
        assert type(found.std_error) is float
        assert found.method == "exact"
        assert found.reason.startswith(type(KNOWN[name]).__name__)
        assert found.reason.endswith("is linear in y")
        assert found.n_samples == 24
        assert found.monte_carlo is None


def test_every_kind_is_covered_here():
    assert {type(estimator) for estimator in KNOWN.values()} == set(KINDS)


def test_numbers_that_need_no_computer():
    X, y = data()
    deficient = np.column_stack([X, X @ [1.0, -2.0, 0.5]])
    for table, intercept, rank in ((X, True, 4), (X, False, 3), (deficient, True, 4)):
        assert degrees_of_freedom(LinearRegression(fit_intercept=intercept), table, y).dof == rank
    assert degrees_of_freedom(DummyRegressor(), X, y).dof == 1.0
    assert degrees_of_freedom(KNeighborsRegressor(1), X, y).dof == 24.0
    assert degrees_of_freedom(DummyRegressor(strategy="constant", constant=1.0), X, y).dof == 0.0


def test_ncl_at_a_given_lam_has_the_dof_that_it_reports():
    X, y = data()
    model = ncl(lam=0.7, random_state=3, **NCL)
    found = degrees_of_freedom(model, X, y, method="exact")
    assert found.dof == pytest.approx(model.fit(X, y).dof_, rel=1e-12)


@pytest.mark.parametrize("name", WEIGHTED)
def test_integer_weights_equal_repeated_rows(name):
    X, y = data(seed=1)
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    weighted = degrees_of_freedom(KNOWN[name], X, y, sample_weight=weight)
    repeated = degrees_of_freedom(KNOWN[name], X[copies], y[copies])
    assert weighted.method == "exact"
    assert weighted.dof == pytest.approx(repeated.dof, abs=1e-9)


@pytest.mark.parametrize("name", [n for n in KNOWN if n != "constant"])
def test_each_output_has_its_number(name):
    X, y = data(outputs=2)
    found = degrees_of_freedom(KNOWN[name], X, y)
    assert found.method == "exact"
    np.testing.assert_allclose(found.dof, jacobian_trace(KNOWN[name], X, y), atol=1e-8)
    np.testing.assert_array_equal(found.std_error, [0.0, 0.0])
    one = degrees_of_freedom(KNOWN[name], X, y[:, :1])
    assert np.shape(one.dof) == np.shape(one.std_error) == (1,)


def test_penalties_of_their_own_give_outputs_dof_of_their_own():
    X, y = data(outputs=2)
    found = degrees_of_freedom(Ridge(alpha=[0.1, 50.0]), X, y)
    alone = [degrees_of_freedom(Ridge(alpha=a), X, y[:, 0]).dof for a in (0.1, 50.0)]
    np.testing.assert_allclose(found.dof, alone, rtol=1e-12)


def test_data_frames_lists_and_series():
    X, y = data()
    wanted = degrees_of_freedom(Ridge(), X, y).dof
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for table, target in ((frame, pd.Series(y)), (X.tolist(), y.tolist())):
        assert degrees_of_freedom(Ridge(), table, target).dof == pytest.approx(wanted, rel=1e-12)


# ---------------------------------------------------------------------------------------
# The Monte-Carlo route
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (Lasso(0.05), r"^Lasso has no closed form here: its fit is not known to be linear in y\.$"),
        (MyRidge(), r"^MyRidge has no closed form here"),
        (RidgeCV(), r"^RidgeCV has no closed form here"),
        (ncl(**NCL), r"search for lam depends on y"),
        (make_pipeline(StandardScaler(), Lasso(0.05)), r"last step of the pipeline, 'lasso'"),
        (lambda X, y: np.full(len(y), y.mean()), r"^a callable has no closed form\.$"),
    ],
    ids=["lasso", "subclass", "search", "ncl", "pipeline", "callable"],
)
def test_monte_carlo_with_its_reason_where_there_is_no_closed_form(estimator, reason):
    X, y = data()
    found = degrees_of_freedom(estimator, X, y, eps=0.05, n_probes=3, random_state=0)
    assert found.method == "monte-carlo"
    assert found.monte_carlo.n_samples == found.n_samples == 24
    assert len(found.monte_carlo.values) == 3
    assert (found.dof, found.std_error) == (found.monte_carlo.dof, found.monte_carlo.std_error)
    assert found.std_error > 0
    with pytest.raises(NotLinearError, match=reason) as caught:
        degrees_of_freedom(estimator, X, y, method="exact")
    assert found.reason == str(caught.value)


@pytest.mark.parametrize("weight", [None, np.arange(24) % 4])
@pytest.mark.parametrize("outputs", [None, 2])
def test_both_routes_agree(outputs, weight):
    X, y = data(outputs)
    exact = degrees_of_freedom(Ridge(5.0), X, y, sample_weight=weight)
    for estimator, method in ((MyRidge(5.0), "auto"), (Ridge(5.0), "monte-carlo")):
        found = degrees_of_freedom(
            estimator, X, y, method=method, sample_weight=weight, n_probes=100, random_state=0
        )
        assert found.method == "monte-carlo"
        assert np.shape(found.dof) == np.shape(exact.dof)
        assert (np.abs(found.dof - exact.dof) < 4 * np.asarray(found.std_error)).all()
        assert (np.asarray(found.std_error) < 0.15 * np.asarray(exact.dof)).all()


def test_monte_carlo_on_request_says_that_it_was_asked_for():
    X, y = data()
    found = degrees_of_freedom(Ridge(), X, y, method="monte-carlo", random_state=0)
    assert (found.method, found.reason) == ("monte-carlo", "asked for")
    assert found.monte_carlo.linear is None


def test_a_callable_has_the_dof_of_what_it_does():
    X, y = data()
    hat = X @ np.linalg.pinv(X)
    options = {"n_probes": 300, "random_state": 0}
    found = degrees_of_freedom(lambda X, y: hat @ y, X, y, **options)
    assert abs(found.dof - 3.0) < 4 * found.std_error
    assert found.std_error < 0.3


def test_options_are_handed_on():
    X, y = data()
    options = {"eps": 0.25, "n_probes": 5, "probe": "gaussian", "scheme": "forward"}
    model = Lasso(0.05, random_state=0)
    found = degrees_of_freedom(model, X, y, random_state=0, **options).monte_carlo
    assert (found.eps, len(found.values)) == (0.25, 5)
    assert (found.probe, found.scheme) == ("gaussian", "forward")
    assert found.n_fits == 6
    wanted = degrees_of_freedom(
        MyRidge(), X, y, target_std_error=0.02, max_fits=500, random_state=0
    )
    assert wanted.std_error <= 0.02


def test_warnings_of_the_run_reach_the_user():
    X, y = data(n=60)
    with pytest.warns(NoResponseWarning, match="did not move"):
        degrees_of_freedom(lambda X, y: np.zeros(len(y)), X, y)
    with pytest.warns(StepSizeWarning, match="the step matters"):
        degrees_of_freedom(lambda X, y: y**3, X, y)


# ---------------------------------------------------------------------------------------
# Random states
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        ncl(gap=1e-2, random_state=None, **NCL),
        make_pipeline(RBFSampler(n_components=40), Ridge(0.1)),
        ExtraTreesRegressor(5, max_depth=3),
        ncl(criterion="gcv", random_state=None, **NCL),
    ],
    ids=["exact", "exact pipeline", "monte-carlo", "search"],
)
def test_estimators_without_a_seed_are_reproducible(estimator):
    X, y = data()
    options = {} if "Pipeline" in repr(estimator) else {"eps": 0.3, "n_probes": 2}
    states = [0, 0, 1, np.random.RandomState(0), np.random.RandomState(0)]
    first, again, other, *by_object = (
        degrees_of_freedom(estimator, X, y, random_state=state, **options).dof for state in states
    )
    assert first == again
    assert abs(first - other) > 1e-6
    assert by_object[0] == by_object[1]


def test_exact_route_with_a_seed_does_not_depend_on_random_state():
    X, y = data()
    model = ncl(gap=1e-2, **NCL)
    assert len({degrees_of_freedom(model, X, y, random_state=s).dof for s in (None, 0, 1)}) == 1


def test_monte_carlo_run_is_that_of_monte_carlo_dof():
    X, y = data()
    wanted = monte_carlo_dof(Lasso(0.05), X, y, random_state=7).dof
    for method in ("auto", "monte-carlo"):
        found = degrees_of_freedom(Lasso(0.05), X, y, method=method, random_state=7)
        assert found.dof == wanted


def test_closed_form_sets_what_is_unset():
    X, y = data(outputs=2)
    refit = Refit.of(ncl(gap=1e-2, random_state=None, **NCL), X, y)
    first, again, other = (closed_form(refit, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.weights(X), again.weights(X))
    assert np.abs(first.weights(X) - other.weights(X)).max() > 1e-3
    assert first.n_outputs == 2


@pytest.mark.parametrize(
    "estimator", [Ridge(), ncl(gap=0.1, random_state=None, **NCL), Lasso(0.05)]
)
def test_estimator_is_left_as_it_was(estimator):
    X, y = data()
    before = (repr(estimator.get_params()), X.copy(), y.copy())
    degrees_of_freedom(estimator, X, y, random_state=0)
    assert repr(estimator.get_params()) == before[0]
    assert not [key for key in vars(estimator) if key.endswith("_") and key[0] != "_"]
    np.testing.assert_array_equal(X, before[1])
    np.testing.assert_array_equal(y, before[2])


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["Exact", "mc", None, 1])
def test_unknown_method(method):
    X, y = data()
    with pytest.raises(ValueError, match=r"method=.* is unknown; allowed are"):
        degrees_of_freedom(Ridge(), X, y, method=method)


@pytest.mark.parametrize("estimator", [Lasso(0.05), Ridge()], ids=["monte-carlo", "exact"])
def test_unknown_option(estimator):
    X, y = data()
    with pytest.raises(TypeError, match="n_prob"):
        degrees_of_freedom(estimator, X, y, n_prob=3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_probes": 0}, ValueError, "n_probes=0"),
        ({"eps": -1.0}, ValueError, "eps=-1.0"),
        ({"probe": "uniform"}, ValueError, "probe='uniform'"),
        ({"scheme": "backward"}, ValueError, "scheme='backward'"),
        ({"seeding": "some"}, ValueError, "seeding='some'"),
    ],
)
def test_bad_options_are_named(options, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        degrees_of_freedom(Lasso(0.05), X, y, **options)


@pytest.mark.parametrize("method", ["auto", "exact", "monte-carlo"])
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(), "is a classifier"),
        (KMeans(2), "is a clusterer"),
        (IsolationForest(), "is an outlier detector"),
        (StandardScaler(), "is a transformer"),
        (Ridge, "is a class"),
        ("ridge", "must be a regressor"),
        (None, "must be a regressor"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_what_is_no_regressor_is_refused(estimator, message, method):
    X, y = data()
    with pytest.raises(TypeError, match=message):
        degrees_of_freedom(estimator, X, y, method=method)


@pytest.mark.parametrize("method", ["auto", "exact", "monte-carlo"])
def test_bad_data_are_no_reason_for_another_route(method):
    X, y = data()
    missing = y.copy()
    missing[3] = np.nan
    for target, message in ((missing, "NaN"), (y[:-1], "inconsistent"), (y[:, None, None], "y")):
        with pytest.raises(ValueError, match=message) as caught:
            degrees_of_freedom(Ridge(), X, target, method=method)
        assert not isinstance(caught.value, NotLinearError)


@pytest.mark.parametrize(
    ("estimator", "weight", "message"),
    [
        (KNeighborsRegressor(3), np.ones(24), r"KNeighborsRegressor\.fit takes none"),
        (lambda X, y: y, np.ones(24), "cannot be handed to a callable"),
        (Ridge(), np.ones(23), "sample_weight"),
        (Ridge(), np.zeros(24), "(?i)sample.weight.* zero|non-zero"),
        (Ridge(), -np.ones(24), "sample_weight"),
    ],
    ids=["neighbours", "callable", "short", "zero", "negative"],
)
def test_weights_that_cannot_be_used(estimator, weight, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        degrees_of_freedom(estimator, X, y, sample_weight=weight)


# ---------------------------------------------------------------------------------------
# What it says
# ---------------------------------------------------------------------------------------


def test_results_say_how_they_were_found():
    exact = DegreesOfFreedom(3.25, 0.0, "exact", "Ridge is linear in y", 10)
    text = "DegreesOfFreedom(dof=3.25, method='exact', reason='Ridge is linear in y')"
    assert repr(exact) == text
    both = DegreesOfFreedom(
        np.array([3.25, 4.0]), np.array([0.5, 0.25]), "monte-carlo", "asked for", 10
    )
    text = "DegreesOfFreedom(dof=[3.25 ± 0.5, 4 ± 0.25], method='monte-carlo', reason='asked for')"
    assert repr(both) == text
