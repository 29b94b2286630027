"""What people would use instead of negcorr, each tuned on the training rows alone.

``RIVALS`` maps a name to a function of (training rows, inputs, outputs, seed) that returns an
estimator; ``accuracy.py`` fits it to standardised outputs. All outputs weigh the same in every
search, whose error is the mean over outputs:

random forest, extra trees
    200 trees. ``max_features`` 1 or ⅓ and ``min_samples_leaf`` 1 or 5 are searched by 3 folds with
    50 trees on at most 4000 rows.
gradient boosting
    Histogram boosting, 300 iterations, one model for each output, with leaves of at least 20 rows
    or a twentieth of them, whichever is less. ``learning_rate`` 0.03 or 0.1 and
    ``max_leaf_nodes`` 8 or 31, the same for all outputs, are searched by 3 folds on at most 4000
    rows. From six outputs on, the search has half the iterations at twice the learning rate, which
    comes to nearly the same steps in half the time, and at most 3000 rows.
kernel ridge
    Gaussian kernel on standardised inputs. Six ``gamma`` around 1/inputs and five ``alpha`` are
    searched by 5 folds on at most 3000 rows.
ridge
    Standardised inputs; 41 ``alpha`` by exact leave-one-out, for each output its own.
bagged MLPs
    Ten networks with two layers of 64 on bootstrap samples of standardised inputs, with early
    stopping from 500 rows on. Nothing is searched.

After a search the model is fitted to all training rows with what was best. The untuned random
forest is only the yardstick of fit times: it has no rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["RIVALS", "YARDSTICK", "Factory", "Tuned"]

#: From (training rows, inputs, outputs, seed) to an estimator.
Factory = Callable[[int, int, int, int], Any]

#: Times are compared with those of this method, which has no rank.
YARDSTICK = "random forest, untuned"

#: From this many outputs on, boosting is searched with fewer iterations and rows.
MANY_OUTPUTS = 6


class Tuned(RegressorMixin, BaseEstimator):
    """A grid search on some of the rows, and a fit to all of them with what was best.

    Parameters
    ----------
    model : estimator
        What is fitted in the end.
    grid : mapping
        Parameters to try, by name.
    folds : int
        Folds of the search.
    most_rows : int
        Rows that the search uses, chosen at random.
    seed : int
        Of the choice of rows and of the folds.
    in_search : mapping, optional
        Parameters that the model has during the search only.
    in_fit : mapping, optional
        From the name of a searched parameter to the factor by which the fit takes more of it.

    Attributes
    ----------
    model_ : estimator
        Fitted to all rows.
    best_params_ : dict
        What the search chose.
    """

    def __init__(
        self,
        model: Any,
        grid: Mapping[str, Any],
        folds: int,
        most_rows: int,
        seed: int = 0,
        in_search: Mapping[str, Any] | None = None,
        in_fit: Mapping[str, float] | None = None,
    ) -> None:
        self.model = model
        self.grid = grid
        self.folds = folds
        self.most_rows = most_rows
        self.seed = seed
        self.in_search = in_search
        self.in_fit = in_fit

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Search on some rows, fit to all."""
        rows = np.arange(len(X))
        if len(X) > self.most_rows:
            rows = np.random.default_rng(self.seed).choice(len(X), self.most_rows, replace=False)
        search = GridSearchCV(
            clone(self.model).set_params(**(self.in_search or {})),
            dict(self.grid),
            cv=KFold(self.folds, shuffle=True, random_state=self.seed),
            scoring="neg_mean_squared_error",
            refit=False,
        ).fit(X[rows], y[rows])
        factors = self.in_fit or {}
        self.best_params_ = {
            name: value * factors[name] if name in factors else value
            for name, value in search.best_params_.items()
        }
        self.model_ = clone(self.model).set_params(**self.best_params_).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Of the model that was fitted to all rows."""
        return self.model_.predict(X)


class Network(MLPRegressor):
    """A network that drops rows of weight zero before it makes batches.

    Bagging gives a bootstrap sample as weights (scikit-learn 1.7 or later). A last batch of few
    rows may have none of positive weight, and then the fit ends in a division by zero.
    """

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """With rows of positive weight only."""
        if sample_weight is None:
            return super().fit(X, y)
        keep = sample_weight > 0
        return super().fit(X[keep], y[keep], sample_weight=sample_weight[keep])


def trees(model: Any, seed: int) -> Tuned:
    """A forest with its grid; the search has a quarter of the trees."""
    grid = {"max_features": [1.0, 1 / 3], "min_samples_leaf": [1, 5]}
    return Tuned(model, grid, 3, 4000, seed, in_search={"n_estimators": 50})


def random_forest(n: int, d: int, k: int, seed: int) -> Tuned:
    return trees(RandomForestRegressor(200, random_state=seed), seed)


def extra_trees(n: int, d: int, k: int, seed: int) -> Tuned:
    return trees(ExtraTreesRegressor(200, random_state=seed), seed)


def boosting(n: int, d: int, k: int, seed: int) -> Tuned:
    model = HistGradientBoostingRegressor(
        max_iter=300,
        min_samples_leaf=min(20, max(1, n // 20)),
        early_stopping=False,
        random_state=seed,
    )
    rates, leaves = np.array([0.03, 0.1]), [8, 31]
    if k == 1:
        return Tuned(model, {"learning_rate": rates, "max_leaf_nodes": leaves}, 3, 4000, seed)
    several = MultiOutputRegressor(model)
    rate, leaf = "estimator__learning_rate", "estimator__max_leaf_nodes"
    if k < MANY_OUTPUTS:
        return Tuned(several, {rate: rates, leaf: leaves}, 3, 4000, seed)
    return Tuned(
        several,
        {rate: 2 * rates, leaf: leaves},
        3,
        3000,
        seed,
        in_search={"estimator__max_iter": 150},
        in_fit={rate: 0.5},
    )


def kernel_ridge(n: int, d: int, k: int, seed: int) -> Any:
    grid = {
        "gamma": np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0]) / d,
        "alpha": np.logspace(-4, 0, 5),
    }
    return make_pipeline(StandardScaler(), Tuned(KernelRidge(kernel="rbf"), grid, 5, 3000, seed))


def ridge(n: int, d: int, k: int, seed: int) -> Any:
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 6, 41), alpha_per_target=k > 1))


def networks(n: int, d: int, k: int, seed: int) -> Any:
    network = Network(
        hidden_layer_sizes=(64, 64), max_iter=500, early_stopping=n >= 500, random_state=seed
    )
    return make_pipeline(StandardScaler(), BaggingRegressor(network, 10, random_state=seed))


def untuned_forest(n: int, d: int, k: int, seed: int) -> RandomForestRegressor:
    return RandomForestRegressor(200, n_jobs=2, random_state=seed)


RIVALS: dict[str, Factory] = {
    "random forest": random_forest,
    "extra trees": extra_trees,
    "gradient boosting": boosting,
    "kernel ridge": kernel_ridge,
    "ridge": ridge,
    "bagged MLPs": networks,
    YARDSTICK: untuned_forest,
}
