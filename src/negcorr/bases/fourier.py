"""Random Fourier features for all members at once (Section 6; Rahimi and Recht)."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import is_device_array, place_of, to_host
from negcorr._common.types import FloatArray, Table
from negcorr.bases.basis import RandomBasis, standardizer
from negcorr.bases.kernel_functions import KERNELS, kwok_tsang_gamma
from negcorr.bases.random_subspaces import check_share, member_columns

__all__ = [
    "ROWS_IN_CACHE",
    "FourierFeatures",
    "OrthogonalFourierFeatures",
    "cos_turns",
    "resolve_gamma",
]


class FourierFeatures(RandomBasis):
    r"""Blocks of random Fourier features, φ(x) = cos(ω·x + b).

    The frequencies ω of all members are one d×Q matrix, so drawing the features of a block
    of rows is one matrix product and one cosine.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of members M.
    n_components : int, default=10
        Features per member H.
    kernel : {"gaussian", "laplace", "cauchy"}, default="gaussian"
        Kernel that the features approximate: exp(−γ‖δ‖²), exp(−γ‖δ‖₁) or ∏ 1/(1+γδ_j²).
    gamma : float or "kwok-tsang", default="kwok-tsang"
        Inverse bandwidth. The heuristic is one over the mean distance between rows, after
        standardising.
    standardize : bool, default=False
        Centre and scale the columns of X (weighted; constant columns are left alone). For
        sparse X this is folded into frequencies and phases and nothing becomes dense.
    random_state : int, RandomState or None, default=None
        Seed of frequencies, phases and subspaces.
    subspace : float, default=1.0
        Share of the columns that each member sees, a random subspace of its own, with γ over this
        share as its bandwidth.

    Attributes
    ----------
    frequencies_ : ndarray of shape (d, Q)
        ω for standardised inputs, zero for columns that a member does not see.
    phases_ : ndarray of shape (Q,)
        b, uniform on [0, 2π).
    gamma_ : float
        The bandwidth used.
    center_, scale_ : ndarray of shape (d,)
        What standardising subtracts and divides by.
    block_starts_ : ndarray of shape (M + 1,)
        Where each member's columns begin.

    Notes
    -----
    With this scaling :math:`(2/H)\,\langle\phi(x),\phi(x')\rangle \to k(x - x')`; the paper
    prints 1/H, which tends to k/2.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> basis = FourierFeatures(n_estimators=4, n_components=5, random_state=0).fit(X)
    >>> basis.transform(X).shape, basis.block_starts_.tolist()
    ((20, 20), [0, 5, 10, 15, 20])
    """

    array_api = True

    #: What models have that were saved before there were subspaces.
    subspace: float = 1.0

    def __init__(
        self,
        n_estimators: int = 100,
        n_components: int = 10,
        *,
        kernel: str = "gaussian",
        gamma: float | str = "kwok-tsang",
        standardize: bool = False,
        random_state: Any = None,
        subspace: float = 1.0,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.standardize = standardize
        self.random_state = random_state
        self.subspace = subspace

    def _draw(self, X: Table, sample_weight: FloatArray | None, rng: np.random.RandomState) -> None:
        self.center_, self.scale_ = standardizer(X, sample_weight, self.standardize)
        self.gamma_ = resolve_gamma(self.gamma, self.kernel, X, sample_weight, self.scale_)
        n_columns = self.n_estimators * self.n_components
        self.block_starts_ = np.arange(self.n_estimators + 1) * self.n_components
        frequencies = self._draw_frequencies(rng, X.shape[1])
        phases = rng.uniform(0.0, 2.0 * np.pi, n_columns)
        # One matrix in units of turns, with the phase as the weight of a constant input.
        scale = to_host(self.scale_)[:, np.newaxis]
        turns = np.vstack([frequencies / scale, phases]) / (2.0 * np.pi)
        place = place_of(X)
        self.frequencies_, self.phases_ = place.floats(frequencies), place.floats(phases)
        self._turns = place.floats(turns)

    def _draw_frequencies(self, rng: np.random.RandomState, n_features: int) -> FloatArray:
        share = check_share(self.subspace, self.kernel)
        shape = (n_features, self.n_estimators * self.n_components)
        frequencies = KERNELS[self.kernel].draw_frequencies(rng, shape, self.gamma_ / share)
        if share == 1.0:
            return frequencies
        seen = member_columns(rng, self.n_estimators, n_features, share)
        return frequencies * np.repeat(seen, self.n_components, axis=0).T

    def fill(self, X: Table, out: FloatArray) -> None:
        if is_device_array(X):
            self._fill_on_device(X, out)
            return
        sparse = sp.issparse(X)
        rows = np.ones((ROWS_IN_CACHE, X.shape[1] + 1)) if not sparse else None
        turns = np.empty((ROWS_IN_CACHE, out.shape[1]))
        scratch = np.empty((2, *turns.shape))
        for start in range(0, X.shape[0], ROWS_IN_CACHE):
            block = X[start : start + ROWS_IN_CACHE]
            size = block.shape[0]
            if rows is None:
                turns[:size] = block @ self._turns[:-1]
                turns[:size] += self._turns[-1] - self.center_ @ self._turns[:-1]
            else:
                np.subtract(block, self.center_, out=rows[:size, :-1])
                np.matmul(rows[:size], self._turns, out=turns[:size])
            cos_turns(turns[:size], out[start : start + size], scratch[:, :size])

    def _fill_on_device(self, X: Table, out: FloatArray) -> None:
        place = place_of(X)
        ones = place.ones((X.shape[0], 1))
        rows = place.xp.concat([place.floats(X) - self.center_, ones], axis=1)
        out[...] = place.xp.cos(rows @ (2.0 * math.pi * self._turns))


class OrthogonalFourierFeatures(FourierFeatures):
    """Fourier features whose frequencies are orthogonal within each member (Yu et al. 2016).

    For the Gaussian kernel. Directions come in orthogonal groups of at most d, lengths are
    drawn as before, so every single frequency keeps its distribution while a member's
    features overlap less.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of members M.
    n_components : int, default=10
        Features per member H.
    gamma : float or "kwok-tsang", default="kwok-tsang"
        Inverse bandwidth, as in :class:`FourierFeatures`.
    standardize : bool, default=False
        Centre and scale the columns of X.
    random_state : int, RandomState or None, default=None
        Seed of frequencies and phases.

    Attributes
    ----------
    frequencies_, phases_, gamma_, center_, scale_, block_starts_
        As in :class:`FourierFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import OrthogonalFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 5))
    >>> basis = OrthogonalFourierFeatures(3, 4, random_state=0).fit(X)
    >>> member = basis.frequencies_[:, :4]
    >>> bool(np.allclose(member.T @ member, np.diag(np.sum(member**2, axis=0))))
    True
    """

    kernel = "gaussian"

    def __init__(
        self,
        n_estimators: int = 100,
        n_components: int = 10,
        *,
        gamma: float | str = "kwok-tsang",
        standardize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.standardize = standardize
        self.random_state = random_state

    def _draw_frequencies(self, rng: np.random.RandomState, n_features: int) -> FloatArray:
        group = min(n_features, self.n_components)
        n_groups = -(-self.n_components // group)
        normal = rng.standard_normal((self.n_estimators, n_groups, n_features, group))
        frames, upper = np.linalg.qr(normal)
        # The sign makes the frames uniform; LAPACK's own signs do not.
        frames *= np.sign(np.diagonal(upper, axis1=-2, axis2=-1))[..., np.newaxis, :]
        by_member = np.moveaxis(frames, 2, 0).reshape(n_features, self.n_estimators, -1)
        directions = by_member[:, :, : self.n_components].reshape(n_features, -1)
        lengths = np.sqrt(rng.chisquare(n_features, size=directions.shape[1]))
        return np.asarray(np.sqrt(2.0 * self.gamma_) * directions * lengths)


def resolve_gamma(
    gamma: Any,
    kernel: str,
    X: Table,
    sample_weight: FloatArray | None,
    scale: FloatArray,
) -> float:
    """The bandwidth as a number, from a number or the name of a heuristic."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is unknown; allowed are {sorted(KERNELS)}.")
    if isinstance(gamma, str):
        if gamma != "kwok-tsang":
            raise ValueError(f"gamma={gamma!r} is unknown; give a number > 0 or 'kwok-tsang'.")
        scaled = X @ sp.diags_array(1.0 / scale) if sp.issparse(X) else X / scale
        return kwok_tsang_gamma(scaled, sample_weight, kernel)
    if isinstance(gamma, bool) or not isinstance(gamma, numbers.Real):
        raise TypeError(f"gamma={gamma!r} must be a number > 0 or 'kwok-tsang'.")
    value = float(gamma)
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"gamma={gamma!r} must be finite and greater than 0.")
    return value


#: Rows of about 1000 features whose three buffers fit the second-level cache.
ROWS_IN_CACHE = 64

# sin(2πu) = u·p(u²) on |u| ≤ 1/4: the Chebyshev series Σ 2(−1)ᵏ J_{2k+1}(π/2) T_{2k+1}(4u)
# cut after seven terms, in powers of u, highest first. What is cut is below 4.2e-14.
_COEFFICIENTS = (
    3.6550593309034873,
    -15.079289920000344,
    42.05796348480433,
    -76.70584111512501,
    81.60524903178927,
    -41.34170223898746,
    6.283185307177224,
)


def cos_turns(turns: FloatArray, out: FloatArray, scratch: FloatArray) -> None:
    """Write cos(2π·turns) into ``out``; ``turns`` and ``scratch`` are used up.

    Parameters
    ----------
    turns : ndarray of shape (rows, columns)
        Angles divided by 2π, overwritten.
    out : ndarray of shape (rows, columns)
        Receives the cosines. It may be a view into a wider array.
    scratch : ndarray of shape (2, rows, columns)
        Overwritten. The caller keeps it between blocks, since fresh memory for each would
        cost more than the cosines.

    Notes
    -----
    The absolute error is below 1e-13 for angles below 100; above that the rounding of the
    angle itself is what limits any cosine.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.fourier import cos_turns
    >>> out = np.empty((1, 3))
    >>> cos_turns(np.array([[0.0, 0.25, 0.5]]), out, np.empty((2, 1, 3)))
    >>> np.allclose(out, [[1.0, 0.0, -1.0]], atol=1e-13)
    True
    """
    square, polynomial = scratch
    np.rint(turns, out=square)
    np.subtract(turns, square, out=turns)
    np.abs(turns, out=turns)
    np.subtract(0.25, turns, out=turns)
    np.multiply(turns, turns, out=square)
    np.multiply(square, _COEFFICIENTS[0], out=polynomial)
    polynomial += _COEFFICIENTS[1]
    for coefficient in _COEFFICIENTS[2:]:
        polynomial *= square
        polynomial += coefficient
    # Contiguous until here: out may have rows that do not start on cache lines.
    np.multiply(polynomial, turns, out=out)
