"""Figure 7: degrees of freedom of deep ensembles against λ, by Algorithm 1."""

from __future__ import annotations

from negcorr.paper.deep_study import (
    INTERPOLATED,
    curves_by_depth,
    deep_table,
    epochs_shown,
    monotone_claims,
)
from negcorr.paper.deep_study import deep_pieces as pieces
from negcorr.paper.deep_study import trained_on as remarks
from negcorr.paper.figure_style import GREY
from negcorr.paper.page import TEXTS, Claim, titles
from negcorr.paper.protocol import SIX_SETS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "remarks", "run"]

NAME = "figure7"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = SIX_SETS


def run(study: Study) -> DataFrame:
    """Degrees of freedom, one row for each set, depth, fold, epoch and λ."""
    return deep_table(study, ("dof", "dof_std_error"))


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each depth and epoch, from the table alone."""
    figure = curves_by_depth(table, "dof", "degrees of freedom (logarithmic)", yscale="log")
    for axes, (_, part) in zip(figure.axes, table.groupby("set", sort=False), strict=False):
        axes.axhline(part["n_train"].mean(), color=GREY, lw=0.8)
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """Degrees of freedom increase with λ; small sets are interpolated at every λ."""
    found = monotone_claims(table, "dof", 1.0, "Degrees of freedom increase with λ")
    small = table[table["set"].isin(INTERPOLATED)]
    if small.empty:
        return found
    names = small["set"].unique()
    share = (small["dof"] / small["n_train"]).groupby([small["epoch"], small["set"], small["lam"]])
    means = share.agg(lambda values: values.mean(skipna=False)).unstack("lam")
    early, last = epochs_shown(table)
    low, high = means.iloc[:, 0], means.iloc[:, -1]
    ends = {
        at: ", ".join(f"{titles([k])} {low[at, k]:.2f} to {high[at, k]:.2f}" for k in names)
        for at in (early, last)
    }
    words = f"{titles(names).replace(', ', ' and ')} {'are' if len(names) > 1 else 'is'}"
    claim = Claim(
        f"{words} interpolated at every λ at the end of training (degrees of freedom above four "
        "fifths of the rows), so that the paper's picture is one of shorter training.",
        (means.loc[last] > 0.8).all(axis=None),
        f"degrees of freedom over rows from λ = 0 to 1, after {early} epochs: {ends[early]}; after "
        f"{last}: {ends[last]}",
        about_paper=True,
    )
    return [*found, claim]
