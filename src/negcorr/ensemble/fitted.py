"""What a fitted ensemble answers from its path: another λ, intervals, diversity, a summary."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from negcorr._common.arrays import arrays_to_numpy, place_of, to_host
from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr.bases import Basis, BlockFeatures, NestedFeatures
from negcorr.bases.named import BASES
from negcorr.diversity.decompositions import AmbiguityDecomposition, ambiguity_decomposition
from negcorr.ensemble.huber import Bending
from negcorr.ensemble.intervals import CalibrationRows, Residuals, out_of_fold_residuals
from negcorr.ensemble.stream import Stream
from negcorr.ensemble.summary import Summary, summarise
from negcorr.ensemble.validation import warn_if_not_frequencies
from negcorr.exceptions import NoiseVarianceWarning, warn_caller
from negcorr.path.path import NCLPath
from negcorr.path.settings import PathSettings
from negcorr.spectrum.gap import gap_per_output, resolve_gap

__all__ = ["LAZY", "FittedPathMixin", "LazyAttributes", "attributes_of"]

#: Attributes that follow from the path.
LAZY = (
    "path_",
    "lam_",
    "gap_",
    "dof_",
    "noise_variance_",
    "coef_",
    "intercept_",
    "_centre",
)


def attributes_of(path: NCLPath) -> dict[str, Any]:
    """The fitted attributes at a path's chosen λ."""
    variance = path.residual_noise_variance()
    if np.isnan(to_host(variance)).any():
        warn_caller(
            "noise_variance_ is NaN: the ensemble has as many degrees of freedom as the "
            f"samples ({path.spectrum.weight:.6g} by weight), so nothing is left to estimate "
            "the noise from.",
            NoiseVarianceWarning,
        )
    coef = path.coef()
    intercept = path.spectrum.intercept(coef[None, :] if path.single_output else coef)
    return {
        "path_": path,
        "lam_": path.lam,
        "gap_": path.gap,
        "dof_": path.dof(),
        "noise_variance_": variance,
        "coef_": coef,
        "intercept_": float(intercept[0]) if path.single_output else intercept,
        "_centre": path.spectrum.centre,
    }


