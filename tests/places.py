"""Array libraries and devices that tests of the array API run on, and models compared across them.

Libraries are imported when a place is asked for: not all are installed everywhere.
"""

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from negcorr._common.arrays import is_device_array, place_of, to_host

#: Library and device of every place; ``device1`` refuses whatever was made elsewhere, so that what
#: runs there runs on the pretended CPU of that library too.
NAMES = {
    "torch": ("torch", "cpu"),
    "torch-cuda": ("torch", "cuda"),
    "cupy": ("cupy", None),
    "strict": ("array_api_strict", "device1"),
    "strict-cpu": ("array_api_strict", "CPU_DEVICE"),
}

#: Small ensembles.
SMALL = {"n_members": 8, "n_components": 5, "basis": "fourier"}

#: What a fitted model has for every output.
PER_OUTPUT = ("lam_", "gap_", "dof_", "noise_variance_", "intercept_")


@dataclass(frozen=True)
class Somewhere:
    """A library and a device."""

    name: str
    xp: Any
    device: Any

    def put(self, values, dtype=np.float64):
        """Numbers from home, here."""
        values = np.array(values, dtype=dtype)
        if self.device is None:
            return self.xp.asarray(values)
        return self.xp.asarray(values, device=self.device)

    def has(self, values):
        """Whether an array is here."""
        return is_device_array(values) and place_of(values) == place_of(self.put([0.0]))


def missing(name):
    """Why there is no such place here, or None."""
    module, device = NAMES[name]
    if importlib.util.find_spec(module) is None:
        return f"{module} is not installed"
    if device == "cuda" and not importlib.import_module(module).cuda.is_available():
        return f"{module} sees no CUDA device"
    return None


def somewhere(name):
    """The place of this name, or skip."""
    module, device = NAMES[name]
    if reason := missing(name):
        pytest.skip(reason)
    xp = importlib.import_module(module)
    if module == "array_api_strict":
        device = xp.Device(device)
    return Somewhere(name, xp, device)


def problem(n=120, d=4, outputs=None, seed=0):
    """Noisy waves of normal inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1.0, 3.0, d) + 2.0
    y = np.sin(X[:, 0]) + 0.5 * X[:, -1] + 0.3 * rng.normal(size=n)
    if outputs is None:
        return X, y
    return X, np.column_stack([y, *(np.cos(k * y) for k in range(1, outputs))])


def apart(one, other):
    """Largest difference between arrays from anywhere, by their size."""
    one, other = to_host(one), to_host(other)
    assert one.shape == other.shape
    return np.max(np.abs(one - other), initial=0.0) / max(
        np.max(np.abs(other), initial=0.0), 1e-300
    )


def assert_agrees(there, home, place, X, rtol=1e-9):
    """That a model on a device says what the one in NumPy does."""
    np.testing.assert_array_equal(to_host(there.lam_), home.lam_)
    np.testing.assert_array_equal(to_host(there.gap_), home.gap_)
    for name in (*PER_OUTPUT, "coef_"):
        assert apart(getattr(there, name), getattr(home, name)) <= rtol, name
    inputs = place.put(X)
    means = (there.predict(inputs, return_std=True), home.predict(X, return_std=True))
    for one, other in zip(*means, strict=True):
        assert place.has(one)
        assert apart(one, other) <= rtol
    assert apart(there.predict(inputs), home.predict(X)) <= rtol
    assert apart(there.predict_members(inputs), home.predict_members(X)) <= rtol
    assert apart(there.predict_interval(inputs, 0.8), home.predict_interval(X, 0.8)) <= rtol
