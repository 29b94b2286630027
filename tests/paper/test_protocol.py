"""Preprocessing, folds, bandwidth and fits, against the words of Sections 6 and 7."""

import itertools

import numpy as np
import pytest
import toy_data
from reference import Problem, literal_fit, refitted_kfold
from toy_data import toy_setup

from negcorr.bases import FourierFeatures
from negcorr.datasets import load
from negcorr.paper.protocol import (
    FOLDS,
    SIX_SETS,
    distance_between_columns_gamma,
    fingerprint,
    fit_ncl,
    folds_of,
    largest_lam,
    prepared,
    task,
)


def literal_standardised(columns):
    result = np.zeros_like(columns)
    for j, column in enumerate(columns.T):
        mean = sum(column) / len(column)
        spread = np.sqrt(sum((value - mean) ** 2 for value in column) / len(column))
        if spread > 1e-12:
            result[:, j] = (column - mean) / spread
    return result


def problem_of(model, data):
    """What Theorem 4 is told: features of all members, targets, and which columns are whose."""
    features = model.basis_.transform(data.X)
    return Problem(features, data.Y, np.ones(len(data.X)), model.basis_.block_starts_)


# ---------------------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------------------


def test_inputs_and_targets_have_mean_0_and_spread_1_over_all_rows(toy_home):
    X, Y = prepared("slump", str(toy_home), None)
    raw_X, raw_Y = load("slump", data_home=toy_home, return_X_y=True)
    np.testing.assert_allclose(X, literal_standardised(raw_X), atol=1e-10)
    np.testing.assert_allclose(Y, literal_standardised(raw_Y), atol=1e-10)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(X.std(axis=0), 1.0, rtol=1e-13)
    assert Y.shape == (103, 3)


def test_a_single_target_is_one_column(toy_home):
    assert prepared("machine", str(toy_home), None)[1].shape == (209, 1)


def test_a_column_that_does_not_vary_is_zero(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(209, 6))
    X[:, 2], X[:, 4] = 7.0, 0.0
    toy_data.write_columns(tmp_path, "machine", X, rng.normal(size=209))
    scaled = prepared("machine", str(tmp_path), None)[0]
    np.testing.assert_array_equal(scaled[:, [2, 4]], 0.0)
    np.testing.assert_allclose(scaled[:, [0, 1, 3, 5]].std(axis=0), 1.0)


@pytest.mark.parametrize("most", [2, 40, 102])
def test_some_of_the_rows_are_evenly_spaced_and_standardised_by_themselves(toy_home, most):
    raw = load("slump", data_home=toy_home, return_X_y=True)[0]
    places = [round(k * 102 / (most - 1)) for k in range(most)]
    X, Y = prepared("slump", str(toy_home), most)
    assert len(X) == len(Y) == most
    assert len(set(places)) == most
    np.testing.assert_allclose(X, literal_standardised(raw[places]), atol=1e-10)


@pytest.mark.parametrize("most", [103, 104, 9999])
def test_sets_with_no_more_rows_than_that_are_used_as_a_whole(toy_home, most):
    whole = prepared("slump", str(toy_home), None)
    for ours, expected in zip(prepared("slump", str(toy_home), most), whole, strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_fingerprint_is_of_the_data_and_nothing_else(toy_home, tmp_path):
    ours = fingerprint("slump", str(toy_home), 40)
    toy_data.write_set(tmp_path, "slump")
    assert fingerprint("slump", str(tmp_path), 40) == ours
    assert fingerprint("slump", str(toy_home), 41) != ours
    assert fingerprint("slump", str(toy_home), 200) == fingerprint("slump", str(toy_home), None)
    (tmp_path / "other").mkdir()
    path = toy_data.write_set(tmp_path / "other", "slump")
    header, rows = path.read_text(encoding="utf-8").split("\n", 1)
    path.write_text(f"{header}\n1{rows}", encoding="utf-8")
    assert fingerprint("slump", str(tmp_path / "other"), 40) != ours


# ---------------------------------------------------------------------------------------
# Folds
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 43, 7])
def test_folds_are_consecutive_rows(n):
    folds = folds_of(n, toy_setup(), "machine")
    assert len(folds) == FOLDS == 5
    held_out = [test for _, test in folds]
    np.testing.assert_array_equal(np.concatenate(held_out), np.arange(n))
    assert {len(test) for test in held_out} <= {n // 5, n // 5 + 1}
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(n))


