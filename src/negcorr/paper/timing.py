"""What tuning costs: SURE, our exact K-fold path, and five folds as the paper did them.

The paper's baseline fits the ensemble again in each of five inner folds at every step of Brent's
method. All of it, on all outer folds and all outputs, would take hours; one outer fold and one
output are timed, and the seconds multiplied by the number of outputs, each of which is a model of
its own there. SURE and the exact K-fold path are timed on all outer folds, with all outputs at
once, as they are used.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import scipy.linalg
from sklearn.kernel_approximation import RBFSampler

from negcorr._common.types import FloatArray
from negcorr.bases import kwok_tsang_gamma
from negcorr.paper.lam_choice import CRITERIA, brent, chosen_lams, effort
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.protocol import (
    FOLDS,
    Task,
    distance_between_columns_gamma,
    fit_ncl,
    folds_of,
    largest_lam,
    task,
)
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study

__all__ = ["pieces_of", "refitted_error", "timing"]


def pieces_of(study: Study, names: tuple[str, ...]) -> list[Piece]:
    """One piece for each set."""
    return [
        study.piece(
            timing,
            name=name,
            effort=3.0 + 4e-3 * study.n_rows(name) + FOLDS * effort(study, name),
        )
        for name in names
    ]


def timing(setup: Setup, data_home: str | None, name: str) -> list[Row]:
    """Seconds for tuning λ on one training set: features, factorisation and Brent's method."""
    rows = [
        {"set": name, "method": criterion, "fold": fold, "seconds": seconds, "outputs_timed": n}
        for fold in range(FOLDS)
        for criterion in CRITERIA
        for seconds, n in [_seconds(setup, task(setup, data_home, name, fold), criterion)]
    ]
    data = task(setup, data_home, name, 0)
    before = perf_counter()
    lam = brent(lambda lam: refitted_error(setup, data, 0, lam), largest_lam(setup))
    seconds = (perf_counter() - before) * data.Y.shape[1]
    rows.append(
        {
            "set": name,
            "method": "refits",
            "fold": 0,
            "seconds": seconds,
            "outputs_timed": 1,
            "lam": lam,
        }
    )
    return rows


def refitted_error(setup: Setup, data: Task, output: int, lam: float) -> float:
    """Error of five inner folds at one λ, the ensemble fitted again in each (Theorem 4).

    Features are drawn from the same seed for all folds and λ. The matrix of Theorem 4 is solved
    by Cholesky's method where it is positive definite; only where it is not the pseudo-inverse is
    taken.
    """
    width = setup.size.width
    n_members = setup.members(width)
    seed = setup.seed_for("features", data.name, data.fold, width)
    paper = setup.protocol == "paper"
    gamma = distance_between_columns_gamma(data.X) if paper else kwok_tsang_gamma(data.X)
    squared_error = 0.0
    for train, test in folds_of(len(data.X), setup, data.name, data.fold, "inner"):
        X, y = data.X[train], data.Y[train, output]
        sampler = RBFSampler(gamma=gamma, n_components=n_members * width, random_state=seed)
        features = sampler.fit_transform(X)
        beta = _theorem_4(features, y, n_members, lam)
        fitted = sampler.transform(data.X[test]) @ beta
        squared_error += float(np.sum((fitted - data.Y[test, output]) ** 2))
    return squared_error / len(data.X)


def _theorem_4(features: FloatArray, y: FloatArray, n_members: int, lam: float) -> FloatArray:
    gram = features.T @ features / len(features)
    width = len(gram) // n_members
    matrix = lam * gram
    for m in range(n_members):
        block = slice(m * width, (m + 1) * width)
        matrix[block, block] += n_members * (1.0 - lam) * gram[block, block]
    moments = features.T @ y / len(features)
    try:
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix), moments))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix, hermitian=True) @ moments)


def _seconds(setup: Setup, data: Task, criterion: str) -> tuple[float, int]:
    before = perf_counter()
    model = fit_ncl(setup, data, setup.size.width, solver="auto")
    lams = chosen_lams(model.path_, criterion, largest_lam(setup))
    return perf_counter() - before, len(lams)
