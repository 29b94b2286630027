"""Files, folders of files and pyarrow datasets as chunks of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from negcorr._common.number_text import shortened
from negcorr._common.types import FloatArray
from negcorr.exceptions import ChunkError, TableError
from negcorr.reading.chunk_sources import TextSource
from negcorr.reading.file_format import ENDINGS
from negcorr.reading.number_cells import as_numbers, number_form, numbers
from negcorr.reading.optional import import_optional
from negcorr.reading.table_chunks import TableChunks
from negcorr.scale.batches import joined_batches, placing_errors
from negcorr.scale.chunks import TEXT_NUMBERS, Chunk, Source, Width
from negcorr.scale.file_sizes import (
    bytes_of_rows,
    held_by_fragments,
    held_by_tables,
    numbers_of_types,
    rows_known,
)

__all__ = ["DatasetSource", "FileSource", "KindError", "as_dataset", "open_files"]


class KindError(ChunkError):
    """A cell is not what the first rows of its text show that its column holds."""


@dataclass(frozen=True, repr=False)
class NamedColumns(Source):
    """A source of tables, in which columns have names.

    Attributes
    ----------
    target : str or list of str
        Columns that are targets; a list makes y two-dimensional.
    weight : str or None
        Column of frequencies.
    block_size : int
        Most rows of a chunk.
    """

    target: str | list[str]
    weight: str | None
    block_size: int

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """All columns."""

    @property
    def targets(self) -> list[str]:
        """Columns that are targets."""
        return [self.target] if isinstance(self.target, str) else list(self.target)

    @property
    def inputs(self) -> list[str]:
        """Columns that are inputs: all others."""
        others = {*self.targets, self.weight}
        return [name for name in self.names if name not in others]

    @property
    def columns(self) -> list[str]:
        """All that are read."""
        return [*self.inputs, *self.targets, *([] if self.weight is None else [self.weight])]

    def check_names(self) -> None:
        """Raise an error if a name is not there, or nothing is left as input."""
        known = self.names
        twice = [name for name in known if known.count(name) > 1]
        if twice:
            raise ValueError(f"X has several columns {twice[0]!r}; names must differ.")
        for name in self.columns:
            if name not in known:
                argument = "target" if name in self.targets else "sample_weight"
                raise ValueError(f"{argument}={name!r} is no column; the columns are {known}.")
        if not self.inputs:
            raise ValueError(f"target={self.target!r} leaves no column of {known} as input.")

    def in_chunks_of(self, n_rows: int) -> Self:
        """The same rows, in other chunks."""
        return replace(self, block_size=n_rows)

    def chunk(self, frame: Any, where: str, row: int, forms: dict[str, str]) -> Chunk:
        """A data frame as a chunk, with targets and frequencies as numbers.

        Parameters
        ----------
        frame : pandas.DataFrame
        where : str
        row : int
            Rows before these.
        forms : dict of str to str
            How targets and frequencies are written, filled by the first chunk.
        """
        y = np.stack([_numbers(frame, name, where, row, forms) for name in self.targets], axis=1)
        weight = None
        if self.weight is not None:
            weight = _numbers(frame, self.weight, where, row, forms)
        X = frame[self.inputs]
        return Chunk(X, y[:, 0] if isinstance(self.target, str) else y, weight, where, row)


def _numbers(frame: Any, name: str, where: str, row: int, forms: dict[str, str]) -> FloatArray:
    """A column of targets or frequencies; an error names the row of what is no number."""
    series = frame[name]
    if name not in forms and getattr(series.dtype, "kind", "O") == "O":
        text = [cell for cell in series.unique() if isinstance(cell, str)]
        forms[name] = (number_form(text) if text else None) or "plain"
    form = forms.get(name, "plain")
    try:
        values = as_numbers(series, form, name)
    except TableError:
        values = np.array([_number(cell, form) for cell in series])
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        cell = series.iloc[bad[0]]
        is_missing = not isinstance(cell, str) and (cell is None or cell != cell)
        value = "missing" if is_missing else shortened(cell)
        at = f"column {name!r} is {value} in row {row + bad[0] + 1} of all"
        raise ChunkError(f"{where}: {at}, and must be a number.")
    return values


def _number(cell: Any, form: str) -> float:
    """The value of a cell, NaN where it has none."""
    try:
        return float(numbers([cell], form, "")[0])
    except TableError:
        return np.nan


@dataclass(frozen=True, repr=False)
class FileSource(NamedColumns):
    """Rows of a file, or of several with the same columns.

    Attributes
    ----------
    files : tuple of TableChunks
    """

    files: tuple[TableChunks, ...] = ()

    def __post_init__(self) -> None:
        self.check_names()

    @property
    def names(self) -> list[str]:
        """Columns of the first file, which all others have too."""
        return list(self.files[0].names)

    @property
    def width(self) -> Width:
        """Of the files, which are taken to be like the first."""
        file = self.files[0]
        if isinstance(file.source, TextSource):
            texts = [name for name in self.columns if file.kinds[name] == "text"]
            n_numbers = len(self.columns) + (TEXT_NUMBERS - 1) * len(texts)
        else:
            n_numbers = numbers_of_types(file.source.types[name] for name in self.columns)
        reading = held_by_tables(file, self.columns)
        size = len(self.inputs), len(self.targets), n_numbers
        return Width(*size, reading, bytes_of_rows(file))

    def count_rows(self) -> int | None:
        """Rows of all files; of text about."""
        counts = [file.n_rows for file in self.files]
        return None if None in counts else sum(count or 0 for count in counts)

    def settled(self) -> Self:
        """The same files, read in kinds that all of their cells have."""
        with _table_errors():
            return replace(self, files=tuple(file.settled() for file in self.files))

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at most ``block_size`` rows, none across files."""
        before, forms = 0, {}  # type: tuple[int, dict[str, str]]
        for file in self.files:
            row, path = 0, str(file.path)
            lacking = [name for name in self.columns if name not in file.names]
            if lacking:
                raise ChunkError(
                    f"{path}: there is no column {lacking[0]!r}; this file has {list(file.names)}."
                )
            kinds = {name: file.kinds[name] for name in self.columns}
            opened = replace(file, kinds=kinds, block=self.block_size)
            tables = opened.tables()
            while True:
                with _table_errors():
                    table = next(tables, None)
                if table is None:
                    break
                with _table_errors(KindError):
                    frame = opened.frame(table, row)
                del table
                chunk = self.chunk(frame, f"{path}, after row {row}", before + row, forms)
                row += chunk.n_rows
                yield chunk
                del chunk, frame
            before += row


