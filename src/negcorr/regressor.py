"""NCLRegressor: the closed-form NCL ensemble as a scikit-learn estimator."""

from __future__ import annotations

import copy
import itertools
import warnings
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from negcorr._typing import AnyArray, FloatArray, Table
from negcorr.bases._base import validate_table
from negcorr.diversity import AmbiguityDecomposition, ambiguity_decomposition
from negcorr.exceptions import PrecisionWarning
from negcorr.gaps import resolve_gap
from negcorr.intervals import (
    Residuals,
    calibration_rows,
    out_of_fold_residuals,
)
from negcorr.named_basis import make_basis
from negcorr.path import NCLPath
from negcorr.rowhash import content_hash
from negcorr.scan import Rows, scan_features
from negcorr.summary import Summary, summarise
from negcorr.tuning import PathSettings, build_path, folds_for, given_gap

__all__ = ["NCLRegressor"]


class NCLRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Regression ensemble trained by Negative Correlation Learning, in closed form.

    M members, each a linear map of its own fixed features, minimise
    :math:`(1-\lambda)\frac1M\sum_m (f_m - y)^2 + \lambda(F - y)^2` with F their average
    (equation 3 of the paper). λ = 0 trains the members apart, λ = 1 as one model; in between
    it is an inverse regulariser. One factorisation serves all λ, so the best one is found for a
    small multiple of one least-squares fit, and its degrees of freedom are known exactly.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of members M, for bases named by a string and for a single transformer.
    n_components : int, default=10
        Features per member H, for bases named by a string.
    basis : {"fourier", "orthogonal", "nystroem", "trees"}, transformer or list, \
