"""Totally random trees as members: each tree's leaves are its indicator features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomTreesEmbedding

from negcorr._typing import FloatArray, Table
from negcorr.bases._base import RandomBasis

__all__ = ["TreeFeatures"]


class TreeFeatures(RandomBasis):
    """One totally random tree per member; φ_m(x) says which leaf x falls into.

    Splits see X but never y, so the theory of fixed basis functions holds, which it does
    not for the leaves of a fitted forest. Suits tables of discrete or few useful columns.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees M.
    n_components : int, default=10
        Most leaves per tree H, at least 2.
    random_state : int, RandomState or None, default=None
        Seed of the trees.

    Attributes
    ----------
    embedding_ : RandomTreesEmbedding
        scikit-learn's embedding, fitted.
    block_starts_ : ndarray of shape (M + 1,)
        Where each tree's leaves begin; trees may have unequal numbers of them.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import TreeFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> leaves = TreeFeatures(4, 5, random_state=0).fit_transform(X)
    >>> leaves.shape, float(leaves.sum())
    ((20, 20), 80.0)
    """

    def __init__(
        self, n_estimators: int = 100, n_components: int = 10, *, random_state: Any = None
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Table, y: Any = None) -> Self:
        """Grow the random trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Inputs.
        y : ignored
            Present for scikit-learn's conventions; features never see y.

        Returns
        -------
        self
        """
        return self._fit(X)

    def _draw(self, X: Table, sample_weight: FloatArray | None, rng: np.random.RandomState) -> None:
        if self.n_components < 2:
            raise ValueError(
                f"n_components={self.n_components!r} must be at least 2 for trees: "
                "a tree with one leaf is a constant."
            )
        self.embedding_ = RandomTreesEmbedding(
            n_estimators=self.n_estimators,
            max_depth=None,
            max_leaf_nodes=self.n_components,
            random_state=rng,
        ).fit(X)
        widths = [len(leaves) for leaves in self.embedding_.one_hot_encoder_.categories_]
        self.block_starts_ = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)

    def fill(self, X: Table, out: FloatArray) -> None:
        out[...] = self.embedding_.transform(X).toarray()
