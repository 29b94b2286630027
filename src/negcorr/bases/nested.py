"""Members that are ensembles themselves, each with a basis and a gap of its own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from negcorr._common.arrays import place_of
from negcorr._common.threads import spread
from negcorr._common.types import FloatArray, IntArray, Table
from negcorr.bases.basis import Basis, rows_for
from negcorr.rows.rows import Rows

__all__ = ["NestedFeatures", "Nesting"]


@dataclass(frozen=True)
class Nesting:
    """How members are made of smaller ones.

    Attributes
    ----------
    starts : ndarray of shape (M + 1,)
        Where the features of each small member begin.
    gaps : tuple of float
        The gap within each member, between 0 and 1, both excluded.
    """

    starts: IntArray
    gaps: tuple[float, ...]

    def counts(self, outer: IntArray) -> list[int]:
        """Small members of each member, for the starts of the latter."""
        return np.diff(np.searchsorted(self.starts, outer)).tolist()


class NestedFeatures(Basis):
    """The features of several bases, each of which makes one member: an ensemble of its own.

    Parameters
    ----------
    bases : list of Basis
        One for each member; cloned, never changed.
    gaps : list of float
        The gap 1 − λ within each member, between 0 and 1, both excluded.

    Attributes
    ----------
    bases_ : list of Basis
        Fitted.
    block_starts_ : ndarray of shape (K + 1,)
        Where the features of each member begin.
    nesting_ : Nesting
        Where the features of the small members begin, and the gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import FourierFeatures, NestedFeatures, NystroemFeatures
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> four, three = FourierFeatures(4, 5, random_state=0), NystroemFeatures(3, 5, random_state=0)
    >>> basis = NestedFeatures([four, three], gaps=[0.1, 0.01]).fit(X)
    >>> basis.block_starts_.tolist(), basis.nesting_.counts(basis.block_starts_)
    ([0, 20, 35], [4, 3])
    """

    array_api = True

    def __init__(self, bases: Sequence[Basis], gaps: Sequence[float]) -> None:
        self.bases = bases
        self.gaps = gaps

    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the features of all members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Inputs.
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
        self._check_parameters()
        rows, self.n_features_in_ = rows.of_weight(), int(rows.X.shape[1])
        unfitted = [clone(basis) for basis in self.bases]
        safe = place_of(rows.X).is_numpy and all(basis.thread_safe for basis in unfitted)
        each: Any = spread if safe else map
        self.bases_ = list(each(lambda basis: basis.fit_rows(rows), unfitted))
        widths = [int(basis.block_starts_[-1]) for basis in self.bases_]
        self.block_starts_ = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        small = [
            basis.block_starts_[:-1] + start
            for basis, start in zip(self.bases_, self.block_starts_, strict=False)
        ]
        starts = np.concatenate([*small, self.block_starts_[-1:]]).astype(np.intp)
        self.nesting_ = Nesting(starts, tuple(float(gap) for gap in self.gaps))
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.bases, (list, tuple)) or len(self.bases) == 0:
            raise TypeError(f"bases={self.bases!r} must be a list of at least one Basis.")
        for i, basis in enumerate(self.bases):
            if not isinstance(basis, Basis) or isinstance(basis, NestedFeatures):
                raise TypeError(f"bases[{i}]={basis!r} must be a Basis that is not nested itself.")
        gaps = np.asarray(self.gaps, dtype=np.float64)
        if gaps.shape != (len(self.bases),) or not ((gaps > 0) & (gaps < 1)).all():
            raise ValueError(
                f"gaps={self.gaps!r} must be {len(self.bases)} numbers between 0 and 1, one for "
                "each of bases."
            )

    @property
    def usual_ridge(self) -> float:  # type: ignore[override]
        """The largest of the bases'."""
        return max((basis.usual_ridge for basis in self.bases), default=0.0)

    def with_seed(self, random_state: Any) -> Self:
        """An unfitted copy; bases without a seed get one each, drawn from ``random_state``."""
        rng = check_random_state(random_state)
        seeded = [
            basis.with_seed(rng.randint(np.iinfo(np.int32).max))
            if isinstance(basis, Basis)
            else basis
            for basis in self.bases
        ]
        return type(self)(seeded, self.gaps)

    @property
    def terms_(self) -> FloatArray | None:
        """Those of the bases, 0 for features that are no sums."""
        known = [(basis.terms_, int(basis.block_starts_[-1])) for basis in self.bases_]
        given = [terms for terms, _ in known if terms is not None]
        if not given:
            return None
        place = place_of(given[0])
        parts = [place.zeros((size,)) if terms is None else terms for terms, size in known]
        return place.xp.concat(parts)

    def fill(self, X: Table, out: FloatArray) -> None:
        parts = itertools.pairwise(self.block_starts_.tolist())
        for basis, (a, b) in zip(self.bases_, parts, strict=True):
            basis.fill(X, out[:, a:b])
