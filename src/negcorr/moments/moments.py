"""The sufficient statistics of the rows: their weight, mean and scatter, in two forms.

With z = [φ(x), y] for a row and w its frequency, :class:`GramMoments` keeps the scatter of z as a
matrix: fast, but it squares condition numbers. :class:`FactorMoments` keeps R with
RᵀR = Σ w [1, z]ᵀ[1, z]: accurate, and two to four times slower. Both add over disjoint sets of
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_cupy_array, is_torch_array

from negcorr._common.arrays import place_of, rows_at
from negcorr._common.lapack import EPS
from negcorr._common.types import FloatArray

__all__ = [
    "FactorMoments",
    "GramMoments",
    "Moments",
    "as_gram",
    "compress",
    "count_rows",
    "merge_products",
    "same_form",
    "sum_of_squares",
    "total",
]


#: Rows of a scatter matrix that are added at a time, so that they stay in cache.
_STRIP = 64


@dataclass(frozen=True)
class GramMoments:
    """Sufficient statistics with the scatter as a matrix.

    Attributes
    ----------
    weight : float
        Σw.
    mean : ndarray of shape (Q + outputs,)
        Weighted mean of z = [φ, y].
    scatter : ndarray of shape (Q + outputs, Q + outputs)
        Σ w (z − mean)(z − mean)ᵀ.
    n_outputs : int
        Number of targets, the last columns of z.
    n_rows : int
        Number of rows with positive weight, a bound on the rank.
    squares : ndarray of shape (Q + outputs,)
        Σ w (z − shift)² of the products that the scatter was centred from.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.moments.moments import GramMoments
    >>> z = np.array([[1.0, 2.0], [3.0, 4.0], [8.0, 0.0]])
    >>> whole = GramMoments.from_rows(z, np.ones(3), n_outputs=1)
    >>> parts = [GramMoments.from_rows(p, np.ones(len(p)), 1) for p in (z[:1], z[1:])]
    >>> bool(np.allclose((parts[0] + parts[1]).scatter, whole.scatter))
    True
    """

    weight: float
    mean: FloatArray
    scatter: FloatArray
    n_outputs: int
    n_rows: int
    squares: FloatArray

    @property
    def rounding(self) -> FloatArray:
        """Standard deviation of each column up to which it is rounding left by centring."""
        xp = place_of(self.mean).xp
        lost = xp.sqrt(1024.0 * EPS * self.squares / self.weight)
        return xp.maximum(lost, 32.0 * EPS * xp.abs(self.mean))

    @classmethod
    def from_rows(cls, z: FloatArray, weight: FloatArray, n_outputs: int) -> Self:
        """Moments of rows ``z`` in memory, by two passes."""
        place = place_of(z)
        xp = place.xp
        mass = float(xp.sum(weight))
        mean = weight @ z / mass if mass > 0 else place.zeros((z.shape[1],))
        centred = xp.sqrt(weight)[:, None] * (z - mean)
        scatter = centred.T @ centred
        n_rows = int(xp.count_nonzero(weight))
        squares = xp.asarray(xp.linalg.diagonal(scatter), copy=True)
        return cls(mass, mean, scatter, n_outputs, n_rows, squares)

    @classmethod
    def from_merged(
        cls,
        parts: Sequence[FloatArray],
        shift: FloatArray,
        n_outputs: int,
        n_rows: int,
        squares: FloatArray,
    ) -> Self:
        """Moments from the products of a block scan, after :func:`merge_products`.

        ``squares`` is what :func:`sum_of_squares` gave before.
        """
        mass, offset = _mass_and_offset(parts)
        scatter = parts[0][:-1, :-1]
        return cls(mass, shift + offset, scatter, n_outputs, n_rows if mass > 0 else 0, squares)

    def emptied(self) -> GramMoments:
        """Moments of no rows, of the same features and outputs."""
        place = place_of(self.mean)
        zero = place.zeros(self.mean.shape)
        scatter = place.zeros(self.scatter.shape)
        return GramMoments(0.0, zero, scatter, self.n_outputs, 0, zero)

    @property
    def n_features(self) -> int:
        """Q."""
        return int(self.mean.shape[0]) - self.n_outputs

    def __add__(self, other: Moments) -> Moments:
        """Moments of both sets of rows together."""
        return total([self, other])

    def scatter_about(self, centre: FloatArray) -> FloatArray:
        """Σ w (z − centre)(z − centre)ᵀ."""
        offset = self.mean - centre
        return self.scatter + (self.weight * offset)[:, None] * offset[None, :]

    def squared_error(self, coef: FloatArray, centre: FloatArray) -> FloatArray:
        """Σ w (y − c_y − (φ − c_φ)ᵀβ)² for every column β of ``coef``.

        Parameters
        ----------
        coef : ndarray of shape (outputs, Q, k)
            Coefficients, k candidates for each output.
        centre : ndarray of shape (Q + outputs,)
            Point [c_φ, c_y] that the fit passes through.

        Returns
        -------
        ndarray of shape (k, outputs)
        """
        q = coef.shape[1]
        place = place_of(self.scatter)
        xp = place.xp
        offset = self.mean - centre
        features, cross = self.scatter[:q, :q], self.scatter[:q, q:]
        errors = place.empty((coef.shape[2], self.n_outputs))
        for j in range(self.n_outputs):
            beta = coef[j, ...]
            quadratic = xp.sum(beta * (features @ beta - 2.0 * cross[:, j : j + 1]), axis=0)
            bias = offset[q + j] - offset[:q] @ beta
            errors[:, j] = self.scatter[q + j, q + j] + quadratic + self.weight * bias**2
        return xp.clip(errors, min=0.0)


@dataclass(frozen=True)
class FactorMoments:
    """Sufficient statistics with a triangular factor, or with the weighted rows while they are few.

    Attributes
    ----------
    weight : float
        Σw.
    shift : ndarray of shape (Q + outputs,)
        Provisional centre that was subtracted from z before factorising.
    factor : ndarray of shape (k, 1 + Q + outputs)
        R with RᵀR = Σ w [1, z − shift]ᵀ[1, z − shift].
    n_outputs : int
        Number of targets, the last columns of z.
    n_rows : int
        Number of rows with positive weight.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.moments.moments import FactorMoments
    >>> z = np.array([[1.0, 2.0], [3.0, 4.0], [8.0, 0.0]])
    >>> parts = [FactorMoments.from_rows(p, np.ones(len(p)), 1) for p in (z[:1], z[1:])]
    >>> (parts[0] + parts[1]).mean
    array([4., 2.])
    """

    weight: float
    shift: FloatArray
    factor: FloatArray
    n_outputs: int
    n_rows: int

    @classmethod
    def from_rows(
        cls,
        z: FloatArray,
        weight: FloatArray,
        n_outputs: int,
        shift: FloatArray | None = None,
    ) -> Self:
        """Moments of rows ``z`` in memory, kept as rows while they are few."""
        place = place_of(z)
        xp = place.xp
        used = xp.nonzero(weight > 0)[0]
        mass = float(xp.sum(weight))
        if shift is None:
            shift = weight @ z / mass if mass > 0 else place.zeros((z.shape[1],))
        root = xp.sqrt(rows_at(weight, used))[:, None]
        factor = xp.concat([root, root * (rows_at(z, used) - shift)], axis=1)
        return cls(mass, shift, compress(factor), n_outputs, int(factor.shape[0]))

    @property
    def n_features(self) -> int:
        """Q."""
        return int(self.shift.shape[0]) - self.n_outputs

    @property
    def mean(self) -> FloatArray:
        """Weighted mean of z = [φ, y]."""
        if self.weight == 0:
            return self.shift
        return self.shift + self.factor[:, 0] @ self.factor[:, 1:] / self.weight

    def emptied(self) -> FactorMoments:
        """Moments of no rows, of the same features and outputs."""
        return FactorMoments(0.0, self.shift, self.factor[:0, :], self.n_outputs, 0)

    def __add__(self, other: Moments) -> Moments:
        """Moments of both sets of rows together."""
        return total([self, other])

    @property
    def rounding(self) -> FloatArray:
        """Standard deviation of each column up to which it is rounding left by centring."""
        place = place_of(self.factor)
        xp = place.xp
        if self.weight == 0:
            return place.zeros((self.shift.shape[0],))
        rms = xp.linalg.vector_norm(self.factor[:, 1:], axis=0) / self.weight**0.5
        noise = EPS * (10.0 * self.factor.shape[0] ** 0.5 + 32.0)
        return xp.maximum(noise * rms, 32.0 * EPS * xp.abs(self.mean))

    def factor_about(self, centre: FloatArray) -> FloatArray:
        """C with CᵀC = Σ w (z − centre)(z − centre)ᵀ, of shape (k, Q + outputs)."""
        return self.factor[:, 1:] + self.factor[:, :1] * (self.shift - centre)[None, :]

    def squared_error(self, coef: FloatArray, centre: FloatArray) -> FloatArray:
        """As :meth:`GramMoments.squared_error`, as a sum of squares without cancellation."""
        q = coef.shape[1]
        centred = self.factor_about(centre)
        place = place_of(centred)
        errors = place.empty((coef.shape[2], self.n_outputs))
        for j in range(self.n_outputs):
            residual = centred[:, q + j : q + j + 1] - centred[:, :q] @ coef[j, ...]
            errors[:, j] = place.xp.sum(residual * residual, axis=0)
        return errors


Moments: TypeAlias = GramMoments | FactorMoments


def total(parts: list[Moments]) -> Moments:
    """Sum of several moments of one form.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.moments.moments import GramMoments, total
    >>> one = GramMoments.from_rows(np.eye(2), np.ones(2), n_outputs=1)
    >>> total([one, one, one]).weight
    6.0
    """
    first = parts[0]
    if any(type(part) is not type(first) for part in parts):
        raise TypeError("moments of different forms cannot be added.")
    n_rows = sum(part.n_rows for part in parts)
    used = [part for part in parts if part.weight > 0]
    if isinstance(first, FactorMoments):
        # One QR of all factors, moved to the shift of the first rows: that of no rows may be far.
        shift = used[0].shift if used else first.shift  # type: ignore[union-attr]
        xp = place_of(shift).xp
        moved = [
            xp.concat([part.factor[:, :1], part.factor_about(shift)], axis=1)
            for part in used
            if isinstance(part, FactorMoments)
        ]
        factor = compress(xp.concat(moved, axis=0)) if moved else first.factor
        weight = sum(part.weight for part in parts)
        return FactorMoments(weight, shift, factor, first.n_outputs, n_rows)
    grams = [part for part in used if isinstance(part, GramMoments)]
    if len(grams) < 2:
        return (grams or [first])[0]
    # Σ_k [S_k + w_k d_k d_kᵀ] with d_k the distance of a part's mean from the common one.
    first = grams[0]
    place = place_of(first.mean)
    weights = place.floats([part.weight for part in grams])
    mass = float(sum(part.weight for part in grams))
    means = place.xp.stack([part.mean for part in grams])
    mean = first.mean + weights @ (means - first.mean) / mass
    distances = means - mean
    weighted = weights[:, None] * distances
    size = int(mean.shape[0])
    scatter = place.empty((size, size))
    height = _STRIP if place.is_numpy else size
    for start in range(0, size, height):
        strip = slice(start, start + height)
        rows = weighted[:, strip].T @ distances
        for part in grams:
            rows += part.scatter[strip, :]
        scatter[strip, :] = rows
    squares = sum((part.squares for part in grams[1:]), start=first.squares)
    return GramMoments(mass, mean, scatter, first.n_outputs, n_rows, squares)


def sum_of_squares(parts: Sequence[FloatArray]) -> FloatArray:
    """Σ w (z − shift)² from the diagonals of products of parts of the rows."""
    return np.asarray(np.sum([np.diagonal(part)[:-1] for part in parts], axis=0))


def merge_products(parts: Sequence[FloatArray], n_workers: int = 1, worker: int = 0) -> None:
    """Add products Σ w [z − shift, 1]ᵀ[z − shift, 1] of parts of the rows, and centre them.

    The result overwrites the first part, except its last row and column. Each of ``n_workers``
    threads adds strips of its own, so that they can work in parallel.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.moments.moments import GramMoments, merge_products, sum_of_squares
    >>> rows = np.array([[1.0, 2.0, 1.0], [3.0, 4.0, 1.0], [8.0, 0.0, 1.0]])
    >>> products = [rows[:1].T @ rows[:1], rows[1:].T @ rows[1:]]
    >>> squares = sum_of_squares(products)
    >>> merge_products(products)
    >>> GramMoments.from_merged(products, np.zeros(2), 1, 3, squares).mean
    array([4., 2.])
    """
    mass, offset = _mass_and_offset(parts)
    for start in range(_STRIP * worker, len(offset), _STRIP * n_workers):
        strip = slice(start, min(start + _STRIP, len(offset)))
        rows = parts[0][strip, :-1]
        for part in parts[1:]:
            rows += part[strip, :-1]
        rows -= np.multiply.outer(mass * offset[strip], offset)


def _mass_and_offset(parts: Sequence[FloatArray]) -> tuple[float, FloatArray]:
    """Σw and the mean of z − shift, from the last rows of the products."""
    last = sum(part[-1] for part in parts)
    mass = float(last[-1])
    return mass, last[:-1] / mass if mass > 0 else np.zeros(len(last) - 1)


def compress(factor: FloatArray) -> FloatArray:
    """The triangular factor where there are more rows than columns, else the rows."""
    if factor.shape[0] <= factor.shape[1]:
        return factor
    array: Any = factor
    if not (place_of(array).is_numpy or is_torch_array(array) or is_cupy_array(array)):
        return place_of(array).xp.linalg.qr(array, mode="reduced")[1]
    # R alone: the function of the standard always computes Q too, which is half of the work.
    found = array_namespace(array, use_compat=False).linalg.qr(array, mode="r")
    return found[1] if isinstance(found, tuple) else found  # some return an empty Q beside it


def as_gram(moments: Moments) -> GramMoments:
    """The scatter matrix form of any moments."""
    if isinstance(moments, GramMoments):
        return moments
    centre = moments.mean
    about_mean = moments.factor_about(centre)
    return GramMoments(
        moments.weight,
        centre,
        about_mean.T @ about_mean,
        moments.n_outputs,
        moments.n_rows,
        place_of(centre).xp.sum(moments.factor[:, 1:] ** 2, axis=0),
    )


def same_form(one: Moments, other: Moments) -> tuple[Moments, Moments]:
    """Both moments in the scatter matrix form, unless they have the same form already."""
    if type(one) is type(other):
        return one, other
    return as_gram(one), as_gram(other)


def count_rows(cells: Sequence[Moments]) -> int:
    """Number of rows of positive weight in all cells."""
    return int(sum(cell.n_rows for cell in cells))
