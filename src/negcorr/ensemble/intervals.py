"""Prediction intervals from held-out residuals of a sample of the training rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.quantiles import weighted_quantile
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.exceptions import CalibrationWarning
from negcorr.moments.scan import features_of
from negcorr.path.path import NCLPath
from negcorr.rows.folds import Folds
from negcorr.rows.rows import Rows, content_hash, weight_of
from negcorr.rows.smallest import smallest_keys
from negcorr.spectrum.tabulated import CurveTable

__all__ = ["HeldOutPredictions", "KeptRows", "Residuals", "kept_rows"]

#: Rows kept for intervals: enough for a coverage that is right to a third of a percent.
MOST_KEPT_ROWS = 4096

#: Rows that stay in every model, to try arithmetic on.
SAMPLE_ROWS = 256

#: Rows whose features are held at a time.
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Residuals:
    """Residuals of rows that were held out, at one λ.

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
                f"coverage={coverage!r} needs more than the {mass:.4g} held-out residuals there "
                f"are; the interval spans all of them, which covers about "
                f"{max(0.0, (mass - 1) / (mass + 1)):.1%}.",
                CalibrationWarning,
                stacklevel=3,
            )
        return np.stack(
            [
                weighted_quantile(self.values, self.weight, tail, whole_rank=True),
                -weighted_quantile(-self.values, self.weight, tail, whole_rank=True),
            ]
        )


@dataclass(frozen=True)
class KeptRows:
    """Training rows whose held-out predictions give the intervals.

    Attributes
    ----------
    rows : Rows
        At most 4096 rows, chosen by content.
    split : ndarray of shape (k,)
        The split in which each row is held out.
    """

    rows: Rows
    split: IntArray

    @property
    def sample(self) -> Rows:
        """The first of these rows."""
        return self.rows.take(np.arange(min(SAMPLE_ROWS, self.rows.n_rows)))

    def predictions(
        self, path: NCLPath, basis: Basis, gaps: FloatArray | None = None
    ) -> FloatArray:
        """F(x) of each row by the fit without its fold, NaN where no split holds it out.

        Parameters
        ----------
        path : NCLPath
            With the moments of its folds.
        basis : Basis
            Fitted.
        gaps : ndarray of shape (m,), optional
            By default the chosen gap of every output.

        Returns
        -------
        ndarray of shape (k, outputs) or (m, k, outputs)
        """
        fits, n_outputs = path.cross_validation, int(self.rows.y.shape[1])
        n_gaps = 1 if gaps is None else len(gaps)
        values = np.full((n_gaps, self.rows.n_rows, n_outputs), np.nan)
        for number, fit in zip(fits.numbers, fits.fits, strict=True):
            xp = fit.place.xp
            if gaps is None:
                coef = fit.coef(gap=path.chosen_gap)[None, ...]
            else:
                coef = xp.permute_dims(fit.coef_path(gaps), (2, 0, 1))
            coef = xp.reshape(coef, (n_gaps * n_outputs, fit.n_features))
            held_out = np.flatnonzero(self.split == number)
            for start in range(0, len(held_out), ROWS_AT_ONCE):
                block = held_out[start : start + ROWS_AT_ONCE]
                features = features_of(self.rows.take(block), basis)
                centred = (features - fit.centre[: fit.n_features]) @ coef.T
                fitted = np.reshape(to_host(centred), (len(block), n_gaps, n_outputs))
                level = to_host(fit.centre[fit.n_features :])
                values[:, block] = (fitted + level).transpose(1, 0, 2)
        return values[0] if gaps is None else values

    def residuals(self, path: NCLPath, basis: Basis) -> Residuals:
        """Residuals at the path's chosen λ, of the rows that are held out somewhere."""
        values = to_host(self.rows.y) - self.predictions(path, basis)
        weight = weight_of(self.rows)
        used = np.isfinite(values).all(axis=1) & (weight > 0)
        return Residuals(values[used], weight[used])

    def tabulated(self, path: NCLPath, basis: Basis) -> HeldOutPredictions:
        """Predictions at the path's tabulated gaps, and residuals at its chosen λ."""
        gaps, exact = path.tabulated_gaps, self.residuals(path, basis)
        predictions = self.predictions(path, basis, gaps)
        used = np.isfinite(predictions).all(axis=(0, 2)) & (weight_of(self.rows) > 0)
        table = CurveTable(gaps, predictions[:, used])
        return HeldOutPredictions(exact, path.chosen_gap, to_host(self.rows.y)[used], table)


@dataclass(frozen=True)
class HeldOutPredictions:
    """Predictions of training rows by the fits without their folds, at every λ.

    Attributes
    ----------
    chosen : Residuals
        At the chosen gap, exact.
    chosen_gap : ndarray of shape (outputs,)
    y : ndarray of shape (k, outputs) or None
        Targets; None where only the chosen λ is known.
    table : CurveTable or None
        Predictions of shape (gaps, k, outputs).
    """

    chosen: Residuals
    chosen_gap: FloatArray
    y: FloatArray | None = None
    table: CurveTable | None = None

    def residuals(self, gaps: FloatArray) -> Residuals:
        """Residuals at one gap for each output."""
        if np.array_equal(gaps, self.chosen_gap):
            return self.chosen
        if self.table is None or self.y is None:
            raise ValueError(
                "intervals are known at the chosen lam alone, since compact() has dropped the "
                "others; use the model that compact() was called on."
            )
        outputs = np.arange(self.y.shape[1])
        fitted = self.table.at(gaps)[outputs, :, outputs].T
        return Residuals(self.y - fitted, self.chosen.weight)


def kept_rows(rows: Rows, folds: Folds) -> KeptRows | None:
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
    used = (split >= 0) & (weight_of(rows) > 0)
    chosen = np.flatnonzero(used)
    if len(chosen) > MOST_KEPT_ROWS:
        keys = content_hash(rows.X, rows.y)
        chosen = np.sort(smallest_keys(keys, MOST_KEPT_ROWS, used=used).index)
    return KeptRows(rows.take(chosen), split[chosen])
