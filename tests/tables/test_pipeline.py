import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score

import negcorr
from negcorr import NCLRegressor, make_tabular
from negcorr.bases import AutoBasis, FourierFeatures, NystroemFeatures
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.exceptions import TableError

SMALL = {"basis": FourierFeatures(8, 5, inputs="none")}


@pytest.fixture(scope="module")
def frame():
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
        }
    )
    frame["y"] = size + (kind == "a") + 0.1 * rng.normal(size=n)
    frame["z"] = -size
    return frame


@pytest.fixture(scope="module")
def model(frame):
    return make_tabular(
        frame, "y", schema=infer_columns(frame.drop(columns="z"), "y"), **SMALL
    ).fit(frame.drop(columns="y"), frame["y"])


def test_it_predicts(frame, model):
    assert model.score(frame, frame["y"]) > 0.8
    assert isinstance(model[-1], NCLRegressor)
    assert model[-1].random_state == 0


def test_names_of_features(model):
    names = model[:-1].get_feature_names_out().tolist()
    assert names[:3] == ["numbers__size", "numbers__price", "missing__missingindicator_size"]
    assert {"categories__kind_a", "categories__kind_(missing)", "dates__day_days"} <= set(names)
    assert not any("name" in name for name in names)


def test_columns_in_any_order_and_others_beside_them(frame, model):
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame[frame.columns[::-1]]), expected)
    np.testing.assert_array_equal(model.predict(frame.assign(more=1)), expected)
    with pytest.raises(TableError, match="X lacks the column 'kind'"):
        model.predict(frame.drop(columns="kind"))


def test_same_values_in_other_types(frame, model):
    plain = frame.assign(
        price=frame["price"].str.replace(r"[$,]", "", regex=True).astype(float),
        kind=frame["kind"].astype("category"),
        day=pd.to_datetime(frame["day"]),
        size=frame["size"].astype("Float64"),
    )
    np.testing.assert_allclose(model.predict(plain), model.predict(frame), rtol=1e-12)


def test_what_training_has_not_seen(frame, model):
    new = pd.DataFrame(
        {
            "size": [None, 1e12, 0.0],
            "price": ["?", "$9,999,999", None],
            "kind": ["never seen", None, 5],
            "day": [None, "2199-01-01", "1900-01-01"],
        }
    )
    predicted = model.predict(new)
    assert np.isfinite(predicted).all()
    assert np.abs(predicted).max() < 100
    assert model.predict(new.iloc[:1]).shape == (1,)


def test_gaps_where_training_had_none(frame):
    whole = frame[["price", "y"]].assign(b=np.arange(len(frame)) % 7)
    model = make_tabular(whole, "y", **SMALL).fit(whole, whole["y"])
    assert np.isfinite(model.predict(whole.assign(b=np.nan))).all()


def test_rare_levels_are_pooled():
    rng = np.random.default_rng(0)
    kind = ["common"] * 80 + ["other"] * 14 + ["rare1", "rare2", "rare3"] * 2
    frame = pd.DataFrame({"kind": kind, "x": rng.normal(size=100), "y": rng.normal(size=100)})
    model = make_tabular(frame, "y", **SMALL).fit(frame, frame["y"])
    names = model[:-1].get_feature_names_out().tolist()
    assert "categories__kind_infrequent_sklearn" in names
    assert not any("rare1" in name for name in names)
    unknown = model[:-1].transform(frame.iloc[:1].assign(kind="new"))
    rare = model[:-1].transform(frame.iloc[:1].assign(kind="rare1"))
    np.testing.assert_array_equal(unknown, rare)


def test_many_levels_and_no_gaps():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=600), "y": rng.normal(size=600)})
    for name, count in (("few", 60), ("many", 118)):
        frame[name] = [f"{name}{i}" for i in rng.integers(0, count, size=600)]
    model = make_tabular(frame, "y", **SMALL).fit(frame, frame["y"])
    names = model[:-1].get_feature_names_out()
    assert 60 < sum(name.startswith("categories") for name in names) <= 160
    assert np.isfinite(model.predict(frame)).all()


def test_zeros_and_ones_are_not_scaled(model, frame):
    names = model[:-1].get_feature_names_out()
    Z = np.asarray(model[:-1].transform(frame))
    marks = [name.startswith(("categories", "missing")) for name in names]
    assert set(np.unique(Z[:, marks])) == {0.0, 1.0}


@pytest.mark.parametrize("basis", ["auto", "fourier", "kernel", "linear", "nystroem", "trees"])
def test_names_of_bases_leave_the_encoded_columns_as_they_are(frame, basis):
    made = make_tabular(frame, "y", basis=basis)[-1].basis
    assert made.inputs == "none"
    assert isinstance(made, AutoBasis) == (basis == "auto")


def test_fourier_features_are_the_default_and_given_bases_stay(frame):
    assert isinstance(make_tabular(frame, "y")[-1].basis, FourierFeatures)
    assert make_tabular(frame, "y")[-1].basis.inputs == "none"
    given = NystroemFeatures(3, 4, inputs="rank")
    assert make_tabular(frame, "y", basis=given)[-1].basis is given
    with pytest.raises(ValueError, match="basis='fouriet' is unknown"):
        make_tabular(frame, "y", basis="fouriet").fit(frame, frame["y"])