class LazyAttributes:
    """Fitted attributes of a stream, computed when one of them is first asked for.

    It is changed from inside, so that ``predict`` leaves the estimator's ``__dict__`` as it was.
    Of several threads that ask at once, one computes and the others wait.

    Parameters
    ----------
    stream : Stream
        Rows so far.
    settings : PathSettings
        How to choose λ.
    """

    def __init__(self, stream: Stream, settings: PathSettings) -> None:
        self.stream = stream
        self.settings = settings
        self._known: dict[str, Any] | None = None
        self._lock = threading.RLock()

    # Not a cached_property: warnings would point into functools, which it calls from.
    @property
    def attributes(self) -> dict[str, Any]:
        """By name, see :data:`LAZY`."""
        with self._lock:
            if self._known is None:
                warn_if_not_frequencies(self.stream.weight, self.stream.n_rows)
                self._known = attributes_of(self.stream.path(self.settings))
            return self._known

    @property
    def known(self) -> bool:
        """Whether they have been computed."""
        return self._known is not None

    def __getstate__(self) -> dict[str, Any]:
        """Without the lock, which belongs to a process."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()


class FittedPathMixin:
    """Methods of an estimator that holds a basis and an :class:`~negcorr.NCLPath`."""

    basis: Any
    lam: Any
    gap: Any
    basis_: Basis
    path_: NCLPath
    coef_: FloatArray
    intercept_: Any
    targets_: AnyArray | None
    _bending: Bending | None
    _calibration: CalibrationRows | None
    _residuals: Residuals | None
    _lazy: LazyAttributes | None
    predict: Any
    predict_members: Any

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
        mean = self.predict(X)
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
            Shares the basis and the factorisation. Its ``lam`` or ``gap`` parameter says where
            it stands, so that a clone refits there. Targets that were bent stay as they are.
        """
        check_is_fitted(self)
        path = self._path("with_lam")
        if (lam is not None) + (gap is not None) + (dof is not None) != 1:
            raise ValueError("Give exactly one of lam, gap and dof.")
        if dof is not None:
            gap = path.spectrum.gap_for_dof(dof)
            gap = float(gap) if gap.ndim == 0 else gap
        gaps = gap_per_output(resolve_gap(lam, gap), path.spectrum.n_outputs)
        path.warn_if_unresolved(gaps, stacklevel=3)
        moved = copy.copy(self)
        moved.lam, moved.gap = ("auto", gap) if lam is None else (lam, None)
        if not np.array_equal(gaps, path.chosen_gap):
            moved._residuals = None
        return moved._adopt(path.at(gap=gaps))

    def compact(self) -> Self:
        """A fitted copy without the factorisation, small enough to ship.

        It predicts, with members, diversity and intervals; it can no longer change λ, and has no
        ``path_``, standard deviations or summary. Training rows stay in it only where the basis
        itself is made of them, as Nyström landmarks are.

        Returns
        -------
        NCLRegressor
        """
        check_is_fitted(self)
        small = self._without_rows()
        vars(small).pop("path_", None)
        return small

    def without_folds(self) -> Self:
        """A fitted copy without the moments of the folds, a fifth of the size or less.

        It answers as before, but for what needs the folds: no rows can be added or taken away, and
        K-fold is known where ``path_.tables["kfold"]`` has it, ten gaps a decade and those of the
        search. Intervals are those of the chosen λ; :meth:`with_lam` moves to others without them.
        Training rows stay in it only where the basis is made of them.

        Returns
        -------
        NCLRegressor

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from negcorr import NCLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = NCLRegressor(basis="fourier", gamma="kwok-tsang", random_state=0)
        >>> model = model.fit(X, y).without_folds()
        >>> bool(model.with_lam(0.5).dof_ < model.dof_), model.predict_interval(X[:1]).shape
        (True, (1, 2))
        """
        check_is_fitted(self)
        path = self._path("without_folds").without_folds()
        small = self._without_rows()
        small.path_ = path
        return small

    def _without_rows(self) -> Self:
        """A copy whose intervals are settled, without the rows and moments they came from."""
        small = copy.copy(self)
        if self._calibration is not None:
            small._residuals = self._out_of_fold_residuals()
        small._calibration = small.targets_ = None
        for name in LAZY:
            if hasattr(self, name):
                setattr(small, name, getattr(self, name))
        small._lazy = None
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
        >>> model = NCLRegressor(basis="fourier", gamma="kwok-tsang", random_state=0)
        >>> type(model.fit(X, y).to_numpy().coef_)
        <class 'numpy.ndarray'>
        """
        check_is_fitted(self)
        home: Self = arrays_to_numpy(self)
        return home

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
        kind = type(self.basis_)
        name = next((name for name, named in BASES.items() if named is kind), kind.__name__)
        if isinstance(self.basis_, BlockFeatures):
            name = f"list of {self.basis_.n_members_} transformers"
        if isinstance(self.basis_, NestedFeatures):
            name = "nested ensembles"
        choice = vars(self).get("choice_")
        chosen = () if choice is None else choice.lines()
        bending = vars(self).get("_bending")
        return summarise(self._path("summary"), name, outputs, chosen, bending)

    def _html_of_fit(self) -> str:
        """The summary, if it is there to be shown: showing a model neither tunes it nor fails."""
        lazy = vars(self).get("_lazy")
        if lazy is not None and not lazy.known:
            return f"<p>{lazy.stream.n_rows} rows so far; λ is chosen when it is asked for.</p>"
        try:
            return self.summary()._repr_html_() if "path_" in vars(self) or lazy else ""
        except Exception:
            return ""

    def __getattr__(self, name: str) -> Any:
        """Attributes of a stream's path, which is computed when one of them is asked for."""
        lazy = vars(self).get("_lazy") if name in LAZY else None
        if lazy is None:
            # Once more: where a method is not available, the error has a cause that says why.
            return object.__getattribute__(self, name)
        return lazy.attributes[name]

    def _adopt(self, path: NCLPath) -> Self:
        """Set the fitted attributes from the path's chosen λ."""
        for name, value in attributes_of(path).items():
            setattr(self, name, value)
        return self

    def _out_of_fold_residuals(self) -> Residuals:
        if self._residuals is not None:
            return self._residuals
        if self._calibration is None:
            if hasattr(self, "path_") and not self.path_.cells:
                raise ValueError(
                    "intervals at this lam need the moments of the folds, and this model was saved "
                    "without them: fit again, or save with keep='all'."
                )
            raise ValueError(
                "intervals need out-of-fold residuals, and the rows of this fit could not be "
                "split into folds. Fit on more distinct rows, or give cv a splitter."
            )
        return out_of_fold_residuals(self._calibration, self._path("predict_interval"), self.basis_)

    def _path(self, caller: str) -> NCLPath:
        if not hasattr(self, "path_"):
            raise ValueError(
                f"{caller} needs the factorisation, which compact() or save(keep='predictions') "
                "has dropped."
            )
        return self.path_

    def _shaped(self, values: FloatArray, X: Table) -> AnyArray:
        """Drop the axis of outputs for 1-D targets; single precision for such input."""
        xp = place_of(values).xp
        out = values[..., 0] if self.coef_.ndim == 1 else values
        return xp.astype(out, xp.float32) if getattr(X, "dtype", None) == xp.float32 else out

    def _coef_and_intercept(self) -> tuple[FloatArray, FloatArray]:
        """With an axis of outputs, whether there are several or not."""
        coef, intercept = self.coef_, self.intercept_
        if coef.ndim == 1:
            return coef[None, :], place_of(coef).floats([intercept])
        return coef, intercept
