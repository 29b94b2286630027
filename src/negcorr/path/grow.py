"""Ensembles that grow as long as the criterion falls enough.

Each basis begins with the features of the one before, so moments are extended and not computed
again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from negcorr._common.arrays import is_device_array, to_host
from negcorr.bases import Basis
from negcorr.moments.moments import GramMoments, Moments
from negcorr.moments.scan import scan_moments
from negcorr.moments.update import extend_moments
from negcorr.path.path import NCLPath
from negcorr.path.tune import Form, PathSettings, build_path
from negcorr.rows.rows import Rows

__all__ = ["WORTH_GROWING", "grown_path"]

#: An ensemble keeps growing as long as the criterion falls at least to this share, and as long as
#: it uses at least this share of its features: an ensemble that leaves degrees of freedom unused
#: would not use those of further features.
WORTH_GROWING, FULL = 0.99, 0.5


def grown_path(
    path: NCLPath, basis: Basis, larger_ones: Sequence[Basis], rows: Rows, settings: PathSettings
) -> tuple[Basis, NCLPath]:
    """The largest basis that lowered the criterion enough, fitted, and its path.

    Parameters
    ----------
    path : NCLPath
        Of the smallest basis.
    basis : Basis
        The smallest, fitted.
    larger_ones : sequence of Basis
        Unfitted, from small to large; members of each begin with the features of the one before.
    rows, settings
        As in :func:`negcorr.path.tune.build_path`.

    Returns
    -------
    basis : Basis
    path : NCLPath
    """
    for larger in larger_ones:
        can_grow = path.criterion is not None and not is_device_array(rows.X)
        full = float(np.max(path.dof())) >= FULL * path.spectrum.n_features
        known = [cell for cell in path.cells if isinstance(cell, GramMoments)]
        if not (can_grow and full and len(known) == len(path.cells)):
            break
        larger = larger.fit(rows.X, sample_weight=rows.weight)
        grown = _grown(path, known, basis, larger, rows, settings)
        better = _least_error(grown) < _least_error(path) * WORTH_GROWING
        if _least_error(grown) < _least_error(path):
            basis, path = larger, grown
        if not better:
            break
    return basis, path


def _least_error(path: NCLPath) -> float:
    """The criterion where it is best, mean over outputs of unit variance."""
    best = np.nanmin(path.all_values, axis=0)
    total = to_host(path.spectrum.total)
    varies = total > 0
    return float(np.mean(best[varies] / total[varies])) if varies.any() else 0.0


def _grown(
    path: NCLPath,
    known: list[GramMoments],
    basis: Basis,
    larger: Basis,
    rows: Rows,
    settings: PathSettings,
) -> NCLPath:
    """The path of a larger basis, whose moments extend those that are known."""
    few, many, groups = basis.block_starts_, larger.block_starts_, list(path.folds.cells)
    # Where the features of the basis stand among those of the larger one.
    columns = np.arange(int(few[-1]))
    if basis.nesting_ is not None:
        shift = (many[: len(few) - 1] - few[:-1]).repeat(np.diff(few))
        columns = columns + shift

    def cells_of(form: Form) -> tuple[Moments, ...]:
        if form == "gram":
            return extend_moments(rows, larger, groups, known, columns)
        return tuple(scan_moments(rows, larger, groups, form))

    single = path.single_output
    return build_path(rows, larger, path.folds, settings, single, cells_of=cells_of)
