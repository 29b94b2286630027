"""Whitening inside the blocks: W_mᵀ (D_m + αI) W_m = I, truncated where a block lacks rank.

Columns are first scaled to unit norm, so that neither the accuracy nor the rank depends on the
units of a feature. A column whose spread is no more than the rounding of centring counts as zero.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from negcorr._common.arrays import Place, place_of, thin_svd, to_host
from negcorr._common.lapack import EPS
from negcorr._common.types import BoolArray, FloatArray, IntArray
from negcorr.bases.nested import Nesting

__all__ = ["RESOLVED", "Whitening", "resolved", "whiten_factor", "whiten_gram"]

#: Largest share of a direction, or of the target's spread in a prediction, that may be rounding.
RESOLVED = 1e-6

_MEMBERS_AT_ONCE = 16


@dataclass(frozen=True)
class Whitening:
    """Block-diagonal map from whitened coordinates to features.

    Attributes
    ----------
    blocks : tuple of ndarrays of shape (H_m, r_m)
        W_m for each member; r_m is the numerical rank of the block.
    starts : ndarray of shape (M + 1,)
        Where each block begins among the features.
    rank_starts : ndarray of shape (M + 1,)
        Where each block begins among the whitened coordinates.
    condition : float
        Largest condition number of a block of features with unit columns, in what is kept.
    nesting : Nesting or None
        How members are made of smaller ones; None for plain members.
    lift : float
        How many times more than ``condition``² rounding of the Gram matrix may grow.
    """

    blocks: tuple[FloatArray, ...]
    starts: IntArray
    rank_starts: IntArray
    condition: float
    nesting: Nesting | None = field(default=None, kw_only=True)
    lift: float = field(default=1.0, kw_only=True)

    def times(self, x: FloatArray) -> FloatArray:
        """W x for x of shape (R, k)."""
        stack = None if place_of(x).is_numpy else self._stack
        if stack is not None:
            m, h, r = stack.shape
            xp, k = place_of(x).xp, x.shape[1]
            return xp.reshape(stack @ xp.reshape(x, (m, r, k)), (m * h, k))
        out = place_of(x).empty((int(self.starts[-1]), x.shape[1]))
        for W, rows, kept in self._pieces():
            out[rows, :] = W @ x[kept, :]
        return out

    def transposed_times(self, v: FloatArray) -> FloatArray:
        """Wᵀ v for v of shape (Q, k)."""
        stack = None if place_of(v).is_numpy else self._stack
        if stack is not None:
            m, h, r = stack.shape
            xp, k = place_of(v).xp, v.shape[1]
            transposed = xp.permute_dims(stack, (0, 2, 1))
            return xp.reshape(transposed @ xp.reshape(v, (m, h, k)), (m * r, k))
        out = place_of(v).empty((int(self.rank_starts[-1]), v.shape[1]))
        for W, rows, kept in self._pieces():
            out[kept, :] = W.T @ v[rows, :]
        return out

    def rows(self, features: FloatArray) -> FloatArray:
        """features·W for rows of features, shape (n, Q) to (n, R)."""
        stack = None if place_of(features).is_numpy else self._stack
        if stack is not None:
            m, h, r = stack.shape
            xp, n = place_of(features).xp, features.shape[0]
            by_member = xp.permute_dims(xp.reshape(features, (n, m, h)), (1, 0, 2))
            whitened = xp.permute_dims(by_member @ stack, (1, 0, 2))
            return xp.reshape(whitened, (n, m * r))
        out = place_of(features).empty((features.shape[0], int(self.rank_starts[-1])))
        for W, rows, kept in self._pieces():
            out[:, kept] = features[:, rows] @ W
        return out

    def congruence(self, gram: FloatArray) -> FloatArray:
        """Wᵀ·gram·W of shape (R, R), a few members' rows at a time to spare memory."""
        if not place_of(gram).is_numpy:
            return self.transposed_times(self.rows(gram))
        out = np.empty((int(self.rank_starts[-1]),) * 2)
        pieces = self._pieces()
        for first in range(0, len(pieces), _MEMBERS_AT_ONCE):
            group = pieces[first : first + _MEMBERS_AT_ONCE]
            top = group[0][1].start
            half = self.rows(gram[top : group[-1][1].stop])
            for W, rows, kept in group:
                np.matmul(W.T, half[rows.start - top : rows.stop - top], out=out[kept])
        return out

    def excess(self, beta: FloatArray, alpha: float) -> FloatArray:
        """Σ_m β_mᵀ(whitened length − length of predictions)β_m for β of shape (Q, k): the ridge."""
        return alpha * place_of(beta).xp.sum(beta**2, axis=0)

    @cached_property
    def _stack(self) -> FloatArray | None:
        """All W_m in one array of shape (M, H, r), None where their shapes differ.

        Only devices use it: they do one large product in the time of a small one.
        """
        if len({W.shape for W in self.blocks}) > 1:
            return None
        return place_of(self.blocks[0]).xp.stack(self.blocks)

    def __getstate__(self) -> dict[str, Any]:
        """Without the second copy of the blocks."""
        return {name: part for name, part in vars(self).items() if name != "_stack"}

    def _pieces(self) -> list[tuple[FloatArray, slice, slice]]:
        """Each W_m with the slices of its features and of its whitened coordinates."""
        features = itertools.starmap(slice, itertools.pairwise(self.starts.tolist()))
        kept = itertools.starmap(slice, itertools.pairwise(self.rank_starts.tolist()))
        return list(zip(self.blocks, features, kept, strict=True))


