"""Exact K-fold cross-validation from moments, without a refit on rows.

The training rows of a split have the sum of the other folds' moments, and the held-out
squared error is a quadratic form in the held-out moments. Adding is safer than subtracting
the held-out fold from the total. The basis stays fixed over the folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from negcorr._common.arrays import place_of
from negcorr._common.threads import our_own_threads, spread
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases.nested import Nesting
from negcorr.moments.moments import Moments, total
from negcorr.rows.folds import Folds
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.spectrum import Spectrum

__all__ = ["KFold"]

#: Coefficients are formed for this many gaps at a time, to bound memory.
GAPS_AT_ONCE = 64


@dataclass(frozen=True)
class KFold:
    """A fit of the training rows at every λ and the held-out moments, for every split.

    Attributes
    ----------
    fits : tuple of Spectrum
        Of the training rows of each split.
    held_out : tuple of Moments
        Of the test rows of each split.
    numbers : tuple of int
        Position of each split in ``folds.splits``; splits without weight are left out.
    """

    fits: tuple[Spectrum, ...]
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
        nesting: Nesting | None = None,
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
        alpha, fit_intercept, route, nesting
            As in :func:`negcorr.spectrum.factorise.factorise`.
        """
        numbers = [
            number
            for number, (train, test) in enumerate(folds.splits)
            if _weighs(cells, train) and _weighs(cells, test)
        ]
        if not numbers or (len(numbers) < 2 and len(folds.splits) > 1):
            raise ValueError(
                f"only {len(numbers)} of {len(folds.splits)} folds can be used: the others hold "
                "no row of positive weight. Use fewer folds (cv), or criterion='sure' or 'gcv'."
            )

        def fit(number: int) -> Spectrum:
            return factorise(
                total([cells[i] for i in folds.splits[number][0]]),
                starts,
                alpha=alpha,
                fit_intercept=fit_intercept,
                route=route,
                nesting=nesting,
            )

        # As within a fit, so that a copy that makes them again gets the same bits.
        with our_own_threads():
            held_out = [total([cells[i] for i in folds.splits[number][1]]) for number in numbers]
            home = place_of(cells[0].mean).is_numpy
            fits = spread(fit, numbers) if home else [fit(number) for number in numbers]
        return cls(tuple(fits), tuple(held_out), tuple(numbers))

    @property
    def condition(self) -> float:
        """Worst condition of a block in any fit."""
        return max(fit.whitening.condition for fit in self.fits)

    def error(self, gaps: FloatArray) -> FloatArray:
        """Mean squared error on held-out rows, shape (gaps, outputs)."""
        place = self.fits[0].place
        if len(gaps) == 0:
            return place.empty((0, self.fits[0].n_outputs))

        def squared_error(split: int) -> FloatArray:
            fit, moments = self.fits[split], self.held_out[split]
            chunks = [gaps[a : a + GAPS_AT_ONCE] for a in range(0, len(gaps), GAPS_AT_ONCE)]
            parts = [moments.squared_error(fit.coef_path(c), fit.centre) for c in chunks]
            return place.xp.concat(parts)

        splits = range(len(self.fits))
        errors = (
            spread(squared_error, splits) if place.is_numpy else [squared_error(k) for k in splits]
        )
        weight = sum(moments.weight for moments in self.held_out)
        return sum(errors[1:], start=errors[0]) / weight


def _weighs(cells: Sequence[Moments], ids: tuple[int, ...]) -> bool:
    return any(cells[i].weight > 0 for i in ids)
