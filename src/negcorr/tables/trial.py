"""try_out: an ensemble compared with other methods on held-out rows, and fitted to all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from negcorr._common.types import FloatArray, IntArray
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.samples import Samples, samples
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import TableError
from negcorr.reading.schema import Schema
from negcorr.tables.baselines import BASELINES, check_baselines, fit_baselines
from negcorr.tables.comparison import OURS, Comparison, Result, scored
from negcorr.tables.fingerprint import Fingerprint
from negcorr.tables.splitting import check_held_out, folds_for, hold_out

__all__ = ["Trial", "compare", "fitted_to", "predicted_by", "try_out"]

#: Share of new values that intervals are made to cover.
COVERAGE = 0.95


@dataclass(frozen=True, eq=False)
class Trial:
    """An estimator tried on held-out rows, and the same fitted to all rows.

    Attributes
    ----------
    schema : Schema
        What the columns are for.
    tried : estimator
        Fitted without the held-out rows; what the comparison is about.
    model : estimator
        Fitted to all rows, or ``tried`` itself where that was not asked for.
    test : Samples
        The held-out rows, as ``tried`` takes them.
    predicted : ndarray of shape (n,) or (n, outputs)
        Predictions of ``tried`` for them.
    comparison : Comparison
        With other methods, on the held-out rows.
    seen : Fingerprint
        Of the rows that ``model`` was fitted to.
    notes : tuple of str
        What was done with a part of the rows only, where the table was too large.
    """

    schema: Schema
    tried: Any
    model: Any
    test: Samples
    predicted: FloatArray
    comparison: Comparison
    seen: Fingerprint
    notes: tuple[str, ...] = ()

    @property
    def refitted(self) -> bool:
        """Whether the model has seen more rows than the one that was tried."""
        return self.model is not self.tried

    @property
    def n_rows(self) -> int:
        """Rows that ``model`` was fitted to."""
        return self.seen.n_rows


def try_out(
    frame: Any,
    schema: Schema,
    *,
    test: Any = None,
    split: tuple[IntArray, IntArray] | None = None,
    test_size: float = 0.2,
    seed: int = 0,
    baselines: Sequence[str] = BASELINES,
    n_jobs: int = 1,
    estimator: Any = None,
    parameters: Mapping[str, Any] | None = None,
    refit: bool = True,
    tell: Callable[[str], None] | None = None,
) -> Trial:
    """Fit NCL and other methods, compare them on rows that none has seen, and fit NCL to all rows.

    Parameters
    ----------
    frame : pandas.DataFrame
    schema : Schema
        What its columns are for.
    test : pandas.DataFrame, optional
        Rows for the comparison. ``frame`` is then fitted as a whole and nothing is refitted.
    split : tuple of two ndarray of int, optional
        Positions of the rows to fit on and of those to hold out, by default those of
        :func:`~negcorr.tables.hold_out`.
    test_size, seed
        As in :func:`~negcorr.tables.hold_out`; the seed is that of the methods too.
    baselines : sequence of str
        Of "mean", "ridge" (its penalty by cross-validation), "random forest" and "gradient
        boosting" (scikit-learn's defaults). They get the columns as the ensemble encodes them, and
        ridge regression gets them scaled.
    n_jobs : int, default=1
        Threads of forest and boosting.
    estimator : regressor, optional
        Unfitted, takes data frames; by default an :class:`~negcorr.NCLRegressor` with the folds of
        :func:`~negcorr.tables.folds_for`, which one of your own needs too where there are groups.
    parameters : mapping, optional
        Of the default estimator.
    refit : bool, default=True
        Whether a model is fitted to all rows, held-out ones too.
    tell : callable, optional
        Called with a few words before each step.

    Returns
    -------
    Trial

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from negcorr.tables import infer_columns, try_out
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"x": rng.normal(size=400)})
    >>> frame["y"] = np.sin(2 * frame["x"]) + 0.1 * rng.normal(size=400)
    >>> found = try_out(frame, infer_columns(frame, "y"), baselines=["mean", "ridge"])
    >>> found.n_rows, found.comparison.n_train, found.comparison.n_test
    (400, 320, 80)
    """
    check_baselines(baselines)
    if test is None:
        if split is None:
            split = hold_out(frame, schema, test_size=test_size, seed=seed)
        known, held = (samples(frame, schema, rows, typed=True) for rows in split)
    else:
        known, held = samples(frame, schema), samples(test, schema)
        if len(held.positions) < 2:
            n = len(held.positions)
            needed = "2 at least are needed"
            raise TableError(f"{n} of the rows for testing have their targets; {needed}.")
    check_held_out(held, schema)
    settings = {"random_state": seed, **(parameters or {})}
    say = tell if tell is not None else lambda words: None
    say("fitting NCL")
    start = time.perf_counter()
    tried = fitted_to(_unfitted(estimator, known, frame, schema, settings), known)
    seconds = time.perf_counter() - start
    ours, interval = predicted_by(tried, held.inputs)
    results = [Result(OURS, ours, interval, seconds)]
    if baselines:
        encoder = FrameEncoder().fit(known.inputs, sample_weight=known.weight)
        new = encoder.transform(held.inputs)
        results += fit_baselines(
            baselines, encoder, known, new, seed=seed, n_jobs=n_jobs, tell=tell
        )
    comparison = scored(results, known, held, schema.targets)
    model, seen = tried, known
    if refit and test is None:
        say("fitting NCL to all rows")
        seen = samples(frame, schema)
        model = fitted_to(_unfitted(estimator, seen, frame, schema, settings), seen)
    fingerprint = Fingerprint.of(seen, schema, seed)
    return Trial(schema, tried, model, held, ours, comparison, fingerprint)


def compare(frame: Any, schema: Schema, **options: Any) -> Comparison:
    """Fit NCL and other methods to the same rows, and compare them on the same held-out ones.

    Parameters
    ----------
    frame : pandas.DataFrame
    schema : Schema
        What its columns are for.
    **options
        Those of :func:`~negcorr.tables.trial.try_out` but ``refit``: nothing is fitted to all rows.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from negcorr.tables import compare, infer_columns
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"x": rng.normal(size=400)})
    >>> frame["y"] = np.sin(2 * frame["x"]) + 0.1 * rng.normal(size=400)
    >>> found = compare(frame, infer_columns(frame, "y"), baselines=["mean", "ridge"])
    >>> found.verdict().partition(",")[0], [method.name for method in found.methods]
    ('NCL predicts best', ['NCL', 'mean', 'ridge'])
    """
    return try_out(frame, schema, refit=False, **options).comparison


def _unfitted(
    given: Any, rows: Samples, frame: Any, schema: Schema, settings: Mapping[str, Any]
) -> Any:
    """An estimator for some rows: a copy of the given one, or the default with folds for them."""
    if given is not None:
        return clone(given)
    folds = folds_for(schema, frame.iloc[rows.positions])
    return NCLRegressor(**{"cv": folds, **settings})


def fitted_to(estimator: Any, rows: Samples) -> Any:
    """The estimator, fitted to rows, with groups where it takes folds, and with weights."""
    given = rows.fit_parameters
    for name in [*given]:
        if not has_fit_parameter(estimator, name):
            del given[name]
    if rows.weight is not None and "sample_weight" not in given:
        raise TableError(f"{type(estimator).__name__} takes no weights.")
    return estimator.fit(rows.inputs, rows.y, **given)


def predicted_by(model: Any, inputs: Any) -> tuple[FloatArray, FloatArray | None]:
    """Predictions of a model, and their 95 % intervals where it has some."""
    predicted = np.asarray(model.predict(inputs))
    if not hasattr(model, "predict_interval"):
        return predicted, None
    return predicted, np.asarray(model.predict_interval(inputs, COVERAGE))
