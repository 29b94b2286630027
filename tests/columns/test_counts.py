"""Counts of cells: of chunks merged, they are those of all rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.columns import counts as counting
from negcorr.columns.counts import CellCounts

repeatable = settings(derandomize=True, deadline=None, max_examples=50)


def frame_of(n, seed):
    rng = np.random.default_rng(seed)
    number = rng.normal(size=n)
    number[rng.random(n) < 0.3] = np.nan
    kind = rng.choice(np.array(["a", "b", "c", None], dtype=object), size=n)
    mixed = rng.choice(np.array([1, 1.0, "1", 2.5, None], dtype=object), size=n)
    return pd.DataFrame({"number": number, "kind": kind, "mixed": mixed})


@repeatable
@given(st.lists(st.integers(1, 30), min_size=1, max_size=4), st.integers(0, 99))
def test_of_chunks_in_any_order_are_those_of_all(sizes, seed):
    n = sum(sizes)
    frame, rng = frame_of(n, seed), np.random.default_rng(seed)
    weight = rng.integers(0, 4, size=n).astype(float)
    parts = np.split(rng.permutation(n), np.cumsum(sizes)[:-1])
    merged = None
    for part in parts:
        counts = CellCounts.of(frame.iloc[part], weight[part])
        merged = counts if merged is None else merged.merged(counts)
    whole = CellCounts.of(frame, weight)
    assert (merged.weight, merged.missing) == (whole.weight, whole.missing)
    assert {n: dict(v) for n, v in merged.levels.items()} == whole.levels


@repeatable
@given(st.integers(0, 99))
def test_with_weights_are_those_of_repeated_rows(seed):
    frame = frame_of(20, seed)
    weight = np.random.default_rng(seed).integers(0, 4, size=20)
    repeated = CellCounts.of(frame.iloc[np.repeat(np.arange(20), weight)])
    assert CellCounts.of(frame, weight.astype(float)) == repeated


def test_hold_words_of_columns_that_are_no_numbers():
    counts = CellCounts.of(
        pd.DataFrame(
            {
                "kind": pd.Series(["a", "b", "a", None]).astype("category"),
                "mixed": pd.Series([1, 1.0, "1", " "], dtype=object),
                "number": [1.0, 1.0, np.nan, 2.0],
                "day": pd.to_datetime(["2024-01-01", None, None, None]),
                "lists": [[1], [1], [2], [3]],
            }
        )
    )
    assert counts.levels["kind"] == {"a": 2.0, "b": 1.0}
    assert counts.levels["mixed"] == {"1": 3.0}
    assert counts.levels["lists"] is None
    assert "number" not in counts.levels
    assert "day" not in counts.levels
    assert counts.missing == {"kind": 1, "mixed": 1, "number": 1, "day": 3, "lists": 0}


def test_are_given_up_where_words_are_too_many(monkeypatch):
    monkeypatch.setattr(counting, "MOST_COUNTED", 3)
    few, more, many = (
        CellCounts.of(pd.DataFrame({"a": list(words)})) for words in ("ab", "bcd", "abcd")
    )
    assert few.levels["a"] == {"a": 1.0, "b": 1.0}
    assert many.levels["a"] is None
    assert few.merged(more).levels["a"] is None
    assert few.merged(many).levels["a"] is None
    assert many.merged(few).missing["a"] == 0.0


@pytest.mark.parametrize("first", ["numbers", "words"])
def test_of_a_column_that_is_numbers_in_one_chunk_are_kept(first):
    parts = [pd.DataFrame({"a": [1.0, None]}), pd.DataFrame({"a": ["x", None]})]
    one, other = (CellCounts.of(part) for part in (parts if first == "numbers" else parts[::-1]))
    merged = one.merged(other)
    assert merged.missing["a"] == 2.0
    assert merged.levels["a"]["x"] == 1.0


def test_masses_do_not_depend_on_the_order_in_which_weights_are_added_up():
    """0.1 + 0.2 + 0.3 + 0.4, five times, is 5 in some orders and almost 5 in others."""
    weight = np.array([0.1, 0.2, 0.3, 0.4] * 5)
    frame = pd.DataFrame({"kind": ["r"] * 20})
    sums, masses = set(), set()
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(20)
        parts = np.split(order, [7])
        whole = CellCounts.of(frame, weight[order])
        merged = CellCounts.of(frame.iloc[parts[0]], weight[parts[0]]).merged(
            CellCounts.of(frame.iloc[parts[1]], weight[parts[1]])
        )
        for counts in (whole, merged):
            sums.add(counts.levels["kind"]["r"])
            masses.add(counts.mass_of("kind")["r"])
            assert counts.n_rows == 5
    assert len(sums) > 1
    assert masses == {5.0}
