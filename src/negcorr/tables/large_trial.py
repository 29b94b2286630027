"""try_out_large: an ensemble tried and fitted on a table that is never in memory as a whole."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray
from negcorr.columns.samples import hashes, samples
from negcorr.columns.typed_columns import placing
from negcorr.ensemble.partial_fit import check_streamable
from negcorr.exceptions import TableError
from negcorr.reading.schema import Schema
from negcorr.reading.table_chunks import TableChunks
from negcorr.tables.baselines import BASELINES, check_baselines, dense, fit_baselines
from negcorr.tables.comparison import OURS, Result, scored
from negcorr.tables.pipeline import make_tabular
from negcorr.tables.second_pass import pass_over, with_counts
from negcorr.tables.splitting import LEAST_ROWS, check_held_out, check_split, largest_keys
from negcorr.tables.table_sample import SAMPLE_ROWS, TableSample, sample_of
from negcorr.tables.trial import Trial, predicted_by

__all__ = ["predict_frames", "try_out_large"]


def try_out_large(
    table: str | os.PathLike[str] | TableChunks,
    target: str | Sequence[str],
    *,
    test_size: float = 0.2,
    seed: int = 0,
    baselines: Sequence[str] = BASELINES,
    n_jobs: int = 1,
    parameters: Mapping[str, Any] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weights: str | None = None,
    group: str | None = None,
    time: str | None = None,
    refit: bool = True,
    sample_rows: int = SAMPLE_ROWS,
    tell: Callable[[str], None] | None = None,
    progress: Any = False,
) -> Trial:
    r"""Do what :func:`~negcorr.tables.trial.try_out` does with a file too large for memory.

    The file is read twice. The first time a sample of rows is taken, by their content; roles of
    columns, medians, scales, levels and the basis of the ensemble come from it. The second time
    every row goes into one of two ensembles of this basis, by a hash of its content: the one that
    is tried, or that of the held-out rows. Merged they are the model of all rows. Rivals cannot be
    fitted in pieces: they are fitted to a part of the rows, and the notes say so.

    Parameters
    ----------
    table : str, path or TableChunks
    target : str or sequence of str
        Columns to predict.
    test_size, seed, baselines, n_jobs, parameters, refit
        As in :func:`~negcorr.tables.trial.try_out`. Parameters must be such that ``partial_fit``
        can follow them; where it warns of lost digits, ``solver="qr"`` is exact, and slower.
    drop, categorical, weights
        As in :func:`~negcorr.columns.kinds.infer_columns`.
    group, time : str, optional
        Refused: groups and times need the table in memory.
    sample_rows : int, default=50000
        Most rows of the sample, of those that other methods are fitted to, and of the held-out
        rows that figures are made from.
    tell : callable, optional
        Called with a few words before each step.
    progress : bool or scikit-learn callback, default=False
        Whether bars show how far the two passes have come.

    Returns
    -------
    Trial
        Its schema has the number of all rows, and counts missing values of the columns that are
        used in all of them.

    Raises
    ------
    TableError
        If the file is broken, or a cell is not what the sample has in its column; the message
        names the row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from negcorr.tables import try_out_large
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "waves.csv")
    ...     _ = file.write_text("x,y\n" + "".join(f"{v},{np.sin(2 * v)}\n" for v in x))
    ...     found = try_out_large(file, "y", baselines=["ridge"], sample_rows=100)
    >>> found.n_rows, found.comparison["ridge"].gain > 0
    (400, True)
    >>> found.notes[0]
    'roles of columns, medians, scales and features are from a sample of 100 of 400 rows.'
    """
    check_split(test_size, seed)
    check_baselines(baselines)
    for name, column in (("group", group), ("time", time)):
        if column is not None:
            problem = "needs the table in memory, which is read in pieces here"
            raise TableError(f"{name}={column!r} {problem}; use try_out with read_table.")
    say = tell if tell is not None else lambda words: None
    chunks = table if isinstance(table, TableChunks) else TableChunks.open(table)
    say("reading a sample of the rows")
    with progress_bar(progress, chunks.n_rows, "sample", unit="rows") as advance:
        sample = sample_of(chunks, sample_rows, seed, advance)
    schema = sample.schema(target, drop=drop, categorical=categorical, weights=weights)
    settings = {"random_state": seed, **(parameters or {})}
    drawn, cut = _drawn(sample, schema, test_size, seed, settings)
    say("fitting NCL to all rows" if refit else "fitting NCL")
    with progress_bar(progress, sample.n_rows, "fit", unit="rows") as advance:
        passed = pass_over(sample, schema, drawn, cut, seed, sample_rows, advance)
    known, held = (side.samples(passed.chunks, schema) for side in (passed.known, passed.held))
    check_held_out(held, schema)
    tried = _ending_with(passed.known.model, drawn)
    start = clock.perf_counter()
    features = dense(tried[:-1].transform(held.inputs))
    ours, interval = predicted_by(tried[-1], features)
    seconds = passed.seconds + clock.perf_counter() - start
    others = fit_baselines(
        baselines, tried[:-1], known, features, seed=seed, n_jobs=n_jobs, tell=tell
    )
    results = [Result(OURS, ours, interval, seconds), *others]
    n_known, n_held = passed.known.n_rows, passed.held.n_rows
    comparison = scored(results, known, held, schema.targets, n_train=n_known)
    model, seen = tried, passed.known.seen
    if refit:
        model = _ending_with(passed.known.model.merge(passed.held.model), drawn)
        seen = passed.known.seen.merged(passed.held.seen)
    notes = list(sample.notes)
    if not sample.is_whole:
        taken = f"a sample of {len(sample.frame)} of {sample.n_rows} rows"
        notes.append(f"roles of columns, medians, scales and features are from {taken}.")
    if comparison.n_test < n_held:
        notes.append(f"figures are of {comparison.n_test} of {n_held} held-out rows.")
    if len(known.positions) < n_known and len(results) > 1:
        notes.append(
            f"rivals were fitted to {len(known.positions)} of {n_known} rows, and NCL to all of "
            "them: with more rows they may do better."
        )
    counted = with_counts(schema, passed, sample)
    return Trial(counted, tried, model, held, ours, comparison, seen, tuple(notes))


def predict_frames(model: Any, chunks: TableChunks) -> Iterator[tuple[Any, FloatArray]]:
    r"""Predict a table piece by piece.

    Parameters
    ----------
    model : Pipeline
        Of :func:`~negcorr.tables.large_trial.try_out_large`, or any fitted one of
        :func:`~negcorr.make_tabular`.
    chunks : TableChunks
        Opened with the model's schema, so that cells are read as in training. Targets may lack.

    Yields
    ------
    frame : pandas.DataFrame
        Rows as they were read.
    predicted : ndarray of shape (n,) or (n, outputs)

    Raises
    ------
    TableError
        If a cell is not what its column had in training; the message names the row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from negcorr import make_tabular
    >>> from negcorr.reading import TableChunks
    >>> from negcorr.tables import infer_columns, predict_frames
    >>> frame = pd.DataFrame({"x": [k / 7 for k in range(40)], "y": range(40)})
    >>> model = make_tabular(frame, "y", lam=0.5).fit(frame, frame["y"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "new.csv").write_text("x\n1.5\n?\n2.5\n")
    ...     new = TableChunks.open(Path(folder, "new.csv"), infer_columns(frame, "y"), block=2)
    ...     [len(predicted) for _, predicted in predict_frames(model, new)]
    [2, 1]
    """
    row = 0
    for frame in chunks:
        with placing(chunks.path, frame, model[0], row):
            predicted = np.asarray(model.predict(frame))
        yield frame, predicted
        row += len(frame)


def _drawn(
    sample: TableSample, schema: Schema, test_size: float, seed: int, settings: Mapping[str, Any]
) -> tuple[Pipeline, np.uint64]:
    """A pipeline whose steps know the sample, and the hash from which on rows are held out."""
    pipeline = make_tabular(sample.frame, schema.targets, schema=schema, **settings)
    model = pipeline[-1]
    check_streamable(model._settings())
    rows = samples(sample.frame, schema)
    if len(rows.positions) < 2 * LEAST_ROWS:
        needed = f"{2 * LEAST_ROWS} at least are needed to hold some out"
        n = len(rows.positions)
        raise TableError(f"{n} rows of the sample have their targets; {needed}.")
    keys = hashes(rows, schema, seed)
    cut = keys[largest_keys(keys, test_size, "content")].min()
    # In the order of their hashes: the result must not depend on the order or format of the file.
    order = np.argsort(keys) if rows.weight is None else np.lexsort((rows.weight, keys))
    rows = samples(sample.frame, schema, rows.positions[order])
    model.draw(dense(pipeline[:-1].fit_transform(rows.inputs)), rows.weight)
    return pipeline, cut


def _ending_with(model: Any, pipeline: Pipeline) -> Pipeline:
    """The pipeline with a fitted last step; the others are shared."""
    return Pipeline([*pipeline.steps[:-1], ("model", model)])