default="fourier"
        The members' features. A transformer is cloned once per member with its own seed; a list
        of M transformers or ``(name, transformer)`` pairs gives one per member; a
        :class:`~negcorr.bases.Basis` is used as it is. Features never see y.
    gamma : float or "kwok-tsang", default="kwok-tsang"
        Inverse bandwidth of the Fourier and Nyström bases named by a string.
    standardize : bool, default=True
        Centre and scale X (weighted) for bases named by a string. Transformers given by the
        user get X untouched.
    lam : float, array-like of shape (outputs,) or "auto", default="auto"
        The knob λ in [0, 1], or "auto" to choose it by ``criterion``.
    gap : float or array-like of shape (outputs,), default=None
        1 − λ, for values of λ that a float cannot tell from 1. Excludes ``lam``.
    criterion : {"kfold", "sure", "gcv", "loo", "aic", "aicc", "bic", "cp"}, default="kfold"
        What chooses λ. Exact K-fold estimates the error at new inputs. SURE, the paper's choice,
        estimates it at the training inputs and is cheaper. Leave-one-out is exact too, for
        small n.
    cv : int, splitter or iterable, default=5
        Folds. An int means folds by content: a hash of each row decides, so equal rows stay
        together and the order of rows does not matter. Intervals use these folds as well.
    noise_variance : float, array-like, "paper", "difference" or None, default=None
        σ² for SURE and C_p: known values, the paper's estimate at λ = 0 (also None), or one
        from differences of neighbours.
    alpha : float, default=0.0
        Ridge on the members' weights, inside the blocks: it vanishes as λ → 1.
    fit_intercept : bool, default=True
        Centre features and target; adds one degree of freedom.
    solver : {"auto", "gram", "qr"}, default="auto"
        "gram" is fast, "qr" accurate for ill-conditioned features and tiny gaps; "auto" starts
        with the first and moves to the second when the conditioning of the blocks or the chosen
        gap asks for it.
    random_state : int, RandomState or None, default=None
        Seed of the basis.

    Attributes
    ----------
    lam_, gap_, dof_ : float or ndarray of shape (outputs,)
        The chosen λ, 1 − λ, and the degrees of freedom there.
    noise_variance_ : float or ndarray of shape (outputs,)
        σ² from the residuals at ``lam_``; NaN with a warning where nothing is left to
        estimate it from.
    path_ : NCLPath
        Every curve at every λ.
    coef_ : ndarray of shape (Q,) or (outputs, Q)
        Ensemble coefficients β, always in double precision.
    intercept_ : float or ndarray of shape (outputs,)
        Ensemble intercept.
    basis_ : Basis
        The fitted basis.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    Notes
    -----
    At most 4096 training rows, chosen by content, stay in the model so that intervals can
    follow λ; :meth:`compact` drops them together with the factorisation.

    References
    ----------
    H. W. J. Reeve and G. Brown, "Diversity and degrees of freedom in regression ensembles",
    Neurocomputing (2018), arXiv:1803.00314.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(random_state=0).fit(X, y)
    >>> print(f"lam {model.lam_:.3f}, dof {model.dof_:.1f}, R2 {model.score(X, y):.2f}")
    lam 0.760, dof 23.9, R2 0.55
    """

    def __init__(
        self,
        n_estimators: int = 100,
        n_components: int = 10,
        basis: Any = "fourier",
        gamma: float | str = "kwok-tsang",
        standardize: bool = True,
        lam: npt.ArrayLike | Literal["auto"] = "auto",
        gap: npt.ArrayLike | None = None,
        criterion: str = "kfold",
        cv: Any = 5,
        noise_variance: Any = None,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.basis = basis
        self.gamma = gamma
        self.standardize = standardize
        self.lam = lam
        self.gap = gap
        self.criterion = criterion
        self.cv = cv
        self.noise_variance = noise_variance
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.random_state = random_state

    def fit(self, X: Table, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Draw the basis, factorise once, choose λ.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        y : array-like of shape (n,) or (n, outputs)
            Targets; each output gets its own λ.
        sample_weight : array-like of shape (n,), optional
            Frequencies: integer weights mean the same as repeated rows.
        groups : array-like of shape (n,), optional
            Handed to the splitter ``cv``.

        Returns
        -------
        self
        """
        settings = PathSettings(
            gap=given_gap(self.lam, self.gap),
            criterion=self.criterion,
            noise_variance=self.noise_variance,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            solver=self.solver,
        )
        basis = make_basis(self)
        rows, single_output = self._validated_rows(X, y, sample_weight)
        if groups is not None and isinstance(self.cv, (int, np.integer)):
            raise ValueError(
                f"groups were given, but cv={self.cv!r} splits by content and would ignore them; "
                "give a splitter that uses groups, such as GroupKFold."
            )
        folds = folds_for(self.cv, rows, groups, settings)
        order = _canonical_order(rows)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        rows, folds = rows.take(order), folds.renumbered(position)
        self.basis_ = basis.fit(rows.X, sample_weight=rows.weight)
        self._calibration = calibration_rows(rows, folds)
        self._residuals: Residuals | None = None
        return self._adopt(build_path(rows, self.basis_, folds, settings, single_output))

    def predict(self, X: Table, return_std: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
        """Ensemble prediction F(x), with its predictive standard deviation if asked.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of a new observation: noise and the variance of
            the fit, as in scikit-learn's BayesianRidge. Bias is not in it; for honest coverage
            use :meth:`predict_interval`.

        Returns
        -------
        y_mean : ndarray of shape (n,) or (n, outputs)
        y_std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        check_is_fitted(self)
        rows = self._validated_inputs(X)
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        mean = np.empty((rows.shape[0], len(coef)))
        variance = np.empty_like(mean)
        spectrum = self._path("predict(return_std=True)").spectrum if return_std else None

        def use(block: slice, features: FloatArray) -> None:
            mean[block] = features @ coef.T + intercept
            if spectrum is not None:
                variance[block] = spectrum.variance_factor(features, np.atleast_1d(self.gap_))

        scan_features(rows, self.basis_, len(mean), use)
        if not return_std:
            return self._shaped(mean, rows)
        std = np.sqrt(np.atleast_1d(self.noise_variance_) * (1.0 + variance))
        return self._shaped(mean, rows), self._shaped(std, rows)

    def predict_interval(self, X: Table, coverage: float = 0.95) -> AnyArray:
        """Interval that a new observation falls into with the given probability.

        Quantiles of out-of-fold residuals around F(x): no assumption on the noise, and bias is
        counted. The width is the same everywhere, so coverage holds on average over inputs like
        the training rows, not for each input.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        coverage : float, default=0.95
            Wanted probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (n, 2) or (n, 2, outputs)
            Lower and upper ends.
        """
        check_is_fitted(self)
        number = isinstance(coverage, (int, float, np.number))
        if not number or not 0.0 < float(coverage) < 1.0:
            raise ValueError(f"coverage={coverage!r} must be a number between 0 and 1.")
        quantiles = self._out_of_fold_residuals().quantiles(float(coverage))
        mean = np.asarray(self.predict(X))
        if mean.ndim == 1:
            return np.asarray(mean[:, np.newaxis] + quantiles[:, 0], dtype=mean.dtype)
        return np.asarray(mean[:, np.newaxis, :] + quantiles, dtype=mean.dtype)

    def predict_members(self, X: Table) -> AnyArray:
        """Predictions f_m(x) of every member, whose mean is :meth:`predict`.

        Near λ = 1 members are useless alone; their spread is diversity, not uncertainty.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (M, n) or (M, n, outputs)
        """
        check_is_fitted(self)
        rows = self._validated_inputs(X)
        starts = self.basis_.block_starts_
        coef = (len(starts) - 1) * np.atleast_2d(self.coef_)
        q = coef.shape[1]
        members = np.empty((len(starts) - 1, rows.shape[0], len(coef)))

        def use(block: slice, features: FloatArray) -> None:
            centred = features - self._centre[:q]
            for m, (a, b) in enumerate(itertools.pairwise(starts)):
                members[m, block] = centred[:, a:b] @ coef[:, a:b].T + self._centre[q:]

        scan_features(rows, self.basis_, rows.shape[0], use)
        return self._shaped(members, rows)

    def diversity(self, X: Table, y: Any = None) -> AmbiguityDecomposition:
        """Ambiguity decomposition of the ensemble on given rows (equation 1).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        y : array-like of shape (n,) or (n, outputs), optional
            Targets. Without them the two errors are NaN and only the diversity is known.

        Returns
        -------
        AmbiguityDecomposition
        """
        members = np.asarray(self.predict_members(X), dtype=np.float64)
        if y is not None:
            target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
            return ambiguity_decomposition(members, target)
        terms = ambiguity_decomposition(members, members.mean(axis=0))
        unknown = terms.diversity * np.nan
        per_sample = np.full_like(terms.diversity_per_sample, np.nan)
        return AmbiguityDecomposition(
            unknown,
            unknown,
            terms.diversity,
            per_sample,
            per_sample,
            terms.diversity_per_sample,
        )

    def with_lam(
        self,
        lam: npt.ArrayLike | None = None,
        *,
        gap: npt.ArrayLike | None = None,
        dof: npt.ArrayLike | None = None,
    ) -> Self:
        """A fitted copy at another λ, without a refit.

        Parameters
        ----------
        lam, gap, dof : float or array-like of shape (outputs,)
            Exactly one: the λ, the gap, or the degrees of freedom to reach.

        Returns
        -------
        NCLRegressor
            Shares the basis and the factorisation. Its ``lam`` or ``gap`` parameter says where
            it stands, so that a clone refits there.
        """
        check_is_fitted(self)
        path = self._path("with_lam")
        if dof is not None:
            if lam is not None or gap is not None:
                raise ValueError("Give exactly one of lam, gap and dof.")
            gap = path.spectrum.gap_for_dof(dof)
            gap = float(gap) if gap.ndim == 0 else gap
        gaps = resolve_gap(lam, gap)
        if gaps.ndim > 1 or (gaps.ndim == 1 and len(gaps) != path.spectrum.n_outputs):
            raise ValueError(
                f"lam, gap or dof must be a number or one for each of the "
                f"{path.spectrum.n_outputs} outputs, got shape {gaps.shape}."
            )
        if (gaps < path.smallest_trusted_gap).any():
            warnings.warn(
                f"gap={float(gaps.min()):.1e} is below what this factorisation resolves "
                f"({path.smallest_trusted_gap:.1e}); refit with solver='qr' for such gaps.",
                PrecisionWarning,
                stacklevel=2,
            )
        moved = copy.copy(self)
        moved.lam, moved.gap = ("auto", gap) if lam is None else (lam, None)
        moved._residuals = None
        return moved._adopt(path.at(gaps))

    def compact(self) -> Self:
        """A fitted copy without the factorisation, small enough to ship.

        It predicts, with members, diversity and intervals; it can no longer change λ, and has no
        ``path_``, standard deviations or summary.

        Returns
        -------
        NCLRegressor
        """
        check_is_fitted(self)
        small = copy.copy(self)
        if self._calibration is not None:
            small._residuals = self._out_of_fold_residuals()
        small._calibration = None
        if hasattr(small, "path_"):
            del small.path_
        return small

    def summary(self) -> Summary:
        """What was fitted, in a readable table; print it or let a notebook show it.

        Returns
        -------
        Summary
        """
        check_is_fitted(self)
        name = self.basis if isinstance(self.basis, str) else type(self.basis_).__name__
        return summarise(self._path("summary"), name)

    def _adopt(self, path: NCLPath) -> Self:
        """Set the fitted attributes from the path's chosen λ."""
        self.path_ = path
        self.lam_, self.gap_, self.dof_ = path.lam, path.gap, path.dof()
        self.noise_variance_ = path.residual_noise_variance()
        self.coef_ = path.coef()
        self._centre = path.spectrum.centre
        intercept = path.spectrum.intercept(np.atleast_2d(self.coef_))
        self.intercept_ = float(intercept[0]) if path.single_output else intercept
        return self

    def _out_of_fold_residuals(self) -> Residuals:
        if self._residuals is not None:
            return self._residuals
        if self._calibration is None:
            raise ValueError(
                "intervals need out-of-fold residuals, and the rows of this fit could not be "
                "split into folds. Fit on more distinct rows, or give cv a splitter."
            )
        return out_of_fold_residuals(self._calibration, self._path("predict_interval"), self.basis_)

    def _path(self, caller: str) -> NCLPath:
        if not hasattr(self, "path_"):
            raise ValueError(f"{caller} needs the factorisation, which compact() has dropped.")
        return self.path_

    def _shaped(self, values: FloatArray, X: Table) -> AnyArray:
        """Drop the axis of outputs for 1-D targets; single precision for such input."""
        out = values[..., 0] if np.ndim(self.coef_) == 1 else values
        return out.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else out

    def _validated_rows(self, X: Table, y: Any, sample_weight: Any) -> tuple[Rows, bool]:
        if isinstance(self.basis, str):
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                multi_output=True,
                y_numeric=True,
                ensure_min_samples=2,
            )
        else:
            X = validate_table(self, X, reset=True)
            if y is None:
                raise ValueError("NCLRegressor requires y to be passed, but the target y is None.")
            y = check_array(y, dtype=None, ensure_2d=False, input_name="y", ensure_min_samples=2)
            check_consistent_length(X, y)
        target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, target, dtype=np.float64, ensure_non_negative=True
            )
            if not weight.sum() > 0:
                raise ValueError("sample_weight is zero for every row; at least one must count.")
        return Rows(X, target.reshape(len(target), -1), weight), target.ndim == 1

    def _validated_inputs(self, X: Table) -> Table:
        if not isinstance(self.basis, str):
            return validate_table(self, X, reset=False)
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "path_"):
            bundle["text/html"] += self.summary()._repr_html_()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if not isinstance(self.basis, str):
            inner = get_tags(make_basis(self)).input_tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan
        return tags


def _canonical_order(rows: Rows) -> npt.NDArray[np.intp]:
    """An order that content decides, so that a fit does not depend on the order of its rows."""
    keys = content_hash(rows.X, rows.y)
    return (
        np.argsort(keys, kind="stable") if rows.weight is None else np.lexsort((rows.weight, keys))
    )
