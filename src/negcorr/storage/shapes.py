"""Checks that the parts of a fitted ensemble fit together: arrays by their axes, and a first try.

Axes are those that the classes declare: d inputs, Q features in M blocks, R whitened coordinates, r
modes, n rows, outputs. Predictions, members, curves and other values of λ combine the arrays by
these, and would fail far from the cause, or broadcast into wrong numbers.
"""

from __future__ import annotations

import numpy as np

from negcorr._common.types import AnyArray, IntArray
from negcorr.columns.encoding import CategoryPart, DatePart, Encoding, NumberPart
from negcorr.criteria.kfold import HeldOutPredictions
from negcorr.criteria.leave_one_out import LeaveOneOut
from negcorr.ensemble.drawn import Drawn
from negcorr.ensemble.fitted import Answers, FittedState, Solution
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.ensemble.stream import Stream
from negcorr.moments.moments import FactorMoments, Moments
from negcorr.path.path import NCLPath
from negcorr.rows.folds import Folds
from negcorr.rows.rows import Rows
from negcorr.spectrum.curve_table import CurvesOnly, CurveTable
from negcorr.spectrum.factorise import RowsSpectrum
from negcorr.spectrum.nested_whitening import NestedWhitening
from negcorr.spectrum.spectrum import DenseSpectrum, Spectrum
from negcorr.spectrum.tridiagonal import BandedSpectrum
from negcorr.spectrum.whitening import Whitening
from negcorr.storage.basis_checks import (
    check_basis,
    check_indices,
    check_shape,
    need,
    try_features,
    widths_of,
)

__all__ = ["check_encoding", "check_ensemble"]

#: What is made of a column, by its role.
MADE_OF = {"number": NumberPart, "category": CategoryPart, "date": DatePart}

#: Parts of the year, the week and the day that dates are turned into.
CYCLES = ("month", "weekday", "hour")

#: No condition number is larger, and its square is still a number.
MOST_CONDITION = 1e100


def check_ensemble(model: NCLRegressor) -> None:
    """Refuse an ensemble whose parts do not fit together.

    Parameters
    ----------
    model : NCLRegressor
        Whose fields have their declared types.

    Raises
    ------
    ValueError
        Says which part.
    """
    held = vars(model)
    state, drawn = held.get("_state"), held.get("_drawn")
    need(isinstance(drawn, Drawn | None), "_drawn is of another kind")
    if state is not None:
        drawn = state.drawn
    if drawn is None:
        return
    n_inputs = held.get("n_features_in_")
    need(type(n_inputs) is int and n_inputs >= 1, f"n_features_in_ is {n_inputs!r}")
    assert isinstance(n_inputs, int)
    names = held.get("feature_names_in_")
    if names is not None:
        check_shape("feature_names_in_", names, n_inputs)
        need(all(type(name) is str for name in names), "feature_names_in_ has other than text")
    _check_drawn(drawn, n_inputs)
    if state is not None:
        _check_state(state)


def check_encoding(encoding: Encoding) -> None:
    """Refuse an encoding whose parts are not those of its columns."""
    columns = [column for column in encoding.schema.columns if column.is_input]
    need(len(columns) == len(encoding.parts), "an encoding has other parts than columns")
    for column, part in zip(columns, encoding.parts, strict=True):
        known = isinstance(part, MADE_OF[column.role]) and part.name == column.name
        need(known, f"an encoding has a wrong part for {column.name!r}")
        if isinstance(part, DatePart):
            need(set(part.cycles) <= set(CYCLES), f"{part.cycles} are no parts of dates")


