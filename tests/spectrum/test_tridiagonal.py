"""A spectrum without eigenvectors answers as one that has them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import make_problem, moments_of, random_problem

from negcorr.moments.moments import GramMoments
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.spectrum import Spectrum
from negcorr.spectrum.tridiagonal import BandedSpectrum, tridiagonalise

GAPS = np.array([1.0, 0.3, 1e-3, 1e-6])


def banded(problem, **settings):
    spectrum = factorise(moments_of(problem, GramMoments), problem.starts, **settings)
    assert isinstance(spectrum, BandedSpectrum)
    return spectrum


@pytest.mark.parametrize("kind", ["tall", "weighted", "multi-output", "unequal blocks"])
@pytest.mark.parametrize("settings", [{}, {"alpha": 0.2}, {"fit_intercept": False}])
def test_banded_solves_equal_the_formulas_in_the_modes(kind, settings):
    spectrum = banded(make_problem(kind), **settings)
    scale = spectrum.total.max()
    assert_allclose(
        spectrum.train_error(gap=GAPS), Spectrum.train_error(spectrum, gap=GAPS), atol=1e-12 * scale
    )
    for gap in GAPS:
        by_modes = Spectrum.coef(spectrum, gap=gap)
        assert_allclose(spectrum.coef(gap=gap), by_modes, atol=1e-8 * np.abs(by_modes).max())
    by_modes = Spectrum.coef_path(spectrum, GAPS)
    assert_allclose(spectrum.coef_path(GAPS), by_modes, atol=1e-8 * np.abs(by_modes).max())


def test_eigenvectors_are_left_for_later():
    spectrum = banded(make_problem("tall"))
    spectrum.dof(gap=GAPS)
    spectrum.train_error(gap=GAPS)
    spectrum.coef_path(GAPS)
    assert not {"vectors", "kappa", "outside"} & set(vars(spectrum))
    spectrum.diversity(gap=GAPS)
    assert {"vectors", "kappa"} <= set(vars(spectrum))


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-20])
def test_gaps_below_the_noise_leave_out_modes_of_no_size(gap):
    problem = make_problem("rank-deficient")
    spectrum = banded(problem)
    accurate = factorise(moments_of(problem), problem.starts)
    assert len(spectrum.rho) == len(accurate.rho)
    assert_allclose(spectrum.dof(gap=gap), accurate.dof(gap=gap), rtol=1e-8)
    assert_allclose(
        spectrum.train_error(gap=gap),
        accurate.train_error(gap=gap),
        atol=1e-9 * spectrum.total.max(),
    )


def test_one_gap_for_each_output():
    problem = random_problem(np.random.default_rng(0), 60, [4, 4, 4], outputs=3)
    spectrum = banded(problem)
    gaps = np.array([0.5, 1e-2, 1e-4])
    together = spectrum.coef(gap=gaps)
    for j, gap in enumerate(gaps):
        assert_allclose(together[j], spectrum.coef(gap=gap)[j], rtol=1e-12)


SIZES = (2, 3, 5, 63, 64, 150)


def eigenmodes(matrix):
    """The eigenvalues of a matrix, and a spectrum that has its eigenvectors as modes."""
    size, reduction = len(matrix), tridiagonalise(matrix)
    spectrum = BandedSpectrum(
        reduction=reduction,
        target=np.zeros((size, 1)),
        noise=-np.inf,
        max_rank=size,
        total=np.zeros(1),
        weight=1.0,
        n_members=1,
        fit_intercept=False,
        centre=np.zeros(size + 1),
        alpha=0.0,
        whitening=None,
    )
    return reduction.eigenvectors()[0], spectrum


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
    U = modes.combine_modes(np.eye(size))
    assert_allclose(U.T @ U, np.eye(size), atol=1e-12)
    assert_allclose(matrix @ U, U * values, atol=1e-11 * values[-1])


@pytest.mark.parametrize("size", SIZES)
def test_along_modes_is_the_transpose_of_combine_modes(size):
    _, modes = eigenmodes(symmetric(size))
    rng = np.random.default_rng(1)
    v, U = rng.normal(size=(size, 4)), modes.combine_modes(np.eye(size))
    assert_allclose(modes.along_modes(v), U.T @ v, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_the_reduction_is_tridiagonal_and_orthogonally_similar(size):
    matrix = symmetric(size)
    reduction = tridiagonalise(matrix.copy())
    H = reduction.times(np.eye(size))
    T = np.diag(reduction.diagonal)
    T += np.diag(reduction.off_diagonal, 1) + np.diag(reduction.off_diagonal, -1)
    assert_allclose(H.T @ H, np.eye(size), atol=1e-12)
    assert_allclose(H @ T @ H.T, matrix, atol=1e-11 * np.abs(matrix).max())


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_of_what_is_multiplied_does_not_matter(order):
    _, modes = eigenmodes(symmetric(90))
    v = np.asarray(np.random.default_rng(0).normal(size=(90, 3)), order=order)
    before = v.copy()
    assert_allclose(modes.along_modes(modes.combine_modes(v)), v, atol=1e-11)
    assert_allclose(v, before, rtol=0, atol=0)


def test_repeated_and_zero_eigenvalues_keep_orthonormal_modes():
    half = np.random.default_rng(0).normal(size=(100, 20))
    left = np.linalg.qr(half)[0]
    values, modes = eigenmodes(left @ left.T)
    assert_allclose(values, np.r_[np.zeros(80), np.ones(20)], atol=1e-13)
    U = modes.combine_modes(np.eye(100))
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
