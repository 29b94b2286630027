"""The first sheet of an Excel file as columns; its header is found as that of text is."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.column_types import typed_objects
from negcorr.reading.delimited import FilledRows, named_records
from negcorr.reading.optional import import_optional

__all__ = ["parse_excel"]


def parse_excel(data: bytes, path: Path) -> tuple[dict[str, Any], list[str]]:
    """Columns of the first sheet by name, in their types, and notes.

    Parameters
    ----------
    data : bytes
    path : Path
        For errors.

    Raises
    ------
    TableError
        If the file is damaged, its sheet has no cells, or two columns have the same name.
    """
    import pandas

    openpyxl = import_optional("openpyxl", "Excel files are read by openpyxl")
    try:
        with warnings.catch_warnings():
            # Warnings about drawings and validation rules, which are not read.
            warnings.simplefilter("ignore", UserWarning)
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=False, data_only=True)
            rows = list(book.worksheets[0].iter_rows(values_only=True)) if book.worksheets else []
    except Exception as error:  # openpyxl raises whatever the broken part happens to cause
        raise TableError(f"{path} is an Excel file but damaged: {error}.") from error
    notes = []
    if len(book.worksheets) > 1:
        others = ", ".join(sheet.title for sheet in book.worksheets[1:])
        notes.append(f"the first sheet was read; there are others: {others}.")
    filled = [row for row in rows if any(cell is not None for cell in row)]
    if not filled:
        raise TableError(f"{path} is empty: its first sheet has no cells.")
    if filled != rows[: len(filled)]:
        notes.append(f"{len(rows) - len(filled)} empty rows of the sheet were skipped.")
    while len(filled) > 2:
        counts = [sum(cell is not None for cell in row) for row in filled[:3]]
        if counts[0] != 1 or min(counts[1:]) < 2:
            break
        title = next(cell for cell in filled[0] if cell is not None)
        notes.append(f"the row {shortened(title)} stands alone above the others: a title, skipped.")
        filled = filled[1:]
    cells = [["" if cell is None else str(cell) for cell in row] for row in filled]
    records = named_records(FilledRows(list(range(1, len(cells) + 1)), cells), path)
    notes += records.notes
    columns: dict[str, Any] = {}
    for name, j in zip(records.names, records.positions, strict=True):
        values, odd = typed_objects(name, [row[j] for row in filled[records.has_header :]])
        # Dates and truth values get the types of pandas; text stays objects.
        is_text = any(isinstance(value, str) for value in values)
        columns[name] = values if is_text else pandas.Series(values).infer_objects()
        notes += odd
    return columns, notes
