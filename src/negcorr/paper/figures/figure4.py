"""Figure 4: degrees of freedom against λ, on six data sets and for three widths."""

from __future__ import annotations

from typing import Any

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.paper.curves import at_gaps, pieces_of
from negcorr.paper.figure_style import COLOURS, LAM_LABEL, band, panels_by_set
from negcorr.paper.page import TEXTS, Claim, theorem
from negcorr.paper.pieces import Piece
from negcorr.paper.protocol import SIX_SETS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "run"]

NAME = "figure4"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = SIX_SETS


def pieces(study: Study) -> list[Piece]:
    """The pieces that it needs."""
    return pieces_of(study, study.datasets(SETS), study.setup.size.widths)


def run(study: Study) -> DataFrame:
    """Degrees of freedom on the grid of λ, one row for each set, width, fold and λ."""
    return at_gaps(study.table(pieces(study)))


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each width, from the table alone."""
    return curves_by_width(table, "dof", "degrees of freedom", yscale="log", ylim=(3, 1500))


def curves_by_width(table: DataFrame, column: str, label: str, **axis: Any) -> Figure:
    """A panel for each set with a line for each width."""
    with panels_by_set(table, LAM_LABEL, label) as (figure, panels):
        for axes, rows in panels:
            axes.set(xlim=(0, 1.02), **axis)
            for k, (width, part) in enumerate(rows.groupby("width")):
                folds = part.pivot(index="fold", columns="lam", values=column)
                words = f"H = {width}, M = {part['members'].iloc[0]}"
                band(axes, folds, color=COLOURS[k], ls=("-", "--", "-.")[k % 3], label=words)
    return figure


def slopes_of(table: DataFrame, column: str) -> list[FloatArray]:
    """Slopes along λ of the curves of all sets, widths and folds."""
    return [
        np.diff(part[column]) / np.diff(part["lam"])
        for _, part in table.sort_values("lam").groupby(["set", "width", "fold"])
    ]


def claims(table: DataFrame) -> list[Claim]:
    """Degrees of freedom are strictly increasing and strictly convex in λ (Theorem 5)."""
    slopes = slopes_of(table, "dof")
    increasing = sum(bool((one > 0).all()) for one in slopes)
    convex = sum(bool((np.diff(one) > 0).all()) for one in slopes)
    known = table[table["literal_dof"].notna()]
    off = float((known["dof"] / known["literal_dof"] - 1.0).abs().max())
    return [
        theorem(
            "Degrees of freedom strictly increase with λ, on every set and for every width.",
            increasing == len(slopes),
            f"{increasing} of {len(slopes)} curves (set, width, fold)",
        ),
        theorem(
            "They are strictly convex in λ.",
            convex == len(slopes),
            f"{convex} of {len(slopes)} curves",
        ),
        theorem(
            "They are the trace of the matrix in Theorem 5, solved literally at λ = 0, 0.5 and "
            "0.95.",
            off <= 1e-6,
            f"relative difference at most {off:.0e} in {len(known)} cases",
        ),
    ]
