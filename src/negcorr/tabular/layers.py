"""What a file is, by its first bytes, and its bytes piece by piece out of all archives."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from negcorr.exceptions import TableError
from negcorr.tabular.content import (
    COMPRESSED,
    DAMAGED,
    MOST_LAYERS,
    NAMES,
    OPENERS,
    check_is_file,
    close_files,
    format_of,
    only_entry,
    surprise,
)

__all__ = ["Layers", "layers_of"]


@dataclass(frozen=True)
class Layers:
    """What a file is, and how to read it from its beginning without holding it whole.

    Attributes
    ----------
    path : Path
    archives : tuple of str
        What it is compressed by, from the outside.
    format, ending, notes
        As in :class:`~negcorr.tabular.content.Content`.
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
    >>> from negcorr.tabular.layers import layers_of
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
