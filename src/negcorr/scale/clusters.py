"""Dask arrays and data frames: moments of blocks where the blocks are, added up in a tree."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from negcorr._typing import FloatArray
from negcorr.exceptions import ChunkError
from negcorr.scale.chunks import split_target
from negcorr.scale.first_pass import draw_from, merge_summaries, summary_of
from negcorr.streaming import Stream

__all__ = ["fit_blocks", "is_dask", "predict_blocks"]

#: Results that are added up by one task.
FAN_IN = 8


def is_dask(X: Any) -> bool:
    """Whether a table is one of Dask's."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def fit_blocks(model: Any, X: Any, y: Any, target: Any, sample_weight: Any) -> None:
    """Fit a model on the blocks of Dask's tables, by whatever scheduler is set up.

    Blocks are worked on where they are; moments, and the few rows that are kept for intervals, are
    all that travels.

    Parameters
    ----------
    model : NCLRegressor
        Drawn, or to be drawn by a first pass over the inputs.
    X : dask array of shape (n, d), or dask data frame
    y : dask array of shape (n,) or (n, outputs), or None
        For arrays.
    target : str, list of str or None
        Columns of a data frame that are targets.
    sample_weight : dask array of shape (n,) or None
    """
    blocks = _blocks(X, y, target, sample_weight)
    if "basis_" not in vars(model):
        draw_from(model, _reduced(_summarised, blocks, merge_summaries))
    # Moments do not need the basis, and it is the same for all.
    bare = copy.copy(model)
    stream = _reduced(_Streamed(bare), blocks, _merged)
    model._follow(replace(stream, basis=model.basis_), model._checked_settings())


def predict_blocks(model: Any, X: Any) -> Any:
    """Predictions for a Dask table, as lazy as the table is."""
    small = model.compact()
    if hasattr(X, "map_partitions"):
        meta = [("prediction", "f8")] if model.path_.single_output else None
        if meta is None:
            outputs = [(f"prediction_{k}", "f8") for k in range(len(model.intercept_))]
            return X.map_partitions(_predicted_frame, small, meta=outputs)
        return X.map_partitions(_predicted_series, small, meta=meta[0])
    rows = X.rechunk({1: -1})
    if model.path_.single_output:
        return rows.map_blocks(small.predict, drop_axis=1, dtype=np.float64)
    outputs_of = (len(model.intercept_),)
    return rows.map_blocks(small.predict, chunks=(rows.chunks[0], outputs_of), dtype=np.float64)


def _blocks(X: Any, y: Any, target: Any, sample_weight: Any) -> list[tuple[Any, Any]]:
    """Numbered delayed blocks: (X, y, weight), or frames with their targets."""
    from dask.delayed import delayed

    if hasattr(X, "map_partitions"):
        if target is None or y is not None or sample_weight is not None:
            raise ValueError(
                "a Dask data frame needs target, the names of its columns that are targets; y and "
                "sample_weight are for Dask arrays."
            )
        parts = X.to_delayed()
        return [(k, delayed(_split)(part, target, k)) for k, part in enumerate(parts)]
    if y is None or target is not None:
        raise ValueError("a Dask array needs y, another Dask array; target is for data frames.")
    rows = X.rechunk({1: -1})
    if any(np.isnan(size) for size in rows.chunks[0]):
        raise ValueError("X has chunks of unknown length: call X.compute_chunk_sizes() before.")
    others = [each for each in (y, sample_weight) if each is not None]
    for other in others:
        if not is_dask(other) or other.shape[0] != rows.shape[0]:
            raise ValueError(
                f"y and sample_weight must be Dask arrays of {rows.shape[0]} rows, as X is."
            )
    aligned = [
        other.rechunk({0: rows.chunks[0], **dict.fromkeys(range(1, other.ndim), -1)})
        for other in others
    ]
    columns = [rows.to_delayed()[:, 0], *(other.to_delayed().ravel() for other in aligned)]
    return [(k, delayed(_bundle)(*parts)) for k, parts in enumerate(zip(*columns, strict=True))]


def _bundle(X: Any, y: Any, weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weight


def _split(frame: Any, target: Any, number: int) -> tuple[Any, Any, Any]:
    return *split_target(frame, target, f"partition {number}"), None


def _summarised(number: int, block: tuple[Any, Any, Any]) -> Any:
    if len(block[0]) == 0:
        return None
    try:
        return summary_of(block[0], block[2])
    except (ValueError, TypeError) as error:
        raise ChunkError(f"block {number}: {error}") from error


class _Streamed:
    """A block's moments, by the estimator's own ``partial_fit``."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, number: int, block: tuple[Any, Any, Any]) -> Stream | None:
        if len(block[0]) == 0:
            return None
        model = copy.copy(self.model)
        try:
            model.partial_fit(*block)
        except ValueError as error:
            raise ChunkError(f"block {number}: {error}") from error
        stream: Stream = model._lazy.stream
        return stream


def _merged(parts: list[Stream]) -> Stream:
    return reduce(Stream.merged, parts)


def _reduced(work: Callable[..., Any], blocks: list[tuple[int, Any]], add: Any) -> Any:
    """Results of all blocks, added up in a tree."""
    from dask.base import compute
    from dask.delayed import delayed

    level = [delayed(work)(number, block) for number, block in blocks]
    while len(level) > 1:
        groups = [level[k : k + FAN_IN] for k in range(0, len(level), FAN_IN)]
        level = [delayed(_added)(group, add) for group in groups]
    try:
        (found,) = compute(level[0])  # type: ignore[no-untyped-call]
    except Exception as error:
        # Errors of rows come through as they are; Dask's own tell of its workers.
        own = type(error).__module__.partition(".")[0] == "distributed"
        if own or isinstance(error, OSError | TimeoutError | CancelledError):
            raise ConnectionError(
                f"the Dask cluster did not finish ({type(error).__name__}: {error}); look after "
                "its scheduler and workers, connect a client again, and fit again."
            ) from error
        raise
    if found is None:
        raise ChunkError("there are no rows.")
    return found


def _added(parts: list[Any], add: Any) -> Any:
    known = [part for part in parts if part is not None]
    return add(known) if known else None


def _predicted_series(frame: Any, model: Any) -> Any:
    import pandas

    return pandas.Series(model.predict(frame), index=frame.index, name="prediction")


def _predicted_frame(frame: Any, model: Any) -> Any:
    import pandas

    values: FloatArray = model.predict(frame)
    names = [f"prediction_{k}" for k in range(values.shape[1])]
    return pandas.DataFrame(values, index=frame.index, columns=names)
