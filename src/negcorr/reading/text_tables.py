"""Large text with delimiters as tables of text cells, piece by piece."""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.delimited import NAMES, check_widths, is_blank, numbered, sniffed_delimiter
from negcorr.reading.file_format import Layers
from negcorr.reading.text_bytes import BLOCK_BYTES, BytesReader, TextBytes, mark_of, whole_records
from negcorr.reading.text_layout import Layout

__all__ = ["TextTables"]

#: Bytes from the beginning of a file from which header and width are found.
HEAD_BYTES = 2**20

#: Records that Python's reader hands over at a time.
RECORDS = 8192


@dataclass(frozen=True, eq=False)
class TextTables:
    """A text that gives its rows as tables of text, again and again.

    Attributes
    ----------
    bytes_ : TextBytes
    layout : Layout
    delimiter : str
    notes : tuple of str
    """

    bytes_: TextBytes
    layout: Layout
    delimiter: str
    notes: tuple[str, ...]

    @classmethod
    def open(cls, layers: Layers) -> TextTables:
        """Find out how a text is written.

        Parameters
        ----------
        layers : Layers

        Raises
        ------
        TableError
            As :func:`~negcorr.reading.table.read_table` does.
        """
        size = HEAD_BYTES
        while True:
            head, complete = _head(layers, size)
            rough = _text_of(head, complete, "latin-1")
            tabs = layers.ending in (".tsv", ".tab") and "\t" in rough
            delimiter = "\t" if tabs else sniffed_delimiter(rough)
            bytes_ = TextBytes.look_at(layers, delimiter)
            text = _text_of(head, complete, bytes_.encoding)
            layout = Layout.of(text, complete, delimiter, layers.path)
            if layout is not None:
                break
            # A record longer than the head.
            size *= 16
        said = [*bytes_.notes]
        if len(layout.names) > 1 and delimiter != ("\t" if tabs else ","):
            said.append(f"cells are cut by {NAMES[delimiter]}.")
        return cls(bytes_, layout, delimiter, (*said, *layout.notes))

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.bytes_.layers.path

    def tables(self, names: Sequence[str]) -> Iterator[Any]:
        """Tables of pyarrow, of text without missing values, in the order of the file.

        Parameters
        ----------
        names : sequence of str
            Columns to read.

        Raises
        ------
        TableError
            Naming the line that is broken.
        """
        if self.layout.complete and not self.layout.head[0]:
            return
        by_arrow = self.bytes_.quotes != "odd" and not (
            # Spaces before a cell do not count, those within its quotes do.
            self.bytes_.quotes == "plain" and self.bytes_.spaces
        )
        done = 0
        if by_arrow:
            import pyarrow

            try:
                for table in self._by_arrow():
                    done += table.num_rows
                    yield self._chosen(table, names)
                return
            except pyarrow.ArrowInvalid:
                # Python's reader either says which line is broken or reads it after all: cells
                # longer than a block, say.
                pass
        for table in self._by_python(done):
            yield self._chosen(table, names)

    def _chosen(self, table: Any, names: Sequence[str]) -> Any:
        for j in self.layout.blank:
            self._check_blank(table, j)
        at = dict(zip(self.layout.names, self.layout.cells, strict=True))
        return table.select([str(at[name]) for name in names]).rename_columns(list(names))

    def _check_blank(self, table: Any, j: int) -> None:
        import pyarrow.compute as pc

        trimmed = pc.utf8_trim_whitespace(table.column(str(j)))
        full = pc.index(pc.not_equal(trimmed, ""), True).as_py()
        if full >= 0:
            cell = shortened(table.column(str(j))[full].as_py())
            raise TableError(
                f"{self.path}: column {j + 1} has no name and was empty in the first rows, but "
                f"holds {cell} further down. Give it a name in the header."
            )

    def _by_arrow(self) -> Iterator[Any]:
        import pyarrow
        import pyarrow.csv

        quoted = self.bytes_.quotes == "plain"
        names = [str(j) for j in range(self.layout.width)]
        wanted = [str(j) for j in sorted((*self.layout.cells, *self.layout.blank))]
        parse = pyarrow.csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
            invalid_row_handler=_skip_blanks,
        )
        convert = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pyarrow.string()), include_columns=wanted
        )
        # Piece by piece: the reader for streams would read many blocks ahead, in a thread.
        for piece in whole_records(self.bytes_.blocks(self.layout.skip)):
            read = pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(piece) + 1, column_names=names
            )
            table = pyarrow.csv.read_csv(pyarrow.BufferReader(piece), read, parse, convert)
            yield self._tidied(table)

    def _tidied(self, table: Any) -> Any:
        """Cells as Python's reader has them."""
        import pyarrow.compute as pc

        if self.bytes_.spaces:
            for k, name in enumerate(table.column_names):
                table = table.set_column(k, name, pc.utf8_ltrim(table.column(k), " "))
        if self.layout.width == 1:
            # Lines that are blank are no rows.
            table = table.filter(pc.not_equal(pc.utf8_trim_whitespace(table.column(0)), ""))
        return table

    def _by_python(self, skip: int) -> Iterator[Any]:
        import pyarrow

        names = [str(j) for j in range(self.layout.width)]
        with closing(BytesReader(self.bytes_.blocks())) as stream:
            buffered = io.BufferedReader(stream, BLOCK_BYTES)
            text = io.TextIOWrapper(buffered, "utf-8", errors="surrogatepass", newline="")
            found = numbered(text, self.delimiter, self.path)
            full = ((line, cells) for line, cells in found if not is_blank(cells))
            rows = itertools.islice(full, skip + self.layout.has_header, None)
            while batch := list(itertools.islice(rows, RECORDS)):
                check_widths(names, [cells for _, cells in batch], [n for n, _ in batch], self.path)
                columns = zip(*(cells for _, cells in batch), strict=True)
                arrays = [pyarrow.array(list(column), pyarrow.string()) for column in columns]
                yield pyarrow.table(dict(zip(names, arrays, strict=True)))


def _skip_blanks(row: Any) -> str:
    """As is_blank does: blanks between delimiters are cells."""
    return "skip" if row.actual_columns == 1 and not row.text.strip() else "error"


def _head(layers: Layers, size: int) -> tuple[bytes, bool]:
    """First bytes, and whether these are all."""
    data = b""
    for block in layers.blocks(min(size, BLOCK_BYTES)):
        data += block
        if len(data) > size:
            return data[:size], False
    return data, True


def _text_of(head: bytes, complete: bool, encoding: str) -> str:
    """Text of the first bytes, whose last letter may be cut."""
    mark = mark_of(head)
    decoder = codecs.getincrementaldecoder(mark[0] if mark is not None else encoding)("replace")
    return decoder.decode(head, final=complete)
