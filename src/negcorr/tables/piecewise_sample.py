"""A sample of a table that comes in pieces: the rows with the smallest hashes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.types import AnyArray, IntArray
from negcorr.columns.samples import halves
from negcorr.reading.cell_kinds import text_buffers
from negcorr.rows.keys import HashArray, content_hash, mix, reseeded, word_hashes
from negcorr.rows.smallest_keys import smallest_keys

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
    """

    table: Any
    positions: IntArray


class SmallestHashes:
    """A bounded number of rows, those with the smallest hashes.

    Which rows are kept depends neither on their order nor on how they were cut into pieces. Equal
    rows are held once and counted: otherwise one frequent row could take the place of all others.

    Parameters
    ----------
    most : int
        Rows to keep.

    Attributes
    ----------
    n_rows : int
        All rows that were added.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow
    >>> from negcorr.tables.piecewise_sample import SmallestHashes
    >>> kept = SmallestHashes(2)
    >>> kept.add(np.array([7, 3, 5], dtype=np.uint64), pyarrow.table({"x": [70, 30, 50]}), 0)
    >>> kept.rows().table["x"].to_pylist()
    [30, 50]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.n_rows = 0
        self._kept = smallest_keys(np.empty(0, dtype=np.uint64), most, distinct=True)
        self._positions = np.empty(0, dtype=np.int64)
        self._table: Any = None

    def add(self, keys: HashArray, table: Any, first: int | IntArray) -> None:
        """Add the rows of a table of pyarrow.

        Parameters
        ----------
        keys : ndarray of uint64 of shape (n,)
            Their hashes.
        table : pyarrow.Table
        first : int, or ndarray of int of shape (n,)
            Position of the first row among all rows, or the positions of all of them.
        """
        import pyarrow

        self.n_rows += len(keys)
        n_kept = len(self._kept.keys)
        positions = first + np.arange(len(keys)) if isinstance(first, int) else first
        counts = np.concatenate([self._kept.counts, np.ones(len(keys), dtype=np.int64)])
        keys = np.concatenate([self._kept.keys, keys])
        self._kept = smallest_keys(
            keys, self.most, cut=self._kept.cut, distinct=True, counts=counts
        )
        index = self._kept.index
        self._positions = np.concatenate([self._positions, positions])[index]
        is_new = index >= n_kept
        if self._table is not None and not is_new.any():
            return
        new = table.take(pyarrow.array(index[is_new] - n_kept))
        if self._table is not None:
            new = pyarrow.concat_tables([self._table, new], promote_options="permissive")
        where = np.where(is_new, n_kept + np.cumsum(is_new) - 1, index)
        # Copies, so that nothing else of the pieces stays in memory.
        self._table = new.unify_dictionaries().take(pyarrow.array(where)).combine_chunks()

    def rows(self) -> Kept:
        """The rows that were kept, each repeated by its count or by its share of a sample.

        A row that is very frequent gets no more than its share of all rows, whatever else is kept.
        The rest is thinned evenly, in the order of the hashes.
        """
        import pyarrow

        copies = self._kept.counts
        if self.n_rows > self.most:
            copies = np.minimum(copies, np.maximum(1, -(-copies * self.most // self.n_rows)))
            running = np.cumsum(copies)
            if len(running) and running[-1] > self.most:
                copies = np.diff(running * self.most // running[-1], prepend=0)
        index = np.repeat(np.arange(len(copies)), copies)
        table = self._table.take(pyarrow.array(index)) if self._table is not None else None
        return Kept(table, self._positions[index])


def table_hash(table: Any, seed: int = 0) -> HashArray:
    """A hash of each row of a table of pyarrow: numbers by value, all else as text.

    Columns of lists and the like count for nothing.

    Examples
    --------
    >>> import pyarrow
    >>> from negcorr.tables.piecewise_sample import table_hash
    >>> h = table_hash(pyarrow.table({"x": [1, 2, 1], "word": ["a", "a", "a"]}))
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    import pyarrow.types as kinds

    columns: list[AnyArray] = []
    for column in table.columns:
        kind = column.type
        is_time = kinds.is_temporal(kind)
        if is_time or kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind):
            column = column.cast(f"int{kind.bit_width}") if is_time else column
            columns.append(np.asarray(column.cast("float64", safe=False).to_numpy()))
        elif not kinds.is_nested(kind) and not kinds.is_null(kind):
            bits = [_text_hashes(chunk) for chunk in _as_text(column).chunks]
            columns += halves(np.concatenate([np.empty(0, dtype=np.uint64), *bits]))
    if not columns:
        return np.zeros(table.num_rows, dtype=np.uint64)
    return np.asarray(reseeded(content_hash(np.stack(columns, axis=1)), seed))


def _as_text(column: Any) -> Any:
    """A column of pyarrow as text; bytes are taken as text as they are."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind):
        text = pyarrow.string() if pyarrow.types.is_binary(kind) else pyarrow.large_string()
        return pyarrow.chunked_array([chunk.view(text) for chunk in column.chunks], text)
    return column.cast(pyarrow.large_string())


def _text_hashes(array: Any) -> HashArray:
    """64-bit hashes of all cells, eight bytes of them at a time: files may have many cells.

    Other words are hashed one by one, by :func:`~negcorr.rows.rows.word_hashes`.
    """
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
        word = data[starts[j] : starts[j] + lengths[j]].tobytes().decode("utf-8", "replace")
        bits[j] = word_hashes(np.array([word], dtype=object))[0]
    return bits