def test_shuffled_folds_hold_out_every_row_once_in_another_order():
    folds = folds_of(43, toy_setup(shuffle=True), "machine")
    held_out = np.concatenate([test for _, test in folds])
    assert sorted(held_out) == list(range(43))
    assert not np.array_equal(held_out, np.arange(43))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(43))


def test_shuffles_differ_by_set_and_seed_and_are_repeatable():
    def first(seed, *labels):
        return tuple(folds_of(43, toy_setup(shuffle=True, seed=seed), *labels)[0][1])

    assert first(0, "machine") == first(0, "machine")
    assert len({first(0, "machine"), first(0, "slump"), first(1, "machine")}) == 3


def test_a_task_is_one_fold_of_the_prepared_rows(toy_home):
    setup = toy_setup()
    X, Y = prepared("slump", str(toy_home), 40)
    for fold in range(FOLDS):
        data = task(setup, str(toy_home), "slump", fold)
        held_out = np.arange(8 * fold, 8 * fold + 8)
        np.testing.assert_array_equal(data.X_test, X[held_out])
        np.testing.assert_array_equal(data.Y_test, Y[held_out])
        np.testing.assert_array_equal(data.X, np.delete(X, held_out, axis=0))
        np.testing.assert_array_equal(data.Y, np.delete(Y, held_out, axis=0))
        assert (data.name, data.fold) == ("slump", fold)


def test_both_protocols_see_the_same_folds(toy_home):
    for shuffle in (False, True):
        setup = toy_setup(shuffle=shuffle)
        tasks = [task(s, str(toy_home), "slump", 1) for s in (setup, setup.under("printed"))]
        np.testing.assert_array_equal(tasks[0].X_test, tasks[1].X_test)


# ---------------------------------------------------------------------------------------
# Bandwidth and fits
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 2), (12, 7), (3, 40)])
def test_the_reconstructed_bandwidth_is_a_double_loop_over_columns(shape):
    X = np.random.default_rng(0).normal(size=shape)
    distances = [
        np.sqrt(sum((X[i, j] - X[i, k]) ** 2 for i in range(shape[0])))
        for j in range(shape[1])
        for k in range(j + 1, shape[1])
    ]
    expected = len(distances) / sum(distances)
    assert distance_between_columns_gamma(X) == pytest.approx(expected, rel=1e-12)


def test_the_reconstructed_bandwidth_falls_like_the_root_of_the_rows():
    X = np.random.default_rng(0).normal(size=(4000, 9))
    assert distance_between_columns_gamma(X) == pytest.approx(1 / np.sqrt(8000), rel=0.05)


def test_the_printed_bandwidth_is_a_double_loop_over_rows(toy_home):
    setup = toy_setup(protocol="printed")
    data = task(setup, str(toy_home), "slump", 0)
    squares = [
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
        for one, other in itertools.product(data.X, repeat=2)
        if one is not other
    ]
    n = len(data.X)
    over_pairs = sum(squares) / (n * (n - 1))
    over_all = sum(squares) / n**2
    gamma = fit_ncl(setup, data, 3).basis_.gamma_
    # Kwok and Tsang do not say whether a row is a pair with itself.
    assert any(gamma == pytest.approx(1 / d, rel=3e-8) for d in (over_pairs, over_all))


