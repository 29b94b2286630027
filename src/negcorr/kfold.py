"""Exact K-fold cross-validation from moments, without a refit on rows.

The training rows of a split have the sum of the other folds' moments, and the held-out
squared error is a quadratic form in the held-out moments. Adding is safer than subtracting
the held-out fold from the total. The basis stays fixed over the folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from negcorr._typing import FloatArray, IntArray
from negcorr.factorise import factorise
from negcorr.folds import Folds
from negcorr.moments import Moments, total
from negcorr.spectrum import Spectrum

__all__ = ["KFold"]

#: Coefficients are formed for this many gaps at a time, to bound memory.
GAPS_AT_ONCE = 64


@dataclass(frozen=True)
class KFold:
    """One spectrum of training rows and the held-out moments for every split.

    Attributes
    ----------
    spectra : tuple of Spectrum
        Of the training rows of each split.
    held_out : tuple of Moments
        Of the test rows of each split.
    numbers : tuple of int
        Position of each split in ``folds.splits``; splits without weight are left out.
    """

    spectra: tuple[Spectrum, ...]
    held_out: tuple[Moments, ...]
    numbers: tuple[int, ...]

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
    ) -> KFold:
        """Factorise the training moments of every split.

        Parameters
        ----------
        cells : sequence of Moments
            Moments of ``folds.cells``.
        folds : Folds
            How splits are made of cells.
        starts : ndarray of shape (M + 1,)
            Where each member's block begins.
        alpha, fit_intercept, route
            As in :func:`negcorr.factorise.factorise`.
        """
        spectra, held_out, numbers = [], [], []
        for number, (train, test) in enumerate(folds.splits):
            training, testing = (total([cells[i] for i in ids]) for ids in (train, test))
            if training.weight <= 0 or testing.weight <= 0:
                continue
            numbers.append(number)
            held_out.append(testing)
            spectra.append(
                factorise(training, starts, alpha=alpha, fit_intercept=fit_intercept, route=route)
            )
        if not spectra or (len(spectra) < 2 and len(folds.splits) > 1):
            raise ValueError(
                f"only {len(spectra)} of {len(folds.splits)} folds can be used: the others hold "
                "no row of positive weight. Use fewer folds (cv), or criterion='sure' or 'gcv'."
            )
        return cls(tuple(spectra), tuple(held_out), tuple(numbers))

    def error(self, gaps: FloatArray) -> FloatArray:
        """Mean squared error on held-out rows, shape (gaps, outputs)."""
        sums = np.zeros((len(gaps), self.spectra[0].n_outputs))
        for spectrum, moments in zip(self.spectra, self.held_out, strict=True):
            for start in range(0, len(gaps), GAPS_AT_ONCE):
                chunk = slice(start, start + GAPS_AT_ONCE)
                coef = spectrum.coef_path(gaps[chunk])
                sums[chunk] += moments.squared_error(coef, spectrum.centre)
        return sums / sum(moments.weight for moments in self.held_out)
