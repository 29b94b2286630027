import datetime

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negcorr.exceptions import TableError
from negcorr.reading.dates import date_form, date_remark, dates


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (["2024-01-31", None], "iso"),
        (["2024-01-31 10:00", "2024-01-31 10:00:01.5"], "iso"),
        (["2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00"], "iso"),
        (["31/01/2024", "1/2/2024"], "%d/%m/%Y"),
        (["01/31/2024", "2/1/2024"], "%m/%d/%Y"),
        (["1/2/2024"], "%d/%m/%Y"),
        (["31.01.2024", "?"], "%d.%m.%Y"),
        (["31-01-2024"], "%d-%m-%Y"),
        (["31/01/2024 10:00"], "%d/%m/%Y %H:%M"),
        (["2024/01/31"], "%Y/%m/%d"),
        # Strictly: not all values are dates, or not of the same form, or there is no such day.
        (["2024-01-31", "soon"], None),
        (["2024-02-30"], None),
        (["31/01/2024", "01/31/2024"], None),
        (["31/01/24"], None),
        (["2024"], None),
        (["20240131"], None),
        (["1.5", "2.5"], None),
        (["", "NA"], None),
        ([20240131, 20240201], None),
        ([datetime.date(2024, 1, 31), None], "datetime"),
    ],
)
def test_form_of_a_column(values, form):
    assert date_form(pd.Series(values, dtype=object)) == form


def test_forms_of_pandas_dates():
    days = pd.Series(pd.to_datetime(["2024-01-31"]))
    assert date_form(days) == "datetime"
    assert date_form(days.dt.tz_localize("Europe/Berlin")) == "datetime Europe/Berlin"
    assert date_form(days.dt.to_period("M")) == "datetime"
    assert date_form(pd.Series([1, 2])) is None
    assert date_form(pd.Series(["a"], dtype="category")) is None


def moment(series, form="iso"):
    return dates(series, form, "day").iloc[0]


def test_moments_in_their_zone():
    local = pd.Series(pd.to_datetime(["2024-07-01 12:00"])).dt.tz_localize("Europe/Berlin")
    noon = pd.Timestamp("2024-07-01 12:00")
    assert moment(local, "datetime Europe/Berlin") == noon
    # New rows may come in another zone, with offsets, or without: the latter are local.
    assert moment(local.dt.tz_convert("UTC"), "datetime Europe/Berlin") == noon
    assert moment(pd.Series(["2024-07-01T10:00:00Z"]), "datetime Europe/Berlin") == noon
    assert moment(pd.Series(["2024-07-01 12:00"]), "datetime Europe/Berlin") == noon
    assert moment(pd.Series(["2024-07-01T12:00:00+02:00"])) == pd.Timestamp("2024-07-01 10:00")


def test_moments_of_other_types():
    day = pd.Timestamp("2024-01-31")
    assert moment(pd.Series([datetime.date(2024, 1, 31)], dtype=object), "datetime") == day
    assert moment(pd.Series(["31/01/2024"]), "%d/%m/%Y") == day
    # A frame that was read elsewhere has the same dates in its own type.
    assert moment(pd.Series([day]), "%d/%m/%Y") == day
    assert moment(pd.Series(["2024-01-31"]), "%d/%m/%Y") == day
    assert pd.isna(dates(pd.Series([None, "?", pd.NaT], dtype=object), "iso", "day")).all()


def test_value_that_is_no_date_is_named():
    with pytest.raises(TableError, match="column 'day': 'soon' is not a date"):
        dates(pd.Series(["2024-01-31", "soon"]), "iso", "day")


def test_doubt_about_the_order_is_said():
    assert "no value shows the order" in date_remark("%d/%m/%Y", ["1/2/2024"])
    assert date_remark("%d/%m/%Y", ["31/2/2024"]) == "day/month/year"
    assert date_remark("%m/%d/%Y", []) == "month/day/year"
    assert date_remark("%d.%m.%Y %H:%M", []) == "day.month.year"
    assert date_remark("datetime Europe/Berlin", []) == "times of Europe/Berlin"
    assert date_remark("iso", []) == ""


@given(
    st.lists(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)), min_size=1)
)
def test_iso_survives(moments):
    text = pd.Series([m.isoformat() for m in moments])
    assert date_form(text) == "iso"
    assert dates(text, "iso", "day").tolist() == [pd.Timestamp(m) for m in moments]
