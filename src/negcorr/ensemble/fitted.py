"""The state of a fitted ensemble (:class:`FittedState`), and predictions from it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from negcorr._common.arrays import dispatched, place_of, to_host
from negcorr._common.forks import OwnLock
from negcorr._common.threads import our_own_threads
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import (
    check_real,
    check_same_place,
    float_types,
    has_nan,
    validate_cells,
    validate_table,
)
from negcorr.bases import Basis
from negcorr.bases.basis import RandomBasis
from negcorr.bases.named import takes_tables
from negcorr.criteria.kfold import HeldOutPredictions, KeptRows
from negcorr.ensemble.drawn import Drawn
from negcorr.ensemble.huber import HuberTargets
from negcorr.ensemble.intervals import Residuals
from negcorr.ensemble.self_check import SelfCheck, checked_rows, self_check, warn_if_wrong
from negcorr.ensemble.stream import Stream
from negcorr.exceptions import FrequencyWarning, PrecisionWarning, warn_caller
from negcorr.moments.scan import scan_features
from negcorr.path.path import NCLPath
from negcorr.path.tune import PathSettings
from negcorr.rows.rows import Rows

__all__ = [
    "LARGEST_SINGLE_TARGET",
    "Answers",
    "FittedState",
    "Solution",
    "checked",
    "in_single_precision",
    "predict",
    "predict_members",
    "solution_of",
    "solved_and_checked",
    "to_single",
    "validated_inputs",
    "warn_if_not_frequencies",
]

#: Largest targets, and one over the smallest spread of targets, whose predictions single precision
#: surely holds: they may go beyond y.
LARGEST_SINGLE_TARGET = 1e30

#: Largest share of the target's standard deviation that rounding of predictions to single precision
#: may have.
MOST_ROUNDING_IN_SINGLE = 1e-2

#: Weights that add up to less than this share of the rows are hardly frequencies.
FREQUENCY_SHARE = 0.1


@dataclass(frozen=True)
class Solution:
    """The ensemble at one λ for each output: what predictions need besides the basis.

    Attributes
    ----------
    lam, gap, dof : float or ndarray of shape (outputs,)
    coef : ndarray of shape (Q,) or (outputs, Q)
        β.
    intercept : float or ndarray of shape (outputs,)
    centre : ndarray of shape (Q + outputs,)
        Means of features and targets.
    """

    lam: Any
    gap: Any
    dof: Any
    coef: FloatArray
    intercept: Any
    centre: FloatArray


def solution_of(path: NCLPath) -> Solution:
    """The solution at a path's chosen λ."""
    spectrum = path.spectrum
    coef = spectrum.coef(gap=path.chosen_gap)
    intercept = spectrum.intercept(coef)
    return Solution(
        lam=path.lam,
        gap=path.gap,
        dof=path.dof(),
        coef=coef[0, :] if path.single_output else coef,
        intercept=float(intercept[0]) if path.single_output else intercept,
        centre=spectrum.centre,
    )


@dataclass(frozen=True)
class Answers:
    """Path, solution and held-out predictions of a fitted ensemble.

    Attributes
    ----------
    basis : Basis
        Fitted.
    path : NCLPath
        Every curve, and the chosen λ.
    solution : Solution
        The ensemble there.
    kept : KeptRows or None
        Rows for intervals, while the path has the moments of its folds; None without folds.
    held_out : HeldOutPredictions or None
        Their predictions, where the path has these moments no more.
    sample : Rows or None
        At most 256 training rows, chosen by content, on which arithmetic is tried
        (:mod:`negcorr.ensemble.self_check`); None where :meth:`FittedState.compact` has dropped
        them.
    huber : HuberTargets or None
        How the Huber targets were computed.
    targets : ndarray of shape (n,) or (n, outputs), or None
        Huber targets, in the order of the rows as they were given.
    """

    basis: Basis
    path: NCLPath
    solution: Solution
    kept: KeptRows | None = None
    held_out: HeldOutPredictions | None = None
    sample: Rows | None = None
    huber: HuberTargets | None = None
    targets: AnyArray | None = None


