"""K-fold errors from moments equal real refits on the same folds."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import (
    GAPS,
    fitted_by,
    literal_fit,
    make_problem,
    moments_of,
    random_problem,
    refitted_kfold,
)
from sklearn.model_selection import KFold as RowKFold
from sklearn.model_selection import (
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

from negcorr import ContentKFold, ncl_path
from negcorr.criteria.kfold import GAPS_AT_ONCE, KFold
from negcorr.moments.moments import FactorMoments, GramMoments
from negcorr.rows.folds import make_folds
from negcorr.rows.rows import Rows

KINDS = ("tall", "unequal blocks", "weighted", "multi-output")


def path_of(problem, **settings):
    return ncl_path(
        problem.features,
        problem.y,
        problem.starts,
        sample_weight=problem.weight,
        lam=0.5,
        **settings,
    )


def assert_kfold_is_refits(problem, cv, splits, solver="qr", gaps=GAPS, **settings):
    path = path_of(problem, cv=cv, solver=solver, **settings)
    curve = path.kfold(gap=np.array(gaps))
    wanted = np.array([refitted_kfold(problem, splits, gap, **settings) for gap in gaps])
    assert_allclose(curve, wanted, rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"alpha": 0.2}], ids=str)
@pytest.mark.parametrize("solver", ["gram", "qr"])
@pytest.mark.parametrize("kind", KINDS)
def test_kfold_equals_refits(kind, solver, settings):
    problem = make_problem(kind)
    cv = RowKFold(4, shuffle=True, random_state=1)
    splits = list(cv.split(problem.features))
    assert_kfold_is_refits(problem, cv, splits, solver, **settings)


@pytest.mark.parametrize("solver", ["gram", "qr"])
@pytest.mark.parametrize("kind", KINDS)
def test_folds_by_content_equal_refits(kind, solver):
    problem = make_problem(kind)
    splits = list(ContentKFold(3).split(problem.features, problem.y))
    assert len(splits) == 3
    assert_kfold_is_refits(problem, 3, splits, solver)


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(4, test_size=0.3, random_state=0),
        TimeSeriesSplit(4),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    ],
    ids=lambda cv: type(cv).__name__,
)
@pytest.mark.parametrize("solver", ["gram", "qr"])
def test_splits_that_overlap_or_leave_rows_out_equal_refits(solver, cv):
    problem = make_problem("multi-output")
    # One block of three columns: the first training set of a time series is short.
    problem = replace(problem, features=problem.features[:, :5], starts=np.array([0, 3, 5]))
    splits = list(cv.split(problem.features))
    assert_kfold_is_refits(problem, cv, splits, solver)


def test_one_split_alone_is_enough_where_the_splitter_gives_one():
    problem = make_problem("tall")
    splits = [(np.arange(25), np.arange(25, 40))]
    assert_kfold_is_refits(problem, splits, splits)


def test_training_rows_that_repeat_are_used_as_given():
    """An iterable may train on resampled rows; every test row still appears once."""
    problem = make_problem("tall")
    rng = np.random.default_rng(0)
    splits = [
        (rng.choice(train, size=len(train)), test)
        for train, test in RowKFold(4).split(problem.features)
    ]
    assert_kfold_is_refits(problem, splits, splits)


def test_groups_reach_the_splitter():
    problem = make_problem("tall")
    groups = np.arange(40) // 8
    splits = list(LeaveOneGroupOut().split(problem.features, groups=groups))
    path = path_of(problem, cv=LeaveOneGroupOut(), groups=groups, solver="qr")
    wanted = [refitted_kfold(problem, splits, gap) for gap in GAPS]
    assert_allclose(path.kfold(gap=GAPS), wanted, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_many_features_by_the_gram_route_equal_refits(alpha, fit_intercept):
    """More than 64 features go through the tridiagonal reduction, per fold."""
    problem = random_problem(np.random.default_rng(8), 230, [8] * 9, outputs=2, weighted=True)
    cv = RowKFold(3)
    settings = {"alpha": alpha, "fit_intercept": fit_intercept}
    path = path_of(problem, cv=cv, solver="gram", **settings)
    splits = list(cv.split(problem.features))
    gaps = np.array([1.0, 0.1, 1e-3, 0.0])
    wanted = [refitted_kfold(problem, splits, gap, **settings) for gap in gaps]
    assert_allclose(path.kfold(gap=gaps), wanted, rtol=1e-9)


def test_many_dependent_features_by_the_gram_route_stay_close_to_qr_at_every_gap():
    """Members share columns: the folds' matrices are singular, and tiny gaps show it."""
    problem = random_problem(np.random.default_rng(8), 230, [8] * 9)
    features = problem.features.copy()
    features[:, 64:72] = features[:, 0:8]
    problem = replace(problem, features=features)
    by_gram, by_qr = (path_of(problem, cv=RowKFold(3), solver=s) for s in ("gram", "qr"))
    gaps = np.array([0.1, 1e-4, 1e-8, 1e-12, 1e-16, 1e-20, 0.0])
    assert_allclose(by_gram.kfold(gap=gaps), by_qr.kfold(gap=gaps), rtol=1e-6)


