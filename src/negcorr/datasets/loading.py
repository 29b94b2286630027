"""From a name to data: the data folders first, then OpenML."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from negcorr.datasets import folders
from negcorr.datasets.dataset import Dataset, as_dataset
from negcorr.datasets.errors import MissingDatasetError
from negcorr.datasets.openml import DownloadError, fetch_columns
from negcorr.datasets.registry import DATASETS, DatasetInfo, info
from negcorr.reading.optional import import_optional

__all__ = ["Availability", "available", "is_available", "load"]


@dataclass(frozen=True)
class Availability:
    """Whether a data set can be had.

    Attributes
    ----------
    name : str
        The data set.
    status : {"here", "download", "missing"}
        There is a file in a data folder; there is none, but OpenML has it; neither.
    path : Path or None
        The file, if there is one. It has not been opened, so its checksum is yet to be checked.
    """

    name: str
    status: Literal["here", "download", "missing"]
    path: Path | None


@overload
def load(
    name: str,
    *,
    data_home: str | PathLike[str] | None = ...,
    as_frame: bool = ...,
    return_X_y: Literal[False] = ...,
    fetch: bool = ...,
) -> Dataset: ...


@overload
def load(
    name: str,
    *,
    data_home: str | PathLike[str] | None = ...,
    as_frame: bool = ...,
    return_X_y: Literal[True],
    fetch: bool = ...,
) -> tuple[Any, Any]: ...


def load(
    name: str,
    *,
    data_home: str | PathLike[str] | None = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    fetch: bool = True,
) -> Dataset | tuple[Any, Any]:
    """A data set of the paper, checked against the registry.

    Parameters
    ----------
    name : str
        A key of ``DATASETS``.
    data_home : str or path-like, optional
        A folder to look into first.
    as_frame : bool, default=False
        pandas objects in place of arrays.
    return_X_y : bool, default=False
        Only the pair (data, target).
    fetch : bool, default=True
        Ask OpenML if no folder has the file. With False only the folders are searched: neither
        the network nor earlier downloads.

    Returns
    -------
    Dataset, or (data, target)
        Values are those of the source, not scaled.

    Raises
    ------
    MissingDatasetError
        If no place has it.
    DatasetError
        If a file or download is damaged, or holds something else. The next place is not tried.
    NotADirectoryError
        If ``data_home`` or the variable names no folder.

    See Also
    --------
    available : What can be loaded, without loading it.

    Notes
    -----
    Places, in this order: ``data_home``, the folder named by the environment variable
    ``NEGCORR_DATA``, the folder ``negcorr`` in the user's cache (``$XDG_CACHE_HOME`` or
    ``~/.cache``), OpenML. A folder has ``<name>.csv.gz``, whose SHA-256 must be the registry's,
    or ``<name>.csv``, of which columns and sizes are checked. Either has a header row, and the
    targets are found by their names in it. Downloads are kept in the cache.

    In arrays a categorical feature becomes one 0/1 column for each category, in alphabetical
    order: ``Sex`` of abalone is ``Sex_F``, ``Sex_I``, ``Sex_M``.

    Examples
    --------
    Random numbers in the form of a file that one would have:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from negcorr.datasets import load
    >>> rows = np.random.default_rng(0).uniform(size=(209, 7))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savetxt(
    ...         Path(folder, "machine.csv"), rows, delimiter=",", comments="",
    ...         header="MYCT,MMIN,MMAX,CACH,CHMIN,CHMAX,PRP",
    ...     )
    ...     machine = load("machine", data_home=folder)
    >>> machine
    Dataset(machine: 209 rows, 6 features, 1 target, from ...machine.csv)
    >>> machine.data.shape, machine.target.shape, machine.target_names
    ((209, 6), (209,), ('PRP',))
    """
    entry = info(name)
    for argument, value in {"as_frame": as_frame, "return_X_y": return_X_y, "fetch": fetch}.items():
        if not isinstance(value, bool):
            raise TypeError(f"{argument}={value!r} must be True or False.")
    if as_frame:  # before minutes go into a download
        import_optional("pandas", "as_frame=True, unlike as_frame=False, needs pandas")
    places = folders.data_folders(data_home)
    path = folders.find_file(entry, places)
    source = f"OpenML {entry.openml_id}" if path is None else str(path)
    if path is not None:
        columns = folders.read_file(path, entry)
    elif entry.openml_id is None:
        raise _missing(entry, places, "OpenML: no copy known")
    elif not fetch:
        raise _missing(entry, places, f"{source}: not asked, since fetch=False")
    else:
        try:
            columns = fetch_columns(entry, folders.cache_folder())
        except DownloadError as error:
            raise _missing(entry, places, str(error)) from error
    dataset = as_dataset(columns, entry, source, as_frame)
    return (dataset.data, dataset.target) if return_X_y else dataset


def available(data_home: str | PathLike[str] | None = None) -> tuple[Availability, ...]:
    """What can be loaded: a look for files, without opening them and without the network.

    Parameters
    ----------
    data_home : str or path-like, optional
        A folder to look into first, as for ``load``.

    Returns
    -------
    tuple of Availability
        One for each data set, in the order of Table E.2.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.datasets import available
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "machine.csv").touch()
    ...     machine = available(folder)[1]
    >>> machine.name, machine.status, machine.path.name
    ('machine', 'here', 'machine.csv')
    """
    places = folders.data_folders(data_home)
    found = []
    for entry in DATASETS.values():
        path = folders.find_file(entry, places)
        status: Literal["here", "download", "missing"] = "here"
        if path is None:
            status = "missing" if entry.openml_id is None else "download"
        found.append(Availability(entry.name, status, path))
    return tuple(found)


def is_available(name: str, data_home: str | PathLike[str] | None = None) -> bool:
    """Whether a data folder has a file of this data set, so that no download is needed.

    Parameters
    ----------
    name : str
        A key of ``DATASETS``.
    data_home : str or path-like, optional
        A folder to look into first, as for ``load``.

    Returns
    -------
    bool

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.datasets import is_available
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "scm1d.csv").touch()
    ...     is_available("scm1d", folder)
    True
    """
    return folders.find_file(info(name), folders.data_folders(data_home)) is not None


def _missing(
    entry: DatasetInfo, places: tuple[folders.DataFolder, ...], openml: str
) -> MissingDatasetError:
    files, variable = " or ".join(folders.file_names(entry)), folders.VARIABLE
    listed = "\n".join(f"  {place}" for place in (*map(str, places), openml))
    ways = [f"put {files} into a folder and name it by data_home or by the variable {variable}"]
    if entry.openml_id is not None:
        ways.append("or load it with fetch=True where OpenML can be reached")
    return MissingDatasetError(
        f"{entry.name} is in none of these places, as {files} in a folder:\n{listed}\n"
        f"To get it, {', '.join(ways)}. It is {entry.origin}."
    )
