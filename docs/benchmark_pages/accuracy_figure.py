"""The figure of the accuracies: ranks with their critical difference, and errors on each set.

    python docs/benchmark_pages/accuracy_figure.py [FILE ...] [--seeds 0]
        [--out docs/figures/accuracy]

Reads what ``accuracy.py`` or ``unseen.py`` has stored and writes ``accuracy.svg`` and
``accuracy.png``. Which sets take part is decided as in ``accuracy_table.py``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_table import METHODS, OURS, Comparison, compared, groups, read

from negcorr.paper.figure_style import COLOURS, GREY, new_figure, save, style

__all__ = ["draw"]

#: Errors of more than so many times the best one are drawn as an arrow, with their number.
MOST = 3.0

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_PALETTE = (*COLOURS[:6], "#222222")


def look(method: str) -> tuple[str, str]:
    """Colour and marker, always the same for a method."""
    at = METHODS.index(method) if method in METHODS else len(METHODS)
    return _PALETTE[at % len(_PALETTE)], _MARKERS[at % len(_MARKERS)]


def draw(found: Comparison) -> Any:
    """The figure: a diagram of critical differences above dots for every data set."""
    n_bars = len(groups(found.average_ranks, found.critical_difference))
    depth = 0.9 + 0.3 * n_bars + 0.75 * -(-len(found.methods) // 2)
    above, below = 0.7 + 0.24 * depth, 1.1 + 0.30 * len(found.sets)
    with style():
        figure = new_figure(7.6, above + below)
        ranks, dots = figure.subplots(2, 1, height_ratios=(above, below))
        draw_ranks(ranks, found, depth)
        draw_dots(dots, found)
        dots.legend(
            loc="upper center", bbox_to_anchor=(0.46, -0.09 * 19 / len(found.sets)), ncols=4
        )
    return figure


def draw_ranks(axes: Any, found: Comparison, depth: float) -> None:
    """Methods on an axis of average ranks; bars join those that do not differ significantly."""
    ranks, most = found.average_ranks, len(found.methods)
    difference = found.critical_difference
    axes.set_axis_off()
    axes.set_xlim(1 - 0.42 * (most - 1), most + 0.42 * (most - 1))
    axes.set_ylim(depth, -1.5)
    axes.plot((1, most), (0, 0), color="black", linewidth=1.0)
    for rank in range(1, most + 1):
        axes.plot((rank, rank), (0, -0.15), color="black", linewidth=1.0)
        axes.text(rank, -0.22, str(rank), ha="center", va="bottom", fontsize=8)
    end = min(1 + difference, float(most))
    axes.plot((1, end), (-1.15, -1.15), color=GREY, linewidth=1.2, marker="|", markersize=6)
    said = f"critical difference {difference:.2f}" + ("" if 1 + difference <= most else " (cut)")
    axes.text(end + 0.1, -1.15, said, va="center", fontsize=8, color=GREY)
    bars = groups(ranks, difference)
    for number, group in enumerate(bars):
        ends = ranks[group[0]] - 0.04, ranks[group[-1]] + 0.04
        level = 0.3 + 0.3 * number
        axes.plot(ends, (level, level), color=GREY, linewidth=3.2, solid_capstyle="butt")
    draw_names(axes, found, 0.55 + 0.3 * len(bars))
    axes.set_title("Average rank over the data sets (1 is best); bars join what does not differ")


def draw_names(axes: Any, found: Comparison, top: float) -> None:
    """Names with lines to their ranks, the better half on the left."""
    ranks, most = found.average_ranks, len(found.methods)
    order = np.argsort(ranks, kind="stable")
    half = -(-most // 2)
    for on_left, side in ((True, order[:half]), (False, order[half:][::-1])):
        edge = 1 - 0.06 * (most - 1) if on_left else most + 0.06 * (most - 1)
        for number, at in enumerate(side):
            name = found.methods[at]
            colour, _ = look(name)
            level = top + 0.75 * number
            width = 2.0 if name == OURS else 1.1
            line = (ranks[at], ranks[at], edge), (0, level, level)
            axes.plot(*line, color=colour, linewidth=width, zorder=3)
            text = f"{name}  {ranks[at]:.2f}" if on_left else f"{ranks[at]:.2f}  {name}"
            axes.text(
                edge + (-0.06 if on_left else 0.06),
                level,
                text,
                ha="right" if on_left else "left",
                va="center",
                color=colour,
                fontweight="bold" if name == OURS else "normal",
            )


def draw_dots(axes: Any, found: Comparison) -> None:
    """Errors over the best one of each set; what is beyond the axis is written beside it."""
    from matplotlib.ticker import FixedLocator, NullLocator

    n_sets, n_methods = found.errors.shape
    rows = np.arange(n_sets)
    # The first in the middle of its row, the others in turn below and above it.
    turns = np.arange(n_methods)
    shifts = np.where(turns % 2, 1, -1) * ((turns + 1) // 2) * 0.62 / max(n_methods - 1, 1)
    for row in rows[::2]:
        axes.axhspan(row - 0.5, row + 0.5, color="#f3f3f3", linewidth=0, zorder=0)
    for at, name in enumerate(found.methods):
        colour, marker = look(name)
        values, height = found.over_best[:, at], rows + shifts[at]
        inside, size = values <= MOST, 6.5 if name == OURS else 4.5
        marks = {"color": colour, "linestyle": "", "zorder": 5 if name == OURS else 4}
        axes.plot(
            values[inside], height[inside], marker=marker, markersize=size, label=name, **marks
        )
        edge = np.full((~inside).sum(), MOST)
        axes.plot(edge, height[~inside], marker=">", markersize=4.5, clip_on=False, **marks)
    for row, values in enumerate(found.over_best):
        beyond = " · ".join(f"{value:.3g}" for value in values if value > MOST)
        axes.annotate(
            beyond, (MOST, row), (7, 0), textcoords="offset points", va="center", fontsize=7.5
        )
    axes.set_xscale("log")
    axes.set_xlim(0.985, MOST)
    ticks = [1, 1.2, 1.5, 2, 2.5, 3]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(n_sets - 0.5, -0.5)
    labels = [f"{name} ({size})" for name, size in zip(found.sets, found.sizes, strict=True)]
    axes.set_yticks(rows, labels)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("error over that of the best method on the data set (rows in brackets)")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    results = Path("benchmarks/results/accuracy.jsonl")
    parser.add_argument("files", type=Path, nargs="*", default=[results])
    parser.add_argument("--seeds", type=int, nargs="+", help="use these only")
    parser.add_argument("--methods", nargs="+", help="rank these only", metavar="METHOD")
    parser.add_argument("--out", type=Path, default=Path("docs/figures/accuracy"))
    options = parser.parse_args(arguments)
    found = compared(read(options.files, options.seeds), options.methods)
    if not found.sets or len(found.methods) < 2:
        raise SystemExit("nothing to draw: no data set has results of all methods")
    for text in found.missing:
        print(f"missing: {text}")
    for path in save(draw(found), options.out):
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
