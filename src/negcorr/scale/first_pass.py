"""The first pass: what the basis needs to know of the inputs, from one cheap look at all rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from negcorr._typing import FloatArray
from negcorr.rowhash import HashArray, content_hash
from negcorr.scale.chunks import Chunk

__all__ = ["InputSummary", "summarise_inputs"]

#: Rows that are kept for bases that are drawn from rows themselves.
SAMPLE_ROWS = 20_000


@dataclass(frozen=True, repr=False)
class InputSummary:
    """Moments of the inputs, and rows of theirs that content has chosen.

    Attributes
    ----------
    mean, std : ndarray of shape (d,)
        Weighted; the standard deviation has the divisor Σw.
    weight : float
        Σw.
    sample : ndarray of shape (k, d)
        The distinct rows of the smallest hashes.
    names : list of str or None
        Of the columns.
    """

    mean: FloatArray
    std: FloatArray
    weight: float
    sample: FloatArray
    names: list[str] | None

    def two_rows(self) -> tuple[Any, FloatArray]:
        """Two rows with half of the weight each, and the moments of all.

        Means, standard deviations and the mean squared distance between rows are the same, so that
        a basis that depends on nothing else comes out as it would from all rows.
        """
        rows = np.stack([self.mean - self.std, self.mean + self.std])
        return self._named(rows), np.full(2, self.weight / 2.0)

    def sample_rows(self) -> Any:
        """The sample, with names where there are some."""
        return self._named(self.sample)

    def _named(self, rows: FloatArray) -> Any:
        if self.names is None:
            return rows
        import pandas

        return pandas.DataFrame(rows, columns=self.names)


def summarise_inputs(chunks: Iterable[Chunk]) -> InputSummary:
    """Look at all rows once.

    Parameters
    ----------
    chunks : iterable of Chunk
        With numbers as inputs.
    """
    scaler = StandardScaler()
    sample = np.empty((0, 0))
    keys: HashArray = np.empty(0, dtype=np.uint64)
    weight = 0.0
    names: list[str] | None = None
    for chunk in chunks:
        try:
            rows = np.asarray(chunk.X, dtype=np.float64)
            scaler.partial_fit(rows, sample_weight=chunk.weight)
        except (ValueError, TypeError) as error:
            raise chunk.failed(error) from error
        if hasattr(chunk.X, "columns"):
            names = [str(name) for name in chunk.X.columns]
        weight += float(len(rows) if chunk.weight is None else np.sum(chunk.weight))
        both = rows if not len(keys) else np.concatenate([sample, rows])
        all_keys = np.concatenate([keys, content_hash(rows)])
        keys, first = np.unique(all_keys, return_index=True)
        keys, first = keys[:SAMPLE_ROWS], first[:SAMPLE_ROWS]
        sample = both[first]
    if not len(keys):
        raise ValueError("there are no rows.")
    return InputSummary(
        np.asarray(scaler.mean_), np.sqrt(np.asarray(scaler.var_)), weight, sample, names
    )
