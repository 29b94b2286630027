"""Rows that a model has not seen: what it predicts there, how members differ, what matters."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array, check_consistent_length

from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr.diversity.decompositions import ambiguity_decomposition
from negcorr.rows.keys import content_hash

__all__ = [
    "HeldOut",
    "Importance",
    "checked_target",
    "fingerprint",
    "held_out_rows",
    "importances_of",
    "last_step",
    "members_in_words",
]

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
    lower, upper : ndarray of shape (n,) or None
        Ends of the 95 % interval, None where the model has none.
    """

    predicted: FloatArray
    observed: FloatArray
    lower: FloatArray | None
    upper: FloatArray | None


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


def last_step(model: Any) -> Any:
    """What stands at the end of a pipeline, or the model itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def checked_target(X: Table, y: Any, n_outputs: int) -> FloatArray:
    """Targets of shape (n, outputs), as many as the model has."""
    if y is None:
        raise ValueError("y=None: the rows of X need their targets.")
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(X, target)
    target = target.reshape(len(target), -1)
    if target.shape[1] != n_outputs:
        raise ValueError(f"y has {target.shape[1]} output(s), the model has {n_outputs}.")
    return target


def held_out_rows(model: Any, X: Table, target: FloatArray) -> tuple[HeldOut, ...]:
    """Predictions beside observations, for each output.

    Parameters
    ----------
    model : estimator
        Fitted; intervals are those of its last step, if it has them.
    X, target : rows and their targets
    """
    ensemble = last_step(model)
    rows, seen = _inputs_of_last(model, X, target)
    mean = np.asarray(ensemble.predict(rows)).reshape(seen.shape)
    ends: AnyArray | None = None
    if hasattr(ensemble, "predict_interval"):
        ends = np.asarray(ensemble.predict_interval(rows, COVERAGE)).reshape(len(seen), 2, -1)
    return tuple(
        HeldOut(
            mean[:, j],
            seen[:, j],
            None if ends is None else ends[:, 0, j],
            None if ends is None else ends[:, 1, j],
        )
        for j in range(seen.shape[1])
    )


def members_in_words(model: Any, X: Table, target: FloatArray) -> tuple[str, ...]:
    """How members differ on these rows, a sentence for each output; none without members."""
    ensemble = last_step(model)
    if not hasattr(ensemble, "predict_members"):
        return ()
    rows, seen = _inputs_of_last(model, X, target)
    members = np.asarray(ensemble.predict_members(rows), dtype=np.float64)
    terms = ambiguity_decomposition(members.reshape(len(members), *seen.shape), seen)
    parts = (terms.ensemble_error, terms.member_error, terms.diversity, np.var(seen, axis=0))
    return tuple(_in_words(*values) for values in zip(*map(np.atleast_1d, parts), strict=True))


def _in_words(error: float, alone: float, diversity: float, variance: float) -> str:
    useless = ", more than a constant would: members are useless alone" if alone > variance else ""
    times = f"{alone / error:.4g} times the error of the ensemble" if error > 0 else "an error"
    return (
        f"On the rows held out a member alone has {times}{useless}. Their average error is "
        f"{alone:.4g}, their diversity {diversity:.4g}, and the ensemble's error the difference, "
        f"{error:.4g}."
    )


def _inputs_of_last(model: Any, X: Table, target: FloatArray) -> tuple[Any, FloatArray]:
    """Some of the rows as the last step sees them, and their targets."""
    chosen = _some_rows(len(target), MOST_POINTS)
    rows = _safe_indexing(X, chosen)
    if isinstance(model, Pipeline) and len(model) > 1:
        rows = model[:-1].transform(rows)
    return rows, target[chosen]


def _some_rows(n_rows: int, most: int) -> AnyArray:
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def importances_of(model: Any, X: Table, target: FloatArray) -> tuple[Importance, ...]:
    """Inputs by what shuffling them costs, the dearest first; none where there are too many."""
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


def fingerprint(X: Table, y: Any) -> str:
    """The same for the same rows in any order."""
    keys = np.sort(content_hash(X, np.asarray(y)))
    return hashlib.sha256(keys.astype("<u8").tobytes()).hexdigest()[:16]
