"""The step of the finite differences: chosen from the noise, checked by a second one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from negcorr._common.types import FloatArray
from negcorr._common.validation import check_per_output
from negcorr.criteria.noise import neighbour_differences
from negcorr.dof.monte_carlo.probe_variance import sample_deviation
from negcorr.dof.monte_carlo.refits import Refit

__all__ = ["StepCheck", "check_steps", "choose_step", "noise_scale"]

#: Rows among which neighbours are looked for; a step needs no more precision.
MOST_NEIGHBOUR_ROWS = 2000

#: Median of |d| over σ for the difference d of two targets with Gaussian noise.
MEDIAN_DIFFERENCE = 0.6745 * np.sqrt(2.0)

#: Smallest step in units of the targets' last place: below it moved targets are too coarse.
COARSEST = 2.0**10

#: The second step as a share of the first.
SECOND_STEP = 0.5

#: Largest difference of the two means, in standard errors of the estimate.
AGREEMENT = 2.0

#: Largest distance of the two values of one probe, in standard deviations between probes.
UNRELATED = 1.0

#: Accepted differences of the mean, and of single values, as shares of the value.
SMALL_SHIFT, SMALL_JUMP = 0.02, 0.1

#: As AGREEMENT, for one probe, which has no standard error: a share of its value.
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
        Whether the difference is at most twice the standard error of a mean over as many
        probes, and the two values of a probe differ by less than the values of two probes.
    n_probes : int
        How many probes were repeated.
    """

    eps: float | FloatArray
    dof: float | FloatArray
    difference: float | FloatArray
    std_error: float | FloatArray
    agree: bool
    n_probes: int


def choose_step(eps: Any, refit: Refit) -> FloatArray:
    r"""The step for every output, shape (outputs,).

    ``"auto"`` is Deledalle's rule :math:`2\hat\sigma/n^{0.3}`, with σ from
    :func:`noise_scale`.
    """
    if not isinstance(eps, str):
        allowed, limits = "'auto' or positive numbers", "greater than 0 and finite"
        step = check_per_output("eps", eps, refit.y.shape[1], allowed, limits)
    elif eps == "auto":
        step = 2.0 * noise_scale(refit) / len(refit.y) ** 0.3
    else:
        raise ValueError(f"eps={eps!r} is unknown; allowed are 'auto' and positive numbers.")
    finest = COARSEST * np.spacing(np.abs(refit.y).max(axis=0))
    if (step < finest).any():
        raise ValueError(
            f"eps={eps!r} means a step of {step.min():.3g}, too small for targets as large as "
            f"{np.abs(refit.y).max():.3g}: moved targets would be rounded. Use at least "
            f"{finest.max():.3g}, or subtract a constant from y."
        )
    return step


def noise_scale(refit: Refit) -> FloatArray:
    """A scale of the noise in every output, shape (outputs,), above 0.

    From the median difference between nearest neighbours, which does not depend on single rows,
    where X is a data frame or a table of finite numbers. Otherwise, or where no noise is found, the
    standard deviation of y; for constant y its size, or 1.
    """
    used = np.arange(len(refit.y)) if refit.weight is None else np.flatnonzero(refit.weight > 0)
    size = np.abs(refit.y[used]).max(axis=0)
    unit = np.where(size > 0, size, 1.0)
    target = refit.y[used] / unit
    # Spreads of a few units in the last place are rounding.
    spread = target.std(axis=0)
    spread = np.where(spread > 1e-14, spread, np.where(size > 0, 1e-3, 1.0))
    if len(used) > MOST_NEIGHBOUR_ROWS:
        kept = np.sort(np.random.default_rng(0).permutation(len(used))[:MOST_NEIGHBOUR_ROWS])
        used, target = used[kept], target[kept]
    try:
        # Some sparse formats cannot be indexed.
        is_sparse = sp.issparse(refit.X)
        rows = sp.csr_array(refit.X)[used] if is_sparse else _safe_indexing(refit.X, used)
        differences = np.abs(neighbour_differences(rows, target)[0])
    except (TypeError, ValueError):
        # Not a table of finite numbers, or all rows equal: there are no neighbours.
        return np.asarray(unit * spread)
    noise = np.median(differences, axis=0) / MEDIAN_DIFFERENCE
    return np.asarray(unit * np.where(noise > 1e-9 * spread, np.minimum(noise, spread), spread))


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
    curvature alone. They disagree if the step changes their mean by more than the random error
    of the probes, or changes single values as much: then the fit has jumps, others in each step.
    """
    repeated = len(second)
    first = probes[:repeated]
    difference = first - second
    mean = difference.mean(axis=0)
    size = np.abs(first).mean(axis=0)
    # The error of a mean over as many probes as were repeated.
    error = error * np.sqrt(len(probes) / repeated)
    allowed = np.where(np.isnan(error), AGREEMENT_OF_ONE * size, AGREEMENT * error)
    slack = 10.0 * rounding + 1e-9 * size
    apart = np.sqrt((difference**2).mean(axis=0))
    between = probes.std(axis=0, ddof=1) if len(probes) > 1 else np.full(mean.shape, np.inf)
    # Differences of a few percent are accepted, even if the spread is very small.
    agree = np.abs(mean) <= np.maximum(allowed, SMALL_SHIFT * size) + slack
    agree &= apart <= np.maximum(UNRELATED * between, SMALL_JUMP * size) + slack
    spread = sample_deviation(difference) / np.sqrt(repeated)
    return StepCheck(eps, second.mean(axis=0), mean, spread, bool(agree.all()), repeated)
