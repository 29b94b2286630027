"""From moments to a :class:`~negcorr.spectrum.spectrum.Spectrum`, by the Gram or the QR route."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from negcorr._common.arrays import contiguous, place_of, to_host
from negcorr._common.lapack import EPS, thin_svd
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases.nested import Nesting
from negcorr.moments.moments import GramMoments, Moments
from negcorr.spectrum.modes import DenseModes, tridiagonalise
from negcorr.spectrum.nested_whitening import NestedWhitening, nest
from negcorr.spectrum.spectrum import DenseSpectrum, Spectrum
from negcorr.spectrum.tridiagonal import BandedSpectrum
from negcorr.spectrum.whitening import Whitening, whiten_factor, whiten_gram

__all__ = ["factorise"]


def factorise(
    moments: Moments,
    starts: IntArray,
    *,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    route: Literal["gram", "qr"] = "qr",
    nesting: Nesting | None = None,
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
    nesting : Nesting, optional
        Where members are ensembles themselves: their small members, and the gap within each.

    Returns
    -------
    Spectrum

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.spectrum.factorise import factorise
    >>> from negcorr.moments.moments import FactorMoments
    >>> z = np.random.default_rng(0).normal(size=(30, 7))
    >>> moments = FactorMoments.from_rows(z, np.ones(30), n_outputs=1)
    >>> spectrum = factorise(moments, np.array([0, 3, 6]))
    >>> [round(float(d), 6) for d in spectrum.dof([0.0, 1.0])]
    [4.0, 7.0]
    """
    mean = moments.mean
    centre = mean if fit_intercept else place_of(mean).zeros(mean.shape)
    design = _Design(
        weight=moments.weight,
        centre=centre,
        starts=starts,
        alpha=alpha,
        fit_intercept=fit_intercept,
        max_rank=max(moments.n_rows - fit_intercept, 0),
        rounding=moments.rounding[: int(starts[-1])],
        nesting=nesting,
    )
    if isinstance(moments, GramMoments):
        return _from_gram(moments, design)
    return _from_factor(moments.factor_about(centre) / moments.weight**0.5, design, route)


@dataclass(frozen=True)
class _Design:
    """What both routes need to know besides the moments.

    ``max_rank`` is the number of rows less the constant: rounding can make features that
    are nearly dependent look like more, and no rank may exceed it. ``rounding`` is the spread
    below which a feature is what centring left over.
    """

    weight: float
    centre: FloatArray
    starts: IntArray
    alpha: float
    fit_intercept: bool
    max_rank: int
    rounding: FloatArray
    nesting: Nesting | None

    @property
    def small_starts(self) -> IntArray:
        """Where the features of each member begin, of the smallest ones if nested."""
        return self.starts if self.nesting is None else self.nesting.starts

    @property
    def n_features(self) -> int:
        return int(self.starts[-1])

    def common_fields(self) -> dict[str, Any]:
        """Fields that every spectrum of this design has."""
        return {
            "weight": self.weight,
            "n_members": len(self.starts) - 1,
            "fit_intercept": self.fit_intercept,
            "centre": self.centre,
            "alpha": self.alpha,
        }


def _from_gram(moments: GramMoments, design: _Design) -> Spectrum:
    q, weight = design.n_features, design.weight
    scatter = moments.scatter if design.fit_intercept else moments.scatter_about(design.centre)
    whitening = whiten_gram(
        scatter[:q, :q], weight, design.rounding, design.small_starts, design.alpha, design.max_rank
    )
    xp = place_of(scatter).xp
    total = xp.clip(xp.linalg.diagonal(scatter)[q:] / weight, min=0.0)
    whitened = whitening.congruence(scatter[:q, :q])
    whitened *= 1.0 / weight
    if design.nesting is not None:
        nested = _nested(whitening, design, lambda kept: whitened[kept, kept])
        whitening, whitened = nested, nested.outward(nested.outward(whitened).T)
    cross = whitening.transposed_times(scatter[:q, q:]) / weight
    # The largest arrays of a fit: the reduction needs only P, and is done in its place.
    del scatter, moments
    if whitened.shape[0] < 2:
        return _of_one_mode(whitened, cross, total, whitening, design)
    # Every eigenvalue is at most M (Lemma 13), the trace is their sum.
    largest = min(len(design.starts) - 1.0, float(xp.linalg.trace(whitened)))
    if not place_of(whitened).is_numpy:
        return _of_all_modes(whitened, cross, total, whitening, design, largest)
    reduction = tridiagonalise(whitened)
    return BandedSpectrum(
        reduction=reduction,
        target=reduction.transposed_times(cross),
        noise=_gram_noise(whitening, largest),
        max_rank=design.max_rank,
        total=total,
        whitening=whitening,
        **design.common_fields(),
    )


