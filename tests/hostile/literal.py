"""The solution of a fit on its training rows, by plain least squares of stacked rows.

It shares with the package the features, and the convention that a direction of features counts
where rounding is at most a millionth of its values. It serves every basis that is not nested.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hostile.random_problems import Problem
from scipy.linalg import svd

__all__ = ["check_against_literal"]

EPS = np.finfo(np.float64).eps

#: Features are known to a few units in their last place, and no answer better than what they move.
ULPS = 4.0
TIMES_WHAT_ROUNDING_MOVES = 100.0

#: Largest share of rounding in the values of a direction, and where directions may count or not.
RESOLVED = 1e-6
BESIDE = (1e-7, 1e-5)


def check_against_literal(problem: Problem, model: Any, tolerance: float) -> list[str]:
    """Faults of predictions and degrees of freedom, where the rows themselves determine them."""
    if model.basis_.nesting_ is not None:
        return []
    X = problem.X[problem.of_weight]
    y = problem.y if model.targets_ is None else model.targets_
    scale = problem.scale
    y = y[problem.of_weight].reshape(len(X), -1) / scale
    weight = np.ones(len(X)) if problem.weight is None else problem.weight[problem.of_weight]
    features = model.basis_.transform(X.astype(np.float64))
    starts, settings = model.basis_.block_starts_.tolist(), model.path_.spectrum
    found = model.predict(X).astype(np.float64).reshape(len(X), -1) / scale
    rounding = problem.rounding(model.predict(X)) / scale
    faults, rng = [], np.random.default_rng(0)
    # Rounding of a feature is that of what it is added up from.
    terms = 0.0 if model.basis_.terms_ is None else model.basis_.terms_
    rounded = EPS * np.maximum(np.abs(features), terms)
    nudges = [rng.choice([-ULPS, ULPS], size=features.shape) * rounded for _ in range(2)]
    for j, gap in enumerate(np.atleast_1d(model.gap_)):
        given = y[:, j], weight, starts, gap, settings, terms
        exact = _literal(features, *given, RESOLVED)
        moved = [_literal(features + nudge, *given, RESOLVED) for nudge in nudges]
        beside = [_literal(features, *given, share) for share in BESIDE]
        open_dof, open_fit = (
            TIMES_WHAT_ROUNDING_MOVES * max(_distance(exact, each, k) for each in moved)
            + 2.0 * max(_distance(exact, each, k) for each in beside)
            for k in range(2)
        )
        off = np.max(np.abs(found[:, j] - exact[1]))
        if off > tolerance + open_fit + rounding[min(j, len(rounding) - 1)]:
            faults.append(f"predictions at gap {gap:.3g} are {off:.2g} of the spread from literal")
        dof = float(np.atleast_1d(model.dof_)[j])
        if abs(dof - exact[0]) > 1e-6 * max(dof, 1.0) + open_dof:
            faults.append(f"dof at gap {gap:.3g} is {dof:.9g}, and {exact[0]:.9g} by a literal fit")
    return faults


def _distance(one: Any, other: Any, k: int) -> float:
    return float(np.max(np.abs(one[k] - other[k])))


def _literal(
    features: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    starts: list[int],
    gap: float,
    settings: Any,
    terms: Any,
    resolved: float,
) -> tuple[float, np.ndarray]:
    """Degrees of freedom and fitted values.

    β minimises Σ_m gap·M·mean (φ_m β_m − y/M)² + (1 − gap)·mean (φβ − y)² + gap·M·α·‖β‖², whose
    normal equations are those of Theorem 4. Rows of one member are replaced by their triangular
    factor, and its features by combinations that are resolved.
    """
    m = len(starts) - 1
    share = weight / weight.sum()
    middle = settings.fit_intercept * (share @ features)
    root = np.sqrt(share)[:, np.newaxis]
    phi, level = root * (features - middle), settings.fit_intercept * (share @ y)
    size = np.maximum(np.linalg.norm(root * features, axis=0), terms)
    # What centring leaves of a constant is no feature.
    phi[:, np.linalg.norm(phi, axis=0) < 64 * EPS * np.abs(middle)] = 0.0
    parts = [
        _directions(phi[:, a:b], size[a:b], settings.alpha, resolved)
        for a, b in itertools.pairwise(starts)
    ]
    borders = np.cumsum([0, *(part.shape[1] for part in parts)])
    combined = np.zeros((starts[-1], int(borders[-1])))
    for (a, b), (c, d), part in zip(
        itertools.pairwise(starts), itertools.pairwise(borders), parts, strict=True
    ):
        combined[a:b, c:d] = part
    phi = phi @ combined
    # Directions in which members nearly cancel are rounding too.
    # The slower driver: that of NumPy fails for some matrices with many small singular values.
    s, Vt = svd(phi, full_matrices=False, lapack_driver="gesvd")[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        rounding = EPS * (size @ np.abs(combined @ Vt.T)) / s
    modes = Vt[rounding <= resolved].T
    # For every row of the system what multiplies y, so that the same solution gives the dof.
    rows, right = [np.sqrt(1.0 - gap) * phi @ modes], [np.sqrt(1.0 - gap) * np.diag(root[:, 0])]
    for c, d in itertools.pairwise(borders):
        left, triangle = np.linalg.qr(phi[:, c:d])
        rows.append(np.sqrt(gap * m) * triangle @ modes[c:d])
        right.append(np.sqrt(gap / m) * left.T * root[:, 0])
    if settings.alpha > 0:
        rows.append(np.sqrt(gap * m * settings.alpha) * combined @ modes)
        right.append(np.zeros((len(combined), len(y))))
    system, of_y = np.vstack(rows), np.vstack(right)
    length = np.linalg.norm(system, axis=0)
    U, s, Vt = np.linalg.svd(system / np.where(length > 0, length, 1.0), full_matrices=False)
    kept = s > EPS / resolved * s.max(initial=0.0)
    to_fit = (
        phi @ modes @ ((Vt[kept].T / s[kept]) / np.where(length > 0, length, 1.0)[:, np.newaxis])
    )
    smoothing = (to_fit / root) @ (U[:, kept].T @ of_y)
    return (
        float(np.trace(smoothing)) + settings.fit_intercept,
        smoothing @ (y - level) + level,
    )


def _directions(phi: np.ndarray, size: np.ndarray, alpha: float, resolved: float) -> np.ndarray:
    """Combinations of a member's features that have unit length and are not rounding."""
    stacked = np.vstack([phi, np.sqrt(alpha) * np.eye(phi.shape[1])])
    length = np.linalg.norm(stacked, axis=0)
    live = (np.linalg.norm(phi, axis=0) > 0) & (length > 0)
    out = np.zeros((phi.shape[1], int(live.sum())))
    if live.any():
        s, Vt = np.linalg.svd(stacked[:, live] / length[live], full_matrices=False)[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            out[live] = Vt.T / length[live][:, np.newaxis] / s
    rounding = EPS * (size @ np.abs(out))
    return out[:, np.isfinite(rounding) & (rounding <= resolved)]
