"""The look that all figures share: colour-blind safe, quiet axes, the same bytes every time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from negcorr._common.files import write_atomically
from negcorr._common.types import FloatArray
from negcorr.datasets import info
from negcorr.plots.colours import COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
from negcorr.paper.protocol import SIX_SETS

__all__ = [
    "COLOURS",
    "GREY",
    "PANELS",
    "band",
    "mark_beyond",
    "new_figure",
    "panels",
    "plain_log_ticks",
    "save",
    "style",
]


_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.7,
    "svg.fonttype": "path",
    "svg.hashsalt": "negcorr",
    "savefig.dpi": 160,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the house style inside the block, whatever the user's matplotlibrc says."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _RC.items():
            matplotlib.rcParams[name] = value
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; to be made and filled within :func:`style`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels(
    names: Sequence[str], columns: int = 3, height: float = 2.3, own_scale: bool = False
) -> tuple[Figure, list[Axes]]:
    """One panel for each data set, titled by its name in the paper.

    All have the same vertical axis, or with ``own_scale`` each its own.
    """
    rows = -(-len(names) // columns)
    columns = min(columns, len(names))
    # The label of the vertical axis needs its room beside a single row, too.
    figure = new_figure(max(2.5 * columns + 0.4, 4.0), max(height * rows + 0.5, 3.4))
    grid = figure.subplots(rows, columns, sharex=True, sharey=not own_scale, squeeze=False)
    flat = list(grid.ravel())
    for spare in flat[len(names) :]:
        spare.set_visible(False)
    for name, axes in zip(names, flat, strict=False):
        axes.set_title(info(name).title if name else "")
        # Panels above an empty place are the last of their column.
        axes.tick_params(labelbottom=True)
        # "0" and "1" rather than "0.0" and "1.0", which would run into the next panel's.
        axes.xaxis.set_major_formatter("{x:g}")
    return figure, flat[: len(names)]


def band(axes: Axes, x: Any, values: FloatArray, **look: Any) -> None:
    """A line through the means over folds and a band of one standard error about it.

    Parameters
    ----------
    axes : matplotlib axes
    x : array-like of shape (k,)
    values : ndarray of shape (folds, k)
    **look
        Colour, label and so on, for the line.
    """
    mean = values.mean(axis=0)
    axes.plot(x, mean, **look)
    if len(values) > 1:
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axes.fill_between(
            x, mean - error, mean + error, color=look.get("color"), alpha=0.18, linewidth=0
        )


def plain_log_ticks(axes: Axes) -> None:
    """Few ticks in plain numbers on a logarithmic vertical axis, however short it is."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    low, high = axes.get_ylim()
    short = high < 10.0 * low
    axes.yaxis.set_major_locator(MaxNLocator(5) if short else LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def mark_beyond(axes: Axes, x: float, value: float, colour: str) -> None:
    """An arrow at the upper edge where a value lies beyond it, with the value beside it."""
    top = axes.get_ylim()[1]
    if value <= top:
        return
    axes.plot(x, top, marker="^", color=colour, clip_on=False, markersize=5, zorder=5)
    axes.annotate(
        _short(value),
        (x, top),
        xytext=(-13, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        color=colour,
        fontsize=8,
    )


def save(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write ``stem``.svg and ``stem``.png; the same figure always has the same bytes."""
    paths = stem.with_suffix(".svg"), stem.with_suffix(".png")
    with style():
        for path, metadata in zip(paths, ({"Date": None}, {"Software": None}), strict=True):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=path.suffix[1:], metadata=metadata)
            write_atomically(path, buffer.getvalue())
    return paths


def _short(value: float) -> str:
    if value < 1e4:
        return f"{value:.1f}" if value < 10 else f"{value:.0f}"
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits}·10$^{{{int(exponent)}}}$"


#: The paper shows kinematics last: the set on which the test error does not rise.
PANELS = (*SIX_SETS[1:], SIX_SETS[0])
