"""Ensembles that grow as long as the criterion falls enough.

Each basis begins with the features of the one before. In memory moments are extended and not
computed again; a stream keeps those of the largest basis, which contain those of the smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.types import IntArray
from negcorr.bases import Basis
from negcorr.moments.moments import GramMoments, Moments
from negcorr.moments.scan import scan_moments
from negcorr.moments.update import extend_moments, select_features
from negcorr.path.path import NCLPath
from negcorr.path.tune import Form, PathSettings, build_path
from negcorr.rows.rows import Rows

__all__ = ["WORTH_GROWING", "grown_path", "moments_within", "path_in_memory"]

#: An ensemble keeps growing as long as the criterion falls at least to this share, and as long as
#: it uses at least this share of its features: an ensemble that leaves degrees of freedom unused
#: would not use those of further features.
WORTH_GROWING, FULL = 0.99, 0.5


def grown_path(
    path: NCLPath,
    basis: Basis,
    larger_ones: Sequence[Basis],
    path_of: Callable[[Basis, Basis, NCLPath], tuple[Basis, NCLPath]],
) -> tuple[Basis, NCLPath]:
    """The largest basis that lowered the criterion enough, fitted, and its path.

    Parameters
    ----------
    path : NCLPath
        Of the smallest basis.
    basis : Basis
        The smallest, fitted.
    larger_ones : sequence of Basis
        From small to large; members of each begin with the features of the one before.
    path_of : callable
        Takes a larger basis, the basis before and its path, and returns the larger basis fitted,
        and its path.

    Returns
    -------
    basis : Basis
    path : NCLPath
    """
    for larger in larger_ones:
        full = float(np.max(path.dof())) >= FULL * path.spectrum.n_features
        if path.criterion is None or not full:
            break
        fitted, grown = path_of(larger, basis, path)
        better = _least_error(grown) < _least_error(path) * WORTH_GROWING
        if _least_error(grown) < _least_error(path):
            basis, path = fitted, grown
        if not better:
            break
    return basis, path


def _least_error(path: NCLPath) -> float:
    """The criterion where it is best, mean over outputs of unit variance."""
    best = np.nanmin(path.all_values, axis=0)
    total = to_host(path.spectrum.total)
    varies = total > 0
    return float(np.mean(best[varies] / total[varies])) if varies.any() else 0.0


def path_in_memory(
    rows: Rows, sample: Rows, settings: PathSettings
) -> Callable[[Basis, Basis, NCLPath], tuple[Basis, NCLPath]]:
    """For :func:`grown_path`: moments of a larger basis extend those that are known.

    Parameters
    ----------
    rows : Rows
        Training rows.
    sample : Rows
        Those that the basis is drawn from.
    settings : PathSettings
    """

    def path_of(unfitted: Basis, basis: Basis, path: NCLPath) -> tuple[Basis, NCLPath]:
        larger, groups = unfitted.fit_rows(sample), list(path.folds.cells)
        known = [cell for cell in path.cells if isinstance(cell, GramMoments)]
        extends = len(known) == len(path.cells) and place_of(rows.y).is_numpy

        def cells_of(form: Form) -> tuple[Moments, ...]:
            if form == "gram" and extends:
                return extend_moments(rows, larger, groups, known, _places(basis, larger))
            return tuple(scan_moments(rows, larger, groups, form))

        single = path.single_output
        return larger, build_path(rows, larger, path.folds, settings, single, cells_of=cells_of)

    return path_of


def moments_within(cells: Sequence[Moments], basis: Basis, largest: Basis) -> tuple[Moments, ...]:
    """The moments of a basis, from those of the largest one, which begins with its features."""
    if basis is largest:
        return tuple(cells)
    places = _places(basis, largest)
    return tuple(select_features(cell, places) for cell in cells)


def _places(basis: Basis, larger: Basis) -> IntArray:
    """Where the features of a basis stand among those of a larger one."""
    few, many = basis.block_starts_, larger.block_starts_
    columns = np.arange(int(few[-1]))
    if basis.nesting_ is None:
        return columns
    return np.asarray(columns + (many[: len(few) - 1] - few[:-1]).repeat(np.diff(few)))
