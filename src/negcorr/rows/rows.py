"""The rows of a fit (:class:`Rows`), their canonical order, and rows of several parts joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from negcorr._common.arrays import is_device_array, place_of, rows_at, to_host
from negcorr._common.types import BoolArray, FloatArray, IntArray, Table
from negcorr.rows.keys import RowKeys, on_host, row_keys

__all__ = [
    "Rows",
    "canonical_order",
    "inverse_order",
    "joined",
    "rows_of_table",
    "total_weight",
    "weight_of",
]


@dataclass(frozen=True)
class Rows:
    """Validated rows of a fit: the data that is passed between its stages.

    An estimator validates what the user gives and makes the rows once, in their canonical order.
    Folds, bases, the scan of the moments and leave-one-out read them, and nothing changes them.

    Attributes
    ----------
    X : table of shape (n, d)
        Inputs as the basis takes them: an array of NumPy or of another library, a sparse matrix or
        a data frame.
    y : array of shape (n, outputs)
        Targets in double precision, in the place of X.
    weight : array of shape (n,) or None
        Frequencies, not negative, in the place of X; None means one each.
    keys : RowKeys
        Made of the cells as the user gave them; by default of X and y.
    as_they_are : ndarray of bool of shape (d,) or None
        Columns that no basis scales, such as those of 0 and 1 that stand for a category; None where
        there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.rows import Rows
    >>> rows = Rows(np.eye(3), np.ones((3, 1)), np.array([1.0, 0.0, 2.0]))
    >>> rows.n_rows, rows.first_used(2).weight.tolist()
    (3, [1.0, 2.0])
    """

    X: Table
    y: FloatArray
    weight: FloatArray | None = None
    keys: RowKeys = field(default=None, repr=False)  # type: ignore[assignment]
    as_they_are: BoolArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", self.keys or row_keys(self.X, self.y))

    @property
    def n_rows(self) -> int:
        """Number of rows, of any weight."""
        return int(self.y.shape[0])

    def take(self, index: IntArray) -> Rows:
        """The rows with the numbers ``index``."""
        weight = None if self.weight is None else rows_at(self.weight, index)
        y, keys = rows_at(self.y, index), self.keys.take(index)
        return Rows(rows_of_table(self.X, index), y, weight, keys, self.as_they_are)

    def on_host(self) -> Rows:
        """The rows as arrays of NumPy."""
        weight = None if self.weight is None else to_host(self.weight)
        keys = RowKeys(on_host(self.keys.x), on_host(self.keys.xy))
        return Rows(to_host(self.X), to_host(self.y), weight, keys, self.as_they_are)

    def of_weight(self) -> Rows:
        """The rows of positive weight; the values in rows of weight zero are ignored."""
        used = np.flatnonzero(weight_of(self) > 0)
        return self if len(used) == self.n_rows else self.take(used)

    @property
    def distinct(self) -> IntArray:
        """One row number for each distinct x of positive weight, in the order of their keys.

        What is drawn from these rows depends neither on the order of the rows nor on repeats. Rows
        whose x differ by less than keys see are one x; that of the smallest key with its y stands
        for it, whatever the weights.
        """
        used = np.flatnonzero(weight_of(self) > 0)
        x, xy = to_host(self.keys.x)[used], to_host(self.keys.xy)[used]
        order = np.lexsort((xy, x))
        _, first = np.unique(x[order], return_index=True)
        return np.asarray(used[order[first]])

    def first_used(self, count: int) -> Rows:
        """The first rows of positive weight, at most ``count``."""
        if self.weight is None:
            return self.take(np.arange(min(count, self.n_rows)))
        used = place_of(self.weight).xp.nonzero(self.weight > 0)[0]
        return self.take(used[: min(count, used.shape[0])])


def rows_of_table(X: Table, index: IntArray) -> Table:
    """Rows of a table of any kind by their numbers."""
    return rows_at(X, index) if is_device_array(X) else _safe_indexing(X, index)


def canonical_order(rows: Rows) -> IntArray:
    """Row numbers in an order that depends on content alone, so that the given order has no effect.

    It sorts by x and weight first: a transformer that picks rows by position must not see y in it.
    """
    keys = [rows.keys.xy, rows.weight, rows.keys.x]
    if not is_device_array(rows.X):
        return np.lexsort([key for key in keys if key is not None])
    # Stable sorts, the least important key first.
    xp = place_of(rows.y).xp
    order = xp.argsort(keys[0], stable=True)
    for key in keys[1:]:
        if key is not None:
            order = xp.take(order, xp.argsort(xp.take(key, order), stable=True))
    return order


def inverse_order(order: IntArray) -> IntArray:
    """The position of each row after the rows were taken in ``order``."""
    if is_device_array(order):
        return place_of(order).xp.argsort(order)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return position


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows of several parts, in their order.

    Tables are all arrays, sparse or dense, or all data frames of one library.
    """
    # A table without rows may not know the types of its columns.
    parts = [part for part in parts if part.n_rows] or parts[:1]
    tables = [part.X for part in parts]
    place = place_of(tables[0])
    if any(place_of(table) != place for table in tables):
        raise ValueError(
            "X comes from several array libraries or devices; give all rows as arrays of one."
        )
    kinds = {
        "array"
        if not hasattr(table, "columns")
        else "pandas data frame"
        if hasattr(table, "iloc")
        else "polars data frame"
        for table in tables
    }
    if len(kinds) > 1:
        raise ValueError(
            f"X comes as {' and as '.join(sorted(kinds))}; give all rows as tables of one kind."
        )
    y = place.xp.concat([part.y for part in parts])
    weight = None
    if any(part.weight is not None for part in parts):
        ones = [place.ones((part.n_rows,)) for part in parts]
        given = [part.weight for part in parts]
        weight = place.xp.concat(
            [one if w is None else w for one, w in zip(ones, given, strict=True)]
        )
    keys = RowKeys(
        place.xp.concat([part.keys.x for part in parts]),
        place.xp.concat([part.keys.xy for part in parts]),
    )
    more = keys, parts[0].as_they_are
    if "pandas data frame" in kinds:
        return Rows(_stacked(tables), y, weight, *more)
    if "polars data frame" in kinds:
        import polars

        # Whole numbers in one part of a column, others in another: the wider type holds both.
        return Rows(polars.concat(tables, how="vertical_relaxed"), y, weight, *more)
    if any(sp.issparse(table) for table in tables):
        tables = [table if sp.issparse(table) else sp.csr_array(table) for table in tables]
        return Rows(sp.vstack(tables, format="csr"), y, weight, *more)
    return Rows(place.xp.concat(tables), y, weight, *more)


def _stacked(frames: list[Table]) -> Table:
    """Data frames of pandas below each other; columns of categories stay such."""
    import pandas
    from pandas.api.types import union_categoricals

    stacked = pandas.concat(frames, ignore_index=True)
    for name in stacked.columns:
        parts = [frame[name] for frame in frames]
        is_category = hasattr(stacked[name], "cat")
        if not is_category and all(hasattr(part, "cat") for part in parts):
            stacked[name] = union_categoricals(parts, ignore_order=True)
    return stacked


def total_weight(rows: Rows) -> float:
    """Σw."""
    return rows.n_rows if rows.weight is None else float(to_host(rows.weight).sum())


def weight_of(rows: Rows) -> FloatArray:
    """Frequencies as a NumPy array, one each where none were given."""
    return np.ones(rows.n_rows) if rows.weight is None else to_host(rows.weight)
