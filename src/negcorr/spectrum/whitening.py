"""Whitening inside the blocks: W_mᵀ (D_m + αI) W_m = I, with rank-deficient blocks cut.

Columns are first scaled to unit norm, so that neither the accuracy nor the rank depends on
the units of a feature. A column whose spread is what centring left over counts as zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from negcorr._common.arrays import Place, place_of, to_host
from negcorr._common.lapack import EPS, thin_svd
from negcorr._common.types import BoolArray, FloatArray, IntArray

__all__ = ["Whitening", "whiten_factor", "whiten_gram"]

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
    """

    blocks: tuple[FloatArray, ...]
    starts: IntArray
    rank_starts: IntArray
    condition: float

    @property
    def ranks(self) -> IntArray:
        """Numerical rank of each block."""
        return np.diff(self.rank_starts)

    def times(self, x: FloatArray) -> FloatArray:
        """W x for x of shape (R, k)."""
        if self._stack is not None:
            m, h, r = self._stack.shape
            xp, k = place_of(x).xp, x.shape[1]
            return xp.reshape(self._stack @ xp.reshape(x, (m, r, k)), (m * h, k))
        out = place_of(x).empty((int(self.starts[-1]), x.shape[1]))
        for W, rows, kept in self._pieces():
            out[rows, :] = W @ x[kept, :]
        return out

    def transposed_times(self, v: FloatArray) -> FloatArray:
        """Wᵀ v for v of shape (Q, k)."""
        if self._stack is not None:
            m, h, r = self._stack.shape
            xp, k = place_of(v).xp, v.shape[1]
            transposed = xp.permute_dims(self._stack, (0, 2, 1))
            return xp.reshape(transposed @ xp.reshape(v, (m, h, k)), (m * r, k))
        out = place_of(v).empty((int(self.rank_starts[-1]), v.shape[1]))
        for W, rows, kept in self._pieces():
            out[kept, :] = W.T @ v[rows, :]
        return out

    def rows(self, features: FloatArray) -> FloatArray:
        """features·W for rows of features, shape (n, Q) to (n, R)."""
        if self._stack is not None:
            m, h, r = self._stack.shape
            xp, n = place_of(features).xp, features.shape[0]
            by_member = xp.permute_dims(xp.reshape(features, (n, m, h)), (1, 0, 2))
            whitened = xp.permute_dims(by_member @ self._stack, (1, 0, 2))
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

    @property
    def lift(self) -> float:
        """How much more than ``condition``² rounding of the Gram matrix may grow."""
        return 1.0

    @property
    def nesting(self) -> Any:
        """How members are made of smaller ones; None for plain members."""
        return None

    @cached_property
    def _stack(self) -> FloatArray | None:
        """All W_m in one array of shape (M, H, r) where they are on a device and of one shape.

        A device does one large step in the time of a small one; a cache likes small ones.
        """
        place = place_of(self.blocks[0])
        if place.is_numpy or len({W.shape for W in self.blocks}) > 1:
            return None
        return place.xp.stack(self.blocks)

    def __getstate__(self) -> dict[str, Any]:
        """Without the blocks once more."""
        return {name: part for name, part in vars(self).items() if name != "_stack"}

    def _pieces(self) -> list[tuple[FloatArray, slice, slice]]:
        """Each W_m with its features and its whitened coordinates."""
        features = itertools.starmap(slice, itertools.pairwise(self.starts.tolist()))
        kept = itertools.starmap(slice, itertools.pairwise(self.rank_starts.tolist()))
        return list(zip(self.blocks, features, kept, strict=True))


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
    blocks, worst = [], 1.0
    diagonal_blocks = _diagonal_blocks(scatter, starts)
    for (a, b), whole in zip(itertools.pairwise(starts), diagonal_blocks, strict=True):
        keep = live[a:b]
        block = whole[np.ix_(keep, keep)] / weight + alpha * np.eye(int(keep.sum()))
        scale = np.sqrt(np.diagonal(block))
        values, vectors = np.linalg.eigh(block / np.outer(scale, scale))
        # Products carry an error of a few eps in every entry, hence in every eigenvalue.
        noise = max(64.0 * EPS * max(len(values), 1), _left_over(rounding[a:b][keep], scale) ** 2)
        kept = values > noise * np.max(values, initial=0.0)
        if alpha == 0:
            kept[: max(len(kept) - max_rank, 0)] = False
        W = np.zeros((b - a, int(kept.sum())))
        W[keep] = (vectors[:, kept] / np.sqrt(values[kept])) / scale[:, np.newaxis]
        blocks.append(W)
        if kept.any():
            worst = max(worst, float(np.sqrt(values[kept][-1] / values[kept][0])))
    return _assemble(blocks, starts, worst, place)


