"""One try of something that may answer, warn, refuse or fail; and fits that are compared."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hostile.random_problems import Problem

import negcorr
from negcorr.exceptions import NegcorrWarning, PrecisionWarning

__all__ = ["Attempt", "attempt", "differences"]

_OURS = Path(negcorr.__file__).parent

#: Modules of scikit-learn whose errors are about what the user gave.
_CHECKS = (
    "sklearn/utils/validation.py",
    "sklearn/utils/_param_validation.py",
    "sklearn/model_selection/_split.py",
)


@dataclass
class Attempt:
    """What came out of one try.

    Attributes
    ----------
    value : object
        What the function returned; None after an error.
    warned : bool
        Whether there was a warning that numbers may be wrong.
    refusal : str
        The message of an error that is meant for users.
    faults : tuple of str
        Errors from within, and warnings that tell users nothing.
    """

    value: Any
    warned: bool
    refusal: str
    faults: tuple[str, ...]


def attempt(function: Callable[[], Any]) -> Attempt:
    """Call a function, and sort out what it returned, raised and warned of."""
    value, refusal, faults = None, "", []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function()
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
            if _is_for_users(error, where.filename):
                refusal = words
            else:
                faults.append(words)
    for each in caught:
        if not issubclass(each.category, NegcorrWarning):
            name = each.category.__name__
            faults.append(f"{name}: {each.message} ({Path(each.filename).name}:{each.lineno})")
    warned = any(issubclass(each.category, PrecisionWarning) for each in caught)
    return Attempt(value, warned, refusal, tuple(dict.fromkeys(faults)))


def _is_for_users(error: Exception, filename: str) -> bool:
    """Whether an error was raised on purpose, about what the user gave."""
    if isinstance(error, np.linalg.LinAlgError) or not isinstance(error, (TypeError, ValueError)):
        return False
    return _OURS in Path(filename).parents or filename.endswith(_CHECKS)


def differences(
    problem: Problem,
    one: Any,
    other: Any,
    *,
    tolerance: float,
    dof: float = 1e-8,
    factor: float = 1.0,
    shift: Any = 0.0,
) -> list[str]:
    """How two fitted models differ that should be the same, on the training rows.

    Parameters
    ----------
    problem : Problem
    one, other : NCLRegressor
    tolerance : float
        Of predictions, as a share of the target's spread.
    dof : float, default=1e-8
        Of degrees of freedom, as a share of them.
    factor, shift : float
        What targets of the other one were multiplied by, and what was added then.
    """
    faults = []
    if not np.array_equal(one.gap_, other.gap_):
        faults.append(f"the gap is {one.gap_} and {other.gap_}")
    if np.max(np.abs(np.subtract(one.dof_, other.dof_)) / np.maximum(one.dof_, 1.0)) > dof:
        faults.append(f"dof is {one.dof_} and {other.dof_}")
    X = problem.X[problem.of_weight]
    mine, theirs = one.predict(X), other.predict(X)
    theirs = (theirs.astype(np.float64) - shift) / factor
    rounding = problem.rounding(mine) * (1.0 + 2.0 * np.max(np.abs(shift / problem.scale)))
    if not np.max(np.abs(mine - theirs) - (tolerance * problem.scale + rounding)) <= 0:
        share = np.max(np.abs(mine - theirs) / problem.scale)
        faults.append(f"predictions differ by {share:.2g} of the spread")
    return faults
