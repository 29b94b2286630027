"""SURESearch: a grid search without held-out data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from negcorr._common.progress import progress_bar
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import is_number
from negcorr.criteria.closed_form import sure
from negcorr.dof.common_seeds import seeded
from negcorr.dof.degrees import METHODS, closed_form
from negcorr.dof.monte_carlo.estimate import check_options, monte_carlo_dof
from negcorr.dof.monte_carlo.refits import Refit, check_regressor, fit_arguments, is_estimator
from negcorr.dof.monte_carlo.step_size import choose_step
from negcorr.exceptions import NotLinearError
from negcorr.optimism.scores import check_noise_variance, training_error

__all__ = ["SURESearch"]


def _chosen_has(name: str) -> Any:
    """A check for ``available_if``: whether the chosen estimator has a method of this name."""

    def check(self: SURESearch) -> bool:
        if not self.refit:
            raise AttributeError(f"{name} needs refit=True; this search has refit={self.refit}.")
        inner = getattr(self, "best_estimator_", self.estimator)
        getattr(inner, name)  # its AttributeError has the best message
        return True

    return check


class SURESearch(MetaEstimatorMixin, BaseEstimator):
    r"""Search over a grid of parameters by Stein's unbiased risk estimate.

    Chooses the point with the smallest :math:`R_\mathrm{emp} + \sigma^2(2\,\mathrm{df}/n - 1)`
    (Definition 2), with exact degrees of freedom where the estimator has a closed form and
    Monte-Carlo ones elsewhere. All rows are used for training; none are held out. A point takes
    one fit where dof is exact (transformers before it in a pipeline are fitted a few times, to
    test that they do not use y), two with one forward probe, against K for K-fold
    cross-validation.

    Parameters
    ----------
    estimator : regressor
        Cloned for every point.
    param_grid : dict or list of dict
        Parameters and their values, as in scikit-learn's GridSearchCV.
    noise_variance : float, array-like of shape (outputs,) or "difference", default="difference"
        σ², known or from differences of nearest neighbours. The latter needs a table of numbers
        and tends to be too large, which favours simple models.
    method : {"auto", "exact", "monte-carlo"}, default="auto"
        How the degrees of freedom are computed.
    n_probes : int, default=1
        Probes per point, the same for all points, so that part of their random error cancels in
        comparisons. One probe takes the fewest fits; more probes make the choice less random.
    probe : {"rademacher", "gaussian"}, default="rademacher"
        Entries of a probe.
    scheme : {"forward", "central"}, default="forward"
        Finite difference; "central" takes two fits per probe in addition to the scored one.
    eps : "auto", float or array-like, default="auto"
        Step of the probes.
    refit : bool, default=True
        Fit the chosen point to all rows, for ``predict``.
    error_score : "raise" or float, default="raise"
        "raise" raises the error of a failed fit. A number is used as the SURE of its point, with a
        ``FitFailedWarning``; NaN ranks last.
    random_state : int, RandomState or None, default=None
        Seed of the probes and of unset random states, the same at every point.
    n_jobs : int, optional
        Number of points that are computed in parallel, through joblib.
    progress : bool or callback, default=False
        Show a progress bar.

    Attributes
    ----------
    best_params_ : dict
        The chosen point.
    best_estimator_ : estimator
        Fitted to all rows; with ``refit``. It is the model that was scored: its unset random
        states were set from ``random_state``.
    best_score_ : float
        Minus the smallest SURE: larger is better, as in scikit-learn.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        One entry a point, ready for ``pandas.DataFrame``: ``params``, ``param_*``, ``sure``,
        ``sure_std_error`` (from the probes alone), ``train_error``, ``dof``,
        ``dof_std_error`` (``train_error_0`` and so on for several outputs), ``method``,
        ``n_fits``, ``fit_time``, ``rank_sure``, and
        ``mean_test_score`` (minus SURE) with ``rank_test_score`` for code written for
        GridSearchCV. None of it is from held-out data.
    noise_variance_ : float or ndarray of shape (outputs,)
        σ² that was used.
    n_fits_ : int
        Fits in the search, without the refit.
    refit_time_ : float
        Seconds of the refit.
    n_features_in_ : int
        Number of input columns.

    Notes
    -----
    SURE estimates the error at the *training* inputs. Where new inputs lie outside the training
    cloud, use held-out data; :func:`random_x_dof` measures the difference. The minimum of SURE is
    itself too low, see :func:`excess_optimism`. With several outputs one point is chosen for
    all, by the mean of SURE over the variance of each output.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from negcorr import SURESearch
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"alpha": [0.01, 0.1, 1.0], "gamma": [0.3, 1.0, 3.0]}
    >>> search = SURESearch(KernelRidge(kernel="rbf"), grid).fit(X, y)
    >>> search.best_params_, search.n_fits_
    ({'alpha': 0.01, 'gamma': 1.0}, 9)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        noise_variance: Any = "difference",
        method: Literal["auto", "exact", "monte-carlo"] = "auto",
        n_probes: int = 1,
        probe: Literal["rademacher", "gaussian"] = "rademacher",
        scheme: Literal["forward", "central"] = "forward",
        eps: Any = "auto",
        refit: bool = True,
        error_score: float | Literal["raise"] = "raise",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = False,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.noise_variance = noise_variance
        self.method = method
        self.n_probes = n_probes
        self.probe = probe
        self.scheme = scheme
        self.eps = eps
        self.refit = refit
        self.error_score = error_score
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Score every point of the grid and fit the best.

        Parameters
        ----------
        X : table of shape (n, d)
            Inputs.
        y : array-like of shape (n,) or (n, outputs)
            Targets.
        sample_weight : array-like of shape (n,), optional
            Frequencies, handed to the estimator.

        Returns
        -------
        self
        """
        grid, penalty = self._checked_settings()
        if y is None:
            raise ValueError("SURESearch requires y to be passed, but the target y is None.")
        refit = Refit.of(self.estimator, X, y, sample_weight, "shared")
        variance = check_noise_variance(self.noise_variance, X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31))
        options = {name: getattr(self, name) for name in ("n_probes", "probe", "scheme")}
        options |= {"eps": choose_step(self.eps, refit), "random_state": seed}
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        points: list[GridPoint | Exception] = []
        with progress_bar(self.progress, len(grid), "SURE search") as advance:
            score = partial(delayed(score_point), self.estimator)
            calls = (score(params, refit, self.method, options, seed) for params in grid)
            for params, point in zip(grid, jobs(calls), strict=True):
                advance()
                points.append(point)
                if not isinstance(point, Exception):
                    continue
                if penalty is None:
                    advice = "give error_score a number to go on without it"
                    point.add_note(f"in the fit at {params}; {advice}")
                    raise point
                counts = f"the fit at {params} counts with a SURE of {penalty}"
                text = f"{counts}; it failed with {type(point).__name__}: {point}"
                warnings.warn(text, FitFailedWarning, stacklevel=2)
        if all(isinstance(point, Exception) for point in points):
            raise ValueError(f"all {len(grid)} points of param_grid failed; see the warnings.")
        results = results_table(grid, points, refit, variance, penalty)
        best = int(np.argmin(results["rank_sure"]))
        start = time.perf_counter()
        # The model that was scored, with the same seeds.
        fitted: Any = seeded(at_point(self.estimator, grid[best]), seed)
        if self.refit:
            fitted.fit(X, y, **fit_arguments(fitted, refit.weight))
        # Attributes are set last: a refit that fails leaves the fitted search as it was.
        for name in ("best_estimator_", "refit_time_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if self.refit:
            self.best_estimator_ = fitted
            self.refit_time_ = time.perf_counter() - start
        self.cv_results_ = results
        self.best_index_ = best
        self.best_params_ = grid[best]
        self.best_score_ = -float(results["sure"][best])
        self.noise_variance_ = refit.in_shape_of_y(variance)
        self.n_fits_ = int(results["n_fits"].sum())
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of input columns of the chosen estimator."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("SURESearch has n_features_in_ once it is fitted with refit=True.")
        return int(self.best_estimator_.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_params_")

    @available_if(_chosen_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Table) -> AnyArray:
        """Predictions of the chosen estimator, shape (n,) or (n, outputs)."""
        return np.asarray(self._best("predict").predict(X))

    @available_if(_chosen_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Table, y: Any) -> float:
        """The chosen estimator's own score, R² for regressors."""
        return float(self._best("score").score(X, y))

    @available_if(_chosen_has("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Table) -> AnyArray:
        """X transformed by the chosen estimator, if it transforms."""
        return np.asarray(self._best("transform").transform(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not hasattr(self.estimator, "__sklearn_tags__"):
            return tags
        inner = get_tags(self.estimator)
        for name in ("estimator_type", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags

    def _best(self, method: str) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{method} needs refit=True when the search is fitted.")
        return self.best_estimator_

    def _checked_settings(self) -> tuple[list[dict[str, Any]], float | None]:
        """The points of the grid, and SURE of a point that failed, None to raise."""
        check_regressor(self.estimator)
        if not is_estimator(self.estimator):
            raise TypeError(f"estimator={self.estimator!r} must be a regressor with set_params.")
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} is unknown; allowed are {METHODS}.")
        check_options(self.n_probes, self.probe, self.scheme)
        score: Any = self.error_score
        penalty = float(score) if is_number(score) else None
        if penalty is None and not (isinstance(score, str) and score == "raise"):
            kind = ValueError if isinstance(score, str) else TypeError
            raise kind(f"error_score={score!r} must be 'raise' or a number.")
        if not isinstance(self.param_grid, (Mapping, list, tuple)):
            raise TypeError(f"param_grid={self.param_grid!r} must be a dict or a list of dicts.")
        grid = list(ParameterGrid(self.param_grid))
        if not grid:
            raise ValueError(f"param_grid={self.param_grid!r} has no points.")
        return grid, penalty


@dataclass(frozen=True)
class GridPoint:
    """Training error and degrees of freedom at one point of a grid.

    Attributes
    ----------
    train_error, dof, dof_std_error : ndarray of shape (outputs,)
    method : str
        "exact", "monte-carlo" or "failed".
    n_fits : int
    seconds : float
    """

    train_error: FloatArray
    dof: FloatArray
    dof_std_error: FloatArray
    method: str
    n_fits: int
    seconds: float


def at_point(estimator: Any, params: dict[str, Any]) -> Any:
    """A clone with the parameters of a point."""
    # Values are cloned too: an estimator in the grid must not be shared between points.
    return clone(estimator).set_params(**clone(params, safe=False))


def score_point(
    estimator: Any,
    params: dict[str, Any],
    refit: Refit,
    method: str,
    options: dict[str, Any],
    seed: int,
) -> GridPoint | Exception:
    """Training error and dof at one point; the error, if a fit fails."""
    start = time.perf_counter()
    target = refit.target
    try:
        point = seeded(at_point(estimator, params), seed)
        here = Refit.of(point, refit.X, target, refit.weight, "shared")
        if method != "monte-carlo":
            try:
                smoother = closed_form(here, seed)
            except NotLinearError:
                if method == "exact":
                    raise
            else:
                error = training_error(smoother.predict(refit.X), target, refit.weight)
                seconds = time.perf_counter() - start
                return GridPoint(error, smoother.dof, np.zeros(len(error)), "exact", 1, seconds)
        run = monte_carlo_dof(point, refit.X, target, sample_weight=refit.weight, **options)
        fitted, extra = run.fitted, 0
        if fitted is None:
            fitted, extra = here(refit.y, seed), 1
        error = training_error(fitted, target, refit.weight)
    except Exception as failure:
        return failure
    dof, dof_error = np.atleast_1d(run.dof), np.atleast_1d(run.std_error)
    seconds = time.perf_counter() - start
    return GridPoint(error, dof, dof_error, "monte-carlo", run.n_fits + extra, seconds)


def results_table(
    grid: list[dict[str, Any]],
    points: list[GridPoint | Exception],
    refit: Refit,
    variance: FloatArray,
    penalty: float | None,
) -> dict[str, Any]:
    """Columns with one entry a point, as GridSearchCV's ``cv_results_``."""
    # Outputs in their own units cannot be averaged; for one output the unit stays. Constant
    # outputs, which every point fits, are left out.
    units = np.ones(1)
    if not refit.single_output:
        mean = np.average(refit.y, axis=0, weights=refit.weight)
        units = np.average((refit.y - mean) ** 2, axis=0, weights=refit.weight)
        units[units <= 1e-24 * mean**2] = np.inf if (units > 1e-24 * mean**2).any() else 1.0
    nan = np.full(len(units), np.nan)
    failed = np.array([isinstance(point, Exception) for point in points])
    none = GridPoint(nan, nan, nan, "failed", 0, np.nan)
    known = [none if isinstance(point, Exception) else point for point in points]
    names = ("train_error", "dof", "dof_std_error")
    per_output = {name: np.array([getattr(point, name) for point in known]) for name in names}
    n = refit.n_samples
    risk = sure(per_output["train_error"], per_output["dof"], n, variance)
    spread = 2.0 * variance / n * per_output["dof_std_error"] / units
    scores = np.mean(risk / units, axis=1)
    scores[failed] = np.nan if penalty is None else penalty
    results: dict[str, Any] = {"params": grid}
    for name in sorted({key for params in grid for key in params}):
        column: Any = np.ma.MaskedArray(np.empty(len(grid), dtype=object), mask=True)
        for i, params in enumerate(grid):
            if name in params:
                column[i] = params[name]
        results[f"param_{name}"] = column
    results["sure"] = scores
    results["sure_std_error"] = np.sqrt(np.sum(spread**2, axis=1)) / len(units)
    # Tables have no third axis: columns are numbered where there are several outputs.
    for name, array in per_output.items():
        for j, column in enumerate(array.T):
            results[name if len(units) == 1 else f"{name}_{j}"] = column
    for name, field in (("method", "method"), ("n_fits", "n_fits"), ("fit_time", "seconds")):
        results[name] = np.array([getattr(point, field) for point in known])
    ranked = np.where(np.isnan(scores), np.inf, scores)
    ranks = np.searchsorted(np.sort(ranked), ranked).astype(np.int32) + 1
    return results | {"rank_sure": ranks, "mean_test_score": -scores, "rank_test_score": ranks}
