"""Totally random trees as members: each tree's leaves are its indicator features."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn import config_context
from sklearn.ensemble import RandomTreesEmbedding

from negcorr._common.arrays import is_device_array, place_of, to_host
from negcorr._common.forks import OwnLock
from negcorr._common.types import FloatArray, Table
from negcorr.bases.basis import RandomBasis
from negcorr.bases.input_maps import column_sizes
from negcorr.rows.rows import Rows

__all__ = ["TreeFeatures"]


#: scikit-learn resets the filters of warnings while it grows trees, and all threads share them: two
#: at a time could leave them reset.
_GROWING = OwnLock()

#: Columns whose values are all larger, or all smaller, cannot be split.
LARGEST_SPLIT, SMALLEST_SPLIT = 1e30, 1e-6


class TreeFeatures(RandomBasis):
    """One totally random tree per member; φ_m(x) indicates the leaf of x.

    Trees are grown on the distinct rows of X. Splits see X but never y, so the theory of fixed
    basis functions holds; for the leaves of a fitted forest it does not. Suits tables of discrete
    or few useful columns.

    Arrays on a device are taken to the host, where trees are, and the features back.

    Parameters
    ----------
    n_members : int, default=100
        Number of trees M.
    n_components : int, default=10
        Most leaves per tree H. With 1 every tree is a single leaf, a constant.
    inputs : {"standard", "clip", "rank", "none"}, default="standard"
        What is done to the columns of X first, as in :class:`FourierFeatures`. Trees are the same
        with "standard" and "none".
    relevance : array-like of shape (d,), optional
        What columns are multiplied by after that; trees do not use columns of relevance 0.
    random_state : int, RandomState or None, default=None
        Seed of the trees. Within an estimator None is the estimator's.

    Attributes
    ----------
    embedding_ : RandomTreesEmbedding or None
        scikit-learn's embedding, fitted; None for trees of one leaf.
    on_device_ : array or None
        An empty array where the rows of the fit were, if that was on a device.
    input_map_ : InputMap
        What was learnt from the columns.
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

    def fit_rows(self, rows: Rows) -> Self:
        self.on_device_ = None
        if is_device_array(rows.X):
            # Trees are grown, and rows dropped down them, on the host.
            self.on_device_ = place_of(rows.X).empty((0,))
            rows = rows.on_host()
        return super().fit_rows(rows)

    def _draw(self, rows: Rows, rng: np.random.RandomState) -> None:
        if self.n_components == 1:
            self.embedding_ = None
            self.block_starts_ = np.arange(self.n_members + 1)
            return
        split = self._split_rows(rows.X)
        sizes = column_sizes(split)
        outside = (sizes > LARGEST_SPLIT) | ((sizes > 0) & (sizes < SMALLEST_SPLIT))
        if outside.any():
            column = int(np.flatnonzero(outside)[0])
            raise ValueError(
                f"column {column} of X has values of up to {sizes[column]:.2g}; trees compare in "
                "single precision, and count values that differ by less than 1e-7 as equal. Give "
                "inputs='standard', or rescale it."
            )
        self.embedding_ = RandomTreesEmbedding(
            n_estimators=self.n_members,
            max_depth=None,
            max_leaf_nodes=self.n_components,
            random_state=rng,
        )
        with _GROWING, config_context(transform_output="default"):
            self.embedding_.fit(split[self._distinct(rows)])
        widths = [len(leaves) for leaves in self.embedding_.one_hot_encoder_.categories_]
        self.block_starts_ = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)

    def fill(self, X: Table, out: FloatArray) -> None:
        if is_device_array(X):
            leaves = np.empty((X.shape[0], self._n_features_out))
            self.fill(to_host(X), leaves)
            out[...] = place_of(X).floats(leaves)
            return
        if self.embedding_ is None:
            out[...] = 1.0
            return
        # Tree by tree: scikit-learn's ensembles would reset the filters of warnings here too.
        rows = self._split_rows(X)
        single = sp.csr_array if sp.issparse(rows) else np.asarray
        with np.errstate(over="ignore"):  # infinite values fall to the right of every split
            rows = single(rows, dtype=np.float32)
        parts = itertools.pairwise(self.block_starts_.tolist())
        known = self.embedding_.one_hot_encoder_.categories_
        for tree, leaves, (a, b) in zip(self.embedding_.estimators_, known, parts, strict=True):
            out[:, a:b] = tree.tree_.apply(rows)[:, np.newaxis] == leaves

    def _split_rows(self, X: Table) -> Table:
        """Rows as trees split them: scaled at most, and never centred, as sparse rows are not.

        By powers of two, which change no split but bring columns of small units within reach:
        trees count values that differ by less than 1e-7 as equal.
        """
        given = self.input_map_
        if not given.is_affine:
            return given(X)
        factor = np.ldexp(1.0, -np.round(np.log2(given.scale)).astype(int)) * given.relevance
        if sp.issparse(X):
            return sp.csr_array(X @ sp.diags_array(factor))
        return X * factor
