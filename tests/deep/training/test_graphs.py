"""Steps that are replayed on a GPU against the same steps one kernel after another."""

import pytest

torch = pytest.importorskip("torch")

from negcorr.deep.checkpoint import state_of
from negcorr.deep.training.loop import (
    WARM_UP,
    Problem,
    Replayed,
    Step,
    Training,
    TrainingState,
    train,
)
from negcorr.deep.training.networks import Architecture

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

LAMS = torch.tensor([0.0, 0.6, 1.0], dtype=torch.float64)


def problem(n=37):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, 3, generator=generator)
    Y = torch.sin(X[:, :1]) + 0.2 * torch.randn(n, 1, generator=generator)
    return Problem(X.cuda(), Y.cuda(), LAMS)


def started(data, training):
    network = Architecture((5, 4), n_members=4).started(data.X, 1, len(LAMS), seed=0)
    return TrainingState.start(network, torch.full((3,), 0.01), training, seed=1)


def state_for(state):
    steps = state.steps
    return [state.network.theta.detach(), steps.first, steps.second, steps.count]


def assert_same_bits(left, right):
    for name, value in state_of(left).items():
        other = state_of(right)[name]
        assert torch.equal(value.nan_to_num(-7.0), other.nan_to_num(-7.0)), name


# 37 rows in batches of 16 are two of 16 and one of 5; of 12, two of 12 and one of 13.
@pytest.mark.parametrize("batch_size", [None, 12, 16])
@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_a_training_that_is_replayed_has_the_bits_of_one_that_is_not(batch_size, optimiser):
    data = problem()
    training = Training(max_epochs=30, batch_size=batch_size, patience=3, optimiser=optimiser)
    eager, replayed = started(data, training), started(data, training)
    train(eager, data, training, step=Step(eager, data))
    train(replayed, data, training)
    assert eager.losses.isfinite().all()
    assert_same_bits(replayed, eager)


def test_runs_before_a_recording_leave_no_trace():
    data, training = problem(), Training(max_epochs=1, batch_size=None)
    state, calls = started(data, training), []
    own = Step(state, data)

    def counted(batch):
        calls.append(batch)
        return own(batch)

    step = Replayed(counted, state_for(state))
    once = started(data, training)
    loss = Step(once, data)(None)
    assert torch.equal(step(None), loss)
    assert len(calls) == WARM_UP + 1
    for tensor, value in zip(state_for(state), state_for(once), strict=True):
        assert torch.equal(tensor, value)
    step(None)
    assert float(state.steps.count) == 2.0
    assert len(calls) == WARM_UP + 1


def test_there_is_one_recording_for_each_length_and_rows_are_read_anew():
    data, training = problem(), Training(max_epochs=1, batch_size=None)
    eager, replayed = started(data, training), started(data, training)
    plain = Step(eager, data)
    step = Replayed(Step(replayed, data), state_for(replayed))
    order = torch.randperm(37, generator=torch.Generator().manual_seed(2)).cuda()
    batches = [order[:16], order[16:32], order[32:], order[3:8], None, None]
    losses = [step(batch) for batch in batches]
    assert len(step._records) == 3
    for found, batch in zip(losses, batches, strict=True):
        assert torch.equal(found, plain(batch))
    assert torch.equal(replayed.network.theta, eager.network.theta)


def test_rates_that_are_halved_in_place_are_seen_by_the_recording():
    data, training = problem(), Training(max_epochs=1, batch_size=None)
    state = started(data, training)
    step = Replayed(Step(state, data), state_for(state))
    step(None)
    state.schedule.rate.zero_()
    before = state.network.theta.detach().clone()
    step(None)
    assert torch.equal(state.network.theta, before)
