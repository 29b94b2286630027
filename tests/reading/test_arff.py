import datetime
from pathlib import Path

import pytest

from negcorr.exceptions import TableError
from negcorr.reading.arff import parse_arff
from negcorr.reading.table import read_table

HEADER = """% a comment
@RELATION 'a b'
@attribute size REAL
@attribute 'the kind' {a, 'b c', "d,e", '?'}
@attribute word string
@attribute day date "yyyy-MM-dd"
@attribute count integer % whole
@data
"""
NAMES = ["size", "the kind", "word", "day", "count"]


def columns(rows, header=HEADER):
    return parse_arff(header + rows, Path("d.arff"))[1]


def test_every_kind_of_value():
    size, kind, word, day, count = columns(
        "1.5,a,hello,2024-01-31,3\n% another\n\n?,'b c','it\\'s, \"so\"',?,-1\n2,\"d,e\",?,?,0\n"
    )
    assert size == [1.5, None, 2.0]
    assert kind == ["a", "b c", "d,e"]
    assert word == ["hello", 'it\'s, "so"', None]
    assert day == [datetime.datetime(2024, 1, 31), None, None]
    assert count == [3.0, -1.0, 0.0]


def test_question_mark_in_quotes_is_a_level():
    assert columns("1,'?',x,?,1\n")[1] == ["?"]


def test_sparse_rows():
    header = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute c real\n@data\n"
    assert columns("{0 5, 1 y}\n{}\n{2 ?}\n", header) == [[5, 0, 0], ["y", "x", "x"], [0, 0, None]]


def test_no_rows():
    assert columns("") == [[], [], [], [], []]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,a\n", "line 10: 2 values for 5 attributes"),
        ("one,a,x,?,1\n", "line 10, attribute 'size': 'one' is no number"),
        ("1,z,x,?,1\n", "line 10, attribute 'the kind': 'z' is not among its levels 'a', 'b c'"),
        ("1,a,x,31/1/2024,1\n", "line 10, attribute 'day': '31/1/2024' is no date"),
        ("1,a,'x' y,?,1\n", "line 10: 'y,\\?,1' where a comma"),
        ("{9 1}\n", "a number from 0 to 4"),
        ("{0 1\n", "must end with a brace"),
        ("{0 1 2, 1 a}\n", "'1 2' is no number"),
        (f"{{{'9' * 5000} 1}}\n", "a number from 0 to 4"),
        ("{² 1}\n", "a number from 0 to 4"),
        ("{-1 1}\n", "a number from 0 to 4"),
        ("{0 1,}\n", "a number from 0 to 4"),
    ],
)
def test_bad_row_is_named(rows, message):
    with pytest.raises(TableError, match=message):
        columns("\n" + rows)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("@relation r\n@attribute a real\n", "has no @data"),
        ("@relation r\n@data\n", "line 2: @data before any"),
        ("@relation r\n@attribute a\n@data\n", "line 2: '@attribute a' must be"),
        ("@relation r\n@attribute a relational\n@data\n", "'relational'; read are numeric"),
        ("@relation r\n@attribute a {x,y\n@data\n", "do not end with a brace"),
        ("@relation r\nhello\n", "line 2: 'hello' is neither"),
        ("@relation r\n@attribute a date 'EEE'\n@data\n", "'EEE' in the dates"),
    ],
)
def test_bad_header_is_named(header, message):
    with pytest.raises(TableError, match=message):
        parse_arff(header, Path("d.arff"))


def test_as_a_frame(tmp_path):
    file = tmp_path / "data.arff"
    file.write_text(HEADER + "1.5,a,hello,2024-01-31,3\n?,?,?,?,?\n", encoding="utf-8")
    table = read_table(file)
    assert list(table.frame.columns) == NAMES
    assert table.notes == ()
    assert table.frame["the kind"].cat.categories.tolist() == ["a", "b c", "d,e", "?"]
    assert table.frame["day"].dtype.kind == "M"
    assert table.frame.isna().iloc[1].all()


def test_arff_under_another_name_and_a_damaged_one(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text(HEADER + "1.5,a,hello,2024-01-31,3\n", encoding="utf-8")
    assert "is ARFF, whatever its ending says" in read_table(file).notes[0]
    file = tmp_path / "data.arff"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(TableError, match="line 1: 'a,b' is neither"):
        read_table(file)


@pytest.mark.parametrize("pattern", ["yyyy yyyy", "HH:mm HH", "yyyy-MM-dd'T'HH dd"])
def test_dates_that_repeat_a_part(pattern):
    text = f'@relation r\n@attribute d date "{pattern}"\n@data\n2024 2024\n'
    with pytest.raises(TableError, match=r"line 2: .* stands twice in the dates"):
        parse_arff(text, Path("d.arff"))


def test_a_sparse_row_may_have_commas_and_numbers_in_quotes():
    text = "@relation r\n@attribute x real\n@attribute w string\n@data\n{1 'a, 0 b', 0 2}\n{}\n"
    assert parse_arff(text, Path("d.arff"))[1] == [[2.0, 0.0], ["a, 0 b", None]]
