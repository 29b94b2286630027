"""The estimator takes data frames, arrays of objects, and missing values."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from models import auto, ncl
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

import negcorr
from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures
from negcorr.exceptions import TableError

SMALL = {"n_members": 8, "n_components": 5}

pytestmark = pytest.mark.filterwarnings("ignore::negcorr.exceptions.SearchBoundaryWarning")


def homes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.gamma(2.0, 40.0, size=n).round(1),
            "kind": rng.choice(["flat", "house", "hut"], size=n, p=[0.5, 0.48, 0.02]),
            "built": pd.Timestamp("2001-01-31") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "lift": rng.random(n) < 0.3,
        }
    )
    y = 9 * frame["size"] + 300 * (frame["kind"] == "house") + 20 * rng.normal(size=n)
    frame.loc[::13, "size"] = np.nan
    frame.loc[5::17, "kind"] = None
    return frame, y.to_numpy()


def numbers(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32).astype(float)
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


AS_TABLE = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame),
    "objects": lambda frame: frame.astype(object).to_numpy(),
    "lists": lambda frame: frame.astype(object).to_numpy().tolist(),
}
as_table = pytest.mark.parametrize("convert", AS_TABLE.values(), ids=list(AS_TABLE))


def assert_same_model(one, X, other, Z, exactly=True):
    assert one.lam_ == other.lam_
    compare = np.testing.assert_array_equal if exactly else np.testing.assert_allclose
    compare(one.predict(X), other.predict(Z))
    assert one.dof_ == pytest.approx(other.dof_, rel=1e-12)


class TestNumbers:
    @pytest.mark.parametrize("model", [auto(), ncl(**SMALL), NCLRegressor("trees")], ids=str)
    @as_table
    def test_in_a_table_are_the_same_as_in_an_array(self, model, convert):
        X, y = numbers()
        table = convert(pd.DataFrame(X, columns=["a", "b", "c"]))
        there = clone(model).fit(table, y)
        assert_same_model(there, table, model.fit(X, y), X)

    def test_that_are_missing_are_the_median_with_a_column_that_says_so(self):
        X, y = numbers()
        X[::9, 1] = np.nan
        model = ncl(**SMALL).fit(X, y)
        filled = np.column_stack([X, np.isnan(X[:, 1])])[:, [0, 1, 3, 2]]
        filled[::9, 1] = np.nanmedian(X[:, 1])
        assert model.basis_.n_features_in_ == 4
        # The column of 0 and 1 is not scaled.
        assert model.basis_.input_map_.as_they_are.tolist() == [False, False, True, False]
        assert model.columns_["x1"].made == "the number and missing or not"
        assert model.columns_["x1"].n_missing == 14
        np.testing.assert_array_equal(model._state.drawn.cells.numbers(X), filled)
        single = ncl(**SMALL).fit(X.astype(np.float32), y)
        assert_same_model(single, X, model, X)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_that_are_missing_in_new_rows_are_the_median(self, weighted):
        X, y = numbers()
        weight = np.arange(120) % 3 if weighted else None
        model = ncl(**SMALL).fit(X, y, sample_weight=weight)
        named = ncl(**SMALL).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y, sample_weight=weight)
        new = X[:5].copy()
        new[1, 1] = np.nan
        filled = new.copy()
        filled[1, 1] = np.median(X[:, 1] if weight is None else np.repeat(X[:, 1], weight))
        np.testing.assert_array_equal(model.predict(new), model.predict(filled))
        frame = pd.DataFrame(new, columns=["a", "b", "c"])
        np.testing.assert_array_equal(named.predict(frame), model.predict(new))
        with pytest.raises(ValueError, match="infinity"):
            model.predict(np.full((2, 3), np.inf))

    def test_that_are_infinite_are_refused_in_arrays_and_missing_in_frames(self):
        X, y = numbers()
        X[1, 1], X[2, 2] = np.nan, np.inf
        with pytest.raises(ValueError, match="infinity"):
            ncl(**SMALL).fit(X, y)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = ncl(**SMALL).fit(frame, y)
        assert model.columns_["c"].remark == "1 infinite taken as missing"


class TestTables:
    @as_table
    def test_of_any_library_are_the_same(self, convert):
        frame, y = homes()
        model, there = ncl(**SMALL).fit(frame, y), ncl(**SMALL).fit(convert(frame), y)
        assert_same_model(there, convert(frame), model, frame)
        made = [column.made for column in model.columns_.columns]
        assert [column.made for column in there.columns_.columns] == made
        assert made == [
            "the number and missing or not",
            "4 columns of 0 and 1, rare levels in one",
            "days, month, weekday and missing or not"[:20],
            "the number",
        ]

    @pytest.mark.parametrize("model", [auto(), ncl(**SMALL)], ids=str)
    def test_in_any_order_of_rows_are_the_same(self, model):
        frame, y = homes()
        order = np.random.default_rng(1).permutation(len(y))
        moved = clone(model).fit(frame.iloc[order], y[order])
        model.fit(frame, y)
        assert moved.columns_ == model.columns_
        assert_same_model(moved, frame, model, frame)

    @pytest.mark.parametrize("inputs", ["standard", "clip", "rank", "none"])
    def test_have_categories_that_are_not_scaled(self, inputs):
        frame, y = homes()
        model = NCLRegressor(FourierFeatures(8, 5, inputs=inputs)).fit(frame, y)
        cells = model._state.drawn.cells
        marks = cells.encoding.as_they_are
        assert marks.tolist() == [False, True, *[True] * 4, False, *[True] * 4, False]
        encoded = cells.numbers(frame)
        mapped = model.basis_.input_map_(encoded)
        np.testing.assert_array_equal(mapped[:, marks], encoded[:, marks])
        changed = (mapped[:, ~marks] != encoded[:, ~marks]).any(axis=0)
        assert changed.all() == (inputs != "none")

    def test_have_columns_that_are_left_out_and_said_to_be(self):
        frame, y = homes()
        more = frame.assign(row=np.arange(150), same="x", lists=[[1]] * 150)
        model = ncl(**SMALL).fit(more, y)
        left = {c.name: c.role for c in model.columns_.columns if not c.is_input}
        assert left == {"row": "identifier", "same": "constant", "lists": "dropped"}
        assert_same_model(model, more, ncl(**SMALL).fit(frame, y), frame)

    def test_without_an_input_are_refused(self):
        with pytest.raises(TableError, match="no column is left to predict from: 'a' is constant"):
            ncl(**SMALL).fit(pd.DataFrame({"a": ["x"] * 9}), np.arange(9.0))
        with pytest.raises(ValueError, match=r"several columns|unique"):
            ncl(**SMALL).fit(pd.DataFrame(numbers()[0], columns=["a", "b", "a"]), numbers()[1])

    def test_with_numbers_for_names_have_none(self):
        X, y = numbers()
        model = ncl(**SMALL).fit(pd.DataFrame(X), y)
        assert not hasattr(model, "feature_names_in_")
        assert_same_model(model, X, ncl(**SMALL).fit(X, y), X)

    def test_take_weights_and_several_outputs(self):
        frame, y = homes()
        both, weight = np.column_stack([y, -y]), np.arange(150) % 3
        model = ncl(**SMALL).fit(frame, both, sample_weight=weight)
        index = np.repeat(np.arange(150), weight)
        repeated = ncl(**SMALL).fit(frame.iloc[index], both[index])
        np.testing.assert_array_equal(model.lam_, repeated.lam_)
        np.testing.assert_allclose(model.predict(frame), repeated.predict(frame), rtol=1e-8)

    def test_are_for_users_transformers_as_they_are(self):
        frame, y = homes()
        kinds = frame[["kind"]].fillna("?")
        model = NCLRegressor(OneHotEncoder(handle_unknown="ignore"), lam=0.5)
        with pytest.warns(negcorr.exceptions.IdenticalMembersWarning):
            model.fit(kinds, y, sample_weight=np.arange(150) % 3)
        assert model.columns_ is None


class TestNewRows:
    @pytest.fixture
    def model(self):
        return ncl(**SMALL, lam=0.9).fit(*homes())

    def test_may_have_unknown_levels(self, model):
        frame, _ = homes(20, seed=1)
        unknown, rare = (frame.assign(kind=word) for word in ("castle", "hut"))
        np.testing.assert_array_equal(model.predict(unknown), model.predict(rare))

    def test_may_lack_values_where_the_fit_had_all(self, model):
        frame, _ = homes(20, seed=1)
        lacking = frame.assign(built=pd.NaT, lift=None)
        assert np.isfinite(model.predict(lacking)).all()

    def test_must_have_the_columns_of_the_fit_in_their_order(self, model):
        frame, _ = homes(20, seed=1)
        with pytest.raises(ValueError, match=r"(?s)feature names.*missing.*kind"):
            model.predict(frame.drop(columns="kind"))
        with pytest.raises(ValueError, match=r"(?s)feature names.*unseen at fit time.*- more"):
            model.predict(frame.assign(more=1.0))
        with pytest.raises(ValueError, match="same order"):
            model.predict(frame[["kind", "size", "built", "lift"]])

    def test_without_names_go_by_position(self, model):
        frame, _ = homes(20, seed=1)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            found = model.predict(frame.astype(object).to_numpy())
        np.testing.assert_array_equal(found, model.predict(frame))
        with (
            pytest.raises(ValueError, match="3 features"),
            pytest.warns(UserWarning, match="feature names"),
        ):
            model.predict(frame.astype(object).to_numpy()[:, :3])

    def test_with_cells_of_another_kind_are_refused(self, model):
        frame, _ = homes(20, seed=1)
        with pytest.raises(TableError, match="column 'size': 'big' is not a number"):
            model.predict(frame.assign(size="big"))
        with pytest.raises(TableError, match="column 'built': 'long ago' is not a date"):
            model.predict(frame.assign(built="long ago"))

    def test_may_be_written_otherwise(self, model):
        frame, _ = homes(20, seed=1)
        other = frame.assign(
            size=frame["size"].astype(str), built=frame["built"].dt.strftime("%Y-%m-%d")
        )
        np.testing.assert_array_equal(model.predict(other), model.predict(frame))


class TestCopies:
    def test_predict_the_same(self, tmp_path):
        frame, y = homes()
        model = auto().fit(frame, y)
        stored = negcorr.load(negcorr.save(model, tmp_path / "model.skops"))
        for copied in (
            pickle.loads(pickle.dumps(model)),
            stored,
            model.compact(),
            clone(model).fit(frame, y),
        ):
            np.testing.assert_array_equal(copied.predict(frame), model.predict(frame))
            assert copied.columns_ == model.columns_

    def test_of_a_stream_predict_the_same_and_go_on(self, tmp_path):
        frame, y = homes()
        model = ncl(**SMALL).draw(frame).partial_fit(frame[:80], y[:80])
        stored = negcorr.load(negcorr.save(model, tmp_path / "model.skops"))
        copied = pickle.loads(pickle.dumps(model))
        for each in (stored, copied, model):
            each.partial_fit(frame[80:], y[80:])
        for each in (stored, copied):
            assert_same_model(each, frame, model, frame)


class TestTags:
    @pytest.mark.parametrize("basis", ["auto", "fourier", FourierFeatures(), "trees"], ids=str)
    def test_say_that_columns_are_encoded(self, basis):
        tags = get_tags(NCLRegressor(basis)).input_tags
        assert tags.allow_nan
        assert tags.string

    def test_are_those_of_users_transformers(self):
        encoder = get_tags(NCLRegressor(OneHotEncoder())).input_tags
        assert (encoder.allow_nan, encoder.categorical) == (True, True)
        from sklearn.kernel_approximation import RBFSampler

        sampler = get_tags(NCLRegressor(RBFSampler())).input_tags
        assert (sampler.allow_nan, sampler.string, sampler.categorical) == (False, False, False)


def test_columns_of_a_drawn_model_are_known():
    frame, y = homes()
    drawn = ncl(**SMALL).draw(frame)
    assert drawn.columns_ == ncl(**SMALL).fit(frame, y).columns_