def _check_drawn(drawn: Drawn, n_inputs: int) -> None:
    cells, n_columns = drawn.cells, n_inputs
    if cells.encoding is not None:
        check_encoding(cells.encoding)
        n_columns = len(cells.encoding.feature_names)
        check_shape("cells.smallest", cells.smallest, len(cells.encoding.parts))
    else:
        check_shape("cells.smallest", cells.smallest, n_inputs)
    if cells.medians is not None:
        check_shape("cells.medians", cells.medians, n_inputs)
    need(len(drawn.bases) >= 1, "there is no basis")
    for basis in drawn.bases:
        check_basis(basis, n_columns)
    if drawn.choice is not None:
        drawn.choice.lines()


def _check_state(state: FittedState) -> None:
    known, stream = state.known, state.stream
    need(known is not None or stream is not None, "there are neither answers nor moments")
    rows = None
    if stream is not None:
        _check_stream(stream, state)
        rows = stream.kept
    if known is not None:
        _check_answers(known)
        rows = known.sample or rows
    features = try_features(state.basis, rows)
    if known is not None:
        mean = features @ known.solution.coef.T + known.solution.intercept
        need((np.isfinite(mean).all()), "predictions are not finite")


def _check_stream(stream: Stream, state: FittedState) -> None:
    need(state.settings is not None, "a stream has no settings")
    n_features, n_outputs = int(stream.basis.block_starts_[-1]), _check_rows(stream.kept)
    pairs = list(zip(stream.bases, state.drawn.bases, strict=True))
    need(all(one is other for one, other in pairs), "a stream has other bases than were drawn")
    check_shape("keys", stream.keys, stream.kept.n_rows)
    need(len(stream.cells) >= 1, "a stream has no moments")
    need(len({type(cell) for cell in stream.cells}) == 1, "moments are of several forms")
    for cell in stream.cells:
        _check_moments(cell, n_features, n_outputs)


def _check_moments(cell: Moments, n_features: int, n_outputs: int) -> None:
    size = n_features + n_outputs
    need(cell.n_outputs == n_outputs and cell.n_rows >= 0, "moments are of other targets")
    need(cell.weight >= 0, f"moments have the weight {cell.weight}")
    if isinstance(cell, FactorMoments):
        check_shape("shift", cell.shift, size)
        check_shape("factor", cell.factor, None, 1 + size)
        return
    for name in ("mean", "squares"):
        check_shape(name, getattr(cell, name), size)
    check_shape("scatter", cell.scatter, size, size)


def _check_rows(rows: Rows) -> int:
    """The number of targets, after a check that all is of the same rows."""
    check_shape("y", rows.y, None, None)
    n = rows.n_rows
    need(rows.X.shape[0] == n, f"X has {rows.X.shape[0]} rows, and y {n}")
    check_shape("keys.x", rows.keys.x, n)
    check_shape("keys.xy", rows.keys.xy, n)
    if rows.weight is not None:
        check_shape("weight", rows.weight, n)
        need(((rows.weight >= 0).all()), "a weight is negative")
    return int(rows.y.shape[1])


def _check_answers(answers: Answers) -> None:
    path, starts = answers.path, answers.basis.block_starts_
    need(np.array_equal(path.starts, starts), "the path is of other features than the basis")
    check_basis(answers.basis, int(answers.basis.n_features_in_))
    n_outputs = _check_path(path)
    _check_solution(answers.solution, path)
    if answers.held_out is not None:
        _check_held_out(answers.held_out, n_outputs)
    if answers.kept is not None:
        need(_check_rows(answers.kept.rows) == n_outputs, "kept rows have other targets")
        check_shape("split", answers.kept.split, answers.kept.rows.n_rows)
    if answers.sample is not None:
        need(_check_rows(answers.sample) == n_outputs, "the sample has other targets")


