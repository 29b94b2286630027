"""Excess optimism: what a search over models adds to the degrees of freedom of the one chosen.

SURE at its own minimum is too low, because the choice depends on the noise. The degrees of freedom
of the whole procedure, with its search, give this difference (Tibshirani and Rosset 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, Ridge, RidgeCV
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from negcorr._common.number_text import with_error
from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_positive_int
from negcorr.dof.common_seeds import seeded
from negcorr.dof.degrees import DegreesOfFreedom, degrees_of_freedom
from negcorr.dof.monte_carlo.probe_variance import sample_deviation
from negcorr.dof.monte_carlo.probing import ProbeSource
from negcorr.dof.monte_carlo.refits import Refit, fit_arguments, own_copy
from negcorr.dof.monte_carlo.step_size import choose_step
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import StepSizeWarning, warn_caller

__all__ = ["ExcessOptimism", "excess_optimism"]

#: Share of the usual step: a larger one measures the search at more noise than the data have.
STEP_SHARE = 0.5


@dataclass(frozen=True, repr=False)
class ExcessOptimism:
    """Degrees of freedom of a search, and of the model that it chose.

    Attributes
    ----------
    dof : float or ndarray of shape (outputs,)
        Of the whole procedure: ``dof_at_choice + excess``.
    dof_at_choice : float or ndarray of shape (outputs,)
        Of the chosen model, as if it had been fixed beforehand.
    excess : float or ndarray of shape (outputs,)
        What the search adds. SURE of the chosen model is too low by 2σ²/n times this.
    std_error : float or ndarray of shape (outputs,)
        Standard error of ``excess``, from the spread between probes.
    choice : dict
        The chosen parameters.
    at_choice : DegreesOfFreedom
        How ``dof_at_choice`` was found.
    values : ndarray of shape (probes,) or (probes, outputs)
        The excess by each probe.
    eps : float or ndarray of shape (outputs,)
        Step by which targets were moved.
    """

    dof: float | FloatArray
    dof_at_choice: float | FloatArray
    excess: float | FloatArray
    std_error: float | FloatArray
    choice: dict[str, Any]
    at_choice: DegreesOfFreedom
    values: FloatArray
    eps: float | FloatArray

    def __repr__(self) -> str:
        at_choice = with_error(self.dof_at_choice, self.at_choice.std_error)
        dof = with_error(self.dof, np.zeros_like(self.dof))
        return (
            f"{type(self).__name__}(dof={dof}, dof_at_choice={at_choice}, "
            f"excess={with_error(self.excess, self.std_error)}, choice={self.choice})"
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
    r"""Degrees of freedom of a search, and of the model that it chose.

    Parameters
    ----------
    estimator : regressor that searches
        An :class:`~negcorr.NCLRegressor` with ``lam="auto"``, a search object such as
        scikit-learn's GridSearchCV or :class:`SURESearch`, RidgeCV, LassoCV, ElasticNetCV, or a
        pipeline that ends in one. Cloned, never changed.
    X : table of shape (n, d)
        Training inputs.
    y : array-like of shape (n,) or (n, outputs)
        Training targets.
    n_probes : int, default=30
        Gaussian probes; each takes two fits of the search, and two fits of the chosen models
        where the choices differ.
    eps : "auto", float or array-like, default="auto"
        Step. "auto" is half of that of :func:`monte_carlo_dof`. A choice from a grid jumps, so a
        smaller step has less bias and a larger standard error. Where no probe changes the choice
        a :class:`~negcorr.exceptions.StepSizeWarning` says that larger steps may find an excess.
    sample_weight, random_state, n_jobs, progress
        As in :func:`monte_carlo_dof`.

    Returns
    -------
    ExcessOptimism

    Notes
    -----
    With s± the choices for y ± εb and F_s the fit of a choice, each probe compares the two
    choices on the same targets,

    .. math:: \frac{1}{4\epsilon}\, b^\top \bigl[F_{s_+}(y + \epsilon b) +
              F_{s_+}(y - \epsilon b) - F_{s_-}(y + \epsilon b) - F_{s_-}(y - \epsilon b)\bigr],

    so that only the effect of the choice remains. Folds by content depend on x alone here, and
    unset random states are set once, so the choice can differ a little from that of another fit.

    References
    ----------
    R. J. Tibshirani and S. Rosset, "Excess optimism: how biased is the apparent error of an
    estimator tuned by SURE?", JASA 114 (2019).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor, excess_optimism
    >>> from negcorr.bases import FourierFeatures
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(FourierFeatures(20), criterion="sure")
    >>> found = excess_optimism(model, X, y, n_probes=20, random_state=0)
    >>> print(f"{found.dof_at_choice:.1f} at the chosen lam, {found.excess:.1f} for the search")
    22.1 at the chosen lam, 0.3 for the search
    """
    check_positive_int("n_probes", n_probes)
    refit = Refit.of(estimator, X, y, sample_weight, "shared")
    _check_searches(estimator)
    rng = check_random_state(random_state)
    search = seeded(estimator, int(rng.randint(2**31)))
    step = choose_step(eps, refit) * (STEP_SHARE if isinstance(eps, str) else 1.0)
    chosen, choice, _ = _searched(search, refit, refit.y)
    stream = np.random.default_rng(int(rng.randint(2**31)))
    source = ProbeSource(refit, "gaussian", False, stream, stream)
    jobs = Parallel(n_jobs=n_jobs, return_as="generator")
    by_probe = []
    with progress_bar(progress, n_probes, "excess optimism") as advance:
        vectors = [direction.vector for direction in source.draw(n_probes)]
        for value in jobs(delayed(_moved_choice)(search, refit, v, step) for v in vectors):
            advance()
            by_probe.append(value)
    values = np.array(by_probe)
    # A search that is known to have one point cannot choose another.
    alphas = getattr(search, "alphas", None)
    n_points = 0 if alphas is None else np.size(alphas)
    if hasattr(search, "param_grid"):
        n_points = len(ParameterGrid(search.param_grid))
    if n_points != 1 and not values.any():
        warn_caller(
            f"the choice {choice} was the same in all {n_probes} probes, so the excess is 0 as far "
            f"as steps of eps={', '.join(f'{e:.4g}' for e in step)} can tell; with a coarse grid, "
            "steps up to the noise's standard deviation tell more.",
            StepSizeWarning,
        )
    given = {"eps": eps, "n_probes": n_probes, "sample_weight": sample_weight, "n_jobs": n_jobs}
    at_choice = degrees_of_freedom(chosen, X, y, random_state=rng, **given)
    excess = values.mean(axis=0)
    shaped = refit.in_shape_of_y
    return ExcessOptimism(
        dof=shaped(np.atleast_1d(at_choice.dof) + excess),
        dof_at_choice=at_choice.dof,
        excess=shaped(excess),
        std_error=shaped(sample_deviation(values) / np.sqrt(n_probes)),
        choice=choice,
        at_choice=at_choice,
        values=shaped(values),
        eps=shaped(step),
    )


def _moved_choice(search: Any, refit: Refit, vector: FloatArray, step: FloatArray) -> FloatArray:
    """The excess by one probe, shape (outputs,)."""
    ahead, behind = refit.y + step * vector, refit.y - step * vector
    first, first_choice, first_ahead = _searched(search, refit, ahead)
    second, second_choice, second_behind = _searched(search, refit, behind)
    if repr(first_choice) == repr(second_choice):
        return np.zeros(refit.y.shape[1])
    first_behind = _fitted(first, refit, behind)[1]
    second_ahead = _fitted(second, refit, ahead)[1]
    change = first_ahead + first_behind - second_ahead - second_behind
    return np.asarray(np.einsum("nj,nj->j", vector, change) / (4.0 * step))


def _searched(search: Any, refit: Refit, y: FloatArray) -> tuple[Any, dict[str, Any], FloatArray]:
    """The chosen model for these targets, not fitted; its parameters; fitted values."""
    fitted, values = _fitted(search, refit, y)
    return (*_chosen(fitted, search), values)


def _fitted(estimator: Any, refit: Refit, y: FloatArray) -> tuple[Any, FloatArray]:
    """A fitted clone, and its predictions of shape (n, outputs)."""
    model = clone(estimator)
    model.fit(own_copy(refit.X), refit.in_shape_of_y(y), **fit_arguments(model, refit.weight))
    return model, np.asarray(model.predict(own_copy(refit.X)), dtype=np.float64).reshape(y.shape)


def _chosen(fitted: Any, search: Any) -> tuple[Any, dict[str, Any]]:
    """The model that a search chose, as an estimator that does not search; and the choice."""
    if isinstance(search, Pipeline):
        name, last = search.steps[-1]
        inner, choice = _chosen(fitted.steps[-1][1], last)
        return clone(search).set_params(**{name: inner}), choice
    if isinstance(search, NCLRegressor):
        return clone(search).set_params(gap=fitted.gap_), {"lam": fitted.lam_, "gap": fitted.gap_}
    if type(search) in _WITHOUT_SEARCH:
        kind, wanted = _WITHOUT_SEARCH[type(search)]
        found = {name: getattr(fitted, f"{name}_") for name in wanted}
        choice = {k: v.item() if isinstance(v, np.generic) else v for k, v in found.items()}
        # Precomputed Gram matrices are given in another form there.
        shared = set(kind().get_params()) & set(search.get_params()) - {*choice, "precompute"}
        return kind(**choice, **{name: getattr(search, name) for name in shared}), choice
    if not hasattr(fitted, "best_params_"):
        raise _not_a_search(search)
    return clone(search.estimator).set_params(**fitted.best_params_), dict(fitted.best_params_)


def _check_searches(estimator: Any) -> None:
    """Raise unless the estimator makes a choice that depends on y, in a way known here."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, NCLRegressor):
        if not (isinstance(last.lam, str) and last.gap is None):
            advice = "give lam='auto', not lam or gap"
            raise ValueError(f"estimator={estimator!r} does not search: {advice}.")
    elif not getattr(last, "refit", True):
        raise ValueError(f"estimator={estimator!r} cannot predict: a search needs refit=True.")
    # Whether an estimator that contains another one is a search is only known after its fit.
    elif not hasattr(last, "estimator") and type(last) not in _WITHOUT_SEARCH:
        raise _not_a_search(estimator)


def _not_a_search(estimator: Any) -> TypeError:
    return TypeError(
        f"estimator={estimator!r} must be an NCLRegressor(lam='auto'), a search object with "
        "best_params_, a RidgeCV, LassoCV or ElasticNetCV, or a pipeline that ends in one: "
        "something that chooses by looking at y."
    )


#: Estimators that search by themselves: their class without a search, and what they choose.
_WITHOUT_SEARCH: dict[type, tuple[type, tuple[str, ...]]] = {
    ElasticNetCV: (ElasticNet, ("alpha", "l1_ratio")),
    LassoCV: (Lasso, ("alpha",)),
    RidgeCV: (Ridge, ("alpha",)),
}
