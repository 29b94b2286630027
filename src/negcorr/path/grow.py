"""Ensembles that grow while cross-validation says that it pays.

Each basis begins with the features of the one before, so moments are extended and not computed
again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from negcorr._common.arrays import is_device_array, to_host
from negcorr._common.types import IntArray
from negcorr.bases import Basis
from negcorr.moments.moments import GramMoments, Moments
from negcorr.moments.scan import scan_moments
from negcorr.moments.update import extend_moments
from negcorr.path.path import NCLPath
from negcorr.path.settings import PathSettings
from negcorr.path.tune import Form, build_path, check_memory, path_from_cells, routes_for
from negcorr.rows.folds import Folds
from negcorr.rows.rows import Rows

__all__ = ["WORTH_GROWING", "grown_path"]

#: An ensemble grows on while the criterion falls at least to this share, and where it uses at least
#: this share of its features: degrees of freedom that it does not take now it would not take then.
WORTH_GROWING, FULL = 0.99, 0.5


def grown_path(
    bases: Sequence[Basis],
    rows: Rows,
    folds: Folds,
    settings: PathSettings,
    single_output: bool,
) -> tuple[Basis, NCLPath]:
    """The path of the last basis that was worth its price, and that basis, fitted.

    Parameters
    ----------
    bases : sequence of Basis
        Unfitted, from small to large; members of each begin with the features of the one before.
    rows, folds, settings, single_output
        As in :func:`negcorr.path.tune.build_path`.

    Returns
    -------
    basis : Basis
    path : NCLPath
    """
    basis = bases[0].fit(rows.X, sample_weight=rows.weight)
    path = build_path(rows, basis, folds, settings, single_output)
    for larger in bases[1:]:
        if not (_can_grow(path, rows) and _is_full(path)):
            break
        larger = larger.fit(rows.X, sample_weight=rows.weight)
        grown = _grown(path, basis, larger, rows, folds, settings)
        better = _level(grown) < _level(path) * WORTH_GROWING
        if _level(grown) < _level(path):
            basis, path = larger, grown
        if not better:
            break
    return basis, path


def _can_grow(path: NCLPath, rows: Rows) -> bool:
    """Whether there is a criterion to grow by, and moments that can be extended."""
    extensible = all(isinstance(cell, GramMoments) for cell in path.cells)
    return path.criterion is not None and extensible and not is_device_array(rows.X)


def _is_full(path: NCLPath) -> bool:
    """Whether some output uses enough of the features."""
    return float(np.max(path.dof())) >= FULL * path.spectrum.n_features


def _level(path: NCLPath) -> float:
    """The criterion where it is best, outputs of unit variance."""
    best = np.nanmin(path.all_values, axis=0)
    total = to_host(path.spectrum.total)
    varies = total > 0
    return float(np.mean(best[varies] / total[varies])) if varies.any() else 0.0


def _grown(
    path: NCLPath,
    basis: Basis,
    larger: Basis,
    rows: Rows,
    folds: Folds,
    settings: PathSettings,
) -> NCLPath:
    known = [cell for cell in path.cells if isinstance(cell, GramMoments)]
    places = _places(basis, larger)

    def cells_of(form: Form) -> tuple[Moments, ...]:
        if form == "gram":
            return extend_moments(rows, larger, list(folds.cells), known, places)
        return tuple(scan_moments(rows, larger, list(folds.cells), form))

    n_features = int(larger.block_starts_[-1])
    check_memory(folds, n_features + rows.y.shape[1], rows.n_rows)
    routes = routes_for(settings.solver, rows.n_rows, n_features)
    return path_from_cells(cells_of, routes, rows, larger, folds, settings, path.single_output)


def _places(basis: Basis, larger: Basis) -> IntArray:
    """Where the features of a basis stand among those of a larger one."""
    few, many = basis.block_starts_, larger.block_starts_
    if basis.nesting_ is None:
        return np.arange(int(few[-1]))
    widths = [b - a for a, b in itertools.pairwise(few.tolist())]
    return np.concatenate(
        [np.arange(start, start + width) for start, width in zip(many, widths, strict=False)]
    ).astype(np.intp)
