"""Figures of predictions on held-out rows, in the target's units, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.types import AnyArray, BoolArray, FloatArray

__all__ = ["Figures", "held_out_figures", "mean_and_error", "paired_difference"]


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
        error = guesses[:, k] - targets[:, k]
        inside = None
        if interval is not None:
            low, high = interval.reshape(len(y), 2, -1)[:, :, k].T
            inside = (low <= targets[:, k]) & (targets[:, k] <= high)
        found.append(_figures(name, error, targets[:, k], inside, share, groups))
    return tuple(found)


def mean_and_error(
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
    >>> from negcorr.tables.held_out_errors import mean_and_error
    >>> mean, error = mean_and_error(np.array([1.0, 3.0]))
    >>> mean, round(error, 6)
    (2.0, 1.0)
    """
    share = np.ones(len(values)) if weight is None else weight
    mean = float(np.average(values, weights=share))
    if groups is not None:
        return mean, _jackknife(values, share, groups)
    used = int(np.count_nonzero(share))
    if used < 2:
        return mean, float("nan")
    spread = np.sqrt(np.sum((share * (values - mean)) ** 2)) / share.sum()
    return mean, float(spread * np.sqrt(used / (used - 1)))


def paired_difference(
    ours: FloatArray,
    theirs: FloatArray,
    weight: FloatArray | None = None,
    groups: AnyArray | None = None,
) -> tuple[float, float]:
    """Mean difference of losses on the same rows, and its standard error."""
    return mean_and_error(ours - theirs, weight, groups)


def _figures(
    name: str,
    error: FloatArray,
    y: FloatArray,
    inside: BoolArray | None,
    weight: FloatArray,
    groups: Any,
) -> Figures:
    mse, mse_se = mean_and_error(error**2, weight, groups)
    mae, mae_se = mean_and_error(np.abs(error), weight, groups)
    rmse = float(np.sqrt(mse))
    if groups is None:
        rmse_se = mse_se / (2.0 * rmse) if rmse > 0 else 0.0
    else:
        rmse_se = _jackknife(error**2, weight, groups, root=True)
    spread = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
    return Figures(
        output=name,
        n_rows=len(error),
        rmse=rmse,
        rmse_se=float(rmse_se),
        mae=mae,
        mae_se=mae_se,
        r2=1.0 - mse / spread if spread > 0 else float("nan"),
        coverage=float("nan") if inside is None else float(np.average(inside, weights=weight)),
    )


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
    # Rounding may leave a little less than nothing where all errors are zero.
    means = np.sqrt(np.maximum(means, 0.0)) if root else means
    return float(np.sqrt((n_groups - 1) / n_groups * np.sum((means - means.mean()) ** 2)))
