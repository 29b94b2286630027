"""Figure 4: degrees of freedom against λ, on six data sets and for three widths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from negcorr.paper.claims import Claim
from negcorr.paper.curves import GRID, pieces_of
from negcorr.paper.figure_style import COLOURS, PANELS, band, panels, style
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["CAPTION", "NAME", "SETS", "TITLE", "claims", "pieces", "plot", "run"]

NAME = "figure4"

TITLE = "Figure 4: degrees of freedom"

#: Data sets that it can use.
SETS = PANELS

CAPTION = (
    "Degrees of freedom against λ (Theorem 5), on a logarithmic axis, for M members of H features "
    "each. Means over the training rows of five folds. At λ = 0 dof is H, at λ = 1 the rank of all "
    "features."
)


def pieces(study: Study) -> list[Piece]:
    """What has to be computed."""
    return pieces_of(study, study.datasets(PANELS), study.setup.size.widths)


def run(study: Study) -> DataFrame:
    """Degrees of freedom on the grid of λ, one row for each set, width, fold and λ."""
    table = study.table(pieces(study))
    return table[table["gap"].isin(GRID)].reset_index(drop=True)


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each width, from the table alone."""
    return curves_by_width(table, "dof", "degrees of freedom", yscale="log", ylim=(3, 1500))


def curves_by_width(table: DataFrame, column: str, label: str, **axis: object) -> Figure:
    """A panel for each set with a line for each width."""
    with style():
        names = list(dict.fromkeys(table["set"]))
        figure, grid = panels(names)
        for name, axes in zip(names, grid, strict=True):
            axes.set(xlim=(0, 1.02), **axis)
            for k, (width, part) in enumerate(table[table["set"] == name].groupby("width")):
                wide = part.pivot(index="fold", columns="lam", values=column)
                members = part["members"].iloc[0]
                band(
                    axes,
                    wide.columns.to_numpy(),
                    wide.to_numpy(),
                    color=COLOURS[k],
                    ls=("-", "--", "-.")[k % 3],
                    label=f"H = {width}, M = {members}",
                )
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        figure.supxlabel("diversity parameter λ", fontsize=9.5)
        figure.supylabel(label, fontsize=9.5)
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """Degrees of freedom are strictly increasing and strictly convex in λ (Theorem 5)."""
    increasing, convex, curves = 0, 0, 0
    for _, part in table.sort_values("lam").groupby(["set", "width", "fold"]):
        slopes = np.diff(part["dof"].to_numpy()) / np.diff(part["lam"].to_numpy())
        curves += 1
        increasing += bool((slopes > 0).all())
        convex += bool((np.diff(slopes) > 0).all())
    return [
        Claim(
            "Degrees of freedom strictly increase with λ, on every set and for every width.",
            increasing == curves,
            f"{increasing} of {curves} curves (set, width, fold)",
            nature="theorem",
        ),
        Claim(
            "They are strictly convex in λ.",
            convex == curves,
            f"{convex} of {curves} curves",
            nature="theorem",
        ),
        _literal(table),
    ]


def _literal(table: DataFrame) -> Claim:
    """Against the trace of the matrix of Theorem 5, which no eigenvalue enters."""
    known = table[table["literal_dof"].notna()]
    off = float((known["dof"] / known["literal_dof"] - 1.0).abs().max())
    return Claim(
        "They are the trace of the matrix in Theorem 5, solved literally at λ = 0, 0.5 and 0.95.",
        off <= 1e-6,
        f"relative difference at most {off:.0e} in {len(known)} cases",
        nature="theorem",
    )
