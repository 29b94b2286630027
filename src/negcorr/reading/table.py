"""read_table: a file of any usual format as a data frame, and what was odd about it."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.arff import parse_arff
from negcorr.reading.column_types import typed_column, typed_objects, uses_decimal_commas
from negcorr.reading.decoding import decode
from negcorr.reading.delimited import NAMES, check_names, doubts_about, named_columns, read_records
from negcorr.reading.file_format import Content, open_content
from negcorr.reading.number_cells import is_missing_mark, plain_number

__all__ = ["Table", "read_table"]

_Read = tuple[Any, list[str]]


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

    What a file holds counts more than its ending; gzip, bzip2, xz and zip archives of one file are
    taken apart. Of text, delimiter (comma, semicolon, tab, vertical bar) and encoding are found
    out. A semicolon lets commas be decimal. Columns of numbers may have marks of missing values
    such as NA, ? and -.

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
    >>> from negcorr.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "sizes.csv")
    ...     _ = file.write_text("size;kind\n1,5;a\n?;b\n", encoding="utf-8")
    ...     table = read_table(file)
    >>> table.frame["size"].tolist()
    [1.5, nan]
    >>> for note in table.notes:
    ...     print(note)
    cells are cut by semicolons, and numbers have decimal commas.
    column 'size': 1 '?' read as missing.
    """
    place = Path(path)
    content = open_content(place)
    format = "arff" if content.ending == ".arff" and content.format == "text" else content.format
    frame, notes = _READERS[format](content, place)
    check_names(tuple(map(str, frame.columns)), place)
    if len(frame) == 0 and not any("no row" in note for note in notes):
        notes.append("there is no row.")
    return Table(frame, (*content.notes, *notes), place)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "tables are read into data frames of pandas, which is not installed: "
            "pip install 'negcorr[cli]'"
        ) from error
    return pandas


def _frame(names: tuple[str, ...], columns: list[Any]) -> Any:
    pandas = _pandas()
    # By position: names may repeat until they are checked.
    frame = pandas.DataFrame(dict(enumerate(columns)))
    frame.columns = pandas.Index(list(names), dtype=object)
    return frame


def _text(content: Content, path: Path) -> _Read:
    text, notes = decode(content.data, path)
    tabs = content.ending in (".tsv", ".tab") and "\t" in text
    records = read_records(text, path, "\t" if tabs else None)
    commas = uses_decimal_commas(records.columns, records.delimiter)
    said = [*notes]
    if len(records.names) > 1 and records.delimiter != ("\t" if tabs else ","):
        numbers = ", and numbers have decimal commas" if commas else ""
        said.append(f"cells are cut by {NAMES[records.delimiter]}{numbers}.")
    typed = [
        typed_column(name, column, commas)
        for name, column in zip(records.names, records.columns, strict=True)
    ]
    said += [*records.notes, *(note for column in typed for note in column.notes)]
    return _frame(records.names, [_series(column.values) for column in typed]), said


def _series(values: Any) -> Any:
    """Text stays objects, whatever type the version of pandas has for it."""
    pandas = _pandas()
    return pandas.Series(values, dtype=object if values.dtype == object else None)


def _arff(content: Content, path: Path) -> _Read:
    text, notes = decode(content.data, path)
    attributes, columns = parse_arff(text, path)
    pandas = _pandas()
    made: list[Any] = []
    for attribute, column in zip(attributes, columns, strict=True):
        if attribute.kind == "numeric":
            floats = [np.nan if value is None else value for value in column]
            made.append(np.array(floats, dtype=np.float64))
        elif attribute.kind == "nominal":
            levels = list(dict.fromkeys(attribute.levels))
            made.append(pandas.Categorical(column, categories=levels))
        elif attribute.kind == "date":
            made.append(pandas.to_datetime(pandas.Series(column, dtype="datetime64[us]")))
        else:
            made.append(_series(np.array(column, dtype=object)))
    return _frame(tuple(attribute.name for attribute in attributes), made), [*notes]


def _parquet(content: Content, path: Path) -> _Read:
    def read(source: Any) -> Any:
        import pyarrow.parquet

        return pyarrow.parquet.read_table(source)

    return _arrow(content, path, "Parquet", read)