def _check_solution(solution: Solution, path: NCLPath) -> None:
    n_outputs, n_features = len(path.chosen_gap), int(path.starts[-1])
    axis = () if path.single_output else (n_outputs,)
    for name in ("lam", "gap", "dof", "intercept"):
        value = getattr(solution, name)
        check_shape(name, value, *axis)
        numbers = np.asarray(value)
        need(numbers.dtype.kind in "fiu" and bool(np.isfinite(numbers).all()), f"{name} is wrong")
    need(np.array_equal(solution.gap, path.gap), "the solution is at another gap than the path")
    need(np.array_equal(solution.lam, path.lam), "the solution is at another λ than the path")
    check_shape("coef", solution.coef, *axis, n_features)
    check_shape("centre", solution.centre, n_features + n_outputs)


def _check_path(path: NCLPath) -> int:
    """The number of outputs, after a check of a path and its spectrum."""
    check_shape("chosen_gap", path.chosen_gap, None)
    n_outputs, n_lattice = len(path.chosen_gap), len(path.gaps)
    need(n_outputs >= 1 and (n_outputs == 1 or not path.single_output), "outputs do not fit")
    for name in ("chosen_gap", "gaps"):
        gaps = getattr(path, name)
        need((((gaps >= 0) & (gaps <= 1)).all()), f"{name} is not between 0 and 1")
    check_shape("gaps", path.gaps, None)
    check_shape("all_values", path.all_values, n_lattice, n_outputs)
    check_shape("at_small_end", path.at_small_end, n_outputs)
    if path.given_noise is not None:
        check_shape("given_noise", path.given_noise, n_outputs)
    need(0 <= path.condition <= MOST_CONDITION, f"condition is {path.condition}")
    _check_spectrum(path.spectrum, path.starts, n_outputs)
    _check_folds(path.folds)
    need(len(path.cells) in (0, len(path.folds.cells)), "moments are of other folds")
    for cell in path.cells:
        _check_moments(cell, int(path.starts[-1]), n_outputs)
    if path.kfold_table is not None:
        _check_finite_table(path.kfold_table, n_outputs)
    need((path.cells or path.kfold_table or not path.folds.splits), "K-fold has no values")
    loo = path.leave_one_out
    if isinstance(loo, CurveTable):
        _check_table(loo, n_outputs)
    elif isinstance(loo, LeaveOneOut):
        n_rows = len(loo.features)
        check_shape("features", loo.features, n_rows, int(path.starts[-1]))
        check_shape("y", loo.y, n_rows, n_outputs)
        check_shape("weight", loo.weight, n_rows)
        need(np.array_equal(loo.starts, path.starts), "leave-one-out is of other features")
    return n_outputs


def _check_folds(folds: Folds) -> None:
    n_cells = len(folds.cells)
    for train, test in folds.splits:
        check_indices("a split", [*train, *test], n_cells)
    check_indices("whole", folds.whole, n_cells)


def _check_table(table: CurveTable, *axes: int) -> None:
    gaps = table.gaps
    check_shape("gaps", gaps, None)
    descends = len(gaps) >= 1 and gaps[0] > 0 and gaps[-1] >= 0 and bool((np.diff(gaps) < 0).all())
    need(descends, "gaps of a table do not descend to 0")
    check_shape("values", table.values, len(gaps), *axes)


def _check_finite_table(table: CurveTable, *axes: int) -> None:
    _check_table(table, *axes)
    need((np.isfinite(table.values).all()), "a table is not finite")