@pytest.mark.parametrize("solver", ["gram", "qr"])
def test_wide_and_rank_deficient_training_folds_equal_refits_where_blocks_are_full(solver):
    """n < Q in every training set, blocks of full rank, so coefficients are unique."""
    problem = make_problem("wide")
    cv = RowKFold(3)
    splits = list(cv.split(problem.features))
    assert_kfold_is_refits(problem, cv, splits, solver)


def test_a_splitter_with_one_row_per_fold_is_leave_one_out():
    problem = make_problem("tall")
    splits = list(LeaveOneOut().split(problem.features))
    assert_kfold_is_refits(problem, LeaveOneOut(), splits)


@pytest.mark.parametrize("form", [GramMoments, FactorMoments])
def test_more_gaps_than_fit_at_once_are_all_answered(form):
    problem = make_problem("tall")
    gaps = np.power(10.0, -np.linspace(0, 4, 2 * GAPS_AT_ONCE + 3))
    folds = make_folds(RowKFold(3), Rows(problem.features, problem.y))
    cells = [moments_of(problem.take(cell), form) for cell in folds.cells]
    kfold = KFold.from_cells(
        cells, folds, problem.starts, alpha=0.0, fit_intercept=True, route="qr"
    )
    whole = kfold.error(gaps)
    assert whole.shape == (len(gaps), 1)
    for k in (0, GAPS_AT_ONCE - 1, GAPS_AT_ONCE, 2 * GAPS_AT_ONCE, len(gaps) - 1):
        assert_allclose(whole[k], kfold.error(gaps[[k]])[0], rtol=1e-10)


def test_each_split_keeps_its_own_fit_and_number():
    problem = make_problem("tall")
    cv = RowKFold(4)
    kfold = path_of(problem, cv=cv, solver="qr").cross_validation
    assert kfold.numbers == (0, 1, 2, 3)
    for (train, _), fit in zip(cv.split(problem.features), kfold.fits, strict=True):
        part = problem.take(train)
        literal = literal_fit(part, 0.1)
        assert_allclose(fitted_by(fit, part.features, 0.1), literal.fitted, atol=1e-9)


def test_folds_without_weight_are_left_out():
    problem = make_problem("tall")
    cv = RowKFold(4)
    splits = list(cv.split(problem.features))
    weight = problem.weight.copy()
    weight[splits[1][1]] = 0.0
    problem = replace(problem, weight=weight)
    path = path_of(problem, cv=cv, solver="qr")
    assert path.cross_validation.numbers == (0, 2, 3)
    wanted = refitted_kfold(problem, [splits[0], splits[2], splits[3]], 0.1)
    assert_allclose(path.kfold(gap=0.1), wanted, rtol=1e-9)


def test_fewer_than_two_folds_with_weight_is_an_error_that_names_the_way_out():
    problem = make_problem("tall")
    weight = np.zeros(40)
    weight[:10] = 1.0
    problem = replace(problem, weight=weight)
    with pytest.raises(ValueError, match=r"only 0 of 4 folds can be used.*criterion='sure'"):
        ncl_path(
            problem.features,
            problem.y,
            problem.starts,
            sample_weight=problem.weight,
            cv=RowKFold(4),
            solver="qr",
        )
    path = path_of(problem, cv=RowKFold(4), solver="qr")
    with pytest.raises(ValueError, match="no folds"):
        path.kfold(gap=0.1)


@pytest.mark.parametrize("solver", ["gram", "qr"])
def test_integer_weights_are_repeated_rows(solver):
    problem = random_problem(np.random.default_rng(2), 30, [2, 3, 2])
    times = np.random.default_rng(3).integers(1, 4, size=30)
    weighted = replace(problem, weight=times.astype(float))
    repeated = problem.take(np.repeat(np.arange(30), times))
    one, other = (path_of(p, cv=3, solver=solver) for p in (weighted, repeated))
    assert_allclose(one.kfold(gap=GAPS), other.kfold(gap=GAPS), rtol=1e-9)


def test_the_order_of_rows_does_not_matter_with_folds_by_content():
    problem = make_problem("tall")
    shuffled = problem.take(np.random.default_rng(0).permutation(40))
    one, other = (path_of(p, cv=4, solver="qr") for p in (problem, shuffled))
    assert_allclose(one.kfold(gap=GAPS), other.kfold(gap=GAPS), rtol=1e-11)
