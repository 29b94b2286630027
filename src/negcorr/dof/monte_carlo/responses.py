"""Finite differences of the fitted values along directions of the targets, in parallel."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from negcorr._common.types import AnyArray, FloatArray
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.exceptions import ProbeError

__all__ = ["Direction", "Response", "ResponseMeter"]


@dataclass(frozen=True)
class Direction:
    """A direction in which targets are moved, and the seed of its fits.

    Attributes
    ----------
    vector : ndarray of shape (n, outputs)
        Movement of the targets in units of the step; entries of about 1.
    seed : int
        Seed of the random numbers of all fits along it.
    """

    vector: FloatArray
    seed: int


@dataclass(frozen=True)
class Response:
    """Derivative of the fitted values along one direction.

    Attributes
    ----------
    derivative : ndarray of shape (n, outputs)
        J b, by a finite difference, 0 in rows of weight 0. Rows for further inputs follow, if the
        fit predicts there.
    rounding : ndarray of shape (outputs,)
        How much rounding of the fitted values can add to bᵀ J b.
    """

    derivative: FloatArray
    rounding: FloatArray

    def along(self, vector: FloatArray) -> FloatArray:
        """``vector``ᵀ J b for every output, shape (outputs,)."""
        return np.asarray(np.einsum("nj,nj->j", vector, self.derivative[: len(vector)]))


@dataclass
class ResponseMeter:
    """Refits along directions, counts the fits, and keeps the fits to the targets as given.

    Attributes
    ----------
    refit : Refit
        y ↦ fitted values.
    eps : ndarray of shape (outputs,)
        Step.
    scheme : {"central", "forward"}
        From fits on both sides, or from one and the fit to the targets as given.
    n_jobs : int or None
        Fits at a time, as in joblib.
    advance : callable
        Called after every fit.
    n_fits, n_good : int
        Number of fits so far, and number of those that did not fail.
    given : dict of int to ndarray
        Fitted values for the targets as given, by seed.
    """

    refit: Refit
    eps: FloatArray
    scheme: Literal["central", "forward"]
    n_jobs: int | None
    advance: Callable[[], None] = field(default=lambda: None)
    n_fits: int = 0
    n_good: int = 0
    given: dict[int, AnyArray] = field(default_factory=dict)

    def responses(
        self, directions: Sequence[Direction], factor: float = 1.0
    ) -> list[Response | Exception]:
        """Derivatives along every direction, with ``factor`` times the step, or the fit's error."""
        if self.scheme == "forward":
            self.fit_as_given([direction.seed for direction in directions])
        step = factor * self.eps
        signs = (1.0, -1.0) if self.scheme == "central" else (1.0,)
        width = len(signs) * step
        fits = self._run([(d.vector * (s * step), d.seed) for d in directions for s in signs])
        responses: list[Response | Exception] = []
        for k, direction in enumerate(directions):
            ahead, behind = fits[k * len(signs)], fits[(k + 1) * len(signs) - 1]
            if self.scheme == "forward":
                behind = self.given[direction.seed]
            if isinstance(ahead, Exception):
                responses.append(ahead)
                continue
            if isinstance(behind, Exception):
                responses.append(behind)
                continue
            unit = np.finfo(ahead.dtype if ahead.dtype.kind == "f" else np.float64).eps
            fitted = np.asarray(ahead[: len(direction.vector)], dtype=np.float64)
            size = np.sqrt(np.sum((direction.vector * fitted) ** 2, axis=0))
            difference = np.asarray(ahead, dtype=np.float64) - behind
            if self.refit.weight is not None:
                # Rows of weight 0 take no part in bᵀ J b.
                difference[: len(fitted)][self.refit.weight == 0] = 0.0
            responses.append(Response(difference / width, 2.0 * unit * size / width))
        return responses

    def fit_as_given(self, seeds: Sequence[int]) -> list[AnyArray]:
        """Fitted values for the targets as given, one fit for each different seed."""
        missing = [seed for seed in dict.fromkeys(seeds) if seed not in self.given]
        fits = self._run([(np.zeros_like(self.refit.y), seed) for seed in missing])
        for seed, fitted in zip(missing, fits, strict=True):
            if not isinstance(fitted, Exception):
                self.given[seed] = fitted
                continue
            if self.n_good == 0:
                raise fitted
            problem = f"{type(fitted).__name__}: {fitted}"
            raise ProbeError(f"the fit to the targets as given failed with {problem}") from fitted
        return [self.given[seed] for seed in seeds]

    def _run(self, moves: list[tuple[FloatArray, int]]) -> list[AnyArray | Exception]:
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        outcomes = []
        for outcome in jobs(delayed(_attempt)(self.refit, move, seed) for move, seed in moves):
            self.n_fits += 1
            self.n_good += not isinstance(outcome, Exception)
            self.advance()
            outcomes.append(outcome)
        return outcomes


def _attempt(refit: Refit, move: FloatArray, seed: int) -> Any:
    """Fitted values, or the error: one failed fit must not lose the results of the others."""
    try:
        return refit(refit.y + move, seed)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            # The error object cannot be sent from another process, but its text can.
            return RuntimeError(f"{type(error).__name__}: {error}")
        return error
