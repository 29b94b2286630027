"""Prediction intervals from out-of-fold residuals of a sample of the training rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from negcorr._common.arrays import is_device_array, place_of, to_host
from negcorr._common.quantiles import _weighted_rank
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.exceptions import CalibrationWarning
from negcorr.moments.scan import features_of
from negcorr.path.path import NCLPath
from negcorr.rows.folds import Folds
from negcorr.rows.keys import content_hash, hash_on_device
from negcorr.rows.rows import Rows

__all__ = ["CalibrationRows", "Residuals", "calibration_rows", "out_of_fold_residuals"]


#: Rows kept for calibration: enough for a coverage that is right to a third of a percent.
MAX_CALIBRATION_ROWS = 4096


@dataclass(frozen=True)
class CalibrationRows:
    """Training rows kept so that intervals can follow λ without a refit.

    Attributes
    ----------
    rows : Rows
        At most 4096 rows, chosen by content.
    split : ndarray of shape (k,)
        The split in which each row is held out.
    """

    rows: Rows
    split: IntArray


@dataclass(frozen=True)
class Residuals:
    """Out-of-fold residuals at one λ.

    Attributes
    ----------
    values : ndarray of shape (k, outputs)
        y − F(x) with F fitted without the row's fold.
    weight : ndarray of shape (k,)
        Frequencies.
    """

    values: FloatArray
    weight: FloatArray

    def quantiles(self, coverage: float) -> FloatArray:
        """Residuals between which a new one falls with the given probability.

        Parameters
        ----------
        coverage : float
            In (0, 1).

        Returns
        -------
        ndarray of shape (2, outputs)
            Lower and upper. Both ranks count the new observation as one of n + 1, as in
            conformal prediction, so few residuals give wider intervals.
        """
        mass = float(self.weight.sum())
        tail = (1.0 - coverage) / 2.0 * (mass + 1.0) / mass
        if tail * mass < 1.0:
            warnings.warn(
                f"coverage={coverage!r} needs more than the {mass:.4g} out-of-fold residuals there "
                f"are; the interval spans all of them, which covers about "
                f"{max(0.0, (mass - 1) / (mass + 1)):.1%}.",
                CalibrationWarning,
                stacklevel=3,
            )
        return np.stack(
            [
                np.array([_weighted_rank(v, self.weight, tail) for v in self.values.T]),
                -np.array([_weighted_rank(-v, self.weight, tail) for v in self.values.T]),
            ]
        )


def calibration_rows(rows: Rows, folds: Folds) -> CalibrationRows | None:
    """Choose the rows to keep; None where there are no folds.

    Parameters
    ----------
    rows : Rows
        Training rows. Where they are too many, a hash of (x, y) chooses: their order would not
        do, since it keeps rows with the same x together.
    folds : Folds
        Splits over the same rows.
    """
    if not folds.splits:
        return None
    split = folds.held_out_in(rows.n_rows)
    counts = split >= 0 if rows.weight is None else (split >= 0) & (to_host(rows.weight) > 0)
    chosen = np.flatnonzero(counts)
    if len(chosen) > MAX_CALIBRATION_ROWS:
        chosen = np.sort(_smallest(rows, chosen))
    return CalibrationRows(rows.take(chosen), split[chosen])


def _smallest(rows: Rows, chosen: IntArray) -> IntArray:
    """Of some rows those that are kept, by their hashes."""
    if not is_device_array(rows.X):
        by_content = np.argsort(content_hash(rows.X, rows.y)[chosen], kind="stable")
        return np.asarray(chosen[by_content[:MAX_CALIBRATION_ROWS]])
    place = place_of(rows.X)
    index = place.integers(chosen)
    keys = place.xp.take(hash_on_device(rows.X, rows.y), index)
    first = place.xp.argsort(keys, stable=True)[:MAX_CALIBRATION_ROWS]
    return to_host(place.xp.take(index, first))


def out_of_fold_residuals(calibration: CalibrationRows, path: NCLPath, basis: Basis) -> Residuals:
    """Residuals of the calibration rows at the path's chosen λ, each by its fold's fit."""
    cross_validation = path.cross_validation
    rows = calibration.rows
    values = np.full(rows.y.shape, np.nan)
    for number, fit in zip(cross_validation.numbers, cross_validation.fits, strict=True):
        held_out = np.flatnonzero(calibration.split == number)
        if len(held_out) == 0:
            continue
        part = rows.take(held_out)
        coef = fit.coef(gap=path.chosen_gap)
        fitted = features_of(part, basis) @ coef.T + fit.intercept(coef)
        values[held_out] = to_host(part.y - fitted)
    weight = np.ones(rows.n_rows) if rows.weight is None else to_host(rows.weight)
    used = np.isfinite(values).all(axis=1) & (weight > 0)
    return Residuals(values[used], weight[used])
