"""Files and folders of files as chunks of rows, by pyarrow: Parquet, CSV, Feather."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._typing import FloatArray
from negcorr.exceptions import ChunkError
from negcorr.scale.chunks import Chunk

__all__ = ["FileSource", "open_files"]

#: Formats by the ending of a file.
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
}


def open_files(path: Any) -> Any:
    """The pyarrow dataset of a file or a folder of files of one format."""
    dataset = _pyarrow_dataset()
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"{place} does not exist.")
    files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
    endings = {file.suffix.lower() for file in files if not file.name.startswith((".", "_"))}
    formats = {FORMATS.get(ending, ending) for ending in endings}
    if len(formats) != 1 or not formats <= set(FORMATS.values()):
        raise ValueError(
            f"{place} must be a file, or a folder of files of one kind, ending in "
            f"{', '.join(FORMATS)}; found {', '.join(sorted(endings)) or 'nothing'}."
        )
    try:
        return dataset.dataset(place, format=formats.pop())
    except (ValueError, OSError) as error:
        raise ChunkError(f"{place} cannot be read: {error}") from error


def _pyarrow_dataset() -> Any:
    try:
        import pyarrow.dataset
    except ImportError as error:
        raise ImportError(
            "files are read by pyarrow, which is not installed: pip install 'negcorr[cli]'"
        ) from error
    return pyarrow.dataset


@dataclass(frozen=True, repr=False)
class FileSource:
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
        for name in (*self.targets, *([] if self.weight is None else [self.weight])):
            if name not in known:
                raise ValueError(f"there is no column {name!r}; the columns are {known}.")

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
    def repeatable(self) -> bool:
        """Always."""
        return True

    @property
    def n_chunks(self) -> int | None:
        """Not known before the files are read."""
        return None

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at most ``block_size`` rows, none across files or row groups."""
        row = 0
        for fragment in self.dataset.get_fragments():
            for where, part in self._parts(fragment):
                for chunk in self._read(where, part, row):
                    row = chunk.first_row + chunk.n_rows
                    yield chunk

    def _parts(self, fragment: Any) -> Iterator[tuple[str, Any]]:
        """A file, or its row groups where it has some, with their names."""
        try:
            groups = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else None
            self._check_columns(fragment)
        except (OSError, ValueError) as error:
            raise ChunkError(f"{fragment.path}: {error}") from error
        if groups is None:
            yield fragment.path, fragment
            return
        for group in groups:
            yield f"{fragment.path}, row group {group.row_groups[0].id}", group

    def _check_columns(self, fragment: Any) -> None:
        """Columns that are missing would silently be read as missing values."""
        wanted = [*self.inputs, *self.targets, *([self.weight] if self.weight else [])]
        names = fragment.physical_schema.names
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(f"there is no column {missing[0]!r}; this file has {names}.")

    def _read(self, where: str, part: Any, row: int) -> Iterator[Chunk]:
        columns = [*self.inputs, *self.targets, *([self.weight] if self.weight else [])]
        batches = part.to_batches(
            schema=self.dataset.schema, columns=columns, batch_size=self.block_size
        )
        number = 0
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ValueError, TypeError, NotImplementedError) as error:
                raise ChunkError(f"{where}, after row {row}: {error}") from error
            if batch is None:
                return
            if batch.num_rows == 0:
                continue
            chunk = self._chunk(batch, f"{where}, chunk {number}", row)
            row, number = row + chunk.n_rows, number + 1
            yield chunk

    def _chunk(self, batch: Any, where: str, row: int) -> Chunk:
        inputs, targets = self.inputs, self.targets
        X = _matrix(batch, inputs, where, row)
        y = _matrix(batch, targets, where, row)
        weight = None
        if self.weight is not None:
            weight = _matrix(batch, [self.weight], where, row)[:, 0]
        return Chunk(X, y[:, 0] if isinstance(self.target, str) else y, weight, where, row)


def _matrix(batch: Any, names: list[str], where: str, row: int) -> FloatArray:
    """Columns of a batch as numbers; what is none is told with its place."""
    import pyarrow

    out = np.empty((batch.num_rows, len(names)), order="F")
    for k, name in enumerate(names):
        column = batch.column(batch.schema.get_field_index(name))
        kind = column.type
        if not (
            pyarrow.types.is_integer(kind)
            or pyarrow.types.is_floating(kind)
            or pyarrow.types.is_boolean(kind)
            or pyarrow.types.is_decimal(kind)
        ):
            raise ChunkError(
                f"{where}: column {name!r} is of type {kind}; columns must be numbers. Leave it "
                "out, or encode it before."
            )
        out[:, k] = column.to_numpy(zero_copy_only=False)
        finite = np.isfinite(out[:, k])
        if not finite.all():
            first = int(np.argmin(finite))
            value = "missing" if np.isnan(out[first, k]) else "infinite"
            raise ChunkError(f"{where}: column {name!r} is {value} in row {row + first + 1}.")
    return np.ascontiguousarray(out)
