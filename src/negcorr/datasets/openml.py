"""A data set from OpenML, by way of scikit-learn's client and its cache."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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
    for name, levels in (bunch.categories or {}).items():
        if name in names:
            j = names.index(name)
            where = f"{source}, column {name!r}"
            features[:, j] = _decoded(features[:, j], levels, _categories(name, entry), where)
    columns = Columns(names, features, _targets(bunch.target, entry, source))
    check_shape(columns, entry, source)
    return columns


def _fetched(entry: DatasetInfo, cache: Path) -> Any:
    # Here, not at the top: it brings in every data set of scikit-learn.
    from sklearn.datasets import fetch_openml

    with _patience(), warnings.catch_warnings():
        # A failure that lasts is raised below, so the notice of each retry says nothing more.
        warnings.filterwarnings("ignore", message="A network error occurred")
        try:
            # The client appends "openml" to the folder itself.
            return fetch_openml(
                data_id=entry.openml_id,
                data_home=str(cache),
                as_frame=False,
                parser="liac-arff",
                n_retries=1,
            )
        except Exception as error:
            # What it raises is not documented: errors of sockets, HTTP, gzip, JSON and ARFF, and
            # a ValueError for an unknown number. All mean that the data did not come.
            if isinstance(error, HTTPError):
                error.close()  # it is an open answer too, and kept by the error below
            raise DownloadError(
                f"OpenML {entry.openml_id} could not be fetched: {type(error).__name__}: {error}"
            ) from error


@contextmanager
def _patience() -> Iterator[None]:
    """A limit on waiting, for the client sets none and would hang behind a firewall."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _categories(name: str, entry: DatasetInfo) -> tuple[str, ...]:
    known = dict(zip(entry.categorical, entry.categories, strict=True))
    return known.get(name, ())


def _decoded(
    codes: FloatArray, levels: list[str], categories: tuple[str, ...], where: str
) -> FloatArray:
    """A nominal column as the codes of its categories, or else as the numbers it spells."""
    values: FloatArray = np.empty(len(levels))
    for code in np.unique(codes).astype(int):
        level = levels[code]
        if level in categories:
            values[code] = categories.index(level)
        elif not categories and is_number(level):
            values[code] = float(level)
        else:
            allowed = quoted(categories) or "finite numbers"
            raise DatasetError(f"{where}: {level!r} is not allowed; allowed are {allowed}.")
    return np.take(values, codes.astype(int))


def _targets(target: Any, entry: DatasetInfo, source: str) -> FloatArray:
    if target is None:
        raise DatasetError(f"{source} names no target; {entry.name} has {entry.n_targets}.")
    try:
        # A nominal target comes as strings.
        values = np.array(target, dtype=np.float64).reshape(len(target), -1)
    except ValueError as error:
        raise DatasetError(f"{source}: a target is not a number: {error}.") from error
    names = entry.target_names if values.shape[1] == entry.n_targets else ("target",)
    _check_finite(values, names, source)
    return values


def _check_finite(values: FloatArray, names: tuple[str, ...], source: str) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, j = bad[0]
        raise DatasetError(
            f"{source}, row {row + 1}, column {names[j % len(names)]!r}: {values[row, j]} is not "
            "a finite number."
        )
