"""Cells of files as numbers, and what is wrong with them."""

import csv
import dataclasses
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negcorr.datasets import DatasetError, info
from negcorr.datasets.folders import read_file


def entry(n_samples=2, n_features=2, target_names=("y",), categorical=(), categories=()):
    return dataclasses.replace(
        info("machine"),
        name="toy",
        n_samples=n_samples,
        n_features=n_features,
        target_names=target_names,
        categorical=categorical,
        categories=categories,
    )


def parse(text, **kwargs):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy.csv")
        path.write_text(text, encoding="utf-8", newline="")
        return read_file(path, entry(**kwargs))


def test_files_are_read_as_tables_are_elsewhere():
    """With semicolons, decimal commas and accents that are not UTF-8."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy.csv")
        path.write_bytes("größe;b;y\n1,5;2;3\n4;5,25;6\n".encode("latin-1"))
        columns = read_file(path, entry())
    assert columns.feature_names == ("größe", "b")
    np.testing.assert_array_equal(columns.features, [[1.5, 2], [4, 5.25]])


def test_columns_are_features_in_order_and_targets_by_name():
    columns = parse("a,y,b\n1,2,3\n4,5,6\n")
    assert columns.feature_names == ("a", "b")
    np.testing.assert_array_equal(columns.features, [[1, 3], [4, 6]])
    np.testing.assert_array_equal(columns.targets, [[2], [5]])


def test_targets_come_in_the_order_of_the_registry():
    columns = parse("a,z,b,y\n1,2,3,4\n", n_samples=1, target_names=("y", "z"))
    np.testing.assert_array_equal(columns.targets, [[4, 2]])


def test_categories_become_codes():
    text = "sex,b,y\nM,1,2\nF,3,4\n"
    columns = parse(text, categorical=("sex",), categories=(("F", "I", "M"),))
    np.testing.assert_array_equal(columns.features, [[2, 1], [0, 3]])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_quotes_and_exponents_are_understood(end):
    columns = parse(end.join(['"a, really",b,y', '1e3,"-2.50", 3', "4,5,6"]))
    assert columns.feature_names == ("a, really", "b")
    np.testing.assert_array_equal(columns.features, [[1000, -2.5], [4, 5]])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_skipped_wherever_they_are(end):
    columns = parse(end.join(["", "a,b,y", "", "1,2,3", " ", "", "4,5,6", "", ""]))
    np.testing.assert_array_equal(columns.features, [[1, 2], [4, 5]])
    np.testing.assert_array_equal(columns.targets, [[3], [6]])


@given(
    st.integers(1, 3).flatmap(
        lambda p: st.lists(
            st.lists(
                st.floats(allow_nan=False, allow_infinity=False), min_size=p + 2, max_size=p + 2
            ),
            min_size=1,
            max_size=6,
        )
    )
)
def test_what_is_written_is_read_to_the_last_bit(rows):
    n_targets = len(rows[0]) - 2
    targets = tuple(f"y,{j}" for j in range(n_targets))
    file = io.StringIO()
    csv.writer(file).writerows([["a", 'b "quoted"', *targets], *rows])
    columns = parse(file.getvalue(), n_samples=len(rows), target_names=targets)
    np.testing.assert_array_equal(np.hstack([columns.features, columns.targets]), rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"toy\.csv is empty"),
        ("\n\r\n\n", r"toy\.csv is empty"),
        ("\n1,2,3\n", r"toy\.csv lacks the column 'y' of toy"),
        ("a,b,c\n1,2,3\n4,5,6\n", r"toy\.csv lacks the column 'y' of toy"),
        ("a,a,y\n1,2,3\n4,5,6\n", r"has columns of the same name: 'a' in columns 1, 2"),
        ("a,y\n1,2\n3,4\n", r"has 2 rows, 1 features .* must have 2 rows, 2 features"),
        ("a,b,c,y\n1,2,3,4\n1,2,3,4\n", r"has 2 rows, 3 features .* must have 2 rows, 2 features"),
        ("a,b,y\n", r"has 0 rows, 2 features and 1 targets; toy must have 2 rows, 2 features"),
        ("a,b,y\n1,2,3\n", r"has 1 rows, .* must have 2 rows"),
        ("a,b,y\n1,2,3\n4,5,6\n7,8,9\n", r"has 3 rows, .* must have 2 rows"),
        ("a,b,y\n1,2,3\n4,5\n", r"toy\.csv, line 3: 2 cells where the header has 3"),
        ("a,b,y\n\n1,2,3\n\n4,oops,6\n", r"toy\.csv, column 'b', row 2: 'oops' is not a finite"),
        ("a,b,y\n1,2,3\n\n", r"has 1 rows, .* must have 2 rows"),
        ("a,b,y\n1,2,3\n4,5,\n", r"column 'y', row 2: nan is not a finite number"),
        ("a,b,y\n1,x,3\n4,,5\n", r"column 'b', row 1: 'x' is not a finite number"),
        ("a,b,y\n1,,3\n4,x,5\n", r"column 'b', row 1: None is not a finite number"),
        ("a,b,y\n1,2,nan\n4,5,6\n", r"column 'y', row 1: nan is not a finite number"),
        ("a,b,y\n-inf,2,3\n4,5,6\n", r"column 'a', row 1: -inf is not a finite number"),
        ("a,b,y\n1,1e999,3\n4,5,6\n", r"column 'b', row 1: inf is not a finite number"),
        ("a,b,y\n1,1_000,3\n4,5,6\n", r"column 'b', row 1: '1_000' is not a finite number"),
        ('a,b,y\n1,"2"x,3\n4,5,6\n', r"toy\.csv, line 2: ',' expected after"),
        ('a,b,y\n1,2,3\n4,5,"6\n', r"toy\.csv, line 3: unexpected end of data"),
    ],
)
def test_text_that_is_not_the_data_set_is_refused(text, message):
    with pytest.raises(DatasetError, match=message):
        parse(text)


@pytest.mark.parametrize("value", ["m", None, "X"])
def test_unknown_category_is_refused(value):
    with pytest.raises(
        DatasetError,
        match=rf"column 'sex', row 1: {value!r} is not one of 'F', 'M'",
    ):
        parse(
            f"sex,b,y\n{value or ''},1,2\nF,3,4\n", categorical=("sex",), categories=(("F", "M"),)
        )


def test_several_columns_that_lack_are_all_named():
    with pytest.raises(DatasetError, match=r"lacks the columns 'z', 'sex' of toy"):
        parse("a,b,y\n", target_names=("y", "z"), categorical=("sex",), categories=(("F",),))
