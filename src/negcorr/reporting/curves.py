"""The numbers behind the curves of a page: a spectrum, or the grid of λ of a deep ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray
from negcorr.path.path import NCLPath
from negcorr.spectrum.gap import TABULATED_EVERY, lattice

__all__ = ["CurveData", "LamGrid", "curve_data", "lam_grid"]

#: Nodes of the interpolant for each decade of gaps, and the least number of nodes.
NODES_PER_DECADE, FEWEST_NODES = 14, 48


@dataclass(frozen=True)
class CurveData:
    """A path in numbers that a page can carry.

    With ρ and κ, degrees of freedom, training error, diversity, SURE and GCV are sums over the
    modes (:mod:`negcorr.spectrum.spectrum`). Only the ridge inside the blocks is no such sum: it
    takes α‖β(g)‖², which is analytic in log g within a strip of half-width π. A Chebyshev
    interpolant of a hundred-odd values is therefore as good as the function itself. K-fold is
    tabulated.

    Attributes
    ----------
    n_members : int
        M.
    weight : float
        n, the sum of weights.
    intercept : int
        1 where there is one: its degree of freedom.
    rho : ndarray of shape (r,)
        Eigenvalues of the whitened Gram matrix.
    kappa_squared : ndarray of shape (outputs, r)
        Squared components of y along the modes.
    outside, total, noise_variance : ndarray of shape (outputs,)
        Error at λ = 1, mean square of y, and σ² of SURE (NaN where unknown).
    smallest_gap : float
        Where the slider ends.
    chosen_gap : ndarray of shape (outputs,)
    ridge : ndarray of shape (outputs, nodes)
        Mα‖β‖² at Chebyshev nodes of log₁₀(gap) between ``smallest_gap`` and 1; empty for α = 0.
    kfold_gaps : ndarray of shape (k,)
    kfold : ndarray of shape (outputs, k)
        The exact K-fold error there; empty without folds.
    """

    n_members: int
    weight: float
    intercept: int
    rho: FloatArray
    kappa_squared: FloatArray
    outside: FloatArray
    total: FloatArray
    noise_variance: FloatArray
    smallest_gap: float
    chosen_gap: FloatArray
    ridge: FloatArray
    kfold_gaps: FloatArray
    kfold: FloatArray


def curve_data(path: NCLPath) -> CurveData:
    """The numbers of a path that all its curves can be computed from.

    Parameters
    ----------
    path : NCLPath
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import ncl_path
    >>> from negcorr.reporting.curves import curve_data
    >>> rng = np.random.default_rng(0)
    >>> path = ncl_path(rng.normal(size=(60, 12)), rng.normal(size=60), [0, 4, 8, 12])
    >>> curve_data(path).kappa_squared.shape
    (1, 12)
    """
    spectrum = path.spectrum
    smallest = float(min(spectrum.smallest_useful_gap, *path.chosen_gap[path.chosen_gap > 0], 1.0))
    gaps, kfold = np.empty(0), np.empty((spectrum.n_outputs, 0))
    if path.folds.splits:
        gaps = lattice(max(smallest, path.smallest_trusted_gap), TABULATED_EVERY)
        gaps = np.unique(np.append(gaps, path.chosen_gap[path.chosen_gap > 0]))[::-1]
        kfold = to_host(path.criterion_curve("kfold", gaps)).T
    ridge = np.empty((spectrum.n_outputs, 0))
    if spectrum.has_excess and smallest < 1.0:
        # The values at Chebyshev nodes of log₁₀ gap, from 1 down to the smallest gap.
        decades = -np.log10(smallest)
        n_nodes = max(FEWEST_NODES, int(np.ceil(NODES_PER_DECADE * decades)))
        nodes = np.cos(np.pi * np.arange(n_nodes) / (n_nodes - 1))
        node_gaps = np.power(10.0, -decades * (1.0 - nodes) / 2.0)
        node_gaps[0] = 1.0
        ridge = to_host(spectrum.excess(node_gaps)).T
    return CurveData(
        n_members=spectrum.n_members,
        weight=spectrum.weight,
        intercept=int(spectrum.fit_intercept),
        rho=to_host(spectrum.rho),
        kappa_squared=to_host(spectrum.kappa).T ** 2,
        outside=to_host(spectrum.outside),
        total=to_host(spectrum.total),
        noise_variance=path.noise_variance,
        smallest_gap=smallest,
        chosen_gap=path.chosen_gap,
        ridge=ridge,
        kfold_gaps=gaps,
        kfold=kfold,
    )


@dataclass(frozen=True)
class LamGrid:
    """Errors and degrees of freedom at every λ that was trained.

    Attributes
    ----------
    lam : ndarray of shape (G,)
        Ascending.
    dof, dof_std_error, train_error, sure, gcv : ndarray of shape (outputs, G)
        NaN where there were no probes.
    noise_variance : ndarray of shape (outputs,)
        σ² of SURE.
    chosen : int
        Place of the λ that was chosen.
    """

    lam: FloatArray
    dof: FloatArray
    dof_std_error: FloatArray
    train_error: FloatArray
    sure: FloatArray
    gcv: FloatArray
    noise_variance: FloatArray
    chosen: int


def lam_grid(table: Any) -> LamGrid | None:
    """The table of a fitted deep ensemble in the order of λ, None where it has none.

    Parameters
    ----------
    table : LamTable or None
        ``lam_table_`` of a :class:`~negcorr.deep.DeepNCLRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr.deep import DeepNCLRegressor, Training
    >>> from negcorr.reporting.curves import lam_grid
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DeepNCLRegressor(
    ...     3, (3,), lam=[0.5, 0.0], learning_rate=0.01, training=Training(max_epochs=5)
    ... )
    >>> lam_grid(model.fit(X, y).lam_table_).lam
    array([0. , 0.5])
    """
    if table is None:
        return None
    order = np.argsort(table.lam, kind="stable")
    names = ("dof", "dof_std_error", "train_error", "sure", "gcv")
    return LamGrid(
        lam=np.asarray(table.lam, dtype=np.float64)[order],
        **{name: np.ascontiguousarray(getattr(table, name)[order].T) for name in names},
        noise_variance=np.asarray(table.noise_variance),
        chosen=int(np.flatnonzero(order == table.chosen)[0]),
    )
