"""Closed forms of smoothers that compare rows: kernels, Gaussian processes, neighbours."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, solve_triangular
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.validation import validate_data

from negcorr._common.lapack import EPS
from negcorr._common.types import BoolArray, FloatArray, Table
from negcorr._common.validation import check_per_output
from negcorr.dof.linear_smoothers import ClosedForm, fitted_clone, outputs_of
from negcorr.exceptions import NotLinearError

__all__ = ["gaussian_process", "kernel_ridge", "neighbours"]


def kernel_ridge(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """KernelRidge: dof is Σ k/(k + α) over the eigenvalues k of √w K √w."""
    fitted = fitted_clone(estimator, X, y, weight)
    kernel = _kernel(fitted, fitted.X_fit_, None)
    gap = np.abs(kernel - kernel.T).max()
    if gap > np.sqrt(np.finfo(kernel.dtype).eps) * np.abs(kernel).max():
        raise NotLinearError(
            f"the kernel matrix of KernelRidge is not symmetric (by up to {gap:.3g}), so its "
            "fit depends on which triangle the solver reads."
        )
    root = np.ones(len(kernel)) if weight is None else np.sqrt(weight)
    k, vectors = np.linalg.eigh(np.asarray(kernel, np.float64) * root * root[:, np.newaxis])
    k[np.abs(k) <= len(k) * EPS * np.abs(k).max()] = 0.0
    alpha = check_per_output("alpha", np.squeeze(estimator.alpha), outputs_of(y))
    shifted = k[:, np.newaxis] + alpha
    # A singular system gets its least-squares solution, as from scikit-learn.
    kept = np.abs(shifted) > len(k) * EPS * np.abs(shifted).max(axis=0)
    gain = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=kept)
    dof = (k[:, np.newaxis] * gain).sum(axis=0)
    scaled = vectors * root[:, np.newaxis]
    return ClosedForm(dof, partial(_in_kernel, fitted, scaled, gain), fitted.predict)


def _kernel(fitted: Any, rows: Table, others: Table | None) -> FloatArray:
    """Kernel values with the parameters that KernelRidge hands on."""
    if callable(fitted.kernel):
        params = fitted.kernel_params or {}
    else:
        params = {"gamma": fitted.gamma, "degree": fitted.degree, "coef0": fitted.coef0}
    values = pairwise_kernels(rows, others, metric=fitted.kernel, filter_params=True, **params)
    return np.asarray(values.toarray() if sp.issparse(values) else values)


def _in_kernel(
    fitted: Any, vectors: FloatArray, gain: FloatArray, X: Table, output: int
) -> FloatArray:
    rows = validate_data(fitted, X, reset=False, accept_sparse=("csr", "csc"))
    projected = _kernel(fitted, rows, fitted.X_fit_) @ vectors
    return np.asarray((projected * gain[:, output]) @ vectors.T)


def gaussian_process(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """GaussianProcessRegressor with a kernel that is not fitted.

    Kernel and noise are both relative to the scaled target, so that of ``normalize_y`` only
    the mean enters.
    """
    # Without a search the kernel comes out as it went in, and free parameters can be counted.
    fitted = fitted_clone(estimator, X, y, weight, optimizer=None)
    if estimator.optimizer is not None and fitted.kernel_.n_dims > 0:
        raise NotLinearError(
            f"GaussianProcessRegressor fits {fitted.kernel_.n_dims} hyperparameters of its "
            "kernel to y; fix them, or give optimizer=None."
        )
    n = len(fitted.L_)
    # White noise is in the kernel of the training rows, never in that between two sets.
    cross = fitted.kernel_(fitted.X_train_, fitted.X_train_)
    half = solve_triangular(fitted.L_, cross, lower=True)
    dof = float(np.trace(solve_triangular(fitted.L_, half.T, lower=True)))
    if estimator.normalize_y:
        dof += 1.0 - float((cross @ cho_solve((fitted.L_, True), np.ones(n))).mean())
    return ClosedForm(np.full(outputs_of(y), dof), partial(_in_process, fitted), fitted.predict)


def _in_process(fitted: Any, X: Table, output: int) -> FloatArray:
    vectors = fitted.kernel_.requires_vector_input
    rows = validate_data(
        fitted, X, reset=False, ensure_2d=vectors, dtype="numeric" if vectors else None
    )
    weights = cho_solve((fitted.L_, True), fitted.kernel_(rows, fitted.X_train_).T).T
    if fitted.normalize_y:
        weights = weights - weights.mean(axis=1, keepdims=True) + 1.0 / weights.shape[1]
    return np.asarray(weights)


def neighbours(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """KNeighborsRegressor, RadiusNeighborsRegressor: dof is the sum of rows' own weights."""
    fitted = fitted_clone(estimator, X, y, weight)
    weights, empty = _neighbour_weights(fitted, X)
    itself = np.where(empty, np.nan, weights.diagonal())
    dof = np.full(outputs_of(y), itself.sum())
    return ClosedForm(dof, partial(_among_neighbours, fitted), fitted.predict)


def _among_neighbours(fitted: Any, X: Table, output: int) -> FloatArray:
    weights, empty = _neighbour_weights(fitted, X)
    dense = weights.toarray()
    dense[empty] = np.nan
    return np.asarray(dense)


def _neighbour_weights(fitted: Any, X: Table) -> tuple[Any, BoolArray]:
    """Sparse L of shape (n_new, n), and which rows have no neighbour at all."""
    rule, few = fitted.weights, isinstance(fitted, KNeighborsRegressor)
    uniform = rule is None or (isinstance(rule, str) and rule == "uniform")
    # The very search that predict makes, so that ties are broken as it breaks them.
    if few and uniform:
        distances, found = None, fitted.kneighbors(X, return_distance=False)
    else:
        distances, found = fitted.kneighbors(X) if few else fitted.radius_neighbors(X)
    row = np.repeat(np.arange(len(found)), [len(of_row) for of_row in found])
    column = _flat(found).astype(np.intp)
    if uniform or distances is None:
        raw = np.ones(len(row))
    elif callable(rule):
        raw = _flat(rule(distances))
    else:
        # One over the distance; where some are zero, those rows share all weight.
        with np.errstate(divide="ignore"):
            inverse = 1.0 / _flat(distances)
        infinite = np.isinf(inverse)
        raw = np.where(np.bincount(row, weights=infinite)[row] > 0, infinite, inverse)
    total = np.bincount(row, weights=raw, minlength=len(found))
    shape = (len(found), fitted.n_samples_fit_)
    weights = sp.csr_array((raw / total[row], (row, column)), shape=shape)
    return weights, np.bincount(row, minlength=len(found)) == 0


def _flat(by_row: Any) -> FloatArray:
    """Rows of unequal length, one after the other."""
    return np.concatenate([np.asarray(of_row, dtype=np.float64) for of_row in by_row])
