"""Fitting in parts: checks of the settings, adding rows, merging and subtracting models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr.bases import Basis
from negcorr.bases.basis import RandomBasis
from negcorr.columns.inputs import FirstLook
from negcorr.ensemble.drawn import Drawn
from negcorr.ensemble.fit import FitSettings, Given, draw
from negcorr.ensemble.fitted import FittedState
from negcorr.ensemble.huber import refuse_in_parts
from negcorr.ensemble.stream import Stream
from negcorr.moments.scan import features_of
from negcorr.rows.folds import number_of_folds
from negcorr.selection.space import SearchSpace

__all__ = ["check_streamable", "continued", "with_rows_of"]

#: Number of rows on which two bases are compared, and the largest allowed difference.
COMPARED_ROWS, SAME = 256, 1e-12


def check_streamable(settings: FitSettings) -> int:
    """The number of folds by content; raises where settings need all rows at once."""
    if settings.path.gap is None and settings.path.criterion == "loo":
        raise ValueError(
            "criterion='loo' needs all rows at once, which a stream does not keep; allowed are "
            "'kfold', 'sure', 'gcv', 'aic', 'aicc', 'bic' and 'cp'."
        )
    noise = settings.path.noise_variance
    if isinstance(noise, str) and noise == "difference":
        raise ValueError(
            "noise_variance='difference' needs all rows at once, which a stream does not keep; "
            "give a number, or leave it to 'paper'."
        )
    refuse_in_parts(settings.loss)
    return number_of_folds(settings.cv)


def continued(
    before: FittedState | None, drawn: Drawn | None, given: Given, settings: FitSettings
) -> FittedState:
    """The state after further rows.

    Parameters
    ----------
    before : FittedState or None
        Of the rows so far; None before any.
    drawn : Drawn or None
        From earlier rows; None before any.
    given : Given
        Further rows.
    settings : FitSettings
    """
    n_folds, accurate = check_streamable(settings), settings.path.solver == "qr"
    single_output = given.single_output
    if drawn is None:
        look = FirstLook.at(given.X, given.y, given.weight, encoded=given.encoded)
        drawn = draw(look, settings)
    else:
        _check_same_parameters(settings.basis, drawn.bases[-1])
    rows = drawn.cells.rows(given.X, given.y, given.weight)
    if before is None:
        more: dict[str, bool] = {"accurate": accurate, "single_output": single_output}
        stream = Stream.of(drawn.bases, rows, n_folds, **more)
    else:
        seen = before.stream_or_raise()
        expected = seen.kept.y.shape[1]
        if (rows.y.shape[1], single_output) != (expected, seen.single_output):
            raise ValueError(
                f"y has {rows.y.shape[1]} output(s) in {1 if single_output else 2} dimension(s), "
                f"but the rows before had {expected} in {1 if seen.single_output else 2}."
            )
        if n_folds != len(seen.cells):
            raise ValueError(
                f"cv={n_folds}, but the rows before went into {len(seen.cells)} folds, which they "
                "cannot change any more."
            )
        stream = replace(seen, accurate=seen.accurate or accurate).with_rows(rows)
    path_settings = settings.path_settings(stream.basis, drawn.choice)
    return FittedState(drawn, stream=stream, settings=path_settings)


def with_rows_of(
    one: FittedState, other: FittedState, settings: FitSettings, *, subtract: bool
) -> FittedState:
    """The state with the rows of both, or of the one without the other's.

    Parameters
    ----------
    one, other : FittedState
        Of models that were fitted in parts, with the same basis.
    settings : FitSettings
        Of the one.
    subtract : bool
    """
    check_streamable(settings)
    what = "taken from" if subtract else "merged with"
    mine, theirs = (state.stream_or_raise() for state in (one, other))
    shapes = [
        (s.kept.y.shape[1], 1 if s.single_output else 2, len(s.cells)) for s in (mine, theirs)
    ]
    if shapes[0] != shapes[1]:
        (outputs, ndim, folds), (other_outputs, other_ndim, other_folds) = shapes
        raise ValueError(
            f"models of {outputs} and {other_outputs} output(s), in {ndim} and {other_ndim} "
            f"dimension(s), and of {folds} and {other_folds} folds, cannot be {what} one another."
        )
    places = [place_of(stream.kept.y) for stream in (mine, theirs)]
    if places[0] != places[1]:
        raise ValueError(
            f"a model in {places[0]} cannot be {what} one in {places[1]}; make NumPy models of "
            "both by to_numpy()."
        )
    if not _same_basis(mine, theirs):
        raise ValueError(
            f"models can only be {what} one another if they have the same basis: draw it once, by "
            "draw(X), and fit copies."
        )
    stream = mine.without(theirs) if subtract else mine.merged(theirs)
    path_settings = settings.path_settings(stream.basis, one.drawn.choice)
    return FittedState(one.drawn, stream=stream, settings=path_settings)


def _check_same_parameters(wanted: Basis | SearchSpace, drawn: Basis) -> None:
    """Raise if basis parameters were changed after the draw: they would have no effect."""
    if not isinstance(wanted, RandomBasis):
        return
    if type(wanted) is not type(drawn):
        raise ValueError(
            f"basis={wanted!r}, but the basis that was drawn before is a "
            f"{type(drawn).__name__}, and stays: start anew by fit or draw."
        )
    before = drawn.get_params()
    for name, value in wanted.get_params().items():
        if name != "random_state" and not np.array_equal(value, before[name]):
            raise ValueError(
                f"{name}={value!r}, but the basis was drawn with {name}={before[name]!r}, and "
                "stays: start anew by fit or draw."
            )


def _same_basis(mine: Stream, theirs: Stream) -> bool:
    """Whether both bases give the same features on rows of both."""
    if mine.basis is theirs.basis:
        return True
    if not np.array_equal(mine.basis.block_starts_, theirs.basis.block_starts_):
        return False
    tables = [stream.kept.X for stream in (mine, theirs)]
    columns = [list(X.columns) if hasattr(X, "columns") else int(X.shape[1]) for X in tables]
    if columns[0] != columns[1]:
        return False
    for kept in (mine.kept, theirs.kept):
        rows = kept.take(np.arange(min(COMPARED_ROWS, kept.n_rows)))
        one, other = (to_host(features_of(rows, stream.basis)) for stream in (mine, theirs))
        if not np.allclose(one, other, rtol=SAME, atol=SAME):
            return False
    return True
