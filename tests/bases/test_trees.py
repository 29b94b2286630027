"""Each random tree is a member, its leaves are the member's indicator features."""

import itertools
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomTreesEmbedding

from negcorr.bases import TreeFeatures


def table(n=120, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def blocks(basis, features):
    return [features[:, a:b] for a, b in itertools.pairwise(basis.block_starts_)]


@pytest.mark.parametrize("sparse", [False, True])
def test_every_row_is_in_exactly_one_leaf_of_every_tree(sparse):
    X, new = table(), table(500, seed=1)
    basis = TreeFeatures(6, 5, random_state=0).fit(X)
    features = basis.transform(sp.csr_array(new) if sparse else new)
    assert set(np.unique(features)) == {0.0, 1.0}
    for block in blocks(basis, features):
        np.testing.assert_array_equal(block.sum(axis=1), np.ones(500))


def test_blocks_are_the_leaves_of_the_trees_in_order():
    X = table()
    basis = TreeFeatures(6, 5, random_state=0).fit(X)
    leaves = basis.embedding_.apply(X)
    for m, block in enumerate(blocks(basis, basis.transform(X))):
        for leaf, column in zip(np.unique(leaves[:, m]), block.T, strict=True):
            np.testing.assert_array_equal(column, leaves[:, m] == leaf)


def test_no_tree_has_more_leaves_than_components_and_every_leaf_has_rows():
    X = table()
    basis = TreeFeatures(10, 7, random_state=0).fit(X)
    assert (np.diff(basis.block_starts_) == 7).all()
    assert (basis.transform(X).sum(axis=0) > 0).all()


def test_trees_may_have_unequal_numbers_of_leaves():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(30, 3)).astype(float)
    basis = TreeFeatures(30, 7, random_state=0).fit(X)
    widths = np.diff(basis.block_starts_)
    assert 2 <= widths.min() <= widths.max() <= 7
    features = basis.transform(X)
    assert features.shape == (30, widths.sum())
    for block in blocks(basis, features):
        np.testing.assert_array_equal(block.sum(axis=1), np.ones(30))


def test_constant_rows_give_one_leaf_per_tree():
    basis = TreeFeatures(3, 4, random_state=0).fit(np.ones((10, 2)))
    np.testing.assert_array_equal(basis.block_starts_, [0, 1, 2, 3])
    np.testing.assert_array_equal(basis.transform(np.zeros((2, 2))), np.ones((2, 3)))


def test_order_repetition_and_weights_of_rows_do_not_move_the_trees():
    X, rng = table(40), np.random.default_rng(1)
    weight = rng.integers(0, 4, 40)
    one, shuffled, repeated, weighted, cut = (
        TreeFeatures(4, 5, random_state=0).fit(rows, sample_weight=w).transform(X)
        for rows, w in (
            (X, None),
            (X[rng.permutation(40)], None),
            (np.repeat(X, 3, axis=0), None),
            (X, weight),
            (np.repeat(X, weight, axis=0), None),
        )
    )
    np.testing.assert_array_equal(one, shuffled)
    np.testing.assert_array_equal(one, repeated)
    np.testing.assert_array_equal(weighted, cut)
    assert one.shape != weighted.shape or not np.array_equal(one, weighted)


def test_one_component_is_a_constant_per_tree():
    basis = TreeFeatures(3, 1, random_state=0).fit(table())
    np.testing.assert_array_equal(basis.block_starts_, [0, 1, 2, 3])
    np.testing.assert_array_equal(basis.transform(table(7, seed=1)), np.ones((7, 3)))
    assert len(basis.get_feature_names_out()) == 3


def test_monotone_changes_of_a_column_keep_rows_of_a_leaf_together():
    X = np.arange(40.0).reshape(-1, 1)
    basis = TreeFeatures(5, 6, random_state=0).fit(X)
    for block in blocks(basis, basis.transform(X)):
        leaf = block.argmax(axis=1)
        assert np.count_nonzero(np.diff(leaf)) == block.shape[1] - 1


class TestThreads:
    """Filters of warnings are those of the process: threads that reset them can lose them."""

    def test_transform_does_not_touch_the_filters_of_warnings(self, monkeypatch):
        X = np.random.default_rng(0).normal(size=(60, 3))
        basis = TreeFeatures(5, 4, random_state=0).fit(X)
        expected = basis.embedding_.transform(basis._split_rows(X)).toarray()
        monkeypatch.setattr(warnings, "resetwarnings", lambda: pytest.fail("filters were reset"))
        np.testing.assert_array_equal(basis.transform(X), expected)

    def test_trees_are_grown_by_one_thread_at_a_time(self, monkeypatch):
        inside, most = [], []
        grow = RandomTreesEmbedding.fit

        def fit(self, *given, **named):
            inside.append(self)
            most.append(len(inside))
            time.sleep(0.02)
            try:
                return grow(self, *given, **named)
            finally:
                inside.pop()

        monkeypatch.setattr(RandomTreesEmbedding, "fit", fit)
        X = np.random.default_rng(0).normal(size=(30, 3))
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda seed: TreeFeatures(2, 3, random_state=seed).fit(X), range(8)))
        assert len(most) == 8
        assert max(most) == 1

    def test_values_beyond_single_precision_fall_beside_the_largest(self):
        X = np.random.default_rng(0).normal(size=(60, 1))
        basis = TreeFeatures(5, 4, random_state=0).fit(X)
        far, largest = basis.transform(np.array([[1e60]])), basis.transform(X[[X.argmax()]])
        np.testing.assert_array_equal(far, largest)
