"""Hashes, folds and the order of rows on a device are those of NumPy, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from places import problem, somewhere
from sklearn.model_selection import KFold, TimeSeriesSplit

from negcorr import ContentKFold
from negcorr._common.arrays import to_host
from negcorr.moments.moments import compress
from negcorr.rows.folds import UnsplittableError, make_folds
from negcorr.rows.keys import (
    content_hash,
    fold_numbers,
    on_host,
    reseeded,
    row_keys,
    smallest_counted,
)
from negcorr.rows.rows import Rows, canonical_order, inverse_order, joined

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

ODD = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.0, -1.0, 1e308, 2.0**-1022]

in_places = st.sampled_from(["torch", "strict"])


class TestHash:
    @repeatable
    @given(
        table=arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5))),
        seed=st.one_of(st.integers(0, 2**64 - 1), st.just(2**63)),
        name=in_places,
    )
    def test_is_that_of_numpy_for_any_numbers(self, table, seed, name):
        place = somewhere(name)
        there, least = place.put(table), smallest_counted(table)
        np.testing.assert_array_equal(smallest_counted(there), least)
        np.testing.assert_array_equal(content_hash(there), content_hash(table))
        home, keys = (row_keys(X, X[:, :1], least).xy for X in (table, there))
        np.testing.assert_array_equal(on_host(keys), home)
        np.testing.assert_array_equal(on_host(reseeded(keys, seed)), reseeded(home, seed))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("columns", [1, 3])
    def test_of_odd_numbers(self, place, dtype, columns):
        with np.errstate(over="ignore", under="ignore"):
            table = np.repeat(np.array(ODD, dtype=dtype)[:, None], columns, axis=1)
        table[:, 0] = 1.5
        table = np.vstack([table, np.array(ODD[:1] * columns, dtype=dtype)])
        wanted = content_hash(table)
        found = content_hash(place.put(table, dtype))
        assert found.dtype == np.uint64
        np.testing.assert_array_equal(found, wanted)

    def test_zeros_are_one_and_so_are_nans(self, place):
        other = np.frombuffer(np.uint64(0x7FF8000000000123).tobytes(), dtype=np.float64)[0]
        keys = content_hash(place.put([[0.0], [-0.0], [np.nan], [other], [-np.nan]]))
        assert keys[0] == keys[1]
        assert keys[2] == keys[3] == keys[4]
        assert keys[0] != keys[2]

    @pytest.mark.parametrize("outputs", [None, 1, 3])
    def test_targets_are_further_columns(self, place, outputs):
        X, y = problem(50, outputs=outputs)
        wanted = content_hash(X, y)
        for target in (place.put(y), y):
            np.testing.assert_array_equal(content_hash(place.put(X), target), wanted)
        np.testing.assert_array_equal(content_hash(X, place.put(y)), wanted)
        assert (wanted != content_hash(X)).all()

    def test_single_precision_hashes_like_the_same_numbers_in_double(self, place):
        X = problem(30)[0].astype(np.float32)
        wanted = content_hash(place.put(X))
        np.testing.assert_array_equal(content_hash(place.put(X, np.float32)), wanted)

    def test_sorts_as_the_hash_does(self, place):
        X, _ = problem(300)
        order = np.argsort(content_hash(X), kind="stable")
        np.testing.assert_array_equal(
            np.argsort(to_host(row_keys(place.put(X), place.put(X)).x)), order
        )

    def test_leaves_the_rows_alone(self, place):
        table = np.array([[-0.0, 1.0], [np.nan, 2.0]])
        there = place.put(table)
        content_hash(there)
        np.testing.assert_array_equal(to_host(there), table)
        assert np.signbit(to_host(there)[0, 0])


@repeatable
@given(
    keys=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20),
    count=st.one_of(st.integers(1, 5000), st.integers(2**31 - 2, 2**31 + 2)),
    name=in_places,
)
def test_modulo_is_the_unsigned_one(keys, count, name):
    hashes = np.array([*keys, 0, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    signed = somewhere(name).put((hashes ^ np.uint64(2**63)).view(np.int64), np.int64)
    found = to_host(fold_numbers(signed, count))
    np.testing.assert_array_equal(found, hashes % np.uint64(count))


class TestFolds:
    @pytest.mark.parametrize("n", [7, 40, 500])
    @pytest.mark.parametrize(
        "cv",
        [
            None,
            2,
            np.int64(11),
            50,
            KFold(3),
            TimeSeriesSplit(2),
            ContentKFold(3, 7),
            ContentKFold(3, inputs_only=True),
        ],
        ids=str,
    )
    def test_are_those_of_numpy(self, place, cv, n):
        X, y = problem(n, outputs=2)
        home = make_folds(cv, Rows(X, y))
        there = make_folds(cv, Rows(place.put(X), place.put(y)))
        assert (there.splits, there.whole) == (home.splits, home.whole)
        for one, other in zip(there.cells, home.cells, strict=True):
            assert place.has(one)
            np.testing.assert_array_equal(to_host(one), other)
        np.testing.assert_array_equal(there.held_out_in(n), home.held_out_in(n))
        weight = np.where(np.arange(n) < 2, 1.0, 0.0)
        assert there.usable_splits(place.put(weight)) == home.usable_splits(weight)

    def test_are_renumbered_alike(self, place):
        X, y = problem(60, outputs=1)
        rows = Rows(place.put(X), place.put(y))
        position = inverse_order(canonical_order(rows))
        there = make_folds(4, rows).renumbered(position)
        home = make_folds(4, Rows(X, y)).renumbered(to_host(position))
        for one, other in zip(there.cells, home.cells, strict=True):
            np.testing.assert_array_equal(to_host(one), other)

    def test_of_equal_rows_are_refused(self, place):
        with pytest.raises(UnsplittableError, match="all 9 rows fall into one fold of 5"):
            make_folds(5, Rows(place.put(np.ones((9, 2))), place.put(np.ones((9, 1)))))

    @pytest.mark.parametrize(
        ("cv", "error"), [(1, ValueError), (True, TypeError), ("3", TypeError)]
    )
    def test_of_no_sense_are_refused_as_at_home(self, place, cv, error):
        X, y = problem(20, outputs=1)
        for table, target in ((X, y), (place.put(X), place.put(y))):
            with pytest.raises(error, match="cv="):
                make_folds(cv, Rows(table, target))


class TestOrder:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_is_that_of_numpy_with_ties(self, place, weighted):
        rng = np.random.default_rng(0)
        X, y = rng.integers(0, 3, (80, 2)) * 1.0, rng.integers(0, 2, (80, 1)) * 1.0
        weight = rng.integers(0, 3, 80) * 1.0 if weighted else None
        there = Rows(place.put(X), place.put(y), None if weight is None else place.put(weight))
        order = canonical_order(there)
        np.testing.assert_array_equal(to_host(order), canonical_order(Rows(X, y, weight)))
        back = there.take(order).take(inverse_order(order))
        np.testing.assert_array_equal(to_host(back.X), X)

    def test_rows_are_joined_where_they_are(self, place):
        X, y = problem(10, outputs=1)
        plain, heavy = (
            Rows(place.put(X), place.put(y), w) for w in (None, place.put(y[:, 0] ** 2))
        )
        both = joined([plain, heavy])
        assert all(place.has(part) for part in (both.X, both.y, both.weight))
        np.testing.assert_array_equal(to_host(both.weight), np.append(np.ones(10), y**2))
        with pytest.raises(ValueError, match="several array libraries or devices"):
            joined([plain, Rows(X, y)])

    def test_the_first_rows_that_count(self, place):
        X, y = problem(10, outputs=1)
        weight = place.put([0.0, 1.0] * 5)
        rows = Rows(place.put(X), place.put(y), weight).first_used(3)
        np.testing.assert_array_equal(to_host(rows.X), X[[1, 3, 5]])


def test_the_triangle_alone_is_found_in_libraries_that_give_it_with_and_without_an_empty_q(torch):
    # NumPy gives R by itself, as CuPy does; torch gives a pair.
    matrix = np.random.default_rng(0).normal(size=(7, 3))
    for given_matrix in (matrix, torch.put(matrix)):
        triangle = to_host(compress(given_matrix))
        assert triangle.shape == (3, 3)
        np.testing.assert_allclose(triangle.T @ triangle, matrix.T @ matrix, rtol=1e-12)
