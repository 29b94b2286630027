"""The map from targets to fitted values: what is refitted, how, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

from negcorr import NCLRegressor
from negcorr.dof.monte_carlo.refits import NonFiniteError, Refit, check_regressor, fit_arguments


def data(n=20, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    shape = (n,) if outputs is None else (n, outputs)
    return rng.normal(size=(n, 3)) + 5.0, rng.normal(size=shape)


class Untagged:
    """Duck-typed: no base class, no tags."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)

    def get_params(self, deep=True):
        return {}

    def set_params(self, **params):
        return self


# ---------------------------------------------------------------------------------------
# Fitted values
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_fitted_values_are_those_of_a_fresh_fit(outputs):
    X, y = data(outputs=outputs)
    refit = Refit.of(Ridge(), X, y)
    moved = refit.y + 0.5
    target = moved[:, 0] if outputs is None else moved
    wanted = Ridge().fit(X, target).predict(X).reshape(20, -1)
    np.testing.assert_array_equal(refit(moved, seed=0), wanted)
    assert refit.y.shape == (20, outputs or 1)
    assert refit.single_output == (outputs is None)


def test_targets_have_the_shape_that_was_given():
    shapes = []

    def fit_predict(X, y):
        shapes.append(y.shape)
        return y

    for outputs in (None, 1, 2):
        X, y = data(outputs=outputs)
        refit = Refit.of(fit_predict, X, y)
        assert refit(refit.y, 0).shape == (20, outputs or 1)
    assert shapes == [(20,), (20, 1), (20, 2)]


def test_inputs_are_handed_on_as_they_are():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d="red")
    seen = []

    def fit_predict(X, y):
        seen.append(X)
        return y

    refit = Refit.of(fit_predict, frame, y)
    refit(refit.y, 0)
    pd.testing.assert_frame_equal(seen[0], frame)


def test_one_seed_is_one_fit_unless_nothing_is_seeded():
    X, y = data()
    forest = RandomForestRegressor(3, max_depth=2)
    held = Refit.of(forest, X, y)
    np.testing.assert_array_equal(held(held.y, 5), held(held.y, 5))
    assert np.abs(held(held.y, 5) - held(held.y, 6)).max() > 1e-3
    free = Refit.of(forest, X, y, seeding="none")
    assert np.abs(free(free.y, 5) - free(free.y, 5)).max() > 1e-3
    assert (held.has_free_seeds, held.draws_numbers) == (True, True)
    assert (free.has_free_seeds, free.draws_numbers) == (False, True)


@pytest.mark.parametrize("estimator", [RandomForestRegressor(random_state=0), lambda X, y: y])
def test_what_draws_no_numbers_has_no_seeds_to_set(estimator):
    refit = Refit.of(estimator, *data())
    assert not refit.has_free_seeds
    assert not refit.draws_numbers


@pytest.mark.parametrize("outputs", [None, 2])
def test_predictions_at_further_rows_follow_the_fitted_values(outputs):
    X, y = data(outputs=outputs)
    new = X[:3] + 1.0
    refit = replace(Refit.of(Ridge(), X, y), X_new=new)
    model = Ridge().fit(X, y)
    wanted = np.concatenate([model.predict(X), model.predict(new)]).reshape(23, -1)
    np.testing.assert_array_equal(refit(refit.y, 0), wanted)


def test_weights_reach_the_fit():
    X, y = data()
    weight = np.arange(20.0)
    wanted = Ridge().fit(X, y, sample_weight=weight).predict(X)
    refit = Refit.of(Ridge(), X, y, weight)
    np.testing.assert_array_equal(refit(refit.y, 0)[:, 0], wanted)
    assert np.abs(Refit.of(Ridge(), X, y)(refit.y, 0)[:, 0] - wanted).max() > 1e-3


