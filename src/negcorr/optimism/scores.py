"""Criteria of a fitted estimator from its training error and its degrees of freedom.

The functions of :mod:`negcorr.criteria.closed_form`, with the training error of a fitted model.
All are costs: lower is better. None of them uses held-out data, and SURE, C_p and GCV are about new
targets at the *training* inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_per_output, check_weight
from negcorr.criteria import closed_form as criteria
from negcorr.criteria.noise import difference_noise_variance
from negcorr.dof.closed_forms import outputs_of

__all__ = [
    "aic",
    "aicc",
    "bic",
    "check_noise_variance",
    "gcv_score",
    "mallows_cp",
    "sure_score",
    "training_error",
]


def sure_score(
    estimator: Any,
    X: Table,
    y: Any,
    dof: Any,
    *,
    noise_variance: Any = "difference",
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Stein's unbiased risk estimate of a fitted regressor (Definition 2).

    :math:`R_\mathrm{emp} + \sigma^2(2\,\mathrm{df}/n - 1)`, an estimate of the mean squared
    error against the noise-free function at the training inputs.

    Parameters
    ----------
    estimator : fitted regressor
        Fitted on the same X and y.
    X : table of shape (n, d)
        Training inputs.
    y : array-like of shape (n,) or (n, outputs)
        Training targets.
    dof : float, array-like of shape (outputs,), MonteCarloDof or DegreesOfFreedom
        Degrees of freedom.
    noise_variance : float, array-like of shape (outputs,) or "difference", default="difference"
        σ², or its estimate from differences of nearest neighbours.
    sample_weight : array-like of shape (n,), optional
        Frequencies; their sum takes the place of n.

    Returns
    -------
    float or ndarray of shape (outputs,)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from negcorr import degrees_of_freedom, sure_score
    >>> X, y = load_diabetes(return_X_y=True)
    >>> dof = degrees_of_freedom(Ridge(0.1), X, y)
    >>> round(sure_score(Ridge(0.1).fit(X, y), X, y, dof, noise_variance=2900.0), 1)
    103.8
    """
    variance = check_noise_variance(noise_variance, X, y, sample_weight)
    return _score(criteria.sure, estimator, X, y, dof, sample_weight, variance)


