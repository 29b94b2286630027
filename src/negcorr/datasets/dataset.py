"""A loaded data set, as arrays or as data frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.datasets.columns import Columns
from negcorr.datasets.registry import DatasetInfo

__all__ = ["Dataset", "as_dataset"]


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
        sizes = f"{n} rows, {d} features, {targets}"
        return f"{type(self).__name__}({self.info.name}: {sizes}, from {self.source})"


def as_dataset(columns: Columns, entry: DatasetInfo, source: str, as_frame: bool) -> Dataset:
    """A data set in the form that the user wants.

    As float64 arrays, categories are one-hot in sorted order: Sex_F, Sex_I, Sex_M. As pandas
    objects, they are columns of dtype ``category``.
    """
    data: Any
    target: Any
    names = columns.feature_names
    if as_frame:
        import pandas

        data = pandas.DataFrame(columns.features, columns=list(names))
        for name, levels in entry.levels.items():
            data[name] = pandas.Categorical.from_codes(data[name].astype(int), categories=levels)
        target = pandas.DataFrame(columns.targets, columns=list(entry.target_names))
        target = target[entry.target_names[0]] if entry.n_targets == 1 else target
    else:
        parts: dict[str, FloatArray] = {}
        for name, column in zip(names, columns.features.T, strict=True):
            if name in entry.levels:
                for code, level in enumerate(entry.levels[name]):
                    parts[f"{name}_{level}"] = (column == code).astype(np.float64)
            else:
                parts[name] = column
        names = tuple(parts)
        data = np.stack(list(parts.values()), axis=1)
        one = entry.n_targets == 1
        target = np.ascontiguousarray(columns.targets[:, 0] if one else columns.targets)
    return Dataset(data, target, names, entry.target_names, entry, source)
