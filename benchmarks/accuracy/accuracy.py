"""Errors of negcorr with its defaults, and of its rivals, on the data sets of the paper.

    python benchmarks/accuracy/accuracy.py [--seeds 0 1 2] [--methods negcorr ridge]
        [--sets machine housing]

Five folds for each seed; outputs are standardised on the training rows, so that all methods treat
them alike. The error of an output is its mean squared error on the test rows over its variance in
the whole set. Rivals and how they are tuned: ``accuracy_rivals.py``.

Each piece, one method on one fold, is one JSON line of ``--out``; pieces that are there already are
left out, so that a run can be stopped and started again. Times can be compared only with one job
on an idle machine: say ``--busy`` where others compute as well. ``--retime`` repeats pieces whose
stored times cannot be compared. The results are read by ``accuracy_table.py`` and
``accuracy_figure.py`` in ``docs/benchmark_pages``. The same on other data: ``unseen.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from accuracy_rivals import RIVALS
from joblib import Parallel, delayed
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_info, threadpool_limits

import negcorr
from negcorr import NCLRegressor
from negcorr.bases import AutoBasis
from negcorr.bases.named import named_basis
from negcorr.datasets import load

DATA = Path(os.environ.get("NEGCORR_DATA", Path(__file__).parents[3] / "shared" / "data"))
FOLDS = 5

#: Small ones first; within each half those with many outputs, which take longest, come last.
SETS = (
    *("machine", "wisconsin", "housing", "triazines", "slump", "electrical", "jura"),
    *("energy", "andromeda", "water", "oes97", "oes10"),
    *("abalone", "bank", "kinematics", "elevators", "california", "ailerons", "scm20d"),
)
METHODS = ("negcorr", *RIVALS)

#: Inputs and outputs, both two-dimensional.
Source = Callable[[str], tuple[np.ndarray, np.ndarray]]


class Piece(NamedTuple):
    """One method on one fold: what is computed at once and makes one line."""

    set: str
    seed: int
    fold: int
    method: str


def arrays(name: str, home: Path = DATA) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and outputs of a data set, both two-dimensional."""
    found = load(name, data_home=home, fetch=False)
    return np.asarray(found.data, float), np.asarray(found.target, float).reshape(
        len(found.data), -1
    )