#: If several threads need the answers of a stream at once, only one computes them.
_FINDING = OwnLock()


@dataclass(eq=False, repr=False)
class FittedState:
    """The state of a fitted ensemble, fitted in memory or from a stream.

    Attributes
    ----------
    drawn : Drawn
        How cells become rows, and the features.
    known : Answers or None
        None for a stream before one is asked for.
    stream : Stream or None
        Moments of the rows so far. A fit in memory keeps none.
    settings : PathSettings or None
        How λ is chosen for a stream.
    unchecked : bool
        Whether λ was changed since the ensemble was checked; it is before the first prediction.
    """

    drawn: Drawn
    known: Answers | None = None
    stream: Stream | None = None
    settings: PathSettings | None = None
    unchecked: bool = False

    @property
    def basis(self) -> Basis:
        """Fitted; of a stream before λ is known the largest that may be chosen."""
        return self.drawn.bases[-1] if self.known is None else self.known.basis

    # Not a late property: only one thread is to compute it.
    @property
    def answers(self) -> Answers:
        """Path, solution and intervals."""
        with _FINDING:
            if self.known is None:
                assert self.stream is not None  # without answers there are moments
                assert self.settings is not None
                warn_if_not_frequencies(self.stream.weight, self.stream.n_rows)
                self.known = _answers_of(self.stream, self.settings)
            return self.known

    def stream_or_raise(self) -> Stream:
        """The moments of a model that was fitted in parts; others have none."""
        if self.stream is None:
            raise ValueError(
                "this model has no moments, to which rows could be added or from which they could "
                "be taken: fit keeps none, and compact() drops them. Fit in parts from the start, "
                "by partial_fit."
            )
        return self.stream

    def at(self, gaps: FloatArray) -> FittedState:
        """The state with another λ for each output."""
        path = self.answers.path.at(gap=gaps)
        answers = replace(self.answers, path=path, solution=solution_of(path))
        return FittedState(self.drawn, answers, self.stream, self.settings, unchecked=True)

    def check(self) -> None:
        """Warn where predictions at a changed λ are not what the path claims; once."""
        if self.unchecked:
            self.unchecked = False
            found = checked(self.answers)
            if found is not None:
                warn_if_wrong(found, self.answers.path.solver)

    def residuals(self) -> Residuals:
        """Held-out residuals at the chosen λ."""
        answers = self.answers
        held_out = answers.held_out or self._held_out(answers, np.empty(0))
        if held_out is None:
            raise ValueError(
                "intervals need held-out residuals, and the rows of this fit could not be "
                "split into folds. Fit on more distinct rows, or give cv a splitter."
            )
        return Residuals(held_out.residuals(answers.path.chosen_gap), held_out.weight)

    def _held_out(self, answers: Answers, gaps: FloatArray) -> HeldOutPredictions | None:
        """Held-out predictions at some gaps besides the chosen ones; None without folds."""
        path, kept = answers.path, answers.kept
        if kept is None:
            return None
        chosen = path.chosen_gap
        return HeldOutPredictions.of(kept, path.cross_validation, self.basis, chosen, gaps)

    def without_moments(self) -> FittedState:
        """The state of a fit without the moments of its folds, which no answer needs any more."""
        answers = self.known
        if answers is None or not answers.path.cells:
            return self
        held_out = answers.held_out
        if answers.kept is not None:
            held_out = self._held_out(answers, answers.path.tabulated_gaps)
        path = answers.path.without_moments()
        settled = replace(answers, path=path, kept=None, held_out=held_out)
        drawn, unchecked = self._of_one_basis, self.unchecked
        return FittedState(drawn, settled, None, self.settings, unchecked)

    def compact(self, *, path: bool) -> FittedState:
        """The state for the chosen λ alone, or with ``path`` for all; without rows and moments."""
        answers, gaps = self.answers, self.answers.path.chosen_gap
        held_out = answers.held_out or self._held_out(answers, np.empty(0))
        if held_out is not None:
            held_out = HeldOutPredictions(gaps, held_out.residuals(gaps), held_out.weight)
        small = replace(
            answers,
            path=answers.path.without_rows() if path else answers.path.compact(),
            kept=None,
            held_out=held_out,
            sample=None,
            targets=None,
        )
        return FittedState(self._of_one_basis, small, None, self.settings)

    @property
    def _of_one_basis(self) -> Drawn:
        """What was drawn, without bases that were not chosen."""
        return replace(self.drawn, bases=(self.basis,))

    def __getstate__(self) -> dict[str, Any]:
        """Of a fit in memory without moments."""
        return dict(vars(self if self.stream is not None else self.without_moments()))


