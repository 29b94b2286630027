"""Rows in which one input takes many values and the others one value each."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import csc_median_axis_0

from negcorr._common.arrays import is_device_array
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import is_integer
from negcorr.columns.cells import as_frame

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
        The fixed values of the other inputs, in words; None if there are no others.
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
                f"X of type {type(X).__module__}.{type(X).__name__} cannot be drawn from; move it "
                "and the model to NumPy by to_numpy()."
            )
        if hasattr(X, "columns") and not hasattr(X, "iloc"):
            X = as_frame(X)  # other data frames; models know their columns by name
        if not hasattr(X, "iloc") and not sp.issparse(X):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        is_frame, n_features = hasattr(X, "iloc"), X.shape[1]
        names = list(X.columns) if is_frame else [f"input {i}" for i in range(n_features)]
        number: Any = feature
        if isinstance(feature, str):
            if not is_frame:
                raise TypeError(f"feature={feature!r} is a name, and X has none; give a number.")
            if feature not in names:
                raise ValueError(f"feature={feature!r} is no column of X; allowed are {names}.")
            number = names.index(feature)
        if not is_integer(number):
            raise TypeError(f"feature={feature!r} must be a number or a name of a column of X.")
        if not 0 <= int(number) < n_features:
            allowed = f"allowed are 0 to {n_features - 1}"
            raise ValueError(f"feature={feature} does not exist; {allowed}.")
        j = int(number)
        x, column = _values_along(X.iloc[:, j] if is_frame else X[:, [j]], feature, n_points)
        if row is not None:
            row = np.asarray(row)
            row = row.reshape(-1) if row.shape == (1, n_features) else row
            if row.shape != (n_features,):
                raise ValueError(f"row has shape {row.shape}; it must be ({n_features},).")
            row = row if row.dtype.kind == "O" else row.astype(np.float64)
        others = None if n_features == 1 else "medians" if row is None else "the given row"
        if not is_frame and not sp.issparse(X) and X.dtype.kind in "OUS":
            rows = _rows_of_frame(as_frame(X), j, x, row).to_numpy(dtype=object)
        else:
            rows = (_rows_of_frame if is_frame else _rows_of_array)(X, j, x, row)
        return cls(x, rows, column, str(names[j]), others)


def _values_along(given: Any, feature: Any, n_points: int) -> tuple[FloatArray, FloatArray]:
    """Values evenly over the range of a column, and the column itself."""
    try:
        values = given.toarray() if sp.issparse(given) else given
        column = np.asarray(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"feature={feature!r} is not numeric, and there is nothing between its values to draw."
        ) from error
    finite = column[np.isfinite(column)]
    if len(finite) == 0:
        raise ValueError(f"feature={feature!r} has no finite value in X.")
    low, high = float(finite.min()), float(finite.max())
    if low == high:  # a constant input: some values around it
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n_points), column


def _rows_of_frame(X: Any, j: int, x: FloatArray, row: Any) -> Any:
    """A data frame in which column ``j`` is x, and the others are ``row`` or in the middle."""
    n_points = len(x)
    rows = X.iloc[[0] * n_points].reset_index(drop=True)
    for i, name in enumerate(X.columns):
        values = X.iloc[:, i]
        if i == j:
            rows[name] = x
        elif row is not None:
            rows[name] = np.full(n_points, row[i])
        elif values.dtype.kind in "fiu":
            rows[name] = np.full(n_points, values.median())
        else:
            # Assigned by position, so that a categorical column stays one.
            usual = values.mode()
            rows[name] = (values if usual.empty else usual).iloc[[0] * n_points].to_numpy()
            rows[name] = rows[name].astype(values.dtype)
    return rows


def _rows_of_array(X: Any, j: int, x: FloatArray, row: Any) -> Any:
    """An array in which column ``j`` is x, and the others are ``row`` or at their medians."""
    if row is None and sp.issparse(X):
        row = np.asarray(csc_median_axis_0(sp.csc_matrix(X)), dtype=np.float64)
    elif row is None:
        with warnings.catch_warnings():
            # An input that is missing everywhere is missing here too.
            warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
            row = np.nanmedian(np.asarray(X, dtype=np.float64), axis=0)
    rows = np.tile(row, (len(x), 1))
    rows[:, j] = x
    return rows
