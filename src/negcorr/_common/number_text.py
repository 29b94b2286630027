"""Numbers as people write them: few digits, no exponents where none are needed."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["amount", "amount_with_error", "shortened"]


#: Sizes that are written without an exponent.
SMALLEST, LARGEST = 1e-4, 1e9


def amount(value: float, digits: int = 4) -> str:
    """A number to so many digits.

    Parameters
    ----------
    value : float
    digits : int, default=4
        Digits that count; whole numbers keep all before the point.

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


def _fixed(value: float, place: int, trim: bool = False) -> str:
    """Rounded at a decimal place, which may stand before the point."""
    text = f"{round(value, place):.{max(place, 0)}f}"
    return text.rstrip("0").rstrip(".") if trim and "." in text else text


def shortened(text: Any, most: int = 40) -> str:
    """Text in quotes for messages, cut where it is long."""
    word = str(text)
    return repr(word if len(word) <= most else word[: most - 1] + "…")
