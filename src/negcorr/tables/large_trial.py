"""try_out_large: an ensemble tried and fitted on a table that is never in memory as a whole."""

from __future__ import annotations

import copy
import os
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray
from negcorr.columns.cells import given_cells, placing, typed_cells
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.inputs import FirstLook
from negcorr.columns.kinds import infer_columns, large_columns
from negcorr.columns.samples import Samples, hashes, samples
from negcorr.ensemble.partial_fit import check_streamable
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import TableError
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks
from negcorr.rows.keys import row_keys
from negcorr.rows.rows import Rows
from negcorr.rows.sample import RowSample
from negcorr.scale.first_pass import draw_from
from negcorr.scale.passes import read_ahead
from negcorr.tables.baselines import BASELINES, check_baselines, dense, fit_baselines
from negcorr.tables.comparison import OURS, Result, scored
from negcorr.tables.fingerprint import Fingerprint
from negcorr.tables.splitting import LEAST_ROWS, check_held_out, check_split, first_held_out
from negcorr.tables.trial import Trial, predicted_by, try_out

__all__ = ["predict_frames", "rows_of_large", "try_out_large"]


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
    tell: Callable[[str], None] | None = None,
    progress: Any = False,
) -> Trial:
    r"""Do what :func:`~negcorr.tables.try_out` does with a file too large for memory.

    The model is the same. The file is read three times: for the roles of its columns; for what has
    to be settled before rows are added up (columns, scales, features), without the held-out rows
    and with them; and to add up the rows, for both ensembles. Others cannot be fitted in pieces:
    they are fitted to a part of the rows, and the notes say so. A table of at most 20 000 rows is
    read as a whole.

    Parameters
    ----------
    table : str, path or TableChunks
    target : str or sequence of str
        Columns to predict.
    test_size, seed, baselines, n_jobs, parameters, refit
        As in :func:`~negcorr.tables.try_out`. Parameters must be such that ``partial_fit`` can
        follow them; where it warns of lost digits, ``solver="qr"`` is exact, and slower.
    drop, categorical, weights
        As in :func:`~negcorr.tables.infer_columns`.
    group, time : str, optional
        Refused: groups and times need the table in memory.
    tell : callable, optional
        Called with a few words before each step.
    progress : bool or scikit-learn callback, default=False
        Whether bars show how far the passes have come.

    Returns
    -------
    Trial

    Raises
    ------
    TableError
        If the file is broken, or a cell is not what its column holds; the message names the row.

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
    ...     found = try_out_large(file, "y", baselines=["ridge"])
    >>> found.n_rows, found.comparison["ridge"].gain > 0
    (400, True)
    """
    check_split(test_size, seed)
    check_baselines(baselines)
    for name, column in (("group", group), ("time", time)):
        if column is not None:
            problem = "needs the table in memory, which is read in pieces here"
            raise TableError(f"{name}={column!r} {problem}; use try_out with read_table.")
    say = tell if tell is not None else lambda words: None
    chunks = table if isinstance(table, TableChunks) else TableChunks.open(table)
    estimator = NCLRegressor(**{"random_state": seed, **(parameters or {})})
    check_streamable(estimator._settings())
    asked: dict[str, Any] = {"drop": drop, "categorical": categorical, "weights": weights}
    say("reading the table for the kinds of its columns")
    passes = _Passes(chunks, progress)
    look = passes.look_at_columns([name for name in chunks.names if name not in drop])
    if look.sample.is_whole:
        whole = read_table(chunks.path)
        schema = infer_columns(whole.frame, target, **asked)
        given = {"test_size": test_size, "seed": seed, "baselines": baselines, "n_jobs": n_jobs}
        trial = try_out(whole.frame, schema, **given, parameters=parameters, refit=refit, tell=tell)
        return replace(trial, notes=(*whole.notes, *trial.notes))
    assert look.counts is not None  # it was a look at a data frame
    sample = look.sample.rows.X
    schema = large_columns(chunks.names, sample, look.counts, target, **asked)
    say("reading the table for what the features are drawn from")
    sides = passes.look_at_sides(schema, test_size, seed)
    sides.check(schema)
    say("fitting NCL")
    models = {"tried": sides.drawn(estimator, held_out=False)}
    if refit:
        models["all"] = sides.drawn(estimator, held_out=True)
    seen, seconds = passes.fit(schema, models, sides.cut, seed)
    known, held = sides.samples(held_out=False), sides.samples(held_out=True)
    check_held_out(held, schema)
    tried = models["tried"]
    start = clock.perf_counter()
    ours, interval = predicted_by(tried, held.inputs)
    seconds += clock.perf_counter() - start
    results = [Result(OURS, ours, interval, seconds)]
    if baselines:
        encoder = FrameEncoder().fit(known.inputs, sample_weight=known.weight)
        features = dense(encoder.transform(held.inputs))
        threads: dict[str, Any] = {"seed": seed, "n_jobs": n_jobs, "tell": tell}
        results += fit_baselines(baselines, encoder, known, features, **threads)
    n_known, n_held = sides.known.rows.n_rows, sides.held.rows.n_rows
    comparison = scored(results, known, held, schema.targets, n_train=n_known)
    notes = list(passes.chunks.notes)
    if comparison.n_test < n_held:
        notes.append(f"figures are of {comparison.n_test} of {n_held} held-out rows.")
    if len(known.positions) < n_known and len(results) > 1:
        notes.append(
            f"others were fitted to {len(known.positions)} of {n_known} rows, and NCL to all of "
            "them: with more rows they may do better."
        )
    model = models.get("all", tried)
    name = "all" if refit else "tried"
    return Trial(schema, tried, model, held, ours, comparison, seen[name], tuple(notes))


