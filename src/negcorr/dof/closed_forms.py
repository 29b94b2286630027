r"""Closed forms of estimators whose fits are linear in y, one function for each kind.

A fit is :math:`F(x) = c(x) + L(x)\,y` with c and L independent of y. Every function here fits a
clone, so that the estimator's own checks refuse bad data. It gives L at any rows, and
:math:`\sum_i \partial F(x_i)/\partial y_i`, without the n×n matrix where that is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, solve_triangular
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.validation import _num_samples, validate_data

from negcorr._common.arrays import thin_svd
from negcorr._common.lapack import EPS
from negcorr._common.types import AnyArray, BoolArray, FloatArray, Table
from negcorr._common.validation import check_per_output
from negcorr.bases import AutoBasis
from negcorr.dof.monte_carlo.refits import fit_arguments
from negcorr.ensemble.fitted import validated_inputs
from negcorr.ensemble.huber import threshold_of
from negcorr.exceptions import NotLinearError
from negcorr.path.tune import given_gap

__all__ = [
    "ClosedForm",
    "dummy",
    "gaussian_process",
    "kernel_ridge",
    "linear_model",
    "ncl",
    "neighbours",
    "outputs_of",
]

#: Sparse tables up to this many cells, 1 GiB as doubles, are made dense for their SVD.
DENSE_CELLS = 2**27

_SPARSE = ("csr", "csc", "coo")


@dataclass(frozen=True, repr=False)
class ClosedForm:
    """A fit that is linear in y.

    Attributes
    ----------
    dof : ndarray of shape (outputs,)
        Trace of L over the training rows.
    weights : callable
        From rows (n_new, d) and the number of an output to L of shape (n_new, n).
    predict : callable
        From rows to predictions: that of the fitted clone.
    variance : callable or None
        From rows and the number of an output to Var F(x)/σ² of shape (n_new,), where that is
        known without L.
    """

    dof: FloatArray
    weights: Callable[[Table, int], FloatArray]
    predict: Callable[[Table], AnyArray]
    variance: Callable[[Table, int], FloatArray] | None = None


def outputs_of(y: Any) -> int:
    """Number of targets in y of shape (n,) or (n, outputs)."""
    shape = np.shape(y)
    return 1 if len(shape) < 2 else int(shape[1])


def fitted_clone(
    estimator: Any, X: Table, y: Any, weight: FloatArray | None, **changes: Any
) -> Any:
    """A fitted clone, with some parameters changed."""
    unfitted = clone(estimator).set_params(**changes)
    return unfitted.fit(X, y, **fit_arguments(unfitted, weight))


def shares_of(weight: FloatArray | None, n: int) -> FloatArray:
    """The weights of a mean, w/Σw, shape (n,)."""
    return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()


def roots_of(weight: FloatArray | None, n: int) -> FloatArray:
    """√w, shape (n,)."""
    return np.ones(n) if weight is None else np.sqrt(weight)


def linear_model(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """LinearRegression and Ridge, from the singular values s of the centred, √w-scaled table.

    dof is Σ s²/(s² + α), the rank where α = 0, plus one for the intercept; the solver does not
    matter.
    """
    name = type(estimator).__name__
    if estimator.positive:
        raise NotLinearError(
            f"{name}(positive=True) is not linear in y: which coefficients are zero depends on y."
        )
    # copy_X=False would write into the caller's table.
    fitted = fitted_clone(estimator, X, y, weight, copy_X=True)
    alpha = np.squeeze(getattr(estimator, "alpha", 0.0))
    alpha = check_per_output("alpha", alpha, outputs_of(y))
    # Releases of scikit-learn differ in which singular values count: use the rank of its fit.
    rank = getattr(fitted, "rank_", None)
    table = validate_data(fitted, X, reset=False, accept_sparse=_SPARSE, dtype=np.float64)
    if sp.issparse(table):
        if table.shape[0] * table.shape[1] > DENSE_CELLS:
            raise NotLinearError(
                f"a sparse table of shape {table.shape} is too large for the singular value "
                f"decomposition that the closed form needs: more than {DENSE_CELLS} cells."
            )
        table = table.toarray()
    shares, root = shares_of(weight, len(table)), roots_of(weight, len(table))
    mean = np.zeros(table.shape[1])
    if fitted.fit_intercept:
        # Centred twice, so that a long constant column keeps only one rounding error.
        mean = shares @ table
        mean = mean + shares @ (table - mean)
    centred = (table - mean) * root[:, np.newaxis]
    # A centred constant column contains only rounding errors, so it is not a direction.
    rounding = 4 * EPS * np.linalg.norm(root) * np.abs(mean)
    centred[:, np.linalg.norm(centred, axis=0) <= rounding] = 0.0
    left, s, right = thin_svd(centred)
    floor = EPS * s.max(initial=0.0)
    if rank is None:
        # With a penalty, directions without weight shrink to nothing by themselves.
        floor *= 0.0 if (alpha > 0).all() else max(table.shape)
    # The rank may count a constant column, of which nothing is left here.
    r = min(int(np.count_nonzero(s > floor)), len(s) if rank is None else rank)
    shrinkage = 1.0 / (1.0 + (np.sqrt(alpha) / s[:r, np.newaxis]) ** 2)
    model = _SingularVectors(
        fitted=fitted,
        mean=mean,
        right=right[:r].T,
        gain=shrinkage / s[:r, np.newaxis],
        left=left[:, :r] * root[:, np.newaxis],
        mean_weights=shares * fitted.fit_intercept,
        mean_variance=fitted.fit_intercept / float(root @ root),
    )
    dof = shrinkage.sum(axis=0) + fitted.fit_intercept
    return ClosedForm(dof, model.weights, fitted.predict, model.variance)


@dataclass(frozen=True, repr=False)
class _SingularVectors:
    """A linear model in the singular vectors of its centred, √w-scaled table."""

    fitted: Any
    mean: FloatArray
    right: FloatArray
    gain: FloatArray
    left: FloatArray
    mean_weights: FloatArray
    mean_variance: float

    def weights(self, X: Table, output: int) -> FloatArray:
        return np.asarray(self._scaled(X, output) @ self.left.T + self.mean_weights)

    def variance(self, X: Table, output: int) -> FloatArray:
        # The columns of U are orthonormal, and orthogonal to √w with an intercept.
        return np.asarray(np.sum(self._scaled(X, output) ** 2, axis=1) + self.mean_variance)

    def _scaled(self, X: Table, output: int) -> FloatArray:
        rows = validate_data(self.fitted, X, reset=False, accept_sparse=_SPARSE, dtype=np.float64)
        if sp.issparse(rows):
            projected = rows @ self.right - self.mean @ self.right
        else:
            projected = (rows - self.mean) @ self.right
        return np.asarray(projected * self.gain[:, output])


def ncl(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """NCLRegressor at a given λ, with features that are drawn once; dof is Theorem 5's."""
    if given_gap(estimator.lam, estimator.gap) is None:
        raise NotLinearError(
            "NCLRegressor(lam='auto') is not linear in y: the search for lam depends on y. Give "
            "lam or gap."
        )
    if threshold_of(estimator.loss) is not None:
        raise NotLinearError(
            f"NCLRegressor(loss={estimator.loss!r}) is not linear in y: which targets the loss "
            "moves, and how far, depends on y. Give loss='squared'."
        )
    basis = estimator.basis
    if isinstance(basis, AutoBasis) or (isinstance(basis, str) and basis == "auto"):
        raise NotLinearError(
            "NCLRegressor whose basis is 'auto' or an AutoBasis is not linear in y: the search for "
            "features depends on y. Give a basis, as in basis='fourier'."
        )
    fitted = fitted_clone(estimator, X, y, weight)
    weights, variance = partial(_in_modes, fitted, X, weight), partial(_variance_in_modes, fitted)
    return ClosedForm(np.atleast_1d(fitted.dof_), weights, fitted.predict, variance)


