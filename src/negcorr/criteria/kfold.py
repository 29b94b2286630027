"""Exact K-fold cross-validation from moments, without another pass over the rows.

The moments of a split's training rows are the sum of the other folds' moments, which is safer than
the total less the held-out fold. The held-out squared error is a quadratic form in the held-out
moments. The basis is the same in all folds.
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
    """The spectrum of the training rows and the held-out moments of every split.

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
            Which cells train and test each split.
        starts : ndarray of shape (M + 1,)
            Where each member's block begins.
        alpha, fit_intercept, route, nesting
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
                ),
                numbers,
                parallel=place_of(cells[0].mean).is_numpy,
            )
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
