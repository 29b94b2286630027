"""The second pass over a large table: every row into one of two ensembles of the same basis."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from negcorr._common.number_text import shortened
from negcorr._common.types import FloatArray, IntArray
from negcorr.columns.samples import Samples, samples, typed_hashes
from negcorr.columns.typed_columns import MISSING_LEVEL, TypedColumns, placing
from negcorr.exceptions import TableError
from negcorr.reading.cell_kinds import kinds_with_roles
from negcorr.reading.chunk_sources import TextSource
from negcorr.reading.number_cells import as_numbers
from negcorr.reading.schema import Column, Schema
from negcorr.reading.table_chunks import TableChunks
from negcorr.scale.passes import read_ahead
from negcorr.tables.baselines import dense
from negcorr.tables.fingerprint import Fingerprint
from negcorr.tables.piecewise_sample import SmallestHashes
from negcorr.tables.splitting import LEAST_ROWS
from negcorr.tables.table_sample import TableSample

__all__ = ["Passed", "Side", "pass_over", "with_counts"]


@dataclass(eq=False)
class Side:
    """The rows that are held out, or those that are not, and an ensemble that is fitted to them.

    Attributes
    ----------
    model : NCLRegressor
    kept : SmallestHashes
        Some of the rows.
    seen : Fingerprint
        Of all of them.
    """

    model: Any
    kept: SmallestHashes
    seen: Fingerprint

    @property
    def n_rows(self) -> int:
        """All rows of this side."""
        return self.kept.n_rows

    def samples(self, chunks: TableChunks, schema: Schema) -> Samples:
        """The rows that were kept, in the order of the file."""
        rows = self.kept.rows()
        if self.n_rows < LEAST_ROWS:
            raise TableError(
                f"{self.n_rows} rows are on one side of the split, where {LEAST_ROWS} at least are "
                "needed; try another seed or test_size."
            )
        order = np.argsort(rows.positions, kind="stable")
        found = samples(chunks.frame(rows.table.take(order), 0), schema)
        return replace(found, positions=rows.positions[order])


@dataclass(frozen=True, eq=False)
class Passed:
    """The results of a pass over all rows.

    Attributes
    ----------
    known, held : Side
        Rows that are not held out, and rows that are.
    chunks : TableChunks
        The file, read by the schema.
    missing : dict of str to int
        Cells without a value, of all columns that were read.
    seconds : float
        That features and moments of the rows that are not held out took.
    """

    known: Side
    held: Side
    chunks: TableChunks
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
        Rows with this hash, or a larger one, are held out.
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
    known, held = (
        Side(copy.copy(drawn[-1]), SmallestHashes(most), Fingerprint(seed=seed)) for _ in range(2)
    )
    missing: Counter[str] = Counter()
    row, seconds = 0, 0.0
    with closing(read_ahead(chunks.tables())) as tables:
        for table in tables:
            piece = _Piece.of(chunks, table, row, schema, drawn[0])
            missing.update(piece.missing)
            start = time.perf_counter()
            features = dense(drawn[1].transform(piece.typed))
            keys = typed_hashes(piece.typed, piece.y, schema, seed)
            held_out = keys >= cut
            for side, at in ((known, np.flatnonzero(~held_out)), (held, np.flatnonzero(held_out))):
                if len(at):
                    weight = None if piece.weight is None else piece.weight[at]
                    side.model.partial_fit(features[at], piece.y[at], weight)
                    side.kept.add(keys[at], piece.table.take(at), piece.positions[at])
                    side.seen = side.seen.with_hashes(keys[at])
            if len(keys):
                seconds += (time.perf_counter() - start) * float(np.mean(~held_out))
            row += table.num_rows
            advance(table.num_rows)
    return Passed(known, held, chunks, {name: missing[name] for name in chunks.kinds}, seconds)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Rows of a piece that have their targets, and counts of the missing cells of all its rows."""

    table: Any
    typed: Any
    y: FloatArray
    weight: FloatArray | None
    positions: IntArray
    missing: dict[str, int]

    @classmethod
    def of(
        cls, chunks: TableChunks, table: Any, row: int, schema: Schema, reader: TypedColumns
    ) -> _Piece:
        frame = chunks.frame(table, row)
        with placing(chunks.path, frame, reader, row):
            typed = reader.transform(frame)
        y = np.stack([_numbers(chunks.path, frame, schema[n], row) for n in schema.targets], axis=1)
        weight = None
        if schema.weights is not None:
            name = schema.weights
            weight = _numbers(chunks.path, frame, schema[name], row)
            bad = np.flatnonzero(~(weight >= 0))
            if len(bad):
                raise TableError(
                    f"{chunks.path}, row {row + bad[0] + 1}: weights={name!r} must hold a number "
                    f"of at least 0 in every row, got {shortened(frame[name].iloc[bad[0]])}."
                )
        missing = dict(zip(schema.targets, np.isnan(y).sum(axis=0).tolist(), strict=True))
        for name in schema.inputs:
            values = typed[name]
            gone = values == MISSING_LEVEL if schema[name].role == "category" else values.isna()
            missing[name] = int(gone.sum())
        at = np.flatnonzero(~np.isnan(y).any(axis=1))
        if len(at) < len(y):
            table, typed = table.take(at), typed.iloc[at]
        y = y[at, 0] if y.shape[1] == 1 else y[at]
        weight = None if weight is None else weight[at]
        return cls(table, typed, y, weight, row + at, missing)


def _numbers(path: Path, frame: Any, column: Column, row: int) -> FloatArray:
    """A column as numbers; errors name the row."""
    with placing(path, frame, TypedColumns({column.name: column.form}, (), {}), row):
        return as_numbers(frame[column.name], column.form, column.name)


def with_counts(schema: Schema, passed: Passed, sample: TableSample) -> Schema:
    """The schema with missing values counted in all rows, where all rows were looked at."""
    if sample.is_whole:
        return schema
    columns = []
    for column in schema.columns:
        missing, remark, said = passed.missing.get(column.name), column.remark, ""
        if missing is None:
            missing, said = column.n_missing, "counts of the sample"
        elif column.role == "target":
            words = "rows without it are left out"
            remark = remark.removesuffix(f"{column.n_missing} {words}").removesuffix("; ")
            said = f"{missing} {words}" if missing else ""
        remark = "; ".join(filter(None, [remark, said]))
        columns.append(replace(column, n_missing=missing, remark=remark))
    return replace(schema, columns=tuple(columns))
