"""A data set from OpenML, by way of scikit-learn's client and its cache."""

from __future__ import annotations

import socket
import warnings
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.datasets.columns import Columns, check_shape, is_number, quoted
from negcorr.datasets.errors import DatasetError
from negcorr.datasets.registry import DatasetInfo

__all__ = ["DownloadError", "fetch_columns"]

#: Seconds without an answer after which a connection is given up.
_PATIENCE = 10.0


class DownloadError(OSError):
    """OpenML could not be reached, or did not hand over the data set."""


def fetch_columns(entry: DatasetInfo, cache: Path) -> Columns:
    """The columns of a data set at OpenML, with OpenML's choice of target.

    Feature names are OpenML's, which may differ from those of the published files; the targets
    get the registry's names. Columns that OpenML calls nominal become numbers again where their
    values are numbers.

    Parameters
    ----------
    entry : DatasetInfo
        A data set with an ``openml_id``.
    cache : Path
        Downloads are kept in its subfolder ``openml``, and not made twice.

    Returns
    -------
    Columns

    Raises
    ------
    DownloadError
        If nothing usable came.
    DatasetError
        If what came is not the data set.
    """
    source = f"OpenML {entry.openml_id}"
    bunch = _fetched(entry, cache)
    names = tuple(bunch.feature_names)
    lacking = [name for name in entry.categorical if name not in names]
    if lacking:
        raise DatasetError(f"{source} lacks the columns {quoted(lacking)} of {entry.name}.")
    features = np.array(bunch.data, dtype=np.float64)
    _check_finite(features, names, source)
    for name, spelled in (bunch.categories or {}).items():
        if name not in names:
            continue
        # Codes of its categories, or else the numbers that it spells.
        column, allowed = features[:, names.index(name)], entry.levels.get(name, ())
        codes = column.astype(int)
        for code in np.unique(codes):
            level = spelled[code]
            if level not in allowed and (allowed or not is_number(level)):
                expected = quoted(allowed) or "finite numbers"
                raise DatasetError(
                    f"{source}, column {name!r}: {level!r} is not allowed; allowed are {expected}."
                )
            column[codes == code] = allowed.index(level) if allowed else float(level)
    if bunch.target is None:
        raise DatasetError(f"{source} names no target; {entry.name} has {entry.n_targets}.")
    try:
        # A nominal target comes as strings.
        targets = np.array(bunch.target, dtype=np.float64).reshape(len(bunch.target), -1)
    except ValueError as error:
        raise DatasetError(f"{source}: a target is not a number: {error}.") from error
    names_fit = targets.shape[1] == entry.n_targets
    _check_finite(targets, entry.target_names if names_fit else ("target",), source)
    columns = Columns(names, features, targets)
    check_shape(columns, entry, source)
    return columns


def _fetched(entry: DatasetInfo, cache: Path) -> Any:
    """What scikit-learn's client brings."""
    # Here, not at the top: it brings in every data set of scikit-learn.
    from sklearn.datasets import fetch_openml

    before = socket.getdefaulttimeout()
    # The client sets no limit and would hang behind a firewall.
    socket.setdefaulttimeout(_PATIENCE)
    try:
        with warnings.catch_warnings():
            # A lasting failure is raised below, so the notice of each retry is not needed.
            warnings.filterwarnings("ignore", message="A network error occurred")
            # The client appends "openml" to the folder itself.
            wanted = {"data_id": entry.openml_id, "data_home": str(cache), "parser": "liac-arff"}
            return fetch_openml(**wanted, as_frame=False, n_retries=1)
    except Exception as error:
        # Its errors are not documented: they are of sockets, HTTP, gzip, JSON and ARFF, and
        # a ValueError for an unknown number. All mean that the data did not come.
        if isinstance(error, HTTPError):
            error.close()  # it is also an open response, and the error below keeps it
        problem = f"{type(error).__name__}: {error}"
        raise DownloadError(f"OpenML {entry.openml_id} could not be fetched: {problem}") from error
    finally:
        socket.setdefaulttimeout(before)


def _check_finite(values: FloatArray, names: tuple[str, ...], source: str) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, j = bad[0]
        where = f"{source}, row {row + 1}, column {names[j % len(names)]!r}"
        raise DatasetError(f"{where}: {values[row, j]} is not a finite number.")
