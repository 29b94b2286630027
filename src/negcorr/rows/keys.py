"""Row keys: 64-bit hashes of rows that decide folds, order, landmarks and samples.

A key depends on the values of a row alone, so it is the same in any order or chunk, on any machine,
sparse or dense, in single or double precision. Numbers are rounded to 26 significant bits first,
and count as zero below 2⁻²⁶ of the scale of their column: the last bits of a number that a scaler
made depend on the order in which it summed.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import itertools
import math
import numbers
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from negcorr._common.arrays import is_device_array, place_of, rows_at, to_host
from negcorr._common.types import AnyArray, FloatArray, IntArray, Table

__all__ = [
    "HashArray",
    "RowKeys",
    "content_hash",
    "fold_numbers",
    "on_host",
    "reseeded",
    "row_keys",
    "smallest_counted",
    "without_last_digits",
    "word_hashes",
]

HashArray = npt.NDArray[np.uint64]

#: Significant bits of a number that its hash sees, of the 53 of double precision.
BITS = 26

#: Rounds the bits of a float to 26 significant ones: half of the last bit that stays, and a mask.
_HALF, _MASK = 2 ** (52 - BITS), ~(2 ** (53 - BITS) - 1)

#: Cells that are smaller than the largest of their column by this factor are rounding errors.
SURELY_NOISE = 2.0**-44

#: The bits of every cell without a value.
_NAN = 0x7FF8000000000000

#: Targets are hashed as columns from this number on, whatever the number of inputs.
FIRST_TARGET = 2**32

#: Rows whose cells are hashed at a time, so that they stay in the cache.
BLOCK = 8192

#: As a signed number, the highest of 64 bits.
_TOP_BIT = -(2**63)


@dataclass(frozen=True, eq=False)
class RowKeys:
    """The keys of some rows: uint64 of NumPy, or on a device int64 in the same order.

    Attributes
    ----------
    x : array of shape (n,)
        Of the inputs.
    xy : array of shape (n,)
        Of inputs and targets.
    """

    x: Any
    xy: Any

    def take(self, index: IntArray) -> RowKeys:
        """The keys of the rows with the numbers ``index``."""
        return RowKeys(rows_at(self.x, index), rows_at(self.xy, index))


def row_keys(X: Table, y: Any, smallest: FloatArray | None = None) -> RowKeys:
    """The keys of rows.

    Parameters
    ----------
    X : {array, sparse matrix, data frame, sequence of arrays} of shape (n, d)
        Inputs; a sequence holds the columns.
    y : array of shape (n, outputs)
        Targets. They are rounded, but none counts as zero: rows are drawn from before targets, and
        their scale, are known.
    smallest : ndarray of shape (d,), optional
        Inputs that are smaller count as zero (:func:`smallest_counted`).

    Returns
    -------
    RowKeys

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.keys import row_keys
    >>> X = np.array([[0.3, 2.0], [0.1 + 0.2, 2.0], [0.3, 2.5]])
    >>> keys = row_keys(X, np.ones((3, 1)))
    >>> bool(keys.xy[0] == keys.xy[1]), bool(keys.x[0] == keys.x[2])
    (True, False)
    """
    if is_device_array(X):
        inputs = _sums_on_device(X, smallest)
        both = inputs + _sums_on_device(place_of(X).floats(y), None, FIRST_TARGET)
        return RowKeys(_mix_on_device(inputs) ^ _TOP_BIT, _mix_on_device(both) ^ _TOP_BIT)
    inputs = _sums(X, smallest)
    both = inputs + _sums(to_host(y), None, FIRST_TARGET)
    return RowKeys(mix(inputs), mix(both))


def content_hash(X: Table, y: Any = None, smallest: FloatArray | None = None) -> HashArray:
    """64-bit hash of every row's values.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n, d)
        Rows. Sparse and dense input, float32 and float64 of equal values, hash alike.
    y : array-like of shape (n,) or (n, outputs), optional
        Targets.
    smallest : ndarray of shape (d,), optional
        Inputs that are smaller count as zero.

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
    table = X if hasattr(X, "shape") else np.asarray(X)
    if y is None:
        target: Any = np.empty((table.shape[0], 0))
        return on_host(row_keys(table, target, smallest).x)
    target = y if is_device_array(y) else np.asarray(y)
    columns = place_of(target).xp.reshape(target, (target.shape[0], -1))
    return on_host(row_keys(table, columns, smallest).xy)


