"""Fits that were killed: continued to the same bits, or refused where they belong to another."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from models import deep_ncl

from negcorr.deep import checkpoint, grid
from negcorr.deep.checkpoint import read_tensors
from negcorr.deep.training.loop import Step
from negcorr.exceptions import CheckpointError, DivergenceError

#: A fit in a process of its own, killed after so many checkpoints.
CHILD = """
import json, os, signal, sys
import numpy as np, torch
from negcorr.deep import DeepNCLRegressor, Training, checkpoint, grid

torch.set_num_threads(1)
training, params, data, out, writes = json.loads(sys.argv[1])
rows = np.load(data)
grid.CHECKPOINT_SECONDS = 0.0
write = checkpoint.write_tensors

def write_then_die(*arguments):
    global writes
    write(*arguments)
    writes -= 1
    if writes == 0:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.write_tensors = write_then_die
model = DeepNCLRegressor(**params, training=Training(**training)).fit(rows["X"], rows["y"])
np.save(out, model.predict_members(rows["X"]))
"""


def data(n=30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


# Looked at every 50 epochs.
PARAMS = {
    "n_members": 2,
    "hidden_layer_sizes": (3,),
    "max_epochs": 200,
    "lam": (0.2, 0.7),
    "learning_rate": 0.01,
    "batch_size": None,
    "n_probes": 1,
    "random_state": 0,
}


def estimator(**changes):
    return deep_ncl(**{**PARAMS, **changes})


def in_a_process(folder, writes=0, **changes):
    """Run a fit elsewhere; its exit status, and members' predictions if it came to an end."""
    X, y = data()
    np.savez(folder / "rows.npz", X=X, y=y)
    out = folder / "members.npy"
    params = estimator(**changes).get_params(deep=False)
    training = params.pop("training").get_params()
    told = json.dumps([training, params, str(folder / "rows.npz"), str(out), writes])
    done = subprocess.run([sys.executable, "-c", CHILD, told], capture_output=True, text=True)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, np.load(out) if out.exists() else None


@pytest.fixture
def steps(monkeypatch):
    """The number of steps of training, one for each epoch of full batches."""
    counted, step = [], Step.__call__

    def counting(self, batch):
        counted.append(1)
        return step(self, batch)

    monkeypatch.setattr(Step, "__call__", counting)
    return counted


def same(first, second):
    X, _ = data()
    np.testing.assert_array_equal(first.predict_members(X), second.predict_members(X))
    for name in ("lam_", "dof_", "dof_std_error_", "noise_variance_", "learning_rate_"):
        np.testing.assert_equal(getattr(first, name), getattr(second, name))
    np.testing.assert_array_equal(first.lam_table_.sure, second.lam_table_.sure)
    np.testing.assert_array_equal(first.history_.losses, second.history_.losses)
    np.testing.assert_array_equal(first.history_.rates, second.history_.rates)
    assert first.n_epochs_ == second.n_epochs_


def interrupt_at(monkeypatch, write):
    """Ctrl-C right after so many checkpoints."""
    kept, seen = checkpoint.write_tensors, []

    def interrupted(*arguments):
        kept(*arguments)
        seen.append(1)
        if len(seen) == write:
            raise KeyboardInterrupt

    monkeypatch.setattr(grid, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "write_tensors", interrupted)


# Killed, and continued


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_killed_fit_is_continued_to_the_same_bits(tmp_path, steps):
    path = tmp_path / "training.safetensors"
    status, members = in_a_process(tmp_path, writes=3, checkpoint=str(path), learning_rate="auto")
    assert (status, members) == (-signal.SIGKILL, None)
    X, y = data()
    resumed = estimator(checkpoint=path, learning_rate="auto").fit(X, y)
    # Two looks of four were done, and the learning rate was chosen.
    assert len(steps) == 100
    same(resumed, estimator(learning_rate="auto").fit(X, y))
    assert [file.name for file in tmp_path.iterdir() if ".part" in file.name] == []


def test_another_process_gives_the_same_bits(tmp_path):
    X, y = data()
    here = estimator().fit(X, y).predict_members(X)
    np.testing.assert_array_equal(estimator().fit(X, y).predict_members(X), here)
    status, there = in_a_process(tmp_path)
    assert status == 0
    np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 16, "max_epochs": 60},
        {"dtype": "float64", "patience": 5, "early_stopping": 15, "learning_rate": 0.3},
        {"optimiser": "sgd", "n_probes": 0, "lam": 0.5},
    ],
)
def test_an_interrupted_fit_is_continued_to_the_same_bits(tmp_path, monkeypatch, changes):
    X, y = data()
    model = estimator(checkpoint=tmp_path / "training", **changes)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert not hasattr(model, "lam_")
    same(model.fit(X, y), estimator(**changes).fit(X, y))


def test_a_warm_start_is_continued_too(tmp_path, monkeypatch):
    X, y = data()
    models = [estimator(warm_start=True).fit(X, y) for _ in range(2)]
    models[0].set_params(checkpoint=tmp_path / "training")
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            models[0].fit(X, y)
    same(models[0].fit(X, y), models[1].fit(X, y))
    # Those were other weights to start from.
    with pytest.raises(CheckpointError, match="other settings or other data"):
        models[0].fit(X, y)


