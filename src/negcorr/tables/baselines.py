"""What other methods predict from the same features: mean, ridge regression, forest, boosting."""

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

from negcorr._common.types import AnyArray
from negcorr.bases.input_maps import fit_input_map
from negcorr.columns.samples import Samples
from negcorr.tables.comparison import Result

__all__ = ["BASELINES", "check_baselines", "dense", "fit_baselines"]

#: Names of the methods, in the order of the table.
BASELINES = ("mean", "ridge", "random forest", "gradient boosting")


def fit_baselines(
    names: Sequence[str],
    encoder: Any,
    known: Samples,
    new: AnyArray,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    tell: Callable[[str], None] | None = None,
) -> list[Result]:
    """Fit other methods, and predict with them.

    Parameters
    ----------
    names : sequence of str
        Of :data:`BASELINES`.
    encoder : transformer
        Fitted, from inputs to features.
    known : Samples
        Rows to fit to.
    new : {ndarray, sparse matrix} of shape (n, q)
        Features of the rows to predict.
    seed, n_jobs : int
        Seed and number of threads.
    tell : callable, optional
        Called with a few words before each fit.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.columns.samples import Samples
    >>> from negcorr.tables.baselines import fit_baselines
    >>> from negcorr.columns.frame_encoder import FrameEncoder
    >>> X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    >>> rows, encoder = Samples(X, y, None, None, np.arange(6)), FrameEncoder().fit(X)
    >>> fit_baselines(["mean"], encoder, rows, encoder.transform(X[:1]))[0].predicted
    array([2.5])
    """
    single = known.y.ndim == 1
    boosting = HistGradientBoostingRegressor(random_state=seed)
    models: dict[str, Any] = {
        "mean": DummyRegressor(),
        # Scaled features have unit variance, so this spans least squares to the mean.
        "ridge": RidgeCV(alphas=np.logspace(-3.0, 6.0, 28), alpha_per_target=not single),
        "random forest": RandomForestRegressor(random_state=seed, n_jobs=n_jobs),
        "gradient boosting": boosting if single else MultiOutputRegressor(boosting),
    }
    given = {} if known.weight is None else {"sample_weight": known.weight}
    features, new = dense(encoder.transform(known.inputs)) if names else None, dense(new)
    results = []
    for name in names:
        if tell is not None:
            tell(f"fitting {name}")
        # Boosting takes every core it finds, and has no parameter for that. Its threads wait for
        # each other often: if other programs use a core too, it takes minutes instead of seconds.
        # So it gets half of the threads.
        limit = max(n_jobs // 2, 1) if name == "gradient boosting" else n_jobs
        start = time.perf_counter()
        X, rows = features, new
        if name == "ridge":
            scaled = fit_input_map("standard", features, known.weight)
            X, rows = scaled(features), scaled(new)
        with threadpool_limits(limits=limit):
            model = models[name].fit(X, known.y, **given)
        seconds = time.perf_counter() - start
        results.append(Result(name, model.predict(rows), None, seconds))
    return results


def check_baselines(names: Sequence[str]) -> None:
    """Raise an error if one of the names is not in :data:`BASELINES`."""
    unknown = [name for name in names if name not in BASELINES]
    if unknown:
        allowed = ", ".join(map(repr, BASELINES))
        raise ValueError(f"baselines={unknown[0]!r} is unknown; allowed are {allowed}.")


def dense(features: Any) -> AnyArray:
    """Features as an array, for methods that take no sparse ones."""
    return features.toarray() if sp.issparse(features) else np.asarray(features)
