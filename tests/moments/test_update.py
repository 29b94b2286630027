"""Updated moments, for more features, other targets or fewer rows, are those of a new scan."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from negcorr.bases import KernelFeatures, NestedFeatures, NystroemFeatures
from negcorr.bases import kernel_features as kernel_module
from negcorr.exceptions import PrecisionWarning
from negcorr.moments import scan
from negcorr.moments.moments import GramMoments, total
from negcorr.moments.scan import scan_moments
from negcorr.moments.update import difference, extend_moments, retarget_moments
from negcorr.path.tune import GivenFeatures
from negcorr.rows.rows import Rows


@pytest.fixture(autouse=True)
def short_stages(monkeypatch):
    monkeypatch.setattr(kernel_module, "STAGE", 20)


def given_features(count):
    return GivenFeatures(np.array([0, count]))


def table(n=70, q=9, outputs=1, weighted=False, seed=0):
    """Features that share something, targets, weights."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, q)) + rng.normal(size=(n, 2)) @ rng.normal(size=(2, q))
    y = features[:, :1] + rng.normal(size=(n, outputs)) + 3.0
    return Rows(features, y, rng.uniform(0.1, 3.0, n) if weighted else None)


def dealt(n, count=3, seed=0):
    """Groups of rows, each in ascending order."""
    number = np.random.default_rng(seed).integers(0, count, n)
    return [np.flatnonzero(number == k) for k in range(count)]


def extended_given(rows, places, groups):
    """Moments of all columns of the table, from those of some."""
    few = Rows(rows.X[:, places], rows.y, rows.weight)
    known = scan_moments(few, given_features(len(places)), groups, "gram")
    return extend_moments(rows, given_features(rows.X.shape[1]), groups, known, places)


def assert_same_moments(found, expected, tolerance=1e-10):
    """Relative to the lengths of the columns that a product is of."""
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert isinstance(mine, GramMoments)
        assert mine.weight == pytest.approx(theirs.weight, rel=1e-12)
        assert (mine.n_rows, mine.n_outputs) == (theirs.n_rows, theirs.n_outputs)
        if theirs.weight == 0:
            np.testing.assert_array_equal(mine.scatter, np.zeros_like(theirs.scatter))
            np.testing.assert_array_equal(mine.squares, theirs.squares)
            continue
        length = np.sqrt(theirs.squares)
        atol = tolerance * (length.max() + 1e-300)
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=tolerance, atol=atol)
        np.testing.assert_allclose(mine.squares, theirs.squares, rtol=tolerance)
        scale = np.multiply.outer(length, length) + 1e-300
        np.testing.assert_allclose(
            mine.scatter / scale, theirs.scatter / scale, rtol=0, atol=tolerance
        )


def scanned(rows, groups):
    return scan_moments(rows, given_features(rows.X.shape[1]), groups, "gram")


