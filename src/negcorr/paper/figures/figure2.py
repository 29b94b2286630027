"""Figure 2: members that are linear maps of fixed features, drawn as a diagram.

The shapes and places that Figure 6, the other diagram, has in common with it are here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from negcorr.paper.figure_style import COLOURS, GREY, new_figure, style
from negcorr.paper.page import TEXTS
from negcorr.paper.types import Axes, Figure

__all__ = ["Canvas", "Look", "Point", "draw_ends", "plot"]

NAME = "figure2"

TITLE, CAPTION = TEXTS[NAME].values()

#: A point on a canvas, in inches.
Point = tuple[float, float]

#: Colour, style and width of a line.
Look = dict[str, Any]

# Each kind of line has a style of its own, so that it is recognised without its colour.
FIXED: Look = {"color": GREY, "ls": (0, (3.4, 2.0)), "lw": 1.2}
TRAINED: Look = {"color": COLOURS[0], "ls": "-", "lw": 1.2}
MEAN: Look = {"color": COLOURS[1], "ls": (0, (1.0, 1.3)), "lw": 1.7}

INK, PALE = "#222222", "#F1F1F1"
PLAIN: Look = {"color": INK, "ls": "-", "lw": 1.2}

#: Height of the names of the columns.
HEADINGS = 4.05

#: Heights of the members that are shown, of the dots for the others, and of the middle of all.
MEMBERS = {"1": 3.22, "2": 2.24, "M": 0.94}
OTHERS = (MEMBERS["2"] + MEMBERS["M"]) / 2
MIDDLE = (MEMBERS["1"] + MEMBERS["M"]) / 2

#: Horizontal places of the input, the members and the ensemble.
COLUMNS = (0.5, 4.78, 6.5)

#: Heights of the nodes in a column and of the dots between them, relative to its middle.
NODES, LEFT_OUT = (0.30, 0.12, -0.30), -0.09

#: Radii of a feature or hidden node, the input, a member and the ensemble.
SMALL, INPUT, MEMBER, ENSEMBLE = 0.06, 0.21, 0.27, 0.31


@dataclass(frozen=True)
class Canvas:
    """A sheet measured in inches, with the shapes that the diagrams need.

    Attributes
    ----------
    figure : matplotlib figure
    axes : matplotlib axes
    """

    figure: Figure
    axes: Axes

    @classmethod
    def blank(cls, width: float, height: float, below: float = 0.0) -> Canvas:
        """An empty sheet, with ``below`` inches below the height 0."""
        figure = new_figure(width, height + below)
        figure.set_layout_engine("none")  # one unit of data is one inch on paper
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, width), ylim=(-below, height))
        axes.set_axis_off()
        return cls(figure, axes)

    def node(self, at: Point, radius: float, look: Look, text: str = "") -> None:
        """A circle with a formula in it."""
        from matplotlib.patches import Circle

        # A small circle has no room for dashes, and a dotted one is hard to see.
        solid = {**look, "ls": "-"} if radius == SMALL or look is MEAN else look
        self.axes.add_patch(Circle(at, radius, fc="white", zorder=3, **_edge(solid)))
        self.write(at, text, size=11.5)

    def column(self, x: float, middle: float, look: Look) -> list[Point]:
        """Draw a column of small nodes with dots for others; return the places of the nodes."""
        self.dots((x, middle + LEFT_OUT), gap=0.05, size=1.5)
        places = [(x, middle + step) for step in NODES]
        for place in places:
            self.node(place, SMALL, look)
        return places

    def box(self, corner: Point, width: float, height: float, look: Look, fill: str) -> None:
        """A rounded box from its lower left corner."""
        from matplotlib.patches import FancyBboxPatch

        shape = f"round,pad=0,rounding_size={min(0.12, width / 2)}"
        self.axes.add_patch(
            FancyBboxPatch(corner, width, height, boxstyle=shape, fc=fill, zorder=1, **_edge(look))
        )

    def line(self, start: Point, end: Point, look: Look) -> None:
        """A straight line beneath the nodes."""
        self.axes.plot(*zip(start, end, strict=True), zorder=2, **look)

    def arrow(self, points: Sequence[Point], look: Look, radius: float = 0.0) -> None:
        """An arrow along ``points`` that ends ``radius`` before the last one."""
        *before, (x, y) = points
        x0, y0 = before[-1]
        length = hypot(x - x0, y - y0)
        dx, dy = (x - x0) / length, (y - y0) / length
        tip = (x - radius * dx, y - radius * dy)
        neck = (tip[0] - 0.11 * dx, tip[1] - 0.11 * dy)
        self.axes.plot(*zip(*before, neck, strict=True), zorder=2, solid_joinstyle="round", **look)
        # The head is a shape of its own: dashes would break its outline.
        side = (-0.042 * dy, 0.042 * dx)
        xs, ys = ((tip[i], neck[i] + side[i], neck[i] - side[i]) for i in (0, 1))
        self.axes.fill(xs, ys, color=look["color"], lw=0, zorder=3)

    def dots(self, at: Point, gap: float = 0.085, size: float = 2.6, flat: bool = False) -> None:
        """Three dots for what is left out, one above the other or side by side."""
        for step in (-gap, 0.0, gap):
            place = (at[0] + step, at[1]) if flat else (at[0], at[1] + step)
            self.axes.plot(*place, "o", color=INK, ms=size, mew=0, zorder=4)

    def write(self, at: Point, text: str, size: float = 9.0, **look: Any) -> None:
        """Text centred at a point; formulas have serifs."""
        centred = {"ha": "center", "va": "center", "color": INK, "zorder": 4}
        self.axes.text(*at, text, fontsize=size, math_fontfamily="stix", **{**centred, **look})

    def heading(self, x: float, title: str, words: str = "") -> None:
        """The title of a column, with a few words below."""
        self.write((x, HEADINGS), title, size=9.5, weight="bold", va="baseline")
        self.write((x, HEADINGS - 0.18), words, size=8.0, color=GREY, va="baseline")

    def key(self, x: float, height: float, look: Look, text: str) -> None:
        """The meaning of a line, beside a piece of it."""
        self.line((x, height), (x + 0.36, height), look)
        self.write((x + 0.44, height), text, size=8.5, ha="left")


def draw_ends(canvas: Canvas) -> None:
    """The first and the last columns of both diagrams: input, members and their average."""
    x, members, ensemble = COLUMNS
    canvas.node((x, MIDDLE), INPUT, PLAIN, "$x$")
    for name, height in MEMBERS.items():
        canvas.arrow([(members, height), (ensemble, MIDDLE)], MEAN, ENSEMBLE)
        canvas.node((members, height), MEMBER, PLAIN, rf"$f_{name}(x)$")
    canvas.dots((members, OTHERS))
    canvas.node((ensemble, MIDDLE), ENSEMBLE, MEAN, "$F(x)$")


def plot() -> Figure:
    """The diagram; there is no table behind it."""
    x, members, ensemble = COLUMNS
    left, features, right = 1.4, 2.83, 3.03
    with style():
        canvas = Canvas.blank(7.2, 4.3)
        for name, height in MEMBERS.items():
            canvas.arrow([(x, MIDDLE), (left, height)], FIXED)
            canvas.box((left, height - 0.42), right - left, 0.84, FIXED, PALE)
            canvas.write((2.05, height), rf"$\phi_{name}(x)\in\mathbb{{R}}^H$", 11.5)
            for place in canvas.column(features, height, FIXED):
                canvas.line(place, (members, height), TRAINED)
            canvas.write((3.68, height + 0.31), f"$w_{name}$", 11.5, color=TRAINED["color"])
        canvas.dots(((left + right) / 2, OTHERS))
        draw_ends(canvas)
        canvas.write((ensemble, MIDDLE - 0.6), r"$F=\frac{1}{M}\sum_{m=1}^{M}f_m$", 11.5)
        canvas.heading(x, "input")
        canvas.heading((left + right) / 2, "fixed features", "drawn at random, never trained")
        canvas.heading(3.76, "linear maps", "trained")
        canvas.heading(members, "members")
        canvas.heading(ensemble, "ensemble", "average")
        canvas.key(1.85, 0.2, FIXED, "fixed")
        canvas.key(3.15, 0.2, TRAINED, "trained")
        canvas.key(4.6, 0.2, MEAN, "averaged")
    return canvas.figure


def _edge(look: Look) -> Look:
    return {"ec": look["color"], "ls": look["ls"], "lw": look["lw"]}
