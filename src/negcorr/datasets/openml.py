"""A data set from OpenML, kept in a folder once it was fetched."""

from __future__ import annotations

import hashlib
import json
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np

from negcorr._common.files import write_atomically
from negcorr.datasets.columns import Columns, columns_of
from negcorr.datasets.errors import DatasetError
from negcorr.datasets.registry import DatasetInfo
from negcorr.exceptions import TableError
from negcorr.reading.arff import parse_arff
from negcorr.reading.decoding import decode

__all__ = ["DownloadError", "fetch_columns"]

#: Where OpenML describes a data set.
_DESCRIPTION = "https://www.openml.org/api/v1/json/data/{}"

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
    source, path = f"OpenML {entry.openml_id}", cache / "openml" / f"{entry.openml_id}.arff"
    try:
        about, content = _fetched(_DESCRIPTION.format(entry.openml_id), path)
    except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
        # Of sockets, HTTP and files, and of answers that are not what OpenML answers.
        if isinstance(error, HTTPError):
            error.close()  # it is also an open response, and the error below keeps it
        problem = f"{type(error).__name__}: {error}"
        raise DownloadError(f"{source} could not be fetched: {problem}") from error
    try:
        attributes, values = parse_arff(decode(content, path)[0], path)
    except TableError as error:
        raise DatasetError(f"{source}: {error}") from error
    left_out = {*_names(about, "ignore_attribute"), *_names(about, "row_id_attribute")}
    table = {
        each.name: np.array(cells, dtype=np.float64 if each.kind == "numeric" else object)
        for each, cells in zip(attributes, values, strict=True)
        if each.name not in left_out
    }
    return columns_of(table, _names(about, "default_target_attribute"), entry, source)


def _fetched(url: str, path: Path) -> tuple[dict[str, Any], bytes]:
    """What OpenML says of a data set, and its ARFF file; both are kept beside each other."""
    beside = path.with_suffix(".json")
    if path.is_file() and beside.is_file():
        about, content = json.loads(beside.read_bytes()), path.read_bytes()
        if _has_checksum(content, about):
            return about, content
    about = json.loads(_answer(url))["data_set_description"]
    content = _answer(about["url"])
    if not _has_checksum(content, about):
        raise ValueError(f"{about['url']} has another MD5 than {about['md5_checksum']}")
    write_atomically(beside, json.dumps(about).encode())
    write_atomically(path, content)
    return about, content


def _answer(url: str) -> bytes:
    with urlopen(url, timeout=_PATIENCE) as response:
        content: bytes = response.read()
    return content


def _has_checksum(content: bytes, about: dict[str, Any]) -> bool:
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return digest == about["md5_checksum"]


def _names(about: dict[str, Any], key: str) -> list[str]:
    """Names of attributes, which are a list or lie between commas."""
    given = about.get(key) or []
    return given.split(",") if isinstance(given, str) else list(given)
