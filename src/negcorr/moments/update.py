"""Moments of more features, or of other targets: only products with new columns are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.lapack import EPS
from negcorr._common.threads import blas_threads, lanes
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.moments.moments import GramMoments, Moments
from negcorr.moments.scan import fill_block, lane_blocks, provisional_centre
from negcorr.rows.rows import Rows

__all__ = ["difference", "extend_moments", "retarget_moments"]


def extend_moments(
    rows: Rows,
    basis: Basis,
    groups: list[IntArray],
    known: Sequence[GramMoments],
    places: IntArray,
) -> tuple[Moments, ...]:
    """Moments of a basis from those of some of its features.

    Parameters
    ----------
    rows, basis, groups
        As in :func:`negcorr.moments.scan.scan_moments`.
    known : sequence of GramMoments
        Moments of every group, of the features whose numbers are ``places``.
    places : ndarray of shape (features,)
        Ascending.

    Returns
    -------
    tuple of GramMoments
    """
    shift = provisional_centre(rows, basis)
    size = len(shift) + 1
    old = np.concatenate([places, np.arange(int(basis.block_starts_[-1]), size)])
    new = np.setdiff1d(np.arange(size), old)
    n_lanes = blas_threads() if basis.thread_safe else 1
    plan = lane_blocks(groups, size, n_lanes)

    def work(lane: int) -> list[tuple[FloatArray, FloatArray]]:
        longest = max((len(block) for blocks in plan[lane] for block in blocks), default=0)
        buffer = np.empty((longest, size))
        products = []
        for blocks in plan[lane]:
            cross, own = np.zeros((len(old), len(new))), np.zeros((len(new), len(new)))
            for block in blocks:
                z = buffer[: len(block)]
                fill_block(rows, basis, block, shift, z)
                fresh = z[:, new]
                cross += z[:, old].T @ fresh
                own += fresh.T @ fresh
            products.append((cross, own))
        return products

    with lanes(n_lanes) as run:
        by_lane = run(work)
    extended = []
    for moments, of_group in zip(known, zip(*by_lane, strict=True), strict=True):
        cross = np.sum([product for product, _ in of_group], axis=0)
        own = np.sum([product for _, product in of_group], axis=0)
        extended.append(_extended(moments, shift, old[:-1], new, cross, own))
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
    size, q = len(shift) + 1, int(basis.block_starts_[-1])
    n_lanes = blas_threads() if basis.thread_safe else 1
    plan = lane_blocks(groups, size, n_lanes)

    def work(lane: int) -> list[FloatArray]:
        longest = max((len(block) for blocks in plan[lane] for block in blocks), default=0)
        buffer = np.empty((longest, size))
        products = []
        for blocks in plan[lane]:
            product = np.zeros((size, size - q))
            for block in blocks:
                z = buffer[: len(block)]
                fill_block(rows, basis, block, shift, z)
                product += z.T @ z[:, q:]
            products.append(product)
        return products

    with lanes(n_lanes) as run:
        by_lane = run(work)
    return tuple(
        _retargeted(moments, shift, np.sum(of_group, axis=0))
        for moments, of_group in zip(known, zip(*by_lane, strict=True), strict=True)
    )


def _retargeted(known: GramMoments, shift: FloatArray, product: FloatArray) -> GramMoments:
    """Moments with new targets, from Σ w [z − s, 1]ᵀ[y − s, 1]."""
    if known.weight == 0:
        return known
    q = known.n_features
    offset = product[:-1, -1] / known.weight
    centred = product[:-1, :-1] - np.multiply.outer(known.weight * offset, offset[q:])
    mean, scatter, squares = known.mean.copy(), known.scatter.copy(), known.squares.copy()
    mean[q:] = shift[q:] + offset[q:]
    scatter[:, q:] = centred
    scatter[q:, :q] = centred[:q].T
    squares[q:] = np.diagonal(product[q:-1, :-1])
    return GramMoments(known.weight, mean, scatter, known.n_outputs, known.n_rows, squares)


def _extended(
    known: GramMoments,
    shift: FloatArray,
    old: IntArray,
    new: IntArray,
    cross: FloatArray,
    own: FloatArray,
) -> GramMoments:
    """Moments of all columns, from Σ w [z_old − s, 1]ᵀ(z_new − s) and Σ w (z_new − s)ᵀ(z_new − s).

    ``old`` and ``new`` say where the columns stand among all, s is the provisional centre.
    """
    size = len(shift)
    if known.weight == 0:
        return GramMoments(
            0.0, np.zeros(size), np.zeros((size, size)), known.n_outputs, 0, np.zeros(size)
        )
    before, after = known.mean - shift[old], cross[-1] / known.weight
    centred = cross[:-1] - np.multiply.outer(known.weight * before, after)
    own = own - np.multiply.outer(known.weight * after, after)
    scatter = np.empty((size, size))
    # Range by range: to scatter single columns takes longer than their products.
    for mine, here in _ranges(old):
        for theirs, there in _ranges(old):
            scatter[here, there] = known.scatter[mine, theirs]
        for theirs, there in _ranges(new):
            scatter[here, there] = centred[mine, theirs]
            scatter[there, here] = centred[mine, theirs].T
    for mine, here in _ranges(new):
        for theirs, there in _ranges(new):
            scatter[here, there] = own[mine, theirs]
    mean, squares = np.empty(size), np.empty(size)
    mean[old], mean[new] = known.mean, shift[new] + after
    squares[old], squares[new] = known.squares, np.diagonal(own) + known.weight * after**2
    return GramMoments(known.weight, mean, scatter, known.n_outputs, known.n_rows, squares)


def _ranges(index: IntArray) -> list[tuple[slice, slice]]:
    """Runs of consecutive numbers: where each stands in the index, and which numbers it has."""
    cuts = np.flatnonzero(np.diff(index) != 1) + 1
    runs = np.split(np.arange(len(index)), cuts)
    return [
        (slice(run[0], run[-1] + 1), slice(index[run[0]], index[run[-1]] + 1))
        for run in runs
        if len(run)
    ]


def difference(whole: GramMoments, part: GramMoments) -> GramMoments:
    """Moments of the rows of ``whole`` that are not in ``part``, which must all be in it.

    With d the distance of the two means, the scatter of the rest is that of the whole less that of
    the part and of (w w'/Σw) d dᵀ. Digits are lost where little is left: ``squares`` stay those of
    the whole, so that what is rounding counts as such.

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
