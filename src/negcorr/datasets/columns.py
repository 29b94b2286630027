"""Cells of a table as the numbers of a data set, every column and every cell checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from negcorr._common.types import AnyArray, FloatArray
from negcorr.datasets.errors import DatasetError
from negcorr.datasets.registry import DatasetInfo
from negcorr.reading.number_cells import plain_number

__all__ = ["Columns", "columns_of"]


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


def columns_of(
    table: Mapping[str, AnyArray], targets: Sequence[str], entry: DatasetInfo, source: str
) -> Columns:
    """The columns of a table as a data set.

    Targets are found by name, wherever they stand. The other columns are the features, in the
    order of the table.

    Parameters
    ----------
    table : mapping of str to ndarray
        Columns of numbers, or of text where a number may be written too.
    targets : sequence of str
        The names that the targets have in the table.
    entry : DatasetInfo
        What the table must hold.
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
    lacking = [name for name in (*targets, *entry.categorical) if name not in table]
    if lacking:
        word, names = "column" if len(lacking) == 1 else "columns", _quoted(lacking)
        raise DatasetError(f"{source} lacks the {word} {names} of {entry.name}.")
    features = tuple(name for name in table if name not in targets)
    found = len(next(iter(table.values()))), len(features), len(targets)
    if found != entry.shape:
        sizes = "{} rows, {} features and {} targets"
        wanted = f"{entry.name} must have {sizes.format(*entry.shape)}"
        raise DatasetError(f"{source} has {sizes.format(*found)}; {wanted}.")
    values = {
        name: _numbers(cells, entry.levels.get(name, ()), f"{source}, column {name!r}")
        for name, cells in table.items()
    }
    return Columns(
        features,
        np.stack([values[name] for name in features], axis=1),
        np.stack([values[name] for name in targets], axis=1),
    )


def _numbers(cells: AnyArray, levels: tuple[str, ...], where: str) -> FloatArray:
    """A column as numbers, categories as their codes."""
    given = cells.tolist()
    if levels:
        codes = {level: float(code) for code, level in enumerate(levels)}
        values = np.array([codes.get(cell, np.nan) for cell in given])
    elif cells.dtype == object:
        values = np.array([plain_number(cell or "") for cell in given], dtype=np.float64)
    else:
        values = cells.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        wanted = f"one of {_quoted(levels)}" if levels else "a finite number"
        raise DatasetError(f"{where}, row {bad[0] + 1}: {given[bad[0]]!r} is not {wanted}.")
    return values


def _quoted(names: Sequence[str]) -> str:
    """Names as an error lists them."""
    return ", ".join(map(repr, names))
