"""Figure 5: training error against λ, on six data sets and for three widths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from negcorr.paper.claims import Claim
from negcorr.paper.figures import figure4
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["CAPTION", "NAME", "SETS", "TITLE", "claims", "pieces", "plot", "run"]

NAME = "figure5"

TITLE = "Figure 5: training error"

#: Data sets that it can use.
SETS = figure4.SETS

CAPTION = (
    "Training error against λ for the ensembles of Figure 4; targets have variance 1. Means and "
    "standard errors over five folds."
)


def pieces(study: Study) -> list[Piece]:
    """What has to be computed: the same as for Figure 4."""
    return figure4.pieces(study)


def run(study: Study) -> DataFrame:
    """Training errors on the grid of λ, one row for each set, width, fold and λ."""
    return figure4.run(study)


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each width, from the table alone."""
    label = "training error (variance of the target = 1)"
    return figure4.curves_by_width(table, "train_error", label, ylim=(0, 1.05))


def claims(table: DataFrame) -> list[Claim]:
    """The training error strictly decreases with λ (Theorem 5)."""
    falls = [
        bool((np.diff(part["train_error"].to_numpy()) < 0).all())
        for _, part in table.sort_values("lam").groupby(["set", "width", "fold"])
    ]
    return [
        Claim(
            "The training error strictly decreases with λ, on every set and for every width.",
            all(falls),
            f"{sum(falls)} of {len(falls)} curves (set, width, fold), measured on predictions",
            nature="theorem",
        )
    ]
