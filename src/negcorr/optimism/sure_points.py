"""SURE at the points of a grid of parameters, and the table of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from negcorr._common.types import FloatArray
from negcorr.criteria.closed_form import sure
from negcorr.dof.common_seeds import seeded
from negcorr.dof.degrees import closed_form
from negcorr.dof.monte_carlo.estimate import monte_carlo_dof
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.exceptions import NotLinearError
from negcorr.optimism.scores import training_error

__all__ = ["GridPoint", "at_point", "results_table", "score_point"]


@dataclass(frozen=True)
class GridPoint:
    """What one point of a grid gave.

    Attributes
    ----------
    train_error, dof, dof_std_error : ndarray of shape (outputs,)
    method : str
        "exact", "monte-carlo" or "failed".
    n_fits : int
    seconds : float
    """

    train_error: FloatArray
    dof: FloatArray
    dof_std_error: FloatArray
    method: str
    n_fits: int
    seconds: float


def at_point(estimator: Any, params: dict[str, Any]) -> Any:
    """A clone with the parameters of a point."""
    # Values are cloned too: an estimator in the grid must not be shared between points.
    return clone(estimator).set_params(**clone(params, safe=False))


def score_point(
    estimator: Any,
    params: dict[str, Any],
    refit: Refit,
    method: str,
    options: dict[str, Any],
    seed: int,
) -> GridPoint | Exception:
    """Training error and dof at one point; what went wrong, if it did."""
    start = time.perf_counter()
    target = refit.y[:, 0] if refit.single_output else refit.y
    try:
        point = seeded(at_point(estimator, params), seed)
        here = Refit.of(point, refit.X, target, refit.weight, "shared")
        if method != "monte-carlo":
            try:
                smoother = closed_form(here, seed)
            except NotLinearError:
                if method == "exact":
                    raise
            else:
                error = training_error(smoother.predict(refit.X), target, refit.weight)
                exact = np.zeros(len(error))
                seconds = time.perf_counter() - start
                return GridPoint(error, smoother.dof, exact, "exact", 1, seconds)
        run = monte_carlo_dof(point, refit.X, target, sample_weight=refit.weight, **options)
        fitted, extra = run.fitted, 0
        if fitted is None:
            fitted, extra = here(refit.y, seed), 1
        error = training_error(fitted, target, refit.weight)
    except Exception as failure:
        return failure
    return GridPoint(
        train_error=error,
        dof=np.atleast_1d(run.dof),
        dof_std_error=np.atleast_1d(run.std_error),
        method="monte-carlo",
        n_fits=run.n_fits + extra,
        seconds=time.perf_counter() - start,
    )


def results_table(
    grid: list[dict[str, Any]],
    points: list[GridPoint | Exception],
    refit: Refit,
    variance: FloatArray,
    penalty: float | None,
) -> dict[str, Any]:
    """The points as columns, in the manner of GridSearchCV's ``cv_results_``."""
    n = float(len(refit.y)) if refit.weight is None else float(refit.weight.sum())
    # Outputs in their own units cannot be averaged; for one output the unit stays. Constant
    # outputs, which every point fits, have no say.
    units = np.ones(1)
    if not refit.single_output:
        mean = np.average(refit.y, axis=0, weights=refit.weight)
        units = np.average((refit.y - mean) ** 2, axis=0, weights=refit.weight)
        units[units <= 1e-24 * mean**2] = np.inf if (units > 1e-24 * mean**2).any() else 1.0
    rows = [_row(point, n, variance, units, penalty) for point in points]
    results: dict[str, Any] = {"params": grid}
    for name in sorted({key for params in grid for key in params}):
        column: Any = np.ma.MaskedArray(np.empty(len(grid), dtype=object), mask=True)
        for i, params in enumerate(grid):
            if name in params:
                column[i] = params[name]
        results[f"param_{name}"] = column
    for name in rows[0]:
        results[name] = np.array([row[name] for row in rows])
    ranked = np.where(np.isnan(results["sure"]), np.inf, results["sure"])
    results["rank_sure"] = np.searchsorted(np.sort(ranked), ranked).astype(np.int32) + 1
    results["mean_test_score"] = -results["sure"]
    results["rank_test_score"] = results["rank_sure"]
    return results


def _row(
    point: GridPoint | Exception,
    n: float,
    variance: FloatArray,
    units: FloatArray,
    penalty: float | None,
) -> dict[str, Any]:
    if isinstance(point, Exception):
        nan = np.full(len(units), np.nan)
        row = _row(GridPoint(nan, nan, nan, "failed", 0, np.nan), n, variance, units, penalty)
        return {**row, "sure": penalty}
    spread = 2.0 * variance / n * point.dof_std_error / units
    per_output = {
        "train_error": point.train_error,
        "dof": point.dof,
        "dof_std_error": point.dof_std_error,
    }
    return {
        "sure": float(np.mean(sure(point.train_error, point.dof, n, variance) / units)),
        "sure_std_error": float(np.sqrt(np.sum(spread**2)) / len(units)),
        **_by_output(per_output),
        "method": point.method,
        "n_fits": point.n_fits,
        "fit_time": point.seconds,
    }


def _by_output(values: dict[str, FloatArray]) -> dict[str, float]:
    """A column for every output, numbered where there are several: tables have no third axis."""
    return {
        name if len(array) == 1 else f"{name}_{j}": float(number)
        for name, array in values.items()
        for j, number in enumerate(array)
    }
