import decimal
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.number_cells import (
    as_numbers,
    is_missing_mark,
    missing_cells,
    number_form,
    numbers,
    plain_number,
    plain_numbers,
)


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["1", "2.5", "-3e4", "+.5"], "plain"),
        (["1", "NA", "", "?"], "plain"),
        (["True", "FALSE", ""], "truth"),
        (["1,234", "12", "1,234,567.5"], "thousands"),
        (["0,5", "1,25"], "comma"),
        (["1.234,5", "2"], "comma"),
        (["12 %", "3.5%", "-"], "% plain"),
        (["$3", "$1,200", "-$4", "$-4"], "$ thousands"),
        (["3 €", "4,50 €"], "€ comma"),
        # Not all cells carry the sign, or it stands elsewhere.
        (["12 %", "3"], None),
        (["$3", "€3"], None),
        (["1$3"], None),
        (["% 3"], None),
        (["$true"], None),
        # Digits in groups that are not of three, and codes.
        (["1,23,456"], None),
        (["1,2345", "1,234,567"], None),
        (["007", "008"], None),
        (["1_000"], None),
        (["٣"], None),
        (["12 kg"], None),
        (["1/2"], None),
        (["true", "1"], None),
    ],
)
def test_form_of_a_column(cells, form):
    assert number_form(cells) == form


def test_values_of_forms():
    assert numbers(["1,234", "5"], "thousands", "x").tolist() == [1234.0, 5.0]
    assert numbers(["1.234,5", "0,5"], "comma", "x").tolist() == [1234.5, 0.5]
    assert numbers(["12 %", "-3%"], "% plain", "x").tolist() == [12.0, -3.0]
    assert numbers(["-$4", "$-4", "$1,000"], "$ thousands", "x").tolist() == [-4.0, -4.0, 1000.0]
    assert numbers(["true", "False"], "truth", "x").tolist() == [1.0, 0.0]


def test_values_may_come_as_numbers_from_elsewhere():
    mixed = ["$3", 4, 5.5, None, np.nan, pd.NA, "6", decimal.Decimal("7.5"), np.int64(8)]
    expected = [3.0, 4.0, 5.5, np.nan, np.nan, np.nan, 6.0, 7.5, 8.0]
    np.testing.assert_array_equal(numbers(mixed, "$ plain", "x"), expected)


def test_infinite_is_missing():
    np.testing.assert_array_equal(
        numbers(["inf", 1.0, -math.inf], "plain", "x"), [np.nan, 1, np.nan]
    )
    np.testing.assert_array_equal(as_numbers(pd.Series([1.0, np.inf]), "plain", "x"), [1.0, np.nan])


def test_cell_that_is_no_number_is_named_and_cut():
    with pytest.raises(TableError, match="column 'size': 'abc' is not a number"):
        numbers(["1", "abc"], "plain", "size")
    with pytest.raises(TableError, match=r"'x{39}…' is not a number"):
        numbers(["x" * 10**6], "plain", "size")
    with pytest.raises(TableError, match="is not a number"):
        numbers([[1, 2]], "plain", "size")


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, 0], dtype="int8"),
        pd.Series([1, 0], dtype="Int64"),
        pd.Series([True, False]),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1.0, 0.0], dtype="float32"),
        pd.Series([1.0, 0.0], dtype="Float64"),
        pd.Series(["1", "0"], dtype="string"),
        pd.Series(["1", "0"], dtype=object),
        pd.Series([1, 0], dtype="int64[pyarrow]"),
        pd.Series(pd.to_timedelta([1, 0], unit="D")),
        pd.Series([decimal.Decimal(1), decimal.Decimal(0)]),
        pd.Series(["1", "0"], dtype="category"),
    ],
    ids=lambda s: str(s.dtype),
)
def test_numbers_of_every_type(series):
    assert as_numbers(series, "plain", "x").tolist() == [1.0, 0.0]


def test_complex_numbers_are_refused():
    with pytest.raises(TableError, match="complex"):
        as_numbers(pd.Series([1j]), "plain", "z")


def test_missing_cells_of_every_kind():
    cells = pd.Series([None, np.nan, pd.NA, pd.NaT, "", "  ", "a", 0, False], dtype=object)
    assert missing_cells(cells).tolist() == [True] * 6 + [False] * 3


def test_marks_are_short_words_only():
    assert all(map(is_missing_mark, ["", " ", "NA", "n/a", "?", "-", "null", "NaN", "#DIV/0!"]))
    assert not any(map(is_missing_mark, ["0", "nah", "N", " " * 20 + "x"]))
    assert is_missing_mark(" " * 20)


def test_shortened_text():
    assert shortened("a\nb") == "'a\\nb'"
    assert len(shortened("é" * 100)) == 42


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_its_text(value):
    assert plain_number(repr(value)) == value
    assert number_form([repr(value)]) == "plain"


@given(st.lists(st.text("01.-+e_ \t\nxٱ", max_size=5), unique=True))
def test_all_at_once_is_one_by_one(cells):
    singly = [plain_number(cell) for cell in cells]
    together = plain_numbers(cells)
    assert (together is None) == (None in singly)
    assert together is None or together.tolist() == singly


@given(st.integers(-(10**15), 10**15))
def test_thousands_survive_their_commas(value):
    form = number_form([f"{value:,}"])
    assert form in ("plain", "thousands")
    assert numbers([f"{value:,}"], form, "x")[0] == value


@given(st.lists(st.text(max_size=8), max_size=6))
def test_a_form_reads_all_cells_it_was_found_in(cells):
    form = number_form(cells)
    if form is not None:
        assert len(numbers(cells, form, "x")) == len(cells)
