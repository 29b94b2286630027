"""A loaded data set, as arrays or as data frames."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr.datasets.columns import Columns
from negcorr.datasets.registry import DatasetInfo

__all__ = ["Dataset", "as_arrays", "as_frames", "import_pandas"]


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """A data set and where it came from.

    Attributes
    ----------
    data : ndarray or DataFrame of shape (n, d)
        Features. In an array each category has a 0/1 column of its own.
    target : ndarray, Series or DataFrame of shape (n,) or (n, outputs)
        What is to be predicted; one-dimensional for one target.
    feature_names : tuple of str
        Names of the columns of ``data``.
    target_names : tuple of str
        Names of the targets.
    info : DatasetInfo
        What the registry says.
    source : str
        Path of the file, or ``"OpenML"`` and a number.
    """

    data: Any
    target: Any
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    info: DatasetInfo
    source: str

    def __repr__(self) -> str:
        n, d = self.data.shape
        targets = "1 target" if len(self.target_names) == 1 else f"{len(self.target_names)} targets"
        return (
            f"{type(self).__name__}({self.info.name}: {n} rows, {d} features, {targets}, "
            f"from {self.source})"
        )


def as_arrays(columns: Columns, entry: DatasetInfo, source: str) -> Dataset:
    """A data set as float64 arrays, categories one-hot in sorted order: Sex_F, Sex_I, Sex_M."""
    known = dict(zip(entry.categorical, entry.categories, strict=True))
    names: list[str] = []
    parts = []
    for name, column in zip(columns.feature_names, columns.features.T, strict=True):
        if name in known:
            names += [f"{name}_{value}" for value in known[name]]
            parts += [(column == code).astype(np.float64) for code in range(len(known[name]))]
        else:
            names.append(name)
            parts.append(column)
    target = columns.targets[:, 0] if entry.n_targets == 1 else columns.targets
    return Dataset(
        data=np.stack(parts, axis=1),
        target=np.ascontiguousarray(target),
        feature_names=tuple(names),
        target_names=entry.target_names,
        info=entry,
        source=source,
    )


def as_frames(columns: Columns, entry: DatasetInfo, source: str) -> Dataset:
    """A data set as pandas objects, categories as columns of dtype ``category``."""
    pandas = import_pandas()
    data = pandas.DataFrame(columns.features, columns=list(columns.feature_names))
    for name, values in zip(entry.categorical, entry.categories, strict=True):
        data[name] = pandas.Categorical.from_codes(data[name].astype(int), categories=values)
    target = pandas.DataFrame(columns.targets, columns=list(entry.target_names))
    return Dataset(
        data=data,
        target=target[entry.target_names[0]] if entry.n_targets == 1 else target,
        feature_names=columns.feature_names,
        target_names=entry.target_names,
        info=entry,
        source=source,
    )


def import_pandas() -> Any:
    """The module pandas, or an error that says how to get it."""
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which cannot be imported: pip install pandas, or use "
            "as_frame=False."
        ) from error
