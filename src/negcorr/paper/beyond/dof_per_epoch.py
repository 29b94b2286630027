"""Degrees of freedom of deep ensembles during training, which the paper does not show."""

from __future__ import annotations

import numpy as np

from negcorr.paper.deep_study import deep_pieces as pieces
from negcorr.paper.deep_study import deep_table
from negcorr.paper.deep_study import trained_on as remarks
from negcorr.paper.figure_style import COLOURS, GREY, band, panels_by_set
from negcorr.paper.page import TEXTS, Claim
from negcorr.paper.protocol import SIX_SETS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "remarks", "run"]

NAME = "dof-per-epoch"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = SIX_SETS

#: Values of λ that are drawn; the nearest on the grid are used.
SHOWN = (0.0, 0.5, 0.9, 1.0)


def run(study: Study) -> DataFrame:
    """Degrees of freedom at a few λ, one row for each set, depth, fold, epoch and λ."""
    table = deep_table(study, ("dof", "dof_std_error"), all_epochs=True)
    lams = np.sort(table["lam"].unique())
    nearest = {float(lams[np.abs(lams - lam).argmin()]) for lam in SHOWN}
    return table[table["lam"].isin(nearest)].reset_index(drop=True)


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each λ, from the table alone."""
    table = table[table["depth"] == table["depth"].min()]
    with panels_by_set(table, "epochs", "degrees of freedom") as (figure, panels):
        for axes, part in panels:
            axes.set(xscale="log", yscale="log")
            for k, (lam, curve) in enumerate(part.groupby("lam")):
                folds = curve.pivot(index="fold", columns="epoch", values="dof")
                look = {"color": COLOURS[k], "ls": ("-", "--", "-.", ":")[k % 4]}
                band(axes, folds, label=f"λ = {lam:g}", **look)
            axes.axhline(part["n_train"].mean(), color=GREY, lw=0.8)
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """Degrees of freedom grow with training, at every λ that is shown."""
    groups = table.groupby(["set", "depth", "lam", "epoch"])["dof"]
    means = groups.agg(lambda values: values.mean(skipna=False)).unstack("epoch")
    first, last = means.columns[0], means.columns[-1]
    grows = means[last] > means[first]
    ratio = float((means[last] / means[first]).median())
    return [
        Claim(
            f"Degrees of freedom grow from {first} to {last} epochs, at every set, depth and λ "
            "shown.",
            grows.all(),
            f"{grows.sum()} of {len(grows)} curves; by {ratio:.1f} times in the median",
        )
    ]
