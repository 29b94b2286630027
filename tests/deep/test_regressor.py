"""DeepNCLRegressor as a user meets it: data of all kinds, failures, and the tools around it."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

torch = pytest.importorskip("torch")

from models import deep_ncl
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import datasets
from negcorr.deep.training.loop import Step
from negcorr.exceptions import DivergenceError

DATA = Path(os.environ.get("NEGCORR_DATA", Path(__file__).parents[3] / "shared" / "data"))

SMALL = {
    "n_members": 3,
    "hidden_layer_sizes": (4,),
    "max_epochs": 20,
    "lam": (0.0, 0.8),
    "learning_rate": 0.02,
    "n_probes": 1,
    "random_state": 0,
}

# A few rows are interpolated, and members are then useless alone.
interpolates = pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 10.0 * np.sin(X[:, 0]) + X[:, 1] + 3.0 * rng.normal(size=n) + 100.0


def estimator(**changes):
    return deep_ncl(**{**SMALL, **changes})


@pytest.fixture(scope="module")
def fitted():
    return estimator().fit(*data())


# Frames and names


def test_names_of_a_data_frame_are_kept_and_nothing_is_warned_of(fitted):
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = estimator().fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["c", "b", "a"]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame[["c", "b", "a"]], y)


def test_frames_of_polars_are_taken_too(fitted):
    X, y = data()
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    model = estimator().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))


def test_refitted_heads_keep_the_names():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    heads = estimator().fit(frame, y).refit_heads(frame, y)
    assert heads.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the data sets are not at {DATA}")
def test_houses_in_a_data_frame_are_learned():
    houses = datasets.load("housing", data_home=DATA, as_frame=True, fetch=False)
    X, y = houses.data, np.ravel(houses.target)
    model = estimator(lam=(0.0, 0.5), n_members=5, max_epochs=60).fit(X.iloc[::2], y[::2])
    assert model.score(X.iloc[1::2], y[1::2]) > 0.6
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert 0 < model.dof_ < len(y) / 2


# Data that are hardly any


@interpolates
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("changes", [{}, {"lam": 0.5, "n_probes": 0}, {"batch_norm": False}])
def test_a_few_rows_are_enough(n, changes):
    X, y = data(n)
    model = estimator(**changes).fit(X, y)
    assert np.isfinite(model.predict(data()[0])).all()
    if model.n_probes:
        assert np.isfinite(model.predict(X, return_std=True)[1]).all()


def test_one_row_is_not():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        estimator().fit([[1.0]], [1.0])


def test_one_column_is_enough():
    X, y = data()
    assert estimator().fit(X[:, :1], y).score(X[:, :1], y) > 0.5


@pytest.mark.parametrize("value", [0.0, 3.3, 1e9])
def test_a_constant_target_is_predicted(value):
    X, _ = data()
    model = estimator(max_epochs=300, dtype="float64").fit(X, np.full(60, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-6, atol=0.05)
    assert np.isfinite([model.lam_, model.dof_, model.noise_variance_]).all()


def test_columns_that_do_not_vary_change_nothing():
    X, y = data()
    X[:, 2] = 0.1
    model = estimator().fit(X, y)
    assert model.score(X, y) > 0.5
    moved = X + np.array([0.0, 0.0, 1e-3])
    np.testing.assert_allclose(model.predict(moved), model.predict(X), atol=0.1)
    constant = estimator(lam=0.0).fit(np.zeros((60, 2)), y)
    assert np.ptp(constant.predict(np.zeros((5, 2)))) == 0.0


def test_one_member_has_nothing_to_choose_from():
    X, y = data()
    model = estimator(n_members=1, lam="auto").fit(X, y)
    assert model.lam_ == 0.0
    assert np.isfinite(model.dof_)
    same = estimator(n_members=1, lam=0.9).fit(X, y)
    np.testing.assert_allclose(same.predict(X), model.predict(X), rtol=1e-4)


def test_a_network_without_hidden_layers_is_linear():
    X, y = data()
    model = estimator(hidden_layer_sizes=(), max_epochs=400, dtype="float64").fit(X, y)
    design = np.column_stack([np.ones(60), X])
    linear = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), linear, rtol=0.01)
    assert model.dof_ == pytest.approx(4.0, abs=1.5)


# Bad data


@pytest.mark.parametrize(
    ("which", "bad"), [("X", np.inf), ("X", -np.inf), ("y", np.nan), ("y", np.inf)]
)
def test_values_that_are_not_finite_are_refused(which, bad):
    X, y = data()
    {"X": X, "y": y}[which][3] = bad
    with pytest.raises(ValueError, match=f"Input {which} contains (NaN|infinity)"):
        estimator().fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "kind", "words"),
    [
        (data()[0], None, ValueError, "requires y to be passed"),
        (data()[0], data()[1][:5], ValueError, r"inconsistent numbers of samples: \[60, 5\]"),
        (data()[0], np.zeros((60, 2, 2)), ValueError, "Found array with dim 3"),
        (data()[0], ["a"] * 60, ValueError, "could not convert|dtype='numeric' is not compatible"),
        (data()[0][:, 0], data()[1], ValueError, "Expected 2D array, got 1D array"),
        (np.empty((60, 0)), data()[1], ValueError, r"0 feature\(s\)"),
        (sp.csr_array(data()[0]), data()[1], TypeError, "Sparse data was passed .*toarray"),
        (data()[0], 1e200 * data()[1], ValueError, r"y has values above 1e\+150"),
        (1e200 * data()[0], data()[1], ValueError, r"X has values above 1e\+150"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_data_that_cannot_be_learned_are_refused(X, y, kind, words, method):
    with pytest.raises(kind, match=words):
        getattr(estimator(lam=0.5), method)(X, y)


def test_values_beyond_the_precision_are_refused_and_not_called_a_divergence():
    X, y = data()
    with pytest.raises(ValueError, match=r"X has values of .*e\+60, .*of float32"):
        estimator(standardize=False).fit(1e60 * X, y)
    assert np.isfinite(estimator().fit(1e60 * X, y).predict(1e60 * X)).all()


@pytest.mark.parametrize("factor", [1e140, 1e-140])
def test_targets_of_any_size_are_learned(factor):
    X, y = data()
    model, plain = estimator().fit(X, factor * y), estimator().fit(X, y)
    np.testing.assert_allclose(model.predict(X) / factor, plain.predict(X), rtol=1e-4)
    std, expected = (
        m.predict(X, return_std=True)[1] / f for m, f in ((model, factor), (plain, 1.0))
    )
    np.testing.assert_allclose(std, expected, rtol=1e-2)


# Failures


def test_a_divergence_says_where_and_keeps_the_last_networks(fitted):
    X, y = data()
    model = copy.deepcopy(fitted).set_params(training__optimiser="sgd", learning_rate=1e30)
    with pytest.raises(DivergenceError, match=r"learning_rate=1e\+30 and lam=0, 0.8") as error:
        model.fit(X[:, :2], y)
    assert (error.value.epoch, error.value.learning_rate) == (1, 1e30)
    assert torch.isfinite(error.value.network.theta).all()
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    assert vars(model).keys() == vars(fitted).keys()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda model, X, y: model.fit(X[:, :2], y[:5]),
        lambda model, X, y: model.set_params(lam=7.0).fit(X[:, :2], y),
        lambda model, X, y: model.set_params(progress="bar").fit(X[:, :2], y),
        lambda model, X, y: model.set_params(checkpoint=5).fit(pd.DataFrame(X[:, :2]), y),
        lambda model, X, y: model.set_params(device="tpu").fit(X[:, :2], np.c_[y, y]),
    ],
)
def test_a_failed_refit_leaves_the_fitted_model_as_it_was(fitted, spoil):
    X, y = data()
    model = copy.deepcopy(fitted)
    attributes = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises((ValueError, TypeError)):
        spoil(model, X, y)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == attributes.keys()
    assert all(after[name] is value for name, value in attributes.items())
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))


def test_an_interrupted_fit_leaves_the_model_as_it_was(fitted, monkeypatch):
    X, y = data()
    model, step, calls = copy.deepcopy(fitted), Step.__call__, []

    def interrupted(self, batch):
        calls.append(batch)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return step(self, batch)

    monkeypatch.setattr(Step, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), np.c_[y, y])
    assert len(calls) == 5
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    fresh = estimator()
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert set(vars(fresh)) == set(fresh.get_params(deep=False))


# Seeds and precision


def test_a_seed_gives_the_same_bits_and_another_does_not(fitted):
    X, y = data()
    again = estimator().fit(X, y)
    np.testing.assert_array_equal(again.predict_members(X), fitted.predict_members(X))
    assert (again.dof_, again.lam_) == (fitted.dof_, fitted.lam_)
    other = estimator(random_state=1).fit(X, y)
    assert np.abs(other.predict(X) - fitted.predict(X)).max() > 1e-3
    free = [estimator(random_state=None).fit(X, y).predict(X) for _ in range(2)]
    assert np.abs(free[0] - free[1]).max() > 1e-3


def test_a_second_fit_equals_the_first():
    X, y = data()
    model = estimator()
    first = model.fit(X, y).predict(X)
    model.fit(X[:30, :2], np.c_[y, y][:30] ** 2)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), first)


def test_both_precisions_agree(fitted):
    X, y = data()
    double = estimator(dtype="float64").fit(X, y)
    assert fitted.network_.theta.dtype == torch.float32
    assert double.network_.theta.dtype == torch.float64
    assert fitted.predict(X).dtype == double.predict(X).dtype == np.float64
    np.testing.assert_allclose(fitted.predict(X), double.predict(X), rtol=1e-3)
    assert fitted.dof_ == pytest.approx(double.dof_, rel=0.02)


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_devices_by_name(fitted, device):
    X, y = data()
    model = estimator(device=device).fit(X, y)
    np.testing.assert_allclose(model.predict(X), fitted.predict(X), rtol=1e-3)


# Tools


def test_clones_and_copies(fitted):
    X, y = data()
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "lam_")
    in_training = estimator(lam=0.5).partial_fit(X, y)
    after = copy.deepcopy(in_training).partial_fit(X, y).predict(X)
    for duplicate in (pickle.loads(pickle.dumps(in_training)), copy.deepcopy(in_training)):
        np.testing.assert_array_equal(duplicate.predict(X), in_training.predict(X))
        np.testing.assert_array_equal(duplicate.partial_fit(X, y).predict(X), after)
    for duplicate in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(duplicate.predict(X, True), fitted.predict(X, True))
        assert (duplicate.lam_, duplicate.dof_) == (fitted.lam_, fitted.dof_)


def test_pipelines_searches_and_cross_validation():
    X, y = load_diabetes(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), estimator(lam=0.5, n_probes=0))
    search = GridSearchCV(pipe, {"deepnclregressor__lam": [0.0, 0.8]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.3
    assert (cross_val_score(pipe, X, y, cv=2) > 0.3).all()


def test_parameters_are_left_alone():
    X, y = data()
    model = estimator(lam=[0.0, 0.8], hidden_layer_sizes=[4])
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X, y)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


# Progress


class Recorder:
    """A callback of scikit-learn's that counts finished pieces."""

    def __init__(self):
        self.pieces, self.total, self.open = 0, None, False

    def setup(self, estimator, context):
        self.total, self.open = context.max_subtasks, True

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.pieces += context.task_name == "piece"

    def teardown(self, estimator, context):
        self.open = False


@pytest.mark.parametrize(
    ("changes", "looks"),
    [
        ({"batch_size": None}, 4),
        ({"batch_size": None, "learning_rate": "auto"}, 8),
        # Two batches an epoch: looked at every 25 epochs.
        ({"batch_size": 30}, 8),
    ],
)
def test_a_callback_is_told_of_every_look(changes, looks):
    pytest.importorskip("sklearn.callback")
    callback = Recorder()
    estimator(max_epochs=200, progress=callback, lam=0.0, **changes).fit(*data())
    assert (callback.pieces, callback.total, callback.open) == (looks, looks, False)


def test_a_bar_is_shown_when_asked_for(capfd, fitted):
    X, y = data()
    model = estimator(progress=True).fit(X, y)
    shown = "".join(capfd.readouterr())
    assert "training" in shown
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    estimator().fit(X, y)
    assert capfd.readouterr() == ("", "")


# Without torch


def test_without_torch_the_rest_works_and_the_extra_is_named():
    script = """
import sys
import negcorr
assert "torch" not in sys.modules, "negcorr loads torch"
sys.modules["torch"] = None
try:
    import negcorr.deep
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "negcorr.deep needs torch" in done.stdout
    assert "pip install 'negcorr[deep]'" in done.stdout
