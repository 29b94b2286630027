"""The path of an ensemble of Huber's loss: bend the targets, make their path, and again.

What is bent, and why, is in :mod:`negcorr.ensemble.huber`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from negcorr._common.arrays import is_device_array, place_of, to_host
from negcorr._common.types import BoolArray, FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.ensemble.huber import Bending, bend, mean_loss, warn_about_scale
from negcorr.moments.moments import GramMoments, Moments
from negcorr.moments.scan import scan_features, scan_moments
from negcorr.moments.update import retarget_moments
from negcorr.path.path import NCLPath
from negcorr.path.settings import PathSettings
from negcorr.path.tune import Form, path_from_cells, routes_for
from negcorr.rows.folds import Folds
from negcorr.rows.rows import Rows, weight_of

__all__ = ["bent_path", "out_of_fold_predictions"]

#: Most times that targets are bent, and how far they may move to count as at rest, in s.
MOST_PASSES, AT_REST = 5, 1e-3


def out_of_fold_predictions(path: NCLPath, rows: Rows, basis: Basis) -> FloatArray:
    """F(x) of every row by the fit without its fold, at the chosen λ.

    Parameters
    ----------
    path : NCLPath
        With the moments of its folds.
    rows : Rows
        All rows of the fit, in its order.
    basis : Basis
        Fitted.

    Returns
    -------
    ndarray of shape (n, outputs)
        At home, wherever the rows are. NaN where no split holds a row out; of several the first
        counts, as in :mod:`negcorr.ensemble.intervals`.
    """
    fits = path.cross_validation
    coefs = [fit.coef(gap=path.chosen_gap) for fit in fits.fits]
    levels = [fit.intercept(coef) for fit, coef in zip(fits.fits, coefs, strict=True)]
    xp = place_of(coefs[0]).xp
    coef, level = xp.concat(coefs, axis=0), xp.concat(levels, axis=0)
    which = _positions(path.folds.held_out_in(rows.n_rows), fits.numbers)
    n_outputs = int(rows.y.shape[1])
    guess = np.full((rows.n_rows, n_outputs), np.nan)

    def use(block: slice, features: FloatArray) -> None:
        by_fit = to_host(features @ coef.T + level).reshape(-1, len(coefs), n_outputs)
        mine = which[block]
        held = np.flatnonzero(mine >= 0)
        guess[block][held] = by_fit[held, mine[held]]

    scan_features(rows.X, basis, rows.n_rows, use)
    return guess


def _positions(split: IntArray, numbers: tuple[int, ...]) -> IntArray:
    """Where the split of each row stands among those with a fit, −1 where it has none."""
    place = np.full(max(int(split.max(initial=-1)), *numbers) + 2, -1, dtype=np.intp)
    place[list(numbers)] = np.arange(len(numbers))
    return place[split]


@dataclass(frozen=True)
class _Stage:
    """Where a search for targets stands.

    ``guess`` are out-of-fold predictions for ``targets``, of which the path may have others in some
    outputs: then ``made_with`` are its own.
    """

    path: NCLPath
    targets: FloatArray
    guess: FloatArray
    own: FloatArray | None = None

    @property
    def made_with(self) -> FloatArray:
        return self.targets if self.own is None else self.own

    def with_outputs_of(self, other: _Stage, chosen: BoolArray) -> _Stage:
        """Some outputs of another stage in place of those here."""
        if not chosen.any():
            return self
        targets = np.where(chosen, other.targets, self.targets)
        return _Stage(other.path, targets, np.where(chosen, other.guess, self.guess), other.targets)


def bent_path(
    path: NCLPath,
    rows: Rows,
    first: Rows,
    basis: Basis,
    folds: Folds,
    settings: PathSettings,
    threshold: float,
) -> tuple[NCLPath, FloatArray, Bending]:
    """The path for bent targets, those targets, and an account of them.

    Parameters
    ----------
    path : NCLPath
        Made with the targets of ``first``.
    rows : Rows
        With the targets as they were given.
    first : Rows
        The same rows, squeezed.
    basis : Basis
        Fitted; it stays.
    folds, settings
        As in :func:`negcorr.path.tune.build_path`.
    threshold : float
        c.

    Returns
    -------
    path : NCLPath
        λ is chosen anew, by the criterion on bent targets, whenever those have moved.
    targets : array of shape (n, outputs)
        Of that path, where the rows are.
    bending : Bending
    """
    y, weight, place = to_host(rows.y), weight_of(rows), place_of(rows.y)

    def stage_with(targets: FloatArray) -> _Stage:
        there = replace(rows, y=place.floats(targets))
        other = _retargeted(path, there, basis, folds, settings)
        return _Stage(other, targets, out_of_fold_predictions(other, rows, basis))

    now = _Stage(path, to_host(first.y), out_of_fold_predictions(path, rows, basis))
    passes, moving = 0, np.ones(y.shape[1], dtype=bool)
    while True:
        bent = bend(y, now.guess, weight, threshold)
        targets = np.where(np.isnan(now.guess), now.targets, bent.targets)
        moved = np.sqrt(weight @ (targets - now.targets) ** 2 / weight.sum())
        moving = moving & (moved > AT_REST * bent.scale)
        if not moving.any() or passes == MOST_PASSES:
            break
        passes += 1
        other = stage_with(np.where(moving, targets, now.targets))
        delta = bent.reach(threshold)
        before, after = (mean_loss(y - each.guess, weight, delta) for each in (now, other))
        moving = moving & ((after < before) | (bent.scale == 0))
        now = now.with_outputs_of(other, moving)
    if not np.array_equal(now.made_with, now.targets):
        now = stage_with(now.targets)
    warn_about_scale(y, bent.scale)
    still = bool(moving.any())
    account = Bending.of(y, now.targets, weight, bent.scale, threshold, passes, still)
    return now.path, place.floats(now.targets), account


def _retargeted(
    path: NCLPath, rows: Rows, basis: Basis, folds: Folds, settings: PathSettings
) -> NCLPath:
    """The path for other targets; of moments that are matrices only their columns are made anew."""
    known = [cell for cell in path.cells if isinstance(cell, GramMoments)]
    reusable = len(known) == len(path.cells) and not is_device_array(rows.X)

    def cells_of(form: Form) -> tuple[Moments, ...]:
        if form == "gram" and reusable:
            return retarget_moments(rows, basis, list(folds.cells), known)
        return tuple(scan_moments(rows, basis, list(folds.cells), form))

    routes = routes_for(settings.solver, rows.n_rows, int(basis.block_starts_[-1]))
    return path_from_cells(cells_of, routes, rows, basis, folds, settings, path.single_output)
