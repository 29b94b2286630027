r"""Random-X degrees of freedom: complexity at new inputs rather than at the training inputs.

The paper's degrees of freedom, SURE and GCV are about new targets at the training inputs. At new
inputs x* a fit with weights h(x*) has the variance σ²‖h(x*)‖², far larger where x* lies outside
the training cloud. For a fit without bias the optimism there, in units of σ², is

.. math:: o = \frac{2\,\mathrm{df}}{n} + \mathbb{E}\|h(x_*)\|^2 - \frac1n\operatorname{tr}S^\top S.

Luan, Lee and Zhu (2022) report n·o/2: dof and half the excess variance. Patil, Du and Tibshirani
(2024) report how many features least squares has at the same optimism.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_array, check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_consistent_length

from negcorr._common.number_text import with_error
from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_positive_int, is_integer
from negcorr.dof.closed_forms import roots_of
from negcorr.dof.degrees import closed_form
from negcorr.dof.monte_carlo.probe_variance import sample_deviation
from negcorr.dof.monte_carlo.probing import ProbeSource, measured
from negcorr.dof.monte_carlo.refits import NonFiniteError, Refit, is_estimator
from negcorr.dof.monte_carlo.responses import Direction, ResponseMeter
from negcorr.dof.monte_carlo.step_size import choose_step
from negcorr.exceptions import NotLinearError
from negcorr.optimism.scores import check_noise_variance
from negcorr.rows.folds import ContentKFold

__all__ = ["RandomXDof", "matched_dof", "random_x_dof"]


@dataclass(frozen=True, repr=False)
class RandomXDof:
    """Degrees of freedom at new inputs and at the training inputs.

    For several outputs every number is an array of shape (outputs,).

    Attributes
    ----------
    fixed_x : float
        The paper's dof, at the training inputs.
    intrinsic : float
        Features with which least squares would have the same optimism at new inputs if the
        targets were only noise (Patil, Du and Tibshirani). Below n.
    predictive : float
        dof + n/2 · ``excess_variance`` (Luan, Lee and Zhu). Not bounded.
    emergent : float or None
        As ``intrinsic``, from the errors themselves, bias included: needs held-out targets and
        ``noise_variance``.
    excess_variance : float
        Mean variance of a prediction over σ², at new inputs minus at training inputs.
    std_error : float
        Standard error of ``intrinsic`` from the probes; 0 where exact.
    method : {"exact", "monte-carlo"}
        How the numbers were computed.
    n_samples : float
        Training rows, by weight.
    n_new : int
        New rows that were used.
    """

    fixed_x: float | FloatArray
    intrinsic: float | FloatArray
    predictive: float | FloatArray
    emergent: float | FloatArray | None
    excess_variance: float | FloatArray
    std_error: float | FloatArray
    method: str
    n_samples: float
    n_new: int

    def __repr__(self) -> str:
        parts = []
        for name in ("fixed_x", "intrinsic", "predictive", "emergent"):
            if (value := getattr(self, name)) is not None:
                error = self.std_error if name == "intrinsic" else np.zeros_like(value)
                parts.append(f"{name}={with_error(value, error)}")
        size = f"n_samples={self.n_samples:.6g}"
        return f"{type(self).__name__}({', '.join(parts)}, {size}, method={self.method!r})"


def matched_dof(optimism: npt.ArrayLike, n_samples: float) -> FloatArray:
    r"""Features k of a least-squares fit with a given random-X optimism.

    Parameters
    ----------
    optimism : array-like
        Error at new inputs minus training error, over σ².
    n_samples : float
        n.

    Returns
    -------
    ndarray
        Solves :math:`o = \xi + \xi/(1 - \xi)` for ξ = k/n, the optimism of unbiased least
        squares on many well-behaved features. Between 0 and n for o ≥ 0; negative where the
        error at new inputs is the smaller one.

    Examples
    --------
    >>> from negcorr.optimism.random_x import matched_dof
    >>> round(float(matched_dof(0.2 + 0.2 / 0.8, n_samples=100)), 9)
    20.0
    """
    half = np.asarray(optimism, dtype=np.float64) / 2.0
    # 1 + h − √(1 + h²), without the difference of large numbers.
    return np.asarray(n_samples * (1.0 - 1.0 / (np.hypot(1.0, half) + half)))


def random_x_dof(
    estimator: Any,
    X: Table,
    y: Any,
    *,
    X_new: Table | None = None,
    y_new: Any = None,
    cv: Any = 10,
    noise_variance: Any = None,
    n_probes: int = 8,
    eps: Any = "auto",
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = False,
) -> RandomXDof:
    """Degrees of freedom of any regressor with respect to new inputs.

    Fixed-X degrees of freedom do not depend on where new inputs lie. Where these lie outside the
    training cloud the two numbers differ, and criteria that use the fixed-X one fail.

    Parameters
    ----------
    estimator : regressor
        Exact for those that :func:`degrees_of_freedom` has a closed form for, by Monte Carlo for
        others. Cloned, never changed.
    X : table of shape (n, d)
        Training inputs.
    y : array-like of shape (n,) or (n, outputs)
        Training targets.
    X_new : table of shape (m, d), optional
        New inputs. By default each fit leaves out one fold of ``cv``, and the rows of this fold are
        its new inputs. All numbers are then means over these fits, which have fewer training rows.
    y_new : array-like of shape (m,) or (m, outputs), optional
        Targets there, for ``emergent``.
    cv : int, splitter or iterable, default=10
        Folds; an int means folds by content. Not used with ``X_new``.
    noise_variance : float, array-like of shape (outputs,), "difference" or None, default=None
        σ², for ``emergent``.
    n_probes : int, default=8
        Random directions per fold, if there is no closed form.
    eps, sample_weight, random_state, n_jobs, progress
        As in :func:`monte_carlo_dof`.

    Returns
    -------
    RandomXDof

    References
    ----------
    B. Luan, Y. Lee and Y. Zhu, "Predictive model degrees of freedom in linear regression" (2022),
    arXiv:2106.15682.
    P. Patil, J.-H. Du and R. J. Tibshirani, "Revisiting optimism and model complexity in the wake
    of overparameterized machine learning" (2024), arXiv:2410.01259.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from negcorr import random_x_dof
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 20)), rng.normal(size=200)
    >>> near = random_x_dof(LinearRegression(), X, y, X_new=rng.normal(size=(5000, 20)))
    >>> far = random_x_dof(LinearRegression(), X, y, X_new=3 * rng.normal(size=(5000, 20)))
    >>> near.fixed_x, round(near.intrinsic), round(far.intrinsic)
    (21.0, 21, 85)
    """
    check_positive_int("n_probes", n_probes)
    refit = Refit.of(estimator, X, y, sample_weight, "shared")
    if not is_estimator(estimator):
        raise TypeError("estimator must have fit and predict: a callable cannot predict at new X.")
    variance, given = None, (noise_variance, X, y, sample_weight)
    if noise_variance is not None:
        variance = check_noise_variance(*given, positive_for="emergent")
    seed = int(check_random_state(random_state).randint(2**31))
    pieces = new_inputs(refit, X_new, y_new, cv)
    if y_new is not None and variance is None:
        raise ValueError("y_new is for emergent, which needs noise_variance too.")
    try:
        parts = [measured_exactly(piece, seed) for piece in pieces]
        method = "exact"
    except NotLinearError:
        method = "monte-carlo"
        step = choose_step(eps, refit)
        parts = []
        fits = len(pieces) * (2 * n_probes + 1)
        # Every training set has its own probes, so that their errors average out.
        streams = np.random.SeedSequence(seed).spawn(len(pieces))
        with progress_bar(progress, fits, "random-X dof") as advance:
            for piece, stream in zip(pieces, streams, strict=True):
                rng = np.random.default_rng(stream)
                source = ProbeSource(piece.refit, "rademacher", False, rng, rng)
                meter = ResponseMeter(piece.refit, step, "central", n_jobs, advance)
                parts.append(measured_by_probes(meter, piece, source.draw(n_probes), seed))
    numbers: dict[str, list[FloatArray]] = defaultdict(list)
    for piece, part in zip(pieces, parts, strict=True):
        n = piece.refit.n_samples
        by_probe = 2.0 * part.trace / n + part.excess_variance
        optimism = by_probe.mean(axis=0)
        numbers["fixed_x"].append(part.trace.mean(axis=0))
        numbers["intrinsic"].append(matched_dof(optimism, n))
        numbers["predictive"].append(n * optimism / 2.0)
        numbers["excess_variance"].append(part.excess_variance.mean(axis=0))
        if variance is not None and piece.y_new is not None:
            numbers["emergent"].append(matched_dof(error_gain(piece, part) / variance, n))
        error = np.zeros_like(optimism)
        if method == "monte-carlo":
            half = optimism / 2.0
            slope = 0.5 * n * (1.0 - half / np.hypot(1.0, half))  # of matched_dof
            error = slope * (sample_deviation(by_probe) / np.sqrt(n_probes))
        numbers["squared_error"].append(np.square(error))
    means: dict[str, Any] = {name: np.mean(each, axis=0) for name, each in numbers.items()}
    means["std_error"] = np.sqrt(means.pop("squared_error") / len(parts))
    shaped = {name: refit.in_shape_of_y(mean) for name, mean in means.items()}
    return RandomXDof(
        **{"emergent": None, **shaped},
        method=method,
        n_samples=float(np.mean([piece.refit.n_samples for piece in pieces])),
        n_new=sum(_num_samples(piece.refit.X_new) for piece in pieces),
    )


@dataclass(frozen=True)
class NewInputs:
    """A training set, and new rows for which it predicts.

    Attributes
    ----------
    refit : Refit
        The fit to the training set, which predicts at the new rows too.
    y_new : ndarray of shape (m, outputs) or None
        Targets there, if known.
    weight_new : ndarray of shape (m,) or None
        Frequencies there.
    """

    refit: Refit
    y_new: FloatArray | None
    weight_new: FloatArray | None


@dataclass(frozen=True)
class Measured:
    """What was measured with one training set.

    Attributes
    ----------
    trace, excess_variance : ndarray of shape (probes, outputs)
        dof, and the mean variance over σ² at new rows minus that at training rows; one row
        where exact.
    fitted : ndarray of shape (n, outputs)
    new : ndarray of shape (m, outputs)
        Predictions for the targets as given.
    """

    trace: FloatArray
    excess_variance: FloatArray
    fitted: FloatArray
    new: FloatArray


def new_inputs(refit: Refit, X_new: Table | None, y_new: Any, cv: Any) -> list[NewInputs]:
    """The new rows as given, or each fold of ``cv`` with the other rows for training."""
    if X_new is not None:
        target = None
        if y_new is not None:
            target = check_array(y_new, dtype=np.float64, ensure_2d=False, input_name="y_new")
            check_consistent_length(X_new, target)
            target = target.reshape(len(target), -1)
            outputs = target.shape[1], refit.y.shape[1]
            if outputs[0] != outputs[1]:
                raise ValueError("y_new has {} output(s), y has {}.".format(*outputs))
        return [NewInputs(replace(refit, X_new=X_new), target, None)]
    if y_new is not None:
        raise ValueError("y_new was given without X_new.")
    splitter = ContentKFold(cv) if is_integer(cv) else check_cv(cv)
    tags = get_tags(refit.estimator) if hasattr(refit.estimator, "__sklearn_tags__") else None
    pieces = []
    for split in splitter.split(refit.X, refit.target):
        train, test = (np.asarray(rows) for rows in split)
        weights = [None if refit.weight is None else refit.weight[rows] for rows in (train, test)]
        if not all(weight is None or weight.sum() > 0 for weight in weights):
            continue
        inputs, new = _safe_indexing(refit.X, train), _safe_indexing(refit.X, test)
        if tags is not None and tags.input_tags.pairwise:
            # A table of kernel values or distances: its columns are the training rows.
            inputs, new = inputs[:, train], new[:, train]
        inner = replace(refit, X=inputs, y=refit.y[train], weight=weights[0], X_new=new)
        pieces.append(NewInputs(inner, refit.y[test], weights[1]))
    if not pieces:
        raise ValueError(f"cv={cv!r} gives no split with weight on both sides.")
    return pieces


def measured_exactly(piece: NewInputs, seed: int) -> Measured:
    """From the closed form; raises NotLinearError where there is none."""
    refit = piece.refit
    smoother = closed_form(refit, seed)
    excess = [
        np.average(smoother.variance(refit.X_new, j), weights=piece.weight_new)
        - np.average(smoother.variance(refit.X, j), weights=refit.weight)
        for j in range(smoother.n_outputs)
    ]
    if not np.isfinite(excess).all():
        raise NonFiniteError("predictions at some new rows are not finite: no neighbour is near.")
    return Measured(
        trace=smoother.dof[np.newaxis],
        excess_variance=np.array([excess]),
        fitted=smoother.predict(refit.X).reshape(refit.y.shape),
        new=smoother.predict(refit.X_new).reshape(-1, smoother.n_outputs),
    )


def measured_by_probes(
    meter: ResponseMeter, piece: NewInputs, directions: list[Direction], seed: int
) -> Measured:
    """From refits along random directions b: (J b)² at a row has the mean ‖h‖²."""
    refit = piece.refit
    n = len(refit.y)
    # A row that stands for w observations has a noise that is smaller by √w.
    root = roots_of(refit.weight, n)
    damp = np.divide(1.0, root, out=np.zeros(n), where=root > 0)[:, np.newaxis]
    moves = [Direction(damp * direction.vector, seed) for direction in directions]
    traces, excess = [], []
    for direction, response in measured(meter, moves, first=0):
        traces.append(response.along(direction.vector * root[:, np.newaxis] ** 2))
        squares = response.derivative**2
        new = np.average(squares[n:], axis=0, weights=piece.weight_new)
        excess.append(new - np.average(squares[:n], axis=0, weights=refit.weight))
    given = np.asarray(meter.fit_as_given([seed])[0], dtype=np.float64)
    return Measured(np.array(traces), np.array(excess), given[:n], given[n:])


def error_gain(piece: NewInputs, part: Measured) -> FloatArray:
    """Error at the new rows minus training error, shape (outputs,)."""
    if piece.y_new is None:
        raise ValueError("targets at the new rows are not known.")
    new = np.average((part.new - piece.y_new) ** 2, axis=0, weights=piece.weight_new)
    train = (part.fitted - piece.refit.y) ** 2
    return np.asarray(new - np.average(train, axis=0, weights=piece.refit.weight))
