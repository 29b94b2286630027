"""is_large, for tables that are too large to be read whole; TableChunks, which reads chunks."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from negcorr._common.number_text import shortened
from negcorr._common.validation import check_positive_int
from negcorr.reading.chunk_sources import ArrowSource, TextSource, n_cells, source_of
from negcorr.reading.file_format import TableFile
from negcorr.reading.limits import damage_as_table_error
from negcorr.reading.schema import Schema

__all__ = ["TableChunks", "is_large"]

#: Longer text is read in chunks: Python's objects for its cells take some ten times as much, and
#: reading it whole takes some ten seconds.
LARGE_TEXT_BYTES = 40 * 2**20

#: Larger files of Parquet and Feather are read in chunks, for the same memory.
LARGE_CELLS = 5_000_000

#: By what factor archives make text smaller, about.
SHRINKS = {"gzip": 4, "bzip2": 5, "xz": 6, "zip": 4}

#: Most rows of a chunk, and most cells of one of a wide table: chunks take some ten megabytes.
BLOCK_ROWS = 65_536
BLOCK_CELLS = 4_000_000


def is_large(path: str | os.PathLike[str]) -> bool:
    r"""Whether a file should be read in chunks, by its size or the size that it states.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    bool
        True for text of more than some 40 MB (of archives, what they probably hold), and for
        Parquet and Feather of more than 5 million cells. Never for ARFF and Excel, nor for binary
        formats within archives: they can only be read whole.

    Raises
    ------
    TableError
        If there is no such file, or it is no table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.reading import is_large
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "sizes.csv")
    ...     _ = file.write_text("size,kind\n1.5,a\n", encoding="utf-8")
    ...     is_large(file)
    False
    """
    with damage_as_table_error(Path(path)):
        file = TableFile.find(Path(path))
        if file.format == "text":
            factor = math.prod(SHRINKS[archive] for archive in file.archives)
            return file.path.stat().st_size * factor > LARGE_TEXT_BYTES
        return n_cells(file) > LARGE_CELLS


@dataclass(frozen=True, eq=False)
class TableChunks:
    r"""A table in a file, as data frames of a bounded number of rows.

    Iterating gives :class:`pandas.DataFrame` in the order of the file, as often as asked. Cells
    mean what they mean to :func:`~negcorr.read_table`. Small files and all formats
    will do; ARFF, Excel and binary formats within archives are read whole each time.

    Attributes
    ----------
    path : Path
    names : tuple of str
        Columns of the file.
    notes : tuple of str
        One sentence for each oddity that was dealt with.
    kinds : mapping of str to str
        How columns of text are read: "number", "comma" (numbers with decimal commas), "level",
        "number level" (categories) or "text"; those of other formats are as they are. Columns
        that are not in it are not read.
    block : int
        Most rows of a frame.
    n_rows : int or None
        Where the file states it; an estimate for text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.reading import TableChunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "sizes.csv")
    ...     _ = file.write_text("size;kind\n1,5;a\n?;b\n2,5;c\n", encoding="utf-8")
    ...     chunks = TableChunks.open(file, block=2)
    ...     [frame["size"].tolist() for frame in chunks]
    [[1.5, nan], [2.5]]
    """

    path: Path
    names: tuple[str, ...]
    notes: tuple[str, ...]
    kinds: Mapping[str, str]
    block: int
    n_rows: int | None
    source: TextSource | ArrowSource

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], schema: Schema | None = None, block: int | None = None
    ) -> Self:
        """Find out what a file is and how its cells are written.

        Parameters
        ----------
        path : str or path
        schema : Schema, optional
            What columns are for, as with a model's training rows. Of text, its plain numbers are
            then read as floats, its categories as such, and all else as text. By default the first
            thousands of rows show what is a number.
        block : int, optional
            Most rows of a frame, by default 65536, or fewer where there are many columns.

        Returns
        -------
        TableChunks

        Raises
        ------
        TableError
            If there is no such file, or it is no table.
        """
        if block is not None:
            check_positive_int("block", block)
        place = Path(path)
        with damage_as_table_error(place):
            source = source_of(place)
            kinds = source.kinds(schema)
        if block is None:
            block = max(min(BLOCK_ROWS, BLOCK_CELLS // len(source.names)), 1024)
        return cls(place, source.names, source.notes, kinds, block, source.n_rows, source)

    def __repr__(self) -> str:
        notes = f", {len(self.notes)} notes" if self.notes else ""
        return f"{type(self).__name__}({self.path.name}: {len(self.names)} columns{notes})"

    def __iter__(self) -> Iterator[Any]:
        row = 0
        for table in self.tables():
            yield self.frame(table, row)
            row += table.num_rows

    def settled(self) -> Self:
        """The same file, read in kinds that all of its cells have.

        The first rows of a text show what is a number; where a cell further down shows something
        else, the file is read once more to find out.
        """
        source, kinds = self.source, dict(self.kinds)
        if isinstance(source, ArrowSource):
            return self
        refuted: dict[str, set[str]] = {name: set() for name in kinds}
        changed = True
        while changed:
            before = dict(kinds)
            for table in self.tables(list(kinds)):
                with damage_as_table_error(self.path):
                    kinds = source.kinds_after(table, kinds, refuted)
            changed = kinds != before
        if kinds == self.kinds:
            return self
        words = {"text": "text, since not all of its cells are numbers", "comma": "decimal commas"}
        notes = [
            f"column {shortened(name)}: {words[kind]}."
            for name, kind in kinds.items()
            if kind != self.kinds[name] and kind in words
        ]
        return replace(self, kinds=kinds, notes=(*self.notes, *notes))

    def reading(self, kinds: Mapping[str, str]) -> Self:
        """The same file, with other columns or kinds of them."""
        return replace(self, kinds=kinds)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Tables of pyarrow instead of frames; cells of text are not typed yet.

        Parameters
        ----------
        columns : sequence of str, optional
            By default those that have a kind.
        """
        wanted = list(self.kinds) if columns is None else list(columns)
        with damage_as_table_error(self.path):
            yield from self._tables(wanted)

    def _tables(self, wanted: list[str]) -> Iterator[Any]:
        """Tables of ``block`` rows."""
        import pyarrow

        waiting: list[Any] = []
        n_waiting = 0
        for table in self.source.tables(wanted, self.block):
            while n_waiting + table.num_rows >= self.block:
                part = table.slice(0, self.block - n_waiting)
                yield pyarrow.concat_tables([*waiting, part]).unify_dictionaries()
                table = table.slice(part.num_rows)
                waiting, n_waiting = [], 0
            waiting += [table] if table.num_rows else []
            n_waiting += table.num_rows
        if waiting:
            yield pyarrow.concat_tables(waiting).unify_dictionaries()

    def frame(self, table: Any, row: int) -> Any:
        """A table of :meth:`tables` as a data frame; ``row`` is the number of rows before it."""
        with damage_as_table_error(self.path):
            return self.source.frame(table, self.kinds, row)
