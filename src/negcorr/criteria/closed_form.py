"""Closed-form criteria, which need only the training error and the degrees of freedom.

They are functions of arrays that broadcast: training errors ``(..., outputs)`` with dof
``(..., 1)`` or ``(...)``. Held-out errors are in :mod:`negcorr.criteria.kfold` and
:mod:`negcorr.criteria.leave_one_out`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from negcorr._common.arrays import NUMPY, Place, is_device_array, place_of
from negcorr._common.types import FloatArray

__all__ = ["aic", "aicc", "bic", "by_name", "gcv", "mallows_cp", "sure"]


#: Residual degrees of freedom below this share of n count as rounding: the fit interpolates.
NOTHING_LEFT = 1e-10


def sure(
    train_error: npt.ArrayLike,
    dof: npt.ArrayLike,
    n_samples: float,
    noise_variance: npt.ArrayLike,
) -> FloatArray:
    r"""Stein's unbiased risk estimate (Definition 2).

    :math:`R_\mathrm{emp} + \sigma^2(2\,\mathrm{df}/n - 1)`: it estimates the error against the
    noise-free μ *at the training inputs*. A held-out error is larger by σ², and by more if new
    inputs are outside the range of the training inputs.

    Examples
    --------
    >>> from negcorr.criteria.closed_form import sure
    >>> round(float(sure(train_error=0.5, dof=10, n_samples=100, noise_variance=1.0)), 6)
    -0.3
    """
    place = _common_place(train_error, dof)
    error, df, variance = (place.floats(x) for x in (train_error, dof, noise_variance))
    return place.xp.asarray(error + variance * (2.0 * df / n_samples - 1.0))


def gcv(
    train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float, inflation: float = 1.0
) -> FloatArray:
    r"""Generalised cross-validation, :math:`R_\mathrm{emp} / (1 - f\,\mathrm{df}/n)^2`.

    ``inflation`` f above 1 (1.4 is customary) guards against its tendency to overfit. Infinite
    where f·dof ≥ n.

    Examples
    --------
    >>> from negcorr.criteria.closed_form import gcv
    >>> float(gcv(train_error=0.81, dof=10, n_samples=100))
    1.0
    """
    if not (np.isfinite(inflation) and inflation > 0):
        raise ValueError(f"inflation={inflation!r} must be a finite number greater than 0.")
    place = _common_place(train_error, dof)
    left = 1.0 - inflation * place.floats(dof) / n_samples
    enough = left > NOTHING_LEFT
    score = place.floats(train_error) / place.xp.where(enough, left, 1.0) ** 2
    return place.xp.asarray(place.xp.where(enough, score, np.inf))


def aic(train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float) -> FloatArray:
    """Akaike's criterion for Gaussian noise, n·log(R_emp) + 2(dof + 1); the 1 is for σ².

    Examples
    --------
    >>> from negcorr.criteria.closed_form import aic
    >>> float(aic(train_error=1.0, dof=4, n_samples=100))
    10.0
    """
    place = _common_place(train_error, dof)
    deviance = _deviance(place, train_error, n_samples)
    return place.xp.asarray(deviance + 2.0 * (place.floats(dof) + 1.0))


def aicc(train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float) -> FloatArray:
    """AIC with the correction for small samples; infinite where dof + 2 ≥ n.

    Examples
    --------
    >>> from negcorr.criteria.closed_form import aicc
    >>> float(aicc(train_error=1.0, dof=4, n_samples=16))
    16.0
    """
    place = _common_place(train_error, dof)
    k = place.floats(dof) + 1.0
    left = n_samples - k - 1.0
    enough = left > NOTHING_LEFT * n_samples
    correction = 2.0 * k * (k + 1.0) / place.xp.where(enough, left, 1.0)
    # An interpolating fit must never have the smallest value.
    value = aic(train_error, dof, n_samples) + correction
    return place.xp.asarray(place.xp.where(enough, value, np.inf))


def bic(train_error: npt.ArrayLike, dof: npt.ArrayLike, n_samples: float) -> FloatArray:
    """Schwarz's criterion, n·log(R_emp) + log(n)·(dof + 1).

    Examples
    --------
    >>> from negcorr.criteria.closed_form import bic
    >>> round(float(bic(train_error=1.0, dof=4, n_samples=100)), 4)
    23.0259
    """
    place = _common_place(train_error, dof)
    penalty = float(np.log(n_samples)) * (place.floats(dof) + 1.0)
    return place.xp.asarray(_deviance(place, train_error, n_samples) + penalty)


def mallows_cp(
    train_error: npt.ArrayLike,
    dof: npt.ArrayLike,
    n_samples: float,
    noise_variance: npt.ArrayLike,
) -> FloatArray:
    """Mallows' C_p, RSS/σ² − n + 2·dof: SURE in units of σ²/n.

    Examples
    --------
    >>> from negcorr.criteria.closed_form import mallows_cp
    >>> float(mallows_cp(train_error=0.5, dof=10, n_samples=100, noise_variance=1.0))
    -30.0
    """
    place = _common_place(train_error, dof)
    error, df, variance = (place.floats(x) for x in (train_error, dof, noise_variance))
    return place.xp.asarray(n_samples * error / variance - n_samples + 2.0 * df)


def by_name(
    name: str, train_error: Any, dof: Any, n_samples: float, noise_variance: Any
) -> FloatArray:
    """The criterion of that name; two of them use the noise variance.

    Examples
    --------
    >>> from negcorr.criteria.closed_form import by_name
    >>> float(by_name("cp", 0.5, 10, 100, 1.0))
    -30.0
    """
    if name == "sure":
        return sure(train_error, dof, n_samples, noise_variance)
    if name == "cp":
        return mallows_cp(train_error, dof, n_samples, noise_variance)
    others = {"gcv": gcv, "aic": aic, "aicc": aicc, "bic": bic}
    return others[name](train_error, dof, n_samples)


def _common_place(*values: Any) -> Place:
    """The library and device of the arrays among the values."""
    return next((place_of(value) for value in values if is_device_array(value)), NUMPY)


def _deviance(place: Place, train_error: npt.ArrayLike, n_samples: float) -> Any:
    """n·log(R_emp), −inf for a fit without error."""
    with np.errstate(divide="ignore"):
        return n_samples * place.xp.log(place.floats(train_error))
