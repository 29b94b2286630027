"""What others predict from the same features: the mean, ridge regression, forest, boosting."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.multioutput import MultiOutputRegressor
from threadpoolctl import threadpool_limits

from negcorr._common.types import AnyArray, FloatArray

__all__ = ["BASELINES", "check_baselines", "dense", "fit_baseline"]


def _mean(seed: int, n_jobs: int, single: bool) -> Any:
    return DummyRegressor()


def _ridge(seed: int, n_jobs: int, single: bool) -> Any:
    # Features have about unit variance, so this spans least squares to the mean.
    return RidgeCV(alphas=np.logspace(-3.0, 6.0, 28), alpha_per_target=not single)


def _forest(seed: int, n_jobs: int, single: bool) -> Any:
    return RandomForestRegressor(random_state=seed, n_jobs=n_jobs)


def _boosting(seed: int, n_jobs: int, single: bool) -> Any:
    model = HistGradientBoostingRegressor(random_state=seed)
    return model if single else MultiOutputRegressor(model)


#: Rivals by name, in the order of the table.
BASELINES: dict[str, Callable[[int, int, bool], Any]] = {
    "mean": _mean,
    "ridge": _ridge,
    "random forest": _forest,
    "gradient boosting": _boosting,
}


def fit_baseline(
    name: str,
    features: AnyArray,
    y: FloatArray,
    weight: FloatArray | None = None,
    *,
    seed: int = 0,
    n_jobs: int = 1,
) -> tuple[Any, float]:
    """A fitted rival, and the seconds that its fit took.

    Parameters
    ----------
    name : str
        One of :data:`BASELINES`.
    features : ndarray of shape (n, q)
        Dense.
    y : ndarray of shape (n,) or (n, outputs)
    weight : ndarray of shape (n,), optional
    seed, n_jobs : int
        Seed and number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.tables.baselines import fit_baseline
    >>> X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    >>> fit_baseline("mean", X, y)[0].predict(X[:1])
    array([2.5])
    """
    model = BASELINES[name](seed, n_jobs, y.ndim == 1)
    given = {} if weight is None else {"sample_weight": weight}
    start = time.perf_counter()
    # Boosting takes every core it finds, and has no parameter for that. Its threads wait for each
    # other so often that it takes minutes for seconds where others need a core too: half will do.
    with threadpool_limits(limits=max(n_jobs // 2, 1) if name == "gradient boosting" else n_jobs):
        model.fit(features, y, **given)
    return model, time.perf_counter() - start


def check_baselines(names: Sequence[str]) -> None:
    """Raise where a name is none of a rival."""
    unknown = [name for name in names if name not in BASELINES]
    if unknown:
        allowed = ", ".join(map(repr, BASELINES))
        raise ValueError(f"baselines={unknown[0]!r} is unknown; allowed are {allowed}.")


def dense(features: Any) -> AnyArray:
    """Features as an array, for those who take no sparse ones."""
    return features.toarray() if sp.issparse(features) else np.asarray(features)
