"""λ chosen by Brent's method on SURE or on the error of five inner folds: data of Table 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from negcorr._common.types import FloatArray
from negcorr.datasets import info
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.protocol import FOLDS, Task, fit_ncl, largest_lam, task
from negcorr.paper.setup import PROTOCOLS, Setup
from negcorr.paper.study import Study
from negcorr.path.path import NCLPath

__all__ = ["CRITERIA", "brent", "chosen_lams", "effort", "pieces_of", "selection"]

#: The criteria of Table 1: the paper's proposal and its baseline.
CRITERIA = ("sure", "kfold")


def brent(criterion: Callable[[float], float], largest: float) -> float:
    """The λ in [0, ``largest``] at which Brent's method finds a minimum.

    Examples
    --------
    >>> from negcorr.paper.lam_choice import brent
    >>> round(brent(lambda lam: (lam - 0.3) ** 2, 0.99), 4)
    0.3
    """
    return float(minimize_scalar(criterion, bounds=(0.0, largest), method="bounded").x)


def chosen_lams(path: NCLPath, criterion: str, largest: float) -> FloatArray:
    """The λ in [0, ``largest``] that Brent's method chooses for every output."""

    def value(lam: float, output: int) -> float:
        return float(path.criterion_curve(criterion, np.array([1.0 - lam]))[0][output])

    outputs = range(path.spectrum.n_outputs)
    return np.array([brent(partial(value, output=k), largest) for k in outputs])


def pieces_of(study: Study, names: tuple[str, ...]) -> list[Piece]:
    """One piece for each set, protocol and fold."""
    return [
        study.piece(selection, name=name, protocol=protocol, fold=fold, effort=effort(study, name))
        for name in names
        for protocol in PROTOCOLS
        for fold in range(FOLDS)
    ]


def effort(study: Study, name: str) -> float:
    """About how many seconds one fold takes."""
    return 0.2 + 1e-4 * study.n_rows(name) + 0.5 * info(name).n_targets


def selection(
    setup: Setup, data_home: str | None, name: str, protocol: str, fold: int
) -> list[Row]:
    """Chosen λ and held-out error for both criteria and every output.

    ``protocol`` replaces that of ``setup``, so that both protocols can be compared.
    """
    setup = setup.under(protocol)
    data = task(setup, data_home, name, fold)
    model = fit_ncl(setup, data, setup.size.width, solver="auto")
    rows = []
    for criterion in CRITERIA:
        lams = chosen_lams(model.path_, criterion, largest_lam(setup))
        errors = held_out_error(model.path_, model.basis_.transform(data.X_test), data, lams)
        place = {"set": name, "protocol": protocol, "criterion": criterion, "fold": fold}
        for output, (lam, error) in enumerate(zip(lams.tolist(), errors.tolist(), strict=True)):
            dof = float(model.path_.spectrum.dof(lam))
            rows.append({**place, "output": output, "lam": lam, "dof": dof, "test_error": error})
    return rows


def held_out_error(path: NCLPath, features: FloatArray, data: Task, lams: FloatArray) -> FloatArray:
    """Mean squared error on held-out rows, one λ for each output."""
    coef = path.spectrum.coef(lams)
    return np.asarray(np.mean((features @ coef.T - data.Y_test) ** 2, axis=0))
