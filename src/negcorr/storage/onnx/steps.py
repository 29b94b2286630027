"""Steps before the features as elementary operations on columns, for every backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from negcorr._common.number_text import listed
from negcorr._common.types import AnyArray, FloatArray
from negcorr.columns.encoding import Encoding, NumberPart
from negcorr.storage.onnx.backends import Backend

__all__ = ["Operation", "applied", "operations_of", "operations_of_encoding", "undone"]

#: Columns that an error names.
MOST_NAMES = 5


@dataclass(frozen=True)
class Operation:
    """One operation on all columns.

    Attributes
    ----------
    kind : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Impute", "Gather"}
        Names of ONNX, but for "Impute", which puts ``values`` where there is NaN.
    values : ndarray of shape (d,)
        The other operand; the columns to keep for "Gather".
    n_columns : int
        Columns before it.
    """

    kind: str
    values: AnyArray
    n_columns: int


_INVERSE = {"Add": np.subtract, "Sub": np.add, "Mul": np.divide, "Div": np.multiply}


def operations_of(name: str, step: Any) -> list[Operation]:
    """Operations of a fitted step of a pipeline, in their order.

    Parameters
    ----------
    name : str
        Of the step, for errors.
    step : transformer, "passthrough" or None
        Fitted.

    Raises
    ------
    ValueError
        For any step that has no such form.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from negcorr.storage.onnx.steps import operations_of
    >>> scaler = StandardScaler().fit([[0.0], [2.0]])
    >>> [(o.kind, o.values.tolist()) for o in operations_of("scale", scaler)]
    [('Sub', [1.0]), ('Div', [1.0])]
    """
    if step is None or step == "passthrough":
        return []
    kind = type(step)
    width = int(getattr(step, "n_features_in_", 0))  # any step may come
    if kind is SimpleImputer:
        missing = step.missing_values
        marks_nan = isinstance(missing, float | np.floating) and bool(np.isnan(missing))
        allowed = step.strategy in ("mean", "median", "constant") and not step.add_indicator
        if not allowed or not marks_nan:
            raise ValueError(
                f"step {name!r} is {step!r}; allowed are imputers of NaN with strategy 'mean', "
                "'median' or 'constant' and without an indicator."
            )
        try:
            fill = np.asarray(step.statistics_, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"step {name!r} fills with values that are no numbers.") from error
        # scikit-learn drops columns in which it has seen no value.
        kept = np.flatnonzero(~np.isnan(fill))
        dropping = [Operation("Gather", kept, width)] if len(kept) < width else []
        return [*dropping, Operation("Impute", fill[kept], len(kept))]
    if kind is StandardScaler:
        pairs = [("Sub", step.mean_ if step.with_mean else None), ("Div", step.scale_)]
    elif kind is RobustScaler:
        pairs = [("Sub", step.center_), ("Div", step.scale_)]
    elif kind is MinMaxScaler:
        pairs = [("Mul", step.scale_), ("Add", step.min_)]
        if step.clip:
            low, high = (np.full(width, end) for end in step.feature_range)
            pairs += [("Max", low), ("Min", high)]
    else:
        raise ValueError(
            f"step {name!r} is a {kind.__name__}, which has no form in ONNX here; allowed before "
            "the NCLRegressor are StandardScaler, MinMaxScaler, RobustScaler, SimpleImputer and "
            "'passthrough'."
        )
    return [
        Operation(op, np.asarray(values, dtype=np.float64), width)
        for op, values in pairs
        if values is not None
    ]


def operations_of_encoding(encoding: Encoding, name: str, *, first: bool) -> list[Operation]:
    """Operations on the columns of a data frame, all of which must be numbers.

    Parameters
    ----------
    encoding : Encoding
        That of the model.
    name : str
        Whose it is, for errors.
    first : bool
        Whether the graph begins here. It then takes the columns that the model predicts from; else
        it picks them from all columns of the steps before.

    Raises
    ------
    ValueError
        Where a column is something else, or had missing values; says which.
    """
    schema, problems, medians = encoding.schema, [], []
    for part in encoding.parts:
        column = schema[part.name]
        if not isinstance(part, NumberPart):
            problems.append(f"{part.name!r} is a {column.role}")
        elif part.indicator:
            problems.append(f"{part.name!r} has missing values")
        elif column.form != "plain":
            problems.append(f"{part.name!r} holds {column.remark}")
        else:
            medians.append(part.median)
    if problems:
        raise ValueError(
            f"{name} was fitted to columns that have no form in ONNX here: "
            f"{listed(problems, MOST_NAMES)}. Allowed are numbers without missing values."
        )
    names = [column.name for column in schema.columns]
    kept = np.array([names.index(each) for each in schema.inputs])
    picked = [Operation("Gather", kept, len(names))] if len(kept) < len(names) else []
    # The model takes the median where a new row has no number.
    return [*([] if first else picked), Operation("Impute", np.array(medians), len(kept))]


def applied(operations: Sequence[Operation], backend: Backend, rows: Any) -> Any:
    """Rows after all operations, as values of a backend."""
    out = rows
    for operation in operations:
        if operation.kind == "Gather":
            out = backend.node("Gather", out, operation.values, axis=1)
        elif operation.kind == "Impute":
            out = backend.node("Where", backend.node("IsNaN", out), operation.values, out)
        else:
            out = backend.node(operation.kind, out, operation.values)
    return out


def undone(operations: Sequence[Operation], rows: FloatArray) -> FloatArray:
    """Rows that the operations would turn into the given ones, as far as they can be known."""
    out = rows
    for operation in reversed(operations):
        if operation.kind in _INVERSE:
            out = _INVERSE[operation.kind](out, operation.values)
        elif operation.kind == "Gather":
            wide = np.zeros((len(out), operation.n_columns))
            wide[:, operation.values] = out
            out = wide
    return out
