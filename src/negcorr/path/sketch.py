"""A small picture of a path for notebooks: SVG written by hand, no drawing library."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray
from negcorr.path.curve_view import drawn_gaps, evenly, positions, readable_limits
from negcorr.path.path import NCLPath
from negcorr.spectrum.gap import gap_text, lam_text

__all__ = ["path_sketch", "path_sketch_or_nothing"]

#: Blue and vermilion, of a lightness that stands out from white and from black.
_ERROR, _DOF = "#2580B8", "#C95A17"

_WIDTH, _HEIGHT = 420, 168
_LEFT, _RIGHT, _TOP, _BASE = 52, 44, 24, 126

#: Number of points of a curve.
_POINTS = 72


def path_sketch(path: NCLPath, output: int = 0) -> str:
    """A path as a small chart: what chose λ, and degrees of freedom, against λ.

    It uses existing values: the criterion at the points where it was evaluated, or the training
    error if λ was given. It does no cross-validation and no search.

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
    gaps = drawn_gaps(path, chosen)
    # A selection of the gaps, including the chosen one.
    gaps = np.unique(np.append(gaps[evenly(len(gaps), _POINTS)], chosen))[::-1]
    where = np.log10(positions(gaps))
    dof = to_host(path.spectrum.dof(gap=gaps))
    if path.criterion is None or len(path.gaps) == 0:
        name, at = "training error", where
        values = to_host(path.spectrum.train_error(gap=gaps))[:, output]
    else:
        keep = evenly(len(path.gaps), 2 * _POINTS)
        name, at, values = path.criterion, np.log10(path.gaps[keep]), path.all_values[keep, output]
    inside = at >= where[-1]
    across = _Scale(where[0], where[-1], _LEFT, _WIDTH - _RIGHT)
    up = _Scale(*readable_limits([values[inside]]), _BASE, _TOP)
    free = _Scale(0.0, 1.04 * max(float(dof.max()), 1.0), _BASE, _TOP)
    x_mark, here = across(where[gaps == chosen][0]), dof[gaps == chosen][0]
    if path.spectrum.n_outputs > 1:
        name = f"{name} of output {output}"
    title = escape(f"{name} and degrees of freedom against lambda")
    desc = (
        f"lambda = {lam_text(chosen)} (gap {gap_text(chosen)}), {here:.4g} degrees of freedom; "
        f"from {dof[0]:.4g} at lambda = 0 to {dof[-1]:.4g} at {lam_text(float(gaps[-1]))}."
    )
    # Names of both curves stand over the frame, the chosen λ between them.
    words = f"λ = {lam_text(chosen)}"
    room = 3.4 * len(words)
    middle = min(max(x_mark, _LEFT + 6.2 * len(name) - 40 + room), _WIDTH - 30 - room)
    parts = [
        _line(across(where), free(dof), _DOF, "5 3"),
        _line(across(at[inside]), up(values[inside]), _ERROR),
        f'<path d="M{x_mark:.1f} {_TOP - 4}V{_BASE}" stroke="currentColor" stroke-opacity=".65" '
        'stroke-dasharray="2 3"/>',
        f'<circle cx="{x_mark:.1f}" cy="{free(here):.1f}" r="3.5" fill="{_DOF}"/>',
        _text(4, 12, name, "start", _ERROR),
        _text(_WIDTH - 4, 12, "dof", "end", _DOF),
        _text(middle, 12, words),
        *_end_numbers(up, _LEFT - 8, "end", _ERROR),
        *_end_numbers(free, _WIDTH - _RIGHT + 8, "start", _DOF),
        *_ticks(gaps, across),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'style="max-width:100%;height:auto" font-family="system-ui,sans-serif" font-size="12" '
        f'fill="currentColor"><title>{title}</title><desc>{escape(desc)}</desc>{"".join(parts)}'
        "</svg>"
    )


def path_sketch_or_nothing(path: NCLPath) -> str:
    """The sketch, or an empty text if it fails: showing a model must never raise an error."""
    try:
        return path_sketch(path)
    except Exception:
        return ""


class _Scale(NamedTuple):
    """A linear map from numbers to pixels."""

    low: float
    high: float
    start: int
    end: int

    def __call__(self, values: Any) -> Any:
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)


def _line(x: FloatArray, y: FloatArray, colour: str, dashes: str = "") -> str:
    """A curve without its points that are not finite, cut off above the frame."""
    inside = np.isfinite(x) & np.isfinite(y)
    # SVG viewers cannot draw very large coordinates; the part above the frame is hidden anyway.
    y = np.clip(np.where(inside, y, 0.0), -_HEIGHT, 2.0 * _HEIGHT)
    pens = np.where(np.append(False, inside[:-1]), "L", "M")
    points = (f"{pens[i]}{x[i]:.1f} {y[i]:.1f}" for i in np.flatnonzero(inside))
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    frame = f"{_LEFT - 4} {_TOP - 4} {_WIDTH - _LEFT - _RIGHT + 8} {_BASE - _TOP + 8}"
    x0, y0, w, h = frame.split()
    return (
        f'<svg x="{x0}" y="{y0}" width="{w}" height="{h}" viewBox="{frame}">'
        f'<path d="{"".join(points)}" fill="none" stroke="{colour}" stroke-width="2"{style} '
        f'stroke-linejoin="round"/></svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "") -> str:
    fill = f' fill="{colour}"' if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{fill}>{escape(words)}</text>'


def _end_numbers(scale: _Scale, x: float, anchor: str, colour: str) -> list[str]:
    """Two numbers of a vertical scale, near its ends."""
    numbers = []
    for share in (0.0 if scale.low == 0.0 else 0.06, 0.94):
        value = scale.low + share * (scale.high - scale.low)
        rounded = float(f"{value:.2g}") if scale.high != scale.low else value
        numbers.append(_text(x, scale(rounded) + 4, f"{rounded:.4g}", anchor, colour))
    return numbers


def _ticks(gaps: FloatArray, across: _Scale) -> list[str]:
    """λ below the frame, and the gap below λ."""
    decades = -np.log10(gaps[gaps > 0.0][-1])
    step = max(1, int(np.ceil(decades / 4.0)))
    marks = {10.0**-d: 10.0**-d for d in range(0, int(decades + 1e-6) + 1, step)}
    if gaps[-1] == 0.0:
        edge = float(positions(gaps)[-1])
        marks = {gap: at for gap, at in marks.items() if at > edge * 10.0 ** (0.6 * step)}
        marks[0.0] = edge
    stroke = 'stroke="currentColor" stroke-opacity=".5"/>'
    ticks = [f'<path d="M{_LEFT} {_BASE}H{_WIDTH - _RIGHT}" {stroke}']
    ticks += [_text(4, _BASE + 17, "λ", "start"), _text(4, _BASE + 33, "1−λ", "start")]
    for gap, at in marks.items():
        x = across(np.log10(at))
        ticks += [f'<path d="M{x:.1f} {_BASE}v4" {stroke}', _text(x, _BASE + 17, lam_text(gap))]
        ticks.append(_text(x, _BASE + 33, gap_text(gap)))
    return ticks
