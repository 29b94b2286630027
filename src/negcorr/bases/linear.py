"""Linear members: each sees a few columns of X, drawn at random (random subspaces; Ho 1998)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from negcorr._common.arrays import place_of
from negcorr._common.types import FloatArray, Table
from negcorr.bases.basis import RandomBasis
from negcorr.exceptions import IdenticalMembersWarning
from negcorr.rows.rows import Rows

__all__ = ["LinearFeatures"]


class LinearFeatures(RandomBasis):
    """Every member is a linear model of H columns of X, a random subspace of its own.

    Suits wide tables with many similar columns. At λ = 1 the ensemble is least squares on all
    columns that some member has; towards λ = 0 it is shrunk, in a way that differs from any ridge.

    Parameters
    ----------
    n_members : int, default=100
        Number of members M.
    n_components : int, default=10
        Columns per member H, at most all of them; drawn without replacement.
    inputs : {"standard", "clip", "rank", "none"}, default="standard"
        What is done to the columns of X first, as in :class:`FourierFeatures`; without a ridge,
        predictions are the same with "standard" and "none".
    relevance : array-like of shape (d,), optional
        What columns are multiplied by after that.
    random_state : int, RandomState or None, default=None
        Seed of the draws. Within an estimator None is the estimator's.

    Attributes
    ----------
    columns_ : ndarray of shape (Q,)
        Which column of X each feature is.
    input_map_ : InputMap
        What was learnt from the columns.
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
        n_members: int = 100,
        n_components: int = 10,
        *,
        inputs: str = "standard",
        relevance: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_members = n_members
        self.n_components = n_components
        self.inputs = inputs
        self.relevance = relevance
        self.random_state = random_state

    def _draw(self, rows: Rows, rng: np.random.RandomState) -> None:
        n_columns = int(rows.X.shape[1])
        width = min(self.n_components, n_columns)
        if width == n_columns and self.n_members > 1:
            warnings.warn(
                f"n_components={self.n_components} asks for all {n_columns} columns of X: all "
                "members are the same.",
                IdenticalMembersWarning,
                stacklevel=3,
            )
        self.block_starts_ = np.arange(self.n_members + 1) * width
        draws = [rng.permutation(n_columns)[:width] for _ in range(self.n_members)]
        self.columns_ = np.concatenate(draws)

    def fill(self, X: Table, out: FloatArray) -> None:
        rows = self.input_map_(X)
        if sp.issparse(rows):
            out[...] = rows[:, self.columns_].toarray() - self.input_map_.offset[self.columns_]
            return
        place = place_of(rows)
        out[...] = place.xp.take(rows, place.integers(self.columns_), axis=1)
