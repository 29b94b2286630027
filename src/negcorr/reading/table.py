"""read_table: a file of any usual format as a data frame, and what was odd about it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from negcorr.reading.arff import parse_arff
from negcorr.reading.arrow_files import arrow_table, told_as_damage
from negcorr.reading.cell_kinds import kinds_of_cells
from negcorr.reading.column_types import data_frame
from negcorr.reading.decoding import decode
from negcorr.reading.delimited import check_names, delimiter_of, filled_rows, named_records
from negcorr.reading.excel import parse_excel
from negcorr.reading.file_format import NAMES, TableFile
from negcorr.reading.optional import import_optional

__all__ = ["Table", "read_table"]


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
    file = TableFile.find(Path(path))
    if file.format in ("parquet", "feather"):
        frame, notes = _arrow_frame(file), []
    elif file.format == "arff":
        frame, notes = _arff_frame(file)
    elif file.format == "excel":
        columns, notes = parse_excel(file.read(), file.path)
        frame = data_frame(columns)
    else:
        frame, notes = _text_frame(file)
    if len(frame) == 0 and not any("no row" in note for note in notes):
        notes.append("there is no row.")
    return Table(frame, (*file.notes, *notes), file.path)


def _text_frame(file: TableFile) -> tuple[Any, list[str]]:
    text, notes = decode(file.read(), file.path)
    delimiter = delimiter_of(text, file.ending)
    rows = filled_rows(text, delimiter, file.path)
    records = named_records(rows, file.path, delimiter, file.ending)
    _, columns, said = kinds_of_cells(records.names, records.columns, delimiter)
    return data_frame(columns), [*notes, *records.notes, *said]


def _arff_frame(file: TableFile) -> tuple[Any, list[str]]:
    import pandas

    text, notes = decode(file.read(), file.path)
    attributes, columns = parse_arff(text, file.path)
    check_names((attribute.name for attribute in attributes), file.path)
    made: dict[str, Any] = {}
    for attribute, column in zip(attributes, columns, strict=True):
        if attribute.kind == "nominal":
            values = pandas.Categorical(column, categories=list(dict.fromkeys(attribute.levels)))
        elif attribute.kind == "date":
            values = pandas.Series(column, dtype="datetime64[us]")
        else:
            # None becomes NaN among numbers.
            values = np.array(column, dtype=float if attribute.kind == "numeric" else object)
        made[attribute.name] = values
    return data_frame(made), [*notes]


def _arrow_frame(file: TableFile) -> Any:
    import_optional("pyarrow", f"{NAMES[file.format]} files are read by pyarrow")
    with told_as_damage(file.path, file.format):
        table = arrow_table(file.read(), file.format)
        check_names(table.column_names, file.path)
        # Without the index that pandas may have stored: its values come as a column of their own.
        return table.to_pandas(ignore_metadata=True)
