"""The first pass: what the basis needs to know of the inputs, from one cheap look at all rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from negcorr._common.arrays import dispatched, place_of, rows_at, to_host
from negcorr._common.types import FloatArray, IntArray
from negcorr._common.validation import check_weight, float_types, target_columns
from negcorr.rows.keys import HashArray, content_hash
from negcorr.scale.chunks import Chunk
from negcorr.selection.automatic_basis import open_questions

__all__ = [
    "InputSummary",
    "draw_from",
    "merge_summaries",
    "needs_sample",
    "needs_targets",
    "summarise_inputs",
    "summary_of",
]

#: Rows that are kept for bases that are drawn from rows themselves.
SAMPLE_ROWS = 20_000

#: Bases that depend on the inputs by their means, standard deviations and mean squared distance.
BY_MOMENTS = ("fourier", "orthogonal")

#: Rows whose squares are held at a time.
STRIP = 4096


@dataclass(frozen=True, repr=False)
class InputSummary:
    """Moments of the inputs, and rows of theirs that content has chosen.

    Attributes
    ----------
    weight : float
        Σw.
    mean, square : ndarray of shape (d,)
        Weighted means, and Σw(x − mean)².
    sample : ndarray of shape (k, d)
        The distinct rows of the smallest hashes.
    keys : ndarray of shape (k,)
        Their hashes, ascending.
    names : tuple of str or None
        Of the columns.
    here : array or None
        No rows of the inputs where those are on a device: the basis belongs there too.
    targets : ndarray of shape (k, outputs) or None
        Of the sample, where the basis is chosen by them.
    """

    weight: float
    mean: FloatArray
    square: FloatArray
    sample: FloatArray
    keys: HashArray
    names: tuple[str, ...] | None
    here: Any = None
    targets: FloatArray | None = None

    def __sizeof__(self) -> int:
        """Bytes of its arrays, for a scheduler that moves it about."""
        arrays = (self.mean, self.square, self.sample, self.keys, self.targets)
        return sum(array.nbytes for array in arrays if array is not None)

    def merged(self, other: InputSummary) -> InputSummary:
        """That of the rows of both."""
        if len(self.mean) != len(other.mean):
            raise ValueError(f"there are {len(other.mean)} inputs, and were {len(self.mean)}.")
        if None not in (self.names, other.names) and self.names != other.names:
            raise ValueError(
                f"columns are {list(other.names or ())}, and were {list(self.names or ())} before: "
                "names and their order must be the same in all chunks."
            )
        weight = self.weight + other.weight
        apart = other.mean - self.mean
        share = other.weight / weight
        targets = None
        if self.targets is not None and other.targets is not None:
            targets = np.concatenate([self.targets, other.targets])
        keys, first = _distinct(np.concatenate([self.keys, other.keys]), targets)
        targets = None if targets is None else targets[first]
        return InputSummary(
            weight,
            self.mean + share * apart,
            self.square + other.square + self.weight * share * apart**2,
            np.concatenate([self.sample, other.sample])[first],
            keys,
            self.names if other.names is None else other.names,
            self.here,
            targets,
        )

    def two_rows(self) -> tuple[Any, FloatArray]:
        """Two rows with half of the weight each, and the moments of all.

        Means, standard deviations and the mean squared distance between rows are the same, so that
        a basis that depends on nothing else comes out as it would from all rows.
        """
        std = np.sqrt(self.square / self.weight)
        return self._named(np.stack([self.mean - std, self.mean + std])), np.full(
            2, self.weight / 2.0
        )

    def sample_rows(self) -> Any:
        """The sample, with names where there are some."""
        return self._named(self.sample)

    def _named(self, rows: FloatArray) -> Any:
        if self.here is not None:
            return place_of(self.here).floats(rows)
        if self.names is None:
            return rows
        import pandas

        return pandas.DataFrame(rows, columns=list(self.names))


def summary_of(X: Any, weight: Any = None, sampled: bool = True, y: Any = None) -> InputSummary:
    """That of rows in memory, which must be numbers.

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
            "model.draw(X, y=y), from rows that are at hand."
        )
    if not dispatched(X).is_numpy:
        return _summary_on_device(X, weight, sampled, y)
    try:
        rows = check_array(X, dtype=np.float64, input_name="X")
    except (TypeError, ValueError) as error:
        if hasattr(X, "columns") and "convert" in str(error):
            raise ValueError(
                f"{error}; the first pass takes numbers. For a basis that takes other columns, "
                "draw it before, by model.draw(X, y=y), from rows that are at hand."
            ) from error
        raise
    mass = check_weight(weight, rows)
    total = float(len(rows)) if mass is None else float(mass.sum())
    mean = np.average(rows, axis=0) if mass is None else mass @ rows / total
    # A column that does not vary has no square, whatever rounding makes of its mean.
    constant = np.ptp(rows, axis=0) == 0
    mean = np.where(constant, rows[0], mean)
    target = None if y is None else target_columns(y, rows)
    chosen, keys = np.empty(0, np.intp), np.empty(0, np.uint64)
    if sampled:
        chosen, keys = _sample(rows, mass, target)
    columns: list[Any] = list(X.columns) if hasattr(X, "columns") else [None]
    # As in scikit-learn: names are names only if all are strings.
    names = tuple(columns) if all(isinstance(name, str) for name in columns) else None
    return InputSummary(
        total,
        mean,
        _squares(rows, mean, mass),
        rows[chosen],
        keys,
        names,
        targets=None if target is None else target[chosen],
    )


