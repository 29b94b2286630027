"""Whether an ensemble predicts its own training rows as its path claims, on at most 256 of them.

The fit never sees its predictions: coefficients, degrees of freedom and the training error come
from one factorisation. Where arithmetic has lost digits, predictions show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.lapack import EPS
from negcorr._common.types import BoolArray, FloatArray
from negcorr.bases import Basis
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.moments.scan import features_of
from negcorr.path.path import NCLPath
from negcorr.rows.keys import on_host
from negcorr.rows.rows import Rows, weight_of
from negcorr.rows.smallest_keys import smallest_keys
from negcorr.spectrum.whitening import RESOLVED

__all__ = ["CHECKED_ROWS", "SelfCheck", "checked_rows", "self_check", "warn_if_wrong"]

#: Rows that every model keeps, to try arithmetic on.
CHECKED_ROWS = 256

#: Standard errors by which the rows may have a larger error than all training rows.
STANDARD_ERRORS = 6.0

#: Different rows from which a standard error can be estimated.
FEWEST_ROWS = 20


@dataclass(frozen=True)
class SelfCheck:
    """What predictions of some training rows say about a fit, each of shape (outputs,).

    Attributes
    ----------
    n_rows : int
        Rows that were predicted.
    rounding : ndarray
        Largest ε·Σ_j |φ_j β_j| of a row, as a share of the target's standard deviation.
    error : ndarray
        Mean squared residual of these rows.
    claimed : ndarray
        Training error of the path, of all rows.
    tolerance : ndarray
        By how much they may differ.
    is_whole : bool
        Whether these are all training rows.
    """

    n_rows: int
    rounding: FloatArray
    error: FloatArray
    claimed: FloatArray
    tolerance: FloatArray
    is_whole: bool

    @property
    def rounds(self) -> BoolArray:
        """Where terms of the predictions cancel."""
        return ~(self.rounding <= RESOLVED)

    @property
    def differs(self) -> BoolArray:
        """Where the predictions are not those of the path.

        Some of the rows may miss the few that have the largest residuals. So a smaller error than
        that of all rows says nothing.
        """
        beyond = self.error - self.claimed
        return ~((np.abs(beyond) if self.is_whole else beyond) <= self.tolerance)

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not (self.rounds.any() or self.differs.any())

    def __str__(self) -> str:
        said = []
        if self.rounds.any():
            said.append(
                f"terms of the predictions cancel so far that rounding is up to "
                f"{self.rounding.max():.1e} of the target's standard deviation"
            )
        for j in np.flatnonzero(self.differs):
            output = f" of output {j}" if len(self.error) > 1 else ""
            rows = "the" if self.is_whole else f"{self.n_rows} of the"
            said.append(
                f"{rows} training rows have a mean squared residual{output} of "
                f"{self.error[j]:.6g}, where the fit claims {self.claimed[j]:.6g}"
            )
        return ", and ".join(said)


def checked_rows(rows: Rows) -> Rows:
    """At most 256 rows of positive weight, in the order of their keys.

    Parameters
    ----------
    rows : Rows
        All training rows, or those of the smallest keys.

    Returns
    -------
    Rows
    """
    found = smallest_keys(on_host(rows.keys.xy), CHECKED_ROWS, used=weight_of(rows) > 0)
    return rows.take(found.index)


def self_check(
    rows: Rows, basis: Basis, path: NCLPath, coef: FloatArray, intercept: Any
) -> SelfCheck:
    """Predict some training rows, and compare with the path.

    Parameters
    ----------
    rows : Rows
        Of :func:`checked_rows`, with the targets that the path was fitted to.
    basis : Basis
        Fitted.
    path : NCLPath
        At the λ of the solution.
    coef : ndarray of shape (Q,) or (outputs, Q)
    intercept : float or ndarray of shape (outputs,)

    Returns
    -------
    SelfCheck
    """
    spectrum, xp = path.spectrum, place_of(coef).xp
    coef = coef if coef.ndim == 2 else coef[None, :]
    features = features_of(rows, basis)
    predicted = to_host(features @ coef.T) + to_host(intercept)
    sizes = xp.abs(features)
    if basis.terms_ is not None:
        sizes = xp.maximum(sizes, basis.terms_)
    terms = to_host(xp.max(sizes @ xp.abs(coef).T, axis=0))
    variance, weight = np.maximum(to_host(spectrum.total), 0.0), weight_of(rows)
    y = to_host(rows.y)
    if not spectrum.fit_intercept:
        # The path knows the mean square about zero only.
        about_mean = y - np.average(y, axis=0, weights=weight)
        variance = np.minimum(variance, weight @ about_mean**2 / weight.sum())
    spread = np.sqrt(variance)
    # Of a constant target only rounding varies.
    of_target = 32.0 * EPS * np.max(np.abs(y), axis=0)
    varies = spread > of_target
    with np.errstate(invalid="ignore", over="ignore"):
        rounding = np.where(varies, EPS * terms / np.where(varies, spread, 1.0), 0.0)
        squares = (y - predicted) ** 2
        error = weight @ squares / weight.sum()
        claimed = np.diagonal(to_host(spectrum.train_error(gap=path.chosen_gap)))
        # What predictions may be off by moves a mean square by so much.
        off = RESOLVED * spread + of_target
        tolerance = off * (2.0 * np.sqrt(np.maximum(claimed, 0.0)) + off)
        is_whole = bool(np.isclose(weight.sum(), spectrum.weight, rtol=1e-9, atol=0.0))
        if not is_whole:
            tolerance = tolerance + STANDARD_ERRORS * _standard_error(rows, squares, weight)
    tolerance = np.where(varies, tolerance, np.inf)
    return SelfCheck(rows.n_rows, rounding, error, claimed, tolerance, is_whole)


def _standard_error(rows: Rows, squares: FloatArray, weight: FloatArray) -> FloatArray:
    """Standard error of the mean of squares; infinite for too few different rows.

    Equal rows have the same key, so that all of them are among the rows, or none.
    """
    _, group = np.unique(on_host(rows.keys.xy), return_inverse=True)
    n_groups = int(group.max()) + 1
    if n_groups < FEWEST_ROWS:
        return np.full(squares.shape[1], np.inf)
    deviations = weight[:, np.newaxis] * (squares - weight @ squares / weight.sum())
    by_group = np.zeros((n_groups, squares.shape[1]))
    np.add.at(by_group, group, deviations)
    n_free = n_groups / (n_groups - 1.0)
    return np.asarray(np.sqrt(n_free * (by_group**2).sum(axis=0)) / weight.sum())


def warn_if_wrong(found: SelfCheck, route: str) -> None:
    """Warn of what a self-check has found, if anything.

    Parameters
    ----------
    found : SelfCheck
    route : {"gram", "qr"}
        Of the path.
    """
    if not found.holds:
        way_out = "use solver='qr'" if route == "gram" else "use a larger gap (a smaller lam)"
        warn_caller(
            f"this lam asks for more digits than the arithmetic has: {found}; {way_out}, or "
            "features that depend less on each other.",
            PrecisionWarning,
        )
