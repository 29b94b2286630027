"""What tables in chunks are read from: text and Arrow files in chunks, all other files whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr.exceptions import TableError
from negcorr.reading.arrow_files import arrow_batches, check_batches, schema_and_rows
from negcorr.reading.delimited import check_names
from negcorr.reading.file_format import NAMES, TableFile
from negcorr.reading.limits import Budget, damage_as_table_error, most_unpacked
from negcorr.reading.optional import import_optional
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.text_source import TextSource

__all__ = ["ArrowSource", "TextSource", "n_cells", "source_of"]

#: Larger files of Parquet and Feather may take what a batch unpacks to, which is not looked at
#: before; and most rows of such a batch.
SMALL, SMALL_BLOCK = 2**24, 65_536


def source_of(path: Path) -> TextSource | ArrowSource:
    """What reads a file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    TableError
        If there is no such file, or it is no table.
    """
    file = TableFile.find(path)
    if file.format == "text":
        return TextSource.open(file)
    if _gives_batches(file):
        return _arrow_source(file)
    pyarrow = import_optional("pyarrow", "Tables in chunks are read by pyarrow")
    whole = read_table(path)
    schema = pyarrow.Table.from_pandas(whole.frame, preserve_index=False).schema
    types = dict(zip(map(str, whole.frame.columns), schema.types, strict=True))
    return ArrowSource(path, "", types, whole.notes, len(whole.frame))


def n_cells(file: TableFile) -> int:
    """Cells of a file that can be read in batches, about; 0 for others."""
    if not _gives_batches(file):
        return 0
    source = _arrow_source(file)
    return source.n_rows * len(source.types)


@dataclass(frozen=True, eq=False)
class ArrowSource:
    """A file whose columns have types of their own.

    Attributes
    ----------
    path : Path
    format : {"parquet", "feather", ""}
        Nothing where the file can only be read whole.
    types : dict of str to pyarrow.DataType
        Of the columns.
    notes : tuple of str
    n_rows : int
        Of Feather about.
    """

    path: Path
    format: str
    types: dict[str, Any]
    notes: tuple[str, ...]
    n_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """Columns."""
        return tuple(self.types)

    def kinds(self, schema: Schema | None) -> dict[str, str]:
        """How columns are read: words of categories are coded, all else is as it is."""
        import pyarrow.types as types

        categories = () if schema is None else schema.named("category")
        is_text = (types.is_string, types.is_large_string)
        return {
            name: "level" if name in categories and any(t(kind) for t in is_text) else "typed"
            for name, kind in self.types.items()
        }

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """Tables of some columns: batches of the file, or all of it."""
        import pyarrow

        if self.format:
            named = NAMES[self.format]
            with damage_as_table_error(self.path, named), self.path.open("rb") as stream:
                for batch in arrow_batches(stream, self.format, columns, block):
                    table = pyarrow.Table.from_batches([batch]).select(columns)
                    yield table.replace_schema_metadata()
            return
        frame = read_table(self.path).frame[columns]
        if len(frame):
            yield pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()

    def frame(self, table: Any, kinds: Mapping[str, str], row: int) -> Any:
        """A table as read_table has it; ``row`` is the number of rows before it."""
        for k, name in enumerate(table.column_names):
            if kinds[name] == "level":
                table = table.set_column(k, name, table.column(k).dictionary_encode())
        return table.unify_dictionaries().to_pandas(ignore_metadata=True)


def _gives_batches(file: TableFile) -> bool:
    """Whether a file is Parquet or Feather, of its second version, and in no archive."""
    if file.archives or file.format not in ("parquet", "feather"):
        return False
    return next(file.blocks(6), b"") == b"ARROW1" or file.format == "parquet"


def _arrow_source(file: TableFile) -> ArrowSource:
    import_optional("pyarrow", "Parquet and Feather files are read by pyarrow")
    with damage_as_table_error(file.path, NAMES[file.format]), file.path.open("rb") as stream:
        small = stream.read() if file.path.stat().st_size <= SMALL else None
        if small is not None and file.format == "feather":
            check_batches(small, Budget.of(file.path), file.format, SMALL_BLOCK)
        schema, n_rows = schema_and_rows(stream, file.format)
        check_names(schema.names, file.path)
        most = most_unpacked(file.path)
        if n_rows * len(schema.names) > most:
            raise TableError(
                f"{file.path} has {n_rows} rows of {len(schema.names)} columns; the limit of a "
                f"file of its size is {most} cells."
            )
        if small is not None and file.format == "parquet":
            check_batches(small, Budget.of(file.path), file.format, SMALL_BLOCK)
    types = dict(zip(schema.names, schema.types, strict=True))
    return ArrowSource(file.path, file.format, types, file.notes, n_rows)
