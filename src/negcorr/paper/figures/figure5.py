"""Figure 5: training error against λ, on six data sets and for three widths."""

from __future__ import annotations

from negcorr.paper.figures.figure4 import SETS, curves_by_width, pieces, run, slopes_of
from negcorr.paper.page import TEXTS, Claim, theorem
from negcorr.paper.types import DataFrame, Figure

__all__ = ["SETS", "claims", "pieces", "plot", "run"]

NAME = "figure5"

TITLE, CAPTION = TEXTS[NAME].values()


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each width, from the table alone."""
    label = "training error (variance of the target = 1)"
    return curves_by_width(table, "train_error", label, ylim=(0, 1.05))


def claims(table: DataFrame) -> list[Claim]:
    """The training error strictly decreases with λ (Theorem 5)."""
    falls = [bool((slopes < 0).all()) for slopes in slopes_of(table, "train_error")]
    return [
        theorem(
            "The training error strictly decreases with λ, on every set and for every width.",
            all(falls),
            f"{sum(falls)} of {len(falls)} curves (set, width, fold), measured on predictions",
        )
    ]
