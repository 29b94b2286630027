"""Numbers and their standard errors as people write them: few digits, exponents if needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from negcorr._common.types import FloatArray

__all__ = ["amount", "amount_with_error", "listed", "mean_and_error", "shortened", "with_error"]


#: Sizes that are written without an exponent.
SMALLEST, LARGEST = 1e-4, 1e9


def amount(value: float, digits: int = 4) -> str:
    """A number as text with a given number of significant digits.

    Parameters
    ----------
    value : float
    digits : int, default=4
        Significant digits; whole numbers keep all digits before the decimal point.

    Examples
    --------
    >>> from negcorr._common.number_text import amount
    >>> amount(55893.7), amount(0.0123456), amount(3.0), amount(1.5e-7), amount(float("nan"))
    ('55890', '0.01235', '3', '1.5e-07', '')
    """
    if math.isnan(value):
        return ""
    if math.isinf(value) or (value != 0 and not SMALLEST <= abs(value) < LARGEST):
        return f"{value:.{digits}g}"
    if value == 0:
        return "0"
    place = digits - 1 - math.floor(math.log10(abs(value)))
    return _fixed(value, place, trim=True)


def amount_with_error(value: float, error: float) -> str:
    """A number and its standard error, the error to two digits and the number to as many places.

    Parameters
    ----------
    value, error : float

    Examples
    --------
    >>> from negcorr._common.number_text import amount_with_error
    >>> amount_with_error(55893.7, 1103.2), amount_with_error(0.51234, 0.0123)
    ('55900 ± 1100', '0.512 ± 0.012')
    >>> amount_with_error(2.0, float("nan"))
    '2'
    """
    if not math.isfinite(error) or error <= 0 or not math.isfinite(value):
        return amount(value)
    if not (error >= SMALLEST and max(abs(value), error) < LARGEST):
        return f"{value:.4g} ± {error:.2g}"
    place = 1 - math.floor(math.log10(error))
    return f"{_fixed(value, place)} ± {_fixed(error, place)}"


def with_error(value: float | FloatArray, error: float | FloatArray) -> str:
    """Numbers to four digits and their standard errors to two, in brackets for an array.

    Parameters
    ----------
    value, error : float or ndarray of shape (outputs,)
        An error of 0 is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr._common.number_text import with_error
    >>> with_error(12.34567, 0.4321), with_error(np.array([1.5, 2.0]), np.array([0.25, 0.0]))
    ('12.35 ± 0.43', '[1.5 ± 0.25, 2]')
    """
    pairs = zip(np.atleast_1d(value), np.atleast_1d(error), strict=True)
    text = ", ".join(f"{v:.4g}" + (f" ± {e:.2g}" if e != 0 else "") for v, e in pairs)
    return f"[{text}]" if np.ndim(value) else text


def mean_and_error(
    values: FloatArray, weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Weighted mean of rows and its standard error, which is NaN for one row.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, outputs)
    weight : ndarray of shape (n,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr._common.number_text import mean_and_error
    >>> mean, error = mean_and_error(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> mean, error.round(6)
    (array([2., 5.]), array([1., 0.]))
    """
    weight = np.ones(len(values)) if weight is None else weight
    mean = np.average(values, axis=0, weights=weight)
    used = np.count_nonzero(weight)
    if used < 2:
        return mean, np.full(np.shape(mean), np.nan)
    deviations = weight * (values - mean).T
    spread = np.sqrt(np.sum(deviations**2, axis=-1)) / weight.sum()
    return mean, spread * np.sqrt(used / (used - 1))


def _fixed(value: float, place: int, trim: bool = False) -> str:
    """Rounded at a decimal place, which may stand before the point."""
    text = f"{round(value, place):.{max(place, 0)}f}"
    return text.rstrip("0").rstrip(".") if trim and "." in text else text


def listed(words: Sequence[str], most: int) -> str:
    """Words joined by commas; of many words only the first ones.

    Examples
    --------
    >>> from negcorr._common.number_text import listed
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def shortened(text: Any, most: int = 40) -> str:
    """Text in quotes for messages, cut where it is long."""
    word = str(text)
    return repr(word if len(word) <= most else word[: most - 1] + "…")
