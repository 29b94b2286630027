"""A training set, new rows, and how much more predictions vary there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_array, check_consistent_length, get_tags

from negcorr._common.types import FloatArray, Table
from negcorr.dof.degrees import closed_form
from negcorr.dof.monte_carlo.probing import measured
from negcorr.dof.monte_carlo.refits import NonFiniteError, Refit
from negcorr.dof.monte_carlo.responses import Direction, ResponseMeter
from negcorr.rows.folds import ContentKFold

__all__ = [
    "Measured",
    "NewInputs",
    "error_gain",
    "measured_by_probes",
    "measured_exactly",
    "new_inputs",
]


@dataclass(frozen=True)
class NewInputs:
    """A training set and new rows.

    Attributes
    ----------
    refit : Refit
        The fit to the training set, which predicts at the new rows too.
    y_new : ndarray of shape (m, outputs) or None
        Targets there, if known.
    weight_new : ndarray of shape (m,) or None
        Frequencies there.
    """

    refit: Refit
    y_new: FloatArray | None
    weight_new: FloatArray | None

    @property
    def n_samples(self) -> float:
        """Training rows, by weight."""
        return self.refit.n_samples


@dataclass(frozen=True)
class Measured:
    """What one training set gave.

    Attributes
    ----------
    trace, excess_variance : ndarray of shape (probes, outputs)
        dof, and the mean variance over σ² at new rows minus that at training rows; one row
        where exact.
    fitted : ndarray of shape (n, outputs)
    new : ndarray of shape (m, outputs)
        Predictions for the targets as given.
    """

    trace: FloatArray
    excess_variance: FloatArray
    fitted: FloatArray
    new: FloatArray


def new_inputs(refit: Refit, X_new: Table | None, y_new: Any, cv: Any) -> list[NewInputs]:
    """The new rows as given, or each fold of ``cv`` with the other rows for training."""
    if X_new is not None:
        target = None
        if y_new is not None:
            target = check_array(y_new, dtype=np.float64, ensure_2d=False, input_name="y_new")
            check_consistent_length(X_new, target)
            target = target.reshape(len(target), -1)
            if target.shape[1] != refit.y.shape[1]:
                raise ValueError(
                    f"y_new has {target.shape[1]} output(s), y has {refit.y.shape[1]}."
                )
        return [NewInputs(replace(refit, X_new=X_new), target, None)]
    if y_new is not None:
        raise ValueError("y_new was given without X_new.")
    whole = isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)
    splitter = ContentKFold(cv) if whole else check_cv(cv)
    tags = get_tags(refit.estimator) if hasattr(refit.estimator, "__sklearn_tags__") else None
    pieces = []
    for split in splitter.split(refit.X, refit.target):
        train, test = (np.asarray(rows) for rows in split)
        weights = [None if refit.weight is None else refit.weight[rows] for rows in (train, test)]
        if not all(weight is None or weight.sum() > 0 for weight in weights):
            continue
        inputs, new = _safe_indexing(refit.X, train), _safe_indexing(refit.X, test)
        if tags is not None and tags.input_tags.pairwise:
            # A table of kernel values or distances: its columns are the training rows.
            inputs, new = inputs[:, train], new[:, train]
        inner = replace(refit, X=inputs, y=refit.y[train], weight=weights[0], X_new=new)
        pieces.append(NewInputs(inner, refit.y[test], weights[1]))
    if not pieces:
        raise ValueError(f"cv={cv!r} gives no split with weight on both sides.")
    return pieces


def measured_exactly(piece: NewInputs, seed: int) -> Measured:
    """From the closed form; raises NotLinearError where there is none."""
    refit = piece.refit
    smoother = closed_form(refit, seed)
    excess = [
        np.average(smoother.variance(refit.X_new, j), weights=piece.weight_new)
        - np.average(smoother.variance(refit.X, j), weights=refit.weight)
        for j in range(smoother.n_outputs)
    ]
    if not np.isfinite(excess).all():
        raise NonFiniteError("predictions at some new rows are not finite: no neighbour is near.")
    return Measured(
        trace=smoother.dof[np.newaxis],
        excess_variance=np.array([excess]),
        fitted=smoother.predict(refit.X).reshape(refit.y.shape),
        new=smoother.predict(refit.X_new).reshape(-1, smoother.n_outputs),
    )


def measured_by_probes(
    meter: ResponseMeter, piece: NewInputs, directions: list[Direction], seed: int
) -> Measured:
    """One random direction b tells bᵀJb, and (J b)² at every row has the mean ‖h‖²."""
    refit = piece.refit
    n = len(refit.y)
    # A row that stands for w observations has a noise that is smaller by √w.
    root = np.ones(n) if refit.weight is None else np.sqrt(refit.weight)
    damp = np.divide(1.0, root, out=np.zeros(n), where=root > 0)[:, np.newaxis]
    moves = [Direction(damp * direction.vector, seed) for direction in directions]
    traces, excess = [], []
    for direction, response in measured(meter, moves, first=0):
        traces.append(response.along(direction.vector * root[:, np.newaxis] ** 2))
        squares = response.derivative**2
        new = np.average(squares[n:], axis=0, weights=piece.weight_new)
        excess.append(new - np.average(squares[:n], axis=0, weights=refit.weight))
    given = np.asarray(meter.given(seed), dtype=np.float64)
    return Measured(np.array(traces), np.array(excess), given[:n], given[n:])


def error_gain(piece: NewInputs, part: Measured) -> FloatArray:
    """Error at the new rows minus training error, shape (outputs,)."""
    if piece.y_new is None:
        raise ValueError("targets at the new rows are not known.")
    new = np.average((part.new - piece.y_new) ** 2, axis=0, weights=piece.weight_new)
    train = (part.fitted - piece.refit.y) ** 2
    return np.asarray(new - np.average(train, axis=0, weights=piece.refit.weight))
