"""Cells as the values they mean: which tables have columns, names of levels, typed cells."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from negcorr.columns.cells import (
    as_frame,
    given_cells,
    has_columns,
    has_names,
    level_names,
    typed_cells,
)
from negcorr.exceptions import TableError
from negcorr.reading.schema import Column
from negcorr.rows.keys import row_keys

DATA = {"size": [1.5, None, 3.0], "kind": ["a", "b", None]}


@pytest.mark.parametrize(
    ("table", "has"),
    [
        (pd.DataFrame(DATA), True),
        (pl.DataFrame(DATA), True),
        (pa.table(DATA), True),
        (pd.DataFrame({"a": [1.0, 2.0]}), True),
        (np.array([[1, "a"]], dtype=object), True),
        (np.array([["a", "b"]]), True),
        (np.array([[1.0, np.nan]]), True),
        (np.array([[1.0, np.nan]], dtype=np.float32), True),
        ([[1.0, "a"]], True),
        ([[1.0, None]], True),
        (np.array([[1.0, np.inf], [-np.inf, 0.0]]), False),
        (np.ones((2, 2), dtype=int), False),
        ([[1.0, 2.0]], False),
        (sp.csr_array(np.array([[1.0, np.nan]])), False),
        (np.array([1.0, np.nan]), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tables_with_columns_of_several_kinds_are_known(table, has):
    assert has_columns(table) is has


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=lambda m: m.__name__)
def test_tables_become_data_frames_of_the_same_cells(make):
    frame = as_frame(make(DATA))
    assert frame.columns.tolist() == ["size", "kind"]
    np.testing.assert_array_equal(frame["size"].to_numpy(float), [1.5, np.nan, 3.0])
    assert frame["kind"].isna().tolist() == [False, False, True]


def test_columns_of_arrays_are_named_by_their_numbers_and_as_narrow_as_their_cells():
    cells = np.array([[1, "a", 2.5, True], [2, "b", None, False]], dtype=object)
    frame = as_frame(cells)
    assert frame.columns.tolist() == ["x0", "x1", "x2", "x3"]
    assert [getattr(kind, "kind", "O") for kind in frame.dtypes] == ["i", "O", "f", "b"]
    assert as_frame(np.array([["1", "a"]]))["x0"].tolist() == ["1"]
    assert as_frame(np.array([[1.0, np.nan]])).isna().to_numpy().tolist() == [[False, True]]


def test_names_are_text_and_unique():
    numbered = pd.DataFrame(np.ones((2, 2)))
    assert not has_names(numbered)
    assert as_frame(numbered).columns.tolist() == ["x0", "x1"]
    assert has_names(pd.DataFrame(DATA))
    assert has_names(pa.table(DATA))
    assert not has_names(np.ones((2, 2)))
    with pytest.raises(TableError, match="several columns 'a'"):
        as_frame(pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "a"]))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3, 1, 3]),
        pd.Series([3.0, 1.0, 3.0]),
        pd.Series([3, 1, 3], dtype="Int64"),
        pd.Series(["3", " 1", "3 "]),
        pd.Series([3, 1, 3]).astype("category"),
        pd.Series([3, 1.0, "3"], dtype=object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_whole_numbers_are_levels_of_the_same_name_in_every_type(column):
    assert level_names(column).tolist() == ["3", "1", "3"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, "", "  "])
def test_there_is_one_name_for_what_is_missing(missing):
    assert level_names(pd.Series(["a", missing], dtype=object)).tolist() == ["a", "(missing)"]
    assert level_names(pd.Series(["a", None], dtype="category")).tolist() == ["a", "(missing)"]


def test_cells_have_the_type_of_their_column():
    numbers = typed_cells(pd.Series(["$1,200", "?"]), Column("a", "number", "$ thousands"))
    np.testing.assert_array_equal(numbers, [1200.0, np.nan])
    moments = typed_cells(pd.Series(["31/01/2024", None]), Column("a", "date", "%d/%m/%Y"))
    assert moments.dtype == "datetime64[us]"
    assert moments[0] == np.datetime64("2024-01-31")
    assert np.isnat(moments[1])
    days = typed_cells(pd.Series([datetime.date(2024, 1, 31)]), Column("a", "date", "datetime"))
    assert days[0] == moments[0]
    assert typed_cells(pd.Series(["x", 2.0]), Column("a", "category")).tolist() == ["x", "2"]


def test_cells_that_are_not_what_their_column_holds_are_named():
    with pytest.raises(TableError, match="column 'a': 'many' is not a number"):
        typed_cells(pd.Series([1.0, "many"]), Column("a", "number", "plain"))
    with pytest.raises(TableError, match="column 'a': 'soon' is not a date"):
        typed_cells(pd.Series(["2024-01-31", "soon"]), Column("a", "date", "iso"))


def test_cells_have_the_same_keys_as_text_and_as_numbers_and_dates():
    days = pd.to_datetime(["2024-01-31", "2024-02-01 12:30", None, "2024-01-31"], format="mixed")
    typed = pd.DataFrame({"day": days, "size": [1.0, 2.5, np.nan, -0.0]})
    text = pd.DataFrame(
        {
            "day": ["2024-01-31", "2024-02-01 12:30:00", "", "2024-01-31 00:00:00"],
            "size": ["1", "2.5", None, "0.0"],
        }
    )
    mixed = text.assign(
        day=["2024-01-31", "x", "", "2024-01-31T00:00"], size=["1", "?", "007", "0"]
    )
    keys = [row_keys(given_cells(f), np.empty((4, 0))).x for f in (typed, text, mixed)]
    assert (keys[0] == keys[1]).all()
    assert (keys[0] == keys[2]).tolist() == [True, False, False, True]
    assert len(set(keys[2].tolist())) == 4


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1234.5, 2.0, np.nan, 0.25], ["$1,234.50", "$2", "n/a", "$0.25"]),
        ([1.5, 20.0, 3.0, 0.1], ["1,5", "2e1", "+3", ".10"]),
        ([12.0, 3.5, np.nan, 0.0], ["12 %", "3.5 %", "-", "0%"]),
        ([1.0, 0.0, 0.0, 1.0], ["True", "false", "FALSE", "true"]),
        (pd.array([True, False, None, True], dtype="boolean"), ["True", "False", "", "True"]),
        ([1.0, np.inf, 2.0, 3.0], ["1", "inf", "2", "3"]),
    ],
)
def test_text_that_can_be_read_alone_has_the_keys_of_what_it_means(values, text):
    keys = [
        row_keys(given_cells(pd.DataFrame({"a": cells})), np.empty((4, 0))).x
        for cells in (values, text)
    ]
    assert keys[0].tolist() == keys[1].tolist()
