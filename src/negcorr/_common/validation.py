"""Checks of parameters and data given by users, beyond those of scikit-learn."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from negcorr._common.arrays import Place, detached, is_device_array, place_of, to_host
from negcorr._common.types import AnyArray, FloatArray, Table

__all__ = [
    "check_per_output",
    "check_positive_int",
    "check_real",
    "check_same_place",
    "check_weight",
    "float_types",
    "has_nan",
    "is_integer",
    "is_number",
    "refuse_missing",
    "target_at",
    "target_columns",
    "validate_cells",
    "validate_table",
]


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, and not True or False."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_positive_int(name: str, value: Any, least: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least ``least``."""
    if not is_integer(value):
        raise TypeError(f"{name}={value!r} must be an integer, got {type(value).__name__}.")
    if value < least:
        raise ValueError(f"{name}={value!r} must be at least {least}.")


def is_number(value: Any) -> bool:
    """Whether ``value`` is a real number; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def check_per_output(
    name: str, value: Any, outputs: int, allowed: str = "numbers", limits: str = "finite"
) -> FloatArray:
    """Finite numbers of shape (outputs,), from one for all outputs or one for each.

    Parameters
    ----------
    name : str
        The argument, for messages.
    value : float or array-like of shape (outputs,)
    outputs : int
    allowed : str, default="numbers"
        What the argument may be, for messages.
    limits : {"finite", "finite and not negative", "greater than 0 and finite"}, default="finite"
        What the numbers must be.
    """
    try:
        if value is None or isinstance(value, (str, bool, np.bool_)):
            raise TypeError("not a number")
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}={value!r} must be {allowed}.") from error
    if found.shape not in ((), (outputs,)):
        raise ValueError(
            f"{name}={value!r} must be one number or one for each of {outputs} output(s)."
        )
    inside = {"finite": True, "finite and not negative": found >= 0}.get(limits, found > 0)
    if not (np.isfinite(found) & inside).all():
        raise ValueError(f"{name}={value!r} must be {limits}.")
    return np.broadcast_to(found, (outputs,)).astype(np.float64)


def check_weight(sample_weight: Any, X: Table) -> FloatArray | None:
    """Frequencies of the rows as float64, in the place of X; None means one each."""
    if sample_weight is None:
        return None
    place = place_of(X)
    if not place.is_numpy:
        sample_weight, X = to_host(sample_weight), np.empty((X.shape[0], 0))
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.sum() > 0:
        raise ValueError("sample_weight is zero for every row; at least one must count.")
    checked: FloatArray = place.floats(weight)
    return checked


def float_types(place: Place) -> list[Any]:
    """The types that inputs may have; other types are converted to the first."""
    if place.is_numpy:
        return [np.float64, np.float32]
    try:
        place.empty((0,))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"X is on the device {place.device!s}, which has no double precision, and closed forms "
            "need it; move X to the CPU or to a device that has."
        ) from error
    return [place.xp.float64, place.xp.float32]


def target_at(place: Place, y: Any) -> Any:
    """Targets of any library in the place of the inputs."""
    if not is_device_array(y) and (y is None or place.is_numpy):
        return y
    if not place.is_numpy and is_device_array(y) and place_of(y) == place:
        check_real(y, "y")
        return detached(y)
    return place.floats(check_array(to_host(y), dtype=np.float64, ensure_2d=False, input_name="y"))


def target_columns(y: Any, X: Table, n_outputs: int | None = None) -> FloatArray:
    """Targets in the host's memory as float64, one row for each of X and a column for each output.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, outputs)
    X : table of n rows
    n_outputs : int, optional
        Outputs of the model, which the targets must have too.

    Returns
    -------
    ndarray of shape (n, outputs)
    """
    target = check_array(to_host(y), dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(X, target)
    target = target.reshape(len(target), -1)
    if n_outputs is not None and target.shape[1] != n_outputs:
        raise ValueError(f"y has {target.shape[1]} output(s), the model has {n_outputs}.")
    return np.asarray(target)


def check_real(values: Any, name: str) -> None:
    """Refuse complex numbers of other libraries, as scikit-learn does those of NumPy."""
    if is_device_array(values) and place_of(values).xp.isdtype(values.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported, got {name} of type {values.dtype}.")


def check_same_place(estimator: Any, X: Table, there: Place, method: str) -> None:
    """Raise where inputs are of another library, or on another device, than those of the fit."""
    here = place_of(X)
    if here == there:
        return
    raise ValueError(
        f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace and "
        f"device as those passed to fit(): that was {there}, these are {here}. Move "
        "them, or convert the model by to_numpy(). Arrays of other libraries than NumPy need "
        "sklearn.set_config(array_api_dispatch=True)."
    )


def validate_table(estimator: Any, X: Table, *, reset: bool) -> Table:
    """X as a user's transformers get it: data frames unchanged, the rest as arrays.

    Values are left to the transformers, whose tags do not say reliably whether NaN is allowed
    (those of an imputing pipeline say no). Sparse matrices that the tags exclude are refused here.
    """
    if hasattr(X, "columns"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    tags = get_tags(estimator).input_tags
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if tags.sparse else False,
        dtype=None,
        ensure_all_finite=False,
    )


def validate_cells(estimator: Any, X: Table, *, reset: bool) -> Table:
    """X whose columns are encoded: a data frame, or an array of objects, text or numbers."""
    if isinstance(X, (list, tuple)):
        X = np.asarray(X, dtype=object)
    X = validate_table(estimator, X, reset=reset)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        assert_all_finite(X, allow_nan=True, input_name="X")
    return X


def has_nan(X: AnyArray) -> bool:
    """Whether an array of numbers has NaN."""
    if X.dtype.kind != "f":
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        # The sum takes no memory, but that of infinite numbers may be NaN too.
        return bool(np.isnan(np.sum(X))) and bool(np.isnan(X).any())


def refuse_missing(X: Any) -> None:
    """Raise where new rows of numbers have missing values, and those of the fit had none."""
    if isinstance(X, np.ndarray) and has_nan(X):
        raise ValueError(
            "X contains NaN, but the rows that the model was fitted to had no missing value; fit "
            "it to rows of which some have missing ones."
        )
