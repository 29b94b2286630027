"""Random subspaces: what members see, and the kernel that they see on average."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import subspace_kernel

from negcorr.bases import FourierFeatures, KernelFeatures, NystroemFeatures, kernel_functions
from negcorr.bases.kernel_functions import (
    KERNEL_VALUES,
    KERNELS,
    check_share,
    kernel_values,
    member_columns,
)

every_kernel = pytest.mark.parametrize("kernel", sorted(KERNELS))

#: Bases with a share of columns.
KINDS = [FourierFeatures, KernelFeatures, NystroemFeatures]

every_kind = pytest.mark.parametrize("kind", KINDS)


def table(n=30, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


class TestKernelValues:
    @every_kernel
    @settings(max_examples=15, deadline=None)
    @given(
        d=st.integers(1, 5),
        share=st.floats(0.05, 1.0, exclude_max=True),
        gamma=st.floats(0.01, 10.0),
        seed=st.integers(0, 10**6),
    )
    def test_are_means_over_all_subspaces(self, kernel, d, share, gamma, seed):
        X, Z = table(6, d, seed), table(5, d, seed + 1)
        found = kernel_values(kernel, X, Z, gamma, share)
        expected = subspace_kernel(kernel, X, Z, gamma, share)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)

    @every_kernel
    def test_of_all_columns_are_those_of_the_kernel(self, kernel):
        X, Z = table(), table(7, seed=1)
        np.testing.assert_array_equal(
            kernel_values(kernel, X, Z, 0.3), KERNEL_VALUES[kernel](X, Z, 0.3)
        )
        nearly = kernel_values(kernel, X, Z, 0.3, 1.0 - 1e-12)
        np.testing.assert_allclose(nearly, KERNEL_VALUES[kernel](X, Z, 0.3), rtol=1e-9)

    @every_kernel
    def test_do_not_depend_on_how_many_are_made_at_once(self, kernel, monkeypatch):
        X, Z = table(50), table(9, seed=1)
        whole = kernel_values(kernel, X, Z, 0.3, 0.4)
        monkeypatch.setattr(kernel_functions, "VALUES_IN_CACHE", 20)
        np.testing.assert_array_equal(kernel_values(kernel, X, Z, 0.3, 0.4), whole)

    @every_kernel
    def test_of_sparse_rows_are_the_same(self, kernel):
        X, Z = table(), table(7, seed=1)
        whole = kernel_values(kernel, X, Z, 0.3, 0.4)
        for left, right in itertools.product((X, sp.csr_array(X)), (Z, sp.csr_array(Z))):
            np.testing.assert_array_equal(kernel_values(kernel, left, right, 0.3, 0.4), whole)

    @every_kernel
    def test_make_a_positive_matrix(self, kernel):
        values = kernel_values(kernel, table(), table(), 0.5, 0.3)
        np.testing.assert_allclose(np.diagonal(values), 1.0, rtol=1e-12)
        assert np.linalg.eigvalsh(values)[0] > -1e-10


class TestMemberColumns:
    def test_are_seen_with_the_probability_of_the_share(self):
        seen = member_columns(np.random.RandomState(0), 2000, 30, 0.3)
        assert seen.shape == (2000, 30)
        np.testing.assert_allclose(seen.mean(axis=0), 0.3, atol=0.05)

    def test_are_never_none(self):
        seen = member_columns(np.random.RandomState(0), 500, 3, 0.01)
        assert (seen.sum(axis=1) >= 1).all()
        assert (seen.sum(axis=0) > 100).all()


class TestBases:
    @every_kernel
    def test_fourier_features_of_many_members_have_the_averaged_kernel(self, kernel):
        X = table(12)
        basis = FourierFeatures(
            20_000, 2, kernel=kernel, gamma=0.3, subspace=0.5, random_state=0, inputs="none"
        ).fit(X)
        features = basis.transform(X)
        found = 2.0 * features @ features.T / features.shape[1]
        # Members that would see no column see one instead of none.
        none = 0.5**4
        expected = subspace_kernel(kernel, X, X, 0.3, 0.5)
        alone = np.mean(
            [KERNEL_VALUES[kernel](X[:, [j]], X[:, [j]], 0.6) for j in range(4)], axis=0
        )
        np.testing.assert_allclose(found, expected + none * (alone - 1.0), atol=0.03)

    @every_kernel
    def test_kernel_features_are_the_averaged_kernel_at_the_landmarks(self, kernel):
        X = table()
        basis = KernelFeatures(
            6, 5, kernel=kernel, gamma=0.3, subspace=0.4, random_state=0, inputs="none"
        )
        features = basis.fit_transform(X)
        expected = kernel_values(kernel, X, X, 0.3, 0.4)
        np.testing.assert_allclose(features @ features.T / 30, expected, atol=1e-6)

    @pytest.mark.parametrize("kind", [FourierFeatures, NystroemFeatures])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_members_see_their_columns_alone(self, kind, sparse):
        X = table(40, 6)
        basis = kind(8, 5, subspace=0.3, random_state=0).fit(X)
        if kind is FourierFeatures:
            seen = [basis.frequencies_[:, a : a + 5].any(axis=1) for a in range(0, 40, 5)]
        else:
            seen = basis.subspaces_
        moved = X.copy()
        for m, columns in enumerate(seen):
            assert 1 <= columns.sum() < 6
            moved[:] = X
            moved[:, ~columns] += 7.0
            before, after = (
                basis.transform(sp.csr_array(A) if sparse else A)[:, 5 * m : 5 * m + 5]
                for A in (X, moved)
            )
            np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
            moved[:, columns] += 7.0
            assert not np.allclose(basis.transform(moved)[:, 5 * m : 5 * m + 5], before)

    @pytest.mark.parametrize("kernel", sorted(KERNELS))
    def test_nystroem_members_reproduce_their_kernel_at_their_landmarks(self, kernel):
        X = table(40, 6)
        basis = NystroemFeatures(
            8, 5, kernel=kernel, gamma=0.2, subspace=0.5, random_state=0, inputs="none"
        )
        basis.fit(X)
        for m, columns in enumerate(basis.subspaces_):
            block = slice(5 * m, 5 * m + 5)
            landmarks = basis.landmarks_[block]
            features = basis.transform(landmarks)[:, block]
            own = landmarks[:, columns]
            expected = KERNEL_VALUES[kernel](own, own, 0.2 / 0.5)
            np.testing.assert_allclose(features @ features.T, expected, atol=1e-9)

    @pytest.mark.parametrize("kind", [NystroemFeatures, KernelFeatures])
    def test_rows_that_are_equal_within_a_subspace_do_no_harm(self, kind):
        X = (np.random.default_rng(0).uniform(size=(200, 12)) < 0.3) * 1.0
        basis = kind(20, 10, subspace=0.3, random_state=0).fit(X)
        whole = basis.transform(X)
        one_by_one = np.vstack([basis.transform(x[np.newaxis]) for x in X])
        np.testing.assert_allclose(one_by_one, whole, rtol=0, atol=1e-9)
        np.testing.assert_allclose(basis.transform(X + 1e-13), whole, rtol=0, atol=1e-6)

    @every_kind
    def test_of_all_columns_are_what_they_were(self, kind):
        X = table()
        plain, whole = (
            kind(4, 5, random_state=0, **given).fit_transform(X) for given in ({}, {"subspace": 1})
        )
        np.testing.assert_array_equal(plain, whole)


class TestCheckShare:
    @pytest.mark.parametrize("share", [0, -0.5, 1.0001, np.nan, np.inf])
    @every_kind
    def test_refuses_what_is_no_share(self, kind, share):
        with pytest.raises(ValueError, match=r"subspace=.* must be above 0 and at most 1"):
            kind(2, 3, subspace=share).fit(table())

    @pytest.mark.parametrize("share", [True, "half", None])
    @every_kind
    def test_refuses_what_is_no_number(self, kind, share):
        with pytest.raises(TypeError, match=r"subspace=.* must be a number"):
            kind(2, 3, subspace=share).fit(table())

    def test_refuses_a_share_for_the_linear_kernel(self):
        with pytest.raises(ValueError, match=r"subspace=0.5 is not known to kernel='linear'"):
            KernelFeatures(2, 3, kernel="linear", subspace=0.5, inputs="none").fit(table())
        assert check_share(1, "linear") == 1.0
