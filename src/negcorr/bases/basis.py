"""Base classes of all bases: M blocks of features, drawn in ``fit``, computed in ``transform``."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
    is_device_array,
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
from negcorr.rows.rows import content_hash

__all__ = ["Basis", "RandomBasis", "distinct_rows", "rows_of_weight"]


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

    @abstractmethod
    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the features from X, never from y."""

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
        check_positive_int("n_members", self.n_members)
        check_positive_int("n_components", self.n_components)
        rows = self._validate(detached(X), reset=True)
        rows, weight = rows_of_weight(rows, check_weight(sample_weight, rows))
        self.input_map_ = fit_input_map(self.inputs, rows, weight, self.relevance)
        self._draw(rows, weight, check_random_state(self.random_state))
        return self

    @abstractmethod
    def _draw(self, X: Table, sample_weight: FloatArray | None, rng: np.random.RandomState) -> None:
        """Set the drawn attributes, ``block_starts_`` among them, from rows as they were given."""


def rows_of_weight(X: Table, weight: FloatArray | None) -> tuple[Table, FloatArray | None]:
    """The rows of positive weight; the values in rows of weight zero are ignored."""
    if weight is None:
        return X, None
    used = np.flatnonzero(to_host(weight) > 0)
    if len(used) == weight.shape[0]:
        return X, weight
    return rows_at(X, used), rows_at(weight, used)


def distinct_rows(X: Table, sample_weight: FloatArray | None) -> IntArray:
    """One index for each distinct row of positive weight, in an order that content decides.

    What is drawn from these rows depends neither on the order of the rows nor on repeats.
    """
    used = np.arange(X.shape[0])
    if sample_weight is not None:
        used = np.flatnonzero(to_host(sample_weight) > 0)
    rows = rows_at(X, used) if is_device_array(X) else X[used]
    _, first = np.unique(content_hash(rows), return_index=True)
    return np.asarray(used[first])
