r"""Diversity against degrees of freedom: the claim of the paper's title, which it never plots.

Let E(f) be the average error of the members on the training rows and A(f) their diversity. NCL
minimises E − λA, so :math:`L(\lambda) = \min_f\,[E(f) - \lambda A(f)]` is a minimum of straight
lines, hence concave, and its slope is −A at the minimiser: training diversity never falls as λ
rises. Degrees of freedom rise too (Theorem 5), so that on the training rows diversity is an
increasing function of dof; mode by mode, dof is Σ s and diversity Σ κ²as², and every s grows with
λ. On other rows the argument does not hold: there it is a matter of experiment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from negcorr.datasets import info
from negcorr.paper.claims import Claim
from negcorr.paper.curves import pieces_of
from negcorr.paper.figure_style import COLOURS, panels, style
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["CAPTION", "NAME", "SETS", "TITLE", "claims", "pieces", "plot", "run"]

NAME = "diversity-dof"

TITLE = "Diversity against degrees of freedom"

#: All data sets.
SETS = None

CAPTION = (
    "Diversity, the mean variance of the members' predictions, against degrees of freedom as λ "
    "goes from 0 (left end) to 1 (right end), on all sets; targets have variance 1. Geometric "
    "means over five folds and all outputs, bands the range of folds; dots mark the λ of least "
    "mean test error."
)

#: Relative changes below this are rounding: from a gap of 10⁻¹⁹ to 10⁻²⁰ little moves.
TIE = 1e-9

#: Ends of the axis of diversity.
BOTTOM, TOP = 1e-2, 1e10

#: What one curve is.
CURVE = ["set", "fold", "output"]


def pieces(study: Study) -> list[Piece]:
    """What has to be computed: the curves of Figure 1, on all sets."""
    return pieces_of(study, study.datasets(), (study.setup.size.width,))


def run(study: Study) -> DataFrame:
    """Diversity and dof, one row for each set, fold, output and gap."""
    table = study.table(pieces(study))
    columns = ["n_train", "gap", "lam", "dof", "diversity", "test_diversity", "test_error"]
    return table[[*CURVE, *columns]]


def plot(table: DataFrame) -> Figure:
    """One panel for each set, from the table alone."""
    with style():
        names = list(dict.fromkeys(table["set"]))
        figure, grid = panels(names, columns=4, height=1.75)
        for name, axes in zip(names, grid, strict=True):
            part = table[table["set"] == name]
            axes.set(xscale="log", yscale="log", ylim=(BOTTOM, TOP))
            _draw(axes, part, "diversity", color=COLOURS[0], label="on training rows")
            _draw(axes, part, "test_diversity", color=COLOURS[1], label="on test rows", ls="--")
            end = float(part["diversity"].max())
            if end > TOP:
                text = f"10$^{{{np.log10(end):.0f}}}$ at λ = 1"
                axes.text(0.75, 0.95, text, transform=axes.transAxes, ha="right", va="top")
        handles, labels = grid[0].get_legend_handles_labels()
        handles += grid[0].plot([], [], color=COLOURS[1], marker="o", markersize=4.5, ls="")
        labels.append("λ of least test error")
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        figure.supxlabel("degrees of freedom", fontsize=9.5)
        figure.supylabel("diversity (variance of the target = 1)", fontsize=9.5)
    return figure


def _draw(axes: Axes, part: DataFrame, column: str, **look: Any) -> None:
    """The mean over folds and outputs, the range of folds, and on test rows the best λ."""
    # Members that agree to rounding have a diversity of 0; a logarithm needs something.
    logs = np.log(part[column].clip(lower=np.finfo(float).tiny))
    folds = logs.groupby([part["gap"], part["fold"]]).mean().unstack()
    dof = part.groupby("gap")["dof"].mean()
    mean = np.exp(folds.mean(axis=1))
    low, high = np.exp(folds.min(axis=1)), np.exp(folds.max(axis=1))
    axes.fill_between(dof, low, high, color=look["color"], alpha=0.15, linewidth=0)
    axes.plot(dof, mean, lw=1.4, **look)
    if column == "test_diversity":
        best = part.groupby("gap")["test_error"].mean().idxmin()
        axes.plot(dof[best], mean[best], color=look["color"], marker="o", markersize=4.5, zorder=5)


def claims(table: DataFrame) -> list[Claim]:
    """Diversity increases with dof: a theorem on training rows, an observation on others."""
    train, test, correlations = [], [], {}
    for key, part in table.sort_values("gap", ascending=False).groupby(CURVE, sort=False):
        train.append(_increases(part, "diversity"))
        test.append(_increases(part, "test_diversity"))
        correlations[key] = part["dof"].corr(part["test_diversity"], method="spearman")
    ends = table[table["gap"].isin((0.0, 1.0))].groupby(["set", "gap"])["diversity"].median()
    growth = (ends.xs(0.0, level="gap") / ends.xs(1.0, level="gap")).to_numpy()
    lowest = min(correlations, key=lambda key: correlations[key])
    return [
        Claim(
            "On the training rows diversity strictly increases with degrees of freedom, on every "
            "set, fold and output.",
            all(train),
            f"{sum(train)} of {len(train)} curves, leaving out steps in which dof grows by less "
            f"than {TIE:g} of itself; from λ = 0 to λ = 1 diversity grows {growth.min():.2g} to "
            f"{growth.max():.2g} times (median of folds and outputs). The least loss is concave "
            "in λ, with minus the diversity as its slope: so it must be",
            nature="theorem",
        ),
        Claim(
            "On test rows, where that argument says nothing, it increases as well.",
            all(test),
            f"at every step on {sum(test)} of {len(test)} curves; Spearman's correlation "
            f"{np.median(list(correlations.values())):.4f} (median), at least "
            f"{correlations[lowest]:.4f} ({info(lowest[0]).title})",
        ),
    ]


def _increases(part: DataFrame, column: str) -> bool:
    """Whether a column grows in every step in which dof does; rows are in the order of λ."""
    dof, values = part["dof"].to_numpy(), part[column].to_numpy()
    steps = np.diff(dof) > TIE * dof[:-1]
    return bool((np.diff(values)[steps] > 0).all())
