"""Drawing of all figures: style, panels, bands, marks, and files with reproducible bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.files import write_atomically
from negcorr.datasets import info
from negcorr.paper.types import Axes, DataFrame, Figure
from negcorr.plots.colours import COLOURS, GREY

__all__ = [
    "COLOURS",
    "GREY",
    "LAM_LABEL",
    "band",
    "mark_beyond",
    "new_figure",
    "panels_by_set",
    "plain_log_ticks",
    "save",
    "style",
]

#: Label of the horizontal axis of curves along λ.
LAM_LABEL = "diversity parameter λ"


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the project inside the block, whatever the user's matplotlibrc says."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rc_file(Path(__file__).with_name("figures.mplstyle"))  # all else by default
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches; create and fill it within :func:`style`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@contextmanager
def panels_by_set(
    table: DataFrame,
    xlabel: str,
    ylabel: str,
    *,
    legend_rows: int = 1,
    columns: int = 3,
    height: float = 2.3,
    own_scale: bool = False,
) -> Iterator[tuple[Figure, list[tuple[Axes, DataFrame]]]]:
    """A figure with one panel for each data set, each given with its rows of the table.

    A panel's title is the set's name in the paper. One legend for all panels is added at the end
    of the block. All panels have the same vertical axis, or with ``own_scale`` each its own.
    """
    names = list(table["set"].unique())
    rows = -(-len(names) // columns)
    columns = min(columns, len(names))
    with style():
        # The label of the vertical axis needs its room beside a single row, too.
        figure = new_figure(max(2.5 * columns + 0.4, 4.0), max(height * rows + 0.5, 3.4))
        grid = figure.subplots(rows, columns, sharex=True, sharey=not own_scale, squeeze=False)
        axes_of = dict(zip(names, grid.flat, strict=False))
        for spare in grid.flat[len(names) :]:
            spare.set_visible(False)
        for name, axes in axes_of.items():
            axes.set_title(info(name).title)
            # Panels above an empty place are the last of their column.
            axes.tick_params(labelbottom=True)
            # "0" and "1" rather than "0.0" and "1.0", which would run into the next panel's.
            axes.xaxis.set_major_formatter("{x:g}")
        yield figure, [(axes, table[table["set"] == name]) for name, axes in axes_of.items()]
        legend: dict[str, Any] = {}
        for axes in axes_of.values():
            legend.update(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        ncols = max(len(legend) // legend_rows, 1)
        figure.legend(list(legend.values()), list(legend), loc="outside upper center", ncols=ncols)
        figure.supxlabel(xlabel, fontsize=9.5)
        figure.supylabel(ylabel, fontsize=9.5)


def band(axes: Axes, folds: DataFrame, **look: Any) -> None:
    """A line through the means over folds and a band of one standard error around it.

    Parameters
    ----------
    axes : matplotlib axes
    folds : DataFrame of shape (folds, k)
        Values; the columns are named by the k places on the horizontal axis.
    **look
        Colour, label and so on, for the line.
    """
    x, values = folds.columns.to_numpy(), folds.to_numpy()
    mean = values.mean(axis=0)
    axes.plot(x, mean, **look)
    if len(values) > 1:
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        shade: dict[str, Any] = {"color": look.get("color"), "alpha": 0.18, "linewidth": 0}
        axes.fill_between(x, mean - error, mean + error, **shade)


def plain_log_ticks(axes: Axes) -> None:
    """Set few ticks in plain numbers on a logarithmic vertical axis, however short it is."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    low, high = axes.get_ylim()
    short = high < 10.0 * low
    axes.yaxis.set_major_locator(MaxNLocator(5) if short else LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def mark_beyond(axes: Axes, x: float, value: float, colour: str) -> None:
    """Draw an arrow at the upper edge if a value lies beyond it, with the value beside it."""
    top = axes.get_ylim()[1]
    if value <= top:
        return
    text = f"{value:.1f}" if value < 10 else f"{value:.0f}"
    if value >= 1e4:
        digits, _, exponent = f"{value:.1e}".partition("e")
        text = f"{digits}·10$^{{{int(exponent)}}}$"
    axes.plot(x, top, marker="^", color=colour, clip_on=False, markersize=5, zorder=5)
    place: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate(text, (x, top), (-13, 0), color=colour, fontsize=8, **place)


def save(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write ``stem``.svg and ``stem``.png; the same figure always gives the same bytes."""
    paths = stem.with_suffix(".svg"), stem.with_suffix(".png")
    with style():
        for path, metadata in zip(paths, ({"Date": None}, {"Software": None}), strict=True):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=path.suffix[1:], metadata=metadata)
            write_atomically(path, buffer.getvalue())
    return paths
