"""Update of moments for more features, other targets or fewer rows, without a full scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.lapack import EPS
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.moments.moments import FactorMoments, GramMoments, Moments
from negcorr.moments.scan import products_by_group, provisional_centre
from negcorr.rows.rows import Rows

__all__ = ["difference", "extend_moments", "retarget_moments", "select_features"]


def extend_moments(
    rows: Rows,
    basis: Basis,
    groups: list[IntArray],
    known: Sequence[GramMoments],
    positions: IntArray,
) -> tuple[Moments, ...]:
    """Moments of all features of a basis from those of some of its features.

    Parameters
    ----------
    rows, basis, groups
        As in :func:`negcorr.moments.scan.scan_moments`.
    known : sequence of GramMoments
        Moments of every group, of the features whose numbers are ``positions``.
    positions : ndarray of shape (features,)
        Ascending.

    Returns
    -------
    tuple of GramMoments
    """
    shift = provisional_centre(rows, basis)
    size = len(shift)
    old = np.concatenate([positions, np.arange(int(basis.block_starts_[-1]), size)])
    new = np.setdiff1d(np.arange(size), old)
    old_and_one = np.append(old, size)

    def multiply(z: FloatArray) -> list[FloatArray]:
        fresh = z[:, new]
        return [z[:, old_and_one].T @ fresh, fresh.T @ fresh]

    extended = []
    products = products_by_group(rows, basis, groups, shift, multiply)
    for moments, of_group in zip(known, products, strict=True):
        weight = moments.weight
        if weight == 0:
            zero = np.zeros(size)
            nothing = np.zeros((size, size))
            extended.append(GramMoments(0.0, zero, nothing, moments.n_outputs, 0, zero))
            continue
        # Σ w [z_old − s, 1]ᵀ(z_new − s) and Σ w (z_new − s)ᵀ(z_new − s), s the provisional centre.
        cross, own = of_group
        before, after = moments.mean - shift[old], cross[-1] / weight
        centred = cross[:-1] - np.multiply.outer(weight * before, after)
        own = own - np.multiply.outer(weight * after, after)
        scatter = np.empty((size, size))
        # Range by range: single columns take longer to copy than their products to compute.
        for mine, here in _ranges(old):
            for theirs, there in _ranges(old):
                scatter[here, there] = moments.scatter[mine, theirs]
            for theirs, there in _ranges(new):
                scatter[here, there] = centred[mine, theirs]
                scatter[there, here] = centred[mine, theirs].T
        for mine, here in _ranges(new):
            for theirs, there in _ranges(new):
                scatter[here, there] = own[mine, theirs]
        mean, squares = np.empty(size), np.empty(size)
        mean[old], mean[new] = moments.mean, shift[new] + after
        squares[old], squares[new] = moments.squares, np.diagonal(own) + weight * after**2
        extended.append(
            GramMoments(weight, mean, scatter, moments.n_outputs, moments.n_rows, squares)
        )
    return tuple(extended)


def retarget_moments(
    rows: Rows, basis: Basis, groups: list[IntArray], known: Sequence[GramMoments]
) -> tuple[Moments, ...]:
    """Moments of the same rows and features with other targets.

    Parameters
    ----------
    rows, basis, groups
        As in :func:`negcorr.moments.scan.scan_moments`, with the new targets.
    known : sequence of GramMoments
        Moments of every group with the old ones.

    Returns
    -------
    tuple of GramMoments
    """
    shift = provisional_centre(rows, basis)
    q = int(basis.block_starts_[-1])
    retargeted = []
    products = products_by_group(rows, basis, groups, shift, lambda z: [z.T @ z[:, q:]])
    for moments, of_group in zip(known, products, strict=True):
        weight = moments.weight
        if weight == 0:
            retargeted.append(moments)
            continue
        (product,) = of_group  # Σ w [z − s, 1]ᵀ[y − s, 1], s the provisional centre
        offset = product[:-1, -1] / weight
        centred = product[:-1, :-1] - np.multiply.outer(weight * offset, offset[q:])
        mean, scatter, squares = moments.mean.copy(), moments.scatter.copy(), moments.squares.copy()
        mean[q:] = shift[q:] + offset[q:]
        scatter[:, q:] = centred
        scatter[q:, :q] = centred[:q].T
        squares[q:] = np.diagonal(product[q:-1, :-1])
        retargeted.append(
            GramMoments(weight, mean, scatter, moments.n_outputs, moments.n_rows, squares)
        )
    return tuple(retargeted)


def _ranges(index: IntArray) -> list[tuple[slice, slice]]:
    """Runs of consecutive numbers: the positions of each in the index, and its numbers."""
    cuts = np.flatnonzero(np.diff(index) != 1) + 1
    runs = np.split(np.arange(len(index)), cuts)
    return [
        (slice(run[0], run[-1] + 1), slice(index[run[0]], index[run[-1]] + 1))
        for run in runs
        if len(run)
    ]


def difference(whole: GramMoments, part: GramMoments) -> GramMoments:
    """Moments of the rows of ``whole`` that are not in ``part``, which must all be in it.

    With d the distance between the means of the part and of the rest, the scatter of the rest is
    that of the whole less that of the part less (w w'/Σw) d dᵀ. Digits are lost where little is
    left, so ``squares`` stay those of the whole, which bound the rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.moments.moments import GramMoments
    >>> from negcorr.moments.update import difference
    >>> z = np.array([[1.0, 2.0], [3.0, 4.0], [8.0, 0.0], [5.0, 5.0]])
    >>> whole, part = (GramMoments.from_rows(r, np.ones(len(r)), 1) for r in (z, z[:2]))
    >>> difference(whole, part).mean
    array([6.5, 2.5])
    """
    if part.weight == 0:
        return whole
    left = whole.weight - part.weight
    n_rows = whole.n_rows - part.n_rows
    if n_rows < 0 or left < -1e-9 * whole.weight or (n_rows == 0) != (left <= 1e-9 * whole.weight):
        raise ValueError(
            f"{part.n_rows} rows of weight {part.weight:.6g} cannot be taken from "
            f"{whole.n_rows} of weight {whole.weight:.6g}: they are not among them."
        )
    if n_rows == 0:
        return whole.emptied()
    mean = whole.mean + (whole.mean - part.mean) * (part.weight / left)
    apart = mean - part.mean
    scatter = whole.scatter - part.scatter
    scatter -= (left * part.weight / whole.weight * apart)[:, None] * apart[None, :]
    lost = to_host(1024.0 * EPS * (whole.squares + whole.weight * whole.mean**2))
    xp = place_of(scatter).xp
    diagonal = to_host(xp.linalg.diagonal(scatter))
    if (diagonal < -lost).any():
        raise ValueError("the rows to be taken away are not among those that there are.")
    # What is left must stand out from the rounding of what was there. A column may be constant in
    # the rest, or nearly so in few rows; but not all that varied before.
    constant = diagonal <= lost
    nearly = ~constant & (diagonal < 1e3 * lost)
    varied = to_host(xp.linalg.diagonal(whole.scatter)) > lost
    if nearly.any() or (n_rows > 1 and varied.any() and constant[varied].all()):
        warn_caller(
            f"{n_rows} of {whole.n_rows} rows are left, whose moments have lost most of their "
            "digits by subtraction; fit again where that matters.",
            PrecisionWarning,
        )
    for i in np.flatnonzero(diagonal < 0).tolist():
        scatter[i, i] = 0.0
    return GramMoments(left, mean, scatter, whole.n_outputs, n_rows, whole.squares)


def select_features(moments: Moments, columns: IntArray) -> Moments:
    """The moments of some of the features, and of all targets.

    Parameters
    ----------
    moments : Moments
    columns : ndarray of int of shape (q,)
        Numbers of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.moments.moments import GramMoments
    >>> from negcorr.moments.update import select_features
    >>> z = np.array([[1.0, 7.0, 2.0], [3.0, 5.0, 4.0]])
    >>> select_features(GramMoments.from_rows(z, np.ones(2), 1), np.array([1])).mean
    array([6., 3.])
    """
    targets = np.arange(moments.n_features, moments.n_features + moments.n_outputs)
    place = place_of(moments.mean)
    kept = place.integers(np.concatenate([columns, targets]))
    take = place.xp.take
    if isinstance(moments, FactorMoments):
        with_ones = place.integers(np.concatenate([[0], columns + 1, targets + 1]))
        factor = take(moments.factor, with_ones, axis=1)
        return replace(moments, shift=take(moments.shift, kept), factor=factor)
    scatter = take(take(moments.scatter, kept, axis=0), kept, axis=1)
    mean, squares = take(moments.mean, kept), take(moments.squares, kept)
    return replace(moments, mean=mean, scatter=scatter, squares=squares)