@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression(copy_X=False),
        Ridge(copy_X=False),
        make_pipeline(StandardScaler(copy=False), Ridge()),
    ],
    ids=["least squares", "ridge", "scaler"],
)
def test_estimators_that_write_into_their_input_get_their_own(estimator):
    X, y = data()
    table = np.asfortranarray(X)
    refit = Refit.of(estimator, table, y)
    first = refit(refit.y, 0)
    np.testing.assert_array_equal(table, X)
    np.testing.assert_allclose(refit(refit.y, 0), first, rtol=1e-12)


def test_callables_may_write_into_their_input():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])

    def fit_predict(X, y):
        X *= 0.0
        y *= 0.0
        return y

    for table, before in ((X, X.copy()), (frame, frame.copy())):
        refit = Refit.of(fit_predict, table, y)
        refit(refit.y + 1.0, 0)
        np.testing.assert_array_equal(np.asarray(table), np.asarray(before))


def test_estimator_is_left_unfitted():
    estimator = RandomForestRegressor(2)
    refit = Refit.of(estimator, *data())
    refit(refit.y, 3)
    assert estimator.random_state is None
    assert not hasattr(estimator, "estimators_")


# ---------------------------------------------------------------------------------------
# Where weights go
# ---------------------------------------------------------------------------------------


def test_weights_go_to_the_last_step_of_pipelines_at_any_depth():
    weight = np.ones(3)
    inner = make_pipeline(StandardScaler(), Ridge())
    assert fit_arguments(Ridge(), weight) == {"sample_weight": weight}
    assert list(fit_arguments(inner, weight)) == ["ridge__sample_weight"]
    outer = Pipeline([("scale", StandardScaler()), ("rest", inner)])
    assert list(fit_arguments(outer, weight)) == ["rest__ridge__sample_weight"]
    assert fit_arguments(KNeighborsRegressor(), None) == {}


def test_weights_in_pipelines_count():
    X, y = data()
    weight = np.arange(20.0)
    model = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Ridge()))
    refit = Refit.of(model, X, y, weight)
    wanted = model.fit(X, y, pipeline__ridge__sample_weight=weight).predict(X)
    np.testing.assert_array_equal(refit(refit.y, 0)[:, 0], wanted)


def test_searches_hand_weights_on():
    X, y = data()
    weight = np.arange(1.0, 21.0)
    search = GridSearchCV(Ridge(), {"alpha": [1.0, 100.0]}, cv=2)
    refit = Refit.of(search, X, y, weight)
    wanted = search.fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(refit(refit.y, 0)[:, 0], wanted)


def test_weights_follow_the_routes_that_are_set():
    X, y = data()
    weight = np.arange(20.0)
    with sklearn.config_context(enable_metadata_routing=True):
        last = Ridge().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        model = make_pipeline(scaler, last)
        refit = Refit.of(model, X, y, weight)
        wanted = model.fit(X, y, sample_weight=weight).predict(X)
        np.testing.assert_array_equal(refit(refit.y, 0)[:, 0], wanted)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KNeighborsRegressor(), r"sample_weight was given, but KNeighborsRegressor.fit takes none"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()), "KNeighborsRegressor.fit takes"),
        (lambda X, y: y, r"cannot be handed to a callable; let fit_predict\(X, y\) hold"),
    ],
    ids=["neighbours", "pipeline", "callable"],
)
def test_weights_that_cannot_be_used_are_refused(estimator, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        Refit.of(estimator, X, y, np.ones(20))


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (LogisticRegression(), "is a classifier: degrees of freedom are the response of real"),
        (make_pipeline(StandardScaler(), SVC()), "is a classifier"),
        (GridSearchCV(SVC(), {"C": [1.0]}), "is a classifier"),
        (KMeans(), "is a clusterer, which ignores y"),
        (IsolationForest(), "is an outlier detector, which ignores y"),
        (OneClassSVM(), "is an outlier detector, which ignores y"),
        (PCA(), "is a transformer"),
        (make_pipeline(StandardScaler(), PCA()), "is a transformer"),
        (KernelDensity(), "has no predict"),
        (Ridge, "estimator=Ridge is a class; pass an instance"),
        ("ridge", "estimator='ridge' must be a regressor with fit, predict and get_params, or"),
        (None, r"or a callable fit_predict\(X, y\)"),
        (3.0, "estimator=3.0 must be"),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_what_is_no_regressor_is_refused_with_the_reason(estimator, reason):
    with pytest.raises(TypeError, match=reason):
        check_regressor(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        PLSRegression(),
        NCLRegressor(),
        make_pipeline(PCA(), Ridge()),
        GridSearchCV(Ridge(), {"alpha": [1.0]}),
        Untagged(),
        lambda X, y: y,
        Ridge().fit,
    ],
    ids=lambda v: type(v).__name__,
)
def test_regressors_and_callables_are_taken(estimator):
    check_regressor(estimator)


