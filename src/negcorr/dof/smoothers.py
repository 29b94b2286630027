r"""Exact smoothing weights and degrees of freedom of estimators that are linear in y.

Where a fit is :math:`F(x) = c(x) + L(x)\,y` with c and L independent of y, its degrees of
freedom are the trace of L over the training rows: no resampling, no assumption on the noise.
:data:`KINDS` lists the known types; for any other estimator the error gives the reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import _num_samples

from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import check_weight, is_integer
from negcorr.dof import closed_forms
from negcorr.dof.closed_forms import ClosedForm, outputs_of
from negcorr.dof.common_seeds import seeded
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import NotLinearError

__all__ = ["KINDS", "LinearSmoother", "linear_smoother"]

#: Cells of L that are held at a time where only their squares are wanted.
BLOCK_CELLS = 2**22

#: Differences up to this share of the largest value are rounding, not another result.
ROUNDING = 1e-8


@dataclass(frozen=True)
class LinearSmoother:
    """A fit F(x) = c(x) + L(x)·y; made by :func:`linear_smoother`.

    Attributes
    ----------
    name : str
        Class of the estimator.
    dof : ndarray of shape (outputs,)
        Degrees of freedom Σ ∂F(x_i)/∂y_i, the trace of L over the training rows.
    n_samples : int
        Number of training rows n, those of weight zero included.
    n_outputs : int
        Number of targets.
    sample_weight : ndarray of shape (n,) or None
        Frequencies of the training rows.
    """

    name: str
    dof: FloatArray
    n_samples: int
    n_outputs: int
    sample_weight: FloatArray | None = field(repr=False)
    _form: ClosedForm = field(repr=False)

    def weights(self, X: Table, output: int = 0) -> FloatArray:
        """L at the rows of X: the weight of each training target in each prediction.

        Parameters
        ----------
        X : table of shape (n_new, d)
            Rows, as the estimator's ``predict`` takes them.
        output : int, default=0
            Which target; outputs differ where each has its own penalty.

        Returns
        -------
        ndarray of shape (n_new, n)
            A row is NaN where the prediction is: at a row with no neighbour in the radius.
        """
        self._check_output(output)
        return np.asarray(self._form.weights(X, int(output)), dtype=np.float64)

    def predict(self, X: Table) -> AnyArray:
        """F at the rows of X, shape (n_new,) or (n_new, outputs)."""
        return np.asarray(self._form.predict(X))

    def variance(self, X: Table, output: int = 0) -> FloatArray:
        """Variance of F at the rows of X over that of the noise, shape (n_new,).

        The squared norm of each row of L. With frequencies w a training row is the mean of that
        many observations, whose noise is smaller: Σ_j L_j²/w_j.
        """
        self._check_output(output)
        variance = np.empty(_num_samples(X))
        for block in gen_batches(len(variance), max(1, BLOCK_CELLS // self.n_samples)):
            rows = _safe_indexing(X, block)
            if self._form.variance is not None:
                variance[block] = self._form.variance(rows, int(output))
                continue
            squares = self._form.weights(rows, int(output)) ** 2
            if self.sample_weight is not None:
                used = self.sample_weight > 0
                squares = squares[:, used] / self.sample_weight[used]
            variance[block] = squares.sum(axis=1)
        return variance

    def _check_output(self, output: Any) -> None:
        last = self.n_outputs - 1
        if not is_integer(output) or not 0 <= output <= last:
            raise ValueError(f"output={output!r} must be an integer from 0 to {last}.")


def linear_smoother(estimator: Any, X: Table, y: Any, sample_weight: Any = None) -> LinearSmoother:
    """Smoothing weights and degrees of freedom of an estimator that is linear in y.

    Parameters
    ----------
    estimator : estimator
        One of :data:`KINDS` itself, not of a class derived from it: ordinary least squares,
        ridge, kernel ridge, neighbours, a Gaussian process whose kernel is fixed, NCL at a
        given λ, a mean or a constant; or a pipeline that ends in one and whose transformers do
        not use y. It is cloned, never changed.
    X : table of shape (n, d)
        Training rows. Kept, not copied, where the weights at new rows need them.
    y : array-like of shape (n,) or (n, outputs)
        Targets. L does not depend on them; the estimator checks them.
    sample_weight : array-like of shape (n,), optional
        Frequencies, for estimators that take them; rows of weight zero add nothing to dof. In
        a pipeline they go to the last step alone, as ``<step>__sample_weight`` does.

    Returns
    -------
    LinearSmoother

    Raises
    ------
    NotLinearError
        With the reason why there is no closed form.

    Notes
    -----
    Solvers that stop early (least squares on sparse tables, "sag" and the like) give almost the
    exact solution; L belongs to the exact one. Random features are drawn once: dof is that of an
    estimator with these features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from negcorr.dof.smoothers import linear_smoother
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    >>> smoother = linear_smoother(Ridge(alpha=10.0), X, y)
    >>> smoother.dof.round(2)
    array([3.83])
    >>> fitted = Ridge(alpha=10.0).fit(X, y)
    >>> bool(np.allclose(smoother.weights(X) @ y, fitted.predict(X)))
    True
    """
    if isinstance(estimator, type):
        raise TypeError(f"estimator={estimator!r} is a class; give an instance of it.")
    kind, name = KINDS.get(type(estimator)), type(estimator).__name__
    if kind is None:
        problem = "has no closed form here: its fit is not known to be linear in y"
        raise NotLinearError(f"{name} {problem}.")
    weight = check_weight(sample_weight, X)
    form = kind(estimator, X, y, weight)
    if isinstance(estimator, Pipeline):
        name = f"{name} ending in {type(estimator.steps[-1][1]).__name__}"
    return LinearSmoother(name, form.dof, _num_samples(y), outputs_of(y), weight, form)


def _pipeline(estimator: Any, X: Table, y: Any, weight: FloatArray | None) -> ClosedForm:
    """Transformers that do not use y, then an estimator with a closed form."""
    if weight is not None and get_config()["enable_metadata_routing"]:
        raise NotLinearError(
            "where metadata routing is on, it decides which steps of a pipeline get sample_weight."
        )
    *before, (last_name, last) = clone(estimator).steps
    fitted: list[Any] = []
    rows = X
    for name, transformer in before:
        if transformer is None or isinstance(transformer, str):  # "passthrough"
            continue
        # Steps without a seed must draw the same in every fit, though not all alike.
        repeatable = seeded(transformer, len(fitted))
        rows = _transformed_without_y(name, repeatable, rows, y)
        fitted.append(repeatable)
    try:
        smoother = linear_smoother(last, rows, y, weight)
    except NotLinearError as error:
        raise NotLinearError(f"the last step of the pipeline, {last_name!r}: {error}") from error
    answers = smoother.weights, smoother.predict, smoother.variance
    weights, predict, variance = (partial(_after_transformers, fitted, each) for each in answers)
    dof = smoother.dof
    if not _same(rows, _transformed(fitted, X)):
        # Some steps transform a row differently in ``fit_transform`` and in ``transform``:
        # only the weights themselves give the prediction at a training row.
        traces = [np.trace(weights(X, output)) for output in range(smoother.n_outputs)]
        dof = np.asarray(traces, dtype=np.float64)
    return ClosedForm(dof, weights, predict, variance)


def _transformed_without_y(name: str, transformer: Any, X: Table, y: Any) -> Table:
    """Fit a transformer; return its output on X. Raise NotLinearError if it depends on y.

    To see that, clones are fitted without y, with y in another order (anything but an array is
    left to the transformer), and with targets of another mean, spread and order of size.
    """
    array = np.asarray(y)
    shuffled = array if array.ndim == 0 else np.random.default_rng(0).permutation(array)
    inverted = 1.0 - 3.0 * array if array.dtype.kind in "fiu" else array
    clones = [clone(transformer) for _ in range(3)]
    rows = _fit_transform(transformer, X, y)
    again = transformer.transform(deepcopy(X))
    step = f"step {name!r} of the pipeline, {transformer!r}"
    for other, targets in zip(clones, (None, shuffled, inverted), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first fit has warned
            try:
                of_other = _fit_transform(other, X, targets)
            # Whatever is raised here was not raised with y.
            except Exception as error:
                raise NotLinearError(f"{step}, cannot be fitted without y: {error}") from error
            if not (_same(rows, of_other) and _same(again, other.transform(deepcopy(X)))):
                raise NotLinearError(f"{step}, looks at y: with another y it gives other features.")
    return rows


def _fit_transform(transformer: Any, X: Table, y: Any) -> Table:
    own = deepcopy(X)  # transformers with copy=False write into it
    targets = () if y is None else (y,)
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(own, *targets)
    return transformer.fit(own, *targets).transform(deepcopy(X))


def _transformed(fitted: list[Any], X: Table) -> Table:
    rows = deepcopy(X)
    for transformer in fitted:
        rows = transformer.transform(rows)
    return rows


def _after_transformers(
    fitted: list[Any], answer: Callable[..., Any], X: Table, *output: int
) -> Any:
    return answer(_transformed(fitted, X), *output)


def _same(first: Table, second: Table) -> bool:
    """Whether two tables are equal up to rounding; missing values equal each other."""
    if np.shape(first) != np.shape(second):
        return False
    if sp.issparse(first) or sp.issparse(second):
        first, second = sp.csr_array(first), sp.csr_array(second)
        largest = abs(first).max() if first.nnz else 0.0
        return bool(abs(first - second).max() <= ROUNDING * largest)
    a, b = np.asarray(first), np.asarray(second)
    if a.dtype.kind in "fiub" and b.dtype.kind in "fiub":
        largest = float(np.max(np.abs(a), where=np.isfinite(a), initial=0.0))
        return bool(np.allclose(a, b, rtol=0.0, atol=ROUNDING * largest, equal_nan=True))
    pairs = zip(a.ravel(), b.ravel(), strict=True)
    return all(p is q or p == q or (p != p and q != q) for p, q in pairs)


#: What makes the closed form of each type of estimator.
KINDS: dict[type, Callable[[Any, Table, Any, FloatArray | None], ClosedForm]] = {
    DummyRegressor: closed_forms.dummy,
    GaussianProcessRegressor: closed_forms.gaussian_process,
    KernelRidge: closed_forms.kernel_ridge,
    KNeighborsRegressor: closed_forms.neighbours,
    LinearRegression: closed_forms.linear_model,
    NCLRegressor: closed_forms.ncl,
    Pipeline: _pipeline,
    RadiusNeighborsRegressor: closed_forms.neighbours,
    Ridge: closed_forms.linear_model,
}
