"""The source that reads the rows, from the arguments of ``negcorr.scale.fit``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from negcorr.scale.chunks import ArraySource, IterableSource, Source, is_path, split_frame
from negcorr.scale.files import DatasetSource, as_dataset, open_files

__all__ = ["source_of", "target_names", "weight_name"]


def source_of(X: Any, y: Any, target: Any, sample_weight: Any, size: int) -> Source:
    """What reads the rows, in chunks of at most ``size`` where chunks are not the user's own."""
    columns = target_names(target)
    if y is not None and columns is not None:
        raise ValueError("y and target exclude each other: target names columns of X.")
    dataset = as_dataset(X)
    if is_path(X) or dataset is not None:
        if y is not None:
            raise ValueError("y is not for files: name the columns that are targets by target.")
        if columns is None:
            raise ValueError("target=None: name the column, or columns, that are targets.")
        weight = weight_name(sample_weight, columns)
        if dataset is None:
            return open_files(X, columns, weight, size)
        return DatasetSource(columns, weight, size, dataset)
    if y is not None:
        return ArraySource.of(X, y, sample_weight, size)
    if hasattr(X, "shape"):
        if not hasattr(X, "columns") or columns is None:
            raise ValueError(
                "a table in memory needs y, or target to name columns of a data frame; got "
                f"y=None, target={target!r} and X a {type(X).__name__}."
            )
        return ArraySource(*split_frame(X, columns, weight_name(sample_weight, columns), "X"), size)
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
    names = list(target) if isinstance(target, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        kind = ValueError if isinstance(target, Iterable) else TypeError
        raise kind(f"target={target!r} must be the name of a column, or several names.")
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
    targets = [target] if isinstance(target, str) else target or []
    if sample_weight in targets:
        raise ValueError(f"sample_weight={sample_weight!r} is a target as well.")
    return sample_weight
