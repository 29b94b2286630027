"""From moments to a :class:`~negcorr.spectrum.Spectrum`, by the Gram or the QR route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from negcorr._typing import FloatArray, IntArray
from negcorr.banded import BandedFit, CoefficientPath
from negcorr.modes import SMALL, DenseModes, Modes, eigenmodes, tridiagonalise
from negcorr.moments import GramMoments, Moments
from negcorr.spectrum import Spectrum
from negcorr.whitening import EPS, Whitening, whiten_factor, whiten_gram

__all__ = ["factorise", "factorise_fold"]


def factorise(
    moments: Moments,
    starts: IntArray,
    *,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    route: Literal["gram", "qr"] = "qr",
) -> Spectrum:
    """Whiten, diagonalise, and express the target in the modes.

    Parameters
    ----------
    moments : GramMoments or FactorMoments
        Statistics of the training rows.
    starts : ndarray of shape (M + 1,)
        Where each member's block of features begins.
    alpha : float, default=0.0
        Ridge inside the blocks.
    fit_intercept : bool, default=True
        Centre features and target.
    route : {"gram", "qr"}, default="qr"
        For factor moments: singular values of the whitened factor ("qr"), or eigenvalues of
        its small Gram matrix ("gram"), faster where rows are fewer than features. Gram
        moments have only the second.

    Returns
    -------
    Spectrum

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.factorise import factorise
    >>> from negcorr.moments import FactorMoments
    >>> z = np.random.default_rng(0).normal(size=(30, 7))
    >>> moments = FactorMoments.from_rows(z, np.ones(30), n_outputs=1)
    >>> spectrum = factorise(moments, np.array([0, 3, 6]))
    >>> [round(float(d), 6) for d in spectrum.dof([0.0, 1.0])]
    [4.0, 7.0]
    """
    n_features = moments.n_features
    centre = moments.mean if fit_intercept else np.zeros_like(moments.mean)
    design = _Design(
        mean=centre[:n_features] if fit_intercept else None,
        starts=starts,
        alpha=alpha,
        max_rank=max(moments.n_rows - fit_intercept, 0),
    )
    if isinstance(moments, GramMoments):
        scatter = moments.scatter if fit_intercept else moments.scatter_about(centre)
        parts = _from_gram(scatter, moments.weight, design)
    else:
        factor = moments.factor_about(centre) / np.sqrt(moments.weight)
        parts = _from_factor(factor, design, route)
    whitening, modes, rho, kappa, outside, energy = parts
    return Spectrum(
        rho=rho,
        kappa=kappa,
        outside=outside,
        total=energy,
        weight=moments.weight,
        n_members=len(starts) - 1,
        fit_intercept=fit_intercept,
        centre=centre,
        alpha=alpha,
        whitening=whitening,
        modes=modes,
    )


def factorise_fold(
    moments: Moments,
    starts: IntArray,
    *,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    route: Literal["gram", "qr"] = "qr",
) -> CoefficientPath:
    """As :func:`factorise`, for a fold, of which only coefficients are asked.

    By the Gram route that takes about half the time.
    """
    if not isinstance(moments, GramMoments) or moments.n_features < SMALL:
        return factorise(moments, starts, alpha=alpha, fit_intercept=fit_intercept, route=route)
    q = moments.n_features
    centre = moments.mean if fit_intercept else np.zeros_like(moments.mean)
    scatter = moments.scatter if fit_intercept else moments.scatter_about(centre)
    design = _Design(
        mean=centre[:q] if fit_intercept else None,
        starts=starts,
        alpha=alpha,
        max_rank=max(moments.n_rows - fit_intercept, 0),
    )
    whitening, whitened, cross = _whitened_gram(scatter, moments.weight, design)
    if len(whitened) < 2:
        return factorise(moments, starts, alpha=alpha, fit_intercept=fit_intercept)
    # What follows overwrites P and copies it; the moments are not needed any more.
    del moments, scatter
    # Every eigenvalue is at most M (Lemma 13), the trace is their sum.
    largest = min(len(starts) - 1.0, float(np.trace(whitened)))
    reduction = tridiagonalise(whitened)
    return BandedFit(
        whitening=whitening,
        reduction=reduction,
        target=reduction.transposed_times(cross),
        noise=_gram_noise(whitening, largest),
        n_members=len(starts) - 1,
        centre=centre,
    )


@dataclass(frozen=True)
class _Design:
    """What both routes need to know besides the moments.

    ``max_rank`` is the number of rows less the constant: rounding can make features that
    are nearly dependent look like more, and no rank may exceed it.
    """

    mean: FloatArray | None
    starts: IntArray
    alpha: float
    max_rank: int


_Parts = tuple[Whitening, Modes, FloatArray, FloatArray, FloatArray, FloatArray]


def _from_gram(scatter: FloatArray, weight: float, design: _Design) -> _Parts:
    whitening, whitened, cross = _whitened_gram(scatter, weight, design)
    rho, modes = eigenmodes(whitened)
    target = modes.transposed_times(cross)
    first = int(np.searchsorted(rho, _gram_noise(whitening, np.max(rho, initial=0.0)), "right"))
    first = max(first, len(rho) - design.max_rank)
    rho = rho[first:]
    kappa = target[first:] / np.sqrt(rho)[:, np.newaxis]
    energy = np.maximum(np.diagonal(scatter)[int(design.starts[-1]) :] / weight, 0.0)
    outside = np.maximum(energy - (kappa**2).sum(axis=0), 0.0)
    return whitening, modes.without_first(first), rho, kappa, outside, energy


def _whitened_gram(
    scatter: FloatArray, weight: float, design: _Design
) -> tuple[Whitening, FloatArray, FloatArray]:
    """W, P = WᵀGW and Wᵀc from the scatter of [φ, y]."""
    q = int(design.starts[-1])
    whitening = whiten_gram(
        scatter[:q, :q], weight, design.mean, design.starts, design.alpha, design.max_rank
    )
    whitened = whitening.congruence(scatter[:q, :q])
    whitened *= 1.0 / weight
    return whitening, whitened, whitening.transposed_times(scatter[:q, q:]) / weight


def _gram_noise(whitening: Whitening, largest: float) -> float:
    """Size below which an eigenvalue of P is rounding.

    It inherits eps from G, magnified by the conditioning of the blocks.
    """
    rank = max(int(whitening.rank_starts[-1]), 1)
    return float(EPS * (10.0 * np.sqrt(rank) + whitening.condition**2) * largest)


def _from_factor(factor: FloatArray, design: _Design, route: str) -> _Parts:
    q = int(design.starts[-1])
    target = factor[:, q:]
    whitening, whitened = whiten_factor(
        factor[:, :q], design.mean, design.starts, design.alpha, design.max_rank
    )
    if route == "gram" and whitened.shape[0] < whitened.shape[1]:
        rho, left, right = _small_side(whitened, whitening.condition)
    else:
        rho, left, right = _singular_modes(whitened)
    extra = max(len(rho) - design.max_rank, 0)
    rho, left, right = rho[extra:], left[:, extra:], right[:, extra:]
    kappa = left.T @ target
    outside = ((target - left @ kappa) ** 2).sum(axis=0)
    energy = (target**2).sum(axis=0)
    return whitening, DenseModes(right), rho, kappa, outside, energy


def _singular_modes(whitened: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ρ ascending with left and right singular vectors of the whitened factor."""
    left, values, right = np.linalg.svd(whitened, full_matrices=False)
    noise = EPS * 10.0 * np.sqrt(max(max(whitened.shape), 1))
    rank = int(np.count_nonzero(values > noise * np.max(values, initial=0.0)))
    order = np.arange(rank)[::-1]
    return values[order] ** 2, left[:, order], right[order].T


def _small_side(
    whitened: FloatArray, condition: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same from the k×k matrix of inner products of rows."""
    rho, left = np.linalg.eigh(whitened @ whitened.T)
    noise = EPS * (10.0 * np.sqrt(max(len(rho), 1)) + condition)
    kept = rho > noise * np.max(rho, initial=0.0)
    rho, left = rho[kept], left[:, kept]
    return rho, left, (whitened.T @ left) / np.sqrt(rho)