def test_the_reconstructed_bandwidth_is_that_of_the_training_rows(toy_home):
    data = task(toy_setup(), str(toy_home), "slump", 2)
    gamma = fit_ncl(toy_setup(), data, 3).basis_.gamma_
    assert gamma == pytest.approx(distance_between_columns_gamma(data.X), rel=1e-15)


def test_lam_is_capped_where_the_papers_numbers_are_followed():
    assert largest_lam(toy_setup()) == 0.99
    assert largest_lam(toy_setup(protocol="printed")) == 1.0


@pytest.mark.parametrize("protocol", ["paper", "printed"])
@pytest.mark.parametrize("name", ["machine", "slump"])
def test_the_fit_is_theorem_4(toy_home, protocol, name):
    setup = toy_setup(protocol=protocol)
    data = task(setup, str(toy_home), name, 1)
    model = fit_ncl(setup, data, 3)
    literal = literal_fit(problem_of(model, data), gap=0.5, fit_intercept=False)
    np.testing.assert_allclose(np.atleast_2d(model.coef_), literal.coef, rtol=1e-7, atol=1e-9)
    test_features = model.basis_.transform(data.X_test)
    predicted = model.predict(data.X_test).reshape(data.Y_test.shape)
    np.testing.assert_allclose(predicted, literal.predict(test_features), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(model.intercept_, 0.0)
    assert model.dof_ == pytest.approx(literal.dof, rel=1e-9)


@pytest.mark.parametrize(("width", "members"), [(2, 6), (3, 4), (5, 2)])
def test_members_share_the_features_of_the_setup(toy_home, width, members):
    model = fit_ncl(toy_setup(), task(toy_setup(), str(toy_home), "slump", 0), width)
    np.testing.assert_array_equal(
        model.basis_.block_starts_, np.arange(0, members * width + 1, width)
    )
    assert isinstance(model.basis_, FourierFeatures)


def test_another_number_of_features_may_be_asked_for(toy_home):
    data = task(toy_setup(), str(toy_home), "slump", 0)
    assert len(fit_ncl(toy_setup(n_features=7), data, 2).basis_.block_starts_) == 4
    assert len(fit_ncl(toy_setup(n_features=7), data, 9).basis_.block_starts_) == 2


def test_inputs_are_not_scaled_a_second_time(toy_home):
    data = task(toy_setup(), str(toy_home), "slump", 0)
    basis = fit_ncl(toy_setup(), data, 3).basis_
    np.testing.assert_array_equal(basis.input_map_(data.X), data.X)


@pytest.mark.parametrize("shuffle", [False, True])
def test_cross_validation_within_the_training_rows_is_five_refits(toy_home, shuffle):
    setup = toy_setup(shuffle=shuffle)
    data = task(setup, str(toy_home), "slump", 3)
    model = fit_ncl(setup, data, 3)
    splits = folds_of(len(data.X), setup, "slump", 3, "inner")
    literal = refitted_kfold(problem_of(model, data), splits, 0.3, fit_intercept=False)
    np.testing.assert_allclose(model.path_.kfold(gap=0.3), literal, rtol=1e-7)


def test_features_are_drawn_anew_for_every_fold_and_width_and_repeatably(toy_home):
    def frequencies(fold, width, seed=0):
        setup = toy_setup(seed=seed)
        basis = fit_ncl(setup, task(setup, str(toy_home), "slump", fold), width).basis_
        return basis.frequencies_ / np.sqrt(basis.gamma_)

    first = frequencies(0, 3)
    np.testing.assert_array_equal(first, frequencies(0, 3))
    for other in (frequencies(1, 3), frequencies(0, 4), frequencies(0, 3, seed=1)):
        assert not np.allclose(first, other)


def test_the_six_sets_are_those_of_the_figures():
    names = {"kinematics", "machine", "california", "wisconsin", "housing", "triazines"}
    assert set(SIX_SETS) == names
    assert len(SIX_SETS) == 6
