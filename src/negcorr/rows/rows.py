"""The rows of a fit (:class:`Rows`), and row keys: hashes that decide folds, order, landmarks.

A key depends on the values of a row alone: it is the same in any order or chunk, on any machine,
sparse or dense, in single or double precision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from negcorr._common.arrays import is_device_array, place_of, rows_at, to_host
from negcorr._common.types import AnyArray, FloatArray, IntArray, Table

__all__ = [
    "HashArray",
    "Rows",
    "canonical_order",
    "content_hash",
    "hash_of_bytes",
    "hash_on_device",
    "inverse_order",
    "joined",
    "mix",
    "on_device_modulo",
    "total_weight",
    "weight_of",
    "word_hashes",
]

HashArray = npt.NDArray[np.uint64]


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

    @property
    def n_rows(self) -> int:
        """Number of rows, of any weight."""
        return int(self.y.shape[0])

    def take(self, index: IntArray) -> Rows:
        """The rows with the numbers ``index``."""
        weight = None if self.weight is None else rows_at(self.weight, index)
        if is_device_array(self.X):
            return Rows(rows_at(self.X, index), rows_at(self.y, index), weight)
        return Rows(_safe_indexing(self.X, index), self.y[index], weight)

    def first_used(self, count: int) -> Rows:
        """The first rows of positive weight, at most ``count``."""
        if self.weight is None:
            return self.take(np.arange(min(count, self.n_rows)))
        used = place_of(self.weight).xp.nonzero(self.weight > 0)[0]
        return self.take(used[: min(count, used.shape[0])])


def canonical_order(rows: Rows) -> IntArray:
    """Row numbers in an order that depends on content alone, so that the given order has no effect.

    It sorts by x and weight first: a transformer that picks rows by position must not see y in it.
    """
    if not is_device_array(rows.X):
        x, y = content_hash(rows.X), content_hash(rows.y)
        return np.lexsort((y, x) if rows.weight is None else (y, rows.weight, x))
    # Stable sorts, the least important key first.
    xp = place_of(rows.y).xp
    keys = [hash_on_device(rows.y), rows.weight, hash_on_device(rows.X)]
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
    return Rows(place.xp.concat(tables), y, weight)


def total_weight(rows: Rows) -> float:
    """Σw."""
    return rows.n_rows if rows.weight is None else float(to_host(rows.weight).sum())


def weight_of(rows: Rows) -> FloatArray:
    """Frequencies as a NumPy array, one each where none were given."""
    return np.ones(rows.n_rows) if rows.weight is None else to_host(rows.weight)


def content_hash(X: Table, y: AnyArray | None = None, seed: int = 0) -> HashArray:
    """64-bit hash of every row's values.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n, d)
        Rows. Sparse and dense input, float32 and float64 of equal values, hash alike.
    y : array-like of shape (n,) or (n, outputs), optional
        Targets, hashed as further columns.
    seed : int, default=0
        Another seed gives another, unrelated hash.

    Returns
    -------
    ndarray of uint64 of shape (n,)

    Examples
    --------
    >>> from negcorr.rows.rows import content_hash
    >>> h = content_hash([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    if is_device_array(X):
        return to_host(hash_on_device(X, y, seed) ^ _TOP_BIT).view(np.uint64)
    salt = mix(np.asarray([seed], dtype=np.uint64))
    n_rows, n_columns = X.shape if hasattr(X, "shape") else np.shape(X)
    total = np.zeros(n_rows, dtype=np.uint64)
    columns: list[AnyArray] = []
    if sp.issparse(X):
        rows = sp.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        cells = _hash_cells(rows.data, rows.indices.astype(np.uint64), salt)
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)])
        total = running[rows.indptr[1:]] - running[rows.indptr[:-1]]
    elif hasattr(X, "iloc"):  # pandas, where names may repeat
        columns = [np.asarray(X.iloc[:, j]) for j in range(n_columns)]
    elif hasattr(X, "columns"):
        columns = [np.asarray(X[name]) for name in X.columns]
    else:
        columns = list(np.asarray(X).T)
    if y is not None:
        targets = to_host(y)
        columns += list(targets.reshape(len(targets), -1).T)
    for number, column in enumerate(columns, start=n_columns if sp.issparse(X) else 0):
        total += _hash_cells(column, number, salt)
    return mix(total)


