"""The noise variance σ²: from a spectrum, from neighbouring rows, or as the user gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_consistent_length

from negcorr._common.arrays import NUMPY, is_device_array, to_host
from negcorr._common.types import BoolArray, FloatArray, Table
from negcorr._common.validation import check_weight
from negcorr.bases.input_maps import fit_input_map
from negcorr.columns.cells import has_columns
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.criteria.closed_form import NOTHING_LEFT
from negcorr.exceptions import NoiseVarianceWarning, warn_caller
from negcorr.rows.keys import row_keys, smallest_counted
from negcorr.rows.rows import Rows
from negcorr.spectrum.gap import gap_per_output, resolve_gap
from negcorr.spectrum.spectrum import Spectrum

__all__ = [
    "difference_noise_variance",
    "given_noise_variance",
    "neighbour_differences",
    "paper_noise_variance",
    "residual_noise_variance",
]


def paper_noise_variance(spectrum: Spectrum, *, quiet: bool = False) -> FloatArray:
    r"""The paper's estimate, from the ensemble of independently trained members.

    Returns
    -------
    ndarray of shape (outputs,)
        :math:`\sum_n (F_0(x_n) - y_n)^2 / (n - \mathrm{df}(F_0))`. NaN with a
        :class:`~negcorr.exceptions.NoiseVarianceWarning`, unless ``quiet``, where the
        denominator is not positive.

    Notes
    -----
    Section 7 prints the formula without the square. Where the ensemble underfits at λ = 0 the
    estimate is too large, and SURE then tends to choose too small a λ.
    """
    return residual_noise_variance(spectrum, 1.0, of_paper=True, quiet=quiet)


def residual_noise_variance(
    spectrum: Spectrum, gap: npt.ArrayLike, *, of_paper: bool = False, quiet: bool = False
) -> FloatArray:
    """Residual sum of squares over n − 2 tr S + tr S² at one gap, or one per output.

    Unbiased if the ensemble has no bias; this is the estimate that the regressor reports.
    ``of_paper`` divides by n − tr S instead.

    Returns
    -------
    ndarray of shape (outputs,)
        NaN with a :class:`~negcorr.exceptions.NoiseVarianceWarning`, unless ``quiet``, where
        the denominator is not positive.
    """
    gaps = resolve_gap(gap=gap)
    gap_per_output(gaps, spectrum.n_outputs)
    error = to_host(spectrum.train_error(gap=gaps))
    if gaps.ndim > 0:
        error = np.diagonal(error)
    left = spectrum.weight - spectrum.dof(gap=gaps) if of_paper else spectrum.residual_dof(gap=gaps)
    denominator = to_host(left)
    usable = np.broadcast_to(denominator, error.shape) > NOTHING_LEFT * spectrum.weight
    if not usable.all() and not quiet:
        where = "lam=0" if of_paper else "the chosen lam"
        warn_caller(
            f"no residual degrees of freedom at {where} ({float(np.min(denominator)):.3g} of "
            f"{spectrum.weight:.6g}): the noise variance is NaN. The ensemble is as flexible as "
            "the data are many, or sample_weight adds up to too little.",
            NoiseVarianceWarning,
        )
    estimate = np.full(error.shape, np.nan)
    np.divide(spectrum.weight * error, denominator, out=estimate, where=usable)
    return estimate


def difference_noise_variance(
    X: Table, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> float | FloatArray:
    """Noise variance from differences between nearest neighbours, without any model.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n, d)
        Inputs; columns are standardised first, but for those of 0 and 1 that categories of a data
        frame become.
    y : array-like of shape (n,) or (n, outputs)
        Targets.
    sample_weight : array-like of shape (n,), optional
        Frequencies of the rows.

    Returns
    -------
    float or ndarray of shape (outputs,)
        Half the mean squared difference between each target and that of the nearest distinct row.
        Changes of the true function over that distance count as noise, so the estimate is too
        large, especially in many dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import difference_noise_variance
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(4000, 1))
    >>> round(difference_noise_variance(x, np.sin(6 * x[:, 0]) + 0.5 * rng.normal(size=4000)), 2)
    0.26
    """
    differences, weight = neighbour_differences(X, y, sample_weight)
    variance = np.average(0.5 * differences**2, axis=0, weights=weight)
    return float(variance) if differences.ndim == 1 else np.asarray(variance)


def neighbour_differences(
    X: Table,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    as_they_are: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Target of every distinct row minus that of its nearest neighbour, and the rows' weights.

    Columns that are marked by ``as_they_are`` are not standardised; those of a data frame are
    encoded, and marked, here.

    Returns
    -------
    differences : ndarray of shape (distinct,) or (distinct, outputs)
    weight : ndarray of shape (distinct,)
    """
    if has_columns(X):
        encoder = FrameEncoder().fit(X, sample_weight=sample_weight)
        X, as_they_are = encoder.transform(X), encoder.encoding_.as_they_are
    rows = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(rows, target)
    given = check_weight(sample_weight, rows)
    given = np.ones(len(target)) if given is None else given
    used = np.flatnonzero(given > 0)
    # Equal rows count once, with their weights added: a copy is no neighbour.
    columns = target.reshape(len(target), -1)[used]
    keys = row_keys(rows[used], columns, smallest_counted(rows[used]))
    _, first, group = np.unique(keys.xy, return_index=True, return_inverse=True)
    if len(first) < 2:
        raise ValueError("X and y have fewer than two distinct rows of positive weight.")
    weight = np.bincount(group, given[used]).astype(np.float64)
    # Of several nearest rows, those of equal inputs, the order decides: it has no units of y.
    order = np.lexsort((*columns[first].T[::-1], keys.x[first]))
    rows, target, weight = rows[used][first[order]], target[used][first[order]], weight[order]
    scaled = fit_input_map("standard", rows, weight, as_they_are=as_they_are)(rows)
    neighbours = NearestNeighbors(n_neighbors=1).fit(scaled).kneighbors(return_distance=False)
    return target - target[neighbours[:, 0]], weight


def given_noise_variance(given: Any, rows: Rows) -> FloatArray | None:
    """σ² of every output from a parameter ``noise_variance``; None for the paper's estimate."""
    if isinstance(given, (bool, np.bool_)):
        raise TypeError(f"noise_variance={given!r} must be a number, not a truth value.")
    if isinstance(given, str) and given == "paper":
        return None
    if isinstance(given, str) and given == "difference":
        if sp.issparse(rows.X) or hasattr(rows.X, "columns") or is_device_array(rows.X):
            raise ValueError(
                "noise_variance='difference' needs X as a dense NumPy array to find neighbours; "
                "give noise_variance as a number or leave it to 'paper'."
            )
        found = neighbour_differences(rows.X, rows.y, rows.weight, rows.as_they_are)
        return np.asarray(np.average(0.5 * found[0] ** 2, axis=0, weights=found[1]))
    try:
        value = np.broadcast_to(NUMPY.floats(given), (rows.y.shape[1],))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"noise_variance={given!r} must be a number, one per output, 'paper', 'difference' "
            "or None."
        ) from error
    if not (np.isfinite(value).all() and (value >= 0).all()):
        raise ValueError(f"noise_variance={given!r} must be finite and not negative.")
    return value.copy()
