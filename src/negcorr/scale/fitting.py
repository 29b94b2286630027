"""``negcorr.scale.fit``: an estimator from rows that do not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any, TypeVar

from negcorr.columns.inputs import FirstLook
from negcorr.ensemble.partial_fit import check_streamable
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.scale import first_pass
from negcorr.scale.chunks import IterableSource, Source, is_path
from negcorr.scale.clusters import fit_blocks, is_dask, predict_blocks
from negcorr.scale.files import FileSource, KindError
from negcorr.scale.passes import Passes, watched_passes
from negcorr.scale.planning import Budget, chunks_within, known_columns, known_features
from negcorr.scale.sources import source_of

__all__ = ["fit", "predict"]

Model = TypeVar("Model", bound=NCLRegressor)

#: Where there is nothing that a budget could decide.
_NO_CHUNKS = "{} is for files and tables, whose chunks it decides; {}: make those smaller."


def fit(
    model: Model,
    X: Any,
    y: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    sample_weight: Any = None,
    block_size: int | None = None,
    memory: int | str | None = None,
    progress: Any = False,
) -> Model:
    """Fit an estimator on rows that are read in chunks, in bounded memory.

    The first pass settles kinds of columns, scales and the basis, on the rows that a fit in memory
    would take; the second adds up moments while a thread reads ahead. The model is that of
    ``model.fit`` on the same rows. A model whose basis is drawn already (``model.draw``), and rows
    that can be read only once, need no first pass; the basis of the latter comes from the first
    chunk.

    Parameters
    ----------
    model : NCLRegressor
        Fitted in place.
    X : path, pyarrow dataset, Dask table, iterable of chunks, or array-like of shape (n, d)
        A file that :func:`negcorr.read_table` reads, or a folder of such files of one kind, a
        ``pyarrow.dataset.Dataset``, an iterable of (X, y) or (X, y, weight) or of data frames, a
        Dask array or data frame, whose blocks are worked on where they are, or a table in memory.
        Columns may be all that ``model.fit`` takes, with missing values.
    y : array-like of shape (n,) or (n, outputs), optional
        Targets of a table in memory, or of a Dask array.
    target : str or sequence of str, optional
        Columns that are targets, for files and data frames; a sequence makes y two-dimensional.
    sample_weight : array-like of shape (n,) or str, optional
        Frequencies of a table in memory, or the column of files or data frames that has them.
    block_size : int, optional
        Most rows of a chunk that is read from files or cut from a table. By default ``memory``
        decides. At most four chunks are in memory at a time.
    memory : int or str, optional
        Bytes, or text such as "2GB" and "512MiB", that reading files, or working on a table, may
        take beside what the process has already: chunks are as large as that allows, from 1024 to
        131072 rows. By default a quarter of the memory that is available now, to the machine or to
        the container. Excludes ``block_size``.
    progress : bool or scikit-learn callback, default=False
        Whether a bar is shown for each pass, with rows per second (by rich or tqdm). A callback
        is called for the chunks of the last pass. Dask has displays of its own.

    Returns
    -------
    model
        The same, fitted.

    Raises
    ------
    ChunkError
        If rows cannot be read or used; it names the file and the row. If that was in the first
        pass, the model is as it was before; later, it has seen all chunks before that one, and
        ``partial_fit`` can go on.
    ValueError
        If ``memory`` is too little for the moments; it says how much they take.
    MemoryError
        The same for all of the memory that is available.
    ConnectionError
        If a Dask cluster or the connection to it is lost. The model is as it was before.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import NCLRegressor, scale
    >>> from negcorr.bases import FourierFeatures
    >>> def chunks():
    ...     for seed in range(3):
    ...         rng = np.random.default_rng(seed)
    ...         X = rng.normal(size=(200, 4))
    ...         yield X, np.sin(X[:, 0]) + 0.5 * rng.normal(size=200)
    >>> model = scale.fit(NCLRegressor(FourierFeatures(n_members=20)), chunks())
    >>> model.path_.spectrum.weight
    600.0
    """
    if not isinstance(model, NCLRegressor):
        raise TypeError(f"model={model!r} must be an NCLRegressor.")
    check_streamable(model._settings())
    budget = Budget.of(block_size, memory)
    drawn = "_drawn" in vars(model) and not model.__sklearn_is_fitted__()
    if is_dask(X):
        if budget.asked_for or block_size is not None:
            told = budget.told or f"block_size={block_size!r}"
            raise ValueError(_NO_CHUNKS.format(told, "blocks of Dask are as it has them"))
        fit_blocks(model, drawn, X, y, target, sample_weight)
        return model
    source = source_of(X, y, target, sample_weight, budget.most_rows)
    if budget.asked_for and isinstance(source, IterableSource):
        raise ValueError(_NO_CHUNKS.format(budget.told, "chunks of an iterable are as it has them"))
    name = f"X={str(X)!r}" if is_path(X) else "X"
    looks_first = not drawn and source.repeatable
    n_features = known_features(model, drawn)
    source = chunks_within(budget, source, model, n_features, looks_first)
    with watched_passes(progress, source, 1 + looks_first) as passes:
        if looks_first:
            look, source = _first_look(model, source, passes, name)
            first_pass.draw_from(model, look)
            name += ", read for a second time,"
        elif not drawn:
            first_pass.drop_fit(model)
        try:
            n_drawn = known_features(model, "_drawn" in vars(model))
            if n_drawn != n_features or known_columns(model):
                source = chunks_within(budget, source, model, n_drawn)
            with closing(passes.chunks(source, name, passes.count)) as chunks:
                for chunk in chunks:
                    with chunk.placing_errors():
                        model.partial_fit(chunk.X, chunk.y, chunk.weight)
        except BaseException:
            if not drawn and not model.__sklearn_is_fitted__():
                # A basis of rows that failed is not one that the user has drawn.
                first_pass.drop_fit(model)
            raise
    return model


def _first_look(model: Any, source: Source, passes: Passes, name: str) -> tuple[FirstLook, Source]:
    """A look at all rows, and the source as its cells are to be read."""
    try:
        with closing(passes.chunks(source, name, 1)) as chunks:
            return first_pass.look_at_chunks(model, chunks), source
    except KindError:
        # What is a number in the first rows of a text may be something else further down.
        assert isinstance(source, FileSource)
        return _first_look(model, source.settled(), passes, name)


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
    >>> model = NCLRegressor(basis="fourier", lam=0.9).fit(X, X[:, 0])
    >>> import dask.array
    >>> scale.predict(model, dask.array.from_array(X, chunks=100)).compute().shape
    (300,)
    """
    if not is_dask(X):
        problem = f"X must be a Dask array or data frame, got {type(X).__name__}"
        raise TypeError(f"{problem}; for others there is model.predict.")
    return predict_blocks(model, X)
