"""Taking rows away again: moments of what is left, with a guard against lost digits."""

from __future__ import annotations

import numpy as np

from negcorr._arrays import place_of, to_host
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.moments import EPS, GramMoments

__all__ = ["difference"]


def difference(whole: GramMoments, part: GramMoments) -> GramMoments:
    """Moments of the rows of ``whole`` that are not in ``part``, which must all be in it.

    With d the distance of the two means, the scatter of the rest is that of the whole less that of
    the part and of (w w'/Σw) d dᵀ. Digits are lost where little is left: ``squares`` stay those of
    the whole, so that what is rounding counts as such.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.moments import GramMoments
    >>> from negcorr.subtraction import difference
    >>> z = np.array([[1.0, 2.0], [3.0, 4.0], [8.0, 0.0], [5.0, 5.0]])
    >>> whole, part = (GramMoments.from_rows(r, np.ones(len(r)), 1) for r in (z, z[:2]))
    >>> difference(whole, part).mean
    array([6.5, 2.5])
    """
    if part.weight == 0:
        return whole
    left = whole.weight - part.weight
    n_rows = whole.n_rows - part.n_rows
    if n_rows < 0 or left < -1e-9 * whole.weight or (n_rows == 0) != (left <= 1e-9 * whole.weight):
        raise ValueError(
            f"{part.n_rows} rows of weight {part.weight:.6g} cannot be taken from "
            f"{whole.n_rows} of weight {whole.weight:.6g}: they are not among them."
        )
    if n_rows == 0:
        return whole.emptied()
    mean = whole.mean + (whole.mean - part.mean) * (part.weight / left)
    apart = mean - part.mean
    scatter = whole.scatter - part.scatter
    scatter -= (left * part.weight / whole.weight * apart)[:, None] * apart[None, :]
    lost = to_host(1024.0 * EPS * (whole.squares + whole.weight * whole.mean**2))
    xp = place_of(scatter).xp
    diagonal = to_host(xp.linalg.diagonal(scatter))
    if (diagonal < -lost).any():
        raise ValueError("the rows to be taken away are not among those that there are.")
    # What is left must stand out from the rounding of what was there. A column may be constant in
    # the rest, or nearly so in few rows; but not all that varied before.
    constant = diagonal <= lost
    nearly = ~constant & (diagonal < 1e3 * lost)
    varied = to_host(xp.linalg.diagonal(whole.scatter)) > lost
    if nearly.any() or (n_rows > 1 and varied.any() and constant[varied].all()):
        warn_caller(
            f"{n_rows} of {whole.n_rows} rows are left, whose moments have lost most of their "
            "digits by subtraction; fit again where that matters.",
            PrecisionWarning,
        )
    for i in np.flatnonzero(diagonal < 0).tolist():
        scatter[i, i] = 0.0
    return GramMoments(left, mean, scatter, whole.n_outputs, n_rows, whole.squares)
