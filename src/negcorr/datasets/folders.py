"""Folders where data may lie, and the files in them.

A data folder has ``<name>.csv.gz`` or ``<name>.csv``. A compressed file is taken to be a copy of
the published one and must have its checksum; of a plain file, which a user may have made, only
columns and sizes are checked.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from negcorr.datasets.columns import Columns, columns_of
from negcorr.datasets.errors import DatasetError
from negcorr.datasets.registry import DatasetInfo
from negcorr.exceptions import TableError
from negcorr.reading.file_format import TableFile
from negcorr.reading.table import text_columns

__all__ = [
    "VARIABLE",
    "DataFolder",
    "cache_folder",
    "data_folders",
    "file_names",
    "find_file",
    "read_file",
]

#: Environment variable that names a data folder.
VARIABLE = "NEGCORR_DATA"


@dataclass(frozen=True)
class DataFolder:
    """A folder to look into.

    Attributes
    ----------
    label : str
        What named it: the argument "data_home", the variable, or "cache".
    folder : Path or None
        The folder; None if the variable is not set.
    """

    label: str
    folder: Path | None

    def __str__(self) -> str:
        return f"{self.label}: {'not set' if self.folder is None else self.folder}"


def data_folders(data_home: str | os.PathLike[str] | None = None) -> tuple[DataFolder, ...]:
    """Folders in the order in which they are searched.

    Parameters
    ----------
    data_home : str or path-like, optional
        A folder to look into first.

    Returns
    -------
    tuple of DataFolder
        ``data_home`` if given, the variable, the cache.

    Examples
    --------
    >>> from negcorr.datasets.folders import data_folders
    >>> [folder.label for folder in data_folders(".")]
    ['data_home', '$NEGCORR_DATA', 'cache']
    """
    if not isinstance(data_home, (str, os.PathLike, type(None))):
        raise TypeError(
            f"data_home={data_home!r} must be a string, a path or None, got "
            f"{type(data_home).__name__}."
        )
    found = []
    # An empty variable is how shells unset one for a single command.
    named = {"data_home": data_home, f"${VARIABLE}": os.environ.get(VARIABLE) or None}
    for label, given in named.items():
        folder = None if given is None else Path(given).expanduser()
        if folder is not None and (given == "" or not folder.is_dir()):
            raise NotADirectoryError(f"{label}={str(given)!r} must be a folder that exists.")
        if folder is not None or label != "data_home":
            found.append(DataFolder(label, folder))
    return (*found, DataFolder("cache", cache_folder()))


def cache_folder() -> Path:
    """The user's cache; it need not exist."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says that a relative path is to be ignored.
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "negcorr"


def file_names(entry: DatasetInfo) -> tuple[str, str]:
    """Names that the file of a data set may have, the preferred one first."""
    return f"{entry.name}.csv.gz", f"{entry.name}.csv"


def find_file(entry: DatasetInfo, folders: tuple[DataFolder, ...]) -> Path | None:
    """The first file of a data set that exists, None if there is none; it is not opened."""
    for each in folders:
        for name in file_names(entry):
            if each.folder is not None and (each.folder / name).is_file():
                return each.folder / name
    return None


def read_file(path: Path, entry: DatasetInfo) -> Columns:
    """The columns of a file, checked.

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
    digest = entry.sha256
    if path.suffix == ".gz":
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if entry.sha256 not in (None, digest):
        raise DatasetError(
            f"{path} is not the published copy of {entry.name}: its SHA-256 is {digest}, and must "
            f"be {entry.sha256}. Copy or download it again; if it is your own version, unpack it "
            f"to {path.with_suffix('').name} and remove this file, for a plain file is checked by "
            "its columns and sizes only."
        )
    try:
        table, _ = text_columns(TableFile.find(path))
    except TableError as error:
        raise DatasetError(f"{error}") from error
    return columns_of(table, entry.target_names, entry, str(path))
