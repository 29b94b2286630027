"""FrameEncoder: the encoding of a data frame as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import check_weight, validate_table
from negcorr.columns.cells import as_frame
from negcorr.columns.inputs import FirstLook

__all__ = ["FrameEncoder"]


class FrameEncoder(TransformerMixin, BaseEstimator):
    """The columns of a data frame as the numbers that :class:`~negcorr.NCLRegressor` makes of them.

    For other regressors, which take numbers alone. Numbers stay as they are, the median takes the
    place of missing ones, and a column of 0 and 1 says where. Categories become columns of 0 and
    1. Dates become days, and sines and cosines of month, weekday and hour. Nothing is scaled.

    Attributes
    ----------
    encoding_ : Encoding
        What is made of every column; its ``schema`` says it in words.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X has string names.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from negcorr.tables import FrameEncoder
    >>> frame = pd.DataFrame({"size": [3.0, None, 1.5, 8.0] * 3, "kind": list("aabb") * 3})
    >>> FrameEncoder().fit(frame).get_feature_names_out().tolist()
    ['size', 'size_missing', 'kind_a', 'kind_b']
    >>> model = make_pipeline(FrameEncoder(), Ridge()).fit(frame, range(12))
    >>> model.predict(frame.head(2)).shape
    (2,)
    """

    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn what to make of every column.

        Parameters
        ----------
        X : {data frame, array-like} of shape (n, d)
            Of pandas, polars or pyarrow, or an array of numbers or objects.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Frequencies.

        Returns
        -------
        self
        """
        table = self._validated(X, reset=True)
        weight = check_weight(sample_weight, table)
        no_targets = np.zeros((table.shape[0], 1))
        cells, _ = FirstLook.at(table, no_targets, weight, encoded=True).learn()
        assert cells.encoding is not None
        self.encoding_ = cells.encoding
        return self

    def transform(self, X: Table) -> FloatArray:
        """The columns as numbers.

        Parameters
        ----------
        X : {data frame, array-like} of shape (n, d)
            With the columns of the fit.

        Returns
        -------
        ndarray of shape (n, features)
        """
        check_is_fitted(self)
        frame = as_frame(self._validated(X, reset=False))
        return self.encoding_.encode(self.encoding_.typed(frame))

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the columns that are made.

        Parameters
        ----------
        input_features : array-like of str, optional
            Must be the names of the fit.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.encoding_.feature_names, dtype=object)

    def _validated(self, X: Table, *, reset: bool) -> Table:
        if isinstance(X, (list, tuple)):
            X = np.asarray(X, dtype=object)
        return validate_table(self, X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
