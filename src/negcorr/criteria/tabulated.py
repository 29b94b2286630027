"""Held-out errors as tables, for paths that no longer have what these errors are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray
from negcorr.criteria.kfold import KFold
from negcorr.criteria.leave_one_out import LeaveOneOut
from negcorr.spectrum.gap import lattice

__all__ = ["ErrorTable", "error_tables", "sampled_gaps"]

#: Every fifth point of the lattice is enough for a curve of which each mode moves over a decade.
STRIDE = 5


@dataclass(frozen=True)
class ErrorTable:
    """A criterion at some gaps, and nowhere else.

    Attributes
    ----------
    gaps : ndarray of shape (k,)
        Descending.
    values : ndarray of shape (k, outputs)
        The criterion there, exact.
    condition : float
        Worst condition of a block in the fits that it was made from.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.criteria.tabulated import ErrorTable
    >>> table = ErrorTable(np.array([1.0, 0.1]), np.array([[3.0], [2.0]]))
    >>> table.has(np.array([0.1])), table.has(np.array([0.2]))
    (True, False)
    """

    gaps: FloatArray
    values: FloatArray
    condition: float = 0.0

    def has(self, gaps: FloatArray) -> bool:
        """Whether all of these gaps are in the table."""
        return bool(np.isin(gaps, self.gaps).all())

    def at(self, gaps: FloatArray, name: str) -> FloatArray:
        """Values at gaps of the table, shape (gaps, outputs).

        Parameters
        ----------
        gaps : ndarray of shape (k,)
        name : str
            Of the criterion, for the error that other gaps are.
        """
        if not self.has(gaps):
            other = float(gaps[~np.isin(gaps, self.gaps)][0])
            raise ValueError(
                f"{name} at gap={other:.6g} is not known: this model was saved without the "
                f"moments of its folds, and has {name} at the {len(self.gaps)} gaps of "
                f"path_.tables[{name!r}] alone. Fit again, or save with keep='all'."
            )
        ascending = self.gaps[::-1]
        return np.asarray(self.values[::-1][np.searchsorted(ascending, gaps)])


def error_tables(
    fits: KFold | None,
    loo: LeaveOneOut | None,
    known: FloatArray,
    more: FloatArray,
    found: FloatArray | None = None,
) -> dict[str, ErrorTable]:
    """Held-out errors of a path, each by its name.

    Parameters
    ----------
    fits : KFold or None
        Of every split.
    loo : LeaveOneOut or None
        Dear where there are many members: ``known`` gaps must do.
    known : ndarray of shape (k,)
        Gaps that the path was asked for, descending.
    more : ndarray
        Further gaps for K-fold.
    found : ndarray of shape (k, outputs), optional
        What a search has found by leave-one-out at ``known`` gaps.
    """
    tables = {}
    if fits is not None:
        where = np.unique(np.concatenate([known, more]))[::-1]
        tables["kfold"] = ErrorTable(where, to_host(fits.error(where)), fits.condition)
    if loo is not None:
        tables["loo"] = ErrorTable(known, loo.error(known) if found is None else found)
    return tables


def sampled_gaps(smallest: float, chosen: FloatArray) -> FloatArray:
    """Gaps that a held-out error is tabulated at, descending, the chosen ones among them.

    Parameters
    ----------
    smallest : float
        Where the table ends.
    chosen : ndarray of shape (outputs,)
        Gaps that were chosen; 0 stands beyond every logarithm, and is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.criteria.tabulated import sampled_gaps
    >>> sampled_gaps(0.5, np.array([0.7])).round(3)
    array([1.   , 0.794, 0.7  , 0.631, 0.501])
    """
    return np.unique(np.concatenate([lattice(smallest)[::STRIDE], chosen[chosen > 0]]))[::-1]
