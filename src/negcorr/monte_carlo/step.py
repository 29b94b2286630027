"""The step of the finite differences: chosen from the noise, checked by a second one."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_array

from negcorr._typing import FloatArray, Table
from negcorr.monte_carlo.refits import Refit
from negcorr.noise import difference_noise_variance

__all__ = ["StepCheck", "check_steps", "choose_step", "noise_scale"]

#: Rows among which neighbours are looked for; a step needs no more precision.
MOST_NEIGHBOUR_ROWS = 2000

#: The second step as a share of the first.
SECOND_STEP = 0.5

#: How far the two may differ, in standard errors of the estimate.
AGREEMENT = 2.0

#: The same for one probe, which has no standard error: as a share of its value.
AGREEMENT_OF_ONE = 0.25


@dataclass(frozen=True)
class StepCheck:
    """The same probes with a second step.

    Attributes
    ----------
    eps : float or ndarray of shape (outputs,)
        The second step.
    dof : float or ndarray of shape (outputs,)
        Mean over the probes that were repeated, with the second step.
    difference : float or ndarray of shape (outputs,)
        Mean of first minus second.
    std_error : float or ndarray of shape (outputs,)
        Standard error of that mean; NaN for one probe.
    agree : bool
        Whether the difference is covered by the estimate's own standard error, twice.
    n_probes : int
        How many probes were repeated.
    """

    eps: float | FloatArray
    dof: float | FloatArray
    difference: float | FloatArray
    std_error: float | FloatArray
    agree: bool
    n_probes: int

    def squeezed(self) -> StepCheck:
        """With scalars in place of arrays of one output."""
        names = ("eps", "dof", "difference", "std_error")
        scalars: dict[str, Any] = {n: float(np.squeeze(getattr(self, n))) for n in names}
        return replace(self, **scalars)


def choose_step(eps: Any, refit: Refit) -> FloatArray:
    r"""The step for every output, shape (outputs,).

    ``"auto"`` is Deledalle's rule :math:`2\hat\sigma/n^{0.3}`, with σ from
    :func:`noise_scale`.
    """
    outputs = refit.y.shape[1]
    if isinstance(eps, str):
        if eps != "auto":
            raise ValueError(f"eps={eps!r} is unknown; allowed are 'auto' and positive numbers.")
        return np.asarray(2.0 * noise_scale(refit) / len(refit.y) ** 0.3)
    if isinstance(eps, bool) or not isinstance(eps, (numbers.Real, np.ndarray, list, tuple)):
        raise TypeError(f"eps={eps!r} must be 'auto' or positive numbers.")
    step = np.asarray(eps, dtype=np.float64)
    if step.shape not in ((), (outputs,)):
        raise ValueError(f"eps={eps!r} must be one number or one for each of {outputs} outputs.")
    if not (np.isfinite(step) & (step > 0)).all():
        raise ValueError(f"eps={eps!r} must be greater than 0 and finite.")
    return np.broadcast_to(step, (outputs,)).astype(np.float64)


def noise_scale(refit: Refit) -> FloatArray:
    """A scale of the noise in every output, shape (outputs,), above 0.

    From differences between nearest neighbours where X is a table of finite numbers; else, or
    where that finds no noise, the standard deviation of y; for constant y its size, or 1.
    """
    spread = refit.y.std(axis=0)
    size = np.abs(refit.y).max(axis=0)
    fallback = np.where(spread > 1e-12 * size, spread, np.where(size > 0, 1e-3 * size, 1.0))
    rows = _numbers(refit.X)
    if rows is None:
        return np.asarray(fallback)
    used = np.arange(len(rows))
    if refit.weight is not None:
        used = np.flatnonzero(refit.weight > 0)
    if len(used) > MOST_NEIGHBOUR_ROWS:
        used = np.sort(np.random.default_rng(0).permutation(used)[:MOST_NEIGHBOUR_ROWS])
    if len(np.unique(rows[used], axis=0)) < 2:
        return np.asarray(fallback)
    weight = None if refit.weight is None else refit.weight[used]
    noise = np.sqrt(difference_noise_variance(rows[used], refit.y[used], weight))
    return np.asarray(np.where(noise > 1e-9 * fallback, np.minimum(noise, fallback), fallback))


def _numbers(X: Table) -> FloatArray | None:
    """X as finite numbers, at most as many rows as are looked at; None if it is not."""
    try:
        # A few rows tell what kind of table it is, before all of it is converted.
        check_array(_safe_indexing(X, slice(0, 2)), dtype=np.float64, ensure_min_samples=1)
        return np.asarray(check_array(X, dtype=np.float64))
    except (TypeError, ValueError):
        return None


def check_steps(
    probes: FloatArray, second: FloatArray, error: FloatArray, rounding: FloatArray, eps: FloatArray
) -> StepCheck:
    """Compare the values of the same probes with two steps.

    Parameters
    ----------
    probes : ndarray of shape (probes, outputs)
        Values of all probes with the first step.
    second : ndarray of shape (repeated, outputs)
        Those of the first few with the second step.
    error, rounding : ndarray of shape (outputs,)
        Standard error of the mean of all probes, and what rounding can add to one value.
    eps : ndarray of shape (outputs,)
        The second step.

    Notes
    -----
    The directions are the same, so for a smooth fit the two values of a probe differ by
    curvature alone. What counts is whether the choice of the step moves the estimate by more
    than the error that is reported with it.
    """
    repeated = len(second)
    first = probes[:repeated]
    difference = first - second
    mean = difference.mean(axis=0)
    spread = difference.std(axis=0, ddof=1) if repeated > 1 else np.full(mean.shape, np.nan)
    size = np.abs(first).mean(axis=0)
    allowed = np.where(np.isnan(error), AGREEMENT_OF_ONE * size, AGREEMENT * error)
    slack = 10.0 * rounding + 1e-9 * size
    return StepCheck(
        eps=eps,
        dof=second.mean(axis=0),
        difference=mean,
        std_error=spread / np.sqrt(repeated),
        agree=bool((np.abs(mean) <= allowed + slack).all()),
        n_probes=repeated,
    )
