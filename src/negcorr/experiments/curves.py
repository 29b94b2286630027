"""Every curve over λ on one outer fold: what Figures 1, 3, 4 and 5 are drawn from."""

from __future__ import annotations

import numpy as np

from negcorr._typing import FloatArray
from negcorr.experiments.pieces import Piece, Row
from negcorr.experiments.protocol import FOLDS, fit_ncl, task
from negcorr.experiments.setup import Setup
from negcorr.experiments.study import Study

__all__ = ["GRID", "TINY_GAPS", "all_gaps", "curves", "pieces_of"]

#: λ in steps of 0.05, as 1 − λ.
GRID = tuple(round(1.0 - step / 20.0, 2) for step in range(21))

#: Those of Figure 3.
TINY_GAPS = tuple(float(f"1e-{exponent}") for exponent in range(2, 21))


def all_gaps() -> FloatArray:
    """Both grids, from λ = 0 to λ = 1."""
    return np.array(sorted({*GRID, *TINY_GAPS}, reverse=True))


def pieces_of(study: Study, names: tuple[str, ...], widths: tuple[int, ...]) -> list[Piece]:
    """One piece for each set, width and fold."""
    return [
        study.piece(curves, name=name, width=width, fold=fold, effort=_effort(study, name))
        for name in names
        for width in widths
        for fold in range(FOLDS)
    ]


def _effort(study: Study, name: str) -> float:
    return 0.05 + 2e-4 * study.n_rows(name)


def curves(setup: Setup, data_home: str | None, name: str, width: int, fold: int) -> list[Row]:
    """Errors, diversity and dof at every gap of :func:`all_gaps`, for every output.

    Parameters
    ----------
    setup : Setup
    data_home : str or None
    name : str
        Data set.
    width : int
        Features per member.
    fold : int
        The fold that is held out.
    """
    data = task(setup, data_home, name, fold)
    model = fit_ncl(setup, data, width)
    spectrum = model.path_.spectrum
    gaps = all_gaps()
    coef = spectrum.coef_path(gaps)
    features = model.basis_.transform(data.X_test)
    n_members = spectrum.n_members
    fitted = features @ coef
    test_error = np.mean((fitted - data.Y_test.T[:, :, np.newaxis]) ** 2, axis=1)
    columns = {
        "train_error": spectrum.train_error(gap=gaps).T,
        "member_error": spectrum.member_error(gap=gaps).T,
        "diversity": spectrum.diversity(gap=gaps).T,
        "test_error": test_error,
        "test_diversity": _diversity(features, coef, n_members) - np.mean(fitted**2, axis=1),
    }
    dof = spectrum.dof(gap=gaps)
    return [
        {
            "set": name,
            "width": width,
            "members": n_members,
            "fold": fold,
            "output": output,
            "n_train": len(data.X),
            "gap": float(gap),
            "lam": 1.0 - float(gap),
            "dof": float(dof[k]),
            **{column: float(values[output, k]) for column, values in columns.items()},
        }
        for output in range(data.Y.shape[1])
        for k, gap in enumerate(gaps)
    ]


def _diversity(features: FloatArray, coef: FloatArray, n_members: int) -> FloatArray:
    """Mean square of the members' predictions, (outputs, gaps), from Gram matrices of blocks.

    Members predict M φ_mᵀβ_m; the square of the ensemble is taken off by the caller.
    """
    blocks = features.reshape(len(features), n_members, -1)
    gram = np.einsum("nmh,nmk->mhk", blocks, blocks, optimize=True) / len(features)
    parts = coef.reshape(len(coef), n_members, -1, coef.shape[2])
    return np.asarray(n_members * np.einsum("pmhg,mhk,pmkg->pg", parts, gram, parts, optimize=True))
