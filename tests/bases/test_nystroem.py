"""Nyström features reproduce the kernel at their landmarks."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem

from negcorr.bases import NystroemFeatures
from negcorr.bases.kernel_functions import KERNELS
from negcorr.exceptions import IdenticalMembersWarning

NAMES = ["rbf", "laplacian", "cauchy"]


def table(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def blocks(basis, matrix):
    return [matrix[:, a:b] for a, b in itertools.pairwise(basis.block_starts_)]


def landmarks(basis):
    rows = basis.landmarks_
    return [rows[a:b] for a, b in itertools.pairwise(basis.block_starts_)]


@pytest.mark.parametrize("kernel", NAMES)
def test_kernel_is_reproduced_at_the_landmarks(kernel):
    basis = NystroemFeatures(4, 6, kernel=kernel, gamma=0.5, random_state=0, inputs="none").fit(
        table()
    )
    for m, rows in enumerate(landmarks(basis)):
        features = blocks(basis, basis.transform(rows))[m]
        np.testing.assert_allclose(
            features @ features.T, KERNELS[kernel].values(rows, rows, 0.5), atol=1e-9
        )


@pytest.mark.parametrize("kernel", NAMES)
def test_features_give_the_nystroem_approximation_everywhere(kernel):
    X = table(30, seed=1)
    basis = NystroemFeatures(3, 5, kernel=kernel, gamma=0.5, random_state=0, inputs="none").fit(
        table()
    )
    values = KERNELS[kernel].values
    for features, rows in zip(blocks(basis, basis.transform(X)), landmarks(basis), strict=True):
        to_landmarks, between = values(X, rows, 0.5), values(rows, rows, 0.5)
        expected = to_landmarks @ np.linalg.solve(between, to_landmarks.T)
        np.testing.assert_allclose(features @ features.T, expected, atol=1e-8)


def test_features_are_those_of_scikit_learn_for_the_same_landmarks():
    X = table(30, seed=1)
    basis = NystroemFeatures(3, 5, gamma=0.5, random_state=0, inputs="none").fit(table())
    for features, rows in zip(blocks(basis, basis.transform(X)), landmarks(basis), strict=True):
        theirs = Nystroem(gamma=0.5, n_components=5, random_state=0).fit(rows)
        # Theirs come in the order of their permutation of the landmarks.
        np.testing.assert_allclose(
            features[:, theirs.component_indices_], theirs.transform(X), atol=1e-9
        )


@pytest.mark.parametrize("inputs", ["none", "standard"])
def test_landmarks_are_distinct_rows_of_the_table(inputs):
    X = table()
    basis = NystroemFeatures(5, 8, inputs=inputs, random_state=0).fit(X)
    scaled = basis.input_map_(X)
    for rows in landmarks(basis):
        matches = np.all(np.isclose(rows[:, np.newaxis], scaled, atol=1e-12), axis=-1)
        np.testing.assert_array_equal(matches.sum(axis=1), np.ones(8))
        assert len(np.unique(matches.argmax(axis=1))) == 8


def test_repeated_rows_are_one_candidate():
    X = np.repeat(table(9), [40, 1, 1, 1, 1, 1, 1, 1, 30], axis=0)
    basis = NystroemFeatures(20, 6, gamma=1.0, random_state=0, inputs="none").fit(X)
    for rows in landmarks(basis):
        assert len(np.unique(rows, axis=0)) == 6


def test_order_and_repetition_of_rows_do_not_move_the_landmarks():
    X = table()
    order = np.random.default_rng(1).permutation(len(X))
    one, other, repeated = (
        NystroemFeatures(4, 6, gamma=1.0, random_state=0, inputs="none").fit(rows)
        for rows in (X, X[order], np.repeat(X, 3, axis=0))
    )
    np.testing.assert_array_equal(one.landmarks_, other.landmarks_)
    np.testing.assert_array_equal(one.landmarks_, repeated.landmarks_)


def test_rows_without_weight_are_no_landmarks():
    X = table()
    weight = (np.arange(60) < 20).astype(float)
    weighted = NystroemFeatures(4, 6, gamma=1.0, random_state=0, inputs="none").fit(
        X, sample_weight=weight
    )
    cut = NystroemFeatures(4, 6, gamma=1.0, random_state=0, inputs="none").fit(X[:20])
    np.testing.assert_array_equal(weighted.landmarks_, cut.landmarks_)


def test_sparse_landmarks_stay_sparse():
    X = np.where(table() > 0.5, table(), 0.0)
    dense = NystroemFeatures(4, 6, random_state=0, inputs="standard").fit(X)
    sparse = NystroemFeatures(4, 6, random_state=0, inputs="standard").fit(sp.csr_array(X))
    assert sp.issparse(sparse.landmarks_)
    np.testing.assert_allclose(sparse.transform(X), dense.transform(X), atol=1e-8)


@pytest.mark.parametrize("n_components", [7, 8, 50])
def test_no_more_rows_than_landmarks_warns_and_uses_all(n_components):
    X = np.repeat(table(7), 2, axis=0)
    with pytest.warns(IdenticalMembersWarning, match=rf"{n_components}.*distinct rows \(7\)"):
        basis = NystroemFeatures(3, n_components, random_state=0, inputs="none").fit(X)
    np.testing.assert_array_equal(basis.block_starts_, [0, 7, 14, 21])
    assert basis.transform(X).shape == (14, 21)


def test_one_member_with_all_rows_as_landmarks_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NystroemFeatures(1, 50, random_state=0, inputs="none").fit(table(7))


def test_nearly_equal_landmarks_give_finite_features():
    X = 1.0 + 1e-7 * table(20)
    features = NystroemFeatures(2, 5, gamma=1.0, random_state=0, inputs="none").fit_transform(X)
    assert np.isfinite(features).all()


def test_shapes_of_what_is_kept():
    basis = NystroemFeatures(4, 6, random_state=0, inputs="none").fit(table())
    assert basis.landmarks_.shape == (24, 3)
    assert basis.normalization_.shape == (4, 6, 6)


@pytest.mark.parametrize("kernel", ["rbf", "cauchy"])
def test_near_landmarks_with_weights_are_those_of_repeated_rows(kernel):
    # Their kernels are nearly dependent, and the inverse root multiplies a last digit of gamma.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weight = rng.standard_t(1, size=(15, 2)), rng.integers(1, 4, size=15)
        basis = NystroemFeatures(3, 8, kernel=kernel, random_state=0)
        weighted = clone(basis).fit(X, sample_weight=weight)
        repeated = clone(basis).fit(np.repeat(X, weight, axis=0))
        assert weighted.gamma_ == repeated.gamma_
        np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))
