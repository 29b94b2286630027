"""InputCells: how the cells of X, as the user has them, become the numbers and keys of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr.columns.cells import as_frame, has_names
from negcorr.columns.counts import CellCounts
from negcorr.columns.encoding import Encoding, learn_encoding
from negcorr.columns.kinds import input_columns
from negcorr.rows.keys import row_keys, smallest_counted
from negcorr.rows.rows import Rows, rows_of_table, weight_of
from negcorr.rows.sample import SAMPLE_ROWS, RowSample

__all__ = ["FirstLook", "InputCells", "enter"]


@dataclass(frozen=True)
class InputCells:
    """How the cells of X become the numbers and keys of rows, the same for all rows of a model.

    Attributes
    ----------
    smallest : ndarray of shape (d,)
        What inputs must be at least, in absolute value, for their keys not to be those of zero.
    encoding : Encoding or None
        Of a table with columns of several kinds; None for arrays of numbers, and for tables that
        are handed to a user's transformers as they are.
    named : bool
        Whether columns had names. Without them, here or in new rows, columns go by their positions.
    """

    smallest: FloatArray
    encoding: Encoding | None = None
    named: bool = True

    def rows(self, X: Table, y: Any, weight: FloatArray | None) -> Rows:
        """Rows of a fit, with their keys.

        Parameters
        ----------
        X : table of shape (n, d)
            Validated: a data frame where there is an encoding.
        y : array of shape (n, outputs)
        weight : array of shape (n,) or None
        """
        if self.encoding is None:
            return Rows(X, y, weight, row_keys(X, y, self.smallest))
        typed = self._typed(X, self.encoding)
        keys, marks = row_keys(typed, y, self.smallest), self.encoding.as_they_are
        return Rows(self.encoding.encode(typed), y, weight, keys, marks if marks.any() else None)

    def numbers(self, X: Table) -> Table:
        """The inputs of a prediction."""
        if self.encoding is None:
            return X
        return self.encoding.encode(self._typed(X, self.encoding))

    def _typed(self, X: Table, encoding: Encoding) -> list[AnyArray]:
        frame = as_frame(X)
        if not (self.named and has_names(X)):
            frame = frame.set_axis([column.name for column in encoding.schema.columns], axis=1)
        return encoding.typed(frame)


@dataclass(frozen=True)
class FirstLook:
    """What is known of rows before anything is learnt from them; parts of a table are merged.

    Attributes
    ----------
    sample : RowSample
        Of the rows as they were given.
    counts : CellCounts or None
        Of a table with columns of several kinds.
    named : bool
        Whether these columns have names.
    """

    sample: RowSample
    counts: CellCounts | None = None
    named: bool = True

    @classmethod
    def at(cls, X: Table, y: Any, weight: FloatArray | None, *, encoded: bool) -> FirstLook:
        """A first look at rows.

        Parameters
        ----------
        X : table of shape (n, d)
            Validated.
        y : array of shape (n, outputs)
        weight : array of shape (n,) or None
        encoded : bool
            Whether X has columns of several kinds that are to be encoded.
        """
        if not encoded:
            return cls(RowSample.of(Rows(X, y, weight, row_keys(X, y))))
        frame = as_frame(X)
        rows = Rows(frame, y, weight, row_keys(frame, y))
        counts = CellCounts.of(frame, weight_of(rows))
        return cls(RowSample.of(rows), counts, has_names(X))

    def merged(self, other: FirstLook) -> FirstLook:
        """A first look at the rows of both."""
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = self.counts.merged(other.counts)
        return FirstLook(self.sample.merged(other.sample), counts, self.named)

    def learn(self) -> tuple[InputCells, Rows]:
        """How cells become numbers, and the rows of the sample as the basis sees them."""
        given = self.sample.rows
        if self.counts is None:
            cells = InputCells(smallest_counted(given.X))
        else:
            schema = input_columns(given.X, self.counts, named=self.named)
            encoding = learn_encoding(given.X, schema, self.counts, weight_of(given))
            cells = InputCells(smallest_counted(encoding.typed(given.X)), encoding, self.named)
        return cells, cells.rows(given.X, given.y, given.weight)


def enter(
    X: Table, y: Any, weight: FloatArray | None, *, encoded: bool
) -> tuple[InputCells, Rows, Rows]:
    """Rows in memory: how their cells become numbers, all rows, and those to draw features from.

    Parameters
    ----------
    X : table of shape (n, d)
        Validated.
    y : array of shape (n, outputs)
    weight : array of shape (n,) or None
    encoded : bool
        Whether X has columns of several kinds that are to be encoded.
    """
    if not encoded and X.shape[0] <= SAMPLE_ROWS:
        used = X
        if weight is not None:
            used = rows_of_table(X, np.flatnonzero(to_host(weight) > 0))
        cells = InputCells(smallest_counted(used))
        rows = cells.rows(X, y, weight)
        return cells, rows, rows.of_weight()
    look = FirstLook.at(X, y, weight, encoded=encoded)
    cells, sample = look.learn()
    rows = cells.rows(X, y, weight)
    return cells, rows, rows.of_weight() if look.sample.n_rows <= SAMPLE_ROWS else sample
