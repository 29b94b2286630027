"""The estimator on data frames with columns of several kinds."""

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures
from negcorr.exceptions import TableError

SMALL = {"basis": FourierFeatures(8, 5)}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    n = 160
    size = rng.normal(size=n)
    kind = rng.choice(["a", "b", "c", None], size=n, p=[0.4, 0.3, 0.25, 0.05])
    frame = pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(n)],
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "price": [f"${round(1000 + 900 * abs(s)):,}" for s in size],
            "kind": kind,
            "day": pd.date_range("2023-01-01", periods=n, freq="36h").astype(str),
            "new": rng.random(n) < 0.5,
        }
    )
    return frame, size + (kind == "a") + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def model(rows):
    return NCLRegressor(**SMALL).fit(*rows)


def test_it_says_what_was_made_of_every_column(model):
    made = {column.name: (column.role, column.made) for column in model.columns_.columns}
    assert made == {
        "name": ("identifier", ""),
        "size": ("number", "the number and missing or not"),
        "price": ("number", "the number"),
        "kind": ("category", "4 columns of 0 and 1"),
        "day": ("date", "days, month, weekday, hour"),
        "new": ("number", "the number"),
    }


@pytest.mark.parametrize("basis", ["auto", "fourier", "kernel", "linear", "nystroem", "trees"])
def test_every_basis_takes_them(rows, basis):
    frame, y = rows
    model = NCLRegressor(basis, lam=0.9).fit(frame, y)
    assert model.score(frame, y) > 0.4
    assert model.predict_interval(frame).shape == (160, 2)


def test_same_values_in_other_types(rows, model):
    frame, y = rows
    plain = frame.assign(
        price=frame["price"].str.replace(r"[$,]", "", regex=True).astype(float),
        kind=frame["kind"].astype("category"),
        day=pd.to_datetime(frame["day"]),
        size=frame["size"].astype("Float64"),
        new=frame["new"].astype(int),
    )
    other = NCLRegressor(**SMALL).fit(plain, y)
    assert other.lam_ == model.lam_
    np.testing.assert_array_equal(other.predict(plain), model.predict(frame))
    np.testing.assert_array_equal(model.predict(plain), model.predict(frame))


def test_what_training_has_not_seen(rows, model):
    new = (
        rows[0]
        .head(3)
        .assign(
            size=[None, 1e12, 0.0],
            price=["?", "$9,999,999", None],
            kind=["never seen", None, 5],
            day=[None, "2199-01-01", "1900-01-01"],
        )
    )
    predicted = model.predict(new)
    assert np.isfinite(predicted).all()
    assert np.abs(predicted).max() < 100
    assert model.predict(new.iloc[:1]).shape == (1,)
    with pytest.raises(TableError, match="column 'price': 'cheap' is not a number"):
        model.predict(new.assign(price="cheap"))


def test_rare_levels_are_pooled():
    rng = np.random.default_rng(0)
    kind = ["common"] * 80 + ["other"] * 14 + ["rare1", "rare2", "rare3"] * 2
    frame = pd.DataFrame({"kind": kind, "x": rng.normal(size=100)})
    model = NCLRegressor(**SMALL).fit(frame, rng.normal(size=100))
    assert model.columns_["kind"].made == "3 columns of 0 and 1, rare levels in one"
    unknown = model.predict(frame.iloc[:1].assign(kind="new"))
    np.testing.assert_array_equal(unknown, model.predict(frame.iloc[:1].assign(kind="rare1")))


def test_many_levels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=600)})
    for name, count in (("few", 60), ("many", 118)):
        frame[name] = [f"{name}{i}" for i in rng.integers(0, count, size=600)]
    model = NCLRegressor(**SMALL).fit(frame, rng.normal(size=600))
    made = [model.columns_[name].made for name in ("few", "many")]
    assert all(int(words.split()[0]) <= 100 for words in made)
    assert np.isfinite(model.predict(frame)).all()


def test_several_targets(rows):
    frame, y = rows
    model = NCLRegressor(**SMALL).fit(frame, np.column_stack([y, -y]))
    assert model.predict(frame).shape == (160, 2)


def test_copies(rows, model):
    frame, y = rows
    expected = model.predict(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), expected)
    np.testing.assert_array_equal(clone(model).fit(frame, y).predict(frame), expected)


def test_searches_and_cross_validation(rows):
    frame, y = rows
    search = GridSearchCV(NCLRegressor(**SMALL), {"basis__n_components": [3, 6]}, cv=3)
    assert np.isfinite(search.fit(frame, y).cv_results_["mean_test_score"]).all()
    assert cross_val_score(NCLRegressor(**SMALL), frame, y, cv=3).mean() > 0.5


def data_folder():
    """The folder of the paper's data sets, where somebody has it."""
    for place in (os.environ.get("NEGCORR_DATA"), Path(__file__).parents[3] / "shared" / "data"):
        if place and (Path(place) / "datasets.json").is_file():
            return Path(place)
    return None


@pytest.mark.skipif(data_folder() is None, reason="the paper's data sets are not at hand")
@pytest.mark.parametrize(("name", "least"), [("abalone", 0.5), ("housing", 0.8), ("slump", 0.2)])
def test_real_tables(name, least):
    from negcorr import read_table
    from negcorr.tables import hold_out, infer_columns, samples

    about = {d["name"]: d for d in json.loads((data_folder() / "datasets.json").read_text("utf-8"))}
    frame = read_table(data_folder() / f"{name}.csv.gz").frame
    schema = infer_columns(frame, about[name]["targets"])
    known, new = (samples(frame, schema, part) for part in hold_out(frame, schema))
    model = NCLRegressor(FourierFeatures(30)).fit(known.inputs, known.y)
    assert model.score(new.inputs, new.y) > least