def _hash_cells(values: AnyArray, column: Any, salt: HashArray) -> HashArray:
    """Hash of each cell, from its value and its column's number; 0 for zero, as for absent cells.

    Numbers are hashed by their bits in double precision, other values by their text.
    """
    if values.dtype.kind in "fiub":
        numbers = values.astype(np.float64) + 0.0  # one zero
        numbers[np.isnan(numbers)] = np.nan  # one NaN
        bits = numbers.view(np.uint64)
    else:
        bits = word_hashes(values.astype(str))
    of_column = mix(np.asarray(column, dtype=np.uint64) + salt)
    return np.where(bits == 0, np.uint64(0), mix(bits ^ of_column))


def mix(x: HashArray) -> HashArray:
    """The last step of the splitmix64 generator: a bijection in which all bits affect all bits."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def hash_on_device(X: Any, y: Any = None, seed: int = 0) -> Any:
    """The hashes of :func:`content_hash` on the device of the arrays, as int64 in the same order.

    The standard has no unsigned shifts on all devices; two's complement has the same bits. The
    highest bit is inverted, so that larger hashes are larger numbers.
    """
    place = place_of(X)
    xp = place.xp
    total = xp.zeros(X.shape[0], dtype=xp.int64, device=place.device)
    salt = mix(np.asarray([seed], dtype=np.uint64))
    tables = [place.floats(table) for table in (X, y) if table is not None]
    columns = [
        values
        for table in tables
        for values in ([table] if table.ndim == 1 else [table[:, j] for j in range(table.shape[1])])
    ]
    for number, values in enumerate(columns):
        values = xp.where(xp.isnan(values), np.nan, values) + 0.0  # one NaN, one zero
        if hasattr(values, "view"):
            bits = values.view(xp.int64)
        else:
            bits = xp.asarray(to_host(values).view(np.int64), device=place.device)
        of_column = int(mix(np.asarray(number, dtype=np.uint64) + salt).view(np.int64)[0])
        total += xp.where(bits == 0, 0, _mix_on_device(bits ^ of_column))
    return _mix_on_device(total) ^ _TOP_BIT


#: As a signed number, the highest of 64 bits.
_TOP_BIT = -(2**63)


def on_device_modulo(keys: Any, count: int) -> Any:
    """Remainders of the hashes of :func:`hash_on_device` as unsigned numbers, divided by ``count``.

    They equal those of :func:`content_hash`; ``count`` is a small number.
    """
    remainder = keys % count  # in the standard it has the divisor's sign, and so is not negative
    return (remainder + 2**63 % count) % count


def _mix_on_device(x: Any) -> Any:
    """:func:`mix` in signed numbers, without the 1 bits that signed shifts to the right insert."""
    x = x + _signed(0x9E3779B97F4A7C15)
    x = (x ^ ((x >> 30) & (2**34 - 1))) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ ((x >> 27) & (2**37 - 1))) * _signed(0x94D049BB133111EB)
    return x ^ ((x >> 31) & (2**33 - 1))


def _signed(number: int) -> int:
    """The signed number with the same 64 bits."""
    return number - 2**64 if number >= 2**63 else number


def word_hashes(words: AnyArray) -> HashArray:
    """64-bit hash of every word, of any length.

    Parameters
    ----------
    words : ndarray of str of shape (n,)

    Returns
    -------
    ndarray of uint64 of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.rows import word_hashes
    >>> h = word_hashes(np.array(["a", "b", "a"]))
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    named = words.tolist()
    known = {word: hash_of_bytes(word.encode("utf-8", "replace")) for word in set(named)}
    return np.array([known[word] for word in named], dtype=np.uint64)


def hash_of_bytes(data: bytes) -> int:
    """64-bit hash of a bytes object."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
