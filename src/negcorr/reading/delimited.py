"""Text with delimiters as records of cells: the delimiter, the header, ragged lines."""

from __future__ import annotations

import csv
import io
import itertools
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.number_cells import is_missing_mark, plain_number

__all__ = [
    "Records",
    "check_names",
    "check_widths",
    "doubts_about",
    "header_of",
    "is_blank",
    "named_columns",
    "numbered",
    "read_records",
    "sniffed_delimiter",
]

#: Where several delimiters cut all lines alike, the first: commas also stand within numbers and
#: sentences, the others hardly ever in each line and in the header.
DELIMITERS = ("\t", ";", "|", ",")

NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

#: Records that are looked at to find the delimiter.
SAMPLE_RECORDS = 200

_LIMIT = threading.Lock()


@dataclass(frozen=True, eq=False)
class Records:
    """A text, cut into cells.

    Attributes
    ----------
    names : tuple of str
        One for each column.
    columns : list of list of str
        Cells, column by column.
    delimiter : str
    notes : tuple of str
        What was odd.
    """

    names: tuple[str, ...]
    columns: list[list[str]]
    delimiter: str
    notes: tuple[str, ...]


def read_records(text: str, path: Path, delimiter: str | None = None) -> Records:
    r"""Cut a text into named columns of cells.

    Parameters
    ----------
    text : str
    path : Path
        For errors.
    delimiter : str, optional
        By default the one that cuts the first lines alike.

    Raises
    ------
    TableError
        Naming the line, if lines have different numbers of cells or quotes do not end; naming
        the columns, if two have the same name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from negcorr.reading.delimited import read_records
    >>> found = read_records("size;name\n1,5;\"a;b\"\n2,5;c\n", Path("data.csv"))
    >>> found.names, found.columns, found.delimiter
    (('size', 'name'), [['1,5', '2,5'], ['a;b', 'c']], ';')
    """
    delimiter = delimiter or sniffed_delimiter(text)
    lines: list[int] = []
    rows: list[list[str]] = []
    n_blank = gap = 0
    for line, cells in numbered(_stream(text), delimiter, path):
        if is_blank(cells):
            gap += 1
            continue
        n_blank, gap = n_blank + (gap if rows else 0), 0
        lines.append(line)
        rows.append(cells)
    if not rows:
        raise TableError(f"{path} is empty: there is nothing in it but blanks.")
    notes = [f"{n_blank} blank lines between others were skipped."] if n_blank else []
    names, rows, lines, of_header = header_of(rows, lines, delimiter)
    notes += of_header
    check_widths(names, rows, lines, path)
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    named, columns, of_names = named_columns(names, columns)
    check_names(named, path)
    return Records(named, columns, delimiter, (*notes, *of_names))


def sniffed_delimiter(text: str) -> str:
    r"""The delimiter that cuts the first lines of a text into equally many cells.

    Examples
    --------
    >>> from negcorr.reading.delimited import sniffed_delimiter
    >>> sniffed_delimiter("a;b\n1,5;2,5\n"), sniffed_delimiter("a,b\n1,2\n")
    (';', ',')
    """
    alike: dict[str, float] = {}
    for delimiter in DELIMITERS:
        reader = csv.reader(_stream(text), delimiter=delimiter, skipinitialspace=True)
        with _long_cells():
            try:
                widths = [len(cells) for cells in itertools.islice(reader, SAMPLE_RECORDS) if cells]
            except csv.Error:
                continue
        if widths and widths[0] > 1:
            alike[delimiter] = sum(width == widths[0] for width in widths) / len(widths)
    if not alike:
        return ","
    return max(alike, key=lambda delimiter: alike[delimiter])


def named_columns(
    names: list[str], columns: list[list[str]]
) -> tuple[tuple[str, ...], list[list[str]], list[str]]:
    """Names for columns that have none; empty columns without a name are left out."""
    notes: list[str] = []
    kept = []
    taken = {name.strip() for name in names}
    for position, (name, column) in enumerate(zip(names, columns, strict=True), start=1):
        name = name.strip()
        if not name:
            if column and not any(cell.strip() for cell in column):
                notes.append(f"column {position} has neither a name nor values and was left out.")
                continue
            name = f"column_{position}"
            while name in taken:
                name += "_"
            notes.append(f"column {position} has no name and is called {name!r}.")
        kept.append((name, column))
    return tuple(name for name, _ in kept), [column for _, column in kept], notes


