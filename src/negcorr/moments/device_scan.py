"""One pass over rows on a device: large blocks one after the other, added on the device."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from negcorr._common.arrays import place_of
from negcorr.bases import Basis
from negcorr.moments.moments import FactorMoments, GramMoments, Moments, compress
from negcorr.rows.rows import Rows

__all__ = ["scan_on_device"]

#: Bytes of features of one block: enough to keep a device busy.
BLOCK_BYTES = 256 * 2**20

#: The same for the factor form, in which the factor so far is factorised again with each block.
FACTOR_BLOCK_BYTES = 2**30

#: Panels of columns in which a symmetric product is computed.
PANELS = 4


def scan_on_device(
    rows: Rows,
    basis: Basis,
    groups: Sequence[Any],
    shift: Any,
    form: Literal["gram", "factor"],
) -> list[Moments]:
    """Moments of every group of rows, as :func:`negcorr.moments.scan.scan_moments` gives them.

    Parameters
    ----------
    rows : Rows
        The data, on one device.
    basis : Basis
        Fitted there.
    groups : sequence of integer arrays
        Row numbers of each group, in memory or on the device.
    shift : array of shape (Q + outputs,)
        Provisional centre.
    form : {"gram", "factor"}
        Form of the moments.

    Returns
    -------
    list of GramMoments or FactorMoments
    """
    moments_of = _gram_moments if form == "gram" else _factor_moments
    return [moments_of(rows, basis, group, shift) for group in groups]


def _gram_moments(rows: Rows, basis: Basis, group: Any, shift: Any) -> GramMoments:
    place = place_of(rows.y)
    size, p = int(shift.shape[0]), rows.y.shape[1]
    product, n_rows = place.zeros((size + 1, size + 1)), 0
    borders = [(size + 1) * k // PANELS for k in range(PANELS + 1)]
    for z, n_used in _blocks(rows, basis, group, shift, BLOCK_BYTES):
        # The standard has no symmetric product: without what is above the diagonal panels, zᵀz is
        # little more than half of the work.
        for low, high in itertools.pairwise(borders):
            if high > low:
                product[low:high, :high] += z[:, low:high].T @ z[:, :high]
        n_rows += n_used
    product = place.xp.tril(product) + place.xp.tril(product, k=-1).T
    mass = float(product[size, size])
    # Σ w (z − shift)², before centring takes from it.
    squares = place.xp.asarray(place.xp.linalg.diagonal(product)[:size], copy=True)
    scatter = place.xp.asarray(product[:size, :size], copy=True)
    if mass == 0:
        return GramMoments(0.0, shift, scatter, p, 0, squares)
    offset = product[size, :size] / mass
    scatter -= (mass * offset)[:, None] * offset[None, :]
    return GramMoments(mass, shift + offset, scatter, p, n_rows, squares)


def _factor_moments(rows: Rows, basis: Basis, group: Any, shift: Any) -> FactorMoments:
    place = place_of(rows.y)
    factor, n_rows = place.empty((0, int(shift.shape[0]) + 1)), 0
    for z, n_used in _blocks(rows, basis, group, shift, FACTOR_BLOCK_BYTES):
        factor = compress(place.xp.concat([factor, z], axis=0))
        n_rows += n_used
    # The scan keeps the constant last; the factor wants it first.
    factor = place.xp.roll(factor, 1, axis=1)
    weight = float(place.xp.sum(factor[:, 0] ** 2))
    return FactorMoments(weight, shift, factor, rows.y.shape[1], n_rows)


def _blocks(
    rows: Rows, basis: Basis, group: Any, shift: Any, block_bytes: int
) -> Iterator[tuple[Any, int]]:
    """√w·[φ − shift, y − shift, 1] of blocks of rows, and how many rows of each have weight.

    The next block overwrites the array.
    """
    place = place_of(rows.y)
    xp = place.xp
    p = rows.y.shape[1]
    size = int(shift.shape[0])
    n_rows = int(group.shape[0])
    height = min(max(block_bytes // (8 * (size + 1)), 64), max(n_rows, 1))
    buffer = place.empty((height, size + 1))
    index = place.integers(group)
    moved = bool(xp.any(shift[: size - p] != 0.0))
    for start in range(0, n_rows, height):
        part = rows.take(index[start : min(start + height, n_rows)])
        z = buffer[: part.n_rows, :]
        basis.fill(part.X, z[:, : size - p])
        if moved:
            z[:, : size - p] -= shift[: size - p]
        z[:, size - p : size] = part.y - shift[size - p :]
        z[:, size] = 1.0
        if part.weight is None:
            yield z, part.n_rows
            continue
        z *= xp.sqrt(part.weight)[:, None]
        yield z, int(xp.count_nonzero(part.weight))
