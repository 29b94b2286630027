"""Deep ensembles on data frames: encoded as by NCLRegressor, from the rows of the fit alone."""

import json

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from models import deep_ncl
from sklearn.base import clone
from toy_tables import homes

from negcorr import NCLRegressor, load, save
from negcorr.deep.checkpoint import read_tensors, write_tensors
from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.exceptions import CheckpointError, TableError

SMALL = {
    "n_members": 3,
    "hidden_layer_sizes": (3,),
    "learning_rate": 0.02,
    "max_epochs": 4,
    "lam": 0.5,
    "n_probes": 1,
    "dtype": "float64",
    "random_state": 0,
}


@pytest.fixture(scope="module")
def table():
    frame = homes(60)
    return frame[["size", "kind", "built"]], frame["price"].to_numpy()


@pytest.fixture(scope="module")
def model(table):
    return deep_ncl(**SMALL).fit(*table)


def test_the_columns_are_those_of_the_closed_form_ensemble(table, model):
    assert model.columns_ == NCLRegressor("fourier", lam=0.5).fit(*table).columns_
    assert model.columns_["size"].made == "the number and missing or not"
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["size", "kind", "built"]


def test_arrays_of_numbers_are_not_encoded(table):
    X = table[0][["size"]].fillna(1.0).to_numpy()
    assert deep_ncl(**SMALL).fit(X, table[1]).columns_ is None


def test_numbers_are_scaled_and_columns_of_categories_are_not(table, model):
    names, inputs = model._fit.encoding.feature_names, model._fit.inputs
    marked = [name in ("size_missing", "kind_flat", "kind_house") for name in names]
    assert sum(marked) == 3
    assert (inputs.scale[marked] == 1.0).all()
    assert (inputs.centre[marked] == 0.0).all()
    assert inputs.scale[names.index("size")] > 10.0
    assert inputs.scale[names.index("built_days")] > 10.0


@pytest.mark.parametrize("library", ["pandas", "polars", "objects", "list"])
def test_all_tables_of_the_same_cells_give_the_same_networks(table, model, library):
    X, y = table
    if library == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    elif library == "objects":
        X = X.to_numpy(dtype=object)
    elif library == "list":
        X = X.astype(object).to_numpy().tolist()
    found = deep_ncl(**SMALL).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), model.predict(table[0]))


def test_missing_values_of_an_array_are_encoded(table):
    X = np.column_stack([table[0]["size"], np.arange(60.0) ** 2])
    assert np.isnan(X).any()
    found = deep_ncl(**SMALL).fit(X, table[1])
    assert np.isfinite(found.predict(X)).all()
    assert found.network_.widths[0] == 3


def test_every_method_takes_frames(table, model):
    X, y = table
    members = model.predict_members(X)
    np.testing.assert_allclose(members.mean(axis=0), model.predict(X), rtol=1e-9)
    mean, std = model.predict(X, return_std=True)
    assert (std > 0).all()
    np.testing.assert_array_equal(mean, model.predict(X))
    assert model.diversity(X, y).diversity > 0
    assert model.collusion(X, y).train.diversity > 0
    assert np.isfinite(model.score(X, y))
    new = pd.DataFrame({"size": [None, 80.0], "kind": ["never seen", "flat"], "built": [None] * 2})
    assert np.isfinite(model.predict(new)).all()


def test_training_goes_on_with_the_encoding_of_the_first_rows(table):
    X, y = table
    first = deep_ncl(**SMALL).partial_fit(X[:40], y[:40])
    made = first.columns_
    assert np.isfinite(first.partial_fit(X[40:], y[40:]).predict(X)).all()
    assert first.columns_ == made
    again = deep_ncl(**SMALL | {"warm_start": True}).fit(X[:40], y[:40])
    assert again.fit(X, y).columns_ == made
    assert clone(again).set_params(warm_start=False).fit(X, y).columns_ != made


def test_new_heads_keep_the_encoding(table, model):
    X, y = table
    heads = model.refit_heads(X, y)
    assert heads.columns_ == model.columns_
    np.testing.assert_allclose(heads.predict_members(X).mean(axis=0), heads.predict(X))


def test_a_second_fit_starts_anew(table, model):
    X, y = table
    used = deep_ncl(**SMALL).fit(X.assign(size=1.0 + np.arange(60.0) ** 2), y).fit(X, y)
    assert used.columns_ == model.columns_
    np.testing.assert_array_equal(used.predict(X), model.predict(X))


def test_other_columns_are_refused(table, model):
    X, y = table
    with pytest.raises(ValueError, match="missing"):
        model.predict(X[["size", "kind"]])
    with pytest.raises(TableError, match="'size'"):
        model.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        deep_ncl(**SMALL).fit(X, y[1:])
    with pytest.raises(ValueError, match="requires y"):
        deep_ncl(**SMALL).fit(X, None)


def test_tables_without_names_go_by_position(table, model):
    X, y = table
    cells = X.to_numpy(dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(cells), model.predict(X))
    unnamed = deep_ncl(**SMALL).fit(cells, y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(unnamed.predict(X), model.predict(X))


def test_models_of_frames_come_back_from_their_files(table, model, tmp_path):
    pytest.importorskip("safetensors")
    pytest.importorskip("skops")
    model.save(tmp_path / "m.safetensors")
    copies = [DeepNCLRegressor.load(tmp_path / "m.safetensors")]
    copies.append(load(save(model, tmp_path / "m.skops")))
    for copy in copies:
        np.testing.assert_array_equal(copy.predict(table[0]), model.predict(table[0]))
        assert copy.columns_ == model.columns_
        assert copy.n_features_in_ == 3
        assert copy.feature_names_in_.tolist() == model.feature_names_in_.tolist()
        assert copy._fit.encoding == model._fit.encoding


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda e: e["parts"].pop(), "encoding of columns"),
        (lambda e: e["parts"][0].update(median="3"), "median='3' of column 'size'"),
        (lambda e: e["parts"][1].update(levels=["flat", 3]), "levels="),
        (lambda e: e["parts"][1].update(levels=["flat"]), "it makes 6 columns"),
        (lambda e: e["parts"][1].update(name="size"), "in the place of 'kind'"),
        (lambda e: e.update(schema="{}"), "no schema"),
        (lambda e: e.pop("parts"), "parts"),
    ],
)
def test_a_damaged_encoding_is_refused(model, tmp_path, damage, words):
    pytest.importorskip("safetensors")
    file = tmp_path / "m.safetensors"
    model.save(file)
    tensors, about = read_tensors(file)
    about = json.loads(json.dumps(about))
    damage(about["encoding"])
    write_tensors(file, tensors, about)
    with pytest.raises(CheckpointError, match=words):
        DeepNCLRegressor.load(file)
