"""Parquet and Feather by pyarrow: whole, or in batches of some columns.

The readers of tables and of chunks, and ``negcorr.scale``, read these formats with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from negcorr.reading.delimited import check_names
from negcorr.reading.feather_sizes import unpacked_sizes
from negcorr.reading.limits import Budget

__all__ = ["arrow_batches", "arrow_table", "schema_and_rows"]

#: Bytes of memory of a cell beside its value, and of a column, about.
CELL_BYTES, COLUMN_BYTES = 8, 10_000

#: Rows of a Parquet file that are read at a time, of all columns.
BATCH_ROWS = 4096

#: Bytes of a column of a Parquet file that are read at a time.
BUFFER_BYTES = 2**16


def arrow_table(data: bytes, budget: Budget, format: str) -> Any:
    """All of the bytes of a Parquet or Feather file, as a table of pyarrow."""
    import pyarrow.feather
    import pyarrow.ipc
    import pyarrow.parquet

    buffer = pyarrow.BufferReader(data)
    if format == "parquet":
        return _parquet_table(buffer, budget)
    if data.startswith(b"FEA1"):
        return pyarrow.feather.read_table(buffer)
    for size in unpacked_sizes(data):
        budget.take(size, "its columns")
    file = pyarrow.ipc.open_file(buffer)
    check_names(file.schema.names, budget.path)
    batches = []
    for number in range(file.num_record_batches):
        batch = _validated(file.get_batch(number))
        budget.take(batch.num_rows * batch.num_columns * CELL_BYTES, "its cells")
        batches.append(batch)
    return pyarrow.Table.from_batches(batches, file.schema)


def _parquet_table(buffer: Any, budget: Budget) -> Any:
    """All of a Parquet file, batch by batch.

    Text is read as codes first: a text that stands in many rows is one in the file.
    """
    import pyarrow
    import pyarrow.compute as pc
    import pyarrow.types as types

    file = pyarrow.parquet.ParquetFile(buffer)
    schema = file.schema_arrow
    check_names(schema.names, budget.path)
    n_rows, n_columns = file.metadata.num_rows, len(schema.names)
    budget.take(n_rows * n_columns * CELL_BYTES + n_columns * COLUMN_BYTES, "its cells")
    is_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    texts = [k for k, field in enumerate(schema) if any(is_(field.type) for is_ in is_text)]
    coded = [schema.names[k] for k in texts]
    file = pyarrow.parquet.ParquetFile(buffer, metadata=file.metadata, read_dictionary=coded)
    batches = []
    for batch in map(_validated, file.iter_batches(BATCH_ROWS, use_threads=False)):
        columns = batch.columns
        for k in texts:
            if types.is_dictionary(columns[k].type):
                lengths = pc.binary_length(columns[k].dictionary).take(columns[k].indices)
                budget.take(2 * (pc.sum(lengths).as_py() or 0), "its texts")
                columns[k] = columns[k].dictionary_decode()
            columns[k] = columns[k].cast(schema.field(k).type)
        batch = pyarrow.RecordBatch.from_arrays(columns, schema=schema)
        budget.take(batch.nbytes, "its values")
        batches.append(batch)
    return pyarrow.Table.from_batches(batches, schema)


def schema_and_rows(stream: IO[bytes], format: str) -> tuple[Any, int]:
    """The schema of a Parquet or Feather file, and how many rows it has; of Feather about."""
    import pyarrow.ipc
    import pyarrow.parquet

    if format == "parquet":
        parquet = pyarrow.parquet.ParquetFile(stream)
        return parquet.schema_arrow, parquet.metadata.num_rows
    schema = pyarrow.ipc.open_file(stream).schema
    options = pyarrow.ipc.IpcReadOptions(included_fields=[0])
    file = pyarrow.ipc.open_file(stream, options=options)
    n_batches = file.num_record_batches
    # All batches but the last have as many rows as the first.
    return schema, n_batches * file.get_batch(0).num_rows if n_batches else 0


def arrow_batches(
    stream: Any,
    format: str,
    columns: list[str],
    block: int,
    row_groups: list[int] | None = None,
    metadata: Any = None,
) -> Iterator[Any]:
    """Batches of pyarrow of some columns, in the order of the file.

    Parameters
    ----------
    stream : file
        Open, and only read while batches are asked for.
    format : {"parquet", "feather"}
    columns : list of str
        Batches of Feather have them in the order of the file.
    block : int
        Most rows of a batch.
    row_groups : list of int, optional
        Of Parquet, by default all.
    metadata : pyarrow.parquet.FileMetaData, optional
        Of Parquet, where it is known.

    Examples
    --------
    >>> import io
    >>> import pyarrow, pyarrow.feather
    >>> from negcorr.reading.arrow_files import arrow_batches
    >>> stream = io.BytesIO()
    >>> pyarrow.feather.write_feather(pyarrow.table({"x": [1, 2, 3], "y": [4, 5, 6]}), stream)
    >>> [batch["y"].to_pylist() for batch in arrow_batches(stream, "feather", ["y"], 2)]
    [[4, 5], [6]]
    """
    import pyarrow.ipc
    import pyarrow.parquet

    if format == "parquet":
        opened = {"metadata": metadata, "pre_buffer": False, "buffer_size": BUFFER_BYTES}
        file = pyarrow.parquet.ParquetFile(stream, **opened)
        wanted = {"row_groups": row_groups, "columns": columns}
        yield from map(_validated, file.iter_batches(block, **wanted, use_threads=False))
        return
    names = pyarrow.ipc.open_file(stream).schema.names
    options = pyarrow.ipc.IpcReadOptions(included_fields=sorted(map(names.index, columns)))
    feather = pyarrow.ipc.open_file(stream, options=options)
    for number in range(feather.num_record_batches):
        batch = _validated(feather.get_batch(number))
        for start in range(0, batch.num_rows, block):
            yield batch.slice(start, block)


def _validated(batch: Any) -> Any:
    """The batch, after a look at all of it: damaged places of cells would end the process."""
    batch.validate(full=True)
    return batch
