"""cos(2πt) for blocks of rows that stay in cache: the price of the Fourier features.

The features of a fit are tens of millions of cosines, and a library cosine would cost as
much as the Gram product itself. Working in turns (t = angle / 2π) makes the range
reduction one ``rint``; what remains is an odd polynomial on a quarter turn.
"""

from __future__ import annotations

import numpy as np

from negcorr._typing import FloatArray

__all__ = ["ROWS_IN_CACHE", "cos_turns"]

#: Rows of about 1000 features whose three buffers fit the second-level cache.
ROWS_IN_CACHE = 64

# sin(2πu) = u·p(u²) on |u| ≤ 1/4: the Chebyshev series Σ 2(−1)ᵏ J_{2k+1}(π/2) T_{2k+1}(4u)
# cut after seven terms, in powers of u, highest first. What is cut is below 4.2e-14.
_COEFFICIENTS = (
    3.6550593309034873,
    -15.079289920000344,
    42.05796348480433,
    -76.70584111512501,
    81.60524903178927,
    -41.34170223898746,
    6.283185307177224,
)


def cos_turns(turns: FloatArray, out: FloatArray, scratch: FloatArray) -> None:
    """Write cos(2π·turns) into ``out``; ``turns`` and ``scratch`` are used up.

    Parameters
    ----------
    turns : ndarray of shape (rows, columns)
        Angles divided by 2π, overwritten.
    out : ndarray of shape (rows, columns)
        Receives the cosines. It may be a view into a wider array.
    scratch : ndarray of shape (2, rows, columns)
        Overwritten. The caller keeps it between blocks, since fresh memory for each would
        cost more than the cosines.

    Notes
    -----
    The absolute error is below 1e-13 for angles below 100; above that the rounding of the
    angle itself is what limits any cosine.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases.cosine import cos_turns
    >>> out = np.empty((1, 3))
    >>> cos_turns(np.array([[0.0, 0.25, 0.5]]), out, np.empty((2, 1, 3)))
    >>> np.allclose(out, [[1.0, 0.0, -1.0]], atol=1e-13)
    True
    """
    square, polynomial = scratch
    np.rint(turns, out=square)
    np.subtract(turns, square, out=turns)
    np.abs(turns, out=turns)
    np.subtract(0.25, turns, out=turns)
    np.multiply(turns, turns, out=square)
    np.multiply(square, _COEFFICIENTS[0], out=polynomial)
    polynomial += _COEFFICIENTS[1]
    for coefficient in _COEFFICIENTS[2:]:
        polynomial *= square
        polynomial += coefficient
    # Contiguous until here: out may have rows that do not start on cache lines.
    np.multiply(polynomial, turns, out=out)
