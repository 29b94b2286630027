"""InputCells: how the cells of X, as the user has them, become the numbers and keys of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.quantiles import weighted_quantile
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import has_nan, refuse_missing
from negcorr.columns.cells import as_frame, given_cells, has_names
from negcorr.columns.counts import CellCounts
from negcorr.columns.encoding import Encoding, learn_encoding
from negcorr.columns.kinds import input_columns
from negcorr.rows.keys import row_keys, smallest_counted
from negcorr.rows.rows import Rows, rows_of_table, weight_of
from negcorr.rows.sample import RowSample, is_sampled

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
    medians : ndarray of shape (d,) or None
        What a missing number in new rows of an array counts as; NaN where the rows of the fit lack
        some, which a user's transformers take as they are. An encoding has its own.
    """

    smallest: FloatArray
    encoding: Encoding | None = None
    named: bool = True
    medians: FloatArray | None = None

    @classmethod
    def of_numbers(cls, X: Table, weight: FloatArray | None) -> InputCells:
        """Those of a table of which nothing is to be encoded, by rows of positive weight."""
        medians = None
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiu":
            if has_nan(X):
                medians = np.full(X.shape[1], np.nan)
            # The same, but that one of them knows weights, and takes ten times as long.
            elif weight is None or len(np.unique(weight)) == 1:
                medians = np.median(X, axis=0)
            else:
                medians = weighted_quantile(X, weight, 0.5)
        return cls(smallest_counted(X), medians=medians)

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
            if self.medians is None:
                refuse_missing(X)
                return X
            lacks = isinstance(X, np.ndarray) and has_nan(X) and not has_nan(self.medians)
            return np.where(np.isnan(X), self.medians.astype(X.dtype), X) if lacks else X
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
    def at(
        cls,
        X: Table,
        y: Any,
        weight: FloatArray | None,
        *,
        encoded: bool,
        before: FirstLook | None = None,
    ) -> FirstLook:
        """A first look at rows.

        Parameters
        ----------
        X : table of shape (n, d)
            Validated.
        y : array of shape (n, outputs)
        weight : array of shape (n,) or None
        encoded : bool
            Whether X has columns of several kinds that are to be encoded.
        before : FirstLook, optional
            What this one will be merged with: rows that could not stay are left out at once.
        """
        last = None if before is None else before.sample.last
        if not encoded:
            return cls(RowSample.of(Rows(X, y, weight, row_keys(X, y)), last=last))
        frame = as_frame(X)
        rows = Rows(frame, y, weight, row_keys(given_cells(frame), y))
        counts = CellCounts.of(frame, weight_of(rows))
        return cls(RowSample.of(rows, last=last), counts, has_names(X))

    def of_frame(self) -> FirstLook:
        """The same look at an array of numbers, as at a table with columns of several kinds."""
        if self.counts is not None:
            return self
        rows = self.sample.rows
        frame = as_frame(to_host(rows.X))
        counts = CellCounts(self.sample.weight, dict.fromkeys(frame.columns, 0.0), {})
        return FirstLook(replace(self.sample, rows=replace(rows, X=frame)), counts, named=False)

    def merged(self, other: FirstLook) -> FirstLook:
        """A first look at the rows of both; one of them may be at numbers of which none lacks."""
        one, two, counts = self, other, None
        if self.counts is not None or other.counts is not None:
            one, two = self.of_frame(), other.of_frame()
            if one.named != two.named:
                raise ValueError(
                    "X comes as arrays and as data frames; give all rows as tables of one kind."
                )
            assert one.counts is not None
            assert two.counts is not None
            counts = one.counts.merged(two.counts)
        _check_alike(one.sample.rows, two.sample.rows)
        return FirstLook(one.sample.merged(two.sample), counts, one.named)

    def learn(self) -> tuple[InputCells, Rows]:
        """How cells become numbers, and the rows of the sample as the basis sees them."""
        given = self.sample.rows
        if self.counts is None:
            cells = InputCells.of_numbers(given.X, given.weight)
        else:
            weight = weight_of(given)
            repeated = bool((weight > 1.0).any())
            schema = input_columns(given.X, self.counts, named=self.named, repeated=repeated)
            encoding = learn_encoding(given.X, schema, self.counts, weight)
            cells = InputCells(smallest_counted(encoding.typed(given.X)), encoding, self.named)
        return cells, cells.rows(given.X, given.y, given.weight)


def _check_alike(before: Rows, rows: Rows) -> None:
    """Raise unless both have the same inputs and as many targets."""
    for what, one, other in (("inputs", before.X, rows.X), ("targets", before.y, rows.y)):
        if one.shape[1] != other.shape[1]:
            raise ValueError(f"there are {other.shape[1]} {what}, and were {one.shape[1]}.")
    if hasattr(rows.X, "columns") and hasattr(before.X, "columns"):
        names, known = list(rows.X.columns), list(before.X.columns)
        if names != known:
            raise ValueError(f"columns are {names}, and were {known}; they must have one order.")


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
    if not encoded and not is_sampled(X.shape[0]):
        used, mass = X, weight
        if weight is not None:
            index = np.flatnonzero(to_host(weight) > 0)
            used, mass = rows_of_table(X, index), to_host(weight)[index]
        cells = InputCells.of_numbers(used, mass)
        rows = cells.rows(X, y, weight)
        return cells, rows, rows.of_weight()
    look = FirstLook.at(X, y, weight, encoded=encoded)
    cells, sample = look.learn()
    rows = cells.rows(X, y, weight)
    return cells, rows, rows.of_weight() if look.sample.is_whole else sample
