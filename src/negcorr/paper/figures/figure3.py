"""Figure 3: the test error very close to λ = 1, on Kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np

from negcorr.paper.curves import TINY_GAPS, at_gaps, pieces_of
from negcorr.paper.figure_style import COLOURS, GREY, band, new_figure, style
from negcorr.paper.page import TEXTS, Claim
from negcorr.paper.pieces import Piece
from negcorr.paper.setup import PROTOCOLS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "run"]

NAME = "figure3"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = ("kinematics",)

#: The best gap that the paper reads off its figure.
PAPER_GAP = 1e-12

#: The gap at which the inset begins, and the largest gap with room for a label on both sides.
NEAR, LEFT = 1e-9, 1e-5


def pieces(study: Study) -> list[Piece]:
    """The pieces that it needs, under both protocols."""
    names, widths = study.datasets(SETS), (study.setup.size.width,)
    return [piece for p in PROTOCOLS for piece in pieces_of(study, names, widths, p)]


def run(study: Study) -> DataFrame:
    """Test errors at gaps 10⁻² to 10⁻²⁰ and at λ = 1 (gap 0), under both protocols.

    One row for each protocol, fold and gap; the study's own protocol comes first.
    """
    table = at_gaps(study.table(pieces(study)), (*TINY_GAPS, 0.0))
    own = study.setup.protocol
    return table.sort_values(
        "protocol", key=lambda protocols: protocols != own, kind="stable", ignore_index=True
    )


def plot(table: DataFrame) -> Figure:
    """The curve over the gap and the line at λ = 1, from the table alone."""
    (own, folds), *others = _by_protocol(table)
    gaps = np.array([gap for gap in folds.columns if gap > 0])
    mean = folds.mean()
    best = float(mean[gaps].idxmin())
    with style():
        figure = new_figure(5.8, 3.6)
        axes = figure.subplots()
        for name, part in others:
            mean_there, words = part[gaps].mean(), f"protocol {name}"
            axes.plot(gaps, mean_there, color=COLOURS[5], ls="-.", lw=1.2, label=words)
        dots = {"color": COLOURS[1], "marker": "o"}
        band(axes, folds[gaps], **dots, markersize=3.5, label=f"protocol {own}")
        axes.axhline(mean[0.0], color=GREY, ls="--", lw=1.2, label="λ = 1")
        axes.plot(best, mean[best], marker="o", color=COLOURS[0], markersize=7, zorder=5)
        words, place = f"least at λ = 1 − 10$^{{{np.log10(best):.0f}}}$", (best, mean[best])
        beside: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": "center" if best < LEFT else "left",
        }
        axes.annotate(words, place, (0, -22), color=COLOURS[0], **beside)
        axes.set(xscale="log", xlim=(2e-2, 5e-21), ylim=(0, 1.15 * mean.max()))
        axes.set_xlabel("gap 1 − λ   (closer to λ = 1 →)")
        axes.set_ylabel("test error (variance of the target = 1)")
        axes.set_xticks([10.0**-k for k in range(2, 21, 2)])
        figure.legend(loc="outside upper center", ncols=3)
        if best <= NEAR and mean[NEAR] < 0.5 * mean.max():
            # Differences within folds are too small to see on the curve: an inset shows them in
            # the empty space above its flat part.
            inset = axes.inset_axes((0.44, 0.52, 0.54, 0.38))
            near = gaps[gaps <= NEAR]
            difference = folds[near].sub(folds[0.0], axis=0).div(folds[0.0], axis=0)
            band(inset, 100.0 * difference, **dots, markersize=2.5)
            inset.axhline(0.0, color=GREY, ls="--", lw=1.0)
            inset.set(xscale="log", xlim=(1.5 * near.max(), near.min() / 1.5))
            inset.set_title("difference from λ = 1, in per cent", fontsize=8)
            inset.tick_params(labelsize=7)
    return figure


def _by_protocol(table: DataFrame) -> list[tuple[str, DataFrame]]:
    """Test errors (folds, gaps) under each protocol, in the order of the table."""
    return [
        (str(protocol), part.pivot(index="fold", columns="gap", values="test_error"))
        for protocol, part in table.groupby("protocol", sort=False)
    ]


def claims(table: DataFrame) -> list[Claim]:
    """The best λ is strictly below 1, about 1 − 10⁻¹²."""
    cases = _by_protocol(table)
    folds = cases[0][1]
    mean = folds.mean()
    best = float(mean.idxmin())
    paired = 100.0 * (folds[best] / folds[0.0] - 1.0)
    by_fold = ", ".join(f"{gap:.0e}" if gap else "0" for gap in folds.idxmin(axis=1))
    bests = [f"under *{name}* {float(part.mean().idxmin()):.0e}" for name, part in cases]
    decades = abs(np.log10(best / PAPER_GAP)) if best > 0 else np.inf
    return [
        Claim(
            "The least mean test error is at a λ strictly below 1, in line with Theorem 6.",
            best > 0 and mean[best] < mean[0.0],
            f"{mean[best]:.4f} at 1 − λ = {best:.0e}, {mean[0.0]:.4f} at λ = 1: a difference of "
            f"{paired.mean():.1f} ± {paired.sem():.1f} % within folds, lower on "
            f"{int((paired < 0).sum())} of {len(paired)}, so this figure alone would not prove it; "
            f"best gap of each fold {by_fold}",
        ),
        Claim(
            "The best gap is within a decade of the paper's 10⁻¹².",
            bool(decades <= 1.0 + 1e-9),
            "; ".join(bests),
            about_paper=True,
        ),
    ]
