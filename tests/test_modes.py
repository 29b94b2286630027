"""Eigenvectors as matrices and as reflectors multiply alike."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from negcorr.modes import SMALL, DenseModes, TridiagonalModes, eigenmodes

SIZES = (1, 2, 5, SMALL - 1, SMALL, SMALL + 1, 150)


def symmetric(size, seed=0):
    half = np.random.default_rng(seed).normal(size=(size, size + 3))
    return half @ half.T


@pytest.mark.parametrize("size", SIZES)
def test_eigenvalues_ascend_and_are_those_of_the_matrix(size):
    matrix = symmetric(size)
    values, _ = eigenmodes(matrix.copy())
    assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=1e-10, atol=1e-10 * values[-1])
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("size", SIZES)
def test_modes_diagonalise_the_matrix(size):
    matrix = symmetric(size)
    values, modes = eigenmodes(matrix.copy())
    U = modes.times(np.eye(size))
    assert_allclose(U.T @ U, np.eye(size), atol=1e-12)
    assert_allclose(matrix @ U, U * values, atol=1e-11 * values[-1])


@pytest.mark.parametrize("size", SIZES)
def test_transposed_times_is_the_transpose_of_times(size):
    _, modes = eigenmodes(symmetric(size))
    rng = np.random.default_rng(1)
    v, U = rng.normal(size=(size, 4)), modes.times(np.eye(size))
    assert_allclose(modes.transposed_times(v), U.T @ v, atol=1e-12)


@pytest.mark.parametrize("size", [5, 80])
def test_without_first_drops_the_first_columns_only(size):
    _, modes = eigenmodes(symmetric(size))
    U = modes.times(np.eye(size))
    for first in (0, 1, 3, size):
        rest = modes.without_first(first)
        x = np.random.default_rng(2).normal(size=(size - first, 2))
        assert_allclose(rest.times(x), U[:, first:] @ x, atol=1e-12)
        v = np.random.default_rng(3).normal(size=(size, 2))
        assert_allclose(rest.transposed_times(v), U[:, first:].T @ v, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_of_what_is_multiplied_does_not_matter(order):
    _, modes = eigenmodes(symmetric(90))
    v = np.asarray(np.random.default_rng(0).normal(size=(90, 3)), order=order)
    before = v.copy()
    assert_allclose(modes.transposed_times(modes.times(v)), v, atol=1e-11)
    assert_allclose(v, before, rtol=0, atol=0)


def test_repeated_and_zero_eigenvalues_keep_orthonormal_modes():
    half = np.random.default_rng(0).normal(size=(100, 20))
    left = np.linalg.qr(half)[0]
    values, modes = eigenmodes(left @ left.T)
    assert_allclose(values, np.r_[np.zeros(80), np.ones(20)], atol=1e-13)
    U = modes.times(np.eye(100))
    assert_allclose(U.T @ U, np.eye(100), atol=1e-12)
    assert_allclose((U * values) @ U.T, left @ left.T, atol=1e-12)


def test_small_matrices_are_dense_and_large_ones_keep_their_reflectors():
    assert isinstance(eigenmodes(symmetric(SMALL - 1))[1], DenseModes)
    assert isinstance(eigenmodes(symmetric(SMALL))[1], TridiagonalModes)


def test_an_empty_matrix_has_no_modes():
    values, modes = eigenmodes(np.empty((0, 0)))
    assert len(values) == 0
    assert modes.times(np.empty((0, 2))).shape == (0, 2)
