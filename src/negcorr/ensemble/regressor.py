"""NCLRegressor: the closed-form NCL ensemble as a scikit-learn estimator."""

from __future__ import annotations

import itertools
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from negcorr._common.arrays import place_of, taken, to_host
from negcorr._common.threads import our_own_threads
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr.bases import Basis
from negcorr.bases.named import is_auto, make_basis, takes_device_arrays, usual_ridge
from negcorr.ensemble.fitted import FittedPathMixin
from negcorr.ensemble.huber import check_splits, squeezed, threshold_of
from negcorr.ensemble.huber_path import bent_path
from negcorr.ensemble.intervals import calibration_rows
from negcorr.ensemble.partial_fit import StreamMixin, all_or_nothing
from negcorr.ensemble.validation import ValidatedRowsMixin, warn_about_weight
from negcorr.moments.scan import scan_features
from negcorr.path.grow import grown_path
from negcorr.path.settings import PathSettings, given_gap
from negcorr.path.tune import folds_for
from negcorr.rows.rows import Rows, canonical_order, inverse_order
from negcorr.selection.automatic_basis import chosen_basis, made_basis, open_questions, sizes_of
from negcorr.selection.choose import Choice

__all__ = ["NCLRegressor"]


class NCLRegressor(
    StreamMixin,
    FittedPathMixin,
    ValidatedRowsMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    r"""Regression ensemble trained by Negative Correlation Learning, in closed form.

    M members, each a linear map of its own fixed features, minimise
    :math:`(1-\lambda)\frac1M\sum_m (f_m - y)^2 + \lambda(F - y)^2` with F their average
    (equation 3 of the paper). λ = 0 trains the members apart, λ = 1 as one model; in between
    it is an inverse regulariser. One factorisation serves all λ, so the best one is found for a
    small multiple of one least-squares fit, and its degrees of freedom are known exactly.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of members M, for bases named by a string and for a single transformer; where
        several candidates are taken together they share them. "auto" is 100, and where a kernel's
        own functions are searched for as many as ``budget`` and the rows allow.
    n_components : int, default=10
        Features per member H, for bases named by a string.
    basis : str, transformer or list, default="auto"
        The members' features: "kernel", "fourier", "orthogonal", "nystroem", "linear" or "trees";
        or "auto", which tries kernels, and the others beside the best of them, by leave-one-out
        on at most 500 rows. What these rows cannot tell apart is taken together, each as a member
        that is an ensemble itself, and λ is the one between those. A transformer is cloned
        once per member with its own seed; a list of M transformers or ``(name, transformer)``
        pairs gives one per member; a :class:`~negcorr.bases.Basis` is used as it is. Features
        never see y but in that choice.
    gamma : float, "kwok-tsang" or "auto", default="auto"
        Inverse bandwidth of bases with a kernel that are named by a string; larger is rougher.
        The heuristic is one over the mean squared distance between two rows; "auto" walks from
        there to where leave-one-out is best.
    standardize : bool, default=True
        Centre and scale X (weighted) for bases named by a string. Transformers given by the
        user get X untouched.
    lam : float, array-like of shape (outputs,) or "auto", default="auto"
        The knob λ in [0, 1], or "auto" to choose it by ``criterion``.
    gap : float or array-like of shape (outputs,), default=None
        1 − λ, for values of λ that a float cannot tell from 1. Excludes ``lam``.
    criterion : {"kfold", "sure", "gcv", "loo", "aic", "aicc", "bic", "cp"}, default="kfold"
        What chooses λ. Exact K-fold estimates the error at new inputs. SURE, the paper's choice,
        estimates it at the training inputs and is cheaper. Leave-one-out is exact too, at a
        cost that grows with n·M²·Q for each λ: for hundreds of rows.
    cv : int, splitter or iterable, default=5
        Folds. An int means folds by content: a hash of each row decides, so equal rows stay
        together and the order of rows does not matter. Intervals use these folds as well.
    noise_variance : float, array-like, "paper", "difference" or None, default=None
        σ² for SURE and C_p: known values, the paper's estimate at λ = 0 (also None), or one
        from differences of neighbours.
    alpha : float, "auto" or None, default=None
        Ridge on the members' weights, inside the blocks: it vanishes as λ → 1. None is 10 for
        ``basis="auto"`` and "kernel", which makes an ensemble of them nearly kernel ridge
        regression, and 0 for others; "auto" tries several, where kernels are not the best.
    fit_intercept : bool, default=True
        Centre features and target; adds one degree of freedom.
    solver : {"auto", "gram", "qr"}, default="auto"
        "gram" is fast, "qr" accurate for ill-conditioned features and tiny gaps; "auto" starts
        with the first and moves to the second when the conditioning of the blocks or the chosen
        gap asks for it.
    random_state : int, RandomState or None, default=None
        Seed of the basis.
    kernel : {"auto", "gaussian", "laplace", "cauchy", "linear"}, default="auto"
        Kernel of bases that have one and are named by a string; "linear" for "kernel" alone. Here
        and below, "auto" is open where ``basis`` or ``gamma`` is "auto"; else it is the first one
        after it.
    inputs : {"auto", "standard", "clip", "rank", "none"}, default="auto"
        What is done to the columns of X for bases named by a string: unit standard deviation; the
        same, with values bent to at most 3 against long tails; ranks; nothing.
    relevance : "auto", bool or array-like of shape (d,), default="auto"
        What columns are then multiplied by: given, or learnt by marginal likelihood (True);
        "auto" tries both and, without a search, is False.
    budget : int, default=2000
        Most features that "auto" numbers of members come to. Up to 2000 distinct rows candidates
        have all rows as landmarks, but from 500 rows on more than two of them share 1500. With
        more rows an ensemble begins with 500 landmarks for each, 1000 for one alone, and doubles
        them within the budget, and half of the rows, for as long as it uses half of its features
        and the criterion falls by 1 % or more.
    subspace : float or "auto", default="auto"
        Share of the columns that a member sees, in (0, 1]: random subspaces for wide tables, for
        bases "kernel", "fourier" and "nystroem". "auto" halves the share of the best Gaussian
        kernel for as long as that pays and, without a search, is 1.
    loss : {"squared", "huber"} or float, default="squared"
        Loss of the ensemble, F − y: squared, or Huber's, which is linear beyond c standard
        deviations of the noise and so lets gross errors of targets count for little. A number is c;
        "huber" is 1.345. Targets are bent by out-of-fold residuals (:mod:`negcorr.ensemble.huber`),
        for which two folds and all rows at once are needed.

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
    choice_ : Choice or None
        How what was "auto" was chosen: all candidates with their leave-one-out error, and an
        error that is validated for the search. None where nothing was searched for.
    targets_ : ndarray of shape (n,) or (n, outputs), or None
        Bent targets that the ensemble was fitted to, and that ``dof_`` (exact for them as given),
        ``noise_variance_`` and ``path_`` are about. None for squared loss.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X has string names.

    Notes
    -----
    Training rows stay in the model: at most 4096, chosen by content, so that intervals can
    follow λ, and with few rows or ``criterion="loo"`` the features of all of them.
    :meth:`compact` drops them together with the factorisation. Intervals are calibrated on y as it
    was given, also where the ensemble was fitted to bent targets.

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
    lam 0.241, dof 30.9, R2 0.58
    >>> for chosen in model.choice_.members[:2]:
    ...     print(chosen.candidate)
    kernel gaussian, gamma x1, inputs standard, by relevance
    kernel gaussian, gamma x0.01, inputs clip
    """

    def __init__(
        self,
        n_estimators: int | Literal["auto"] = "auto",
        n_components: int = 10,
        basis: Any = "auto",
        gamma: float | str = "auto",
        standardize: bool = True,
        lam: npt.ArrayLike | Literal["auto"] = "auto",
        gap: npt.ArrayLike | None = None,
        criterion: str = "kfold",
        cv: Any = 5,
        noise_variance: Any = None,
        alpha: float | Literal["auto"] | None = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        random_state: Any = None,
        kernel: str = "auto",
        inputs: str = "auto",
        relevance: Any = "auto",
        budget: int = 2000,
        subspace: float | Literal["auto"] = "auto",
        loss: float | str = "squared",
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
        self.kernel = kernel
        self.inputs = inputs
        self.relevance = relevance
        self.budget = budget
        self.subspace = subspace
        self.loss = loss

    def fit(self, X: Table, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose and draw the basis, factorise once, choose λ.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
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
        with all_or_nothing(self):
            return self._fit(X, y, sample_weight, groups)

    def _fit(self, X: Table, y: Any, sample_weight: Any, groups: Any) -> Self:
        open_questions(self)
        self._settings()
        threshold = threshold_of(self.loss)
        rows, single_output = self._validated_rows(X, y, sample_weight)
        warn_about_weight(rows)
        # Reductions on one BLAS thread: on a busy machine, more of them can stall for seconds.
        with our_own_threads():
            order = canonical_order(rows)
            position = inverse_order(order)
            first = rows if threshold is None else squeezed(rows.take(order))
            basis, self.choice_ = chosen_basis(self, first, given_gap(self.lam, self.gap))
            settings = self._settings()
            folds = folds_for(self.cv, rows, groups, settings)
            if threshold is not None:
                check_splits(folds, rows.weight, self.loss, self.cv)
            rows, folds = rows.take(order), folds.renumbered(position)
            first = rows if threshold is None else first
            bases = self._growing(basis, self.choice_, rows)
            basis, path = grown_path(bases, first, folds, settings, single_output)
            self.targets_ = self._bending = None
            if threshold is not None:
                path, targets, self._bending = bent_path(
                    path, rows, first, basis, folds, settings, threshold
                )
                targets = taken(targets, position)
                self.targets_ = targets[:, 0] if single_output else targets
        self.basis_ = basis
        self._calibration = calibration_rows(rows, folds)
        self._residuals = None
        self._lazy = None
        return self._adopt(path)

    def _growing(self, first: Basis, choice: Choice | None, rows: Rows) -> list[Basis]:
        """Bases from small to large, each of which begins with the features of the one before."""
        if choice is None:
            return [first]
        landmarks = sizes_of(self, choice).landmarks[1:]
        return [first, *(made_basis(choice, self, rows, each) for each in landmarks)]

    def predict(self, X: Table, return_std: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
        """Ensemble prediction F(x), with its predictive standard deviation if asked.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of a new observation: noise and the variance of
            the fit, as in scikit-learn's BayesianRidge. Bias is not in it; for honest coverage
            use :meth:`predict_interval`. It costs O(Q²) for each row, the mean O(Q).

        Returns
        -------
        y_mean : ndarray of shape (n,) or (n, outputs)
        y_std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        check_is_fitted(self)
        rows = self._validated_inputs(X)
        coef, intercept = self._coef_and_intercept()
        place = place_of(coef)
        mean: FloatArray = place.empty((rows.shape[0], coef.shape[0]))
        variance: FloatArray = place.empty(mean.shape)
        spectrum = self._path("predict(return_std=True)").spectrum if return_std else None

        def use(block: slice, features: FloatArray) -> None:
            mean[block, :] = features @ coef.T + intercept
            if spectrum is not None:
                gaps = np.atleast_1d(to_host(self.gap_))
                variance[block, :] = spectrum.variance_factor(features, gaps)

        scan_features(rows, self.basis_, rows.shape[0], use)
        if not return_std:
            return self._shaped(mean, rows)
        noise = place.floats(np.atleast_1d(to_host(self.noise_variance_)))
        std = place.xp.sqrt(noise * (1.0 + variance))
        return self._shaped(mean, rows), self._shaped(std, rows)

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
        rows = self._validated_inputs(X, "predict_members")
        starts = self.basis_.block_starts_.tolist()
        coef = (len(starts) - 1) * self._coef_and_intercept()[0]
        q = coef.shape[1]
        members = place_of(coef).empty((len(starts) - 1, rows.shape[0], coef.shape[0]))

        def use(block: slice, features: FloatArray) -> None:
            centred = features - self._centre[:q]
            for m, (a, b) in enumerate(itertools.pairwise(starts)):
                members[m, block, :] = centred[:, a:b] @ coef[:, a:b].T + self._centre[q:]

        scan_features(rows, self.basis_, rows.shape[0], use)
        return self._shaped(members, rows)

    def _settings(self) -> PathSettings:
        threshold_of(self.loss)
        return PathSettings(
            gap=given_gap(self.lam, self.gap),
            criterion=self.criterion,
            noise_variance=self.noise_variance,
            alpha=self._alpha(),
            fit_intercept=self.fit_intercept,
            solver=self.solver,
        )

    def _alpha(self) -> Any:
        """The ridge as given, or that of what was chosen, or the usual one of the basis."""
        if self.alpha is not None and not is_auto(self.alpha):
            return self.alpha
        choice: Choice | None = vars(self).get("choice_")
        if choice is not None:
            return choice.candidate.alpha
        return usual_ridge(self.basis)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._html_of_fit()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = takes_device_arrays(self)
        if hasattr(self.basis, "transform") or isinstance(self.basis, (list, tuple)):
            try:
                inner = get_tags(make_basis(self)).input_tags
            except (TypeError, ValueError):
                # A basis that cannot be made is for fit to explain; showing it must not fail.
                return tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan
        return tags
