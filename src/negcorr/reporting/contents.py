"""What a report says: gathered from a model and rows, before a word of HTML is written."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from negcorr._typing import AnyArray, FloatArray, Table
from negcorr.regressor import NCLRegressor
from negcorr.reporting.curves import CurveData, curve_data
from negcorr.rowhash import content_hash

__all__ = ["Contents", "HeldOut", "Importance", "ensemble_of", "gather"]

#: Rows that are drawn, and rows and columns that importance is measured on.
MOST_POINTS, IMPORTANCE_ROWS, IMPORTANCE_COLUMNS = 2000, 2000, 100

#: Times that a column is shuffled.
REPEATS = 5

COVERAGE = 0.95


@dataclass(frozen=True)
class HeldOut:
    """Rows that the model has not seen, for one output.

    Attributes
    ----------
    predicted, observed : ndarray of shape (n,)
    lower, upper : ndarray of shape (n,)
        Ends of the 95 % interval.
    """

    predicted: FloatArray
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class Importance:
    """How much the mean squared error grows when a column is shuffled.

    Attributes
    ----------
    name : str
    growth : float
        Over the variance of y.
    spread : float
        Standard deviation over repeats.
    """

    name: str
    growth: float
    spread: float


@dataclass(frozen=True)
class Contents:
    """Everything on the page.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        What was fitted.
    outputs : tuple of str
        Names of the targets.
    curves : CurveData
    held_out : tuple of HeldOut
        For each output; empty without rows.
    importances : tuple of Importance
        The largest first.
    tables : tuple of (str, header, rows)
        Further tables, as the caller has them.
    verdict : str
        One sentence, or nothing.
    notes : tuple of str
        Warnings in plain words.
    fingerprint : str
        Of the rows, empty without.
    versions : tuple of (str, str)
    snippet : str
        Code that rebuilds the model.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    curves: CurveData
    held_out: tuple[HeldOut, ...]
    importances: tuple[Importance, ...]
    tables: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
    verdict: str
    notes: tuple[str, ...]
    fingerprint: str
    versions: tuple[tuple[str, str], ...]
    snippet: str


