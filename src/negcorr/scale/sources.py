"""What reads the rows, from the arguments of ``negcorr.scale.fit``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import is_device_array
from negcorr.scale.chunks import (
    ArraySource,
    IterableSource,
    Source,
    is_path,
    split_target,
    split_weight,
)
from negcorr.scale.files import FileSource, as_dataset, open_files

__all__ = ["source_of", "target_names", "weight_name"]


def source_of(X: Any, y: Any, target: Any, sample_weight: Any, size: int) -> Source:
    """What reads the rows, in chunks of at most ``size`` where chunks are not the user's own."""
    columns = target_names(target)
    if y is not None and columns is not None:
        raise ValueError("y and target exclude each other: target names columns of X.")
    dataset = open_files(X) if is_path(X) else as_dataset(X)
    if dataset is not None:
        if y is not None:
            raise ValueError("y is not for files: name the columns that are targets by target.")
        if columns is None:
            raise ValueError("target=None: name the column, or columns, that are targets.")
        return FileSource(dataset, columns, weight_name(sample_weight, columns), size)
    if y is not None:
        return _array_source(X, y, sample_weight, size)
    if hasattr(X, "shape"):
        if not hasattr(X, "columns") or columns is None:
            raise ValueError(
                "a table in memory needs y, or target to name columns of a data frame; got "
                f"y=None, target={target!r} and X a {type(X).__name__}."
            )
        rest, weight = split_weight(X, weight_name(sample_weight, columns), "X")
        return ArraySource(*split_target(rest, columns, "X"), weight, size)
    if not isinstance(X, Iterable):
        raise TypeError(
            f"X={X!r} must be a path, a pyarrow dataset, an iterable of chunks, or a table with y, "
            f"got {type(X).__name__}."
        )
    if columns is None and sample_weight is not None:
        raise ValueError("sample_weight belongs into the chunks: (X, y, weight).")
    return IterableSource(X, columns, weight_name(sample_weight, columns))


def target_names(target: Any) -> str | list[str] | None:
    """Columns that are targets, as a name or a list of names."""
    if target is None or isinstance(target, str):
        return target
    if not isinstance(target, Iterable):
        raise TypeError(f"target={target!r} must be the name of a column, or several names.")
    names = list(target)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"target={target!r} must be the name of a column, or several names.")
    if len(set(names)) < len(names):
        raise ValueError(f"target={target!r} names a column twice.")
    return names


def weight_name(sample_weight: Any, target: str | list[str] | None) -> str | None:
    """The column of frequencies, beside those that are targets."""
    if not isinstance(sample_weight, str | None):
        raise ValueError(
            "sample_weight must be the name of a column for files and data frames with target, got "
            f"{type(sample_weight).__name__}."
        )
    if sample_weight is not None and sample_weight in (
        [target] if isinstance(target, str) else target or []
    ):
        raise ValueError(f"sample_weight={sample_weight!r} is a target as well.")
    return sample_weight


def _as_array(values: Any) -> Any:
    """Values where they are, if they are in an array of any library."""
    return values if is_device_array(values) else np.asarray(values)


def _array_source(X: Any, y: Any, sample_weight: Any, size: int) -> ArraySource:
    """A table in memory whose targets and weights are as many as its rows."""
    table = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
    n_rows = table.shape[0] if len(table.shape) == 2 else 0
    if n_rows == 0:
        raise ValueError(f"X must be a table of rows, got shape {tuple(table.shape)}.")
    targets, weight = _as_array(y), None if sample_weight is None else _as_array(sample_weight)
    for argument, values in (("y", targets), ("sample_weight", weight)):
        if values is not None and values.shape[:1] != (n_rows,):
            raise ValueError(
                f"{argument} must have a value for each of the {n_rows} rows of X, got shape "
                f"{values.shape}."
            )
    return ArraySource(table, targets, weight, size)
