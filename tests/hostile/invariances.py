"""What must not change a fit, or must change it in a known way."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl
from hostile.attempts import Attempt, attempt, differences
from hostile.random_problems import Problem
from sklearn.base import clone
from sklearn.model_selection import KFold

from negcorr import ContentKFold, NCLRegressor
from negcorr.bases import AutoBasis
from negcorr.exceptions import UntrustedModelError
from negcorr.storage import load, save

__all__ = ["INVARIANCES", "Invariance"]

#: Predictions may differ by this share of the target's spread where rounding differs.
TOLERANCE = 1e-6

#: Products resolve each mode to 1e-7 (negcorr.path.path.TRUSTED_ERROR), and so their sum to this.
DOF_BY_PRODUCTS = 1e-6

#: Rows that are predicted alone.
ALONE = 6

Check = Callable[[Problem, Attempt, np.random.Generator, Path], list[str]]


@dataclass(frozen=True)
class Invariance:
    """One property.

    Attributes
    ----------
    name : str
    applies : callable
        Whether a problem can have it.
    faults : callable
        Takes the problem, its fit, a generator and an empty folder.
    """

    name: str
    applies: Callable[[Problem], bool]
    faults: Check


def _same(problem: Problem, fit: Attempt, make: Callable[[], Any], **more: Any) -> list[str]:
    """Differences of another fit, unless one of the two warns of its numbers."""
    other = attempt(make)
    if other.faults or other.refusal:
        return [*other.faults, *([f"refused: {other.refusal}"] if other.refusal else [])]
    if fit.warned or other.warned:
        return []
    return differences(problem, fit.value, other.value, tolerance=TOLERANCE, **more)


#: Share of M of a mode that products of features still have: they square what features resolve.
RESOLVED_BY_PRODUCTS = 1e-11


def _same_bits(problem: Problem, one: Any, other: Any) -> list[str]:
    faults = differences(problem, one, other, tolerance=0.0)
    if not np.array_equal(one.predict(problem.X), other.predict(problem.X)):
        faults.append("predictions differ in their last bits")
    return faults


def _order(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    order = rng.permutation(len(problem.y))
    weight = None if problem.weight is None else problem.weight[order]
    moved = problem.changed(X=problem.X[order], y=problem.y[order], weight=weight)
    return _same(problem, fit, moved.fitted)


def _repeats(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    weight = problem.weight
    if weight is None or (weight != np.round(weight)).any():
        weight = rng.integers(0, 4, size=len(problem.y)).astype(float)
        weight[:2] = 1.0
        problem = problem.changed(weight=weight)
        fit = attempt(problem.fitted)
        if fit.value is None:
            return list(fit.faults)
    times = weight.astype(int)
    repeated = problem.changed(
        X=np.repeat(problem.X, times, axis=0), y=np.repeat(problem.y, times, axis=0), weight=None
    )
    return _same(problem, fit, repeated.fitted)


def _units(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    power = 2.0 ** int(rng.integers(-20, 20))
    factor = power if rng.random() < 0.5 else 10.0 ** rng.uniform(-6, 6)
    return _moved_target(problem, fit, factor, 0.0)


def _shift(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    return _moved_target(problem, fit, 1.0, float(rng.uniform(-100, 100)) * problem.scale)


def _moved_target(problem: Problem, fit: Attempt, factor: float, shift: Any) -> list[str]:
    """Targets y·factor + shift: the same model but for that."""
    model = problem.model
    if model.loss != "squared" or (model.gap is None and isinstance(model.lam, str)):
        # Folds by content follow the targets, those by inputs alone do not.
        changed = clone(model).set_params(cv=ContentKFold(4, inputs_only=True))
        problem = problem.changed(model=changed)
        fit = attempt(problem.fitted)
        if fit.value is None:
            return list(fit.faults)
    moved = problem.changed(y=problem.y * factor + shift)
    noise = problem.model.noise_variance
    if isinstance(noise, float):
        moved = moved.changed(
            model=clone(problem.model).set_params(noise_variance=noise * factor**2)
        )
    return _same(problem, fit, moved.fitted, factor=factor, shift=shift)


def _pickle(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    return _same_bits(problem, fit.value, pickle.loads(pickle.dumps(fit.value)))


def _save(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    file = save(fit.value, folder / "model.negcorr")
    try:
        loaded = load(file)
    except UntrustedModelError as error:
        loaded = load(file, trusted=error.types)
    faults = _same_bits(problem, fit.value, loaded)
    gap = float(10.0 ** rng.uniform(-8, 0))
    one, other = (model.with_lam(gap=gap).predict(problem.X) for model in (fit.value, loaded))
    if not np.array_equal(one, other):
        faults.append(f"predictions at gap {gap:.3g} differ")
    return faults


def _alone(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    batch = fit.value.predict(problem.X)
    if fit.warned:
        return []
    for row in rng.integers(len(batch), size=ALONE):
        alone = fit.value.predict(problem.X[row : row + 1])[0]
        off = np.max(np.abs(alone - batch[row]) / problem.scale)
        if not off <= TOLERANCE + np.max(problem.rounding(batch) / problem.scale):
            return [f"row {row} alone differs by {off:.2g} of the spread"]
    return []


def _threads(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        return _same(problem, fit, problem.fitted)


def _routes(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    other = "gram" if fit.value.path_.solver == "qr" else "qr"
    if not _resolved_by_products(fit.value):
        return list(attempt(lambda: problem.fitted(solver=other)).faults)
    return _same(problem, fit, lambda: problem.fitted(solver=other), dof=DOF_BY_PRODUCTS)


def _resolved_by_products(model: Any) -> bool:
    """Whether products of features, which streams add up, have all modes of a fit."""
    spectrum = model.path_.spectrum
    return bool((spectrum.rho > RESOLVED_BY_PRODUCTS * spectrum.n_members).all())


def _chunks(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    X, y, weight = problem.X, problem.y, problem.weight
    order = rng.permutation(len(y))
    borders = np.sort(rng.integers(1, len(y), size=2)) if len(y) > 2 else [1]

    def in_parts() -> Any:
        model = NCLRegressor(**problem.model.get_params(deep=False))
        model.draw(X, sample_weight=weight, y=y)
        for part in np.split(order, borders):
            if len(part):
                model.partial_fit(X[part], y[part], None if weight is None else weight[part])
        assert np.isfinite(model.dof_).all()
        return model

    if not _resolved_by_products(fit.value):
        return list(attempt(in_parts).faults)
    return _same(problem, fit, in_parts, dof=DOF_BY_PRODUCTS)


def _again(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    other = clone(fit.value).fit(problem.X, problem.y, sample_weight=problem.weight)
    return _same_bits(problem, fit.value, other)


def _with_lam(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    gap = float(10.0 ** rng.uniform(-12, 0)) if rng.random() < 0.9 else 0.0
    moved = attempt(lambda: fit.value.with_lam(gap=gap))
    if moved.value is None:
        return [*moved.faults, f"refused: {moved.refusal}"]
    known = attempt(lambda: moved.value.predict(problem.X))
    moved.warned |= known.warned
    return [*known.faults, *_same(problem, moved, lambda: problem.fitted(lam="auto", gap=gap))]


def _double(problem: Problem, fit: Attempt, rng: np.random.Generator, folder: Path) -> list[str]:
    return _same(problem, fit, problem.changed(X=problem.X.astype(np.float64)).fitted)


def _by_content(problem: Problem) -> bool:
    return not isinstance(problem.model.cv, KFold)


def _in_parts(problem: Problem) -> bool:
    model = problem.model
    asks_for_all = model.criterion == "loo" or model.noise_variance == "difference"
    return isinstance(model.cv, int) and model.loss == "squared" and not asks_for_all


def _always(problem: Problem) -> bool:
    return True


INVARIANCES = (
    Invariance("order of rows", _by_content, _order),
    Invariance("weights and repeated rows", _by_content, _repeats),
    Invariance("units of y", lambda p: p.kind != "extreme targets", _units),
    Invariance(
        "shift of y",
        lambda p: p.kind != "extreme targets" and p.model.fit_intercept,
        _shift,
    ),
    Invariance("pickle", _always, _pickle),
    Invariance("save and load", _always, _save),
    Invariance("rows alone", _always, _alone),
    Invariance("threads", _always, _threads),
    Invariance("routes", _always, _routes),
    Invariance("chunks", _in_parts, _chunks),
    Invariance("a second fit", _always, _again),
    Invariance(
        "another lam",
        lambda p: p.model.loss == "squared" and not isinstance(p.model.basis, AutoBasis),
        _with_lam,
    ),
    Invariance("single precision", lambda p: p.X.dtype == np.float32, _double),
)
