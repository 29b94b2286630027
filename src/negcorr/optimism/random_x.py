r"""Random-X degrees of freedom: complexity where new inputs are new.

The paper's degrees of freedom, SURE and GCV speak of new targets at the training inputs. At new
inputs x* a fit with weights h(x*) has the variance σ²‖h(x*)‖², far larger where x* lies outside
the training cloud. The optimism there, in units of σ² and without bias, is

.. math:: o = \frac{2\,\mathrm{df}}{n} + \mathbb{E}\|h(x_*)\|^2 - \frac1n\operatorname{tr}S^\top S.

Luan, Lee and Zhu (2022) report n·o/2: dof and half the excess variance. Patil, Du and Tibshirani
(2024) report how many features least squares has at the same optimism.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_positive_int
from negcorr.dof.monte_carlo.probe_variance import sample_deviation
from negcorr.dof.monte_carlo.probing import ProbeSource
from negcorr.dof.monte_carlo.refits import Refit, is_estimator
from negcorr.dof.monte_carlo.responses import ResponseMeter
from negcorr.dof.monte_carlo.result import with_error
from negcorr.dof.monte_carlo.step_size import choose_step
from negcorr.exceptions import NotLinearError
from negcorr.optimism.new_inputs import (
    error_gain,
    measured_by_probes,
    measured_exactly,
    new_inputs,
)
from negcorr.optimism.scores import check_noise_variance

__all__ = ["RandomXDof", "matched_dof", "random_x_dof"]


@dataclass(frozen=True, repr=False)
class RandomXDof:
    """Degrees of freedom at new inputs, beside those at the training inputs.

    For several outputs every number is an array of shape (outputs,).

    Attributes
    ----------
    fixed_x : float
        The paper's dof, at the training inputs.
    intrinsic : float
        Features with which least squares would have the same optimism at new inputs if the
        targets were nothing but noise (Patil, Du and Tibshirani). Below n.
    predictive : float
        dof + n/2 · ``excess_variance`` (Luan, Lee and Zhu). Without bound.
    emergent : float or None
        As ``intrinsic``, from the errors themselves, bias included: needs held-out targets and
        ``noise_variance``.
    excess_variance : float
        Mean variance of a prediction over σ², at new inputs minus at training inputs.
    std_error : float
        Standard error of ``intrinsic`` from the probes; 0 where exact.
    method : {"exact", "monte-carlo"}
        How weights were found.
    n_samples : float
        Training rows, by weight.
    n_new : int
        New rows that were looked at.
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
        errors = {"intrinsic": self.std_error}
        names = ["fixed_x", "intrinsic", "predictive", "emergent"]
        parts = [
            f"{name}={with_error(value, errors.get(name, np.zeros_like(value)))}"
            for name in names
            if (value := getattr(self, name)) is not None
        ]
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
    """Degrees of freedom with respect to new inputs, of any regressor.

    Fixed-X degrees of freedom do not see where new inputs fall. Where these leave the training
    cloud the two numbers part, and criteria that rest on the fixed-X one fail.

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
        New inputs. By default rows are new to fits without them: all numbers are then means over
        fits that each leave out one fold of ``cv``, with correspondingly fewer rows.
    y_new : array-like of shape (m,) or (m, outputs), optional
        Targets there, for ``emergent``.
    cv : int, splitter or iterable, default=10
        Folds; an int means folds by content. Not used with ``X_new``.
    noise_variance : float, array-like of shape (outputs,), "difference" or None, default=None
        σ², for ``emergent``.
    n_probes : int, default=8
        Random directions, a fold, where there is no closed form.
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
    variance = None
    if noise_variance is not None:
        variance = check_noise_variance(
            noise_variance, X, y, sample_weight, positive_for="emergent"
        )
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
        # Every piece has probes of its own, so that their errors average out.
        streams = np.random.SeedSequence(seed).spawn(len(pieces))
        with progress_bar(progress, fits, "random-X dof") as advance:
            for piece, stream in zip(pieces, streams, strict=True):
                rng = np.random.default_rng(stream)
                source = ProbeSource(piece.refit, "rademacher", False, rng, rng)
                meter = ResponseMeter(piece.refit, step, "central", n_jobs, advance)
                parts.append(measured_by_probes(meter, piece, source.draw(n_probes), seed))
    numbers: dict[str, list[FloatArray]] = defaultdict(list)
    for piece, part in zip(pieces, parts, strict=True):
        n = piece.n_samples
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
        n_samples=float(np.mean([piece.n_samples for piece in pieces])),
        n_new=sum(_num_samples(piece.refit.X_new) for piece in pieces),
    )
