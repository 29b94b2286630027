"""Columns of dates: the form in which a whole column is written, and its values as moments.

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

__all__ = ["date_form", "date_remark", "dates", "iso_dates"]

_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z| ?[+-]\d{2}:?\d{2})?)?", re.ASCII
)
_OFFSET = re.compile(r":\d{2}(\.\d+)?(Z| ?[+-]\d{2}:?\d{2})$", re.ASCII)
_DAY_FIRST = {"/": ("%d/%m/%Y", "%m/%d/%Y"), ".": ("%d.%m.%Y",), "-": ("%d-%m-%Y",)}
_YEAR_LAST = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{4}( \d{1,2}:\d{2}(:\d{2})?)?", re.ASCII)
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
        Where no value shows which of two numbers is the day, it is the first.

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
    texts = [text.strip() for text in values if not is_missing_mark(text)]
    if not texts or max(map(len, texts)) >= 48:
        return None
    forms: tuple[str, ...] = ()
    time = ("", " %H:%M", " %H:%M:%S")[min(texts[0].count(":"), 2)]
    year_last = _YEAR_LAST.fullmatch(texts[0])
    if all(map(_ISO.fullmatch, texts)):
        return None if _moments(texts, "ISO8601") is None else "iso"
    if year_last and all(map(_YEAR_LAST.fullmatch, texts)):
        forms = tuple(form + time for form in _DAY_FIRST[year_last[1]])
    elif all(map(_YEAR_FIRST.fullmatch, texts)):
        forms = ("%Y/%m/%d" + time,)
    return next((form for form in forms if _moments(texts, form) is not None), None)


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
        values = [
            (None if is_missing_mark(value) else value.strip()) if isinstance(value, str) else value
            for value in series.astype(object).where(series.notna(), None)
        ]
        pattern = "ISO8601" if form == "iso" or form.startswith("datetime") else form
        # The same dates may come from a file that writes them in the usual way.
        attempts = (_moments(values, each, series.index) for each in (pattern, "ISO8601"))
        moments = next((found for found in attempts if found is not None), None)
        if moments is None:
            odd = (v for v in values if not isinstance(v, datetime.date | None))
            bad = next(v for v in odd if not isinstance(v, str) or _moments([v], pattern) is None)
            raise TableError(
                f"column {column!r}: {shortened(bad)} is not a date, as the others are ({form})."
            )
        # Text without an offset is not in UTC: it is local time.
        series = moments if any(map(_has_offset, values)) else moments.dt.tz_localize(None)
    zone = getattr(series.dt, "tz", None)
    if zone is not None:
        wanted = form.partition(" ")[2] if form.startswith("datetime ") else ""
        series = series.dt.tz_convert(wanted or "UTC").dt.tz_localize(None)
    return series.astype("datetime64[us]")


def iso_dates(texts: AnyArray) -> AnyArray:
    """Texts as moments of UTC, NaT where one is no ISO date.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.reading.dates import iso_dates
    >>> iso_dates(np.array(["2024-01-31", "so"], dtype=object)).astype("datetime64[D]").tolist()
    [datetime.date(2024, 1, 31), None]
    """
    import pandas

    found = np.full(len(texts), np.datetime64("NaT"), dtype="datetime64[us]")
    at = [k for k, text in enumerate(texts) if _ISO.fullmatch(text)]
    if at:
        moments = pandas.to_datetime(texts[at], format="ISO8601", utc=True, errors="coerce")
        found[at] = moments.tz_localize(None).to_numpy().astype("datetime64[us]")
    return found


def date_remark(form: str, values: Iterable[Any]) -> str:
    """A remark on the form of a column of dates: the order of day and month, or the time zone."""
    if form == "%d/%m/%Y" or form.startswith("%d/%m/%Y "):
        some = [str(value) for value in values]
        sure = any(int(text.split("/")[0]) > 12 for text in some if text[:1].isdigit())
        return "day/month/year" if sure else "taken as day/month/year: no value shows the order"
    if form.startswith("%m/%d/%Y"):
        return "month/day/year"
    if form.startswith("%"):
        pattern = form.partition(" ")[0]
        return pattern.replace("%d", "day").replace("%m", "month").replace("%Y", "year")
    zone = form.partition(" ")[2]
    return zone and f"times of {zone}"


def _moments(values: list[Any], pattern: str, index: Any = None) -> Any:
    """Text or dates as moments of UTC; None where one of them is not written so."""
    import pandas

    objects = pandas.Series(values, index=index, dtype=object)
    try:
        return pandas.to_datetime(objects, format=pattern, utc=True)
    except (ValueError, TypeError, OverflowError):
        return None


def _has_offset(value: Any) -> bool:
    if isinstance(value, str):
        return _OFFSET.search(value) is not None
    return getattr(value, "tzinfo", None) is not None
