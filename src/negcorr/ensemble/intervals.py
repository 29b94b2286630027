"""Prediction intervals: quantiles of residuals of training rows that were held out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from negcorr._common.quantiles import weighted_quantile
from negcorr._common.types import FloatArray
from negcorr.exceptions import CalibrationWarning

__all__ = ["Residuals"]


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
