"""The first pass: the moments and the sample of inputs that a basis needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from negcorr._common.arrays import dispatched, place_of, rows_at, to_host
from negcorr._common.types import BoolArray, FloatArray
from negcorr._common.validation import check_weight, float_types, target_columns
from negcorr.bases import AutoBasis, FourierFeatures
from negcorr.bases.named import as_basis
from negcorr.rows.keys import HashArray, content_hash
from negcorr.rows.smallest_keys import SmallestKeys, smallest_keys
from negcorr.scale.chunks import Chunk

__all__ = [
    "InputSummary",
    "draw_from",
    "drop_fit",
    "needs_sample",
    "needs_targets",
    "summarise_inputs",
    "summary_of",
]

#: Rows that are kept for bases that are drawn from rows themselves.
SAMPLE_ROWS = 20_000

#: Rows whose squares are held at a time.
STRIP = 4096


@dataclass(frozen=True, repr=False)
class InputSummary:
    """Moments of the inputs, and a sample of their rows that is chosen by content.

    Attributes
    ----------
    weight : float
        Σw.
    mean, square : ndarray of shape (d,)
        Weighted means, and Σw(x − mean)².
    sample : ndarray of shape (k, d)
        The different rows with the smallest hashes.
    keys : ndarray of shape (k,)
        Their hashes, ascending.
    names : tuple of str or None
        Of the columns.
    on_device : array or None
        An empty array where the inputs are, if that is on a device: the basis belongs there too.
    targets : ndarray of shape (k, outputs) or None
        Of the sample, where the basis is chosen by them.
    """

    weight: float
    mean: FloatArray
    square: FloatArray
    sample: FloatArray
    keys: HashArray
    names: tuple[str, ...] | None
    on_device: Any = None
    targets: FloatArray | None = None

    def __sizeof__(self) -> int:
        """Bytes of its arrays, for a scheduler that sends it to other workers."""
        arrays = (self.mean, self.square, self.sample, self.keys, self.targets)
        return sum(array.nbytes for array in arrays if array is not None)

    def merged(self, other: InputSummary) -> InputSummary:
        """The summary of the rows of both."""
        if len(self.mean) != len(other.mean):
            raise ValueError(f"there are {len(other.mean)} inputs, and were {len(self.mean)}.")
        if None not in (self.names, other.names) and self.names != other.names:
            raise ValueError(
                f"columns are {list(other.names or ())}, and were {list(self.names or ())} before: "
                "names and their order must be the same in all chunks."
            )
        weight = self.weight + other.weight
        difference = other.mean - self.mean
        share = other.weight / weight
        targets = None
        if self.targets is not None and other.targets is not None:
            targets = np.concatenate([self.targets, other.targets])
        chosen = _sampled(np.concatenate([self.keys, other.keys]), targets)
        return InputSummary(
            weight,
            self.mean + share * difference,
            self.square + other.square + self.weight * share * difference**2,
            np.concatenate([self.sample, other.sample])[chosen.index],
            chosen.keys,
            self.names if other.names is None else other.names,
            self.on_device,
            None if targets is None else targets[chosen.index],
        )

    def two_rows(self) -> tuple[Any, FloatArray]:
        """Two rows with half of the weight each, and the moments of all.

        Means, standard deviations and the mean squared distance between rows are the same, so that
        a basis that depends on nothing else comes out as it would from all rows.
        """
        std = np.sqrt(self.square / self.weight)
        rows = self._named(np.stack([self.mean - std, self.mean + std]))
        return rows, np.full(2, self.weight / 2.0)

    def sample_rows(self) -> Any:
        """The sample, with names where there are some."""
        return self._named(self.sample)

    def _named(self, rows: FloatArray) -> Any:
        if self.on_device is not None:
            return place_of(self.on_device).floats(rows)
        if self.names is None:
            return rows
        import pandas

        return pandas.DataFrame(rows, columns=list(self.names))


def summary_of(X: Any, weight: Any = None, sampled: bool = True, y: Any = None) -> InputSummary:
    """The summary of rows in memory, which must be numbers.

    Parameters
    ----------
    X : table of shape (n, d)
    weight : array of shape (n,), optional
        Frequencies.
    sampled : bool, default=True
        Whether rows are kept, for bases that are drawn from rows themselves.
    y : array of shape (n,) or (n, outputs), optional
        Targets that are kept with these rows, for bases that are chosen by them.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.scale.first_pass import summary_of
    >>> X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]])
    >>> both = summary_of(X[:1]).merged(summary_of(X[1:]))
    >>> both.mean, both.square
    (array([3., 4.]), array([ 8., 24.]))
    """
    if sp.issparse(X):
        raise ValueError(
            "X is sparse, which the first pass does not take: draw the basis before, by "
            "model.draw(X, y=y), from rows that are in memory."
        )
    place = dispatched(X)
    try:
        kinds = np.float64 if place.is_numpy else float_types(place)
        rows = place.floats(check_array(X, dtype=kinds, input_name="X"))
    except (TypeError, ValueError) as error:
        if hasattr(X, "columns") and "convert" in str(error):
            raise ValueError(
                f"{error}; the first pass takes numbers. For a basis that takes other columns, "
                "draw it before, by model.draw(X, y=y), from rows that are in memory."
            ) from error
        raise
    weights = check_weight(weight, rows)
    total, mean, square = (_moments if place.is_numpy else _moments_on_device)(rows, weights)
    target = None if y is None else target_columns(y, rows)
    chosen, keys = np.empty(0, np.intp), np.empty(0, np.uint64)
    if sampled:
        used = None if weights is None else to_host(weights) > 0
        found = _sampled(content_hash(rows), target, used)
        chosen, keys = found.index, found.keys
    columns: list[Any] = list(X.columns) if hasattr(X, "columns") else [None]
    # As in scikit-learn: names are names only if all are strings.
    names = tuple(columns) if all(isinstance(name, str) for name in columns) else None
    return InputSummary(
        total,
        mean,
        square,
        to_host(rows_at(rows, chosen)),
        keys,
        names,
        None if place.is_numpy else rows[:0, :],
        None if target is None else target[chosen],
    )


def _moments(rows: FloatArray, weight: FloatArray | None) -> tuple[float, FloatArray, FloatArray]:
    """Σw, weighted means and Σw(x − mean)²."""
    total = float(len(rows)) if weight is None else float(weight.sum())
    mean = np.average(rows, axis=0) if weight is None else weight @ rows / total
    # A column that does not vary has no square, whatever rounding makes of its mean.
    mean = np.where(np.ptp(rows, axis=0) == 0, rows[0], mean)
    square = np.zeros(len(mean))
    for start in range(0, len(rows), STRIP):  # the squares of all rows would be a copy of them
        strip = slice(start, start + STRIP)
        part = (rows[strip] - mean) ** 2
        square += part.sum(axis=0) if weight is None else weight[strip] @ part
    return total, mean, square


def _moments_on_device(rows: Any, weight: Any) -> tuple[float, FloatArray, FloatArray]:
    """The same of rows on a device."""
    place = place_of(rows)
    xp = place.xp
    weight = place.ones((rows.shape[0],)) if weight is None else weight
    total = float(xp.sum(weight))
    constant = xp.max(rows, axis=0) == xp.min(rows, axis=0)
    mean = xp.where(constant, rows[0, :], weight @ rows / total)
    return total, to_host(mean), to_host(weight @ (rows - mean) ** 2)


def _sampled(
    keys: HashArray, target: FloatArray | None, used: BoolArray | None = None
) -> SmallestKeys:
    """The sample: different rows; of equal rows the targets decide which is taken, not order."""
    ties = None if target is None else content_hash(target)
    return smallest_keys(keys, SAMPLE_ROWS, used=used, ties=ties, distinct=True)


def summarise_inputs(
    chunks: Iterable[Chunk], sampled: bool = True, targets: bool = False
) -> InputSummary:
    """The summary of all rows, which are read once.

    Parameters
    ----------
    chunks : iterable of Chunk
        With numbers as inputs.
    sampled : bool, default=True
        Whether rows are kept.
    targets : bool, default=False
        Whether their targets are kept too.
    """
    found: InputSummary | None = None
    for chunk in chunks:
        with chunk.placing_errors():
            part = summary_of(chunk.X, chunk.weight, sampled, chunk.y if targets else None)
            found = part if found is None else found.merged(part)
    if found is None:
        raise ValueError("there are no rows.")
    return found


def needs_sample(model: Any) -> bool:
    """Whether the basis of a model is drawn from rows, and not from their moments.

    Fourier features of the Gaussian kernel depend on the inputs by their means, standard deviations
    and mean squared distance alone.
    """
    basis = as_basis(model.basis, 0)
    plain = isinstance(basis, FourierFeatures) and basis.kernel == "rbf"
    return not (plain and basis.inputs in ("standard", "none"))


def needs_targets(model: Any) -> bool:
    """Whether the basis of a model is chosen by targets."""
    return isinstance(as_basis(model.basis, 0), AutoBasis)


def drop_fit(model: Any) -> None:
    """Remove what earlier fits, or :meth:`~negcorr.NCLRegressor.draw`, have left in a model."""
    for name in ("_state", "_drawn"):
        vars(model).pop(name, None)


def draw_from(model: Any, summary: InputSummary) -> None:
    """Draw the basis of a model from a summary of its inputs."""
    if needs_sample(model):
        model.draw(summary.sample_rows(), y=summary.targets, n_rows=summary.weight)
    else:
        rows, weight = summary.two_rows()
        model.draw(rows, sample_weight=weight)
