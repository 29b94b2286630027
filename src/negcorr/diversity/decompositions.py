"""The NCL loss, and decompositions of the error of an ensemble that measure its diversity.

Member predictions have the member axis first, ``(M, n)`` or ``(M, n, outputs)``; repeated
draws of an ensemble add an axis before it, ``(D, M, n[, outputs])``. It does not matter how the
members were trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from negcorr._common.types import FloatArray
from negcorr._common.validation import is_number

__all__ = [
    "USELESS_ALONE",
    "USELESS_NOTE",
    "AmbiguityDecomposition",
    "BiasVarianceCovariance",
    "ambiguity_decomposition",
    "bias_variance_covariance",
    "ncl_loss",
]


@dataclass(frozen=True, repr=False)
class AmbiguityDecomposition:
    """Equation 1 of the paper: ensemble error = member error − diversity.

    Attributes
    ----------
    ensemble_error : float or ndarray of shape (outputs,)
        Weighted mean over samples of (F(x) − y)².
    member_error : float or ndarray of shape (outputs,)
        The same mean of the average over members of (f_m(x) − y)².
    diversity : float or ndarray of shape (outputs,)
        The same mean of the variance over members, the average of (f_m(x) − F(x))².
        Averages over members are weighted if the members have weights.
    ensemble_error_per_sample, member_error_per_sample, diversity_per_sample : ndarray
        The three terms for every sample, ``(n,)`` or ``(n, outputs)``.
    """

    ensemble_error: float | FloatArray
    member_error: float | FloatArray
    diversity: float | FloatArray
    ensemble_error_per_sample: FloatArray
    member_error_per_sample: FloatArray
    diversity_per_sample: FloatArray

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(ensemble_error={self.ensemble_error!r}, "
            f"member_error={self.member_error!r}, diversity={self.diversity!r}, "
            f"n_samples={len(self.diversity_per_sample)})"
        )


@dataclass(frozen=True)
class BiasVarianceCovariance:
    """E(F − t)² = bias² + variance / M + (1 − 1/M) covariance over repeated draws.

    Attributes
    ----------
    error : float or ndarray of shape (outputs,)
        Mean squared distance of the ensemble from the target, over draws and samples.
    bias_squared : float or ndarray of shape (outputs,)
        Square of the members' average bias, mean over samples.
    variance : float or ndarray of shape (outputs,)
        Average variance of one member over draws.
    covariance : float or ndarray of shape (outputs,)
        Average covariance of two different members over draws (0 for one member).
    n_members : int
        M.
    """

    error: float | FloatArray
    bias_squared: float | FloatArray
    variance: float | FloatArray
    covariance: float | FloatArray
    n_members: int


def ncl_loss(
    members: npt.ArrayLike,
    y: npt.ArrayLike,
    lam: float,
    *,
    form: Literal["penalty", "combined"] = "penalty",
    sample_weight: npt.ArrayLike | None = None,
) -> float | FloatArray:
    r"""Negative Correlation Learning loss, averaged over samples.

    Parameters
    ----------
    members : array-like of shape (M, n) or (M, n, outputs)
        Predictions of every member.
    y : array-like of shape (n,) or (n, outputs)
        Targets.
    lam : float
        The knob λ. Any finite value is accepted, since the loss is defined beyond 1 too;
        it is bounded below only for λ ≤ 1.
    form : {"penalty", "combined"}, default="penalty"
        ``"penalty"`` evaluates equation 2 of the paper, ``"combined"`` equation 3. They are
        equal.
    sample_weight : array-like of shape (n,), optional
        Frequencies of the samples.

    Returns
    -------
    float or ndarray of shape (outputs,)
        Mean loss.

    Notes
    -----
    Equation 2: :math:`\frac1M\sum_m (f_m-y)^2 - \lambda\frac1M\sum_m (f_m-F)^2`.
    Equation 3: :math:`(1-\lambda)\frac1M\sum_m (f_m-y)^2 + \lambda (F-y)^2`.

    Examples
    --------
    >>> from negcorr import ncl_loss
    >>> members, y = [[1.0, 2.0], [3.0, 2.0]], [1.0, 2.0]
    >>> ncl_loss(members, y, 0.5)
    0.75
    >>> ncl_loss(members, y, 0.5, form="combined")
    0.75
    """
    if not is_number(lam):
        raise TypeError(f"lam={lam!r} must be a finite number, got {type(lam).__name__}.")
    if not np.isfinite(float(lam)):
        raise ValueError(f"lam={lam!r} must be a finite number.")
    terms = ambiguity_decomposition(members, y, sample_weight=sample_weight)
    if form == "penalty":
        return terms.member_error - lam * terms.diversity
    if form == "combined":
        return (1.0 - lam) * terms.member_error + lam * terms.ensemble_error
    raise ValueError(f"form={form!r} is unknown; allowed are 'penalty' and 'combined'.")


def ambiguity_decomposition(
    members: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    member_weight: npt.ArrayLike | None = None,
) -> AmbiguityDecomposition:
    r"""Split the ensemble's squared error into member error minus diversity (equation 1).

    Parameters
    ----------
    members : array-like of shape (M, n) or (M, n, outputs)
        Predictions of every member.
    y : array-like of shape (n,) or (n, outputs)
        Targets.
    sample_weight : array-like of shape (n,), optional
        Frequencies of the samples in the totals.
    member_weight : array-like of shape (M,), optional
        Shares w_m of the members in the ensemble: finite, non-negative, not all zero, and
        divided by their sum. Without them the ensemble is the plain mean.

    Returns
    -------
    AmbiguityDecomposition
        The three terms, in total and per sample.

    Notes
    -----
    For :math:`F = \sum_m w_m f_m` with :math:`\sum_m w_m = 1` (Krogh and Vedelsby, 1995),
    :math:`(F-y)^2 = \sum_m w_m (f_m-y)^2 - \sum_m w_m (f_m-F)^2`.

    Examples
    --------
    >>> from negcorr import ambiguity_decomposition
    >>> terms = ambiguity_decomposition([[1.0, 2.0], [3.0, 2.0]], [1.0, 2.0])
    >>> terms.ensemble_error, terms.member_error, terms.diversity
    (0.5, 1.0, 0.5)
    >>> terms.diversity_per_sample
    array([1., 0.])

    The second member counts three times as much as the first:

    >>> ambiguity_decomposition([[1.0], [3.0]], [1.0], member_weight=[1, 3])
    AmbiguityDecomposition(ensemble_error=2.25, member_error=3.0, diversity=0.75, n_samples=1)
    """
    predictions, target = _members_and_target(members, y, ("members", "y"), "(M, n)")
    share = _weights("member_weight", member_weight, len(predictions))
    ensemble = np.average(predictions, axis=0, weights=share)
    per_sample = (
        (ensemble - target) ** 2,
        np.average((predictions - target) ** 2, axis=0, weights=share),
        np.average((predictions - ensemble) ** 2, axis=0, weights=share),
    )
    weight = _weights("sample_weight", sample_weight, len(target))
    ensemble_error, member_error, diversity = (
        _scalar(np.average(term, axis=0, weights=weight)) for term in per_sample
    )
    return AmbiguityDecomposition(ensemble_error, member_error, diversity, *per_sample)


def bias_variance_covariance(
    predictions: npt.ArrayLike, target: npt.ArrayLike
) -> BiasVarianceCovariance:
    r"""Decompose the ensemble's error over repeated draws of the training set.

    Parameters
    ----------
    predictions : array-like of shape (D, M, n) or (D, M, n, outputs)
        Member predictions at n fixed inputs for each of D draws.
    target : array-like of shape (n,) or (n, outputs)
        What is to be predicted there: the noise-free μ(x), or test targets, whose noise
        then counts as bias.

    Returns
    -------
    BiasVarianceCovariance
        Terms averaged over samples. Moments over draws are divided by D, which makes the
        identity exact rather than true in expectation.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import bias_variance_covariance
    >>> draws = np.random.default_rng(0).normal(size=(50, 4, 20))
    >>> t = bias_variance_covariance(draws, np.zeros(20))
    >>> bool(np.isclose(t.error, t.bias_squared + t.variance / 4 + 0.75 * t.covariance))
    True
    """
    values, goal = _members_and_target(predictions, target, ("predictions", "target"), "(D, M, n)")
    n_members = values.shape[1]
    centred = values - values.mean(axis=0)
    ensemble_variance = (centred.mean(axis=1) ** 2).mean(axis=0)
    variance = (centred**2).mean(axis=(0, 1))
    if n_members > 1:
        covariance = (ensemble_variance - variance / n_members) / (1 - 1 / n_members)
    else:
        covariance = np.zeros_like(variance)
    bias_squared = (values.mean(axis=(0, 1)) - goal) ** 2
    error = ((values.mean(axis=1) - goal) ** 2).mean(axis=0)
    return BiasVarianceCovariance(
        error=_scalar(error.mean(axis=0)),
        bias_squared=_scalar(bias_squared.mean(axis=0)),
        variance=_scalar(variance.mean(axis=0)),
        covariance=_scalar(covariance.mean(axis=0)),
        n_members=n_members,
    )


def _members_and_target(
    members: npt.ArrayLike, y: npt.ArrayLike, names: tuple[str, str], axes: str
) -> tuple[FloatArray, FloatArray]:
    """Validated float arrays; ``names`` are those of the caller's arguments."""
    predictions = np.asarray(members, dtype=np.float64)
    target = np.asarray(y, dtype=np.float64)
    extra = axes.count(",")  # axes before the sample axis
    if target.ndim not in (1, 2):
        raise ValueError(f"{names[1]} must be (n,) or (n, outputs), got shape {target.shape}.")
    if predictions.shape[extra:] != target.shape or predictions.ndim != target.ndim + extra:
        raise ValueError(
            f"{names[0]} must be {axes} or {axes[:-1]}, outputs) and match {names[1]} in its last "
            f"axes; got {names[0]} {predictions.shape} and {names[1]} {target.shape}."
        )
    if 0 in predictions.shape:
        raise ValueError(f"{names[0]} is empty: shape {predictions.shape}.")
    if not (np.isfinite(predictions).all() and np.isfinite(target).all()):
        raise ValueError(f"{names[0]} and {names[1]} must be finite, found NaN or infinity.")
    return predictions, target


def _weights(name: str, values: npt.ArrayLike | None, length: int) -> FloatArray | None:
    """Validated weights that sum to 1; ``name`` is that of the caller's argument."""
    if values is None:
        return None
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {weight.shape}.")
    low, high = weight.min(), weight.max()
    if not (np.isfinite([low, high]).all() and low >= 0 and high > 0):
        raise ValueError(
            f"{name} must be finite, non-negative and not all zero; "
            f"its values lie between {low} and {high}."
        )
    weight = weight / high  # or the sum of huge weights overflows
    return np.asarray(weight / weight.sum())


def _scalar(value: FloatArray) -> float | FloatArray:
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


#: First words of a note about members whose error is above ``USELESS_ALONE``.
USELESS_NOTE = "Members are useless alone"

#: Members whose average error exceeds the variance of y predict worse than a constant.
USELESS_ALONE = 1.0
