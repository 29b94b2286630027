"""The gap 1 − λ: from a user's ``lam=`` or ``gap=``, on its lattice, and as text.

The best λ is often 1 − 10⁻³ … 1 − 10⁻¹² (Figure 3 of the paper), and 1 − 10⁻²⁰ must differ from 1.
So every formula of the package is written in the gap.
"""

from __future__ import annotations

import numpy as np

from negcorr._common.arrays import NUMPY
from negcorr._common.types import FloatArray, GapLike

__all__ = [
    "LATTICE_PER_DECADE",
    "TABULATED_EVERY",
    "gap_per_output",
    "gap_text",
    "lam_text",
    "lattice",
    "one_gap",
    "resolve_gap",
]

#: Points per decade of the lattice on which λ is chosen.
LATTICE_PER_DECADE = 50

#: Curves are tabulated at every fifth point of the lattice, ten a decade. A mode changes over a
#: decade, so that cubic splines between these points are accurate to about 1e-5 of the change.
TABULATED_EVERY = 5

_WHY_NOT_ABOVE_ONE = (
    "for lam > 1 the NCL loss is unbounded below as soon as members can disagree without moving "
    "their average: minimising it makes the weights diverge"
)


def resolve_gap(lam: GapLike = None, gap: GapLike = None) -> FloatArray:
    """Turn exactly one of ``lam`` and ``gap`` into an array of gaps.

    Parameters
    ----------
    lam : float or array-like, optional
        The knob λ in [0, 1].
    gap : float or array-like, optional
        1 − λ in [0, 1], for values of λ that a float would round to 1.

    Returns
    -------
    ndarray
        The gaps, with the shape of the input.

    Examples
    --------
    >>> from negcorr.spectrum.gap import resolve_gap
    >>> float(resolve_gap(lam=0.75))
    0.25
    >>> float(resolve_gap(gap=1e-20))
    1e-20
    """
    if (lam is None) == (gap is None):
        given = "neither" if lam is None else f"lam={lam!r} and gap={gap!r}"
        raise ValueError(f"Give exactly one of lam and gap (gap = 1 - lam), got {given}.")
    name = "lam" if gap is None else "gap"
    value = lam if gap is None else gap
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be a number in [0, 1], not a truth value.")
    try:
        array = NUMPY.floats(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={value!r} is not a number or an array of numbers in [0, 1]."
        ) from error
    outside = ~((array >= 0.0) & (array <= 1.0))
    if outside.any():
        first = float(np.atleast_1d(array)[np.atleast_1d(outside)][0])
        reason = f" ({_WHY_NOT_ABOVE_ONE})" if name == "lam" and first > 1 else ""
        raise ValueError(f"{name}={first!r} is outside [0, 1]{reason}.")
    return 1.0 - array if gap is None else array


def gap_per_output(gap: FloatArray, n_outputs: int) -> FloatArray:
    """One gap for each output, from one for all or one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.spectrum.gap import gap_per_output
    >>> gap_per_output(np.asarray(0.5), 2)
    array([0.5, 0.5])
    """
    if gap.ndim > 1 or gap.shape not in ((), (n_outputs,)):
        raise ValueError(
            f"lam or gap must be a number or one for each of the {n_outputs} outputs, got an array "
            f"of shape {gap.shape}."
        )
    return np.broadcast_to(gap, (n_outputs,))


def one_gap(lam: GapLike, gap: GapLike, chosen: FloatArray) -> float:
    """A single gap: that of ``lam`` or ``gap``, or else the one that all outputs have chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.spectrum.gap import one_gap
    >>> one_gap(0.75, None, np.ones(2)), one_gap(None, None, np.array([0.5, 0.5]))
    (0.25, 0.5)
    """
    if lam is None and gap is None:
        if len(np.unique(chosen)) > 1:
            raise ValueError("outputs have different lam; give lam or gap.")
        return float(chosen[0])
    gaps = resolve_gap(lam, gap)
    if gaps.ndim > 0:
        raise ValueError(f"lam or gap must be a single number here, got shape {gaps.shape}.")
    return float(gaps)


def lattice(smallest: float, stride: int = 1) -> FloatArray:
    """Gaps 10^(−i/50), i = 0, 1, …, from 1 (λ = 0) down to about ``smallest``.

    On a fixed lattice the choice does not depend on the order of the rows. A continuous minimum
    would move with rounding.

    Examples
    --------
    >>> from negcorr.spectrum.gap import lattice
    >>> lattice(0.9)
    array([1.        , 0.95499259, 0.91201084, 0.87096359])
    """
    # Where the smallest gap is a point itself, up to rounding, it is the last one.
    steps = int(np.ceil(-LATTICE_PER_DECADE * np.log10(smallest) - 1e-6))
    return np.power(10.0, -np.arange(0, steps + 1, stride) / LATTICE_PER_DECADE)


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def gap_text(gap: float) -> str:
    """A gap in few characters.

    Examples
    --------
    >>> from negcorr.spectrum.gap import gap_text
    >>> gap_text(1.0), gap_text(0.24), gap_text(1e-06), gap_text(0.0)
    ('1', '0.24', '10⁻⁶', '0')
    >>> gap_text(2.5e-12)
    '2.5·10⁻¹²'
    """
    if gap == 0.0 or gap >= 0.99e-2:
        return f"{gap:.3g}"
    digits, _, exponent = f"{gap:.1e}".partition("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
    return power if digits == "1.0" else f"{digits.removesuffix('.0')}·{power}"


def lam_text(gap: float, digits: int = 4) -> str:
    """The λ of a gap in few characters, however near 1 it is.

    Parameters
    ----------
    gap : float
    digits : int, default=4
        Digits of λ; what would be rounded to 1 by them is written as 1 less the gap.

    Examples
    --------
    >>> from negcorr.spectrum.gap import lam_text
    >>> lam_text(1.0), lam_text(0.24), lam_text(1e-3), lam_text(1e-12), lam_text(0.0)
    ('0', '0.76', '0.999', '1−10⁻¹²', '1')
    >>> lam_text(4e-4), lam_text(4e-4, 3)
    ('0.9996', '1−4·10⁻⁴')
    """
    if gap == 0.0:
        return "1"
    near = gap < 0.99 * 10.0**-digits
    return f"1−{gap_text(gap)}" if near else f"{1.0 - gap:.{digits}g}"
