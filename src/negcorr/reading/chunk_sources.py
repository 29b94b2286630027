"""What tables in pieces are read from: text, Parquet and Feather in batches, all else whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from negcorr.exceptions import TableError
from negcorr.reading.cell_kinds import as_kind, kinds_by_schema, kinds_of_cells
from negcorr.reading.file_format import Layers, layers_of
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
    layers = layers_of(path)
    if layers.format == "text" and layers.ending != ".arff":
        return TextSource(TextTables.open(layers))
    if _in_batches(layers):
        return _described(layers)
    return _whole(path)


def n_cells(layers: Layers) -> int:
    """Cells of a file that can be read in batches, about; 0 for others."""
    if not _in_batches(layers):
        return 0
    source = _described(layers)
    return (source.n_rows or 0) * len(source.names)


@dataclass(frozen=True, eq=False)
class TextSource:
    """Text with delimiters."""

    text: TextTables

    @property
    def names(self) -> tuple[str, ...]:
        """Columns."""
        return self.text.layout.names

    @property
    def notes(self) -> tuple[str, ...]:
        """Oddities."""
        return (*self.text.bytes_.layers.notes, *self.text.notes)

    @property
    def n_rows(self) -> int:
        """Rows of the head where that is all, or else lines."""
        layout = self.text.layout
        if layout.complete:
            return len(layout.head[0])
        return max(self.text.bytes_.n_lines - layout.has_header, 0)

    def kinds(self, schema: Schema | None) -> dict[str, str]:
        """By the first rows, or by a schema."""
        layout = self.text.layout
        if schema is None:
            return kinds_of_cells(layout.names, layout.head, self.text.delimiter)[0]
        return kinds_by_schema(schema, layout.names, layout.head, self.text.delimiter)

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """Tables of text."""
        return self.text.tables(columns)

    def frame(self, table: Any, kinds: Mapping[str, str], row: int) -> Any:
        """Cells in their types."""
        import pandas

        columns = [
            as_kind(table.column(name), kinds[name], name, self.text.path, row)
            for name in table.column_names
        ]
        frame = pandas.DataFrame(dict(enumerate(columns)))
        frame.columns = pandas.Index(table.column_names, dtype=object)
        return frame


@dataclass(frozen=True, eq=False)
class _Typed:
    """A file whose columns have types of their own."""

    path: Path
    types: dict[str, Any]
    names: tuple[str, ...]
    notes: tuple[str, ...]
    n_rows: int | None

    def kinds(self, schema: Schema | None) -> dict[str, str]:
        """Words of categories are coded; all else is as it is."""
        import pyarrow.types as types

        categories = () if schema is None else schema.named("category")
        words = {
            name
            for name, kind in self.types.items()
            if types.is_string(kind) or types.is_large_string(kind)
        }
        return {
            name: "level" if name in words and name in categories else "typed"
            for name in self.types
        }

    def frame(self, table: Any, kinds: Mapping[str, str], row: int) -> Any:
        """As read_table has them."""
        for k, name in enumerate(table.column_names):
            if kinds[name] == "level":
                table = table.set_column(k, name, table.column(k).dictionary_encode())
        return table.unify_dictionaries().to_pandas(ignore_metadata=True)


@dataclass(frozen=True, eq=False)
class _Batches(_Typed):
    """Parquet and Feather."""

    format: str

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """Batches of the file."""
        import pyarrow

        with _damage(self.path, self.format), self.path.open("rb") as stream:
            for batch in _batches(stream, self.format, self.names, columns, block):
                table = pyarrow.Table.from_batches([batch]).select(columns)
                yield table.replace_schema_metadata()


@dataclass(frozen=True, eq=False)
class _InMemory(_Typed):
    """What can only be read whole."""

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """All of it."""
        import pyarrow

        frame = read_table(self.path).frame[columns]
        if len(frame):
            yield pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()


def _whole(path: Path) -> _InMemory:
    _need_pyarrow("Tables in pieces")
    import pyarrow

    table = read_table(path)
    names = tuple(map(str, table.frame.columns))
    kinds = pyarrow.Table.from_pandas(table.frame, preserve_index=False).schema.types
    types = dict(zip(names, kinds, strict=True))
    return _InMemory(path, types, names, table.notes, len(table.frame))


def _in_batches(layers: Layers) -> bool:
    """Whether a file is Parquet or Feather, of its second version, and in no archive."""
    if layers.archives or layers.format not in ("parquet", "feather"):
        return False
    return next(layers.blocks(6), b"") == b"ARROW1" or layers.format == "parquet"


def _described(layers: Layers) -> _Batches:
    _need_pyarrow("Parquet and Feather files")
    import pyarrow.ipc
    import pyarrow.parquet

    path, format = layers.path, layers.format
    with _damage(path, format), path.open("rb") as stream:
        if format == "parquet":
            parquet = pyarrow.parquet.ParquetFile(stream)
            schema, n_rows = parquet.schema_arrow, parquet.metadata.num_rows
        else:
            options = pyarrow.ipc.IpcReadOptions(included_fields=[0])
            schema = pyarrow.ipc.open_file(stream).schema
            file = pyarrow.ipc.open_file(stream, options=options)
            n_batches = file.num_record_batches
            # All batches but the last have as many rows as the first.
            n_rows = n_batches * file.get_batch(0).num_rows if n_batches else 0
    names = tuple(schema.names)
    types = dict(zip(names, schema.types, strict=True))
    return _Batches(path, types, names, layers.notes, n_rows, format)


def _batches(
    stream: Any, format: str, names: tuple[str, ...], columns: list[str], block: int
) -> Iterator[Any]:
    import pyarrow.ipc
    import pyarrow.parquet

    if format == "parquet":
        file = pyarrow.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=2**16)
        yield from file.iter_batches(block, columns=columns, use_threads=False)
        return
    wanted = sorted(names.index(name) for name in columns)
    options = pyarrow.ipc.IpcReadOptions(included_fields=wanted)
    feather = pyarrow.ipc.open_file(stream, options=options)
    for number in range(feather.num_record_batches):
        yield feather.get_batch(number)


@contextmanager
def _damage(path: Path, format: str) -> Iterator[None]:
    """Errors of pyarrow as ours."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[:1] or ["unreadable"]
        raise TableError(f"{path} is {format.capitalize()} but damaged: {reason[0]}.") from error


def _need_pyarrow(what: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{what} are read by pyarrow, which is not installed: pip install 'negcorr[cli]'"
        ) from error
