r"""Closed forms of linear models, NCL ensembles and means, whose fits are linear in y.

A fit is :math:`F(x) = c(x) + L(x)\,y` with c and L independent of y. Every function here fits a
clone, so that bad data meet the estimator's own checks, and gives L at any rows and
:math:`\sum_i \partial F(x_i)/\partial y_i`, from eigenvalues or from the weights of a row on
itself wherever that spares the n×n matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, has_fit_parameter, validate_data

from negcorr._common.lapack import thin_svd
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr.ensemble.huber import threshold_of
from negcorr.exceptions import NotLinearError
from negcorr.path.settings import given_gap
from negcorr.selection.automatic_basis import open_questions

__all__ = [
    "EPS",
    "ClosedForm",
    "dummy",
    "fitted_clone",
    "least_squares",
    "ncl",
    "outputs_of",
    "per_output",
    "ridge",
]

EPS = float(np.finfo(np.float64).eps)

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
    fresh = clone(estimator).set_params(**changes)
    if weight is None:
        return fresh.fit(X, y)
    if not has_fit_parameter(fresh, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but {type(fresh).__name__} takes none; give None."
        )
    return fresh.fit(X, y, sample_weight=weight)


def shares_of(weight: FloatArray | None, n: int) -> FloatArray:
    """The weights of a mean, w/Σw, shape (n,)."""
    return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()


def per_output(value: npt.ArrayLike, y: Any) -> FloatArray:
    """A penalty for each output, from one for all or one for each."""
    alpha = np.ravel(np.asarray(value, dtype=np.float64))
    if len(alpha) not in (1, outputs_of(y)):
        raise ValueError(
            f"alpha={value!r} must be a number or one for each of the {outputs_of(y)} outputs."
        )
    return np.broadcast_to(alpha, (outputs_of(y),))


def least_squares(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """LinearRegression: dof is the rank, plus one for the intercept."""
    if estimator.positive:
        raise NotLinearError(
            "LinearRegression(positive=True) is not linear in y: which coefficients are zero "
            "depends on y."
        )
    # copy_X=False would write into the caller's table.
    fitted = fitted_clone(estimator, X, y, weight, copy_X=True)
    # Which singular values count differs between releases of scikit-learn; its fit says.
    return _rotated(fitted, X, weight, np.zeros(outputs_of(y)), getattr(fitted, "rank_", None))


def ridge(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """Ridge: dof is Σ s²/(s² + α), plus one for the intercept; the solver does not matter."""
    if estimator.positive:
        raise NotLinearError(
            "Ridge(positive=True) is not linear in y: which coefficients are zero depends on y."
        )
    fitted = fitted_clone(estimator, X, y, weight, copy_X=True)
    return _rotated(fitted, X, weight, per_output(estimator.alpha, y), None)


@dataclass(frozen=True, repr=False)
class _Rotation:
    """A linear model in the singular vectors of its centred, √w-scaled table."""

    fitted: Any
    mean: FloatArray
    right: FloatArray
    gain: FloatArray
    left: FloatArray
    base: FloatArray


def _rotated(
    fitted: Any, X: Table, weight: FloatArray | None, alpha: FloatArray, rank: int | None
) -> ClosedForm:
    table = validate_data(fitted, X, reset=False, accept_sparse=_SPARSE, dtype=np.float64)
    if sp.issparse(table) and table.shape[0] * table.shape[1] > DENSE_CELLS:
        raise NotLinearError(
            f"a sparse table of shape {table.shape} is too large for the singular value "
            f"decomposition that the closed form needs: more than {DENSE_CELLS} cells."
        )
    dense = table.toarray() if sp.issparse(table) else table
    shares = shares_of(weight, len(dense))
    root = np.ones(len(dense)) if weight is None else np.sqrt(weight)
    mean = np.zeros(dense.shape[1])
    if fitted.fit_intercept:
        # Twice, so that of a long constant column only one rounding is left.
        mean = shares @ dense
        mean = mean + shares @ (dense - mean)
    centred = (dense - mean) * root[:, np.newaxis]
    # Such a rest is no direction of its own.
    rest = 4 * EPS * np.linalg.norm(root) * np.abs(mean)
    centred[:, np.linalg.norm(centred, axis=0) <= rest] = 0.0
    left, s, right = thin_svd(centred)
    floor = EPS * s.max(initial=0.0)
    if rank is None and (alpha > 0).all():
        # A penalty needs no rank: directions without weight shrink to nothing by themselves.
        r = int(np.count_nonzero(s))
    elif rank is None:
        r = int(np.count_nonzero(s > max(dense.shape) * floor))
    else:
        # It may count a constant column, of which nothing is left here.
        r = min(rank, int(np.count_nonzero(s > floor)))
    shrunk = 1.0 / (1.0 + (np.sqrt(alpha) / s[:r, np.newaxis]) ** 2)
    rotation = _Rotation(
        fitted=fitted,
        mean=mean,
        right=right[:r].T,
        gain=shrunk / s[:r, np.newaxis],
        left=left[:, :r] * root[:, np.newaxis],
        base=shares * fitted.fit_intercept,
    )
    return ClosedForm(
        dof=shrunk.sum(axis=0) + fitted.fit_intercept,
        weights=partial(_in_rotation, rotation),
        predict=fitted.predict,
        variance=partial(_rotated_variance, rotation, fitted.fit_intercept / float(root @ root)),
    )


def _in_rotation(model: _Rotation, X: Table, output: int) -> FloatArray:
    scaled = _rotated_rows(model, X) * model.gain[:, output]
    return np.asarray(scaled @ model.left.T + model.base)


def _rotated_variance(model: _Rotation, constant: float, X: Table, output: int) -> FloatArray:
    """The columns of U are orthonormal, and orthogonal to √w with an intercept."""
    scaled = _rotated_rows(model, X) * model.gain[:, output]
    return np.asarray(np.sum(scaled**2, axis=1) + constant)


def _rotated_rows(model: _Rotation, X: Table) -> FloatArray:
    rows = validate_data(model.fitted, X, reset=False, accept_sparse=_SPARSE, dtype=np.float64)
    if sp.issparse(rows):
        return np.asarray(rows @ model.right - model.mean @ model.right)
    return np.asarray((rows - model.mean) @ model.right)


def ncl(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """NCLRegressor at a given λ: one draw of its features, held; dof is Theorem 5's."""
    if given_gap(estimator.lam, estimator.gap) is None:
        raise NotLinearError(
            "NCLRegressor(lam='auto') is not linear in y: the search for lam depends on y. Give "
            "lam or gap."
        )
    if threshold_of(estimator.loss) is not None:
        raise NotLinearError(
            f"NCLRegressor(loss={estimator.loss!r}) is not linear in y: which targets are bent, "
            "and how far, depends on y. Give loss='squared'."
        )
    if open_questions(estimator) is not None:
        raise NotLinearError(
            "NCLRegressor whose basis, gamma or alpha is 'auto' is not linear in y: the search for "
            "features depends on y. Name them, as in basis='fourier', gamma='kwok-tsang'."
        )
    fitted = fitted_clone(estimator, X, y, weight)
    return ClosedForm(
        dof=np.atleast_1d(fitted.dof_),
        weights=partial(_in_modes, fitted, X, weight),
        predict=fitted.predict,
        variance=partial(_variance_in_modes, fitted),
    )