def measured(
    piece: Piece,
    X: np.ndarray,
    y: np.ndarray,
    threads: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Error, times and more of one piece, ready for JSON.

    ``threads`` limits those of the libraries, ``parameters`` are those of NCLRegressor that are
    not its defaults: ``basis`` is a name, what is inside begins with ``basis__``.
    """
    folds = KFold(FOLDS, shuffle=True, random_state=piece.seed)
    train, test = list(folds.split(X))[piece.fold]
    centre, scale = y[train].mean(axis=0), y[train].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    target = (y[train] - centre) / scale
    model = new_model(piece, len(train), X.shape[1], y.shape[1], parameters or {})
    with (
        threadpool_limits(threads) if threads else nullcontext(),
        warnings.catch_warnings(record=True) as raised,
    ):
        warnings.simplefilter("always")
        start = perf_counter()
        model.fit(X[train], target[:, 0] if y.shape[1] == 1 else target)
        fitted = perf_counter()
        guess = np.asarray(model.predict(X[test])).reshape(len(test), -1)
        predicted = perf_counter()
        used = max((pool["num_threads"] for pool in threadpool_info()), default=1)

    def error(values: np.ndarray) -> np.ndarray:
        return ((y[test] - centre - scale * values) ** 2).mean(axis=0) / y.var(axis=0)

    line: dict[str, Any] = {
        **piece._asdict(),
        "error": error(guess).tolist(),
        "constant_error": error(np.zeros_like(guess)).tolist(),
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "n": len(X),
        "n_train": len(train),
        "warnings": sorted({each.category.__name__ for each in raised}),
        "threads": used,
    }
    last = model[-1] if isinstance(model, Pipeline) else model
    if hasattr(last, "best_params_"):
        line["chosen"] = {name: float(value) for name, value in last.best_params_.items()}
    if piece.method == "negcorr":
        ratio = np.mean(line["error"]) / np.mean(line["constant_error"])
        line |= {"over_constant": float(ratio), **hindsight(model, X[test], guess, error)}
        line["parameters"] = dict(parameters or {})
        if model.choice_ is not None:
            line["choice"] = model.choice_.lines()
    return line


def new_model(
    piece: Piece, n_rows: int, n_inputs: int, n_outputs: int, parameters: Mapping[str, Any]
) -> Any:
    if piece.method == "negcorr":
        name = parameters.get("basis", "auto")
        basis = AutoBasis() if name == "auto" else named_basis(name)
        model = NCLRegressor(basis, random_state=piece.seed)
        return model.set_params(**{key: parameters[key] for key in parameters if key != "basis"})
    return RIVALS[piece.method](n_rows, n_inputs, n_outputs, piece.seed)


def hindsight(
    model: Any, X: np.ndarray, guess: np.ndarray, error: Callable[[np.ndarray], np.ndarray]
) -> dict[str, Any]:
    """Per output the least error on the test rows over the gaps of the path and the chosen one."""
    gaps = np.unique(np.append(model.path_.gaps, np.ravel(model.gap_)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tiny gaps are looked at too
        errors = np.array([error(values) for values in along_path(model, X, guess, gaps)])
    best, least = errors.argmin(axis=0), errors.min(axis=0)
    return {
        "hindsight_error": np.minimum(least, error(guess)).tolist(),  # equal up to rounding
        "hindsight_gap": gaps[best].tolist(),
        "gap": np.ravel(model.gap_).tolist(),
    }


def along_path(
    model: Any, X: np.ndarray, guess: np.ndarray, gaps: np.ndarray
) -> Iterator[np.ndarray]:
    """Predictions of shape (rows, outputs) at every gap.

    At once from the features, where these give what ``predict`` gives at the chosen gap; otherwise
    gap by gap.
    """
    spectrum = model.path_.spectrum
    features = np.asarray(model.basis_.transform(X))
    coef, q = np.asarray(model.coef_).reshape(guess.shape[1], -1), spectrum.n_features
    centre = np.asarray(spectrum.centre)
    again = centre[q:] + (features - centre[:q]) @ coef.T if features.shape[1] == q else None
    if again is not None and np.allclose(again, guess, rtol=1e-6, atol=1e-8):
        path = np.asarray(spectrum.coef_path(gaps))
        for number in range(len(gaps)):
            yield centre[q:] + (features - centre[:q]) @ path[:, :, number].T
        return
    for gap in gaps:
        yield np.asarray(model.with_lam(gap=float(gap)).predict(X)).reshape(guess.shape)


def stored(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; what a stopped run left half-written is not there."""
    lines = []
    for text in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def comparable(line: Mapping[str, Any]) -> bool:
    """Whether the times of a line may be compared with others."""
    return bool(line["jobs"] == 1 and line["idle"])


def missing(pieces: Iterable[Piece], path: Path, retime: bool = False) -> list[Piece]:
    """Pieces that the file has not, or with ``retime`` has without times that can be compared."""
    lines = [line for line in stored(path) if comparable(line) or not retime]
    done = {tuple(line[name] for name in Piece._fields) for line in lines}
    return [piece for piece in pieces if piece not in done]


def append(line: dict[str, Any], path: Path) -> None:
    """One line more; it begins a new one even after one that was left half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def provenance(jobs: int, idle: bool) -> dict[str, Any]:
    packages = ("numpy", "scipy", "scikit-learn")
    versions = {"negcorr": negcorr.__version__, "python": platform.python_version()}
    return {
        "jobs": jobs,
        "idle": idle,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "versions": versions | {name: version(name) for name in packages},
    }


def _measured(
    piece: Piece, source: Source, threads: int | None, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The line of a piece, or what went wrong: one bad piece must not stop a run of hours."""
    try:
        return measured(piece, *source(piece.set), threads, parameters)
    except Exception as error:
        return piece._asdict() | {"failure": f"{type(error).__name__}: {error}"}


def run(
    pieces: list[Piece],
    source: Source,
    path: Path,
    jobs: int = 1,
    idle: bool = True,
    parameters: Mapping[str, Any] | None = None,
) -> int:
    """Compute all pieces and store each as soon as it is there; the number of those that failed.

    With several jobs each has one thread: more of them would fight for the cores.
    """
    about = provenance(jobs, idle)
    threads = None if jobs == 1 else 1
    ours = parameters or {}
    tasks = (delayed(_measured)(piece, source, threads, ours) for piece in pieces)
    lines: Iterable[dict[str, Any]]
    if jobs == 1:
        lines = (_measured(piece, source, None, ours) for piece in pieces)
    else:
        lines = Parallel(jobs, return_as="generator_unordered", batch_size=1)(tasks)
    failed = 0
    for number, line in enumerate(lines, 1):
        if "failure" in line:
            failed += 1
            outcome = line["failure"]
        else:
            append(rounded(line | about), path)
            outcome = f"error {np.mean(line['error']):.4g}, fit {line['fit_seconds']:.2f} s"
        where = f"{line['set']}, seed {line['seed']}, fold {line['fold']}, {line['method']}"
        print(f"{number}/{len(pieces)} {where}: {outcome}", flush=True)
    return failed


def rounded(value: Any) -> Any:
    """Seven digits of every number are enough."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def new_parser(description: str, sets: Sequence[str], out: Path) -> argparse.ArgumentParser:
    """Options of a measurement on some data sets, whose results are stored in ``out``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="+", default=list(sets), choices=sets, metavar="SET")
    parser.add_argument(
        "--methods", nargs="+", default=list(METHODS), choices=METHODS, metavar="METHOD"
    )
    parser.add_argument("--jobs", type=int, default=1, help="pieces at the same time")
    parser.add_argument("--busy", action="store_true", help="others compute here: times are void")
    parser.add_argument(
        "--parameters",
        type=json.loads,
        default={},
        help='of NCLRegressor, as JSON, such as {"basis__subspace": 1}',
    )
    parser.add_argument("--retime", action="store_true", help="repeat pieces whose times are void")
    return parser


def measure(options: argparse.Namespace, source: Source) -> None:
    """Compute and store what the file of results has not yet."""
    pieces = [
        Piece(name, seed, fold, method)
        for seed in options.seeds
        for name in options.sets
        for method in options.methods
        for fold in range(FOLDS)
    ]
    left = missing(pieces, options.out, options.retime)
    print(f"{len(pieces) - len(left)} of {len(pieces)} pieces are there already", flush=True)
    failed = run(left, source, options.out, options.jobs, not options.busy, options.parameters)
    if failed:
        raise SystemExit(f"{failed} pieces failed; start again to try them once more")


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = new_parser(__doc__.splitlines()[0], SETS, Path("benchmarks/results/accuracy.jsonl"))
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    measure(options, partial(arrays, home=options.data))


if __name__ == "__main__":
    main()
