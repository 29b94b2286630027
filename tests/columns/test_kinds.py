import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.columns.counts import CellCounts
from negcorr.columns.kinds import infer_columns, input_columns
from negcorr.exceptions import TableError
from negcorr.reading.schema import Column, Schema
from negcorr.rows import sample

N = 60


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "size": rng.normal(size=N),
            "few": rng.integers(0, 3, size=N),
            "flag": rng.integers(0, 2, size=N).astype(bool),
            "kind": rng.choice(["a", "b"], size=N),
            "cat": pd.Categorical(rng.choice([1, 2], size=N)),
            "price": [f"${i % 7},{i % 10}00" if i % 7 else "$5" for i in range(N)],
            "share": [f"{i % 9} %" for i in range(N)],
            "day": pd.date_range("2024-01-01", periods=N).astype(str),
            "when": pd.date_range("2024-01-01", periods=N, tz="UTC"),
            "row": range(1, N + 1),
            "name": [f"person {i}" for i in range(N)],
            "story": [f"text {i // 2}" for i in range(N)],
            "same": ["x"] * N,
            "none": [None] * N,
        }
    )


def test_every_role(frame):
    schema = infer_columns(frame, "y")
    roles = {column.name: column.role for column in schema.columns}
    assert roles == {
        "y": "target",
        "size": "number",
        "few": "number",
        "flag": "number",
        "kind": "category",
        "cat": "category",
        "price": "number",
        "share": "number",
        "day": "date",
        "when": "date",
        "row": "identifier",
        "name": "identifier",
        "story": "text",
        "same": "constant",
        "none": "constant",
    }
    assert schema["price"].form == "$ thousands"
    assert "numbers written like '$" in schema["price"].remark
    assert schema["when"].form == "datetime UTC"
    assert schema["story"].remark == "30 different texts in 60 rows"
    assert schema["same"].remark == "'x' in every row"
    assert schema["none"].n_missing == N
    assert schema.n_rows == N
    assert schema.inputs == tuple(
        n for n, r in roles.items() if r in ("number", "category", "date")
    )


def test_what_is_asked_for(frame):
    schema = infer_columns(
        frame, ["y", "size"], drop=["day"], categorical=["few", "row"], weights="flag", group="kind"
    )
    assert schema.targets == ("y", "size")
    assert schema["few"].role == schema["row"].role == "category"
    assert schema["day"].role == "dropped"
    assert (schema.weights, schema.group, schema.time) == ("flag", "kind", None)
    assert infer_columns(frame, "y", time="when").time == "when"
    assert infer_columns(frame, "y", time="few").time == "few"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "Y"}, "target='Y' is no column; did you mean 'y'"),
        ({"target": "sise"}, "did you mean 'size'"),
        ({"target": "zzzzzz"}, "the columns are 'y', 'size', .* and 5 more"),
        ({"target": []}, "must name a column"),
        ({"target": ["y", "y"]}, "names a column twice"),
        ({"target": "kind"}, "target 'kind' must hold numbers; it holds text such as '[ab]'"),
        ({"target": "day"}, "holds dates such as '2024-01-01'"),
        ({"target": "same"}, "must hold numbers"),
        ({"target": "none"}, "has no values"),
        ({"drop": ["nope"]}, "drop='nope' is no column"),
        ({"drop": ["y"]}, "drop='y' is already the target column"),
        ({"drop": ["few"], "categorical": ["few"]}, "'few' is in drop and in categorical"),
        ({"group": "y"}, "group='y' is already the target"),
        ({"group": "kind", "time": "day"}, "give one of them"),
        ({"group": "same"}, "is one group"),
        ({"group": "none"}, "has no value in 60 rows"),
        ({"time": "kind"}, "must hold dates or numbers"),
        ({"time": "none"}, "has no value in 60 rows"),
        ({"weights": "kind"}, "must hold a number in every row"),
        ({"weights": "size"}, "must not be negative"),
    ],
)
def test_what_is_refused(frame, arguments, message):
    with pytest.raises(TableError, match=message):
        infer_columns(frame, **{"target": "y", **arguments})


def test_targets():
    x = range(0, 8, 2)
    with pytest.raises(TableError, match=r"target 'y' is '3\.0' in every row"):
        infer_columns(pd.DataFrame({"x": x, "y": [3.0, None, 3.0, 3.0]}), "y")
    missing = infer_columns(pd.DataFrame({"x": x, "y": [3.0, None, np.inf, 1.0]}), "y")["y"]
    assert missing.n_missing == 2
    assert "2 rows without it are left out" in missing.remark
    written = infer_columns(pd.DataFrame({"x": x, "y": ["$1", "$2", None, "?"]}), "y")["y"]
    assert (written.form, written.n_missing) == ("$ plain", 2)
    with pytest.raises(TableError, match="such as 'many'"):
        infer_columns(pd.DataFrame({"x": x, "y": ["1", "2", "many", "4"]}), "y")


def test_row_numbers_are_used_where_nothing_else_is():
    frame = pd.DataFrame({"x": range(5), "y": [1.0, 4.0, 2.0, 5.0, 3.0]})
    column = infer_columns(frame, "y")["x"]
    assert column.role == "number"
    assert "the only input" in column.remark
    frame["z"] = [2.0, 1.0, 5.0, 5.0, 9.0]
    assert infer_columns(frame, "y")["x"].role == "identifier"
    # Numbers that differ are identifiers by name only; others are numbers.
    frame["customer_id"] = frame["amount"] = [102, 77, 5003, 8, 91]
    schema = infer_columns(frame, "y")
    assert schema["customer_id"].role == "identifier"
    assert schema["amount"].role == "number"


