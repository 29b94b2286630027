"""The map from targets to fitted values, of an estimator or a callable."""

from __future__ import annotations

import inspect
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.validation import _num_samples, has_fit_parameter

from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import check_weight
from negcorr.dof.common_seeds import free_seeds, seeded

__all__ = [
    "NonFiniteError",
    "Refit",
    "check_regressor",
    "fit_arguments",
    "is_estimator",
    "own_copy",
]

SEEDINGS = ("per-probe", "shared", "none")


class NonFiniteError(ValueError):
    """A fit predicted NaN or infinity at its own training inputs."""


@dataclass(frozen=True, repr=False)
class Refit:
    """y ↦ μ̂(y), the fitted values at the training inputs.

    Attributes
    ----------
    estimator : estimator or callable
        What is refitted: an estimator, always through a clone, or ``fit_predict(X, y)``.
    X : table of shape (n, d)
        Inputs, the same in every fit.
    y : ndarray of shape (n, outputs)
        Targets as given, around which they are moved.
    weight : ndarray of shape (n,) or None
        Frequencies of the rows.
    single_output : bool
        Whether targets were given, and are passed on, as ``(n,)``.
    draws_seeds : bool
        Whether unset random states are set for every fit.
    X_new : table of shape (m, d) or None
        Further rows at which to predict, after the training rows.
    """

    estimator: Any
    X: Table
    y: FloatArray
    weight: FloatArray | None
    single_output: bool
    draws_seeds: bool
    X_new: Table | None = None

    @classmethod
    def of(
        cls, estimator: Any, X: Table, y: Any, sample_weight: Any = None, seeding: str = "per-probe"
    ) -> Refit:
        """The map for the arguments of a user, after checking them."""
        if seeding not in SEEDINGS:
            raise ValueError(f"seeding={seeding!r} is unknown; allowed are {SEEDINGS}.")
        check_regressor(estimator)
        try:
            target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        except ValueError as error:
            if "could not convert" in str(error):
                raise ValueError(f"y must be numbers: {error}.") from error
            raise
        if target.ndim > 2:
            raise ValueError(f"y must be (n,) or (n, outputs), got shape {target.shape}.")
        check_consistent_length(X, target)
        weight = check_weight(sample_weight, target)
        if weight is not None:
            fit_arguments(estimator, weight)
        draws_seeds = is_estimator(estimator) and seeding != "none"
        columns = target.reshape(len(target), -1)
        return cls(estimator, X, columns, weight, target.ndim == 1, draws_seeds)

    def in_shape_of_y(self, values: FloatArray) -> Any:
        """Values of shape (…, outputs) in the form of the user's y.

        Without the last axis where y is (n,); a single number is then a float.
        """
        if not self.single_output:
            return values
        return float(values[0]) if values.ndim == 1 else values[..., 0]

    @property
    def target(self) -> FloatArray:
        """Targets in the shape in which the user gave them."""
        return np.asarray(self.in_shape_of_y(self.y))

    @property
    def n_samples(self) -> float:
        """Rows, by weight."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())

    @property
    def draws_numbers(self) -> bool:
        """Whether an unset random state may make two fits of the same targets differ."""
        return is_estimator(self.estimator) and len(free_seeds(self.estimator)) > 0

    @property
    def has_free_seeds(self) -> bool:
        """Whether seeds are handed out to the fits."""
        return self.draws_seeds and self.draws_numbers

    def __call__(self, y: FloatArray, seed: int) -> AnyArray:
        """Fitted values for targets of shape (n, outputs), of that shape.

        With ``X_new``, predictions there follow: shape (n + m, outputs).
        """
        n, outputs = self.y.shape
        target = self.in_shape_of_y(y)
        if is_estimator(self.estimator):
            model = seeded(self.estimator, seed) if self.draws_seeds else clone(self.estimator)
            model.fit(own_copy(self.X), target, **fit_arguments(model, self.weight))
            pieces = [(model.predict(own_copy(self.X)), n)]
            if self.X_new is not None:
                pieces.append((model.predict(own_copy(self.X_new)), _num_samples(self.X_new)))
        else:
            pieces = [(self.estimator(own_copy(self.X), target), n)]
        checked = []
        for predictions, n_rows in pieces:
            fitted = np.asarray(predictions)
            if fitted.shape != (n_rows, outputs) and (outputs > 1 or fitted.shape != (n_rows,)):
                expected = f"{n_rows} rows and {outputs} output(s)"
                raise ValueError(f"predictions have shape {fitted.shape} for {expected}.")
            if fitted.dtype.kind not in "fiub":
                raise ValueError(f"predictions must be real numbers, got dtype {fitted.dtype}.")
            bad = int(np.count_nonzero(~np.isfinite(fitted)))
            if bad:
                raise NonFiniteError(f"{bad} of {fitted.size} predictions are NaN or infinite.")
            checked.append(fitted.reshape(n_rows, outputs))
        return np.concatenate(checked)


def own_copy(X: Table) -> Table:
    """X for one fit alone: some estimators write into it, with ``copy_X=False`` and the like."""
    return X.copy() if isinstance(X, np.ndarray) else deepcopy(X)


def is_estimator(thing: Any) -> bool:
    """Whether it is refitted through ``fit`` and ``predict`` rather than called."""
    return hasattr(thing, "fit") and hasattr(thing, "get_params")


def check_regressor(estimator: Any) -> None:
    """Raise unless ``estimator`` maps targets to real fitted values."""
    allowed = "a regressor with fit, predict and get_params, or a callable fit_predict(X, y)"
    if inspect.isclass(estimator):
        raise TypeError(f"estimator={estimator.__name__} is a class; pass an instance of it.")
    if not is_estimator(estimator):
        if callable(estimator):
            return
        raise TypeError(f"estimator={estimator!r} must be {allowed}.")
    has_tags = hasattr(estimator, "__sklearn_tags__")
    kind = get_tags(estimator).estimator_type if has_tags else None
    refused = _REFUSED.get(kind)
    if has_tags and kind is None and hasattr(estimator, "transform"):
        refused = "a transformer"
    if refused is not None:
        raise TypeError(
            f"estimator={estimator!r} is {refused}: degrees of freedom are the response of real "
            f"fitted values to real targets. Give {allowed}."
        )
    # Some regressors have predict only once they are fitted, as stacked ones do.
    if not hasattr(estimator, "predict") and kind != "regressor":
        raise TypeError(f"estimator={estimator!r} has no predict; give {allowed}.")


#: Types of estimators that are no regressors, and what to call them in messages.
_REFUSED: dict[str | None, str] = {
    "classifier": "a classifier",
    "clusterer": "a clusterer, which ignores y",
    "outlier_detector": "an outlier detector, which ignores y",
}


def fit_arguments(estimator: Any, weight: FloatArray | None) -> dict[str, FloatArray]:
    """Keywords that pass frequencies to ``fit``; in a pipeline to the last step."""
    if weight is None:
        return {}
    if not is_estimator(estimator):
        raise ValueError(
            "sample_weight cannot be handed to a callable; let fit_predict(X, y) hold the weights."
        )
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weight}
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in fit_arguments(last, weight).items()}
    parameters = inspect.signature(estimator.fit).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return {"sample_weight": weight}
    raise ValueError(
        f"sample_weight was given, but {type(estimator).__name__}.fit takes none; give None."
    )