def _feather(content: Content, path: Path) -> _Read:
    def read(source: Any) -> Any:
        import pyarrow.feather

        return pyarrow.feather.read_table(source)

    return _arrow(content, path, "Feather", read)


def _arrow(content: Content, path: Path, name: str, read: Callable[[Any], Any]) -> _Read:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"{name} files are read by pyarrow, which is not installed: pip install 'negcorr[cli]'"
        ) from error
    _pandas()
    try:
        table = read(pyarrow.BufferReader(content.data))
        check_names(tuple(table.column_names), path)
        # Without the index that pandas may have stored: its values come as a column of their own.
        frame = table.to_pandas(ignore_metadata=True)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[:1] or ["unreadable"]
        raise TableError(f"{path} is {name} but damaged: {reason[0]}.") from error
    return frame, []


def _excel(content: Content, path: Path) -> _Read:
    sheet, others = _sheet(content, path)
    rows = [list(row) for row in sheet]
    kept = [row for row in rows if any(cell is not None for cell in row)]
    notes = []
    if others:
        notes.append(f"the first sheet was read; there are others: {', '.join(others)}.")
    if not kept:
        raise TableError(f"{path} is empty: its first sheet has no cells.")
    if kept != rows[: len(kept)]:
        notes.append(f"{len(rows) - len(kept)} empty rows of the sheet were skipped.")
    while _is_title(kept):
        title = next(cell for cell in kept[0] if cell is not None)
        notes.append(f"the row {shortened(title)} stands alone above the others: a title, skipped.")
        kept = kept[1:]
    first = ["" if cell is None else str(cell) for cell in kept[0]]
    body = kept[1:]
    if _all_numbers(first):
        notes.append("the first row holds numbers only, so columns are called column_1 and so on.")
        first, body = [f"column_{j}" for j in range(1, len(first) + 1)], kept
    else:
        notes += doubts_about(first)
    columns = [list(column) for column in zip(*body, strict=True)] or [[] for _ in first]
    shown = [["" if cell is None else str(cell) for cell in column] for column in columns]
    names, _, said = named_columns(first, shown)
    filled = [c for c, s, n in zip(columns, shown, first, strict=True) if n.strip() or any(s)]
    # A sheet without rows says nothing of which columns are empty.
    typed = [typed_objects(n, c) for n, c in zip(names, filled if body else columns, strict=True)]
    notes += [*said, *(note for column in typed for note in column.notes)]
    made = [_dates_as_such(_series(column.values)) for column in typed]
    return _frame(names, made), notes


def _is_title(rows: list[list[Any]]) -> bool:
    """Whether the first row has one cell alone, and those below have more."""
    if len(rows) < 3:
        return False
    filled = [sum(cell is not None for cell in row) for row in rows[:3]]
    return filled[0] == 1 and filled[1] > 1 and filled[2] > 1


def _dates_as_such(series: Any) -> Any:
    """Dates and truths in the types of pandas; text stays as it is."""
    words = any(isinstance(value, str) for value in series)
    return series if words else series.infer_objects()


def _all_numbers(cells: list[str]) -> bool:
    known = [cell for cell in cells if not is_missing_mark(cell)]
    return bool(known) and all(plain_number(cell) is not None for cell in known)


def _sheet(content: Content, path: Path) -> tuple[list[Any], list[str]]:
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(
            "Excel files are read by openpyxl, which is not installed: pip install openpyxl"
        ) from error
    try:
        with warnings.catch_warnings():
            # About drawings and rules of validation, which are not read.
            warnings.simplefilter("ignore", UserWarning)
            book = openpyxl.load_workbook(io.BytesIO(content.data), read_only=False, data_only=True)
            sheets = book.worksheets
            rows = list(sheets[0].iter_rows(values_only=True)) if sheets else []
    except Exception as error:  # openpyxl raises whatever the broken part happens to cause
        raise TableError(f"{path} is an Excel file but damaged: {error}.") from error
    return rows, [sheet.title for sheet in sheets[1:]]


_READERS: dict[str, Callable[[Content, Path], _Read]] = {
    "text": _text,
    "arff": _arff,
    "parquet": _parquet,
    "feather": _feather,
    "excel": _excel,
}
