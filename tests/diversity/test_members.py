"""Members of other ensembles: what they average to, and which ensembles have none."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from models import ncl
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from negcorr import NCLRegressor, ambiguity_decomposition
from negcorr.diversity.members import members_of

X_ALL, Y_ALL = make_friedman1(160, n_features=6, noise=0.5, random_state=0)
X, Y, X_NEW, Y_NEW = X_ALL[:110], Y_ALL[:110], X_ALL[110:], Y_ALL[110:]
TWO = np.column_stack([Y, Y**2])
WEIGHT = np.random.default_rng(1).integers(1, 5, len(Y)).astype(float)
COLUMNS = [f"x{j}" for j in range(X.shape[1])]
FRAME, FRAME_NEW = pd.DataFrame(X, columns=COLUMNS), pd.DataFrame(X_NEW, columns=COLUMNS)

SMALL = {"n_estimators": 7, "random_state": 0}

FORESTS = {
    "forest": RandomForestRegressor(**SMALL),
    "extra": ExtraTreesRegressor(**SMALL),
}
BAGS = {
    "bagging": BaggingRegressor(**SMALL),
    "bagging of features": BaggingRegressor(max_features=0.5, **SMALL),
    "bagging of repeated features": BaggingRegressor(bootstrap_features=True, **SMALL),
    "bagged ridge": BaggingRegressor(Ridge(), max_features=3, **SMALL),
    "bagged pipeline": BaggingRegressor(make_pipeline(StandardScaler(), Ridge()), **SMALL),
}
VOTES = {
    "voting": VotingRegressor(
        [("tree", DecisionTreeRegressor(max_depth=3, random_state=0)), ("ridge", Ridge())]
    ),
}
BOOSTED = {
    "gradient": GradientBoostingRegressor(**SMALL),
    "gradient by halves": GradientBoostingRegressor(subsample=0.5, learning_rate=0.7, **SMALL),
    "gradient from zero": GradientBoostingRegressor(init="zero", **SMALL),
    "gradient from a tree": GradientBoostingRegressor(
        init=DecisionTreeRegressor(max_depth=2, random_state=0), **SMALL
    ),
    "gradient absolute": GradientBoostingRegressor(loss="absolute_error", **SMALL),
    "gradient huber": GradientBoostingRegressor(loss="huber", **SMALL),
    "gradient quantile": GradientBoostingRegressor(loss="quantile", alpha=0.8, **SMALL),
    "hist": HistGradientBoostingRegressor(max_iter=7),
    "hist stopped": HistGradientBoostingRegressor(
        max_iter=200, early_stopping=True, n_iter_no_change=2, random_state=0
    ),
    "hist absolute": HistGradientBoostingRegressor(loss="absolute_error", max_iter=7),
    "hist quantile": HistGradientBoostingRegressor(loss="quantile", quantile=0.8, max_iter=7),
}
NCL = {"ncl": ncl(n_members=5)}
AVERAGING = FORESTS | BAGS | VOTES | BOOSTED | NCL
MULTI = FORESTS | BAGS | NCL
STAGED = BOOSTED | {"ada": AdaBoostRegressor(**SMALL)}


def each(models):
    return pytest.mark.parametrize(
        "model", [pytest.param(model, id=name) for name, model in models.items()]
    )


def fitted(model, inputs=X, targets=Y, **fit):
    return clone(model).fit(inputs, targets, **fit)


def same(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


@each(AVERAGING)
def test_members_average_to_the_prediction(model):
    model = fitted(model)
    members = members_of(model, X_NEW)
    assert members.dtype == np.float64
    assert members.shape[1:] == (len(X_NEW),)
    same(members.mean(axis=0), model.predict(X_NEW))
    terms = ambiguity_decomposition(members, Y_NEW)
    same(terms.ensemble_error, np.mean((model.predict(X_NEW) - Y_NEW) ** 2))


@each(MULTI)
def test_members_of_several_outputs_average_to_the_prediction(model):
    model = fitted(model, targets=TWO)
    members = members_of(model, X_NEW)
    assert members.shape[1:] == (len(X_NEW), 2)
    same(members.mean(axis=0), model.predict(X_NEW))


@each(AVERAGING)
def test_weights_at_fit_change_nothing_about_the_mean(model):
    model = fitted(model, sample_weight=WEIGHT)
    same(members_of(model, X_NEW).mean(axis=0), model.predict(X_NEW))


@each(AVERAGING | STAGED)
def test_data_frames_give_the_same_members_without_a_warning(model):
    same(members_of(fitted(model, FRAME), FRAME_NEW), members_of(fitted(model), X_NEW))


@each(FORESTS | BAGS | BOOSTED)
def test_polars_frames_give_the_same_members_without_a_warning(model):
    frame, frame_new = pl.from_pandas(FRAME), pl.from_pandas(FRAME_NEW)
    same(members_of(fitted(model, frame), frame_new), members_of(fitted(model), X_NEW))


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix])
@each(FORESTS | {"bagging": BAGS["bagging of features"], "gradient": BOOSTED["gradient"]})
def test_sparse_inputs_give_the_same_members(model, kind):
    model = fitted(model, kind(X))
    members = members_of(model, kind(X_NEW))
    same(members.mean(axis=0), model.predict(kind(X_NEW)))
    same(members, members_of(model, X_NEW))


@each(FORESTS | {"hist": BOOSTED["hist"], "bagging": BAGS["bagging of features"]})
def test_missing_values_are_taken_where_the_ensemble_takes_them(model):
    holes = X.copy()
    holes[::7, 2] = np.nan
    model = fitted(model, holes)
    same(members_of(model, holes).mean(axis=0), model.predict(holes))


@each({"gradient": BOOSTED["gradient"], "ada": STAGED["ada"]})
def test_missing_values_are_refused_where_the_ensemble_refuses_them(model):
    with pytest.raises(ValueError, match="NaN"):
        members_of(fitted(model), np.full_like(X_NEW, np.nan))


@each({**FORESTS, "gradient": BOOSTED["gradient"], "ada": STAGED["ada"]})
def test_infinity_is_refused_where_the_ensemble_refuses_it(model):
    with pytest.raises(ValueError, match="infinity"):
        members_of(fitted(model), np.full_like(X_NEW, np.inf))


def test_categories_of_a_frame_reach_the_trees():
    frame = FRAME.assign(kind=pd.Categorical(np.where(X[:, 0] > 0.5, "a", "b")))
    model = HistGradientBoostingRegressor(max_iter=7, categorical_features="from_dtype")
    model.fit(frame, Y)
    same(members_of(model, frame).mean(axis=0), model.predict(frame))


def test_trees_of_a_forest_are_the_members():
    forest = fitted(FORESTS["forest"])
    np.testing.assert_array_equal(
        members_of(forest, X_NEW), [tree.predict(X_NEW) for tree in forest.estimators_]
    )


def test_own_ensembles_answer_for_themselves():
    model = fitted(NCL["ncl"])
    np.testing.assert_array_equal(members_of(model, X_NEW), model.predict_members(X_NEW))


def test_anything_with_predict_members_is_an_ensemble():
    class Twins:
        def predict_members(self, inputs):
            return [inputs[:, 0], inputs[:, 1]]

    np.testing.assert_array_equal(members_of(Twins(), X_NEW), X_NEW[:, :2].T)


@pytest.mark.parametrize("dropped", [False, True])
def test_weighted_votes_are_decomposed_with_the_weights_of_the_kept(dropped):
    voters = [("a", Ridge()), ("b", "drop" if dropped else Ridge(9.0)), ("c", DummyRegressor())]
    voting = fitted(VotingRegressor(voters, weights=[3, 2, 1]))
    kept = [w for (_, e), w in zip(voting.estimators, voting.weights, strict=True) if e != "drop"]
    members = members_of(voting, X_NEW)
    assert members.shape == (3 - dropped, len(X_NEW))
    terms = ambiguity_decomposition(members, Y_NEW, member_weight=kept)
    same(terms.ensemble_error_per_sample, (voting.predict(X_NEW) - Y_NEW) ** 2)
    same(terms.ensemble_error, terms.member_error - terms.diversity)


@each(STAGED)
def test_last_stage_is_the_prediction_and_there_is_one_per_round(model):
    model = fitted(model)
    stages = members_of(model, X_NEW, staged=True)
    assert len(stages) == len(list(model.staged_predict(X_NEW)))
    same(stages[-1], model.predict(X_NEW))
    same(members_of(model, X_NEW[:1], staged=True), stages[:, :1])


@each(BOOSTED)
def test_boosted_members_are_scaled_steps_from_where_boosting_starts(model):
    model = fitted(model)
    members = members_of(model, X_NEW)
    stages = members_of(model, X_NEW, staged=True)
    size = len(members)
    # From f_1 = init + M ν h_1 and F_1 = init + ν h_1.
    init = (size * stages[0] - members[0]) / (size - 1)
    same(init + np.cumsum(members - init, axis=0) / size, stages)


@pytest.mark.parametrize(
    ("init", "start"),
    [(None, Y.mean()), ("zero", 0.0), (LinearRegression(), None)],
    ids=["mean", "zero", "model"],
)
def test_gradient_boosting_starts_from_its_init(init, start):
    model = fitted(GradientBoostingRegressor(init=init, n_estimators=7, random_state=0))
    if start is None:
        # Boosting hands its init single precision.
        start = LinearRegression().fit(X.astype(np.float32), Y).predict(X_NEW.astype(np.float32))
    steps = [0.1 * tree.predict(X_NEW) for tree in model.estimators_[:, 0]]
    expected = start + 7 * np.array(steps)
    np.testing.assert_allclose(members_of(model, X_NEW), expected, rtol=1e-5)


def starting_values(model):
    """What boosting starts from at X_NEW: its first member is start + M (first stage − start)."""
    members, stages = members_of(model, X_NEW), members_of(model, X_NEW, staged=True)
    return (len(members) * stages[0] - members[0]) / (len(members) - 1)


@pytest.mark.parametrize(
    ("loss", "start"),
    [
        ({"loss": "squared_error"}, np.average(Y, weights=WEIGHT)),
        ({"loss": "absolute_error"}, None),
        ({"loss": "quantile", "quantile": 0.8}, None),
    ],
    ids=["mean", "median", "quantile"],
)
def test_histogram_boosting_starts_from_the_constant_that_fits_best(loss, start):
    # Trees that may not split leave the baseline as the whole prediction, but for rounding.
    stump = {"max_iter": 3, "min_samples_leaf": len(Y), "learning_rate": 1e-12}
    model = HistGradientBoostingRegressor(**loss, **stump).fit(X, Y, sample_weight=WEIGHT)
    constant = starting_values(model)
    same(constant, model.predict(X_NEW))
    assert np.ptp(model.predict(X_NEW)) < 1e-9
    if start is not None:
        same(constant, np.full(len(X_NEW), start))
    grown = HistGradientBoostingRegressor(**loss, max_iter=3).fit(X, Y, sample_weight=WEIGHT)
    same(starting_values(grown), constant)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_boosting_an_exponent_has_stages_but_no_members(loss):
    model = HistGradientBoostingRegressor(loss=loss, max_iter=5).fit(X, np.exp(Y / 10))
    with pytest.raises(ValueError, match=rf"loss='{loss}'.*exponential.*'squared_error'.*staged"):
        members_of(model, X_NEW)
    same(members_of(model, X_NEW, staged=True)[-1], model.predict(X_NEW))


def test_adaboost_members_are_its_estimators_and_their_median_is_the_prediction():
    model = fitted(STAGED["ada"])
    members = members_of(model, X_NEW)
    assert members.shape == (len(model.estimators_), len(X_NEW))
    assert not np.allclose(members.mean(axis=0), model.predict(X_NEW))
    assert (members == model.predict(X_NEW)).any(axis=0).all()


INNER = {
    "forest": RandomForestRegressor(**SMALL),
    "gradient": GradientBoostingRegressor(**SMALL),
    "ncl": ncl(n_members=4, lam=0.9),
}


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [StandardScaler()],
        ["passthrough", StandardScaler().set_output(transform="pandas")],
        [PolynomialFeatures(2), FunctionTransformer(np.tanh)],
        [make_column_transformer((StandardScaler(), COLUMNS[:3]), remainder="passthrough")],
        [make_pipeline(StandardScaler(), PolynomialFeatures(2))],
    ],
    ids=["alone", "scaled", "named", "stateless", "columns", "nested"],
)
@each(INNER)
def test_pipelines_transform_the_inputs_first(model, steps):
    pipeline = fitted(make_pipeline(*steps, model), FRAME)
    same(members_of(pipeline, FRAME_NEW).mean(axis=0), pipeline.predict(FRAME_NEW))


def test_stages_are_found_inside_a_pipeline():
    pipeline = fitted(make_pipeline(StandardScaler(), GradientBoostingRegressor(**SMALL)))
    same(members_of(pipeline, X_NEW, staged=True)[-1], pipeline.predict(X_NEW))


@each(INNER)
def test_searches_answer_with_their_best_estimator(model):
    pipeline = Pipeline([("scale", StandardScaler()), ("model", model)])
    grid = {"scale__with_mean": [True, False]}
    for search in (
        GridSearchCV(pipeline, grid, cv=KFold(2)),
        RandomizedSearchCV(pipeline, grid, n_iter=1, cv=KFold(2), random_state=0),
    ):
        search.fit(FRAME, Y)
        same(members_of(search, FRAME_NEW).mean(axis=0), search.predict(FRAME_NEW))


def test_search_inside_a_pipeline_is_unwrapped_too():
    search = GridSearchCV(FORESTS["forest"], {"max_depth": [2, 3]}, cv=KFold(2))
    pipeline = fitted(make_pipeline(StandardScaler(), search))
    same(members_of(pipeline, X_NEW).mean(axis=0), pipeline.predict(X_NEW))


def test_search_without_a_refit_holds_no_members():
    search = GridSearchCV(FORESTS["forest"], {"max_depth": [2]}, cv=KFold(2), refit=False)
    with pytest.raises(NotFittedError, match=r"GridSearchCV.*refit=False.*refit=True"):
        members_of(search.fit(X, Y), X_NEW)


@each(FORESTS | BAGS | VOTES | NCL)
def test_stages_are_refused_where_there_are_none(model):
    name = type(model).__name__
    with pytest.raises(ValueError, match=rf"staged=True.*{name}.*GradientBoostingRegressor"):
        members_of(fitted(model), X_NEW, staged=True)


@each(
    {
        "ridge": Ridge(),
        "tree": DecisionTreeRegressor(),
        "neighbours": KNeighborsRegressor(),
        "stacking": StackingRegressor([("ridge", Ridge())], Ridge(), cv=2),
        "pipeline": make_pipeline(StandardScaler(), Ridge()),
    }
)
def test_what_is_no_ensemble_is_named_with_what_is(model):
    inner = model[-1] if isinstance(model, Pipeline) else model
    says = rf"type {type(inner).__name__} is not an ensemble.*RandomForestRegressor.*searches"
    with pytest.raises(TypeError, match=says):
        members_of(fitted(model), X_NEW)


@pytest.mark.parametrize("thing", [None, "forest", X, object(), [Ridge()]])
def test_what_is_no_estimator_is_named_with_what_is(thing):
    with pytest.raises(TypeError, match=rf"type {type(thing).__name__} .*BaggingRegressor"):
        members_of(thing, X_NEW)


@pytest.mark.parametrize("kind", [RandomForestRegressor, NCLRegressor])
def test_class_in_place_of_an_instance_is_named(kind):
    with pytest.raises(TypeError, match=rf"{kind.__name__} is a class.*fitted instance"):
        members_of(kind, X_NEW)


@each(
    {
        "forest": RandomForestClassifier(**SMALL),
        "boosting": GradientBoostingClassifier(**SMALL),
        "voting": VotingClassifier([("a", LogisticRegression())]),
        "search": GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
        "threshold": TunedThresholdClassifierCV(LogisticRegression(), cv=2),
        "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(**SMALL)),
    }
)
def test_classifiers_are_refused(model):
    with pytest.raises(TypeError, match=r"is a classifier.*squared error.*RandomForestRegressor"):
        members_of(fitted(model, targets=np.median(Y) < Y), X_NEW)


def test_transformed_targets_are_refused_with_the_reason():
    model = TransformedTargetRegressor(FORESTS["forest"], func=np.log, inverse_func=np.exp)
    model.fit(X, Y)
    with pytest.raises(TypeError, match=r"TransformedTargetRegressor.*inverse of a mean"):
        members_of(model, X_NEW)
    assert members_of(model.regressor_, X_NEW).shape == (7, len(X_NEW))


@each(
    AVERAGING
    | STAGED
    | {
        "pipeline": make_pipeline(StandardScaler(), RandomForestRegressor()),
        "search": GridSearchCV(RandomForestRegressor(), {}),
    }
)
def test_unfitted_ensembles_are_refused(model):
    for staged in (False, True) if type(model) in map(type, STAGED.values()) else (False,):
        with pytest.raises(NotFittedError):
            members_of(clone(model), X_NEW, staged=staged)


@each(AVERAGING | STAGED)
def test_wrong_number_of_columns_is_refused_as_scikit_learn_does(model):
    with pytest.raises(ValueError, match=r"X has 5 features.*6 features"):
        members_of(fitted(model), X_NEW[:, :5])


@each(FORESTS | BAGS | BOOSTED | {"ada": STAGED["ada"]})
def test_columns_in_another_order_are_refused_as_scikit_learn_does(model):
    with pytest.raises(ValueError, match=r"feature names"):
        members_of(fitted(model, FRAME), FRAME_NEW[COLUMNS[::-1]])
