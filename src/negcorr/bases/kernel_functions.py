"""Shift-invariant kernels: their distance scale, their spectral density, their values.

A kernel k(x − x') is, by Bochner's theorem, the characteristic function of a distribution
of frequencies; ``E cos(ω·(x − x')) = k(x − x')`` is what random Fourier features rest on.
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
from negcorr._common.types import FloatArray, Table

__all__ = ["KERNELS", "KERNEL_VALUES", "Kernel", "kwok_tsang_gamma", "mean_squared_distance"]


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
        total += _sum_of_distances(value - value[0], w)
    return 2.0 * total / mass**2


def _sum_of_distances(value: FloatArray, weight: FloatArray) -> float:
    """Σ w_i w_j (v_i − v_j) over pairs with v_i > v_j, by sorting."""
    xp = place_of(value).xp
    order = xp.argsort(value)
    value, weight = xp.take(value, order), xp.take(weight, order)
    below = xp.cumulative_sum(weight) - weight
    sum_below = xp.cumulative_sum(weight * value) - weight * value
    return float(xp.sum(weight * (value * below - sum_below)))


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
        γ; 1 where all rows are equal, since any bandwidth serves constant features.

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
    return 1.0 / distance if distance > 0 else 1.0
