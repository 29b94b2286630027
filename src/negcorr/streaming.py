"""Rows that come in chunks: their moments add up, and λ is chosen when somebody asks.

Everything that NCL needs from the rows is in the moments of each fold (:mod:`negcorr.moments`).
Folds go by content, so that a row falls into the same one in whatever chunk it comes. Few rows of
all that were seen are kept, those of the smallest hashes, for intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._threads import our_own_threads
from negcorr._typing import IntArray
from negcorr.bases import Basis
from negcorr.folds import Folds
from negcorr.intervals import MAX_CALIBRATION_ROWS, CalibrationRows
from negcorr.moments import FactorMoments, GramMoments, Moments, difference, total
from negcorr.path import NCLPath
from negcorr.rowhash import HashArray, content_hash
from negcorr.scan import Rows, joined, scan_moments
from negcorr.settings import PathSettings
from negcorr.tuning import Form, Route, path_from_cells

__all__ = ["Stream", "check_streamable", "number_of_folds"]


@dataclass(frozen=True, repr=False)
class Stream:
    """What has been seen of the rows.

    Attributes
    ----------
    basis : Basis
        Fitted, the same for all chunks.
    cells : tuple of Moments
        Of the rows of each fold by content, empty ones among them.
    kept : Rows
        The rows of the smallest hashes, at most 4096.
    keys : ndarray of shape (k,)
        Their hashes.
    accurate : bool
        Whether moments stay factors, however many rows there are.
    single_output : bool
        Whether y was 1-D.
    """

    basis: Basis
    cells: tuple[Moments, ...]
    kept: Rows
    keys: HashArray
    accurate: bool
    single_output: bool

    @classmethod
    def of(
        cls, basis: Basis, rows: Rows, n_folds: int, *, accurate: bool, single_output: bool
    ) -> Stream:
        """The first chunk.

        Parameters
        ----------
        basis : Basis
            Fitted.
        rows : Rows
            Validated.
        n_folds : int
            Folds by content.
        accurate : bool
            For ``solver="qr"``.
        single_output : bool
            Whether y was 1-D.
        """
        keys = content_hash(rows.X, rows.y)
        cells = tuple(_scanned(rows, basis, keys, n_folds, "factor" if accurate else None))
        kept = _smallest(rows, keys)
        return cls(basis, cells, rows.take(kept), keys[kept], accurate, single_output)

    @classmethod
    def from_path(
        cls, basis: Basis, path: NCLPath, calibration: CalibrationRows | None, n_folds: int
    ) -> Stream:
        """The rows of a fit in memory, whose folds went by content.

        Parameters
        ----------
        basis : Basis
            Fitted.
        path : NCLPath
            With the moments of all folds.
        calibration : CalibrationRows or None
            Rows that the fit kept.
        n_folds : int
            Folds by content.
        """
        numbers = path.folds.numbers
        if numbers is None or calibration is None:
            raise ValueError(
                "the rows of the fit were not split by content, and others cannot be added to "
                "them: fit with cv an integer, and on rows that can be split."
            )
        nothing = _empty(path.cells[0])
        cells: list[Moments] = [nothing] * n_folds
        for number, cell in zip(numbers, path.cells, strict=True):
            cells[number] = cell
        keys = content_hash(calibration.rows.X, calibration.rows.y)
        factors = isinstance(nothing, FactorMoments)
        many = _n_rows(cells) > 2 * int(basis.block_starts_[-1])
        return cls(
            basis, tuple(cells), calibration.rows, keys, factors and many, path.single_output
        )

    def with_rows(self, rows: Rows) -> Stream:
        """All rows so far and these."""
        form: Form = "factor" if isinstance(self.cells[0], FactorMoments) else "gram"
        keys = content_hash(rows.X, rows.y)
        added = _scanned(rows, self.basis, keys, len(self.cells), form)
        return self._with(added, rows, keys)

    def merged(self, other: Stream) -> Stream:
        """The rows of both; their bases must be equal."""
        return self._with(other.cells, other.kept, other.keys)

    def without(self, other: Stream) -> Stream:
        """All rows but those of the other, which must be among them."""
        pairs = zip(self.cells, other.cells, strict=True)
        cells = tuple(difference(as_gram(one), as_gram(part)) for one, part in pairs)
        left = np.flatnonzero(~np.isin(self.keys, other.keys))
        return replace(
            self, cells=cells, kept=self.kept.take(left), keys=self.keys[left], accurate=False
        )

    def _with(self, cells: Any, rows: Rows, keys: HashArray) -> Stream:
        pairs = [_same_form(one, other) for one, other in zip(self.cells, cells, strict=True)]
        both = joined([self.kept, rows])
        all_keys = np.concatenate([self.keys, keys])
        kept = _smallest(both, all_keys)
        added = tuple(total(list(pair)) for pair in pairs)
        if not self.accurate and _n_rows(added) > 2 * int(self.basis.block_starts_[-1]):
            # As in memory: with more rows than that, products are the faster form.
            added = tuple(as_gram(cell) for cell in added)
        return replace(self, cells=added, kept=both.take(kept), keys=all_keys[kept])

    @property
    def n_rows(self) -> int:
        """Rows of positive weight so far."""
        return _n_rows(self.cells)

    @property
    def folds(self) -> Folds:
        """Which cells train and test each split; rows themselves are not known any more."""
        ids = range(len(self.cells))
        nothing = np.empty(0, dtype=np.intp)
        splits = tuple((tuple(j for j in ids if j != k), (k,)) for k in ids)
        return Folds(tuple(nothing for _ in ids), splits, tuple(ids))

    @property
    def calibration(self) -> CalibrationRows:
        """Rows that intervals are calibrated on."""
        split = (self.keys % np.uint64(len(self.cells))).astype(np.intp)
        return CalibrationRows(self.kept, split)

    def path(self, settings: PathSettings) -> NCLPath:
        """Every curve over λ, and the λ that the settings ask for.

        Parameters
        ----------
        settings : PathSettings
            Checked by :func:`check_streamable`.
        """
        form: Form = "factor" if isinstance(self.cells[0], FactorMoments) else "gram"
        accurate: Route = ("factor", "qr")
        routes: list[Route] = [accurate] if settings.solver == "qr" else [(form, "gram")]
        if form == "factor" and settings.solver == "auto":
            routes.append(accurate)
        with our_own_threads():
            return path_from_cells(
                lambda _: self.cells,
                routes,
                self.kept,
                self.basis,
                self.folds,
                settings,
                self.single_output,
            )


def check_streamable(settings: PathSettings) -> None:
    """Refuse what needs all rows at once."""
    if settings.gap is None and settings.criterion == "loo":
        raise ValueError(
            "criterion='loo' needs all rows at once, which a stream does not keep; allowed are "
            "'kfold', 'sure', 'gcv', 'aic', 'aicc', 'bic' and 'cp'."
        )
    if isinstance(settings.noise_variance, str) and settings.noise_variance == "difference":
        raise ValueError(
            "noise_variance='difference' needs all rows at once, which a stream does not keep; "
            "give a number, or leave it to 'paper'."
        )


def number_of_folds(cv: Any) -> int:
    """Folds by content from the parameter ``cv``; splitters need all rows at once."""
    if cv is None:
        return 5
    if isinstance(cv, (bool, np.bool_)) or not isinstance(cv, (int, np.integer)):
        raise ValueError(
            f"cv={cv!r} needs all rows at once; in a stream rows go into folds by content, and cv "
            "must be an integer."
        )
    if cv < 2:
        raise ValueError(f"cv={cv!r} must be at least 2.")
    return int(cv)


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
        (moments.factor[:, 1:] ** 2).sum(axis=0),
    )


def _empty(like: Moments) -> Moments:
    """Moments of no rows."""
    if isinstance(like, GramMoments):
        zero = np.zeros_like(like.mean)
        return GramMoments(0.0, zero, np.zeros_like(like.scatter), like.n_outputs, 0, zero)
    return FactorMoments(0.0, like.shift, np.empty((0, like.factor.shape[1])), like.n_outputs, 0)


def _same_form(one: Moments, other: Moments) -> tuple[Moments, Moments]:
    if type(one) is type(other):
        return one, other
    return as_gram(one), as_gram(other)


def _n_rows(cells: Any) -> int:
    return int(sum(cell.n_rows for cell in cells))


def _scanned(
    rows: Rows, basis: Basis, keys: HashArray, n_folds: int, form: Form | None
) -> list[Moments]:
    """Moments of the rows of every fold."""
    if form is None:
        form = "gram" if len(rows.y) > 2 * int(basis.block_starts_[-1]) else "factor"
    fold = keys % np.uint64(n_folds)
    groups: list[IntArray] = [np.flatnonzero(fold == k) for k in range(n_folds)]
    with our_own_threads():
        return scan_moments(rows, basis, groups, form)


def _smallest(rows: Rows, keys: HashArray) -> IntArray:
    """Numbers of the rows to keep, in their order: which they are does not depend on chunks."""
    used = np.arange(len(keys)) if rows.weight is None else np.flatnonzero(rows.weight > 0)
    if len(used) > MAX_CALIBRATION_ROWS:
        order = np.argsort(keys[used], kind="stable")
        used = np.sort(used[order[:MAX_CALIBRATION_ROWS]])
    return used