def predict_frames(model: Any, chunks: TableChunks) -> Iterator[tuple[Any, FloatArray]]:
    r"""Predict a table piece by piece.

    Parameters
    ----------
    model : NCLRegressor
        Fitted to a data frame.
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
    >>> from negcorr import NCLRegressor
    >>> from negcorr.reading import TableChunks
    >>> from negcorr.tables import infer_columns, predict_frames
    >>> frame = pd.DataFrame({"x": [k / 7 for k in range(40)], "y": range(40)})
    >>> model = NCLRegressor(lam=0.5).fit(frame[["x"]], frame["y"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "new.csv").write_text("x\n1.5\n?\n2.5\n")
    ...     new = TableChunks.open(Path(folder, "new.csv"), infer_columns(frame, "y"), block=2)
    ...     [len(predicted) for _, predicted in predict_frames(model, new)]
    [2, 1]
    """
    row = 0
    for frame in chunks:
        with placing(chunks.path, frame, lambda part: model.predict(_inputs(model, part)), row):
            predicted = np.asarray(model.predict(_inputs(model, frame)))
        yield frame, predicted
        row += len(frame)


def rows_of_large(chunks: TableChunks) -> Any:
    """At most 20 000 rows from all over a file, in one pass: those with the smallest keys.

    Parameters
    ----------
    chunks : TableChunks

    Returns
    -------
    pandas.DataFrame
    """
    return _Passes(chunks, False).look_at_columns(list(chunks.names)).sample.rows.X


def _inputs(model: Any, frame: Any) -> Any:
    """The columns that a model was fitted to, in their order."""
    return frame[list(model.feature_names_in_)]


@dataclass(frozen=True)
class _Side:
    """The rows that are held out, or those that are not.

    ``look`` is at their inputs; ``rows`` is a sample of them, with their targets.
    """

    look: FirstLook
    rows: RowSample

    def merged(self, other: _Side) -> _Side:
        return _Side(self.look.merged(other.look), self.rows.merged(other.rows))


@dataclass(frozen=True)
class _Sides:
    """Both sides of the split, and the key from which on rows are held out."""

    known: _Side
    held: _Side
    cut: np.uint64

    def check(self, schema: Schema) -> None:
        """Raise an error where one side has too few rows."""
        for side in (self.known, self.held):
            if side.rows.n_rows < LEAST_ROWS:
                raise TableError(
                    f"{side.rows.n_rows} rows are on one side of the split, where {LEAST_ROWS} at "
                    "least are needed; try another seed or test_size."
                )

    def drawn(self, estimator: Any, *, held_out: bool) -> Any:
        """A copy of the estimator, with all settled but the moments, from one side or from both."""
        look = self.known.look.merged(self.held.look) if held_out else self.known.look
        model = copy.copy(estimator)
        draw_from(model, look)
        return model

    def samples(self, *, held_out: bool) -> Samples:
        """Rows of a side, for other methods and for figures."""
        rows = (self.held if held_out else self.known).rows.rows
        y = rows.y[:, 0] if rows.y.shape[1] == 1 else rows.y
        weight = rows.weight
        if weight is not None and (weight == 1.0).all():
            weight = None
        return Samples(rows.X, y, weight, None, np.arange(rows.n_rows))


