"""Random regression problems with random settings of an estimator, many of them awkward."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import PolynomialFeatures

from negcorr import ContentKFold, NCLRegressor
from negcorr.bases import (
    AutoBasis,
    BlockFeatures,
    FourierFeatures,
    KernelFeatures,
    LinearFeatures,
    NestedFeatures,
    NystroemFeatures,
    TreeFeatures,
)

__all__ = ["KINDS", "Problem", "random_problem"]

#: What is awkward about the rows, and its share of the cases.
KINDS = {
    "plain": 0.16,
    "rounded": 0.12,
    "repeated rows": 0.1,
    "constant columns": 0.1,
    "dependent columns": 0.1,
    "integers": 0.1,
    "heavy tails": 0.08,
    "far from zero": 0.06,
    "units": 0.12,
    "extreme targets": 0.03,
    "no noise": 0.03,
}

#: The search for a basis takes most of the time of a case: it is rare, and its tables are small.
SHARE_OF_SEARCHES = 0.08
ROWS_OF_SEARCHES = 120

#: Leave-one-out takes time that grows with the square of the rows.
ROWS_OF_LOO = 60


@dataclass(frozen=True)
class Problem:
    """Rows and an unfitted estimator.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    X : ndarray of shape (n, d)
        Of float64 or float32.
    y : ndarray of shape (n,) or (n, outputs)
    weight : ndarray of shape (n,) or None
    model : NCLRegressor
    """

    kind: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    model: NCLRegressor

    def fitted(self, **parameters: Any) -> NCLRegressor:
        """A new estimator, with some parameters changed, fitted to the rows."""
        model = NCLRegressor(**self.model.get_params(deep=False)).set_params(**parameters)
        return model.fit(self.X, self.y, sample_weight=self.weight)

    def changed(self, **fields: Any) -> Problem:
        return replace(self, **fields)

    @property
    def of_weight(self) -> np.ndarray:
        """Numbers of the rows that count."""
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviation of every target, of shape (outputs,); of a constant one its size."""
        y = self.y.reshape(len(self.y), -1)[self.of_weight]
        weight = None if self.weight is None else self.weight[self.of_weight]
        size = np.max(np.abs(y), axis=0)  # divided out: squares of large targets overflow
        size = np.where(size > 0, size, 1.0)
        unit = y / size
        mean = np.average(unit, axis=0, weights=weight)
        spread = np.sqrt(np.average((unit - mean) ** 2, axis=0, weights=weight))
        return np.where(spread > 1e-15, spread, 1.0) * size

    def rounding(self, values: np.ndarray) -> float:
        """What predictions of this size, of targets of theirs, may differ by for rounding alone."""
        eps = np.finfo(values.dtype).eps
        return float(8 * (eps * np.max(np.abs(values)) + 2e-16 * np.max(np.abs(self.y))))


def random_problem(rng: np.random.Generator) -> Problem:
    """A problem and settings, all drawn from one generator."""
    kind = str(rng.choice(list(KINDS), p=np.array(list(KINDS.values())) / sum(KINDS.values())))
    searches = rng.random() < SHARE_OF_SEARCHES
    largest = ROWS_OF_SEARCHES if searches else 400
    n = round(float(np.exp(rng.uniform(np.log(2), np.log(largest)))))
    X = _columns(rng, kind, n)
    y = _targets(rng, kind, X)
    if kind == "units":
        X = X * 10.0 ** rng.uniform(-12, 12, size=X.shape[1])
        y = y * 10.0 ** rng.uniform(-12, 12)
    if kind == "extreme targets":
        y = y * 10.0 ** rng.choice([-300, -160, -150, -140, -40, 40, 140, 149, 151, 300])
    if kind == "repeated rows":
        again = rng.integers(n, size=n)
        X, y = X[again], y[again]
    weight = _weights(rng, n)
    if rng.random() < (0.4 if kind == "extreme targets" else 0.1):
        X = X.astype(np.float32)
    return Problem(kind, X, y, weight, _model(rng, kind, X, y, searches))