def resolved(unit: FloatArray, size: FloatArray) -> BoolArray:
    """Which directions arithmetic resolves, by their coefficients.

    A value along a direction adds up φ_j w_j, each with a rounding error of eps times its size.
    Where these errors are more than a share ``RESOLVED`` of the values, the terms cancel, and the
    direction is rounding: of features in an ill-conditioned block, or of members that differ by
    little in a mode of small ρ. Units of features do not matter.

    Parameters
    ----------
    unit : ndarray of shape (Q, k)
        Coefficients w of directions whose values have unit length on the training rows.
    size : ndarray of shape (Q,)
        Size of every feature, or of the terms of its own that it is added up from: its root mean
        square, about zero.

    Returns
    -------
    ndarray of bool of shape (k,), in NumPy

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.spectrum.whitening import resolved
    >>> resolved(np.array([[1.0, 1e11], [1.0, -1e11]]), np.ones(2))
    array([ True, False])
    """
    xp = place_of(unit).xp
    return np.asarray(EPS * to_host(size @ xp.abs(unit)) <= RESOLVED)


def whiten_gram(
    scatter: FloatArray,
    weight: float,
    rounding: FloatArray,
    starts: IntArray,
    alpha: float,
    max_rank: int,
) -> Whitening:
    """Whitening from n·G = ΦᵀΦ by an eigendecomposition of every diagonal block.

    Parameters
    ----------
    scatter : ndarray of shape (Q, Q)
        ΦᵀΦ.
    weight : float
        n.
    rounding : ndarray of shape (Q,)
        Spread below which a column counts as zero.
    starts : ndarray of shape (M + 1,)
        Where each block begins.
    alpha : float
        Ridge inside the blocks.
    max_rank : int
        Most that a block's rank can be, from the number of rows.
    """
    place = place_of(scatter)
    diagonal = to_host(place.xp.linalg.diagonal(scatter))
    rounding = to_host(rounding)
    live = np.sqrt(np.maximum(diagonal, 0.0) / weight) > rounding
    widths = np.diff(starts)
    if place.is_numpy or (widths != widths[0]).any():
        own = [to_host(scatter[a:b, a:b]) for a, b in itertools.pairwise(starts.tolist())]
    else:
        # One transfer for all members' blocks.
        m, h = len(widths), int(widths[0])
        by_member = place.xp.permute_dims(place.xp.reshape(scatter, (m, h, m, h)), (1, 3, 0, 2))
        own = list(np.moveaxis(to_host(place.xp.linalg.diagonal(by_member)), 2, 0))
    blocks, worst = [], 1.0
    for (a, b), whole in zip(itertools.pairwise(starts), own, strict=True):
        keep = live[a:b]
        block = whole[np.ix_(keep, keep)] / weight + alpha * np.eye(int(keep.sum()))
        scale = np.sqrt(np.diagonal(block))
        values, vectors = np.linalg.eigh(block / np.outer(scale, scale))
        left_by_centring = float(np.max(rounding[a:b][keep] / scale, initial=0.0))
        # Products carry an error of a few eps in every entry, hence in every eigenvalue.
        noise = max(64.0 * EPS * max(len(values), 1), left_by_centring**2)
        kept = values > noise * np.max(values, initial=0.0)
        if alpha == 0:
            kept[: max(len(kept) - max_rank, 0)] = False
        W = np.zeros((b - a, int(kept.sum())))
        W[keep] = (vectors[:, kept] / np.sqrt(values[kept])) / scale[:, np.newaxis]
        blocks.append(W)
        if kept.any():
            worst = max(worst, float(np.sqrt(values[kept][-1] / values[kept][0])))
    return _assemble(blocks, starts, worst, place)


