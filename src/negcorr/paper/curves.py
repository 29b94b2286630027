"""Every curve over λ on one outer fold: what Figures 1, 3, 4 and 5 are drawn from."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from matplotlib.figure import Figure
from pandas import DataFrame

from negcorr._common.types import FloatArray
from negcorr.paper.deep_study import epochs_shown
from negcorr.paper.figure_style import COLOURS, band, panels, plain_log_ticks, style
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.protocol import FOLDS, fit_ncl, task
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study

__all__ = ["GRID", "LITERAL", "TINY_GAPS", "all_gaps", "curves", "curves_by_depth", "pieces_of"]


#: λ in steps of 0.05, as 1 − λ.
GRID = tuple(round(1.0 - step / 20.0, 2) for step in range(21))

#: Those of Figure 3.
TINY_GAPS = tuple(float(f"1e-{exponent}") for exponent in range(2, 21))


#: λ = 0, ½ and 0.95: where degrees of freedom are computed from the matrix of Theorem 5 too.
LITERAL = (1.0, 0.5, 0.05)


def all_gaps() -> FloatArray:
    """Both grids, from λ = 0 to λ = 1."""
    return np.array(sorted({*GRID, *TINY_GAPS}, reverse=True))


def pieces_of(
    study: Study,
    names: tuple[str, ...],
    widths: tuple[int, ...],
    protocol: str | None = None,
) -> list[Piece]:
    """One piece for each set, width and fold, under the study's protocol or another."""
    protocol = study.setup.protocol if protocol is None else protocol
    return [
        study.piece(
            curves, _effort(study, name), name=name, width=width, fold=fold, protocol=protocol
        )
        for name in names
        for width in widths
        for fold in range(FOLDS)
    ]


def _effort(study: Study, name: str) -> float:
    return 0.15 + 2.5e-4 * study.n_rows(name)


def curves(
    setup: Setup, data_home: str | None, name: str, width: int, fold: int, protocol: str
) -> list[Row]:
    """Errors, diversity and dof at every gap of :func:`all_gaps`, for every output.

    Errors and diversity are measured on predictions, not taken from the formulas that the theorems
    are about; dof is Theorem 5's trace, taken literally at the gaps of :data:`LITERAL` as well.

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
        In place of that of ``setup``.
    """
    setup = setup.under(protocol)
    data = task(setup, data_home, name, fold)
    model = fit_ncl(setup, data, width)
    spectrum = model.path_.spectrum
    gaps = all_gaps()
    coef = spectrum.coef_path(gaps)
    features = model.basis_.transform(data.X)
    columns = {
        **_measured(features, coef, data.Y, spectrum.n_members, ""),
        **_measured(
            model.basis_.transform(data.X_test), coef, data.Y_test, spectrum.n_members, "test_"
        ),
    }
    dof, literal = spectrum.dof(gap=gaps), _literal_dof(features, spectrum.n_members, gaps)
    return [
        {
            "set": name,
            "protocol": protocol,
            "width": width,
            "members": spectrum.n_members,
            "fold": fold,
            "output": output,
            "n_train": len(data.X),
            "gap": float(gap),
            "lam": 1.0 - float(gap),
            "dof": float(dof[k]),
            "literal_dof": float(literal[k]),
            **{column: float(values[output, k]) for column, values in columns.items()},
        }
        for output in range(data.Y.shape[1])
        for k, gap in enumerate(gaps)
    ]


def _measured(
    features: FloatArray, coef: FloatArray, Y: FloatArray, n_members: int, prefix: str
) -> dict[str, FloatArray]:
    """Ensemble error, member error and diversity of predictions, each (outputs, gaps).

    Members predict M φ_mᵀβ_m. Their mean square comes from Gram matrices of blocks.
    """
    fitted = features @ coef
    error = np.mean((fitted - Y.T[:, :, np.newaxis]) ** 2, axis=1)
    blocks = features.reshape(len(features), n_members, -1)
    gram = np.einsum("nmh,nmk->mhk", blocks, blocks, optimize=True) / len(features)
    parts = coef.reshape(len(coef), n_members, -1, coef.shape[2])
    square = n_members * np.einsum("pmhg,mhk,pmkg->pg", parts, gram, parts, optimize=True)
    diversity = square - np.mean(fitted**2, axis=1)
    name = f"{prefix}error" if prefix else "train_error"
    return {
        name: error,
        f"{prefix}member_error": error + diversity,
        f"{prefix}diversity": diversity,
    }


def _literal_dof(features: FloatArray, n_members: int, gaps: FloatArray) -> FloatArray:
    """trace(G (M(1−λ)D + λG)⁻¹) at the gaps of :data:`LITERAL`, NaN at others."""
    gram = features.T @ features / len(features)
    blocks = np.kron(np.eye(n_members), np.ones((len(gram) // n_members,) * 2))
    found = np.full(len(gaps), np.nan)
    for gap in LITERAL:
        matrix = n_members * gap * blocks * gram + (1.0 - gap) * gram
        solved = scipy.linalg.solve(matrix, gram, assume_a="sym")
        found[gaps == gap] = np.trace(solved)
    return found


def curves_by_depth(
    table: DataFrame,
    column: str,
    label: str,
    *,
    own_scale: bool = True,
    within_folds: bool = False,
    **axis: object,
) -> Figure:
    """A panel for each set, with a line for each depth at the end and at an early epoch.

    With ``within_folds`` the curves of all folds are brought to the same mean, so that bands tell
    of differences between values of λ and not between folds.
    """
    early, last = epochs_shown(table)
    with style():
        names = list(dict.fromkeys(table["set"]))
        figure, grid = panels(names, own_scale=own_scale)
        for name, axes in zip(names, grid, strict=True):
            axes.set(xlim=(0, 1.02), **axis)
            for k, (depth, part) in enumerate(table[table["set"] == name].groupby("depth")):
                for epoch, dashes in ((early, (0, (3, 1.5))), (last, "-")):
                    wide = part[part["epoch"] == epoch].pivot(
                        index="fold", columns="lam", values=column
                    )
                    values = wide.to_numpy()
                    if within_folds:
                        values = values * values.mean() / values.mean(axis=1, keepdims=True)
                    band(
                        axes,
                        wide.columns.to_numpy(),
                        values,
                        color=COLOURS[k],
                        ls=dashes,
                        lw=1.7 if epoch == last else 1.1,
                        label=f"{depth} layers, {epoch} epochs",
                    )
            if own_scale:
                plain_log_ticks(axes)
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels) // 2)
        figure.supxlabel("diversity parameter λ", fontsize=9.5)
        figure.supylabel(label, fontsize=9.5)
    return figure
