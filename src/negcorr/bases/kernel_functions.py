r"""Shift-invariant kernels: distance scale, spectral density, values, means over subspaces.

A kernel k(x − x') is, by Bochner's theorem, the characteristic function of a distribution of
frequencies. Random Fourier features are based on ``E cos(ω·(x − x')) = k(x − x')``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from negcorr._common.arrays import is_device_array, place_of
from negcorr._common.types import BoolArray, FloatArray, Table
from negcorr._common.validation import is_number
from negcorr.rows.keys import without_last_digits

__all__ = [
    "KERNELS",
    "KERNEL_VALUES",
    "Kernel",
    "check_share",
    "kernel_values",
    "kwok_tsang_gamma",
    "mean_squared_distance",
    "member_columns",
    "nearest_to_zero",
]


def mean_squared_distance(X: Table, sample_weight: FloatArray | None = None) -> float:
    r"""Mean squared Euclidean distance over all weighted pairs of rows, in O(nd).

    The mean over all n² pairs is :math:`2\sum_j \mathrm{var}_j` with population variances,
    so no pair is ever formed.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.kernel_functions import mean_squared_distance
    >>> mean_squared_distance(np.array([[0.0], [2.0]]))
    2.0
    """
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            rows = sp.csr_array(X, dtype=np.float64)
            _, variance = mean_variance_axis(rows, axis=0, weights=sample_weight)
            least, most = min_max_axis(rows, axis=0)
            variance = np.where(least == most, 0.0, variance)
        else:
            # From the first row, equal rows are exactly zero and far ones keep their digits.
            place = place_of(X)
            rows = place.floats(X)
            rows = rows - rows[0, :]
            share = place.ones((rows.shape[0],)) if sample_weight is None else sample_weight
            share = share / place.xp.sum(share)
            variance = share @ (rows - share @ rows) ** 2
            return 2.0 * float(place.xp.sum(variance))
        return 2.0 * float(np.sum(variance))


def _mean_manhattan_distance(X: Table, sample_weight: FloatArray | None = None) -> float:
    """Mean L1 distance over all weighted pairs, by sorting each column."""
    place = place_of(X)
    columns: Any = sp.csc_array(X) if sp.issparse(X) else place.floats(X)
    weight = place.ones((columns.shape[0],)) if sample_weight is None else sample_weight
    mass = float(place.xp.sum(weight))
    total = 0.0
    for j in range(columns.shape[1]):
        if sp.issparse(columns):
            # All zeros of the column are one value with the weight that is left.
            stored = slice(columns.indptr[j], columns.indptr[j + 1])
            w = weight[columns.indices[stored]]
            value = np.append(columns.data[stored].astype(np.float64), 0.0)
            w = np.append(w, max(mass - float(w.sum()), 0.0))
            if len(w) > len(weight):
                value, w = value[:-1], w[:-1]
        else:
            value, w = columns[:, j], weight
        # Σ w_i w_j (v_i − v_j) over pairs with v_i > v_j.
        xp = place_of(value).xp
        order = xp.argsort(value)
        value, w = xp.take(value - value[0], order), xp.take(w, order)
        below = xp.cumulative_sum(w) - w
        sum_below = xp.cumulative_sum(w * value) - w * value
        total += float(xp.sum(w * (value * below - sum_below)))
    return 2.0 * total / mass**2


def nearest_to_zero(X: FloatArray) -> FloatArray:
    """The point nearest to zero in the box of the rows: zero, unless columns are far from it.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.kernel_functions import nearest_to_zero
    >>> nearest_to_zero(np.array([[-1.0, 7.0, -3.0], [2.0, 9.0, -4.0]]))
    array([ 0.,  7., -3.])
    """
    xp = place_of(X).xp
    return xp.clip(xp.min(X, axis=0), min=0.0) + xp.clip(xp.max(X, axis=0), max=0.0)


def _rbf_frequencies(
    rng: np.random.RandomState, shape: tuple[int, int], gamma: float
) -> FloatArray:
    return np.asarray(np.sqrt(2.0 * gamma) * rng.standard_normal(shape))


def _laplacian_frequencies(
    rng: np.random.RandomState, shape: tuple[int, int], gamma: float
) -> FloatArray:
    return np.asarray(gamma * rng.standard_cauchy(shape))


def _cauchy_frequencies(
    rng: np.random.RandomState, shape: tuple[int, int], gamma: float
) -> FloatArray:
    return np.asarray(rng.laplace(scale=np.sqrt(gamma), size=shape))


def _rbf_values(X: Table, Z: Table, gamma: float) -> FloatArray:
    if not sp.issparse(X):
        # Squares of numbers far from zero lose the digits of distances.
        nearest = nearest_to_zero(Z)
        X, Z = X - nearest, Z - nearest
    if is_device_array(X):
        xp = place_of(X).xp
        squares = xp.sum(X**2, axis=1)[:, None] + xp.sum(Z**2, axis=1)[None, :]
        return xp.exp(-gamma * xp.clip(squares - 2.0 * (X @ Z.T), min=0.0))
    return np.asarray(rbf_kernel(X, Z, gamma=gamma))


def _laplacian_values(X: Table, Z: Table, gamma: float) -> FloatArray:
    if is_device_array(X):
        columns = range(X.shape[1])
        distance = sum(place_of(X).xp.abs(X[:, j : j + 1] - Z[:, j][None, :]) for j in columns)
        return place_of(X).xp.exp(-gamma * distance)
    if sp.issparse(X):  # scikit-learn's Manhattan distances know 32-bit indices only
        X, Z = (
            sp.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), A.shape)
            for A in (X, Z)
        )
    return np.asarray(laplacian_kernel(X, Z, gamma=gamma))


def _cauchy_values(X: Table, Z: Table, gamma: float) -> FloatArray:
    values: FloatArray = place_of(X).ones((X.shape[0], Z.shape[0]))
    for j in range(X.shape[1]):
        one = slice(j, j + 1)
        left, right = (A[:, [j]].toarray() if sp.issparse(A) else A[:, one] for A in (X, Z))
        values /= 1.0 + gamma * (left - right.T) ** 2
    return values


def _rbf_along(difference: FloatArray, gamma: float) -> FloatArray:
    return place_of(difference).xp.exp(-gamma * difference**2)


def _laplacian_along(difference: FloatArray, gamma: float) -> FloatArray:
    xp = place_of(difference).xp
    return xp.exp(-gamma * xp.abs(difference))


def _cauchy_along(difference: FloatArray, gamma: float) -> FloatArray:
    return 1.0 / (1.0 + gamma * difference**2)


def _linear_values(X: Table, Z: Table, gamma: float) -> FloatArray:
    product = X @ Z.T
    return gamma * (product.toarray() if sp.issparse(product) else product)


@dataclass(frozen=True)
class Kernel:
    """One shift-invariant kernel.

    Attributes
    ----------
    formula : str
        k(δ) in words.
    mean_distance : callable
        Mean over pairs of rows of the distance that the kernel's exponent is made of.
    draw_frequencies : callable
        Sample of the kernel's spectral density, ``(rng, (d, Q), gamma) -> (d, Q)``.
    values : callable
        ``(X, Z, gamma) -> k(X, Z)``.
    along : callable
        ``(δ_j, gamma) -> k_1(δ_j)``, the factor of one column: kernels are products of these.
    """

    formula: str
    mean_distance: Callable[[Table, FloatArray | None], float]
    draw_frequencies: Callable[[np.random.RandomState, tuple[int, int], float], FloatArray]
    values: Callable[[Table, Table, float], FloatArray]
    along: Callable[[FloatArray, float], FloatArray]


KERNELS: dict[str, Kernel] = {
    "rbf": Kernel(
        "exp(-gamma * ||δ||²)",
        mean_squared_distance,
        _rbf_frequencies,
        _rbf_values,
        _rbf_along,
    ),
    "laplacian": Kernel(
        "exp(-gamma * ||δ||₁)",
        _mean_manhattan_distance,
        _laplacian_frequencies,
        _laplacian_values,
        _laplacian_along,
    ),
    "cauchy": Kernel(
        "prod_j 1 / (1 + gamma * δ_j²)",
        mean_squared_distance,
        _cauchy_frequencies,
        _cauchy_values,
        _cauchy_along,
    ),
}

#: Values of every kernel, also of the linear one, which has no frequencies.
KERNEL_VALUES: dict[str, Callable[[Table, Table, float], FloatArray]] = {
    **{name: kernel.values for name, kernel in KERNELS.items()},
    "linear": _linear_values,
}


#: One over smaller distances, with the multiples that are tried, is hardly finite.
SMALLEST_DISTANCE = 1e-290


def kwok_tsang_gamma(
    X: Table, sample_weight: FloatArray | None = None, kernel: str = "rbf"
) -> float:
    """Bandwidth heuristic of Kwok and Tsang: one over the mean distance between rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
        Rows as the kernel sees them (standardised, if they are to be).
    sample_weight : ndarray of shape (n,), optional
        Frequencies of the rows.
    kernel : {"rbf", "laplacian", "cauchy"}, default="rbf"
        Decides the distance: squared Euclidean for "rbf" and "cauchy", Manhattan for "laplacian".

    Returns
    -------
    float
        γ, rounded to 26 bits, since kernels of near landmarks are inverted and would multiply
        a difference of rounding; 1 if all rows are equal: then features are constant for every
        bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import kwok_tsang_gamma
    >>> kwok_tsang_gamma(np.array([[0.0], [2.0]]))
    0.5
    """
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is unknown; allowed are {sorted(KERNELS)}.")
    distance = KERNELS[kernel].mean_distance(X, sample_weight)
    if not np.isfinite(distance):
        raise ValueError(
            "The mean squared distance between rows of X overflows; rescale X before "
            "gamma='kwok-tsang', or give gamma as a number."
        )
    if 0 < distance < SMALLEST_DISTANCE:
        raise ValueError(
            f"The mean distance between rows of X is {distance:.2g}, and one over it overflows; "
            "rescale X before gamma='kwok-tsang'."
        )
    return float(without_last_digits(1.0 / distance)) if distance > 0 else 1.0


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
    >>> from negcorr.bases.kernel_functions import check_share
    >>> check_share(1, "rbf")
    1.0
    """
    if not is_number(share):
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
    >>> from negcorr.bases.kernel_functions import member_columns
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
    r"""Values of a kernel, averaged over all random subspaces (Ho 1998).

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

    Notes
    -----
    Each member sees every column with probability p, its share. The kernels here are products over
    columns, so the mean of a member's kernel over all subspaces is one again,

    .. math:: \bar k(x, x') = \prod_j \bigl(1 - p + p\,k_1(x_j - x'_j)\bigr),

    a polynomial in the columns' own kernels: single columns and small groups of them carry most of
    it where p is small (ANOVA kernels). This helps if each of many columns carries little
    information. The bandwidth γ is divided by p, so that rows are as far apart in a subspace as in
    all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.kernel_functions import kernel_values
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
