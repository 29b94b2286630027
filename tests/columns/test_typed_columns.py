import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from negcorr.columns.typed_columns import TypedColumns, levels
from negcorr.exceptions import TableError


@pytest.fixture
def reader():
    return TypedColumns({"price": "$ thousands"}, ["kind"], {"day": "%d/%m/%Y"})


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "day": ["31/01/2024", None],
            "other": [1, 2],
            "kind": [" a", None],
            "price": ["$1,200", "NA"],
        },
        index=[7, 9],
    )


def test_columns_in_their_types(reader, frame):
    found = reader.fit(frame).transform(frame)
    assert list(found.columns) == ["price", "kind", "day"]
    assert found.index.tolist() == [7, 9]
    np.testing.assert_array_equal(found["price"], [1200.0, np.nan])
    assert found["kind"].tolist() == ["a", "(missing)"]
    assert found["day"].tolist() == [pd.Timestamp("2024-01-31"), pd.NaT]
    assert reader.get_feature_names_out().tolist() == ["price", "kind", "day"]


def test_other_frames(reader, frame):
    import polars as pl

    reader.fit(frame)
    assert reader.transform(pl.from_pandas(frame)).shape == (2, 3)
    assert reader.transform(frame.iloc[:0]).shape == (0, 3)
    with pytest.raises(TableError, match="X lacks the columns 'price', 'kind'; it has 'day'"):
        reader.transform(frame[["day"]])
    with pytest.raises(TypeError, match="data frame with named columns, got ndarray"):
        reader.transform(np.zeros((2, 3)))
    with pytest.raises(TableError, match="column 'price': 'cheap' is not a number"):
        reader.transform(frame.assign(price="cheap"))
    assert clone(reader).get_params() == reader.get_params()


def test_levels_are_named_alike_in_every_type():
    for series in (
        pd.Series([1, 2]),
        pd.Series([1.0, 2.0]),
        pd.Series(["1", "2 "]),
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype="category"),
        pd.Series(["1", "2"], dtype="string"),
    ):
        assert levels(series).tolist() == ["1", "2"]
    gaps = pd.Series([1, None], dtype="Int64")
    assert levels(gaps).tolist() == levels(pd.Series([1.0, np.nan])).tolist() == ["1", "(missing)"]
    assert levels(pd.Series([1.5, True], dtype=object)).tolist() == ["1.5", "True"]
