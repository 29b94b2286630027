"""How a text with delimiters begins: its header, its columns, the width of its records."""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from pathlib import Path

from negcorr.exceptions import TableError
from negcorr.reading.delimited import (
    check_names,
    check_widths,
    header_of,
    is_blank,
    named_columns,
    numbered,
)

__all__ = ["Layout"]

#: Most records that are looked at.
HEAD_RECORDS = 5000


@dataclass(frozen=True, eq=False)
class Layout:
    """How the records of a text begin and what they hold.

    Attributes
    ----------
    names : tuple of str
        Of the columns.
    cells : tuple of int
        Where they are in a record.
    blank : tuple of int
        Cells without a name that are empty, and must stay so.
    width : int
        Cells of a record.
    skip : int
        Bytes of UTF-8 before the first row.
    has_header : bool
    head : list of list of str
        Cells of the first rows, column by column.
    complete : bool
        Whether these are all rows.
    notes : tuple of str
    """

    names: tuple[str, ...]
    cells: tuple[int, ...]
    blank: tuple[int, ...]
    width: int
    skip: int
    has_header: bool
    head: list[list[str]]
    complete: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, text: str, complete: bool, delimiter: str, path: Path) -> Layout | None:
        """From the beginning of a text; None where that is too short to tell."""
        lines, rows, whole = _first_records(text, complete, delimiter, path)
        if not whole and len(rows) < 2:
            return None
        if not rows:
            raise TableError(f"{path} is empty: there is nothing in it but blanks.")
        names, body, below, notes = header_of(rows, lines, delimiter)
        check_widths(names, body, below, path)
        has_header = len(body) < len(rows)
        width = len(rows[1]) if has_header and body else len(names)
        columns = [list(column) for column in zip(*body, strict=True)] or [[] for _ in names]
        blank = [
            j
            for j, (name, column) in enumerate(zip(names, columns, strict=True))
            if not name.strip() and column and not any(cell.strip() for cell in column)
        ]
        named, kept, of_names = named_columns(names, columns)
        check_names(named, path)
        first = below[0] if body else lines[0]
        skip = sum(
            len(line.encode("utf-8", "surrogatepass"))
            for line in itertools.islice(io.StringIO(text, newline=""), first - 1)
        )
        cells = tuple(j for j in range(len(names)) if j not in blank)
        blank += range(len(names), width)
        said = (*notes, *of_names)
        return cls(named, cells, tuple(blank), width, skip, has_header, kept, whole, said)


def _first_records(
    text: str, complete: bool, delimiter: str, path: Path
) -> tuple[list[int], list[list[str]], bool]:
    """Lines and cells of the first records that are not blank, and whether these are all."""
    lines: list[int] = []
    rows: list[list[str]] = []
    found = numbered(io.StringIO(text, newline=""), delimiter, path)
    try:
        for line, cells in found:
            if not is_blank(cells):
                lines.append(line)
                rows.append(cells)
            if len(rows) > HEAD_RECORDS:
                return lines[:-1], rows[:-1], False
    except TableError:
        if complete:
            raise
        # Where the head ends within quotes, reading on will tell.
        return lines, rows, False
    # The last record may be cut.
    return (lines, rows, True) if complete else (lines[:-1], rows[:-1], False)
