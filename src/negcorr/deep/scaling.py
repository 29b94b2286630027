"""Inputs and targets to mean 0 and standard deviation 1, and predictions back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr._common.types import FloatArray

__all__ = ["Scaling"]


@dataclass(frozen=True, repr=False)
class Scaling:
    """A centre and a scale for each column.

    Attributes
    ----------
    centre, scale : ndarray of shape (columns,)
        Columns that do not vary have scale 1.
    """

    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, columns: FloatArray) -> Scaling:
        """That of the rows of an array of shape (n, columns)."""
        # By the range first: the standard deviation of a constant is its rounding error.
        # And by itself: that of the smallest numbers is 0.
        spread = columns.std(axis=0)
        varies = (np.ptp(columns, axis=0) > 0) & (spread > 0)
        centre = np.where(varies, columns.mean(axis=0), columns[0])
        return cls(centre, np.where(varies, spread, 1.0))

    @classmethod
    def none(cls, n_columns: int) -> Scaling:
        """Columns as they are."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def apply(self, columns: FloatArray) -> FloatArray:
        """Standardised columns."""
        return np.asarray((columns - self.centre) / self.scale)

    def undo(self, columns: FloatArray) -> FloatArray:
        """Columns in their own units again; any axes may come before that of columns."""
        return np.asarray(columns * self.scale + self.centre)
