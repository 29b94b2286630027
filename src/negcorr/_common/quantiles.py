"""Quantiles of weighted values."""

from __future__ import annotations

import numpy as np

from negcorr._common.types import FloatArray

__all__ = ["weighted_quantile"]


def weighted_quantile(
    values: FloatArray, weight: FloatArray, fraction: float, *, whole_rank: bool = False
) -> FloatArray:
    """Quantile of each column: the inverse of the distribution function, averaged at its jumps.

    Parameters
    ----------
    values : ndarray of shape (n, outputs)
    weight : ndarray of shape (n,)
        Frequencies: integers mean the same as repeated rows.
    fraction : float
        In (0, 1).
    whole_rank : bool, default=False
        Return the k-th smallest value instead, where k, at least 1, is ``fraction`` of the weight
        rounded down to a whole number.

    Returns
    -------
    ndarray of shape (outputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr._common.quantiles import weighted_quantile
    >>> values, weight = np.array([[1.0], [5.0], [2.0]]), np.array([1.0, 1.0, 2.0])
    >>> weighted_quantile(values, weight, 0.5)
    array([2.])
    >>> weighted_quantile(values, weight, 0.4, whole_rank=True)
    array([1.])
    """
    used = weight > 0
    values, weight = values[used], weight[used]
    found = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        order = np.argsort(column, kind="stable")
        up_to = np.cumsum(weight[order])
        rank = fraction * up_to[-1]
        if whole_rank:
            rank = np.floor(rank * (1.0 + 1e-12))
        low = high = np.searchsorted(up_to, rank * (1.0 - 1e-12), side="left")
        if not whole_rank:
            high = np.searchsorted(up_to, rank * (1.0 + 1e-12), side="right")
        found[j] = 0.5 * (column[order[low]] + column[order[high]])
    return found
