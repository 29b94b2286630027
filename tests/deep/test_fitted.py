"""Scales against means and standard deviations of columns, and tables of a training row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

pytest.importorskip("torch")

from negcorr.deep.fitted import History, LamTable, Scaling

repeatable = settings(derandomize=True, deadline=None)

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
COLUMNS = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=NUMBERS)


@repeatable
@given(COLUMNS)
def test_what_is_applied_can_be_undone(columns):
    scaling = Scaling.of(columns)
    size = np.abs(columns).max(initial=1.0)
    found = scaling.undo(scaling.apply(columns))
    np.testing.assert_allclose(found, columns, rtol=0, atol=1e-13 * size)
    assert (scaling.scale > 0).all()


@repeatable
@given(COLUMNS)
def test_columns_have_mean_0_and_standard_deviation_1_or_are_0(columns):
    scaled = Scaling.of(columns).apply(columns)
    for before, after in zip(columns.T, scaled.T, strict=True):
        if len(set(before)) == 1:
            assert (after == 0).all()
        elif np.ptp(before) > max(1e-6 * np.abs(before).max(), 1e-100):
            np.testing.assert_allclose(after.mean(), 0.0, atol=1e-8)
            np.testing.assert_allclose(after.std(), 1.0, rtol=1e-8)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e100, 1e-300])
@pytest.mark.parametrize("n", [1, 3, 1000])
def test_a_constant_is_its_own_centre_with_scale_1(value, n):
    # The mean of many times 0.1 is not 0.1.
    scaling = Scaling.of(np.full((n, 1), value))
    assert (scaling.centre.tolist(), scaling.scale.tolist()) == ([value], [1.0])


def test_columns_too_small_for_a_standard_deviation_have_scale_1():
    scaling = Scaling.of(np.array([[0.0], [1e-200]]))
    assert scaling.scale.tolist() == [1.0]
    assert np.isfinite(scaling.apply(np.array([[3e-200]]))).all()


def test_axes_before_that_of_columns_stay():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(7, 2)) * [1.0, 100.0] + [5.0, -3.0]
    scaling = Scaling.of(columns)
    members = rng.normal(size=(3, 4, 7, 2))
    found = scaling.undo(members)
    for e in range(3):
        for m in range(4):
            expected = members[e, m] * columns.std(axis=0) + columns.mean(axis=0)
            np.testing.assert_allclose(found[e, m], expected, rtol=1e-14)


def test_none_leaves_columns_as_they_are():
    columns = np.random.default_rng(0).normal(size=(5, 3))
    assert (Scaling.none(3).apply(columns) == columns).all()
    assert (Scaling.none(3).undo(columns) == columns).all()


# Tables

LAMS = np.array([0.0, 0.5, 1.0])


def table(outputs=2, chosen=1):
    rng = np.random.default_rng(0)
    shape = (len(LAMS), outputs)
    arrays = [rng.normal(size=shape) for _ in range(5)]
    return LamTable(LAMS, *arrays, noise_variance=rng.uniform(size=outputs), chosen=chosen)


def test_history_has_a_row_for_each_lam_and_epoch():
    pytest.importorskip("pandas")
    losses = np.random.default_rng(0).uniform(size=(4, 3))
    history = History(LAMS, losses, np.full(3, 0.01))
    frame = history.to_frame()
    assert frame.columns.tolist() == ["lam", "epoch", "loss"]
    expected = [
        (lam, epoch + 1, losses[epoch, g]) for g, lam in enumerate(LAMS) for epoch in range(4)
    ]
    assert list(frame.itertuples(index=False, name=None)) == expected
    assert history.n_epochs == 4
    assert repr(history) == "History(4 epochs, 3 values of λ)"


def test_history_of_no_epoch_has_no_row():
    pytest.importorskip("pandas")
    frame = History(LAMS, np.empty((0, 3)), np.ones(3)).to_frame()
    assert frame.shape == (0, 3)


@pytest.mark.parametrize("outputs", [1, 2])
def test_table_has_a_row_for_each_lam_and_output(outputs):
    pytest.importorskip("pandas")
    found = table(outputs)
    frame = found.to_frame()
    names = ["train_error", "dof", "dof_std_error", "sure", "gcv"]
    assert frame.columns.tolist() == ["lam", "output", *names, "chosen"]
    expected = [
        (lam, p, *(getattr(found, name)[g, p] for name in names), g == 1)
        for g, lam in enumerate(LAMS)
        for p in range(outputs)
    ]
    assert list(frame.itertuples(index=False, name=None)) == expected
    assert frame["chosen"].dtype == bool


def test_repr_of_a_table_says_what_was_chosen():
    assert repr(table(chosen=1)) == "LamTable(3 values, lam=0.5 chosen)"
