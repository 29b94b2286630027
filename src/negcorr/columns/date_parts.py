"""DateParts: dates as numbers that features of distances can use."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from negcorr._common.types import AnyArray, FloatArray, Table

__all__ = ["DateParts"]


class DateParts(TransformerMixin, BaseEstimator):
    """Dates as numbers: days since the first one, and positions in the year, week and day.

    Month, weekday and hour become the sine and cosine of an angle, so that December is next to
    January, where they vary among the rows of the fit. Days are scaled to unit variance. A missing
    date counts as the median; where the fit saw any, a 0/1 column shows which are missing.

    Attributes
    ----------
    origins_, middles_, scales_ : dict of str to number
        First moment of each column in days since 1970, middle and spread of the days after it.
    cycles_ : dict of str to list of str
        Those of "month", "weekday" and "hour" that vary.
    lacking_ : list of str
        Columns with missing dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tables import DateParts
    >>> days = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-08"])})
    >>> parts = DateParts().fit(days)
    >>> parts.get_feature_names_out().tolist()
    ['day_days', 'day_weekday_sin', 'day_weekday_cos']
    >>> parts.transform(days)[:, 1].round(2).tolist()
    [0.0, 0.78, 0.0]
    """

    def fit(self, X: Table, y: Any = None) -> Self:
        """Find the first date of each column, and what varies.

        Parameters
        ----------
        X : pandas.DataFrame of datetime64
        y : ignored

        Returns
        -------
        self
        """
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.origins_, self.middles_, self.scales_ = {}, {}, {}
        self.cycles_: dict[str, list[str]] = {}
        self.lacking_: list[str] = []
        for name in self.feature_names_in_:
            times = _times(X[name])
            present = times[~np.isnat(times)]
            days = _days(present) if len(present) else np.zeros(1)
            origin = float(days.min())
            self.origins_[name] = origin
            self.middles_[name] = float(np.median(days)) - origin
            self.scales_[name] = float(days.std()) or 1.0
            turns = _turns(present)
            self.cycles_[name] = [key for key, t in turns.items() if len(np.unique(t)) > 1]
            if len(present) < len(times):
                self.lacking_.append(name)
        return self

    def transform(self, X: Table) -> FloatArray:
        """Numbers for each date.

        Parameters
        ----------
        X : pandas.DataFrame of datetime64

        Returns
        -------
        ndarray of shape (n, features)
        """
        check_is_fitted(self)
        parts: list[FloatArray] = []
        for name in self.feature_names_in_:
            times = _times(X[name])
            missing = np.isnat(times)
            days = _days(times) - self.origins_[name]
            days[missing] = self.middles_[name]
            parts.append((days - self.middles_[name]) / self.scales_[name])
            turns = _turns(times)
            for key in self.cycles_[name]:
                angle = 2.0 * np.pi * turns[key]
                # A missing one is at the centre of the circle, equally far from all months.
                parts += [np.where(missing, 0.0, f(angle)) for f in (np.sin, np.cos)]
            if name in self.lacking_:
                parts.append(missing.astype(np.float64))
        return np.stack(parts, axis=1) if parts else np.zeros((len(X), 0))

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """``<column>_days``, ``<column>_month_sin`` and so on.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        names = []
        for name in self.feature_names_in_:
            names.append(f"{name}_days")
            names += [f"{name}_{key}_{way}" for key in self.cycles_[name] for way in ("sin", "cos")]
            names += [f"{name}_missing"] if name in self.lacking_ else []
        return np.asarray(names, dtype=object)


def _times(column: Any) -> AnyArray:
    return np.asarray(column.to_numpy(), dtype="datetime64[us]")


def _days(times: AnyArray) -> FloatArray:
    """Days since 1970."""
    return np.asarray((times - np.datetime64(0, "us")) / np.timedelta64(1, "D"), dtype=np.float64)


def _turns(times: AnyArray) -> dict[str, FloatArray]:
    """Positions in the year by month, in the week by day, in the day by hour, from 0 to 1."""
    import pandas

    index = pandas.DatetimeIndex(times)
    hours = index.hour + index.minute / 60.0
    parts = (index.month - 1) / 12.0, index.day_of_week / 7.0, hours / 24.0
    of_floats = (np.asarray(part, dtype=np.float64) for part in parts)
    return dict(zip(("month", "weekday", "hour"), of_floats, strict=True))
