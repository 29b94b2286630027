"""Rows as an estimator takes them: checked, in double precision, in the library that X is of."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from negcorr._common.arrays import detached, dispatched, place_of, to_host
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import (
    check_real,
    check_same_place,
    check_weight,
    float_types,
    target_at,
    validate_table,
)
from negcorr.bases.named import takes_device_arrays, takes_tables
from negcorr.rows.rows import Rows

__all__ = ["validated_inputs", "validated_rows"]

#: Sums of squares of larger targets are not finite.
LARGEST_TARGET = 1e150


def validated_rows(
    estimator: Any, X: Table, y: Any, sample_weight: Any, *, reset: bool = True
) -> tuple[Rows, bool]:
    """The rows of a fit, and whether y is 1-D.

    Parameters
    ----------
    estimator : NCLRegressor
        Which scikit-learn keeps the number and names of columns in; its ``basis`` says what tables
        may hold.
    X, y, sample_weight
        As given to ``fit``.
    reset : bool, default=True
        Whether this is the first chunk. A later one may be a single row, or of no weight.
    """
    place, least = dispatched(X), 2 if reset else 1
    types = float_types(place)  # a device without double precision is refused before y goes there
    y = target_at(place, y)
    if not place.is_numpy:
        if not takes_device_arrays(estimator.basis):
            raise TypeError(
                f"basis={estimator.basis!r} takes NumPy arrays only, got X of type "
                f"{type(X).__module__}.{type(X).__name__}; 'auto', 'kernel', 'fourier', "
                "'orthogonal', 'nystroem' and 'linear' take them on their device."
            )
        check_real(X, "X")
        X = detached(X)
    if takes_tables(estimator.basis):
        X = validate_table(estimator, X, reset=reset)
        if y is None:
            raise ValueError("NCLRegressor requires y to be passed, but the target y is None.")
        y = check_array(y, dtype=None, ensure_2d=False, input_name="y", ensure_min_samples=least)
        check_consistent_length(X, y)
    else:
        X, y = validate_data(
            estimator,
            X,
            y,
            accept_sparse="csr",
            dtype=types,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=least,
            reset=reset,
        )
    if place.is_numpy:
        y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    target, xp = place.floats(y), place.xp
    if float(xp.max(xp.abs(target))) > LARGEST_TARGET:
        raise ValueError(f"y has values above {LARGEST_TARGET:g}, whose squares overflow.")
    spread = to_host(xp.max(target, axis=0) - xp.min(target, axis=0))
    if ((spread > 0) & (spread < 1.0 / LARGEST_TARGET)).any():
        raise ValueError(
            f"y varies by less than {1.0 / LARGEST_TARGET:g}, whose squares vanish; rescale y."
        )
    weight: FloatArray | None
    if reset or sample_weight is None or np.any(to_host(sample_weight)):
        weight = check_weight(sample_weight, target)
    else:
        check_weight(np.ones(np.shape(to_host(sample_weight))), target)
        weight = place.zeros((target.shape[0],))
    return Rows(X, xp.reshape(target, (target.shape[0], -1)), weight), target.ndim == 1


def validated_inputs(estimator: Any, X: Table, fitted: FloatArray, method: str) -> Table:
    """Inputs of a prediction, in the library and on the device of a fitted array."""
    check_real(X, "X")
    if takes_tables(estimator.basis):
        rows = validate_table(estimator, X, reset=False)
    else:
        types = float_types(dispatched(X))
        rows = validate_data(estimator, X, reset=False, accept_sparse="csr", dtype=types)
    check_same_place(estimator, rows, place_of(fitted), method)
    return rows
