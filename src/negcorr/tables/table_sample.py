"""sample_of: rows from all over a large table, from which the roles of its columns are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._common.types import IntArray
from negcorr._common.validation import check_positive_int
from negcorr.columns.kinds import infer_columns
from negcorr.exceptions import TableError
from negcorr.reading.cell_kinds import kinds_of_cells
from negcorr.reading.chunk_sources import TextSource
from negcorr.reading.column_types import data_frame
from negcorr.reading.number_cells import as_numbers
from negcorr.reading.schema import Schema
from negcorr.reading.table_chunks import TableChunks
from negcorr.scale.passes import read_ahead
from negcorr.tables.piecewise_sample import SmallestHashes, table_hash

__all__ = ["SAMPLE_ROWS", "TableSample", "sample_of"]

#: Rows of a sample: medians, levels and bandwidths are known well from so many.
SAMPLE_ROWS = 50_000

#: Added to the seed: other seeds than rows are held out by, so a sample has rows of both sides.
_OTHER_SEEDS = 2**32


@dataclass(frozen=True, eq=False)
class TableSample:
    """Rows from all over a table.

    Attributes
    ----------
    frame : pandas.DataFrame
        In the order of the file, in the types that :func:`~negcorr.reading.table.read_table` would
        give them.
    positions : ndarray of int
        Where its rows stand in the file.
    n_rows : int
        Rows of the file.
    chunks : TableChunks
        The file, read in these types.
    notes : tuple of str
        What was odd about the file and about these rows.
    """

    frame: Any
    positions: IntArray
    n_rows: int
    chunks: TableChunks
    notes: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows."""
        return len(self.frame) == self.n_rows

    def schema(
        self,
        target: str | Sequence[str],
        *,
        drop: Sequence[str] = (),
        categorical: Sequence[str] = (),
        weights: str | None = None,
    ) -> Schema:
        """The role of every column, by :func:`~negcorr.columns.kinds.infer_columns` of the sample.

        Parameters
        ----------
        target, drop, categorical, weights
            As there.

        Returns
        -------
        Schema
            With the number of all rows; missing and distinct values are those of the sample.
        """
        given: dict[str, Any] = {"drop": drop, "categorical": categorical, "weights": weights}
        found = infer_columns(self.frame, target, **given)
        columns = list(found.columns)
        for place, column in enumerate(columns):
            if column.role != "number" or column.n_missing or self.is_whole:
                continue
            # Numbers that count the rows, which a sample does not show by their order alone.
            values = as_numbers(self.frame[column.name], column.form, column.name)
            start = values[0] - self.positions[0]
            if start in (0.0, 1.0) and np.array_equal(values, self.positions + start):
                columns[place] = replace(column, role="identifier", remark="numbers the rows")
        if not any(column.is_input for column in columns):
            columns = list(found.columns)
        return replace(found, columns=tuple(columns), n_rows=self.n_rows)


def sample_of(
    chunks: TableChunks,
    n: int = SAMPLE_ROWS,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> TableSample:
    r"""Take a sample of rows from a whole file, in one pass and in bounded memory.

    A hash of their content decides, so that it does not matter in which order rows are, nor how
    many are read at a time. Equal rows have about the same share of it as of the file.

    Parameters
    ----------
    chunks : TableChunks
    n : int, default=50000
        Most rows of the sample.
    seed : int, default=0
        Another one takes others.
    advance : callable, optional
        Called with the number of rows of each piece that was read.

    Returns
    -------
    TableSample

    Raises
    ------
    TableError
        If the file is broken; the message names line or column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.reading import TableChunks
    >>> from negcorr.tables import sample_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "sizes.csv")
    ...     _ = file.write_text("size,y\n" + "".join(f"{x % 7},{x}\n" for x in range(500)))
    ...     sample = sample_of(TableChunks.open(file), n=100)
    >>> sample.frame.shape, sample.n_rows, sample.schema("y")["size"].role
    ((100, 2), 500, 'number')
    """
    check_positive_int("n", n)
    kept = SmallestHashes(n)
    with closing(read_ahead(chunks.tables(chunks.names))) as tables:
        for table in tables:
            kept.add(table_hash(table, seed + _OTHER_SEEDS), table, kept.n_rows)
            if advance is not None:
                advance(table.num_rows)
    rows = kept.rows()
    if rows.table is None:
        raise TableError(f"{chunks.path}: the table has no row.")
    in_file = np.argsort(rows.positions, kind="stable")
    table = rows.table.take(in_file)
    notes: list[str] = []
    if isinstance(chunks.source, TextSource):
        cells = [column.to_pylist() for column in table.columns]
        kinds, values, notes = kinds_of_cells(chunks.names, cells, chunks.source.delimiter)
        frame = data_frame(values)
    else:
        kinds = chunks.source.kinds(None)
        frame = chunks.source.frame(table, kinds, 0)
    if table.num_rows < kept.n_rows:
        notes = [f"in the sample, {note}" for note in notes]
    positions, all_notes = rows.positions[in_file], (*chunks.notes, *notes)
    return TableSample(frame, positions, kept.n_rows, chunks.reading(kinds), all_notes)
