"""Reach a wanted standard error with as few fits as possible: more probes, or deflation."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import scipy.linalg
from scipy.stats import chi2

from negcorr._common.arrays import thin_svd
from negcorr._common.types import FloatArray
from negcorr.dof.monte_carlo.probing import Probes, ProbeSource, measured
from negcorr.dof.monte_carlo.responses import Direction, ResponseMeter
from negcorr.exceptions import ProbeError

__all__ = [
    "Deflation",
    "Limits",
    "columns",
    "deflate",
    "is_linear",
    "leftover_share",
    "probe_until",
]


#: Departure from linearity, relative to the response, that rounding and solvers may cause.
LINEAR_TOLERANCE = 1e-7

#: Most steps by which a target is moved: linearity has been tested up to there.
FURTHEST_MOVE = 3.0

#: Confidence level of the upper bound on the spread that decides when to stop.
CONFIDENCE = 0.9

#: Fewest new probes after a deflation: fewer give no reliable standard error.
FEWEST_FRESH = 8


@dataclass(frozen=True)
class Limits:
    """Wanted precision and the limit on fits.

    Attributes
    ----------
    std_error : float
        Wanted standard error of every output.
    max_fits : int
        Most fits allowed.
    """

    std_error: float
    max_fits: int

    def reached(self, probes: Probes) -> bool:
        """Whether they are precise enough, for every output."""
        return self._excess(probes) <= 1.0

    def probes_wanted(self, probes: Probes) -> float:
        """How many probes are needed in all, estimated from those so far."""
        return len(probes.values) * self._excess(probes) ** 2

    def _excess(self, probes: Probes) -> float:
        """Upper bound on the standard error, over the wanted one.

        Without the bound the run would stop where a few values are close together by chance,
        and these are more often low values. It is the upper end of a 90 % interval.
        """
        free = len(probes.values) - 1
        inflation = np.sqrt(free / chi2.ppf(1.0 - CONFIDENCE, free))
        return float(inflation * probes.mean_and_error()[1].max() / self.std_error)


def probe_until(probes: Probes, meter: ResponseMeter, source: ProbeSource, limits: Limits) -> None:
    """Add plain probes until the standard error or the number of fits is reached."""
    while not limits.reached(probes):
        # The spread of few probes is itself uncertain: never more than double at once.
        here = len(probes.values)
        count = int(np.clip(ceil(limits.probes_wanted(probes)) - here, 1, here))
        while count and source.fits(count, meter.scheme) > limits.max_fits - meter.n_fits:
            count -= 1
        if count == 0:
            return
        probes.extend(meter, source, count)


def is_linear(vectors: FloatArray, images: FloatArray, meter: ResponseMeter, seed: int) -> bool:
    """Whether the response to a sum of directions is the sum of the responses.

    It takes one fit, besides the one to the targets as given. The sum moves targets at least as
    far as any single direction: a fit with kinks or jumps within that distance is not linear.

    Parameters
    ----------
    vectors, images : ndarray of shape (n, directions)
        Directions and the response of the fit to each.
    meter : ResponseMeter
        Its scheme is set to one-sided differences.
    seed : int
        Of the fits.
    """
    signs = np.where(np.arange(vectors.shape[1]) % 2, -0.5, 1.0)
    together = vectors @ signs
    largest = np.abs(vectors).max(initial=1.0)
    scale = 3.0 * largest / max(np.abs(together).max(initial=0.0), largest)
    meter.scheme = "forward"
    outcome = meter.responses([Direction(scale * together[:, np.newaxis], seed)])[0]
    if isinstance(outcome, Exception):
        problem = f"{type(outcome).__name__}: {outcome}"
        raise ProbeError(f"the fit that tests linearity failed with {problem}") from outcome
    expected = scale * (images @ signs)
    slack = LINEAR_TOLERANCE * np.linalg.norm(expected) + 10.0 * outcome.rounding[0]
    return bool(np.linalg.norm(outcome.derivative[:, 0] - expected) <= slack)


def deflate(
    probes: Probes, meter: ResponseMeter, source: ProbeSource, limits: Limits
) -> tuple[Probes, Deflation] | None:
    """Reach the standard error with probes and deflation, whichever saves more fits.

    For a fit of one output that is linear in y. In every round, one of two things is done: the
    range of the images of the probes so far becomes part of Q, which takes a fit for each new
    direction and then new probes; or more probes are added. The variance that would be left
    after the deflation decides.

    Returns
    -------
    probes : Probes
        Those since the last deflation, with values for the whole trace.
    deflation : Deflation
        None in place of both where the fit is found not to be linear.
    """
    deflation = Deflation.none(len(source.refit.y))
    while True:
        vectors, images = columns(probes)
        values, variances = deflation.values(vectors, images)
        probes.values = list(values[:, np.newaxis])
        probes.leftover_variance = variances.mean(keepdims=True)
        if limits.reached(probes):
            return probes, deflation
        wanted = limits.probes_wanted(probes)
        left = limits.max_fits - meter.n_fits
        here = len(values)
        share = leftover_share(deflation, images)
        if _deflation_pays(here, wanted, share, left):
            extended = _deflated_further(deflation, images, probes, meter)
            if extended is None:
                return None
            n_new = extended.directions.shape[1] - deflation.directions.shape[1]
            deflation = extended
            count = min(max(FEWEST_FRESH, ceil(share * wanted)), max(FEWEST_FRESH, n_new))
            probes, moved = source.no_probes(keeps_derivatives=True), probes.moved
            probes.moved = moved
        else:
            count = int(np.clip(ceil(wanted) - here, 1, here))
        count = min(count, limits.max_fits - meter.n_fits)
        if count < 1:
            return probes, deflation
        probes.extend(meter, source, count)


def _deflation_pays(here: int, wanted: float, share: float, left: int) -> bool:
    """Whether deflating the ``here`` probes so far needs fewer fits than adding to them.

    ``wanted`` probes are needed without deflation, ``share * wanted`` after it; ``left`` fits
    remain. Where neither way reaches it, the smaller variance at the end decides.
    """
    afterwards = left - here - 1
    if afterwards < FEWEST_FRESH:
        return False
    if wanted - here > left and share * wanted > afterwards:
        return share / afterwards < 1.0 / (here + left)
    return here + 1 + max(FEWEST_FRESH, share * wanted) < wanted - here


def _deflated_further(
    deflation: Deflation, images: FloatArray, probes: Probes, meter: ResponseMeter
) -> Deflation | None:
    """The deflation with what ``images`` add to it; None if the fit is found not to be linear.

    One fit for each new direction, and one for all of them moved together.
    """
    basis = deflation.new_directions(images)
    if basis.shape[1] == 0:
        return deflation
    # No target is moved further than the distance at which linearity was tested.
    largest = np.abs(basis).max(axis=0)
    reach = np.minimum(np.sqrt(len(basis)), FURTHEST_MOVE / largest)
    seed = probes.directions[0].seed
    moves = [Direction(r * q[:, np.newaxis], seed) for r, q in zip(reach, basis.T, strict=True)]
    responses = [found for _, found in measured(meter, moves, first=len(probes.values))]
    new_images = np.column_stack([response.derivative[:, 0] for response in responses]) / reach
    if not is_linear(basis / largest, new_images / largest, meter, seed):
        return None
    return deflation.extended(basis, new_images)


def columns(probes: Probes) -> tuple[FloatArray, FloatArray]:
    """Directions and derivatives of one output, each of shape (n, probes)."""
    vectors = np.column_stack([direction.vector[:, 0] for direction in probes.directions])
    return vectors, np.column_stack([derivative[:, 0] for derivative in probes.derivatives])


@dataclass(frozen=True, repr=False)
class Deflation:
    """Directions whose part of the trace is known exactly, and their images.

    Attributes
    ----------
    directions : ndarray of shape (n, k)
        Q, orthonormal columns.
    images : ndarray of shape (n, k)
        S Q.
    """

    directions: FloatArray
    images: FloatArray

    @classmethod
    def none(cls, n_samples: int) -> Deflation:
        """Nothing deflated."""
        return cls(np.empty((n_samples, 0)), np.empty((n_samples, 0)))

    @property
    def trace(self) -> float:
        """Tr(Qᵀ S Q)."""
        return float(np.sum(self.directions * self.images))

    def outside(self, vectors: FloatArray) -> FloatArray:
        """(I − QQᵀ) ``vectors``, projected twice for orthogonality to rounding."""
        for _ in range(2):
            vectors = vectors - self.directions @ (self.directions.T @ vectors)
        return vectors

    def values(self, probes: FloatArray, images: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimates of tr S, one for each probe, and their variance from the images' size.

        Parameters
        ----------
        probes, images : ndarray of shape (n, probes)
            b and S b. No further fit is needed: S(I − QQᵀ)b = S b − (S Q) Qᵀ b.

        Returns
        -------
        values, variances : ndarray of shape (probes,)
            2‖R b‖², where R is what is left of S. Its mean 2‖R‖²_F is an upper bound on the
            variance of a probe. The sample variance of a few values would be too small where
            they are low by chance; the images do not have this dependence.
        """
        rest = self.outside(images - self.images @ (self.directions.T @ probes))
        values = self.trace + np.sum(self.outside(probes) * rest, axis=0)
        return np.asarray(values), np.asarray(2.0 * np.sum(rest**2, axis=0))

    def new_directions(self, images: FloatArray) -> FloatArray:
        """Orthonormal basis, shape (n, new), of what ``images`` add to the range of Q."""
        rest = self.outside(images)
        basis, triangle, _ = scipy.linalg.qr(rest, mode="economic", pivoting=True)
        size = np.linalg.norm(images, axis=0).max(initial=0.0)
        rank = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > 1e-10 * size))
        return self.outside(basis[:, :rank])

    def extended(self, directions: FloatArray, images: FloatArray) -> Deflation:
        """With further orthonormal directions and their images."""
        new = (self.directions, directions), (self.images, images)
        return Deflation(*map(np.column_stack, new))


def leftover_share(deflation: Deflation, images: FloatArray) -> float:
    """Share of the probes' variance that would remain if ``images`` were deflated too.

    The squared distance of each image from the span of the others, 1/[(RᵀR)⁻¹]_jj for column j
    of R, estimates what would remain of a new probe's image after the deflation.
    """
    rest = deflation.outside(images)
    _, singular, right = thin_svd(rest)
    count = images.shape[1]
    # Only rounding errors are left, or some column lies in the span of the others.
    if len(singular) < count or singular.min() <= 1e-10 * np.linalg.norm(images):
        return 0.0
    distances = 1.0 / np.sum((right / singular[:, np.newaxis]) ** 2, axis=0)
    return float(np.sum(distances) / np.sum(singular**2))
