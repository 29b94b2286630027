"""Routines of LAPACK that are called without the interpreter's lock do what SciPy's do."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg import lapack

from negcorr._common import lapack as _lapack
from negcorr._common.lapack import inverse_from_upper, reduce_lower


def symmetric(n, seed=0):
    half = np.random.default_rng(seed).normal(size=(n, n))
    return half @ half.T + n * np.eye(n)


@pytest.mark.parametrize("n", [2, 3, 40, 200])
def test_reduction_is_scipy_s(n):
    matrix = np.asfortranarray(symmetric(n))
    expected = lapack.dsytrd(matrix.copy(order="F"), lower=1, lwork=64 * n)
    diagonal, off_diagonal, tau = reduce_lower(matrix)
    for mine, theirs in zip((matrix, diagonal, off_diagonal, tau), expected[:4], strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("n", [1, 2, 40, 200])
def test_inverse_is_the_inverse(n):
    matrix = symmetric(n)
    factor = np.asfortranarray(np.linalg.cholesky(matrix).T)
    inverse_from_upper(factor)
    whole = np.triu(factor) + np.triu(factor, 1).T
    np.testing.assert_allclose(whole @ matrix, np.eye(n), atol=1e-9)


def test_many_at_once_are_as_one_by_one():
    matrices = [np.asfortranarray(symmetric(120, seed)) for seed in range(16)]
    alone = [reduce_lower(matrix.copy(order="F"))[0] for matrix in matrices]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda matrix: reduce_lower(matrix)[0], matrices))
    np.testing.assert_array_equal(together, alone)


def test_others_run_meanwhile():
    # While LAPACK works, another thread counts; with the lock held it could not.
    counts, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1
            done.wait(1e-4)

    matrix, meanwhile = np.asfortranarray(symmetric(900)), 0
    counter = threading.Thread(target=count)
    counter.start()
    try:
        for _ in range(50):  # a busy machine may give the other thread no turn at first
            before = counts[0]
            reduce_lower(matrix.copy(order="F"))
            meanwhile = max(meanwhile, counts[0] - before)
            if meanwhile >= 2:
                break
    finally:
        done.set()
        counter.join()
    assert meanwhile >= 2


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(3, 4, order="F"),
        np.asfortranarray(np.eye(3, dtype=np.float32)),
        np.arange(9.0).reshape(3, 3),
        np.broadcast_to(np.float64(1.0), (1, 1)),
    ],
    ids=["not square", "single", "C order", "read only"],
)
@pytest.mark.parametrize("routine", [reduce_lower, inverse_from_upper])
def test_refuse_what_lapack_would_misread(routine, matrix):
    with pytest.raises(ValueError, match="in place on square matrices of doubles"):
        routine(matrix)


def test_failure_is_raised():
    singular = np.asfortranarray(np.diag([1.0, 0.0]))
    with pytest.raises(np.linalg.LinAlgError, match="LAPACK dpotri failed with info=2"):
        inverse_from_upper(singular)


def test_a_routine_of_other_arguments_is_not_called():
    with pytest.raises(RuntimeError, match="SciPy's dpotri is not what is expected"):
        _lapack._routine("dpotri", 7)
