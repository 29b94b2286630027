"""Pages about deep ensembles, and pages whose rows another model has predicted."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from models import ncl
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toy_tables import homes

from negcorr import report
from negcorr.reporting.contents import gather

torch = pytest.importorskip("torch")

from models import deep_ncl

pytestmark = pytest.mark.filterwarnings("ignore::negcorr.exceptions.CollusionWarning")


def rows(outputs=None):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "c"])
    y = np.sin(X["a"].to_numpy()) + 0.3 * rng.normal(size=90)
    return X, y if outputs is None else np.column_stack([y, 5.0 * y])


def deep(**parameters):
    small = {"n_members": 3, "hidden_layer_sizes": (3,), "lam": [0.6, 0.0], "max_epochs": 4}
    return deep_ncl(**small | {"learning_rate": 0.02, "random_state": 0} | parameters)


def exact():
    return ncl(6, 4)


def payload(text):
    return json.loads(re.search(r'id="negcorr-data">(.*?)</script>', text, re.S).group(1))


@pytest.fixture
def written(tmp_path):
    def write(model, *args, **kwargs):
        path = report(model, *args, path=tmp_path / "page.html", **kwargs)
        return path.read_text(encoding="utf-8")

    return write


@pytest.mark.parametrize("outputs", [None, 2])
def test_a_grid_takes_the_place_of_the_slider(written, outputs):
    X, y = rows(outputs)
    model = make_pipeline(StandardScaler(), deep()).fit(X[:60], y[:60])
    text = written(model, X[60:], y[60:])
    data = payload(text)
    assert "id='knob'" not in text
    assert data["curves"] is None
    assert data["grid"]["dof"]["shape"] == [outputs or 1, 2]
    assert data["held_out"][0]["lower"] is None
    assert "95 %" not in text.partition("<script")[0]
    assert "degrees of freedom estimated" in text
    assert "<span>b</span>" in text
    assert "from negcorr.deep import DeepNCLRegressor, Training" in text
    assert "PyTorch" in text
    assert len(data["members"]) == (outputs or 1)


def test_the_grid_is_that_of_the_model_in_the_order_of_lam():
    X, y = rows(2)
    model = deep().fit(X, y)
    grid = gather(model).grid
    table = model.lam_table_
    np.testing.assert_array_equal(grid.lam, [0.0, 0.6])
    for name in ("dof", "dof_std_error", "train_error", "sure", "gcv"):
        np.testing.assert_array_equal(getattr(grid, name), getattr(table, name)[::-1].T)
    assert grid.lam[grid.chosen] == model.lam_


def test_the_code_of_the_page_makes_the_same_model():
    X, y = rows()
    model = deep(weight_decay=0.1).fit(X, y)
    found = {"X": X, "y": y}
    exec(gather(model).snippet, found)
    assert repr(found["model"]) == repr(model)
    np.testing.assert_array_equal(found["model"].predict(X), model.predict(X))


def test_members_are_told_of_by_the_ambiguity_decomposition():
    X, y = rows()
    model = deep().fit(X[:60], y[:60])
    terms = model.diversity(X[60:], y[60:])
    (words,) = gather(model, X[60:], y[60:]).members
    assert f"{terms.member_error / terms.ensemble_error:.4g} times" in words
    assert f"their diversity {terms.diversity:.4g}" in words


@pytest.mark.parametrize(
    "made",
    [
        lambda X, y: deep(lam=0.5).fit(X, y),
        lambda X, y: deep(n_probes=0, lam=0.5).fit(X, y),
        lambda X, y: deep(lam=0.5).fit(X, y).partial_fit(X, y),
        lambda X, y: deep().fit(X, y).refit_heads(X, y),
    ],
    ids=["one lam", "no probes", "in parts", "heads"],
)
def test_without_a_grid_the_rest_is_there(written, made):
    X, y = rows()
    text = written(made(X[:60], y[:60]), X[60:], y[60:])
    assert "id='predicted-observed'" in text
    assert "chart-dof" not in text.partition("<script")[0]


def test_what_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        report(deep(), path=tmp_path / "page.html")


# ----------------------------------------------------------------------------------------
# Rows that another model predicts


@pytest.mark.parametrize("kind", [exact, deep])
def test_another_model_can_predict_the_rows(kind):
    X, y = rows()
    whole, part = (make_pipeline(StandardScaler(), kind()).fit(X[:n], y[:n]) for n in (90, 60))
    found = gather(whole, X[60:], y[60:], evaluated=part)
    alone = gather(part, X[60:], y[60:])
    for name in ("predicted", "lower", "upper"):
        one, other = getattr(found.held_out[0], name), getattr(alone.held_out[0], name)
        np.testing.assert_array_equal(one, other)
    assert found.importances == alone.importances
    assert found.members == alone.members
    assert found.by_another
    assert not alone.by_another
    own = gather(whole)
    if kind is exact:
        np.testing.assert_array_equal(found.curves.rho, own.curves.rho)
    else:
        np.testing.assert_array_equal(found.grid.dof, own.grid.dof)


def test_the_page_says_so(written):
    X, y = rows()
    whole, part = exact().fit(X, y), exact().fit(X[:60], y[:60])
    words = "those of the same pipeline fitted without them"
    assert words in written(whole, X[60:], y[60:], evaluated=part.compact())
    assert words not in written(part, X[60:], y[60:])


def test_a_model_that_cannot_predict_the_rows_is_refused(written):
    X, y = rows()
    model = exact().fit(X, y)
    with pytest.raises(TypeError, match="evaluated='x' must be a fitted model"):
        written(model, X, y, evaluated="x")
    with pytest.raises(ValueError, match="needs the rows"):
        written(model, evaluated=model)
    with pytest.raises(ValueError, match="not fitted"):
        written(model, X, y, evaluated=exact())
    text = written(model, X, y, evaluated=Ridge().fit(X, y))
    assert payload(text)["held_out"][0]["lower"] is None


def test_a_page_about_networks_on_a_data_frame(written):
    frame = homes(90)
    X, y = frame[["size", "kind"]], frame["price"].to_numpy()
    text = written(deep().fit(X[:60], y[:60]), X[60:], y[60:])
    assert "<td>2 columns of 0 and 1</td>" in text
    assert "1 number, 1 category" in text
    assert "<span>kind</span>" in text
