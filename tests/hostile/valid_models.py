"""Small models of every kind, saved once for each process, and what they answer."""

from __future__ import annotations

import functools
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from forging import members_of, resealed, write_members
from sklearn.compose import TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from negcorr import NCLRegressor, SURESearch, load, save
from negcorr.bases import (
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    KernelFeatures,
    LinearFeatures,
    NestedFeatures,
    NystroemFeatures,
    TreeFeatures,
)
from negcorr.storage.model_files import SCHEMA

__all__ = ["MODELS", "NOTES", "TABLE", "Valid", "answers", "valid"]

RNG = np.random.default_rng(7)
X = RNG.normal(size=(48, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=48)
BOTH = np.column_stack([Y, X[:, 0] - 2.0 * Y])
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    gaps=np.where(X[:, 0] > 1.0, np.nan, X[:, 0]),
    town=np.where(X[:, 1] > 0, "Bonn", "Ulm"),
    day=pd.date_range("2024-01-01", periods=48, freq="D").astype(str),
)

#: A table that a model of three columns can read on the command line.
TABLE = pd.DataFrame(X[:5], columns=["a", "b", "c"])

#: Notes as ``negcorr fit`` writes them, for a model of three columns.
NOTES = {
    "data": "homes.csv",
    "schema": json.dumps(
        {
            "n_rows": 48,
            "columns": [
                {"name": name, "role": role, "n_distinct": 48}
                for name, role in zip("abcy", ["number"] * 3 + ["target"], strict=True)
            ],
        }
    ),
    "fingerprint": {"n_rows": 48, "total": 1, "mixed": 2, "seed": 0, "smallest": [3, 5]},
}


def _ncl(basis: Any = None, **parameters: Any) -> NCLRegressor:
    return NCLRegressor(FourierFeatures(3, 4) if basis is None else basis, **parameters)


def _streamed(table: Any = X, **parameters: Any) -> NCLRegressor:
    model = _ncl(**parameters)
    for start in range(0, 48, 24):
        rows = table[start : start + 24]
        model.partial_fit(rows, Y[start : start + 24])
    assert model.lam_ is not None
    return model


def _deep() -> Any:
    from models import deep_ncl

    settings: dict[str, Any] = {"learning_rate": 0.02, "random_state": 0, "max_epochs": 2}
    network = deep_ncl(n_members=2, hidden_layer_sizes=(3,), lam=0.5, n_probes=2, **settings)
    return network.fit(X, Y)


