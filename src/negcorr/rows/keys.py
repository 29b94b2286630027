"""A 64-bit hash of each row's values: what decides folds, order and landmarks.

It depends on nothing but the numbers, so the same row hashes alike in any order, chunk,
machine, sparse or dense, single or double precision.
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
    total = _hash_sparse(X, seed) if sp.issparse(X) else _hash_columns(_columns(X), seed, 0)
    if y is not None:
        targets = to_host(y)
        columns = targets.reshape(len(targets), -1).T
        first = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
        total = total + _hash_columns(list(columns), seed, first)
    return mix(total)


def _columns(X: Table) -> list[AnyArray]:
    if hasattr(X, "iloc"):  # pandas, where names may repeat
        return [np.asarray(X.iloc[:, j]) for j in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [np.asarray(X[name]) for name in X.columns]
    return list(np.asarray(X).T)


def hash_on_device(X: Any, y: Any = None, seed: int = 0) -> Any:
    """The hash of :func:`content_hash`, where the arrays are, as int64 that sorts in its order.

    The standard has no unsigned shifts on all devices; two's complement has the same bits, and its
    highest bit is turned so that larger hashes are larger numbers.
    """
    place = place_of(X)
    total = place.xp.zeros(X.shape[0], dtype=place.xp.int64, device=place.device)
    salts = mix(np.asarray([seed], dtype=np.uint64))
    column = 0
    for table in (X, y):
        if table is None:
            continue
        values = place.floats(table)
        values = values if values.ndim == 2 else values[:, None]
        for j in range(values.shape[1]):
            bits = _bits_on_device(values[:, j])
            salt = int(mix(np.asarray(column, dtype=np.uint64) + salts).view(np.int64)[0])
            mixed = _mix_on_device(bits ^ salt)
            total += place.xp.where(bits == 0, 0, mixed)
            column += 1
    return _mix_on_device(total) ^ _TOP_BIT


#: As a signed number, the highest of 64 bits.
_TOP_BIT = -(2**63)


def on_device_modulo(keys: Any, count: int) -> Any:
    """What is left of the hashes of :func:`hash_on_device` when divided by a small number.

    The same as with unsigned numbers at home.
    """
    remainder = keys % count  # as the standard has it, of the divisor's sign: from 0 up
    return (remainder + 2**63 % count) % count


def _bits_on_device(values: Any) -> Any:
    """The bits of numbers as int64; one zero, one NaN."""
    place = place_of(values)
    xp = place.xp
    values = xp.where(xp.isnan(values), np.nan, values) + 0.0
    if hasattr(values, "view"):
        return values.view(xp.int64)
    return xp.asarray(to_host(values).view(np.int64), device=place.device)


def _mix_on_device(x: Any) -> Any:
    """:func:`mix` in signed numbers, whose shifts to the right bring in no ones."""
    x = x + _signed(0x9E3779B97F4A7C15)
    x = (x ^ ((x >> 30) & (2**34 - 1))) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ ((x >> 27) & (2**37 - 1))) * _signed(0x94D049BB133111EB)
    return x ^ ((x >> 31) & (2**33 - 1))


def _signed(number: int) -> int:
    """The signed number with the same 64 bits."""
    return number - 2**64 if number >= 2**63 else number


def _hash_columns(columns: list[AnyArray], seed: int, first: int) -> HashArray:
    total = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    for j, column in enumerate(columns):
        total += _hash_values(_bits(column), np.uint64(first + j), seed)
    return total


def _hash_sparse(X: Table, seed: int) -> HashArray:
    rows = sp.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    values = _hash_values(_bits(rows.data), rows.indices.astype(np.uint64), seed)
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.asarray(running[rows.indptr[1:]] - running[rows.indptr[:-1]])


def _hash_values(bits: HashArray, column: Any, seed: int) -> HashArray:
    """Mixed with the column's number; zeros count for nothing, so sparsity does not show."""
    salt = mix(np.asarray(column, dtype=np.uint64) + mix(np.asarray([seed], dtype=np.uint64)))
    return np.where(bits == 0, np.uint64(0), mix(bits ^ salt))


def _bits(values: AnyArray) -> HashArray:
    if values.dtype.kind in "fiub":
        numbers = values.astype(np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint64)
    return word_hashes(values.astype(str))


def mix(x: HashArray) -> HashArray:
    """The finaliser of the splitmix64 generator: a bijection that scrambles every bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


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
