"""``negcorr.scale.fit``: an estimator from rows that do not fit in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from negcorr._validation import check_positive_int
from negcorr.progress import progress_bar
from negcorr.scale.chunks import (
    ArraySource,
    IterableSource,
    Source,
    is_path,
    read_ahead,
    split_target,
    split_weight,
    usable,
)
from negcorr.scale.clusters import fit_blocks, is_dask, predict_blocks
from negcorr.scale.files import FileSource, as_dataset, open_files
from negcorr.scale.first_pass import draw_from, summarise_inputs
from negcorr.stream_fitting import StreamMixin, forget
from negcorr.streaming import number_of_folds

__all__ = ["fit", "predict"]

#: Rows of a chunk, unless another number is asked for: enough to keep the cores busy.
BLOCK_SIZE = 131_072

Model = TypeVar("Model", bound=StreamMixin)


def fit(
    model: Model,
    X: Any,
    y: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    sample_weight: Any = None,
    block_size: int | None = None,
    progress: Any = False,
) -> Model:
    """Fit an estimator on rows that are read in chunks, in bounded memory.

    The first pass takes what the basis needs from the inputs alone, the second adds up moments
    while a thread reads ahead. A model whose basis is drawn already (``model.draw``), and rows that
    can be read only once, need no first pass; the basis of the latter comes from the first chunk.

    Parameters
    ----------
    model : NCLRegressor
        Fitted in place.
    X : path, pyarrow dataset, Dask table, iterable of chunks, or array-like of shape (n, d)
        A file or a folder of files (Parquet, CSV, Feather), a ``pyarrow.dataset.Dataset``, an
        iterable of (X, y) or (X, y, weight) or of data frames, a Dask array or data frame, whose
        blocks are worked on where they are, or a table in memory.
    y : array-like of shape (n,) or (n, outputs), optional
        Targets of a table in memory, or of a Dask array.
    target : str or sequence of str, optional
        Columns that are targets, for files and data frames; a sequence makes y two-dimensional.
    sample_weight : array-like of shape (n,) or str, optional
        Frequencies of a table in memory, or the column of files or data frames that has them.
    block_size : int, optional
        Most rows of a chunk that is read from files or cut from a table, 131072 by default. At most
        four chunks are in memory at a time.
    progress : bool or scikit-learn callback, default=False
        Whether a bar is shown.

    Returns
    -------
    model
        The same, fitted.

    Raises
    ------
    ChunkError
        If rows cannot be read or used; it names the file, row group and row. If that was in the
        first pass, the model is as it was before; later, it has seen all chunks before that one,
        and ``partial_fit`` can go on.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import NCLRegressor, scale
    >>> def chunks():
    ...     for seed in range(3):
    ...         rng = np.random.default_rng(seed)
    ...         X = rng.normal(size=(200, 4))
    ...         yield X, np.sin(X[:, 0]) + 0.5 * rng.normal(size=200)
    >>> model = scale.fit(NCLRegressor(n_estimators=20, random_state=0), chunks())
    >>> model.path_.spectrum.weight
    600.0
    """
    if not isinstance(model, StreamMixin):
        raise TypeError(f"model={model!r} must be an NCLRegressor.")
    model._checked_settings()
    number_of_folds(model.cv)
    drawn = "basis_" in vars(model) and not model.__sklearn_is_fitted__()
    if is_dask(X):
        # A copy: where blocks fail, the model is as it was.
        working = copy.copy(model)
        if not drawn:
            forget(working)
        fit_blocks(working, X, y, target, sample_weight)
        vars(model).clear()
        vars(model).update(vars(working))
        return model
    source = source_of(X, y, target, sample_weight, block_size)
    name = f"X={str(X)!r}" if is_path(X) else "X"
    with progress_bar(progress, source.n_chunks, "chunks") as advance:
        if not drawn and source.repeatable:
            draw_from(model, summarise_inputs(read_ahead(usable(source.chunks(), name))))
            name += ", read for a second time,"
        elif not drawn:
            forget(model)
        try:
            for chunk in read_ahead(usable(source.chunks(), name)):
                try:
                    model.partial_fit(chunk.X, chunk.y, chunk.weight)
                except (ValueError, TypeError) as error:
                    raise chunk.failed(error) from error
                advance()
        except BaseException:
            if not drawn and not model.__sklearn_is_fitted__():
                forget(model)  # a basis of rows that failed is not one that the user has drawn
            raise
    return model


def predict(model: Any, X: Any) -> Any:
    """Predictions for a Dask array or data frame, as lazy as it is.

    Parameters
    ----------
    model : NCLRegressor
        Fitted.
    X : dask array of shape (n, d), or dask data frame with the inputs
        Blocks are predicted where they are, when somebody asks for them.

    Returns
    -------
    dask array, series or data frame
        Of shape (n,) or (n, outputs).

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import NCLRegressor, scale
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> model = NCLRegressor(n_estimators=10, random_state=0).fit(X, X[:, 0])
    >>> import dask.array
    >>> scale.predict(model, dask.array.from_array(X, chunks=100)).compute().shape
    (300,)
    """
    if not is_dask(X):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}; for others there is "
            "model.predict."
        )
    return predict_blocks(model, X)


def source_of(X: Any, y: Any, target: Any, sample_weight: Any, block_size: Any) -> Source:
    """What reads the rows, from the arguments of :func:`fit`."""
    size = BLOCK_SIZE
    if block_size is not None:
        check_positive_int("block_size", block_size)
        size = int(block_size)
    columns = _names("target", target)
    if y is not None and columns is not None:
        raise ValueError("y and target exclude each other: target names columns of X.")
    dataset = open_files(X) if is_path(X) else as_dataset(X)
    if dataset is not None:
        if y is not None:
            raise ValueError("y is not for files: name the columns that are targets by target.")
        if columns is None:
            raise ValueError("target=None: name the column, or columns, that are targets.")
        return FileSource(dataset, columns, _weight_name(sample_weight, columns), size)
    if y is not None:
        return _array_source(X, y, sample_weight, size)
    if hasattr(X, "shape"):
        if not hasattr(X, "columns") or columns is None:
            raise ValueError(
                "a table in memory needs y, or target to name columns of a data frame; got "
                f"y=None, target={target!r} and X a {type(X).__name__}."
            )
        rest, weight = split_weight(X, _weight_name(sample_weight, columns), "X")
        return ArraySource(*split_target(rest, columns, "X"), weight, size)
    if not isinstance(X, Iterable):
        raise TypeError(
            f"X={X!r} must be a path, a pyarrow dataset, an iterable of chunks, or a table with y, "
            f"got {type(X).__name__}."
        )
    if columns is None and sample_weight is not None:
        raise ValueError("sample_weight belongs into the chunks: (X, y, weight).")
    return IterableSource(X, columns, _weight_name(sample_weight, columns))


def _names(argument: str, value: Any) -> str | list[str] | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Iterable):
        raise TypeError(f"{argument}={value!r} must be the name of a column, or several names.")
    names = list(value)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{argument}={value!r} must be the name of a column, or several names.")
    if len(set(names)) < len(names):
        raise ValueError(f"{argument}={value!r} names a column twice.")
    return names


def _weight_name(sample_weight: Any, target: str | list[str] | None) -> str | None:
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


def _array_source(X: Any, y: Any, sample_weight: Any, size: int) -> ArraySource:
    """A table in memory whose targets and weights are as many as its rows."""
    table = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
    n_rows = table.shape[0] if len(table.shape) == 2 else 0
    if n_rows == 0:
        raise ValueError(f"X must be a table of rows, got shape {tuple(table.shape)}.")
    targets = np.asarray(y)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    for argument, values in (("y", targets), ("sample_weight", weight)):
        if values is not None and values.shape[:1] != (n_rows,):
            raise ValueError(
                f"{argument} must have a value for each of the {n_rows} rows of X, got shape "
                f"{values.shape}."
            )
    return ArraySource(table, targets, weight, size)