def _in_modes(
    fitted: Any, trained: Table, weight: FloatArray | None, X: Table, output: int
) -> FloatArray:
    spectrum = fitted.path_.spectrum
    gap = float(np.atleast_1d(fitted.gap_)[output])
    scaled = spectrum.shrinkage(gap=gap) / spectrum.rho
    inner = (_coordinates(fitted, X) * scaled) @ _coordinates(fitted, trained).T
    return np.asarray((inner + spectrum.fit_intercept) * shares_of(weight, inner.shape[1]))


def _coordinates(fitted: Any, X: Table) -> FloatArray:
    return np.asarray(fitted.path_.spectrum.project(_features(fitted, X)))


def _variance_in_modes(fitted: Any, X: Table, output: int) -> FloatArray:
    variance = fitted.path_.spectrum.variance_factor(_features(fitted, X), fitted.gap_)
    return np.asarray(variance[:, output])


def _features(fitted: Any, X: Table) -> FloatArray:
    rows = fitted._validated_inputs(X)
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
    by_mean = fitted.strategy == "mean"
    row = shares_of(weight, _num_samples(y)) * by_mean
    return ClosedForm(
        np.full(outputs_of(y), float(by_mean)), partial(_everywhere, row), fitted.predict
    )


def _everywhere(row: FloatArray, X: Table, output: int) -> FloatArray:
    return np.tile(row, (_num_samples(X), 1))
