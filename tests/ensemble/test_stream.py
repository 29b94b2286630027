"""Streams of rows: moments that add up, rows that are kept, and what cannot be streamed."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ncl
from sklearn.model_selection import KFold

from negcorr.bases import FourierFeatures
from negcorr.criteria.kfold import MOST_KEPT_ROWS, KeptRows
from negcorr.ensemble.fit import fit_settings
from negcorr.ensemble.partial_fit import check_streamable
from negcorr.ensemble.stream import Stream
from negcorr.moments.moments import FactorMoments, GramMoments, as_gram
from negcorr.moments.scan import features_of
from negcorr.path.tune import PathSettings
from negcorr.rows.folds import make_folds, number_of_folds
from negcorr.rows.keys import content_hash
from negcorr.rows.rows import Rows

BASIS = FourierFeatures(3, 4, random_state=0, inputs="none").fit(
    np.random.default_rng(9).normal(size=(50, 2))
)

repeatable = settings(derandomize=True, deadline=None, max_examples=40)


def rows_of(n, seed=0, weighted=False, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = X[:, :1] + rng.normal(size=(n, outputs))
    return Rows(X, y, rng.integers(0, 3, size=n).astype(float) if weighted else None)


def stream_of(rows, n_folds=5, accurate=False, sizes=None):
    chunks = np.split(np.arange(len(rows.y)), np.cumsum(sizes or [])[:-1])
    stream = None
    for index in chunks:
        if stream is None:
            part = rows.take(index)
            stream = Stream.of((BASIS,), part, n_folds, accurate=accurate, single_output=True)
        else:
            stream = stream.with_rows(rows.take(index))
    return stream


def assert_same_cells(one, other, rtol=1e-11):
    for a, b in zip(one.cells, other.cells, strict=True):
        a, b = as_gram(a), as_gram(b)
        assert a.n_rows == b.n_rows
        assert a.weight == pytest.approx(b.weight, rel=1e-12)
        if b.weight > 0:
            np.testing.assert_allclose(a.mean, b.mean, atol=1e-11)
        np.testing.assert_allclose(a.scatter, b.scatter, atol=rtol * max(b.weight, 1.0) * 10)


def assert_same_kept(one, other):
    np.testing.assert_array_equal(one.keys, other.keys)
    np.testing.assert_array_equal(one.kept.X, other.kept.X)
    np.testing.assert_array_equal(one.kept.y, other.kept.y)
    assert one.cut == other.cut


def literal_cells(rows, n_folds):
    """Moments of the rows of each fold, one by one."""
    z = np.hstack([features_of(rows, BASIS), rows.y])
    weight = np.ones(len(z)) if rows.weight is None else rows.weight
    fold = content_hash(rows.X, rows.y) % np.uint64(n_folds)
    return [
        GramMoments.from_rows(z[fold == k], weight[fold == k], rows.y.shape[1])
        for k in range(n_folds)
    ]


class TestCells:
    @repeatable
    @given(
        st.lists(st.integers(1, 40), min_size=1, max_size=6),
        st.integers(2, 9),
        st.booleans(),
        st.booleans(),
        st.integers(0, 99),
    )
    def test_are_the_moments_of_each_fold_whatever_the_chunks(
        self, sizes, n_folds, accurate, weighted, seed
    ):
        rows = rows_of(sum(sizes), seed, weighted, outputs=2)
        stream = stream_of(rows, n_folds, accurate, sizes)
        z = literal_cells(rows, n_folds)
        for cell, wanted in zip(stream.cells, z, strict=True):
            cell = as_gram(cell)
            assert cell.n_rows == wanted.n_rows
            assert cell.weight == pytest.approx(wanted.weight, rel=1e-12)
            if wanted.weight > 0:
                np.testing.assert_allclose(cell.mean, wanted.mean, atol=1e-12)
            np.testing.assert_allclose(cell.scatter, wanted.scatter, atol=1e-10)
        assert stream.n_rows == sum(cell.n_rows for cell in z)
        assert stream.weight == pytest.approx(sum(cell.weight for cell in z))

    def test_turn_from_factors_to_products_where_rows_are_many(self):
        rows = rows_of(60)
        few = stream_of(rows.take(np.arange(24)))
        assert few.form == "factor"
        assert all(isinstance(cell, FactorMoments) for cell in few.cells)
        many = few.with_rows(rows.take(np.arange(24, 25)))
        assert many.form == "gram"
        assert all(isinstance(cell, GramMoments) for cell in many.cells)
        assert stream_of(rows).form == "gram"
        accurate = stream_of(rows, accurate=True, sizes=[24, 36])
        assert accurate.form == "factor"
        assert_same_cells(accurate, stream_of(rows))

    def test_stay_small_in_factor_form(self):
        stream = stream_of(rows_of(3000), accurate=True, sizes=[100] * 30)
        assert all(len(cell.factor) <= 14 for cell in stream.cells)

    @pytest.mark.parametrize("sizes", [(10, 50), (50, 10), (10, 12), (40, 50)])
    @pytest.mark.parametrize("accurate", [False, True])
    def test_of_different_forms_merge(self, sizes, accurate):
        rows = rows_of(sum(sizes))
        index = np.split(np.arange(sum(sizes)), [sizes[0]])
        one = stream_of(rows.take(index[0]), accurate=accurate)
        other = stream_of(rows.take(index[1]))
        for merged in (one.merged(other), other.merged(one)):
            assert_same_cells(merged, stream_of(rows))
            assert_same_kept(merged, stream_of(rows))
            assert len({type(cell) for cell in merged.cells}) == 1

    @repeatable
    @given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 40))
    def test_of_factors_become_the_products_of_the_rows(self, seed, n, offset):
        z = np.random.default_rng(seed).normal(size=(n, 5)) + offset
        weight = np.random.default_rng(seed + 1).integers(0, 3, size=n).astype(float)
        gram = as_gram(FactorMoments.from_rows(z, weight, 1))
        wanted = GramMoments.from_rows(z, weight, 1)
        assert (gram.n_rows, gram.n_outputs) == (wanted.n_rows, 1)
        assert gram.weight == pytest.approx(wanted.weight)
        if wanted.weight:
            np.testing.assert_allclose(gram.mean, wanted.mean, rtol=1e-12)
        np.testing.assert_allclose(gram.scatter, wanted.scatter, atol=1e-10)
        assert as_gram(wanted) is wanted


class TestKeptRows:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("n", [300, 9000])
    def test_are_those_that_a_fit_in_memory_keeps(self, n, weighted):
        rows = rows_of(n, weighted=weighted)
        wanted = KeptRows.of(rows, make_folds(5, rows)).rows
        stream = stream_of(rows, sizes=[n // 3] * 3)
        order = np.argsort(content_hash(wanted.X, wanted.y))
        np.testing.assert_array_equal(stream.kept.X, wanted.X[order])
        np.testing.assert_array_equal(stream.kept.y, wanted.y[order])
        if weighted:
            np.testing.assert_array_equal(stream.kept.weight, wanted.weight[order])
        assert len(stream.keys) <= MOST_KEPT_ROWS
        assert (stream.cut is None) == (n < MOST_KEPT_ROWS)

    @repeatable
    @given(st.integers(0, 99), st.lists(st.integers(1, 3000), min_size=1, max_size=6))
    def test_do_not_depend_on_chunks_or_their_order(self, seed, sizes):
        # Few different rows, so that equal ones are on both sides of the cut.
        rows = rows_of(30, seed)
        rng = np.random.default_rng(seed)
        n = sum(sizes)
        rows = rows.take(rng.integers(0, 30, size=n))
        rows = Rows(rows.X, rows.y, rng.integers(0, 4, size=n).astype(float) + (rng.random() < 0.5))
        rows.weight[0] = 1.0
        whole = stream_of(rows)
        order = np.concatenate([[0], 1 + rng.permutation(n - 1)])
        shuffled = stream_of(rows.take(order), sizes=sizes)
        assert_same_kept(shuffled, whole)
        np.testing.assert_array_equal(shuffled.kept.weight, whole.kept.weight)

    def test_are_in_the_fold_of_their_hash(self):
        stream = stream_of(rows_of(200), n_folds=3)
        kept = stream.kept_rows
        np.testing.assert_array_equal(kept.split, stream.keys % np.uint64(3))
        assert kept.rows is stream.kept

    def test_are_not_views_of_a_chunk(self):
        rows = rows_of(200, weighted=True)
        stream = stream_of(rows)
        for mine, given_rows in (
            (stream.kept.X, rows.X),
            (stream.kept.y, rows.y),
            (stream.kept.weight, rows.weight),
        ):
            assert not np.shares_memory(mine, given_rows)
            assert mine.base is None or mine.base.nbytes <= 2 * mine.nbytes

    def test_in_one_fold_give_no_intervals(self):
        rows = rows_of(1)
        stream = stream_of(rows.take(np.zeros(30, dtype=int)))
        assert stream.kept_rows is None
        path = stream.path(PathSettings(gap=np.array(0.1)))[1]
        assert "kfold" not in path.curves([0.1])
        assert path.without_moments().kfold_table is None
        with pytest.raises(ValueError, match="only 0 of 5 folds can be used"):
            stream.path(PathSettings())


class TestWithout:
    def test_is_the_stream_of_the_rest(self):
        rows = rows_of(300, weighted=True)
        index = np.split(np.arange(300), [120])
        one, other = (stream_of(rows.take(i)) for i in index)
        rest = one.merged(other).without(other)
        assert_same_cells(rest, one)
        assert_same_kept(rest, one)
        assert rest.form == "gram"

    def test_of_factors_is_in_products(self):
        rows = rows_of(20)
        rest = stream_of(rows, accurate=True).without(stream_of(rows.take(np.arange(5))))
        assert not rest.accurate
        assert_same_cells(rest, stream_of(rows.take(np.arange(5, 20))))

    def test_with_ties_at_the_cut_drops_what_is_not_known(self):
        rows = rows_of(3)
        many = rows.take(np.repeat(np.arange(3), 3000))
        stream = stream_of(many)
        assert stream.cut == stream.keys[-1]
        part = stream_of(rows.take(np.repeat(np.arange(3), 100)))
        rest = stream.without(part)
        assert rest.n_rows == 8700
        assert (rest.keys < stream.cut).all()
        assert len(rest.keys) == 2900

    def test_rows_of_no_weight_take_nothing_away(self):
        rows = rows_of(100)
        stream = stream_of(rows)
        nothing = stream_of(Rows(rows.X, rows.y, np.zeros(100)))
        assert nothing.n_rows == 0
        assert_same_cells(stream.without(nothing), stream)
        assert_same_cells(stream.merged(nothing), stream)
        assert_same_cells(nothing.merged(stream), stream)
        assert_same_kept(nothing.merged(stream), stream)


class TestPath:
    @pytest.mark.parametrize(
        ("n", "accurate", "solver", "taken"),
        [
            (20, False, "auto", "gram"),
            (20, False, "gram", "gram"),
            (20, False, "qr", "qr"),
            (200, False, "auto", "gram"),
            (200, False, "gram", "gram"),
            (200, True, "qr", "qr"),
            (200, True, "gram", "gram"),
            (200, False, "qr", "gram"),
        ],
    )
    def test_says_which_route_was_taken(self, n, accurate, solver, taken):
        stream = stream_of(rows_of(n), accurate=accurate)
        path = stream.path(PathSettings(solver=solver, gap=np.array(0.1)))[1]
        assert path.solver == taken

    def test_leaves_out_empty_folds(self):
        rows = rows_of(30)
        _, few = stream_of(rows, n_folds=60).path(PathSettings(gap=np.array(0.1)))
        used = len(np.unique(content_hash(rows.X, rows.y) % np.uint64(60)))
        assert len(few.cross_validation.fits) == used < 30

    def test_of_no_rows_is_refused(self):
        rows = rows_of(30)
        nothing = stream_of(Rows(rows.X, rows.y, np.zeros(30)))
        assert nothing.kept_rows is None
        with pytest.raises(ValueError, match="no row of positive weight"):
            nothing.path(PathSettings())


def check(**parameters):
    """The number of folds by content of an estimator of these parameters."""
    return check_streamable(fit_settings(**ncl(3, 4, **parameters).get_params(deep=False)))


class TestWhatCanBeStreamed:
    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv", "aic", "aicc", "bic", "cp"])
    def test_all_but_what_needs_the_rows(self, criterion):
        assert check(criterion=criterion, cv=7) == 7
        assert check(criterion="loo", gap=0.5) == 5
        assert check(noise_variance="paper") == 5
        assert check(noise_variance=np.array([0.1, 0.2])) == 5

    def test_leave_one_out_and_differences_are_refused(self):
        with pytest.raises(ValueError, match=r"criterion='loo' needs all rows.*'kfold'"):
            check(criterion="loo")
        with pytest.raises(ValueError, match=r"noise_variance='difference' needs all rows"):
            check(noise_variance="difference")
        with pytest.raises(ValueError, match=r"loss='huber' moves targets.*'squared'"):
            check(loss="huber")

    @pytest.mark.parametrize(("cv", "count"), [(None, 5), (2, 2), (np.int64(7), 7)])
    def test_whole_numbers_of_folds(self, cv, count):
        assert number_of_folds(cv) == count

    @pytest.mark.parametrize("cv", [KFold(3), True, 3.0, "five", [([0], [1])]])
    def test_other_folds_are_refused(self, cv):
        with pytest.raises(ValueError, match="cv must be an integer"):
            number_of_folds(cv)

    @pytest.mark.parametrize("cv", [1, 0, -3])
    def test_too_few_folds_are_refused(self, cv):
        with pytest.raises(ValueError, match=f"cv={cv} must be at least 2"):
            number_of_folds(cv)


def test_a_scheduler_is_told_how_large_a_stream_is():
    rng = np.random.default_rng(0)
    model = ncl(n_members=10, n_components=3)
    model.partial_fit(rng.normal(size=(500, 3)), rng.normal(size=500))
    size = sys.getsizeof(model._state.stream)
    # Five folds' products of thirty features and a target, and the rows that are kept.
    assert 5 * 31**2 * 8 + 500 * 4 * 8 < size < 2 * (5 * 31**2 * 8 + 500 * 4 * 8)
