"""What columns become: numbers as they are, categories as 0 and 1, dates as days and cycles."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.columns.counts import CellCounts
from negcorr.columns.encoding import learn_encoding
from negcorr.columns.kinds import input_columns
from negcorr.exceptions import TableError

repeatable = settings(derandomize=True, deadline=None, max_examples=40)


def table(n=40, seed=0):
    """Several rows of everything."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n).round(2)
    size[::7] = np.nan
    kind = rng.choice(np.array(["a", "b", "c", None], dtype=object), size=n)
    day = pd.Timestamp("2023-11-20") + pd.to_timedelta(rng.integers(0, 90, size=n), "D")
    day = pd.Series(day).where(rng.random(n) > 0.1)
    return pd.DataFrame({"size": size, "kind": kind, "day": day, "on": rng.random(n) < 0.4})


def encoded(frame, encoding=None):
    encoding = learn_encoding(frame) if encoding is None else encoding
    numbers = encoding.encode(encoding.typed(frame))
    return pd.DataFrame(numbers, columns=list(encoding.feature_names))


class TestNumbers:
    def test_stay_as_they_are(self):
        frame = pd.DataFrame({"a": [3.25, -1.0, 1e6, 0.1], "b": [True, False, True, True]})
        found = encoded(frame)
        assert found.columns.tolist() == ["a", "b"]
        np.testing.assert_array_equal(found["a"], frame["a"])
        np.testing.assert_array_equal(found["b"], [1.0, 0.0, 1.0, 1.0])
        assert not learn_encoding(frame).as_they_are.any()

    def test_that_are_missing_are_the_median_of_the_weighted_rows_and_said_to_be(self):
        frame = pd.DataFrame({"a": [1.0, 2.0, 8.0, np.nan, 50.0]})
        weight = np.array([1.0, 1.0, 3.0, 1.0, 0.0])
        encoding = learn_encoding(frame, weight=weight)
        assert encoding.feature_names == ("a", "a_missing")
        assert encoding.as_they_are.tolist() == [False, True]
        np.testing.assert_array_equal(
            encoded(frame, encoding), [[1, 0], [2, 0], [8, 0], [8, 1], [50, 0]]
        )

    def test_that_are_missing_in_new_rows_only_are_the_median(self):
        encoding = learn_encoding(pd.DataFrame({"a": [1.0, 2.0, 4.5]}))
        new = pd.DataFrame({"a": [np.nan, np.inf, 3.0]})
        np.testing.assert_array_equal(encoded(new, encoding), [[2.0], [2.0], [3.0]])

    def test_may_be_written_in_the_form_of_their_column(self):
        frame = pd.DataFrame({"a": ["$1,200", "$5", "?"]})
        np.testing.assert_array_equal(encoded(frame), [[1200, 0], [5, 0], [602.5, 1]])


