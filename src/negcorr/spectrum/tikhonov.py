"""An NCL ensemble as a ridge regression on whitened features (Section 5, Theorem 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr.spectrum.spectrum import Spectrum

__all__ = ["TikhonovEquivalent", "tikhonov_equivalent"]


@dataclass(frozen=True)
class TikhonovEquivalent:
    """The ridge regression that an NCL ensemble is (Theorem 7, with γ corrected).

    Attributes
    ----------
    gamma : float
        (1 − λ)/(Mλ), the penalty of the paper's Tikhonov loss; infinite at λ = 0.
    scale : float
        λ: the ridge fit G is λ times the ensemble F_λ.
    ridge_alpha : float
        The same penalty for scikit-learn's ``Ridge`` on the whitened features: n·M(1 − λ)/λ.
    """

    gamma: float
    scale: float
    ridge_alpha: float


def tikhonov_equivalent(spectrum: Spectrum, gap: float) -> TikhonovEquivalent:
    """The penalty at which ridge regression on whitened features gives λF_λ.

    Parameters
    ----------
    spectrum : Spectrum
        Of an ensemble without a ridge of its own.
    gap : float
        1 − λ.

    Returns
    -------
    TikhonovEquivalent

    Notes
    -----
    The paper prints γ = (1 − λ)/(M²λ); its own Appendix D needs γM² = M(1 − λ)/λ.
    """
    if spectrum.alpha > 0:
        raise ValueError(f"Theorem 7 is about ensembles without a ridge; alpha={spectrum.alpha!r}.")
    if spectrum.whitening.nesting is not None:
        raise ValueError("Theorem 7 is about plain members, and these are ensembles themselves.")
    scale, m = 1.0 - gap, spectrum.n_members
    gamma = gap / (m * scale) if scale > 0 else np.inf
    return TikhonovEquivalent(gamma, scale, spectrum.weight * m**2 * gamma)
