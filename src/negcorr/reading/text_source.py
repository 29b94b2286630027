"""TextSource: large text with delimiters as pyarrow tables of text cells, block by block.

pyarrow's reader of CSV does the work where quotes are plain, and Python's where they are not; both
give the same cells.
"""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading import delimited
from negcorr.reading.cell_kinds import as_kind, kinds_by_schema, kinds_of_cells
from negcorr.reading.column_types import data_frame
from negcorr.reading.decoding import encoding_by_mark
from negcorr.reading.file_format import TableFile
from negcorr.reading.limits import MOST_RECORD, record_too_long
from negcorr.reading.number_cells import number_form
from negcorr.reading.schema import Schema
from negcorr.reading.text_bytes import BLOCK_BYTES, TextBytes, whole_records

__all__ = ["TextSource"]

#: Bytes from the beginning of a file from which header and width are found, and most rows.
HEAD_BYTES = 2**20
HEAD_ROWS = 5000

#: Records that Python's reader hands over at a time.
RECORDS = 8192


@dataclass(frozen=True, eq=False)
class TextSource:
    """A text with delimiters that gives its rows as tables of text, as often as asked.

    Attributes
    ----------
    bytes_ : TextBytes
    head : Records
        The first rows.
    skip : int
        Bytes of UTF-8 before the first row.
    delimiter : str
    notes : tuple of str
    """

    bytes_: TextBytes
    head: delimited.Records
    skip: int
    delimiter: str
    notes: tuple[str, ...]

    @classmethod
    def open(cls, file: TableFile) -> TextSource:
        """Find out how a text is written.

        Parameters
        ----------
        file : TableFile

        Raises
        ------
        TableError
            As :func:`~negcorr.read_table` does.
        """
        size = HEAD_BYTES
        while True:
            blocks, length = [], 0
            for block in file.blocks(min(size, BLOCK_BYTES)):
                blocks.append(block)
                length += len(block)
                if length > size:
                    break
            is_cut, data = length > size, b"".join(blocks)[:size]
            by_mark = encoding_by_mark(data)[0]
            delimiter = delimited.delimiter_of(
                _text_of(data, is_cut, by_mark or "latin-1"), file.ending
            )
            bytes_ = TextBytes.scan(file, delimiter)
            text = _text_of(data, is_cut, by_mark or bytes_.encoding)
            rows = delimited.filled_rows(text, delimiter, file.path, HEAD_ROWS, is_cut)
            if rows.complete or len(rows.cells) > 1:
                break
            # A record longer than the head.
            if size > MOST_RECORD:
                raise record_too_long(file.path)
            size *= 16
        head = delimited.named_records(rows, file.path, delimiter, file.ending)
        before = itertools.islice(io.StringIO(text, newline=""), head.first_line - 1)
        skip = sum(len(line.encode("utf-8", "surrogatepass")) for line in before)
        return cls(bytes_, head, skip, delimiter, (*file.notes, *bytes_.notes, *head.notes))

    @property
    def names(self) -> tuple[str, ...]:
        """Columns."""
        return self.head.names

    @property
    def n_rows(self) -> int:
        """Rows of the head where that is all, or else lines."""
        if self.head.complete:
            return len(self.head.columns[0])
        return max(self.bytes_.n_lines - self.head.has_header, 0)

    def kinds(self, schema: Schema | None) -> dict[str, str]:
        """How columns are read: by the first rows, or by a schema."""
        if schema is None:
            return kinds_of_cells(self.names, self.head.columns, self.delimiter)[0]
        return kinds_by_schema(schema, self.names, self.head.columns, self.delimiter)

    def kinds_after(
        self, table: Any, kinds: Mapping[str, str], refuted: Mapping[str, set[str]]
    ) -> dict[str, str]:
        """The kinds of columns, where cells of a table may show that they are others.

        Parameters
        ----------
        table : pyarrow.Table
            Of the columns that have a kind.
        kinds : mapping of str to str
            By the rows before.
        refuted : mapping of str to set of str
            For every column the kinds that some of its cells have not; it is added to.
        """
        path, found = self.bytes_.file.path, dict(kinds)
        wrong = []
        for name in table.column_names:
            cells = table.column(name)
            try:
                as_kind(cells, kinds[name], name, path, 0)
                # A number with a decimal point is read beside those with commas, but no column of
                # a table in memory has both.
                words = cells.unique().to_pylist() if kinds[name] == "comma" else []
                is_other = bool(words) and number_form([*words, "0,5"]) != "comma"
            except TableError:
                is_other = True
            if is_other:
                wrong.append(name)
                refuted[name].add(kinds[name])
        if wrong:
            head = dict(zip(self.names, self.head.columns, strict=True))
            every = [[*head[n], *table.column(n).to_pylist()] for n in table.column_names]
            shown = kinds_of_cells(table.column_names, every, self.delimiter)[0]
            found |= {n: "text" if shown[n] in refuted[n] else shown[n] for n in wrong}
        return found

    def frame(self, table: Any, kinds: Mapping[str, str], row: int) -> Any:
        """A table with its cells in their types; ``row`` is the number of rows before it."""
        path, names = self.bytes_.file.path, table.column_names
        return data_frame({n: as_kind(table.column(n), kinds[n], n, path, row) for n in names})

    def tables(self, columns: list[str], block: int) -> Iterator[Any]:
        """Tables of pyarrow, of text without missing values, in the order of the file.

        Parameters
        ----------
        columns : list of str
            Columns to read.
        block : int
            Not used: tables have the rows of a block of bytes.

        Raises
        ------
        TableError
            Naming the line that is broken.
        """
        if self.head.complete and not self.head.columns[0]:
            return
        done, quotes = 0, self.bytes_.quotes
        # Spaces before a cell do not count, those inside its quotes do: pyarrow sees no difference.
        if quotes == "none" or (quotes == "plain" and not self.bytes_.spaces):
            import pyarrow

            try:
                for table in self._by_arrow():
                    done += table.num_rows
                    yield self._chosen(table, columns)
                return
            except pyarrow.ArrowInvalid:
                # Python's reader either says which line is broken or reads it after all: cells
                # longer than a block, say.
                pass
        for table in self._by_python(done):
            yield self._chosen(table, columns)

    def _chosen(self, table: Any, names: list[str]) -> Any:
        """Some columns by name, after a look at the cells that have no name."""
        import pyarrow.compute as pc

        for j in self.head.empty_positions:
            column = table.column(str(j))
            full = pc.index(pc.not_equal(pc.utf8_trim_whitespace(column), ""), True).as_py()
            if full >= 0:
                path, cell = self.bytes_.file.path, shortened(column[full].as_py())
                raise TableError(
                    f"{path}: column {j + 1} has no name and was empty in the first rows, but "
                    f"holds {cell} further down. Give it a name in the header."
                )
        at = dict(zip(self.head.names, self.head.positions, strict=True))
        return table.select([str(at[name]) for name in names]).rename_columns(list(names))

    def _by_arrow(self) -> Iterator[Any]:
        import pyarrow
        import pyarrow.compute as pc
        import pyarrow.csv

        path, quoted = self.bytes_.file.path, self.bytes_.quotes == "plain"
        names = [str(j) for j in range(self.head.width)]
        parse = pyarrow.csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
            # Blank lines as in is_blank: blanks between delimiters are cells.
            invalid_row_handler=lambda row: (
                "skip" if row.actual_columns == 1 and not row.text.strip() else "error"
            ),
        )
        convert = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pyarrow.string()))
        # Block by block: the reader for streams would read many of them ahead, in a thread.
        for block in whole_records(self.bytes_.blocks(self.skip), path):
            size = len(block) + 1
            read = pyarrow.csv.ReadOptions(use_threads=False, block_size=size, column_names=names)
            table = pyarrow.csv.read_csv(pyarrow.BufferReader(block), read, parse, convert)
            if self.bytes_.spaces:
                for k, name in enumerate(table.column_names):
                    table = table.set_column(k, name, pc.utf8_ltrim(table.column(k), " "))
            if self.head.width == 1:
                # Lines that are blank are no rows.
                table = table.filter(pc.not_equal(pc.utf8_trim_whitespace(table.column(0)), ""))
            yield table

    def _by_python(self, skip: int) -> Iterator[Any]:
        import pyarrow

        path = self.bytes_.file.path
        names = [str(j) for j in range(self.head.width)]
        text = codecs.iterdecode(self.bytes_.blocks(), "utf-8", "surrogatepass")
        by_line = delimited.lines_of(text, path)
        found = delimited.numbered_records(by_line, self.delimiter, path)
        full = ((line, cells) for line, cells in found if not delimited.is_blank(cells))
        rows = itertools.islice(full, skip + self.head.has_header, None)
        while batch := list(itertools.islice(rows, RECORDS)):
            lines, cells = zip(*batch, strict=True)
            delimited.check_widths(self.head.width, cells, lines, path)
            columns = zip(*cells, strict=True)
            arrays = [pyarrow.array(list(column), pyarrow.string()) for column in columns]
            yield pyarrow.table(dict(zip(names, arrays, strict=True)))


def _text_of(head: bytes, is_cut: bool, encoding: str) -> str:
    """Text of the first bytes, whose last letter may be cut."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return decoder.decode(head, final=not is_cut)
