r"""Huber's loss for targets with gross errors: squared loss on targets that are bent.

By the ambiguity decomposition the objective of NCL (equation 3) is

.. math:: \frac1n\sum_i (y_i - F(x_i))^2
          + (1-\lambda)\,\frac1M\sum_m \frac1n\sum_i (f_m(x_i) - F(x_i))^2 ,

and only the first term sees the targets. Take a part o off a target, at a price for every unit of
it: with :math:`\delta = c\,s > 0`, a threshold of c standard deviations s, and
:math:`r = y - F(x)`,

.. math:: \min_o\; (r - o)^2 + 2\delta\,|o| =
          \begin{cases} r^2 & |r| \le \delta \\ 2\delta|r| - \delta^2 & |r| > \delta \end{cases}

is twice Huber's loss of r, and what is taken off is
:math:`o = r - \operatorname{clip}(r, \pm\delta)`: if o > 0 the derivative
−2(r − o) + 2δ vanishes at o = r − δ, which is positive where r > δ; o < 0 mirrors it, and else
o = 0. The ensemble of Huber's loss is hence the plain one for bent targets

.. math:: y^\ast = y - o = F(x) + \operatorname{clip}(y - F(x), \pm\delta) ,

found, at a given λ and δ, by bending and fitting in turn: neither step raises the sum, which is
convex. Nothing but :math:`\Phi^\top y` changes. For targets y* as given all that is known of NCL
holds to the letter: one factorisation, members that average to the ensemble, the path over λ,
exact K-fold.

Residuals of the rows that an ensemble was fitted to hide outliers, which have pulled it towards
themselves. So here F is the fit *without the fold* of its row, at the λ that was chosen. That is
another fixed point than the minimum above: one in which a flexible ensemble cannot follow single
targets. And
:math:`s = 1.4826\,\operatorname{median}_i |y_i - F(x_i)|`, weighted, for each output by itself:
the standard deviation where noise is Gaussian, and hardly moved by what a few targets are.

The first path, and the choice of its features, have targets brought in to Tukey's far fences
(:func:`squeezed`). Then the targets as they were given are bent and a path is made with them, until
they rest or have been bent five times. Out of fold, fits that are hardly regularised amplify their
targets, and bending by them would run away: so a pass that does not lower the mean loss of
out-of-fold residuals, at the s of that pass, is taken back, and is the last for that output. A row
that no split holds out keeps its squeezed target.

Examples
--------
>>> import numpy as np
>>> from negcorr import NCLRegressor
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(-3, 3, size=(200, 1))
>>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
>>> y[::20] += 10.0
>>> for loss in ("squared", "huber"):
...     model = NCLRegressor(basis="fourier", gamma="kwok-tsang", random_state=0, loss=loss)
...     print(f"{np.mean(abs(model.fit(X, y).predict(X) - np.sin(X[:, 0]))):.2f}")
0.54
0.02
>>> int(sum(abs(model.targets_ - y) > 5))
10
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.lapack import EPS
from negcorr._common.quantiles import weighted_quantile
from negcorr._common.types import FloatArray
from negcorr.exceptions import BendingWarning, warn_caller
from negcorr.rows.folds import Folds
from negcorr.rows.rows import Rows, weight_of

__all__ = [
    "Bending",
    "Bent",
    "bend",
    "check_splits",
    "mean_loss",
    "refuse_in_parts",
    "squeezed",
    "threshold_of",
    "warn_about_scale",
]


#: What "huber" means: 95 % of the efficiency of squared loss where noise is Gaussian.
HUBER = 1.345

#: A Gaussian's standard deviation in units of its median absolute deviation.
GAUSSIAN = 1.4826

#: Tukey's far fences are this many interquartile ranges beyond the quartiles.
FAR = 3.0

#: Residuals below this many roundings of the largest target vanish.
ROUNDINGS = 64.0


@dataclass(frozen=True)
class Bent:
    """Targets brought in, and by what measure.

    Attributes
    ----------
    targets : ndarray of shape (n, outputs)
    scale : ndarray of shape (outputs,)
        s; 0 for an output that was left as it is.
    """

    targets: FloatArray
    scale: FloatArray

    def reach(self, threshold: float) -> FloatArray:
        """δ = c·s of every output; infinite for those that were left."""
        return np.where(self.scale > 0, threshold * self.scale, np.inf)


@dataclass(frozen=True)
class Bending:
    """What was done to the targets of a fit.

    Attributes
    ----------
    threshold : float
        c.
    scale : ndarray of shape (outputs,)
        s of the last pass.
    n_targets, n_bent, n_far : float
        Targets of all outputs, by weight; those that were moved, and by more than s.
    passes : int
        Paths that were made with bent targets, also those that were taken back.
    at_rest : bool
        Whether they hardly moved in the end, or another pass would not have lowered the loss.
    """

    threshold: float
    scale: FloatArray
    n_targets: float
    n_bent: float
    n_far: float
    passes: int
    at_rest: bool

    @classmethod
    def of(
        cls,
        y: FloatArray,
        targets: FloatArray,
        weight: FloatArray,
        scale: FloatArray,
        threshold: float,
        passes: int,
        moving: bool,
    ) -> Bending:
        """An account of targets as given and bent, both of shape (n, outputs)."""
        off = np.abs(y - targets)
        return cls(
            threshold=threshold,
            scale=scale,
            n_targets=float(weight.sum() * y.shape[1]),
            n_bent=float(weight @ (off > 0).sum(axis=1)),
            n_far=float(weight @ (off > scale).sum(axis=1)),
            passes=passes,
            at_rest=not moving,
        )

    def __str__(self) -> str:
        moving = "" if self.at_rest else f", not at rest after {self.passes} passes"
        return (
            f"huber, linear beyond {self.threshold:g} sd: {self.n_bent:.6g} of "
            f"{self.n_targets:.6g} targets bent, {self.n_far:.6g} by more than 1 sd{moving}"
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
    elif _is_number(loss) and 0.0 < float(loss) < np.inf:
        return float(loss)
    raise ValueError(
        f"loss={loss!r} is unknown; allowed are 'squared', 'huber' and finite numbers > 0, the "
        "threshold in robust standard deviations."
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def refuse_in_parts(loss: Any, targets: Any = None) -> None:
    """Raise where a model cannot take rows in parts: its loss, or its fit, bends targets.

    Parameters
    ----------
    loss : {"squared", "huber"} or float
    targets : array of shape (n,) or (n, outputs), optional
        Those that the fit so far was made with, if they are other than were given.
    """
    if threshold_of(loss) is not None:
        raise ValueError(
            f"loss={loss!r} bends targets by predictions that need all rows at once, so that rows "
            "cannot come in parts; allowed there is 'squared'. Or use fit, with all rows."
        )
    if targets is not None:
        raise ValueError(
            "this model was fitted to bent targets, to which no others can be added: fit it again "
            "with loss='squared'."
        )


def check_splits(folds: Folds, weight: FloatArray | None, loss: Any, cv: Any) -> None:
    """Raise where fewer than two splits have rows on both sides."""
    if folds.usable_splits(weight) < 2:
        raise ValueError(
            f"loss={loss!r} needs out-of-fold residuals, and the rows cannot be split into at "
            f"least two folds by cv={cv!r}: bring more distinct rows, give cv a splitter of two or "
            "more folds, or use loss='squared'."
        )


def squeezed(rows: Rows) -> Rows:
    """Rows whose targets are brought in to Tukey's far fences, each output by itself.

    Fences are :math:`Q_1 - 3(Q_3 - Q_1)` and :math:`Q_3 + 3(Q_3 - Q_1)`. Where the quartiles are
    equal they say nothing, and targets stay.
    """
    y, weight = to_host(rows.y), weight_of(rows)
    first, third = (weighted_quantile(y, weight, fraction) for fraction in (0.25, 0.75))
    reach = np.where(third > first, FAR * (third - first), np.inf)
    return replace(rows, y=place_of(rows.y).floats(np.clip(y, first - reach, third + reach)))


def bend(y: FloatArray, guess: FloatArray, weight: FloatArray, threshold: float) -> Bent:
    r"""Targets with what residuals have beyond ±c·s taken off.

    :math:`y^\ast = g + \operatorname{clip}(y - g, \pm c\,s)` with g what is expected of a row, and
    s the robust standard deviation of y − g.

    Parameters
    ----------
    y : ndarray of shape (n, outputs)
        Targets as they were given.
    guess : ndarray of shape (n, outputs)
        g; rows that are NaN have none, count for nothing, and stay.
    weight : ndarray of shape (n,)
        Frequencies.
    threshold : float
        c.

    Returns
    -------
    Bent
        Where half of the residuals vanish there is no s to measure by: such outputs stay.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.ensemble.huber import bend
    >>> y = np.array([[1.0], [-1.0], [1.0], [50.0]])
    >>> bent = bend(y, np.zeros((4, 1)), np.ones(4), threshold=2.0)
    >>> bent.scale, bent.targets.ravel()
    (array([1.4826]), array([ 1.    , -1.    ,  1.    ,  2.9652]))
    """
    known = ~np.isnan(guess).any(axis=1)
    residuals = y[known] - guess[known]
    scale = GAUSSIAN * weighted_quantile(np.abs(residuals), weight[known], 0.5)
    scale = np.where(scale > ROUNDINGS * EPS * np.abs(y).max(axis=0), scale, 0.0)
    bent = Bent(y.copy(), scale)
    reach = bent.reach(threshold)
    over = np.zeros(y.shape, dtype=bool)
    over[known] = np.abs(residuals) > reach
    # Only those: to add and subtract a guess would leave rounding in all the others.
    bent.targets[over] = (guess + np.copysign(reach, y - guess))[over]
    return bent


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


def warn_about_scale(y: FloatArray, scale: FloatArray) -> None:
    """Warn where targets vary, and there was no scale to bend them by."""
    left = np.flatnonzero((scale == 0) & (np.ptp(y, axis=0) > 0))
    if len(left):
        which = "" if y.shape[1] == 1 else f" of outputs {left.tolist()}"
        warn_caller(
            f"targets{which} are not bent: at least half of the out-of-fold residuals vanish, so "
            "that there is no scale to tell outliers by. The loss there is squared.",
            BendingWarning,
        )
