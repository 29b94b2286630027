"""The first sheet of an Excel file as columns; its header is found as that of text is."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.memory import in_words
from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.column_types import typed_objects
from negcorr.reading.delimited import CELL_BYTES, ROW_BYTES, FilledRows, named_records
from negcorr.reading.limits import (
    Budget,
    damage_as_table_error,
    most_unpacked,
    unpacks_too_far,
)
from negcorr.reading.optional import import_optional

__all__ = ["parse_excel"]


#: Bytes of memory for a byte of XML, such as attributes are made of, and for an element, about.
XML_BYTES, TAG_BYTES = 20, 300

#: Most elements of a part that is no sheet, such as styles, which are the slowest to read.
MOST_TAGS = 200_000

#: Longest text, tag or comment of a part. A cell has at most 32 767 characters.
MOST_MARKUP = 2**20

#: What may hold the sign that begins a tag, and what ends it.
_CLOSING = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_OPENING = re.compile(b"|".join(map(re.escape, _CLOSING)))

#: Parts that are read as streams: sheets, and the text of their cells.
_STREAMED = ("xl/worksheets/", "xl/sharedStrings")

#: Parts that are not read.
_NOT_READ = ("xl/media/", "xl/drawings/", "xl/charts/", "xl/pivot", "xl/embeddings/", "customXml/")


def parse_excel(data: bytes, budget: Budget) -> tuple[dict[str, Any], list[str]]:
    """Columns of the first sheet by name, in their types, and notes.

    Parameters
    ----------
    data : bytes
    budget : Budget
        For the cells.

    Raises
    ------
    TableError
        If the file is damaged, its sheet has no cells, or two columns have the same name.
    """
    import pandas

    path = budget.path
    openpyxl = import_optional("openpyxl", "Excel files are read by openpyxl")
    with damage_as_table_error(path, "an Excel file"), warnings.catch_warnings():
        # Warnings about drawings and validation rules, which are not read.
        warnings.simplefilter("ignore", UserWarning)
        _check_parts(data, budget)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows = list(_rows(book.worksheets[0], budget)) if book.worksheets else []
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


class _Markup:
    """Bytes of XML, of which no text, tag or comment may be long.

    The parser is fed in small pieces, and begins anew with an unfinished part at each of them: its
    time grows with the square of the longest part.

    Parameters
    ----------
    path : Path
        For errors.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.at, self.last = path, 0, 0
        self.end, self.opened, self.tail = b"", 0, b""

    def read(self, block: bytes) -> None:
        """Look at some more bytes."""
        after = self.at + len(block)
        begun = self.at + np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("<"))
        self._check(int(np.diff(np.concatenate([[self.last], begun, [after]])).max()))
        self.last = int(begun[-1]) if len(begun) else self.last
        # Comments and the like may hold what begins a tag.
        text, k = self.tail + block, 0
        first = after - len(text)
        while True:
            if self.end:
                found = text.find(self.end, k)
                self._check(first + (len(text) if found < 0 else found) - self.opened)
                if found < 0:
                    break
                k, self.end = found + len(self.end), b""
            opening = _OPENING.search(text, k)
            if opening is None:
                break
            self.end, self.opened = _CLOSING[opening.group()], first + opening.start()
            k = opening.end()
        self.at, self.tail = after, text[max(k, len(text) - 8) :]

    def _check(self, size: int) -> None:
        if size > MOST_MARKUP:
            raise TableError(
                f"{self.path} has a text, tag or comment in its XML that is longer than the limit "
                f"of {in_words(MOST_MARKUP)}."
            )


def _check_parts(data: bytes, budget: Budget) -> None:
    """Count the elements of the parts of a workbook, of which openpyxl makes objects."""
    path = budget.path
    left = most_unpacked(path)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            if entry.filename.startswith(_NOT_READ):
                continue
            n_tags, markup = 0, _Markup(path)
            with archive.open(entry) as part:
                while block := part.read(2**20):
                    left -= len(block)
                    if left < 0:
                        raise unpacks_too_far(path)
                    markup.read(block)
                    tags = block.count(b"<") - block.count(b"</")
                    n_tags += tags
                    budget.take(XML_BYTES * len(block) + TAG_BYTES * tags, "its cells")
            if n_tags > MOST_TAGS and not entry.filename.startswith(_STREAMED):
                raise TableError(
                    f"{path} has {n_tags} elements in {shortened(entry.filename)}; the limit is "
                    f"{MOST_TAGS}."
                )


def _rows(sheet: Any, budget: Budget) -> Iterator[tuple[Any, ...]]:
    """Rows of a sheet, all as wide as the widest."""
    # A file may state any size; without one the rows show it.
    sheet.reset_dimensions()
    rows, width = [], 0
    for row in sheet.iter_rows(values_only=True):
        width = max(width, len(row))
        letters = sum(len(cell) for cell in row if isinstance(cell, str))
        budget.take(ROW_BYTES + 8 * len(row) + letters, "its rows")
        rows.append(row)
    budget.take(CELL_BYTES * width * len(rows), "its rows and columns up to the last cell")
    return (tuple(row) + (None,) * (width - len(row)) for row in rows)
