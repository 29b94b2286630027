r"""Huber's loss for targets with gross errors: squared loss on Huber targets, and their path.

A fit makes a path for targets that are clipped at Tukey's far fences (:func:`clipped_at_fences`),
then for Huber targets from its held-out residuals, and so on (:func:`huber_path` has the
mathematics).
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._common.arrays import is_device_array, place_of, to_host
from negcorr._common.lapack import EPS
from negcorr._common.quantiles import weighted_quantile
from negcorr._common.types import FloatArray
from negcorr.bases import Basis
from negcorr.criteria.kfold import KeptRows
from negcorr.exceptions import HuberWarning, PrecisionWarning, warn_caller
from negcorr.moments.moments import GramMoments, Moments
from negcorr.moments.scan import scan_moments
from negcorr.moments.update import retarget_moments
from negcorr.path.path import TRUSTED_ERROR, NCLPath
from negcorr.path.tune import Form, PathSettings, build_path
from negcorr.rows.folds import Folds
from negcorr.rows.rows import Rows, weight_of

__all__ = [
    "HuberTargets",
    "check_splits",
    "clipped_at_fences",
    "huber_path",
    "huber_targets",
    "mean_loss",
    "refuse_in_parts",
    "threshold_of",
]

#: Share by which a pass must lower the loss; rounding is less.
LOWERED = 1e-9

#: What "huber" means: 95 % of the efficiency of squared loss where noise is Gaussian.
HUBER = 1.345

#: A Gaussian's standard deviation in units of its median absolute deviation.
GAUSSIAN = 1.4826

#: Tukey's far fences are this many interquartile ranges beyond the quartiles.
FAR = 3.0

#: Residuals below this many roundings of the largest target vanish.
ROUNDINGS = 64.0

#: Most passes, and how far targets may move, in s, to count as converged.
MOST_PASSES, CONVERGED = 5, 1e-3


@dataclass(frozen=True)
class HuberTargets:
    """Scale, counts and convergence of the Huber targets of a fit.

    Attributes
    ----------
    threshold : float
        c.
    scale : ndarray of shape (outputs,)
        s of the last pass; 0 for an output whose targets stay as they are.
    n_targets, n_moved, n_far : float
        Targets of all outputs, by weight; those that were moved, and by more than s.
    passes : int
        Paths that were made with Huber targets, also those that were not kept.
    converged : bool
        Whether targets hardly moved in the end, or another pass would not have lowered the loss.
    """

    threshold: float
    scale: FloatArray
    n_targets: float
    n_moved: float
    n_far: float
    passes: int
    converged: bool

    def __str__(self) -> str:
        moving = "" if self.converged else f", not converged after {self.passes} passes"
        return (
            f"huber, linear beyond {self.threshold:g} sd: {self.n_moved:.6g} of "
            f"{self.n_targets:.6g} targets moved, {self.n_far:.6g} by more than 1 sd{moving}"
        )


def threshold_of(loss: Any) -> float | None:
    """The threshold c of a loss; None for squared loss.

    Examples
    --------
    >>> from negcorr.ensemble.huber import threshold_of
    >>> threshold_of("squared"), threshold_of("huber"), threshold_of(2)
    (None, 1.345, 2.0)
    """
    if isinstance(loss, str):
        if loss in ("squared", "huber"):
            return HUBER if loss == "huber" else None
    else:
        number = isinstance(loss, numbers.Real) and not isinstance(loss, (bool, np.bool_))
        if number and 0.0 < float(loss) < np.inf:
            return float(loss)
    raise ValueError(
        f"loss={loss!r} is unknown; allowed are 'squared', 'huber' and finite numbers > 0, the "
        "threshold in robust standard deviations."
    )


def refuse_in_parts(loss: Any) -> None:
    """Raise where the loss cannot take rows in parts."""
    if threshold_of(loss) is not None:
        raise ValueError(
            f"loss={loss!r} moves targets by predictions that need all rows at once, so that rows "
            "cannot come in parts; allowed there is 'squared'. Or use fit, with all rows."
        )


def check_splits(folds: Folds, weight: FloatArray | None, loss: Any, cv: Any) -> None:
    """Raise where fewer than two splits have rows on both sides."""
    if folds.usable_splits(weight) < 2:
        raise ValueError(
            f"loss={loss!r} needs held-out residuals, and the rows cannot be split into at "
            f"least two folds by cv={cv!r}: bring more distinct rows, give cv a splitter of two or "
            "more folds, or use loss='squared'."
        )


def clipped_at_fences(rows: Rows) -> Rows:
    """Rows with targets clipped at Tukey's far fences, each output by itself.

    Fences are :math:`Q_1 - 3(Q_3 - Q_1)` and :math:`Q_3 + 3(Q_3 - Q_1)`. Where the quartiles are
    equal there are none, and targets stay.
    """
    y, weight = to_host(rows.y), weight_of(rows)
    first, third = (weighted_quantile(y, weight, fraction) for fraction in (0.25, 0.75))
    reach = np.where(third > first, FAR * (third - first), np.inf)
    return replace(rows, y=place_of(rows.y).floats(np.clip(y, first - reach, third + reach)))


def huber_targets(
    y: FloatArray, fitted: FloatArray, weight: FloatArray, threshold: float
) -> tuple[FloatArray, FloatArray]:
    r"""Targets whose residuals are clipped to ±c·s, and s.

    :math:`y^\ast = F + \operatorname{clip}(y - F, \pm c\,s)`, with s the robust standard deviation
    of y − F.

    Parameters
    ----------
    y : ndarray of shape (n, outputs)
        Targets as they were given.
    fitted : ndarray of shape (n, outputs)
        F; rows that are NaN do not count, and their targets stay.
    weight : ndarray of shape (n,)
        Frequencies.
    threshold : float
        c.

    Returns
    -------
    targets : ndarray of shape (n, outputs)
    scale : ndarray of shape (outputs,)
        s. Where half of the residuals vanish it is 0, and targets stay.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.ensemble.huber import huber_targets
    >>> y = np.array([[1.0], [-1.0], [1.0], [50.0]])
    >>> targets, scale = huber_targets(y, np.zeros((4, 1)), np.ones(4), threshold=2.0)
    >>> scale, targets.ravel()
    (array([1.4826]), array([ 1.    , -1.    ,  1.    ,  2.9652]))
    """
    known = ~np.isnan(fitted).any(axis=1)
    residuals = y[known] - fitted[known]
    scale = GAUSSIAN * weighted_quantile(np.abs(residuals), weight[known], 0.5)
    scale = np.where(scale > ROUNDINGS * EPS * np.abs(y).max(axis=0), scale, 0.0)
    reach, targets = _reach(scale, threshold), y.copy()
    over = np.zeros(y.shape, dtype=bool)
    over[known] = np.abs(residuals) > reach
    # Only these targets change: adding and subtracting F would cause rounding errors in the others.
    targets[over] = (fitted + np.copysign(reach, y - fitted))[over]
    return targets, scale


def _reach(scale: FloatArray, threshold: float) -> FloatArray:
    """δ = c·s of every output; infinite, which is squared loss, where s is 0."""
    return np.where(scale > 0, threshold * scale, np.inf)


def mean_loss(residuals: FloatArray, weight: FloatArray, delta: FloatArray) -> FloatArray:
    r"""Twice the mean of Huber's loss: :math:`r^2` up to δ, :math:`2\delta|r| - \delta^2` beyond.

    Parameters
    ----------
    residuals : ndarray of shape (n, outputs)
        Rows that are NaN do not count.
    weight : ndarray of shape (n,)
    delta : ndarray of shape (outputs,)
        Infinite for squared loss.

    Returns
    -------
    ndarray of shape (outputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.ensemble.huber import mean_loss
    >>> mean_loss(np.array([[1.0], [-5.0]]), np.ones(2), np.array([2.0]))
    array([8.5])
    """
    known = ~np.isnan(residuals).any(axis=1)
    size, weight = np.abs(residuals[known]), weight[known]
    inside = np.minimum(size, delta)
    return np.asarray(weight @ (inside * (2.0 * size - inside)) / weight.sum())


@dataclass(frozen=True)
class _Stage:
    """A path, its Huber targets, and held-out predictions for these.

    In some outputs the path may have been made with other targets: then ``own`` are its own.
    """

    path: NCLPath
    targets: FloatArray
    fitted: FloatArray
    own: FloatArray | None = None


def huber_path(
    path: NCLPath,
    rows: Rows,
    first: Rows,
    basis: Basis,
    settings: PathSettings,
    threshold: float,
) -> tuple[NCLPath, FloatArray, HuberTargets]:
    r"""The path of an ensemble of Huber's loss, its Huber targets, and how they were computed.

    By the ambiguity decomposition the objective of NCL (equation 3) is

    .. math:: \frac1n\sum_i (y_i - F(x_i))^2
              + (1-\lambda)\,\frac1M\sum_m \frac1n\sum_i (f_m(x_i) - F(x_i))^2 ,

    and only the first term depends on the targets. Subtract an amount o from a target, with a
    penalty proportional to its absolute value. For :math:`\delta = c\,s > 0`, a threshold of c
    standard deviations s, and for :math:`r = y - F(x)`, the minimum

    .. math:: \min_o\; (r - o)^2 + 2\delta\,|o| =
              \begin{cases} r^2 & |r| \le \delta \\ 2\delta|r| - \delta^2 & |r| > \delta \end{cases}

    is twice Huber's loss of r, and the subtracted amount is :math:`o = r - \operatorname{clip}(r,
    \pm\delta)`: if o > 0 the derivative −2(r − o) + 2δ vanishes at o = r − δ, which is positive
    where r > δ; o < 0 is symmetric, and otherwise o = 0. The ensemble of Huber's loss is hence the
    plain one for the targets

    .. math:: y^\ast = y - o = F(x) + \operatorname{clip}(y - F(x), \pm\delta) ,

    found, at a given λ and δ, by computing targets and fitting alternately: neither step raises the
    sum, which is convex. Nothing but :math:`\Phi^\top y` changes. If the targets y* are taken as
    given, all results for NCL hold exactly: one factorisation, members that average to the
    ensemble, the path over λ, K-fold.

    Parameters
    ----------
    path : NCLPath
        Made with the targets of ``first``, with the moments of its folds.
    rows : Rows
        With the targets as they were given.
    first : Rows
        The same rows, with targets clipped at the fences.
    basis : Basis
        Fitted; it stays.
    settings : PathSettings
    threshold : float
        c.

    Returns
    -------
    path : NCLPath
        λ is chosen anew, by the criterion on Huber targets, whenever those have moved.
    targets : array of shape (n, outputs)
        Those of that path, where the rows are.
    huber : HuberTargets

    Notes
    -----
    Residuals of the rows that an ensemble was fitted to hide outliers, which have pulled it towards
    themselves. So here F is the fit *without the fold* of its row, at the chosen λ. That is another
    fixed point than the minimum above: one in which a flexible ensemble cannot follow single
    targets. And :math:`s = 1.4826\,\operatorname{median}_i |y_i - F(x_i)|`, weighted, for each
    output by itself: the standard deviation where noise is Gaussian, and hardly moved by a few
    targets.

    Passes end when targets hardly move, or after five. Held-out fits that are hardly regularised
    amplify their targets, and the passes would diverge: so a pass that does not lower the mean loss
    of held-out residuals, at the s of that pass, is not kept, and is the last for that output. No
    target leaves the range of the clipped ones: a held-out prediction beyond it says nothing. A row
    that no split holds out keeps its clipped target.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import NCLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> y[::20] += 10.0
    >>> for loss in ("squared", "huber"):
    ...     model = NCLRegressor(basis="fourier", loss=loss).fit(X, y)
    ...     print(f"{np.mean(abs(model.predict(X) - np.sin(X[:, 0]))):.2f}")
    0.54
    0.02
    >>> int(sum(abs(model.targets_ - y) > 5))
    10
    """
    y, weight, place = to_host(rows.y), weight_of(rows), place_of(rows.y)
    bounds = [extreme(to_host(first.y)[weight > 0], axis=0) for extreme in (np.min, np.max)]
    kept = KeptRows(rows, path.folds.held_out_in(rows.n_rows))

    def stage_of(made: NCLPath, targets: FloatArray) -> _Stage:
        fits, gaps = made.cross_validation, made.chosen_gap
        return _Stage(made, targets, kept.predictions(fits, basis, gaps, np.empty(0))[0])

    def stage_with(targets: FloatArray) -> _Stage:
        there = replace(rows, y=place.floats(targets))
        made = _retargeted(path, there, basis, settings)
        return stage_of(made, targets)

    now = stage_of(path, to_host(first.y))
    passes, moving = 0, np.ones(y.shape[1], dtype=bool)
    while True:
        targets, scale = huber_targets(y, now.fitted, weight, threshold)
        targets = np.where(np.isnan(now.fitted), now.targets, np.clip(targets, *bounds))
        moved = np.sqrt(weight @ (targets - now.targets) ** 2 / weight.sum())
        moving = moving & (moved > CONVERGED * scale)
        if not moving.any() or passes == MOST_PASSES:
            break
        passes += 1
        other = stage_with(np.where(moving, targets, now.targets))
        delta = _reach(scale, threshold)
        before, after = (mean_loss(y - each.fitted, weight, delta) for each in (now, other))
        moving = moving & ((after < before * (1.0 - LOWERED)) | (scale == 0))
        if moving.any():
            now = _Stage(
                other.path,
                np.where(moving, other.targets, now.targets),
                np.where(moving, other.fitted, now.fitted),
                own=other.targets,
            )
    if now.own is not None and not np.array_equal(now.own, now.targets):
        now = stage_with(now.targets)
    error = now.path.cross_validation.product_error(float(now.path.chosen_gap.min()))
    if now.path.solver == "gram" and error > TRUSTED_ERROR:
        # Every pass would multiply it: targets follow held-out predictions.
        if settings.solver == "auto":
            settings = replace(settings, solver="qr")
            path = build_path(first, basis, path.folds, settings, path.single_output)
            return huber_path(path, rows, first, basis, settings, threshold)
        warn_caller(
            f"held-out predictions, which targets of loss='huber' follow, may be off by "
            f"{error:.1e} at gap={now.path.chosen_gap.min():.1e} by products of features; use "
            "solver='auto' or 'qr', or a larger gap.",
            PrecisionWarning,
        )
    unscaled = np.flatnonzero((scale == 0) & (np.ptp(y, axis=0) > 0))
    if len(unscaled):
        which = "" if y.shape[1] == 1 else f" of outputs {unscaled.tolist()}"
        warn_caller(
            f"targets{which} stay as they are: at least half of the held-out residuals vanish, so "
            "that there is no scale by which a residual is large. The loss there is squared.",
            HuberWarning,
        )
    off = np.abs(y - now.targets)
    huber = HuberTargets(
        threshold=threshold,
        scale=scale,
        n_targets=float(weight.sum() * y.shape[1]),
        n_moved=float(weight @ (off > 0).sum(axis=1)),
        n_far=float(weight @ (off > scale).sum(axis=1)),
        passes=passes,
        converged=not moving.any(),
    )
    return now.path, place.floats(now.targets), huber


def _retargeted(path: NCLPath, rows: Rows, basis: Basis, settings: PathSettings) -> NCLPath:
    """The path for other targets; of moments that are matrices only their columns are made anew."""
    groups = list(path.folds.cells)
    known = [cell for cell in path.cells if isinstance(cell, GramMoments)]
    reusable = len(known) == len(path.cells) and not is_device_array(rows.X)

    def cells_of(form: Form) -> tuple[Moments, ...]:
        if form == "gram" and reusable:
            return retarget_moments(rows, basis, groups, known)
        return tuple(scan_moments(rows, basis, groups, form))

    single = path.single_output
    return build_path(rows, basis, path.folds, settings, single, cells_of=cells_of)
