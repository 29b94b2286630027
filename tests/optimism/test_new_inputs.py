"""Training sets, new rows, and what each pair of them tells."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reference import jacobian, literal_random_x, refitted
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.neighbors import RadiusNeighborsRegressor

from negcorr import ContentKFold
from negcorr.dof.monte_carlo.probing import ProbeSource
from negcorr.dof.monte_carlo.refits import NonFiniteError, Refit
from negcorr.dof.monte_carlo.responses import Direction, ResponseMeter
from negcorr.exceptions import NotLinearError
from negcorr.optimism.random_x import (
    Measured,
    NewInputs,
    error_gain,
    measured_by_probes,
    measured_exactly,
    new_inputs,
)


def data(outputs=None, n=20, m=7, seed=0):
    rng = np.random.default_rng(seed)
    X, X_new = rng.normal(size=(n, 3)), 1.5 * rng.normal(size=(m, 3))
    shape = [(n,), (m,)] if outputs is None else [(n, outputs), (m, outputs)]
    return X, rng.normal(size=shape[0]) + 1.0, X_new, rng.normal(size=shape[1]) + 1.0


# ---------------------------------------------------------------------------------------
# Pieces
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 1, 2])
def test_rows_as_given_are_one_piece(outputs):
    X, y, X_new, y_new = data(outputs)
    refit = Refit.of(Ridge(), X, y)
    (piece,) = new_inputs(refit, X_new, y_new, 5)
    assert piece.refit == replace(refit, X_new=X_new)
    assert piece.refit.X_new is X_new
    np.testing.assert_array_equal(piece.y_new, y_new.reshape(7, -1))
    assert piece.weight_new is None
    assert piece.refit.n_samples == 20.0
    (piece,) = new_inputs(refit, X_new, None, 5)
    assert piece.y_new is None


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("cv", "splitter"),
    [(4, ContentKFold(4)), (np.int64(4), ContentKFold(4)), (KFold(4), KFold(4))],
)
def test_folds_are_new_to_the_other_rows(outputs, weighted, cv, splitter):
    X, y, _, _ = data(outputs)
    weight = np.linspace(0.5, 2.0, 20) if weighted else None
    pieces = new_inputs(Refit.of(Ridge(), X, y, weight), None, None, cv)
    splits = list(splitter.split(X, y))
    assert len(pieces) == len(splits) == 4
    for piece, (train, test) in zip(pieces, splits, strict=True):
        np.testing.assert_array_equal(piece.refit.X, X[train])
        np.testing.assert_array_equal(piece.refit.y, y[train].reshape(len(train), -1))
        np.testing.assert_array_equal(piece.refit.X_new, X[test])
        np.testing.assert_array_equal(piece.y_new, y[test].reshape(len(test), -1))
        assert piece.refit.single_output == (outputs is None)
        if weighted:
            np.testing.assert_array_equal(piece.refit.weight, weight[train])
            np.testing.assert_array_equal(piece.weight_new, weight[test])
            assert piece.refit.n_samples == pytest.approx(weight[train].sum())
        else:
            assert piece.refit.weight is piece.weight_new is None
            assert piece.refit.n_samples == len(train)


def test_folds_of_data_frames_stay_data_frames():
    X, y, _, _ = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for piece in new_inputs(Refit.of(Ridge(), frame, y), None, None, LeaveOneOut()):
        assert isinstance(piece.refit.X_new, pd.DataFrame)
        assert len(piece.refit.X_new) == 1
        assert isinstance(piece.refit.X, pd.DataFrame)
        assert len(piece.refit.X) == 19


def test_folds_of_a_kernel_matrix_lose_columns_too():
    X, y, _, _ = data()
    K = rbf_kernel(X)
    pieces = new_inputs(Refit.of(KernelRidge(kernel="precomputed"), K, y), None, None, KFold(4))
    for piece, (train, test) in zip(pieces, KFold(4).split(X), strict=True):
        np.testing.assert_array_equal(piece.refit.X, K[np.ix_(train, train)])
        np.testing.assert_array_equal(piece.refit.X_new, K[np.ix_(test, train)])


def test_folds_without_weight_on_both_sides_are_left_out():
    X, y, _, _ = data()
    weight = np.repeat([0.0, 1.0, 2.0, 1.0], 5)
    pieces = new_inputs(Refit.of(Ridge(), X, y, weight), None, None, KFold(4))
    assert [piece.weight_new.sum() for piece in pieces] == [5.0, 10.0, 5.0]
    only = np.repeat([0.0, 1.0], 10)
    with pytest.raises(ValueError, match=r"cv=KFold.* no split with weight on both sides"):
        new_inputs(Refit.of(Ridge(), X, y, only), None, None, KFold(2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_new": None}, "y_new was given without X_new"),
        ({"y_new": np.zeros((7, 2))}, r"y_new has 2 output\(s\), y has 1"),
        ({"y_new": np.zeros(6)}, "inconsistent"),
    ],
)
def test_new_rows_and_their_targets_must_fit(changes, message):
    X, y, X_new, y_new = data()
    refit = Refit.of(Ridge(), X, y)
    with pytest.raises(ValueError, match=message):
        new_inputs(refit, **{"X_new": X_new, "y_new": y_new} | changes, cv=5)


# ---------------------------------------------------------------------------------------
# Measurements
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_both_ways_to_measure(outputs, weighted):
    X, y, X_new, y_new = data(outputs)
    weight = np.arange(20) % 4 if weighted else None
    weight_new = np.linspace(0.0, 2.0, 7) if weighted else None
    refit = Refit.of(Ridge(2.0), X, y, weight, "shared")
    (piece,) = new_inputs(refit, X_new, y_new, 5)
    piece = replace(piece, weight_new=weight_new)
    trace, excess, _ = literal_random_x(Ridge(2.0), X, y, X_new, weight, weight_new)
    model = refitted(Ridge(2.0), X, y, weight)

    exact = measured_exactly(piece, 0)
    assert exact.trace.shape == exact.excess_variance.shape == (1, outputs or 1)
    np.testing.assert_allclose(exact.trace[0], trace, rtol=1e-9)
    np.testing.assert_allclose(exact.excess_variance[0], excess, rtol=1e-9)

    fits = []
    step = np.full(outputs or 1, 0.3)
    meter = ResponseMeter(piece.refit, step, "central", None, lambda: fits.append(1))
    rng = np.random.default_rng(0)
    directions = ProbeSource(piece.refit, "rademacher", False, rng, rng).draw(300)
    found = measured_by_probes(meter, piece, directions, 0)
    assert found.trace.shape == found.excess_variance.shape == (300, outputs or 1)
    assert len(fits) == meter.n_fits == 601
    for values, wanted in ((found.trace, trace), (found.excess_variance, excess)):
        error = values.std(axis=0, ddof=1) / np.sqrt(300)
        assert (np.abs(values.mean(axis=0) - wanted) < 4 * error).all()

    for part in (exact, found):
        np.testing.assert_allclose(part.fitted, model.predict(X).reshape(20, -1))
        np.testing.assert_allclose(part.new, model.predict(X_new).reshape(7, -1))


@pytest.mark.parametrize("weighted", [False, True])
def test_probes_tell_what_their_directions_do(weighted):
    X, y, X_new, _ = data(outputs=2)
    weight = np.arange(20) % 4 if weighted else np.ones(20)
    weight_new = np.linspace(0.0, 2.0, 7) if weighted else np.ones(7)
    refit = Refit.of(Ridge([0.1, 9.0]), X, y, weight, "shared")
    piece = NewInputs(replace(refit, X_new=X_new), None, weight_new)
    meter = ResponseMeter(piece.refit, np.full(2, 0.3), "central", None)
    vectors = np.random.default_rng(0).normal(size=(4, 20, 2))
    found = measured_by_probes(meter, piece, [Direction(v, 0) for v in vectors], 0)
    at_training = jacobian(Ridge([0.1, 9.0]), X, y, X, weight)
    at_new = jacobian(Ridge([0.1, 9.0]), X, y, X_new, weight)
    used = weight > 0
    for k, vector in enumerate(vectors):
        for j in range(2):
            # Noise of a row that stands for w observations is smaller by √w.
            move = np.zeros(20)
            move[used] = vector[used, j] / np.sqrt(weight[used])
            here, there = at_training[j] @ move, at_new[j] @ move
            assert found.trace[k, j] == pytest.approx((weight * move) @ here)
            excess = np.average(there**2, weights=weight_new) - np.average(here**2, weights=weight)
            assert found.excess_variance[k, j] == pytest.approx(excess)


def test_exact_measurement_needs_a_closed_form():
    X, y, X_new, _ = data()
    (piece,) = new_inputs(Refit.of(Lasso(), X, y), X_new, None, 5)
    with pytest.raises(NotLinearError, match="Lasso"):
        measured_exactly(piece, 0)


@pytest.mark.filterwarnings("ignore:One or more samples have no neighbors")
def test_rows_without_a_neighbour_cannot_be_measured():
    X, y, X_new, _ = data()
    model = RadiusNeighborsRegressor(2.0)
    (piece,) = new_inputs(Refit.of(model, X, y), np.vstack([X_new, np.full((1, 3), 99.0)]), None, 5)
    with pytest.raises(NonFiniteError, match="no neighbour is near"):
        measured_exactly(piece, 0)


def test_error_gain_by_hand():
    X, y, X_new, _ = data()
    (piece,) = new_inputs(Refit.of(Ridge(), X, y), X_new, np.zeros(7), 5)
    part = Measured(
        trace=np.ones((1, 1)),
        excess_variance=np.ones((1, 1)),
        fitted=y[:, np.newaxis] + 2.0,
        new=np.array([0, 0, 0, 0, 0, 0, 7.0])[:, np.newaxis],
    )
    # 49/7 at the new rows, 4 at the training rows.
    np.testing.assert_allclose(error_gain(piece, part), [3.0])
    heavy = replace(piece, weight_new=np.array([0, 0, 0, 0, 0, 0, 1.0]))
    np.testing.assert_allclose(error_gain(heavy, part), [45.0])
    weighted = replace(piece, refit=replace(piece.refit, weight=np.eye(20)[3]))
    part = replace(part, fitted=np.where(np.arange(20) == 3, y + 1.0, y)[:, np.newaxis])
    np.testing.assert_allclose(error_gain(weighted, part), [6.0])


def test_error_gain_needs_targets():
    X, y, X_new, _ = data()
    refit = replace(Refit.of(Ridge(), X, y), X_new=X_new)
    piece = NewInputs(refit, None, None)
    with pytest.raises(ValueError, match="not known"):
        error_gain(piece, measured_exactly(piece, 0))
