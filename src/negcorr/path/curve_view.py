"""Choices for a plot of a path: which gaps it shows, and the limits of its axes.

Pure functions without a drawing library, behind the displays and the sketch of a notebook.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray, IntArray
from negcorr.path.path import NCLPath

__all__ = ["drawn_gaps", "evenly", "far_apart", "positions", "readable_limits"]


#: Share of all freedom that may lie beyond the right end of the picture.
FREEDOM_BEYOND = 0.02

#: Decades shown beyond a chosen gap, if curves still change there.
BEYOND_CHOICE = 1.0

#: How far above its starting point, or its lowest one, a curve is followed.
HEADROOM = 0.6

#: Ratio of errors beyond which one of them is a line at the bottom.
FAR = 20.0


def drawn_gaps(path: NCLPath, chosen: float, per_decade: int = 20) -> FloatArray:
    """Gaps from 1 (λ = 0) to where curves no longer change, including the chosen gap.

    Parameters
    ----------
    path : NCLPath
        Curves to be drawn.
    chosen : float
        A gap that must be in the picture; the 0 of λ = 1 stands last.
    per_decade : int, default=20
        Points per decade.

    Returns
    -------
    ndarray of shape (k,)
        Descending.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import ncl_path
    >>> from negcorr.path.curve_view import drawn_gaps
    >>> rng = np.random.default_rng(0)
    >>> path = ncl_path(rng.normal(size=(40, 6)), rng.normal(size=40), [0, 3, 6], lam=0.5)
    >>> drawn_gaps(path, 0.5, per_decade=2).round(3)
    array([1.   , 0.5  , 0.38 , 0.145, 0.055, 0.021, 0.008])
    """
    spectrum = path.spectrum
    useful = spectrum.smallest_useful_gap
    fine = np.power(10.0, -np.arange(0.0, 0.1 - np.log10(useful), 0.1))
    dof = to_host(spectrum.dof(gap=fine))
    all_there = dof >= dof[-1] - FREEDOM_BEYOND * (dof[-1] - dof[0])
    end = min(float(fine[np.argmax(all_there)]), 0.1)
    # λ = 1 is drawn at the end, where curves no longer change.
    end = min(end, max(chosen * 10.0**-BEYOND_CHOICE, useful))
    # Beyond what the factorisation resolves there is only rounding to be seen.
    end = max(end, path.smallest_trusted_gap)
    if 0.0 < chosen < end:
        end = chosen
    steps = max(int(np.ceil(-per_decade * np.log10(end) - 1e-9)), 1)
    grid = np.append(np.logspace(0.0, np.log10(end), steps + 1)[:-1], end)
    # One point for the chosen gap, not a second one beside it by rounding.
    grid = grid[np.abs(grid - chosen) > 1e-9 * grid]
    return np.unique(np.append(grid, chosen))[::-1]


def evenly(n: int, most: int) -> IntArray:
    """At most so many of the numbers below ``n``, evenly from the first to the last.

    Examples
    --------
    >>> from negcorr.path.curve_view import evenly
    >>> evenly(10, 4), evenly(2, 4)
    (array([0, 3, 6, 9]), array([0, 1]))
    """
    return np.unique(np.linspace(0, n - 1, most).round().astype(int))


def positions(gaps: FloatArray) -> FloatArray:
    """Positions of gaps on a logarithmic axis; a gap of 0 is placed a little beyond the others.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.path.curve_view import positions
    >>> positions(np.array([1.0, 0.01, 0.0])).round(4)
    array([1.    , 0.01  , 0.0032])
    """
    gaps = np.asarray(gaps, dtype=np.float64)
    positive = gaps[gaps > 0.0]
    least = min(float(positive.min()), 0.1) if len(positive) else 0.1
    step = max(0.5, -0.1 * np.log10(least))
    return np.where(gaps > 0.0, gaps, least * 10.0**-step)


def readable_limits(curves: Iterable[FloatArray]) -> tuple[float, float]:
    """Vertical limits that show where curves start and turn, not how far they explode.

    Parameters
    ----------
    curves : iterable of ndarray
        Values from λ = 0 on; what is not finite does not count.

    Returns
    -------
    low, high : float
        Different numbers, always.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.path.curve_view import readable_limits
    >>> low, high = readable_limits([np.array([3.0, 2.0, 2.5, 900.0])])
    >>> round(low, 2), round(high, 2)
    (1.87, 3.66)
    """
    finite = [curve[np.isfinite(curve)] for curve in map(np.asarray, curves)]
    finite = [curve for curve in finite if len(curve)]
    if not finite:
        return 0.0, 1.0
    low = min(float(curve.min()) for curve in finite)
    top = max(float(curve.max()) for curve in finite)
    # Every curve's start and lowest point are inside.
    shown = max(max(float(curve[0]), float(curve.min())) for curve in finite)
    if top > shown + HEADROOM * (shown - low):
        top = shown + HEADROOM * max(shown - low, 0.1 * abs(shown))
    span = top - low
    if span <= 1e-9 * max(abs(low), abs(top)):
        span = max(abs(top), 1.0)
        return low - 0.5 * span, top + 0.5 * span
    # The axis of errors starts at zero, unless that would leave half of the plot empty.
    bottom = 0.0 if 0.0 <= low < 0.5 * top else low - 0.08 * span
    return bottom, top + 0.04 * span


def far_apart(curves: Iterable[FloatArray]) -> bool:
    """Whether curves start so far from each other that only logarithms show them all.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.path.curve_view import far_apart
    >>> far_apart([np.array([1e6, 1e7]), np.array([3.0, 2.0])])
    True
    """
    finite = [curve[np.isfinite(curve)] for curve in map(np.asarray, curves)]
    starts = [float(curve[0]) for curve in finite if len(curve)]
    positive = bool(starts) and min(float(curve.min()) for curve in finite if len(curve)) > 0.0
    return positive and max(starts) > FAR * min(starts)
