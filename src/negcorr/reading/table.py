"""read_table: a file of any usual format as a data frame, and what was odd about it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr._common.types import AnyArray
from negcorr.reading.arff import parse_arff
from negcorr.reading.arrow_files import arrow_table
from negcorr.reading.cell_kinds import kinds_of_cells
from negcorr.reading.column_types import data_frame
from negcorr.reading.decoding import decode
from negcorr.reading.delimited import check_names, delimiter_of, filled_rows, named_records
from negcorr.reading.excel import parse_excel
from negcorr.reading.file_format import NAMES, TableFile
from negcorr.reading.limits import damage_as_table_error
from negcorr.reading.optional import import_optional

__all__ = ["Table", "read_table", "text_columns"]


@dataclass(frozen=True, eq=False)
class Table:
    """A file as a data frame.

    Attributes
    ----------
    frame : pandas.DataFrame
        Rows in the order of the file.
    notes : tuple of str
        One sentence for each oddity that was dealt with; empty for a plain file.
    path : Path
        Where it was read from.
    """

    frame: Any
    notes: tuple[str, ...]
    path: Path

    def __repr__(self) -> str:
        n, d = self.frame.shape
        notes = f", {len(self.notes)} notes" if self.notes else ""
        return f"{type(self).__name__}({self.path.name}: {n} rows, {d} columns{notes})"


def read_table(path: str | os.PathLike[str]) -> Table:
    r"""Read a table from a file: CSV, TSV, Parquet, Feather, ARFF or Excel.

    The content of a file decides what it is, not its ending. Archives of one file (gzip, bzip2,
    xz, zip) are unpacked. The delimiter of text (comma, semicolon, tab, vertical bar) and its
    encoding are found. After semicolons, numbers may have decimal commas. Columns of numbers may
    have marks of missing values such as NA, ? and -.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Table
        With a note for everything that was odd.

    Raises
    ------
    TableError
        If the file does not exist, is no table, or is broken; the message names line or column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "sizes.csv")
    ...     _ = file.write_text("size;kind\n1,5;a\n?;b\n", encoding="utf-8")
    ...     table = read_table(file)
    >>> table.frame["size"].tolist()
    [1.5, nan]
    >>> for note in table.notes:
    ...     print(note)
    cells are separated by semicolons.
    numbers have decimal commas.
    column 'size': 1 '?' read as missing.
    """
    import_optional("pandas", "tables are read into data frames of pandas")
    with damage_as_table_error(Path(path)):
        return _table(TableFile.find(Path(path)))


def _table(file: TableFile) -> Table:
    notes: list[str] = []
    if file.format in ("parquet", "feather"):
        import_optional("pyarrow", f"{NAMES[file.format]} files are read by pyarrow")
        with damage_as_table_error(file.path, NAMES[file.format]):
            # Without the index that pandas may have stored: it comes as a column of its own.
            frame = arrow_table(*file.read(), file.format).to_pandas(ignore_metadata=True)
    elif file.format == "excel":
        columns, notes = parse_excel(*file.read())
        frame = data_frame(columns)
    elif file.format == "arff":
        data, budget = file.read()
        text, of_encoding = decode(data, file.path)
        del data
        attributes, values = parse_arff(text, file.path, budget)
        check_names((each.name for each in attributes), file.path)
        pairs = zip(attributes, values, strict=True)
        frame = data_frame({each.name: each.column(cells) for each, cells in pairs})
        notes += of_encoding
    else:
        columns, of_text = text_columns(file)
        frame = data_frame(columns)
        notes += of_text
    if len(frame) == 0 and not any("no row" in note for note in notes):
        notes.append("there is no row.")
    return Table(frame, (*file.notes, *notes), file.path)


def text_columns(file: TableFile) -> tuple[dict[str, AnyArray], tuple[str, ...]]:
    r"""Columns of text with delimiters; ``read_table`` without pandas.

    Parameters
    ----------
    file : TableFile

    Returns
    -------
    columns : dict of str to ndarray
        Whole numbers, floats, or objects: text, and None where a cell is empty.
    notes : tuple of str
        What was odd, except for the file's own notes.

    Raises
    ------
    TableError
        If it is broken; the message names line or column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.reading.file_format import TableFile
    >>> from negcorr.reading.table import text_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sizes.csv")
    ...     _ = path.write_text("size,kind\n1.5,a\n2,b\n", encoding="utf-8")
    ...     columns, _ = text_columns(TableFile.find(path))
    >>> columns["size"].tolist(), columns["kind"].tolist()
    ([1.5, 2.0], ['a', 'b'])
    """
    data, budget = file.read()
    text, of_encoding = decode(data, file.path)
    del data
    budget.take(sys.getsizeof(text), "its characters")
    delimiter = delimiter_of(text, file.ending)
    rows = filled_rows(text, delimiter, file.path, budget=budget)
    records = named_records(rows, file.path, delimiter, file.ending)
    _, columns, of_cells = kinds_of_cells(records.names, records.columns, delimiter)
    return columns, (*of_encoding, *records.notes, *of_cells)
