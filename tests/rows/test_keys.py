"""The hash of rows depends on their values and on nothing else."""

import struct

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from negcorr.rows.rows import content_hash, hash_of_bytes, word_hashes

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

SINGLES = st.floats(-1e6, 1e6, width=32, allow_nan=False)
TABLES = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=SINGLES
)


def rows(n=200, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def same(left, right):
    np.testing.assert_array_equal(left, right)


@repeatable
@given(TABLES, st.randoms(use_true_random=False))
def test_order_of_rows_only_reorders_the_hash(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    same(content_hash(X[order]), content_hash(X)[order])


@repeatable
@given(TABLES, st.integers(0, 8))
def test_chunks_hash_as_the_whole(X, cut):
    same(np.concatenate([content_hash(part) for part in (X[:cut], X[cut:])]), content_hash(X))


@repeatable
@given(TABLES)
def test_sparse_hashes_as_dense_in_every_format(X):
    X[np.abs(X) < 10] = 0.0
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix):
        same(content_hash(kind(X)), content_hash(X))


@repeatable
@given(TABLES)
def test_single_precision_hashes_as_double_of_equal_values(X):
    same(content_hash(X.astype(np.float32)), content_hash(X))
    same(content_hash(sp.csr_array(X.astype(np.float32))), content_hash(X))


@repeatable
@given(hnp.arrays(np.int16, (5, 3)))
def test_integers_and_booleans_hash_as_floats_of_equal_values(X):
    same(content_hash(X), content_hash(X.astype(float)))
    same(content_hash(X > 0), content_hash((X > 0).astype(float)))


@repeatable
@given(TABLES)
def test_negative_zero_is_zero(X):
    X[:, 0] = 0.0
    negative = X.copy()
    negative[:, 0] = -0.0
    same(content_hash(negative), content_hash(X))


def test_every_nan_is_the_same_nan():
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64).view(np.float64)
    h = content_hash(np.array([[odd[0]], [odd[1]], [np.nan], [0.0]]))
    assert len(set(h[:3].tolist())) == 1
    assert h[3] != h[0]


def test_stored_zeros_and_repeated_entries_of_sparse_rows_do_not_show():
    dense = np.array([[3.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    stored_zero = sp.csr_array(
        (np.array([3.0, 0.0, 2.0, 1.0]), np.array([0, 1, 2, 2]), np.array([0, 3, 4])), (2, 3)
    )
    same(content_hash(stored_zero), content_hash(dense))
    unsorted = sp.csr_array(
        (np.array([2.0, 3.0, 1.0]), np.array([2, 0, 2]), np.array([0, 2, 3])), (2, 3)
    )
    same(content_hash(unsorted), content_hash(dense))
    repeated = sp.csr_array(
        (np.array([1.0, 2.0, 2.0, 1.0]), np.array([0, 0, 2, 2]), np.array([0, 3, 4])), (2, 3)
    )
    same(content_hash(repeated), content_hash(dense))


def test_hashing_leaves_its_input_alone():
    X = np.array([[-0.0, np.nan]])
    content_hash(X)
    assert np.signbit(X[0, 0])
    repeated = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), (1, 2))
    content_hash(repeated)
    assert repeated.nnz == 2


def test_targets_are_further_columns():
    X, y = rows(), rows(d=2, seed=1)
    same(content_hash(X, y), content_hash(np.hstack([X, y])))
    same(content_hash(X, y[:, 0]), content_hash(X, y[:, :1]))
    same(content_hash(sp.csr_array(X), y), content_hash(X, y))
    assert (content_hash(X, y) != content_hash(X)).all()


def test_lists_hash_as_arrays():
    X, y = rows(6), rows(6, 1)[:, 0]
    same(content_hash(X.tolist()), content_hash(X))
    same(content_hash(X.tolist(), y.tolist()), content_hash(X, y))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_of_numbers_hash_as_their_array(frame):
    X, y = rows(), rows(d=1, seed=1)[:, 0]
    data = {f"x{j}": X[:, j] for j in range(4)}
    same(content_hash(frame(data)), content_hash(X))
    same(content_hash(frame(data), y), content_hash(X, y))


def test_frames_of_strings_hash_alike_in_pandas_polars_and_arrays():
    data = {"kind": ["b", "a", "b", "c"], "size": [1.0, 2.0, 1.0, 1.0]}
    frame = content_hash(pd.DataFrame(data))
    same(frame, content_hash(pl.DataFrame(data)))
    same(frame, content_hash(pd.DataFrame(data).astype({"kind": "category", "size": np.float32})))
    same(
        content_hash(pd.DataFrame({"kind": data["kind"]})),
        content_hash(np.array(data["kind"]).reshape(-1, 1)),
    )
    assert frame[0] == frame[2]
    assert len(set(frame.tolist())) == 3


def test_strings_hash_without_regard_to_the_rest_of_the_column():
    kinds = np.array([["pear"], ["fig"], ["a much longer name than the others"]])
    same(content_hash(kinds)[:2], content_hash(kinds[:2]))
    same(content_hash(kinds[::-1]), content_hash(kinds)[::-1])


def test_frames_whose_columns_share_a_name_hash_as_their_array():
    X = rows(20, 3)
    same(content_hash(pd.DataFrame(X, columns=["a", "b", "a"])), content_hash(X))


def test_index_and_names_of_a_frame_do_not_show():
    X = rows(20, 2)
    frame = pd.DataFrame(X, columns=["p", "q"], index=np.arange(20)[::-1])
    same(content_hash(frame), content_hash(X))


def test_column_decides_as_well_as_value():
    h = content_hash([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0], [0.0, 3.0]])
    assert len(set(h.tolist())) == 6