def _check_spectrum(spectrum: Spectrum, starts: IntArray, n_outputs: int) -> None:
    n_features = widths_of("starts", starts)
    need(spectrum.n_members == len(n_features), "a spectrum is of other members")
    check_shape("total", spectrum.total, n_outputs)
    check_shape("centre", spectrum.centre, sum(n_features) + n_outputs)
    need(spectrum.weight > 0 and spectrum.alpha >= 0, "a spectrum has no weight")
    need(((spectrum.total >= 0).all()), "a mean square is negative")
    if isinstance(spectrum, BandedSpectrum):
        n_whitened = _check_whitening(spectrum.whitening, starts)
        reduction, n_below = spectrum.reduction, n_whitened - 1
        check_shape("diagonal", reduction.diagonal, n_whitened)
        check_shape("off_diagonal", reduction.off_diagonal, n_below)
        check_shape("tau", reduction.tau, n_below)
        check_shape("reflectors", reduction.reflectors, n_below, n_below)
        check_shape("target", spectrum.target, n_whitened, n_outputs)
        need(spectrum.max_rank >= 0, f"max_rank is {spectrum.max_rank}")
        return
    n_modes = len(spectrum.rho)
    check_shape("rho", spectrum.rho, n_modes)
    check_shape("kappa", spectrum.kappa, n_modes, n_outputs)
    check_shape("outside", spectrum.outside, n_outputs)
    need(((spectrum.outside >= 0).all()), "a mean square is negative")
    need(((spectrum.rho > 0).all()), "a mode is not positive")
    need(((np.diff(spectrum.rho) >= 0).all()), "modes do not ascend")
    if isinstance(spectrum, DenseSpectrum):
        n_whitened = _check_whitening(spectrum.whitening, starts)
        check_shape("vectors", spectrum.vectors, n_whitened, n_modes)
    elif isinstance(spectrum, RowsSpectrum):
        need(_check_rows(spectrum.rows) == n_outputs, "the rows of a spectrum are of others")
        for group in spectrum.groups:
            check_shape("groups", group, None)
            check_indices("groups", group, spectrum.rows.n_rows)
        known = np.array_equal(spectrum.basis.block_starts_, starts)
        need(known, "a spectrum is of other features")
        check_basis(spectrum.basis, int(spectrum.rows.X.shape[1]))
        try_features(spectrum.basis, spectrum.rows)
    elif isinstance(spectrum, CurvesOnly):
        if spectrum.excess_table is not None:
            _check_finite_table(spectrum.excess_table, n_outputs)
    else:
        raise ValueError(f"a {type(spectrum).__name__} is no spectrum of a model")


def _check_whitening(whitening: Whitening, starts: AnyArray) -> int:
    """The number of whitened coordinates, after a check of all blocks."""
    need(np.array_equal(whitening.starts, starts), "a whitening is of other features")
    need(0 <= whitening.condition <= MOST_CONDITION, f"condition is {whitening.condition}")
    heights, ranks = (
        widths_of("starts", whitening.starts),
        widths_of("ranks", whitening.rank_starts),
    )
    need(len(heights) == len(ranks), "a whitening has other ranks than members")
    if isinstance(whitening, NestedWhitening):
        nesting = whitening.nesting
        need(len(nesting.gaps) == len(heights), "members are nested in others")
        need(all(0 < gap < 1 for gap in nesting.gaps), "a gap within is not between 0 and 1")
        n_inner = _check_whitening(whitening.inner, nesting.starts)
        need(n_inner == sum(ranks), "small members have other ranks")
        need(len(whitening.inverses) == len(ranks), "there are other inverses than members")
        for inverse, rank in zip(whitening.inverses, ranks, strict=True):
            check_shape("inverses", inverse, rank, rank)
            need(((np.diagonal(inverse) > 0).all()), "an inverse is singular")
        return n_inner
    need(len(whitening.blocks) == len(heights), "there are other blocks than members")
    for block, height, rank in zip(whitening.blocks, heights, ranks, strict=True):
        check_shape("blocks", block, height, rank)
    return sum(ranks)


def _check_held_out(held_out: HeldOutPredictions, n_outputs: int) -> None:
    check_shape("chosen_gap", held_out.chosen_gap, n_outputs)
    check_shape("chosen", held_out.chosen, None, n_outputs)
    n_rows = len(held_out.chosen)
    check_shape("weight", held_out.weight, n_rows)
    need(((held_out.weight >= 0).all()), "a weight is negative")
    if held_out.y is not None:
        check_shape("y", held_out.y, n_rows, n_outputs)
    if held_out.table is not None:
        _check_finite_table(held_out.table, n_rows, n_outputs)
