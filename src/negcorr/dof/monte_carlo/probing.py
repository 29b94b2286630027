"""Random directions, and the values bᵀ J b measured along them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from negcorr._common.forks import late
from negcorr._common.types import FloatArray
from negcorr.dof.monte_carlo.probe_variance import Spread
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.dof.monte_carlo.responses import Direction, Response, ResponseMeter
from negcorr.dof.monte_carlo.result import mean_and_error
from negcorr.exceptions import ProbeError

__all__ = ["ProbeSource", "Probes", "measured"]

#: Directions that are kept for the check by a second step, where no more are needed.
KEPT_DIRECTIONS = 4

#: Fewest directions that are measured at a time.
FEWEST_AT_ONCE = 16


@dataclass
class ProbeSource:
    """Draws directions, from one stream, and their seeds, from another.

    Two streams, so that estimators with and without random numbers of their own get the same
    directions from the same ``random_state``.

    Attributes
    ----------
    refit : Refit
        The fit whose targets are moved.
    kind : {"rademacher", "gaussian"}
        Distribution of the entries.
    per_probe : bool
        Whether every direction has a seed of its own.
    directions, seeds : numpy.random.Generator
        The two streams.
    ready : list of int
        Seeds of the next directions, whose fits to the targets as given are made.
    """

    refit: Refit
    kind: str
    per_probe: bool
    directions: np.random.Generator
    seeds: np.random.Generator
    ready: list[int] = field(default_factory=list)

    def no_probes(self, keeps_derivatives: bool) -> Probes:
        """A collection without probes."""
        return Probes(keeps_derivatives, Spread(signs=self.kind == "rademacher"))

    def draw(self, count: int) -> list[Direction]:
        """New directions."""
        drawn = []
        for _ in range(count):
            if self.kind == "rademacher":
                vector = self.directions.choice(np.array([-1.0, 1.0]), size=self.refit.y.shape)
            else:
                vector = self.directions.standard_normal(self.refit.y.shape)
            if self.refit.weight is not None:
                # Directions are 0 in rows of weight 0: these rows would only add variance.
                vector[self.refit.weight == 0] = 0.0
            if not self.per_probe:
                seed = self.shared_seed
            else:
                seed = self.ready.pop(0) if self.ready else int(self.seeds.integers(2**31))
            drawn.append(Direction(vector, seed))
        return drawn

    def fits(self, count: int, scheme: str) -> int:
        """Fits for ``count`` directions, besides one shared fit to the targets as given."""
        return 2 * count if scheme == "central" or self.per_probe else count

    @late
    def shared_seed(self) -> int:
        """The one seed of fits that do not belong to a probe, drawn when it is first needed."""
        return int(self.seeds.integers(2**31))


@dataclass
class Probes:
    """Directions measured so far, and their values.

    Attributes
    ----------
    directions : list of Direction
        All of them where derivatives are kept, else the first few.
    values, rounding : list of ndarray of shape (outputs,)
        bᵀ J b, and how much rounding can add.
    derivatives : list of ndarray of shape (n, outputs)
        J b, kept only where they are needed again.
    spread : Spread
        Variance of the values, from the responses.
    leftover_variance : ndarray of shape (outputs,) or None
        Variance of the values after deflation; used in place of ``spread`` where it is set.
    moved : bool
        Whether any fitted value moved.
    """

    keeps_derivatives: bool
    spread: Spread
    directions: list[Direction] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    rounding: list[FloatArray] = field(default_factory=list)
    derivatives: list[FloatArray] = field(default_factory=list)
    leftover_variance: FloatArray | None = None
    moved: bool = False

    def mean_and_error(self) -> tuple[FloatArray, FloatArray]:
        """Mean over probes and its standard error, both of shape (outputs,)."""
        left = self.leftover_variance
        variance = self.spread.variance() if left is None else left
        return mean_and_error(np.array(self.values), np.array(self.rounding), variance)

    def copied(self) -> Probes:
        """A copy to which other probes can be added."""
        lists = ("directions", "values", "rounding", "derivatives")
        own: dict[str, Any] = {name: list(getattr(self, name)) for name in lists}
        return replace(self, spread=self.spread.copied(), **own)

    def add(self, direction: Direction, response: Response) -> None:
        """Take in one probe."""
        if self.keeps_derivatives or len(self.directions) < KEPT_DIRECTIONS:
            self.directions.append(direction)
        self.values.append(response.along(direction.vector))
        self.rounding.append(response.rounding)
        self.moved = self.moved or bool(response.derivative.any())
        self.spread.add(direction.vector, response.derivative)
        if self.keeps_derivatives:
            self.derivatives.append(response.derivative)

    def extend(self, meter: ResponseMeter, source: ProbeSource, count: int) -> None:
        """Measure further directions; if one of them fails, the others are kept.

        A few at a time, so that memory does not grow with their number.
        """
        at_once = max(FEWEST_AT_ONCE, 2 * effective_n_jobs(meter.n_jobs))
        while count > 0:
            directions = source.draw(min(count, at_once))
            for direction, response in measured(meter, directions, first=len(self.values)):
                self.add(direction, response)
            count -= len(directions)


def measured(
    meter: ResponseMeter, directions: Sequence[Direction], first: int, factor: float = 1.0
) -> Iterator[tuple[Direction, Response]]:
    """Every direction whose fits succeed, with its response; then the first failure is raised.

    Parameters
    ----------
    meter : ResponseMeter
    directions : sequence of Direction
    first : int
        Number of the first direction, for messages.
    factor : float, default=1.0
        Share of the step.
    """
    failed: tuple[int, Exception] | None = None
    outcomes = meter.responses(directions, factor)
    for k, (direction, outcome) in enumerate(zip(directions, outcomes, strict=True)):
        if not isinstance(outcome, Exception):
            yield direction, outcome
        elif failed is None:
            failed = k, outcome
    if failed is None:
        return
    k, error = failed
    hint = ""
    if meter.n_good == 0:
        # If the fit to the targets as given fails too, its own error is raised.
        meter.fit_as_given([directions[k].seed])
        hint = (
            ". All others failed too, but not the fit to the targets as given: moved by eps "
            "they may leave the estimator's domain; try a smaller eps"
        )
    text = f"the fit of probe {first + k} failed with {type(error).__name__}: {error}{hint}"
    raise ProbeError(text, probe=first + k) from error
