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
    target = refit.target
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
    # Outputs in their own units cannot be averaged; for one output the unit stays. Constant
    # outputs, which every point fits, are left out.
    units = np.ones(1)
    if not refit.single_output:
        mean = np.average(refit.y, axis=0, weights=refit.weight)
        units = np.average((refit.y - mean) ** 2, axis=0, weights=refit.weight)
        units[units <= 1e-24 * mean**2] = np.inf if (units > 1e-24 * mean**2).any() else 1.0
    nan = np.full(len(units), np.nan)
    failed = np.array([isinstance(point, Exception) for point in points])
    known = [
        GridPoint(nan, nan, nan, "failed", 0, np.nan) if isinstance(point, Exception) else point
        for point in points
    ]
    per_output = {
        name: np.array([getattr(point, name) for point in known])
        for name in ("train_error", "dof", "dof_std_error")
    }
    n = refit.n_samples
    risk = sure(per_output["train_error"], per_output["dof"], n, variance)
    spread = 2.0 * variance / n * per_output["dof_std_error"] / units
    scores = np.mean(risk / units, axis=1)
    scores[failed] = np.nan if penalty is None else penalty
    results: dict[str, Any] = {"params": grid}
    for name in sorted({key for params in grid for key in params}):
        column: Any = np.ma.MaskedArray(np.empty(len(grid), dtype=object), mask=True)
        for i, params in enumerate(grid):
            if name in params:
                column[i] = params[name]
        results[f"param_{name}"] = column
    results["sure"] = scores
    results["sure_std_error"] = np.sqrt(np.sum(spread**2, axis=1)) / len(units)
    # Tables have no third axis: columns are numbered where there are several outputs.
    for name, array in per_output.items():
        for j, column in enumerate(array.T):
            results[name if len(units) == 1 else f"{name}_{j}"] = column
    results["method"] = np.array([point.method for point in known])
    results["n_fits"] = np.array([point.n_fits for point in known])
    results["fit_time"] = np.array([point.seconds for point in known])
    ranked = np.where(np.isnan(scores), np.inf, scores)
    results["rank_sure"] = np.searchsorted(np.sort(ranked), ranked).astype(np.int32) + 1
    results["mean_test_score"] = -scores
    results["rank_test_score"] = results["rank_sure"]
    return results