def _in_modes(
    fitted: Any, trained: Table, weight: FloatArray | None, X: Table, output: int
) -> FloatArray:
    spectrum = fitted.path_.spectrum
    gap = float(np.atleast_1d(fitted.gap_)[output])
    scaled = spectrum.shrinkage(gap=gap) / spectrum.rho
    new, old = (spectrum.project(_features(fitted, rows)) for rows in (X, trained))
    inner = (new * scaled) @ old.T
    return np.asarray((inner + spectrum.fit_intercept) * shares_of(weight, inner.shape[1]))


def _variance_in_modes(fitted: Any, X: Table, output: int) -> FloatArray:
    variance = fitted.path_.spectrum.variance_factor(_features(fitted, X), fitted.gap_)
    return np.asarray(variance[:, output])


def _features(fitted: Any, X: Table) -> FloatArray:
    rows = validated_inputs(fitted, X, fitted.coef_, "predict")
    features = np.empty((_num_samples(rows), int(fitted.basis_.block_starts_[-1])))
    fitted.basis_.fill(rows, features)
    return features


def dummy(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """DummyRegressor: one degree of freedom for a mean, none for a constant."""
    if estimator.strategy not in ("mean", "constant"):
        raise NotLinearError(
            f"DummyRegressor(strategy={estimator.strategy!r}) is not linear in y; 'mean' and "
            "'constant' are."
        )
    fitted = fitted_clone(estimator, X, y, weight)
    dof = float(fitted.strategy == "mean")
    row = shares_of(weight, _num_samples(y)) * dof
    return ClosedForm(np.full(outputs_of(y), dof), partial(_same_weights, row), fitted.predict)


def _same_weights(row: FloatArray, X: Table, output: int) -> FloatArray:
    return np.tile(row, (_num_samples(X), 1))


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
    root = roots_of(weight, len(kernel))
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
    # Without an optimiser the fitted kernel equals the given one; free parameters can be counted.
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
    kind = "numeric" if vectors else None
    rows = validate_data(fitted, X, reset=False, ensure_2d=vectors, dtype=kind)
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
    # The same search as in predict, so that ties are resolved in the same way.
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
