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

__all__ = ["Direction", "Failure", "Response", "ResponseMeter"]


@dataclass(frozen=True)
class Direction:
    """Where targets are moved, and with which seed.

    Attributes
    ----------
    vector : ndarray of shape (n, outputs)
        Movement of the targets in units of the step; entries of about 1.
    seed : int
        Random numbers of all fits along it.
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


@dataclass(frozen=True)
class Failure:
    """A fit that raised, and what."""

    error: Exception


@dataclass
class ResponseMeter:
    """Refits along directions, counts the fits, and keeps the fit on the targets as given.

    Attributes
    ----------
    refit : Refit
        y ↦ fitted values.
    eps : ndarray of shape (outputs,)
        Step.
    scheme : {"central", "forward"}
        Both neighbours, or one and the fit on the targets as given.
    n_jobs : int or None
        Fits at a time, as in joblib.
    advance : callable
        Called after every fit.
    n_fits, n_good : int
        How many there have been, and how many of them did not fail.
    """

    refit: Refit
    eps: FloatArray
    scheme: Literal["central", "forward"]
    n_jobs: int | None
    advance: Callable[[], None] = field(default=lambda: None)
    n_fits: int = 0
    n_good: int = 0
    _given: dict[int, AnyArray] = field(default_factory=dict)

    def responses(
        self, directions: Sequence[Direction], factor: float = 1.0
    ) -> list[Response | Failure]:
        """Derivatives along every direction, with ``factor`` times the step."""
        if self.scheme == "forward":
            self.fit_as_given([direction.seed for direction in directions])
        step = factor * self.eps
        signs = (1.0, -1.0) if self.scheme == "central" else (1.0,)
        width = len(signs) * step
        fits = self._run([(d.vector * (s * step), d.seed) for d in directions for s in signs])
        responses: list[Response | Failure] = []
        for k, direction in enumerate(directions):
            ahead, behind = fits[k * len(signs)], fits[(k + 1) * len(signs) - 1]
            if self.scheme == "forward":
                behind = self._given[direction.seed]
            if isinstance(ahead, Failure) or isinstance(behind, Failure):
                responses.append(ahead if isinstance(ahead, Failure) else behind)
                continue
            unit = np.finfo(ahead.dtype if ahead.dtype.kind == "f" else np.float64).eps
            fitted = np.asarray(ahead[: len(direction.vector)], dtype=np.float64)
            size = np.sqrt(np.sum((direction.vector * fitted) ** 2, axis=0))
            difference = np.asarray(ahead, dtype=np.float64) - behind
            if self.refit.weight is not None:
                # Rows that do not count take no part: bᵀ J b never meets them.
                difference[: len(fitted)][self.refit.weight == 0] = 0.0
            responses.append(Response(difference / width, 2.0 * unit * size / width))
        return responses

    def fit_as_given(self, seeds: Sequence[int]) -> None:
        """Fit to the targets as given, once for each seed."""
        missing = [seed for seed in dict.fromkeys(seeds) if seed not in self._given]
        fits = self._run([(np.zeros_like(self.refit.y), seed) for seed in missing])
        for seed, fitted in zip(missing, fits, strict=True):
            if not isinstance(fitted, Failure):
                self._given[seed] = fitted
            elif self.n_good == 0:
                raise fitted.error
            else:
                raise ProbeError(
                    "the fit to the targets as given failed with "
                    f"{type(fitted.error).__name__}: {fitted.error}"
                ) from fitted.error

    def given_if_there(self, seed: int) -> FloatArray | None:
        """Fitted values for the targets as given, if that fit has been made."""
        fitted = self._given.get(seed)
        return None if fitted is None else np.asarray(fitted, dtype=np.float64)

    def given(self, seed: int) -> AnyArray:
        """Fitted values for the targets as given."""
        self.fit_as_given([seed])
        return self._given[seed]

    def _run(self, moves: list[tuple[FloatArray, int]]) -> list[AnyArray | Failure]:
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        outcomes = []
        for outcome in jobs(delayed(_attempt)(self.refit, move, seed) for move, seed in moves):
            self.n_fits += 1
            self.n_good += not isinstance(outcome, Failure)
            self.advance()
            outcomes.append(outcome)
        return outcomes


def _attempt(refit: Refit, move: FloatArray, seed: int) -> Any:
    """Fitted values, or the error: one bad fit must not cost the others."""
    try:
        return refit(refit.y + move, seed)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            # It would not come back from another process; its text does.
            return Failure(RuntimeError(f"{type(error).__name__}: {error}"))
        return Failure(error)
