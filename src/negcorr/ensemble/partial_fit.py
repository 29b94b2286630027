"""Fitting in parts: chunk by chunk, merged, and taken apart again."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from negcorr._common.arrays import place_of, place_within, to_host
from negcorr._common.threads import our_own_threads
from negcorr._common.types import Table
from negcorr._common.validation import check_same_place
from negcorr.bases import Basis
from negcorr.bases.named import make_basis
from negcorr.ensemble.fitted import LAZY, LazyAttributes
from negcorr.ensemble.huber import refuse_in_parts
from negcorr.ensemble.intervals import CalibrationRows, Residuals
from negcorr.ensemble.stream import Stream, check_streamable
from negcorr.moments.scan import features_of
from negcorr.path.settings import PathSettings, given_gap
from negcorr.rows.folds import number_of_folds
from negcorr.rows.rows import Rows, canonical_order
from negcorr.selection.automatic_basis import chosen_basis, open_questions
from negcorr.selection.choose import Choice

__all__ = ["StreamMixin", "all_or_nothing"]

#: Rows on which two bases are compared, and how far their features may be apart.
COMPARED_ROWS, SAME = 256, 1e-12


def _can_stream(model: Any) -> bool:
    """Whether nothing that the parameters ask for needs all rows at once; raises why not."""
    try:
        settings = model._settings()
    except (TypeError, ValueError):
        return True  # what is wrong with a parameter is for the method itself to say
    check_streamable(settings)
    refuse_in_parts(model.loss)
    number_of_folds(model.cv)
    return True


class StreamMixin:
    """Methods of an estimator that can be fitted in parts."""

    cv: Any
    solver: str
    loss: Any
    basis_: Basis
    _settings: Any
    _validated_rows: Any
    _calibration: CalibrationRows | None
    _residuals: Residuals | None
    _lazy: LazyAttributes | None
    choice_: Choice | None
    targets_: Any

    def draw(
        self, X: Table, sample_weight: Any = None, y: Any = None, n_rows: float | None = None
    ) -> Self:
        """Draw the basis, with its scales and bandwidth, from these rows, and nothing else.

        Copies of the estimator can then be fitted in parts, at several places, and be merged.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Inputs.
        sample_weight : array-like of shape (n,), optional
            Frequencies.
        y : array-like of shape (n,) or (n, outputs), optional
            Targets, by which what is "auto" is chosen; needed where something is.
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
        >>> model = NCLRegressor(basis="fourier", gamma="kwok-tsang", random_state=0)
        >>> drawn = deepcopy(model).draw(X)
        >>> one, other = deepcopy(drawn), deepcopy(drawn)
        >>> both = one.partial_fit(X[:200], y[:200]).merge(other.partial_fit(X[200:], y[200:]))
        >>> all_at_once = model.fit(X, y)
        >>> bool(both.lam_ == all_at_once.lam_)
        True
        """
        refuse_in_parts(self.loss)
        with all_or_nothing(self):
            if y is None:
                _check_nothing_open(self)
                y = np.zeros(X.shape[0] if hasattr(X, "shape") else len(X))
            rows, _ = self._validated_rows(X, y, sample_weight)
            basis, choice = _drawn(self, rows, _checked_rows(n_rows))
            forget(self)
            self.basis_, self.choice_ = basis, choice
            return self

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Table, y: Any, sample_weight: Any = None) -> Self:
        """Add rows to those seen so far; λ is chosen anew when it, or a prediction, is asked for.

        The basis, with its scales and bandwidth, is drawn from the first chunk, unless there is one
        already (:meth:`draw`, :meth:`fit`). Chunks in any order and of any size give the same
        ensemble as all rows at once with the same basis. There is no such method where parameters
        ask for all rows: ``criterion="loo"``, ``noise_variance="difference"``, a splitter for
        ``cv``. A chunk that fails leaves the model as it was. ``solver="auto"`` cannot come back to
        the rows for accuracy: where it warns, start with "qr".

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
        >>> model = NCLRegressor(basis="fourier", gamma="kwok-tsang", random_state=0)
        >>> for start in range(0, 442, 100):
        ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
        >>> model.path_.spectrum.weight
        442.0
        """
        with all_or_nothing(self):
            return self._add(X, y, sample_weight)

    def _add(self, X: Table, y: Any, sample_weight: Any) -> Self:
        settings = self._checked_settings()
        n_folds = number_of_folds(self.cv)
        accurate = self.solver == "qr"
        drawn: Basis | None = vars(self).get("basis_")
        rows, single_output = self._validated_rows(X, y, sample_weight, reset=drawn is None)
        if drawn is not None:
            _check_same_parameters(self, drawn)
            check_same_place(self, rows.X, place_within(drawn), "partial_fit")
        before = self._seen()
        if before is None:
            basis = drawn
            if basis is None:
                basis, self.choice_ = _drawn(self, rows)
                settings = self._settings()
            stream = Stream.of(basis, rows, n_folds, accurate=accurate, single_output=single_output)
        else:
            _check_continues(before, rows, single_output, n_folds)
            stream = replace(before, accurate=before.accurate or accurate).with_rows(rows)
        return self._follow(stream, settings)

    def merge(self, other: Self) -> Self:
        """An estimator fitted on the rows of both, which have the same basis.

        Parameters
        ----------
        other : NCLRegressor
            Fitted in parts or at once, with folds by content (``cv`` an integer), from the same
            drawn basis.

        Returns
        -------
        NCLRegressor
            New, with the parameters of this one.
        """
        mine, theirs = _streams_of_both(self, other, "merged with")
        merged = copy.copy(self)
        return merged._follow(mine.merged(theirs), self._checked_settings())

    def subtract(self, other: Self) -> Self:
        """An estimator fitted on the rows of this one without those of the other.

        Parameters
        ----------
        other : NCLRegressor
            Fitted on rows that are among those of this one, with the same weights.

        Returns
        -------
        NCLRegressor
            New, with the parameters of this one. Rows that intervals are calibrated on are those
            kept here and not there: fewer than a fit without them would keep.

        Warns
        -----
        PrecisionWarning
            Where so little is left that its digits are lost in what was taken away.
        """
        mine, theirs = _streams_of_both(self, other, "taken from")
        rest = copy.copy(self)
        return rest._follow(mine.without(theirs), self._checked_settings())

    def __sklearn_is_fitted__(self) -> bool:
        """A basis alone, as :meth:`draw` leaves it, is not enough, nor are rows of no weight."""
        lazy: LazyAttributes | None = vars(self).get("_lazy")
        return "coef_" in vars(self) or (lazy is not None and lazy.stream.n_rows > 0)

    def _checked_settings(self) -> PathSettings:
        settings: PathSettings = self._settings()
        check_streamable(settings)
        refuse_in_parts(self.loss)
        return settings

    def _seen(self) -> Stream | None:
        """The rows seen so far, None before any."""
        lazy: LazyAttributes | None = vars(self).get("_lazy")
        if lazy is not None:
            return lazy.stream
        refuse_in_parts(self.loss, vars(self).get("targets_"))
        if "path_" not in vars(self):
            if "coef_" in vars(self):
                raise ValueError(
                    "a compact model has no moments, to which rows could be added; use the model "
                    "that compact() was called on."
                )
            return None
        if not vars(self)["path_"].cells:
            raise ValueError(
                "this model was saved without the moments of its folds, to which rows could be "
                "added: fit again, or save with keep='all'."
            )
        return Stream.from_path(self.basis_, vars(self)["path_"], vars(self)["_calibration"])

    def _follow(self, stream: Stream, settings: PathSettings) -> Self:
        """Let the fitted attributes be those of a stream."""
        choice = vars(self).get("choice_")
        forget(self)
        self.basis_, self.choice_ = stream.basis, choice
        self._calibration = stream.calibration
        self._residuals = self.targets_ = None
        self._lazy = LazyAttributes(stream, settings)
        return self


@contextmanager
def all_or_nothing(model: Any) -> Iterator[None]:
    """Leave a model as it was, to the last attribute, where the block fails."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        for name in vars(model).keys() - before.keys():
            delattr(model, name)
        vars(model).update(before)
        raise


