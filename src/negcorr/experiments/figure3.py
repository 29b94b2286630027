"""Figure 3: the test error very close to λ = 1, on Kinematics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from negcorr.experiments.claims import Claim
from negcorr.experiments.curves import TINY_GAPS, pieces_of
from negcorr.experiments.drawing import COLOURS, GREY, band, new_figure, style
from negcorr.experiments.pieces import Piece
from negcorr.experiments.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["CAPTION", "NAME", "SETS", "TITLE", "claims", "pieces", "plot", "run"]

NAME = "figure3"

TITLE = "Figure 3: very close to λ = 1"

#: Data sets that it can use.
SETS = ("kinematics",)

CAPTION = (
    "Test error on Kinematics for λ = 1 − 10⁻² to 1 − 10⁻²⁰, mean and standard error over five "
    "folds. Dashed: λ = 1 itself. The inset has the relative difference from λ = 1 within folds."
)

#: What the paper reads off its figure.
PAPER_GAP = 1e-12

#: Where the inset begins.
NEAR = 1e-9


def pieces(study: Study) -> list[Piece]:
    """What has to be computed."""
    return pieces_of(study, study.datasets(SETS), (study.setup.size.width,))


def run(study: Study) -> DataFrame:
    """Test errors at gaps 10⁻² to 10⁻²⁰ and at λ = 1 (gap 0), one row for each fold and gap."""
    table = study.table(pieces(study))
    return table[table["gap"].isin((*TINY_GAPS, 0.0))].reset_index(drop=True)


def plot(table: DataFrame) -> Figure:
    """The curve over the gap and the line at λ = 1, from the table alone."""
    wide = table.pivot(index="fold", columns="gap", values="test_error")
    gaps = np.array([gap for gap in wide.columns if gap > 0])
    mean = wide.mean()
    best = float(mean[gaps].idxmin())
    with style():
        figure = new_figure(5.6, 3.4)
        axes = figure.subplots()
        band(axes, gaps, wide[gaps].to_numpy(), color=COLOURS[1], marker="o", markersize=3.5)
        _draw_differences(axes.inset_axes((0.42, 0.55, 0.56, 0.4)), wide)
        axes.axhline(mean[0.0], color=GREY, ls="--", lw=1.2)
        axes.annotate(
            "λ = 1",
            (gaps.min(), mean[0.0]),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
            color=GREY,
        )
        axes.plot(best, mean[best], marker="o", color=COLOURS[0], markersize=7, zorder=5)
        axes.annotate(
            f"least at λ = 1 − 10$^{{{np.log10(best):.0f}}}$",
            (best, mean[best]),
            xytext=(0, 20),
            textcoords="offset points",
            ha="center",
            color=COLOURS[0],
            arrowprops={"arrowstyle": "-", "color": COLOURS[0], "lw": 0.8},
        )
        axes.set(
            xscale="log",
            xlim=(2e-2, 5e-21),
            ylim=(0, None),
            xlabel="gap 1 − λ   (closer to λ = 1 →)",
            ylabel="test error (variance of the target = 1)",
        )
        axes.set_xticks([10.0**-k for k in range(2, 21, 2)])
    return figure


def _draw_differences(axes: Axes, wide: DataFrame) -> None:
    """What the eye cannot see at full scale: the difference to λ = 1 within folds."""
    near = np.array([gap for gap in wide.columns if 0 < gap <= NEAR])
    difference = wide[near].sub(wide[0.0], axis=0).div(wide[0.0], axis=0)
    band(axes, near, 100.0 * difference.to_numpy(), color=COLOURS[1], marker="o", markersize=2.5)
    axes.axhline(0.0, color=GREY, ls="--", lw=1.0)
    axes.set(xscale="log", xlim=(1.5 * near.max(), near.min() / 1.5))
    axes.set_title("difference from λ = 1, in per cent", fontsize=8)
    axes.tick_params(labelsize=7)


def claims(table: DataFrame) -> list[Claim]:
    """The best λ is strictly below 1, about 1 − 10⁻¹²."""
    mean = table.groupby("gap")["test_error"].mean()
    best = float(mean.idxmin())
    decades = abs(np.log10(best / PAPER_GAP)) if best > 0 else np.inf
    return [
        Claim(
            "The best λ is strictly below 1, in line with Theorem 6.",
            best > 0 and mean[best] < mean[0.0],
            f"test error {mean[best]:.4f} at 1 − λ = {best:.0e}, {mean[0.0]:.4f} at λ = 1",
        ),
        Claim(
            "The best gap is within a decade of the paper's 10⁻¹².",
            bool(decades <= 1.0 + 1e-9),
            f"found {best:.0e}",
        ),
    ]