def whiten_factor(
    factor: FloatArray,
    rounding: FloatArray,
    size: FloatArray,
    starts: IntArray,
    alpha: float,
    max_rank: int,
) -> tuple[Whitening, FloatArray]:
    """Whitening from C with CᵀC = G by an SVD of every block of columns.

    Parameters
    ----------
    factor : ndarray of shape (k, Q)
        C.
    rounding : ndarray of shape (Q,)
        Spread below which a column counts as zero.
    size : ndarray of shape (Q,)
        Root mean square of every feature, about zero.
    starts, alpha, max_rank
        As in :func:`whiten_gram`.

    Returns
    -------
    whitening : Whitening
    whitened : ndarray of shape (k, R)
        C·W, taken from the singular vectors themselves where α = 0, which keeps it
        orthonormal within blocks however ill-conditioned they are.
    """
    place = place_of(factor)
    xp = place.xp
    rounding, size = to_host(rounding), to_host(size)
    live = to_host(xp.linalg.vector_norm(factor, axis=0)) > rounding
    blocks, pieces, worst = [], [], 1.0
    one_shape = not place.is_numpy and len(set(np.diff(starts))) == 1
    together = one_shape and live.all() and alpha == 0 and factor.shape[0] >= starts[1]
    parts = _svd_together(factor, starts) if together else []
    for m, (a, b) in enumerate(itertools.pairwise(starts.tolist())):
        keep = live[a:b]
        if together:
            columns, scale, left, values, right = parts[m]
        else:
            columns = factor[:, a:b]
            if not keep.all():
                columns = xp.take(columns, place.integers(np.flatnonzero(keep)), axis=1)
            stacked = columns
            if alpha > 0:
                ridge = np.sqrt(alpha).item() * place.eye(columns.shape[1])
                stacked = xp.concat([columns, ridge], axis=0)
            lengths = xp.linalg.vector_norm(stacked, axis=0)
            left, s, right = thin_svd(stacked / lengths)
            scale, values, right = to_host(lengths), to_host(s), to_host(right)
        noise = EPS * (10.0 * np.sqrt(left.shape[0]) + len(scale))
        noise = max(noise, float(np.max(rounding[a:b][keep] / scale, initial=0.0)))
        # Singular values descend, so that the first ones are kept.
        rank = int(np.count_nonzero(values > noise * np.max(values, initial=0.0)))
        if alpha == 0:
            rank = min(rank, max_rank)
        unit = (right[:rank].T / values[:rank]) / scale[:, np.newaxis]
        rank = int(np.logical_and.accumulate(resolved(unit, size[a:b][keep])).sum())
        W = np.zeros((b - a, rank))
        W[keep] = unit[:, :rank]
        blocks.append(W)
        pieces.append(left[:, :rank] if alpha == 0 else columns @ place.floats(W[keep]))
        if rank:
            worst = max(worst, float(values[0] / values[rank - 1]))
    return _assemble(blocks, starts, worst, place), xp.concat(pieces, axis=1)


def _svd_together(
    factor: FloatArray, starts: IntArray
) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]]:
    """For blocks of one shape on a device: their columns, the lengths of these, and U, s and Vᵀ.

    All QR decompositions are one step there; the small decompositions that remain are NumPy's.
    """
    place = place_of(factor)
    xp = place.xp
    m, h = len(starts) - 1, int(starts[1])
    stack = xp.permute_dims(xp.reshape(factor[:, : m * h], (-1, m, h)), (1, 0, 2))
    scale = xp.linalg.vector_norm(stack, axis=1)
    orthogonal, triangles = xp.linalg.qr(stack / scale[:, None, :])
    small_left, values, right = np.linalg.svd(to_host(triangles))
    left, scales = orthogonal @ place.floats(small_left), to_host(scale)
    return [(stack[k, ...], scales[k], left[k, ...], values[k], right[k]) for k in range(m)]


def _assemble(blocks: list[FloatArray], starts: IntArray, worst: float, place: Place) -> Whitening:
    """The whitening made of NumPy blocks, in the place of the features."""
    ranks = [W.shape[1] for W in blocks]
    rank_starts = np.concatenate([[0], np.cumsum(ranks)]).astype(np.intp)
    if not place.is_numpy:
        # One transfer for all of them.
        together = place.floats(np.concatenate([W.ravel() for W in blocks]))
        ends = np.cumsum([0, *(W.size for W in blocks)]).tolist()
        blocks = [
            place.xp.reshape(together[a:b], W.shape)
            for (a, b), W in zip(itertools.pairwise(ends), blocks, strict=True)
        ]
    return Whitening(tuple(blocks), starts, rank_starts, worst)
