"""Figure 8: training error of deep ensembles against λ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from negcorr.datasets import info
from negcorr.paper.claims import Claim
from negcorr.paper.curves import curves_by_depth
from negcorr.paper.deep_study import deep_pieces, deep_table, epochs_shown, trained_on
from negcorr.paper.figure_style import PANELS
from negcorr.paper.figures.figure7 import monotone_claims
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["CAPTION", "NAME", "SETS", "TITLE", "claims", "pieces", "plot", "remarks", "run"]

NAME = "figure8"

TITLE = "Figure 8: training error of deep ensembles"

#: Data sets that it can use.
SETS = PANELS

#: Lower end of the error axis: what is below has been interpolated.
LOWEST = 1e-4

CAPTION = (
    "Mean squared error on the training rows of the ensembles of Figure 7; targets have variance "
    "1. Solid: at the end of training; dashed: after a tenth of it. Lines are means over five "
    "folds, bands one standard error. Lines that leave the panel below interpolate."
)


def pieces(study: Study) -> list[Piece]:
    """What has to be computed."""
    return deep_pieces(study)


def run(study: Study) -> DataFrame:
    """Training errors, one row for each set, depth, fold, epoch and λ."""
    table = deep_table(study, ("train_error", "member_error"))
    return table[table["epoch"].isin(epochs_shown(table))].reset_index(drop=True)


def remarks(table: DataFrame) -> str:
    """Where it was computed, with which learning rates, and what lies below the panels."""
    means = table.groupby(["set", "depth", "epoch", "lam"], sort=False)["train_error"].mean()
    below = means[means < LOWEST].groupby("set", sort=False).min()
    lowest = ", ".join(f"{info(str(name)).title} {value:.0e}" for name, value in below.items())
    return trained_on(table) + (f"\nBelow the panels, down to: {lowest}.\n" if lowest else "")


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each depth and epoch, from the table alone."""
    return curves_by_depth(
        table,
        "train_error",
        "mean squared training error (logarithmic)",
        own_scale=False,
        yscale="log",
        ylim=(LOWEST, 0.6),
    )


def claims(table: DataFrame) -> list[Claim]:
    """The training error falls with λ."""
    return monotone_claims(table, "train_error", -1.0, "The training error decreases with λ")
