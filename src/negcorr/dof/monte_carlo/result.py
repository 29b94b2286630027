"""The result of a Monte-Carlo run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr._common.number_text import with_error
from negcorr._common.types import FloatArray
from negcorr.dof.monte_carlo.step_size import StepCheck

__all__ = ["MonteCarloDof", "mean_and_error"]


@dataclass(frozen=True, repr=False)
class MonteCarloDof:
    """Degrees of freedom with a standard error.

    Attributes
    ----------
    dof : float or ndarray of shape (outputs,)
        Mean over probes.
    std_error : float or ndarray of shape (outputs,)
        Its standard error: the spread between probes, from their values or from the size of
        their responses, whichever is larger, over √probes, and what rounding of the fitted
        values can add. NaN for one probe, which has no spread.
    values : ndarray of shape (probes,) or (probes, outputs)
        The estimate of each probe; their mean is ``dof``.
    eps : float or ndarray of shape (outputs,)
        Step by which targets were moved, in their own units.
    n_fits : int
        Number of fits, including those that check the step and linearity.
    n_samples : int
        Rows.
    probe : str
        Distribution of the entries of a probe.
    scheme : str
        Finite difference; once a fit is found to be linear, one-sided ones are used.
    linear : bool or None
        Whether the fit is linear in y, as tested or declared; None if neither was done.
    n_deflated : int
        Number of directions whose part of dof is computed exactly, without probes.
    step_check : StepCheck or None
        The comparison with a second step, made for ``eps="auto"``.
    fitted : ndarray of shape (n,) or (n, outputs), or None
        Fitted values for the targets as given, where one such fit serves all probes.
    """

    dof: float | FloatArray
    std_error: float | FloatArray
    values: FloatArray
    eps: float | FloatArray
    n_fits: int
    n_samples: int
    probe: str
    scheme: str
    linear: bool | None = None
    n_deflated: int = 0
    step_check: StepCheck | None = None
    fitted: FloatArray | None = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(dof={with_error(self.dof, self.std_error)}, "
            f"n_probes={len(self.values)}, n_fits={self.n_fits}, n_samples={self.n_samples})"
        )


def mean_and_error(
    values: FloatArray, rounding: FloatArray, other_variance: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Mean over probes and its standard error, both of shape (outputs,).

    Parameters
    ----------
    values, rounding : ndarray of shape (probes, outputs)
        One value for each probe, and what rounding can add to it.
    other_variance : ndarray of shape (outputs,), optional
        Another estimate of the variance of a value; the larger counts.
    """
    n_probes = len(values)
    mean = values.mean(axis=0)
    if n_probes == 1:
        return mean, np.full(mean.shape, np.nan)
    variance = values.var(axis=0, ddof=1)
    if other_variance is not None:
        variance = np.maximum(variance, other_variance)
    # Rounding need not average out: targets of few digits are rounded alike in every fit.
    return mean, np.sqrt(variance / n_probes + (rounding**2).mean(axis=0))
