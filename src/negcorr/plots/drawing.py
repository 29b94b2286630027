"""Drawing that all displays share: axes, an axis of gaps with the chosen λ, legends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.path.curve_view import positions
from negcorr.plots.colours import GREY
from negcorr.spectrum.gap import gap_text, lam_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["GAP_LABEL", "axes_for", "curve", "gap_axis", "legend", "new_axes", "require_matplotlib"]

#: Label of a gap axis: each tick has two lines of numbers.
GAP_LABEL = "λ and, below it, the gap 1 − λ (log scale)"

#: Inches that one label of the gap axis needs.
_ROOM = 0.75

#: Inches below which a legend has to be small.
_NARROW = 4.5


def require_matplotlib(caller: str) -> None:
    """Raise an ImportError that names the extra, where matplotlib is missing."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib, which is not installed: pip install 'negcorr[plot]'"
        ) from error


def new_axes(
    rows: int = 1, *, height: float, heights: tuple[float, ...] | None = None
) -> list[Axes]:
    """Panels above each other in a new figure of pyplot, with a light grid."""
    import matplotlib.pyplot as plt

    look: dict[str, Any] = {"figsize": (6.8, height), "layout": "constrained"}
    _, grid = plt.subplots(rows, height_ratios=heights, sharex=True, squeeze=False, **look)
    for ax in grid.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
    return list(grid.flat)


def axes_for(ax: Any, height: float | None = None) -> Axes:
    """Given axes, if they can be drawn on, or else axes of a new figure of so many inches."""
    from matplotlib.axes import Axes

    if ax is None and height is not None:
        (ax,) = new_axes(height=height)
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be matplotlib axes, got {type(ax).__name__}.")
    return ax


def gap_axis(
    ax: Axes,
    gaps: FloatArray,
    chosen: float | None = None,
    label: str = "λ = {} of the model",
    *,
    labelled: bool = True,
) -> Line2D | None:
    """Make the horizontal axis one of gaps, λ = 0 at the left, and mark the chosen gap.

    Axes that are one already keep what they show, and show these gaps too.

    Parameters
    ----------
    ax : Axes
    gaps : ndarray of shape (k,)
        What is drawn; ticks have numbers for λ and for the gap.
    chosen : float, optional
        Where a dashed vertical line is drawn.
    label : str
        Of this line, with {} where λ is to be written.
    labelled : bool, default=True
        Whether the axis says what its numbers are.

    Returns
    -------
    Line2D or None
        The line at the chosen gap.
    """
    line = None
    if chosen is not None:
        gaps = np.append(gaps, chosen)
        look: dict[str, Any] = {"color": GREY, "linewidth": 1.2, "linestyle": (0, (4, 3))}
        line = ax.axvline(float(positions(gaps)[-1]), label=label.format(lam_text(chosen)), **look)
    where = positions(gaps)
    left, right = 1.0, min(float(where.min()), 0.5)
    margin = 10.0 ** (-0.02 * np.log10(right))
    ends = left * margin, right / margin
    if ax.get_xscale() == "log" and ax.xaxis_inverted():
        before = ax.get_xlim()
        ends = max(ends[0], before[0]), min(ends[1], before[1])
        right = min(right, before[1])
    ax.set_xscale("log")
    ax.set_xlim(*ends)
    # Gaps at which there is room for a label, powers of ten where there are several.
    width = ax.get_window_extent().width / ax.figure.dpi
    most, decades = max(int(width / _ROOM), 2), -np.log10(right)
    if decades < 1.5:
        least = right * (1.0 - 1e-9)
        ticks = [gap for gap in (1.0, 0.5, 0.2, 0.1, 0.05) if gap >= least][:most]
    else:
        step = max(1, int(np.ceil((decades + 1e-9) / most)))
        ticks = [10.0**-power for power in range(0, int(decades + 1e-6) + 1, step)]
    marks = {tick: (lam_text(tick), gap_text(tick)) for tick in ticks}
    if (gaps == 0.0).any():
        edge = float(where.min())
        apart = decades * _ROOM / max(width, _ROOM)
        marks = {t: text for t, text in marks.items() if np.log10(t / edge) > apart}
        marks[edge] = ("1", "0")
    ax.set_xticks(list(marks), [f"{lam}\n{gap}" for lam, gap in marks.values()])
    ax.minorticks_off()
    if labelled:
        ax.set_xlabel(GAP_LABEL)
    return line


def curve(
    ax: Axes, x: FloatArray, y: FloatArray, user: dict[str, Any] | None, **look: Any
) -> Line2D:
    """Draw a line; keywords of the user go before ours."""
    (line,) = ax.plot(x, y, **{"linewidth": 1.8, **look, **(user or {})})
    return line


def legend(ax: Axes, **options: Any) -> None:
    """Add a legend without a frame line, small on narrow axes."""
    narrow = ax.get_window_extent().width / ax.figure.dpi < _NARROW
    look = {"framealpha": 0.85, "edgecolor": "none", "borderpad": 0.2, "labelspacing": 0.3}
    look |= {"fontsize": "x-small", "handlelength": 1.6} if narrow else {"fontsize": "small"}
    ax.legend(**look, **options)
