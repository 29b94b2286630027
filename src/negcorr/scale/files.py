"""Files and folders of files as chunks of rows, by pyarrow: Parquet, CSV, Feather."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from negcorr.exceptions import ChunkError
from negcorr.reading.arrow_files import arrow_batches
from negcorr.reading.file_format import ENDINGS
from negcorr.reading.optional import import_optional
from negcorr.scale.batches import joined_batches, matrix, placing_errors, unreadable, with_names
from negcorr.scale.chunks import Chunk, Source, Width
from negcorr.scale.file_sizes import fragments_of, held_while_reading, rows_known

__all__ = ["FileSource", "as_dataset", "open_files"]

#: Formats by the ending of a file.
FORMATS = {end: form for end, form in ENDINGS.items() if form in ("parquet", "feather")}
FORMATS[".csv"] = "csv"


def open_files(path: Any) -> Any:
    """The pyarrow dataset of a file, or of a folder of files of one format.

    Files of the folder's own folders are among them, but no hidden ones, in the order of names.
    """
    pyarrow_dataset = import_optional("pyarrow.dataset", "files are read by pyarrow")
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"X={str(place)!r} does not exist.")
    files = [place]
    if place.is_dir():
        inside = [file for file in place.rglob("*") if file.is_file()]
        parts = {file: file.relative_to(place).parts for file in inside}
        files = sorted(f for f in inside if not any(p.startswith((".", "_")) for p in parts[f]))
    endings = set()
    for file in files:
        ending, inner = file.suffix.lower(), Path(file.stem).suffix.lower()
        # Text may be compressed, which pyarrow undoes.
        compressed = ending in (".gz", ".bz2", ".zst", ".lz4") and inner == ".csv"
        endings.add(inner if compressed else ending)
    formats = {FORMATS.get(ending, ending) for ending in endings}
    if len(formats) != 1 or not formats <= set(FORMATS.values()):
        found = sorted(ending or "no ending" for ending in endings)
        raise ValueError(
            f"X={str(place)!r} must be a file, or a folder of files of one kind, ending in "
            f"{', '.join(FORMATS)}; found {', '.join(found) or 'nothing'}."
        )
    try:
        return pyarrow_dataset.dataset([str(file) for file in files], format=formats.pop())
    except unreadable() as error:
        raise ChunkError(f"{place} cannot be read: {error}") from error


def as_dataset(X: Any) -> Any:
    """The pyarrow dataset that X is, or that a table of pyarrow makes; None for all others."""
    if type(X).__module__.partition(".")[0] != "pyarrow":
        return None
    import pyarrow.dataset

    if isinstance(X, pyarrow.Table | pyarrow.RecordBatch):
        return pyarrow.dataset.dataset(X)
    return X if isinstance(X, pyarrow.dataset.Dataset) else None


@dataclass(frozen=True, repr=False)
class FileSource(Source):
    """Rows of a pyarrow dataset.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
    target : str or list of str
        Columns that are targets; a list makes y two-dimensional.
    weight : str or None
        Column of frequencies.
    block_size : int
        Most rows of a chunk.
    """

    dataset: Any
    target: str | list[str]
    weight: str | None
    block_size: int

    def __post_init__(self) -> None:
        known = self.dataset.schema.names
        twice = [name for name in known if known.count(name) > 1]
        if twice:
            raise ValueError(f"X has several columns {twice[0]!r}; names must differ.")
        for name in self.columns:
            if name not in known:
                argument = "target" if name in self.targets else "sample_weight"
                raise ValueError(f"{argument}={name!r} is no column; the columns are {known}.")
        if not self.inputs:
            raise ValueError(f"target={self.target!r} leaves no column of {known} as input.")

    @property
    def targets(self) -> list[str]:
        """Columns that are targets."""
        return [self.target] if isinstance(self.target, str) else list(self.target)

    @property
    def inputs(self) -> list[str]:
        """Columns that are inputs: all others."""
        others = {*self.targets, self.weight}
        return [name for name in self.dataset.schema.names if name not in others]

    @property
    def columns(self) -> list[str]:
        """All that are read."""
        return [*self.inputs, *self.targets, *([] if self.weight is None else [self.weight])]

    @property
    def width(self) -> Width:
        """Of the files, which are taken to be like the first."""
        reading = held_while_reading(fragments_of(self.dataset), self.columns)
        return Width(len(self.inputs), len(self.targets), len(self.columns), reading)

    def in_chunks_of(self, n_rows: int) -> Self:
        """The same files, in other chunks."""
        return replace(self, block_size=n_rows)

    def count_rows(self) -> int | None:
        """Rows of all files, None for text and filters: only reading would tell."""
        return rows_known(self.dataset)

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at most ``block_size`` rows, none across files or row groups."""
        row = 0
        for where, batches in self._parts():
            for number in itertools.count():
                with placing_errors(f"{where}, after row {row}"):
                    batch = next(batches, None)
                if batch is None:
                    break
                if batch.num_rows > 0:
                    chunk = self._chunk(batch, f"{where}, chunk {number}", row)
                    # Deleted before the chunk is handed on, to free the memory.
                    del batch
                    row += chunk.n_rows
                    yield chunk
                    del chunk

    def _parts(self) -> Iterator[tuple[str, Iterator[Any]]]:
        """Files, or their row groups where they have some: their names and their batches."""
        import pyarrow.dataset

        fragments = fragments_of(self.dataset)
        if fragments is None:
            batches = self.dataset.to_batches(columns=self.columns, **self._batch_options)
            yield "filtered dataset", joined_batches(batches, self.block_size)
            return
        for fragment in fragments:
            where = str(getattr(fragment, "path", "table in memory"))
            with placing_errors(where):
                names = fragment.physical_schema.names
                folders = pyarrow.dataset.get_partition_keys(fragment.partition_expression)
                # Columns that are missing would silently be read as missing values.
                for name in self.columns:
                    if name not in names and name not in folders:
                        raise ValueError(f"there is no column {name!r}; this file has {names}.")
                    if names.count(name) > 1:
                        raise ValueError(f"there are several columns {name!r}; names must differ.")
                has_all = {*self.columns} <= {*names}
                kind = getattr(getattr(fragment, "format", None), "default_extname", "")
            # Read by themselves, since pyarrow's datasets hold far more of a file than a batch.
            if has_all and kind in ("parquet", "arrow"):
                yield from self._in_batches(fragment, where, kind)
            else:
                yield from self._scanned(fragment, where)

    def _in_batches(
        self, fragment: Any, where: str, format: str
    ) -> Iterator[tuple[str, Iterator[Any]]]:
        """Row groups of a Parquet file, or a whole Feather file."""
        with placing_errors(where):
            metadata = fragment.metadata if format == "parquet" else None
            groups = [None] if metadata is None else [[each.id] for each in fragment.row_groups]
            handle = fragment.open()
        read = partial(arrow_batches, handle, format, self.columns, self.block_size)
        with handle:
            for group in groups:
                part = where if group is None else f"{where}, row group {group[0]}"
                yield part, read(group, metadata)

    def _scanned(self, fragment: Any, where: str) -> Iterator[tuple[str, Iterator[Any]]]:
        """Batches with columns as the file has them, and those of a CSV as the first file has them.

        The type of a column of a CSV is guessed from its first rows: whole numbers there do not
        mean that there are no others.
        """
        import pyarrow

        csv = isinstance(getattr(fragment, "format", None), pyarrow.dataset.CsvFileFormat)
        own, common = fragment.physical_schema, self.dataset.schema
        fields = []
        for name in self.columns:
            field = common.field(name) if csv or name not in own.names else own.field(name)
            if csv and (pyarrow.types.is_integer(field.type) or pyarrow.types.is_null(field.type)):
                field = field.with_type(pyarrow.float64())
            fields.append(field)
        given = {"schema": pyarrow.schema(fields), "columns": self.columns, **self._batch_options}
        with placing_errors(where):
            batches = fragment.to_batches(**given)
        yield where, joined_batches(batches, self.block_size)

    @property
    def _batch_options(self) -> dict[str, int]:
        return {"batch_size": self.block_size, "batch_readahead": 1, "fragment_readahead": 1}

    def _chunk(self, batch: Any, where: str, row: int) -> Chunk:
        X = with_names(matrix(batch, self.inputs, where, row), self.inputs)
        y = matrix(batch, self.targets, where, row)
        named = None if self.weight is None else matrix(batch, [self.weight], where, row)
        weight = None if named is None else named[:, 0]
        return Chunk(X, y[:, 0] if isinstance(self.target, str) else y, weight, where, row)
