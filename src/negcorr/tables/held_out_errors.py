"""Figures of predictions on held-out rows, in the target's units, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.number_text import mean_and_error
from negcorr._common.types import AnyArray, FloatArray

__all__ = ["Figures", "held_out_figures", "held_out_mean"]


@dataclass(frozen=True)
class Figures:
    """How well one output is predicted on held-out rows.

    Attributes
    ----------
    output : str
        Name of the target.
    n_rows : int
        Held-out rows.
    rmse, rmse_se : float
        Root mean squared error, and its standard error by the delta method, or by leaving out one
        group at a time.
    mae, mae_se : float
        Mean absolute error, likewise.
    r2 : float
        Share of the variance of the held-out targets that is explained.
    coverage : float
        Share of the targets in their 95 % interval; NaN where there are no intervals.
    """

    output: str
    n_rows: int
    rmse: float
    rmse_se: float
    mae: float
    mae_se: float
    r2: float
    coverage: float


def held_out_figures(
    y: FloatArray,
    predicted: FloatArray,
    names: tuple[str, ...],
    *,
    interval: FloatArray | None = None,
    weight: FloatArray | None = None,
    groups: AnyArray | None = None,
) -> tuple[Figures, ...]:
    """Figures of each output.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,) or (n, outputs)
        Targets and their predictions.
    names : tuple of str
        Names of the outputs.
    interval : ndarray of shape (n, 2) or (n, 2, outputs), optional
        Lower and upper ends.
    weight : ndarray of shape (n,), optional
        Frequencies.
    groups : ndarray of shape (n,), optional
        Groups whose errors belong together. Rows in order of time are taken as independent.

    Returns
    -------
    tuple of Figures

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.tables import held_out_figures
    >>> y, predicted = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 1.5, 3.5, 3.5])
    >>> figures = held_out_figures(y, predicted, ("y",))[0]
    >>> figures.rmse, figures.mae, figures.r2
    (0.5, 0.5, 0.8)
    """
    targets, guesses = y.reshape(len(y), -1), predicted.reshape(len(y), -1)
    share = np.ones(len(y)) if weight is None else weight
    found = []
    for k, name in enumerate(names):
        target = targets[:, k]
        error = guesses[:, k] - target
        mse, mse_se = held_out_mean(error**2, share, groups)
        mae, mae_se = held_out_mean(np.abs(error), share, groups)
        rmse = float(np.sqrt(mse))
        rmse_se = mse_se / (2.0 * rmse) if rmse > 0 else 0.0
        if groups is not None:
            rmse_se = _jackknife(error**2, share, groups, root=True)
        variance = np.average((target - np.average(target, weights=share)) ** 2, weights=share)
        coverage = float("nan")
        if interval is not None:
            low, high = interval.reshape(len(y), 2, -1)[:, :, k].T
            coverage = float(np.average((low <= target) & (target <= high), weights=share))
        r2 = 1.0 - mse / float(variance) if variance > 0 else float("nan")
        found.append(Figures(name, len(y), rmse, rmse_se, mae, mae_se, r2, coverage))
    return tuple(found)


def held_out_mean(
    values: FloatArray, weight: FloatArray | None = None, groups: AnyArray | None = None
) -> tuple[float, float]:
    """A weighted mean and its standard error.

    Parameters
    ----------
    values : ndarray of shape (n,)
    weight : ndarray of shape (n,), optional
    groups : ndarray of shape (n,), optional
        The standard error is then that of leaving out one group at a time.

    Returns
    -------
    mean, std_error : float
        The latter NaN for one row, or one group.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.tables.held_out_errors import held_out_mean
    >>> mean, error = held_out_mean(np.array([1.0, 3.0]))
    >>> mean, round(error, 6)
    (2.0, 1.0)
    """
    weight = np.ones(len(values)) if weight is None else weight
    mean, error = mean_and_error(values, weight)
    return float(mean), float(error) if groups is None else _jackknife(values, weight, groups)


def _jackknife(values: FloatArray, weight: FloatArray, groups: Any, root: bool = False) -> float:
    """Standard error of a mean, or of its root, from leaving out one group at a time."""
    _, number = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    mass = np.bincount(number, weights=weight)
    sums = np.bincount(number, weights=weight * values)
    mass, sums = mass[mass > 0], sums[mass > 0]
    n_groups = len(mass)
    if n_groups < 2:
        return float("nan")
    means = (sums.sum() - sums) / (mass.sum() - mass)
    # Rounding may give a small negative number where all errors are zero.
    means = np.sqrt(np.maximum(means, 0.0)) if root else means
    return float(np.sqrt((n_groups - 1) / n_groups * np.sum((means - means.mean()) ** 2)))
