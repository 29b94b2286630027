r"""Diversity against degrees of freedom, the relation in the paper's title, which it never plots.

Let E(f) be the average error of the members on the training rows and A(f) their diversity. NCL
minimises E − λA, so :math:`L(\lambda) = \min_f\,[E(f) - \lambda A(f)]` is a minimum of straight
lines, hence concave, and its slope is −A at the minimiser: training diversity never falls as λ
rises. Degrees of freedom rise too (Theorem 5), so that on the training rows diversity is an
increasing function of dof; mode by mode, dof is Σ s and diversity Σ κ²as², and every s grows with
λ. The argument does not hold on other rows: they need the experiment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from negcorr.paper.curves import pieces_of
from negcorr.paper.figure_style import COLOURS, panels_by_set
from negcorr.paper.page import TEXTS, Claim, theorem, titles
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "run"]

NAME = "diversity-dof"

TITLE, CAPTION = TEXTS[NAME].values()

#: All data sets.
SETS = None

#: Relative changes of dof below this are rounding, as from a gap of 10⁻¹⁹ to 10⁻²⁰.
TIE = 1e-9

#: Ends of the axis of diversity.
BOTTOM, TOP = 1e-2, 1e10

#: The columns whose values are the same along one curve.
CURVE = ["set", "fold", "output"]


def pieces(study: Study) -> list[Piece]:
    """The pieces that it needs: the curves of Figure 1, on all sets."""
    return pieces_of(study, study.datasets(), (study.setup.size.width,))


def run(study: Study) -> DataFrame:
    """Diversity and dof, one row for each set, fold, output and gap."""
    table = study.table(pieces(study))
    columns = ["n_train", "gap", "lam", "dof", "diversity", "test_diversity", "test_error"]
    return table[[*CURVE, *columns]]


def plot(table: DataFrame) -> Figure:
    """One panel for each set, from the table alone.

    Lines are means over folds and outputs, bands the range of folds.
    """
    label = "diversity (variance of the target = 1)"
    with panels_by_set(table, "degrees of freedom", label, columns=4, height=1.75) as drawing:
        figure, panels = drawing
        for axes, part in panels:
            axes.set(xscale="log", yscale="log", ylim=(BOTTOM, TOP))
            by_gap = part.groupby("gap")
            dof, best = by_gap["dof"].mean(), by_gap["test_error"].mean().idxmin()
            for column, colour, dashes, words in (
                ("diversity", COLOURS[0], "-", "on training rows"),
                ("test_diversity", COLOURS[1], "--", "on test rows"),
            ):
                # Members that agree to rounding have a diversity of 0; a logarithm needs more.
                logs = np.log(part[column].clip(lower=np.finfo(float).tiny))
                folds = logs.groupby([part["gap"], part["fold"]]).mean().unstack()
                mean = np.exp(folds.mean(axis=1))
                low, high = np.exp(folds.min(axis=1)), np.exp(folds.max(axis=1))
                axes.fill_between(dof, low, high, color=colour, alpha=0.15, linewidth=0)
                axes.plot(dof, mean, lw=1.4, color=colour, ls=dashes, label=words)
            dot: dict[str, Any] = {"color": COLOURS[1], "marker": "o", "markersize": 4.5, "ls": ""}
            axes.plot(dof[best], mean[best], zorder=5, label="λ of least test error", **dot)
            end = float(part["diversity"].max())
            if end > TOP:
                text = f"10$^{{{np.log10(end):.0f}}}$ at λ = 1"
                axes.text(0.75, 0.95, text, transform=axes.transAxes, ha="right", va="top")
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """Diversity increases with dof: a theorem on training rows, an observation on others."""
    increases: dict[str, list[bool]] = {"diversity": [], "test_diversity": []}
    correlations = {}
    for key, part in table.sort_values("gap", ascending=False).groupby(CURVE, sort=False):
        dof = part["dof"].to_numpy()
        steps = np.diff(dof) > TIE * dof[:-1]
        for column, found in increases.items():
            found.append(bool((np.diff(part[column])[steps] > 0).all()))
        correlations[key] = part["dof"].corr(part["test_diversity"], method="spearman")
    train, test = increases.values()
    ends = table[table["gap"].isin((0.0, 1.0))].groupby(["set", "gap"])["diversity"].median()
    growth = (ends.xs(0.0, level="gap") / ends.xs(1.0, level="gap")).to_numpy()
    lowest = min(correlations, key=lambda key: correlations[key])
    return [
        theorem(
            "On the training rows diversity strictly increases with degrees of freedom, on every "
            "set, fold and output.",
            all(train),
            f"{sum(train)} of {len(train)} curves, leaving out steps in which dof grows by less "
            f"than {TIE:g} of itself; from λ = 0 to λ = 1 diversity grows {growth.min():.2g} to "
            f"{growth.max():.2g} times (median of folds and outputs). The least loss is concave "
            "in λ, with minus the diversity as its slope: so it must be",
        ),
        Claim(
            "On test rows, where that argument says nothing, it increases as well.",
            all(test),
            f"at every step on {sum(test)} of {len(test)} curves; Spearman's correlation "
            f"{np.median(list(correlations.values())):.4f} (median), at least "
            f"{correlations[lowest]:.4f} ({titles(lowest[:1])})",
        ),
    ]