class TestCategories:
    def test_are_columns_of_0_and_1_that_nothing_scales(self):
        frame = pd.DataFrame({"kind": ["b", "a", "b", None, "a"] * 5})
        encoding = learn_encoding(frame)
        assert encoding.feature_names == ("kind_(missing)", "kind_a", "kind_b")
        assert encoding.as_they_are.all()
        np.testing.assert_array_equal(
            encoded(frame, encoding)[:4], [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
        )

    def test_that_are_rare_share_a_column_also_with_unknown_ones(self):
        words = ["a"] * 20 + ["b"] * 5 + ["c"] * 4 + ["d"]
        encoding = learn_encoding(pd.DataFrame({"kind": words}))
        assert encoding.feature_names == ("kind_a", "kind_b", "kind_(others)")
        new = pd.DataFrame({"kind": ["c", "d", "e", None, "a"]})
        np.testing.assert_array_equal(
            encoded(new, encoding), [[0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 0]]
        )

    def test_that_are_unknown_are_zeros_where_no_level_is_rare(self):
        encoding = learn_encoding(pd.DataFrame({"kind": list("ab") * 5}))
        np.testing.assert_array_equal(
            encoded(pd.DataFrame({"kind": ["z", None]}), encoding), np.zeros((2, 2))
        )

    @pytest.mark.parametrize("n_levels", [99, 100, 101, 150])
    def test_become_a_hundred_columns_at_most(self, n_levels):
        words = [f"w{k:03}" for k in range(n_levels)] * 6 + [f"w{n_levels - 1:03}"]
        frame = pd.DataFrame({"kind": pd.Series(words).astype("category")})
        names = learn_encoding(frame).feature_names
        assert len(names) == min(n_levels, 100)
        assert ("kind_(others)" in names) == (n_levels > 100)
        if n_levels == 150:
            # The most frequent one is among them, and of equally frequent ones the first by name.
            assert names[-2:] == ("kind_w149", "kind_(others)")
            assert names[97] == "kind_w097"

    def test_are_counted_by_weight(self):
        frame = pd.DataFrame({"kind": list("aab")})
        names = learn_encoding(frame, weight=np.array([3.0, 2.0, 5.0])).feature_names
        assert names == ("kind_a", "kind_b")
        assert learn_encoding(frame).feature_names == ("kind_(others)",)


class TestDates:
    def test_are_days_and_the_cycles_that_vary(self):
        frame = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-08", "2024-04-01"])})
        encoding = learn_encoding(frame)
        # All of them are Mondays, at midnight.
        assert encoding.feature_names == ("day_days", "day_month_sin", "day_month_cos")
        assert encoding.as_they_are.tolist() == [False, True, True]
        np.testing.assert_allclose(
            encoded(frame, encoding), [[0, 0, 1], [7, 0, 1], [91, 1, 0]], atol=1e-12
        )

    def test_that_are_missing_are_at_the_centre_of_all_cycles(self):
        frame = pd.DataFrame({"day": ["2024-01-01", "2024-01-03", None, "2024-01-04"]})
        found = encoded(frame)
        assert found.columns.tolist() == [
            "day_days",
            "day_weekday_sin",
            "day_weekday_cos",
            "day_missing",
        ]
        np.testing.assert_array_equal(found.iloc[2], [2.0, 0.0, 0.0, 1.0])
        np.testing.assert_allclose((found.iloc[[0, 1, 3], 1:3] ** 2).sum(axis=1), 1.0)

    def test_have_hours(self):
        frame = pd.DataFrame({"t": pd.to_datetime(["2024-01-01 06:00", "2024-01-01 18:30"])})
        found = encoded(frame)
        np.testing.assert_allclose(found["t_days"], [0.0, 12.5 / 24])
        np.testing.assert_allclose(
            found["t_hour_sin"], np.sin(2 * np.pi * np.array([6, 18.5]) / 24)
        )


class TestSchema:
    def test_says_what_was_made_of_every_column(self):
        frame = table().assign(constant=1, row=range(40))
        schema = learn_encoding(frame).schema
        assert {c.name: c.made for c in schema.columns} == {
            "size": "the number and missing or not",
            "kind": "4 columns of 0 and 1",
            "day": "days, month, weekday and missing or not",
            "on": "the number",
            "constant": "",
            "row": "",
        }
        assert schema.named("constant", "identifier") == ("constant", "row")

    def test_columns_that_are_lacking_are_named(self):
        encoding = learn_encoding(table())
        with pytest.raises(
            TableError, match="X lacks the columns 'size', 'day'; it has 'kind', 'on'"
        ):
            encoding.typed(table()[["kind", "on"]])

    def test_columns_in_another_order_and_further_ones_are_the_same(self):
        frame, encoding = table(), learn_encoding(table())
        moved = frame[["on", "day", "size", "kind"]].assign(more="x")
        pd.testing.assert_frame_equal(encoded(moved, encoding), encoded(frame, encoding))


@repeatable
@given(st.integers(0, 99))
def test_order_of_rows_does_not_matter(seed):
    frame = table(seed=seed)
    order = np.random.default_rng(seed).permutation(len(frame))
    assert learn_encoding(frame.iloc[order]) == learn_encoding(frame)


@repeatable
@given(st.integers(0, 99))
def test_weights_mean_repeated_rows(seed):
    frame = table(seed=seed)
    weight = np.random.default_rng(seed).integers(0, 3, size=len(frame))
    repeated = learn_encoding(frame.iloc[np.repeat(np.arange(len(frame)), weight)])
    assert learn_encoding(frame, weight=weight.astype(float)).parts == repeated.parts


@repeatable
@given(st.integers(0, 99), st.integers(1, 39))
def test_levels_and_missing_cells_are_those_of_all_rows(seed, cut):
    """Where the rows are a sample, counts of all chunks say which levels there are."""
    frame = table(seed=seed)
    counts = CellCounts.of(frame[:cut]).merged(CellCounts.of(frame[cut:]))
    whole = learn_encoding(frame)
    few = frame.iloc[:25]
    by_parts = learn_encoding(few, input_columns(few, counts), counts)
    assert by_parts.parts[1] == whole.parts[1]
    assert by_parts.schema.n_rows == len(frame)
    assert [part.features for part in by_parts.parts[:2]] == [p.features for p in whole.parts[:2]]
    missing = [column.n_missing for column in by_parts.schema.columns]
    assert missing == frame.isna().sum().tolist()