def test_neighbouring_values_differ():
    X = np.stack([np.ones(3), np.nextafter([1.0, 0.5, 2.0], 2.0)])
    h = content_hash(X)
    assert h[0] != h[1]


def test_many_distinct_rows_have_distinct_hashes():
    X = np.stack(np.meshgrid(np.arange(200.0), np.arange(200.0)), axis=-1).reshape(-1, 2)
    assert len(np.unique(content_hash(X))) == len(X)


def test_seed_gives_an_unrelated_hash():
    X = rows(20_000, 2)
    bits = [content_hash(X, seed=seed) & np.uint64(1) for seed in (0, 1)]
    agree = np.mean(bits[0] == bits[1])
    assert abs(agree - 0.5) < 4 * 0.5 / np.sqrt(len(X))
    same(content_hash(X, seed=7), content_hash(X, seed=7))


def test_every_bit_is_balanced():
    h = content_hash(np.arange(20_000.0).reshape(-1, 1))
    ones = [np.mean((h >> np.uint64(b)) & np.uint64(1)) for b in range(64)]
    assert np.max(np.abs(np.array(ones) - 0.5)) < 5 * 0.5 / np.sqrt(len(h))


def mixed(x):
    """One step of splitmix64 in whole numbers, from its published constants."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


@repeatable
@given(hnp.arrays(np.float64, (3, 4), elements=SINGLES), st.integers(0, 2**32))
def test_hash_is_what_whole_numbers_give(X, seed):
    expected = [
        mixed(
            sum(
                mixed(struct.unpack("<Q", struct.pack("<d", v))[0] ^ mixed(j + mixed(seed)))
                for j, v in enumerate(row.tolist())
                if v != 0
            )
            % 2**64
        )
        for row in X
    ]
    assert content_hash(X, seed=seed).tolist() == expected


def test_hash_is_the_same_on_every_machine():
    assert content_hash([[0.0], [1.0]]).tolist() == [16294208416658607535, 17936269604701237599]
    assert content_hash(np.array([["a"], ["ß"]])).tolist() == [
        9588037341466434117,
        1793167973069251928,
    ]


def test_words_are_hashed_by_their_letters():
    words = np.array(["", "a", "é", "x" * 1000, "a"], dtype=object)
    h = word_hashes(words)
    assert h[1] == h[4]
    assert len(set(h.tolist())) == 4
    same(h, word_hashes(words.astype(str)))
    same(h[::-1], word_hashes(words[::-1]))
    assert h[2] == hash_of_bytes("é".encode())
    assert word_hashes(words[:0]).dtype == np.uint64


def test_a_word_that_is_no_valid_text_is_hashed_too():
    assert len(word_hashes(np.array(["\ud800", "a"], dtype=object))) == 2
