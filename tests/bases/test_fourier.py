"""Fourier features are cosines of one matrix product, drawn once for all members."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from negcorr.bases import FourierFeatures, kwok_tsang_gamma
from negcorr.bases.fourier import ROWS_IN_CACHE, resolve_gamma

KINDS = [FourierFeatures, partial(FourierFeatures, orthogonal=True)]


def table(n=50, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [1.0, 3.0, 0.2][:d] + 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inputs", ["none", "standard"])
@pytest.mark.parametrize("n", [1, ROWS_IN_CACHE, 2 * ROWS_IN_CACHE + 7])
def test_features_are_cosines_of_frequencies_and_phases(kind, inputs, n):
    basis = kind(3, 4, inputs=inputs, random_state=0).fit(table())
    X = table(n, seed=1)
    expected = np.cos(basis.input_map_(X) @ basis.frequencies_ + basis.phases_)
    np.testing.assert_allclose(basis.transform(X), expected, rtol=0, atol=5e-13)
    np.testing.assert_allclose(basis.transform(sp.csr_array(X)), expected, rtol=0, atol=5e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_frequencies_of_all_members_are_one_matrix(kind):
    basis = kind(5, 7, random_state=0).fit(table())
    assert basis.frequencies_.shape == (3, 35)
    assert basis.phases_.shape == (35,)
    np.testing.assert_array_equal(basis.block_starts_, np.arange(0, 36, 7))


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_a_block_of_rows_take_one_matrix_product(kind, monkeypatch):
    basis, X = kind(20, 3, random_state=0).fit(table()), table(ROWS_IN_CACHE)
    shapes, matmul = [], np.matmul

    def counted(a, b, **kwargs):
        shapes.append((a.shape, b.shape))
        return matmul(a, b, **kwargs)

    monkeypatch.setattr(np, "matmul", counted)
    basis.fill(X, np.empty((ROWS_IN_CACHE, 60)))
    assert len(shapes) == 1
    assert shapes[0][1][1] == 60


@pytest.mark.parametrize("kind", KINDS)
def test_phases_are_uniform_on_a_turn(kind):
    phases = kind(100, 40, random_state=0).fit(table()).phases_
    assert stats.kstest(phases / (2 * np.pi), "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        ("rbf", stats.norm(scale=np.sqrt(2 * 0.4))),
        ("laplacian", stats.cauchy(scale=0.4)),
        ("cauchy", stats.laplace(scale=np.sqrt(0.4))),
    ],
)
def test_every_coordinate_of_a_frequency_has_the_kernels_spectral_law(kernel, law):
    basis = FourierFeatures(100, 20, kernel=kernel, gamma=0.4, random_state=0, inputs="none").fit(
        table()
    )
    for row in basis.frequencies_:
        assert stats.kstest(row, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize(("d", "h"), [(3, 3), (3, 2), (3, 8), (1, 4), (6, 5)])
def test_every_orthogonal_frequency_keeps_the_gaussian_law(d, h):
    X = np.random.default_rng(0).normal(size=(30, d))
    basis = FourierFeatures(600, h, gamma=0.4, random_state=0, inputs="none", orthogonal=True).fit(
        X
    )
    assert basis.frequencies_.shape == (d, 600 * h)
    law = stats.norm(scale=np.sqrt(2 * 0.4))
    # One frequency of each member: those of one member are not independent.
    for row in basis.frequencies_[:, ::h]:
        assert stats.kstest(row, law.cdf).pvalue > 1e-3
    squares = np.sum(basis.frequencies_**2, axis=0) / (2 * 0.4)
    assert stats.kstest(squares, stats.chi2(d).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("d", "h"), [(5, 4), (4, 4), (3, 8)])
def test_frequencies_of_a_member_are_orthogonal_in_groups_of_at_most_d(d, h):
    X = np.random.default_rng(0).normal(size=(30, d))
    basis = FourierFeatures(3, h, random_state=0, inputs="none", orthogonal=True).fit(X)
    for start in basis.block_starts_[:-1]:
        for first in range(0, h, d):
            group = basis.frequencies_[:, start + first : start + min(first + d, h)]
            products = group.T @ group
            np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"orthogonal": "yes"}, TypeError, "orthogonal='yes' must be True or False"),
        ({"orthogonal": 1}, TypeError, "orthogonal=1 must be True or False"),
        (
            {"orthogonal": True, "kernel": "laplacian"},
            ValueError,
            "orthogonal=True needs kernel='rbf' and subspace=1, got kernel='laplacian'",
        ),
        (
            {"orthogonal": True, "subspace": 0.5},
            ValueError,
            "orthogonal=True needs kernel='rbf' .* subspace=0.5",
        ),
    ],
)
def test_mistakes_in_orthogonality_are_named_with_what_is_allowed(given, error, says):
    with pytest.raises(error, match=says):
        FourierFeatures(2, 3, **given).fit(table())


def test_members_of_an_orthogonal_basis_are_drawn_apart():
    basis = FourierFeatures(2, 3, gamma=1.0, random_state=0, inputs="none", orthogonal=True).fit(
        table()
    )
    assert np.max(np.abs(basis.frequencies_[:, :3].T @ basis.frequencies_[:, 3:])) > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_bandwidth_is_kwok_and_tsangs_of_the_rows_the_kernel_sees(kind):
    X = table()
    bare = kind(2, 3, inputs="none", random_state=0).fit(X)
    assert bare.gamma_ == pytest.approx(kwok_tsang_gamma(X))
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    basis = kind(2, 3, random_state=0).fit(X)
    assert basis.gamma_ == pytest.approx(kwok_tsang_gamma(scaled))
    assert basis.gamma_ == pytest.approx(1 / 6)


def test_laplace_bandwidth_is_by_manhattan_distance():
    X = table()
    basis = FourierFeatures(2, 3, kernel="laplacian", random_state=0, inputs="none").fit(X)
    distance = np.abs(X[:, np.newaxis] - X).sum(axis=-1).mean()
    assert basis.gamma_ == pytest.approx(1 / distance)


@pytest.mark.parametrize("gamma", [0.25, 2, np.float32(0.5)])
def test_given_bandwidth_is_used(gamma):
    assert resolve_gamma(gamma, "rbf", table(), None) == float(gamma)
    assert FourierFeatures(2, 3, gamma=gamma, random_state=0, inputs="none").fit(
        table()
    ).gamma_ == float(gamma)


def test_products_tend_to_half_of_the_papers_normalisation():
    X = table(6)
    features = FourierFeatures(1, 20_000, gamma=0.1, random_state=0, inputs="none").fit_transform(X)
    squares = np.sum(features**2, axis=1) / 20_000
    np.testing.assert_allclose(squares, 0.5, atol=5 * np.sqrt(1 / 8 / 20_000))


def test_features_repeat_over_row_orders_and_blocks():
    X = table(3 * ROWS_IN_CACHE)
    basis = FourierFeatures(2, 5, random_state=0, inputs="none").fit(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(basis.transform(X[order]), basis.transform(X)[order], atol=1e-13)


@pytest.mark.parametrize("shift", [-1e9, 1e9])
def test_columns_far_from_zero_keep_the_digits_of_their_differences(shift):
    """Angles of 1e9 have seven digits: the features are those of rows about a near origin."""
    X = np.round(np.random.default_rng(0).normal(size=(40, 2)) * 2**10) / 2**10
    basis = FourierFeatures(4, 5, inputs="none", random_state=0)
    far = basis.fit(X + shift)
    assert far.terms_.max() < 100.0
    origin = np.abs(X + shift).argmin(axis=0)
    angles = (X - X[origin, [0, 1]]) @ far.frequencies_
    at_origin = 2.0 * np.pi * far._turns[-1]
    features = far.transform(X + shift)
    np.testing.assert_allclose(features, np.cos(angles + at_origin), atol=1e-12)
    literal = np.cos((X + shift) @ far.frequencies_ + far.phases_)
    np.testing.assert_allclose(features, literal, atol=1e-5)