def _columns(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    d = int(rng.choice([1, 2, 3, 5, 8, 20], p=[0.15, 0.2, 0.2, 0.2, 0.2, 0.05]))
    X = rng.normal(size=(n, d)) if rng.random() < 0.6 else rng.uniform(size=(n, d))
    if kind == "rounded":
        X = np.round(X, int(rng.integers(0, 2)))
    if kind == "integers":
        X = rng.integers(0, rng.integers(2, 12, size=d), size=(n, d)).astype(float)
    if kind == "heavy tails":
        X = rng.standard_t(1, size=(n, d))
    if kind == "far from zero":
        X = X + 10.0 ** rng.uniform(2, 7)
    if kind == "constant columns":
        constant = rng.random(d) < 0.5
        X[:, constant] = rng.choice([0.0, 0.1, 1.0, -7.3, 1e9], size=int(constant.sum()))
    if kind == "dependent columns":
        noise = rng.choice([0.0, 1e-14, 1e-10, 1e-6])
        other = X @ rng.normal(size=(d, 1)) if rng.random() < 0.5 else X[:, :1]
        X = np.hstack([X, other + noise * rng.normal(size=(n, 1))])
    return X


def _targets(rng: np.random.Generator, kind: str, X: np.ndarray) -> np.ndarray:
    outputs = int(rng.choice([1, 2, 3], p=[0.8, 0.12, 0.08]))
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    signal = np.sin(Z @ rng.normal(size=(X.shape[1], outputs))) + 0.3 * Z[:, :1] ** 2
    noise = 0.0 if kind == "no noise" else rng.choice([1e-6, 0.1, 0.5, 3.0])
    y = signal + noise * rng.normal(size=signal.shape)
    if kind == "heavy tails":
        y = y + 0.3 * rng.standard_t(1.5, size=y.shape)
    if kind in ("rounded", "integers") and rng.random() < 0.5:
        y = np.round(y)
    if kind == "far from zero":
        y = y + 10.0 ** rng.uniform(1, 6)
    if kind == "constant columns" and rng.random() < 0.1:
        y = np.full_like(y, 2.5)
    return y[:, 0] if outputs == 1 and rng.random() < 0.9 else y


def _weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    draw = rng.random()
    if draw < 0.6:
        return None
    if draw < 0.8:
        weight = rng.integers(0, 4, size=n).astype(float)
    elif draw < 0.9:
        weight = rng.uniform(0.2, 2.0, size=n)
    else:
        weight = rng.exponential(size=n) * (rng.random(n) < 0.8)
    weight[rng.choice(n, size=2, replace=False)] = 1.0
    return weight


def _basis(rng: np.random.Generator, d: int, searches: bool) -> Any:
    m, h = int(rng.integers(2, 16)), int(rng.integers(1, 9))
    inputs = str(rng.choice(["standard", "clip", "rank", "none"], p=[0.5, 0.2, 0.2, 0.1]))
    if searches:
        one = str(rng.choice(["kernel", "fourier", "trees"]))
        closed = {"kernels": "rbf", "inputs": "standard", "relevance": False, "subspace": 1.0}
        whole = rng.random() < 0.5
        given = {} if whole else {"bases": one, **closed}
        return AutoBasis(**given, n_members=m, n_components=h)
    name = str(
        rng.choice(
            ["fourier", "kernel", "nystroem", "linear", "trees", "given", "nested"],
            p=[0.28, 0.2, 0.12, 0.15, 0.15, 0.06, 0.04],
        )
    )
    kernel = str(rng.choice(["rbf", "laplacian", "cauchy"]))
    subspace = float(rng.choice([1.0, 0.5]))
    if name == "fourier":
        gamma = "kwok-tsang" if rng.random() < 0.7 else float(10.0 ** rng.uniform(-3, 2))
        given = {"gamma": gamma, "kernel": kernel, "inputs": inputs, "subspace": subspace}
        return FourierFeatures(m, h, orthogonal=bool(rng.random() < 0.3), **given)
    if name in ("kernel", "nystroem"):
        of = KernelFeatures if name == "kernel" else NystroemFeatures
        return of(m, h, kernel=kernel, inputs=inputs, subspace=subspace)
    if name in ("linear", "trees"):
        return {"linear": LinearFeatures, "trees": TreeFeatures}[name](m, h, inputs=inputs)
    if name == "given":
        powers = [PolynomialFeatures(k, include_bias=False) for k in range(1, 3 if d < 6 else 2)]
        return BlockFeatures(powers, inputs=inputs)
    parts = [FourierFeatures(3, 2, random_state=1), KernelFeatures(3, 2, random_state=2)]
    return NestedFeatures(parts, gaps=[0.5, float(10.0 ** rng.uniform(-4, 0))])


def _model(
    rng: np.random.Generator, kind: str, X: np.ndarray, y: np.ndarray, searches: bool
) -> NCLRegressor:
    n, d = X.shape
    names = ["kfold", "sure", "gcv", "aic", "aicc", "bic", "cp", "loo"]
    share = np.array([0.5, 0.1, 0.08, 0.06, 0.05, 0.05, 0.06, 0.1])
    if n > ROWS_OF_LOO or searches:
        share[-1] = 0.0
    given: dict[str, Any] = {
        "basis": _basis(rng, d, searches),
        "criterion": str(rng.choice(names, p=share / share.sum())),
        "fit_intercept": bool(rng.random() < 0.85),
        "solver": str(rng.choice(["auto", "gram", "qr"], p=[0.7, 0.15, 0.15])),
    }
    draw = rng.random()
    if draw < 0.1:
        given["lam"] = float(rng.choice([0.0, 0.5, 1.0]))
    elif draw < 0.25:
        given["lam"] = float(rng.uniform())
    elif draw < 0.5:
        given["gap"] = float(10.0 ** rng.uniform(-20, 0))
    if rng.random() < 0.25 and not searches:
        given["alpha"] = float(rng.choice([0.0, 1e-8, 1e-3, 1.0, 10.0]))
    draw = rng.random()
    if draw < 0.15:
        given["cv"] = int(rng.choice([2, 3, 10]))
    elif draw < 0.2:
        given["cv"] = ContentKFold(4, seed=3, inputs_only=True)
    elif draw < 0.25:
        given["cv"] = KFold(3, shuffle=True, random_state=0)
    if rng.random() < 0.12:
        given["loss"] = "huber" if rng.random() < 0.5 else 2.0
    if given["criterion"] in ("sure", "cp") and kind != "extreme targets" and rng.random() < 0.5:
        given["noise_variance"] = "difference" if rng.random() < 0.5 else float(np.var(y) / 4)
    return NCLRegressor(**given)
