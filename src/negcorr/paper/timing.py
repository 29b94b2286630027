"""Seconds that tuning λ takes: SURE, the exact K-fold path, and five folds with refits.

The paper's baseline fits the ensemble again in each of five inner folds at every step of Brent's
method. All outer folds and outputs would take hours: one outer fold and one output are timed, and
the seconds are multiplied by the number of outputs, for which the paper fits separate models.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import scipy.linalg
from sklearn.kernel_approximation import RBFSampler

from negcorr.bases import kwok_tsang_gamma
from negcorr.paper.lam_choice import CRITERIA, brent, chosen_lams, effort
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.protocol import FOLDS, Task, bandwidth, fit_ncl, folds_of, largest_lam, task
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study

__all__ = ["pieces_of", "refitted_error", "timing"]


def pieces_of(study: Study, names: tuple[str, ...]) -> list[Piece]:
    """One piece for each set."""
    seconds = {n: 3.0 + 4e-3 * study.n_rows(n) + FOLDS * effort(study, n) for n in names}
    return [study.piece(timing, name=name, effort=seconds[name]) for name in names]


def timing(setup: Setup, data_home: str | None, name: str) -> list[Row]:
    """Seconds for tuning λ on one training set: features, factorisation and Brent's method.

    SURE and the exact K-fold path are timed on all outer folds, with all outputs at once.
    """
    rows: list[Row] = []
    largest = largest_lam(setup)
    for fold in range(FOLDS):
        data = task(setup, data_home, name, fold)
        for criterion in CRITERIA:
            before = perf_counter()
            model = fit_ncl(setup, data, setup.size.width, solver="auto")
            n = len(chosen_lams(model.path_, criterion, largest))
            row = {"set": name, "method": criterion, "fold": fold}
            rows.append({**row, "seconds": perf_counter() - before, "outputs_timed": n})
    data = task(setup, data_home, name, 0)
    before = perf_counter()
    lam = brent(lambda lam: refitted_error(setup, data, 0, lam), largest)
    seconds = (perf_counter() - before) * data.Y.shape[1]
    row = {"set": name, "method": "refits", "fold": 0}
    return [*rows, {**row, "seconds": seconds, "outputs_timed": 1, "lam": lam}]


def refitted_error(setup: Setup, data: Task, output: int, lam: float) -> float:
    """Error of five inner folds at one λ, with a new fit in each by Theorem 4.

    Features are drawn from the same seed for all folds and λ. The equations of Theorem 4 are
    solved by Cholesky's method if the matrix is positive definite, else by the pseudo-inverse.
    """
    width = setup.size.width
    n_members = setup.members(width)
    seed = setup.seed_for("features", data.name, data.fold, width)
    gamma = bandwidth(setup, data.X)
    gamma = kwok_tsang_gamma(data.X) if gamma == "kwok-tsang" else gamma
    squared_error = 0.0
    for train, test in folds_of(len(data.X), setup, data.name, data.fold, "inner"):
        X, y = data.X[train], data.Y[train, output]
        sampler = RBFSampler(gamma=gamma, n_components=n_members * width, random_state=seed)
        features = sampler.fit_transform(X)
        gram = features.T @ features / len(features)
        matrix = lam * gram
        for m in range(n_members):
            block = slice(m * width, (m + 1) * width)
            matrix[block, block] += n_members * (1.0 - lam) * gram[block, block]
        moments = features.T @ y / len(features)
        try:
            beta = scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix), moments)
        except np.linalg.LinAlgError:
            beta = np.linalg.pinv(matrix, hermitian=True) @ moments
        fitted = sampler.transform(data.X[test]) @ beta
        squared_error += float(np.sum((fitted - data.Y[test, output]) ** 2))
    return squared_error / len(data.X)