def _checked_rows(n_rows: Any) -> float | None:
    if n_rows is None:
        return None
    number = isinstance(n_rows, numbers.Real) and not isinstance(n_rows, bool)
    if not (number and 0.0 < float(n_rows) < np.inf):
        raise ValueError(f"n_rows={n_rows!r} must be a finite number > 0.")
    return float(n_rows)


def _drawn(model: Any, rows: Rows, weight: float | None = None) -> tuple[Basis, Choice | None]:
    """The basis from the rows in the order that a fit in memory takes them in."""
    rows = rows.take(canonical_order(rows))
    with our_own_threads():
        # What is streamed cannot grow later.
        gap = given_gap(model.lam, model.gap)
        basis, choice = chosen_basis(model, rows, gap, weight, largest=True)
        return basis.fit(rows.X, sample_weight=rows.weight), choice


def _check_nothing_open(model: Any) -> None:
    """Refuse to draw without targets what is chosen by them."""
    if open_questions(model) is not None:
        raise ValueError(
            "basis, gamma or alpha is 'auto', which is chosen by targets: give draw y as well, or "
            "name them, as in basis='fourier', gamma='kwok-tsang'."
        )


def forget(model: Any) -> None:
    """Drop the attributes of an earlier fit, but for what is known of the inputs."""
    own = ("_lazy", "_calibration", "_residuals", "_bending", "targets_", "basis_", "choice_")
    for name in (*LAZY, *own):
        vars(model).pop(name, None)


