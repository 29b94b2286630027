r"""Random subspaces: members that see some of the columns, and what they see on average.

Each member sees every column with probability p, its share (random subspaces; Ho 1998). The
kernels here are products over columns, so the average of a member's kernel over all subspaces is
one again,

.. math:: \bar k(x, x') = \prod_j \bigl(1 - p + p\,k_1(x_j - x'_j)\bigr),

a polynomial in the columns' own kernels: single columns and small groups of them carry most of it
where p is small (ANOVA kernels). Where many columns say little, that is what can be learnt. The
bandwidth γ is divided by p, so that rows are as far apart in a subspace as in all columns.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import place_of
from negcorr._common.types import BoolArray, FloatArray, Table
from negcorr.bases.kernel_functions import KERNEL_VALUES, KERNELS

__all__ = ["check_share", "kernel_values", "member_columns"]

#: Products of as many values stay in cache while they run over the columns.
VALUES_IN_CACHE = 32_768


def check_share(share: Any, kernel: str) -> float:
    """The share of columns as a number.

    Parameters
    ----------
    share : float
        In (0, 1].
    kernel : str
        Kernel of the basis; that of "linear" is the same for all subspaces but for a factor.

    Examples
    --------
    >>> from negcorr.bases.random_subspaces import check_share
    >>> check_share(1, "rbf")
    1.0
    """
    if isinstance(share, (bool, np.bool_)) or not isinstance(share, numbers.Real):
        raise TypeError(f"subspace={share!r} must be a number, above 0 and at most 1.")
    if not 0.0 < float(share) <= 1.0:
        raise ValueError(f"subspace={share!r} must be above 0 and at most 1.")
    if kernel not in KERNELS and share != 1:
        raise ValueError(
            f"subspace={share!r} is not known to kernel={kernel!r}; allowed are 1 and the kernels "
            f"{sorted(KERNELS)}."
        )
    return float(share)


def member_columns(
    rng: np.random.RandomState, n_members: int, n_columns: int, share: float
) -> BoolArray:
    """Which columns each member sees, at least one.

    Parameters
    ----------
    rng : RandomState
        What draws them.
    n_members, n_columns : int
        M and d.
    share : float
        Probability of each column.

    Returns
    -------
    ndarray of bool of shape (M, d)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.random_subspaces import member_columns
    >>> seen = member_columns(np.random.RandomState(0), 100, 8, 0.25)
    >>> seen.shape, bool(seen.any(axis=1).all()), round(float(seen.mean()), 1)
    ((100, 8), True, 0.3)
    """
    seen = rng.uniform(size=(n_members, n_columns)) < share
    spare = rng.randint(n_columns, size=n_members)
    empty = np.flatnonzero(~seen.any(axis=1))
    seen[empty, spare[empty]] = True
    return np.asarray(seen)


def kernel_values(kernel: str, X: Table, Z: Table, gamma: float, share: float = 1.0) -> FloatArray:
    """Values of a kernel, averaged over all random subspaces.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy", "linear"}
        Its name.
    X, Z : table of shape (n, d) and (l, d)
        Rows.
    gamma : float
        Inverse bandwidth for all columns; γ/p for those of a subspace.
    share : float, default=1.0
        p, the probability with which a subspace has a column.

    Returns
    -------
    ndarray of shape (n, l)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.random_subspaces import kernel_values
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> own = np.exp(-2 * 0.5 * np.abs(X[0] - X[1]))
    >>> value = kernel_values("laplacian", X, X, gamma=0.5, share=0.5)[0, 1]
    >>> bool(np.isclose(value, (1 + own[0] + own[1] + own[0] * own[1]) / 4))
    True
    """
    if share == 1.0:
        return KERNEL_VALUES[kernel](X, Z, gamma)
    along = KERNELS[kernel].along
    others = Z.toarray() if sp.issparse(Z) else Z
    place = place_of(others)
    values: FloatArray = place.empty((X.shape[0], others.shape[0]))
    size = max(1, VALUES_IN_CACHE // others.shape[0])
    for start in range(0, X.shape[0], size):
        rows = X[start : start + size]
        rows = rows.toarray() if sp.issparse(rows) else rows
        product = place.ones((rows.shape[0], others.shape[0]))
        for j in range(X.shape[1]):
            own = along(rows[:, j : j + 1] - others[:, j], gamma / share)
            product *= 1.0 - share + share * own
        values[start : start + size, :] = product
    return values