class _Passes:
    """Passes over the rows of a file.

    Parameters
    ----------
    chunks : TableChunks
    progress : bool or scikit-learn callback
        Whether bars are shown.

    Attributes
    ----------
    chunks : TableChunks
        The file, as its cells are read: the first pass may find that columns of text hold
        something else than their first rows show.
    """

    def __init__(self, chunks: TableChunks, progress: Any) -> None:
        self.chunks = chunks
        self.progress = progress

    def frames(self, names: Sequence[str], title: str) -> Iterator[tuple[Any, int]]:
        """Data frames of some columns, and the number of rows before each."""
        kinds = {name: self.chunks.kinds[name] for name in names}
        opened, row = self.chunks.reading(kinds), 0
        with (
            progress_bar(self.progress, self.chunks.n_rows, title, unit="rows") as advance,
            closing(read_ahead(opened.tables())) as tables,
        ):
            for table in tables:
                yield opened.frame(table, row), row
                row += table.num_rows
                advance(table.num_rows)
        if row == 0:
            raise TableError(f"{self.chunks.path}: the table has no row.")

    def look_at_columns(self, names: list[str]) -> FirstLook:
        """A look at all columns but those that were dropped."""
        try:
            return self._look_at_columns(names)
        except TableError:
            settled = self.chunks.settled()
            if dict(settled.kinds) == dict(self.chunks.kinds):
                raise
            self.chunks = settled
            return self._look_at_columns(names)

    def _look_at_columns(self, names: list[str]) -> FirstLook:
        look: FirstLook | None = None
        for frame, _ in self.frames(names, "columns"):
            part = FirstLook.at(frame, np.empty((len(frame), 0)), None, encoded=True)
            look = part if look is None else look.merged(part)
        assert look is not None  # frames has raised an error before
        return look

    def look_at_sides(self, schema: Schema, test_size: float, seed: int) -> _Sides:
        """A look at both sides of the split."""
        cut, found = first_held_out(test_size), {}
        for rows, keys, _ in self._samples(schema, seed, "features"):
            for held_out in (False, True):
                at = np.flatnonzero((keys >= cut) == held_out)
                if len(at):
                    side = _side(rows, at)
                    found[held_out] = side.merged(found[held_out]) if held_out in found else side
        if len(found) < 2:
            where = "held out" if False in found else "left to fit to"
            raise TableError(f"no row would be {where}; try another seed or test_size.")
        return _Sides(found[False], found[True], cut)

    def fit(
        self, schema: Schema, models: Mapping[str, Any], cut: np.uint64, seed: int
    ) -> tuple[dict[str, Fingerprint], float]:
        """Add the rows to the ensembles: "tried" has those that are not held out.

        Returns
        -------
        seen : dict of str to Fingerprint
            Of the rows of each ensemble.
        seconds : float
            That "tried" took.
        """
        seen = {name: Fingerprint(seed=seed) for name in models}
        seconds = 0.0
        for rows, keys, _ in self._samples(schema, seed, "fit"):
            for name, model in models.items():
                at = np.flatnonzero(keys < cut) if name == "tried" else np.arange(len(keys))
                if not len(at):
                    continue
                start = clock.perf_counter()
                weight = None if rows.weight is None else rows.weight[at]
                model.partial_fit(rows.inputs.iloc[at], rows.y[at], weight)
                if name == "tried":
                    seconds += clock.perf_counter() - start
                seen[name] = seen[name].with_hashes(keys[at])
        return seen, seconds

    def _samples(self, schema: Schema, seed: int, title: str) -> Iterator[tuple[Samples, Any, int]]:
        """Rows that have their targets, their keys, and the number of rows before them."""
        weights = [] if schema.weights is None else [schema.weights]
        path = self.chunks.path
        for frame, row in self.frames([*schema.inputs, *schema.targets, *weights], title):

            def read(part: Any) -> None:
                for name in (*schema.inputs, *schema.targets, *weights):
                    column = schema[name]
                    typed_cells(part[name], column if column.is_input else _as_number(column))

            with placing(path, frame, read, row):
                rows = samples(frame, schema)
                keys = hashes(rows, schema, seed)
            if rows.weight is not None:
                bad = np.flatnonzero(~(rows.weight >= 0))
                if len(bad):
                    at = int(rows.positions[bad[0]])
                    cell = shortened(frame[schema.weights].iloc[at])
                    raise TableError(
                        f"{path}, row {row + at + 1}: weights={schema.weights!r} must hold a "
                        f"number of at least 0 in every row, got {cell}."
                    )
            if len(keys):
                yield rows, keys, row


def _as_number(column: Any) -> Any:
    return replace(column, role="number")


def _side(rows: Samples, at: Any) -> _Side:
    """Some rows of a piece as a side."""
    X, y = rows.inputs.iloc[at].reset_index(drop=True), rows.y[at].reshape(len(at), -1)
    weight = None if rows.weight is None else rows.weight[at]
    keys = row_keys(given_cells(X), y)
    look = FirstLook.at(X, y, weight, encoded=True)
    return _Side(look, RowSample.of(Rows(X, y, weight, keys), "xy"))
