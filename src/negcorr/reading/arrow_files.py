"""Parquet and Feather by pyarrow: whole, or in batches of some columns.

The readers of tables and of chunks, and ``negcorr.scale``, read these formats with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from negcorr.exceptions import TableError
from negcorr.reading.file_format import NAMES

__all__ = ["arrow_batches", "arrow_table", "damage_as_table_error", "schema_and_rows"]

#: Bytes of a column of a Parquet file that are read at a time.
BUFFER_BYTES = 2**16


@contextmanager
def damage_as_table_error(path: Path, format: str) -> Iterator[None]:
    """Errors of pyarrow as errors that name the file."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        reason = (str(error).strip().splitlines() or ["unreadable"])[0]
        raise TableError(f"{path} is {NAMES[format]} but damaged: {reason}.") from error


def arrow_table(data: bytes, format: str) -> Any:
    """All of the bytes of a Parquet or Feather file, as a table of pyarrow."""
    import pyarrow.feather
    import pyarrow.parquet

    read = pyarrow.parquet.read_table if format == "parquet" else pyarrow.feather.read_table
    return read(pyarrow.BufferReader(data))


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
        yield from file.iter_batches(block, **wanted, use_threads=False)
        return
    names = pyarrow.ipc.open_file(stream).schema.names
    options = pyarrow.ipc.IpcReadOptions(included_fields=sorted(map(names.index, columns)))
    feather = pyarrow.ipc.open_file(stream, options=options)
    for number in range(feather.num_record_batches):
        batch = feather.get_batch(number)
        for start in range(0, batch.num_rows, block):
            yield batch.slice(start, block)
