"""Eigenvectors as matrices and as reflectors multiply alike."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

from negcorr.spectrum.modes import DenseModes, TridiagonalModes, tridiagonalise

SIZES = (2, 3, 5, 63, 64, 150)


def eigenmodes(matrix):
    reduction = tridiagonalise(matrix)
    values, vectors = reduction.eigenvectors()
    return values, TridiagonalModes(reduction, vectors)


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


@pytest.mark.parametrize("size", SIZES)
def test_the_reduction_is_tridiagonal_and_orthogonally_similar(size):
    matrix = symmetric(size)
    reduction = tridiagonalise(matrix.copy())
    H = reduction.times(np.eye(size))
    T = np.diag(reduction.diagonal)
    T += np.diag(reduction.off_diagonal, 1) + np.diag(reduction.off_diagonal, -1)
    assert_allclose(H.T @ H, np.eye(size), atol=1e-12)
    assert_allclose(H @ T @ H.T, matrix, atol=1e-11 * np.abs(matrix).max())


def test_dense_modes_multiply_by_their_matrix():
    rng = np.random.default_rng(0)
    U, x, v = rng.normal(size=(6, 4)), rng.normal(size=(4, 2)), rng.normal(size=(6, 2))
    assert_allclose(DenseModes(U).times(x), U @ x)
    assert_allclose(DenseModes(U).transposed_times(v), U.T @ v)


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


def test_reflectors_are_shared_by_threads():
    # LAPACK changes them while it works; without a guard some of these came out wrong.
    rng = np.random.default_rng(0)
    root = rng.normal(size=(20, 20))
    reduction = tridiagonalise(root @ root.T)
    v = rng.normal(size=(20, 75))
    expected = reduction.transposed_times(v)

    def work(_):
        return all(np.array_equal(reduction.transposed_times(v), expected) for _ in range(4000))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))
