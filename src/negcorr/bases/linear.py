"""Linear members: each sees a few columns of X, drawn at random (random subspaces; Ho 1998)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import is_device_array, place_of, to_host
from negcorr._common.types import FloatArray, Table
from negcorr.bases.basis import RandomBasis, standardizer
from negcorr.exceptions import IdenticalMembersWarning

__all__ = ["LinearFeatures"]


class LinearFeatures(RandomBasis):
    """Every member is a linear model of H columns of X, a random subspace of its own.

    For wide tables in which many columns say the same. At λ = 1 the ensemble is least squares on
    all columns that some member has; towards λ = 0 it is shrunk as no ridge would do it.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of members M.
    n_components : int, default=10
        Columns per member H, at most all of them; drawn without replacement.
    standardize : bool, default=False
        Centre and scale the columns of X; predictions do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Attributes
    ----------
    columns_ : ndarray of shape (Q,)
        Which column of X each feature is.
    center_, scale_ : ndarray of shape (d,)
        What standardising subtracts and divides by.
    block_starts_ : ndarray of shape (M + 1,)
        Where each member's columns begin.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import LinearFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 6))
    >>> LinearFeatures(4, 3, random_state=0).fit_transform(X).shape
    (20, 12)
    """

    array_api = True

    def __init__(
        self,
        n_estimators: int = 100,
        n_components: int = 10,
        *,
        standardize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.standardize = standardize
        self.random_state = random_state

    def _draw(self, X: Table, sample_weight: FloatArray | None, rng: np.random.RandomState) -> None:
        n_columns = int(X.shape[1])
        width = min(self.n_components, n_columns)
        if width == n_columns and self.n_estimators > 1:
            warnings.warn(
                f"n_components={self.n_components} asks for all {n_columns} columns of X: all "
                "members are the same.",
                IdenticalMembersWarning,
                stacklevel=3,
            )
        self.center_, self.scale_ = standardizer(X, sample_weight, self.standardize)
        self.block_starts_ = np.arange(self.n_estimators + 1) * width
        draws = [rng.permutation(n_columns)[:width] for _ in range(self.n_estimators)]
        self.columns_ = np.concatenate(draws)

    def fill(self, X: Table, out: FloatArray) -> None:
        if is_device_array(X):
            place = place_of(X)
            rows = (place.floats(X) - self.center_) / self.scale_
            out[...] = place.xp.take(rows, place.integers(self.columns_), axis=1)
            return
        rows = X[:, self.columns_]
        dense = rows.toarray() if sp.issparse(rows) else rows
        columns = to_host(self.columns_)
        out[...] = (dense - self.center_[columns]) / self.scale_[columns]