def test_several_targets(frame):
    model = make_tabular(frame, ["y", "z"], **SMALL).fit(frame, frame[["y", "z"]].to_numpy())
    assert model.predict(frame).shape == (len(frame), 2)


def test_copies(frame, model):
    expected = model.predict(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), expected)
    again = clone(model).fit(frame, frame["y"])
    np.testing.assert_array_equal(again.predict(frame), expected)


def test_skops(frame, model):
    sio = pytest.importorskip("skops.io")
    data = sio.dumps(model)
    types = sio.get_untrusted_types(data=data)
    # The imputer remembers a dtype, which skops asks about as well.
    assert all(name.startswith("negcorr.") for name in set(types) - {"numpy.dtype"})
    loaded = sio.loads(data, trusted=types)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert "negcorr.columns.typed_columns.TypedColumns" in types


def test_grid_search(frame):
    pipe = make_tabular(frame, "y", **SMALL)
    grid = {"model__basis__n_components": [3, 6], "encode__numbers__scale__bound": [2.0, 4.0]}
    search = GridSearchCV(pipe, grid, cv=3).fit(frame.drop(columns="y"), frame["y"])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert cross_val_score(pipe, frame, frame["y"], cv=3).mean() > 0.5


def test_weights_and_groups_reach_the_model(frame):
    frame = frame.assign(w=np.arange(len(frame)) % 3, who=[f"g{i % 6}" for i in range(len(frame))])
    schema = infer_columns(frame, "y", weights="w", group="who")
    rows = samples(frame, schema)
    assert set(rows.fit_parameters) == {"model__sample_weight", "model__groups"}
    from negcorr.tables.splitting import folds_for

    pipe = make_tabular(frame, "y", schema=schema, cv=folds_for(schema, frame), **SMALL)
    assert np.isfinite(pipe.fit(rows.inputs, rows.y, **rows.fit_parameters).predict(frame)).all()


def test_wrong_arguments(frame):
    schema = infer_columns(frame, "y")
    with pytest.raises(ValueError, match="target='z' is not what schema has as targets: y"):
        make_tabular(frame, "z", schema=schema)
    with pytest.raises(TypeError, match="n_members=3 is no parameter of make_tabular"):
        make_tabular(frame, "y", n_members=3)
    with pytest.raises(TableError, match="no column"):
        make_tabular(frame, "nope")


def test_importing_the_package_leaves_tables_alone():
    code = (
        "import sys, sklearn; before = set(sys.modules); import negcorr; "
        "print([m for m in ('pandas', 'negcorr.tables', 'openpyxl', 'pyarrow', 'skops') "
        "if m in set(sys.modules) - before], 'make_tabular' in dir(negcorr)); "
        "from negcorr import make_tabular; print('pandas' in set(sys.modules) - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["[] True", "False"]
    with pytest.raises(AttributeError, match="has no attribute 'make_tabula'"):
        negcorr.make_tabula  # noqa: B018


def data_folder():
    """The folder of the paper's data sets, where somebody has it."""
    for place in (os.environ.get("NEGCORR_DATA"), Path(__file__).parents[3] / "shared" / "data"):
        if place and (Path(place) / "datasets.json").is_file():
            return Path(place)
    return None


@pytest.mark.skipif(data_folder() is None, reason="the paper's data sets are not at hand")
@pytest.mark.parametrize(("name", "least"), [("abalone", 0.5), ("housing", 0.8), ("slump", 0.2)])
def test_real_tables(name, least):
    from negcorr.reading.table import read_table
    from negcorr.tables.splitting import hold_out

    about = {d["name"]: d for d in json.loads((data_folder() / "datasets.json").read_text("utf-8"))}
    table = read_table(data_folder() / f"{name}.csv.gz")
    targets = about[name]["targets"]
    schema = infer_columns(table.frame, targets)
    train, test = hold_out(table.frame, schema)
    known, new = samples(table.frame, schema, train), samples(table.frame, schema, test)
    pipe = make_tabular(
        table.frame, targets, schema=schema, basis=FourierFeatures(30, inputs="none")
    )
    assert pipe.fit(known.inputs, known.y).score(new.inputs, new.y) > least


def test_another_regressor_may_stand_at_the_end():
    frame = pd.DataFrame({"x": np.arange(20.0), "kind": ["a", "b"] * 10, "y": np.arange(20.0)})
    ridge = Ridge(alpha=2.0)
    model = make_tabular(frame, "y", estimator=ridge)
    assert model[-1].alpha == 2.0
    assert model[-1] is not ridge
    assert model.fit(frame, frame["y"]).predict(frame).shape == (20,)
    with pytest.raises(TypeError, match="lam are for an NCLRegressor"):
        make_tabular(frame, "y", estimator=ridge, lam=0.3)
