"""The model at the end of pipelines and searches, and the inputs as that model gets them."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from negcorr._common.types import Table

__all__ = ["classifies", "inner_model"]


def inner_model(estimator: Any, X: Table | None = None) -> tuple[Any, Table | None]:
    """The model at the end of pipelines and inside searches, and the inputs as it gets them.

    Parameters
    ----------
    estimator : object
        A model, a fitted pipeline that ends in one, or a fitted search over either, whose best
        estimator is taken.
    X : table of shape (n, d), optional
        Inputs of ``estimator``; earlier steps of a pipeline transform them.

    Returns
    -------
    model : object
        The first thing inside that is neither a pipeline nor a search, or that has
        ``predict_members``.
    X : table
        Its inputs.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If a pipeline or a search is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from negcorr.diversity.inner_model import inner_model
    >>> X = np.array([[1.0], [3.0]])
    >>> model, inputs = inner_model(make_pipeline(StandardScaler(), Ridge()).fit(X, [0.0, 1.0]), X)
    >>> model, inputs.ravel()
    (Ridge(), array([-1.,  1.]))
    """
    while not hasattr(estimator, "predict_members"):
        if isinstance(estimator, Pipeline):
            check_is_fitted(estimator)
            if X is not None and len(estimator.steps) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator.steps[-1][1]
        # The parent class of the searches is not public. Only they, and classifiers that tune a
        # threshold, wrap an estimator and say whether to refit it.
        elif (
            hasattr(estimator, "estimator")
            and hasattr(estimator, "refit")
            and not classifies(estimator)
        ):
            check_is_fitted(estimator)
            if not hasattr(estimator, "best_estimator_"):
                raise NotFittedError(
                    f"estimator={type(estimator).__name__} with refit={estimator.refit!r} keeps "
                    "no fitted estimator; search with refit=True."
                )
            estimator = estimator.best_estimator_
        else:
            break
    return estimator, X


def classifies(estimator: Any) -> bool:
    """Whether this is one of scikit-learn's classifiers; False for what is not scikit-learn's."""
    # scikit-learn raises an error for objects that are not its own.
    return isinstance(estimator, BaseEstimator) and bool(is_classifier(estimator))
