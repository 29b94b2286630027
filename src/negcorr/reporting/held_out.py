"""Rows that a model has not seen: its predictions, how members differ, importance of inputs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from negcorr._common.types import FloatArray, Table
from negcorr.columns.cells import as_frame, has_names
from negcorr.diversity.decompositions import USELESS_ALONE, USELESS_NOTE, ambiguity_decomposition
from negcorr.diversity.inner_model import inner_model
from negcorr.rows.keys import content_hash

__all__ = [
    "HeldOut",
    "Importance",
    "drawn_rows",
    "fingerprint",
    "held_out_rows",
    "importances_of",
    "members_in_words",
]

#: Rows that are drawn or that importance is measured on, and columns that it is measured on.
MOST_ROWS, MOST_COLUMNS = 2000, 100

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


def held_out_rows(model: Any, X: Table, target: FloatArray) -> tuple[HeldOut, ...]:
    """Predictions beside observations, for each output.

    Parameters
    ----------
    model : estimator
        Fitted; intervals are those of the model inside pipelines and searches, if it has them.
    X, target : rows and their targets
    """
    ensemble, rows = inner_model(model, X)
    predicted = np.asarray(ensemble.predict(rows)).reshape(target.shape)
    ends: Any = [(None, None)] * target.shape[1]
    if hasattr(ensemble, "predict_interval"):
        intervals = np.asarray(ensemble.predict_interval(rows, COVERAGE))
        ends = intervals.reshape(len(target), 2, -1).transpose(2, 1, 0)
    columns = zip(predicted.T, target.T, ends, strict=True)
    return tuple(HeldOut(one, other, lower, upper) for one, other, (lower, upper) in columns)


def members_in_words(model: Any, X: Table, target: FloatArray) -> tuple[str, ...]:
    """How members differ on these rows, a sentence for each output; none without members."""
    ensemble, rows = inner_model(model, X)
    if not hasattr(ensemble, "predict_members"):
        return ()
    members = np.asarray(ensemble.predict_members(rows), dtype=np.float64)
    terms = ambiguity_decomposition(members.reshape(len(members), *target.shape), target)
    parts = (terms.ensemble_error, terms.member_error, terms.diversity, np.var(target, axis=0))
    sentences = []
    for error, alone, diversity, variance in zip(*map(np.atleast_1d, parts), strict=True):
        times = f"{alone / error:.4g} times the error of the ensemble" if error > 0 else "an error"
        useless = f" {USELESS_NOTE}: a constant has a smaller error."
        sentences.append(
            f"On the rows held out a member alone has {times}."
            f"{useless if alone > USELESS_ALONE * variance else ''} The average error of members "
            f"is {alone:.4g}, their diversity {diversity:.4g}, and the ensemble's error the "
            f"difference, {error:.4g}."
        )
    return tuple(sentences)


def importances_of(
    model: Any, X: Table, target: FloatArray, variance: float
) -> tuple[Importance, ...]:
    """Importance of inputs when shuffled, the largest first; empty if there are too many inputs.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, target : rows and their targets
    variance : float
        Of the targets of all rows.
    """
    from sklearn.inspection import permutation_importance  # takes a while to load

    X = _of_pandas(X)  # scikit-learn shuffles columns of pandas and of arrays
    names = list(X.columns) if has_names(X) else [f"x{j}" for j in range(X.shape[1])]
    # Columns that the model leaves out have no bar.
    schema = getattr(model, "columns_", None)
    used = names if schema is None else schema.inputs
    if len(used) > MOST_COLUMNS or len(target) < 2 or variance == 0:
        return ()
    y = target[:, 0] if target.shape[1] == 1 else target
    shuffled = {"scoring": "neg_mean_squared_error", "n_repeats": REPEATS, "random_state": 0}
    found = permutation_importance(model, X, y, **shuffled)
    parts = zip(names, found.importances_mean, found.importances_std, strict=True)
    listed = [
        Importance(name, float(mean) / variance, float(deviation) / variance)
        for name, mean, deviation in parts
        if name in used
    ]
    return tuple(sorted(listed, key=lambda part: -part.growth))


def drawn_rows(X: Table, target: FloatArray) -> tuple[Table, FloatArray]:
    """All rows and their targets, or a random sample where there are too many to draw."""
    if len(target) <= MOST_ROWS:
        return X, target
    chosen = np.sort(np.random.default_rng(0).choice(len(target), MOST_ROWS, replace=False))
    return _safe_indexing(X, chosen), target[chosen]


def fingerprint(X: Table, y: Any) -> str:
    """Sixteen hexadecimal digits, the same for the same rows in any order."""
    keys = np.sort(content_hash(_of_pandas(X), np.asarray(y)))
    return hashlib.sha256(keys.astype("<u8").tobytes()).hexdigest()[:16]


def _of_pandas(X: Table) -> Table:
    """Data frames of other libraries as those of pandas; the rest as it is."""
    return as_frame(X) if hasattr(X, "columns") and not hasattr(X, "iloc") else X
