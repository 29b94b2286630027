import numpy as np
import pandas as pd
import pytest

from negcorr.columns.date_parts import DateParts


def days(*texts):
    return pd.DataFrame({"t": pd.to_datetime(pd.Series(texts, dtype=object))})


def test_date_parts_vary():
    assert DateParts().fit(days("2024-01-01", "2024-01-08")).cycles_ == {"t": []}
    parts = DateParts().fit(days("2024-01-01 00:00", "2024-12-01 06:00", None))
    names = parts.get_feature_names_out().tolist()
    assert names[0] == "t_days"
    assert names[-1] == "t_missing"
    assert {"t_month_sin", "t_weekday_cos", "t_hour_sin"} <= set(names)
    found = dict(zip(names, parts.transform(days("2024-12-01 06:00", None)).T, strict=True))
    assert found["t_hour_sin"].tolist() == [1.0, 0.0]
    assert found["t_missing"].tolist() == [0.0, 1.0]
    # December is as far from January as January is from February.
    turns = parts.transform(days("2024-12-01", "2025-01-01", "2025-02-01"))[:, 1:3]
    steps = np.linalg.norm(np.diff(turns, axis=0), axis=1)
    assert steps[0] == pytest.approx(steps[1])


def test_date_parts_are_scaled_and_take_new_gaps():
    known = days("2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04")
    parts = DateParts().fit(known)
    assert parts.transform(known)[:, 0].std() == pytest.approx(1.0)
    assert np.isfinite(parts.transform(days(None))).all()
    assert parts.transform(days("2020-01-02 12:00"))[0, 0] == pytest.approx(0.0)


def test_dates_that_are_all_missing():
    parts = DateParts().fit(days(None, None))
    assert np.isfinite(parts.transform(days("2024-01-01", None))).all()
