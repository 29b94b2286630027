"""Base classes of all bases: M blocks of features, drawn in ``fit``, computed in ``transform``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from negcorr._common.arrays import (
    detached,
    dispatched,
    place_of,
    place_within,
    rows_at,
    to_host,
)
from negcorr._common.types import AnyArray, FloatArray, IntArray, Table
from negcorr._common.validation import (
    check_positive_int,
    check_real,
    check_same_place,
    check_weight,
    float_types,
)
from negcorr.bases.input_maps import InputMap, fit_input_map
from negcorr.rows.keys import row_keys, smallest_counted
from negcorr.rows.rows import Rows

__all__ = ["Basis", "RandomBasis", "rows_for"]


class Basis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Fixed features φ = [φ_1, …, φ_M] that may see X but never y (Section 3).

    Attributes
    ----------
    block_starts_ : ndarray of shape (M + 1,)
        Block m occupies columns ``block_starts_[m]:block_starts_[m + 1]``.
    n_features_in_ : int
        Number of input columns.
    """

    #: Whether several threads may call ``fill`` at once.
    thread_safe: ClassVar[bool] = True

    #: Whether rows may be arrays of other libraries than NumPy, on their device.
    array_api: ClassVar[bool] = False

    #: Ridge inside the blocks where none is given.
    usual_ridge: float = 0.0

    block_starts_: IntArray

    #: How members are made of smaller ones (:mod:`negcorr.spectrum.nested_whitening`); None if they
    #: are not.
    nesting_: Any = None

    @property
    def terms_(self) -> FloatArray | None:
        """Size of what each feature is added up from, of shape (Q,), where that may cancel.

        Rounding of a feature is about eps times that, or times its own size if that is larger: for
        a sum the root of the sum of its squared terms. None where features are no such sums.
        """
        return None

    @abstractmethod
    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the features from X, never from y."""

    def fit_rows(self, rows: Rows) -> Self:
        """Draw the features from validated rows, whose keys are known.

        Parameters
        ----------
        rows : Rows

        Returns
        -------
        self
        """
        return self.fit(rows.X, sample_weight=rows.weight)

    @abstractmethod
    def fill(self, X: Table, out: FloatArray) -> None:
        """Write the features of already validated rows into ``out``, in float64.

        Parameters
        ----------
        X : table of shape (rows, d)
            Rows, validated.
        out : ndarray of shape (rows, Q)
            Receives the features; it may be a view into a wider array.
        """

    def with_seed(self, random_state: Any) -> Self:
        """An unfitted copy, in which ``random_state`` takes the place of a seed that is None."""
        copied: Self = clone(self)
        if (
            "random_state" in self._get_param_names()
            and copied.get_params()["random_state"] is None
        ):
            copied.set_params(random_state=random_state)
        return copied

    @property
    def n_members_(self) -> int:
        """M, the number of blocks."""
        return len(self.block_starts_) - 1

    @property
    def _n_features_out(self) -> int:
        return int(self.block_starts_[-1])

    def transform(self, X: Table) -> AnyArray:
        """Features of all M members, side by side.

        Parameters
        ----------
        X : table of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (n, Q)
            float32 for float32 input, float64 otherwise.
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        check_same_place(self, rows, place_within(self), "transform")
        place = place_of(rows)
        features: AnyArray = place.empty((rows.shape[0], self._n_features_out))
        self.fill(rows, features)
        single = rows.dtype == place.xp.float32
        return place.xp.astype(features, place.xp.float32) if single else features

    def _validate(self, X: Table, *, reset: bool) -> Table:
        place = dispatched(X)
        if not place.is_numpy:
            check_real(X, "X")
            if not self.array_api:
                raise TypeError(
                    f"{type(self).__name__} takes NumPy arrays only, got {type(X).__module__}."
                    f"{type(X).__name__}; Fourier and Nyström features take them on their device."
                )
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=float_types(place))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = getattr(self, "inputs", "none") in ("standard", "none")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RandomBasis(Basis):
    """A basis of M blocks that are drawn from a random state, of columns that are mapped first."""

    n_members: int
    n_components: int
    inputs: str
    relevance: Any
    random_state: Any
    input_map_: InputMap

    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the map of the columns and draw the features of all members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Inputs; sparse ones with ``inputs="standard"`` or "none".
        y : ignored
            Present for scikit-learn's conventions; features never see y.
        sample_weight : array-like of shape (n,), optional
            Frequencies of the rows.

        Returns
        -------
        self
        """
        return self.fit_rows(rows_for(self, X, sample_weight))

    def fit_rows(self, rows: Rows) -> Self:
        check_positive_int("n_members", self.n_members)
        check_positive_int("n_components", self.n_components)
        rows, self.n_features_in_ = rows.of_weight(), int(rows.X.shape[1])
        self.input_map_ = fit_input_map(
            self.inputs, rows.X, rows.weight, self.relevance, rows.as_they_are
        )
        self._draw(rows, check_random_state(self.random_state))
        return self

    def _distinct(self, rows: Rows) -> IntArray:
        """One row number for each distinct x, as far as columns count, in the order of keys."""
        counts = to_host(self.input_map_.relevance) > 0
        if not counts.all():
            X = rows.X[:, np.flatnonzero(counts)]
            rows = replace(rows, X=X, keys=row_keys(X, rows.y, smallest_counted(X)))
        return rows.distinct

    @abstractmethod
    def _draw(self, rows: Rows, rng: np.random.RandomState) -> None:
        """Set the drawn attributes, ``block_starts_`` among them, from rows as they were given."""


def rows_for(basis: Basis, X: Table, sample_weight: Any) -> Rows:
    """Validated rows of a basis that is fitted by itself, outside of an estimator."""
    table = basis._validate(detached(X), reset=True)
    weight = check_weight(sample_weight, table)
    target = place_of(table).empty((table.shape[0], 0))
    used = table
    if weight is not None:
        used = rows_at(table, np.flatnonzero(to_host(weight) > 0))
    keys = row_keys(table, target, smallest_counted(used))
    return Rows(table, target, weight, keys)