#: What makes a fitted model, and the table that it predicts.
MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "fourier": lambda: (_ncl().fit(X, Y), X),
    "orthogonal": lambda: (_ncl(FourierFeatures(3, 4, orthogonal=True)).fit(X, Y), X),
    "kernel": lambda: (_ncl(KernelFeatures(3, 4, inputs="rank")).fit(X, Y), X),
    "nystroem": lambda: (_ncl(NystroemFeatures(3, 4)).fit(X, Y), X),
    "sparse": lambda: (_ncl(NystroemFeatures(3, 4)).fit(SPARSE, Y), SPARSE),
    "trees": lambda: (_ncl(TreeFeatures(3, 4)).fit(X, Y), X),
    "linear": lambda: (_ncl(LinearFeatures(3, 2)).fit(X, Y), X),
    "nested": lambda: (
        _ncl(NestedFeatures([FourierFeatures(2, 3), NystroemFeatures(2, 3)], [0.1, 0.5])).fit(X, Y),
        X,
    ),
    "chosen": lambda: (_ncl("auto").fit(X, Y), X),
    "clones": lambda: (_ncl(ClonedFeatures(RBFSampler(n_components=4), 3)).fit(X, Y), X),
    "blocks": lambda: (
        _ncl(BlockFeatures([PolynomialFeatures(), RBFSampler(random_state=0)])).fit(X, Y),
        X,
    ),
    "streamed": lambda: (_streamed(), X),
    "streamed frame": lambda: (_streamed(FRAME, solver="qr"), FRAME),
    "compact": lambda: (_ncl().fit(X, Y).compact(), X),
    "every lam": lambda: (_ncl(NystroemFeatures(3, 4), alpha=0.1).fit(X, Y).compact(path=True), X),
    "rows": lambda: (_ncl(FourierFeatures(20, 4), solver="qr").fit(X, Y), X),
    "gram": lambda: (_ncl(solver="gram", fit_intercept=False).fit(X, Y), X),
    "loo": lambda: (_ncl(criterion="loo").fit(X, Y), X),
    "sure": lambda: (_ncl(criterion="sure", noise_variance=0.01).fit(X, Y), X),
    "given": lambda: (_ncl(lam=0.5).fit(X, Y, sample_weight=RNG.integers(1, 3, 48)), X),
    "huber": lambda: (_ncl(loss="huber").fit(X, Y), X),
    "outputs": lambda: (_ncl().fit(X, BOTH), X),
    "frame": lambda: (_ncl().fit(FRAME, Y), FRAME),
    "single": lambda: (_ncl().fit(X.astype(np.float32), Y), X.astype(np.float32)),
    "pipeline": lambda: (make_pipeline(SimpleImputer(), StandardScaler(), _ncl()).fit(X, Y), X),
    "target": lambda: (
        TransformedTargetRegressor(_ncl(), transformer=StandardScaler()).fit(X, Y),
        X,
    ),
    "search": lambda: (
        SURESearch(_ncl(lam=0.5), {"basis__gamma": [0.1, 0.3]}, noise_variance=1.0).fit(X, Y),
        X,
    ),
    "deep": lambda: (_deep(), X),
    "cli": lambda: (_ncl().fit(pd.DataFrame(X, columns=list("abc")), Y), X),
}


class Valid:
    """A model from an untouched file, that file's members, and what the model answers."""

    def __init__(self, name: str) -> None:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, self.table = MODELS[name]()
            notes = NOTES if name == "cli" else {"target": "y"}
            file = save(model, Path(folder) / "model.skops", notes=notes)
            self.members = resealed(_numbered(members_of(file)))
            write_members(file, self.members)
            self.bytes = file.read_bytes()
            self.answers = answers(load(file), self.table)


def _numbered(members: dict[str, bytes]) -> dict[str, bytes]:
    """Members under numbers in the order of the description, the same in every process."""
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def renamed(part: dict[str, Any]) -> dict[str, Any]:
        if isinstance(part.get("__id__"), int):
            part["__id__"] = numbers.setdefault(part["__id__"], len(numbers) + 1)
        if isinstance(part.get("file"), str):
            name = f"{len(files):04d}{Path(part['file']).suffix}"
            part["file"] = files.setdefault(part["file"], name)
        return part

    schema = json.loads(members[SCHEMA], object_hook=renamed)
    order = sorted(members, key=lambda name: files.get(name, name))
    return {files.get(n, n): members[n] for n in order} | {SCHEMA: json.dumps(schema).encode()}


@functools.cache
def valid(name: str) -> Valid:
    """The valid model of a name."""
    return Valid(name)


def answers(model: Any, table: Any) -> dict[str, Any]:
    """What a model answers to every question, or the error that it raises, by question."""
    questions: dict[str, Callable[[], Any]] = {"predict": lambda: model.predict(table)}
    if hasattr(model, "predict_members"):
        questions |= {
            "std": lambda: model.predict(table, return_std=True),
            "members": lambda: model.predict_members(table),
            "repr": lambda: repr(model),
        }
    if isinstance(model, NCLRegressor):
        questions |= {
            "interval": lambda: model.predict_interval(table, coverage=0.8),
            "with_lam": lambda: model.with_lam(0.4).predict(table),
            "curves": lambda: model.path_.curves([1.0, 0.1, 1e-3]),
            "summary": lambda: repr(model.summary()),
        }
    found: dict[str, Any] = {}
    for name, question in questions.items():
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found[name] = question()
        except Exception as error:
            found[name] = error
    return found
