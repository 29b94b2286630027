"""Graphs of ONNX say what ``predict`` says, in the precision that they promise."""

import json
import sys
import warnings

import numpy as np
import onnx
import pandas as pd
import pytest
import scipy.sparse as sp
from graph_runs import run
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from negcorr import NCLRegressor, to_onnx
from negcorr.bases import FourierFeatures
from negcorr.exceptions import PrecisionWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)) * [1.0, 5.0, 0.1, 2.0] + [0.0, 100.0, -3.0, 7.0]
Z = (X - X.mean(axis=0)) / X.std(axis=0)
Y = 10.0 * np.sin(Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.3 * RNG.normal(size=400) + 50.0
BOTH = np.column_stack([Y, 1e-3 * (Z[:, 3] ** 2 + Z[:, 0])])
NEW = RNG.normal(size=(200, 4)) * X.std(axis=0) + X.mean(axis=0)
GAPS = [10.0**-k for k in range(11)]


def ncl(basis=None, **parameters):
    return NCLRegressor(FourierFeatures(15, 6) if basis is None else basis, **parameters)


def off(proto, model, rows=NEW, target=Y):
    """Largest error of a graph in standard deviations of the target."""
    (y, *_), _ = run(proto, rows)
    wanted = model.predict(rows)
    assert y.shape == wanted.shape
    return float(np.max(np.abs(y - wanted) / target.std(axis=0), initial=0.0))


@pytest.fixture(scope="module")
def fitted():
    """A model that keeps rows, on which single precision can be tried."""
    return ncl(solver="qr").partial_fit(X, Y)


@pytest.mark.parametrize("gap", GAPS)
def test_a_graph_agrees_at_every_gap(gap, fitted):
    model = fitted.with_lam(gap=gap)
    proto = to_onnx(model)
    _, kind = run(proto, NEW[:1])
    assert off(proto, model) <= 1e-5
    assert off(to_onnx(model, dtype="float64"), model) <= 1e-8
    if gap < 1e-6:
        assert kind is np.float64


def test_single_precision_is_chosen_where_it_holds_and_only_there(fitted):
    kinds = [run(to_onnx(fitted.with_lam(gap=gap)), NEW[:1])[1] for gap in GAPS]
    assert kinds[0] is np.float32
    assert kinds[-1] is np.float64
    first = kinds.index(np.float64)
    assert all(kind is np.float64 for kind in kinds[first:])


def test_forced_single_precision_warns_where_it_does_not_hold(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proto = to_onnx(fitted.with_lam(gap=1.0), dtype="float32")
    assert run(proto, NEW[:1])[1] is np.float32
    smooth = ncl(FourierFeatures(15, 6, gamma=1e-3), solver="qr", gap=1e-10).fit(X, Y)
    with pytest.warns(PrecisionWarning, match="standard deviations of the target") as caught:
        proto = to_onnx(smooth, dtype="float32")
    assert caught[0].filename == __file__
    assert run(proto, NEW[:1])[1] is np.float32


def test_a_compact_model_keeps_no_rows_to_try_on(fitted):
    small = fitted.compact()
    assert off(proto := to_onnx(small), small) <= 1e-8
    assert run(proto, NEW[:1])[1] is np.float64
    with pytest.warns(PrecisionWarning, match="cannot be tried"):
        to_onnx(small, dtype="float32")


@pytest.mark.parametrize(
    "parameters",
    [
        {"basis": FourierFeatures(15, 6, orthogonal=True)},
        {"basis": FourierFeatures(5, 4, kernel="cauchy", gamma=0.1)},
        {"basis": FourierFeatures(15, 6, inputs="none", gamma=0.01)},
        {"fit_intercept": False},
        {"alpha": 0.01},
        {"basis": FourierFeatures(1, 1)},
        {"lam": 0.0},
        {"lam": 1.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("target", [Y, BOTH], ids=["one", "two"])
@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
def test_every_kind_of_ensemble(parameters, target):
    model = ncl(**{"solver": "qr"} | parameters).fit(X, target)
    assert off(to_onnx(model), model, target=target) <= 1e-5
    assert off(to_onnx(model, dtype="float64"), model, target=target) <= 1e-8


@pytest.mark.parametrize("target", [Y, BOTH], ids=["one", "two"])
@pytest.mark.parametrize("n_rows", [0, 1, 7])
def test_any_number_of_rows_and_the_members(target, n_rows):
    model = ncl(lam=0.5).fit(X, target)
    (y, members), _ = run(to_onnx(model, members=True, dtype="float64"), NEW[:n_rows])
    shape = (n_rows, *target.shape[1:])
    assert (y.shape, members.shape) == (shape, (15, *shape))
    if n_rows:
        np.testing.assert_allclose(y, model.predict(NEW[:n_rows]), rtol=1e-10, atol=1e-10)
        wanted = model.predict_members(NEW[:n_rows])
        np.testing.assert_allclose(members, wanted, rtol=1e-8, atol=1e-10)


HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
NEW_HOLES = np.where(RNG.random(NEW.shape) < 0.1, np.nan, NEW)


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [StandardScaler(with_mean=False, with_std=False)],
        [MinMaxScaler()],
        [MinMaxScaler(feature_range=(-1, 3), clip=True)],
        [RobustScaler()],
        [RobustScaler(with_centering=False)],
        [RobustScaler(with_scaling=False)],
        ["passthrough"],
        ["passthrough", StandardScaler(), "passthrough", MinMaxScaler(), RobustScaler()],
        [SimpleImputer()],
        [SimpleImputer(strategy="median"), StandardScaler()],
        [StandardScaler(), SimpleImputer(strategy="constant", fill_value=0.5)],
    ],
    ids=lambda steps: " ".join(str(step) for step in steps),
)
def test_pipelines(steps):
    holes = any(isinstance(step, SimpleImputer) for step in steps)
    rows, new = (HOLES, NEW_HOLES) if holes else (X, NEW)
    model = make_pipeline(*steps, ncl(gap=1e-3)).fit(rows, Y)
    assert off(to_onnx(model), model, new) <= 1e-5
    assert off(to_onnx(model, dtype="float64"), model, new) <= 1e-8


def test_columns_without_values_are_dropped_as_the_imputer_drops_them():
    empty = HOLES.copy()
    empty[:, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(SimpleImputer(), ncl(gap=0.1)).fit(empty, Y)
        assert off(to_onnx(model), model, NEW_HOLES) <= 1e-5
        keeping = make_pipeline(SimpleImputer(keep_empty_features=True), ncl(gap=0.1)).fit(empty, Y)
        new = np.where([False, True, False, False], np.nan, NEW_HOLES)
        assert off(to_onnx(keeping), keeping, new) <= 1e-5


def test_inputs_far_from_zero_need_double_precision():
    far = X + 1e6
    model = ncl(gap=0.5).fit(far, Y)
    proto = to_onnx(model)
    assert run(proto, far[:1])[1] is np.float64
    assert off(proto, model, NEW + 1e6) <= 1e-5


def test_streams_sparse_rows_and_single_precision_inputs():
    model = ncl(solver="qr").partial_fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
    assert off(to_onnx(model), model) <= 1e-5
    rows = sp.csr_array(np.where(np.abs(Z) > 0.7, Z, 0.0))
    model = ncl(gap=0.1).fit(rows, Y)
    assert off(to_onnx(model), model, rows.toarray()) <= 1e-5
    model = ncl(gap=0.1).fit(Z.astype(np.float32), Y)
    assert off(to_onnx(model), model, Z) <= 1e-5


def test_names_version_and_lambda_are_in_the_metadata(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "ö"])
    model = make_pipeline("passthrough", StandardScaler(), ncl(lam=0.25)).fit(frame, Y)
    file = tmp_path / "new" / "model.onnx"
    proto = to_onnx(model, file)
    assert onnx.load(file) == proto
    about = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(about["features"]) == ["a", "b", "c", "ö"]
    assert json.loads(about["lam"]) == 0.25
    assert json.loads(about["gap"]) == 0.75
    assert set(about) == {"negcorr_version", "lam", "gap", "features", "dtype"}
    onnx.checker.check_model(proto, full_check=True)
    (value,) = proto.graph.input
    dims = value.type.tensor_type.shape.dim
    assert (dims[0].dim_param, dims[1].dim_value) == ("rows", 4)
    numbered = to_onnx(ncl(lam=[0.5, 0.1]).fit(X, BOTH))
    about = {entry.key: entry.value for entry in numbered.metadata_props}
    assert json.loads(about["features"]) == 4
    np.testing.assert_allclose(json.loads(about["lam"]), [0.5, 0.1])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Pipeline([("turn", PCA()), ("ncl", ncl())]), "step 'turn' is a PCA"),
        (Pipeline([("scale", StandardScaler()), ("last", Ridge())]), "step 'last' is a Ridge"),
        (TransformedTargetRegressor(ncl()), "TransformedTargetRegressor"),
        (ncl(basis="trees"), "basis TreeFeatures"),
        (ncl(basis="nystroem"), "basis NystroemFeatures"),
        (make_pipeline(SimpleImputer(add_indicator=True), ncl()), "without an indicator"),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), ncl()), "'most_frequent'"),
        (make_pipeline(SimpleImputer(missing_values=-1), ncl()), "imputers of NaN"),
    ],
)
@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
def test_what_has_no_form_is_named(model, words):
    with pytest.raises(ValueError, match=words):
        to_onnx(model.fit(X, Y))


