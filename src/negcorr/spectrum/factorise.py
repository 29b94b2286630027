"""The factorisation: from moments to a spectrum, by the Gram matrix or by a factor of it.

With fewer rows than features a spectrum can be stored as its rows, and factorised again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from negcorr._common.arrays import contiguous, place_of, thin_svd, to_host
from negcorr._common.lapack import EPS
from negcorr._common.threads import our_own_threads
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.bases.nested import Nesting
from negcorr.moments.moments import GramMoments, Moments, total
from negcorr.moments.scan import scan_moments
from negcorr.rows.rows import Rows
from negcorr.spectrum.nested_whitening import NestedWhitening, nest
from negcorr.spectrum.spectrum import DenseSpectrum, Spectrum
from negcorr.spectrum.tridiagonal import BandedSpectrum, tridiagonalise
from negcorr.spectrum.whitening import Whitening, resolved, whiten_factor, whiten_gram

__all__ = ["RowsSpectrum", "factorise"]


def factorise(
    moments: Moments,
    starts: IntArray,
    *,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    route: Literal["gram", "qr"] = "qr",
    nesting: Nesting | None = None,
    terms: FloatArray | None = None,
    every_mode: bool = False,
) -> Spectrum:
    """The spectrum of an ensemble: whiten, diagonalise, and express the target in the modes.

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
    terms : ndarray of shape (Q,), optional
        Sizes of what features are added up from, where these sums may cancel
        (:attr:`negcorr.bases.Basis.terms_`).
    every_mode : bool, default=False
        For factor moments: whether modes stay that rounding does not resolve
        (:func:`negcorr.spectrum.whitening.resolved`).

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
        starts=starts,
        small_starts=starts if nesting is None else nesting.starts,
        alpha=alpha,
        max_rank=max(moments.n_rows - fit_intercept, 0),
        rounding=moments.rounding[: int(starts[-1])],
        nesting=nesting,
        terms=terms,
        every_mode=every_mode,
        common={
            "weight": moments.weight,
            "n_members": len(starts) - 1,
            "fit_intercept": fit_intercept,
            "centre": centre,
            "alpha": alpha,
        },
    )
    if isinstance(moments, GramMoments):
        scatter = moments.scatter if fit_intercept else moments.scatter_about(centre)
        return _from_scatter(scatter, moments.weight, design)
    return _from_factor(moments.factor_about(centre) / moments.weight**0.5, design, route)


@dataclass(frozen=True)
class _Design:
    """What both routes need besides the moments.

    ``max_rank`` is the number of rows less the constant: rounding can make features that are nearly
    dependent look independent, and no rank may exceed it. ``rounding`` is the spread up to which a
    feature is rounding of centring. ``small_starts`` are ``starts`` of the smallest members where
    members are ensembles. ``common`` are the fields that every kind of spectrum has.
    """

    starts: IntArray
    small_starts: IntArray
    alpha: float
    max_rank: int
    rounding: FloatArray
    nesting: Nesting | None
    terms: FloatArray | None
    every_mode: bool
    common: dict[str, Any]


def _from_scatter(scatter: FloatArray, weight: float, design: _Design) -> Spectrum:
    """The spectrum from the scatter matrix of features and targets."""
    q, place = int(design.starts[-1]), place_of(scatter)
    xp = place.xp
    whitening: Whitening = whiten_gram(
        scatter[:q, :q], weight, design.rounding, design.small_starts, design.alpha, design.max_rank
    )
    total = xp.clip(xp.linalg.diagonal(scatter)[q:] / weight, min=0.0)
    whitened = whitening.congruence(scatter[:q, :q])
    whitened *= 1.0 / weight
    if design.nesting is not None:
        nested = _nested(whitening, design, lambda kept: whitened[kept, kept])
        whitening, whitened = nested, nested.outward(nested.outward(whitened).T)
    cross = whitening.transposed_times(scatter[:q, q:]) / weight
    size = whitened.shape[0]
    # Every eigenvalue is at most M (Lemma 13) and at most their sum, the trace.
    largest = min(len(design.starts) - 1.0, float(xp.linalg.trace(whitened)))
    # P inherits eps from G, magnified by the conditioning of the blocks.
    magnified = whitening.condition**2 * whitening.lift
    noise = float(EPS * (10.0 * np.sqrt(max(size, 1)) + magnified) * largest)
    if place.is_numpy and size >= 2:
        # The reduction overwrites P, one of the largest arrays of a fit.
        reduction = tridiagonalise(whitened)
        return BandedSpectrum(
            reduction=reduction,
            target=reduction.transposed_times(cross),
            noise=noise,
            max_rank=design.max_rank,
            total=total,
            whitening=whitening,
            **design.common,
        )
    if size < 2:
        rho, vectors = xp.linalg.diagonal(whitened), place.eye(size)
    else:
        # All modes at once, which is what devices are good at.
        rho, vectors = xp.linalg.eigh(whitened)
        first = int(np.searchsorted(to_host(rho), noise, "right"))
        first = max(first, size - design.max_rank)
        rho, vectors = rho[first:], vectors[:, first:]
    kappa = (vectors.T @ cross) / xp.sqrt(rho)[:, None]
    return DenseSpectrum(
        rho=rho,
        kappa=kappa,
        outside=xp.clip(total - xp.sum(kappa**2, axis=0), min=0.0),
        total=total,
        whitening=whitening,
        vectors=contiguous(vectors),
        **design.common,
    )


