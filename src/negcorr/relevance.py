r"""Which columns matter: how steeply a fitted ensemble changes along each of them.

An ensemble on columns that all count alike is fitted first. Its mean squared slope along a
column says how much the column is used; columns are then stretched accordingly and the features
drawn anew. This is the diagonal of the average gradient outer product by which recursive feature
machines learn (Radhakrishnan et al. 2024, Science 383), in one round.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from negcorr._typing import FloatArray, IntArray
from negcorr.screening import screen

__all__ = ["column_relevance"]

#: Rows at which slopes are taken.
SLOPE_ROWS = 512

#: Relevance is the root mean squared slope to this power: 0 trusts no column more than another.
POWER = 0.7

#: Smallest relevance relative to the largest: no column is lost for good.
LEAST = 0.03

#: Decimals of a relevance.
DECIMALS = 3


def column_relevance(
    rows: FloatArray,
    target: FloatArray,
    landmarks: FloatArray,
    starts: IntArray,
    gaps: FloatArray,
    weight: FloatArray | None = None,
) -> FloatArray:
    """Relevance of every column, at most 1, from the slopes of a Laplace-kernel ensemble.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Inputs, mapped (:mod:`negcorr.bases.inputs`).
    target : ndarray of shape (n, outputs)
        Targets of comparable size.
    landmarks : ndarray of shape (Q, d)
        Rows at which the kernel is taken, those of each member side by side.
    starts : ndarray of shape (M + 1,)
        Where each member's landmarks begin.
    gaps : ndarray of shape (k,)
        Of these leave-one-out chooses.
    weight : ndarray of shape (n,), optional
        Frequencies.

    Returns
    -------
    ndarray of shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.relevance import column_relevance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = np.sin(2 * X[:, :1])
    >>> starts = np.arange(0, 101, 10)
    >>> first, second = column_relevance(X, y, X, starts, np.logspace(0, -6, 13))
    >>> bool(first == 1.0 and second < 0.5)
    True
    """
    if not np.ptp(target, axis=0).any():
        return np.ones(rows.shape[1])
    distance = cdist(rows, landmarks, "cityblock")
    mean = float(distance.mean())
    gamma = 1.0 / mean if mean > 0 else 1.0
    kernel = np.exp(-gamma * distance)
    fit = screen(kernel, target, starts, weight)
    losses = fit.losses(gaps) @ fit.share
    coef = fit.coef(float(gaps[int(np.argmin(losses))]))
    some = slice(0, SLOPE_ROWS)
    slopes = np.empty(rows.shape[1])
    for j in range(rows.shape[1]):
        side = np.sign(rows[some, j][:, np.newaxis] - landmarks[:, j])
        slopes[j] = np.mean((kernel[some] * side @ coef) ** 2)
    if not slopes.max() > 0:
        return np.ones(len(slopes))
    relevance = (slopes / slopes.max()) ** (POWER / 2.0)
    # Landmarks are drawn by the content of rows, which no rounding of sums may change.
    return np.round(np.maximum(relevance, LEAST), DECIMALS)
