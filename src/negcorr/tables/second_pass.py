"""The second pass over a large table: every row into one of two ensembles of the same basis."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from negcorr._common.number_text import shortened
from negcorr._common.types import BoolArray, FloatArray, IntArray
from negcorr.columns.samples import Samples, samples, typed_hashes
from negcorr.columns.typed_columns import MISSING_LEVEL, TypedColumns, placing
from negcorr.exceptions import TableError
from negcorr.reading.cell_kinds import kinds_with_roles
from negcorr.reading.chunk_sources import TextSource
from negcorr.reading.number_cells import as_numbers
from negcorr.reading.schema import Column, Schema
from negcorr.reading.table_chunks import TableChunks
from negcorr.tables.baselines import dense
from negcorr.tables.fingerprint import Fingerprint
from negcorr.tables.smallest import SmallestHashes
from negcorr.tables.splitting import LEAST_ROWS
from negcorr.tables.table_sample import TableSample

__all__ = ["Passed", "pass_over", "with_counts"]


@dataclass(frozen=True, eq=False)
class Passed:
    """What a pass over all rows leaves.

    Attributes
    ----------
    tried, other : NCLRegressor
        Fitted to the rows that are not held out, and to those that are.
    known, held : Samples
        Some of these rows.
    n_known, n_held : int
        How many there are.
    seen_known, seen_all : Fingerprint
        Of those that are not held out, and of both.
    missing : dict of str to int
        Cells without a value, of all columns that were read.
    seconds : float
        That features and moments of the first took.
    """

    tried: Any
    other: Any
    known: Samples
    held: Samples
    n_known: int
    n_held: int
    seen_known: Fingerprint
    seen_all: Fingerprint
    missing: dict[str, int]
    seconds: float


def pass_over(
    sample: TableSample,
    schema: Schema,
    drawn: Pipeline,
    cut: np.uint64,
    seed: int,
    most: int,
    advance: Callable[[int], None],
) -> Passed:
    """Read all rows once more, and add each to the ensemble of its side.

    Parameters
    ----------
    sample : TableSample
        With the file.
    schema : Schema
    drawn : Pipeline
        Its steps fitted, its ensemble drawn.
    cut : uint64
        Rows with a larger hash are held out, and those with this one.
    seed : int
        Of the hash.
    most : int
        Rows of each side to keep.
    advance : callable
        Called with the number of rows that were read.
    """
    source = sample.chunks.source
    kinds = sample.chunks.kinds if isinstance(source, TextSource) else source.kinds(schema)
    chunks = sample.chunks.reading(kinds_with_roles(kinds, schema))
    # Copies that share their basis, so that they can be merged.
    sides = _Side(copy.copy(drawn[-1]), most), _Side(copy.copy(drawn[-1]), most)
    missing = dict.fromkeys(chunks.kinds, 0)
    seen_known = seen_all = Fingerprint(seed=seed)
    row, seconds = 0, 0.0
    for table in chunks.tables():
        piece = _Piece.of(chunks, table, row, schema, drawn[0])
        for name, count in piece.missing(schema).items():
            missing[name] += count
        start = time.perf_counter()
        features = dense(drawn[1].transform(piece.typed))
        keys = typed_hashes(piece.typed, piece.y, schema, seed)
        held = keys >= cut
        seen_known, seen_all = seen_known.with_hashes(keys[~held]), seen_all.with_hashes(keys)
        for side, chosen in zip(sides, (~held, held), strict=True):
            side.add(features, piece, keys, chosen)
        seconds += (time.perf_counter() - start) * float(np.mean(~held)) if len(held) else 0.0
        row += table.num_rows
        advance(table.num_rows)
    known, held_out = (side.samples(chunks, schema) for side in sides)
    n_known, n_held = (side.kept.n_rows for side in sides)
    return Passed(
        tried=sides[0].model,
        other=sides[1].model,
        known=known,
        held=held_out,
        n_known=n_known,
        n_held=n_held,
        seen_known=seen_known,
        seen_all=seen_all,
        missing=missing,
        seconds=seconds,
    )


@dataclass(frozen=True, eq=False)
class _Piece:
    """Rows of a piece that have their targets."""

    table: Any
    typed: Any
    y: FloatArray
    weight: FloatArray | None
    positions: IntArray
    all_typed: Any
    all_y: FloatArray

    @classmethod
    def of(
        cls, chunks: TableChunks, table: Any, row: int, schema: Schema, reader: TypedColumns
    ) -> _Piece:
        frame = chunks.frame(table, row)
        with placing(chunks.path, frame, reader, row):
            typed = reader.transform(frame)
        targets = []
        for name in schema.targets:
            form = schema[name].form
            with placing(chunks.path, frame, TypedColumns({name: form}, (), {}), row):
                targets.append(as_numbers(frame[name], form, name))
        y = np.stack(targets, axis=1)
        there = ~np.isnan(y).any(axis=1)
        at = np.flatnonzero(there)
        weight = _weights(chunks.path, frame, schema, row)
        return cls(
            table=table if there.all() else table.take(at),
            typed=typed if there.all() else typed.iloc[at],
            y=y[at, 0] if len(targets) == 1 else y[at],
            weight=None if weight is None else weight[at],
            positions=row + at,
            all_typed=typed,
            all_y=y,
        )

    def missing(self, schema: Schema) -> dict[str, int]:
        """Cells without a value, rows without a target among them."""
        counts = {
            name: int(np.isnan(y).sum())
            for name, y in zip(schema.targets, self.all_y.T, strict=True)
        }
        for name in schema.inputs:
            values = self.all_typed[name]
            gone = values == MISSING_LEVEL if schema[name].role == "category" else values.isna()
            counts[name] = int(gone.sum())
        return counts


class _Side:
    """One of the two ensembles, and some of its rows."""

    def __init__(self, model: Any, most: int) -> None:
        self.model = model
        self.kept = SmallestHashes(most)

    def add(self, features: FloatArray, piece: _Piece, keys: Any, chosen: BoolArray) -> None:
        at = np.flatnonzero(chosen)
        if not len(at):
            return
        weight = None if piece.weight is None else piece.weight[at]
        self.model.partial_fit(features[at], piece.y[at], weight)
        self.kept.add(keys[at], piece.table.take(at), piece.positions[at])

    def samples(self, chunks: TableChunks, schema: Schema) -> Samples:
        """The rows that were kept, in the order of the file."""
        rows = self.kept.rows()
        if rows.n_rows < LEAST_ROWS:
            raise TableError(
                f"{rows.n_rows} rows are on one side of the split, where {LEAST_ROWS} at least are "
                "needed; try another seed or test_size."
            )
        order = np.argsort(rows.positions, kind="stable")
        found = samples(chunks.frame(rows.table.take(order), 0), schema)
        return replace(found, positions=rows.positions[order])


def _weights(path: Path, frame: Any, schema: Schema, row: int) -> FloatArray | None:
    if schema.weights is None:
        return None
    name = schema.weights
    form = schema[name].form
    with placing(path, frame, TypedColumns({name: form}, (), {}), row):
        weight = as_numbers(frame[name], form, name)
    bad = ~(weight >= 0)
    if bad.any():
        at = int(np.argmax(bad))
        raise TableError(
            f"{path}, row {row + at + 1}: weights={name!r} must hold a number of at least 0 in "
            f"every row, got {shortened(frame[name].iloc[at])}."
        )
    return weight


def with_counts(schema: Schema, passed: Passed, sample: TableSample) -> Schema:
    """The schema with missing values counted in all rows, where they were all looked at."""
    if sample.is_whole:
        return schema
    columns = tuple(_counted(column, passed.missing.get(column.name)) for column in schema.columns)
    return replace(schema, columns=columns)


def _counted(column: Column, missing: int | None) -> Column:
    if missing is None:
        said = "counts of the sample"
        return replace(column, remark=f"{column.remark}; {said}" if column.remark else said)
    remark = column.remark
    if column.role == "target":
        words = "rows without it are left out"
        remark = remark.removesuffix(f"{column.n_missing} {words}").removesuffix("; ")
        left_out = f"{missing} {words}" if missing else ""
        remark = "; ".join(filter(None, [remark, left_out]))
    return replace(column, n_missing=missing, remark=remark)
