"""Random directions, and the values that they give: plain, or after deflation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from negcorr._typing import FloatArray
from negcorr.exceptions import ProbeError
from negcorr.monte_carlo.refits import Refit
from negcorr.monte_carlo.responses import Direction, Failure, Response, ResponseMeter
from negcorr.monte_carlo.result import mean_and_error

__all__ = ["ProbeSource", "Probes", "measure"]


@dataclass
class ProbeSource:
    """Draws directions, from one stream, and their seeds, from another.

    Two streams, so that estimators with and without random numbers of their own get the same
    directions from the same ``random_state``.

    Attributes
    ----------
    refit : Refit
        Whose targets are to be moved.
    kind : {"rademacher", "gaussian"}
        Distribution of the entries.
    per_probe : bool
        Whether every direction has a seed of its own.
    directions, seeds : numpy.random.Generator
        The two streams.
    """

    refit: Refit
    kind: str
    per_probe: bool
    directions: np.random.Generator
    seeds: np.random.Generator
    _shared: int | None = None

    def draw(self, count: int) -> list[Direction]:
        """So many new directions."""
        return [Direction(self._vector(), self._seed()) for _ in range(count)]

    def shared_seed(self) -> int:
        """The one seed of fits that are not of a probe."""
        if self._shared is None:
            self._shared = int(self.seeds.integers(2**31))
        return self._shared

    def _seed(self) -> int:
        return int(self.seeds.integers(2**31)) if self.per_probe else self.shared_seed()

    def _vector(self) -> FloatArray:
        shape = self.refit.y.shape
        if self.kind == "rademacher":
            vector = self.directions.choice(np.array([-1.0, 1.0]), size=shape)
        else:
            vector = self.directions.standard_normal(shape)
        if self.refit.weight is not None:
            # Rows that do not count take no part: they would add nothing but variance.
            vector[self.refit.weight == 0] = 0.0
        return vector


@dataclass
class Probes:
    """Directions tried so far and what they gave.

    Attributes
    ----------
    directions : list of Direction
    values, rounding : list of ndarray of shape (outputs,)
        bᵀ J b, and what rounding can add.
    derivatives : list of ndarray of shape (n, outputs)
        J b, kept only where they are needed again.
    variances : ndarray of shape (probes, outputs) or None
        Variances of the values, where deflation gives them.
    moved : bool
        Whether any fitted value moved.
    """

    keeps_derivatives: bool
    directions: list[Direction] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    rounding: list[FloatArray] = field(default_factory=list)
    derivatives: list[FloatArray] = field(default_factory=list)
    variances: FloatArray | None = None
    moved: bool = False

    def mean_and_error(self) -> tuple[FloatArray, FloatArray]:
        """Mean over probes and its standard error, both of shape (outputs,)."""
        return mean_and_error(np.array(self.values), np.array(self.rounding), self.variances)

    def add(self, direction: Direction, response: Response) -> None:
        """Remember one probe."""
        self.directions.append(direction)
        self.values.append(response.along(direction.vector))
        self.rounding.append(response.rounding)
        self.moved = self.moved or bool(response.derivative.any())
        if self.keeps_derivatives:
            self.derivatives.append(response.derivative)

    def extend(self, meter: ResponseMeter, directions: Sequence[Direction]) -> None:
        """Measure further directions; what succeeded is kept if one of them fails."""
        first = len(self.values)
        measure(meter, directions, self.add, first)


def measure(
    meter: ResponseMeter,
    directions: Sequence[Direction],
    use: Callable[[Direction, Response], None],
    first: int,
    factor: float = 1.0,
) -> None:
    """Hand every direction's response to ``use``, then raise the first failure, if any.

    Parameters
    ----------
    meter : ResponseMeter
    directions : sequence of Direction
    use : callable
        Called with each direction whose fits succeeded, and its response.
    first : int
        Number of the first direction, for messages.
    factor : float, default=1.0
        Share of the step.
    """
    failed: tuple[int, Failure] | None = None
    outcomes = meter.responses(directions, factor)
    for k, (direction, outcome) in enumerate(zip(directions, outcomes, strict=True)):
        if not isinstance(outcome, Failure):
            use(direction, outcome)
        elif failed is None:
            failed = first + k, outcome
    if failed is not None:
        probe, failure = failed
        if meter.n_good == 0:
            # No fault of the probes: the estimator cannot be fitted to these data at all.
            failure.error.add_note(f"raised by every fit, first in that of probe {probe}")
            raise failure.error
        raise ProbeError(
            f"the fit of probe {probe} failed with {type(failure.error).__name__}: {failure.error}",
            probe=probe,
        ) from failure.error
