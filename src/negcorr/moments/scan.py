"""One pass over the rows: features block by block into moments, with few blocks in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from sklearn.utils import _safe_indexing

from negcorr._common.arrays import is_device_array, place_of
from negcorr._common.threads import blas_threads, stop_if_abandoned, worker_threads
from negcorr._common.types import FloatArray, IntArray, Table
from negcorr.bases import Basis
from negcorr.moments.device_scan import BLOCK_BYTES as DEVICE_BLOCK_BYTES
from negcorr.moments.device_scan import scan_on_device
from negcorr.moments.moments import (
    FactorMoments,
    GramMoments,
    Moments,
    compress,
    merge_products,
    sum_of_squares,
)
from negcorr.rows.rows import Rows

__all__ = [
    "features_of",
    "products_by_group",
    "provisional_centre",
    "scan_features",
    "scan_moments",
]

#: Bytes of features that one thread holds at a time.
BLOCK_BYTES = 32 * 2**20

#: Bytes of products of features that are held before threads wait for each other.
PRODUCT_BYTES = 64 * 2**20

#: Features are shifted before products when a mean exceeds this many standard deviations;
#: below it, centring afterwards costs at most two digits of sixteen.
SHIFT_RATIO = 10.0

_ROWS_FOR_SHIFT = 256


def scan_moments(
    rows: Rows,
    basis: Basis,
    groups: list[IntArray],
    form: Literal["gram", "factor"],
) -> list[Moments]:
    """Moments of every group of rows, from one pass with few blocks in memory.

    Parameters
    ----------
    rows : Rows
        The data.
    basis : Basis
        Fitted basis.
    groups : list of integer arrays
        Row indices of each group (folds, or all rows).
    form : {"gram", "factor"}
        Form of the moments.

    Returns
    -------
    list of GramMoments or FactorMoments
        One for each group. It does not depend on how threads are scheduled: every thread adds its
        own rows in order, and the sums are added in order.
    """
    shift = provisional_centre(rows, basis)
    if is_device_array(rows.X):
        return scan_on_device(rows, basis, groups, shift, form)
    n_workers = blas_threads() if basis.thread_safe else 1
    size = len(shift) + 1
    moments: list[Moments] = []
    if form == "factor":
        plan = blocks_by_worker(groups, size, n_workers)
        with worker_threads(n_workers) as run:
            by_worker = run(partial(_factors, rows, basis, shift), plan)
        for factors in zip(*by_worker, strict=True):
            stacked = np.vstack([factor for factor, _ in factors])
            # The scan keeps the constant last; the factor wants it first.
            factor = compress(np.roll(stacked, 1, axis=1))
            weight = float(factor[:, 0] @ factor[:, 0])
            n_rows = sum(n for _, n in factors)
            moments.append(FactorMoments(weight, shift, factor, rows.y.shape[1], n_rows))
        return moments
    # Threads wait for each other only after a batch of groups, whose products stay in memory.
    at_once = max(1, PRODUCT_BYTES // (8 * size**2) - (n_workers - 1))
    with worker_threads(n_workers) as run:
        for first in range(0, len(groups), at_once):
            plan = blocks_by_worker(groups[first : first + at_once], size, n_workers)
            # Aᵀ A of one array is a symmetric rank-k update in BLAS: half the work.
            sums = run(partial(_summed, rows, basis, shift, lambda z: [z.T @ z]), plan)
            for of_group in zip(*sums, strict=True):
                products = [each[0] for each, _ in of_group if each] or [np.zeros((size, size))]
                squares = sum_of_squares(products)
                run(partial(merge_products, products, n_workers), range(n_workers))
                n_rows = sum(n for _, n in of_group)
                moments.append(
                    GramMoments.from_merged(products, shift, rows.y.shape[1], n_rows, squares)
                )
    return moments


def scan_features(
    X: Table, basis: Basis, n_rows: int, use: Callable[[slice, FloatArray], None]
) -> None:
    """Call ``use(rows, features)`` for consecutive blocks of rows, with few in memory.

    Parameters
    ----------
    X : table of shape (n, d)
        Validated inputs.
    basis : Basis
        Fitted basis.
    n_rows : int
        n.
    use : callable
        Receives the slice of rows and their features ``(rows, Q)``. Several threads may call
        it at once, for different rows.
    """
    n_columns = int(basis.block_starts_[-1])
    if is_device_array(X):
        height = max(DEVICE_BLOCK_BYTES // (8 * n_columns), 64)
        for start in range(0, n_rows, height):
            block = slice(start, min(start + height, n_rows))
            features = place_of(X).empty((block.stop - block.start, n_columns))
            basis.fill(X[block, :], features)
            use(block, features)
        return
    n_workers = blas_threads() if basis.thread_safe else 1
    plan = blocks_by_worker([np.arange(n_rows)], n_columns, n_workers)

    def work(blocks_of_group: list[list[IntArray]]) -> None:
        for block in blocks_of_group[0]:
            rows = slice(int(block[0]), int(block[-1]) + 1)
            features = np.empty((len(block), n_columns))
            basis.fill(_safe_indexing(X, block) if hasattr(X, "columns") else X[rows], features)
            use(rows, features)

    with worker_threads(n_workers) as run:
        run(work, plan)


def provisional_centre(rows: Rows, basis: Basis) -> FloatArray:
    """A centre near the means: the mean of y, and zero for features that spread widely.

    Each column is decided alone: a shift that is not needed would leave rounding where the column
    is zero.
    """
    xp = place_of(rows.y).xp
    features = features_of(rows.first_used(_ROWS_FOR_SHIFT), basis)
    mean, spread = xp.mean(features, axis=0), xp.std(features, axis=0)
    mean = xp.where(xp.abs(mean) > SHIFT_RATIO * spread, mean, 0.0)
    if rows.weight is None:
        return xp.concat([mean, xp.mean(rows.y, axis=0)])
    return xp.concat([mean, rows.weight @ rows.y / xp.sum(rows.weight)])


def blocks_by_worker(
    groups: list[IntArray], n_columns: int, n_workers: int
) -> list[list[list[IntArray]]]:
    """For every worker thread and group, the blocks of rows that the thread scans.

    Threads get equal numbers of rows, and whole groups as far as possible: what one thread has
    scanned needs no merging. Blocks have nearly equal sizes.
    """
    per_block = max(BLOCK_BYTES // (8 * n_columns), 64)
    ends = np.cumsum([len(group) for group in groups])
    borders = np.linspace(0, ends[-1], n_workers + 1).astype(int)
    plan = []
    for low, high in itertools.pairwise(borders):
        of_worker = []
        for group, end in zip(groups, ends, strict=True):
            start = end - len(group)
            part = group[max(low - start, 0) : max(high - start, 0)]
            n_blocks = max(1, round(len(part) / per_block))
            of_worker.append([block for block in np.array_split(part, n_blocks) if len(block)])
        plan.append(of_worker)
    return plan


def _fill_block(
    rows: Rows, basis: Basis, block: IntArray, shift: FloatArray, out: FloatArray
) -> int:
    """Write √w·[φ − shift, y − shift, 1] of a block; return its number of rows with weight."""
    stop_if_abandoned()
    part = rows.take(block)
    q, p = out.shape[1] - 1 - rows.y.shape[1], rows.y.shape[1]
    basis.fill(part.X, out[:, :q])
    if shift[:q].any():
        out[:, :q] -= shift[:q]
    np.subtract(part.y, shift[q:], out=out[:, q : q + p])
    out[:, -1] = 1.0
    if part.weight is None:
        return len(block)
    out *= np.sqrt(part.weight)[:, np.newaxis]
    return int(np.count_nonzero(part.weight))


def products_by_group(
    rows: Rows,
    basis: Basis,
    groups: list[IntArray],
    shift: FloatArray,
    multiply: Callable[[FloatArray], list[FloatArray]],
) -> list[list[FloatArray]]:
    """The arrays that ``multiply`` gives for blocks of a group's rows, added up for every group.

    Blocks are √w·[z − shift, 1] with z = [φ(x), y]. A group without rows gives an empty list.
    """
    n_workers = blas_threads() if basis.thread_safe else 1
    plan = blocks_by_worker(groups, len(shift) + 1, n_workers)
    with worker_threads(n_workers) as run:
        by_worker = run(partial(_summed, rows, basis, shift, multiply), plan)
    return [
        [
            np.sum(parts, axis=0)
            for parts in zip(*(each for each, _ in of_group if each), strict=True)
        ]
        for of_group in zip(*by_worker, strict=True)
    ]


def _summed(
    rows: Rows,
    basis: Basis,
    shift: FloatArray,
    multiply: Callable[[FloatArray], list[FloatArray]],
    groups: list[list[IntArray]],
) -> list[tuple[list[FloatArray], int]]:
    """Sums of ``multiply(block)`` over one worker's blocks of each group, and their rows."""
    longest = max((len(block) for blocks in groups for block in blocks), default=0)
    # Allocated once: fresh pages for every block would cost as much as the cosines.
    buffer = np.empty((longest, len(shift) + 1))
    results = []
    for blocks in groups:
        sums: list[FloatArray] = []
        n_rows = 0
        for block in blocks:
            z = buffer[: len(block)]
            n_rows += _fill_block(rows, basis, block, shift, z)
            products = multiply(z)
            if not sums:
                sums = products
                continue
            for total, product in zip(sums, products, strict=True):
                total += product
        results.append((sums, n_rows))
    return results


def _factors(
    rows: Rows, basis: Basis, shift: FloatArray, groups: list[list[IntArray]]
) -> list[tuple[FloatArray, int]]:
    """R with RᵀR the product of one worker's blocks of each group, and their number of rows."""
    size = len(shift) + 1
    results = []
    for blocks in groups:
        factor, n_rows = np.empty((0, size)), 0
        for block in blocks:
            stacked = np.empty((len(factor) + len(block), size))
            stacked[: len(factor)] = factor
            n_rows += _fill_block(rows, basis, block, shift, stacked[len(factor) :])
            factor = compress(stacked)
        results.append((factor, n_rows))
    return results


def features_of(rows: Rows, basis: Basis) -> FloatArray:
    """The whole n×Q feature matrix Φ."""
    out: FloatArray = place_of(rows.y).empty((rows.n_rows, int(basis.block_starts_[-1])))
    if rows.n_rows:  # transformers refuse tables without rows
        basis.fill(rows.X, out)
    return out