def doubts_about(names: Iterable[str]) -> list[str]:
    """A note where names of columns look like values.

    Examples
    --------
    >>> from negcorr.reading.delimited import doubts_about
    >>> doubts_about(["size", "kind"]), len(doubts_about(["165.5", "house"]))
    ([], 1)
    """
    odd = [name for name in names if plain_number(name) is not None]
    if not odd:
        return []
    return [
        f"the first line is taken for names of columns, and {shortened(odd[0])} is a number: if it "
        "is a row, put a line of names above it."
    ]


def check_names(names: tuple[str, ...], path: Path) -> None:
    """Raise where two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        where = "; ".join(
            f"{shortened(name)} in columns "
            + ", ".join(str(j + 1) for j, other in enumerate(names) if other == name)
            for name in twice[:5]
        )
        raise TableError(f"{path} has columns of the same name: {where}. Rename them.")


def is_blank(cells: list[str]) -> bool:
    """Whether a line has nothing in it, and is skipped."""
    return not cells or (len(cells) == 1 and not cells[0].strip())


def numbered(text: Iterable[str], delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """First line and cells of each record of a text that is given line by line."""
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        first = reader.line_num + 1
        try:
            with _long_cells():
                # Many at a time: the limit is the whole process's and is set for each of them.
                batch = []
                for cells in itertools.islice(reader, 4096):
                    batch.append((first, cells))
                    first = reader.line_num + 1
        except csv.Error as error:
            raise TableError(
                f"{path}, line {first}: {error}. Quotes must enclose a whole cell, and quotes "
                "within be doubled."
            ) from error
        if not batch:
            return
        yield from batch


def _stream(text: str) -> io.StringIO:
    return io.StringIO(text, newline="")


@contextmanager
def _long_cells() -> Iterator[None]:
    """Cells of any length, which Python's reader refuses beyond 131072 characters."""
    with _LIMIT:
        before = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def header_of(
    rows: list[list[str]], lines: list[int], delimiter: str
) -> tuple[list[str], list[list[str]], list[int], list[str]]:
    """Names of the columns, and the rows below them."""
    first = rows[0]
    if _is_all_numbers([_with_points(cell, delimiter) for cell in first]):
        names = [f"column_{j}" for j in range(1, len(first) + 1)]
        note = (
            f"the first line holds numbers only, so it is taken as a row, and columns are called "
            f"{names[0]} to {names[-1]}."
        )
        return names, rows, lines, [note]
    body = rows[1:]
    if not body:
        return first, body, lines[1:], ["there is a header and no row."]
    if all(len(cells) == len(first) + 1 for cells in body):
        if not any(cells[-1].strip() for cells in body):
            note = "lines end with a delimiter that the header lacks; it was left out."
            return first, [cells[:-1] for cells in body], lines[1:], [note]
        if len({cells[0] for cells in body}) == len(body):
            note = "the header lacks a name for the first column, which is taken as names of rows."
            return ["", *first], body, lines[1:], [note]
    return first, body, lines[1:], doubts_about(first)


def _with_points(cell: str, delimiter: str) -> str:
    """Decimal commas, which semicolons leave room for, as points."""
    return cell.replace(",", ".") if delimiter == ";" else cell


def _is_all_numbers(cells: list[str]) -> bool:
    values = [plain_number(cell) for cell in cells]
    return any(value is not None for value in values) and all(
        value is not None or is_missing_mark(cell)
        for value, cell in zip(values, cells, strict=True)
    )


def check_widths(names: list[str], rows: list[list[str]], lines: list[int], path: Path) -> None:
    """Raise where a record has more or fewer cells than there are names."""
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != len(names):
            cell = "cell" if len(cells) == 1 else "cells"
            raise TableError(
                f"{path}, line {line}: {len(cells)} {cell} where the header has {len(names)}; "
                f"the line begins with {shortened(cells[0])}."
            )
