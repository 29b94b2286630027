r"""Members that are NCL ensembles themselves, each with a λ of its own.

A member k that averages M_k small ones, trained with gap g_k, pays
:math:`\beta_k^\top A_k\beta_k` for its weights, with
:math:`A_k = M_k g_k D_k + (1 - g_k) G_k` in place of its Gram matrix :math:`G_k` (Theorem 4 within
the member). Since :math:`A_k \succeq G_k`, all that holds for plain members holds for these:
one factorisation serves all λ, and 0 ≤ ρ ≤ K. At λ = 0 the whole is the average of K ensembles
that were tuned alone, at λ = 1 it is one model.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from negcorr._common.arrays import place_of, to_host
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases.nested import Nesting
from negcorr.spectrum.whitening import Whitening

__all__ = ["NestedWhitening", "nest"]

#: Whitening members lifts the rounding of modes that they shrink, by up to one over the gap
#: within. Predictions suffer less: in one trial on 14 data sets of the paper (at most 5000 rows,
#: gaps down to 1e-8, not kept as a command) those of both routes differed by at most 3e-8. Below
#: this gap the conditioning is taken to grow.
HARMLESS_GAP = 1e-5


@dataclass(frozen=True)
class NestedWhitening(Whitening):
    """Whitening of the small members, and then of the members that they make.

    Attributes
    ----------
    blocks, starts, rank_starts, condition
        As in :class:`~negcorr.spectrum.whitening.Whitening`; ``starts`` and ``rank_starts`` are
        those of the members, ``blocks`` those of the small ones.
    inner : Whitening
        Of the small members.
    inverses : tuple of ndarrays of shape (R_k, R_k)
        T_k with T_kᵀT_k the inverse of A_k in whitened coordinates.
    small_members : Nesting
        What it is made from.
    """

    inner: Whitening
    inverses: tuple[FloatArray, ...]
    small_members: Nesting

    @property
    def lift(self) -> float:
        """How much more than ``condition``² rounding may grow: one over the gap within, in all."""
        return 1.0 / (_lifted(self.small_members.gaps) * min(self.small_members.gaps))

    @property
    def nesting(self) -> Nesting:
        """How members are made of smaller ones."""
        return self.small_members

    def times(self, x: FloatArray) -> FloatArray:
        """W x for x of shape (R, k)."""
        return self.inner.times(self._inward(x))

    def transposed_times(self, v: FloatArray) -> FloatArray:
        """Wᵀ v for v of shape (Q, k)."""
        within = self.inner.transposed_times(v)
        return self._concat([T @ within[kept, :] for T, kept in self._groups()], axis=0)

    def rows(self, features: FloatArray) -> FloatArray:
        """features·W for rows of features, shape (n, Q) to (n, R)."""
        return self.outward(self.inner.rows(features))

    def congruence(self, gram: FloatArray) -> FloatArray:
        """Wᵀ·gram·W of shape (R, R)."""
        return self.outward(self.outward(self.inner.congruence(gram)).T)

    def outward(self, whitened: FloatArray) -> FloatArray:
        """Rows that the small members have whitened, whitened by their members too."""
        return self._concat([whitened[:, kept] @ T.T for T, kept in self._groups()], axis=1)

    def excess(self, beta: FloatArray, alpha: float) -> FloatArray:
        """βᵀ(A − G)β by members, summed, for β of shape (Q, k): what is no length of predictions.

        The ridge α is part of it.
        """
        place = place_of(beta)
        within = place.xp.concat(
            [
                place.floats(np.linalg.pinv(to_host(W))) @ beta[a:b, :]
                for W, (a, b) in zip(
                    self.inner.blocks, itertools.pairwise(self.inner.starts.tolist()), strict=True
                )
            ]
        )
        total = place.zeros((beta.shape[1],))
        counts = self.nesting.counts(self.starts)
        for (T, kept), gap, count in zip(self._groups(), self.nesting.gaps, counts, strict=True):
            part = within[kept, :]
            plain = place.xp.sum(part**2, axis=0)
            outer = place.floats(np.linalg.inv(to_host(T))).T @ part
            whole = place.xp.sum(outer**2, axis=0)
            of_predictions = (whole - count * gap * plain) / (1.0 - gap)
            total = total + gap * (count * plain - of_predictions)
        return total

    def _inward(self, x: FloatArray) -> FloatArray:
        return self._concat([T.T @ x[kept, :] for T, kept in self._groups()], axis=0)

    def _groups(self) -> list[tuple[FloatArray, slice]]:
        kept = itertools.starmap(slice, itertools.pairwise(self.rank_starts.tolist()))
        return list(zip(self.inverses, kept, strict=True))

    def _concat(self, parts: Sequence[FloatArray], axis: int) -> FloatArray:
        return place_of(parts[0]).xp.concat(list(parts), axis=axis)


def nest(
    inner: Whitening, within: Sequence[FloatArray], nesting: Nesting, outer: IntArray
) -> NestedWhitening:
    """Whiten the members on top of the small ones.

    Parameters
    ----------
    inner : Whitening
        Of the small members.
    within : sequence of ndarrays of shape (R_k, R_k)
        WᵀGW of every member's own features, whitened by the small members.
    nesting : Nesting
        Small members and the gap within each member.
    outer : ndarray of shape (K + 1,)
        Where the features of each member begin.

    Returns
    -------
    NestedWhitening
    """
    borders = np.searchsorted(nesting.starts, outer)
    rank_starts = inner.rank_starts[borders]
    counts = nesting.counts(outer)
    inverses = []
    for gram, gap, count in zip(within, nesting.gaps, counts, strict=True):
        place = place_of(gram)
        size = int(gram.shape[0])
        shifted = count * gap * place.eye(size) + (1.0 - gap) * gram
        lower = place.xp.linalg.cholesky(shifted)
        inverses.append(_inverse(lower) if place.is_numpy else place.xp.linalg.inv(lower))
    condition = inner.condition * _lifted(nesting.gaps) ** 0.5
    return NestedWhitening(
        inner.blocks, outer, rank_starts, condition, inner, tuple(inverses), nesting
    )


def _inverse(lower: FloatArray) -> FloatArray:
    """Of a triangular matrix, at a sixth of the price of any other."""
    inverse, info = lapack.dtrtri(lower, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"LAPACK dtrtri failed with info={info}.")
    return np.ascontiguousarray(inverse)


def _lifted(gaps: Sequence[float]) -> float:
    return max(1.0, HARMLESS_GAP / min(gaps))
