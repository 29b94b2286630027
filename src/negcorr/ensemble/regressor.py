"""NCLRegressor: the closed-form NCL ensemble as a scikit-learn estimator."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from negcorr._common.arrays import arrays_to_numpy, place_of, place_within, to_host
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import check_same_place
from negcorr.bases import AutoBasis, Basis
from negcorr.bases.named import BASES, as_basis, basis_name, takes_device_arrays, takes_tables
from negcorr.columns.inputs import FirstLook
from negcorr.diversity.decompositions import AmbiguityDecomposition, ambiguity_decomposition
from negcorr.ensemble.drawn import Drawn
from negcorr.ensemble.fit import FitSettings, draw, fit_given, fit_settings, validated
from negcorr.ensemble.fitted import (
    FittedState,
    Solution,
    in_single_precision,
    predict,
    predict_members,
    to_single,
    validated_inputs,
    warn_if_not_frequencies,
)
from negcorr.ensemble.huber import refuse_in_parts
from negcorr.ensemble.partial_fit import check_streamable, continued, with_rows_of
from negcorr.ensemble.summary import Summary, summarise
from negcorr.exceptions import NegcorrWarning
from negcorr.path.path import NCLPath
from negcorr.reading.schema import Schema
from negcorr.selection.choose import Choice
from negcorr.selection.space import SearchSpace
from negcorr.spectrum.gap import gap_per_output, resolve_gap

__all__ = ["NCLRegressor"]

#: Attributes for which λ must be known.
_ANSWERS = frozenset(["path_", "lam_", "gap_", "dof_", "noise_variance_", "coef_", "intercept_"])


@contextmanager
def _unchanged_on_error(model: Any) -> Iterator[None]:
    """Restore all attributes of a model if the block raises an error."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        for name in vars(model).keys() - before.keys():
            delattr(model, name)
        vars(model).update(before)
        raise


def _can_stream(model: NCLRegressor) -> bool:
    """Whether rows can be added: the model has moments, and no parameter needs all rows.

    Raises why not.
    """
    if model._fitted_or_none is not None:
        model._fitted_or_none.stream_or_raise()
    try:
        settings = model._settings()
    except (TypeError, ValueError):
        return True  # the method itself reports a wrong parameter
    check_streamable(settings)
    return True


class NCLRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Regression ensemble trained by Negative Correlation Learning, in closed form.

    M members, each a linear map of its own fixed features, minimise :math:`(1-\lambda)\frac1M\sum_m
    (f_m - y)^2 + \lambda(F - y)^2` with F their average (equation 3 of the paper). λ = 0 trains the
    members independently, λ = 1 trains them as one model; in between, a larger λ regularises less.
    One factorisation serves all λ, so the best one is found for a small multiple of one
    least-squares fit, and its degrees of freedom are known exactly.

    Parameters
    ----------
    basis : str, Basis, AutoBasis, transformer or list, default="auto"
        The members' features. "auto" is :class:`~negcorr.bases.AutoBasis`, which chooses them by
        the training rows; "kernel", "fourier", "orthogonal", "nystroem", "linear" and "trees" are
        short for a basis with its defaults, such as :class:`~negcorr.bases.FourierFeatures`, whose
        parameters define the features. A scikit-learn transformer makes 100 members, each with a
        seed of its own (:class:`~negcorr.bases.ClonedFeatures` makes others); a list of M
        transformers or ``(name, transformer)`` pairs makes one member of each. Features do not
        depend on y, except through the choice of ``AutoBasis``.
    lam : float, array-like of shape (outputs,) or "auto", default="auto"
        λ in [0, 1], or "auto" to choose it by ``criterion``.
    gap : float or array-like of shape (outputs,), default=None
        1 − λ, for values of λ that a float cannot distinguish from 1. Excludes ``lam``.
    criterion : {"kfold", "sure", "gcv", "loo", "aic", "aicc", "bic", "cp"}, default="kfold"
        What chooses λ. Exact K-fold estimates the error at new inputs. SURE, the paper's choice,
        estimates it at the training inputs and is cheaper. Leave-one-out is exact too, at a
        cost that grows with n·M²·Q for each λ: for hundreds of rows.
    cv : int, splitter or iterable, default=5
        Folds. An int means folds by content: a hash of each row decides, so equal rows stay
        together and the order of rows does not matter. Intervals use these folds as well.
    loss : {"squared", "huber"} or float, default="squared"
        Loss of the ensemble, F − y: squared, or Huber's, which is linear beyond c standard
        deviations of the noise, so that gross errors of targets count for little. A number is c;
        "huber" is 1.345. It needs two folds and all rows at once
        (:func:`negcorr.ensemble.huber.huber_path`).
    alpha : float, "auto" or None, default=None
        Ridge on the members' weights, inside the blocks: it vanishes as λ → 1. None is 10 for the
        functions of a kernel, with which an ensemble of them is nearly kernel ridge regression,
        and 0 for others. "auto", with ``AutoBasis``, tries several where kernels are not the best.
    noise_variance : float, array-like, "paper", "difference" or None, default=None
        σ² for SURE and C_p: known values, the paper's estimate at λ = 0 (also None), or one
        from differences of neighbours.
    fit_intercept : bool, default=True
        Centre features and target; adds one degree of freedom.
    solver : {"auto", "gram", "qr"}, default="auto"
        "gram" is fast, "qr" accurate for ill-conditioned features and tiny gaps; "auto" starts
        with the first, unless the fit is small, and moves to the second when the conditioning of
        the blocks, the fit's check of itself (:mod:`negcorr.ensemble.self_check`) or the chosen
        gap asks for it.
    random_state : int, RandomState or None, default=0
        Seed of a basis that has none of its own. With an integer the same rows give the same
        model; None draws anew at each fit.

    Attributes
    ----------
    lam_, gap_, dof_ : float or ndarray of shape (outputs,)
        The chosen λ, 1 − λ, and the degrees of freedom there.
    noise_variance_ : float or ndarray of shape (outputs,)
        σ² from the residuals at ``lam_``; NaN, with a warning, if there are no residual degrees of
        freedom.
    path_ : NCLPath
        Every curve at every λ.
    coef_ : ndarray of shape (Q,) or (outputs, Q)
        Ensemble coefficients β, always in double precision.
    intercept_ : float or ndarray of shape (outputs,)
        Ensemble intercept.
    basis_ : Basis
        The fitted basis.
    choice_ : Choice or None
        How the basis was chosen: all candidates with their leave-one-out error, and an error that
        is validated for the search. None where nothing was searched for.
    columns_ : Schema or None
        What was made of every column of a data frame, of an array of objects or of one with NaN.
        None for arrays of numbers.
    targets_ : ndarray of shape (n,) or (n, outputs), or None
        Huber targets that the ensemble was fitted to, and that ``dof_`` (exact for them as given),
        ``noise_variance_`` and ``path_`` are about. None for squared loss.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X has string names.

    Notes
    -----
    A model of :meth:`fit` holds what predictions, curves, intervals and :meth:`with_lam` need: the
    held-out predictions of at most 4096 training rows, chosen by content; the factorisation, or
    the training rows where they are fewer than features; with ``criterion="loo"`` the features of
    all rows. It keeps no moments, to which rows could be added: those stay in models that are made
    by :meth:`partial_fit`. :meth:`compact` drops rows and factorisation. Intervals are about y as
    it was given, also where the ensemble was fitted to Huber targets.

    References
    ----------
    H. W. J. Reeve and G. Brown, "Diversity and degrees of freedom in regression ensembles",
    Neurocomputing (2018), arXiv:1803.00314.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor().fit(X, y)
    >>> print(f"lam {model.lam_:.3f}, dof {model.dof_:.1f}, R2 {model.score(X, y):.2f}")
    lam 0.088, dof 28.0, R2 0.57
    >>> for chosen in model.choice_.members[:2]:
    ...     print(chosen.candidate)
    kernel rbf, gamma x0.01, inputs clip
    kernel rbf, gamma x1, inputs standard, by relevance
    """

    _state: FittedState

    def __init__(
        self,
        basis: Any = "auto",
        *,
        lam: npt.ArrayLike | Literal["auto"] = "auto",
        gap: npt.ArrayLike | None = None,
        criterion: str = "kfold",
        cv: Any = 5,
        loss: float | str = "squared",
        alpha: float | Literal["auto"] | None = None,
        noise_variance: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.basis = basis
        self.lam = lam
        self.gap = gap
        self.criterion = criterion
        self.cv = cv
        self.loss = loss
        self.alpha = alpha
        self.noise_variance = noise_variance
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.random_state = random_state

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a basis that is an object as ``basis__<name>``.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        basis = params.get("basis", self.basis)
        inner = [name for name in params if name.startswith("basis__")]
        if inner and isinstance(basis, str):
            kind = AutoBasis if basis == "auto" else BASES.get(basis, Basis)
            given = ", ".join(f"{name.removeprefix('basis__')}=…" for name in inner)
            raise ValueError(
                f"{', '.join(inner)}: basis={basis!r} is a string; give the basis as an object, "
                f"{kind.__name__}({given}), whose parameters can then be set."
            )
        changed: Self = super().set_params(**params)
        return changed

    def fit(self, X: Table, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose and draw the basis, factorise once, choose λ.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs. Columns of a data frame that hold words, categories, dates or missing values
            are encoded, unless ``basis`` is a transformer of your own.
        y : array-like of shape (n,) or (n, outputs)
            Targets; each output gets its own λ.
        sample_weight : array-like of shape (n,), optional
            Frequencies: integer weights mean the same as repeated rows, and their sum takes
            the place of n. Scale relative weights to a mean of 1.
        groups : array-like of shape (n,), optional
            Handed to the splitter ``cv``.

        Returns
        -------
        self
        """
        with _unchanged_on_error(self):
            settings = self._settings()
            given = validated(self, X, y, sample_weight)
            if given.weight is not None:
                weight = to_host(given.weight)
                warn_if_not_frequencies(float(weight.sum()), int(np.count_nonzero(weight)))
            self._state = fit_given(given, groups, settings)
            self.__dict__.pop("_drawn", None)
        return self

    def draw(self, X: Table, sample_weight: Any = None, y: Any = None, n_rows: Any = None) -> Self:
        """Draw the basis, with its scales and bandwidth, from these rows, and nothing else.

        Copies of the estimator can then be fitted in parts, at several places, and be merged.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        sample_weight : array-like of shape (n,), optional
            Frequencies.
        y : array-like of shape (n,) or (n, outputs), optional
            Targets, by which an ``AutoBasis`` is chosen; needed there.
        n_rows : float, optional
            Rows, or their weight, that the ensemble is to be fitted to, where X is a sample of
            them: more rows need less regularisation.

        Returns
        -------
        self
            Not fitted yet.

        Examples
        --------
        >>> from copy import deepcopy
        >>> from sklearn.datasets import load_diabetes
        >>> from negcorr import NCLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = NCLRegressor(basis="fourier")
        >>> drawn = deepcopy(model).draw(X)
        >>> one, other = deepcopy(drawn), deepcopy(drawn)
        >>> both = one.partial_fit(X[:200], y[:200]).merge(other.partial_fit(X[200:], y[200:]))
        >>> all_at_once = model.fit(X, y)
        >>> bool(both.lam_ == all_at_once.lam_)
        True
        """
        with _unchanged_on_error(self):
            settings = self._settings()
            refuse_in_parts(self.loss)
            if n_rows is not None:
                number = isinstance(n_rows, numbers.Real) and not isinstance(n_rows, bool)
                if not (number and 0.0 < float(n_rows) < np.inf):
                    raise ValueError(f"n_rows={n_rows!r} must be a finite number > 0.")
            if y is None:
                if isinstance(settings.basis, SearchSpace):
                    raise ValueError(
                        f"basis={self.basis!r} is chosen by targets: give draw y as well, or a "
                        "basis such as 'fourier'."
                    )
                y = np.zeros(X.shape[0] if hasattr(X, "shape") else len(X))
            given = validated(self, X, y, sample_weight)
            look = FirstLook.at(given.X, given.y, given.weight, encoded=given.encoded)
            self._drawn = draw(look, settings, None if n_rows is None else float(n_rows))
            self.__dict__.pop("_state", None)
        return self

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Table, y: Any, sample_weight: Any = None) -> Self:
        """Add rows to those seen so far; λ is chosen anew when it, or a prediction, is asked for.

        The encoding of columns, scales, bandwidth and features are settled on the first chunk,
        unless :meth:`draw` has settled them before. After :meth:`draw` on all rows, chunks of these
        in any order and of any size give the ensemble that :meth:`fit` gives. There is no such
        method where parameters ask for all rows: ``criterion="loo"``,
        ``noise_variance="difference"``, a splitter for ``cv``. A chunk that fails leaves the model
        as it was. ``solver="auto"`` cannot read the rows again for accuracy:
        if it warns, start again with "qr". A model of :meth:`fit` keeps no moments, and has no such
        method either; :meth:`draw` makes it start anew.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs of the chunk.
        y : array-like of shape (n,) or (n, outputs)
            Targets.
        sample_weight : array-like of shape (n,), optional
            Frequencies.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from negcorr import NCLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = NCLRegressor(basis="fourier")
        >>> for start in range(0, 442, 100):
        ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
        >>> model.path_.spectrum.weight
        442.0
        """
        with _unchanged_on_error(self):
            settings, before = self._settings(), self._fitted_or_none
            drawn = vars(self).get("_drawn") if before is None else before.drawn
            encoded = None if drawn is None else drawn.cells.encoding is not None
            first = drawn is None
            given = validated(
                self, X, y, sample_weight, reset=first, encoded=encoded, is_part=not first
            )
            if drawn is not None:
                check_same_place(self, given.X, place_within(drawn.bases[-1]), "partial_fit")
            self._state = continued(before, drawn, given, settings)
        return self

    def merge(self, other: Self) -> Self:
        """An estimator fitted on the rows of both, which have the same basis.

        Parameters
        ----------
        other : NCLRegressor
            Fitted in parts, from the same drawn basis.

        Returns
        -------
        NCLRegressor
            New, with the parameters of this one.
        """
        return self._with_rows_of(other, subtract=False)

    def subtract(self, other: Self) -> Self:
        """An estimator fitted on the rows of this one without those of the other.

        Parameters
        ----------
        other : NCLRegressor
            Fitted in parts, on rows that are among those of this one, with the same weights.

        Returns
        -------
        NCLRegressor
            New, with the parameters of this one. Rows that intervals are calibrated on are those
            kept here and not there: fewer than a fit without them would keep.

        Warns
        -----
        PrecisionWarning
            If so few rows remain that the subtraction loses the digits of their moments.
        """
        return self._with_rows_of(other, subtract=True)

    def predict(self, X: Table, return_std: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
        """Ensemble prediction F(x), with its predictive standard deviation if asked.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of a new observation: noise and the variance of the
            fit, as in scikit-learn's BayesianRidge. Bias is not included; for coverage that
            includes bias use :meth:`predict_interval`. The standard deviation costs O(Q²) for each
            row, the mean O(Q).

        Returns
        -------
        y_mean : ndarray of shape (n,) or (n, outputs)
        y_std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        check_is_fitted(self)
        rows = validated_inputs(self, X, self.coef_, "predict")
        mean, std = predict(self._state, rows, return_std)
        if std is None:
            return self._shaped(mean, rows)
        return self._shaped(mean, rows), self._shaped(std, rows)

    def predict_members(self, X: Table) -> AnyArray:
        """Predictions f_m(x) of every member, whose mean is :meth:`predict`.

        Near λ = 1 single members predict badly; their spread is diversity, not uncertainty.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (M, n) or (M, n, outputs)
        """
        check_is_fitted(self)
        rows = validated_inputs(self, X, self.coef_, "predict_members")
        return self._shaped(predict_members(self._state, rows), rows)

    def predict_interval(self, X: Table, coverage: float = 0.95) -> AnyArray:
        """Interval that a new observation falls into with the given probability.

        Quantiles of held-out residuals around F(x): no assumption on the noise, and bias is
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
        quantiles = self._state.residuals().quantiles(float(coverage))
        mean: Any = self.predict(X)
        place = place_of(mean)
        ends = place.floats(quantiles)
        if mean.ndim == 1:
            return place.xp.astype(mean[:, None] + ends[:, 0], mean.dtype)
        return place.xp.astype(mean[:, None, :] + ends, mean.dtype)

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
            In NumPy, wherever X is.
        """
        members = to_host(self.predict_members(X)).astype(np.float64)
        if y is not None:
            target = check_array(to_host(y), dtype=np.float64, ensure_2d=False, input_name="y")
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
            Shares the basis and the factorisation. Its ``lam`` or ``gap`` parameter is set to the
            new value, so a clone is refitted there. Huber targets stay as they are.

        Warns
        -----
        PrecisionWarning
            Here, if the gap is below what the factorisation resolves; at the first prediction, if
            predictions of training rows are not what the path claims.
        """
        check_is_fitted(self)
        path = self.path_
        if (lam is not None) + (gap is not None) + (dof is not None) != 1:
            raise ValueError("Give exactly one of lam, gap and dof.")
        if dof is not None:
            gap = path.spectrum.gap_for_dof(dof)
            gap = float(gap) if gap.ndim == 0 else gap
        gaps = gap_per_output(resolve_gap(lam, gap), path.spectrum.n_outputs)
        path.warn_if_unresolved(gaps, stacklevel=3)
        moved = copy.copy(self)
        moved.lam, moved.gap = ("auto", gap) if lam is None else (lam, None)
        moved._state = self._state.at(gaps)
        return moved

    def compact(self, *, path: bool = False) -> Self:
        """A fitted copy without training rows, small enough to ship.

        It predicts, with members, diversity and intervals, and has every curve in ``path_``, but
        its λ is fixed, and it knows no standard deviations. Training rows stay in it only where
        the basis itself is made of them, as landmarks are.

        Parameters
        ----------
        path : bool, default=False
            Whether the factorisation is kept: then λ can be changed, and standard deviations are
            known, but intervals are those of the chosen λ, and without training rows another λ is
            not checked by predictions of them. For models that were fitted in parts
            this drops the moments. A model of fewer rows than features grows by it: it holds the
            modes in place of the rows.

        Returns
        -------
        NCLRegressor

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from negcorr import NCLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> small = NCLRegressor(basis="fourier").fit(X, y).compact()
        >>> small.predict_interval(X[:1]).shape, bool(small.path_.dof(0.5) > small.path_.dof(0.0))
        ((1, 2), True)
        """
        check_is_fitted(self)
        small = copy.copy(self)
        small._state = self._state.compact(path=path)
        return small

    def to_numpy(self) -> Self:
        """A fitted copy whose arrays are all NumPy's, for a model that was fitted on a device.

        It needs neither the device nor its library any more: save it, ship it, and predict from
        NumPy arrays and data frames.

        Returns
        -------
        NCLRegressor

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from negcorr import NCLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> type(NCLRegressor(basis="fourier").fit(X, y).to_numpy().coef_)
        <class 'numpy.ndarray'>
        """
        check_is_fitted(self)
        copied: Self = arrays_to_numpy(self)
        return copied

    def summary(self, outputs: Sequence[str] | None = None) -> Summary:
        """What was fitted, in a readable table; print it or let a notebook show it.

        Parameters
        ----------
        outputs : sequence of str, optional
            Names of several outputs, in place of their numbers.

        Returns
        -------
        Summary
        """
        check_is_fitted(self)
        chosen = () if self.choice_ is None else self.choice_.lines()
        huber = self._state.answers.huber
        name = basis_name(self.basis_)
        return summarise(self.path_, name, outputs, chosen, huber, self.columns_)

    @property
    def path_(self) -> NCLPath:
        """Every curve at every λ."""
        return self._fitted("path_").answers.path

    @property
    def lam_(self) -> Any:
        """The chosen λ."""
        return self._solution("lam_").lam

    @property
    def gap_(self) -> Any:
        """1 − λ."""
        return self._solution("gap_").gap

    @property
    def dof_(self) -> Any:
        """Degrees of freedom at the chosen λ."""
        return self._solution("dof_").dof

    @property
    def noise_variance_(self) -> Any:
        """σ² from the residuals at the chosen λ."""
        path = self._fitted("noise_variance_").answers.path
        return path.residual_noise_variance(quiet=False)

    @property
    def coef_(self) -> FloatArray:
        """Ensemble coefficients β."""
        return self._solution("coef_").coef

    @property
    def intercept_(self) -> Any:
        """Ensemble intercept."""
        return self._solution("intercept_").intercept

    @property
    def targets_(self) -> AnyArray | None:
        """Huber targets; None for squared loss."""
        known = self._fitted("targets_").known
        return None if known is None else known.targets  # rows in parts have no Huber targets

    @property
    def basis_(self) -> Basis:
        """The fitted basis, also where it was only drawn."""
        drawn = self._drawn_only
        return self._fitted("basis_").basis if drawn is None else drawn.bases[-1]

    @property
    def choice_(self) -> Choice | None:
        """How the basis was chosen."""
        return (self._drawn_only or self._fitted("choice_").drawn).choice

    @property
    def columns_(self) -> Schema | None:
        """What was made of every column of X, where it has columns of several kinds; else None."""
        cells = (self._drawn_only or self._fitted("columns_").drawn).cells
        return None if cells.encoding is None else cells.encoding.schema

    @property
    def _drawn_only(self) -> Drawn | None:
        """What was drawn before any row was fitted."""
        return vars(self).get("_drawn") if self._fitted_or_none is None else None

    def __sklearn_is_fitted__(self) -> bool:
        """Whether it is fitted; a drawn basis alone, or rows of weight zero, are not enough."""
        state = self._fitted_or_none
        return state is not None and (state.stream is None or state.stream.n_rows > 0)

    @property
    def _fitted_or_none(self) -> FittedState | None:
        return vars(self).get("_state")

    def _fitted(self, name: str) -> FittedState:
        """The fitted state, for an attribute that an unfitted estimator does not have."""
        state = self._fitted_or_none
        if state is None:
            raise NotFittedError(
                f"this NCLRegressor has no {name}, since it is not fitted yet; call fit first."
            )
        return state

    def _solution(self, name: str) -> Solution:
        return self._fitted(name).answers.solution

    def _settings(self) -> FitSettings:
        return fit_settings(**self.get_params(deep=False))

    def _with_rows_of(self, other: Any, *, subtract: bool) -> Self:
        if not isinstance(other, NCLRegressor):
            what = "taken from" if subtract else "merged with"
            raise TypeError(
                f"a model can be {what} another of its kind, got {type(other).__name__}."
            )
        check_is_fitted(self)
        check_is_fitted(other)
        made = copy.copy(self)
        settings = self._settings()
        made._state = with_rows_of(self._state, other._state, settings, subtract=subtract)
        return made

    def _shaped(self, values: FloatArray, X: Table) -> AnyArray:
        """Drop the axis of outputs for 1-D targets; single precision for such input."""
        out = values[..., 0] if self.coef_.ndim == 1 else values
        return to_single(self._state, out) if in_single_precision(X) else out

    def __dir__(self) -> list[str]:
        """Names; without those that ask for λ before it is known, so that listing chooses none."""
        state = self._fitted_or_none
        unknown = _ANSWERS if state is not None and state.known is None else ()
        with warnings.catch_warnings():
            # The warning about a missing noise variance is only for users who access it.
            warnings.simplefilter("ignore", NegcorrWarning)
            return [
                each for each in object.__dir__(self) if each not in unknown and hasattr(self, each)
            ]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """With the summary, if it is there: showing a model neither chooses λ nor fails."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NegcorrWarning)  # scikit-learn lists all attributes
            bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        state = self._fitted_or_none
        if "text/html" not in bundle or state is None:
            return bundle
        if state.known is None and state.stream is not None:
            rows = f"<p>{state.stream.n_rows} rows so far; λ is chosen when it is asked for.</p>"
            bundle["text/html"] += rows
            return bundle
        try:
            bundle["text/html"] += self.summary()._repr_html_()
        except Exception:
            return bundle
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        basis = self.basis
        if not takes_tables(basis):
            # Columns are encoded.
            for kind in ("allow_nan", "string"):
                setattr(tags.input_tags, kind, True)
        if not isinstance(basis, Basis):
            tags.array_api_support = takes_device_arrays(basis)
            if isinstance(basis, str):
                return tags
            try:
                basis = as_basis(basis, 0)
            except (TypeError, ValueError):
                # ``fit`` reports a basis that cannot be made; showing the model must not fail.
                return tags
        if isinstance(basis, Basis):
            tags.array_api_support = basis.array_api
            inner = get_tags(basis).input_tags
            tags.input_tags.sparse = inner.sparse
            if takes_tables(basis):
                for kind in ("allow_nan", "string", "categorical"):
                    setattr(tags.input_tags, kind, getattr(inner, kind))
        return tags
