"""The path and the gaps that a display draws, from what users give it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from negcorr._common.types import FloatArray
from negcorr._common.validation import is_integer
from negcorr.diversity.inner_model import inner_model
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.path.curve_view import drawn_gaps
from negcorr.path.path import NCLPath
from negcorr.spectrum.gap import resolve_gap

__all__ = ["check_output", "label_of_output", "output_and_gaps", "path_of", "sorted_gaps"]


def path_of(estimator: Any) -> NCLPath:
    """The path of a fitted model, alone or at the end of a pipeline or a search.

    Raises
    ------
    TypeError
        If there is no NCLRegressor inside.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    model, _ = inner_model(estimator)
    if not isinstance(model, NCLRegressor):
        hint = " (draw a path by from_path)" if isinstance(estimator, NCLPath) else ""
        raise TypeError(
            f"estimator of type {type(estimator).__name__} has no path in lam{hint}; allowed are a "
            "fitted NCLRegressor, and pipelines and searches that end in one."
        )
    check_is_fitted(model)
    return model.path_


def check_output(output: Any, n_outputs: int) -> int:
    """The number of an output; an error where there is no such output."""
    if not is_integer(output):
        raise TypeError(f"output={output!r} must be an integer, got {type(output).__name__}.")
    if not 0 <= int(output) < n_outputs:
        allowed = "only 0 is allowed" if n_outputs == 1 else f"allowed are 0 to {n_outputs - 1}"
        raise ValueError(f"output={output} does not exist; {allowed} for {n_outputs} output(s).")
    return int(output)


def label_of_output(output: int, n_outputs: int) -> str | None:
    """The name of one of several outputs; None for a single output."""
    return f"output {output}" if n_outputs > 1 else None


def sorted_gaps(gaps: npt.ArrayLike, name: str = "gaps") -> FloatArray:
    """Given gaps in descending order, each once, or an error about ``name``."""
    try:
        values = np.unique(resolve_gap(gap=gaps))[::-1]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers in [0, 1]: {error}") from error
    if len(values) == 0:
        raise ValueError(f"{name} is empty; give at least one.")
    return values


def output_and_gaps(
    path: Any, output: Any, gaps: npt.ArrayLike | None, per_decade: int = 20
) -> tuple[int, FloatArray]:
    """Which output is drawn and at which gaps, descending; by default where the curves change.

    Raises
    ------
    TypeError, ValueError
        If this is no NCLPath, or it has no such output, or these are no gaps.
    """
    if not isinstance(path, NCLPath):
        raise TypeError(
            f"path must be an NCLPath, got {type(path).__name__}; for a fitted model use "
            "from_estimator."
        )
    output = check_output(output, path.spectrum.n_outputs)
    if gaps is None:
        return output, drawn_gaps(path, float(path.chosen_gap[output]), per_decade)
    values = sorted_gaps(gaps)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        path.warn_if_unresolved(values, stacklevel=2)
    for warning in said:
        # The warning names the user's line, whichever display was called.
        warn_caller(str(warning.message), PrecisionWarning)
    return output, values
