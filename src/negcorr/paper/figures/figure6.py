"""Figure 6: an ensemble of deep networks trained on one loss, drawn as a diagram."""

from __future__ import annotations

from itertools import product

from negcorr.paper.figure_style import style
from negcorr.paper.figures.figure2 import (
    COLUMNS,
    INK,
    INPUT,
    MEAN,
    MEMBERS,
    MIDDLE,
    OTHERS,
    PLAIN,
    TRAINED,
    Canvas,
    Look,
    draw_ends,
)
from negcorr.paper.page import TEXTS
from negcorr.paper.types import Figure

__all__ = ["plot"]

NAME = "figure6"

TITLE, CAPTION = TEXTS[NAME].values()

#: Horizontal places of the hidden layers and of the dots for other layers.
LAYERS, OTHER_LAYERS = (1.8, 2.4, 3.2), 2.8
CENTRE = (LAYERS[0] + LAYERS[-1]) / 2

#: Background of what is trained.
TINT = "#EAF3F9"

#: Lines of the weights between layers, thin because there are many.
WEIGHT: Look = {**TRAINED, "lw": 0.8}

GRADIENT: Look = {"color": INK, "ls": (0, (6.0, 1.8, 1.2, 1.8)), "lw": 1.2}

#: Boxes around a group of nodes.
GROUP: Look = {"color": "#B5B5B5", "ls": "-", "lw": 0.9}


def plot() -> Figure:
    """The diagram; there is no table behind it."""
    x, members, ensemble = COLUMNS
    with style():
        canvas = Canvas.blank(7.2, 4.3, below=0.85)
        # The loss beneath members and ensemble, and its gradient back to the networks.
        top, bottom = MEMBERS["1"] + 0.5, MEMBERS["M"] - 0.5
        canvas.box((CENTRE - 1.0, bottom), 2.0, top - bottom, GROUP, "none")
        canvas.box((members - 0.36, bottom), 0.72, top - bottom, GROUP, "none")
        canvas.box((3.95, -0.4), 3.0, 0.56, PLAIN, "white")
        loss = r"L_\lambda=\frac{1}{M}\sum_m\,(f_m-y)^2-\lambda\,\frac{1}{M}\sum_m\,(f_m-F)^2"
        canvas.write((5.45, -0.135), f"${loss}$", 11)
        canvas.arrow([(members, bottom), (members, 0.16)], PLAIN)
        canvas.arrow([(ensemble, MIDDLE), (ensemble, 0.16)], PLAIN)
        canvas.arrow([(3.95, -0.12), (CENTRE, -0.12), (CENTRE, bottom)], GRADIENT)
        canvas.write((3.2, -0.3), r"$\nabla L_\lambda$", 11)
        canvas.arrow([(5.64, 0.62), (5.64, 0.16)], PLAIN)
        canvas.node((5.64, 0.62), INPUT, PLAIN, "$y$")
        # Each member: its layers, and the weights into, between and out of them.
        left, width = LAYERS[0] - 0.2, LAYERS[-1] - LAYERS[0] + 0.4
        for height in MEMBERS.values():
            canvas.box((left, height - 0.42), width, 0.84, TRAINED, TINT)
            first, second, last = (canvas.column(layer, height, TRAINED) for layer in LAYERS)
            borders = ([(x, MIDDLE)], first), (first, second), (last, [(members, height)])
            for starts, ends in borders:
                for start, end in product(starts, ends):
                    canvas.line(start, end, WEIGHT)
            canvas.dots((OTHER_LAYERS, height), flat=True)
        canvas.dots((CENTRE, OTHERS))
        draw_ends(canvas)
        canvas.heading(x, "input")
        canvas.heading(CENTRE, "hidden layers", "$H$ nodes each, tanh, batch norm")
        canvas.heading(members, "members", "linear outputs")
        canvas.heading(ensemble, "ensemble", "average")
        canvas.key(1.2, -0.68, TRAINED, "trained")
        canvas.key(2.6, -0.68, MEAN, "averaged")
        canvas.key(4.1, -0.68, GRADIENT, "gradient, to all weights at once")
    return canvas.figure
