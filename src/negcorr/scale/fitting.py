"""``negcorr.scale.fit``: an estimator from rows that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from negcorr._validation import check_positive_int
from negcorr.exceptions import ChunkError
from negcorr.progress import progress_bar
from negcorr.scale.chunks import ArraySource, IterableSource, Source, is_path, read_ahead
from negcorr.scale.clusters import fit_blocks, is_dask, predict_blocks
from negcorr.scale.files import FileSource, open_files
from negcorr.scale.first_pass import draw_from, summarise_inputs
from negcorr.stream_fitting import StreamMixin, forget

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
        Frequencies of a table in memory, or the column of a file that has them.
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
        If rows cannot be read or used; it names the file, row group and row. The model has then
        seen all chunks before that one, and ``partial_fit`` can go on.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import NCLRegressor, scale
    >>> def chunks():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).normal(size=(200, 4))
    ...         yield X, np.sin(X[:, 0])
    >>> model = scale.fit(NCLRegressor(n_estimators=20, random_state=0), chunks())
    >>> model.path_.spectrum.weight
    600.0
    """
    if not isinstance(model, StreamMixin):
        raise TypeError(f"model={model!r} must be an NCLRegressor.")
    drawn = "basis_" in vars(model) and not model.__sklearn_is_fitted__()
    if is_dask(X):
        if not drawn:
            forget(model)
        fit_blocks(model, X, y, target, sample_weight)
        return model
    source = source_of(X, y, target, sample_weight, block_size)
    if not drawn:
        forget(model)
        if source.repeatable:
            draw_from(model, summarise_inputs(read_ahead(source.chunks())))
    with progress_bar(progress, source.n_chunks, "chunks") as advance:
        for chunk in read_ahead(source.chunks()):
            try:
                model.partial_fit(chunk.X, chunk.y, chunk.weight)
            except ValueError as error:
                raise chunk.failed(error) from error
            advance()
    if not model.__sklearn_is_fitted__():
        raise ChunkError("there are no rows.")
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
    columns = target if target is None or isinstance(target, str) else [str(t) for t in target]
    dataset = open_files(X) if is_path(X) else X
    if is_path(X) or type(X).__module__.startswith("pyarrow"):
        if y is not None:
            raise ValueError("y is not for files: name the columns that are targets by target.")
        if columns is None:
            raise ValueError("target=None: name the column, or columns, that are targets.")
        if not isinstance(sample_weight, str | None):
            raise ValueError("sample_weight must be the name of a column for files.")
        return FileSource(dataset, columns, sample_weight, size)
    if y is not None:
        table = X if hasattr(X, "shape") else np.asarray(X)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        return ArraySource(table, np.asarray(y), weight, size)
    if sample_weight is not None:
        raise ValueError("sample_weight belongs into the chunks: (X, y, weight).")
    if not isinstance(X, Iterable):
        raise TypeError(
            f"X={X!r} must be a path, a pyarrow dataset, an iterable of chunks, or a table with y, "
            f"got {type(X).__name__}."
        )
    return IterableSource(X, columns)
