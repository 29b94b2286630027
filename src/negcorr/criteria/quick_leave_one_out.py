"""Quick leave-one-out: the error at every λ from one decomposition, for comparing many bases.

The blocks are whitened once, by all rows. Whitening does not use y, so the error is not biased by
the left-out target. It is the error of an ensemble that differs a little from NCL refitted without
the row (:mod:`negcorr.criteria.leave_one_out`). The rest is ridge regression on whitened features
(Theorem 7), whose leave-one-out has a closed form, as that of kernel ridge regression has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr._common.types import FloatArray, IntArray
from negcorr.spectrum.whitening import Whitening, whiten_gram

__all__ = ["QuickLeaveOneOut", "ridge_losses", "screen", "span_losses"]

#: Eigenvalues below this share of the largest are rounding.
NOISE = 1e-12

#: Directions of landmarks that carry less than this share of the largest are rounding too.
SPAN_NOISE = 1e-9

#: Smallest value of 1 − leverage that is used for a row.
LEAST_DENOMINATOR = 1e-10


@dataclass(frozen=True)
class QuickLeaveOneOut:
    """Rows in the coordinates in which NCL is diagonal.

    Attributes
    ----------
    rho : ndarray of shape (r,)
        Eigenvalues of P (Proposition 15).
    left : ndarray of shape (n, r)
        Left singular vectors of the whitened features, rows weighted.
    right : ndarray of shape (R, r)
        Right singular vectors.
    kappa : ndarray of shape (r, outputs)
        The target along the modes.
    target : ndarray of shape (n, outputs)
        About its mean.
    share : ndarray of shape (n,)
        Each row's share of all weight.
    n_members : int
        M.
    whitening : Whitening
        W.
    """

    rho: FloatArray
    left: FloatArray
    right: FloatArray
    kappa: FloatArray
    target: FloatArray
    share: FloatArray
    n_members: int
    whitening: Whitening

    def shrinkage(self, gaps: FloatArray) -> FloatArray:
        """Eigenvalues of the smoothing matrix, shape (gaps, r)."""
        stiffness = np.maximum(self.n_members - self.rho, 0.0) / self.rho
        return np.asarray(1.0 / (1.0 + gaps[:, np.newaxis] * stiffness))

    def losses(self, gaps: FloatArray) -> FloatArray:
        """Squared leave-one-out error of every row, mean over outputs, shape (gaps, n)."""
        s = self.shrinkage(gaps)
        leverage = s @ (self.left**2).T
        kept = (1.0 - self.share)[:, np.newaxis]
        root = np.sqrt(self.share)[:, np.newaxis]
        out = np.empty((len(gaps), len(self.target)))
        for i, gap in enumerate(gaps):
            h = leverage[i][:, np.newaxis]
            fit = (self.left @ (s[i][:, np.newaxis] * self.kappa)) / root
            free = np.maximum(kept - (1.0 - gap) * h, LEAST_DENOMINATOR)
            residual = (self.target * (free + h) - kept * fit) / (kept * free)
            out[i] = np.mean(residual**2, axis=1)
        return out

    def coef(self, gap: float) -> FloatArray:
        """β of shape (Q, outputs)."""
        s = self.shrinkage(np.array([gap]))[0]
        scaled = (s / np.sqrt(self.rho))[:, np.newaxis] * self.kappa
        return self.whitening.times(self.right @ scaled)


def screen(
    features: FloatArray,
    target: FloatArray,
    starts: IntArray,
    weight: FloatArray | None = None,
    alpha: float = 0.0,
) -> QuickLeaveOneOut:
    """Leave-one-out from features: whiten by blocks, and diagonalise by the smaller side.

    Parameters
    ----------
    features : ndarray of shape (n, Q)
        Features of all members, side by side.
    target : ndarray of shape (n, outputs)
        Targets.
    starts : ndarray of shape (M + 1,)
        Where each member's block begins.
    weight : ndarray of shape (n,), optional
        Frequencies, positive.
    alpha : float, default=0.0
        Ridge inside the blocks.

    Returns
    -------
    QuickLeaveOneOut

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.criteria.quick_leave_one_out import screen
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(50, 6))
    >>> fit = screen(features, features[:, :1], np.array([0, 3, 6]))
    >>> bool(fit.losses(np.array([1e-9])).mean() < 1e-12)
    True
    """
    weight = np.ones(len(features)) if weight is None else weight
    share = weight / weight.sum()
    root = np.sqrt(share)[:, np.newaxis]
    mean = share @ features
    centred = (features - mean) * root
    gram = centred.T @ centred
    # A constant's spread after centring is rounding.
    rounding = NOISE * np.abs(mean)
    whitening = whiten_gram(gram, 1.0, rounding, starts, alpha, max(len(features) - 1, 0))
    whitened = whitening.rows(centred)
    if whitened.shape[0] < whitened.shape[1]:
        rho, left = np.linalg.eigh(whitened @ whitened.T)
        kept = rho > NOISE * np.max(rho, initial=0.0)
        rho, left = rho[kept], left[:, kept]
        right = (whitened.T @ left) / np.sqrt(rho)
    else:
        rho, right = np.linalg.eigh(whitening.congruence(gram))
        kept = rho > NOISE * np.max(rho, initial=0.0)
        rho, right = rho[kept], right[:, kept]
        left = (whitened @ right) / np.sqrt(rho)
    about_mean = target - share @ target
    return QuickLeaveOneOut(
        rho=rho,
        left=left,
        right=right,
        kappa=left.T @ (about_mean * root),
        target=about_mean,
        share=share,
        n_members=len(starts) - 1,
        whitening=whitening,
    )


def ridge_losses(
    kernel: FloatArray, target: FloatArray, weight: FloatArray, ridges: FloatArray
) -> FloatArray:
    r"""Squared leave-one-out error of kernel ridge regression, from one decomposition.

    The objective is Σ w (y − f − b)² + ridge·‖f‖², with an intercept b that is free.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Kernel between all rows.
    target : ndarray of shape (n, outputs)
        Targets.
    weight : ndarray of shape (n,)
        Frequencies, positive; a row is left out with all its weight.
    ridges : ndarray of shape (k,)
        Positive.

    Returns
    -------
    ndarray of shape (k, n)
        Mean over outputs.

    Notes
    -----
    With :math:`R = (K + \mathrm{ridge}\,W^{-1})^{-1}` and
    :math:`B = R - R 1 1^\top R / (1^\top R 1)`, the residual of a left-out row is
    :math:`(B y)_i / B_{ii}`. Centring rows and targets beforehand instead would be clearly wrong:
    then each is minus the sum of the others, which reveals the left-out one to every linear model
    that interpolates.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.criteria.quick_leave_one_out import ridge_losses
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> losses = ridge_losses(np.exp(-((x - x.T) ** 2)), x, np.ones(20), np.array([1e-6, 1.0]))
    >>> losses.mean(axis=1).round(3)
    array([0.  , 0.01])
    """
    root = np.sqrt(weight)[:, np.newaxis]
    values, vectors = np.linalg.eigh(root * kernel * root.T)
    resistance = 1.0 / (np.maximum(values, 0.0)[:, np.newaxis] + ridges)
    # R 1, the diagonal of R and R y, without a factor root on either side.
    ones = vectors @ (resistance * (vectors.T @ root))
    mass = np.sum(root * ones, axis=0)
    diagonal = (vectors**2) @ resistance
    # Where a row has only the intercept, the difference is rounding.
    free = np.maximum(diagonal - ones**2 / mass, NOISE * diagonal)
    along = vectors.T @ (root * target)
    total = np.zeros_like(diagonal)
    for j in range(target.shape[1]):
        dual = vectors @ (resistance * along[:, j : j + 1])
        dual -= ones * (np.sum(root * dual, axis=0) / mass)
        total += (dual / free) ** 2
    return np.asarray((total / (root**2 * target.shape[1])).T)


def span_losses(
    values: FloatArray,
    between: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    ridges: FloatArray,
) -> FloatArray:
    """Squared leave-one-out error of kernel ridge regression in the span of some landmarks.

    The objective is that of :func:`ridge_losses`, minimised over functions Σ a_l k(·, landmark l):
    ridge regression, with an intercept, on features that are orthonormal in the kernel's space.

    Parameters
    ----------
    values : ndarray of shape (n, l)
        Kernel between the rows and the landmarks.
    between : ndarray of shape (l, l)
        Kernel between the landmarks.
    target : ndarray of shape (n, outputs)
        Targets.
    weight : ndarray of shape (n,)
        Frequencies, positive; a row is left out with all its weight.
    ridges : ndarray of shape (k,)
        Positive.

    Returns
    -------
    ndarray of shape (k, n)
        Mean over outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.criteria.quick_leave_one_out import ridge_losses, span_losses
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> kernel, about = np.exp(-np.abs(x - x.T)), (x, np.ones(20), np.array([0.1, 1.0]))
    >>> bool(np.allclose(span_losses(kernel, kernel, *about), ridge_losses(kernel, *about)))
    True
    """
    strength, vectors = np.linalg.eigh(between)
    kept = strength > SPAN_NOISE * strength[-1]
    share = weight / weight.sum()
    root = np.sqrt(weight)[:, np.newaxis]
    features = values @ (vectors[:, kept] / np.sqrt(strength[kept]))
    features = root * (features - share @ features)
    about_mean = root * (target - share @ target)
    size, turn = np.linalg.eigh(features.T @ features)
    features = features @ turn
    shrunk = 1.0 / (np.maximum(size, 0.0)[:, np.newaxis] + ridges)
    leverage = (features**2) @ shrunk + share[:, np.newaxis]
    free = np.maximum(1.0 - leverage, LEAST_DENOMINATOR)
    along = features.T @ about_mean
    total = np.zeros_like(free)
    for j in range(target.shape[1]):
        fit = features @ (shrunk * along[:, j : j + 1])
        total += ((about_mean[:, j : j + 1] - fit) / free) ** 2
    return np.asarray((total / (root**2 * target.shape[1])).T)