def numbers():
    """A data frame of numbers, with a column that no model predicts from."""
    return pd.DataFrame(X, columns=list("abcd")).assign(unit="m", row=np.arange(400))


def test_data_frames_of_numbers_have_the_columns_that_predictions_are_made_from():
    model = ncl().fit(numbers(), Y)
    proto = to_onnx(model, members=True)
    rows = np.where(RNG.uniform(size=NEW.shape) < 0.1, np.nan, NEW)
    frame = pd.DataFrame(rows, columns=list("abcd")).assign(unit="m", row=0)
    (y, members), _ = run(proto, rows)
    assert np.max(np.abs(y - model.predict(frame))) <= 1e-5 * Y.std()
    assert np.max(np.abs(members - model.predict_members(frame))) <= 1e-3 * Y.std()
    about = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(about["features"]) == list("abcd")


def test_columns_that_a_model_in_a_pipeline_leaves_out_are_dropped():
    frame = numbers().drop(columns="unit")
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, ncl()).fit(frame.assign(row=1.0), Y)
    assert model[-1].columns_["row"].role == "constant"
    proto = to_onnx(model)
    (y,), _ = run(proto, np.column_stack([NEW, np.ones(200)]))
    wanted = model.predict(pd.DataFrame(NEW, columns=list("abcd")).assign(row=1.0))
    assert np.max(np.abs(y - wanted)) <= 1e-5 * Y.std()
    about = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(about["features"]) == [*"abcd", "row"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"a": np.where(X[:, 0] > 0, "high", "low")}, "'a' is a category"),
        ({"b": pd.date_range("2001-01-01", periods=400)}, "'b' is a date"),
        ({"c": np.where(X[:, 2] > -3, np.nan, X[:, 2])}, "'c' has missing values"),
        ({"d": [f"{value:.3f} %" for value in X[:, 3]]}, "'d' holds numbers written like"),
    ],
)
def test_columns_without_a_form_are_named(changes, words):
    model = ncl(lam=0.5).fit(numbers().assign(**changes), Y)
    with pytest.raises(ValueError, match=f"columns that have no form in ONNX here: {words}"):
        to_onnx(model)


def test_arguments_are_checked(fitted):
    with pytest.raises(ValueError, match="dtype='double' is unknown"):
        to_onnx(fitted, dtype="double")
    with pytest.raises(NotFittedError):
        to_onnx(ncl())


def test_without_onnx_the_error_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'negcorr\[onnx\]'"):
        to_onnx(fitted)