def _nested(
    whitening: Whitening, design: _Design, gram_of: Callable[[slice], FloatArray]
) -> NestedWhitening:
    """The members' whitening on top of that of their small members."""
    assert design.nesting is not None
    borders = np.searchsorted(design.nesting.starts, design.starts)
    kept = itertools.starmap(slice, itertools.pairwise(whitening.rank_starts[borders].tolist()))
    return nest(whitening, [gram_of(part) for part in kept], design.nesting, design.starts)


def _of_one_mode(
    whitened: FloatArray,
    cross: FloatArray,
    total: FloatArray,
    whitening: Whitening,
    design: _Design,
) -> Spectrum:
    """The spectrum where P is a single number, or nothing at all."""
    place = place_of(whitened)
    rho = place.xp.linalg.diagonal(whitened)
    return _of_modes(rho, place.eye(rho.shape[0]), cross, total, whitening, design)


def _of_all_modes(
    whitened: FloatArray,
    cross: FloatArray,
    total: FloatArray,
    whitening: Whitening,
    design: _Design,
    largest: float,
) -> Spectrum:
    """The spectrum by a whole eigendecomposition, which is what devices are good at."""
    values, vectors = place_of(whitened).xp.linalg.eigh(whitened)
    at_home = to_host(values)
    first = int(np.searchsorted(at_home, _gram_noise(whitening, largest), "right"))
    first = max(first, len(at_home) - design.max_rank)
    return _of_modes(values[first:], vectors[:, first:], cross, total, whitening, design)


def _of_modes(
    rho: FloatArray,
    vectors: FloatArray,
    cross: FloatArray,
    total: FloatArray,
    whitening: Whitening,
    design: _Design,
) -> Spectrum:
    """The spectrum from eigenvalues and eigenvectors of P, and Wᵀ times features times y."""
    xp = place_of(rho).xp
    kappa = (vectors.T @ cross) / xp.sqrt(rho)[:, None]
    return DenseSpectrum(
        rho=rho,
        kappa=kappa,
        outside=xp.clip(total - xp.sum(kappa**2, axis=0), min=0.0),
        total=total,
        whitening=whitening,
        modes=DenseModes(contiguous(vectors)),
        **design.common_fields(),
    )


def _gram_noise(whitening: Whitening, largest: float) -> float:
    """Size below which an eigenvalue of P is rounding.

    It inherits eps from G, magnified by the conditioning of the blocks.
    """
    rank = max(int(whitening.rank_starts[-1]), 1)
    grown = whitening.condition**2 * whitening.lift
    return float(EPS * (10.0 * np.sqrt(rank) + grown) * largest)


def _from_factor(factor: FloatArray, design: _Design, route: str) -> Spectrum:
    q = design.n_features
    target = factor[:, q:]
    whitening, whitened = whiten_factor(
        factor[:, :q], design.rounding, design.small_starts, design.alpha, design.max_rank
    )
    if design.nesting is not None:
        nested = _nested(whitening, design, lambda kept: whitened[:, kept].T @ whitened[:, kept])
        whitening, whitened = nested, nested.outward(whitened)
    if route == "gram" and whitened.shape[0] < whitened.shape[1]:
        rho, left, right = _small_side(whitened, whitening.condition)
    else:
        rho, left, right = _singular_modes(whitened)
    extra = max(rho.shape[0] - design.max_rank, 0)
    rho, left, right = rho[extra:], left[:, extra:], right[:, extra:]
    kappa = left.T @ target
    return DenseSpectrum(
        rho=rho,
        kappa=kappa,
        outside=place_of(rho).xp.sum((target - left @ kappa) ** 2, axis=0),
        total=place_of(rho).xp.sum(target**2, axis=0),
        whitening=whitening,
        modes=DenseModes(contiguous(right)),
        **design.common_fields(),
    )


def _singular_modes(whitened: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ρ ascending with left and right singular vectors of the whitened factor."""
    xp = place_of(whitened).xp
    left, values, right = thin_svd(whitened)
    noise = EPS * 10.0 * np.sqrt(max(max(whitened.shape), 1))
    at_home = to_host(values)
    rank = int(np.count_nonzero(at_home > noise * np.max(at_home, initial=0.0)))
    ascending = (xp.flip(values[:rank]), xp.flip(left[:, :rank], axis=1))
    return ascending[0] ** 2, ascending[1], xp.flip(right[:rank, :], axis=0).T


def _small_side(
    whitened: FloatArray, condition: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same from the k×k matrix of inner products of rows."""
    xp = place_of(whitened).xp
    rho, left = xp.linalg.eigh(whitened @ whitened.T)
    noise = EPS * (10.0 * np.sqrt(max(rho.shape[0], 1)) + condition)
    at_home = to_host(rho)
    first = int(np.count_nonzero(at_home <= noise * np.max(at_home, initial=0.0)))
    rho, left = rho[first:], left[:, first:]
    return rho, left, (whitened.T @ left) / xp.sqrt(rho)
