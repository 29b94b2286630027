"""A small picture of a path for notebooks: SVG written by hand, no drawing library."""

from __future__ import annotations

from html import escape

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray
from negcorr.path.curve_view import drawn_gaps, positions, readable_limits
from negcorr.path.path import NCLPath
from negcorr.spectrum.gap import gap_text, lam_text

__all__ = ["path_sketch", "path_sketch_or_nothing"]

#: Blue and vermilion, of a lightness that stands out from white and from black.
_ERROR, _DOF = "#2580B8", "#C95A17"

_WIDTH, _HEIGHT = 420, 168
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 44, 24, 42

#: Points of a curve: enough for the eye.
_POINTS = 72


def path_sketch(path: NCLPath, output: int = 0) -> str:
    """A path as a small chart: what chose λ, and degrees of freedom, against λ.

    It takes what is there: the criterion at the points where it was evaluated, or the training
    error where λ was given. Nothing is cross-validated or tuned for it.

    Parameters
    ----------
    path : NCLPath
        Path of a fitted model.
    output : int, default=0
        Which output, of several.

    Returns
    -------
    str
        An ``<svg>`` element of less than 6 kB with a title and a description. Its text has the
        colour of the page's text; its lines are legible on light and dark pages.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor
    >>> from negcorr.path.sketch import path_sketch
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(basis="fourier")
    >>> path_sketch(model.fit(X, y).path_)[:4]
    '<svg'
    """
    chosen = float(path.chosen_gap[output])
    gaps = _few(drawn_gaps(path, chosen), chosen)
    where = np.log10(positions(gaps))
    dof = to_host(path.spectrum.dof(gap=gaps))
    name, at, values = _criterion(path, gaps, output)
    inside = at >= where[-1]
    across = _Scale(where[[0, -1]], (_LEFT, _WIDTH - _RIGHT))
    up = _Scale(readable_limits([values[inside]]), (_HEIGHT - _BOTTOM, _TOP))
    free = _Scale((0.0, 1.04 * max(float(dof.max()), 1.0)), (_HEIGHT - _BOTTOM, _TOP))
    x_mark = across.one(where[gaps == chosen][0])
    here = float(dof[gaps == chosen][0])
    if path.spectrum.n_outputs > 1:
        name = f"{name} of output {output}"
    title = f"{name} and degrees of freedom against lambda"
    desc = (
        f"lambda = {lam_text(chosen)} (gap {gap_text(chosen)}), {here:.4g} degrees of freedom; "
        f"from {dof[0]:.4g} at lambda = 0 to {dof[-1]:.4g} at {lam_text(float(gaps[-1]))}."
    )
    parts = [
        _line(across.all(where), free.all(dof), _DOF, "5 3"),
        _line(across.all(at[inside]), up.all(values[inside]), _ERROR),
        _rule(x_mark),
        f'<circle cx="{x_mark:.1f}" cy="{free.one(here):.1f}" r="3.5" fill="{_DOF}"/>',
        *_words(name, chosen, x_mark),
        *_vertical_numbers(up, free),
        *_ticks(gaps, across),
    ]
    return _framed(title, desc, "".join(parts))


def path_sketch_or_nothing(path: NCLPath) -> str:
    """The sketch, or no text at all: showing a model must never fail."""
    try:
        return path_sketch(path)
    except Exception:
        return ""


def _few(gaps: FloatArray, chosen: float) -> FloatArray:
    """Enough of the gaps for the eye, the chosen one among them."""
    keep = np.unique(np.linspace(0, len(gaps) - 1, _POINTS).round().astype(int))
    return np.unique(np.append(gaps[keep], chosen))[::-1]


def _criterion(path: NCLPath, gaps: FloatArray, output: int) -> tuple[str, FloatArray, FloatArray]:
    """Name, logarithms of gaps and values of the curve beside the degrees of freedom."""
    if path.criterion is None or len(path.gaps) == 0:
        error = to_host(path.spectrum.train_error(gap=gaps))[:, output]
        return "training error", np.log10(positions(gaps)), error
    known = len(path.gaps)
    keep = np.unique(np.linspace(0, known - 1, min(known, 2 * _POINTS)).round().astype(int))
    return path.criterion, np.log10(path.gaps[keep]), path.all_values[keep, output]


