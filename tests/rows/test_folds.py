"""Folds by content, and folds from whatever scikit-learn calls a splitter."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)

from negcorr import ContentKFold
from negcorr.rows.folds import Folds, make_folds
from negcorr.rows.keys import content_hash
from negcorr.rows.rows import Rows

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)


def data(n=60, d=3, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, outputs))


def fold_of(X, y=None, **options):
    """Number of the fold that tests each row; every row must have exactly one."""
    fold = np.full(len(y) if y is not None else X.shape[0], -1)
    for k, (train, test) in enumerate(ContentKFold(**options).split(X, y)):
        assert (fold[test] == -1).all()
        fold[test] = k
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(fold)))
    assert (fold >= 0).all()
    return fold


def partition(fold):
    return {frozenset(np.flatnonzero(fold == k).tolist()) for k in np.unique(fold)}


@repeatable
@given(st.integers(0, 1000), st.integers(2, 6))
def test_order_of_rows_does_not_move_a_row_to_another_fold(seed, n_splits):
    X, y = data()
    order = np.random.default_rng(seed).permutation(len(X))
    np.testing.assert_array_equal(
        fold_of(X[order], y[order], n_splits=n_splits), fold_of(X, y, n_splits=n_splits)[order]
    )


def test_equal_rows_stay_together():
    X, y = data(30)
    fold = fold_of(np.repeat(X, 4, axis=0), np.repeat(y, 4, axis=0))
    assert (fold.reshape(30, 4) == fold[::4, np.newaxis]).all()


def test_chunks_do_not_matter():
    X, y = data(400)
    whole = fold_of(X, y)
    for start in (0, 150):
        np.testing.assert_array_equal(
            fold_of(X[start : start + 250], y[start : start + 250]), whole[start : start + 250]
        )


def test_sparse_single_precision_and_frames_fall_into_the_folds_of_the_array():
    X, y = data(200)
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32).astype(np.float64)
    whole = fold_of(X, y)
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    for table in (
        X.astype(np.float32),
        sp.csr_array(X),
        sp.csc_matrix(X),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        np.where(X == 0, -0.0, X),
    ):
        np.testing.assert_array_equal(fold_of(table, y), whole)
    np.testing.assert_array_equal(fold_of(X, y[:, 0]), whole)


def test_frames_with_strings_and_missing_values_are_split():
    rng = np.random.default_rng(0)
    columns = {
        "kind": rng.choice(["a", "b", "c"], 90).tolist(),
        "size": np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90)),
    }
    pandas, polars = pd.DataFrame(columns), pl.DataFrame(columns)
    y = rng.normal(size=90)
    fold = fold_of(pandas, y)
    np.testing.assert_array_equal(fold_of(polars, y), fold)
    order = rng.permutation(90)
    np.testing.assert_array_equal(fold_of(pandas.iloc[order], y[order]), fold[order])


def test_splitter_takes_lists_as_scikit_learns_do():
    X, y = data(40)
    np.testing.assert_array_equal(fold_of(X.tolist(), y[:, 0].tolist()), fold_of(X, y))


def test_negative_zero_and_nan_do_not_split_equal_rows():
    base = np.random.default_rng(0).normal(size=40)
    odd = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    one = np.stack([base, np.zeros(40), np.full(40, np.nan)], axis=1)
    two = np.stack([base, -np.zeros(40), np.full(40, odd)], axis=1)
    fold = fold_of(np.vstack([one, two]), np.ones(80))
    np.testing.assert_array_equal(fold[:40], fold[40:])


def test_target_is_part_of_the_content():
    X = np.ones((50, 2))
    assert len(partition(fold_of(X, np.arange(50.0)))) == 5


def test_seed_changes_the_folds_and_the_same_seed_does_not():
    X, y = data(300)
    first, again, other = (fold_of(X, y, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    agree = np.mean(first == other)
    assert abs(agree - 1 / 5) < 4 * np.sqrt(0.16 / 300)


def test_folds_of_many_rows_are_balanced():
    n, k = 50_000, 5
    X = np.arange(n, dtype=float).reshape(-1, 1)
    sizes = np.bincount(fold_of(X, np.zeros(n)))
    assert np.max(np.abs(sizes - n / k)) < 4 * np.sqrt(n * (1 / k) * (1 - 1 / k))


def test_empty_folds_are_dropped():
    X, y = data(4)
    splits = list(ContentKFold(50).split(X, y))
    assert 2 <= len(splits) <= 4
    assert all(len(train) and len(test) for train, test in splits)
    assert sum(len(test) for _, test in splits) == 4


@pytest.mark.parametrize("X", [np.ones((10, 2)), np.ones((1, 2))], ids=["equal", "one row"])
def test_rows_that_cannot_be_split_are_an_error_that_names_the_way_out(X):
    with pytest.raises(ValueError, match=r"one fold of 5.*'sure' or 'gcv'.*more distinct rows"):
        list(ContentKFold().split(X, np.ones(len(X))))
    with pytest.raises(ValueError, match="'sure' or 'gcv'"):
        make_folds(5, Rows(X, np.ones((len(X), 1))))


def test_splitter_works_in_scikit_learn():
    X, y = data(100)
    scores = cross_val_score(Ridge(), X, y[:, 0], cv=ContentKFold(4))
    by_hand = [
        Ridge().fit(X[a], y[a, 0]).score(X[b], y[b, 0]) for a, b in ContentKFold(4).split(X, y)
    ]
    np.testing.assert_allclose(scores, by_hand)
    assert ContentKFold(4).get_n_splits(X, y) == 4
    assert repr(ContentKFold(4, seed=2)) == "ContentKFold(n_splits=4, seed=2)"


@pytest.mark.parametrize(
    ("n_splits", "error", "says"),
    [
        (1, ValueError, "n_splits=1 must be at least 2"),
        (0, ValueError, "n_splits=0 must be at least"),
        (-3, ValueError, "n_splits=-3 must be at least"),
        (2.0, TypeError, "n_splits=2.0 must be an integer, got float"),
        ("5", TypeError, "n_splits='5' must be an integer, got str"),
        (True, TypeError, "n_splits=True must be an integer, got bool"),
    ],
)
def test_bad_number_of_folds_is_named(n_splits, error, says):
    with pytest.raises(error, match=says):
        ContentKFold(n_splits)


@pytest.mark.parametrize("seed", ["a", 1.5, -1, None])
def test_bad_seed_is_named(seed):
    with pytest.raises((TypeError, ValueError), match="seed"):
        list(ContentKFold(seed=seed).split(*data(20)))


def rows_of(folds, numbers):
    return np.concatenate([folds.cells[i] for i in numbers])


def assert_same_splits(folds, expected, n):
    """Every split trains and tests on the rows given, and ``whole`` holds all rows once."""
    assert len(folds.splits) == len(expected)
    for (train, test), (a, b) in zip(folds.splits, expected, strict=True):
        np.testing.assert_array_equal(np.sort(rows_of(folds, train)), np.sort(a))
        np.testing.assert_array_equal(np.sort(rows_of(folds, test)), np.sort(b))
    np.testing.assert_array_equal(np.sort(rows_of(folds, folds.whole)), np.arange(n))


@pytest.mark.parametrize("cv", [4, np.int64(4)], ids=["int", "numpy int"])
def test_int_means_folds_by_content(cv):
    X, y = data()
    folds = make_folds(cv, Rows(X, y))
    assert_same_splits(folds, list(ContentKFold(4).split(X, y)), len(X))
    assert len(folds.cells) == 4


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4),
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(3, test_size=0.3, random_state=0),
        ShuffleSplit(1, test_size=0.3, random_state=0),
        TimeSeriesSplit(4),
        ContentKFold(3, seed=5),
    ],
    ids=str,
)
@pytest.mark.parametrize("outputs", [1, 2])
def test_splitter_is_used_as_given(cv, outputs):
    X, y = data(outputs=outputs)
    target = y[:, 0] if outputs == 1 else y
    assert_same_splits(make_folds(cv, Rows(X, y)), list(cv.split(X, target)), len(X))


def test_complete_folds_share_their_cells():
    X, y = data()
    folds = make_folds(KFold(4), Rows(X, y))
    assert len(folds.cells) == 4
    assert folds.splits[1] == ((0, 2, 3), (1,))
    assert folds.whole == (0, 1, 2, 3)


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()], ids=str)
def test_groups_reach_the_splitter(cv):
    X, y = data()
    groups = np.arange(60) // 6
    folds = make_folds(cv, Rows(X, y), groups)
    assert_same_splits(folds, list(cv.split(X, y, groups)), len(X))
    for train, test in folds.splits:
        assert not set(groups[rows_of(folds, train)]) & set(groups[rows_of(folds, test)])


def test_splitter_that_needs_groups_says_so():
    with pytest.raises(ValueError, match="groups"):
        make_folds(GroupKFold(3), Rows(*data()))


def test_iterables_of_splits_are_used_as_given():
    X, y = data(6)
    splits = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1])]
    for cv in (splits, tuple(splits), iter(splits)):
        assert_same_splits(make_folds(cv, Rows(X, y)), splits, 6)


def test_masks_mean_the_rows_they_mark():
    X, y = data(6)
    marks = np.array([True, True, False, False, True, False])
    folds = make_folds([(marks, ~marks), (~marks, marks)], Rows(X, y))
    rows = np.flatnonzero(marks), np.flatnonzero(~marks)
    assert_same_splits(folds, [rows, rows[::-1]], 6)
    assert all(cell.dtype.kind == "i" for cell in folds.cells)


def test_training_sets_drawn_with_replacement_are_kept():
    X, y = data(40)
    rng = np.random.default_rng(0)
    splits = [(rng.choice(train, len(train)), test) for train, test in KFold(4).split(X)]
    assert_same_splits(make_folds(splits, Rows(X, y)), splits, 40)


def test_training_sets_that_overlap_their_test_set_are_kept():
    X, y = data(4)
    splits = [([0, 1], [0, 1]), ([2, 3], [2, 3])]
    assert_same_splits(make_folds(splits, Rows(X, y)), splits, 4)


def test_splits_without_training_or_test_rows_are_dropped():
    X, y = data(6)
    empty = np.empty(0, dtype=int)
    good = (np.arange(3), np.arange(3, 6))
    folds = make_folds([(np.arange(6), empty), good, (empty, np.arange(6))], Rows(X, y))
    assert_same_splits(folds, [good], 6)
    with pytest.raises(ValueError, match=r"cv=.*no split with both training and test rows"):
        make_folds([(np.arange(6), empty)], Rows(X, y))


@pytest.mark.parametrize("rows", [[3, 6], [3, -1]], ids=["too large", "negative"])
def test_split_of_rows_that_do_not_exist_is_an_error_that_names_cv(rows):
    with pytest.raises((ValueError, IndexError), match="cv"):
        make_folds([([0, 1, 2], rows)], Rows(*data(6)))


@pytest.mark.parametrize(
    ("cv", "error"),
    [
        (1, ValueError),
        (0, ValueError),
        (-2, ValueError),
        (True, TypeError),
        (2.5, TypeError),
        ("5", TypeError),
        (object(), ValueError),
    ],
    ids=["one", "none", "negative", "bool", "float", "str", "object"],
)
def test_bad_cv_is_named_with_its_value(cv, error):
    with pytest.raises(error, match="cv") as caught:
        make_folds(cv, Rows(*data()))
    assert repr(cv) in str(caught.value)


def test_none_means_five_folds_by_content():
    by_default, by_number = (make_folds(cv, Rows(*data())) for cv in (None, 5))
    assert by_default.splits == by_number.splits
    for a, b in zip(by_default.cells, by_number.cells, strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_folds_hold_all_rows_in_one_set():
    assert_same_splits(Folds.none(7), [], 7)


def test_renumbered_folds_follow_the_rows():
    X, y = data(40)
    folds = make_folds(KFold(4), Rows(X, y))
    order = np.random.default_rng(0).permutation(40)
    position = np.argsort(order)
    moved = folds.renumbered(position)
    for before, after in zip(folds.cells, moved.cells, strict=True):
        assert (np.diff(after) > 0).all()
        np.testing.assert_array_equal(np.sort(order[after]), np.sort(before))
    assert (moved.splits, moved.whole) == (folds.splits, folds.whole)


@repeatable
@given(st.integers(0, 1000), st.integers(2, 6))
def test_folds_by_inputs_alone_are_the_same_whatever_the_target(seed, n_splits):
    X, y = data()
    other = np.random.default_rng(seed).normal(size=len(X))
    options = {"n_splits": n_splits, "seed": seed, "inputs_only": True}
    whole = fold_of(X, y, **options)
    for target in (other, np.column_stack([y, other]), np.zeros(len(X)), None):
        np.testing.assert_array_equal(fold_of(X, target, **options), whole)
    # They are the folds of rows that have no target at all.
    np.testing.assert_array_equal(fold_of(X, None, n_splits=n_splits, seed=seed), whole)


def test_folds_by_inputs_alone_keep_equal_inputs_together():
    X = np.repeat(data(20)[0], 3, axis=0)
    y = np.arange(60.0)
    alone = fold_of(X, y, inputs_only=True).reshape(20, 3)
    assert (alone == alone[:, :1]).all()
    by_row = fold_of(X, y).reshape(20, 3)
    assert (by_row != by_row[:, :1]).any()


def test_small_changes_of_the_target_deal_anew_unless_inputs_alone_count():
    X, y = data(200)
    np.testing.assert_array_equal(fold_of(X, np.nextafter(y, np.inf)), fold_of(X, y))
    moved = y * (1.0 + 1e-6)
    assert np.mean(fold_of(X, y) == fold_of(X, moved)) < 0.5
    np.testing.assert_array_equal(
        fold_of(X, y, inputs_only=True), fold_of(X, moved, inputs_only=True)
    )


def test_folds_by_inputs_alone_are_used_as_given_and_say_so():
    X, y = data()
    cv = ContentKFold(3, seed=1, inputs_only=True)
    assert_same_splits(make_folds(cv, Rows(X, y)), list(cv.split(X)), len(X))
    assert repr(cv) == "ContentKFold(n_splits=3, seed=1, inputs_only=True)"
    assert not ContentKFold(3).inputs_only


def test_equal_inputs_cannot_be_split_by_inputs_alone():
    X, y = np.ones((30, 2)), np.arange(30.0)
    assert len(partition(fold_of(X, y))) == 5
    with pytest.raises(ValueError, match="one fold of 5"):
        list(ContentKFold(inputs_only=True).split(X, y))


@repeatable
@given(st.integers(2, 30), st.integers(2, 12), st.integers(0, 1000))
def test_folds_by_content_stand_in_the_order_of_their_numbers(n, count, seed):
    X, y = data(n, seed=seed)
    number_of = content_hash(X, y) % np.uint64(count)
    used = np.unique(number_of)
    if len(used) < 2:
        return
    folds = make_folds(count, Rows(X, y))
    for number, cell in zip(used, folds.cells, strict=True):
        np.testing.assert_array_equal(cell, np.flatnonzero(number_of == number))


@pytest.mark.parametrize("wrap", [sp.csr_array, pd.DataFrame, pl.DataFrame])
def test_folds_are_those_of_any_kind_of_table(wrap):
    X, y = data(40)
    plain = make_folds(5, Rows(X, y)).cells
    for one, other in zip(make_folds(None, Rows(wrap(X), y)).cells, plain, strict=True):
        np.testing.assert_array_equal(one, other)
