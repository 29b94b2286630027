"""Figure 8: training error of deep ensembles against λ."""

from __future__ import annotations

from negcorr.paper.deep_study import curves_by_depth, deep_table, monotone_claims, trained_on
from negcorr.paper.deep_study import deep_pieces as pieces
from negcorr.paper.page import TEXTS, Claim, titles
from negcorr.paper.protocol import SIX_SETS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "remarks", "run"]

NAME = "figure8"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = SIX_SETS

#: Lower end of the error axis; a smaller training error means interpolation.
LOWEST = 1e-4


def run(study: Study) -> DataFrame:
    """Training errors, one row for each set, depth, fold, epoch and λ."""
    return deep_table(study, ("train_error", "member_error"))


def remarks(table: DataFrame) -> str:
    """Where the networks were trained, with which learning rates, and errors below the panels."""
    means = table.groupby(["set", "depth", "epoch", "lam"], sort=False)["train_error"].mean()
    below = means[means < LOWEST].groupby("set", sort=False).min()
    lowest = ", ".join(f"{titles([name])} {value:.0e}" for name, value in below.items())
    return trained_on(table) + (f"\nBelow the panels, down to: {lowest}.\n" if lowest else "")


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each depth and epoch, from the table alone."""
    label = "mean squared training error (logarithmic)"
    ylim = (LOWEST, 0.6)
    return curves_by_depth(table, "train_error", label, own_scale=False, yscale="log", ylim=ylim)


def claims(table: DataFrame) -> list[Claim]:
    """The training error decreases with λ."""
    return monotone_claims(table, "train_error", -1.0, "The training error decreases with λ")
