"""``negcorr dof`` and ``negcorr demo``."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from toy_tables import write_homes

from negcorr import NCLRegressor, degrees_of_freedom
from negcorr.bases import FourierFeatures
from negcorr.cli.dof_command import estimator_named
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.reading.table import read_table


@pytest.fixture
def data(tmp_path):
    return write_homes(tmp_path / "homes.csv")


def rows_of(data, **asked):
    frame = read_table(data).frame
    return samples(frame, infer_columns(frame, "price", drop=["rent"], **asked))


def encoded(data):
    rows = rows_of(data)
    return StandardScaler().fit_transform(FrameEncoder().fit_transform(rows.inputs)), rows.y


def test_exact_where_there_is_a_formula(negcorr, data):
    asked = ("dof", data, "-t", "price", "--drop", "rent", "-e", "sklearn.linear_model.Ridge")
    told = json.loads(negcorr(*asked, "-p", "alpha=0.5", "--json").out)
    X, y = encoded(data)
    assert told["dof"] == [pytest.approx(degrees_of_freedom(Ridge(0.5), X, y).dof, rel=1e-12)]
    assert told["method"] == "exact"
    assert (told["n_rows"], told["n_features"]) == X.shape
    shown = negcorr(*asked)
    assert "exact: Ridge is linear in y" in shown.out


def test_monte_carlo_else(negcorr, data):
    forest = "sklearn.ensemble.RandomForestRegressor"
    asked = ("dof", data, "-t", "price", "-e", forest, "-p", "n_estimators=5", "--probes", 2)
    result = negcorr(*asked, "--seed", 1)
    assert result.code == 0
    assert "RandomForestRegressor(n_estimators=5) on 120 rows" in result.out
    assert "±" in result.out
    assert "monte-carlo:" in result.out
    assert negcorr(*asked, "--seed", 1).out == result.out


def test_columns_of_an_ensemble_are_those_of_the_data_frame(negcorr, data):
    asked = ("dof", data, "-t", "price", "--drop", "rent", "-p", "basis=fourier", "-p", "lam=0.5")
    told = json.loads(negcorr(*asked, "-p", "basis__n_members=8", "--json").out)
    rows = rows_of(data)
    model = NCLRegressor(FourierFeatures(8), lam=0.5).fit(rows.inputs, rows.y)
    assert told["dof"] == [pytest.approx(model.dof_, rel=1e-12)]
    assert (told["method"], told["n_features"]) == ("exact", encoded(data)[0].shape[1])


def test_what_is_taken_as_a_category(negcorr, data):
    asked = ("dof", data, "-t", "price", "--drop", "rent,kind,built")
    ridge = ("-e", "sklearn.linear_model.LinearRegression", "--categorical", "size", "--json")
    told = json.loads(negcorr(*asked, *ridge).out)
    rows = rows_of(data, categorical=["size"])
    levels = FrameEncoder().fit(rows.inputs[["size"]]).get_feature_names_out()
    assert told["n_features"] == len(levels)


def test_several_targets(negcorr, data):
    told = json.loads(
        negcorr(
            "dof", data, "-t", "price,rent", "-e", "sklearn.linear_model.LinearRegression", "--json"
        ).out
    )
    assert told["targets"] == ["price", "rent"]
    np.testing.assert_allclose(told["dof"][0], told["dof"][1])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-e", "Ridge"], 2, "give the class with its module"),
        (["-e", "sklearn.linear_model.Rigde"], 2, "has no Rigde"),
        (["-e", "no_such_module.Ridge"], 2, "no_such_module"),
        (["-e", "sklearn.linear_model"], 2, "must be a class with fit and predict"),
        (["-e", "os.system"], 2, "must be a class with fit and predict"),
        (["-e", "sklearn.linear_model.Ridge", "-p", "alpa=3"], 2, "Did you mean alpha?"),
        (["-e", "sklearn.linear_model.Ridge", "-p", "alpha"], 2, "must be name=value"),
        (["-e", "sklearn.linear_model.Ridge", "-p", "alpha=-3"], 1, "alpha"),
        (["-p", "n_members=8"], 2, "--param: NCLRegressor has no parameter n_members"),
        (["-p", "bases__gamma=8"], 2, "no parameter bases"),
        (["-p", "lam__x=1"], 2, "--param lam__x: lam='auto' has no parameters"),
        (["-p", "basis__gama=1"], 2, "Invalid parameter 'gama'"),
        (["-p", "basis__gamma=-1"], 1, "gamma=-1"),
        (["-p", "basis=forest"], 1, "basis='forest' is unknown"),
        (["--method", "exakt"], 2, "Did you mean exact?"),
        (["-e", "sklearn.linear_model.Lasso", "--method", "exact"], 2, "--method exact"),
        (["--seed", "-3"], 2, "--seed -3"),
    ],
)
def test_what_cannot_be_done(negcorr, data, arguments, code, words):
    result = negcorr("dof", data, "-t", "price", *arguments)
    assert (result.code, result.out) == (code, "")
    assert words in result.complaint()


def test_parameters_are_values_and_nothing_is_run():
    made = estimator_named(
        "sklearn.ensemble.RandomForestRegressor",
        ["max_depth=None", "criterion=absolute_error", "max_features=0.5", "bootstrap=False"],
    )
    assert made.max_depth is None
    assert (made.criterion, made.max_features, made.bootstrap) == ("absolute_error", 0.5, False)
    ours = estimator_named("negcorr.NCLRegressor", ["basis=orthogonal", "basis__gamma=0.25"])
    assert (ours.basis.orthogonal, ours.basis.gamma) == (True, 0.25)
    assert estimator_named("negcorr.NCLRegressor", ["lam=0.5"]).basis == "auto"
    assert estimator_named("negcorr.NCLRegressor", ["basis__n_members=7"]).basis.n_members == 7
    harmless = estimator_named("sklearn.linear_model.Ridge", ["solver=__import__('os').getcwd()"])
    assert harmless.solver == "__import__('os').getcwd()"


def test_the_demo_goes_the_whole_way(negcorr, tmp_path):
    result = negcorr("demo", "--out", "shown")
    assert result.code == 0
    out = tmp_path / "here/shown"
    assert sorted(file.name for file in out.iterdir()) == [
        *("diabetes.csv", "metrics.json", "model.skops", "path.csv", "report.html")
    ]
    assert "held-out rows" in result.out
    assert "negcorr predict" in result.out
    model, data = out / "model.skops", out / "diabetes.csv"
    assert len(negcorr("predict", model, data).out.splitlines()) == 443
    assert json.loads(negcorr("demo", "--out", "shown", "--json").out)["n_rows"] == 442


def test_the_ensemble_is_that_of_fit(negcorr, data):
    quick = ("--basis", "fourier", "--members", 8, "--components", 5, "--rivals", "none")
    told = json.loads(negcorr("fit", data, "-t", "price", *quick, "--json").out)["model"]
    sizes = ("-p", "basis=fourier", "-p", "basis__n_members=8", "-p", "basis__n_components=5")
    asked = ("-p", f"gap={told['gap']!r}", *sizes)
    found = json.loads(negcorr("dof", data, "-t", "price", *asked, "--json").out)
    assert found["method"] == "exact"
    assert found["dof"] == [pytest.approx(told["dof"], rel=1e-9)]
