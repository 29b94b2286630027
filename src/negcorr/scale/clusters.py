"""Dask arrays and data frames: moments of blocks where the blocks are, added up in a tree."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import reduce
from traceback import walk_tb
from typing import Any

import numpy as np

from negcorr._common.types import AnyArray
from negcorr.columns.inputs import FirstLook
from negcorr.ensemble.fitted import FittedState
from negcorr.ensemble.stream import Stream
from negcorr.exceptions import ChunkError
from negcorr.scale import first_pass
from negcorr.scale.chunks import split_frame, weightless
from negcorr.scale.sources import target_names, weight_name

__all__ = ["fit_blocks", "is_dask", "predict_blocks"]

#: Results that are added up by one task.
FAN_IN = 8


def is_dask(X: Any) -> bool:
    """Whether a table is one of Dask's."""
    return _package(type(X).__module__) in ("dask", "dask_expr")


def fit_blocks(model: Any, drawn: bool, X: Any, y: Any, target: Any, sample_weight: Any) -> None:
    """Fit a model on the blocks of Dask's tables, by whatever scheduler is set up.

    Blocks are worked on where they are. Only moments, and the few rows that are kept for intervals,
    are sent between processes. If that fails, the model is as it was.

    Parameters
    ----------
    model : NCLRegressor
    drawn : bool
        Whether the model's basis is drawn already; otherwise a first pass over the inputs does it.
    X : dask array of shape (n, d), or dask data frame
    y : dask array of shape (n,) or (n, outputs), or None
        For arrays.
    target : str, list of str or None
        Columns of a data frame that are targets.
    sample_weight : dask array of shape (n,), or name of a column, or None
        Frequencies.
    """
    working = copy.copy(model)
    if not drawn:
        first_pass.drop_fit(working)
    blocks = _blocks(X, y, target, sample_weight)
    client = _client()
    if not drawn:
        look = _reduced(_look_at, (working,), blocks, FirstLook.merged)
        first_pass.draw_from(working, look)
    if client is not None and _client() is not client:
        # Without it Dask would fetch all blocks to this process, and work on them here.
        raise _lost("the client that the first pass used is closed")
    stream = _reduced(_stream_of, (working,), blocks, Stream.merged)
    settled = working._drawn
    settings = working._settings().path_settings(settled.bases[-1], settled.choice)
    stream = replace(stream, bases=settled.bases)
    working._state = FittedState(settled, stream=stream, settings=settings)
    vars(model).clear()
    vars(model).update(vars(working))


def predict_blocks(model: Any, X: Any) -> Any:
    """Predictions for a Dask table, as lazy as the table is."""
    small = model.compact()
    single = model.path_.single_output
    if hasattr(X, "map_partitions"):
        names = [f"prediction_{k}" for k in range(np.size(model.intercept_))]
        meta = ("prediction", "f8") if single else [(name, "f8") for name in names]
        return X.map_partitions(_predicted_frame, small, meta=meta)
    rows = X.rechunk({1: -1})
    kind = np.float32 if X.dtype == np.float32 else np.float64  # as predict has it
    if single:
        return rows.map_blocks(_predictions, small, drop_axis=1, dtype=kind)
    outputs = (len(model.intercept_),)
    return rows.map_blocks(_predictions, small, chunks=(rows.chunks[0], outputs), dtype=kind)


def _blocks(X: Any, y: Any, target: Any, sample_weight: Any) -> list[tuple[int, Any]]:
    """Numbered delayed blocks, each of them (X, y, weight)."""
    from dask.delayed import delayed

    if hasattr(X, "map_partitions"):
        columns = target_names(target)
        if columns is None or y is not None:
            raise ValueError(
                "a Dask data frame needs target, the names of its columns that are targets; y is "
                "for Dask arrays."
            )
        weight = weight_name(sample_weight, columns)
        split_frame(X._meta, columns, weight, "X")  # names are checked before any work is done
        split = delayed(split_frame)
        parts = enumerate(X.to_delayed())
        return [(k, split(part, columns, weight, f"partition {k}")) for k, part in parts]
    if y is None or target is not None:
        raise ValueError("a Dask array needs y, another Dask array; target is for data frames.")
    rows = X.rechunk({1: -1})
    others = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    for name, each in {"X": rows, **others}.items():
        if is_dask(each) and np.isnan(each.shape[0]):
            raise ValueError(
                f"{name} has chunks of unknown length: call {name}.compute_chunk_sizes() before."
            )
        if not is_dask(each) or each.shape[0] != rows.shape[0]:
            raise ValueError(
                f"y and sample_weight must be Dask arrays of {rows.shape[0]} rows, as X is; {name} "
                f"is a {type(each).__name__} of shape {np.shape(each)}."
            )
    columns_of_blocks = [rows.to_delayed()[:, 0]]
    for other in others.values():
        aligned = other.rechunk({0: rows.chunks[0], **dict.fromkeys(range(1, other.ndim), -1)})
        columns_of_blocks.append(aligned.to_delayed().ravel())
    blocks = enumerate(zip(*columns_of_blocks, strict=True))
    return [(k, delayed(_bundle)(*block)) for k, block in blocks]


