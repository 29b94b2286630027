"""Columns as dates: which way of writing them a whole column keeps to, and its moments.

A form is ``"datetime"`` (pandas has them as such), ``"datetime <zone>"`` (times of the clocks of
that zone), ``"iso"`` (2024-01-31, with or without a time and an offset) or a pattern such as
``"%d/%m/%Y"``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr._common.types import AnyArray
from negcorr.exceptions import TableError
from negcorr.reading.number_cells import is_missing_mark

__all__ = ["date_form", "dates", "says_of_dates"]

_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z| ?[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)
_OFFSET = re.compile(r":\d{2}(\.\d+)?(Z| ?[+-]\d{2}:?\d{2})$", re.ASCII)
_DAY_FIRST = {"/": ("%d/%m/%Y", "%m/%d/%Y"), ".": ("%d.%m.%Y",), "-": ("%d-%m-%Y",)}
_OTHERS = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{4}( \d{1,2}:\d{2}(:\d{2})?)?", re.ASCII)
_YEAR_FIRST = re.compile(r"\d{4}/\d{1,2}/\d{1,2}( \d{1,2}:\d{2}(:\d{2})?)?", re.ASCII)


def date_form(series: Any) -> str | None:
    """The form of dates that all values of a column share; None if there is none.

    Parameters
    ----------
    series : pandas.Series
        Dates of pandas or Python, or text. Numbers are never dates.

    Returns
    -------
    str or None
        Where day and month can be told by no value, the day comes first.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.reading.dates import date_form
    >>> date_form(pd.Series(["2024-01-31", "2023-12-01"])), date_form(pd.Series(["1/2/2024"]))
    ('iso', '%d/%m/%Y')
    """
    kind = series.dtype.kind if hasattr(series.dtype, "kind") else "O"
    if kind == "M":
        zone = getattr(series.dt, "tz", None)
        return "datetime" if zone is None else f"datetime {zone}"
    if type(series.dtype).__name__ == "PeriodDtype":
        return "datetime"
    present = series.dropna()
    if kind in "biufc" or len(present) == 0:
        return None
    values = list(present.unique())
    if all(isinstance(value, datetime.date) for value in values):
        return "datetime"
    if not all(isinstance(value, str) for value in values):
        return None
    return _written_form([text.strip() for text in values if not is_missing_mark(text)])


def dates(series: Any, form: str, column: str) -> Any:
    """Moments of a column in a known form, NaT where one is missing.

    Parameters
    ----------
    series : pandas.Series
        Text or dates.
    form : str
        See :func:`date_form`.
    column : str
        Name of the column, for errors.

    Returns
    -------
    pandas.Series of datetime64
        Without zones: times of the form's zone, or of UTC where text has offsets.

    Raises
    ------
    TableError
        If a value is no date in this form.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.reading.dates import dates
    >>> dates(pd.Series(["31/01/2024", None]), "%d/%m/%Y", "day").dt.year.tolist()
    [2024.0, nan]
    """
    import pandas

    if hasattr(series, "cat"):
        # Each of them once.
        known = series.cat.remove_unused_categories().cat
        moments = dates(pandas.Series(known.categories, dtype=object), form, column).to_numpy()
        padded = np.append(moments, np.datetime64("NaT", "us"))
        return pandas.Series(padded[known.codes.to_numpy()], index=series.index)
    if type(series.dtype).__name__ == "PeriodDtype":
        series = series.dt.to_timestamp()
    if getattr(series.dtype, "kind", "O") != "M":
        series = _parsed(series, form, column, pandas)
    zone = getattr(series.dt, "tz", None)
    if zone is not None:
        wanted = form.partition(" ")[2] if form.startswith("datetime ") else ""
        series = series.dt.tz_convert(wanted or "UTC").dt.tz_localize(None)
    return series.astype("datetime64[us]")


def says_of_dates(form: str, values: Iterable[Any]) -> str:
    """What people should know of a form: the order of day and month, offsets."""
    if form == "%d/%m/%Y" or form.startswith("%d/%m/%Y "):
        some = [str(value) for value in values]
        sure = any(int(text.split("/")[0]) > 12 for text in some if text[:1].isdigit())
        return "day/month/year" if sure else "taken as day/month/year: no value tells"
    if form.startswith("%m/%d/%Y"):
        return "month/day/year"
    if form.startswith("%"):
        return (
            form.partition(" ")[0].replace("%d", "day").replace("%m", "month").replace("%Y", "year")
        )
    return form.partition(" ")[2] and f"times of {form.partition(' ')[2]}"


def _written_form(texts: list[str]) -> str | None:
    if not texts:
        return None
    if all(len(text) < 48 and _ISO.fullmatch(text) for text in texts):
        return "iso" if _fits(texts, "ISO8601") else None
    candidates: tuple[str, ...] = ()
    found = _OTHERS.fullmatch(texts[0]) if len(texts[0]) < 48 else None
    if found and all(len(text) < 48 and _OTHERS.fullmatch(text) for text in texts):
        candidates = _DAY_FIRST[found[1]]
    elif all(len(text) < 48 and _YEAR_FIRST.fullmatch(text) for text in texts):
        candidates = ("%Y/%m/%d",)
    colons = texts[0].count(":")
    time = {0: "", 1: " %H:%M", 2: " %H:%M:%S"}[min(colons, 2)]
    return next((form + time for form in candidates if _fits(texts, form + time)), None)


def _fits(texts: list[str], form: str) -> bool:
    import pandas

    try:
        pandas.to_datetime(pandas.Series(texts, dtype=object), format=form, utc=True)
    except (ValueError, OverflowError):
        return False
    return True


def _parsed(series: Any, form: str, column: str, pandas: Any) -> Any:
    """Text, or dates of Python, as moments."""
    values = np.array([_bare(value) for value in series], dtype=object)
    pattern = "ISO8601" if form == "iso" or form.startswith("datetime") else form
    try:
        return _moments(values, series.index, pattern, pandas)
    except (ValueError, TypeError, OverflowError):
        pass
    try:
        # The same dates may come from a file that writes them in the usual way.
        return _moments(values, series.index, "ISO8601", pandas)
    except (ValueError, TypeError, OverflowError):
        pass
    bad = next(value for value in values if value is not None and not _is_date(value, pattern))
    raise TableError(
        f"column {column!r}: {shortened(bad)} is not a date, as the others are ({form})."
    )


def _moments(values: AnyArray, index: Any, pattern: str, pandas: Any) -> Any:
    moments = pandas.to_datetime(
        pandas.Series(values, index=index, dtype=object), format=pattern, utc=True
    )
    # Text without an offset is not in UTC: it is what the clocks said.
    return moments if any(map(_has_offset, values)) else moments.dt.tz_localize(None)


def _is_date(value: Any, pattern: str) -> bool:
    return isinstance(value, datetime.date) or (isinstance(value, str) and _fits([value], pattern))


def _bare(value: Any) -> Any:
    """A value that pandas reads alone; None for what is missing."""
    if isinstance(value, str):
        return None if is_missing_mark(value) else value.strip()
    missing = value is None or type(value).__name__ in ("NaTType", "NAType") or value != value
    return None if missing else value


def _has_offset(value: Any) -> bool:
    if isinstance(value, str):
        return _OFFSET.search(value) is not None
    return getattr(value, "tzinfo", None) is not None
