"""Rows of the smallest hashes: a sample of a table that comes in pieces, in whatever order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.types import AnyArray, IntArray
from negcorr.reading.cell_kinds import text_buffers
from negcorr.rows.keys import HashArray, content_hash, mix

__all__ = ["Kept", "SmallestHashes", "table_hash"]

#: Longer cells are hashed by a function of Python; most are numbers and words.
LONG_BYTES = 256

#: Masks of the first bytes of a word of eight.
_FIRST = np.array([2 ** (8 * k) - 1 for k in range(9)], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Kept:
    """Rows that were kept.

    Attributes
    ----------
    table : pyarrow.Table
        In the order of their hashes.
    positions : ndarray of int
        Where they stand among all rows; equal rows stand where the first of them does.
    n_rows : int
        All rows that were seen.
    """

    table: Any
    positions: IntArray
    n_rows: int


class SmallestHashes:
    """Keep rows by their hashes, a bounded number of them.

    Which rows are kept depends neither on their order nor on how they were cut into pieces. Equal
    rows are held once and counted, so that they do not crowd out all others, and come back as
    often as is their due.

    Parameters
    ----------
    most : int
        Rows to keep.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow
    >>> from negcorr.tables.smallest import SmallestHashes
    >>> kept = SmallestHashes(2)
    >>> kept.add(np.array([7, 3, 5], dtype=np.uint64), pyarrow.table({"x": [70, 30, 50]}), 0)
    >>> kept.rows().table["x"].to_pylist()
    [30, 50]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.n_rows = 0
        self._keys = np.empty(0, dtype=np.uint64)
        self._counts = np.empty(0, dtype=np.int64)
        self._positions = np.empty(0, dtype=np.int64)
        self._table: Any = None

    def add(self, keys: HashArray, table: Any, first: int | IntArray) -> None:
        """Rows of a table of pyarrow, by their hashes; ``first`` is the position of the first.

        Positions of all of them may be given instead.
        """
        import pyarrow

        self.n_rows += len(keys)
        low = keys <= self._keys[-1] if len(self._keys) == self.most else np.ones(len(keys), bool)
        if self._table is not None and not low.any():
            return
        at = np.flatnonzero(low)
        where = first + at if isinstance(first, int) else first[at]
        both = np.concatenate([self._keys, keys[at]])
        counts = np.concatenate([self._counts, np.ones(len(at), dtype=np.int64)])
        distinct, index, inverse = np.unique(both, return_index=True, return_inverse=True)
        index = index[: self.most]
        self._counts = np.bincount(inverse, weights=counts).astype(np.int64)[: self.most]
        self._keys = distinct[: self.most]
        self._positions = np.concatenate([self._positions, where])[index]
        new = table.take(pyarrow.array(at))
        if self._table is not None:
            new = pyarrow.concat_tables([self._table, new], promote_options="permissive")
        # Copies, so that nothing else of the pieces stays in memory.
        self._table = new.unify_dictionaries().take(pyarrow.array(index)).combine_chunks()

    def rows(self) -> Kept:
        """What was kept."""
        import pyarrow

        copies = _copies(self._counts, self.n_rows, self.most)
        index = np.repeat(np.arange(len(copies)), copies)
        table = self._table.take(pyarrow.array(index)) if self._table is not None else None
        return Kept(table, self._positions[index], self.n_rows)


def _copies(counts: IntArray, n_rows: int, most: int) -> IntArray:
    """How often each row comes back: as often as it was there, or its share of a sample.

    One that is very frequent gets no more than its share of all rows, whatever else is kept. The
    rest is thinned evenly, in the order of the hashes.
    """
    if n_rows <= most:
        return counts
    shares = np.minimum(counts, np.maximum(1, -(-counts * most // n_rows)))
    running = np.cumsum(shares)
    total = int(running[-1]) if len(running) else 0
    if total <= most:
        return np.asarray(shares)
    return np.diff(running * most // total, prepend=0)


def table_hash(table: Any, seed: int = 0) -> HashArray:
    """A hash of each row of a table of pyarrow: numbers by value, all else as text.

    Columns of lists and the like count for nothing.

    Examples
    --------
    >>> import pyarrow
    >>> from negcorr.tables.smallest import table_hash
    >>> h = table_hash(pyarrow.table({"x": [1, 2, 1], "word": ["a", "a", "a"]}))
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    import pyarrow.types as kinds

    columns: list[AnyArray] = []
    for column in table.columns:
        kind = column.type
        if any(test(kind) for test in (kinds.is_integer, kinds.is_floating, kinds.is_boolean)):
            columns.append(np.asarray(column.cast("float64", safe=False).to_numpy()))
        elif kinds.is_temporal(kind):
            whole = [chunk.view(f"int{kind.bit_width}") for chunk in column.chunks]
            columns.append(_joined([part.cast("float64", safe=False) for part in whole]))
        elif not kinds.is_nested(kind) and not kinds.is_null(kind):
            bits = _bits_of_column(column)
            columns += [half.astype(np.float64) for half in (bits >> _HALF, bits & _LOW)]
    if not columns:
        return np.zeros(table.num_rows, dtype=np.uint64)
    return content_hash(np.stack(columns, axis=1), seed=seed)


_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


def _joined(parts: list[Any]) -> AnyArray:
    arrays = [part.to_numpy(zero_copy_only=False) for part in parts]
    return np.concatenate(arrays) if arrays else np.empty(0)


def _bits_of_column(column: Any) -> HashArray:
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type):
        parts = [chunk.view(_text_type(chunk.type)) for chunk in column.chunks]
    else:
        parts = [chunk.cast(pyarrow.large_string()) for chunk in column.chunks]
    bits = [_text_bits(part) for part in parts]
    return np.concatenate(bits) if bits else np.empty(0, dtype=np.uint64)


def _text_type(kind: Any) -> Any:
    import pyarrow

    return pyarrow.large_string() if pyarrow.types.is_large_binary(kind) else pyarrow.string()


def _text_bits(array: Any) -> HashArray:
    """Eight bytes of all cells at a time."""
    data, starts, lengths = text_buffers(array)
    bits = mix(lengths.astype(np.uint64))
    bits[np.asarray(array.is_null().to_numpy(zero_copy_only=False))] = np.uint64(1)
    eight = np.arange(8)
    left = np.flatnonzero((lengths > 0) & (lengths <= LONG_BYTES))
    done = 0
    while len(left):
        words = data[(starts[left] + done)[:, None] + eight].view("<u8").ravel()
        words = words & _FIRST[np.minimum(lengths[left] - done, 8)]
        bits[left] = mix(bits[left] ^ words)
        done += 8
        left = left[lengths[left] > done]
    for j in np.flatnonzero(lengths > LONG_BYTES):
        cell = data[starts[j] : starts[j] + lengths[j]].tobytes()
        bits[j] = int.from_bytes(hashlib.blake2b(cell, digest_size=8).digest(), "little")
    return bits
