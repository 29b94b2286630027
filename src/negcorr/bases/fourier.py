"""Random Fourier features for all members at once (Section 6; Rahimi and Recht)."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from negcorr._common.arrays import is_device_array, place_of
from negcorr._common.types import FloatArray, Table
from negcorr.bases.basis import RandomBasis
from negcorr.bases.kernel_functions import (
    KERNELS,
    check_share,
    kwok_tsang_gamma,
    member_columns,
    nearest_to_zero,
)
from negcorr.rows.rows import Rows

__all__ = [
    "ROWS_IN_CACHE",
    "FourierFeatures",
    "cos_turns",
    "resolve_gamma",
]


class FourierFeatures(RandomBasis):
    r"""Blocks of random Fourier features, φ(x) = cos(ω·x + b).

    The frequencies ω of all members are one d×Q matrix, so drawing the features of a block
    of rows is one matrix product and one cosine.

    Parameters
    ----------
    n_members : int, default=100
        Number of members M.
    n_components : int, default=10
        Features per member H.
    gamma : float or "kwok-tsang", default="kwok-tsang"
        Inverse bandwidth. The heuristic is one over the mean distance between mapped rows.
    kernel : {"rbf", "laplacian", "cauchy"}, default="rbf"
        Kernel that the features approximate: exp(−γ‖δ‖²), exp(−γ‖δ‖₁) or ∏ 1/(1+γδ_j²).
    inputs : {"standard", "clip", "rank", "none"}, default="standard"
        How the columns of X are mapped first: scaled to unit standard deviation (weighted; constant
        columns stay); the same, then squashed to absolute values of at most 3 against long tails;
        replaced by ranks; not changed. Sparse X stays sparse; the features are the same as those of
        centred rows.
    relevance : array-like of shape (d,), optional
        Factors of the mapped columns, so that some columns count more than others.
    subspace : float, default=1.0
        Share of the columns that each member sees, a random subspace of its own, with γ over this
        share as its bandwidth.
    orthogonal : bool, default=False
        For the kernel "rbf", whether the frequencies of a member are orthogonal, in groups of at
        most d (Yu et al. 2016). Lengths are drawn as before, so every single frequency keeps its
        distribution, while a member's features overlap less. Without subspaces.
    random_state : int, RandomState or None, default=None
        Seed of frequencies, phases and subspaces. Within an estimator None is the estimator's.

    Attributes
    ----------
    frequencies_ : ndarray of shape (d, Q)
        ω for mapped inputs, zero for columns that a member does not see.
    phases_ : ndarray of shape (Q,)
        b, uniform on [0, 2π).
    gamma_ : float
        The bandwidth used.
    input_map_ : InputMap
        What was learnt from the columns.
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
    >>> basis = FourierFeatures(n_members=4, n_components=5, random_state=0).fit(X)
    >>> basis.transform(X).shape, basis.block_starts_.tolist()
    ((20, 20), [0, 5, 10, 15, 20])
    >>> basis = FourierFeatures(n_members=4, n_components=3, orthogonal=True, random_state=0).fit(X)
    >>> member = basis.frequencies_[:, :3]
    >>> bool(np.allclose(member.T @ member, np.diag(np.sum(member**2, axis=0))))
    True
    """

    array_api = True

    def __init__(
        self,
        n_members: int = 100,
        n_components: int = 10,
        *,
        gamma: float | str = "kwok-tsang",
        kernel: str = "rbf",
        inputs: str = "standard",
        relevance: npt.ArrayLike | None = None,
        subspace: float = 1.0,
        orthogonal: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_members = n_members
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.inputs = inputs
        self.relevance = relevance
        self.subspace = subspace
        self.orthogonal = orthogonal
        self.random_state = random_state

    def _draw(self, rows: Rows, rng: np.random.RandomState) -> None:
        if not isinstance(self.orthogonal, (bool, np.bool_)):
            raise TypeError(f"orthogonal={self.orthogonal!r} must be True or False.")
        share, n_features = check_share(self.subspace, self.kernel), int(rows.X.shape[1])
        if self.orthogonal and (self.kernel != "rbf" or share != 1.0):
            raise ValueError(
                "orthogonal=True needs kernel='rbf' and subspace=1, got "
                f"kernel={self.kernel!r} and subspace={self.subspace!r}."
            )
        mapped = self.input_map_(rows.X)
        self.gamma_ = resolve_gamma(self.gamma, self.kernel, mapped, rows.weight)
        shape = (n_features, self.n_members * self.n_components)
        self.block_starts_ = np.arange(self.n_members + 1) * self.n_components
        if self.orthogonal:
            frequencies = _orthogonal(rng, self.n_members, self.n_components, n_features)
            frequencies *= np.sqrt(2.0 * self.gamma_)
        else:
            frequencies = KERNELS[self.kernel].draw_frequencies(rng, shape, self.gamma_ / share)
        if share < 1.0:
            seen = member_columns(rng, self.n_members, n_features, share)
            frequencies = frequencies * np.repeat(seen, self.n_components, axis=0).T
        phases = rng.uniform(0.0, 2.0 * np.pi, shape[1])
        place = place_of(rows.X)
        self.frequencies_, self.phases_ = place.floats(frequencies), place.floats(phases)
        self._origin, factor = place.zeros((n_features,)), place.ones((n_features,))
        shift = self._origin
        if self.input_map_.is_affine:
            # The map is a part of the frequencies. Its centre is subtracted from rows before; where
            # it has none, a point near them, so that angles keep their digits.
            self._origin, factor = self.input_map_.center, self.input_map_.factor
            if self.input_map_.kind == "none" and not sp.issparse(rows.X):
                self._origin = nearest_to_zero(place.floats(rows.X))
            shift = (self._origin - self.input_map_.center) * factor
        # One matrix in units of turns, with the phase as the weight of a constant input.
        turns = self.frequencies_ * factor[:, None] / (2.0 * math.pi)
        whole = shift @ self.frequencies_ / (2.0 * math.pi)
        phase = self.phases_ / (2.0 * math.pi) + whole - place.xp.round(whole)
        self._turns = place.xp.concat([turns, phase[None, :]])
        away = self._origin * factor if sp.issparse(mapped) else shift
        with np.errstate(over="ignore"):
            squares = _mean_squares(mapped, away, rows.weight)
            self._angles = (squares @ self.frequencies_**2 + self.phases_**2) ** 0.5

    @property
    def terms_(self) -> FloatArray:
        """Sizes of what the angles ω·x + b add up: rounding of an angle is that of its cosine."""
        return self._angles

    def fill(self, X: Table, out: FloatArray) -> None:
        if not self.input_map_.is_affine:
            X = self.input_map_(X)
        if is_device_array(X):
            place = place_of(X)
            ones = place.ones((X.shape[0], 1))
            rows = place.xp.concat([place.floats(X) - self._origin, ones], axis=1)
            out[...] = place.xp.cos(rows @ (2.0 * math.pi * self._turns))
            return
        rows = None if sp.issparse(X) else np.ones((ROWS_IN_CACHE, X.shape[1] + 1))
        turns = np.empty((ROWS_IN_CACHE, out.shape[1]))
        scratch = np.empty((2, *turns.shape))
        for start in range(0, X.shape[0], ROWS_IN_CACHE):
            block = X[start : start + ROWS_IN_CACHE]
            size = block.shape[0]
            if rows is None:
                turns[:size] = block @ self._turns[:-1]
                turns[:size] += self._turns[-1] - self._origin @ self._turns[:-1]
            else:
                np.subtract(block, self._origin, out=rows[:size, :-1])
                np.matmul(rows[:size], self._turns, out=turns[:size])
            cos_turns(turns[:size], out[start : start + size], scratch[:, :size])


def _mean_squares(X: Table, origin: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Weighted mean squares of columns about an origin; sparse rows' own, and the origin's."""
    place = place_of(X)
    weight = place.ones((X.shape[0],)) if weight is None else weight
    squares = X.multiply(X) if sp.issparse(X) else (place.floats(X) - origin) ** 2
    found = (squares.T @ weight) / place.xp.sum(weight)
    return found + origin**2 if sp.issparse(X) else found


