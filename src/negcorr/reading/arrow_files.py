"""Parquet and Feather by pyarrow: whole, or in batches of some columns.

The readers of tables and of chunks, and ``negcorr.scale``, read these formats with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

from negcorr.reading.delimited import check_names
from negcorr.reading.feather_sizes import unpacked_sizes
from negcorr.reading.limits import Budget

__all__ = ["arrow_batches", "arrow_table", "check_batches", "schema_and_rows"]

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
    import pyarrow.parquet
    import pyarrow.types as types

    file = pyarrow.parquet.ParquetFile(buffer)
    schema = file.schema_arrow
    check_names(schema.names, budget.path)
    n_rows, n_columns = file.metadata.num_rows, len(schema.names)
    budget.take(n_rows * n_columns * CELL_BYTES + n_columns * COLUMN_BYTES, "its cells")
    texts = _texts(schema)
    coded = [schema.names[k] for k in texts]
    file = pyarrow.parquet.ParquetFile(buffer, metadata=file.metadata, read_dictionary=coded)
    batches = []
    for batch in map(_validated, file.iter_batches(BATCH_ROWS, use_threads=False)):
        columns = batch.columns
        for k in texts:
            budget.take(2 * _decoded_bytes(columns[k]), "its texts")
            if types.is_dictionary(columns[k].type):
                columns[k] = columns[k].dictionary_decode()
            columns[k] = columns[k].cast(schema.field(k).type)
        batch = pyarrow.RecordBatch.from_arrays(columns, schema=schema)
        budget.take(batch.nbytes, "its values")
        batches.append(batch)
    return pyarrow.Table.from_batches(batches, schema)


def check_batches(data: bytes, budget: Budget, format: str, block: int) -> None:
    """Refuse a file with a batch that would take more than the budget, before one is unpacked.

    Parameters
    ----------
    data : bytes
    budget : Budget
        Of one batch.
    format : {"parquet", "feather"}
    block : int
        Most rows of a batch of Parquet; those of Feather are as they are in the file.
    """
    import pyarrow
    import pyarrow.parquet

    if format == "feather":
        for size in unpacked_sizes(data):
            replace(budget).take(size, "the columns of a batch")
        return
    buffer = pyarrow.BufferReader(data)
    schema = pyarrow.parquet.ParquetFile(buffer).schema_arrow
    coded = [schema.names[k] for k in _texts(schema)]
    if coded:
        file = pyarrow.parquet.ParquetFile(buffer, read_dictionary=coded)
        for batch in file.iter_batches(block, columns=coded, use_threads=False):
            n_bytes = sum(map(_decoded_bytes, _validated(batch).columns))
            replace(budget).take(n_bytes, "the texts of some rows")


def _texts(schema: Any) -> list[int]:
    """Columns of text or bytes."""
    import pyarrow.types as types

    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return [k for k, field in enumerate(schema) if any(is_(field.type) for is_ in kinds)]


def _decoded_bytes(column: Any) -> int:
    """Bytes of a column of text once its codes are text."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    if not types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(pc.cast(lengths, "int64")).as_py() or 0)


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
    wanted_names = set(columns)
    names = enumerate(pyarrow.ipc.open_file(stream).schema.names)
    included = [k for k, name in names if name in wanted_names]
    options = pyarrow.ipc.IpcReadOptions(included_fields=included)
    feather = pyarrow.ipc.open_file(stream, options=options)
    for number in range(feather.num_record_batches):
        batch = _validated(feather.get_batch(number))
        for start in range(0, batch.num_rows, block):
            yield batch.slice(start, block)


def _validated(batch: Any) -> Any:
    """The batch, after a look at all of it: damaged places of cells would end the process."""
    batch.validate(full=True)
    return batch