def smallest_counted(X: Table) -> FloatArray:
    """The smallest value of each column that does not count as zero, of shape (d,).

    It is 2⁻²⁶ of the column's scale, the power of two that is nearest to the median of its
    different absolute values. A level at the mean of a column comes out of a scaler as 0, or as
    3e-16.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.keys import smallest_counted
    >>> float(smallest_counted(np.array([[3.0], [-4.5], [1e9]]))[0]) == 4 * 2.0**-26
    True
    """
    if sp.issparse(X):
        columns = sp.csc_array(X)
        parts = (columns.data[a:b] for a, b in itertools.pairwise(columns.indptr.tolist()))
        scales = np.array([_scale(part) for part in parts], dtype=np.float64)
    elif is_device_array(X):
        scales = _scales_on_device(X)
    else:
        scales = np.array([_scale(column) for column in _columns(X)], dtype=np.float64)
    return scales * 2.0**-BITS


def _scale(values: AnyArray) -> float:
    """The power of two nearest to the median of the different sizes of numbers; 0 without any.

    Weights and repeats have no effect on it, and a few very large values hardly any.
    """
    if values.dtype.kind not in "fiub":
        return 0.0
    sizes = np.unique(np.abs(values.astype(np.float64)))
    sizes = sizes[np.isfinite(sizes)]
    sizes = sizes[sizes > (sizes[-1] * SURELY_NOISE if len(sizes) else 0.0)]
    # The upper one of two: the other may be noise.
    return _power_of_two(sizes[len(sizes) // 2]) if len(sizes) else 0.0


def without_last_digits(values: Any) -> Any:
    """Values rounded to 26 significant bits: sums in another order give the same.

    Examples
    --------
    >>> from negcorr.rows.keys import without_last_digits
    >>> float(without_last_digits(0.1 + 0.2)) == float(without_last_digits(0.3))
    True
    """
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**BITS) / 2.0**BITS, exponent)


def _power_of_two(size: float) -> float:
    """The nearest power of two; 0 for 0."""
    return math.ldexp(1.0, min(round(math.log2(size)), 1023)) if size > 0 else 0.0


def _scales_on_device(X: Any) -> FloatArray:
    """:func:`_scale` of all columns of an array on its device; only the medians come home."""
    place = place_of(X)
    xp, values = place.xp, place.floats(X)
    if X.shape[0] == 0:
        return np.zeros(X.shape[1])
    sizes = xp.sort(xp.where(xp.isfinite(values), xp.abs(values), 0.0), axis=0)
    least = xp.where(sizes[-1:, :] > 0, sizes[-1:, :] * SURELY_NOISE, xp.inf)
    # Of equal sizes the last one counts.
    differs = xp.concat([sizes[1:, :] > sizes[:-1, :], sizes[-1:, :] > 0], axis=0)
    counts = xp.astype(differs & (sizes > least), xp.int64)
    number = xp.cumulative_sum(counts, axis=0)
    at = (number == number[-1:, :] // 2 + 1) & (counts == 1)
    medians = xp.sum(xp.where(at, sizes, 0.0), axis=0)
    return np.array([_power_of_two(median) for median in to_host(medians).tolist()])


def reseeded(keys: Any, seed: int) -> Any:
    """Other keys of the same rows, unrelated to these; the same for the seed 0."""
    if seed == 0:
        return keys
    salt = mix(np.asarray([seed], dtype=np.uint64))
    if is_device_array(keys):
        return _mix_on_device((keys ^ _TOP_BIT) + int(salt.view(np.int64)[0])) ^ _TOP_BIT
    return mix(keys + salt)


def on_host(keys: Any) -> HashArray:
    """Keys as uint64 of NumPy."""
    if is_device_array(keys):
        return to_host(keys ^ _TOP_BIT).view(np.uint64)
    return np.asarray(keys)


def fold_numbers(keys: Any, count: int) -> Any:
    """Remainders of the keys as unsigned numbers, divided by a small ``count``."""
    if not is_device_array(keys):
        return keys % np.uint64(count)
    remainder = keys % count  # in the standard it has the divisor's sign, and so is not negative
    return (remainder + 2**63 % count) % count


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
    >>> from negcorr.rows.keys import word_hashes
    >>> h = word_hashes(np.array(["a", "b", "a"]))
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    named = words.tolist()
    known = {
        word: int.from_bytes(
            hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little"
        )
        for word in set(named)
    }
    return np.array([known[word] for word in named], dtype=np.uint64)


def _columns(X: Any) -> Iterator[AnyArray]:
    """The columns of a dense table."""
    if isinstance(X, (list, tuple)):
        yield from X
    elif hasattr(X, "iloc"):  # pandas, where names may repeat
        yield from (np.asarray(X.iloc[:, j]) for j in range(X.shape[1]))
    elif hasattr(X, "columns"):
        # Of pyarrow the attribute columns holds the columns themselves.
        yield from (np.asarray(X[name]) for name in getattr(X, "column_names", X.columns))
    else:
        yield from np.asarray(X).T


def _sums(X: Any, smallest: FloatArray | None, first: int = 0) -> HashArray:
    """Sum of the hashes of each row's cells, in which zero and absent cells count nothing."""
    if sp.issparse(X):
        rows = sp.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        least = None if smallest is None else smallest[rows.indices]
        bits = _number_bits(rows.data, least)
        cells = np.where(bits == 0, np.uint64(0), mix(bits ^ mix(rows.indices.astype(np.uint64))))
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)])
        return np.asarray(running[rows.indptr[1:]] - running[rows.indptr[:-1]])
    columns = list(_columns(X))
    total = np.zeros(len(columns[0]) if columns else X.shape[0], dtype=np.uint64)
    for number, column in enumerate(columns):
        salt = mix(np.asarray([first + number], dtype=np.uint64))
        least = None if smallest is None else smallest[number]
        for start in range(0, len(total), BLOCK):
            block = slice(start, start + BLOCK)
            bits = _cell_bits(column[block], least)
            total[block] += np.where(bits == 0, np.uint64(0), mix(bits ^ salt))
    return total


