"""Member predictions of scikit-learn's ensembles, in the shape that the decompositions take.

Random forests, bagging, voting and boosting give ``(M, n)`` arrays of member predictions, so
that their diversity is measured by the same functions as that of NCL ensembles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr.diversity.inner_model import classifies, inner_model

__all__ = ["members_of"]

#: Losses of HistGradientBoostingRegressor whose prediction is the plain sum of its trees.
_SUMMED_LOSSES = ("squared_error", "absolute_error", "quantile")


def members_of(estimator: Any, X: Table, *, staged: bool = False) -> AnyArray:
    r"""Predictions of every member of a fitted ensemble, for the diversity decompositions.

    Parameters
    ----------
    estimator : object
        A fitted ensemble from the table below; or a pipeline that ends in one, whose earlier
        steps transform ``X`` first; or a search over either, whose best estimator is taken.
    X : {array-like, sparse matrix, data frame} of shape (n, d)
        Inputs, of the kinds that the ensemble itself predicts from.
    staged : bool, default=False
        For boosting only: the ensemble after 1, 2, …, M rounds in place of the members. The
        last one is the prediction.

    Returns
    -------
    ndarray of shape (M, n) or (M, n, outputs)
        Member predictions, member axis first.

    Raises
    ------
    TypeError
        If ``estimator`` is no supported ensemble of regressors.
    ValueError
        If ``staged`` is asked of an ensemble without stages, or if the loss is not additive.
    sklearn.exceptions.NotFittedError
        If the ensemble is not fitted.

    See Also
    --------
    negcorr.ambiguity_decomposition : Member error and diversity of what this returns.

    Notes
    -----
    =================================================== ============================ ===============
    Ensemble                                            Member                       Prediction
    =================================================== ============================ ===============
    with ``predict_members``, as ``NCLRegressor``       what that method returns     mean
    ``RandomForestRegressor``, ``ExtraTreesRegressor``  a tree                       mean
    ``BaggingRegressor``                                an estimator on its features mean
    ``VotingRegressor``                                 an estimator                 weighted mean
    ``GradientBoostingRegressor``                       init + M ν h_t               mean
    ``HistGradientBoostingRegressor``                   init + M ν h_t               mean
    ``AdaBoostRegressor``                               an estimator                 weighted median
    =================================================== ============================ ===============

    Equation 1 is about a mean of members, so it holds for the ensemble's own prediction where
    the last column says mean:

    * Boosting sums, :math:`F = \mathrm{init} + \sum_t \nu h_t`. Its members carry the factor M
      that turns the sum into a mean, as the members of an NCL ensemble do. Each one is far from
      the target, hence a large member error and a diversity of almost the same size.
      ``HistGradientBoostingRegressor`` with the losses ``"poisson"`` and ``"gamma"`` predicts
      the exponential of a sum, for which no such members exist; only its stages are given.
    * Voting with weights needs them in the decomposition too, without those of estimators that
      were dropped: ``member_weight=[w for (_, e), w in zip(voting.estimators, voting.weights)
      if e != "drop"]``.
    * AdaBoost takes a weighted median. The mean of its members is another predictor, and the
      ensemble error of the decomposition belongs to that mean.

    A ``TransformedTargetRegressor`` is refused: it transforms the prediction back, and the
    inverse of a mean is not the mean of the inverses. Decompose its ``regressor_`` against the
    transformed target instead.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from negcorr import ambiguity_decomposition
    >>> from negcorr.diversity.members import members_of
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X[:300], y[:300])
    >>> members = members_of(forest, X[300:])
    >>> members.shape
    (20, 142)
    >>> terms = ambiguity_decomposition(members, y[300:])
    >>> bool(np.isclose(terms.ensemble_error, np.mean((forest.predict(X[300:]) - y[300:]) ** 2)))
    True
    >>> bool(np.isclose(terms.ensemble_error, terms.member_error - terms.diversity))
    True
    """
    if isinstance(estimator, type):
        raise TypeError(f"estimator={estimator.__name__} is a class; pass a fitted instance of it.")
    model, rows = inner_model(estimator, X)
    read = _reader(model)
    if read is not _own:  # that one need not be an estimator of scikit-learn's
        check_is_fitted(model)
    if not staged:
        return read(model, rows)
    if not isinstance(model, _BOOSTING):
        raise ValueError(
            f"staged={staged!r} is for boosting, and a {type(model).__name__} has no stages; "
            f"allowed are {_names(_BOOSTING)}."
        )
    return _stack(model.staged_predict(rows))


def _reader(model: Any) -> Callable[[Any, Table], AnyArray]:
    """The function that reads the members of this kind of ensemble."""
    if hasattr(model, "predict_members"):
        return _own
    for kind, read in _READERS.items():
        if isinstance(model, kind):
            return read
    if isinstance(model, TransformedTargetRegressor):
        reason = (
            "transforms its prediction back, and the inverse of a mean is not the mean of the "
            "inverses; pass its regressor_ and the transformed target"
        )
    elif classifies(model):
        reason = "is a classifier, and the decompositions are of squared error"
    else:
        reason = "is not an ensemble whose members are known"
    raise TypeError(
        f"estimator of type {type(model).__name__} {reason}. Allowed are {_names(_READERS)}, "
        "anything with predict_members, and pipelines and searches over these."
    )


def _names(kinds: Iterable[type]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


def _own(model: Any, X: Table) -> AnyArray:
    return np.asarray(model.predict_members(X))


def _voting(model: Any, X: Table) -> FloatArray:
    # Voters were fitted on the table itself, with its column names.
    return _stack(voter.predict(X) for voter in model.estimators_)


def _estimators(model: Any, X: Table, **checks: Any) -> FloatArray:
    """Predictions of ``estimators_``, in bagging each from its own features."""
    rows = _without_names(model, X, **checks)
    own = getattr(model, "estimators_features_", None)
    tables = (rows if own is None else rows[:, own[m]] for m in range(len(model.estimators_)))
    return _stack(e.predict(table) for e, table in zip(model.estimators_, tables, strict=True))


def _gradient_boosting(model: Any, X: Table) -> FloatArray:
    stages = _stack(model.staged_predict(X))
    first_tree = model.estimators_[0, 0].predict(_without_names(model, X))
    # The first stage without its tree is the start, for any `init`, "zero" included.
    return _summands(stages, stages[0] - model.learning_rate * first_tree)


def _hist_gradient_boosting(model: Any, X: Table) -> FloatArray:
    if model.loss not in _SUMMED_LOSSES:
        raise ValueError(
            f"estimator has loss={model.loss!r}, whose prediction is the exponential of a sum of "
            "trees and so no mean of members; allowed are "
            f"{', '.join(map(repr, _SUMMED_LOSSES))}, or staged=True."
        )
    # The constant that it starts from has no public name. Partial dependence by recursion leaves
    # it out and would reveal it, but not with categorical features, nor in every version of
    # scikit-learn.
    start = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(())
    return _summands(_stack(model.staged_predict(X)), start)


def _summands(stages: FloatArray, init: FloatArray) -> FloatArray:
    """Members init + M ν h_t, whose mean is the last stage."""
    start = np.broadcast_to(init, (1, stages.shape[1]))
    return np.asarray(start + len(stages) * np.diff(stages, axis=0, prepend=start))


def _without_names(model: Any, X: Table, **checks: Any) -> AnyArray:
    """X checked against the training data, without column names: members were fitted without."""
    checks = {"dtype": None, "ensure_all_finite": False, **checks}
    return validate_data(model, X, reset=False, accept_sparse="csr", **checks)


def _stack(predictions: Iterable[AnyArray]) -> FloatArray:
    return np.stack([np.asarray(one, dtype=np.float64) for one in predictions])


#: How the members of each kind of ensemble are read.
_READERS: dict[type, Callable[[Any, Table], AnyArray]] = {
    # Trees work in single precision; converted once here, X is not converted by every tree.
    RandomForestRegressor: partial(_estimators, dtype=np.float32),
    ExtraTreesRegressor: partial(_estimators, dtype=np.float32),
    BaggingRegressor: _estimators,
    VotingRegressor: _voting,
    GradientBoostingRegressor: _gradient_boosting,
    HistGradientBoostingRegressor: _hist_gradient_boosting,
    AdaBoostRegressor: partial(_estimators, ensure_all_finite=True),
}

_BOOSTING = (GradientBoostingRegressor, HistGradientBoostingRegressor, AdaBoostRegressor)
