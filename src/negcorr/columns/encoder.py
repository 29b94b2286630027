"""From typed columns to numbers: column_encoder, and the SquashingScaler of its numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from negcorr._common.types import FloatArray, Table
from negcorr.columns.date_parts import DateParts

__all__ = ["LEAST_ROWS_OF_LEVEL", "MOST_COLUMNS_OF_CATEGORY", "SquashingScaler", "column_encoder"]

#: Rows that a level of a category needs for a column of its own; rarer ones share one.
LEAST_ROWS_OF_LEVEL = 5

#: Most columns that a category becomes.
MOST_COLUMNS_OF_CATEGORY = 100


def column_encoder(
    numbers: list[str], categories: list[str], dates: list[str]
) -> ColumnTransformer:
    """A transformer of typed columns to numbers, not fitted yet.

    Numbers are scaled, and have a 0/1 column where values are missing; categories become 0/1
    columns, dates their :class:`~negcorr.columns.date_parts.DateParts`.
    """
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    scaled = Pipeline([("impute", imputer), ("scale", SquashingScaler())])
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=LEAST_ROWS_OF_LEVEL,
        max_categories=MOST_COLUMNS_OF_CATEGORY,
        sparse_output=False,
    )
    parts = [
        ("numbers", scaled, numbers),
        # Separate from the imputer, whose own indicator would be scaled with the numbers.
        ("missing", MissingIndicator(error_on_new=False), numbers),
        ("categories", one_hot, categories),
        ("dates", DateParts(), dates),
    ]
    # Dense: sparse parts cannot be joined where no number is missing, and levels are bounded.
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.0)


class SquashingScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Centre and scale columns, with values far from the mean squashed smoothly.

    Deviations z from the mean become :math:`z / \sqrt{1 + (z / b)^2}`: about the same near the
    mean, in the same order everywhere, never beyond the bound b. Without this, one value at a
    hundred deviations would make all other values nearly equal for features that depend on
    distances. New rows may lie even farther out than all rows of the fit.

    Parameters
    ----------
    bound : float, default=3.0
        The bound b, in deviations.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (d,)
        Least and largest values, as they are.
    mean_, deviation_ : ndarray of shape (d,)
        Of the columns as they are.
    center_, scale_ : ndarray of shape (d,)
        Mean and deviation of the squashed columns, which are subtracted and divided by.
    n_features_in_ : int
        Number of input columns.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.tables import SquashingScaler
    >>> X = np.append(np.arange(99.0), 300.0)[:, None]
    >>> plain = (X.max() - X.mean()) / X.std()
    >>> round(float(plain), 1), round(float(SquashingScaler().fit_transform(X).max()), 1)
    (6.6, 3.6)
    """

    def __init__(self, bound: float = 3.0) -> None:
        self.bound = bound

    def fit(self, X: Table, y: Any = None) -> Self:
        """Find mean and deviation, before and after.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        if not isinstance(self.bound, (int, float)) or not self.bound > 0:
            raise ValueError(f"bound={self.bound!r} must be a positive number.")
        values = validate_data(self, X, dtype=np.float64)
        self.data_min_, self.data_max_ = values.min(axis=0), values.max(axis=0)
        self.mean_, self.deviation_ = _mean_and_deviation(values)
        self.center_, self.scale_ = _mean_and_deviation(self._squashed(values))
        return self

    def transform(self, X: Table) -> FloatArray:
        """Values of mean 0 and variance 1 on the rows of the fit.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d)
        """
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        return (self._squashed(values) - self.center_) / self.scale_

    def _squashed(self, values: FloatArray) -> FloatArray:
        # Halves first: the difference of two very large numbers would overflow.
        z = (values / 2.0 - self.mean_ / 2.0) / self.deviation_ * 2.0
        return np.asarray(z / np.hypot(1.0, z / self.bound))


def _mean_and_deviation(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each column, without overflow; a constant has deviation 1."""
    size = np.abs(values).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    small = values / size
    mean, deviation = small.mean(axis=0), small.std(axis=0)
    # The tiny deviation that rounding leaves of a constant column is ignored.
    varies = deviation > 1e-14
    return mean * size, np.where(varies, deviation * size, 1.0)
