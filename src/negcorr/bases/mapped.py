"""Any basis, on columns that are mapped first."""

from __future__ import annotations

from typing import Any, Self

import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import get_tags

from negcorr._arrays import detached
from negcorr._typing import FloatArray, Table
from negcorr._validation import check_weight
from negcorr.bases._base import Basis, that_count
from negcorr.bases.inputs import fit_input_map

__all__ = ["MappedFeatures"]


class MappedFeatures(Basis):
    """The features of a basis, made of columns that are standardised, squeezed or ranked first.

    Parameters
    ----------
    basis : Basis
        What makes the features; cloned, never changed.
    inputs : {"standard", "clip", "rank", "none"}, default="clip"
        What is done to every column: unit standard deviation; the same, with values z bent to
        z/√(1 + (z/3)²), which tames long tails; or the share of rows below a value; or nothing.
    relevance : array-like of shape (d,), optional
        What columns are multiplied by after that, so that some count for more.

    Attributes
    ----------
    basis_ : Basis
        Fitted.
    input_map_ : InputMap
        What was learnt from the columns.
    relevance_ : ndarray of shape (d,)
        What columns are multiplied by, 1 if nothing was given.
    block_starts_ : ndarray of shape (M + 1,)
        Where each member's columns begin.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import FourierFeatures, MappedFeatures
    >>> X = np.random.default_rng(0).standard_cauchy(size=(20, 3))
    >>> basis = MappedFeatures(FourierFeatures(4, 5, random_state=0), inputs="rank")
    >>> basis.fit_transform(X).shape
    (20, 20)
    """

    array_api = True

    def __init__(
        self, basis: Basis, *, inputs: str = "clip", relevance: npt.ArrayLike | None = None
    ) -> None:
        self.basis = basis
        self.inputs = inputs
        self.relevance = relevance

    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the map of the columns and draw the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Inputs; sparse ones only with ``inputs="standard"`` or "none", and never centred.
        y : ignored
            Present for scikit-learn's conventions; features never see y.
        sample_weight : array-like of shape (n,), optional
            Frequencies of the rows.

        Returns
        -------
        self
        """
        if not isinstance(self.basis, Basis):
            raise TypeError(f"basis={self.basis!r} must be a negcorr.bases.Basis.")
        rows = self._validate(detached(X), reset=True)
        rows, weight = that_count(rows, check_weight(sample_weight, rows))
        self.input_map_ = fit_input_map(self.inputs, rows, weight, self.relevance)
        self.relevance_ = self.input_map_.relevance
        self.basis_ = clone(self.basis).fit(self.input_map_(rows), sample_weight=weight)
        self.block_starts_ = self.basis_.block_starts_
        self.nesting_ = self.basis_.nesting_
        return self

    @property
    def thread_safe(self) -> bool:  # type: ignore[override]
        """Whether several threads may call ``fill`` at once: where the basis says so."""
        return bool(self.basis.thread_safe)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = not isinstance(self.basis, Basis) or get_tags(self.basis).input_tags.sparse
        tags.input_tags.sparse = inner and self.inputs in ("standard", "none")
        return tags

    def fill(self, X: Table, out: FloatArray) -> None:
        self.basis_.fill(self.input_map_(X), out)
