"""Python programs that are killed while they write models, graphs and checkpoints."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hostile.killed_processes import SIGNALS, started, stopped
from hostile.written_files import leftovers
from models import deep_ncl

import negcorr
from negcorr.exceptions import CheckpointError

__all__ = ["saved", "trained"]

#: Writes two models in turn, as fast as it can.
SAVING = """
import sys
from hostile.killed_saves import model, write
kind, path = sys.argv[1:]
models = [model(0), model(1)]
print("ready", flush=True)
for k in range(10**6):
    write(kind, models[k % 2], path)
"""

#: Trains with a checkpoint that is written at every look.
TRAINING = """
import sys
import torch
from negcorr.deep import grid
from hostile.killed_saves import network, rows
grid.CHECKPOINT_SECONDS = 0.0
torch.set_num_threads(1)
model = network(sys.argv[1])
print("ready", flush=True)
model.fit(*rows())
"""


def rows() -> tuple[Any, Any]:
    """A small problem."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=60)


@cache
def model(seed: int) -> Any:
    """A fitted ensemble."""
    basis = negcorr.bases.FourierFeatures(n_members=8, n_components=5)
    return negcorr.NCLRegressor(basis, criterion="gcv", random_state=seed).fit(*rows())


def write(kind: str, ensemble: Any, path: Any) -> None:
    """Write a model in some form."""
    if kind == "model":
        negcorr.save(ensemble, path)
    elif kind == "graph":
        negcorr.to_onnx(ensemble, path)
    else:
        negcorr.report(ensemble, *rows(), path=path)


def read(kind: str, path: Path) -> Any:
    """What distinguishes the two models in a file, which is damaged if this fails."""
    if kind == "model":
        return negcorr.load(path).predict(rows()[0])
    if kind == "graph":
        import onnxruntime

        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        wanted = session.get_inputs()[0].type
        X = rows()[0].astype(np.float32 if "float)" in wanted else np.float64)
        return session.run(None, {"X": X})[0]
    page = path.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>"), "the page has no end"
    return np.array([len(page)])


@cache
def expected(kind: str, seed: int) -> Any:
    """What a file that is complete holds."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.html")
        write(kind, model(seed), path)
        return read(kind, path)


def saved(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """A program that is killed while it writes the same file again and again."""
    kind = ("model", "graph", "page")[rng.integers(3)]
    path = folder / "file.html"
    write(kind, model(1), path)
    process = started([kind, path], SAVING)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(rng.uniform(0.0, 0.5))
    stopped(process, SIGNALS[rng.integers(len(SIGNALS))], to_all=False)
    faults = []
    found = read(kind, path)
    if not any(np.array_equal(found, expected(kind, seed)) for seed in (0, 1)):
        faults.append(f"the {kind} is neither of the two")
    write(kind, model(0), path)
    if not np.array_equal(read(kind, path), expected(kind, 0)):
        faults.append(f"the {kind} is not the one that was written last")
    if left := leftovers(folder):
        faults.append(f"{left} are left after the next write")
    return "refused", faults


def network(path: Any = None) -> Any:
    """Deep networks that train for a second or two."""
    return deep_ncl(
        n_members=2,
        hidden_layer_sizes=(4,),
        lam=(0.2, 0.7),
        learning_rate=0.01,
        max_epochs=1500,
        batch_size=None,
        n_probes=1,
        checkpoint=None if path is None else str(path),
        random_state=0,
    )


@cache
def undisturbed() -> tuple[Any, float]:
    """Members' predictions of a training that nobody stopped, and its seconds."""
    begin = time.monotonic()
    fitted = network().fit(*rows())
    return fitted.predict_members(rows()[0]), time.monotonic() - begin


def trained(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """A training that is killed, perhaps twice, and continued to the same numbers."""
    path = folder / "training"
    members, seconds = undisturbed()
    for _ in range(int(rng.integers(1, 3))):
        process = started([path], TRAINING)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 1.1) * seconds)
        stopped(process, SIGNALS[rng.integers(len(SIGNALS))], to_all=False)
    faults = []
    try:
        found = network(path).fit(*rows()).predict_members(rows()[0])
    except CheckpointError as error:
        return "refused", [f"the checkpoint cannot be used: {error}"]
    if not np.array_equal(found, members):
        faults.append(f"members differ by {np.max(np.abs(found - members)):.1e}")
    if left := leftovers(folder):
        faults.append(f"{left} are left after the training")
    return "answered", faults
