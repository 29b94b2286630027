"""Random numbers in the form of the paper's files, and pieces that tell when they are run.

Files are plain CSVs with the columns and sizes of the registry: what a user's own copies are, so
that other processes read them too. Pieces stand here because other processes must import them.
"""

import contextlib
import dataclasses
import itertools
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from negcorr.datasets import DATASETS, info
from negcorr.paper.figures import table1
from negcorr.paper.setup import Setup, Size
from negcorr.paper.study import Study

#: Everything at a size that takes milliseconds.
SIZE = Size(n_features=12, widths=(2, 3, 4), width=3, max_rows=40, repeats=3)

#: Deep networks at such a size: what ``DeepSize`` is made of.
DEEP_SIZE = {"members": 3, "depths": (1, 2), "stops": (1, 2), "probes": 2, "steps": 2}

#: Files of a home; the first has thousands of rows, the last two have several targets.
SETS = ("kinematics", "machine", "wisconsin", "housing", "triazines", "slump", "andromeda")

#: What is not in a home.
ABSENT = tuple(name for name in DATASETS if name not in SETS)


def write_set(folder, name, seed=0):
    """A file of random inputs and noisy waves of them."""
    entry = info(name)
    rng = np.random.default_rng([seed, *name.encode()])
    X = rng.normal(size=(entry.n_samples, entry.n_features)) * 3.0 + 5.0
    waves = np.sin(X @ rng.normal(size=(entry.n_features, entry.n_targets)) / 5.0)
    return write_columns(folder, name, X, waves + 0.3 * rng.normal(size=waves.shape))


def write_columns(folder, name, X, Y):
    entry = info(name)
    names = [f"x{j}" for j in range(entry.n_features)] + list(entry.target_names)
    path = Path(folder) / f"{name}.csv"
    rows = np.hstack([X, Y.reshape(len(X), -1)])
    np.savetxt(path, rows, "%.9g", ",", header=",".join(names), comments="", encoding="utf-8")
    return path


def write_home(folder, names=SETS):
    """A folder with such files."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names:
        write_set(folder, name)
    return Path(folder)


def toy_setup(**changes):
    """Settings at toy size; those of the size by their names, too."""
    size = {key: changes.pop(key) for key in list(changes) if hasattr(SIZE, key)}
    return Setup(**{"size": dataclasses.replace(SIZE, **size), **changes})


def toy_study(home, sets=("machine", "slump"), **settings):
    """A study of few sets at toy size; settings of the setup by their names, too."""
    fields = {field.name for field in dataclasses.fields(Study)}
    setup = {key: settings.pop(key) for key in list(settings) if key not in fields}
    return Study(**{"setup": toy_setup(**setup), "data_home": home, "sets": sets, **settings})


@contextlib.contextmanager
def tiny_deep():
    """Quick runs of this process train deep networks of toy size in this block (needs torch)."""
    from negcorr.paper import deep_training

    whole = deep_training.QUICK_DEEP
    deep_training._rate.cache_clear()
    deep_training.QUICK_DEEP = deep_training.DeepSize(**DEEP_SIZE)
    try:
        yield deep_training
    finally:
        deep_training.QUICK_DEEP = whole
        deep_training._rate.cache_clear()


def contents(folder):
    """Bytes of every file below a folder, by its path in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


# ---------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------

#: Columns of Table 1, protocol by protocol.
COMBINATIONS = tuple(itertools.product(("paper", "printed"), ("sure", "kfold")))


def table1_rows(errors=None, lams=None, sets=None, kfold=1.0):
    """A Table 1 of the paper's own numbers, but for some errors, some λ, and one ratio."""
    paper = table1.paper_values()
    rows = []
    for name in paper.index if sets is None else sets:
        for (protocol, criterion), fold in itertools.product(COMBINATIONS, range(5)):
            error = (errors or {}).get(name, paper.loc[name, "sure_error"])
            lam = (lams or {}).get(name, paper.loc[name, "sure_lam"])
            rows.append(
                {
                    "set": name,
                    "protocol": protocol,
                    "criterion": criterion,
                    "fold": fold,
                    "output": 0,
                    "lam": lam,
                    "test_error": error * (kfold if criterion == "kfold" else 1.0),
                }
            )
    return pd.DataFrame(rows)


def table1_times(sure=1.0, kfold=2.0, refits=80.0, sets=("slump", "machine")):
    """Seconds that grow from fold to fold; refits have one fold."""
    return pd.DataFrame(
        [
            {"set": name, "method": method, "fold": fold, "seconds": seconds * (1 + 0.1 * fold)}
            for name in sets
            for method, seconds in {"sure": sure, "kfold": kfold, "refits": refits}.items()
            for fold in range(1 if method == "refits" else 3)
        ]
    )


#: Epochs and λ of hand-made tables of deep networks.
EPOCHS = (100, 1000)
LAMS = (0.0, 0.25, 0.5, 0.75, 1.0)


def deep_rows(sets, depths=(3, 5), epochs=EPOCHS, lams=LAMS, folds=5, n_train=100, **columns):
    """A table of deep networks whose columns are functions of set, depth, fold, epoch and λ."""
    rows = []
    for name, depth, fold, epoch, lam in itertools.product(
        sets, depths, range(folds), epochs, lams
    ):
        row = {"set": name, "depth": depth, "fold": fold, "epoch": epoch, "lam": lam}
        row |= {"rate": 0.01, "n_train": n_train, "trained_on": "an abacus (torch 0)"}
        row |= {key: value(name, depth, fold, epoch, lam) for key, value in columns.items()}
        rows.append(row)
    return pd.DataFrame(rows)


# ---------------------------------------------------------------------------------------
# Pieces: functions of a setup, a home and a choice, as a study runs them
# ---------------------------------------------------------------------------------------


def noted(setup, data_home, label, notes):
    """Two rows, and a file for each call."""
    _note(notes, label)
    return [{"label": label, "k": k, "value": label / 3.0 + k + setup.seed} for k in range(2)]


def after_others(setup, data_home, label, notes):
    """Rows of label 0 come when those of all others have come."""
    deadline = time.monotonic() + 60.0
    while label == 0 and len(calls(notes)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    if label == 0:
        time.sleep(1.0)  # what is noted is not delivered yet
    return noted(setup, data_home, label, notes)


def failing(setup, data_home, label, notes):
    """Fails for label 1 until there is a file ``mended``."""
    if label == 1 and not (Path(notes) / "mended").exists():
        raise ZeroDivisionError("label 1 cannot be computed")
    return noted(setup, data_home, label, notes)


def calls(notes):
    """Labels for which a piece was run, sorted, one for each call."""
    return sorted(int(path.name.split("-")[1]) for path in Path(notes).glob("call-*"))


def _note(notes, label):
    (Path(notes) / f"call-{label}-{os.getpid()}-{time.monotonic_ns()}").touch()