def test_nothing_to_predict_from():
    with pytest.raises(TableError, match="no column is left to predict from: 'x' is constant"):
        infer_columns(pd.DataFrame({"x": [1, 1], "y": [1, 2]}), "y")
    with pytest.raises(TableError, match="no row"):
        infer_columns(pd.DataFrame({"x": [], "y": []}), "y")


def test_odd_frames():
    y = [1.0, 2.0, 4.0]
    with pytest.raises(TableError, match="text as names, got 0"):
        infer_columns(pd.DataFrame([[1, 2]]), "y")
    twice = pd.DataFrame([[1, 2, 3]], columns=["x", "x", "y"])
    with pytest.raises(TableError, match="several columns 'x'"):
        infer_columns(twice, "y")
    frame = pd.DataFrame({"list": [[1], [2], [3]], "x": [5.0, 1.0, 2.0], "y": y})
    assert infer_columns(frame, "y")["list"].role == "dropped"
    with pytest.raises(TableError, match="holds lists"):
        infer_columns(frame, "list")
    frame = pd.DataFrame({"x": [decimal.Decimal(i) for i in (3, 1, 2)], "y": y})
    assert infer_columns(frame, "y")["x"].role == "number"
    frame = pd.DataFrame({"x": [1, "a", 1], "y": y})
    assert infer_columns(frame, "y")["x"].role == "category"
    # One value and gaps: the gaps may tell something.
    frame = pd.DataFrame({"x": [1.0, None, 1.0], "y": y})
    assert infer_columns(frame, "y")["x"].role == "number"
    frame = pd.DataFrame({"x": ["NA", "?", "NA"], "y": y})
    assert infer_columns(frame, "y")["x"].role == "category"
    frame = pd.DataFrame({"x": pd.to_timedelta([1, 5, 2], unit="h"), "y": y})
    assert infer_columns(frame, "y")["x"].role == "number"


def test_table_for_people(frame):
    odd = "a\nb" + "c" * 100
    lines = str(infer_columns(frame.rename(columns={"size": odd}), "y")).splitlines()
    assert len(lines) == len(frame.columns) + 1
    assert lines[0].split() == ["column", "role", "missing", "distinct", "remark"]
    assert lines[2].startswith("a\\nbccc")
    assert max(map(len, lines)) < 120


def test_json_there_and_back(frame):
    schema = infer_columns(frame.rename(columns={"size": "größe 🎉"}), "y", group="kind")
    assert Schema.from_json(schema.to_json()) == schema
    with pytest.raises(KeyError):
        schema["nope"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"n_rows": 1}',
        '{"n_rows": true, "columns": []}',
        '{"n_rows": 1, "columns": [{"name": "a"}]}',
        '{"n_rows": 1, "columns": [{"name": "a", "role": "king"}]}',
        '{"n_rows": 1, "columns": [{"name": 1, "role": "number"}]}',
        '{"n_rows": 1, "columns": [{"name": "a", "role": "number", "x": 1}]}',
    ],
)
def test_json_of_something_else(text):
    with pytest.raises(TableError, match="no schema"):
        Schema.from_json(text)


COLUMNS = st.builds(
    Column,
    name=st.text(max_size=5),
    role=st.sampled_from(["number", "target", "text"]),
    form=st.text(max_size=5),
    n_missing=st.integers(0, 9),
    n_distinct=st.integers(0, 9),
    remark=st.text(max_size=5),
)


@given(st.lists(COLUMNS, max_size=4), st.integers(0, 99))
def test_any_schema_survives_json(columns, n_rows):
    schema = Schema(tuple(columns), n_rows)
    assert Schema.from_json(schema.to_json()) == schema


VALUES = st.one_of(st.none(), st.text(max_size=4), st.integers(-5, 5), st.floats(), st.booleans())


@settings(max_examples=80, deadline=None)
@given(st.lists(VALUES, min_size=6, max_size=6))
def test_any_column_has_a_role(values):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "z": [5, 3, 9, 1, 2, 2]})
    frame["y"] = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0]
    column = infer_columns(frame, "y")["x"]
    assert 0 <= column.n_missing <= 6
    assert column.n_distinct <= 6


@pytest.mark.parametrize("words", [["True", "False"], ["$1", "$2", "$3"], ["0", "1"]])
def test_few_numbers_written_as_words_are_no_row_numbers(words):
    frame = pd.DataFrame({"a": np.resize(np.array(words, dtype=object), 60)})
    found = input_columns(frame, CellCounts.of(frame))["a"]
    assert (found.role, found.n_distinct) == ("number", len(words))
    every = pd.DataFrame({"a": [f"${k}" for k in range(60)], "b": np.resize([1.5, 2.0, 3.5], 60)})
    assert input_columns(every, CellCounts.of(every))["a"].role == "identifier"


@pytest.mark.parametrize("role", ["group", "time"])
def test_groups_and_times_of_large_tables_are_looked_at_whole(monkeypatch, role):
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 50)
    frame = pd.DataFrame({"x": np.arange(400) % 97 / 7, "who": np.arange(400) // 2})
    frame["y"] = frame["x"] ** 2
    found = infer_columns(frame, "y", **{role: "who"})
    assert found["who"].n_distinct == 200
    assert found["x"].n_distinct <= 50
    assert "distinct (sample)" in str(found)


def test_a_target_that_hardly_ever_differs_is_no_constant(monkeypatch):
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 50)
    frame = pd.DataFrame({"x": np.arange(4000) / 7, "y": 0.0})
    with pytest.raises(TableError, match="in every row"):
        infer_columns(frame[:40], "y")
    frame.loc[17, "y"] = 1.0
    assert infer_columns(frame, "y")["y"].role == "target"
