"""Whitening inside the blocks: W_mᵀ (D_m + αI) W_m = I, with rank-deficient blocks cut.

Columns are first scaled to unit norm, so that neither the accuracy nor the rank depends on
the units of a feature. A column whose spread is what centring left over counts as zero.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from negcorr._svd import thin_svd
from negcorr._typing import FloatArray, IntArray
from negcorr.moments import EPS

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
        out = np.empty((int(self.starts[-1]), x.shape[1]))
        for W, rows, kept in self._pieces():
            np.matmul(W, x[kept], out=out[rows])
        return out

    def transposed_times(self, v: FloatArray) -> FloatArray:
        """Wᵀ v for v of shape (Q, k)."""
        out = np.empty((int(self.rank_starts[-1]), v.shape[1]))
        for W, rows, kept in self._pieces():
            np.matmul(W.T, v[rows], out=out[kept])
        return out

    def rows(self, features: FloatArray) -> FloatArray:
        """features·W for rows of features, shape (n, Q) to (n, R)."""
        out = np.empty((features.shape[0], int(self.rank_starts[-1])))
        for W, rows, kept in self._pieces():
            out[:, kept] = features[:, rows] @ W
        return out

    def congruence(self, gram: FloatArray) -> FloatArray:
        """Wᵀ·gram·W of shape (R, R), a few members' rows at a time to spare memory."""
        out = np.empty((int(self.rank_starts[-1]),) * 2)
        pieces = self._pieces()
        for first in range(0, len(pieces), _MEMBERS_AT_ONCE):
            group = pieces[first : first + _MEMBERS_AT_ONCE]
            top = group[0][1].start
            half = self.rows(gram[top : group[-1][1].stop])
            for W, rows, kept in group:
                np.matmul(W.T, half[rows.start - top : rows.stop - top], out=out[kept])
        return out

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
    live = np.sqrt(np.maximum(np.diagonal(scatter), 0.0) / weight) > rounding
    blocks, worst = [], 1.0
    for a, b in itertools.pairwise(starts):
        keep = live[a:b]
        block = scatter[a:b, a:b][np.ix_(keep, keep)] / weight + alpha * np.eye(int(keep.sum()))
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
    return _assemble(blocks, starts, worst)


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
    live = np.linalg.norm(factor, axis=0) > rounding
    blocks, pieces, worst = [], [], 1.0
    for a, b in itertools.pairwise(starts):
        keep = live[a:b]
        columns = factor[:, a:b][:, keep]
        stacked = columns
        if alpha > 0:
            stacked = np.vstack([columns, np.sqrt(alpha) * np.eye(columns.shape[1])])
        scale = np.linalg.norm(stacked, axis=0)
        left, values, right = thin_svd(stacked / scale)
        noise = EPS * (10.0 * np.sqrt(stacked.shape[0]) + stacked.shape[1])
        noise = max(noise, _left_over(rounding[a:b][keep], scale))
        kept = values > noise * np.max(values, initial=0.0)
        if alpha == 0:
            kept[max_rank:] = False
        W = np.zeros((b - a, int(kept.sum())))
        W[keep] = (right[kept].T / values[kept]) / scale[:, np.newaxis]
        blocks.append(W)
        pieces.append(left[:, kept] if alpha == 0 else columns @ W[keep])
        if kept.any():
            worst = max(worst, float(values[kept][0] / values[kept][-1]))
    return _assemble(blocks, starts, worst), np.concatenate(pieces, axis=1)


def _left_over(rounding: FloatArray, scale: FloatArray) -> float:
    """What centring left in a block's columns, relative to their size."""
    return float(np.max(rounding / scale, initial=0.0))


def _assemble(blocks: list[FloatArray], starts: IntArray, worst: float) -> Whitening:
    ranks = [W.shape[1] for W in blocks]
    rank_starts = np.concatenate([[0], np.cumsum(ranks)]).astype(np.intp)
    return Whitening(tuple(blocks), starts, rank_starts, worst)
