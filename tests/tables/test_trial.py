import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.exceptions import TableError
from negcorr.tables.splitting import hold_out
from negcorr.tables.trial import try_out

SMALL = {"basis": FourierFeatures(8, 5)}


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "kind": rng.choice(["a", "b"], size=n)})
    return frame.assign(y=np.sin(frame["x"]) + 0.1 * rng.normal(size=n))


def test_the_model_has_seen_all_rows_and_the_tried_one_only_its_own():
    frame = rows()
    schema = infer_columns(frame, "y")
    found = try_out(frame, schema, baselines=["mean"], parameters=SMALL, seed=3)
    train, test = hold_out(frame, schema, seed=3)
    assert found.refitted
    assert (found.n_rows, found.comparison.n_train, found.comparison.n_test) == (120, 96, 24)
    assert found.test.positions.tolist() == test.tolist()
    assert found.tried.path_.spectrum.weight == len(train)
    assert found.model.path_.spectrum.weight == 120
    inputs, y = frame[["x", "kind"]], frame["y"]
    alone = NCLRegressor(random_state=3, **SMALL).fit(inputs.iloc[train], y.iloc[train])
    np.testing.assert_array_equal(found.predicted, alone.predict(inputs.iloc[test]))
    everything = NCLRegressor(random_state=3, **SMALL).fit(inputs, y)
    np.testing.assert_array_equal(found.model.predict(inputs), everything.predict(inputs))


def test_rows_of_a_second_table_are_tested_on_and_never_fitted():
    frame, others = rows(), rows(40, seed=1)
    schema = infer_columns(frame, "y")
    found = try_out(frame, schema, test=others, baselines=["mean"], parameters=SMALL)
    assert not found.refitted
    assert (found.n_rows, found.comparison.n_train, found.comparison.n_test) == (120, 120, 40)
    assert found.model.path_.spectrum.weight == 120
    np.testing.assert_array_equal(found.test.y, others["y"])


def test_a_second_table_needs_targets():
    frame = rows()
    with pytest.raises(TableError, match="0 of the rows for testing have their targets"):
        try_out(frame, infer_columns(frame, "y"), test=frame.assign(y=np.nan).head(20))
    with pytest.raises(TableError, match="column='y' is no column"):
        try_out(frame, infer_columns(frame, "y"), test=frame[["x", "kind"]])


def test_steps_are_told_in_order():
    told = []
    frame = rows()
    try_out(frame, infer_columns(frame, "y"), parameters=SMALL, tell=told.append)
    assert told == [
        "fitting NCL",
        "fitting mean",
        "fitting ridge",
        "fitting random forest",
        "fitting gradient boosting",
        "fitting NCL to all rows",
    ]


class RidgeOfFrames(RegressorMixin, BaseEstimator):
    """A regressor of data frames, without intervals or folds."""

    def fit(self, X, y, sample_weight=None):
        self.encoder_ = FrameEncoder().fit(X, sample_weight=sample_weight)
        self.ridge_ = Ridge().fit(self.encoder_.transform(X), y, sample_weight)
        return self

    def predict(self, X):
        return self.ridge_.predict(self.encoder_.transform(X))


class WithoutWeights(RidgeOfFrames):
    def fit(self, X, y):
        return super().fit(X, y)


def test_a_regressor_without_intervals_weights_or_folds():
    frame = rows().assign(w=2.0, who=list("abcdef") * 20)
    schema = infer_columns(frame, "y", weights="w")
    found = try_out(frame, schema, estimator=RidgeOfFrames())
    assert np.isnan(found.comparison["NCL"].figures[0].coverage)
    with pytest.raises(TableError, match="WithoutWeights takes no weights"):
        try_out(frame, schema, estimator=WithoutWeights())


def test_groups_are_held_out_whole_and_tuned_by():
    frame = rows().assign(who=list("abcdef") * 20)
    schema = infer_columns(frame, "y", group="who")
    found = try_out(frame, schema, baselines=[], parameters=SMALL)
    assert len(set(found.test.groups)) == 1
    assert found.tried.cv.get_n_splits() == 5
    assert found.model.cv.get_n_splits() == 5


def test_the_default_is_that_of_python():
    frame = rows(200)
    found = try_out(frame, infer_columns(frame, "y"), baselines=[])
    for model in (found.tried, found.model):
        assert isinstance(model, NCLRegressor)
        assert repr(model) == "NCLRegressor()"
    expected = NCLRegressor().fit(frame[["x", "kind"]], frame["y"])
    np.testing.assert_array_equal(found.model.coef_, expected.coef_)


@pytest.mark.parametrize("parameters", [{}, SMALL])
def test_no_held_out_row_reaches_the_model(parameters):
    rng = np.random.default_rng(0)
    frame = rows(150).assign(gaps=lambda f: f["x"].where(f["x"] > -1.0), t=rng.normal(size=150))
    frame["cost"] = [f"${v:,.0f}" for v in rng.uniform(100, 3000, size=150)]
    schema = infer_columns(frame, "y")
    split = train, test = hold_out(frame, schema)
    asked = {"baselines": ["ridge"], "parameters": parameters, "refit": False}
    tried = try_out(frame, schema, **asked).tried
    garbage, n = frame.copy(), len(test)
    garbage.iloc[test, garbage.columns.get_loc("x")] = 1e6 * rng.normal(size=n)
    garbage.iloc[test, garbage.columns.get_loc("y")] = 1e6 * rng.normal(size=n)
    garbage.iloc[test, garbage.columns.get_loc("t")] = np.nan
    garbage.iloc[test, garbage.columns.get_loc("gaps")] = np.nan
    garbage.iloc[test, garbage.columns.get_loc("kind")] = [f"level {k}" for k in range(n)]
    garbage.iloc[test, garbage.columns.get_loc("cost")] = "$99,999,999"
    found = try_out(garbage, schema, split=split, **asked)
    assert found.tried.lam_ == tried.lam_
    assert found.tried.dof_ == tried.dof_
    assert found.tried.columns_ == tried.columns_
    np.testing.assert_array_equal(found.tried.coef_, tried.coef_)
    inputs = samples(frame, schema, train, typed=True).inputs
    np.testing.assert_array_equal(found.tried.predict(inputs), tried.predict(inputs))
    np.testing.assert_array_equal(
        found.tried.predict_interval(inputs), tried.predict_interval(inputs)
    )


def test_a_form_that_held_out_rows_alone_show():
    rng = np.random.default_rng(0)
    size = rng.integers(1, 900, size=100)
    day = [f"{k % 12 + 1}/{k % 12 + 1}/2024" for k in range(100)]
    frame = pd.DataFrame({"day": day, "cost": [f"${v}" for v in size], "y": size / 100})
    frame.loc[7, ["cost", "day"]] = ["$2,000", "1/31/2024"]
    schema = infer_columns(frame, "y")
    split = np.setdiff1d(np.arange(100), [3, 7, 11]), np.array([3, 7, 11])
    found = try_out(frame, schema, split=split, parameters=SMALL, baselines=["ridge"])
    assert np.isfinite(found.predicted).all()
    assert found.model.columns_["cost"].form == "$ thousands"
    assert np.isfinite(found.model.predict(frame[["day", "cost"]])).all()
