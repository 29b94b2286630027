"""The format of a file, by its first bytes and its ending, and its bytes out of all archives.

The first step of reading: :class:`TableFile` is what the readers of text, Parquet and others get.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import io
import lzma
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from negcorr.exceptions import TableError
from negcorr.reading.limits import Budget, Unpacked, damage_as_table_error

__all__ = ["ENDINGS", "NAMES", "TableFile"]

#: Formats and archives: as messages call them, endings of files, first bytes.
_KNOWN = {
    "text": ("text", (".csv", ".tsv", ".tab", ".txt", ".dat", ".data"), ()),
    "parquet": ("Parquet", (".parquet", ".pq"), (b"PAR1",)),
    "feather": ("Feather", (".feather", ".arrow", ".ipc"), (b"ARROW1", b"FEA1")),
    "arff": ("ARFF", (".arff",), ()),
    "excel": ("an Excel sheet", (".xlsx", ".xlsm"), ()),
    "gzip": ("gzip", (".gz",), (b"\x1f\x8b",)),
    "bzip2": ("bzip2", (".bz2",), (b"BZh",)),
    "xz": ("xz", (".xz",), (b"\xfd7zXZ\x00",)),
    "zip": ("a zip archive", (".zip",), (b"PK\x03\x04", b"PK\x05\x06")),
}

#: Formats and archives, as messages call them.
NAMES = {kind: name for kind, (name, _, _) in _KNOWN.items()}

#: Formats and archives by the ending of a file.
ENDINGS = {ending: kind for kind, (_, endings, _) in _KNOWN.items() for ending in endings}

_ARCHIVES = ("gzip", "bzip2", "xz", "zip")

#: Files that people take for tables, and what to do with them.
_OTHER_FILES: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls); save it as .xlsx or CSV"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it first"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    (b"SQLite format 3", "an SQLite database; export a table of it as CSV"),
    (b"\x89HDF", "an HDF5 file; export a table of it as CSV or Parquet"),
    (b"%PDF", "a PDF"),
    (b"version https://git-lfs", "a pointer of Git LFS; fetch the file itself (git lfs pull)"),
    ((b"<!doctype html", b"<html"), "a web page, often the error page of a failed download"),
)

#: Archives within archives that are unpacked.
MOST_ARCHIVES = 3

_OPENERS: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}

#: Bytes of a file that are read at a time.
_BLOCK = 2**20


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table, and perhaps archives around it.

    Attributes
    ----------
    path : Path
    archives : tuple of str
        The archives around the table, from the outside: "gzip", "bzip2", "xz" or "zip".
    format : {"text", "arff", "parquet", "feather", "excel"}
        By the content. Text that is called ``.arff`` is "arff" too.
    ending : str
        Ending of the innermost name, such as ".tsv".
    notes : tuple of str
        Remarks where the ending of a name does not fit the content.
    """

    path: Path
    archives: tuple[str, ...] = ()
    format: str = ""
    ending: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def find(cls, path: Path) -> TableFile:
        """The format of a file and the archives around it, by its first bytes.

        Parameters
        ----------
        path : Path

        Raises
        ------
        TableError
            If there is no such file, it is empty, damaged, or no table.

        Examples
        --------
        >>> import gzip, tempfile
        >>> from pathlib import Path
        >>> from negcorr.reading.file_format import TableFile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "data.csv.gz")
        ...     _ = path.write_bytes(gzip.compress(b"a,b"))
        ...     file = TableFile.find(path)
        ...     file.archives, file.format, file.ending, list(file.blocks(2))
        (('gzip',), 'text', '.csv', [b'a,', b'b'])
        """
        file, name = cls(path), path.name
        while len(file.archives) <= MOST_ARCHIVES:
            format = file._format_of_content()
            ending = Path(name).suffix.lower()
            expected = ENDINGS.get(ending)
            if (expected, format) == ("arff", "text"):
                format = "arff"  # its reader says which line is not ARFF
            if expected not in (None, format):
                note = f"{name} is {NAMES[format]}, whatever its ending says; read as such."
                file = replace(file, notes=(*file.notes, note))
            if format not in _ARCHIVES:
                return replace(file, format=format, ending=ending)
            file = replace(file, archives=(*file.archives, format))
            if format == "zip":
                with file.open() as stream:
                    name = Path(str(stream.name)).name
            elif expected == format:
                name = Path(name).stem
        raise TableError(f"{path} is an archive in an archive in an archive; unpack it first.")

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes of the table as a stream; errors name the file and its damaged archive."""
        path = self.path
        if path.is_dir():
            files = (f for f in path.iterdir() if f.is_file() and {*f.suffixes} & {*ENDINGS})
            inside = sorted(file.name for file in files)
            tables = f"; it holds {', '.join(inside[:5])}" if inside else ""
            raise TableError(f"{path} is a folder; give the path of one file{tables}.")
        if "\0" in str(path):
            raise TableError(f"{path} cannot be read: its name has a NUL byte.")
        last = NAMES[self.archives[-1]] if self.archives else ""
        with damage_as_table_error(path, last), ExitStack() as stack:
            if not path.exists():
                names = [file.name for file in path.parent.glob("*")]
                close = difflib.get_close_matches(path.name, names, n=3, cutoff=0.75)
                hint = f"; did you mean {' or '.join(close)}?" if close else "."
                raise TableError(f"{path} does not exist{hint}")
            stream: Any = stack.enter_context(path.open("rb"))
            for archive in self.archives:
                if archive == "zip":
                    whole = stack.enter_context(zipfile.ZipFile(_seekable(stream)))
                    unpacked: Any = whole.open(_only_entry(whole, path))
                else:
                    unpacked = _OPENERS[archive](stream)
                stream = io.BufferedReader(Unpacked(unpacked, path), _BLOCK)
            yield stream

    def blocks(self, size: int) -> Iterator[bytes]:
        """All bytes of the table, at most ``size`` at a time."""
        with self.open() as stream:
            while block := stream.read(size):
                yield block

    def read(self) -> tuple[bytes, Budget]:
        """All bytes of the table, and the memory that is left for what is made of them."""
        budget = Budget.of(self.path)
        parts = []
        for block in self.blocks(_BLOCK):
            budget.take(2 * len(block), "its bytes")
            parts.append(block)
        return b"".join(parts), budget

    def _format_of_content(self) -> str:
        """Format or archive of the bytes within the archives that are known."""
        head = next(self.blocks(2**16), b"")
        if not head:
            inner = f"empty inside its {self.archives[-1]} archive" if self.archives else ""
            raise TableError(f"{self.path} is {inner or 'empty: 0 bytes'}.")
        for format, (_, _, starts) in _KNOWN.items():
            if head.startswith(starts):
                if format == "zip":
                    # Where the archive is damaged, unpacking it will show that.
                    with suppress(TableError), self.open() as stream:
                        if "xl/workbook.xml" in zipfile.ZipFile(_seekable(stream)).namelist():
                            return "excel"
                return format
        text = head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        for start, what in _OTHER_FILES:
            if head.startswith(start) or text.startswith(start):
                raise TableError(f"{self.path} is no table but {what}.")
        lines = (line.strip() for line in text.splitlines())
        first = next((line for line in lines if line and not line.startswith(b"%")), b"")
        return "arff" if first.split(None, 1)[:1] == [b"@relation"] else "text"


def _seekable(stream: Any) -> Any:
    """The stream, or all of its bytes: the directory of a zip archive is at its end."""
    if stream.seekable():
        return stream
    return io.BytesIO(b"".join(iter(lambda: stream.read(_BLOCK), b"")))


def _only_entry(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """The one file in a zip archive."""
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    # Without what some systems add of their own.
    members = [entry for entry in files if not entry.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        names = ", ".join(entry.filename for entry in members[:5]) or "nothing"
        raise TableError(f"{path} must hold one file; it is a zip archive of {names}.")
    if members[0].flag_bits & 1:
        raise TableError(f"{path} is a zip archive with a password; unpack it first.")
    return members[0]
