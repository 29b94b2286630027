"""Row keys: a 64-bit hash of each row's values, which decides folds, order and landmarks.

A key depends on the values alone: it is the same in any order or chunk, on any machine, sparse or
dense, in single or double precision.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from negcorr._common.arrays import is_device_array, place_of, to_host
from negcorr._common.types import AnyArray, Table

__all__ = [
    "HashArray",
    "content_hash",
    "hash_of_bytes",
    "hash_on_device",
    "mix",
    "on_device_modulo",
    "word_hashes",
]

HashArray = npt.NDArray[np.uint64]


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
    >>> from negcorr.rows.keys import content_hash
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
    """:func:`mix` in signed numbers, without the ones that their shifts to the right bring in."""
    x = x + _signed(0x9E3779B97F4A7C15)
    x = (x ^ ((x >> 30) & (2**34 - 1))) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ ((x >> 27) & (2**37 - 1))) * _signed(0x94D049BB133111EB)
    return x ^ ((x >> 31) & (2**33 - 1))


def _signed(number: int) -> int:
    """The signed number with the same 64 bits."""
    return number - 2**64 if number >= 2**63 else number


def word_hashes(words: AnyArray) -> HashArray:
    """64-bit hash of every word, of whatever length.

    Parameters
    ----------
    words : ndarray of str of shape (n,)

    Returns
    -------
    ndarray of uint64 of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.keys import word_hashes
    >>> h = word_hashes(np.array(["a", "b", "a"]))
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    named = words.tolist()
    known = {word: hash_of_bytes(word.encode("utf-8", "replace")) for word in set(named)}
    return np.array([known[word] for word in named], dtype=np.uint64)


def hash_of_bytes(data: bytes) -> int:
    """64-bit hash of some bytes."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
