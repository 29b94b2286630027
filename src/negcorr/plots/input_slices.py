"""Rows in which one input moves and the others stand still."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from negcorr._common.arrays import is_device_array
from negcorr._common.types import AnyArray, FloatArray, Table

__all__ = ["Slice"]


@dataclass(frozen=True)
class Slice:
    """Rows along one input.

    Attributes
    ----------
    x : ndarray of shape (k,)
        Values of the input.
    rows : table of shape (k, d)
        Inputs to predict from, of the kind that was given.
    column : ndarray of shape (n,)
        Values of the input in the given rows.
    name : str
        What the input is called.
    others : str or None
        Where the other inputs stand, in words; None where there are none.
    """

    x: FloatArray
    rows: Table
    column: FloatArray
    name: str
    others: str | None

    @classmethod
    def of(cls, X: Table, feature: int | str, row: Any, n_points: int) -> Slice:
        """The slice through ``row``, or through the medians, over the range of the input.

        Examples
        --------
        >>> import numpy as np
        >>> from negcorr.plots.input_slices import Slice
        >>> Slice.of(np.array([[0.0, 5.0], [4.0, 6.0], [1.0, 9.0]]), 0, None, 3).rows
        array([[0., 6.],
               [2., 6.],
               [4., 6.]])
        """
        if is_device_array(X):
            raise TypeError(
                f"X of type {type(X).__module__}.{type(X).__name__} cannot be drawn from; bring it "
                "and the model home to NumPy: to_numpy()."
            )
        if hasattr(X, "columns") and not hasattr(X, "iloc"):
            X = X.to_pandas()  # other data frames; models know their columns by name
        if hasattr(X, "iloc"):
            return _through_frame(X, feature, row, n_points)
        table = X if sp.issparse(X) else check_array(X, dtype=None, ensure_all_finite=False)
        j = _index(feature, table.shape[1])
        column = _floats(table[:, [j]].toarray()[:, 0] if sp.issparse(X) else table[:, j], feature)
        x = _range(column, n_points, feature)
        still = _medians(table) if row is None else _given(row, table.shape[1])
        rows = np.tile(still, (n_points, 1))
        rows[:, j] = x
        return cls(x, rows, column, f"input {j}", _stand(row, table.shape[1]))


def _through_frame(X: Any, feature: int | str, row: Any, n_points: int) -> Slice:
    names = list(X.columns)
    if isinstance(feature, str) and feature not in names:
        raise ValueError(f"feature={feature!r} is no column of X; allowed are {names}.")
    j = names.index(feature) if isinstance(feature, str) else _index(feature, len(names))
    column = _floats(X.iloc[:, j].to_numpy(), feature)
    x = _range(column, n_points, feature)
    rows = X.iloc[[0] * n_points].reset_index(drop=True)
    given = None if row is None else _given(row, len(names))
    for i, name in enumerate(names):
        values = X.iloc[:, i]
        if i == j:
            rows[name] = x
        elif given is not None:
            rows[name] = np.full(n_points, given[i])
        elif values.dtype.kind in "fiu":
            rows[name] = np.full(n_points, values.median())
        else:
            # Assigned by position, a category stays one.
            usual = values.mode()
            rows[name] = (values if usual.empty else usual).iloc[[0] * n_points].to_numpy()
            rows[name] = rows[name].astype(values.dtype)
    return Slice(x, rows, column, str(names[j]), _stand(row, len(names)))


def _stand(row: Any, n_features: int) -> str | None:
    if n_features == 1:
        return None
    return "medians" if row is None else "the given row"


def _index(feature: Any, n_features: int) -> int:
    if isinstance(feature, str):
        raise TypeError(f"feature={feature!r} is a name, and X has none; give a number.")
    if isinstance(feature, bool) or not isinstance(feature, numbers.Integral):
        raise TypeError(f"feature={feature!r} must be a number or a name of a column of X.")
    if not 0 <= int(feature) < n_features:
        raise ValueError(f"feature={feature} does not exist; allowed are 0 to {n_features - 1}.")
    return int(feature)


def _floats(column: AnyArray, feature: Any) -> FloatArray:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"feature={feature!r} is not numeric, and there is nothing between its values to draw."
        ) from error


def _range(column: FloatArray, n_points: int, feature: Any) -> FloatArray:
    finite = column[np.isfinite(column)]
    if len(finite) == 0:
        raise ValueError(f"feature={feature!r} has no finite value in X.")
    low, high = float(finite.min()), float(finite.max())
    if low == high:  # a constant input: some room about it
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n_points)


def _medians(table: Table) -> FloatArray:
    if sp.issparse(table):
        from sklearn.utils.sparsefuncs import csc_median_axis_0

        return np.asarray(csc_median_axis_0(sp.csc_matrix(table)), dtype=np.float64)
    with warnings.catch_warnings():
        # An input that is missing everywhere is missing here too.
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return np.asarray(np.nanmedian(np.asarray(table, dtype=np.float64), axis=0))


def _given(row: Any, n_features: int) -> AnyArray:
    values = np.asarray(row)
    values = values.reshape(-1) if values.shape == (1, n_features) else values
    if values.shape != (n_features,):
        raise ValueError(f"row has shape {values.shape}; it must be ({n_features},).")
    return values if values.dtype.kind == "O" else values.astype(np.float64)
