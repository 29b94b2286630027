"""compare: an NCL ensemble beside its rivals on the same held-out rows, and a verdict in words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from negcorr._typing import FloatArray
from negcorr.exceptions import TableError
from negcorr.tabular.baselines import BASELINES, dense, fit_baseline
from negcorr.tabular.figures import Figures, held_out_figures, paired_difference
from negcorr.tabular.pipeline import make_tabular
from negcorr.tabular.samples import Samples, samples
from negcorr.tabular.schema import Schema
from negcorr.tabular.splitting import folds_for, hold_out

__all__ = ["Comparison", "Method", "compare"]

OURS = "NCL"

#: Differences of fewer standard errors than this are within noise.
NOISE = 2.0


@dataclass(frozen=True)
class Method:
    """One method on the held-out rows.

    Attributes
    ----------
    name : str
    figures : tuple of Figures
        One for each output.
    loss : float
        Mean squared error in units of the training targets' variance, mean over outputs: about 1
        for the mean of the training rows.
    gain, gain_se : float
        Loss of this method less that of NCL on the same rows, and its paired standard error; 0 for
        NCL itself. Positive means that NCL is better.
    fit_seconds : float
        Time of the fit, without that of the features for NCL's rivals.
    """

    name: str
    figures: tuple[Figures, ...]
    loss: float
    gain: float
    gain_se: float
    fit_seconds: float

    @property
    def within_noise(self) -> bool:
        """Whether NCL cannot be told from it: a difference of less than two standard errors."""
        return not abs(self.gain) > NOISE * self.gain_se


@dataclass(frozen=True)
class Comparison:
    """Methods on the same held-out rows.

    Attributes
    ----------
    methods : tuple of Method
        NCL first, then its rivals.
    targets : tuple of str
    n_train, n_test : int
        Rows of the fits, and held-out rows.
    """

    methods: tuple[Method, ...]
    targets: tuple[str, ...]
    n_train: int
    n_test: int

    def __getitem__(self, name: str) -> Method:
        for method in self.methods:
            if method.name == name:
                return method
        raise KeyError(name)

    def __str__(self) -> str:
        head = ["method", "output", "RMSE", "MAE", "R²", "95 % covers", "fit seconds"]
        rows = [
            [
                method.name,
                f.output,
                f"{f.rmse:.4g} ± {f.rmse_se:.2g}",
                f"{f.mae:.4g} ± {f.mae_se:.2g}",
                f"{f.r2:.3f}",
                "" if np.isnan(f.coverage) else f"{f.coverage:.1%}",
                f"{method.fit_seconds:.2f}",
            ]
            for method in self.methods
            for f in method.figures
        ]
        widths = [max(len(row[j]) for row in [head, *rows]) for j in range(len(head))]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in [head, *rows]
        ]
        return "\n".join(line.rstrip() for line in lines)

    def verdict(self) -> str:
        """One sentence: who predicts best, by how much, and whether that is more than noise.

        Returns
        -------
        str
        """
        ours, rivals = self.methods[0], self.methods[1:]
        error = self._error(ours)
        on = f"on {self.n_test} held-out rows"
        if not rivals:
            return f"NCL has an error of {error} {on}; nothing was compared with it."
        best = min(rivals, key=lambda method: method.loss)
        theirs = f"{best.name} ({self._error(best)})"
        few = f" ({self._noise(best)})"
        mean = next((method for method in rivals if method.name == "mean"), None)
        if mean is not None and best is not mean and mean.within_noise and not best.within_noise:
            return (
                f"NCL, with an error of {error} {on}, cannot be told from predicting the mean, and "
                f"{theirs} is better than both{few}."
            )
        if best.within_noise:
            return (
                f"NCL has an error of {error} {on}, and {theirs} is the best of the others: the "
                f"difference is within noise{few}."
            )
        if best.gain > 0:
            return f"NCL predicts best, with an error of {error} {on}; {theirs} comes next{few}."
        return f"NCL loses to {theirs}, with an error of {error} {on}{few}; prefer the other."

    def _error(self, method: Method) -> str:
        if len(self.targets) == 1:
            return f"{method.figures[0].rmse:.4g} RMSE"
        return f"{np.sqrt(method.loss):.3g} standard deviations"

    @staticmethod
    def _noise(method: Method) -> str:
        if not method.gain_se > 0:
            return "no standard error is known"
        return f"{abs(method.gain) / method.gain_se:.1f} paired standard errors"


def compare(
    frame: Any,
    schema: Schema,
    *,
    test_size: float = 0.2,
    seed: int = 0,
    baselines: Sequence[str] = tuple(BASELINES),
    n_jobs: int = 1,
    pipeline: Any = None,
) -> Comparison:
    """Fit NCL and its rivals on the same rows, and compare them on the same held-out ones.

    Parameters
    ----------
    frame : pandas.DataFrame
    schema : Schema
        What its columns are for.
    test_size, seed
        As in :func:`~negcorr.tabular.hold_out`; the seed is that of the methods too.
    baselines : sequence of str
        Of "mean", "ridge" (its penalty by cross-validation), "random forest" and "gradient
        boosting" (scikit-learn's defaults).
    n_jobs : int, default=1
        Threads of forest and boosting.
    pipeline : Pipeline, optional
        Unfitted, by default that of :func:`~negcorr.make_tabular` with the folds of
        :func:`~negcorr.tabular.folds_for`, which one of your own needs too where there are groups.
        Its features are those of all methods.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from negcorr.tabular import compare, infer_columns
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"x": rng.normal(size=400)})
    >>> frame["y"] = np.sin(2 * frame["x"]) + 0.1 * rng.normal(size=400)
    >>> found = compare(frame, infer_columns(frame, "y"), baselines=["mean", "ridge"])
    >>> found.verdict().partition(",")[0], [method.name for method in found.methods]
    ('NCL predicts best', ['NCL', 'mean', 'ridge'])
    """
    unknown = [name for name in baselines if name not in BASELINES]
    if unknown:
        allowed = ", ".join(map(repr, BASELINES))
        raise ValueError(f"baselines={unknown[0]!r} is unknown; allowed are {allowed}.")
    train, test = (samples(frame, schema, part) for part in _split(frame, schema, test_size, seed))
    if test.weight is not None and not test.weight.any():
        raise TableError(
            f"all held-out rows have no weight in {schema.weights!r}; try another seed."
        )
    if pipeline is None:
        folds = folds_for(schema, frame.iloc[train.positions])
        pipeline = make_tabular(frame, schema.targets, schema=schema, random_state=seed, cv=folds)
    start = time.perf_counter()
    fitted = clone(pipeline).fit(train.inputs, train.y, **train.fit_parameters)
    seconds = time.perf_counter() - start
    features = fitted[:-1].transform(test.inputs)
    ours = fitted[-1].predict(features)
    interval = fitted[-1].predict_interval(features, 0.95)
    results = [(OURS, ours, interval, seconds)]
    known, new = dense(fitted[:-1].transform(train.inputs)), dense(features)
    for name in baselines:
        model, taken = fit_baseline(name, known, train.y, train.weight, seed=seed, n_jobs=n_jobs)
        results.append((name, model.predict(new), None, taken))
    spread = _variance(train)
    base = _losses(test, ours, spread)
    methods = [_method(*result, test, schema.targets, spread, base) for result in results]
    return Comparison(tuple(methods), schema.targets, len(train.positions), len(test.positions))


def _split(frame: Any, schema: Schema, test_size: float, seed: int) -> Any:
    return hold_out(frame, schema, test_size=test_size, seed=seed)


def _method(
    name: str,
    predicted: FloatArray,
    interval: FloatArray | None,
    seconds: float,
    test: Samples,
    targets: tuple[str, ...],
    spread: FloatArray,
    base: FloatArray,
) -> Method:
    losses = _losses(test, predicted, spread)
    gain, error = paired_difference(losses, base, test.weight, test.groups)
    figures = held_out_figures(
        test.y, predicted, targets, interval=interval, weight=test.weight, groups=test.groups
    )
    loss = float(np.average(losses, weights=test.weight))
    return Method(name, figures, loss, gain, error, seconds)


def _variance(train: Samples) -> FloatArray:
    """Of each output; 1 where it does not vary among the rows of the fit."""
    y = train.y.reshape(len(train.y), -1)
    mean = np.average(y, axis=0, weights=train.weight)
    variance = np.average((y - mean) ** 2, axis=0, weights=train.weight)
    return np.where(variance > 0, variance, 1.0)


def _losses(test: Samples, predicted: FloatArray, spread: FloatArray) -> FloatArray:
    """Squared error of each row, in units of the outputs' variance."""
    error = (test.y - predicted).reshape(len(test.y), -1)
    return np.asarray((error**2 / spread).mean(axis=1))