def ensemble_of(model: Any) -> NCLRegressor:
    """The ensemble that a model is, or that stands at the end of its pipeline."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(last, NCLRegressor):
        raise TypeError(
            f"model={model!r} must be an NCLRegressor or a Pipeline that ends with one, got "
            f"{type(last).__name__}."
        )
    check_is_fitted(last)
    if not hasattr(last, "path_"):
        raise ValueError("a report needs the factorisation, which compact() has dropped.")
    return last


def gather(
    model: Any,
    X: Table = None,
    y: Any = None,
    *,
    title: str,
    outputs: Sequence[str] | None,
    tables: Sequence[Any],
    verdict: str,
    notes: Sequence[str],
    snippet: str | None,
) -> Contents:
    """Measure what the page shows.

    Parameters
    ----------
    model : NCLRegressor or Pipeline
    X, y : rows and targets that the model has not seen, optional
    title, outputs, tables, verdict, notes, snippet
        As in :class:`Contents`.
    """
    ensemble = ensemble_of(model)
    summary = ensemble.summary()
    n_outputs = ensemble.path_.spectrum.n_outputs
    names = _output_names(outputs, n_outputs)
    held_out: tuple[HeldOut, ...] = ()
    importances: tuple[Importance, ...] = ()
    if X is not None:
        target = _checked_target(X, y, n_outputs)
        held_out = _held_out(model, ensemble, X, target)
        importances = _importances(model, X, target)
    return Contents(
        title=title,
        facts=summary.facts,
        outputs=names,
        curves=curve_data(ensemble.path_),
        held_out=held_out,
        importances=importances,
        tables=tuple(tables),
        verdict=verdict,
        notes=(*notes, *summary.notes),
        fingerprint="" if X is None else _fingerprint(X, y),
        versions=_versions(),
        snippet=_snippet(model) if snippet is None else snippet,
    )


def _output_names(outputs: Sequence[str] | None, n_outputs: int) -> tuple[str, ...]:
    if outputs is None:
        return ("y",) if n_outputs == 1 else tuple(f"output {j}" for j in range(n_outputs))
    if isinstance(outputs, str) or len(outputs) != n_outputs:
        raise ValueError(f"outputs={outputs!r} must name each of the {n_outputs} outputs.")
    return tuple(str(name) for name in outputs)


def _checked_target(X: Table, y: Any, n_outputs: int) -> FloatArray:
    if y is None:
        raise ValueError("y=None: the rows of X need their targets.")
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(X, target)
    target = target.reshape(len(target), -1)
    if target.shape[1] != n_outputs:
        raise ValueError(f"y has {target.shape[1]} output(s), the model has {n_outputs}.")
    return target


def _held_out(
    model: Any, ensemble: NCLRegressor, X: Table, target: FloatArray
) -> tuple[HeldOut, ...]:
    chosen = _some_rows(len(target), MOST_POINTS)
    rows = _safe_indexing(X, chosen)
    if isinstance(model, Pipeline):
        rows = model[:-1].transform(rows) if len(model) > 1 else rows
    mean = np.asarray(ensemble.predict(rows)).reshape(len(chosen), -1)
    ends: AnyArray = np.asarray(ensemble.predict_interval(rows, COVERAGE))
    ends = ends.reshape(len(chosen), 2, -1)
    return tuple(
        HeldOut(mean[:, j], target[chosen, j], ends[:, 0, j], ends[:, 1, j])
        for j in range(target.shape[1])
    )


def _some_rows(n_rows: int, most: int) -> AnyArray:
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def _importances(model: Any, X: Table, target: FloatArray) -> tuple[Importance, ...]:
    from sklearn.inspection import permutation_importance  # loads a good deal of others

    variance = float(np.var(target, axis=0).mean())
    if X.shape[1] > IMPORTANCE_COLUMNS or len(target) < 2 or variance == 0:
        return ()
    chosen = _some_rows(len(target), IMPORTANCE_ROWS)
    single = target[chosen, 0] if target.shape[1] == 1 else target[chosen]
    found = permutation_importance(
        model,
        _safe_indexing(X, chosen),
        single,
        scoring="neg_mean_squared_error",
        n_repeats=REPEATS,
        random_state=0,
    )
    names = list(X.columns) if hasattr(X, "columns") else [f"x{j}" for j in range(X.shape[1])]
    parts = zip(names, found.importances_mean, found.importances_std, strict=True)
    listed = [Importance(str(n), float(m) / variance, float(s) / variance) for n, m, s in parts]
    return tuple(sorted(listed, key=lambda part: -part.growth))


def _fingerprint(X: Table, y: Any) -> str:
    """The same for the same rows in any order."""
    keys = np.sort(content_hash(X, np.asarray(y)))
    return hashlib.sha256(keys.astype("<u8").tobytes()).hexdigest()[:16]


def _versions() -> tuple[tuple[str, str], ...]:
    return (
        ("negcorr", version("negcorr")),
        ("scikit-learn", sklearn.__version__),
        ("NumPy", np.__version__),
        ("Python", platform.python_version()),
    )


def _snippet(model: Any) -> str:
    ensemble = ensemble_of(model)
    return (
        f"from negcorr import NCLRegressor\n\nmodel = {_constructed(ensemble)}\nmodel.fit(X, y)\n"
    )


def _constructed(ensemble: NCLRegressor) -> str:
    """The call that makes an ensemble of the same parameters."""
    default = NCLRegressor().get_params(deep=False)
    changed = {
        name: value
        for name, value in ensemble.get_params(deep=False).items()
        if repr(value) != repr(default[name])
    }
    return f"NCLRegressor({', '.join(f'{name}={value!r}' for name, value in changed.items())})"