class TestGivenFeatures:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("outputs", [1, 3])
    @pytest.mark.parametrize("places", [[0, 1, 2, 3], [1, 4, 5, 8], [8], list(range(9))])
    def test_have_the_moments_of_a_scan(self, weighted, outputs, places):
        rows, groups = table(outputs=outputs, weighted=weighted), dealt(70)
        found = extended_given(rows, np.array(places), groups)
        assert_same_moments(found, scanned(rows, groups))

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(
        seed=st.integers(0, 10**6),
        n=st.integers(5, 60),
        q=st.integers(1, 8),
        outputs=st.integers(1, 3),
        count=st.integers(1, 6),
        weighted=st.booleans(),
        data=st.data(),
    )
    def test_have_the_moments_of_a_scan_for_any_shape(
        self, seed, n, q, outputs, count, weighted, data
    ):
        numbers = st.lists(st.integers(0, q - 1), min_size=1, max_size=q, unique=True)
        places = np.sort(data.draw(numbers))
        rows, groups = table(n, q, outputs, weighted, seed), dealt(n, count, seed)
        assert_same_moments(extended_given(rows, places, groups), scanned(rows, groups))

    def test_are_those_of_definitions(self):
        rows = table(outputs=2, weighted=True)
        (found,) = extended_given(rows, np.array([0, 3, 4]), [np.arange(70)])
        z, w = np.hstack([rows.X, rows.y]), rows.weight
        mean = w @ z / w.sum()
        np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(found.scatter, (w * (z - mean).T) @ (z - mean), rtol=1e-10)

    def test_may_have_groups_without_rows_or_weight(self):
        rows = table(weighted=True)
        weight = rows.weight.copy()
        weight[20:40] = 0.0
        rows = Rows(rows.X, rows.y, weight)
        empty = np.empty(0, dtype=np.intp)
        groups = [np.arange(20), np.arange(20, 40), empty, np.arange(35, 70)]
        found = extended_given(rows, np.array([2, 3, 7]), groups)
        assert [moments.weight > 0 for moments in found] == [True, False, False, True]
        assert [moments.n_rows for moments in found] == [20, 0, 0, 30]
        assert_same_moments(found, scanned(rows, groups))
        whole = total(list(found))
        assert_same_moments([whole], [total(list(scanned(rows, groups)))])

    @pytest.mark.parametrize("places", [[0, 1], [3, 5], [1, 2, 4]])
    def test_may_be_far_from_zero(self, places):
        rows, groups = table(), dealt(70)
        far = rows.X + np.where(np.arange(9) % 2 == 0, 1e6, 0.0)
        rows = Rows(far, rows.y + 1e5, None)
        found = extended_given(rows, np.array(places), groups)
        expected = scanned(rows, groups)
        assert_same_moments(found, expected, 1e-9)
        # Nothing is lost in what is left about the mean.
        for group, moments in zip(groups, found, strict=True):
            z = np.hstack([rows.X, rows.y])[group]
            centred = z - z.mean(axis=0)
            np.testing.assert_allclose(moments.scatter, centred.T @ centred, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("n_threads", [2, 3])
    def test_may_be_scanned_by_several_threads_in_small_blocks(self, n_threads, monkeypatch):
        rows, groups = table(900, 12, 2, True), dealt(900, 4)
        expected = scanned(rows, groups)
        one = extended_given(rows, np.array([0, 5, 6]), groups)
        monkeypatch.setattr(scan, "BLOCK_BYTES", 1)
        monkeypatch.setattr(scan, "blas_threads", lambda: n_threads)
        found = extended_given(rows, np.array([0, 5, 6]), groups)
        assert_same_moments(found, expected)
        again = extended_given(rows, np.array([0, 5, 6]), groups)
        for mine, same, other in zip(found, again, one, strict=True):
            np.testing.assert_array_equal(mine.scatter, same.scatter)
            np.testing.assert_allclose(mine.scatter, other.scatter, rtol=1e-9, atol=1e-9)


def inputs(n=150, outputs=1, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(n, outputs))
    return Rows(X, y, rng.uniform(0.1, 3.0, n) if weighted else None)


def kernels(n_landmarks, **settings):
    return KernelFeatures(
        n_landmarks // 5,
        5,
        **{"kernel": "laplacian", "gamma": 0.5, "inputs": "none", "random_state": 0} | settings,
    )


def nested(n_landmarks):
    return NestedFeatures(
        [
            kernels(n_landmarks),
            kernels(n_landmarks, kernel="rbf", random_state=1, inputs="rank"),
            kernels(n_landmarks, kernel="linear", random_state=2),
        ],
        gaps=[0.1, 0.01, 0.1],
    )


MAKERS = {
    "kernel": kernels,
    "mapped": lambda size: kernels(size, inputs="clip", relevance=[1.0, 0.5, 0.2]),
    "nystroem": lambda size: NystroemFeatures(
        size // 5, 5, gamma=0.5, random_state=0, inputs="none"
    ),
    "nested": nested,
    "linear": lambda size: kernels(size, kernel="linear"),
}


def positions(few, many):
    """Numbers of a basis' features among those of a larger one."""
    old, new = few.block_starts_, many.block_starts_
    columns = np.arange(int(old[-1]))
    if few.nesting_ is None:
        return columns
    return columns + (new[: len(old) - 1] - old[:-1]).repeat(np.diff(old))


def extended_basis(make, rows, groups, sizes=(20, 40)):
    few, many = (make(size).fit(rows.X, sample_weight=rows.weight) for size in sizes)
    known = scan_moments(rows, few, groups, "gram")
    found = extend_moments(rows, many, groups, known, positions(few, many))
    return found, scan_moments(rows, many, groups, "gram")


class TestBases:
    @pytest.mark.parametrize("name", MAKERS)
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("outputs", [1, 2])
    def test_that_grow_have_the_moments_of_a_scan(self, name, weighted, outputs):
        rows = inputs(outputs=outputs, weighted=weighted)
        groups = [*dealt(150), np.empty(0, dtype=np.intp)]
        assert_same_moments(*extended_basis(MAKERS[name], rows, groups))

    @pytest.mark.parametrize("name", ["kernel", "nested"])
    def test_may_grow_by_several_stages_at_once(self, name):
        rows, groups = inputs(), dealt(150)
        assert_same_moments(*extended_basis(MAKERS[name], rows, groups, (20, 80)))
        assert_same_moments(*extended_basis(MAKERS[name], rows, groups, (40, 120)))

    @pytest.mark.parametrize("name", ["kernel", "nested"])
    def test_may_grow_again_and_again(self, name):
        rows, groups = inputs(), dealt(150)
        bases = [MAKERS[name](size).fit(rows.X) for size in (20, 40, 80)]
        moments = scan_moments(rows, bases[0], groups, "gram")
        for few, many in itertools.pairwise(bases):
            moments = extend_moments(rows, many, groups, moments, positions(few, many))
            assert_same_moments(moments, scan_moments(rows, many, groups, "gram"))

    def test_may_have_sparse_rows(self):
        rows = inputs()
        sparse = Rows(sp.csr_array(np.where(np.abs(rows.X) < 0.5, 0.0, rows.X)), rows.y)
        assert_same_moments(*extended_basis(kernels, sparse, dealt(150)))

    def test_have_their_features_in_larger_ones(self):
        rows = inputs()
        for name, make in MAKERS.items():
            few, many = make(20).fit(rows.X), make(40).fit(rows.X)
            columns = positions(few, many)
            assert (np.diff(columns) > 0).all()
            small, large = few.transform(rows.X), many.transform(rows.X)
            np.testing.assert_allclose(large[:, columns], small, rtol=1e-9, atol=1e-9, err_msg=name)


class TestOtherTargets:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("outputs", [1, 3])
    def test_are_as_if_scanned(self, weighted, outputs):
        old = table(outputs=outputs, weighted=weighted)
        new = replace(old, y=np.sin(old.y) * 50.0 - 1e3)
        groups = [*dealt(70), np.empty(0, dtype=np.intp)]
        found = retarget_moments(new, given_features(9), groups, scanned(old, groups))
        assert_same_moments(found, scanned(new, groups))

    def test_leave_the_moments_they_came_from_alone(self):
        old = table()
        known = scanned(old, dealt(70))
        before = [(k.mean.copy(), k.scatter.copy(), k.squares.copy()) for k in known]
        retarget_moments(replace(old, y=old.y + 1.0), given_features(9), dealt(70), known)
        for moments, kept in zip(known, before, strict=True):
            parts = (moments.mean, moments.scatter, moments.squares)
            for one, other in zip(parts, kept, strict=True):
                np.testing.assert_array_equal(one, other)

    def test_groups_without_weight_stay_empty(self):
        old = replace(table(), weight=np.r_[np.zeros(30), np.ones(40)])
        groups = [np.arange(30), np.arange(30, 70)]
        new = replace(old, y=old.y**2)
        found = retarget_moments(new, given_features(9), groups, scanned(old, groups))
        assert_same_moments(found, scanned(new, groups))


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
