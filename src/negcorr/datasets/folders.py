"""Folders where data may lie, and the files in them.

A home is a folder of ``<name>.csv.gz`` or ``<name>.csv``. A compressed file is taken to be a
copy of the published one and must have its checksum; a plain file may be anybody's, so its
columns and sizes are what is checked.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr.datasets.columns import Columns, parse_csv
from negcorr.datasets.errors import DatasetError
from negcorr.datasets.registry import DatasetInfo

__all__ = ["VARIABLE", "Home", "cache_folder", "file_names", "find_file", "find_homes", "read_file"]

#: Environment variable that names a home.
VARIABLE = "NEGCORR_DATA"


@dataclass(frozen=True)
class Home:
    """One place to look.

    Attributes
    ----------
    label : str
        Who named it: an argument, a variable, or nobody.
    folder : Path or None
        The folder; None if the variable is not set.
    """

    label: str
    folder: Path | None

    def __str__(self) -> str:
        return f"{self.label}: {'not set' if self.folder is None else self.folder}"


def find_homes(data_home: str | os.PathLike[str] | None = None) -> tuple[Home, ...]:
    """Homes in the order in which they are searched.

    Parameters
    ----------
    data_home : str or path-like, optional
        A folder to look into first.

    Returns
    -------
    tuple of Home
        ``data_home`` if given, the variable, the cache.

    Examples
    --------
    >>> from negcorr.datasets.folders import find_homes
    >>> [home.label for home in find_homes(".")]
    ['data_home', '$NEGCORR_DATA', 'cache']
    """
    homes = [] if data_home is None else [Home("data_home", _given_folder(data_home))]
    variable = os.environ.get(VARIABLE)
    # An empty variable is how shells unset one for a single command.
    folder = _existing(f"${VARIABLE}", variable) if variable else None
    return (*homes, Home(f"${VARIABLE}", folder), Home("cache", cache_folder()))


def cache_folder() -> Path:
    """The user's cache; it need not exist."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says that a relative path is to be ignored.
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "negcorr"


def file_names(entry: DatasetInfo) -> tuple[str, str]:
    """Names that the file of a data set may have, the preferred one first."""
    return f"{entry.name}.csv.gz", f"{entry.name}.csv"


def find_file(entry: DatasetInfo, homes: tuple[Home, ...]) -> Path | None:
    """The first file of a data set that exists, None if there is none; it is not opened."""
    for home in homes:
        for name in file_names(entry):
            if home.folder is not None and (home.folder / name).is_file():
                return home.folder / name
    return None


def read_file(path: Path, entry: DatasetInfo) -> Columns:
    """The columns of a file of a home, checked.

    Parameters
    ----------
    path : Path
        ``<name>.csv.gz`` or ``<name>.csv``.
    entry : DatasetInfo
        What it must hold.

    Returns
    -------
    Columns

    Raises
    ------
    DatasetError
        If the file is damaged, or is not the data set.
    """
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = _unpacked(content, path, entry)
    try:
        text = content.decode("utf-8-sig")  # spreadsheets put a mark in front
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not text in UTF-8: {error}.") from error
    return parse_csv(text, entry, str(path))


def _unpacked(content: bytes, path: Path, entry: DatasetInfo) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if entry.sha256 is None or found == entry.sha256:
        return _read_gzip(content, path, keep=True)
    # "Cut short" says more than "differs".
    _read_gzip(content, path, keep=False)
    raise DatasetError(
        f"{path} is not the published copy of {entry.name}: its SHA-256 is {found}, and must "
        f"be {entry.sha256}. Copy it again; if it is your own version, unpack it to "
        f"{path.with_suffix('').name} and remove this file, for a plain file is checked by its "
        "columns and sizes only."
    )


def _read_gzip(content: bytes, path: Path, keep: bool) -> bytes:
    """The plain bytes, or none of them where only their soundness is in question."""
    parts = []
    try:
        with gzip.open(io.BytesIO(content)) as file:
            while part := file.read(1 << 20):
                if keep:
                    parts.append(part)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetError(
            f"{path} is cut short or not gzip: {error}. Copy or download it again."
        ) from error
    return b"".join(parts)


def _given_folder(data_home: Any) -> Path:
    if not isinstance(data_home, (str, os.PathLike)):
        raise TypeError(
            f"data_home={data_home!r} must be a string, a path or None, got "
            f"{type(data_home).__name__}."
        )
    return _existing("data_home", data_home)


def _existing(label: str, value: str | os.PathLike[str]) -> Path:
    folder = Path(value).expanduser()
    if value == "" or not folder.is_dir():
        raise NotADirectoryError(f"{label}={str(value)!r} must be a folder that exists.")
    return folder
