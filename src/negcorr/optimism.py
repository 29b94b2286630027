"""Excess optimism: what a search over models adds to the degrees of freedom of the one chosen.

SURE at its own minimum is too low, because the choice followed the noise. The degrees of freedom
of the whole procedure, search and all, say by how much (Tibshirani and Rosset 2019).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.utils import check_random_state

from negcorr._typing import FloatArray, Table
from negcorr.degrees import DegreesOfFreedom, degrees_of_freedom
from negcorr.exceptions import StepSizeWarning
from negcorr.monte_carlo import MonteCarloDof, monte_carlo_dof
from negcorr.monte_carlo.refits import Refit, fit_arguments
from negcorr.monte_carlo.step import choose_step
from negcorr.regressor import NCLRegressor
from negcorr.seeds import seeded
from negcorr.smoothers import NotLinearError

__all__ = ["ExcessOptimism", "excess_optimism"]


@dataclass(frozen=True, repr=False)
class ExcessOptimism:
    """Degrees of freedom of a search beside those of what it chose.

    Attributes
    ----------
    dof : float or ndarray of shape (outputs,)
        Of the whole procedure: ``dof_at_choice + excess``.
    dof_at_choice : float or ndarray of shape (outputs,)
        Of the chosen model, as if it had been fixed beforehand.
    excess : float or ndarray of shape (outputs,)
        What the search adds. SURE of the chosen model is too low by 2σ²/n times this.
    std_error : float or ndarray of shape (outputs,)
        Standard error of ``excess``.
    choice : dict
        What was chosen.
    at_choice : DegreesOfFreedom
        How ``dof_at_choice`` was found.
    monte_carlo : MonteCarloDof
        The run of the whole procedure, without the help of the chosen model.
    """

    dof: float | FloatArray
    dof_at_choice: float | FloatArray
    excess: float | FloatArray
    std_error: float | FloatArray
    choice: dict[str, Any]
    at_choice: DegreesOfFreedom
    monte_carlo: MonteCarloDof

    def __repr__(self) -> str:
        def text(value: float | FloatArray) -> str:
            return np.array2string(np.asarray(value), precision=4)

        return (
            f"{type(self).__name__}(dof={text(self.dof)}, "
            f"dof_at_choice={text(self.dof_at_choice)}, excess={text(self.excess)} "
            f"± {text(self.std_error)}, choice={self.choice})"
        )


def excess_optimism(
    estimator: Any,
    X: Table,
    y: Any,
    *,
    n_probes: int = 30,
    eps: Any = "auto",
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = False,
) -> ExcessOptimism:
    """Degrees of freedom of a search, beside those of the model that it chose.

    Parameters
    ----------
    estimator : NCLRegressor(lam="auto"), RidgeCV or search object
        Something that chooses by looking at y: also scikit-learn's GridSearchCV and the like,
        and :class:`SURESearch`. Cloned, never changed.
    X : table of shape (n, d)
        Training inputs.
    y : array-like of shape (n,) or (n, outputs)
        Training targets.
    n_probes : int, default=30
        Gaussian probes; each takes two fits of the search and two of the chosen model.
    eps : "auto", float or array-like, default="auto"
        Step, as in :func:`monte_carlo_dof`. A choice from a grid jumps, so the excess is that
        of a procedure smoothed over ε; there is no warning about that here.
    sample_weight, random_state, n_jobs, progress
        As in :func:`monte_carlo_dof`.

    Returns
    -------
    ExcessOptimism

    Notes
    -----
    The search and the chosen model meet the same probes and the same seeds; most of the spread
    between probes is common to both and leaves their difference. Folds by content are dealt by x
    alone, and unset random states are set once, so the choice can differ a little from that of
    another fit.

    References
    ----------
    R. J. Tibshirani and S. Rosset, "Excess optimism: how biased is the apparent error of an
    estimator tuned by SURE?", JASA 114 (2019).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor, excess_optimism
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(n_estimators=20, criterion="sure", random_state=0)
    >>> found = excess_optimism(model, X, y, n_probes=10, random_state=0)
    >>> print(f"{found.dof_at_choice:.1f} at the chosen lam, {found.excess:.1f} for the search")
    22.1 at the chosen lam, 0.4 for the search
    """
    refit = Refit.of(estimator, X, y, sample_weight, "shared")
    rng = check_random_state(random_state)
    seed, probes = rng.randint(2**31), rng.randint(2**31)
    search = seeded(estimator, seed)
    fitted = clone(search).fit(X, y, **fit_arguments(search, refit.weight))
    chosen, choice = _chosen(fitted, search)
    step = choose_step(eps, refit)
    options: dict[str, Any] = {
        "eps": step,
        "n_probes": n_probes,
        "probe": "gaussian",
        "seeding": "shared",
        "sample_weight": sample_weight,
        "random_state": probes,
        "n_jobs": n_jobs,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepSizeWarning)
        whole = monte_carlo_dof(search, X, y, progress=progress, **options)
        fixed = monte_carlo_dof(chosen, X, y, **options)
    at_choice = _without_search(chosen, X, y, sample_weight, fixed)
    difference = whole.values - fixed.values
    excess = difference.mean(axis=0)
    spread = difference.std(axis=0, ddof=1) if n_probes > 1 else np.full_like(excess, np.nan)
    error = spread / np.sqrt(n_probes)
    return ExcessOptimism(
        dof=_plain(np.asarray(at_choice.dof) + excess),
        dof_at_choice=at_choice.dof,
        excess=_plain(excess),
        std_error=_plain(error),
        choice=choice,
        at_choice=at_choice,
        monte_carlo=whole,
    )


def _chosen(fitted: Any, search: Any) -> tuple[Any, dict[str, Any]]:
    """The model that a search chose, as an estimator that does not search."""
    if isinstance(fitted, NCLRegressor):
        if not (isinstance(search.lam, str) and search.gap is None):
            raise ValueError(
                f"estimator={search!r} does not search: give lam='auto', not lam or gap."
            )
        return clone(search).set_params(gap=fitted.gap_), {"lam": fitted.lam_, "gap": fitted.gap_}
    if type(fitted) is RidgeCV:
        alpha = fitted.alpha_
        return Ridge(alpha=alpha, fit_intercept=fitted.fit_intercept), {"alpha": alpha}
    if hasattr(fitted, "best_params_") and hasattr(search, "estimator"):
        return clone(search.estimator).set_params(**fitted.best_params_), dict(fitted.best_params_)
    raise TypeError(
        f"estimator={search!r} must be an NCLRegressor(lam='auto'), a RidgeCV or a search object "
        "with best_params_: something that chooses by looking at y."
    )


def _without_search(
    chosen: Any, X: Table, y: Any, sample_weight: Any, run: MonteCarloDof
) -> DegreesOfFreedom:
    """Dof of the chosen model: exact if possible, else from the run that was made anyway."""
    try:
        return degrees_of_freedom(chosen, X, y, method="exact", sample_weight=sample_weight)
    except NotLinearError as why:
        return DegreesOfFreedom(run.dof, run.std_error, "monte-carlo", str(why), run.n_samples, run)


def _plain(value: Any) -> float | FloatArray:
    return float(value) if np.ndim(value) == 0 else np.asarray(value)
