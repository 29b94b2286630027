"""What a file is, by its first bytes and by its ending; archives taken apart."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from negcorr.exceptions import TableError

__all__ = [
    "COMPRESSED",
    "DAMAGED",
    "ENDINGS",
    "MOST_LAYERS",
    "NAMES",
    "OPENERS",
    "Content",
    "Layers",
    "check_is_file",
    "close_files",
    "format_of",
    "layers_of",
    "only_entry",
    "open_content",
    "surprise",
]


#: Formats by the ending of a file.
ENDINGS = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".dat": "text",
    ".data": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".arff": "arff",
    ".xlsx": "excel",
    ".xlsm": "excel",
}

NAMES = {
    "text": "text",
    "parquet": "Parquet",
    "feather": "Feather",
    "arff": "ARFF",
    "excel": "an Excel sheet",
    "gzip": "gzip",
    "bzip2": "bzip2",
    "xz": "xz",
    "zip": "a zip archive",
}

COMPRESSED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"}

_MAGIC = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "feather"),
    (b"FEA1", "feather"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)

#: Files that people take for tables, and what to do with them.
_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls); save it as .xlsx or CSV"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; take it apart first"),
    (b"7z\xbc\xaf", "a 7z archive; take it apart first"),
    (b"SQLite format 3", "an SQLite database; export a table of it as CSV"),
    (b"\x89HDF", "an HDF5 file; export a table of it as CSV or Parquet"),
    (b"%PDF", "a PDF"),
    (b"version https://git-lfs", "a pointer of Git LFS; fetch the file itself (git lfs pull)"),
    (b"<!doctype html", "a web page, often the error page of a failed download"),
    (b"<html", "a web page, often the error page of a failed download"),
)

#: Most bytes that an archive may grow to: small files can be made that never end.
MOST_BYTES = 8 * 2**30

#: Archives within archives that are taken apart.
MOST_LAYERS = 3

OPENERS: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


@dataclass(frozen=True)
class Content:
    """Bytes of a table, out of all archives.

    Attributes
    ----------
    data : bytes
    format : {"text", "arff", "parquet", "feather", "excel"}
    ending : str
        Ending of the name that the bytes had last, such as ".tsv".
    notes : tuple of str
        Where the ending of a name promised something else.
    """

    data: bytes
    format: str
    ending: str
    notes: tuple[str, ...]


def open_content(path: Path) -> Content:
    """Read a file and take off what it is compressed by.

    Parameters
    ----------
    path : Path

    Raises
    ------
    TableError
        If there is no such file, it is empty, damaged, or no table.
    """
    data, name = _bytes(path), path.name
    notes: list[str] = []
    for _ in range(MOST_LAYERS + 1):
        found = format_of(data, path)
        notes += surprise(name, found)
        if found not in COMPRESSED.values():
            return Content(data, found, Path(name).suffix.lower(), tuple(notes))
        data, name = _unpacked(data, name, found, path)
        if not data:
            raise TableError(f"{path} is empty inside its {found} archive.")
    raise TableError(f"{path} is an archive in an archive in an archive; take it apart first.")


def check_is_file(path: Path) -> None:
    """Raise where a path is that of a folder."""
    if path.is_dir():
        inside = sorted(file.name for file in path.iterdir() if _looks_like_a_table(file))
        tables = f"; it holds {', '.join(inside[:5])}" if inside else ""
        raise TableError(f"{path} is a folder; give the path of one file{tables}.")


def _bytes(path: Path) -> bytes:
    check_is_file(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"{path} does not exist{close_files(path)}") from None
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read: {error}.") from error
    if not data:
        raise TableError(f"{path} is empty: 0 bytes.")
    return data


def _looks_like_a_table(file: Path) -> bool:
    return file.is_file() and bool({*file.suffixes} & {*ENDINGS, *COMPRESSED})


def close_files(path: Path) -> str:
    """Files of similar names, as the end of an error."""
    import difflib

    try:
        names = [file.name for file in path.parent.iterdir()]
    except (OSError, ValueError):
        return "."
    close = difflib.get_close_matches(path.name, names, n=3, cutoff=0.75)
    return f"; did you mean {' or '.join(close)}?" if close else "."


def format_of(data: bytes, path: Path, whole: Path | None = None) -> str:
    """The format by content, or by its first bytes where the whole is elsewhere."""
    for start, format in _MAGIC:
        if data.startswith(start):
            workbook = format == "zip" and _is_workbook(whole or io.BytesIO(data))
            return "excel" if workbook else format
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for start, what in _FOREIGN:
        if data.startswith(start) or head.startswith(start):
            raise TableError(f"{path} is no table but {what}.")
    return "arff" if _begins_as_arff(head) else "text"


def _begins_as_arff(head: bytes) -> bool:
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"%")), b"")
    return first.split(None, 1)[:1] == [b"@relation"]


def _is_workbook(whole: Any) -> bool:
    try:
        with zipfile.ZipFile(whole) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except DAMAGED:
        return False


def surprise(name: str, found: str) -> list[str]:
    """A note where the ending of a name promises something else."""
    ending = Path(name).suffix.lower()
    expected = COMPRESSED.get(ending, ENDINGS.get(ending))
    # Text that should be ARFF is for the reader of ARFF to judge.
    if expected is None or expected == found or (expected, found) == ("arff", "text"):
        return []
    return [f"{name} is {NAMES[found]}, whatever its ending says; read as such."]


def _unpacked(data: bytes, name: str, found: str, path: Path) -> tuple[bytes, str]:
    try:
        if found == "zip":
            return _only_member(data, path)
        with OPENERS[found](io.BytesIO(data)) as stream:
            inside = stream.read(MOST_BYTES + 1)
    except DAMAGED as error:
        raise TableError(f"{path} is {NAMES[found]} but damaged: {error}.") from error
    bare = Path(name)
    ours = COMPRESSED.get(bare.suffix.lower()) == found
    return _bounded(inside, path), bare.stem if ours else name


def _only_member(data: bytes, path: Path) -> tuple[bytes, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = only_entry(archive, path)
        with archive.open(entry) as stream:
            return _bounded(stream.read(MOST_BYTES + 1), path), Path(entry.filename).name


def only_entry(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """The one file in a zip archive."""
    members = [
        entry
        for entry in archive.infolist()
        # Folders, and what some systems add of their own.
        if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        names = ", ".join(entry.filename for entry in members[:5]) or "nothing"
        raise TableError(f"{path} must hold one file; it is a zip archive of {names}.")
    if members[0].flag_bits & 1:
        raise TableError(f"{path} is a zip archive with a password; take it apart first.")
    return members[0]


def _bounded(data: bytes, path: Path) -> bytes:
    if len(data) > MOST_BYTES:
        raise TableError(f"{path} grows beyond {MOST_BYTES / 2**30:.0f} GiB when unpacked.")
    return data


@dataclass(frozen=True)
class Layers:
    """What a file is, and how to read it from its beginning without holding it whole.

    Attributes
    ----------
    path : Path
    archives : tuple of str
        What it is compressed by, from the outside.
    format, ending, notes
        As in :class:`~negcorr.reading.file_format.Content`.
    """

    path: Path
    archives: tuple[str, ...]
    format: str
    ending: str
    notes: tuple[str, ...]

    def blocks(self, size: int) -> Iterator[bytes]:
        """All bytes of the table, in pieces."""
        with ExitStack() as stack:
            stream = _opened(self.path, stack)
            try:
                for archive in self.archives:
                    stream = stack.enter_context(_inside(stream, archive, self.path, stack))
                while block := stream.read(size):
                    yield block
            except DAMAGED as error:
                last = self.archives[-1:]
                what = f"is {NAMES[last[0]]} but damaged" if last else "cannot be read"
                raise TableError(f"{self.path} {what}: {error}.") from error


def layers_of(path: Path) -> Layers:
    """Find out what a file is from its first bytes.

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
    >>> from negcorr.reading.file_format import layers_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "data.csv.gz")
    ...     _ = file.write_bytes(gzip.compress(b"a,b"))
    ...     found = layers_of(file)
    ...     found.archives, found.format, found.ending, list(found.blocks(2))
    (('gzip',), 'text', '.csv', [b'a,', b'b'])
    """
    layers = Layers(path, (), "", path.name, ())
    for _ in range(MOST_LAYERS + 1):
        head = next(layers.blocks(2**16), b"")
        if not head:
            inner = f"empty inside its {layers.archives[-1]} archive" if layers.archives else ""
            raise TableError(f"{path} is {inner or 'empty: 0 bytes'}.")
        whole = None if layers.archives else path
        found, name = format_of(head, path, whole), layers.ending
        notes = (*layers.notes, *surprise(name, found))
        if found not in COMPRESSED.values():
            return Layers(path, layers.archives, found, Path(name).suffix.lower(), notes)
        if found == "zip":
            name = _name_in_zip(layers)
        elif COMPRESSED.get(Path(name).suffix.lower()) == found:
            name = Path(name).stem
        layers = Layers(path, (*layers.archives, found), "", name, notes)
    raise TableError(f"{path} is an archive in an archive in an archive; take it apart first.")


def _opened(path: Path, stack: ExitStack) -> Any:
    check_is_file(path)
    try:
        return stack.enter_context(path.open("rb"))
    except FileNotFoundError:
        raise TableError(f"{path} does not exist{close_files(path)}") from None
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read: {error}.") from error


def _inside(stream: IO[bytes], archive: str, path: Path, stack: ExitStack) -> Any:
    if archive != "zip":
        return OPENERS[archive](stream)
    whole = stack.enter_context(zipfile.ZipFile(stream))
    return whole.open(only_entry(whole, path))


def _name_in_zip(layers: Layers) -> str:
    with ExitStack() as stack:
        stream = _opened(layers.path, stack)
        try:
            for archive in layers.archives:
                stream = stack.enter_context(_inside(stream, archive, layers.path, stack))
            whole = stack.enter_context(zipfile.ZipFile(stream))
            return Path(only_entry(whole, layers.path).filename).name
        except DAMAGED as error:
            raise TableError(f"{layers.path} is a zip archive but damaged: {error}.") from error