def _orthogonal(
    rng: np.random.RandomState, n_members: int, n_components: int, n_features: int
) -> FloatArray:
    """Directions that are orthogonal within a member, with the lengths of Gaussian ones."""
    group = min(n_features, n_components)
    normal = rng.standard_normal((n_members, -(-n_components // group), n_features, group))
    frames, upper = np.linalg.qr(normal)
    # The sign makes the frames uniform; LAPACK's own signs do not.
    frames *= np.sign(np.diagonal(upper, axis1=-2, axis2=-1))[..., np.newaxis, :]
    by_member = np.moveaxis(frames, 2, 0).reshape(n_features, n_members, -1)
    directions = by_member[:, :, :n_components].reshape(n_features, -1)
    return np.asarray(directions * np.sqrt(rng.chisquare(n_features, size=directions.shape[1])))


def resolve_gamma(
    gamma: Any,
    kernel: str,
    rows: Table,
    sample_weight: FloatArray | None,
) -> float:
    """The bandwidth as a number, from a number or the name of a heuristic; of mapped rows."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is unknown; allowed are {sorted(KERNELS)}.")
    if isinstance(gamma, str):
        if gamma != "kwok-tsang":
            raise ValueError(f"gamma={gamma!r} is unknown; give a number > 0 or 'kwok-tsang'.")
        return kwok_tsang_gamma(rows, sample_weight, kernel)
    if isinstance(gamma, bool) or not isinstance(gamma, numbers.Real):
        raise TypeError(f"gamma={gamma!r} must be a number > 0 or 'kwok-tsang'.")
    value = float(gamma)
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"gamma={gamma!r} must be finite and greater than 0.")
    return value


#: Rows of about 1000 features whose three buffers fit the second-level cache.
ROWS_IN_CACHE = 64

# sin(2πu) = u·p(u²) on |u| ≤ 1/4: the Chebyshev series Σ 2(−1)ᵏ J_{2k+1}(π/2) T_{2k+1}(4u) with its
# first seven terms, in powers of u, highest first. The terms left out are below 4.2e-14.
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
    The absolute error is below 1e-13 for angles below 100; above that the rounding of the angle
    itself limits the accuracy.

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
