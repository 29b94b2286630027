"""Rows of a table as a fit takes them: inputs, targets, weights and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from negcorr._common.types import AnyArray, FloatArray, IntArray
from negcorr.columns.kinds import no_column
from negcorr.columns.typed_columns import TypedColumns, levels
from negcorr.exceptions import TableError
from negcorr.reading.dates import dates
from negcorr.reading.number_cells import as_numbers
from negcorr.reading.schema import Schema
from negcorr.rows.keys import HashArray, content_hash, reseeded, word_hashes

__all__ = ["Samples", "digests", "hashes", "labels", "samples", "times", "typed_hashes"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows that a pipeline can be fitted to.

    Attributes
    ----------
    inputs : pandas.DataFrame
        Columns that predictions are made from.
    y : ndarray of shape (n,) or (n, outputs)
        Targets, one-dimensional if there is one target.
    weight : ndarray of shape (n,) or None
        Frequencies.
    groups : ndarray of shape (n,) or None
        Groups by name.
    positions : ndarray of shape (n,)
        Where the rows stand in the table: rows without a target are left out, and with a column
        of time they are in its order.
    """

    inputs: Any
    y: FloatArray
    weight: FloatArray | None
    groups: AnyArray | None
    positions: IntArray

    @property
    def fit_parameters(self) -> dict[str, Any]:
        """What ``fit`` of a pipeline of :func:`~negcorr.make_tabular` takes beside inputs and y."""
        given = {"model__sample_weight": self.weight, "model__groups": self.groups}
        return {name: value for name, value in given.items() if value is not None}


def samples(frame: Any, schema: Schema, positions: npt.ArrayLike | None = None) -> Samples:
    """Rows of a table for a fit.

    Parameters
    ----------
    frame : pandas.DataFrame
    schema : Schema
        What its columns are for.
    positions : array-like of int, optional
        Rows to take, in this order; by default all that have their targets, in the order of time
        where there is a column of it.

    Returns
    -------
    Samples

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tables import infer_columns, samples
    >>> frame = pd.DataFrame({"x": [3.0, 1.0, 2.0], "y": ["$1", None, "$2"]})
    >>> rows = samples(frame, infer_columns(frame, "y"))
    >>> rows.y.tolist(), rows.positions.tolist()
    ([1.0, 2.0], [0, 2])
    """
    needed = [*schema.inputs, *schema.targets, schema.weights, schema.group, schema.time]
    for name in needed:
        if name is not None and name not in frame.columns:
            raise no_column("column", name, frame.columns)
    if len(frame) == 0:
        raise TableError("the table has no row.")
    targets = [as_numbers(frame[name], schema[name].form, name) for name in schema.targets]
    y = np.stack(targets, axis=1)
    if positions is None:
        chosen = np.flatnonzero(~np.isnan(y).any(axis=1))
        if schema.time is not None:
            chosen = chosen[np.argsort(times(frame, schema)[chosen], kind="stable")]
    else:
        chosen = np.asarray(positions, dtype=np.intp)
    weight = None
    if schema.weights is not None:
        name = schema.weights
        weight = as_numbers(frame[name], schema[name].form, name)[chosen]
    groups = None if schema.group is None else labels(frame, schema)[chosen]
    y = y[chosen, 0] if len(targets) == 1 else y[chosen]
    return Samples(frame[list(schema.inputs)].iloc[chosen], y, weight, groups, chosen)


def labels(frame: Any, schema: Schema) -> AnyArray:
    """Groups of all rows, by name."""
    return levels(frame[schema.group])


def times(frame: Any, schema: Schema) -> FloatArray:
    """Times of all rows as numbers that sort as they do."""
    column = schema[str(schema.time)]
    series = frame[column.name]
    is_date = column.form == "iso" or column.form.startswith(("datetime", "%d", "%m", "%Y"))
    if is_date and getattr(series.dtype, "kind", "O") not in "biufm":
        return _microseconds(dates(series, column.form, column.name).to_numpy())
    return as_numbers(series, column.form, column.name)


def hashes(rows: Samples, schema: Schema, seed: int = 0) -> HashArray:
    """A hash of each row's inputs and targets, by what cells mean and not how they are written."""
    typed = TypedColumns.of_schema(schema).fit_transform(rows.inputs)
    return typed_hashes(typed, rows.y, schema, seed)


def typed_hashes(typed: Any, y: FloatArray, schema: Schema, seed: int = 0) -> HashArray:
    """The same of inputs as :class:`~negcorr.columns.typed_columns.TypedColumns` gives them."""
    columns: list[AnyArray] = []
    for name in schema.inputs:
        values = np.asarray(typed[name])
        if schema[name].role == "number":
            columns.append(values)
        elif schema[name].role == "date":
            columns.append(_microseconds(values))
        else:
            columns += digests(values)
    return np.asarray(reseeded(content_hash(np.stack(columns, axis=1), y), seed))


def _microseconds(times: AnyArray) -> FloatArray:
    """Dates as microseconds since 1970."""
    return times.astype("datetime64[us]").astype(np.int64).astype(np.float64)


def digests(names: AnyArray) -> list[FloatArray]:
    """Two numbers for each name: of any length, since names can be very long."""
    return halves(word_hashes(names).byteswap())


def halves(bits: HashArray) -> list[FloatArray]:
    """Hashes of 64 bits as two numbers of 32, which floats can hold."""
    return [
        half.astype(np.float64) for half in (bits >> np.uint64(32), bits & np.uint64(2**32 - 1))
    ]
