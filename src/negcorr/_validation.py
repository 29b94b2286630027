"""Checks of what users hand in, beyond those that scikit-learn has."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from negcorr._typing import FloatArray, Table

__all__ = ["check_positive_int", "check_weight", "validate_table"]


def check_positive_int(name: str, value: Any) -> None:
    """Raise unless ``value`` is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={value!r} must be an integer, got {type(value).__name__}.")
    if value < 1:
        raise ValueError(f"{name}={value!r} must be at least 1.")


def check_weight(sample_weight: Any, X: Table) -> FloatArray | None:
    """Frequencies of the rows as float64, or None for one each."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.sum() > 0:
        raise ValueError("sample_weight is zero for every row; at least one must count.")
    return np.asarray(weight)


def validate_table(estimator: Any, X: Table, *, reset: bool) -> Table:
    """X as transformers given by a user get it: data frames untouched, the rest as arrays.

    Values are left to the transformers, whose tags do not say whether NaN is welcome (an
    imputing pipeline's say no); sparse matrices that the tags exclude are refused here.
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
