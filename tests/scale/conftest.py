"""Rows that all tests of scale read, and the fit in memory that theirs must equal."""

import threading

import numpy as np
import pandas as pd
import pytest
from models import ncl


@pytest.fixture(scope="session")
def small():
    return {"n_members": 6, "n_components": 4, "basis": "fourier"}


@pytest.fixture(scope="session")
def rows():
    """Inputs, targets and frequencies, zeros among them."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(240, 3)) * [1.0, 5.0, 0.2] + [0.0, 100.0, -3.0]
    waves = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.4 * rng.normal(size=240)
    return X, waves, rng.integers(0, 4, size=240).astype(float)


@pytest.fixture(scope="session")
def in_memory(rows, small):
    X, y, _ = rows
    return ncl(**small).fit(X, y)


@pytest.fixture(scope="session")
def same():
    return assert_same


def assert_same(model, expected, X):
    """The same λ, degrees of freedom and predictions, for rows named as those of the fit."""
    np.testing.assert_allclose(model.gap_, expected.gap_, rtol=1e-9)
    np.testing.assert_allclose(model.dof_, expected.dof_, rtol=1e-9)
    found, wanted = (each.predict(_named(X, each)) for each in (model, expected))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    assert model.path_.spectrum.weight == pytest.approx(expected.path_.spectrum.weight, rel=1e-12)


def _named(X, model):
    names = getattr(model, "feature_names_in_", None)
    if names is None or hasattr(X, "columns"):
        return X
    return pd.DataFrame(X, columns=names)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not [t for t in threading.enumerate() if t.name == "negcorr-read-ahead"]
