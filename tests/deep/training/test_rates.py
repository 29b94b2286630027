"""The choice of a learning rate against trainings one by one, and against known losses."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from negcorr.deep.training import rates as module
from negcorr.deep.training.loop import (
    Problem,
    Training,
    TrainingState,
    train,
)
from negcorr.deep.training.networks import Architecture
from negcorr.deep.training.rates import RATES, choose_rate

SHAPE = Architecture((4,), n_members=3, activation="relu", batch_norm=False)
TRAINING = Training(max_epochs=12, batch_size=10, optimiser="sgd", patience=100)


def data(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(24, 2, generator=generator, dtype=torch.float64)
    noise = torch.randn(24, 1, generator=generator, dtype=torch.float64)
    return X.to(dtype), (torch.sin(X[:, :1]) + 0.1 * noise).to(dtype)


def alone(rate, lam, seed, dtype):
    """The lowest loss of an epoch with one rate, infinite if the last is not finite."""
    X, Y = data(dtype)
    network = SHAPE.started(X, 1, 1, seed)
    state = TrainingState.start(network, torch.tensor([rate], dtype=dtype), TRAINING, seed)
    train(state, Problem(X, Y, torch.tensor([lam], dtype=torch.float64)), TRAINING)
    if not (network.theta.isfinite().all() and state.losses[state.epoch - 1].isfinite()):
        return np.inf
    return min(state.losses[: state.epoch, 0].tolist())


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)], ids=str
)
@pytest.mark.parametrize(("lam", "seed"), [(0.5, 0), (0.9, 4)])
def test_losses_are_those_of_trainings_one_by_one(lam, seed, dtype, tolerance):
    rates = (1e-5, 1e-3, 0.1, 1e30)
    found = choose_rate(SHAPE, *data(dtype), TRAINING, lam=lam, seed=seed, rates=rates)
    expected = [alone(rate, lam, seed, dtype) for rate in rates]
    assert np.isinf(expected).tolist() == [False, False, False, True]
    np.testing.assert_allclose(found.losses, expected, rtol=tolerance)
    lowest = min(expected)
    assert found.rate == min(
        rate for rate, loss in zip(rates, expected, strict=True) if loss <= 1.1 * lowest
    )
    assert found.rates == rates


def ending_with(monkeypatch, losses, diverged=()):
    """Trainings whose lowest losses are these, some of them lost."""

    values = torch.tensor(losses, dtype=torch.float64)

    def pretend(state, problem, training, after_epochs=None):
        state.schedule.best.copy_(values)
        state.losses[0] = values
        state.losses[0, list(diverged)] = torch.nan
        state.epoch = 1
        return state

    monkeypatch.setattr(module, "train", pretend)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([3.0, 2.0, 1.0], 0.1),
        ([3.0, 1.09, 1.0], 0.01),
        ([3.0, 1.11, 1.0], 0.1),
        ([1.0, 1.0, 1.0], 0.001),
        ([1.05, 2.0, 1.0], 0.001),
        ([2.0, 0.0, 0.0], 0.01),
    ],
)
def test_the_smallest_rate_within_a_tenth_of_the_lowest_loss_is_chosen(
    monkeypatch, losses, expected
):
    ending_with(monkeypatch, losses)
    found = choose_rate(SHAPE, *data(), TRAINING, rates=(0.001, 0.01, 0.1))
    assert found.rate == expected
    assert found.losses.tolist() == losses


def test_a_rate_that_diverged_is_not_chosen_however_low_its_loss_once_was(monkeypatch):
    ending_with(monkeypatch, [2.0, 1.5, 0.1], diverged=[2])
    found = choose_rate(SHAPE, *data(), TRAINING, rates=(0.001, 0.01, 0.1))
    assert found.rate == 0.01
    assert found.losses.tolist() == [2.0, 1.5, np.inf]


def test_divergence_with_every_rate_is_an_error_that_names_them():
    with pytest.raises(FloatingPointError, match=r"every learning rate of \[1e\+30, 1e\+32\]"):
        choose_rate(SHAPE, *data(torch.float32), TRAINING, rates=(1e30, 1e32))


def test_the_callback_sees_the_training_of_all_rates_and_may_stop_it():
    seen = []

    def look(state):
        seen.append((state.epoch, state.losses.shape[1]))
        return len(seen) == 2

    training = Training(max_epochs=300, batch_size=None)
    choose_rate(SHAPE, *data(), training, rates=(0.001, 0.01), after_epochs=look)
    assert seen == [(50, 2), (100, 2)]


def test_candidates_are_those_of_section_8():
    np.testing.assert_allclose(RATES, 10.0 ** np.arange(-6, 1), rtol=1e-14)
    training = Training(max_epochs=2, batch_size=None)
    assert choose_rate(SHAPE, *data(), training).rates == RATES