def _cell_bits(values: AnyArray, least: Any) -> HashArray:
    """64 bits for each cell: of numbers and dates by value, of all else by their text."""
    if values.dtype.kind in "fiub":
        return _number_bits(values, least)
    if values.dtype.kind in "mM":
        unit = f"{'datetime64' if values.dtype.kind == 'M' else 'timedelta64'}[us]"
        bits = values.astype(unit).astype(np.int64).view(np.uint64)
        return np.where(np.isnat(values), np.uint64(_NAN), bits)
    if values.dtype.kind == "O":
        return _object_bits(values)
    return word_hashes(values)


def _object_bits(values: AnyArray) -> HashArray:
    """The bits of cells of any type: equal values have the same in columns of all types."""
    cells = [cell if isinstance(cell, Hashable) else str(cell) for cell in values.tolist()]
    different = list(dict.fromkeys(cells))
    if all(isinstance(cell, str) for cell in different):
        return word_hashes(np.array(cells, dtype=object))
    bits = np.full(len(different), _NAN, dtype=np.uint64)
    for k, cell in enumerate(different):
        if type(cell).__name__ in ("NoneType", "NAType", "NaTType"):
            continue
        if isinstance(cell, (numbers.Real, np.bool_, decimal.Decimal)):
            alone = np.array([float(cell)])
        elif isinstance(cell, (datetime.date, np.datetime64)):
            at: Any = cell
            if getattr(cell, "tzinfo", None) is not None:
                at = at.astimezone(datetime.UTC).replace(tzinfo=None)
            alone = np.array([at], dtype="datetime64[us]")
        else:
            alone = np.array([str(cell)])
        bits[k] = _cell_bits(alone, None)[0]
    place = {cell: k for k, cell in enumerate(different)}
    return bits[np.array([place[cell] for cell in cells], dtype=np.intp)]


def _number_bits(values: AnyArray, least: Any) -> HashArray:
    """The bits of numbers in double precision, rounded; one zero, one NaN."""
    known = values.astype(np.float64) + 0.0
    if least is not None:
        known[np.abs(known) < least] = 0.0
    bits = (known.view(np.uint64) + np.uint64(_HALF)) & np.uint64(_MASK % 2**64)
    unknown = np.isnan(known)
    if unknown.any():
        bits[unknown] = np.uint64(_NAN)
    return bits


def mix(x: HashArray) -> HashArray:
    """The last step of the splitmix64 generator: a bijection in which all bits affect all bits."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _sums_on_device(table: Any, smallest: FloatArray | None, first: int = 0) -> Any:
    """:func:`_sums` on the device of an array, in signed numbers.

    The standard has no unsigned shifts on all devices; two's complement has the same bits.
    """
    place = place_of(table)
    xp = place.xp
    total = xp.zeros(table.shape[0], dtype=xp.int64, device=place.device)
    for number in range(table.shape[1]):
        values = place.floats(table[:, number]) + 0.0  # one zero
        if smallest is not None:
            values = xp.where(xp.abs(values) < float(smallest[number]), 0.0, values)
        if hasattr(values, "view"):
            bits = values.view(xp.int64)
        else:
            bits = xp.asarray(to_host(values).view(np.int64), device=place.device)
        bits = xp.where(xp.isnan(values), _NAN, (bits + _HALF) & _MASK)
        salt = int(mix(np.asarray([first + number], dtype=np.uint64)).view(np.int64)[0])
        total += xp.where(bits == 0, 0, _mix_on_device(bits ^ salt))
    return total


def _mix_on_device(x: Any) -> Any:
    """:func:`mix` in signed numbers, without the 1 bits that signed shifts to the right insert."""
    x = x + _signed(0x9E3779B97F4A7C15)
    x = (x ^ ((x >> 30) & (2**34 - 1))) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ ((x >> 27) & (2**37 - 1))) * _signed(0x94D049BB133111EB)
    return x ^ ((x >> 31) & (2**33 - 1))


def _signed(number: int) -> int:
    """The signed number with the same 64 bits."""
    return number - 2**64 if number >= 2**63 else number
