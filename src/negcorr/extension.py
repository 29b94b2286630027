"""Moments of more features, or of other targets: only products with new columns are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from negcorr._threads import blas_threads, lanes
from negcorr._typing import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.moments import GramMoments, Moments
from negcorr.rows import Rows
from negcorr.scan import fill_block, lane_blocks, provisional_centre

__all__ = ["extend_moments", "retarget_moments"]


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
        As in :func:`negcorr.scan.scan_moments`.
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
        As in :func:`negcorr.scan.scan_moments`, with the new targets.
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
