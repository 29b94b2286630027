"""What λ="auto" is worth: held-out error at every λ of the grid, and of bagged MLPs.

    python benchmarks/accuracy/deep_accuracy.py --data FOLDER [--device cuda]

DeepNCLRegressor with nothing set but the seed, on five shuffled folds of housing, kinematics and
california, and the average of 30 of scikit-learn's MLPRegressors of the same size on bootstrap
samples, standardised alike and trained until they stop by themselves.
``--part`` computes one of the two alone. Errors are over the variance of the target. Wanted: λ =
"auto" within 5 % of the best λ of the grid in the mean over folds, and below the bagged MLPs.
"""

from __future__ import annotations

import argparse
import json
import warnings
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr.datasets import load
from negcorr.deep.fitting import TrainingRows, chosen, trained_grid
from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.deep.settings import resolve_device, settings_of

SETS = ("housing", "kinematics", "california")
FOLDS = 5


def folds(name: str, home: str | None):
    X, y = load(name, data_home=home, return_X_y=True)
    splitter = KFold(FOLDS, shuffle=True, random_state=0)
    return [(X[a], y[a], X[b], y[b]) for a, b in splitter.split(X)]


def deep(name: str, home: str | None, device: str) -> dict:
    """Errors at every λ, from the very networks among which the estimator chooses."""
    rows = []
    for fold, (X, y, X_test, y_test) in enumerate(folds(name, home)):
        model = DeepNCLRegressor(device=device, random_state=fold)
        settings = settings_of(model, len(y), 1)
        before = perf_counter()
        given = TrainingRows(X, y[:, np.newaxis], single=True)
        trained = trained_grid(model, settings, given)
        found = chosen(trained, settings, given)
        seconds = perf_counter() - before
        scaled = trained.inputs.apply(X_test)
        inputs = torch.tensor(scaled, dtype=settings.dtype, device=settings.device)
        errors = []
        for g in range(len(settings.lams)):
            with torch.no_grad():
                members = trained.grid.network(g)(inputs)[0].to("cpu", torch.float64)
            prediction = trained.target.undo(members.mean(dim=0).numpy())[:, 0]
            errors.append(float(np.mean((prediction - y_test) ** 2) / np.var(y)))
        table = found.table
        rows.append(
            {
                "seconds": seconds,
                "learning_rate": trained.learning_rate,
                "n_train": len(y),
                "lams": list(settings.lams),
                "dof": table.dof[:, 0].tolist(),
                "train_error": (table.train_error[:, 0] / np.var(y)).tolist(),
                "noise_variance": float(table.noise_variance[0] / np.var(y)),
                "test_error": errors,
                "chosen": table.chosen,
            }
        )
        print(name, fold, f"lam {settings.lams[table.chosen]:g}", flush=True)
    by_lam = np.array([row["test_error"] for row in rows]).mean(axis=0)
    auto = float(np.mean([row["test_error"][row["chosen"]] for row in rows]))
    return {
        "auto": auto,
        "best": float(by_lam.min()),
        "best_lam": rows[0]["lams"][int(by_lam.argmin())],
        "apart": float(by_lam[0]),
        "as_one": float(by_lam[-1]),
        "ratio": auto / float(by_lam.min()),
        "chosen_lams": [row["lams"][row["chosen"]] for row in rows],
        "folds": rows,
    }


def _member(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
    # Not BaggingRegressor: it hands bags over as weights, and batches of weight 0 stop the MLP.
    network = MLPRegressor(
        hidden_layer_sizes=(5, 5, 5), activation="tanh", max_iter=2000, random_state=seed
    )
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), network), transformer=StandardScaler()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y).predict(X_test)


def bagged(name: str, home: str | None, jobs: int) -> dict:
    errors, before = [], perf_counter()
    for fold, (X, y, X_test, y_test) in enumerate(folds(name, home)):
        rng = np.random.default_rng(fold)
        bags = [rng.integers(len(y), size=len(y)) for _ in range(30)]
        members = Parallel(n_jobs=jobs)(
            delayed(_member)(X[rows], y[rows], X_test, seed) for seed, rows in enumerate(bags)
        )
        prediction = np.mean(members, axis=0)
        errors.append(float(np.mean((prediction - y_test) ** 2) / np.var(y)))
        print(name, fold, f"bagged {errors[-1]:.4f}", flush=True)
    seconds = (perf_counter() - before) / FOLDS
    return {"bagged": float(np.mean(errors)), "folds": errors, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--part", choices=("deep", "bagged", "both"), default="both")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    names = options.sets.split(",")
    parts = {}
    if options.part != "bagged":
        parts["deep"] = {name: deep(name, options.data, options.device) for name in names}
    if options.part != "deep":
        parts["bagged"] = {name: bagged(name, options.data, options.jobs) for name in names}
    options.out.mkdir(parents=True, exist_ok=True)
    made = {
        "device": str(resolve_device(options.device)),
        "versions": {name: version(name) for name in ("negcorr", "scikit-learn", "torch")},
    }
    for part, results in parts.items():
        path = options.out / f"deep_accuracy-{part}.json"
        path.write_text(json.dumps({**results, "made_by": made}, indent=1) + "\n")
        for name, result in results.items():
            shown = {k: v for k, v in result.items() if not isinstance(v, list)}
            print(part, name, {k: round(v, 4) for k, v in shown.items()})


if __name__ == "__main__":
    main()
