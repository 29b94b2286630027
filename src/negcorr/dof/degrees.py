"""Degrees of freedom of any regressor: exact where a closed form exists, else Monte Carlo."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from negcorr._common.number_text import with_error
from negcorr._common.types import FloatArray, Table
from negcorr.dof.common_seeds import seeded
from negcorr.dof.monte_carlo.estimate import check_options, monte_carlo_dof
from negcorr.dof.monte_carlo.refits import Refit, is_estimator
from negcorr.dof.monte_carlo.result import MonteCarloDof
from negcorr.dof.monte_carlo.step_size import choose_step
from negcorr.dof.smoothers import LinearSmoother, linear_smoother
from negcorr.exceptions import NotLinearError

__all__ = ["DegreesOfFreedom", "closed_form", "degrees_of_freedom"]

METHODS = ("auto", "exact", "monte-carlo")


@dataclass(frozen=True, repr=False)
class DegreesOfFreedom:
    """Degrees of freedom, and how they were computed.

    Attributes
    ----------
    dof : float or ndarray of shape (outputs,)
        Σ ∂F(x_n)/∂y_n.
    std_error : float or ndarray of shape (outputs,)
        0 where exact.
    method : {"exact", "monte-carlo"}
        How they were computed.
    reason : str
        Why by this method, in words.
    n_samples : int
        Rows.
    monte_carlo : MonteCarloDof or None
        All results of the Monte-Carlo run.
    """

    dof: float | FloatArray
    std_error: float | FloatArray
    method: Literal["exact", "monte-carlo"]
    reason: str
    n_samples: int
    monte_carlo: MonteCarloDof | None = None

    def __repr__(self) -> str:
        dof = with_error(self.dof, self.std_error)
        return f"{type(self).__name__}(dof={dof}, method={self.method!r}, reason={self.reason!r})"


def degrees_of_freedom(
    estimator: Any,
    X: Table,
    y: Any,
    *,
    method: Literal["auto", "exact", "monte-carlo"] = "auto",
    sample_weight: Any = None,
    random_state: Any = None,
    **options: Any,
) -> DegreesOfFreedom:
    """Degrees of freedom of any regressor: exact where a closed form exists, else Monte Carlo.

    Parameters
    ----------
    estimator : regressor or callable
        As in :func:`monte_carlo_dof`; cloned, never changed.
    X : table of shape (n, d)
        Training inputs.
    y : array-like of shape (n,) or (n, outputs)
        Training targets.
    method : {"auto", "exact", "monte-carlo"}, default="auto"
        "auto" is exact for least squares, ridge and kernel ridge, nearest neighbours, Gaussian
        processes with a fixed kernel, an :class:`~negcorr.NCLRegressor` at a given λ, means and
        constants, and pipelines that end in one and whose other steps do not look at y.
        "exact" raises :class:`~negcorr.exceptions.NotLinearError` for all others.
    sample_weight : array-like of shape (n,), optional
        Frequencies.
    random_state : int, RandomState or None, default=None
        Seed of unset random states and of probes. The exact method draws once and gives the
        degrees of freedom of that draw; Monte Carlo averages over draws.
    **options
        Passed to :func:`monte_carlo_dof` where that is used.

    Returns
    -------
    DegreesOfFreedom

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> from negcorr import degrees_of_freedom
    >>> X, y = load_diabetes(return_X_y=True)
    >>> degrees_of_freedom(Ridge(0.1), X, y)
    DegreesOfFreedom(dof=8.642, method='exact', reason='Ridge is linear in y')
    >>> degrees_of_freedom(Lasso(0.5), X, y, random_state=0).method
    'monte-carlo'
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; allowed are {METHODS}.")
    known = inspect.signature(monte_carlo_dof).parameters
    unknown = sorted(set(options) - set(known))
    if unknown:
        allowed = [name for name, p in known.items() if p.kind is p.KEYWORD_ONLY]
        raise TypeError(f"degrees_of_freedom got unknown options {unknown}; allowed: {allowed}.")
    check_options(*(options.get(n, known[n].default) for n in ("n_probes", "probe", "scheme")))
    refit = Refit.of(estimator, X, y, sample_weight)
    if "eps" in options:
        choose_step(options["eps"], refit)
    reason = "asked for"
    if method != "monte-carlo":
        try:
            smoother = closed_form(refit, check_random_state(random_state).randint(2**31))
        except NotLinearError as why:
            if method == "exact":
                raise
            reason = str(why)
        else:
            dof, reason = smoother.dof, f"{smoother.name} is linear in y"
            dof, error = map(refit.in_shape_of_y, (dof, np.zeros_like(dof)))
            return DegreesOfFreedom(dof, error, "exact", reason, len(refit.y))
    run = monte_carlo_dof(
        estimator, X, y, sample_weight=sample_weight, random_state=random_state, **options
    )
    return DegreesOfFreedom(run.dof, run.std_error, "monte-carlo", reason, run.n_samples, run)


def closed_form(refit: Refit, seed: int) -> LinearSmoother:
    """The closed form of the estimator of ``refit``, with its unset random states set.

    Raises
    ------
    NotLinearError
        Where there is none.
    """
    if not is_estimator(refit.estimator):
        raise NotLinearError("a callable has no closed form.")
    return linear_smoother(seeded(refit.estimator, seed), refit.X, refit.target, refit.weight)
