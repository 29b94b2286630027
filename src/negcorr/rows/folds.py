"""Folds by content: a seeded hash of each row (x, y) decides where it goes.

Equal rows stay together, so integer weights mean the same as repeated rows, and neither the
order of the rows, nor chunks, nor the machine matters. The same hash gives the rows a
canonical order, which makes a fit independent of the order of its input to the last bit.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from negcorr._common.arrays import is_device_array, place_of, taken, to_host
from negcorr._common.types import FloatArray, IntArray, Table
from negcorr._common.validation import check_positive_int
from negcorr.rows.keys import content_hash, hash_on_device, on_device_modulo

__all__ = ["ContentKFold", "Folds", "UnsplittableError", "make_folds", "number_of_folds"]


@dataclass(frozen=True)
class Folds:
    """Row sets whose moments are scanned once, and how splits are put together from them.

    Attributes
    ----------
    cells : tuple of integer arrays
        Row indices of each set, where the rows are.
    splits : tuple of (train, test)
        Cell numbers whose rows train and test each split.
    whole : tuple of int
        Cells that together hold every row once.
    numbers : tuple of int or None
        Number of each cell among the folds by content, of which empty ones are left out; None for
        splits of any other kind.
    count : int or None
        How many folds by content were asked for, empty ones among them.
    """

    cells: tuple[IntArray, ...]
    splits: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    whole: tuple[int, ...]
    numbers: tuple[int, ...] | None = None
    count: int | None = None

    def usable_splits(self, weight: FloatArray | None) -> int:
        """Number of splits with weight on both sides."""
        if weight is None:
            return len(self.splits)
        xp = place_of(weight).xp
        heavy = [float(xp.sum(taken(weight, cell))) > 0 for cell in self.cells]
        return sum(any(heavy[i] for i in a) and any(heavy[i] for i in b) for a, b in self.splits)

    @classmethod
    def none(cls, n_rows: int) -> Folds:
        """All rows in one set, no splits."""
        return cls((np.arange(n_rows),), (), (0,))

    def renumbered(self, position: IntArray) -> Folds:
        """The same sets after row i has moved to ``position[i]``, each in ascending order."""
        xp = place_of(position).xp
        return replace(self, cells=tuple(xp.sort(taken(position, c)) for c in self.cells))

    def without_rows(self) -> Folds:
        """The same splits, of rows that are not known any more."""
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
    """The rows are equal, or too few, so that folds by content are one fold."""


class ContentKFold:
    """K folds by a seeded hash of each row, as a scikit-learn splitter.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. Folds that stay empty, as happens with few rows, are
        dropped.
    seed : int, default=0
        Seed of the hash.
    inputs_only : bool, default=False
        Hash x alone. Folds then stay the same when y is perturbed or replaced, which is what
        a measurement of the response to y needs.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import ContentKFold
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    >>> [len(test) for _, test in ContentKFold(3).split(X, y)]
    [4, 3, 3]
    """

    def __init__(self, n_splits: int = 5, seed: int = 0, inputs_only: bool = False) -> None:
        check_positive_int("n_splits", n_splits)
        if n_splits < 2:
            raise ValueError(f"n_splits={n_splits!r} must be at least 2.")
        _check_seed(seed)
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
        """Training and test indices of every fold that holds rows."""
        keys = content_hash(X, None if self.inputs_only else y, self.seed)
        fold = keys % np.uint64(self.n_splits)
        used = np.unique(fold)
        if len(used) < 2:
            raise UnsplittableError(_ONE_FOLD.format(len(fold), self.n_splits))
        for k in used:
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def make_folds(cv: Any, X: Table, y: FloatArray, groups: Any = None) -> Folds:
    """Folds from an int (by content), a scikit-learn splitter, or an iterable of splits.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        None means 5 folds by content. A splitter sees the rows in their given order.
    X : table of shape (n, d)
    y : ndarray of shape (n, outputs)
    groups : array-like of shape (n,), optional
        Handed to the splitter.

    Returns
    -------
    Folds
    """
    if is_device_array(X):
        return _folds_on_device(cv, X, y, groups)
    return _folds_of_splits(cv, X, y, groups)


def _folds_of_splits(cv: Any, X: Table, y: FloatArray, groups: Any) -> Folds:
    """Folds from what a splitter says of the rows."""
    n_rows = X.shape[0]
    splits = [
        (_indices(cv, a, n_rows), _indices(cv, b, n_rows)) for a, b in _splits(cv, X, y, groups)
    ]
    usable = [(a, b) for a, b in splits if len(a) and len(b)]
    if len(usable) == 0:
        raise ValueError(f"cv={cv!r} gives no split with both training and test rows.")
    tests_cover = _each_row_once([b for _, b in usable], n_rows)
    if tests_cover and all(_each_row_once([a, b], n_rows) for a, b in usable):
        ids = range(len(usable))
        numbers, count = _content_numbers(cv, X, y, [b for _, b in usable])
        return Folds(
            cells=tuple(b for _, b in usable),
            splits=tuple((tuple(j for j in ids if j != k), (k,)) for k in ids),
            whole=tuple(ids),
            numbers=numbers,
            count=count,
        )
    # Overlapping or partial splits (ShuffleSplit, TimeSeriesSplit): no sums to share.
    cells = [np.arange(n_rows)]
    pairs = []
    for a, b in usable:
        pairs.append(((len(cells),), (len(cells) + 1,)))
        cells += [a, b]
    return Folds(tuple(cells), tuple(pairs), whole=(0,))


def _folds_on_device(cv: Any, X: Table, y: FloatArray, groups: Any) -> Folds:
    """Folds whose row numbers are where the rows are; a splitter sees the rows at home."""
    place = place_of(X)
    count = 5 if cv is None else cv
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
        groups = to_host(groups) if is_device_array(groups) else groups
        folds = _folds_of_splits(cv, _as_splitter_sees(cv, X), to_host(y), groups)
        return replace(folds, cells=tuple(place.integers(cell) for cell in folds.cells))
    _check_count(cv, count)
    fold = on_device_modulo(hash_on_device(X, y), int(count))
    cells = [place.xp.nonzero(fold == k)[0] for k in range(int(count))]
    numbers = tuple(k for k, cell in enumerate(cells) if cell.shape[0] > 0)
    if len(numbers) < 2:
        raise UnsplittableError(_ONE_FOLD.format(X.shape[0], count))
    ids = range(len(numbers))
    return Folds(
        cells=tuple(cells[k] for k in numbers),
        splits=tuple((tuple(j for j in ids if j != k), (k,)) for k in ids),
        whole=tuple(ids),
        numbers=numbers,
        count=int(count),
    )


def _as_splitter_sees(cv: Any, X: Table) -> Table:
    """Inputs for a splitter: where they are, at home, or not at all if it counts them only."""
    if isinstance(cv, ContentKFold):
        return X
    if not hasattr(cv, "split") or type(cv).__module__.partition(".")[0] == "sklearn":
        return np.zeros((X.shape[0], 1))
    return to_host(X)


def _content_numbers(
    cv: Any, X: Table, y: FloatArray, cells: list[IntArray]
) -> tuple[tuple[int, ...] | None, int | None]:
    """Which of the folds by content each cell is, and of how many."""
    count = 5 if cv is None else cv
    if not isinstance(count, (int, np.integer)):
        return None, None
    first = np.array([cell[0] for cell in cells])
    keys = content_hash(_safe_indexing(X, first), y[first])
    return tuple(int(number) for number in keys % np.uint64(count)), int(count)


def _check_count(cv: Any, count: Any) -> None:
    if count < 2:
        raise ValueError(f"cv={cv!r} must be at least 2, or a splitter.")


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed={seed!r} must be an integer, got {type(seed).__name__}.")
    if not 0 <= int(seed) < 2**64:
        raise ValueError(f"seed={seed!r} must be at least 0 and below 2**64.")


def _indices(cv: Any, given: Any, n_rows: int) -> IntArray:
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


def _each_row_once(parts: list[IntArray], n_rows: int) -> bool:
    return bool((np.bincount(np.concatenate(parts), minlength=n_rows) == 1).all())


def _splits(cv: Any, X: Table, y: FloatArray, groups: Any) -> Any:
    if cv is None:
        cv = 5
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        _check_count(cv, cv)
        return ContentKFold(int(cv)).split(X, y)
    if isinstance(cv, (bool, str, float)):
        raise TypeError(f"cv={cv!r} must be an int, a splitter or an iterable of splits.")
    target = y[:, 0] if y.shape[1] == 1 else y
    return check_cv(cv).split(X, target, groups)


def number_of_folds(cv: Any) -> int:
    """Folds by content from the parameter ``cv``; splitters need all rows at once."""
    if cv is None:
        return 5
    if isinstance(cv, (bool, np.bool_)) or not isinstance(cv, (int, np.integer)):
        raise ValueError(
            f"cv={cv!r} needs all rows at once; in a stream rows go into folds by content, and cv "
            "must be an integer."
        )
    if cv < 2:
        raise ValueError(f"cv={cv!r} must be at least 2.")
    return int(cv)
