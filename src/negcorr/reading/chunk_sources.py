"""What tables in chunks are read from: text and Arrow files in chunks, all other files whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from negcorr.reading.arrow_files import arrow_batches, schema_and_rows, told_as_damage
from negcorr.reading.cell_kinds import as_kind, kinds_by_schema, kinds_of_cells
from negcorr.reading.column_types import data_frame
from negcorr.reading.delimited import check_names
from negcorr.reading.file_format import TableFile
from negcorr.reading.optional import import_optional
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.text_tables import TextTables

__all__ = ["ChunkSource", "TextSource", "n_cells", "source_of"]


class ChunkSource(Protocol):
    """A file that gives tables of pyarrow, and turns them into frames."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Oddities."""

    @property
    def n_rows(self) -> int | None:
        """About how many, None where the file does not tell."""

    def kinds(self, schema: Schema | None) -> dict[str, str]:
        """How columns are read."""

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """Tables of some columns, of any number of rows."""

    def frame(self, table: Any, kinds: Mapping[str, str], row: int) -> Any:
        """A table as a data frame; ``row`` is the number of rows before it."""


def source_of(path: Path) -> ChunkSource:
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
        return TextSource(TextTables.open(file))
    if _gives_batches(file):
        return _arrow_source(file)
    pyarrow = import_optional("pyarrow", "Tables in chunks are read by pyarrow")
    whole = read_table(path)
    schema = pyarrow.Table.from_pandas(whole.frame, preserve_index=False).schema
    types = dict(zip(map(str, whole.frame.columns), schema.types, strict=True))
    return _TypedSource(path, "", types, whole.notes, len(whole.frame))


def n_cells(file: TableFile) -> int:
    """Cells of a file that can be read in batches, about; 0 for others."""
    if not _gives_batches(file):
        return 0
    source = _arrow_source(file)
    return source.n_rows * len(source.types)


@dataclass(frozen=True, eq=False)
class TextSource:
    """Text with delimiters."""

    text: TextTables

    @property
    def names(self) -> tuple[str, ...]:
        """Columns."""
        return self.text.head.names

    @property
    def notes(self) -> tuple[str, ...]:
        """Oddities."""
        return (*self.text.bytes_.file.notes, *self.text.notes)

    @property
    def n_rows(self) -> int:
        """Rows of the head where that is all, or else lines."""
        head = self.text.head
        if head.complete:
            return len(head.columns[0])
        return max(self.text.bytes_.n_lines - head.has_header, 0)

    def kinds(self, schema: Schema | None) -> dict[str, str]:
        """By the first rows, or by a schema."""
        head, delimiter = self.text.head, self.text.delimiter
        if schema is None:
            return kinds_of_cells(head.names, head.columns, delimiter)[0]
        return kinds_by_schema(schema, head.names, head.columns, delimiter)

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """Tables of text."""
        return self.text.tables(columns)

    def frame(self, table: Any, kinds: Mapping[str, str], row: int) -> Any:
        """Cells in their types."""
        return data_frame(
            {
                name: as_kind(table.column(name), kinds[name], name, self.text.path, row)
                for name in table.column_names
            }
        )


@dataclass(frozen=True, eq=False)
class _TypedSource:
    """A file whose columns have types of their own; of format "" if it can only be read whole."""

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
        """Words of categories are coded; all else is as it is."""
        import pyarrow.types as types

        categories = () if schema is None else schema.named("category")
        is_text = (types.is_string, types.is_large_string)
        return {
            name: "level" if name in categories and any(t(kind) for t in is_text) else "typed"
            for name, kind in self.types.items()
        }

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """Batches of the file, or all of it."""
        import pyarrow

        if self.format:
            with told_as_damage(self.path, self.format), self.path.open("rb") as stream:
                for batch in arrow_batches(stream, self.format, columns, block):
                    table = pyarrow.Table.from_batches([batch]).select(columns)
                    yield table.replace_schema_metadata()
            return
        frame = read_table(self.path).frame[columns]
        if len(frame):
            yield pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()

    def frame(self, table: Any, kinds: Mapping[str, str], row: int) -> Any:
        """As read_table has them."""
        for k, name in enumerate(table.column_names):
            if kinds[name] == "level":
                table = table.set_column(k, name, table.column(k).dictionary_encode())
        return table.unify_dictionaries().to_pandas(ignore_metadata=True)


def _gives_batches(file: TableFile) -> bool:
    """Whether a file is Parquet or Feather, of its second version, and in no archive."""
    if file.archives or file.format not in ("parquet", "feather"):
        return False
    return next(file.blocks(6), b"") == b"ARROW1" or file.format == "parquet"


def _arrow_source(file: TableFile) -> _TypedSource:
    import_optional("pyarrow", "Parquet and Feather files are read by pyarrow")
    with told_as_damage(file.path, file.format), file.path.open("rb") as stream:
        schema, n_rows = schema_and_rows(stream, file.format)
    check_names(schema.names, file.path)
    types = dict(zip(schema.names, schema.types, strict=True))
    return _TypedSource(file.path, file.format, types, file.notes, n_rows)