def checked(answers: Answers) -> SelfCheck | None:
    """What the rows of the sample say about the ensemble; None without them."""
    if answers.sample is None:
        return None
    solution = answers.solution
    with our_own_threads():
        return self_check(
            answers.sample, answers.basis, answers.path, solution.coef, solution.intercept
        )


def _answers_of(stream: Stream, settings: PathSettings) -> Answers:
    """Path, solution and intervals of a stream, by the route that holds what it claims."""
    kept = stream.kept_rows
    sample = checked_rows(stream.kept) if stream.kept.n_rows else None

    def solved(settings: PathSettings) -> Answers:
        basis, path = stream.path(settings)
        return Answers(basis, path, solution_of(path), kept=kept, sample=sample)

    return solved_and_checked(solved, settings, can_change=stream.form == "factor")


def solved_and_checked(
    solved: Callable[[PathSettings], Answers], settings: PathSettings, *, can_change: bool = True
) -> Answers:
    """Answers that were checked; by the accurate route where the fast one fails.

    Parameters
    ----------
    solved : callable
        Gives the answers by some settings.
    settings : PathSettings
    can_change : bool, default=True
        Whether the accurate route can be taken.

    Warns
    -----
    PrecisionWarning
        Where predictions are not what the path claims, by the last route that there is.
    """
    answers = solved(settings)
    found = checked(answers)
    fast = settings.solver == "auto" and answers.path.solver == "gram"
    if found is not None and not found.holds and fast and can_change:
        answers = solved(replace(settings, solver="qr"))
        found = checked(answers)
    if found is not None:
        warn_if_wrong(found, answers.path.solver)
    return answers


def warn_if_not_frequencies(weight: float, n_rows: int) -> None:
    """Warn where rows have far less weight than their number.

    Parameters
    ----------
    weight : float
        Σw.
    n_rows : int
        Rows of positive weight.
    """
    if weight < FREQUENCY_SHARE * n_rows:
        warn_caller(
            f"sample_weight adds up to {weight:.3g} for {n_rows} rows. Weights are read as "
            "frequencies, so degrees of freedom, noise variance and intervals count that many "
            "samples. For relative weights use sample_weight / sample_weight.mean().",
            FrequencyWarning,
        )


def in_single_precision(X: Table) -> bool:
    """Whether predictions for these inputs are in single precision, as the inputs are."""
    return bool(getattr(X, "dtype", None) == place_of(X).xp.float32)


