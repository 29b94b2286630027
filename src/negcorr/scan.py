"""One pass over the rows: features block by block into moments, never all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from sklearn.utils import _safe_indexing

from negcorr._threads import blas_threads, lanes
from negcorr._typing import FloatArray, IntArray, Table
from negcorr.bases import Basis
from negcorr.moments import FactorMoments, GramMoments, Moments, compress, merge_products

__all__ = ["Rows", "scan_features", "scan_moments"]

#: Bytes of features that one thread holds at a time.
BLOCK_BYTES = 16 * 2**20

#: Features are shifted before products when a mean exceeds this many standard deviations;
#: below it, centring afterwards costs at most two digits of sixteen.
SHIFT_RATIO = 10.0

_ROWS_FOR_SHIFT = 256


@dataclass(frozen=True)
class Rows:
    """Validated data of a fit.

    Attributes
    ----------
    X : table of shape (n, d)
        Inputs, as the basis takes them.
    y : ndarray of shape (n, outputs)
        Targets.
    weight : ndarray of shape (n,) or None
        Frequencies; None means one each.
    """

    X: Table
    y: FloatArray
    weight: FloatArray | None = None

    def take(self, index: IntArray) -> Rows:
        """The rows at ``index``."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(_safe_indexing(self.X, index), self.y[index], weight)

    def features(self, basis: Basis) -> FloatArray:
        """The whole n×Q feature matrix, for the few routes that need it."""
        out = np.empty((len(self.y), int(basis.block_starts_[-1])))
        basis.fill(self.X, out)
        return out


def scan_moments(
    rows: Rows,
    basis: Basis,
    groups: list[IntArray],
    form: Literal["gram", "factor"],
) -> list[Moments]:
    """Moments of every group of rows, from one pass that holds a few blocks in memory.

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
        One for each group. The result does not depend on how threads are scheduled: every
        thread adds its own rows in order, and the sums are joined in order.
    """
    shift = _provisional_centre(rows, basis)
    n_lanes = blas_threads() if basis.thread_safe else 1
    plans = [_lane_blocks(group, len(shift) + 1, n_lanes) for group in groups]
    scan = _scan_gram if form == "gram" else _scan_factor
    return scan(rows, basis, plans, shift, n_lanes)


def scan_features(
    X: Table, basis: Basis, n_rows: int, use: Callable[[slice, FloatArray], None]
) -> None:
    """Call ``use(rows, features)`` for consecutive blocks of rows, holding few at a time.

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
    n_lanes = blas_threads() if basis.thread_safe else 1
    plan = _lane_blocks(np.arange(n_rows), n_columns, n_lanes)

    def work(lane: int) -> None:
        for block in plan[lane]:
            rows = slice(int(block[0]), int(block[-1]) + 1)
            features = np.empty((len(block), n_columns))
            basis.fill(_safe_indexing(X, block) if hasattr(X, "columns") else X[rows], features)
            use(rows, features)

    with lanes(n_lanes) as run:
        run(work)


def _provisional_centre(rows: Rows, basis: Basis) -> FloatArray:
    """A centre near the means: zero for well-spread features, the mean of y always."""
    used = np.arange(len(rows.y)) if rows.weight is None else np.flatnonzero(rows.weight > 0)
    sample = rows.take(used[:_ROWS_FOR_SHIFT])
    features = sample.features(basis)
    mean, spread = features.mean(axis=0), features.std(axis=0)
    if not np.any(np.abs(mean) > SHIFT_RATIO * spread):
        mean = np.zeros_like(mean)
    return np.concatenate([mean, np.average(rows.y, axis=0, weights=rows.weight)])


Plan = list[list[IntArray]]


def _lane_blocks(group: IntArray, n_columns: int, n_lanes: int) -> Plan:
    """The group's rows in blocks of nearly equal size, a list of them for every lane."""
    per_block = max(BLOCK_BYTES // (8 * n_columns), 64)
    plan = []
    for part in np.array_split(group, n_lanes):
        n_blocks = max(1, round(len(part) / per_block))
        plan.append([block for block in np.array_split(part, n_blocks) if len(block)])
    return plan


def _fill_block(
    rows: Rows, basis: Basis, block: IntArray, shift: FloatArray, out: FloatArray
) -> int:
    """Write √w·[φ − shift, y − shift, 1] of a block; return its rows of positive weight."""
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


def _scan_gram(
    rows: Rows, basis: Basis, plans: list[Plan], shift: FloatArray, n_lanes: int
) -> list[Moments]:
    size = len(shift) + 1
    longest = max((len(b) for plan in plans for blocks in plan for b in blocks), default=0)
    # Allocated once: fresh pages for every group would cost as much as the cosines.
    buffers = [np.empty((longest, size)) for _ in range(n_lanes)]
    products = [np.empty((size, size)) for _ in range(n_lanes)]
    others = [np.empty((size, size)) for _ in range(n_lanes - 1)]

    def scan_lane(plan: Plan, sums: list[FloatArray], lane: int) -> int:
        n_rows = 0
        if not plan[lane]:
            sums[lane].fill(0.0)
        for number, block in enumerate(plan[lane]):
            z = buffers[lane][: len(block)]
            n_rows += _fill_block(rows, basis, block, shift, z)
            # Aᵀ A of one array is a symmetric rank-k update in BLAS: half the work.
            np.matmul(z.T, z, out=products[lane] if number else sums[lane])
            if number:
                sums[lane] += products[lane]
        return n_rows

    moments: list[Moments] = []
    with lanes(n_lanes) as run:
        for plan in plans:
            sums = [np.empty((size, size)), *others]
            n_rows = sum(run(partial(scan_lane, plan, sums)))
            run(partial(merge_products, sums, n_lanes))
            moments.append(GramMoments.from_merged(sums, shift, rows.y.shape[1], n_rows))
    return moments


def _scan_factor(
    rows: Rows, basis: Basis, plans: list[Plan], shift: FloatArray, n_lanes: int
) -> list[Moments]:
    size = len(shift) + 1

    def scan_lane(plan: Plan, lane: int) -> tuple[FloatArray, int]:
        factor, n_rows = np.empty((0, size)), 0
        for block in plan[lane]:
            stacked = np.empty((len(factor) + len(block), size))
            stacked[: len(factor)] = factor
            n_rows += _fill_block(rows, basis, block, shift, stacked[len(factor) :])
            factor = compress(stacked)
        return factor, n_rows

    moments: list[Moments] = []
    with lanes(n_lanes) as run:
        for plan in plans:
            results = run(partial(scan_lane, plan))
            stacked = np.vstack([factor for factor, _ in results])
            # The scan keeps the constant last; the factor wants it first.
            factor = compress(np.roll(stacked, 1, axis=1))
            weight = float(factor[:, 0] @ factor[:, 0])
            n_rows = sum(n for _, n in results)
            moments.append(FactorMoments(weight, shift, factor, rows.y.shape[1], n_rows))
    return moments
