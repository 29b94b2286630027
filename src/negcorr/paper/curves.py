"""Errors, diversity and dof along λ on one outer fold: the data of Figures 1, 3, 4 and 5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from negcorr._common.types import FloatArray
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.protocol import FOLDS, fit_ncl, task
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame

__all__ = ["GRID", "LITERAL", "TINY_GAPS", "all_gaps", "at_gaps", "curves", "pieces_of"]


#: λ in steps of 0.05, as 1 − λ.
GRID = tuple(round(1.0 - step / 20.0, 2) for step in range(21))

#: The gaps of Figure 3.
TINY_GAPS = tuple(float(f"1e-{exponent}") for exponent in range(2, 21))


#: λ = 0, ½ and 0.95: here dof is also computed from the matrix of Theorem 5.
LITERAL = (1.0, 0.5, 0.05)


def all_gaps() -> FloatArray:
    """The gaps of both grids, from λ = 0 to λ = 1."""
    return np.array(sorted({*GRID, *TINY_GAPS}, reverse=True))


def pieces_of(
    study: Study, names: tuple[str, ...], widths: tuple[int, ...], protocol: str | None = None
) -> list[Piece]:
    """One piece for each set, width and fold, under the study's protocol or another."""
    protocol = study.setup.protocol if protocol is None else protocol
    return [
        study.piece(curves, effort, name=name, width=width, fold=fold, protocol=protocol)
        for name, effort in [(name, 0.15 + 2.5e-4 * study.n_rows(name)) for name in names]
        for width in widths
        for fold in range(FOLDS)
    ]


def at_gaps(table: DataFrame, gaps: Sequence[float] = GRID) -> DataFrame:
    """The rows of a table of curves at these gaps."""
    return table[table["gap"].isin(gaps)].reset_index(drop=True)


def curves(
    setup: Setup, data_home: str | None, name: str, width: int, fold: int, protocol: str
) -> list[Row]:
    """Errors, diversity and dof at every gap of :func:`all_gaps`, for every output.

    Errors and diversity are measured on predictions, not computed from the formulas of the
    theorems. dof is Theorem 5's trace; at the gaps of :data:`LITERAL` it is also computed from the
    printed matrix, trace(G (M(1−λ)D + λG)⁻¹), and NaN at other gaps.

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
    protocol : str
        Replaces that of ``setup``.
    """
    setup = setup.under(protocol)
    data = task(setup, data_home, name, fold)
    model = fit_ncl(setup, data, width)
    spectrum = model.path_.spectrum
    n_members, gaps = spectrum.n_members, all_gaps()
    coef, features = spectrum.coef_path(gaps), model.basis_.transform(data.X)
    train = _measured(features, coef, data.Y, n_members)
    test = _measured(model.basis_.transform(data.X_test), coef, data.Y_test, n_members)
    gram = features.T @ features / len(features)
    blocks = np.kron(np.eye(n_members), np.ones((len(gram) // n_members,) * 2))
    literal = np.full(len(gaps), np.nan)
    for gap in LITERAL:
        matrix = n_members * gap * blocks * gram + (1.0 - gap) * gram
        literal[gaps == gap] = np.trace(scipy.linalg.solve(matrix, gram, assume_a="sym"))
    n, shape = len(data.X), (data.Y.shape[1], len(gaps))
    columns = {
        "gap": gaps,
        "lam": 1.0 - gaps,
        "dof": spectrum.dof(gap=gaps),
        "literal_dof": literal,
    }
    columns |= {"train_error": train.pop("error"), **train}
    columns |= {f"test_{column}": values for column, values in test.items()}
    table = {column: np.broadcast_to(values, shape) for column, values in columns.items()}
    known = {"set": name, "protocol": protocol, "width": width, "members": n_members, "fold": fold}
    return [
        {**known, "output": p, "n_train": n, **{c: float(v[p, k]) for c, v in table.items()}}
        for p, k in np.ndindex(shape)
    ]


def _measured(
    features: FloatArray, coef: FloatArray, Y: FloatArray, n_members: int
) -> dict[str, FloatArray]:
    """Ensemble error, member error and diversity of predictions, each (outputs, gaps).

    Members predict M φ_mᵀβ_m. Their mean square comes from the Gram matrices of the blocks.
    """
    fitted = features @ coef
    error = np.mean((fitted - Y.T[:, :, np.newaxis]) ** 2, axis=1)
    blocks = features.reshape(len(features), n_members, -1)
    gram = np.einsum("nmh,nmk->mhk", blocks, blocks, optimize=True) / len(features)
    parts = coef.reshape(len(coef), n_members, -1, coef.shape[2])
    square = n_members * np.einsum("pmhg,mhk,pmkg->pg", parts, gram, parts, optimize=True)
    diversity = square - np.mean(fitted**2, axis=1)
    return {"error": error, "member_error": error + diversity, "diversity": diversity}
