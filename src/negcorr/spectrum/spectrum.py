r"""The spectrum of an ensemble: one factorisation serves all λ (Theorems 4, 5, Proposition 15).

Whiten each block of features, :math:`W_m^\top D_m W_m = I`, and diagonalise
:math:`P = W^\top G W = U\,\mathrm{diag}(\rho)\,U^\top` with :math:`0 \le \rho \le M`. Then the
smoothing matrix has the same eigenvectors v_q for all λ, and in the gap g = 1 − λ each mode
shrinks by

.. math:: s_q = \frac{\rho_q}{M(1-\lambda) + \lambda\rho_q} = \frac{1}{1 + g\,a_q},
          \qquad a_q = \frac{M - \rho_q}{\rho_q}.

With κ_q the component of y/√n along v_q, degrees of freedom are Σ s, the training error is
the part of y outside all modes plus Σ κ²(1 − s)², and the diversity is Σ κ² s² a: O(Q) for
each λ. 1 − s is computed as ga/(1 + ga), never as a difference, so a gap of 10⁻²⁰ is not 0.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from negcorr._common.arrays import NUMPY, Place, contiguous, place_of, to_host
from negcorr._common.lapack import EPS
from negcorr._common.types import FloatArray, GapLike, IntArray
from negcorr.spectrum.gap import gap_per_output, resolve_gap
from negcorr.spectrum.whitening import Whitening

__all__ = ["DenseSpectrum", "Spectrum"]


#: A residual is known to the rounding of the target: to this share of its deviation, and to so many
#: roundings of its mean.
ROUNDING_SHARE, ROUNDINGS = 1e-13, 64.0

#: Share of M by which ρ must be below it for members to differ along a mode. Less is rounding, and
#: changes no prediction in twelve digits; but a criterion that takes logarithms could choose by it.
DIFFERENCE = 1e-12


@dataclass(frozen=True, repr=False)
class Spectrum(ABC):
    """The data in the coordinates in which NCL is diagonal.

    Made by :func:`negcorr.spectrum.factorise.factorise`. Methods take ``lam`` or ``gap``, a number
    or an array; results have that shape, followed by an axis of outputs where there is one.
    :class:`DenseSpectrum` holds all modes;
    :class:`negcorr.spectrum.tridiagonal.BandedSpectrum` computes them when needed.

    Attributes
    ----------
    rho : ndarray of shape (r,)
        Positive eigenvalues of P, ascending.
    kappa : ndarray of shape (r, outputs)
        Components of y/√n along the modes.
    outside : ndarray of shape (outputs,)
        Mean square of y outside all modes: the training error at λ = 1.
    total : ndarray of shape (outputs,)
        Mean square of y (about its mean, with an intercept).
    weight : float
        Σw, the number of samples.
    n_members : int
        M.
    fit_intercept : bool
        Whether features and target were centred; adds 1 to the degrees of freedom.
    centre : ndarray of shape (Q + outputs,)
        Means that were removed (zeros without an intercept).
    alpha : float
        Ridge inside the blocks.
    whitening : Whitening
        W.
    """

    total: FloatArray
    weight: float
    n_members: int
    fit_intercept: bool
    centre: FloatArray
    alpha: float
    # Some kinds of spectrum hold them, others compute them when needed.
    whitening: Whitening = field(init=False)
    rho: FloatArray = field(init=False)
    kappa: FloatArray = field(init=False)
    outside: FloatArray = field(init=False)

    @abstractmethod
    def combine_modes(self, x: FloatArray) -> FloatArray:
        """U x for x of shape (r, k)."""

    @abstractmethod
    def along_modes(self, v: FloatArray) -> FloatArray:
        """Uᵀ v for v of shape (R, k)."""

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return int(self.total.shape[0])

    @property
    def n_features(self) -> int:
        """Q, the number of features of all members."""
        return int(self.centre.shape[0]) - self.n_outputs

    @property
    def place(self) -> Place:
        """The library and device of its arrays."""
        return place_of(self.total)

    @property
    def block_ranks(self) -> IntArray:
        """Numerical rank of every member's features."""
        return np.diff(self.whitening.rank_starts)

    @property
    def smallest_useful_gap(self) -> float:
        """Gap below which no mode changes any more: 10⁻³ of the smallest ρ/M; 1 if none does."""
        share = float(self.rho[0]) / self.n_members if self.rho.shape[0] else 1.0
        return 1e-3 * share if 1.0 - share > DIFFERENCE else 1.0

    @property
    def target_rounding(self) -> FloatArray:
        """Size of residuals that are nothing but rounding of the target, of shape (outputs,)."""
        xp, mean = self.place.xp, self.centre[self.n_features :]
        deviation = xp.sqrt(xp.clip(self.total, min=0.0))
        return xp.maximum(ROUNDING_SHARE * deviation, ROUNDINGS * EPS * xp.abs(mean))

    def without_rows(self) -> Spectrum:
        """The spectrum as numbers of its own, from which no training row can be read."""
        return self

    def mode_penalties(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Ridge penalties g·a of the modes, a = (M − ρ)/ρ ≥ 0, shape (..., r)."""
        xp, gaps = self.place.xp, self.place.floats(resolve_gap(lam, gap)[..., np.newaxis])
        apart = self.n_members - self.rho
        return gaps * (xp.where(apart > DIFFERENCE * self.n_members, apart, 0.0) / self.rho)

    def shrinkage(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Eigenvalues s of the smoothing matrix, shape (..., r) (Proposition 15)."""
        return 1.0 / (1.0 + self.mode_penalties(lam, gap=gap))

    def dof(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Degrees of freedom, trace of the smoothing matrix (Theorem 5)."""
        xp = self.place.xp
        return xp.asarray(xp.sum(self.shrinkage(lam, gap=gap), axis=-1) + float(self.fit_intercept))

    def dof_derivative(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """First derivative of dof by λ, Σ a s²."""
        xp, a = self.place.xp, self.mode_penalties(gap=1.0)
        return xp.asarray(xp.sum(a * self.shrinkage(lam, gap=gap) ** 2, axis=-1))

    def dof_second_derivative(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Second derivative of dof by λ, 2 Σ a² s³ (the paper's lacks the 2)."""
        xp, a, s = self.place.xp, self.mode_penalties(gap=1.0), self.shrinkage(lam, gap=gap)
        return xp.asarray(xp.sum(2.0 * (a * s) ** 2 * s, axis=-1))

    def residual_dof(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """What residual sums of squares are divided by, n − 2 tr S + tr S²."""
        # Mode by mode it is (1 − s)²; the difference would lose digits near interpolation.
        xp, ga = self.place.xp, self.mode_penalties(lam, gap=gap)
        outside = self.weight - self.fit_intercept - self.rho.shape[0]
        return xp.asarray(xp.sum((ga / (1.0 + ga)) ** 2, axis=-1) + outside)

    def train_error(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Mean squared training error of the ensemble, shape (..., outputs)."""
        ga = self.mode_penalties(lam, gap=gap)
        return self.outside + (ga / (1.0 + ga)) ** 2 @ self.kappa**2

    def diversity(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Mean variance of member predictions on the training rows, Σ κ² s² a."""
        g = resolve_gap(lam, gap)
        s = self.shrinkage(gap=g)
        diversity = (s**2 * self.mode_penalties(gap=1.0)) @ self.kappa**2
        if self.has_excess:
            # Whitened lengths include what is no variance of predictions.
            penalty = self.excess(g.ravel())
            diversity = diversity - self.place.xp.reshape(penalty, diversity.shape)
        return self.place.xp.clip(diversity, min=0.0)

    @property
    def has_excess(self) -> bool:
        """Whether members pay for more than the length of their predictions."""
        return self.alpha > 0 or self.whitening.nesting is not None

    def excess(self, gaps: FloatArray) -> FloatArray:
        """What members pay beyond the length of their predictions, shape (gaps, outputs)."""
        flat = self.coef_path(gaps)
        xp = self.place.xp
        by_column = xp.reshape(
            xp.permute_dims(flat, (1, 2, 0)), (self.n_features, len(gaps) * self.n_outputs)
        )
        penalty = self.n_members * self.whitening.excess(by_column, self.alpha)
        return xp.reshape(penalty, (len(gaps), self.n_outputs))

    def member_error(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Average mean squared training error of the members (equation 1)."""
        g = resolve_gap(lam, gap)
        return self.train_error(gap=g) + self.diversity(gap=g)

    def coef(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Ensemble coefficients β of shape (outputs, Q) at one λ, or one per output.

        Theorem 4; where rank(G) < Q the value at λ = 1 is the limit λ → 1, which keeps the
        path continuous (the pseudo-inverse gives the same fit but other predictions).
        """
        g = gap_per_output(resolve_gap(lam, gap), self.n_outputs)
        s = self.shrinkage(gap=g).T
        x = self.combine_modes(self.kappa * s / self.place.xp.sqrt(self.rho)[:, None])
        return contiguous(self.whitening.times(x).T)

    def member_coef(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Weights w of all members, M times β, shape (outputs, Q), with w_m in block m."""
        return self.n_members * self.coef(lam, gap=gap)

    def member_intercepts(self, member_coef: FloatArray) -> FloatArray:
        """Intercepts ȳ − φ̄_mᵀw_m of the members, shape (M, outputs)."""
        q = self.n_features
        xp = self.place.xp
        products = member_coef * self.centre[:q]
        pairs = itertools.pairwise(self.whitening.starts.tolist())
        by_member = xp.stack([xp.sum(products[:, a:b], axis=1) for a, b in pairs])
        return self.centre[q:] - by_member

    def coef_path(self, gaps: FloatArray) -> FloatArray:
        """β for every gap of a grid and every output, shape (outputs, Q, gaps)."""
        xp = self.place.xp
        scaled = self.shrinkage(gap=gaps).T / xp.sqrt(self.rho)[:, None]
        n_gaps = len(gaps)
        x = self.kappa[:, :, None] * scaled[:, None, :]
        x = xp.reshape(x, (self.rho.shape[0], self.n_outputs * n_gaps))
        beta = self.whitening.times(self.combine_modes(x))
        by_output = xp.reshape(beta, (-1, self.n_outputs, n_gaps))
        return contiguous(xp.permute_dims(by_output, (1, 0, 2)))

    def intercept(self, coef: FloatArray) -> FloatArray:
        """Ensemble intercept of shape (outputs,) that goes with ``coef``."""
        q = coef.shape[-1]
        return self.centre[q:] - coef @ self.centre[:q]

    def project(self, features: FloatArray) -> FloatArray:
        """Rows of features in mode coordinates, (n, Q) to (n, r)."""
        centred = features - self.centre[: self.n_features]
        return self.along_modes(self.whitening.rows(centred).T).T

    def variance_factor(self, features: FloatArray, gap: npt.ArrayLike) -> FloatArray:
        """Variance of F(x) over σ², shape (n, outputs), for one gap or one per output."""
        g = gap_per_output(resolve_gap(gap=gap), self.n_outputs)
        scaled = self.shrinkage(gap=g) ** 2 / self.rho
        return (self.project(features) ** 2 @ scaled.T + float(self.fit_intercept)) / self.weight

    def leverage(
        self,
        features: FloatArray,
        lam: float | None = None,
        *,
        gap: float | None = None,
        sample_weight: FloatArray | None = None,
    ) -> FloatArray:
        """∂F(x_i)/∂y_i for the training rows, shape (n,); they add up to dof."""
        scaled = self.shrinkage(lam, gap=gap) / self.rho
        diagonal = self.project(features) ** 2 @ scaled + float(self.fit_intercept)
        return self._weighted(diagonal, sample_weight)

    def smoothing_matrix(
        self,
        features: FloatArray,
        lam: float | None = None,
        *,
        gap: float | None = None,
        sample_weight: FloatArray | None = None,
    ) -> FloatArray:
        """S with F(X) = S y, shape (n, n) (Corollary 11); for the training rows."""
        coordinates = self.project(features)
        scaled = self.shrinkage(lam, gap=gap) / self.rho
        inner = (coordinates * scaled) @ coordinates.T + float(self.fit_intercept)
        return self._weighted(inner, sample_weight)

    def _weighted(self, values: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
        """Values times each row's share of all weight."""
        if sample_weight is None:
            return values / self.weight
        return values * self.place.floats(sample_weight) / self.weight

    def gap_for_dof(self, dof: npt.ArrayLike) -> FloatArray:
        """The gap at which the ensemble has the wanted degrees of freedom.

        dof falls with the gap, so bisection on log₁₀(gap) finds it to rounding.
        """
        wanted = NUMPY.floats(dof)
        lowest, highest = float(self.dof(gap=1.0)), float(self.dof(gap=0.0))
        slack = 1e-9 * max(1.0, highest)
        if not ((wanted >= lowest - slack) & (wanted <= highest + slack)).all():
            raise ValueError(
                f"dof={dof!r} cannot be reached: at lam=0 the ensemble has {lowest:.6g} degrees "
                f"of freedom, at lam=1 it has {highest:.6g}."
            )
        low = np.full(wanted.shape, np.log10(self.smallest_useful_gap) - 6.0)
        high = np.zeros(wanted.shape)
        for _ in range(100):
            middle = 0.5 * (low + high)
            too_many = to_host(self.dof(gap=10.0**middle)) > wanted
            low, high = np.where(too_many, middle, low), np.where(too_many, high, middle)
        found = 10.0**high
        found = np.where(wanted <= lowest, 1.0, found)
        return np.asarray(np.where(wanted >= highest, 0.0, found))


@dataclass(frozen=True, repr=False)
class DenseSpectrum(Spectrum):
    """A spectrum that holds all its modes; see :class:`Spectrum` for the common fields.

    Attributes
    ----------
    vectors : ndarray of shape (R, r)
        U, one column for each of ``rho``.
    """

    whitening: Whitening
    rho: FloatArray
    kappa: FloatArray
    outside: FloatArray
    vectors: FloatArray

    def combine_modes(self, x: FloatArray) -> FloatArray:
        """U x for x of shape (r, k)."""
        return self.vectors @ x

    def along_modes(self, v: FloatArray) -> FloatArray:
        """Uᵀ v for v of shape (R, k)."""
        return self.vectors.T @ v
