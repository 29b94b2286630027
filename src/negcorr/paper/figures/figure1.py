"""Figure 1: training and test error against λ, on six data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from negcorr.datasets import info
from negcorr.paper.claims import Claim
from negcorr.paper.curves import GRID, pieces_of
from negcorr.paper.figure_style import COLOURS, band, mark_beyond, panels, style
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
from negcorr.paper.figure_style import PANELS

__all__ = ["CAPTION", "NAME", "SETS", "TITLE", "claims", "pieces", "plot", "run"]


NAME = "figure1"

TITLE = "Figure 1: training and test error"

CAPTION = (
    "Mean squared error on training rows and on held-out rows against λ; targets have variance 1. "
    "Lines are means over five folds, bands one standard error. Triangles mark values beyond the "
    "axis."
)

#: Data sets that it can use.
SETS = PANELS

#: Upper end of the error axis.
TOP = 1.75


def pieces(study: Study) -> list[Piece]:
    """What has to be computed."""
    return pieces_of(study, study.datasets(PANELS), (study.setup.size.width,))


def run(study: Study) -> DataFrame:
    """Errors on the grid of λ, one row for each set, fold and λ.

    Parameters
    ----------
    study : Study
        Settings, data and what has been computed already.

    Returns
    -------
    DataFrame
        Columns ``set``, ``fold``, ``lam``, ``train_error``, ``test_error`` among others.
    """
    table = study.table(pieces(study))
    return table[table["gap"].isin(GRID)].reset_index(drop=True)


def plot(table: DataFrame) -> Figure:
    """One panel for each set, from the table alone."""
    with style():
        names = list(dict.fromkeys(table["set"]))
        figure, grid = panels(names)
        for name, axes in zip(names, grid, strict=True):
            part = table[table["set"] == name]
            axes.set(xlim=(0, 1.02), ylim=(0, TOP))
            for column, colour, label in (
                ("train_error", COLOURS[0], "training error"),
                ("test_error", COLOURS[1], "test error"),
            ):
                wide = part.pivot(index="fold", columns="lam", values=column)
                lams, values = wide.columns.to_numpy(), wide.to_numpy()
                band(axes, lams, values, color=colour, label=label)
                mark_beyond(axes, 1.0, float(values.mean(axis=0)[-1]), colour)
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2)
        figure.supxlabel("diversity parameter λ", fontsize=9.5)
        figure.supylabel("mean squared error (variance of the target = 1)", fontsize=9.5)
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """The gap between the errors grows with λ; the test error rises at λ = 1 on five of six."""
    means = table.groupby(["set", "lam"])[["train_error", "test_error"]].mean()
    grows, steadily, rises = [], [], []
    names = list(dict.fromkeys(table["set"]))
    for name in names:
        curve = means.loc[name]
        gap = (curve["test_error"] - curve["train_error"]).to_numpy()
        grows.append(gap[-1] > gap[0] and gap.argmax() == len(gap) - 1)
        steadily.append(bool((np.diff(gap) > 0).all()))
        test = curve["test_error"].to_numpy()
        rises.append(test[-1] > test[-2])
    wavering = [info(n).title for n, steady in zip(names, steadily, strict=True) if not steady]
    falling = [info(n).title for n, rise in zip(names, rises, strict=True) if not rise]
    return [
        Claim(
            "The gap between test and training error grows from λ = 0 to λ = 1 on every set, and "
            "is largest there.",
            all(grows),
            f"{sum(grows)} of {len(names)} sets; at every single step of 0.05 on {sum(steadily)}"
            + (f", not on {', '.join(wavering)}" if wavering else ""),
        ),
        Claim(
            "The test error rises from λ = 0.95 to λ = 1 on all sets but Kinematics.",
            falling in ([], ["Kinematics"]) and ("kinematics" not in names or len(falling) == 1),
            f"it rises on {sum(rises)} of {len(names)}"
            + (f"; not on {', '.join(falling)}" if falling else ""),
            about_paper=True,
        ),
    ]