def _bundle(X: Any, y: Any, weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weight


def _look_at(X: Any, y: Any, weight: Any, model: Any) -> FirstLook:
    """A look at a block."""
    return first_pass.look_at(model, X, y, weight)


def _stream_of(X: Any, y: Any, weight: Any, model: Any) -> Stream:
    """A block's moments, by the estimator's own ``partial_fit``."""
    stream: Stream = copy.copy(model).partial_fit(X, y, weight)._state.stream
    return stream


def _worked_on(
    number: int, block: tuple[Any, Any, Any], work: Callable[..., Any], given: tuple[Any, ...]
) -> Any:
    """The result of a block, None if it has no rows of positive weight; errors name the block."""
    if len(block[0]) == 0 or weightless(block[2]):
        return None
    try:
        return work(*block, *given)
    except (ValueError, TypeError) as error:
        raise ChunkError(f"block {number}: {error}") from error


def _added(parts: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    known = [part for part in parts if part is not None]
    return reduce(add, known) if known else None


def _reduced(
    work: Callable[..., Any],
    given: tuple[Any, ...],
    blocks: list[tuple[int, Any]],
    add: Callable[[Any, Any], Any],
) -> Any:
    """The results of all blocks, added up in a tree."""
    from dask.base import compute
    from dask.delayed import delayed

    level = [delayed(_worked_on)(number, block, work, given) for number, block in blocks]
    while len(level) > 1:
        groups = [level[k : k + FAN_IN] for k in range(0, len(level), FAN_IN)]
        level = [delayed(_added)(group, add) for group in groups]
    try:
        (found,) = compute(level[0])  # type: ignore[no-untyped-call]
    except Exception as error:
        if not _of_cluster(error):
            raise  # errors of rows come through as they are
        raise _lost(f"{type(error).__name__}: {error}") from error
    if found is None:
        raise ChunkError("X has no rows of positive weight.")
    return found


def _client() -> Any:
    """The client of a cluster that Dask would use now, None without one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        return None


def _lost(why: str) -> ConnectionError:
    return ConnectionError(
        f"the Dask cluster did not finish ({why}); look after its scheduler and workers, connect a "
        "client again, and fit again."
    )


def _of_cluster(error: Exception) -> bool:
    """Whether an error comes from the cluster, and not from the rows that a task reads.

    Lost connections and workers have errors of their own. A plain OSError or TimeoutError is one of
    a connection if the code of Dask has raised it: a task may look for a file that is not there.
    """
    if isinstance(error, CancelledError) or _package(type(error).__module__) == "distributed":
        return True
    if not isinstance(error, OSError):  # TimeoutError is one
        return False
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    raised_by = str(frames[-1].f_globals.get("__name__", "")) if frames else ""
    return _package(raised_by) in ("distributed", "tornado", "asyncio")


def _package(module: str) -> str:
    return module.partition(".")[0]


def _predictions(rows: Any, model: Any) -> AnyArray:
    """Those of a block, which may have no rows: ``predict`` refuses that."""
    if len(rows):
        return np.asarray(model.predict(rows))
    return np.empty((0, *np.shape(model.intercept_)), dtype=getattr(rows, "dtype", None))


def _predicted_frame(frame: Any, model: Any) -> Any:
    """Those of a partition: a series, or a data frame with a column for each output."""
    import pandas

    values = _predictions(frame, model)
    given = {"index": frame.index, "dtype": np.float64}
    if values.ndim == 1:
        return pandas.Series(values, name="prediction", **given)
    return pandas.DataFrame(values, **given).add_prefix("prediction_")
