"""The rows of a fit, with their targets and frequencies: taken, ordered, joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from negcorr._common.arrays import is_device_array, place_of, taken, to_host
from negcorr._common.types import FloatArray, IntArray, Table
from negcorr.rows.keys import content_hash, hash_on_device

__all__ = ["Rows", "canonical_order", "inverse_order", "joined", "total_weight", "weight_of"]


@dataclass(frozen=True)
class Rows:
    """Validated data of a fit.

    Attributes
    ----------
    X : table of shape (n, d)
        Inputs, as the basis takes them.
    y : array of shape (n, outputs)
        Targets, where X is.
    weight : array of shape (n,) or None
        Frequencies; None means one each.
    """

    X: Table
    y: FloatArray
    weight: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Rows, of whatever weight."""
        return int(self.y.shape[0])

    def take(self, index: IntArray) -> Rows:
        """The rows at ``index``."""
        weight = None if self.weight is None else taken(self.weight, index)
        if is_device_array(self.X):
            return Rows(taken(self.X, index), taken(self.y, index), weight)
        return Rows(_safe_indexing(self.X, index), self.y[index], weight)

    def first_used(self, count: int) -> Rows:
        """The first rows of positive weight, at most so many."""
        if self.weight is None:
            return self.take(np.arange(min(count, self.n_rows)))
        used = place_of(self.weight).xp.nonzero(self.weight > 0)[0]
        return self.take(used[: min(count, used.shape[0])])


def canonical_order(rows: Rows) -> IntArray:
    """An order that content decides, so that a fit does not depend on the order of its rows.

    By x and weight first: a transformer that picks rows by their position must not see y in it.
    """
    if is_device_array(rows.X):
        return _order_on_device(rows)
    x, y = content_hash(rows.X), content_hash(rows.y)
    return np.lexsort((y, x) if rows.weight is None else (y, rows.weight, x))


def inverse_order(order: IntArray) -> IntArray:
    """Where each row stands after rows were taken in this order."""
    if is_device_array(order):
        return place_of(order).xp.argsort(order)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return position


def _order_on_device(rows: Rows) -> IntArray:
    """The same order by stable sorts, the least important key first."""
    xp = place_of(rows.y).xp
    keys = [hash_on_device(rows.y), rows.weight, hash_on_device(rows.X)]
    order = xp.argsort(keys[0], stable=True)
    for key in keys[1:]:
        if key is not None:
            order = xp.take(order, xp.argsort(xp.take(key, order), stable=True))
    return order


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows of several parts, in their order.

    Tables are all arrays, sparse or dense, or all data frames of one library.
    """
    # A table without rows may not know the types of its columns.
    parts = [part for part in parts if part.n_rows] or parts[:1]
    tables = [part.X for part in parts]
    if any(is_device_array(table) for table in tables):
        return _joined_on_device(parts)
    kinds = {_kind(table) for table in tables}
    if len(kinds) > 1:
        raise ValueError(
            f"X comes as {' and as '.join(sorted(kinds))}; give all rows as tables of one kind."
        )
    y = np.concatenate([part.y for part in parts])
    weight = None
    if any(part.weight is not None for part in parts):
        weights = [np.ones(len(p.y)) if p.weight is None else p.weight for p in parts]
        weight = np.concatenate(weights)
    if "pandas data frame" in kinds:
        import pandas

        return Rows(pandas.concat(tables, ignore_index=True), y, weight)
    if "polars data frame" in kinds:
        import polars

        # Whole numbers in one part of a column, others in another: the wider type holds both.
        return Rows(polars.concat(tables, how="vertical_relaxed"), y, weight)
    if any(sp.issparse(table) for table in tables):
        tables = [table if sp.issparse(table) else sp.csr_array(table) for table in tables]
        return Rows(sp.vstack(tables, format="csr"), y, weight)
    return Rows(np.concatenate(tables), y, weight)


def _joined_on_device(parts: Sequence[Rows]) -> Rows:
    places = [place_of(part.X) for part in parts]
    if any(place != places[0] for place in places):
        raise ValueError(
            "X comes from several array libraries or devices; give all rows as arrays of one."
        )
    xp = places[0].xp
    weight = None
    if any(part.weight is not None for part in parts):
        ones = [places[0].ones((part.n_rows,)) for part in parts]
        given = [part.weight for part in parts]
        weight = xp.concat([one if w is None else w for one, w in zip(ones, given, strict=True)])
    return Rows(xp.concat([p.X for p in parts]), xp.concat([p.y for p in parts]), weight)


def _kind(table: Table) -> str:
    if not hasattr(table, "columns"):
        return "array"
    return "pandas data frame" if hasattr(table, "iloc") else "polars data frame"


def total_weight(rows: Rows) -> float:
    """Σw."""
    return rows.n_rows if rows.weight is None else float(to_host(rows.weight).sum())


def weight_of(rows: Rows) -> FloatArray:
    """Frequencies, one each where none were given; at home."""
    return np.ones(rows.n_rows) if rows.weight is None else to_host(rows.weight)
