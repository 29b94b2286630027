"""Maps of the columns of X that are applied before features are computed (:class:`InputMap`).

A column is standardised; or standardised and squashed; or replaced by its ranks; or left as it is.
After that it may be multiplied by its relevance, so that some columns count for more than others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from negcorr._common.arrays import Place, place_of, to_host
from negcorr._common.types import BoolArray, FloatArray, Table
from negcorr.rows.keys import without_last_digits

__all__ = ["INPUTS", "InputMap", "column_sizes", "fit_input_map"]

#: What can be done to the columns.
INPUTS = ("standard", "clip", "rank", "none")

#: Standard deviations to which "clip" bounds a column, in absolute value.
CLIP = 3.0

#: Points between which "rank" interpolates.
KNOTS = 128

#: Centres, scales, ranks and squashed values are rounded to multiples of one over this number.
DIGITS = 2.0**26


#: Squares of larger values may not be finite.
LARGEST_INPUT = 1e140


@dataclass(frozen=True)
class InputMap:
    """A map of the columns that was learnt from the rows of a fit.

    Attributes
    ----------
    kind : {"standard", "clip", "rank", "none"}
        What is done.
    center, scale : ndarray of shape (d,)
        What is subtracted, and what the difference is divided by; for "rank", of the ranks.
    relevance : ndarray of shape (d,)
        What each column is multiplied by in the end.
    knots, ranks : ndarray of shape (d, k)
        For "rank", values of a column and the share of rows below them; else k = 0.
    as_they_are : ndarray of bool of shape (d,) or None
        Columns to which nothing is done but that they are multiplied by their relevance.
    """

    kind: str
    center: FloatArray
    scale: FloatArray
    relevance: FloatArray
    knots: FloatArray
    ranks: FloatArray
    as_they_are: BoolArray | None = None

    @property
    def is_affine(self) -> bool:
        """Whether columns are only shifted and multiplied."""
        return self.kind in ("standard", "none")

    @property
    def factor(self) -> FloatArray:
        """What an affine map multiplies centred columns by."""
        return self.relevance / self.scale

    @property
    def offset(self) -> FloatArray:
        """The mapped centre; mapped sparse rows, which are not centred, differ by it from dense."""
        return self.center * self.factor

    def __call__(self, X: Table) -> Table:
        """Map rows; sparse rows stay sparse, and are not centred, if the map is affine."""
        if sp.issparse(X):
            if self.is_affine:
                scaled = sp.csr_array(X @ sp.diags_array(self.factor))
                # Otherwise distances would sort the indices in place, in every thread.
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
        if self.as_they_are is not None:
            rows = np.where(self.as_they_are, X, rows)
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
    as_they_are: BoolArray | None = None,
) -> InputMap:
    """Learn from the rows how to map the columns; y is not used.

    Parameters
    ----------
    kind : {"standard", "clip", "rank", "none"}
        "standard" centres and scales to unit standard deviation. "clip" then squashes values z to
        z/√(1 + (z/3)²), which lies between −3 and 3. "rank" replaces values by the share of rows
        below them. "none" leaves them as they are.
    X : {array, sparse matrix} of shape (n, d)
        Rows, validated. Sparse ones allow "standard" and "none".
    sample_weight : ndarray of shape (n,), optional
        Frequencies.
    relevance : array-like of shape (d,), optional
        What mapped columns are multiplied by; 1 if absent.
    as_they_are : ndarray of bool of shape (d,), optional
        Columns to which nothing else is done, such as those of 0 and 1 that stand for a category.

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
    if not isinstance(kind, str) or kind not in INPUTS:
        raise ValueError(f"inputs={kind!r} is unknown; allowed are {list(INPUTS)}.")
    if sp.issparse(X) and kind in ("clip", "rank"):
        raise ValueError(
            f"inputs={kind!r} would make sparse X dense; allowed for sparse X are 'standard' and "
            "'none'."
        )
    place, width = place_of(X), int(X.shape[1])
    if (sizes := column_sizes(X)).max(initial=0.0) > LARGEST_INPUT:
        raise ValueError(
            f"column {int(sizes.argmax())} of X has values above {LARGEST_INPUT:g}, whose squares "
            "overflow; rescale it."
        )
    try:
        given = np.asarray(np.ones(width) if relevance is None else to_host(relevance), np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (width,) or not (np.isfinite(given) & (given >= 0)).all():
        raise ValueError(
            f"relevance={relevance!r} must be None or {width} finite numbers of at least 0, one "
            "for each column that the basis sees (in a data frame, a category is several)."
        )
    if not given.any():
        raise ValueError("relevance is zero for every column; at least one must be above 0.")
    weights = place.floats(given)
    zeros, ones, none = place.zeros((width,)), place.ones((width,)), place.zeros((width, 0))
    if kind == "none":
        return InputMap(kind, zeros, ones, weights, none, none)
    if kind != "rank":
        center, scale = _centre_and_scale(X, sample_weight)
        if as_they_are is not None:
            center, scale = np.where(as_they_are, 0.0, center), np.where(as_they_are, 1.0, scale)
        return InputMap(kind, center, scale, weights, none, none, as_they_are)
    knots, ranks = _knots(to_host(X), None if sample_weight is None else to_host(sample_weight))
    bare = InputMap(kind, zeros, ones, ones, place.floats(knots), place.floats(ranks))
    center, scale = _centre_and_scale(bare(X), sample_weight)
    return InputMap(kind, center, scale, weights, bare.knots, bare.ranks, as_they_are)


def _centre_and_scale(X: Table, sample_weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of columns, 1 for constant ones, rounded to 26 bits.

    Then mapped rows are equal to the last bit. Sums of rows in another order, or weighted instead
    of repeated, differ in their last digits; landmarks and trees are drawn by the content of mapped
    rows, and would be others.
    """
    place = place_of(X)
    xp, sparse = place.xp, sp.issparse(X)
    if place.is_numpy:
        # Rounding may make the weighted variance of a constant slightly negative; it counts as
        # zero.
        with np.errstate(invalid="ignore"):
            scaler = StandardScaler(with_mean=not sparse).fit(X, sample_weight=sample_weight)
        mean, scale = np.asarray(scaler.mean_), np.asarray(scaler.scale_)
    else:
        rows = place.floats(X)
        weight = place.ones((int(rows.shape[0]),)) if sample_weight is None else sample_weight
        mass = float(xp.sum(weight))
        share = weight / mass
        # From the first row, so that columns far from zero keep their digits.
        center = rows[0, :] + share @ (rows - rows[0, :])
        variance = share @ (rows - center) ** 2
        # As in scikit-learn: a variance so small that rounding alone can explain it.
        eps = float(np.finfo(np.float64).eps)
        constant = variance <= mass * eps * variance + (mass * center * eps) ** 2
        mean, scale = to_host(center), to_host(xp.where(constant, 1.0, xp.sqrt(variance)))
    rounded = without_last_digits(scale)
    middle = np.round(mean / rounded * DIGITS) / DIGITS * rounded
    if sparse:
        return middle, rounded
    least, most = (to_host(extreme(place.floats(X), axis=0)) for extreme in (xp.min, xp.max))
    return place.floats(np.where(least == most, least, middle)), place.floats(rounded)


def column_sizes(X: Table) -> FloatArray:
    """The largest absolute value of every column, of shape (d,), in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.input_maps import column_sizes
    >>> column_sizes(np.array([[1.0, 0.0], [-3.0, 0.0]]))
    array([3., 0.])
    """
    if sp.issparse(X):
        return np.asarray(abs(sp.csc_array(X)).max(axis=0).toarray(), dtype=np.float64)
    place = place_of(X)
    sizes = place.xp.max(place.xp.abs(place.floats(X)), axis=0)
    return np.asarray(to_host(sizes), dtype=np.float64)


def _rounded(rows: FloatArray) -> FloatArray:
    """Values without the digits in which libraries differ."""
    return place_of(rows).xp.round(rows * DIGITS) / DIGITS


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
