"""The solution of a fit on its training rows, by plain least squares of stacked rows.

It shares nothing with the package but the features, and serves every basis that is not nested.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hostile.random_problems import Problem

__all__ = ["check_against_literal"]

#: Features are known to a few units in their last place, and no answer better than what they move.
ULPS, EPS = 4.0, np.finfo(np.float64).eps
TIMES_WHAT_ROUNDING_MOVES = 100.0


def check_against_literal(problem: Problem, model: Any, tolerance: float) -> list[str]:
    """Faults of predictions and degrees of freedom, where the rows themselves determine them."""
    if model.basis_.nesting_ is not None:
        return []
    X = problem.X[problem.of_weight]
    y = problem.y if model.targets_ is None else model.targets_
    scale = problem.scale
    y = y[problem.of_weight].reshape(len(X), -1) / scale
    weight = np.ones(len(X)) if problem.weight is None else problem.weight[problem.of_weight]
    features, starts = (
        model.basis_.transform(X.astype(np.float64)),
        model.basis_.block_starts_.tolist(),
    )
    found = model.predict(X).astype(np.float64).reshape(len(X), -1) / scale
    rounding = problem.rounding(model.predict(X)) / scale
    faults, rng = [], np.random.default_rng(0)
    for j, gap in enumerate(np.atleast_1d(model.gap_)):
        dof = float(np.atleast_1d(model.dof_)[j])
        exact = _literal(features, y[:, j], weight, starts, gap, model.path_.spectrum)
        moved = []
        for _ in range(2):
            nudge = rng.choice([-ULPS, ULPS], size=features.shape) * EPS * features
            moved.append(
                _literal(features + nudge, y[:, j], weight, starts, gap, model.path_.spectrum)
            )
        open_dof, open_fit = (
            TIMES_WHAT_ROUNDING_MOVES * max(np.max(np.abs(exact[k] - each[k])) for each in moved)
            for k in range(2)
        )
        off = np.max(np.abs(found[:, j] - exact[1]))
        if off > tolerance + open_fit + rounding[min(j, len(rounding) - 1)]:
            faults.append(
                f"predictions are {off:.2g} of the spread from a literal solution at gap {gap:.3g}"
            )
        if abs(dof - exact[0]) > 1e-6 * max(dof, 1.0) + open_dof:
            faults.append(
                f"dof {dof:.9g}, and {exact[0]:.9g} by a literal solution at gap {gap:.3g}"
            )
    return faults


def _literal(
    features: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    starts: list[int],
    gap: float,
    settings: Any,
) -> tuple[float, np.ndarray]:
    """Degrees of freedom and fitted values.

    β minimises Σ_m gap·M·mean (φ_m β_m − y/M)² + (1 − gap)·mean (φβ − y)² + gap·M·α·‖β‖², whose
    normal equations are those of Theorem 4. Rows of one member are replaced by their triangular
    factor.
    """
    m, q = len(starts) - 1, starts[-1]
    share = weight / weight.sum()
    middle = settings.fit_intercept * (share @ features)
    root = np.sqrt(share)[:, np.newaxis]
    phi, level = root * (features - middle), settings.fit_intercept * (share @ y)
    # What centring leaves of a constant is no feature.
    phi[:, np.linalg.norm(phi, axis=0) < 64 * EPS * np.abs(middle)] = 0.0
    # For every row of the system what multiplies y, so that the same solution gives the dof.
    rows, right = [np.sqrt(1.0 - gap) * phi], [np.sqrt(1.0 - gap) * np.diag(root[:, 0])]
    for a, b in itertools.pairwise(starts):
        left, triangle = np.linalg.qr(phi[:, a:b])
        padded = np.zeros((len(triangle), q))
        padded[:, a:b] = np.sqrt(gap * m) * triangle
        rows.append(padded)
        right.append(np.sqrt(gap / m) * left.T * root[:, 0])
    if settings.alpha > 0:
        rows.append(np.sqrt(gap * m * settings.alpha) * np.eye(q))
        right.append(np.zeros((q, len(y))))
    system, of_y = np.vstack(rows), np.vstack(right)
    length = np.linalg.norm(system, axis=0)
    U, s, Vt = np.linalg.svd(system / np.where(length > 0, length, 1.0), full_matrices=False)
    kept = s > 1e-14 * np.sqrt(len(system)) * s.max(initial=0.0)
    to_fit = phi @ ((Vt[kept].T / s[kept]) / np.where(length > 0, length, 1.0)[:, np.newaxis])
    smoothing = (to_fit / root) @ (U[:, kept].T @ of_y)
    return (
        float(np.trace(smoothing)) + settings.fit_intercept,
        smoothing @ (y - level) + level,
    )
