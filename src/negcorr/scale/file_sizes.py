"""Sizes of files and numbers of rows, known before the rows are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from negcorr.reading.chunk_sources import TextSource
from negcorr.reading.table_chunks import TableChunks
from negcorr.scale.batches import unreadable
from negcorr.scale.chunks import TEXT_NUMBERS

__all__ = ["bytes_of_rows", "held_by_fragments", "held_by_tables", "numbers_of_types", "rows_known"]

#: Bytes of a column that are held while a Parquet file is read, whatever the size of chunks: pages
#: as they are in the file and unpacked, the dictionary, and what the allocator adds.
PAGE_BYTES = 3 * 2**20

#: Of a column's bytes in a row group, how many times as many are held where that is less.
PAGE_COPIES = 2

#: The same for a record batch of Feather of the usual size, which is read whole.
RECORD_BYTES = 2**20

#: Bytes that are held while text is read.
TEXT_BYTES = 48 * 2**20


def bytes_of_rows(table: TableChunks) -> int:
    """Bytes of a row while it is text: those of its cells, by the first ones, and their places.

    Parameters
    ----------
    table : TableChunks
    """
    if not isinstance(table.source, TextSource):
        return 0
    columns = table.source.head.columns
    letters = sum(len(cell) for column in columns for cell in column)
    return -(-letters // max(len(columns[0]), 1)) + 8 * len(columns)


def numbers_of_types(types: Iterable[Any]) -> int:
    """Numbers of a row of columns with types of their own; Python's objects count as several.

    Parameters
    ----------
    types : iterable of pyarrow.DataType
    """
    import pyarrow.types as known

    small = (known.is_integer, known.is_floating, known.is_boolean, known.is_timestamp)
    few = (*small, known.is_duration, known.is_dictionary)
    return sum(1 if any(is_(kind) for is_ in few) else TEXT_NUMBERS for kind in types)


def held_by_tables(table: TableChunks, columns: list[str]) -> int:
    """Bytes that are held of a file beside chunks; other files are taken to be like it.

    Parameters
    ----------
    table : TableChunks
    columns : list of str
        That are read.
    """
    import pyarrow.dataset

    if isinstance(table.source, TextSource):
        return TEXT_BYTES
    if not table.source.format:
        return 0  # a format that is read whole
    kind = {"parquet": "parquet", "feather": "ipc"}[table.source.format]
    return held_by_fragments(pyarrow.dataset.dataset(str(table.path), format=kind), columns)


def held_by_fragments(dataset: Any, columns: list[str]) -> int:
    """Bytes that are held of a dataset's file beside chunks; files are taken to be like the first.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Without fragments of its own, as with a filter, it is taken to be Parquet.
    columns : list of str
        That are read.
    """
    return _held_while_reading(_fragments_of(dataset), columns)


def _fragments_of(dataset: Any) -> Any:
    """Files of a dataset; None for one with a filter, which has none that the filter applies to."""
    try:
        return dataset.get_fragments()
    except ValueError:
        return None


def _held_while_reading(fragments: Any, columns: list[str]) -> int:
    import pyarrow.dataset

    first = None if fragments is None else next(iter(fragments), None)
    kind = getattr(first, "format", None)
    if first is not None and kind is None:
        return 0  # a table in memory
    if isinstance(kind, pyarrow.dataset.CsvFileFormat):
        return TEXT_BYTES
    if isinstance(kind, pyarrow.dataset.IpcFileFormat):
        return RECORD_BYTES * len(columns)
    whole_pages = PAGE_BYTES * len(columns)
    try:
        metadata = getattr(first, "metadata", None)
        if metadata is None or metadata.num_row_groups == 0:
            return whole_pages
        groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    except unreadable():
        return whole_pages  # the error is raised when the file is read
    largest = max(groups, key=lambda group: group.total_byte_size)
    read = (
        c for c in map(largest.column, range(largest.num_columns)) if c.path_in_schema in columns
    )
    return sum(min(PAGE_BYTES, PAGE_COPIES * column.total_uncompressed_size) for column in read)


def rows_known(dataset: Any) -> int | None:
    """Rows of all files, None where only reading would tell."""
    import pyarrow.dataset

    text = isinstance(getattr(dataset, "format", None), pyarrow.dataset.CsvFileFormat)
    if text or _fragments_of(dataset) is None:
        return None
    try:
        return int(dataset.count_rows())
    except unreadable():
        return None  # the error is raised when the file is read