def _diagonal_blocks(scatter: FloatArray, starts: IntArray) -> list[FloatArray]:
    """Every member's own block, at home: small matrices, on which little is decided at a time."""
    place = place_of(scatter)
    widths = np.diff(starts)
    if place.is_numpy or (widths != widths[0]).any():
        return [to_host(scatter[a:b, a:b]) for a, b in itertools.pairwise(starts.tolist())]
    # One transfer for all of them.
    m, h = len(widths), int(widths[0])
    by_member = place.xp.permute_dims(place.xp.reshape(scatter, (m, h, m, h)), (1, 3, 0, 2))
    together = to_host(place.xp.linalg.diagonal(by_member))
    return [together[:, :, k] for k in range(m)]


def whiten_factor(
    factor: FloatArray,
    rounding: FloatArray,
    starts: IntArray,
    alpha: float,
    max_rank: int,
) -> tuple[Whitening, FloatArray]:
    """Whitening from C with CᵀC = G by an SVD of every block of columns.

    Returns
    -------
    whitening : Whitening
    whitened : ndarray of shape (k, R)
        C·W, taken from the singular vectors themselves where α = 0, which keeps it
        orthonormal within blocks however ill-conditioned they are.
    """
    place = place_of(factor)
    xp = place.xp
    rounding = to_host(rounding)
    live = to_host(xp.linalg.vector_norm(factor, axis=0)) > rounding
    blocks, pieces, worst = [], [], 1.0
    one_shape = not place.is_numpy and len(set(np.diff(starts))) == 1
    together = one_shape and live.all() and alpha == 0 and factor.shape[0] >= starts[1]
    parts = (_svd_together if together else _svd_one_by_one)(factor, live, starts, alpha)
    for (a, b), part in zip(itertools.pairwise(starts.tolist()), parts, strict=True):
        keep, values, right, scale = live[a:b], part.values, part.right, part.scale
        noise = EPS * (10.0 * np.sqrt(part.left.shape[0]) + len(scale))
        noise = max(noise, _left_over(rounding[a:b][keep], scale))
        kept = values > noise * np.max(values, initial=0.0)
        if alpha == 0:
            kept[max_rank:] = False
        W = np.zeros((b - a, int(kept.sum())))
        W[keep] = (right[kept].T / values[kept]) / scale[:, np.newaxis]
        blocks.append(W)
        # Singular values descend, so what is kept comes first.
        n_kept = W.shape[1]
        pieces.append(part.left[:, :n_kept] if alpha == 0 else part.columns @ place.floats(W[keep]))
        if kept.any():
            worst = max(worst, float(values[kept][0] / values[kept][-1]))
    return _assemble(blocks, starts, worst, place), xp.concat(pieces, axis=1)


@dataclass(frozen=True)
class _BlockSVD:
    """A block's columns, and U, s and Vᵀ of them with unit norm; all but the tall ones at home."""

    columns: FloatArray
    scale: FloatArray
    left: FloatArray
    values: FloatArray
    right: FloatArray


def _svd_one_by_one(
    factor: FloatArray, live: BoolArray, starts: IntArray, alpha: float
) -> Iterator[_BlockSVD]:
    """Of every block's columns that vary, with the ridge as further rows."""
    place = place_of(factor)
    xp = place.xp
    for a, b in itertools.pairwise(starts.tolist()):
        columns = factor[:, a:b]
        if not live[a:b].all():
            columns = xp.take(columns, place.integers(np.flatnonzero(live[a:b])), axis=1)
        stacked = columns
        if alpha > 0:
            ridge = np.sqrt(alpha).item() * place.eye(columns.shape[1])
            stacked = xp.concat([columns, ridge], axis=0)
        scale = xp.linalg.vector_norm(stacked, axis=0)
        left, values, right = thin_svd(stacked / scale)
        yield _BlockSVD(columns, to_host(scale), left, to_host(values), to_host(right))


def _svd_together(
    factor: FloatArray, live: BoolArray, starts: IntArray, alpha: float
) -> Iterator[_BlockSVD]:
    """Of blocks of one shape on a device: all QR decompositions in one step, then small SVDs."""
    place = place_of(factor)
    xp = place.xp
    m, h = len(starts) - 1, int(starts[1])
    stack = xp.permute_dims(xp.reshape(factor[:, : m * h], (-1, m, h)), (1, 0, 2))
    scale = xp.linalg.vector_norm(stack, axis=1)
    orthogonal, triangles = xp.linalg.qr(stack / scale[:, None, :])
    small_left, values, right = np.linalg.svd(to_host(triangles))
    left, scales = orthogonal @ place.floats(small_left), to_host(scale)
    for k in range(m):
        yield _BlockSVD(stack[k, ...], scales[k], left[k, ...], values[k], right[k])


def _left_over(rounding: FloatArray, scale: FloatArray) -> float:
    """What centring left in a block's columns, relative to their size."""
    return float(np.max(rounding / scale, initial=0.0))


def _assemble(blocks: list[FloatArray], starts: IntArray, worst: float, place: Place) -> Whitening:
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