def test_estimators_without_tags_are_refitted():
    X, y = data()
    refit = Refit.of(Untagged(), X, y, seeding="none")
    np.testing.assert_allclose(refit(refit.y + 1.0, 0), y.mean() + 1.0)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((4, 1)), np.zeros(5), "inconsistent numbers of samples"),
        (np.zeros((4, 1)), np.zeros((4, 2, 2)), "dim"),
        (np.zeros((4, 1)), [0.0, np.nan, 1.0, 2.0], "y contains NaN"),
        (np.zeros((4, 1)), [0.0, np.inf, 1.0, 2.0], "y contains infinity"),
        (np.zeros((4, 1)), ["a", "b", "c", "d"], "could not convert"),
        (np.zeros((4, 1)), np.zeros((4, 0)), "0 feature"),
        (np.zeros((0, 1)), np.zeros(0), "minimum of 1 is required"),
    ],
)
def test_bad_targets_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        Refit.of(Ridge(), X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(20), "Negative values"),
        (np.zeros(20), "zero"),
        (np.ones(19), "shape"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        Refit.of(Ridge(), *data(), weight)


def test_unknown_seeding_is_refused():
    with pytest.raises(ValueError, match=r"seeding='all' is unknown.*'per-probe', 'shared'"):
        Refit.of(Ridge(), *data(), seeding="all")


class Answers(RegressorMixin, BaseEstimator):
    """Predicts whatever it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.answer


@pytest.mark.parametrize(
    ("outputs", "answer", "error", "message"),
    [
        (None, np.zeros(19), ValueError, r"shape \(19,\).* 20 rows and 1 output"),
        (None, np.zeros((20, 2)), ValueError, r"shape \(20, 2\)"),
        (None, np.zeros((1, 20)), ValueError, r"shape \(1, 20\)"),
        (None, 0.0, ValueError, r"shape \(\)"),
        (2, np.zeros(20), ValueError, r"shape \(20,\).* 20 rows and 2 output"),
        (2, np.zeros(40), ValueError, r"shape \(40,\)"),
        (None, np.zeros(20, dtype=complex), ValueError, "real numbers, got dtype complex128"),
        (None, np.full(20, "1.0"), ValueError, "real numbers, got dtype <U3"),
        (None, np.full(20, None), ValueError, "real numbers, got dtype object"),
        (None, np.r_[np.zeros(17), np.nan, np.inf, -np.inf], NonFiniteError, "3 of 20 .*NaN"),
        (2, np.full((20, 2), np.nan), NonFiniteError, "40 of 40 .*NaN"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_fitted_values_that_are_none_are_named(outputs, answer, error, message):
    X, y = data(outputs=outputs)
    for fit in (Answers(answer), lambda X, y: answer):
        refit = Refit.of(fit, X, y)
        with pytest.raises(error, match=message):
            refit(refit.y, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_fitted_values_may_be_any_real_numbers(dtype):
    refit = Refit.of(lambda X, y: np.ones(20, dtype=dtype), *data())
    assert refit(refit.y, 0).dtype == dtype
