"""Rows of the smallest keys: the same ones at once, in chunks, and in any order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.rows.smallest_keys import smallest_keys

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

#: Few different keys, so that many rows have the same one.
KEYS = st.lists(st.integers(0, 12), max_size=40).map(lambda keys: np.array(keys, dtype=np.uint64))
MOST = st.integers(1, 15)


def in_chunks(keys, ties, size, most, distinct):
    """Keys, ties and counts of what is kept after all chunks."""
    kept = (keys[:0], ties[:0], np.zeros(0, dtype=np.int64))
    for start in range(0, len(keys), size):
        rows = slice(start, start + size)
        new = keys[rows], ties[rows], np.ones(len(keys[rows]), dtype=np.int64)
        joined, tie, counts = (np.concatenate(pair) for pair in zip(kept, new, strict=True))
        found = smallest_keys(joined, most, ties=tie, distinct=distinct, counts=counts)
        kept = found.keys, tie[found.index], found.counts
    return kept


@repeatable
@given(KEYS, MOST, st.integers(1, 9), st.booleans(), st.randoms(use_true_random=False))
def test_neither_chunks_nor_order_matter(keys, most, size, distinct, random):
    ties = (np.arange(len(keys)) * 7) % 5
    at_once = smallest_keys(keys, most, ties=ties, distinct=distinct)
    order = list(range(len(keys)))
    random.shuffle(order)
    kept = in_chunks(keys[order], ties[order], size, most, distinct)
    np.testing.assert_array_equal(kept[0], at_once.keys)
    np.testing.assert_array_equal(kept[1], ties[at_once.index])
    np.testing.assert_array_equal(kept[2], at_once.counts)


@repeatable
@given(KEYS, MOST)
def test_rows_with_equal_keys_are_taken_in_their_order(keys, most):
    found = smallest_keys(keys, most)
    np.testing.assert_array_equal(found.index, np.argsort(keys, kind="stable")[:most])
    np.testing.assert_array_equal(found.keys, keys[found.index])
    assert found.counts.tolist() == [1] * len(found.index)
    assert found.n_found == len(keys)


@repeatable
@given(KEYS, MOST)
def test_distinct_keys_are_counted(keys, most):
    found = smallest_keys(keys, most, distinct=True)
    values, first, counts = np.unique(keys, return_index=True, return_counts=True)
    np.testing.assert_array_equal(found.keys, values[:most])
    np.testing.assert_array_equal(found.index, first[:most])
    np.testing.assert_array_equal(found.counts, counts[:most])
    assert found.n_found == len(values)


@pytest.mark.parametrize("distinct", [False, True])
def test_a_cut_tells_that_rows_were_left_out_and_keeps_out_larger_keys(distinct):
    keys = np.array([8, 2, 6, 4], dtype=np.uint64)
    assert smallest_keys(keys, 4, distinct=distinct).cut is None
    assert smallest_keys(keys, 3, distinct=distinct).cut == 6
    again = smallest_keys(keys, 4, cut=np.uint64(6), distinct=distinct)
    assert again.keys.tolist() == [2, 4, 6]
    assert again.cut == 6


@pytest.mark.parametrize("distinct", [False, True])
def test_rows_that_may_not_be_chosen_are_not(distinct):
    keys = np.array([1, 2, 1, 3], dtype=np.uint64)
    used = np.array([False, True, True, True])
    assert smallest_keys(keys, 2, used=used, distinct=distinct).index.tolist() == [2, 1]
    assert smallest_keys(keys, 2, used=np.zeros(4, bool), distinct=distinct).index.tolist() == []