class _Scale:
    """A linear map from numbers to pixels."""

    def __init__(self, numbers: FloatArray | tuple[float, float], pixels: tuple[int, int]) -> None:
        self.low, self.high = float(numbers[0]), float(numbers[1])
        self.start, self.end = pixels

    def all(self, values: FloatArray) -> FloatArray:
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def one(self, value: float) -> float:
        return float(self.all(np.asarray(value)))


def _line(x: FloatArray, y: FloatArray, colour: str, dashes: str = "") -> str:
    """A curve without its points that are not finite, cut off above the frame."""
    points, pen = [], "M"
    inside = np.isfinite(x) & np.isfinite(y)
    # Far above, SVG viewers lose their numbers; the frame hides what is above it.
    y = np.clip(np.where(inside, y, 0.0), -_HEIGHT, 2.0 * _HEIGHT)
    for i, ok in enumerate(inside):
        points.append(f"{pen}{x[i]:.1f} {y[i]:.1f}" if ok else "")
        pen = "L" if ok else "M"
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    frame = f"{_LEFT - 4} {_TOP - 4} {_WIDTH - _LEFT - _RIGHT + 8} {_HEIGHT - _TOP - _BOTTOM + 8}"
    x0, y0, w, h = frame.split()
    return (
        f'<svg x="{x0}" y="{y0}" width="{w}" height="{h}" viewBox="{frame}">'
        f'<path d="{"".join(points)}" fill="none" stroke="{colour}" stroke-width="2"{style} '
        f'stroke-linejoin="round"/></svg>'
    )


def _rule(x: float) -> str:
    """The vertical line at the chosen λ."""
    return (
        f'<path d="M{x:.1f} {_TOP - 4}V{_HEIGHT - _BOTTOM}" stroke="currentColor" '
        'stroke-opacity=".65" stroke-dasharray="2 3"/>'
    )


def _text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "") -> str:
    fill = f' fill="{colour}"' if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{fill}>{escape(words)}</text>'


def _words(name: str, chosen: float, x: float) -> list[str]:
    """Names of both curves over the frame, the chosen λ between them."""
    words = f"λ = {lam_text(chosen)}"
    room = 3.4 * len(words)
    x = min(max(x, _LEFT + 6.2 * len(name) - 40 + room), _WIDTH - 30 - room)
    return [
        _text(4, 12, name, "start", _ERROR),
        _text(_WIDTH - 4, 12, "dof", "end", _DOF),
        _text(x, 12, words),
    ]


def _vertical_numbers(up: _Scale, free: _Scale) -> list[str]:
    """Two numbers for each of the vertical scales, near its ends."""
    numbers = []
    for scale, x, anchor, colour in (
        (up, _LEFT - 8, "end", _ERROR),
        (free, _WIDTH - _RIGHT + 8, "start", _DOF),
    ):
        for share in (0.0 if scale.low == 0.0 else 0.06, 0.94):
            value = scale.low + share * (scale.high - scale.low)
            rounded = float(f"{value:.2g}") if scale.high != scale.low else value
            numbers.append(_text(x, scale.one(rounded) + 4, f"{rounded:.4g}", anchor, colour))
    return numbers


def _ticks(gaps: FloatArray, across: _Scale) -> list[str]:
    """λ below the frame, and the gap below λ."""
    decades = -np.log10(gaps[gaps > 0.0][-1])
    step = max(1, int(np.ceil(decades / 4.0)))
    marks = [(10.0**-d, 10.0**-d) for d in range(0, int(decades + 1e-6) + 1, step)]
    if gaps[-1] == 0.0:
        edge = float(positions(gaps)[-1])
        marks = [(g, at) for g, at in marks if at > edge * 10.0 ** (0.6 * step)] + [(0.0, edge)]
    base = _HEIGHT - _BOTTOM
    out = [
        f'<path d="M{_LEFT} {base}H{_WIDTH - _RIGHT}" stroke="currentColor" stroke-opacity=".5"/>',
        _text(4, base + 17, "λ", "start"),
        _text(4, base + 33, "1−λ", "start"),
    ]
    for gap, at in marks:
        x = across.one(float(np.log10(at)))
        out += [
            f'<path d="M{x:.1f} {base}v4" stroke="currentColor" stroke-opacity=".5"/>',
            _text(x, base + 17, lam_text(gap)),
            _text(x, base + 33, gap_text(gap)),
        ]
    return out


def _framed(title: str, desc: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'style="max-width:100%;height:auto" font-family="system-ui,sans-serif" font-size="12" '
        f'fill="currentColor"><title>{escape(title)}</title><desc>{escape(desc)}</desc>{body}</svg>'
    )
