"""A fit in memory: choose the basis if it is open, make the path, keep what predictions need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from negcorr._common.arrays import detached, dispatched, place_of, rows_at, to_host
from negcorr._common.threads import our_own_threads
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import (
    check_real,
    check_weight,
    float_types,
    refuse_missing,
    target_at,
    validate_cells,
    validate_table,
)
from negcorr.bases import AutoBasis, Basis
from negcorr.bases.basis import RandomBasis
from negcorr.bases.named import as_basis, takes_device_arrays, takes_tables
from negcorr.columns.cells import has_columns
from negcorr.columns.inputs import FirstLook, enter
from negcorr.criteria.kfold import KeptRows
from negcorr.ensemble.drawn import Drawn
from negcorr.ensemble.fitted import (
    LARGEST_SINGLE_TARGET,
    Answers,
    FittedState,
    in_single_precision,
    solution_of,
    solved_and_checked,
)
from negcorr.ensemble.huber import check_splits, clipped_at_fences, huber_path, threshold_of
from negcorr.ensemble.self_check import checked_rows
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.path.grow import grown_path, path_in_memory
from negcorr.path.tune import PathSettings, build_path, folds_for, given_gap
from negcorr.rows.keys import BITS
from negcorr.rows.rows import Rows, canonical_order, inverse_order, total_weight
from negcorr.selection.choose import Choice, select_basis
from negcorr.selection.space import SearchSpace, search_space
from negcorr.spectrum.factorise import RowsSpectrum

__all__ = ["FitSettings", "Given", "draw", "fit_given", "fit_settings", "validated"]

#: Steps of 26 significant bits that a column must extend over, unless it is constant.
FEWEST_STEPS = 16

#: Sums of squares of larger targets may not be finite, and those of targets that vary by less than
#: one over it lose digits.
LARGEST_TARGET = 1e140


@dataclass(frozen=True)
class FitSettings:
    """The parameters of an estimator, checked.

    Attributes
    ----------
    basis : Basis or SearchSpace
        Unfitted; or what it is chosen from.
    alpha : float or None
        Ridge inside the blocks; None takes that of what was chosen, or the usual one of the basis.
    path : PathSettings
        With a ridge of 0.
    loss : str or float
    threshold : float or None
        c of Huber's loss; None for squared loss.
    cv : int, splitter or iterable
    random_state : int, RandomState or None
    """

    basis: Basis | SearchSpace
    alpha: float | None
    path: PathSettings
    loss: Any
    threshold: float | None
    cv: Any
    random_state: Any

    def path_settings(self, basis: Basis, choice: Choice | None) -> PathSettings:
        """Settings of the path, with the ridge of what was chosen."""
        alpha = self.alpha
        if alpha is None:
            alpha = basis.usual_ridge if choice is None else choice.candidate.alpha
        return replace(self.path, alpha=alpha)


def fit_settings(
    *,
    basis: Any,
    lam: Any,
    gap: Any,
    criterion: Any,
    cv: Any,
    loss: Any,
    alpha: Any,
    noise_variance: Any,
    fit_intercept: Any,
    solver: Any,
    random_state: Any,
) -> FitSettings:
    """Check the parameters of :class:`~negcorr.NCLRegressor`, and bring them into one value."""
    features: Any
    if isinstance(basis, Basis):
        features = basis.with_seed(random_state)
    else:
        features = as_basis(basis, random_state)
    automatic = isinstance(alpha, str)
    if isinstance(features, AutoBasis):
        features = search_space(features, alpha)
        if criterion == "loo":
            features = replace(features, max_members=1)
    elif automatic:
        raise ValueError(
            f"alpha={alpha!r} must be None or a finite number of at least 0; 'auto' needs "
            "basis='auto' or an AutoBasis, which tries several."
        )
    path = PathSettings(
        gap=given_gap(lam, gap),
        criterion=criterion,
        noise_variance=noise_variance,
        alpha=0.0 if alpha is None or automatic else alpha,
        fit_intercept=fit_intercept,
        solver=solver,
    )
    fixed = None if automatic else alpha
    squared = isinstance(loss, str) and loss == "squared"
    threshold = None if squared else threshold_of(loss)
    return FitSettings(features, fixed, path, loss, threshold, cv, random_state)


@dataclass(frozen=True)
class Given:
    """What the user gave to a fit, validated.

    Attributes
    ----------
    X : table of shape (n, d)
    y : array of shape (n, outputs)
    weight : array of shape (n,) or None
    single_output : bool
        Whether y was 1-D.
    encoded : bool
        Whether X has columns of several kinds, or missing values, that are to be encoded.
    """

    X: Table
    y: FloatArray
    weight: FloatArray | None
    single_output: bool
    encoded: bool


def validated(
    estimator: Any,
    X: Table,
    y: Any,
    sample_weight: Any,
    *,
    reset: bool = True,
    encoded: bool | None = None,
    is_part: bool = False,
) -> Given:
    """Check inputs, targets and weights of a fit.

    Parameters
    ----------
    estimator : NCLRegressor
        Which scikit-learn keeps the number and names of columns in; its ``basis`` says what tables
        may hold.
    X, y, sample_weight
        As given to ``fit``.
    reset : bool, default=True
        Whether the number and names of columns are learnt here.
    encoded : bool, optional
        Whether X is encoded, where that is settled; by default the table itself says so.
    is_part : bool, default=False
        Whether these are some of the rows: they may be a single one, or of no weight.
    """
    basis, place, least = estimator.basis, dispatched(X), 1 if is_part else 2
    own_tables = not isinstance(basis, RandomBasis) and takes_tables(basis)
    if encoded is None:
        encoded = place.is_numpy and not own_tables and has_columns(X)
    if not place.is_numpy:
        can = basis.array_api if isinstance(basis, Basis) else takes_device_arrays(basis)
        if not can:
            raise TypeError(
                f"basis={basis!r} takes NumPy arrays only, got X of type "
                f"{type(X).__module__}.{type(X).__name__}; 'auto', 'kernel', 'fourier', "
                "'orthogonal', 'nystroem', 'linear' and 'trees' take them on their device."
            )
        check_real(X, "X")
        X = detached(X)
    types = float_types(place)
    y = target_at(place, y)
    if own_tables or encoded:
        X = (validate_cells if encoded else validate_table)(estimator, X, reset=reset)
        if y is None:
            raise ValueError("NCLRegressor requires y to be passed, but the target y is None.")
        y = check_array(y, dtype=None, ensure_2d=False, input_name="y", ensure_min_samples=least)
        check_consistent_length(X, y)
    else:
        if not reset:
            refuse_missing(X)
        X, y = validate_data(
            estimator,
            X,
            y,
            accept_sparse="csr",
            dtype=types,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=least,
            reset=reset,
        )
    if place.is_numpy:
        y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    target, xp = place.floats(y), place.xp
    _check_size(target, in_single_precision(X))
    weight: FloatArray | None
    if not is_part or sample_weight is None or np.any(to_host(sample_weight)):
        weight = check_weight(sample_weight, target)
    else:
        check_weight(np.ones(np.shape(to_host(sample_weight))), target)
        weight = place.zeros((target.shape[0],))
    columns = xp.reshape(target, (target.shape[0], -1))
    return Given(X, columns, weight, target.ndim == 1, encoded)


def _check_size(target: FloatArray, single: bool) -> None:
    """Refuse targets whose squares overflow or vanish, or predictions in single precision."""
    xp = place_of(target).xp
    most = LARGEST_SINGLE_TARGET if single else LARGEST_TARGET
    too_large, too_small = "squares overflow", "squares vanish"
    if single:
        too_large = too_small = (
            "predictions single precision cannot hold, which is that of X; give X in double "
            "precision"
        )
    if float(xp.max(xp.abs(target))) > most:
        raise ValueError(f"y has values above {most:g}, whose {too_large}; rescale y.")
    spread = to_host(xp.max(target, axis=0) - xp.min(target, axis=0))
    if ((spread > 0) & (spread < 1.0 / most)).any():
        raise ValueError(f"y varies by less than {1.0 / most:g}, whose {too_small}; rescale y.")


def _warn_of_few_steps(rows: Rows) -> None:
    """Warn of columns so far from zero that keys of rows see hardly any of their differences."""
    if not isinstance(rows.X, np.ndarray) or rows.X.dtype.kind not in "fiu":
        return
    low, high = rows.X.min(axis=0), rows.X.max(axis=0)
    step = 2.0**-BITS * np.maximum(np.abs(low), np.abs(high))
    few = np.flatnonzero((high > low) & (high - low < FEWEST_STEPS * step))
    if len(few):
        j = int(few[0])
        warn_caller(
            f"column {j} of X lies between {low[j]:.10g} and {high[j]:.10g}, which is less than "
            f"{FEWEST_STEPS} steps of the {BITS} significant bits that tell rows apart: folds and "
            "landmarks see few different rows. Subtract a constant from it.",
            PrecisionWarning,
        )


def fit_given(given: Given, groups: Any, settings: FitSettings) -> FittedState:
    """Fit an ensemble to rows in memory.

    Parameters
    ----------
    given : Given
        In the order of the user.
    groups : array-like of shape (n,) or None
        Handed to the splitter ``settings.cv``.
    settings : FitSettings

    Returns
    -------
    FittedState
        Without moments.
    """
    threshold, single = settings.threshold, given.single_output
    # Reductions on one BLAS thread: on a busy machine, more of them can stall for seconds.
    with our_own_threads():
        cells, rows, sample = enter(given.X, given.y, given.weight, encoded=given.encoded)
        _warn_of_few_steps(rows)
        order = canonical_order(rows)
        position = inverse_order(order)
        folds = folds_for(settings.cv, rows, groups, settings.path)
        if threshold is not None:
            check_splits(folds, rows.weight, settings.loss, settings.cv)
        rows, folds = rows.take(order), folds.renumbered(position)
        sample = sample.take(canonical_order(sample))
        first = rows
        if threshold is not None:
            first, sample = clipped_at_fences(rows), clipped_at_fences(sample)
        bases, choice = _chosen(sample, settings, total_weight(rows))
        smallest = bases[0].fit_rows(sample)
        kept = KeptRows.of(rows, folds)

        def solved(path_settings: PathSettings) -> Answers:
            basis, final, targets, huber = smallest, first, None, None
            path = build_path(first, basis, folds, path_settings, single)
            if len(bases) > 1:
                larger = path_in_memory(first, sample, path_settings)
                basis, path = grown_path(path, basis, bases[1:], larger)
            if threshold is not None:
                path, moved, huber = huber_path(path, rows, first, basis, path_settings, threshold)
                final, targets = replace(rows, y=moved), rows_at(moved, position)
                targets = targets[:, 0] if single else targets
            solution = solution_of(path)
            if rows.n_rows <= path.spectrum.n_features:
                # Stored as rows, which are fewer numbers than modes.
                whole = tuple(folds.cells[i] for i in folds.whole)
                spectrum = RowsSpectrum.of(
                    path.spectrum, rows=final, basis=basis, groups=whole, route=path.solver
                )
                path = path.changed(spectrum=spectrum)
            return Answers(
                basis,
                path,
                solution,
                kept=kept,
                sample=checked_rows(final),
                huber=huber,
                targets=targets,
            )

        answers = solved_and_checked(solved, settings.path_settings(smallest, choice))
        state = FittedState(Drawn(cells, (answers.basis,), choice), answers)
        # Where K-fold has chosen λ the folds are factorised, and intervals at all λ are cheap.
        return state.without_moments() if answers.path.criterion == "kfold" else state


def draw(look: FirstLook, settings: FitSettings, weight: float | None = None) -> Drawn:
    """Settle everything that rows in parts need before their moments are added up.

    Parameters
    ----------
    look : FirstLook
        At these rows, or some of them.
    settings : FitSettings
    weight : float, optional
        Σw of all rows of the fit; that of the rows that were looked at if None.
    """
    with our_own_threads():
        cells, sample = look.learn()
        sample = sample.take(canonical_order(sample))
        mass = look.sample.weight if weight is None else weight
        bases, choice = _chosen(sample, settings, mass)
        return Drawn(cells, tuple(basis.fit_rows(sample) for basis in bases), choice)


def _chosen(
    sample: Rows, settings: FitSettings, weight: float
) -> tuple[list[Basis], Choice | None]:
    """Unfitted bases, from small to large."""
    space = settings.basis
    if not isinstance(space, SearchSpace):
        return [space], None
    gap, random_state = settings.path.gap, settings.random_state
    return select_basis(sample, space, random_state, gap=gap, weight=weight)
