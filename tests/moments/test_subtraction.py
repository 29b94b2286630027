"""Rows that are taken away leave the moments of the rest, or a warning that digits were lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from negcorr.exceptions import PrecisionWarning
from negcorr.moments.moments import GramMoments, total
from negcorr.moments.update import difference


class TestDifference:
    @settings(derandomize=True, deadline=None)
    @given(
        n_left=st.integers(2, 60),
        n_gone=st.integers(0, 60),
        outputs=st.integers(1, 3),
        weighted=st.booleans(),
        offset=st.sampled_from([0.0, -3.0, 100.0]),
        seed=st.integers(0, 10_000),
    )
    def test_is_the_moments_of_the_rest(self, n_left, n_gone, outputs, weighted, offset, seed):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(n_left + n_gone, 4 + outputs)) + offset
        weight = np.ones(len(z))
        if weighted:
            weight = rng.integers(0, 4, size=len(z)) * rng.uniform(0.5, 2.0)
            weight[:2] = 1.0
        gone = rng.permutation(len(z))[:n_gone] if n_gone < len(z) else np.arange(n_gone)
        left = np.setdiff1d(np.arange(len(z)), gone)
        weight[left[:2]] = 1.0
        whole = GramMoments.from_rows(z, weight, outputs)
        part = GramMoments.from_rows(z[gone], weight[gone], outputs)
        rest = difference(whole, part)
        wanted = GramMoments.from_rows(z[left], weight[left], outputs)
        assert rest.n_rows == wanted.n_rows
        assert rest.n_outputs == outputs
        assert rest.weight == pytest.approx(wanted.weight, rel=1e-12)
        assert_allclose(rest.mean, wanted.mean, rtol=1e-9, atol=1e-9)
        assert_allclose(rest.scatter, wanted.scatter, atol=1e-9 * np.abs(whole.scatter).max())
        assert (np.diagonal(rest.scatter) >= 0).all()

    def test_leaves_both_as_they_were(self):
        z = np.random.default_rng(0).normal(size=(30, 4))
        whole, part = (GramMoments.from_rows(r, np.ones(len(r)), 1) for r in (z, z[:9]))
        before = [a.copy() for a in (whole.scatter, part.scatter, whole.mean, part.mean)]
        difference(whole, part)
        for kept, now in zip(
            before, (whole.scatter, part.scatter, whole.mean, part.mean), strict=True
        ):
            assert_array_equal(kept, now)

    def test_without_nothing_is_the_whole_and_without_all_is_empty(self):
        z = np.random.default_rng(0).normal(size=(30, 4))
        whole = GramMoments.from_rows(z, np.ones(30), 1)
        nothing = difference(whole, whole)
        assert (nothing.weight, nothing.n_rows) == (0.0, 0)
        assert_array_equal(nothing.scatter, np.zeros((4, 4)))
        assert difference(whole, nothing) is whole
        assert total([nothing, whole]) is whole

    def test_one_row_that_is_left_has_no_scatter(self):
        z = np.random.default_rng(0).normal(size=(30, 4))
        whole, part = (GramMoments.from_rows(r, np.ones(len(r)), 1) for r in (z, z[1:]))
        rest = difference(whole, part)
        assert_allclose(rest.mean, z[0], rtol=1e-12)
        assert_allclose(rest.scatter, 0.0, atol=1e-13)

    def test_rows_that_are_not_there_are_refused(self):
        z = np.random.default_rng(0).normal(size=(30, 4))
        whole = GramMoments.from_rows(z, np.ones(30), 1)
        more = GramMoments.from_rows(np.vstack([z, z]), np.ones(60), 1)
        with pytest.raises(ValueError, match="60 rows of weight 60 cannot be taken from 30 of"):
            difference(whole, more)
        heavy = GramMoments.from_rows(z[:3], np.full(3, 20.0), 1)
        with pytest.raises(ValueError, match="3 rows of weight 60 cannot be taken from 30 of"):
            difference(whole, heavy)
        light = GramMoments.from_rows(z, np.full(30, 0.5), 1)
        with pytest.raises(ValueError, match="not among them"):
            difference(whole, light)
        far = GramMoments.from_rows(50.0 * z[:9], np.ones(9), 1)
        with pytest.raises(ValueError, match="not among those that there are"):
            difference(whole, far)

    @pytest.mark.parametrize("size", [1e-5, 1e-6, 1e-9])
    def test_digits_that_are_lost_are_told_and_count_as_rounding(self, size):
        rng = np.random.default_rng(0)
        z = rng.normal(size=(300, 4))
        z[:20] *= size
        whole, part, rest = (
            GramMoments.from_rows(r, np.ones(len(r)), 1) for r in (z, z[20:], z[:20])
        )
        with pytest.warns(PrecisionWarning, match="20 of 300 rows are left") as caught:
            left = difference(whole, part)
        assert caught[0].filename == __file__
        # What the subtraction may have left over is larger than for the rows themselves.
        assert (left.rounding > 100 * rest.rounding).all()

    def test_a_column_that_is_constant_is_no_reason_to_warn(self):
        z = np.random.default_rng(0).normal(size=(300, 4))
        z[:, 1] = 7.0
        z[:20, 2] = 0.25
        whole, part = (GramMoments.from_rows(r, np.ones(len(r)), 1) for r in (z, z[20:]))
        rest = difference(whole, part)
        assert_allclose(np.diagonal(rest.scatter)[1:3], 0.0, atol=1e-11)
