"""The hash of rows depends on their values and on nothing else."""

import hashlib
import struct
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from negcorr.rows.keys import (
    FIRST_TARGET,
    content_hash,
    fold_numbers,
    on_host,
    reseeded,
    row_keys,
    smallest_counted,
    word_hashes,
)

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
    assert (content_hash(X, y) != content_hash(np.hstack([X, y]))).all()
    # Their number does not depend on that of the inputs, of which some may be left out.
    same(content_hash(np.hstack([X, np.zeros((200, 1))]), y), content_hash(X, y))
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


POSITIVE = hnp.arrays(np.float64, (5, 3), elements=st.floats(1e-3, 1e6))


@repeatable
@given(POSITIVE, st.integers(-8, 8))
def test_values_that_differ_in_their_last_bits_are_the_same(X, ulps):
    # In the middle between two borders of the rounding, so that no value crosses one.
    mantissa, exponent = np.frexp(X)
    X = np.ldexp(np.round(mantissa * 2.0**26) / 2.0**26, exponent)
    moved = (X.view(np.int64) + ulps).view(np.float64)
    same(content_hash(moved), content_hash(X))


@repeatable
@given(POSITIVE)
def test_values_that_differ_by_a_millionth_differ(X):
    assert (content_hash(X * (1.0 + 1e-6)) != content_hash(X)).all()


def test_almost_no_value_changes_its_hash_with_its_last_bits():
    X = rows(100_000, 1)
    moved = np.nextafter(X, np.inf)
    # Half of a last bit of 53 against a whole one of 26.
    assert (content_hash(moved) != content_hash(X)).sum() <= 1


class TestZero:
    def test_is_what_lies_far_below_the_scale_of_its_column(self):
        X = np.array([[1.0, 0.0], [-1.0, 4.0], [0.0, -4.0]])
        noise = np.array([[0.0, 3e-16], [0.0, 0.0], [-2e-17, 0.0]])
        least = smallest_counted(X)
        assert least.tolist() == [2.0**-26, 2.0**-24]
        same(smallest_counted(X + noise), least)
        same(content_hash(X + noise, smallest=least), content_hash(X, smallest=least))
        assert content_hash(X + noise)[0] != content_hash(X)[0]

    def test_is_exactly_below_the_smallest_that_counts(self):
        least = np.array([0.5])
        h = content_hash(
            np.array([[0.5], [np.nextafter(0.5, 0.0)], [-0.49], [0.0]]), smallest=least
        )
        assert h[0] != h[3]
        assert h[1] == h[2] == h[3]

    def test_is_no_target(self):
        X, y = np.zeros((2, 1)), np.array([[1.0], [1e-300]])
        keys = row_keys(X, y, np.array([1.0]))
        assert keys.xy[1] != row_keys(X, np.zeros((2, 1)), np.array([1.0])).xy[1]
        same(keys.x, row_keys(X, np.zeros((2, 1))).x)

    def test_is_not_moved_by_weights_repeats_or_a_few_large_values(self):
        x = np.random.default_rng(0).normal(size=(200, 2))
        least = smallest_counted(x)
        same(smallest_counted(np.repeat(x, 3, axis=0)), least)
        factor = smallest_counted(np.vstack([x, [[1e9, -1e12]]])) / least
        assert ((factor >= 0.5) & (factor <= 2.0)).all()
        # A level at the mean in most rows has no say, even if it comes out as noise.
        balanced = np.concatenate([np.full(900, 1e-12), np.ones(50), -np.ones(50)])[:, np.newaxis]
        assert smallest_counted(balanced) == 2.0**-26

    def test_of_columns_without_numbers_is_nothing(self):
        frame = pd.DataFrame({"a": [np.nan, np.inf], "b": ["x", "y"], "c": [0.0, 0.0]})
        same(smallest_counted(frame), np.zeros(3))
        same(smallest_counted(np.empty((0, 2))), np.zeros(2))

    @repeatable
    @given(TABLES)
    def test_is_the_same_of_sparse_rows(self, X):
        X[np.abs(X) < 10] = 0.0
        same(smallest_counted(sp.csr_array(X)), smallest_counted(X))

    @repeatable
    @given(TABLES, st.integers(-30, 30))
    def test_moves_with_the_unit(self, X, power):
        same(smallest_counted(np.ldexp(X, power)), np.ldexp(smallest_counted(X), power))


