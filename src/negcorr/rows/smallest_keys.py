"""The rows with the smallest keys: a sample of rows that their content chooses.

The smallest keys of all rows are the smallest among those that were kept so far and the new ones.
So the same rows are chosen whether they are all in memory or come in chunks, and in any order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr._common.types import AnyArray, BoolArray, IntArray
from negcorr.rows.keys import HashArray

__all__ = ["SmallestKeys", "smallest_keys"]


@dataclass(frozen=True, eq=False)
class SmallestKeys:
    """Rows that were chosen for their keys.

    Attributes
    ----------
    index : ndarray of shape (k,)
        Where these rows stand among those that were given, in the order of their keys.
    keys : ndarray of uint64 of shape (k,)
        Their keys, ascending.
    counts : ndarray of shape (k,)
        How many rows each of them stands for: 1, or with ``distinct`` all rows of its key.
    n_found : int
        Rows, or with ``distinct`` different keys, from which these were chosen.
    cut : uint64 or None
        Rows with larger keys were left out, now or before; None where all rows were kept.
    """

    index: IntArray
    keys: HashArray
    counts: IntArray
    n_found: int
    cut: np.uint64 | None


def smallest_keys(
    keys: HashArray,
    most: int,
    *,
    used: BoolArray | None = None,
    ties: AnyArray | None = None,
    cut: np.uint64 | None = None,
    distinct: bool = False,
    counts: IntArray | None = None,
) -> SmallestKeys:
    """Choose the rows with the smallest keys.

    For rows that come in chunks, join the keys that are kept and those of the chunk, and choose
    among all of them.

    Parameters
    ----------
    keys : ndarray of uint64 of shape (n,)
        A key for each row.
    most : int
        Rows to choose at most.
    used : ndarray of bool of shape (n,), optional
        Rows that may be chosen, by default all.
    ties : ndarray of shape (n,), optional
        Rows with equal keys are taken in ascending order of these numbers, then in their own order.
    cut : uint64, optional
        Rows with larger keys are not chosen. Where rows are taken away again later, this keeps out
        rows that were left out once.
    distinct : bool, default=False
        Whether of all rows with the same key only the first is chosen.
    counts : ndarray of int of shape (n,), optional
        How many rows each row stands for already, with ``distinct``; by default 1.

    Returns
    -------
    SmallestKeys

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.smallest_keys import smallest_keys
    >>> keys = np.array([7, 3, 5, 3, 9], dtype=np.uint64)
    >>> smallest_keys(keys, 3).index, smallest_keys(keys, 3).cut
    (array([1, 3, 2]), np.uint64(5))
    >>> found = smallest_keys(keys, 3, distinct=True)
    >>> found.index, found.counts
    (array([1, 2, 0]), array([2, 1, 1]))

    The same from two chunks:

    >>> one = smallest_keys(keys[:3], 3, distinct=True)
    >>> both = np.concatenate([one.keys, keys[3:]])
    >>> counts = np.concatenate([one.counts, [1, 1]])
    >>> smallest_keys(both, 3, distinct=True, counts=counts).counts
    array([2, 1, 1])
    """
    index = np.arange(len(keys)) if used is None else np.flatnonzero(used)
    if cut is not None:
        index = index[keys[index] <= cut]
    n_found = len(index)
    if n_found > most and not distinct:
        # Few of many rows need to be sorted.
        candidates = keys[index]
        index = index[candidates <= np.partition(candidates, most - 1)[most - 1]]
    order = (keys[index],) if ties is None else (ties[index], keys[index])
    index = index[np.lexsort(order)]
    stands_for = np.ones(len(index), dtype=np.int64)
    if distinct:
        ordered = keys[index]
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(index)])
        each = stands_for if counts is None else counts[index]
        index, stands_for, n_found = index[first], np.add.reduceat(each, first), len(first)
    index, stands_for = index[:most], stands_for[:most]
    chosen = keys[index]
    if n_found > most:
        cut = chosen[-1]
    return SmallestKeys(index, chosen, stands_for, n_found, cut)
