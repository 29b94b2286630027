"""What happens to the columns of X before features are made of them.

Tables bring columns with long tails, in which a kernel sees a few far rows and one crowd. A
column is standardised; or standardised and squeezed; or replaced by its ranks. Beyond that, a
column may count for more than others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from negcorr._common.arrays import Place, detached, place_of, to_host
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_weight
from negcorr.bases.basis import Basis, standardizer, that_count

__all__ = ["INPUTS", "InputMap", "MappedFeatures", "fit_input_map"]


#: What can be done to the columns.
INPUTS = ("standard", "clip", "rank", "none")

#: Standard deviations at which "clip" bends; nothing gets farther than this from the centre.
CLIP = 3.0

#: Points between which "rank" interpolates.
KNOTS = 128

#: Centres, scales, ranks and squeezed values are rounded to one in this many.
DIGITS = 2.0**26


@dataclass(frozen=True)
class InputMap:
    """Column by column: subtract, divide, bend, and weigh.

    Attributes
    ----------
    kind : {"standard", "clip", "rank", "none"}
        What is done.
    center, scale : ndarray of shape (d,)
        What is subtracted, and what that is divided by; for "rank", of the ranks.
    relevance : ndarray of shape (d,)
        What each column is multiplied by in the end.
    knots, ranks : ndarray of shape (d, k)
        For "rank", values of a column and the share of rows below them; else without columns.
    """

    kind: str
    center: FloatArray
    scale: FloatArray
    relevance: FloatArray
    knots: FloatArray
    ranks: FloatArray

    def __call__(self, X: Table) -> Table:
        """The rows as features see them; sparse rows are scaled and stay sparse, if that is all."""
        if sp.issparse(X):
            if self.kind in ("standard", "none") and not self.center.any():
                scaled = sp.csr_array(X @ sp.diags_array(self.relevance / self.scale))
                scaled.sum_duplicates()
                return scaled
            X = X.toarray()
        place = place_of(X)
        rows = place.floats(X)
        if self.kind == "rank":
            rows = _rounded(self._ranked(rows, place))
        rows = (rows - self.center) / self.scale
        if self.kind == "clip":
            rows = _rounded(rows / place.xp.sqrt(1.0 + (rows / CLIP) ** 2))
        return rows * self.relevance

    def _ranked(self, rows: FloatArray, place: Place) -> FloatArray:
        """Shares of training rows below each value, linear between the knots."""
        columns = []
        for j in range(rows.shape[1]):
            x, u = self.knots[j, :], self.ranks[j, :]
            if place.is_numpy:
                columns.append(np.interp(rows[:, j], x, u))
                continue
            xp = place.xp
            value = xp.clip(rows[:, j], min=x[0], max=x[-1])
            right = xp.clip(xp.searchsorted(x, value), min=1, max=x.shape[0] - 1)
            x0, x1 = xp.take(x, right - 1), xp.take(x, right)
            u0, u1 = xp.take(u, right - 1), xp.take(u, right)
            width = xp.where(x1 > x0, x1 - x0, 1.0)
            columns.append(u0 + (u1 - u0) * (value - x0) / width)
        return place.xp.stack(columns, axis=1)


def fit_input_map(
    kind: str,
    X: Table,
    sample_weight: FloatArray | None = None,
    relevance: npt.ArrayLike | None = None,
) -> InputMap:
    """Learn from the rows how to map columns; y is not looked at.

    Parameters
    ----------
    kind : {"standard", "clip", "rank", "none"}
        "standard" centres and scales to unit standard deviation. "clip" then bends values z to
        z/√(1 + (z/3)²), at most 3. "rank" replaces values by the share of rows below them.
        "none" leaves them as they are.
    X : {array, sparse matrix} of shape (n, d)
        Rows, validated. Sparse ones are scaled but never centred, "standard" or "none".
    sample_weight : ndarray of shape (n,), optional
        Frequencies.
    relevance : array-like of shape (d,), optional
        What mapped columns are multiplied by; 1 if absent.

    Returns
    -------
    InputMap

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.input_maps import fit_input_map
    >>> X = np.array([[0.0], [1.0], [2.0], [1000.0]])
    >>> fit_input_map("rank", X)(X).ravel().round(2)
    array([-1.34, -0.45,  0.45,  1.34])
    """
    if kind not in INPUTS:
        raise ValueError(f"inputs={kind!r} is unknown; allowed are {list(INPUTS)}.")
    if sp.issparse(X) and kind in ("clip", "rank"):
        raise ValueError(
            f"inputs={kind!r} would make sparse X dense; allowed for sparse X are 'standard' and "
            "'none'."
        )
    place, width = place_of(X), int(X.shape[1])
    weights = _checked_relevance(relevance, width, place)
    none: FloatArray = place.zeros((width, 0))
    if kind != "rank":
        center, scale = _standardizer(X, sample_weight, kind != "none")
        return InputMap(kind, center, scale, weights, none, none)
    knots, ranks = _knots(to_host(X), None if sample_weight is None else to_host(sample_weight))
    bare = InputMap(
        kind,
        place.zeros((width,)),
        place.ones((width,)),
        place.ones((width,)),
        place.floats(knots),
        place.floats(ranks),
    )
    center, scale = _standardizer(bare(X), sample_weight, True)
    return InputMap(kind, center, scale, weights, bare.knots, bare.ranks)


def _standardizer(
    X: Table, sample_weight: FloatArray | None, wanted: bool
) -> tuple[FloatArray, FloatArray]:
    """Centre and scale, rounded, so that mapped rows are equal to the last bit.

    Sums of rows in another order, or weighted instead of repeated, differ in their last digits.
    Landmarks and trees are drawn by the content of mapped rows, and would be others.
    """
    # The weighted variance of a constant may come out a trace below zero, and is taken for zero.
    with np.errstate(invalid="ignore"):
        center, scale = standardizer(X, sample_weight, wanted)
    if not wanted:
        return center, scale
    place, xp = place_of(X), place_of(X).xp
    mantissa, exponent = np.frexp(to_host(scale))
    rounded = np.ldexp(np.round(mantissa * DIGITS) / DIGITS, exponent)
    if sp.issparse(X):
        return np.zeros(len(rounded)), rounded
    middle = np.round(to_host(center) / rounded * DIGITS) / DIGITS * rounded
    least, most = (to_host(extreme(place.floats(X), axis=0)) for extreme in (xp.min, xp.max))
    return place.floats(np.where(least == most, least, middle)), place.floats(rounded)


def _rounded(rows: FloatArray) -> FloatArray:
    """Without the digits in which libraries differ."""
    return place_of(rows).xp.round(rows * DIGITS) / DIGITS


def _checked_relevance(relevance: npt.ArrayLike | None, width: int, place: Place) -> FloatArray:
    if relevance is None:
        return place.ones((width,))
    try:
        values = np.asarray(to_host(relevance), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (width,) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            f"relevance={relevance!r} must be {width} finite numbers of at least 0, one for each "
            "column of X."
        )
    if not values.any():
        raise ValueError("relevance is zero for every column; one at least must count.")
    return place.floats(values)


def _knots(X: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Values and mid-ranks of every column, at most ``KNOTS``, padded to the same number."""
    weight = np.ones(len(X)) if weight is None else weight
    found = []
    for column in np.asarray(X, dtype=np.float64).T:
        values, index = np.unique(column, return_inverse=True)
        mass = np.bincount(index, weights=weight, minlength=len(values))
        values, mass = values[mass > 0], mass[mass > 0]
        below = np.cumsum(mass) - mass
        share = np.round((below + 0.5 * mass) / mass.sum() * DIGITS) / DIGITS
        if len(values) > KNOTS:
            wanted = np.linspace(share[0], share[-1], KNOTS)
            values, share = np.interp(wanted, share, values), wanted
        found.append((values, share))
    most = max(2, *(len(values) for values, _ in found))
    # The last knot once more changes nothing.
    padded = [[np.pad(part, (0, most - len(part)), mode="edge") for part in pair] for pair in found]
    knots, ranks = np.array(padded).transpose(1, 0, 2)
    return knots, ranks


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