def _summary_on_device(X: Any, weight: Any, sampled: bool, y: Any) -> InputSummary:
    """The same of rows on a device, of which no more than the sample comes home."""
    place = place_of(X)
    xp = place.xp
    rows = place.floats(check_array(X, dtype=float_types(place), input_name="X"))
    mass = check_weight(weight, rows)
    share = place.ones((rows.shape[0],)) if mass is None else mass
    total = float(xp.sum(share))
    constant = xp.max(rows, axis=0) == xp.min(rows, axis=0)
    mean = xp.where(constant, rows[0, :], share @ rows / total)
    square = share @ (rows - mean) ** 2
    target = None if y is None else target_columns(y, rows)
    chosen, keys = np.empty(0, np.intp), np.empty(0, np.uint64)
    if sampled:
        chosen, keys = _sample(rows, None if mass is None else to_host(mass), target)
    return InputSummary(
        total,
        to_host(mean),
        to_host(square),
        to_host(rows_at(rows, chosen)),
        keys,
        None,
        rows[:0, :],
        None if target is None else target[chosen],
    )


def _squares(rows: FloatArray, mean: FloatArray, mass: FloatArray | None) -> FloatArray:
    """Σw(x − mean)², strip by strip: the squares of all rows would be another copy of them."""
    square = np.zeros(len(mean))
    for start in range(0, len(rows), STRIP):
        strip = slice(start, start + STRIP)
        part = (rows[strip] - mean) ** 2
        square += part.sum(axis=0) if mass is None else mass[strip] @ part
    return square


def _sample(
    rows: FloatArray, mass: FloatArray | None, target: FloatArray | None
) -> tuple[IntArray, HashArray]:
    """The distinct rows of the smallest hashes by number, and these."""
    used = np.arange(rows.shape[0]) if mass is None else np.flatnonzero(mass > 0)
    keys, first = _distinct(content_hash(rows)[used], None if target is None else target[used])
    return used[first], keys


def _distinct(keys: HashArray, target: FloatArray | None) -> tuple[HashArray, IntArray]:
    """The smallest keys, and where each stands first; of equal ones targets decide, not order."""
    order = np.argsort(keys, kind="stable")
    if target is not None:
        order = np.lexsort((content_hash(target), keys))
    found, first = np.unique(keys[order], return_index=True)
    return found[:SAMPLE_ROWS], order[first[:SAMPLE_ROWS]]


def summarise_inputs(
    chunks: Iterable[Chunk], sampled: bool = True, targets: bool = False
) -> InputSummary:
    """Look at all rows once.

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
        try:
            part = summary_of(chunk.X, chunk.weight, sampled, chunk.y if targets else None)
            found = part if found is None else found.merged(part)
        except (ValueError, TypeError) as error:
            raise chunk.failed(error) from error
    if found is None:
        raise ValueError("there are no rows.")
    return found


def merge_summaries(parts: list[InputSummary]) -> InputSummary:
    """That of all parts."""
    return reduce(InputSummary.merged, parts)


def needs_sample(model: Any) -> bool:
    """Whether the basis of a model is drawn from rows, and not from their moments."""
    by_moments = isinstance(model.basis, str) and model.basis in BY_MOMENTS
    plain = model.kernel in ("auto", "gaussian") and model.inputs in ("auto", "standard", "none")
    return not (by_moments and plain and open_questions(model) is None)


def needs_targets(model: Any) -> bool:
    """Whether the basis of a model is chosen by targets."""
    return open_questions(model) is not None


def draw_from(model: Any, summary: InputSummary) -> None:
    """Draw the basis of a model from a summary of its inputs."""
    if not needs_sample(model):
        rows, weight = summary.two_rows()
        model.draw(rows, sample_weight=weight)
    else:
        model.draw(summary.sample_rows(), y=summary.targets, n_rows=summary.weight)
