"""More probes until a wanted standard error, as few as possible."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from negcorr._typing import FloatArray
from negcorr.monte_carlo.deflation import Deflation, leftover_share
from negcorr.monte_carlo.probing import Probes, ProbeSource, measure
from negcorr.monte_carlo.responses import Direction, Failure, Response, ResponseMeter

__all__ = ["Limits", "deflate", "is_linear", "probe_until"]

#: Departure from linearity, relative to the response, that rounding and solvers may cause.
LINEAR_TOLERANCE = 1e-7

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
        return bool((probes.mean_and_error()[1] <= self.std_error).all())

    def probes_wanted(self, probes: Probes) -> float:
        """How many probes in all, to judge by those at hand."""
        error = probes.mean_and_error()[1].max()
        return float(len(probes.values) * (error / self.std_error) ** 2)


def probe_until(probes: Probes, meter: ResponseMeter, source: ProbeSource, limits: Limits) -> None:
    """Add plain probes until the standard error or the number of fits is reached."""
    while not limits.reached(probes):
        wanted = limits.probes_wanted(probes)
        # The spread of few probes is itself uncertain: never more than double at once.
        count = int(np.clip(ceil(wanted) - len(probes.values), 1, len(probes.values)))
        directions = source.draw(count)
        while directions and _fits(meter, directions) > limits.max_fits - meter.n_fits:
            directions.pop()
        if not directions:
            return
        probes.extend(meter, directions)


def _fits(meter: ResponseMeter, directions: list[Direction]) -> int:
    return meter.fits_for([direction.seed for direction in directions])


def is_linear(probes: Probes, meter: ResponseMeter) -> bool:
    """Whether the fit answers a sum of two directions by the sum of its answers.

    One fit at three times the step, besides the one on the targets as given: a fit with kinks
    or jumps within that reach fails the test.
    """
    a, b = probes.directions[:2]
    combination = Direction(3.0 * a.vector - 1.5 * b.vector, a.seed)
    expected = 3.0 * probes.derivatives[0] - 1.5 * probes.derivatives[1]
    meter.scheme = "forward"
    outcome = meter.responses([combination])[0]
    if isinstance(outcome, Failure):
        raise outcome.error
    size = np.linalg.norm(expected, axis=0)
    slack = LINEAR_TOLERANCE * size + 10.0 * outcome.rounding
    return bool((np.linalg.norm(outcome.derivative - expected, axis=0) <= slack).all())


def deflate(
    probes: Probes, meter: ResponseMeter, source: ProbeSource, limits: Limits
) -> tuple[Probes, Deflation]:
    """Reach the standard error with probes and deflation, whichever saves more fits.

    For a fit of one output that is linear in y. The probes at hand are the first sketch. At
    every turn the spread that would be left after deflating the probes at hand decides: either
    they become part of Q, which costs a fit each and fresh probes, or more are added to them.

    Returns
    -------
    probes : Probes
        Those that followed on the last deflation, with values for the whole trace.
    deflation : Deflation
    """
    deflation = Deflation.none(len(source.refit.y))
    while True:
        vectors, images = _columns(probes)
        values, variances = deflation.values(vectors, images)
        probes.values = list(values[:, np.newaxis])
        probes.variances = variances[:, np.newaxis]
        if limits.reached(probes):
            return probes, deflation
        wanted = limits.probes_wanted(probes)
        left = limits.max_fits - meter.n_fits
        here = len(values)
        share = leftover_share(deflation, images)
        fresh = max(FEWEST_FRESH, ceil(share * wanted))
        if _deflation_pays(here, wanted, share, left):
            basis = deflation.new_directions(images)
            deflation = deflation.extended(basis, _images(meter, basis, probes))
            probes = Probes(keeps_derivatives=True, moved=probes.moved)
            count = min(fresh, max(FEWEST_FRESH, basis.shape[1]))
        else:
            count = int(np.clip(ceil(wanted) - here, 1, here))
        count = min(count, limits.max_fits - meter.n_fits)
        if count < 1:
            return probes, deflation
        probes.extend(meter, source.draw(count))


def _deflation_pays(here: int, wanted: float, share: float, left: int) -> bool:
    """Whether deflating the ``here`` probes at hand needs fewer fits than adding to them.

    ``wanted`` probes reach the goal as things are, ``share * wanted`` afterwards; ``left`` fits
    remain. Where neither way reaches it, what counts is the variance at the end.
    """
    afterwards = left - here
    if afterwards < FEWEST_FRESH:
        return False
    if wanted - here > left and share * wanted > afterwards:
        return share / afterwards < 1.0 / (here + left)
    return here + max(FEWEST_FRESH, share * wanted) < wanted - here


def _columns(probes: Probes) -> tuple[FloatArray, FloatArray]:
    vectors = np.column_stack([direction.vector[:, 0] for direction in probes.directions])
    return vectors, np.column_stack([derivative[:, 0] for derivative in probes.derivatives])


def _images(meter: ResponseMeter, basis: FloatArray, probes: Probes) -> FloatArray:
    """S Q, by one fit for each column, moved as far as a probe moves."""
    reach = np.sqrt(len(basis))
    seed = probes.directions[0].seed
    columns: list[FloatArray] = []

    def keep(_: Direction, response: Response) -> None:
        columns.append(response.derivative[:, 0] / reach)

    moves = [Direction(reach * q[:, np.newaxis], seed) for q in basis.T]
    measure(meter, moves, keep, first=len(probes.values))
    return np.column_stack(columns) if columns else np.empty_like(basis)
