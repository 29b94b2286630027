"""_common/quantiles."""

from __future__ import annotations

import numpy as np

from negcorr._common.types import FloatArray

__all__ = ["_weighted_rank", "weighted_quantile"]


def weighted_quantile(values: FloatArray, weight: FloatArray, fraction: float) -> FloatArray:
    """Quantile of each column: the inverse of the distribution function, averaged at its jumps.

    Parameters
    ----------
    values : ndarray of shape (n, outputs)
    weight : ndarray of shape (n,)
        Frequencies: integers mean the same as repeated rows.
    fraction : float
        In (0, 1).

    Returns
    -------
    ndarray of shape (outputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.ensemble.huber import weighted_quantile
    >>> weighted_quantile(np.array([[1.0], [5.0], [2.0]]), np.array([1.0, 1.0, 2.0]), 0.5)
    array([2.])
    """
    used = weight > 0
    values, weight = values[used], weight[used]
    found = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        order = np.argsort(column, kind="stable")
        up_to = np.cumsum(weight[order])
        rank = fraction * up_to[-1]
        low = np.searchsorted(up_to, rank * (1.0 - 1e-12), side="left")
        high = np.searchsorted(up_to, rank * (1.0 + 1e-12), side="right")
        found[j] = 0.5 * (column[order[low]] + column[order[high]])
    return found


def _weighted_rank(values: FloatArray, weight: FloatArray, fraction: float) -> float:
    """The k-th smallest value, k the whole part of ``fraction`` of the weight (at least 1)."""
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weight[order])
    rank = np.floor(fraction * up_to[-1] * (1.0 + 1e-12))
    return float(values[order[np.searchsorted(up_to, rank * (1.0 - 1e-12), side="left")]])