def _nested(
    whitening: Whitening, design: _Design, gram_of: Callable[[slice], FloatArray]
) -> NestedWhitening:
    """The members' whitening on top of that of their small members."""
    assert design.nesting is not None
    borders = np.searchsorted(design.nesting.starts, design.starts)
    kept = itertools.starmap(slice, itertools.pairwise(whitening.rank_starts[borders].tolist()))
    return nest(whitening, [gram_of(part) for part in kept], design.nesting, design.starts)


def _from_factor(factor: FloatArray, design: _Design, route: str) -> Spectrum:
    """The spectrum from a factor of the scatter matrix over the weight."""
    q, place = int(design.starts[-1]), place_of(factor)
    xp, target = place.xp, factor[:, q:]
    size = xp.sqrt(xp.sum(factor[:, :q] ** 2, axis=0) + design.common["centre"][:q] ** 2)
    size = size if design.terms is None else xp.maximum(size, design.terms)
    whitening: Whitening
    whitening, whitened = whiten_factor(
        factor[:, :q], design.rounding, size, design.small_starts, design.alpha, design.max_rank
    )
    if design.nesting is not None:
        nested = _nested(whitening, design, lambda kept: whitened[:, kept].T @ whitened[:, kept])
        whitening, whitened = nested, nested.outward(whitened)
    if route == "gram" and whitened.shape[0] < whitened.shape[1]:
        # Eigenvectors of the k×k matrix of inner products of rows.
        rho, left = xp.linalg.eigh(whitened @ whitened.T)
        noise = EPS * (10.0 * np.sqrt(max(rho.shape[0], 1)) + whitening.condition)
        numbers = to_host(rho)
        first = int(np.count_nonzero(numbers <= noise * np.max(numbers, initial=0.0)))
        rho, left = rho[first:], left[:, first:]
        right = (whitened.T @ left) / xp.sqrt(rho)
    else:
        left, values, right = thin_svd(whitened)
        noise = EPS * 10.0 * np.sqrt(max(max(whitened.shape), 1))
        numbers = to_host(values)
        rank = int(np.count_nonzero(numbers > noise * np.max(numbers, initial=0.0)))
        rho, left = xp.flip(values[:rank]) ** 2, xp.flip(left[:, :rank], axis=1)
        right = xp.flip(right[:rank, :], axis=0).T
    extra = max(rho.shape[0] - design.max_rank, 0)
    rho, left, right = rho[extra:], left[:, extra:], right[:, extra:]
    clear = resolved(whitening.times(right / xp.sqrt(rho)), size)
    if not (clear.all() or design.every_mode):
        index = place.integers(np.flatnonzero(clear))
        rho = xp.take(rho, index, axis=0)
        left, right = xp.take(left, index, axis=1), xp.take(right, index, axis=1)
    kappa = left.T @ target
    return DenseSpectrum(
        rho=rho,
        kappa=kappa,
        outside=xp.sum((target - left @ kappa) ** 2, axis=0),
        total=xp.sum(target**2, axis=0),
        whitening=whitening,
        vectors=contiguous(right),
        **design.common,
    )


@dataclass(frozen=True, repr=False)
class RowsSpectrum(Spectrum):
    """A spectrum whose whitening and modes follow from rows and basis.

    A fit with fewer rows than features has its factor twice: n·d numbers in the rows, and Q·r in
    the modes. A stored copy holds the rows. It computes the modes again when coefficients are
    needed, with the same bits on the same machine.

    Attributes
    ----------
    rho, kappa, outside, total, weight, n_members, fit_intercept, centre, alpha
        As in :class:`~negcorr.spectrum.spectrum.Spectrum`.
    rows : Rows
        Training rows, with the targets that the ensemble was fitted to.
    basis : Basis
        Fitted.
    groups : tuple of integer arrays
        Row numbers, in the order in which moments were added.
    route : {"gram", "qr"}
        As in :func:`~negcorr.spectrum.factorise.factorise`.
    """

    rho: FloatArray
    kappa: FloatArray
    outside: FloatArray
    rows: Rows
    basis: Basis
    groups: tuple[IntArray, ...]
    route: Literal["gram", "qr"]

    @classmethod
    def of(cls, spectrum: Spectrum, **source: Any) -> RowsSpectrum:
        """A spectrum together with its rows, basis, groups and route."""
        names = {each.name for each in fields(cls) if each.init} - set(source)
        made = cls(**{name: getattr(spectrum, name) for name in names}, **source)
        made.__dict__["_factorised"] = spectrum
        return made

    def without_rows(self) -> Spectrum:
        """The factorisation itself."""
        return self._factorised

    @cached_property
    def _factorised(self) -> Spectrum:
        # As within a fit, so that the bits are the same.
        with our_own_threads():
            return factorise(
                total(scan_moments(self.rows, self.basis, list(self.groups), "factor")),
                self.basis.block_starts_,
                alpha=self.alpha,
                fit_intercept=self.fit_intercept,
                route=self.route,
                nesting=self.basis.nesting_,
                terms=self.basis.terms_,
            )

    @cached_property  # type: ignore[misc]  # a field of the parent, computed late
    def whitening(self) -> Whitening:
        """W, computed again where it was not stored."""
        return self._factorised.whitening

    def combine_modes(self, x: FloatArray) -> FloatArray:
        """U x for x of shape (r, k)."""
        return self._factorised.combine_modes(x)

    def along_modes(self, v: FloatArray) -> FloatArray:
        """Uᵀ v for v of shape (R, k)."""
        return self._factorised.along_modes(v)

    def __getstate__(self) -> dict[str, Any]:
        """Without the factorisation, which follows from the rows."""
        kept = {each.name for each in fields(self) if each.init}
        return {name: part for name, part in vars(self).items() if name in kept}
