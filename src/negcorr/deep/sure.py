"""The choice of λ by Monte-Carlo SURE, from training errors and degrees of freedom of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from negcorr._common.types import BoolArray, FloatArray
from negcorr.criteria import closed_form as criteria
from negcorr.criteria.noise import difference_noise_variance
from negcorr.deep.fitted import LamTable
from negcorr.deep.grid import GridFit
from negcorr.exceptions import ChaoticTrainingWarning, NoiseVarianceWarning, warn_caller

__all__ = ["lam_table", "noise_variance_of"]

#: Residual degrees of freedom as shares of the number of rows. From the first share on, the noise
#: is estimated from residuals. Below the second share networks interpolate: residuals are not used.
TRUSTED, INTERPOLATES = 0.5, 0.1


def lam_table(
    fit: GridFit, X: FloatArray, Y: FloatArray, noise_variance: Any, criterion: str = "sure"
) -> LamTable:
    """Criteria at every λ, and the λ where the chosen one is smallest.

    Parameters
    ----------
    fit : GridFit
        Trained ensembles.
    X : ndarray of shape (n, d)
        Inputs, for the estimate of the noise from differences.
    Y : ndarray of shape (n, p)
        Targets, in the units that ``fit`` was trained in.
    noise_variance : ndarray of shape (p,), "paper", "difference" or None
        σ² for SURE, in the same units; see :func:`noise_variance_of`.
    criterion : {"sure", "gcv"}, default="sure"
        What chooses λ; summed over outputs.
    """
    n = len(Y)
    error, dof = fit.train_error, fit.dof
    credible = credible_lams(fit, n)
    variance = noise_variance_of(fit, X, Y, noise_variance)
    sure = criteria.sure(error, dof.dof, n, variance)
    gcv = criteria.gcv(error, dof.dof, n)
    chosen = 0
    if len(error) > 1:
        known = np.flatnonzero(credible)
        if not len(known):
            raise ValueError(
                "no λ has degrees of freedom between 0 and the number of rows, by which one could "
                "be chosen: training diverged or is chaotic. Give a lower learning_rate, or a "
                "number for lam."
            )
        score = (sure if criterion == "sure" else gcv).sum(axis=1)
        # Only among credible estimates: gcv is infinite elsewhere, and may be at all of them.
        chosen = int(known[np.argmin(score[known])])
    lams = fit.copies.lams.numpy()
    impossible = np.isfinite(error + dof.dof).all(axis=1) & ~credible
    if impossible.any():
        listed = ", ".join(f"{lam:g}" for lam in lams[impossible])
        warn_caller(
            f"degrees of freedom at lam={listed} are not between 0 and the {n} rows, not even "
            "within their error: training is chaotic there, and how it follows the targets is "
            "noise. Such values of λ are not chosen. Give a lower learning_rate, or fewer epochs.",
            ChaoticTrainingWarning,
        )
    return LamTable(lams, error, dof.dof, dof.std_error, sure, gcv, variance, chosen)


def credible_lams(fit: GridFit, n: int) -> BoolArray:
    """Where degrees of freedom are finite, and between 0 and n within two standard errors.

    One probe has no standard error: the error of a fit of n degrees of freedom is taken.
    """
    dof, error = fit.dof.dof, fit.dof.std_error
    slack = 2.0 * np.where(np.isfinite(error), error, np.sqrt(2.0 * n))
    possible = (dof >= -slack) & (dof <= n + slack) & np.isfinite(fit.train_error)
    return np.asarray(possible.all(axis=1))


def noise_variance_of(
    fit: GridFit, X: FloatArray, Y: FloatArray, noise_variance: Any
) -> FloatArray:
    """σ² of every output.

    Residual sums of squares over n minus the degrees of freedom are too large where an ensemble is
    biased. The paper takes them at λ = 0 (Section 7), where deep ensembles can be biased by more
    than the noise; "paper" does the same here. None takes the smallest over all λ that leave at
    least half of the rows to the residuals. Where the smallest λ leaves hardly any, the networks
    interpolate: differences between neighbours are taken instead, with a warning.
    """
    n, n_outputs = Y.shape
    if noise_variance is not None and not isinstance(noise_variance, str):
        return np.asarray(np.broadcast_to(noise_variance, n_outputs), dtype=np.float64)
    if noise_variance == "difference":
        return np.atleast_1d(difference_noise_variance(X, Y))
    if fit.copies.n_probes == 0:
        return np.full(n_outputs, np.nan)
    dof = np.clip(fit.dof.dof, 0.0, n)
    known = np.flatnonzero(credible_lams(fit, n))
    if not len(known):
        return np.full(n_outputs, np.nan)
    lams = fit.copies.lams.numpy()
    first = known[int(np.argmin(lams[known]))]
    if bool((n - dof[first] < INTERPOLATES * n).any()):
        warn_caller(
            f"networks interpolate {n} rows with {np.max(dof[first]):.0f} degrees of freedom at "
            f"lam={lams[first]:g}: residuals do not show the noise. Its variance is estimated "
            "from differences between neighbours instead. Give noise_variance, or fewer "
            "max_epochs.",
            NoiseVarianceWarning,
        )
        return np.atleast_1d(difference_noise_variance(X, Y))
    at_first = n * fit.train_error[first] / (n - dof[first])
    if noise_variance == "paper":
        return np.asarray(at_first)
    left = n - dof[known]
    estimates = n * fit.train_error[known] / np.where(left > 0, left, np.nan)
    trusted = np.where(left >= TRUSTED * n, estimates, np.inf).min(axis=0)
    return np.asarray(np.where(np.isfinite(trusted), trusted, at_first))
