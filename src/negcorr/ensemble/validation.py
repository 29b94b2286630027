"""Rows as an estimator takes them: checked, in double precision, where X is."""

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
from negcorr.bases.named import takes_device_arrays
from negcorr.exceptions import FrequencyWarning, warn_caller
from negcorr.rows.rows import Rows

__all__ = ["ValidatedRowsMixin", "warn_about_weight", "warn_if_not_frequencies"]

#: Weights that add up to less than this share of the rows are hardly frequencies.
FREQUENCY_SHARE = 0.1

#: Sums of squares of larger targets are not finite.
LARGEST_TARGET = 1e150


def warn_if_not_frequencies(weight: float, n_rows: int) -> None:
    """Warn where rows have far less weight than their number.

    Parameters
    ----------
    weight : float
        Σw.
    n_rows : int
        Rows of positive weight.
    """
    if weight < FREQUENCY_SHARE * n_rows:
        warn_caller(
            f"sample_weight adds up to {weight:.3g} for {n_rows} rows. Weights are read as "
            "frequencies, so degrees of freedom, noise variance and intervals count that many "
            "samples. For relative weights use sample_weight / sample_weight.mean().",
            FrequencyWarning,
        )


def warn_about_weight(rows: Rows) -> None:
    """:func:`warn_if_not_frequencies`, of rows that have weights."""
    if rows.weight is not None:
        xp = place_of(rows.weight).xp
        n_rows = int(xp.count_nonzero(rows.weight))
        warn_if_not_frequencies(float(xp.sum(rows.weight)), n_rows)


class ValidatedRowsMixin:
    """How an estimator with a ``basis`` checks what it is given."""

    basis: Any
    coef_: FloatArray

    def _validated_rows(
        self, X: Table, y: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[Rows, bool]:
        place = dispatched(X)
        types = float_types(place)
        y = target_at(place, y)
        if not place.is_numpy:
            self._check_basis_can(X)
            check_real(X, "X")
            X = detached(X)
        if isinstance(self.basis, str):
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=types,
                multi_output=True,
                y_numeric=True,
                ensure_min_samples=2 if reset else 1,
                reset=reset,
            )
        else:
            X = validate_table(self, X, reset=reset)
            if y is None:
                raise ValueError("NCLRegressor requires y to be passed, but the target y is None.")
            least = 2 if reset else 1
            y = check_array(
                y, dtype=None, ensure_2d=False, input_name="y", ensure_min_samples=least
            )
            check_consistent_length(X, y)
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
        weight = (
            check_weight(sample_weight, target) if reset else _any_weight(sample_weight, target)
        )
        return Rows(X, xp.reshape(target, (target.shape[0], -1)), weight), target.ndim == 1

    def _validated_inputs(self, X: Table, method: str = "predict") -> Table:
        check_real(X, "X")
        if isinstance(self.basis, str):
            types = float_types(dispatched(X))
            rows = validate_data(self, X, reset=False, accept_sparse="csr", dtype=types)
        else:
            rows = validate_table(self, X, reset=False)
        check_same_place(self, rows, place_of(self.coef_), method)
        return rows

    def _check_basis_can(self, X: Table) -> None:
        """Refuse arrays of other libraries where the features are not made of them."""
        if not takes_device_arrays(self):
            raise TypeError(
                f"basis={self.basis!r} takes NumPy arrays only, got X of type "
                f"{type(X).__module__}.{type(X).__name__}; 'auto', 'kernel', 'fourier', "
                "'orthogonal' and 'nystroem' take them on their device."
            )


def _any_weight(sample_weight: Any, target: FloatArray) -> FloatArray | None:
    """As ``check_weight``, for a chunk of many: it may be of no weight at all."""
    if sample_weight is None or np.any(to_host(sample_weight)):
        return check_weight(sample_weight, target)
    check_weight(np.ones(np.shape(to_host(sample_weight))), target)
    none: FloatArray = place_of(target).zeros((target.shape[0],))
    return none