def to_single(state: FittedState, values: AnyArray) -> AnyArray:
    """Predictions in single precision; an error where it cannot hold them, or a warning.

    Warns
    -----
    PrecisionWarning
        Where targets are so far from zero that rounding is a good part of what varies.
    """
    xp, spectrum = place_of(values).xp, state.answers.path.spectrum
    spread = np.sqrt(to_host(spectrum.total))
    mean = np.abs(to_host(spectrum.centre))[spectrum.n_features :]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(spread > 0, np.finfo(np.float32).eps / 2.0 * mean / spread, 0.0)
    if share.max() > MOST_ROUNDING_IN_SINGLE:
        warn_caller(
            "predictions for X in single precision are in single precision too, whose rounding is "
            f"up to {share.max():.1e} of the target's standard deviation here, since targets are "
            f"about {mean[share.argmax()]:.3g}. Give X in double precision, or subtract a constant "
            "from y.",
            PrecisionWarning,
        )
    vanish = bool(((spread > 0) & (spread < 1.0 / LARGEST_SINGLE_TARGET)).any())
    if vanish or not float(xp.max(xp.abs(values))) <= float(np.finfo(np.float32).max):
        raise ValueError(
            "predictions for X in single precision are in single precision too, which cannot hold "
            f"them: targets spread by {np.max(spread):.2g}. Give X in double precision."
        )
    return xp.astype(values, xp.float32)


def predict(state: FittedState, X: Table, return_std: bool) -> tuple[FloatArray, FloatArray | None]:
    """F(x), and its predictive standard deviation if asked, of shape (n, outputs) each."""
    state.check()
    solution = state.answers.solution
    coef = solution.coef if solution.coef.ndim == 2 else solution.coef[None, :]
    place = place_of(coef)
    intercept = place.floats(np.atleast_1d(to_host(solution.intercept)))
    mean: FloatArray = place.empty((X.shape[0], coef.shape[0]))
    variance: FloatArray = place.empty(mean.shape)
    gaps = np.atleast_1d(to_host(solution.gap))
    if return_std:
        # Modes that are computed again are computed here: within a block of rows one thread would
        # do it alone, and add in another order than the fit.
        state.answers.path.spectrum.project(place.empty((0, coef.shape[1])))

    def use(block: slice, features: FloatArray) -> None:
        mean[block, :] = features @ coef.T + intercept
        if return_std:
            factor = state.answers.path.spectrum.variance_factor(features, gaps)
            variance[block, :] = factor

    scan_features(X, state.basis, X.shape[0], use)
    if not return_std:
        return mean, None
    variance_of_noise = state.answers.path.residual_noise_variance(quiet=False)
    noise = place.floats(np.atleast_1d(to_host(variance_of_noise)))
    return mean, place.xp.sqrt(noise * (1.0 + variance))


def predict_members(state: FittedState, X: Table) -> FloatArray:
    """f_m(x) of every member, of shape (M, n, outputs)."""
    state.check()
    solution, starts = state.answers.solution, state.basis.block_starts_.tolist()
    n_members, centre = len(starts) - 1, solution.centre
    coef = n_members * (solution.coef if solution.coef.ndim == 2 else solution.coef[None, :])
    q = coef.shape[1]
    members: FloatArray = place_of(coef).empty((n_members, X.shape[0], coef.shape[0]))

    def use(block: slice, features: FloatArray) -> None:
        centred = features - centre[:q]
        for m, (a, b) in enumerate(itertools.pairwise(starts)):
            members[m, block, :] = centred[:, a:b] @ coef[:, a:b].T + centre[q:]

    scan_features(X, state.basis, X.shape[0], use)
    return members


def validated_inputs(estimator: Any, X: Table, fitted: FloatArray, method: str) -> Table:
    """Inputs of a prediction as the basis takes them, in the place of a fitted array."""
    basis, place, cells = estimator.basis, dispatched(X), estimator._state.drawn.cells
    if not place.is_numpy:
        check_real(X, "X")
    if cells.encoding is not None:
        rows = cells.numbers(validate_cells(estimator, X, reset=False))
    elif not isinstance(basis, RandomBasis) and takes_tables(basis):
        rows = validate_table(estimator, X, reset=False)
    else:
        types = float_types(place)
        given = {"accept_sparse": "csr", "dtype": types, "reset": False}
        if isinstance(X, np.ndarray) and has_nan(X):
            given["ensure_all_finite"] = "allow-nan"
        rows = cells.numbers(validate_data(estimator, X, **given))
    check_same_place(estimator, rows, place_of(fitted), method)
    return rows