class TestCellsOfOtherTypes:
    def test_dates_are_exact(self):
        times = np.array(["2024-01-31T12:00:00.000001", "2024-01-31T12:00:00"], "datetime64[us]")
        h = content_hash(pd.DataFrame({"t": times}))
        assert h[0] != h[1]
        same(content_hash(pd.DataFrame({"t": times.astype("datetime64[ns]")})), h)
        same(
            content_hash(pd.DataFrame({"t": pd.Series(list(pd.to_datetime(times)), dtype=object)})),
            h,
        )

    @pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA])
    def test_there_is_one_missing_value(self, missing):
        column = pd.DataFrame({"a": pd.Series([missing, 1.0], dtype=object)})
        same(content_hash(column), content_hash(np.array([[np.nan], [1.0]])))
        same(
            content_hash(pd.DataFrame({"a": np.array(["NaT"], "datetime64[us]")})),
            content_hash(column)[:1],
        )

    def test_numbers_count_by_value_in_columns_of_any_type(self):
        values = [1, True, 1.0, np.float32(1.0), np.int8(1), Decimal(1), np.True_]
        column = np.array(values, dtype=object).reshape(-1, 1)
        same(content_hash(column), content_hash(np.ones((len(values), 1))))
        nullable = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
        same(content_hash(nullable), content_hash(np.array([[1.0], [np.nan]])))

    def test_words_are_no_numbers_and_lists_are_words(self):
        h = content_hash(np.array([["1"], [1.0], [None], ["None"]], dtype=object))
        assert len(set(h.tolist())) == 4
        column = pd.DataFrame({"a": [[1, 2], [1, 2], [1]]})
        h = content_hash(column)
        assert h[0] == h[1] != h[2]

    def test_chunks_of_a_column_may_have_other_types_than_the_whole(self):
        whole = pd.DataFrame({"a": [1, 2, None, 3], "b": [True, False, None, True]})
        parts = [whole[:2].infer_objects(), whole[2:].infer_objects()]
        parts[0] = parts[0].astype({"a": int, "b": bool})
        same(np.concatenate([content_hash(part) for part in parts]), content_hash(whole))


class TestRowKeys:
    def test_are_those_of_inputs_and_of_both(self):
        X, y = rows(50), rows(50, 2, seed=1)
        keys = row_keys(X, y)
        same(keys.x, content_hash(X))
        same(keys.xy, content_hash(X, y))
        index = np.array([3, 1])
        same(keys.take(index).x, keys.x[index])
        same(keys.take(index).xy, keys.xy[index])
        same(row_keys(X, y[:, :0]).xy, keys.x)

    def test_of_columns_are_those_of_the_table(self):
        X, y = rows(50), rows(50, 1, seed=1)
        same(row_keys(list(X.T), y).xy, row_keys(X, y).xy)

    @pytest.mark.parametrize("count", [2, 5, 7])
    def test_on_a_device_are_those_at_home(self, count):
        torch = pytest.importorskip("torch")
        X, y = np.where(rows() > 1.0, 0.0, rows()), rows(d=2, seed=1)
        X[:5, 0] = [-0.0, 0.0, 1e-20, 1.0, -1.0]
        least = smallest_counted(X)
        home, there = row_keys(X, y, least), row_keys(torch.tensor(X), torch.tensor(y), least)
        same(smallest_counted(torch.tensor(X)), least)
        for mine, theirs in ((home.x, there.x), (home.xy, there.xy)):
            same(on_host(theirs), mine)
            same(np.argsort(theirs.numpy()), np.argsort(mine))
            same(fold_numbers(theirs, count).numpy(), fold_numbers(mine, count))
            same(on_host(reseeded(theirs, 7)), reseeded(mine, 7))

    def test_are_the_same_for_the_seed_zero(self):
        keys = content_hash(rows())
        assert reseeded(keys, 0) is keys


def test_many_distinct_rows_have_distinct_hashes():
    X = np.stack(np.meshgrid(np.arange(200.0), np.arange(200.0)), axis=-1).reshape(-1, 2)
    assert len(np.unique(content_hash(X))) == len(X)


def test_seed_gives_an_unrelated_hash():
    X = rows(20_000, 2)
    bits = [reseeded(content_hash(X), seed) & np.uint64(1) for seed in (0, 1)]
    agree = np.mean(bits[0] == bits[1])
    assert abs(agree - 0.5) < 4 * 0.5 / np.sqrt(len(X))
    same(reseeded(content_hash(X), 7), reseeded(content_hash(X), 7))


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


def rounded_bits(value):
    """The bits of a double, the last 27 of which are rounded away."""
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return (bits + 2**26) // 2**27 * 2**27


@repeatable
@given(
    hnp.arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6)),
    hnp.arrays(np.float64, 3, elements=SINGLES),
)
def test_hash_is_what_whole_numbers_give(X, y):
    cells = [[*enumerate(row.tolist()), (FIRST_TARGET, t)] for row, t in zip(X, y, strict=True)]
    expected = [
        mixed(sum(mixed(rounded_bits(v) ^ mixed(j)) for j, v in row if v != 0) % 2**64)
        for row in cells
    ]
    assert content_hash(X, y).tolist() == expected


def test_hash_is_the_same_on_every_machine():
    assert content_hash([[0.0], [1.0]]).tolist() == [16294208416658607535, 14298818161592282414]
    assert content_hash(np.array([["a"], ["ß"]])).tolist() == [
        9573976062430154869,
        11380924827097763544,
    ]


def test_words_are_hashed_by_their_letters():
    words = np.array(["", "a", "é", "x" * 1000, "a"], dtype=object)
    h = word_hashes(words)
    assert h[1] == h[4]
    assert len(set(h.tolist())) == 4
    same(h, word_hashes(words.astype(str)))
    same(h[::-1], word_hashes(words[::-1]))
    digest = hashlib.blake2b("é".encode(), digest_size=8).digest()
    assert h[2] == int.from_bytes(digest, "little")
    assert word_hashes(words[:0]).dtype == np.uint64


def test_a_word_that_is_no_valid_text_is_hashed_too():
    assert len(word_hashes(np.array(["\ud800", "a"], dtype=object))) == 2