def _check_same_parameters(model: Any, drawn: Basis) -> None:
    """Refuse parameters of the basis that were changed after it was drawn, and would do nothing."""
    if not isinstance(model.basis, str) or open_questions(model) is not None:
        return
    wanted = make_basis(model)
    if type(wanted) is not type(drawn):
        raise ValueError(
            f"basis={model.basis!r}, but the basis that was drawn before is a "
            f"{type(drawn).__name__}, and stays: start anew by fit or draw."
        )
    before = drawn.get_params()
    for path, value in wanted.get_params().items():
        name, old = path.rpartition("__")[2], before.get(path)
        if name != "random_state" and not _same_parameter(value, old):
            raise ValueError(
                f"{name}={value!r}, but the basis was drawn with {name}={old!r}, and stays: start "
                "anew by fit or draw."
            )


def _same_parameter(one: Any, other: Any) -> bool:
    """Whether values are equal; of bases within bases, whether they are of one kind."""
    if isinstance(one, Basis):
        return type(one) is type(other)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)


def _check_continues(before: Stream, rows: Rows, single_output: bool, n_folds: int) -> None:
    expected = before.kept.y.shape[1]
    if (rows.y.shape[1], single_output) != (expected, before.single_output):
        raise ValueError(
            f"y has {rows.y.shape[1]} output(s) in {1 if single_output else 2} dimension(s), but "
            f"the rows before had {expected} in {1 if before.single_output else 2}."
        )
    if n_folds != len(before.cells):
        raise ValueError(
            f"cv={n_folds}, but the rows before went into {len(before.cells)} folds, which they "
            "cannot change any more."
        )


def _streams_of_both(one: Any, other: Any, what: str) -> tuple[Stream, Stream]:
    if not isinstance(other, StreamMixin):
        raise TypeError(f"a model can be {what} another of its kind, got {type(other).__name__}.")
    check_is_fitted(one)
    check_is_fitted(other)
    mine, theirs = one._seen(), other._seen()
    assert mine is not None  # both are fitted
    assert theirs is not None
    shapes = [
        (s.kept.y.shape[1], 1 if s.single_output else 2, len(s.cells)) for s in (mine, theirs)
    ]
    if shapes[0] != shapes[1]:
        (outputs, ndim, folds), (other_outputs, other_ndim, other_folds) = shapes
        raise ValueError(
            f"models of {outputs} and {other_outputs} output(s), in {ndim} and {other_ndim} "
            f"dimension(s), and of {folds} and {other_folds} folds, cannot be {what} one another."
        )
    places = [place_of(stream.kept.y) for stream in (mine, theirs)]
    if places[0] != places[1]:
        raise ValueError(
            f"a model in {places[0]} cannot be {what} one in {places[1]}; bring both home by "
            "to_numpy()."
        )
    if not _same_basis(mine, theirs):
        raise ValueError(
            f"models can only be {what} one another if they have the same basis: draw it once, by "
            "draw(X), and fit copies."
        )
    return mine, theirs


def _same_basis(mine: Stream, theirs: Stream) -> bool:
    """Whether both bases give the same features on rows of both."""
    if mine.basis is theirs.basis:
        return True
    if not np.array_equal(mine.basis.block_starts_, theirs.basis.block_starts_):
        return False
    if _columns(mine.kept) != _columns(theirs.kept):
        return False
    for kept in (mine.kept, theirs.kept):
        rows = kept.take(np.arange(min(COMPARED_ROWS, kept.n_rows)))
        one, other = (to_host(features_of(rows, stream.basis)) for stream in (mine, theirs))
        if not np.allclose(one, other, rtol=SAME, atol=SAME):
            return False
    return True


def _columns(rows: Rows) -> list[str] | int:
    """Names of a data frame's columns, the number of those of an array."""
    return list(rows.X.columns) if hasattr(rows.X, "columns") else int(rows.X.shape[1])
