"""Figure 1: training and test error against λ, on six data sets."""

from __future__ import annotations

from negcorr.paper.curves import at_gaps, pieces_of
from negcorr.paper.figure_style import COLOURS, LAM_LABEL, band, mark_beyond, panels_by_set
from negcorr.paper.page import TEXTS, Claim, titles
from negcorr.paper.pieces import Piece
from negcorr.paper.protocol import SIX_SETS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "run"]

NAME = "figure1"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = SIX_SETS

#: Upper end of the error axis.
TOP = 1.75


def pieces(study: Study) -> list[Piece]:
    """The pieces that it needs."""
    return pieces_of(study, study.datasets(SETS), (study.setup.size.width,))


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
    return at_gaps(study.table(pieces(study)))


def plot(table: DataFrame) -> Figure:
    """One panel for each set, from the table alone."""
    label = "mean squared error (variance of the target = 1)"
    with panels_by_set(table, LAM_LABEL, label) as (figure, panels):
        for axes, part in panels:
            axes.set(xlim=(0, 1.02), ylim=(0, TOP))
            for colour, kind in zip(COLOURS, ("train", "test"), strict=False):
                folds = part.pivot(index="fold", columns="lam", values=f"{kind}_error")
                band(axes, folds, color=colour, label=f"{kind.replace('train', 'training')} error")
                mark_beyond(axes, 1.0, float(folds.iloc[:, -1].mean()), colour)
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """The gap between the errors grows with λ; the test error rises at λ = 1 on five of six."""
    means = table.groupby(["set", "lam"])[["train_error", "test_error"]].mean()
    test = means["test_error"].unstack()
    gap = test - means["train_error"].unstack()
    steadily = (gap.diff(axis=1).iloc[:, 1:] > 0).all(axis=1)
    grows = (gap.iloc[:, -1] > gap.iloc[:, 0]) & (gap.idxmax(axis=1) == gap.columns[-1])
    rises = test.iloc[:, -1] > test.iloc[:, -2]
    names = table["set"].unique()
    wavering = titles(name for name in names if not steadily[name])
    falling = [name for name in names if not rises[name]]
    return [
        Claim(
            "The gap between test and training error grows from λ = 0 to λ = 1 on every set, and "
            "is largest there.",
            grows.all(),
            f"{grows.sum()} of {len(names)} sets; at every single step of 0.05 on {steadily.sum()}"
            + (f", not on {wavering}" if wavering else ""),
        ),
        Claim(
            "The test error rises from λ = 0.95 to λ = 1 on all sets but Kinematics.",
            falling == [name for name in names if name == "kinematics"],
            f"it rises on {rises.sum()} of {len(names)}"
            + (f"; not on {titles(falling)}" if falling else ""),
            about_paper=True,
        ),
    ]
