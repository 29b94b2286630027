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
from negcorr._common.types import FloatArray, IntArray
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
from negcorr.rows.keys import HashArray, row_keys
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
        return replace(
            try_out(
                whole.frame,
                schema,
                test_size=test_size,
                seed=seed,
                baselines=baselines,
                n_jobs=n_jobs,
                parameters=parameters,
                refit=refit,
                tell=tell,
            ),
            notes=whole.notes,
        )
    assert look.counts is not None  # it was a look at a data frame
    sample = look.sample.rows.X
    schema = large_columns(chunks.names, sample, look.counts, target, **asked)
    say("reading the table for what the features are drawn from")
    names, cut = ("tried", "all") if refit else ("tried",), first_held_out(test_size)
    sides = passes.look_at_sides(schema, names, cut, seed)
    say("fitting NCL")
    models = {name: sides.drawn(estimator, name) for name in names}
    seen, seconds = passes.fit(schema, models, cut, seed)
    known, held = _kept(sides.known), _kept(sides.held)
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
    n_known, n_held = sides.known.n_rows, sides.held.n_rows
    comparison = scored(results, known, held, schema.targets, n_train=n_known)
    notes = list(passes.chunks.notes)
    if comparison.n_test < n_held:
        notes.append(f"figures are of {comparison.n_test} of {n_held} held-out rows.")
    if len(known.positions) < n_known and len(results) > 1:
        notes.append(
            f"others were fitted to {len(known.positions)} of {n_known} rows, and NCL to all of "
            "them: with more rows they may do better."
        )
    last = names[-1]
    return Trial(schema, tried, models[last], held, ours, comparison, seen[last], tuple(notes))


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
    names = list(model.feature_names_in_)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        word = "column" if len(missing) == 1 else "columns"
        raise TableError(f"X lacks the {word} {', '.join(map(repr, missing))}.")
    return frame[names]


@dataclass(frozen=True)
class _Sides:
    """What two ensembles are drawn from, and rows of both sides of the split.

    ``looks`` are those of "tried", at the rows that are not held out, and of "all" rows; ``known``
    and ``held`` are samples of both sides with their targets.
    """

    looks: Mapping[str, FirstLook]
    known: RowSample
    held: RowSample

    def drawn(self, estimator: Any, name: str) -> Any:
        """A copy of the estimator, with all settled but the moments."""
        model = copy.copy(estimator)
        draw_from(model, self.looks[name])
        return model


def _kept(sample: RowSample) -> Samples:
    """Rows of a side, for other methods and for figures."""
    rows, weight = sample.rows, sample.rows.weight
    if weight is not None and (weight == 1.0).all():
        weight = None
    y = rows.y[:, 0] if rows.y.shape[1] == 1 else rows.y
    return Samples(rows.X, y, weight, None, np.arange(rows.n_rows))


@dataclass(frozen=True, eq=False)
class _Piece:
    """Rows of a piece that have their targets.

    Attributes
    ----------
    raw, typed : Samples
        Inputs as the file has them, which the ensemble of all rows takes; and as the values they
        mean, by the forms of the schema: rows that are not held out may not show these.
    keys : ndarray of uint64 of shape (n,)
    """

    raw: Samples
    typed: Samples
    keys: HashArray

    def of(self, name: str, cut: np.uint64) -> tuple[Samples, IntArray]:
        """The rows for an ensemble, and their numbers."""
        if name == "all":
            return self.raw, np.arange(len(self.keys))
        return self.typed, np.flatnonzero(self.keys < cut)


def _part(rows: Samples, at: IntArray) -> tuple[Any, FloatArray, FloatArray | None]:
    """Inputs, targets and weights of some rows."""
    weight = None if rows.weight is None else rows.weight[at]
    return rows.inputs.iloc[at].reset_index(drop=True), rows.y[at], weight


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
            no_target = np.empty((len(frame), 0))
            part = FirstLook.at(frame, no_target, None, encoded=True, before=look)
            look = part if look is None else look.merged(part)
        assert look is not None  # frames has raised an error before
        return look

    def look_at_sides(
        self, schema: Schema, names: Sequence[str], cut: np.uint64, seed: int
    ) -> _Sides:
        """A look at the rows of the ensembles with these names, and samples of both sides."""
        looks: dict[str, FirstLook] = {}
        kept: dict[bool, RowSample] = {}
        for piece in self._pieces(schema, seed, "features"):
            for name in names:
                rows, at = piece.of(name, cut)
                if len(at):
                    X, y, weight = _part(rows, at)
                    before, target = looks.get(name), y.reshape(len(at), -1)
                    look = FirstLook.at(X, target, weight, encoded=True, before=before)
                    looks[name] = look if before is None else before.merged(look)
            for held_out in (False, True):
                at = np.flatnonzero((piece.keys >= cut) == held_out)
                if len(at):
                    X, y, weight = _part(piece.typed, at)
                    target = y.reshape(len(at), -1)
                    rows_at = Rows(X, target, weight, row_keys(given_cells(X), target))
                    side = kept.get(held_out)
                    one = RowSample.of(rows_at, "xy", None if side is None else side.last)
                    kept[held_out] = one if side is None else side.merged(one)
        for held_out in (False, True):
            n = kept[held_out].n_rows if held_out in kept else 0
            if n < LEAST_ROWS:
                raise TableError(
                    f"{n} rows are on one side of the split, where {LEAST_ROWS} at least are "
                    "needed; try another seed or test_size."
                )
        return _Sides(looks, kept[False], kept[True])

    def fit(
        self, schema: Schema, models: Mapping[str, Any], cut: np.uint64, seed: int
    ) -> tuple[dict[str, Fingerprint], float]:
        """Add the rows to the ensembles.

        Returns
        -------
        seen : dict of str to Fingerprint
            Of the rows of each ensemble.
        seconds : float
            That "tried" took.
        """
        seen = {name: Fingerprint(seed=seed) for name in models}
        seconds = 0.0
        for piece in self._pieces(schema, seed, "fit"):
            for name, model in models.items():
                rows, at = piece.of(name, cut)
                if len(at):
                    start = clock.perf_counter()
                    model.partial_fit(*_part(rows, at))
                    if name == "tried":
                        seconds += clock.perf_counter() - start
                    seen[name] = seen[name].with_hashes(piece.keys[at])
        return seen, seconds

    def _pieces(self, schema: Schema, seed: int, title: str) -> Iterator[_Piece]:
        """Rows that have their targets."""
        path, weights = self.chunks.path, schema.weights
        names = [*schema.inputs, *schema.targets, *([] if weights is None else [weights])]
        columns = [
            c if c.is_input else replace(c, role="number") for c in map(schema.__getitem__, names)
        ]

        def read(part: Any) -> None:
            for column in columns:
                typed_cells(part[column.name], column)

        for frame, row in self.frames(names, title):
            with placing(path, frame, read, row):
                raw = samples(frame, schema)
                typed = samples(frame, schema, raw.positions, typed=True)
                keys = hashes(typed, schema, seed)
            if raw.weight is not None:
                bad = np.flatnonzero(~(raw.weight >= 0))
                if len(bad):
                    at = int(raw.positions[bad[0]])
                    raise TableError(
                        f"{path}, row {row + at + 1}: weights={weights!r} must hold a number of at "
                        f"least 0 in every row, got {shortened(frame[weights].iloc[at])}."
                    )
            if len(keys):
                yield _Piece(raw, typed, keys)
