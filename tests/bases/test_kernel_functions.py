"""Kernels: bandwidths against all pairs of rows, frequencies against the kernel itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics.pairwise import rbf_kernel

from negcorr.bases import FourierFeatures, kwok_tsang_gamma
from negcorr.bases.kernel_functions import KERNELS, mean_squared_distance

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

#: Bandwidths are rounded to 26 bits, and may fall to either side.
ROUNDED = 3e-8

NAMES = ["rbf", "laplacian", "cauchy"]
TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 9), st.integers(1, 4)),
    elements=st.integers(-40, 40).map(lambda v: v / 4),
)


def all_pairs(X, kernel):
    """Mean distance over all n² pairs, one pair at a time."""
    power = 1 if kernel == "laplacian" else 2
    return np.mean([[np.sum(np.abs(a - b) ** power) for a in X] for b in X])


def one_pair(kernel, difference, gamma):
    if kernel == "rbf":
        return np.exp(-gamma * np.sum(difference**2))
    if kernel == "laplacian":
        return np.exp(-gamma * np.sum(np.abs(difference)))
    return np.prod(1 / (1 + gamma * difference**2))


@repeatable
@given(TABLES, st.sampled_from(NAMES))
def test_gamma_is_one_over_the_mean_distance_of_all_pairs(X, kernel):
    mean = all_pairs(X, kernel)
    expected = 1 / mean if mean > 0 else 1.0
    assert kwok_tsang_gamma(X, kernel=kernel) == pytest.approx(expected, rel=ROUNDED)


@repeatable
@given(TABLES)
def test_mean_squared_distance_is_that_of_all_pairs(X):
    assert mean_squared_distance(X) == pytest.approx(all_pairs(X, "rbf"), rel=1e-12, abs=1e-12)


@repeatable
@given(TABLES, st.sampled_from(NAMES), st.data())
def test_integer_weights_equal_repeated_rows(X, kernel, data):
    weight = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 4)))
    weight[0] += 1
    assert kwok_tsang_gamma(X, weight.astype(float), kernel) == pytest.approx(
        kwok_tsang_gamma(np.repeat(X, weight, axis=0), kernel=kernel), rel=ROUNDED
    )


@repeatable
@given(TABLES, st.sampled_from(NAMES), st.booleans())
def test_sparse_rows_give_the_gamma_of_dense_ones(X, kernel, weighted):
    X = np.where(np.abs(X) < 5, 0.0, X)
    weight = np.arange(1.0, len(X) + 1) if weighted else None
    dense = kwok_tsang_gamma(X, weight, kernel)
    for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix):
        assert kwok_tsang_gamma(kind(X), weight, kernel) == pytest.approx(dense, rel=ROUNDED)


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_single_precision_gives_the_gamma_of_double(kernel, weighted):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 4)) < 0.4, 0.0, rng.normal(size=(50, 4))).astype(np.float32)
    weight = rng.integers(1, 5, 50).astype(float) if weighted else None
    double = kwok_tsang_gamma(X.astype(np.float64), weight, kernel)
    assert kwok_tsang_gamma(X, weight, kernel) == pytest.approx(double, rel=1e-6)
    assert kwok_tsang_gamma(sp.csr_array(X), weight, kernel) == pytest.approx(double, rel=1e-6)


def test_laplace_uses_the_manhattan_distance():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert kwok_tsang_gamma(X, kernel="laplacian") == pytest.approx(1 / 3.5)
    assert kwok_tsang_gamma(X, kernel="rbf") == pytest.approx(1 / 12.5)
    assert kwok_tsang_gamma(X, kernel="cauchy") == pytest.approx(1 / 12.5)


@repeatable
@given(
    hnp.arrays(np.float64, 3, elements=st.floats(-1e8, 1e8)),
    st.integers(1, 60),
    st.sampled_from(NAMES),
    st.booleans(),
)
def test_gamma_is_one_where_all_rows_are_equal(row, n, kernel, weighted):
    X = np.tile(row, (n, 1))
    weight = np.linspace(0.1, 0.7, n) if weighted else None
    assert kwok_tsang_gamma(X, weight, kernel) == 1.0
    assert kwok_tsang_gamma(sp.csr_array(X), weight, kernel) == 1.0


@pytest.mark.parametrize("kernel", NAMES)
def test_rows_far_from_the_origin_have_the_gamma_of_rows_near_it(kernel):
    # Multiples of 2⁻¹⁶ below 2³¹ are exact, so moving the rows away rounds none of them.
    X = np.random.default_rng(0).integers(0, 2**17, (40, 2)) / 2.0**16
    assert kwok_tsang_gamma(X + 2.0**30, kernel=kernel) == pytest.approx(
        kwok_tsang_gamma(X, kernel=kernel), rel=ROUNDED
    )


@pytest.mark.parametrize("kernel", NAMES)
def test_lists_are_taken_as_arrays(kernel):
    X = [[0.0, 1.0], [2.0, 5.0], [1.0, 1.0]]
    assert kwok_tsang_gamma(X, kernel=kernel) == kwok_tsang_gamma(np.array(X), kernel=kernel)


@pytest.mark.parametrize("kernel", ["rbf", "cauchy"])
def test_distances_that_overflow_are_an_error_that_names_the_way_out(kernel):
    with pytest.raises(ValueError, match=r"overflows; rescale X.*gamma as a number"):
        kwok_tsang_gamma(np.array([[1e200], [-1e200]]), kernel=kernel)


def test_unknown_kernel_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"kernel='gaussian'.*cauchy.*laplacian.*rbf"):
        kwok_tsang_gamma(np.eye(3), kernel="gaussian")


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("sparse", [False, True])
def test_values_are_the_kernel_of_every_pair(kernel, sparse):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    expected = [[one_pair(kernel, x - z, 0.7) for z in Z] for x in X]
    tables = (sp.csr_array(X), sp.csr_array(Z)) if sparse else (X, Z)
    np.testing.assert_allclose(KERNELS[kernel].values(*tables, 0.7), expected, rtol=1e-12)


def fourier(kernel):
    return lambda h, seed: FourierFeatures(
        1, h, kernel=kernel, gamma=0.3, random_state=seed, inputs="none"
    )


def orthogonal(h, seed):
    return FourierFeatures(1, h, gamma=0.3, random_state=seed, inputs="none", orthogonal=True)


def kernel_error(make, kernel, n_components, seeds):
    """Root mean square and largest error of (2/H) ΦΦᵀ over pairs of rows and draws."""
    X = np.random.default_rng(5).normal(size=(12, 3))
    expected = KERNELS[kernel].values(X, X, 0.3)
    errors = []
    for seed in seeds:
        features = make(n_components, seed).fit_transform(X)
        errors.append(2 / n_components * features @ features.T - expected)
    return np.sqrt(np.mean(np.square(errors))), np.max(np.abs(errors))


# 2 cos(a) cos(b) has variance at most 3/2, so the mean of H of them errs by √(1.5/H) at most.
@pytest.mark.parametrize(
    ("kernel", "make"),
    [
        *(pytest.param(name, fourier(name), id=name) for name in NAMES),
        pytest.param("rbf", orthogonal, id="orthogonal"),
    ],
)
def test_products_of_features_tend_to_the_kernel_at_the_rate_of_monte_carlo(kernel, make):
    few, many = 400, 6400
    rms_few, largest_few = kernel_error(make, kernel, few, range(10))
    rms_many, largest_many = kernel_error(make, kernel, many, range(10))
    assert rms_few < np.sqrt(1.5 / few)
    assert rms_many < np.sqrt(1.5 / many)
    assert largest_few < 5 * np.sqrt(1.5 / few)
    assert largest_many < 5 * np.sqrt(1.5 / many)
    assert 2.8 < rms_few / rms_many < 5.7  # √16 = 4


def test_orthogonal_frequencies_err_less_than_independent_ones():
    independent, _ = kernel_error(fourier("rbf"), "rbf", 300, range(30))
    together, _ = kernel_error(orthogonal, "rbf", 300, range(30))
    assert together < 0.95 * independent


@pytest.mark.parametrize("shift", [0.0, 1e5, -1e5, 1e8])
def test_gaussian_kernels_far_from_zero_keep_their_digits(shift):
    """Squared distances from squares of the columns lose them: 1e-6 of a kernel at 1e5."""
    X = np.round(np.random.default_rng(0).normal(size=(12, 3)) * 2**10) / 2**10
    far = KERNELS["rbf"].values(X + shift, X[:5] + shift, 0.7)
    squares = np.sum((X[:, None] - X[None, :5]) ** 2, axis=2)
    np.testing.assert_allclose(far, np.exp(-0.7 * squares), rtol=1e-13)


def test_gaussian_kernels_of_standardised_columns_are_scikit_learns():
    X = np.random.default_rng(0).normal(size=(12, 3))
    theirs = rbf_kernel(X, X[:5], 0.7)
    np.testing.assert_array_equal(KERNELS["rbf"].values(X, X[:5], 0.7), theirs)
