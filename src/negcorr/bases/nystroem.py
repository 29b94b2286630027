"""Nyström features: kernel values at landmark rows drawn from X, a new set per member."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from negcorr._common.arrays import place_of, rows_at, to_host
from negcorr._common.types import FloatArray, Table
from negcorr.bases.basis import RandomBasis
from negcorr.bases.fourier import resolve_gamma
from negcorr.bases.kernel_functions import KERNELS, check_share, member_columns
from negcorr.exceptions import IdenticalMembersWarning
from negcorr.rows.rows import Rows

__all__ = ["NystroemFeatures"]

#: Directions of landmarks that carry less than this share of the largest count as rounding errors.
NOISE = 1e-9


class NystroemFeatures(RandomBasis):
    """Blocks of Nyström features, φ_m(x) = K_m^(-1/2) k(L_m, x) for H landmarks L_m.

    Parameters
    ----------
    n_members : int, default=100
        Number of members M.
    n_components : int, default=10
        Landmarks per member H, drawn without replacement from the distinct rows of X. With
        no more rows than that every member uses all of them, and a warning says so.
    gamma : float or "kwok-tsang", default="kwok-tsang"
        Inverse bandwidth for all columns; over ``subspace`` for those that a member sees.
    kernel : {"rbf", "laplacian", "cauchy"}, default="rbf"
        Kernel, as in :class:`FourierFeatures`.
    inputs : {"standard", "clip", "rank", "none"}, default="standard"
        What is done to the columns of X first, as in :class:`FourierFeatures`.
    relevance : array-like of shape (d,), optional
        What columns are multiplied by after that.
    subspace : float, default=1.0
        Share of the columns that each member sees, a random subspace of its own.
    random_state : int, RandomState or None, default=None
        Seed of the landmarks and subspaces. Within an estimator None is the estimator's.

    Attributes
    ----------
    landmarks_ : {ndarray, sparse matrix} of shape (Q, d)
        Landmarks of all members, mapped.
    normalization_ : ndarray of shape (M, H, H)
        K_m^(-1/2) of every member.
    subspaces_ : ndarray of bool of shape (M, d) or None
        The columns that each member sees; None where they are all.
    gamma_ : float
        The bandwidth used.
    input_map_ : InputMap
        What was learnt from the columns.
    block_starts_ : ndarray of shape (M + 1,)
        Where each member's columns begin.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import NystroemFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> NystroemFeatures(4, 5, random_state=0).fit_transform(X).shape
    (20, 20)
    """

    array_api = True

    def __init__(
        self,
        n_members: int = 100,
        n_components: int = 10,
        *,
        gamma: float | str = "kwok-tsang",
        kernel: str = "rbf",
        inputs: str = "standard",
        relevance: npt.ArrayLike | None = None,
        subspace: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_members = n_members
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.inputs = inputs
        self.relevance = relevance
        self.subspace = subspace
        self.random_state = random_state

    def _draw(self, rows: Rows, rng: np.random.RandomState) -> None:
        share = check_share(self.subspace, self.kernel)
        candidates = self._distinct(rows)
        width = min(self.n_components, len(candidates))
        if width == len(candidates) and self.n_members > 1 and share == 1:
            warnings.warn(
                f"n_components={self.n_components} asks for at least as many landmarks as X has "
                f"distinct rows ({width}): all members share the same landmarks.",
                IdenticalMembersWarning,
                stacklevel=3,
            )
        mapped = self.input_map_(rows.X)
        self.gamma_ = resolve_gamma(self.gamma, self.kernel, mapped, rows.weight)
        self.block_starts_ = np.arange(self.n_members + 1) * width
        chosen = np.concatenate(
            [rng.permutation(candidates)[:width] for _ in range(self.n_members)]
        )
        self.landmarks_ = rows_at(mapped, chosen)
        shape = (self.n_members, int(rows.X.shape[1]))
        self.subspaces_ = None if share == 1 else member_columns(rng, *shape, share)
        blocks = (self._own(self.landmarks_[_block(m, width), :], m) for m in range(shape[0]))
        roots = [_inverse_root(self._kernel(L, L)) for L in blocks]
        self.normalization_ = place_of(mapped).floats(np.stack(roots))

    @property
    def terms_(self) -> FloatArray | None:
        """Lengths of the weights of the kernels, which are at most 1."""
        xp = place_of(self.normalization_).xp
        return xp.reshape(xp.linalg.vector_norm(self.normalization_, axis=1), (-1,))

    def _landmarks(self, X: Table) -> Table:
        """Landmarks about the same origin as the rows: sparse ones are never centred."""
        if sp.issparse(X) == sp.issparse(self.landmarks_):
            return self.landmarks_
        offset = self.input_map_.offset
        if sp.issparse(X):
            return sp.csr_array(self.landmarks_ + offset)
        return self.landmarks_.toarray() - offset

    def _own(self, X: Table, m: int) -> Table:
        """Rows as member m sees them: without the columns that are not in its subspace."""
        if self.subspaces_ is None:
            return X
        seen = self.subspaces_[m].astype(np.float64)
        return (
            sp.csr_array(X @ sp.diags_array(seen))
            if sp.issparse(X)
            else X * place_of(X).floats(seen)
        )

    def _kernel(self, X: Table, Z: Table) -> FloatArray:
        return KERNELS[self.kernel].values(X, Z, self.gamma_ / float(self.subspace))

    def fill(self, X: Table, out: FloatArray) -> None:
        rows = self.input_map_(X)
        landmarks = self._landmarks(rows)
        n_members, width, _ = self.normalization_.shape
        if self.subspaces_ is not None:
            for m in range(n_members):
                own = self._own(landmarks[_block(m, width), :], m)
                values = self._kernel(self._own(rows, m), own)
                out[:, _block(m, width)] = values @ self.normalization_[m, :, :]
            return
        values = self._kernel(rows, landmarks)
        xp = place_of(values).xp
        blocks = xp.permute_dims(xp.reshape(values, (-1, n_members, width)), (1, 0, 2))
        features = xp.permute_dims(blocks @ self.normalization_, (1, 0, 2))
        out[...] = xp.reshape(features, out.shape)


def _block(m: int, width: int) -> slice:
    return slice(m * width, (m + 1) * width)


def _inverse_root(kernel: FloatArray) -> FloatArray:
    """K^(-1/2) without the directions in which features would be rounding.

    Landmarks may be near each other, or equal within a subspace.
    """
    values, vectors = np.linalg.eigh(to_host(kernel))
    kept = values > NOISE * values[-1]
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T)
