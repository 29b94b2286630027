"""Folds: by content, where a hash of each row (x, y) decides its fold, or by a splitter.

By content equal rows stay together, so integer weights mean the same as repeated rows. The order of
the rows, chunks and the machine have no effect.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from negcorr._common.arrays import is_device_array, place_of, rows_at, to_host
from negcorr._common.types import FloatArray, IntArray, Table
from negcorr._common.validation import check_positive_int, is_integer
from negcorr.rows.keys import fold_numbers, reseeded, row_keys, smallest_counted
from negcorr.rows.rows import Rows

__all__ = ["ContentKFold", "Folds", "UnsplittableError", "make_folds", "number_of_folds"]


@dataclass(frozen=True)
class Folds:
    """Sets of rows whose moments are scanned once, and the sets that make up each split.

    Attributes
    ----------
    cells : tuple of integer arrays
        Row numbers of each set, in the place of the rows.
    splits : tuple of (train, test)
        The numbers of the sets that train and that test each split.
    whole : tuple of int
        Numbers of sets that together hold every row once.
    """

    cells: tuple[IntArray, ...]
    splits: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    whole: tuple[int, ...]

    def usable_splits(self, weight: FloatArray | None) -> int:
        """Number of splits with weight on both sides."""
        if weight is None:
            return len(self.splits)
        xp = place_of(weight).xp
        heavy = [float(xp.sum(rows_at(weight, cell))) > 0 for cell in self.cells]
        return sum(any(heavy[i] for i in a) and any(heavy[i] for i in b) for a, b in self.splits)

    @classmethod
    def from_partition(cls, cells: Sequence[IntArray]) -> Folds:
        """Folds that hold out one set after the other; together the sets hold every row once."""
        ids = tuple(range(len(cells)))
        splits = tuple((ids[:k] + ids[k + 1 :], (k,)) for k in ids)
        return cls(tuple(cells), splits, ids)

    @classmethod
    def none(cls, n_rows: int) -> Folds:
        """All rows in one set, no splits."""
        return cls((np.arange(n_rows),), (), (0,))

    def renumbered(self, position: IntArray) -> Folds:
        """The same sets, in ascending order, after row i has moved to ``position[i]``."""
        xp = place_of(position).xp
        return replace(self, cells=tuple(xp.sort(rows_at(position, c)) for c in self.cells))

    def without_rows(self) -> Folds:
        """The same splits without row numbers."""
        return replace(self, cells=tuple(np.empty(0, dtype=np.intp) for _ in self.cells))

    def held_out_in(self, n_rows: int) -> IntArray:
        """The first split in which each row is held out, −1 where none is."""
        split = np.full(n_rows, -1, dtype=np.intp)
        for number, (_, test) in reversed(list(enumerate(self.splits))):
            for cell in test:
                split[to_host(self.cells[cell])] = number
        return split


_ONE_FOLD = (
    "all {} rows fall into one fold of {}: they are equal, or too few to split. Use a criterion "
    "without folds, such as 'sure' or 'gcv', give lam as a number, or bring more distinct rows."
)


class UnsplittableError(ValueError):
    """The rows are equal or too few, so that all are in one fold by content."""


class ContentKFold:
    """K folds by a seeded hash of each row, as a scikit-learn splitter.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. Folds without rows, as few rows leave them, are dropped.
    seed : int, default=0
        Seed of the hash.
    inputs_only : bool, default=False
        Hash x alone. Then folds stay the same when y changes, as a measurement of the response to
        y needs.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import ContentKFold
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    >>> [len(test) for _, test in ContentKFold(3).split(X, y)]
    [5, 3, 2]
    """

    def __init__(self, n_splits: int = 5, seed: int = 0, inputs_only: bool = False) -> None:
        check_positive_int("n_splits", n_splits, least=2)
        if not is_integer(seed):
            raise TypeError(f"seed={seed!r} must be an integer, got {type(seed).__name__}.")
        if not 0 <= int(seed) < 2**64:
            raise ValueError(f"seed={seed!r} must be at least 0 and below 2**64.")
        self.n_splits = n_splits
        self.seed = seed
        self.inputs_only = inputs_only

    def __repr__(self) -> str:
        inputs_only = ", inputs_only=True" if self.inputs_only else ""
        return f"{type(self).__name__}(n_splits={self.n_splits}, seed={self.seed}{inputs_only})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds asked for."""
        return self.n_splits

    def split(
        self, X: Table, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Training and test row numbers of every fold that has rows."""
        table = X if hasattr(X, "shape") else np.asarray(X)
        target = np.empty((table.shape[0], 0)) if y is None else np.asarray(y)
        target = target.reshape((len(target), -1))
        rows = Rows(table, target, keys=row_keys(table, target, smallest_counted(table)))
        return self.split_rows(rows)

    def split_rows(self, rows: Rows) -> Iterator[tuple[IntArray, IntArray]]:
        """The same for rows whose keys are known.

        Parameters
        ----------
        rows : Rows

        Yields
        ------
        train, test : ndarray of int
        """
        keys = reseeded(rows.keys.x if self.inputs_only else rows.keys.xy, self.seed)
        fold = to_host(fold_numbers(keys, self.n_splits))
        used = np.unique(fold)
        if len(used) < 2:
            raise UnsplittableError(_ONE_FOLD.format(len(fold), self.n_splits))
        for k in used:
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def make_folds(cv: Any, rows: Rows, groups: Any = None) -> Folds:
    """Folds from an int (by content), a scikit-learn splitter, or an iterable of splits.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        None means 5 folds by content. A splitter sees the rows in their given order, as NumPy
        arrays.
    rows : Rows
    groups : array-like of shape (n,), optional
        Passed to the splitter.

    Returns
    -------
    Folds
    """
    count = 5 if cv is None else cv
    if not is_integer(count):
        return _folds_of_splitter(cv, rows, groups)
    if count < 2:
        raise ValueError(f"cv={cv!r} must be at least 2, or a splitter.")
    count = int(count)
    fold = fold_numbers(rows.keys.xy, count)
    known = range(count) if is_device_array(fold) else np.unique(fold).tolist()
    cells = [place_of(fold).xp.nonzero(fold == k)[0] for k in known]
    cells = [cell for cell in cells if cell.shape[0] > 0]
    if len(cells) < 2:
        raise UnsplittableError(_ONE_FOLD.format(rows.n_rows, count))
    return Folds.from_partition(cells)


def _folds_of_splitter(cv: Any, rows: Rows, groups: Any) -> Folds:
    """Folds from a splitter or an iterable of splits."""
    if isinstance(cv, (bool, str, float)):
        raise TypeError(f"cv={cv!r} must be an int, a splitter or an iterable of splits.")
    n_rows, X, y, place = rows.n_rows, rows.X, rows.y, place_of(rows.y)
    if not place.is_numpy:
        y, groups = to_host(y), to_host(groups) if is_device_array(groups) else groups
        if not hasattr(cv, "split") or type(cv).__module__.partition(".")[0] == "sklearn":
            X = np.zeros((n_rows, 1))  # scikit-learn's splitters only count the rows
        elif not isinstance(cv, ContentKFold):
            X = to_host(X)
    target = y[:, 0] if y.shape[1] == 1 else y
    by_content = isinstance(cv, ContentKFold)
    parts = cv.split_rows(rows) if by_content else check_cv(cv).split(X, target, groups)
    splits = [
        (_row_numbers(cv, train, n_rows), _row_numbers(cv, test, n_rows)) for train, test in parts
    ]
    splits = [(train, test) for train, test in splits if len(train) and len(test)]
    if not splits:
        raise ValueError(f"cv={cv!r} gives no split with both training and test rows.")
    tests = [test for _, test in splits]
    times = [np.bincount(np.concatenate(parts), minlength=n_rows) for parts in (tests, *splits)]
    if all((each == 1).all() for each in times):
        return Folds.from_partition([place.integers(test) for test in tests])
    # Overlapping or partial splits (ShuffleSplit, TimeSeriesSplit) share no sums.
    cells = [np.arange(n_rows), *itertools.chain.from_iterable(splits)]
    pairs = tuple(((2 * k + 1,), (2 * k + 2,)) for k in range(len(splits)))
    return Folds(tuple(place.integers(cell) for cell in cells), pairs, whole=(0,))


def _row_numbers(cv: Any, given: Any, n_rows: int) -> IntArray:
    """Row numbers from row numbers or a mask."""
    rows = to_host(given)
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    numbers_or_none = rows.ndim == 1 and (rows.size == 0 or rows.dtype.kind in "iu")
    if not numbers_or_none or ((rows < 0) | (rows >= n_rows)).any():
        raise ValueError(
            f"cv={cv!r} gives a split that is neither row numbers from 0 to {n_rows - 1} nor a "
            f"mask of {n_rows} rows."
        )
    return rows.astype(np.intp)


def number_of_folds(cv: Any) -> int:
    """Number of folds by content that ``cv`` asks for; splitters need all rows at once."""
    if cv is None:
        return 5
    if not is_integer(cv):
        raise ValueError(
            f"cv={cv!r} needs all rows at once; in a stream rows go into folds by content, and cv "
            "must be an integer."
        )
    if cv < 2:
        raise ValueError(f"cv={cv!r} must be at least 2.")
    return int(cv)
