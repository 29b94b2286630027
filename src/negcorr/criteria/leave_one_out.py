r"""Exact leave-one-out residuals by a rank-M update for each row.

Ridge's shortcut e/(1 − h) is wrong for λ < 1, because the block diagonal D loses the sample too.
Weights are frequencies, so one observation is left out, not all copies that a weight counts: a
share τ = min(w_i, 1)/Σw. That changes N·A, A the matrix of Theorem 4, by U_i C U_iᵀ with C =
M(1−λ)I + λ11ᵀ and U_i carrying φ_m(x_i) in block m. With K = U_iᵀA⁻¹U_i (features centred), the M
contributions of the blocks to F₋ᵢ(x_i) are

.. math:: p = [(1-\tau)I - \tau K C]^{-1}
          \left[U_i^\top\beta + \tfrac{\bar y}{M}1 - \tau (K1 + \tfrac1M 1) y_i\right],

and F₋ᵢ(x_i) = Σp. It needs the rows, and an M×M solve for each: a criterion for small n.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np

from negcorr._common.lapack import EPS
from negcorr._common.threads import spread, stop_if_abandoned
from negcorr._common.types import FloatArray, IntArray
from negcorr.moments.moments import FactorMoments
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.spectrum import DenseSpectrum, Spectrum

__all__ = ["LeaveOneOut"]

#: Rows whose own leverage in a block comes this close to 1 change the block's rank when they
#: leave; the update breaks down there and the row is refitted instead.
LEVERAGE_LIMIT = 1e-8

#: The same for a row's leverage in the ensemble at the smallest gap. A row that alone spans a
#: direction comes there as λ → 1; at gap > 0 the ensemble without it is unique all the same, and
#: its limit exists.
ENSEMBLE_LEVERAGE_LIMIT = 1e-10

#: The update divides by what both leverages leave of 1. Where its relative error, eps over the
#: product of these, may be larger, rows are refitted too, if that takes little time.
UPDATED_ERROR = 1e-12

#: Size of what is refitted then, rows times n·Q·min(n, Q): about a second.
MOST_REFITTED = 3e8

_BATCH_BYTES = 64 * 2**20


@dataclass(frozen=True)
class LeaveOneOut:
    """The rows of a fit in feature space, and exact leave-one-out residuals from them.

    Attributes
    ----------
    features : ndarray of shape (n, Q)
        Features of the training rows.
    y : ndarray of shape (n, outputs)
        Targets.
    weight : ndarray of shape (n,)
        Frequencies; one copy of a row leaves at a time.
    starts : ndarray of shape (M + 1,)
        Where each member's block begins.
    alpha : float
        Ridge inside the blocks.
    fit_intercept : bool
        Whether features and target are centred, anew without each row.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.criteria.leave_one_out import LeaveOneOut
    >>> rng = np.random.default_rng(0)
    >>> loo = LeaveOneOut(
    ...     rng.normal(size=(20, 4)), rng.normal(size=(20, 1)), np.ones(20), np.array([0, 2, 4])
    ... )
    >>> loo.residuals(np.array([0.5, 0.1])).shape
    (2, 20, 1)
    """

    features: FloatArray
    y: FloatArray
    weight: FloatArray
    starts: IntArray
    alpha: float = 0.0
    fit_intercept: bool = True

    def error(self, gaps: FloatArray) -> FloatArray:
        """Weighted mean squared leave-one-out residual, shape (gaps, outputs)."""
        squares = self.residuals(gaps) ** 2
        return np.asarray(np.einsum("gno,n->go", squares, self.weight) / self.weight.sum())

    def residuals(self, gaps: FloatArray) -> FloatArray:
        """y_i − F₋ᵢ(x_i), shape (gaps, n, outputs)."""
        out = np.empty((len(gaps), *self.y.shape))
        shares, (n, q) = self._shares(), self.features.shape
        cost = n * q * min(n, q)
        # N·A carries N·α; without the row it is (N − w)·α, a change that is not of low rank.
        # A spectrum with α(1 − τ) absorbs it, one for each distinct weight.
        absorbed = shares if self.alpha > 0 else np.zeros(len(shares))
        for share in np.unique(absorbed):
            index = np.flatnonzero(absorbed == share)
            spectrum = self._spectrum(self.alpha * (1.0 - float(share)))
            if not isinstance(spectrum, DenseSpectrum):
                raise TypeError("leave-one-out needs a spectrum by the QR route.")
            n_members, rank = spectrum.n_members, len(spectrum.rho)
            if rank < len(spectrum.vectors) and (gaps == 0).any():
                raise ValueError(
                    "loo at lam=1 is not defined where features are linearly dependent across "
                    "members; give gap > 0."
                )
            whitened = spectrum.whitening.rows(
                self.features[index] - spectrum.centre[: spectrum.n_features]
            )
            lengths = np.add.reduceat(
                np.hstack([whitened**2, np.zeros((len(index), 1))]),
                np.minimum(spectrum.whitening.rank_starts[:-1], whitened.shape[1]),
                axis=1,
            ) * (spectrum.block_ranks > 0)
            keeps = 1.0 - shares[index] * (lengths.max(axis=1) + self.fit_intercept)
            leverage = (whitened @ spectrum.vectors) ** 2 @ (
                1.0 / (spectrum.rho + gaps.min() * (n_members - spectrum.rho))
            )
            stays = 1.0 - shares[index] * (leverage + self.fit_intercept)
            updates = (keeps > LEVERAGE_LIMIT) & (stays > ENSEMBLE_LEVERAGE_LIMIT)
            accurate = updates & (keeps * stays * UPDATED_ERROR > EPS)
            if np.count_nonzero(~accurate) * cost <= MOST_REFITTED:
                updates = accurate
            per_batch = max(1, _BATCH_BYTES // (8 * n_members * (rank + 2 * n_members)))
            solvable = np.flatnonzero(updates)
            batches = [solvable[a : a + per_batch] for a in range(0, len(solvable), per_batch)]
            work = partial(self._update, index, whitened, lengths, gaps, spectrum, out)
            spread(work, batches)
            for i in index[~updates].tolist():
                refitted = self._spectrum(self.alpha, without=i)
                q = refitted.n_features
                centred = self.features[i] - refitted.centre[:q]
                fitted = np.einsum("q,oqg->go", centred, refitted.coef_path(gaps))
                out[:, i] = self.y[i] - refitted.centre[q:] - fitted
        return out

    def _shares(self) -> FloatArray:
        """τ, the share of the total weight that leaves with one copy of each row."""
        return np.asarray(np.minimum(self.weight, 1.0) / self.weight.sum())

    def _spectrum(self, alpha: float, without: int | None = None) -> Spectrum:
        weight = self.weight.copy()
        if without is not None:
            weight[without] -= min(weight[without], 1.0)
        z = np.hstack([self.features, self.y])
        moments = FactorMoments.from_rows(z, weight, self.y.shape[1])
        # A mode that is left out here could come back without a row, which is no low rank then.
        return factorise(
            moments,
            self.starts,
            alpha=alpha,
            fit_intercept=self.fit_intercept,
            every_mode=True,
        )

    def _update(
        self,
        index: IntArray,
        whitened: FloatArray,
        lengths: FloatArray,
        gaps: FloatArray,
        spectrum: DenseSpectrum,
        out: FloatArray,
        batch: IntArray,
    ) -> None:
        """Write the residuals of a batch of the rows ``index`` by the rank-M formula."""
        index, whitened, lengths = index[batch], whitened[batch], lengths[batch]
        m, rho, vectors = spectrum.n_members, spectrum.rho, spectrum.vectors
        bounds = spectrum.whitening.rank_starts
        by_block = np.stack(
            [whitened[:, a:b] @ vectors[a:b] for a, b in itertools.pairwise(bounds)],
            axis=1,
        )
        # The part of every block's row outside all modes, where A is M·gap. A training row as a
        # whole has no such part: those of its blocks cancel, so null @ 1 = 0 exactly.
        null = -(by_block @ by_block.transpose(0, 2, 1))
        null[:, np.arange(m), np.arange(m)] += lengths
        joint = by_block.sum(axis=1)[:, :, np.newaxis]
        tau = self._shares()[index][:, np.newaxis, np.newaxis]
        y, mean_y = self.y[index][:, np.newaxis, :], spectrum.centre[spectrum.n_features :]
        for k, gap in enumerate(gaps):
            stop_if_abandoned()
            inverse = 1.0 / (rho + gap * (m - rho))
            scaled = by_block * inverse
            K_one = scaled @ joint
            KC = null + m * gap * (scaled @ by_block.transpose(0, 2, 1)) + (1.0 - gap) * K_one
            fitted = by_block @ (spectrum.kappa * np.sqrt(rho)[:, np.newaxis] * inverse[:, None])
            if self.fit_intercept:
                system = (1.0 - tau) * np.eye(m) - tau * KC
                right = fitted + mean_y / m - tau * (K_one + 1.0 / m) * y
            else:
                system = np.eye(m) - tau * KC
                right = fitted - tau * K_one * y
            parts = np.linalg.solve(system, right)
            out[k, index] = self.y[index] - parts.sum(axis=1)