@dataclass(frozen=True, repr=False)
class DatasetSource(NamedColumns):
    """Rows of a pyarrow dataset.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
    """

    dataset: Any = None

    def __post_init__(self) -> None:
        self.check_names()

    @property
    def names(self) -> list[str]:
        """Columns of the dataset."""
        return list(self.dataset.schema.names)

    @property
    def width(self) -> Width:
        """Of the files, which are taken to be like the first."""
        n_numbers = numbers_of_types(self.dataset.schema.field(name).type for name in self.columns)
        reading = held_by_fragments(self.dataset, self.columns)
        return Width(len(self.inputs), len(self.targets), n_numbers, reading)

    def count_rows(self) -> int | None:
        """Rows of all files, None for text and filters: only reading would tell."""
        return rows_known(self.dataset)

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at most ``block_size`` rows."""
        import pyarrow

        row, forms = 0, {}  # type: tuple[int, dict[str, str]]
        options = {
            "batch_size": self.block_size,
            "batch_readahead": 1,
            "fragment_readahead": 1,
        }
        with placing_errors("X"):
            batches = self.dataset.to_batches(columns=self.columns, **options)
            joined = joined_batches(batches, self.block_size)
        while True:
            with placing_errors(f"X, after row {row}"):
                batch = next(joined, None)
            if batch is None:
                return
            if batch.num_rows:
                frame = pyarrow.Table.from_batches([batch]).to_pandas(ignore_metadata=True)
                del batch
                chunk = self.chunk(frame, f"X, after row {row}", row, forms)
                row += chunk.n_rows
                yield chunk
                del chunk, frame


@contextmanager
def _table_errors(kind: type[ChunkError] = ChunkError) -> Iterator[None]:
    """Let errors of a file's reader, which name file and row, be errors of chunks."""
    try:
        yield
    except TableError as error:
        raise kind(str(error)) from error


def open_files(path: Any, target: str | list[str], weight: str | None, size: int) -> FileSource:
    """A file that ``negcorr fit`` can read, or a folder of such files.

    Files of the folder's own folders are among them, but no hidden ones, in the order of names.
    """
    import_optional("pyarrow", "files are read by pyarrow")
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"X={str(place)!r} does not exist.")
    files = [place]
    if place.is_dir():
        inside = [file for file in place.rglob("*") if file.is_file()]
        parts = {file: file.relative_to(place).parts for file in inside}
        files = sorted(f for f in inside if not any(p.startswith((".", "_")) for p in parts[f]))
        endings = sorted({file.suffix.lower() or "no ending" for file in files})
        if len(endings) != 1:
            raise ValueError(
                f"X={str(place)!r} must be a file, or a folder of files of one kind, such as "
                f"{', '.join(ENDINGS)}; found {', '.join(endings) or 'nothing'}."
            )
    with _table_errors():
        return FileSource(target, weight, size, tuple(map(TableChunks.open, files)))


def as_dataset(X: Any) -> Any:
    """The pyarrow dataset that X is, or that a table of pyarrow makes; None for all others."""
    if type(X).__module__.partition(".")[0] != "pyarrow":
        return None
    import pyarrow.dataset

    if isinstance(X, pyarrow.Table | pyarrow.RecordBatch):
        return pyarrow.dataset.dataset(X)
    return X if isinstance(X, pyarrow.dataset.Dataset) else None
