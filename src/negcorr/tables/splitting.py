"""Which rows to hold out, and which folds to tune by: content, whole groups, the last in time."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

from negcorr._common.types import AnyArray, BoolArray, IntArray
from negcorr._common.validation import is_integer
from negcorr.columns.samples import Samples, hashes, labels, samples, times
from negcorr.exceptions import TableError
from negcorr.reading.schema import Schema
from negcorr.rows.keys import HashArray, reseeded, word_hashes
from negcorr.rows.sample import is_sampled

__all__ = [
    "LEAST_ROWS",
    "check_held_out",
    "check_split",
    "first_held_out",
    "folds_for",
    "hold_out",
    "keys_held_out",
    "largest_keys",
]

#: A fit and a standard error take two rows each.
LEAST_ROWS = 2

N_FOLDS = 5


def hold_out(
    frame: Any, schema: Schema, *, test_size: float = 0.2, seed: int = 0
) -> tuple[IntArray, IntArray]:
    """Rows to fit on and rows to hold out.

    Without groups or times a hash of each row's inputs and targets decides, so that equal rows are
    on one side and their order does not matter. Groups are held out as a whole, by a hash of their
    names. With a column of time the last rows are held out, and rows of the same time are on one
    side.

    Parameters
    ----------
    frame : pandas.DataFrame
    schema : Schema
        What its columns are for.
    test_size : float, default=0.2
        Share of the rows to hold out, met as nearly as equal rows, groups and times allow. With
        more than 20 000 rows it is a share of the values that the hash may have, as in a stream,
        whose rows are not known in advance.
    seed : int, default=0
        Another one holds out others; of no effect with a column of time.

    Returns
    -------
    train, test : ndarray of int
        Positions of rows that have their targets, ascending, or in the order of time.

    Raises
    ------
    TableError
        If there are too few rows, or one group or time only.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tables import hold_out, infer_columns
    >>> frame = pd.DataFrame({"x": range(0, 40, 4), "who": list("aabbccddee"), "y": range(10)})
    >>> train, test = hold_out(frame, infer_columns(frame, "y", group="who"))
    >>> len(train), test.tolist()
    (8, [6, 7])
    """
    check_split(test_size, seed)
    rows = samples(frame, schema)
    n = len(rows.positions)
    if n < 2 * LEAST_ROWS:
        needed = f"{2 * LEAST_ROWS} at least are needed to hold some out"
        raise TableError(f"{n} rows have their targets; {needed}.")
    if schema.time is not None:
        when = times(frame, schema)[rows.positions]
        held = largest_keys(when, test_size, f"time in {schema.time!r}")
    elif rows.groups is not None:
        keys = reseeded(word_hashes(rows.groups), seed)
        held = largest_keys(keys, test_size, f"group in {schema.group!r}")
    else:
        held = keys_held_out(hashes(rows, schema, seed), test_size, len(frame))
    return rows.positions[~held], rows.positions[held]


def folds_for(schema: Schema, frame: Any) -> Any:
    """What an ensemble should be tuned by: its parameter ``cv``.

    Parameters
    ----------
    schema : Schema
        What the columns are for.
    frame : pandas.DataFrame
        Rows of the fit.

    Returns
    -------
    int or splitter
        5, for folds by content; ``GroupKFold`` with a column of groups, which ``fit`` then needs as
        ``groups``; ``TimeSeriesSplit`` with a column of time, for rows in its order. Groups and
        order are those of :func:`~negcorr.tables.samples`.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tables import folds_for, infer_columns
    >>> frame = pd.DataFrame({"x": range(0, 40, 4), "who": list("aabbccddee"), "y": range(10)})
    >>> folds_for(infer_columns(frame, "y"), frame)
    5
    >>> folds_for(infer_columns(frame, "y", group="who"), frame).get_n_splits()
    5
    """
    if schema.group is not None:
        n_groups = len(np.unique(labels(frame, schema)))
        if n_groups < 2:
            raise TableError(f"group={schema.group!r} is one group here; folds need two at least.")
        return GroupKFold(n_splits=min(N_FOLDS, n_groups))
    if schema.time is not None:
        if len(frame) < 3:
            raise TableError(f"{len(frame)} rows are too few for folds along {schema.time!r}.")
        return TimeSeriesSplit(n_splits=min(N_FOLDS, len(frame) - 1))
    return N_FOLDS


def check_split(test_size: Any, seed: Any) -> None:
    """Raise an error if the share or the seed is not one that is allowed."""
    if not isinstance(test_size, numbers.Real) or not 0.0 < float(test_size) < 1.0:
        raise ValueError(f"test_size={test_size!r} must be a number between 0 and 1.")
    # The methods that are compared take no larger seeds.
    if not is_integer(seed) or not 0 <= int(seed) < 2**32:
        raise ValueError(f"seed={seed!r} must be a whole number, at least 0 and below 2**32.")


def check_held_out(held: Samples, schema: Schema) -> None:
    """Raise an error if all held-out rows have no weight."""
    if held.weight is not None and not held.weight.any():
        at = repr(schema.weights)
        raise TableError(f"all held-out rows have no weight in {at}; try another seed.")


def keys_held_out(keys: HashArray, test_size: float, n_rows: int) -> BoolArray:
    """Which rows are held out by their content.

    Parameters
    ----------
    keys : ndarray of uint64 of shape (n,)
        Of all rows that have their targets.
    test_size : float
    n_rows : int
        Of the table.

    Returns
    -------
    ndarray of bool of shape (n,)
        Up to 20 000 rows those with the largest keys, a share of them as nearly as equal rows
        allow; beyond, those with a key of at least (1 - test_size)·2⁶⁴.
    """
    n = len(keys)
    if not is_sampled(n_rows):
        return largest_keys(keys, test_size, "content")
    held = keys >= first_held_out(test_size)
    if not LEAST_ROWS <= np.count_nonzero(held) <= n - LEAST_ROWS:
        raise TableError(
            f"{np.count_nonzero(held)} of {n} rows would be held out by their content, and "
            f"{LEAST_ROWS} at least are needed on both sides; try another seed or test_size."
        )
    return np.asarray(held)


def first_held_out(test_size: float) -> np.uint64:
    """The key from which on rows are held out, where they are not all known in advance."""
    return np.uint64(min(int((1.0 - test_size) * 2.0**64), 2**64 - 1))


def largest_keys(keys: AnyArray, test_size: float, what: str) -> BoolArray:
    """Which rows have the largest keys: a share of them, as nearly as equal keys allow."""
    n = len(keys)
    distinct, counts = np.unique(keys, return_counts=True)
    if len(distinct) < 2:
        raise TableError(f"all {n} rows have the same {what}: none can be held out.")
    # Rows held out if the cut is before the last key, the last two, and so on.
    held = np.cumsum(counts[::-1])[:-1]
    wanted = min(max(math.ceil(test_size * n), LEAST_ROWS), n - LEAST_ROWS)
    possible = np.flatnonzero((held >= LEAST_ROWS) & (held <= n - LEAST_ROWS))
    if len(possible) == 0:
        sides = f"{LEAST_ROWS} rows at least on both sides"
        raise TableError(f"{n} rows cannot be split by {what} with {sides}.")
    best = possible[np.argmin(np.abs(held[possible] - wanted))]
    return np.asarray(keys >= distinct[::-1][best])