@pytest.mark.parametrize(("early_stopping", "rate"), [(None, 0.1), (5, 0.5)])
def test_a_finished_fit_is_there_at_once(tmp_path, steps, early_stopping, rate):
    X, y = data()
    changes = {"early_stopping": early_stopping, "learning_rate": rate, "noise_variance": 0.1}
    first = estimator(checkpoint=tmp_path / "training", **changes).fit(X, y)
    done = len(steps)
    assert done == 200 if early_stopping is None else done < 200
    same(estimator(checkpoint=tmp_path / "training", **changes).fit(X, y), first)
    assert len(steps) == done


@pytest.mark.parametrize(
    "spelling",
    [
        {"hidden_layer_sizes": [3]},
        {"hidden_layer_sizes": 3},
        {"lam": np.array([0.2, 0.7])},
        {"random_state": np.int64(0)},
        {"device": "cpu", "progress": None},
        {"patience": 100, "eps": 0.1},
        {"noise_variance": 0.25, "criterion": "gcv"},
    ],
)
def test_what_does_not_change_the_training_may_change(tmp_path, steps, spelling):
    X, y = data()
    first = estimator(checkpoint=str(tmp_path / "training")).fit(X, y)
    second = estimator(checkpoint=tmp_path / "training", **spelling).fit(X, y)
    assert len(steps) == 200
    np.testing.assert_array_equal(second.history_.losses, first.history_.losses)
    if "noise_variance" in spelling:
        assert second.noise_variance_ == pytest.approx(0.25)


# Refused


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "training"
    X, y = data()
    estimator(checkpoint=path, max_epochs=2).fit(X, y)
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"n_members": 3},
        {"hidden_layer_sizes": (4,)},
        {"activation": "relu"},
        {"batch_norm": False},
        {"lam": (0.2, 0.7 + 1e-12)},
        {"lam": np.array([0.2, 0.7 + 1e-12])},
        {"learning_rate": 0.010000000001},
        {"learning_rate": "auto"},
        {"batch_size": 16},
        {"max_epochs": 3},
        {"n_probes": 2},
        {"eps": 0.2},
        {"optimiser": "sgd"},
        {"weight_decay": 0.1},
        {"clip": 1.0},
        {"patience": 3},
        {"early_stopping": 5},
        {"standardize": False},
        {"dtype": "float64"},
        {"random_state": 1},
    ],
    ids=str,
)
def test_a_checkpoint_of_other_settings_is_refused(finished, changes):
    before = finished.read_bytes()
    model = estimator(**{"max_epochs": 2, "checkpoint": finished, **changes})
    with pytest.raises(CheckpointError, match="other settings or other data") as error:
        model.fit(*data())
    assert str(finished) in str(error.value)
    assert finished.read_bytes() == before


@pytest.mark.parametrize("which", ["X", "y", "rows"])
def test_a_checkpoint_of_other_data_is_refused(finished, which):
    X, y = data()
    if which == "rows":
        X, y = X[:-1], y[:-1]
    else:
        {"X": X, "y": y}[which][-1] += 1e-12
    with pytest.raises(CheckpointError, match="other settings or other data"):
        estimator(checkpoint=finished, max_epochs=2).fit(X, y)


def flipped(content):
    middle = len(content) - 100
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [flipped, lambda content: content[:-10], lambda content: b"", lambda content: b"text\n" * 50],
    ids=["a bit", "cut off", "empty", "text"],
)
def test_a_damaged_checkpoint_is_refused_by_name_and_left_alone(finished, tmp_path, damage):
    path = tmp_path / "my-training"
    path.write_bytes(damage(finished.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="my-training"):
        estimator(checkpoint=path, max_epochs=2).fit(*data())
    assert path.read_bytes() == before


def test_a_saved_model_is_no_checkpoint(tmp_path):
    path = tmp_path / "model"
    estimator(max_epochs=2).fit(*data()).save(path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="model"):
        estimator(max_epochs=2, checkpoint=path).fit(*data())
    assert path.read_bytes() == before


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)], ids=["None", "state"])
def test_a_checkpoint_needs_a_seed(tmp_path, random_state):
    path = tmp_path / "training"
    with pytest.raises(ValueError, match="training' needs an integer random_state, got "):
        estimator(checkpoint=path, random_state=random_state).fit(*data())
    assert not path.exists()


def test_a_fit_that_diverges_leaves_its_checkpoint_and_the_model_usable(tmp_path, finished):
    X, y = data()
    model = estimator(checkpoint=finished, max_epochs=2).fit(X, y)
    before, kept = model.predict(X), finished.read_bytes()
    other = {"learning_rate": 1e30, "checkpoint": tmp_path / "other"}
    model.set_params(training__optimiser="sgd", **other)
    with pytest.raises(DivergenceError):
        model.fit(X, y)
    assert int(read_tensors(model.checkpoint)[0]["epoch"]) == 0
    assert finished.read_bytes() == kept
    np.testing.assert_array_equal(model.predict(X), before)
