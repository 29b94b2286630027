"""Intervals keep their promise: new targets are covered about as often as asked."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from models import ncl
from sklearn.model_selection import KFold

from negcorr.exceptions import NegcorrWarning

DATA = Path(os.environ.get("NEGCORR_DATA", Path(__file__).parents[3] / "shared" / "data"))


def smooth(rng, n):
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2], 0.3 * rng.normal(size=n)


def rough(rng, n):
    X = rng.uniform(-1, 1, size=(n, 3))
    mean = np.sign(X[:, 0]) + np.sign(np.sin(9 * X[:, 1])) * np.abs(X[:, 2])
    return X, mean, 0.3 * rng.normal(size=n)


def heavy_tailed_inputs(rng, n):
    X = rng.standard_t(2.5, size=(n, 3))
    return X, np.arctan(X).sum(axis=1), 0.3 * rng.normal(size=n)


def heteroscedastic(rng, n):
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1], (0.1 + np.abs(X[:, 2])) * rng.normal(size=n)


@pytest.mark.parametrize("design", [smooth, rough, heavy_tailed_inputs, heteroscedastic])
def test_simulated_designs_are_covered_as_asked(design):
    covered = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, mean, noise = design(rng, 300 + 2000)
        y = mean + noise
        model = ncl(40, 8, random_state=seed).fit(X[:300], y[:300])
        lower, upper = model.predict_interval(X[300:]).T
        covered.append(np.mean((y[300:] >= lower) & (y[300:] <= upper)))
    # A single training set of 300 misses by about 1.3 %; the mean of 25 by a quarter of that.
    assert 0.93 <= np.mean(covered) <= 0.97


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the data sets are not at {DATA}")
def test_data_sets_of_the_paper_are_covered_as_asked():
    coverage = {}
    entries = json.loads((DATA / "datasets.json").read_text())
    for entry in entries:
        if not entry.get("file") or not (DATA / entry["file"]).exists():
            continue
        frame = pd.read_csv(DATA / entry["file"])
        Y = frame[entry["targets"]].to_numpy(dtype=float)
        X = pd.get_dummies(frame.drop(columns=entry["targets"])).to_numpy(dtype=float)
        coverage[entry["name"]] = np.mean(
            [
                _covered(X[train], Y[train], X[test], Y[test])
                for train, test in KFold(5, shuffle=True, random_state=0).split(X)
            ]
        )
    assert len(coverage) == 19
    assert 0.93 <= np.mean(list(coverage.values())) <= 0.97
    assert min(coverage.values()) >= 0.88, coverage


def _covered(X, Y, X_test, Y_test):
    with warnings.catch_warnings():
        # Tiny or noise-free targets ask for lam = 1, or have too few residuals: not the point.
        warnings.simplefilter("ignore", NegcorrWarning)
        interval = ncl(40, 8).fit(X, Y).predict_interval(X_test)
    return np.mean((Y_test >= interval[:, 0]) & (Y_test <= interval[:, 1]))
