"""Text with delimiters as records of cells: the delimiter, the header, the width of records.

Both the reader of whole files and the reader of chunks begin here; sheets of Excel have their
header found here too.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from negcorr._common.forks import lock_before_forks
from negcorr._common.number_text import listed, shortened
from negcorr.exceptions import TableError
from negcorr.reading.limits import MOST_RECORD, Budget, check_n_columns, record_too_long
from negcorr.reading.number_cells import is_missing_mark, plain_number

__all__ = [
    "FilledRows",
    "Records",
    "check_names",
    "check_widths",
    "delimiter_of",
    "filled_rows",
    "is_blank",
    "lines_of",
    "named_records",
    "numbered_records",
]

#: In the order of preference, where several split all lines into equally many cells: commas also
#: occur in numbers and sentences, the others hardly ever in each line and in the header.
DELIMITERS = {"\t": "tabs", ";": "semicolons", "|": "vertical bars", ",": "commas"}

#: Records that are looked at to find the delimiter.
SAMPLE_RECORDS = 200

#: Endings of files whose cells are separated by tabs if there is one.
TAB_ENDINGS = (".tsv", ".tab")

#: Most records, and cells of them, that are cut at a time.
BATCH_ROWS, BATCH_CELLS = 4096, 2**18

#: Notes on columns without a name that are given one by one.
MOST_NOTES = 20

#: Bytes of memory of a row and of a cell, about, until its column has a type.
ROW_BYTES, CELL_BYTES = 120, 90

#: Characters of a text that are cut into lines at a time.
TEXT_BLOCK = 2**20

_LIMIT = lock_before_forks()


@dataclass(frozen=True, eq=False)
class FilledRows:
    """Rows of cells that are not blank, the header among them.

    Attributes
    ----------
    lines : list of int
        Line of each row, from 1.
    cells : list of list of str
    complete : bool
        Whether these are all rows of the file.
    notes : tuple of str
    """

    lines: list[int]
    cells: list[list[str]]
    complete: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Records:
    """A table of cells in named columns, or the beginning of one.

    Attributes
    ----------
    names : tuple of str
        One for each column.
    columns : list of list of str
        Cells, column by column.
    positions : tuple of int
        Where the columns are in a record.
    width : int
        Cells of a record; those that are no column have no name and are empty.
    first_line : int
        Line of the first row.
    has_header : bool
        Whether a line with names is above it.
    complete : bool
        Whether these are all rows of the file.
    notes : tuple of str
        What was odd.
    """

    names: tuple[str, ...]
    columns: list[list[str]]
    positions: tuple[int, ...]
    width: int
    first_line: int
    has_header: bool
    complete: bool
    notes: tuple[str, ...]

    @property
    def empty_positions(self) -> tuple[int, ...]:
        """Where a record has cells that are no column."""
        return tuple(sorted(set(range(self.width)) - set(self.positions)))


def delimiter_of(text: str, ending: str = "") -> str:
    r"""The delimiter that splits the first lines of a text into equally many cells.

    Parameters
    ----------
    text : str
    ending : str
        Of the file's name: a file of tabs has tabs.

    Examples
    --------
    >>> from negcorr.reading.delimited import delimiter_of
    >>> delimiter_of("a;b\n1,5;2,5\n"), delimiter_of("a,b\n1,2\n")
    (';', ',')
    """
    if ending in TAB_ENDINGS and "\t" in text:
        return "\t"
    shares: dict[str, float] = {}
    for delimiter in DELIMITERS:
        lines = lines_of(_blocks_of(text), Path())
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        with _long_cells():
            try:
                widths = [len(cells) for cells in itertools.islice(reader, SAMPLE_RECORDS) if cells]
            except (csv.Error, TableError):
                continue
        if widths and widths[0] > 1:
            shares[delimiter] = widths.count(widths[0]) / len(widths)
    return max(shares, key=lambda delimiter: shares[delimiter], default=",")


def filled_rows(
    text: str,
    delimiter: str,
    path: Path,
    most: int | None = None,
    is_cut: bool = False,
    budget: Budget | None = None,
) -> FilledRows:
    """Split a text into rows of cells, without the blank ones.

    Parameters
    ----------
    text : str
    delimiter : str
    path : Path
        For errors.
    most : int, optional
        Most rows to take beside a header.
    is_cut : bool, default=False
        Whether the text ends where the file does not: its last row may be cut and is left out.
    budget : Budget, optional
        For the cells.

    Raises
    ------
    TableError
        Naming the line, if quotes do not end; naming the limit, if there are too many cells.
    """
    lines: list[int] = []
    rows: list[list[str]] = []
    n_blank = gap = 0
    try:
        lines_of_text = lines_of(_blocks_of(text), path)
        for line, cells in numbered_records(lines_of_text, delimiter, path, budget):
            if is_blank(cells):
                gap += 1
                continue
            n_blank, gap = n_blank + (gap if rows else 0), 0
            lines.append(line)
            rows.append(cells)
            if most is not None and len(rows) > most:
                is_cut = True
                break
    except TableError:
        if not is_cut:
            raise
        # The text ends within quotes; reading on will show how they end.
        return FilledRows(lines, rows, complete=False)
    if is_cut:
        return FilledRows(lines[:-1], rows[:-1], complete=False)
    notes = (f"{n_blank} blank lines between others were skipped.",) if n_blank else ()
    return FilledRows(lines, rows, notes=notes)


def named_records(found: FilledRows, path: Path, delimiter: str = ",", ending: str = "") -> Records:
    r"""Find the header of a table and name its columns.

    Parameters
    ----------
    found : FilledRows
    path : Path
        For errors.
    delimiter : str
        By which the text is split.
    ending : str
        Of the file's name.

    Raises
    ------
    TableError
        Naming the line, if rows have different numbers of cells; naming the columns, if two have
        the same name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from negcorr.reading.delimited import filled_rows, named_records
    >>> rows = filled_rows("size;name\n1,5;\"a;b\"\n2,5;c\n", ";", Path("data.csv"))
    >>> records = named_records(rows, Path("data.csv"), ";")
    >>> records.names, records.columns
    (('size', 'name'), [['1,5', '2,5'], ['a;b', 'c']])
    """
    if not found.cells:
        raise TableError(f"{path} is empty: there is nothing in it but blanks.")
    check_n_columns(max(map(len, found.cells[:2])), path)
    header, has_header, notes = _header(found.cells, delimiter)
    lines, rows = found.lines[has_header:], found.cells[has_header:]
    width = len(rows[0]) if rows else len(header)
    if width == len(header) + 1 and all(len(cells) == width for cells in rows):
        if not any(cells[-1].strip() for cells in rows):
            notes = ["lines end with a delimiter that the header lacks; it was left out."]
            rows = [cells[:-1] for cells in rows]
        elif len({cells[0] for cells in rows}) == len(rows):
            notes = ["the header lacks a name for the first column, which is taken as row names."]
            header = ["", *header]
    check_widths(len(header), rows, lines, path)
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in header]
    names: list[str] = []
    positions = []
    odd: list[str] = []
    taken = {name.strip() for name in header}
    for j, (name, column) in enumerate(zip(map(str.strip, header), columns, strict=True)):
        if not name:
            if column and not any(cell.strip() for cell in column):
                odd.append(f"column {j + 1} has neither a name nor values and was left out.")
                continue
            name = f"column_{j + 1}"
            while name in taken:
                name += "_"
            odd.append(f"column {j + 1} has no name and is called {name!r}.")
        names.append(name)
        positions.append(j)
    check_names(names, path)
    if len(odd) > MOST_NOTES:
        odd[MOST_NOTES:] = [f"{len(odd) - MOST_NOTES} more columns have no name."]
    notes = [*found.notes, *notes, *odd]
    if len(names) > 1 and delimiter not in (",", "\t" if ending in TAB_ENDINGS else ","):
        notes = [f"cells are separated by {DELIMITERS[delimiter]}.", *notes]
    return Records(
        names=tuple(names),
        columns=[columns[j] for j in positions],
        positions=tuple(positions),
        width=width,
        first_line=lines[0] if lines else found.lines[0],
        has_header=has_header,
        complete=found.complete,
        notes=tuple(notes),
    )


def _header(rows: list[list[str]], delimiter: str) -> tuple[list[str], bool, list[str]]:
    """Names of the columns, whether the first row holds them, and notes."""
    first = rows[0]
    # Semicolons leave room for decimal commas.
    cells = [cell.replace(",", ".") if delimiter == ";" else cell for cell in first]
    numbers = [plain_number(cell) is not None for cell in cells]
    if any(numbers) and all(
        is_number or is_missing_mark(cell) for is_number, cell in zip(numbers, cells, strict=True)
    ):
        names = [f"column_{j}" for j in range(1, len(first) + 1)]
        called = f"columns are called {names[0]} to {names[-1]}"
        note = f"the first line holds numbers only, so it is taken as a row, and {called}."
        return names, False, [note]
    if len(rows) == 1:
        return first, True, ["there is a header and no row."]
    odd = next((name for name in first if plain_number(name) is not None), None)
    if odd is None:
        return first, True, []
    advice = "if it is a row, put a line of names above it"
    taken = "the first line is taken for names of columns"
    return first, True, [f"{taken}, and {shortened(odd)} is a number: {advice}."]


def check_names(names: Iterable[str], path: Path) -> None:
    """Raise an error where two columns have the same name, or there are none or too many."""
    names = list(names)
    if not names:
        raise TableError(f"{path} has no columns.")
    check_n_columns(len(names), path)
    places = defaultdict(list)
    for j, name in enumerate(names, start=1):
        places[name].append(str(j))
    twice = [(shortened(name), listed(at, 5)) for name, at in places.items() if len(at) > 1]
    if twice:
        where = "; ".join(f"{name} in columns {at}" for name, at in twice[:5])
        raise TableError(f"{path} has columns of the same name: {where}. Rename them.")


def check_widths(width: int, rows: Iterable[list[str]], lines: Iterable[int], path: Path) -> None:
    """Raise an error where a record has more or fewer cells than there are names."""
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != width:
            many = f"{len(cells)} cell{'s' * (len(cells) != 1)} where the header has {width}"
            start = shortened(cells[0])
            raise TableError(f"{path}, line {line}: {many}; the line begins with {start}.")


def is_blank(cells: list[str]) -> bool:
    """Whether a line has nothing in it, and is skipped."""
    return not cells or (len(cells) == 1 and not cells[0].strip())


def numbered_records(
    text: Iterable[str], delimiter: str, path: Path, budget: Budget | None = None
) -> Iterator[tuple[int, list[str]]]:
    """First line and cells of each record of a text that is given line by line."""
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        first = reader.line_num + 1
        try:
            with _long_cells():
                # Many at a time: the limit holds for the whole process, and is set for each batch.
                batch, n_cells = [], 0
                for cells in itertools.islice(reader, BATCH_ROWS):
                    batch.append((first, cells))
                    first = reader.line_num + 1
                    n_cells += len(cells)
                    if n_cells > BATCH_CELLS:
                        break
        except csv.Error as error:
            advice = "Quotes must enclose a whole cell, and quotes within be doubled."
            raise TableError(f"{path}, line {first}: {error}. {advice}") from error
        if not batch:
            return
        if budget is not None:
            budget.take(ROW_BYTES * len(batch) + CELL_BYTES * n_cells, "its cells")
        yield from batch


def lines_of(blocks: Iterable[str], path: Path) -> Iterator[str]:
    """Lines of a text in blocks, each with its end.

    Parameters
    ----------
    blocks : iterable of str
    path : Path
        For errors.

    Raises
    ------
    TableError
        If a line is longer than the limit.
    """
    parts: list[str] = []
    length = 0
    for block in blocks:
        # A line feed may follow a return.
        text = parts.pop() + block if parts and parts[-1].endswith("\r") else block
        lines = io.StringIO(text, newline="").readlines()
        last = lines.pop() if lines and not lines[-1].endswith("\n") else ""
        for line in lines:
            yield "".join([*parts, line])
            parts, length = [], 0
        length += len(last)
        if length > MOST_RECORD:
            raise record_too_long(path)
        parts += [last] if last else []
    if parts:
        yield "".join(parts)


def _blocks_of(text: str) -> Iterator[str]:
    """A text in blocks, so that no second copy of it is made."""
    return (text[at : at + TEXT_BLOCK] for at in range(0, len(text), TEXT_BLOCK))


@contextmanager
def _long_cells() -> Iterator[None]:
    """Longer cells than the 131072 characters beyond which Python's reader refuses them."""
    with _LIMIT:
        before = csv.field_size_limit(MOST_RECORD)
        try:
            yield
        finally:
            csv.field_size_limit(before)
