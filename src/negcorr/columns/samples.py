"""Rows of a table as a fit takes them: inputs, targets, weights and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from negcorr._common.types import AnyArray, FloatArray, IntArray
from negcorr.columns.cells import MISSING_LEVEL, level_names, typed_cells
from negcorr.columns.kinds import no_column
from negcorr.exceptions import TableError
from negcorr.reading.dates import dates
from negcorr.reading.number_cells import as_numbers
from negcorr.reading.schema import Schema
from negcorr.rows.keys import HashArray, reseeded, row_keys

__all__ = ["Samples", "hashes", "labels", "samples", "times", "typed_hashes"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows that an estimator can be fitted to.

    Attributes
    ----------
    inputs : pandas.DataFrame
        Columns that predictions are made from; those that are categories have a categorical dtype.
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
        """What ``fit`` of :class:`~negcorr.NCLRegressor` takes beside inputs and y."""
        given = {"sample_weight": self.weight, "groups": self.groups}
        return {name: value for name, value in given.items() if value is not None}


def samples(
    frame: Any, schema: Schema, positions: npt.ArrayLike | None = None, *, typed: bool = False
) -> Samples:
    """Rows of a table for a fit.

    Parameters
    ----------
    frame : pandas.DataFrame
    schema : Schema
        What its columns are for.
    positions : array-like of int, optional
        Rows to take, in this order; by default all that have their targets, in the order of time
        where there is a column of it.
    typed : bool, default=False
        Whether text that stands for numbers and dates is read by the forms of the schema. A part of
        the rows may not show how those of the others are written.

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
    if positions is None:
        chosen = np.flatnonzero(~np.isnan(_targets(frame, schema)).any(axis=1))
        if schema.time is not None:
            chosen = chosen[np.argsort(times(frame, schema)[chosen], kind="stable")]
    else:
        chosen = np.asarray(positions, dtype=np.intp)
    taken = frame.iloc[chosen]
    y = _targets(taken, schema)
    weight = None
    if schema.weights is not None:
        name = schema.weights
        weight = as_numbers(taken[name], schema[name].form, name)
    groups = None if schema.group is None else labels(taken, schema)
    inputs = _inputs(taken, schema, typed)
    return Samples(inputs, y[:, 0] if y.shape[1] == 1 else y, weight, groups, chosen)


def _targets(frame: Any, schema: Schema) -> FloatArray:
    """Targets of all rows, of shape (n, outputs)."""
    names = schema.targets
    return np.stack([as_numbers(frame[name], schema[name].form, name) for name in names], axis=1)


def _inputs(frame: Any, schema: Schema, typed: bool) -> Any:
    """The columns of the inputs, categories as such."""
    import pandas

    changed = {}
    for column in (each for each in schema.columns if each.is_input):
        name, series = column.name, frame[column.name]
        if column.role == "category":
            names = level_names(series)
            names[names == MISSING_LEVEL] = None
            changed[name] = pandas.Categorical(names)
        elif typed and getattr(series.dtype, "kind", "O") not in "biufmM":
            changed[name] = typed_cells(series, column)
    return frame[list(schema.inputs)].assign(**changed)


def labels(frame: Any, schema: Schema) -> AnyArray:
    """Groups of all rows, by name."""
    return level_names(frame[schema.group])


def times(frame: Any, schema: Schema) -> FloatArray:
    """Times of all rows as numbers that sort as they do."""
    column = schema[str(schema.time)]
    series = frame[column.name]
    is_date = column.form == "iso" or column.form.startswith(("datetime", "%d", "%m", "%Y"))
    if is_date and getattr(series.dtype, "kind", "O") not in "biufm":
        return _microseconds(dates(series, column.form, column.name).to_numpy())
    return as_numbers(series, column.form, column.name)


def hashes(rows: Samples, schema: Schema, seed: int = 0) -> HashArray:
    """A key of each row's inputs and targets, by what cells mean and not how they are written."""
    inputs = (column for column in schema.columns if column.is_input)
    typed = {column.name: typed_cells(rows.inputs[column.name], column) for column in inputs}
    return typed_hashes(typed, rows.y, schema, seed)


def typed_hashes(typed: Any, y: FloatArray, schema: Schema, seed: int = 0) -> HashArray:
    """The same of inputs whose cells are :func:`~negcorr.columns.cells.typed_cells`, by name."""
    columns = [np.asarray(typed[name]) for name in schema.inputs]
    return np.asarray(reseeded(row_keys(columns, y.reshape(len(y), -1)).xy, seed))


def _microseconds(times: AnyArray) -> FloatArray:
    """Dates as microseconds since 1970."""
    return times.astype("datetime64[us]").astype(np.int64).astype(np.float64)
