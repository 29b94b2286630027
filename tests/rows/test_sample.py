"""The sample that features are drawn from does not depend on the order of rows, or on chunks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.rows import sample as sampling
from negcorr.rows.keys import content_hash
from negcorr.rows.rows import Rows
from negcorr.rows.sample import RowSample

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

#: Small enough for a test.
MOST = 20


@pytest.fixture(autouse=True, scope="module")
def few_rows_are_many():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "SAMPLE_ROWS", MOST)
        yield


def rows_of(n, seed=0, n_different=1000, weighted=True):
    """Rows of which some have the same x, and others the same x and y."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n_different, size=n)
    X = np.stack([x / 7.0, np.sin(x)], axis=1)
    y = np.stack([x + rng.integers(0, 2, size=n), rng.integers(0, 3, size=n)], axis=1) / 3.0
    return Rows(X, y, rng.integers(0, 4, size=n).astype(float) if weighted else None)


def by_content(rows):
    """Rows in the order of their keys, of which equal ones are in the order of their weights."""
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    return rows.take(np.lexsort((weight, rows.keys.xy, rows.keys.x)))


def assert_same_sample(one, other):
    assert one.n_rows == other.n_rows
    assert one.weight == pytest.approx(other.weight, rel=1e-12)
    mine, theirs = by_content(one.rows), by_content(other.rows)
    tables = (part.X.toarray() if sp.issparse(part.X) else part.X for part in (mine, theirs))
    np.testing.assert_array_equal(*tables)
    np.testing.assert_array_equal(mine.keys.x, theirs.keys.x)
    np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-12, atol=1e-12)
    ones = [np.ones(part.n_rows) if part.weight is None else part.weight for part in (mine, theirs)]
    np.testing.assert_allclose(*ones, rtol=1e-12)


def in_chunks(rows, index, sizes):
    parts = np.split(index, np.cumsum(sizes)[:-1])
    found = [RowSample.of(rows.take(part)) for part in parts]
    sample = found[0]
    for each in found[1:]:
        sample = sample.merged(each)
    return sample


@repeatable
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.integers(0, 99),
    st.sampled_from([3, 12, 25, 1000]),
    st.booleans(),
)
def test_chunks_in_any_order_give_the_sample_of_all_rows(sizes, seed, n_different, weighted):
    rows = rows_of(sum(sizes), seed, n_different, weighted)
    index = np.random.default_rng(seed).permutation(sum(sizes))
    assert_same_sample(in_chunks(rows, index, sizes), RowSample.of(rows))


@repeatable
@given(st.integers(0, 99), st.sampled_from([12, 1000]))
def test_weights_mean_repeated_rows(seed, n_different):
    rows = rows_of(60, seed, n_different)
    repeated = Rows(rows.X, rows.y).take(np.repeat(np.arange(60), rows.weight.astype(int)))
    one, other = RowSample.of(rows), RowSample.of(repeated)
    assert one.weight == other.weight
    if one.n_rows <= MOST:
        return  # repeated rows are many, and weighted ones few
    mine, theirs = by_content(one.rows), by_content(other.rows)
    np.testing.assert_array_equal(mine.X, theirs.X)
    np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-12)
    np.testing.assert_allclose(mine.weight, theirs.weight)


def test_few_rows_are_the_sample_without_those_of_no_weight():
    rows = rows_of(MOST)
    sample = RowSample.of(rows)
    np.testing.assert_array_equal(sample.rows.X, rows.X[rows.weight > 0])
    np.testing.assert_array_equal(sample.rows.y, rows.y[rows.weight > 0])
    assert sample.n_rows == (rows.weight > 0).sum()
    assert sample.weight == rows.weight.sum()
    assert RowSample.of(rows_of(MOST, weighted=False)).rows.weight is None


def test_many_rows_are_sampled_by_the_smallest_keys():
    rows = rows_of(300, n_different=100)
    sample = RowSample.of(rows).rows
    used = rows.weight > 0
    keys = content_hash(rows.X)
    wanted = np.unique(keys[used])[:MOST]
    np.testing.assert_array_equal(sample.keys.x, wanted)
    for i, key in enumerate(wanted):
        same = (keys == key) & used
        weight = rows.weight[same]
        assert sample.weight[i] == weight.sum()
        np.testing.assert_allclose(sample.y[i], weight @ rows.y[same] / weight.sum())
        np.testing.assert_array_equal(rows.X[same], np.tile(sample.X[i], (same.sum(), 1)))


def test_a_row_that_is_alone_keeps_its_bits():
    rows = rows_of(500, n_different=10**6, weighted=False)
    sample = RowSample.of(rows).rows
    at = np.argsort(rows.keys.x)[:MOST]
    np.testing.assert_array_equal(sample.y, rows.y[at])
    np.testing.assert_array_equal(sample.weight, np.ones(MOST))


@pytest.mark.parametrize("wrap", [sp.csr_array, lambda X: pd.DataFrame(X, columns=["a", "b"])])
def test_rows_may_be_a_table_of_any_kind(wrap):
    rows = rows_of(300, n_different=100)
    other = Rows(wrap(rows.X), rows.y, rows.weight)
    one, found = RowSample.of(rows).rows, RowSample.of(other).rows
    dense = found.X.toarray() if sp.issparse(found.X) else found.X.to_numpy()
    np.testing.assert_array_equal(dense, one.X)
    assert_same_sample(
        in_chunks(other, np.arange(300)[::-1], [100, 200]), in_chunks(other, np.arange(300), [300])
    )


def test_targets_may_be_none():
    rows = rows_of(100)
    bare = Rows(rows.X, rows.y[:, :0], rows.weight)
    np.testing.assert_array_equal(RowSample.of(bare).rows.X, RowSample.of(rows).rows.X)
