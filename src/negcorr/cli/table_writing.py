"""Writes tables to files, part by part; a file appears only when it is complete."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from negcorr._common.files import replacing
from negcorr.cli.plain_text import for_spreadsheets

__all__ = ["ENDINGS", "table_writer"]

#: Formats that can be written, by the end of a name.
ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet", ".feather", ".arrow")


@contextmanager
def table_writer(path: Path, raw: bool = False) -> Iterator[Callable[[Any], None]]:
    """Write data frames one after the other into one file.

    Parameters
    ----------
    path : Path
        Its ending, one of :data:`ENDINGS`, says in what format; replaced where it exists.
    raw : bool, default=False
        Whether text is written to CSV and TSV as it is, and not as spreadsheets need it.

    Yields
    ------
    write : callable
        Takes the next data frame; all have the same columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from negcorr.cli.table_writing import table_writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with table_writer(Path(folder, "x.csv")) as write:
    ...         write(pd.DataFrame({"x": [0.1]}))
    ...         write(pd.DataFrame({"x": [0.2]}))
    ...     Path(folder, "x.csv").read_text(encoding="utf-8").split()
    ['x', '0.1', '0.2']
    """
    written = _as_arrow if path.name.lower().endswith(ENDINGS[3:]) else partial(_as_text, raw=raw)
    with replacing(path) as part, written(part) as write:
        yield write


@contextmanager
def _as_text(path: Path, raw: bool) -> Iterator[Callable[[Any], None]]:
    """CSV or TSV, which may be compressed."""
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    separator = "\t" if path.name.lower().endswith(".tsv") else ","
    looks = {"sep": separator, "index": False, "lineterminator": "\n"}
    with opener(path, "wt", encoding="utf-8", newline="") as file:

        def write(frame: Any) -> None:
            frame = frame if raw else for_spreadsheets(frame)
            texts = frame.select_dtypes(exclude=["number", "bool", "datetime"]).astype(str)
            # A carriage return would end the record for other readers.
            broken = any(texts[name].str.contains("\r").any() for name in texts)
            quoting = csv.QUOTE_NONNUMERIC if broken else csv.QUOTE_MINIMAL
            # Numbers have the fewest digits from which the same number can be read.
            frame.to_csv(file, header=file.tell() == 0, quoting=quoting, **looks)

        yield write


@contextmanager
def _as_arrow(path: Path) -> Iterator[Callable[[Any], None]]:
    """Parquet or Feather, by pyarrow."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            f"{path.name} is written by pyarrow, which is not installed: pip install 'negcorr[cli]'"
        ) from error
    is_parquet = path.suffix.lower() == ".parquet"
    opened: Any = pyarrow.parquet.ParquetWriter if is_parquet else pyarrow.ipc.new_file
    writer: Any = None
    schema: Any = None
    with ExitStack() as stack:

        def write(frame: Any) -> None:
            nonlocal writer, schema
            # Types are those of the first part: a part whose cells are all missing has others.
            table = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
            if writer is None:
                schema = table.schema
                writer = stack.enter_context(opened(path, schema))
            writer.write_table(table)

        yield write
