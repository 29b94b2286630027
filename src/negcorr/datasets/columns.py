"""CSV text as numbers, every column and every cell checked on the way."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.datasets.errors import DatasetError
from negcorr.datasets.registry import DatasetInfo
from negcorr.exceptions import TableError
from negcorr.reading.delimited import numbered_records
from negcorr.reading.number_cells import plain_number, plain_numbers

__all__ = ["Columns", "check_shape", "is_number", "parse_csv", "quoted"]


@dataclass(frozen=True, eq=False)
class Columns:
    """A data set as it was read, before it becomes arrays or data frames.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the feature columns.
    features : ndarray of shape (n, d)
        Their values; a category is its position in ``DatasetInfo.categories``.
    targets : ndarray of shape (n, outputs)
        Values of the targets, in the order of ``DatasetInfo.target_names``.
    """

    feature_names: tuple[str, ...]
    features: FloatArray
    targets: FloatArray


def parse_csv(text: str, entry: DatasetInfo, source: str) -> Columns:
    """The columns of a CSV text with a header row.

    Targets are found by name, wherever they stand. The other columns are the features, in the
    order of the file.

    Parameters
    ----------
    text : str
        The text of the file.
    entry : DatasetInfo
        What the file must hold.
    source : str
        Name of the file, for errors.

    Returns
    -------
    Columns

    Raises
    ------
    DatasetError
        If columns, rows or cells are not those of the data set.
    """
    records = (
        (line, cells)
        for line, cells in numbered_records(io.StringIO(text, newline=""), ",", Path(source))
        if cells  # blank lines have none
    )
    try:
        _, header = next(records, (0, []))
        if not header:
            raise DatasetError(f"{source} is empty: its first line must name the columns.")
        lacking = [name for name in (*entry.target_names, *entry.categorical) if name not in header]
        if lacking:
            word = "column" if len(lacking) == 1 else "columns"
            raise DatasetError(f"{source} lacks the {word} {quoted(lacking)} of {entry.name}.")
        repeated = [name for name, count in Counter(header).items() if count > 1]
        if repeated:
            raise DatasetError(f"{source} names more than one column {quoted(repeated)}.")
        n_features = len(header) - entry.n_targets
        if n_features != entry.n_features:
            wanted = f"{entry.name} must have {entry.n_features}, and targets beside them"
            raise DatasetError(f"{source} has {n_features} feature columns; {wanted}.")
        table = [_numbers(cells, header, entry, f"{source}, line {n}") for n, cells in records]
    except TableError as error:
        raise DatasetError(f"{error}") from error
    values = np.array(table, dtype=np.float64).reshape(-1, len(header))
    target_at = [header.index(name) for name in entry.target_names]
    feature_at = [j for j in range(len(header)) if j not in target_at]
    names = tuple(header[j] for j in feature_at)
    columns = Columns(names, values[:, feature_at], values[:, target_at])
    check_shape(columns, entry, source)
    return columns


def check_shape(columns: Columns, entry: DatasetInfo, source: str) -> None:
    """Raise an error unless rows, features and targets are as many as the registry says."""
    found = (*columns.features.shape, columns.targets.shape[1])
    if found != entry.shape:
        sizes = "{} rows, {} features and {} targets"
        wanted = f"{entry.name} must have {sizes.format(*entry.shape)}"
        raise DatasetError(f"{source} has {sizes.format(*found)}; {wanted}.")


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number as CSV files have it."""
    value = plain_number(cell)
    return value is not None and isfinite(value)


def quoted(names: Iterable[str]) -> str:
    """Names as an error lists them."""
    return ", ".join(map(repr, names))


def _numbers(cells: list[str], header: list[str], entry: DatasetInfo, where: str) -> FloatArray:
    """One row as numbers, categories as their codes."""
    if len(cells) != len(header):
        raise DatasetError(f"{where}, has {len(cells)} cells; the header has {len(header)}.")
    for name, levels in entry.levels.items():
        j = header.index(name)
        if cells[j] not in levels:
            problem = f"{cells[j]!r} is no category of it; allowed are {quoted(levels)}"
            raise DatasetError(f"{where}, column {name!r}: {problem}.")
        cells[j] = str(levels.index(cells[j]))
    values = plain_numbers(cells)
    if values is None or not np.isfinite(values).all():
        j = next(j for j, cell in enumerate(cells) if not is_number(cell))
        raise DatasetError(f"{where}, column {header[j]!r}: {cells[j]!r} is not a finite number.")
    return values
