"""More probes until a wanted standard error, as few as possible."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import scipy.linalg
from scipy.stats import chi2

from negcorr._common.lapack import thin_svd
from negcorr._common.types import FloatArray
from negcorr.dof.monte_carlo.probing import Probes, ProbeSource, measured
from negcorr.dof.monte_carlo.responses import Direction, Failure, ResponseMeter
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

#: A target is moved by at most so many steps: that far linearity has been tested.
FURTHEST_MOVE = 3.0

#: Of the upper bound on the spread that decides when to stop.
CONFIDENCE = 0.9

#: Probes that follow on a deflation, at least: fewer give no standard error to rely on.
FEWEST_FRESH = 8


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Attributes
    ----------
    std_error : float
        Wanted, for every output.
    max_fits : int
        Not to be exceeded.
    """

    std_error: float
    max_fits: int

    def reached(self, probes: Probes) -> bool:
        """Whether they are precise enough, for every output."""
        return self._excess(probes) <= 1.0

    def probes_wanted(self, probes: Probes) -> float:
        """How many probes in all, to judge by those at hand."""
        return len(probes.values) * self._excess(probes) ** 2

    def _excess(self, probes: Probes) -> float:
        """Standard error over the wanted one, the larger for being uncertain itself.

        To stop when few values happen to lie together would favour low values, whose spread is
        the smaller. The upper end of a 90 % interval for the spread guards against it.
        """
        free = len(probes.values) - 1
        caution = np.sqrt(free / chi2.ppf(1.0 - CONFIDENCE, free))
        return float(caution * probes.mean_and_error()[1].max() / self.std_error)


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

    One fit, besides the one to the targets as given. The sum moves every target as far as any
    of the directions and further: a fit with kinks or jumps within that reach fails.

    Parameters
    ----------
    vectors, images : ndarray of shape (n, directions)
        Directions and the response of the fit to each.
    meter : ResponseMeter
        Left with one-sided differences.
    seed : int
        Of the fits.
    """
    signs = np.where(np.arange(vectors.shape[1]) % 2, -0.5, 1.0)
    together = vectors @ signs
    largest = np.abs(vectors).max(initial=1.0)
    scale = 3.0 * largest / max(np.abs(together).max(initial=0.0), largest)
    meter.scheme = "forward"
    outcome = meter.responses([Direction(scale * together[:, np.newaxis], seed)])[0]
    if isinstance(outcome, Failure):
        raise ProbeError(
            f"the fit that tests linearity failed with {type(outcome.error).__name__}: "
            f"{outcome.error}"
        ) from outcome.error
    expected = scale * (images @ signs)
    slack = LINEAR_TOLERANCE * np.linalg.norm(expected) + 10.0 * outcome.rounding[0]
    return bool(np.linalg.norm(outcome.derivative[:, 0] - expected) <= slack)


def deflate(
    probes: Probes, meter: ResponseMeter, source: ProbeSource, limits: Limits
) -> tuple[Probes, Deflation] | None:
    """Reach the standard error with probes and deflation, whichever saves more fits.

    For a fit of one output that is linear in y. The probes at hand are the first sketch. At
    every turn the spread that would be left after deflating the probes at hand decides: either
    they become part of Q, which costs a fit each and fresh probes, or more are added to them.

    Returns
    -------
    probes : Probes
        Those that followed on the last deflation, with values for the whole trace.
    deflation : Deflation
        None in place of both where a test on the way finds that the fit is not linear.
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
            moved = probes.moved
            probes = source.none_yet(keeps_derivatives=True)
            probes.moved = moved
        else:
            count = int(np.clip(ceil(wanted) - here, 1, here))
        count = min(count, limits.max_fits - meter.n_fits)
        if count < 1:
            return probes, deflation
        probes.extend(meter, source, count)


def _deflation_pays(here: int, wanted: float, share: float, left: int) -> bool:
    """Whether deflating the ``here`` probes at hand needs fewer fits than adding to them.

    ``wanted`` probes reach the goal as things are, ``share * wanted`` afterwards; ``left`` fits
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
    # No target is moved further than linearity was tested.
    largest = np.abs(basis).max(axis=0)
    reach = np.minimum(np.sqrt(len(basis)), FURTHEST_MOVE / largest)
    seed = probes.directions[0].seed
    moves = [Direction(r * q[:, np.newaxis], seed) for r, q in zip(reach, basis.T, strict=True)]
    responses = [found for _, found in measured(meter, moves, first=len(probes.values))]
    answers = np.column_stack([response.derivative[:, 0] for response in responses]) / reach
    if not is_linear(basis / largest, answers / largest, meter, seed):
        return None
    return deflation.extended(basis, answers)


def columns(probes: Probes) -> tuple[FloatArray, FloatArray]:
    """Directions and derivatives of one output, each of shape (n, probes)."""
    vectors = np.column_stack([direction.vector[:, 0] for direction in probes.directions])
    return vectors, np.column_stack([derivative[:, 0] for derivative in probes.derivatives])


@dataclass(frozen=True, repr=False)
class Deflation:
    """Directions whose trace is known, and what is needed to leave them out of probes.

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
            2‖R b‖² for what is left of S, R, has the mean 2‖R‖²_F, which no probe's variance
            exceeds. A few values that happen to lie together have a small variance, and lie low
            more often than high; the images do not go along with that.
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
        return Deflation(
            np.column_stack([self.directions, directions]), np.column_stack([self.images, images])
        )


def leftover_share(deflation: Deflation, images: FloatArray) -> float:
    """Share of the probes' variance that would remain if ``images`` were deflated too.

    Each image is compared with its distance from the span of the others, which predicts how a
    fresh probe would fare after they have been deflated: 1/[(RᵀR)⁻¹]_jj for column j of R.
    """
    rest = deflation.outside(images)
    _, singular, right = thin_svd(rest)
    count = images.shape[1]
    # Nothing is left beyond rounding, or some column lies in the span of the others.
    if len(singular) < count or singular.min() <= 1e-10 * np.linalg.norm(images):
        return 0.0
    distances = 1.0 / np.sum((right / singular[:, np.newaxis]) ** 2, axis=0)
    return float(np.sum(distances) / np.sum(singular**2))
