"""Criteria that need only the training error and the degrees of freedom.

All are pure functions of arrays that broadcast: training errors ``(..., outputs)`` with dof
``(..., 1)`` or ``(...)``. Those that compare with new inputs, :mod:`negcorr.kfold` and
:mod:`negcorr.loo`, have modules of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from negcorr._typing import FloatArray

__all__ = ["aic", "aicc", "bic", "gcv", "mallows_cp", "sure"]


#: Shares of n below this are rounding of dof = n.
NOTHING_LEFT = 1e-10


def sure(
    train_error: npt.ArrayLike,
    dof: npt.ArrayLike,
    n_samples: float,
    noise_variance: npt.ArrayLike,
) -> FloatArray:
    r"""Stein's unbiased risk estimate (Definition 2).

    :math:`R_\mathrm{emp} + \sigma^2(2\,\mathrm{df}/n - 1)`: it estimates the error against the
    noise-free μ *at the training inputs*. A held-out error is larger by σ², and by more where
    new inputs leave the training cloud.

    Examples
    --------
    >>> from negcorr.criteria import sure
    >>> round(float(sure(train_error=0.5, dof=10, n_samples=100, noise_variance=1.0)), 6)
    -0.3
    """
    error, df = np.asarray(train_error), np.asarray(dof)
    return np.asarray(error + np.asarray(noise_variance) * (2.0 * df / n_samples - 1.0))


def gcv(
    train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float, inflation: float = 1.0
) -> FloatArray:
    r"""Generalised cross-validation, :math:`R_\mathrm{emp} / (1 - f\,\mathrm{df}/n)^2`.

    ``inflation`` f above 1 (1.4 is customary) guards against its tendency to overfit. Infinite
    where f·dof ≥ n.

    Examples
    --------
    >>> from negcorr.criteria import gcv
    >>> float(gcv(train_error=0.81, dof=10, n_samples=100))
    1.0
    """
    if not (np.isfinite(inflation) and inflation > 0):
        raise ValueError(f"inflation={inflation!r} must be a finite number greater than 0.")
    error = np.asarray(train_error, dtype=np.float64)
    left = 1.0 - inflation * np.asarray(dof, dtype=np.float64) / n_samples
    error, left = np.broadcast_arrays(error, left)
    score = np.full(error.shape, np.inf)
    np.divide(error, left**2, out=score, where=left > NOTHING_LEFT)
    return score


def aic(train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float) -> FloatArray:
    """Akaike's criterion for Gaussian noise, n·log(R_emp) + 2(dof + 1); the 1 is for σ².

    Examples
    --------
    >>> from negcorr.criteria import aic
    >>> float(aic(train_error=1.0, dof=4, n_samples=100))
    10.0
    """
    return np.asarray(_deviance(train_error, n_samples) + 2.0 * (np.asarray(dof) + 1.0))


def aicc(train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float) -> FloatArray:
    """AIC with the correction for small samples; infinite where dof + 2 ≥ n.

    Examples
    --------
    >>> from negcorr.criteria import aicc
    >>> float(aicc(train_error=1.0, dof=4, n_samples=16))
    16.0
    """
    k = np.asarray(dof, dtype=np.float64) + 1.0
    left = n_samples - k - 1.0
    correction = np.divide(2.0 * k * (k + 1.0), left, out=np.full(k.shape, np.inf), where=left > 0)
    # −inf + inf (an interpolating fit without freedom left) must read as "not this one".
    with np.errstate(invalid="ignore"):
        value = aic(train_error, dof, n_samples) + correction
    return np.asarray(np.where(np.isnan(value), np.inf, value))


def bic(train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float) -> FloatArray:
    """Schwarz's criterion, n·log(R_emp) + log(n)·(dof + 1).

    Examples
    --------
    >>> from negcorr.criteria import bic
    >>> round(float(bic(train_error=1.0, dof=4, n_samples=100)), 4)
    23.0259
    """
    k = np.asarray(dof) + 1.0
    return np.asarray(_deviance(train_error, n_samples) + np.log(n_samples) * k)


def mallows_cp(
    train_error: npt.ArrayLike,
    dof: npt.ArrayLike,
    n_samples: float,
    noise_variance: npt.ArrayLike,
) -> FloatArray:
    """Mallows' C_p, RSS/σ² − n + 2·dof: SURE in units of σ²/n.

    Examples
    --------
    >>> from negcorr.criteria import mallows_cp
    >>> float(mallows_cp(train_error=0.5, dof=10, n_samples=100, noise_variance=1.0))
    -30.0
    """
    error = np.asarray(train_error)
    return np.asarray(
        n_samples * error / np.asarray(noise_variance) - n_samples + 2.0 * np.asarray(dof)
    )


def _deviance(train_error: npt.ArrayLike, n_samples: float) -> FloatArray:
    """n·log(R_emp), −inf for a fit without error."""
    with np.errstate(divide="ignore"):
        return np.asarray(n_samples * np.log(np.asarray(train_error, dtype=np.float64)))
