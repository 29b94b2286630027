"""Exact K-fold cross-validation from moments, without another pass over the rows.

The moments of a split's training rows are the sum of the other folds' moments; this is more
accurate than the total minus the held-out fold. The held-out squared error is a quadratic form in
the held-out moments. The basis is the same in all folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.lapack import EPS
from negcorr._common.threads import our_own_threads, spread
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.bases.nested import Nesting
from negcorr.moments.moments import Moments, total
from negcorr.moments.scan import features_of
from negcorr.rows.folds import Folds
from negcorr.rows.keys import on_host
from negcorr.rows.rows import Rows, weight_of
from negcorr.rows.smallest_keys import smallest_keys
from negcorr.spectrum.curve_table import CurveTable
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.spectrum import Spectrum

__all__ = ["MOST_KEPT_ROWS", "HeldOutPredictions", "KFold", "KeptRows"]

#: Rows kept for intervals: enough for a coverage that is accurate to a third of a percent.
MOST_KEPT_ROWS = 4096

#: Rows whose features are held at a time.
ROWS_AT_ONCE = 512

#: Coefficients are formed for this many gaps at a time, to bound memory.
GAPS_AT_ONCE = 64


@dataclass(frozen=True)
class KFold:
    """The spectrum of the training rows and the held-out moments of every split.

    Attributes
    ----------
    fits : tuple of Spectrum
        Of the training rows of each split.
    held_out : tuple of Moments
        Of the test rows of each split.
    numbers : tuple of int
        Position of each split in ``folds.splits``; splits without weight are left out.
    condition : float
        Worst condition of a block in any fit.
    """

    fits: tuple[Spectrum, ...]
    held_out: tuple[Moments, ...]
    numbers: tuple[int, ...]
    condition: float = 1.0

    @classmethod
    def from_cells(
        cls,
        cells: Sequence[Moments],
        folds: Folds,
        starts: IntArray,
        *,
        alpha: float,
        fit_intercept: bool,
        route: Literal["gram", "qr"],
        nesting: Nesting | None = None,
        terms: FloatArray | None = None,
    ) -> KFold:
        """Factorise the training moments of every split.

        Parameters
        ----------
        cells : sequence of Moments
            Moments of ``folds.cells``.
        folds : Folds
            Which cells train and test each split.
        starts : ndarray of shape (M + 1,)
            Where each member's block begins.
        alpha, fit_intercept, route, nesting, terms
            As in :func:`negcorr.spectrum.factorise.factorise`.
        """
        used = [cell.weight > 0 for cell in cells]
        numbers = [
            number
            for number, (train, test) in enumerate(folds.splits)
            if any(used[i] for i in train) and any(used[i] for i in test)
        ]
        if not numbers or (len(numbers) < 2 and len(folds.splits) > 1):
            raise ValueError(
                f"only {len(numbers)} of {len(folds.splits)} folds can be used: the others hold "
                "no row of positive weight. Use fewer folds (cv), or criterion='sure' or 'gcv'."
            )

        # As within a fit, so that a copy that makes them again gets the same bits.
        with our_own_threads():
            held_out = [total([cells[i] for i in folds.splits[number][1]]) for number in numbers]
            fits = spread(
                lambda number: factorise(
                    total([cells[i] for i in folds.splits[number][0]]),
                    starts,
                    alpha=alpha,
                    fit_intercept=fit_intercept,
                    route=route,
                    nesting=nesting,
                    terms=terms,
                ),
                numbers,
                parallel=place_of(cells[0].mean).is_numpy,
            )
        worst = max(fit.whitening.condition for fit in fits)
        return cls(tuple(fits), tuple(held_out), tuple(numbers), worst)

    def product_error(self, gap: float) -> float:
        """Largest relative error of held-out predictions, where features came as products.

        A mode of share s = ρ/M + gap is known to eps·condition²/s. It leans by as much towards
        directions that training rows do not have and held-out rows may have, and its coefficient is
        1/√s times its component.
        """
        shares = [float(fit.rho[0]) / fit.n_members for fit in self.fits if fit.rho.shape[0]]
        return float(EPS * self.condition**2 / (min(shares, default=1.0) + gap) ** 1.5)

    def error(self, gaps: FloatArray) -> FloatArray:
        """Mean squared error on held-out rows, shape (gaps, outputs)."""
        place = self.fits[0].place
        if len(gaps) == 0:
            return place.empty((0, self.fits[0].n_outputs))
        tasks = [
            (fit, moments, gaps[start : start + GAPS_AT_ONCE])
            for start in range(0, len(gaps), GAPS_AT_ONCE)
            for fit, moments in zip(self.fits, self.held_out, strict=True)
        ]
        errors = spread(
            lambda task: task[1].squared_error(task[0].coef_path(task[2]), task[0].centre),
            tasks,
            parallel=place.is_numpy,
        )
        k = len(self.fits)
        by_chunk = [sum(errors[a + 1 : a + k], start=errors[a]) for a in range(0, len(errors), k)]
        return place.xp.concat(by_chunk) / sum(moments.weight for moments in self.held_out)


@dataclass(frozen=True)
class KeptRows:
    """Training rows for which held-out predictions are made.

    Attributes
    ----------
    rows : Rows
        At most 4096 rows, chosen by content.
    split : ndarray of shape (k,)
        The split in which each row is held out.
    """

    rows: Rows
    split: IntArray

    @classmethod
    def of(cls, rows: Rows, folds: Folds) -> KeptRows | None:
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
            keys = on_host(rows.keys.xy)
            chosen = np.sort(smallest_keys(keys, MOST_KEPT_ROWS, used=used).index)
        return cls(rows.take(chosen), split[chosen])

    def predictions(
        self, fits: KFold, basis: Basis, chosen_gap: FloatArray, gaps: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """F(x) of each row by the fit without its fold, NaN where no split holds it out.

        Parameters
        ----------
        fits : KFold
            Of the splits.
        basis : Basis
            Fitted.
        chosen_gap : ndarray of shape (outputs,)
            One gap for each output.
        gaps : ndarray of shape (m,)
            Further gaps, for all outputs.

        Returns
        -------
        chosen : ndarray of shape (k, outputs)
        others : ndarray of shape (m, k, outputs)
        """
        shape = (self.rows.n_rows, int(self.rows.y.shape[1]))
        chosen, others = np.full(shape, np.nan), np.full((len(gaps), *shape), np.nan)

        def predict(split: tuple[int, Spectrum]) -> None:
            number, fit = split
            coef, xp = fit.coef(gap=chosen_gap), fit.place.xp
            by_gap = fit.place.empty((0, fit.n_features))
            if len(gaps):
                by_gap = xp.permute_dims(fit.coef_path(gaps), (2, 0, 1))
                by_gap = xp.reshape(by_gap, (-1, fit.n_features))
            level = to_host(fit.centre[fit.n_features :])
            held_out = np.flatnonzero(self.split == number)
            for start in range(0, len(held_out), ROWS_AT_ONCE):
                block = held_out[start : start + ROWS_AT_ONCE]
                centred = features_of(self.rows.take(block), basis) - fit.centre[: fit.n_features]
                chosen[block] = to_host(centred @ coef.T) + level
                table = np.reshape(to_host(centred @ by_gap.T), (len(block), len(gaps), shape[1]))
                others[:, block] = table.transpose(1, 0, 2) + level

        parallel = fits.fits[0].place.is_numpy and basis.thread_safe
        with our_own_threads():
            spread(predict, list(zip(fits.numbers, fits.fits, strict=True)), parallel=parallel)
        return chosen, others


@dataclass(frozen=True)
class HeldOutPredictions:
    """Predictions of training rows by the fits without their folds, at every λ.

    Attributes
    ----------
    chosen_gap : ndarray of shape (outputs,)
    chosen : ndarray of shape (k, outputs)
        Residuals y − F(x) there, exact.
    weight : ndarray of shape (k,)
        Frequencies.
    y : ndarray of shape (k, outputs) or None
        Targets; None where only the chosen λ is known.
    table : CurveTable or None
        Predictions of shape (gaps, k, outputs).
    """

    chosen_gap: FloatArray
    chosen: FloatArray
    weight: FloatArray
    y: FloatArray | None = None
    table: CurveTable | None = None

    @classmethod
    def of(
        cls, kept: KeptRows, fits: KFold, basis: Basis, chosen_gap: FloatArray, gaps: FloatArray
    ) -> HeldOutPredictions:
        """The held-out predictions of kept rows, tabulated at some gaps besides the chosen ones."""
        y, weight = to_host(kept.rows.y), weight_of(kept.rows)
        chosen, others = kept.predictions(fits, basis, chosen_gap, gaps)
        used = np.isfinite(chosen).all(axis=1) & (weight > 0)
        y, weight, chosen = y[used], weight[used], chosen[used]
        if len(gaps) == 0:
            return cls(chosen_gap, y - chosen, weight)
        return cls(chosen_gap, y - chosen, weight, y, CurveTable(gaps, others[:, used]))

    def residuals(self, gaps: FloatArray) -> FloatArray:
        """Residuals at one gap for each output, of shape (k, outputs)."""
        if np.array_equal(gaps, self.chosen_gap):
            return self.chosen
        if self.table is None or self.y is None:
            raise ValueError(
                "intervals are known at the chosen lam alone, since compact() has dropped the "
                "others; use the model that compact() was called on."
            )
        outputs = np.arange(self.y.shape[1])
        return np.asarray(self.y - self.table.at(gaps)[outputs, :, outputs].T)