def mallows_cp(
    estimator: Any,
    X: Table,
    y: Any,
    dof: Any,
    *,
    noise_variance: Any = "difference",
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Mallows' C_p of a fitted regressor, :math:`\mathrm{RSS}/\sigma^2 - n + 2\,\mathrm{df}`.

    Parameters are those of :func:`sure_score`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from negcorr import degrees_of_freedom, mallows_cp
    >>> X, y = load_diabetes(return_X_y=True)
    >>> dof = degrees_of_freedom(Ridge(0.1), X, y)
    >>> round(mallows_cp(Ridge(0.1).fit(X, y), X, y, dof, noise_variance=2900.0), 1)
    15.8
    """
    variance = check_noise_variance(noise_variance, X, y, sample_weight, positive_for="C_p")
    return _score(criteria.mallows_cp, estimator, X, y, dof, sample_weight, variance)


def gcv_score(
    estimator: Any, X: Table, y: Any, dof: Any, *, inflation: float = 1.0, sample_weight: Any = None
) -> float | FloatArray:
    r"""Generalised cross-validation of a fitted regressor.

    :math:`R_\mathrm{emp}/(1 - f\,\mathrm{df}/n)^2` with the inflation f; infinite where
    f·dof ≥ n. Further parameters are those of :func:`sure_score`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from negcorr import degrees_of_freedom, gcv_score
    >>> X, y = load_diabetes(return_X_y=True)
    >>> dof = degrees_of_freedom(Ridge(0.1), X, y)
    >>> round(gcv_score(Ridge(0.1).fit(X, y), X, y, dof))
    3007
    """
    return _score(criteria.gcv, estimator, X, y, dof, sample_weight, inflation)


def aic(
    estimator: Any, X: Table, y: Any, dof: Any, *, sample_weight: Any = None
) -> float | FloatArray:
    """Akaike's criterion of a fitted regressor, for Gaussian noise of unknown variance.

    Parameters are those of :func:`sure_score`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from negcorr import aic
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(aic(LinearRegression().fit(X, y), X, y, dof=11), 1)
    3541.6
    """
    return _score(criteria.aic, estimator, X, y, dof, sample_weight)


def aicc(
    estimator: Any, X: Table, y: Any, dof: Any, *, sample_weight: Any = None
) -> float | FloatArray:
    """AIC with the correction for small samples; infinite where dof + 2 ≥ n.

    Parameters are those of :func:`sure_score`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from negcorr import aicc
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(aicc(LinearRegression().fit(X, y), X, y, dof=11), 1)
    3542.4
    """
    return _score(criteria.aicc, estimator, X, y, dof, sample_weight)


def bic(
    estimator: Any, X: Table, y: Any, dof: Any, *, sample_weight: Any = None
) -> float | FloatArray:
    """Schwarz's criterion of a fitted regressor.

    Parameters are those of :func:`sure_score`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from negcorr import bic
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(bic(LinearRegression().fit(X, y), X, y, dof=11), 1)
    3590.7
    """
    return _score(criteria.bic, estimator, X, y, dof, sample_weight)


def training_error(prediction: Any, y: Any, sample_weight: Any = None) -> FloatArray:
    """Weighted mean squared error at the training rows, shape (outputs,)."""
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    fitted = np.asarray(prediction, dtype=np.float64)
    # Predictions of one output may have shape (n,) or (n, 1).
    shapes = {fitted.shape, target.shape}
    if len(shapes) > 1 and shapes != {(len(target),), (len(target), 1)}:
        raise ValueError(f"predictions have shape {fitted.shape}, y has shape {target.shape}.")
    columns = target.reshape(len(target), -1)
    squares = (fitted.reshape(columns.shape) - columns) ** 2
    return np.asarray(np.average(squares, axis=0, weights=check_weight(sample_weight, target)))


def check_noise_variance(
    value: Any, X: Table, y: Any, sample_weight: Any = None, *, positive_for: str | None = None
) -> FloatArray:
    """σ² for every output, shape (outputs,), given or from differences of neighbours.

    It may be 0 unless ``positive_for`` names what needs it.
    """
    target = np.asarray(y)
    if not isinstance(value, str):
        allowed, limits = "numbers or 'difference'", "finite and not negative"
        variance = check_per_output("noise_variance", value, outputs_of(target), allowed, limits)
    elif value == "difference":
        try:
            variance = np.atleast_1d(difference_noise_variance(X, target, sample_weight))
        except ValueError as error:
            raise ValueError(
                "noise_variance='difference' needs X as a data frame or finite numbers; give "
                "noise_variance a number, such as difference_noise_variance(Z, y) for the table Z "
                f"that the transformers of a pipeline make of X. The reason: {error}"
            ) from error
    else:
        allowed = "numbers and 'difference'"
        raise ValueError(f"noise_variance={value!r} is unknown; allowed are {allowed}.")
    if positive_for is not None and not (variance > 0).all():
        raise ValueError(f"noise_variance={value!r} must be greater than 0 for {positive_for}.")
    return variance


def _score(
    criterion: Callable[..., FloatArray],
    estimator: Any,
    X: Table,
    y: Any,
    dof: Any,
    sample_weight: Any,
    *settings: Any,
) -> float | FloatArray:
    """The criterion from training error, dof and number of samples; a float for y of shape (n,)."""
    check_is_fitted(estimator)
    check_consistent_length(X, y)
    error = training_error(estimator.predict(X), y, sample_weight)
    target = check_array(y, ensure_2d=False, dtype=None)
    weight = check_weight(sample_weight, target)
    n_samples = float(len(target)) if weight is None else float(weight.sum())
    value = getattr(dof, "dof", dof)
    value = value[0] if np.shape(value) == (1,) else value
    allowed = "a number for each output, or what degrees_of_freedom returns"
    found = check_per_output("dof", value, len(error), allowed)
    scores = criterion(error, found, n_samples, *settings)
    return float(scores[0]) if target.ndim == 1 else scores
