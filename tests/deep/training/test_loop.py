"""The training loop against loops over plain modules, and against itself, stopped and split."""

import copy
import dataclasses

import numpy as np
import pytest
from sklearn.base import clone

from negcorr import ncl_loss

torch = pytest.importorskip("torch")

from torch.nn.utils import parameters_to_vector

from negcorr.deep.training import loop as module
from negcorr.deep.training.loop import (
    CHECK_EVERY,
    Problem,
    Step,
    Training,
    TrainingState,
    _batches,
    train,
)
from negcorr.deep.training.networks import EnsembleMLP, initialise
from negcorr.deep.training.optimise import Schedule, Steps


def tensors_of(state):
    return {name: value for name, value in vars(state).items() if torch.is_tensor(value)}


N, D, M, SEED = 37, 3, 4, 7
LAMS = torch.tensor([0.0, 0.6, 0.95], dtype=torch.float64)
RATE = 0.01
CPU = torch.device("cpu")


def problem(lams=LAMS, outputs=1, dtype=torch.float64, n=N, own=False):
    """Inputs and targets, shared by all ensembles or each its own."""
    generator = torch.Generator().manual_seed(0)
    before = (len(lams),) if own else ()
    X = torch.randn(*before, n, D, generator=generator, dtype=torch.float64)
    noise = torch.randn(*before, n, outputs, generator=generator, dtype=torch.float64)
    return Problem(X.to(dtype), (torch.sin(X[..., :1]) + 0.2 * noise).to(dtype), lams)


def network(data, hidden=(5, 4), **kwargs):
    made = EnsembleMLP(
        D,
        hidden,
        data.Y.shape[-1],
        n_members=M,
        n_ensembles=len(data.lam),
        dtype=data.X.dtype,
        **kwargs,
    )
    # The first set of inputs, whichever ensembles are trained together.
    initialise(made, torch.randn(N, D, generator=torch.Generator().manual_seed(1)), seed=0)
    return made


def started(data, training, rate=RATE, seed=SEED, **kwargs):
    rates = torch.as_tensor(rate, dtype=torch.float64).expand(len(data.lam))
    return TrainingState.start(network(data, **kwargs), rates, training, seed)


def trained(data, training, rate=RATE, seed=SEED, **kwargs):
    return train(started(data, training, rate, seed, **kwargs), data, training)


def predictions(state, X):
    state.network.eval()
    with torch.no_grad():
        return state.network(X)


def everything_in(state):
    """Every tensor that a training is made of."""
    return {
        "theta": state.network.theta.detach().clone(),
        "statistics": state.network.statistics.clone(),
        "losses": state.losses.clone(),
        **{f"steps.{k}": v.clone() for k, v in tensors_of(state.steps).items()},
        **{f"schedule.{k}": v.clone() for k, v in tensors_of(state.schedule).items()},
    }


def assert_same_bits(left, right):
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert torch.equal(value.nan_to_num(-7.0), right[name].nan_to_num(-7.0)), name


def looped(members, data, e, training, epochs):
    """One ensemble as modules of torch in a Python loop; losses of the epochs."""
    lam = float(data.lam[e])
    parameters = [p for member in members for p in member.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=RATE, weight_decay=training.weight_decay)
    size = training.batch_size or data.n_samples
    losses = []
    for epoch in range(epochs):
        total = 0.0
        for batch in _batches(data.n_samples, size, SEED, epoch, CPU):
            rows = slice(None) if batch is None else batch
            X, y = data.X[rows], data.Y[rows]
            f = torch.stack([member(X) for member in members])
            loss = (1 - lam) * ((f - y) ** 2).mean() + lam * ((f.mean(dim=0) - y) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * len(X) / data.n_samples
        losses.append(total)
    return losses


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("batch_size", [None, 16])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)], ids=str
)
def test_batched_training_is_a_loop_over_plain_modules(
    dtype, tolerance, batch_size, batch_norm, plain_members
):
    data = problem(LAMS[1:], dtype=dtype)
    training = Training(max_epochs=50, batch_size=batch_size, patience=100)
    plain = plain_members(network(data, batch_norm=batch_norm))
    state = trained(data, training, batch_norm=batch_norm)
    found = predictions(state, data.X)
    for e in range(2):
        members = plain[e * M : (e + 1) * M]
        losses = looped(members, data, e, training, epochs=50)
        # In training mode batch norm uses the statistics of the rows at hand: the training set.
        expected = torch.stack([member(data.X) for member in members]).detach()
        torch.testing.assert_close(found[e], expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(state.losses[:, e], losses, rtol=0, atol=tolerance)
        assert losses[-1] < 0.7 * losses[0]


def test_batched_training_is_a_loop_with_several_outputs_and_weight_decay(plain_members):
    data = problem(LAMS[1:2], outputs=2)
    training = Training(max_epochs=50, batch_size=10, weight_decay=0.01, patience=100)
    plain = plain_members(network(data))
    state = trained(data, training)
    looped(plain, data, 0, training, epochs=50)
    for row, member in zip(state.network.theta, plain, strict=True):
        expected = parameters_to_vector(member.parameters())
        torch.testing.assert_close(row, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("batch_size", [None, 8])
@pytest.mark.parametrize(
    "kwargs", [{}, {"optimiser": "sgd", "clip": 0.3, "weight_decay": 0.01, "early_stopping": 12}]
)
def test_ensembles_together_are_each_alone(kwargs, batch_size, own, monkeypatch):
    # No look before the end, where an ensemble alone that is left as it is would stop.
    monkeypatch.setattr(module, "CHECK_EVERY", 10**6)
    data = problem(own=own)
    rates = torch.tensor([3.0, 0.3, 0.01], dtype=torch.float64)
    training = Training(max_epochs=40, batch_size=batch_size, patience=3, **kwargs)
    together = trained(data, training, rates)
    ends = torch.stack([together.schedule.rate / rates, together.schedule.waited], dim=1)
    assert len(torch.unique(ends, dim=0)) > 1, "schedules are to differ"
    for e in range(3):
        X, Y = (data.X[e], data.Y[e]) if own else (data.X, data.Y)
        alone = trained(Problem(X, Y, data.lam[e : e + 1]), training, rates[e : e + 1])
        close = {"rtol": 1e-12, "atol": 1e-12}
        rows = slice(e * M, (e + 1) * M)
        torch.testing.assert_close(alone.network.theta, together.network.theta[rows], **close)
        torch.testing.assert_close(alone.losses[:, 0], together.losses[:, e], **close)
        torch.testing.assert_close(alone.schedule.rate, together.schedule.rate[e : e + 1])


def test_gradient_descent_on_single_samples_is_the_update_of_liu_and_yao(plain_members):
    # ∂L/∂f_m = 2/M · ((f_m − y) − λ (f_m − F)): a rate of α M / 2 makes it the rule of Section 2.2.
    alpha = 0.05
    data = problem(LAMS[1:], n=15)
    training = Training(max_epochs=1, batch_size=1, optimiser="sgd", patience=100)
    plain = plain_members(network(data, batch_norm=False))
    state = trained(data, training, alpha * M / 2, batch_norm=False)
    order = torch.cat(_batches(15, 1, SEED, 0, CPU)).tolist()
    assert sorted(order) == list(range(15))
    for e, lam in enumerate(data.lam.tolist()):
        members = plain[e * M : (e + 1) * M]
        for n in order:
            x, y = data.X[n], float(data.Y[n, 0])
            outputs = [member(x)[0] for member in members]
            F = sum(f.item() for f in outputs) / M
            for member, f in zip(members, outputs, strict=True):
                accuracy, diversity = f.item() - y, f.item() - F
                derivative = torch.autograd.grad(f, list(member.parameters()))
                with torch.no_grad():
                    for theta, df in zip(member.parameters(), derivative, strict=True):
                        theta -= alpha * df * (accuracy - lam * diversity)
        expected = torch.stack([parameters_to_vector(m.parameters()) for m in members]).detach()
        found = state.network.theta[e * M : (e + 1) * M].detach()
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)


# ---------------------------------------------------------------------------------------
# Stopping and going on
# ---------------------------------------------------------------------------------------

LONG = Training(max_epochs=107, batch_size=12, patience=3)

#: Epochs between two looks: 50 steps of 12 of 37 rows.
LOOK = 16


@pytest.fixture(scope="module")
def uninterrupted():
    return everything_in(trained(problem(), LONG, 0.05))


def test_a_training_stopped_by_the_callback_goes_on_as_if_it_had_not_been(uninterrupted):
    data, state = problem(), started(problem(), LONG, 0.05)
    train(state, data, LONG, after_epochs=lambda _: True)
    assert state.epoch == LOOK
    assert state.losses[LOOK:].isnan().all()
    assert not state.losses[:LOOK].isnan().any()
    train(state, data, LONG)
    assert state.epoch == LONG.max_epochs
    assert_same_bits(everything_in(state), uninterrupted)


@pytest.mark.parametrize("epochs", [1, 37])
def test_a_training_saved_after_any_epoch_goes_on_in_another_object(uninterrupted, epochs):
    data, first = problem(), started(problem(), LONG, 0.05)
    train(first, data, dataclasses.replace(LONG, max_epochs=epochs))
    assert first.epoch == epochs
    saved = copy.deepcopy(
        (
            first.network.state_dict(),
            tensors_of(first.steps),
            tensors_of(first.schedule),
            first.losses,
        )
    )
    predictions(first, data.X)  # using a network in between does not matter
    other = network(data)
    other.load_state_dict(saved[0])
    steps = Steps(**saved[1], kind=LONG.optimiser)
    schedule = Schedule(**saved[2])
    second = TrainingState(other, steps, schedule, saved[3], first.epoch, first.seed)
    assert_same_bits(everything_in(train(second, data, LONG)), uninterrupted)


def test_the_callback_sees_every_look_and_the_end():
    seen = []
    state = started(problem(), LONG)
    train(state, problem(), LONG, after_epochs=lambda t: seen.append(t.epoch))
    assert seen == [*range(LOOK, LONG.max_epochs, LOOK), LONG.max_epochs]
    assert train(state, problem(), LONG) is state
    assert state.epoch == LONG.max_epochs


@pytest.mark.parametrize(
    ("batch_size", "epochs"),
    [(None, 50), (100, 50), (37, 50), (19, 25), (2, 2), (1, 1)],
)
def test_checks_are_fifty_steps_apart_and_at_least_an_epoch(batch_size, epochs):
    assert CHECK_EVERY == 50
    training = Training(max_epochs=2 * epochs + 1, batch_size=batch_size, patience=100)
    data, seen = problem(LAMS[:1]), []
    state = started(data, training, batch_norm=False)
    train(state, data, training, after_epochs=lambda t: seen.append(t.epoch))
    assert seen == [epochs, 2 * epochs, 2 * epochs + 1]


def test_checks_of_a_continued_training_are_where_they_would_have_been():
    seen, state = [], started(problem(), LONG)
    train(state, problem(), dataclasses.replace(LONG, max_epochs=LOOK + 3))
    train(state, problem(), LONG, after_epochs=lambda t: seen.append(t.epoch))
    assert seen == [*range(2 * LOOK, LONG.max_epochs, LOOK), LONG.max_epochs]


@pytest.mark.parametrize("batch_size", [None, 12])
def test_another_step_may_take_the_place_of_ours(batch_size):
    data, training = problem(), Training(max_epochs=4, batch_size=batch_size, patience=100)
    calls = []

    def counted(batch):
        calls.append(batch)
        return own(batch)

    state = started(data, training)
    own = Step(state, data)
    train(state, data, training, step=counted)
    assert_same_bits(everything_in(state), everything_in(trained(data, training)))
    expected = [b for epoch in range(4) for b in _batches(N, batch_size or N, SEED, epoch, CPU)]
    assert len(calls) == len(expected)
    for found, rows in zip(calls, expected, strict=True):
        assert found is None if rows is None else torch.equal(found, rows)


def test_losses_of_another_step_are_weighted_by_the_rows_they_are_of():
    data, training = problem(), Training(max_epochs=1, batch_size=12, patience=100)
    losses = iter([1.0, 2.0, 4.0])
    lengths = []

    def step(batch):
        lengths.append(len(batch))
        return torch.full((3,), next(losses), dtype=torch.float64)

    state = train(started(data, training), data, training, step=step)
    assert lengths == [12, 12, 13]
    np.testing.assert_allclose(state.losses, (12 + 24 + 52) / 37, rtol=1e-14)
    assert torch.equal(state.network.theta, network(data).theta)


def test_the_same_seeds_give_the_same_bits_and_others_do_not(uninterrupted):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    again = everything_in(trained(problem(), LONG, 0.05))
    assert torch.equal(torch.get_rng_state(), before)
    assert_same_bits(again, uninterrupted)
    short = dataclasses.replace(LONG, max_epochs=2)
    other = [trained(problem(), short, seed=seed).network.theta for seed in (SEED, SEED + 1)]
    assert not torch.equal(*other)


# ---------------------------------------------------------------------------------------
# Batches and losses
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "size", "sizes"),
    [
        (8, 4, [4, 4]),
        (10, 4, [4, 4, 2]),
        (9, 4, [4, 5]),
        (5, 4, [5]),
        (3, 2, [3]),
        (3, 1, [1, 1, 1]),
        (2, 1, [1, 1]),
    ],
)
def test_batches_have_every_row_once_and_a_last_one_joins_the_batch_before(n, size, sizes):
    parts = _batches(n, size, SEED, 3, CPU)
    assert [len(part) for part in parts] == sizes
    assert sorted(torch.cat(parts).tolist()) == list(range(n))


def test_orders_of_epochs_and_seeds_differ():
    orders = [
        tuple(torch.cat(_batches(20, 5, seed, epoch, CPU)).tolist())
        for seed in range(5)
        for epoch in range(5)
    ]
    assert len(set(orders)) == 25


def test_the_order_of_an_epoch_does_not_depend_on_the_epochs_before():
    # Nothing moves at a rate of 0; what batch norm sees, and so the loss, depends on the batches.
    data, training = problem(), Training(max_epochs=6, batch_size=5, patience=100)
    full = trained(data, training, rate=0.0)
    late = started(data, training, rate=0.0)
    late.epoch = 3
    train(late, data, training)
    assert torch.equal(late.losses[3:], full.losses[3:])
    assert late.losses[:3].isnan().all()
    assert len(set(full.losses[:, 0].tolist())) == 6


def test_a_last_batch_of_one_does_not_stop_batch_norm():
    data = problem(n=9)
    state = trained(data, Training(max_epochs=3, batch_size=4, patience=100))
    assert state.losses.isfinite().all()


def test_batches_as_large_as_the_data_or_larger_are_all_rows():
    data = problem()
    expected = everything_in(trained(data, Training(max_epochs=5, batch_size=None)))
    for size in (N, N + 1, 10 * N):
        assert_same_bits(
            everything_in(trained(data, Training(max_epochs=5, batch_size=size, patience=100))),
            expected,
        )


def test_batches_of_one_cannot_be_normalised():
    with pytest.raises(ValueError, match="give another batch_size"):
        trained(problem(), Training(max_epochs=1, batch_size=1, patience=100))


@pytest.mark.parametrize("batch_size", [None, 1, 5, 12])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("own", [True, False])
def test_loss_of_an_epoch_is_the_mean_over_samples(own, outputs, batch_size, monkeypatch):
    # A rate of 0 is the end of a training at its first look.
    monkeypatch.setattr(module, "CHECK_EVERY", 10**6)
    data = problem(own=own, outputs=outputs)
    training = Training(max_epochs=2, batch_size=batch_size, patience=100)
    state = trained(data, training, rate=0.0, batch_norm=False)
    members = predictions(state, data.X)
    for e, lam in enumerate(LAMS.tolist()):
        expected = np.mean(ncl_loss(members[e], data.Y[e] if own else data.Y, lam))
        np.testing.assert_allclose(state.losses[:, e], expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_losses_have_the_precision_of_the_network(dtype):
    state = trained(problem(dtype=dtype), Training(max_epochs=2, batch_size=None))
    assert state.losses.dtype == dtype
    assert state.schedule.rate.dtype == dtype


def test_statistics_are_those_of_the_final_weights_on_the_whole_training_set():
    data = problem()
    state = trained(data, Training(max_epochs=3, batch_size=10, patience=100))
    found = predictions(state, data.X)
    state.network.train()
    torch.testing.assert_close(found, state.network(data.X).detach(), rtol=1e-12, atol=1e-12)


def test_one_ensemble_without_an_axis_is_trained_like_one_with():
    data, training = problem(LAMS[1:2]), Training(max_epochs=5, batch_size=None)
    expected = trained(data, training)
    single = EnsembleMLP(D, (5, 4), 1, n_members=M, dtype=torch.float64)
    single.load_state_dict(network(data).state_dict())
    state = TrainingState.start(single, torch.tensor([RATE], dtype=torch.float64), training, SEED)
    train(state, data, training)
    assert torch.equal(single.theta, expected.network.theta)
    assert torch.equal(predictions(state, data.X), predictions(expected, data.X)[0])


def test_lam_of_another_number_of_ensembles_is_an_error():
    training = Training(max_epochs=1, batch_size=None)
    state = started(problem(), training)
    with pytest.raises(ValueError, match="do not fit lam"):
        train(state, dataclasses.replace(problem(), lam=LAMS[:2]), training)


def test_unknown_optimiser_is_an_error():
    with pytest.raises(ValueError, match="'newton' is unknown"):
        started(problem(), Training(optimiser="newton"))


def test_no_epoch_leaves_the_weights_and_calibrates():
    data, training = problem(), Training(max_epochs=0, batch_size=None)
    state = trained(data, training)
    assert torch.equal(state.network.theta, network(data).theta)
    assert state.diverged.tolist() == [False] * 3
    assert predictions(state, data.X).isfinite().all()


# ---------------------------------------------------------------------------------------
# Learning rates, early stopping, divergence
# ---------------------------------------------------------------------------------------


def test_rates_are_halved_by_the_losses_that_are_recorded():
    data, training = problem(), Training(max_epochs=60, patience=2, batch_size=None)
    state = trained(data, training, rate=1.0)
    expected = Schedule.start(torch.ones(3, dtype=torch.float64))
    for loss in state.losses:
        expected.see(loss, 2)
    assert (expected.rate < 1.0).any()
    for name, value in tensors_of(state.schedule).items():
        assert torch.equal(value, tensors_of(expected)[name]), name


def test_early_stopping_freezes_an_ensemble_and_no_other(monkeypatch):
    monkeypatch.setattr(module, "CHECK_EVERY", 1)
    data = problem(LAMS[:2])
    training = Training(max_epochs=40, patience=1000, early_stopping=3, batch_size=None)
    rates = torch.tensor([1e-4, 2.0], dtype=torch.float64)
    state = started(data, training, rates, batch_norm=False)
    thetas = []

    def record(now):
        thetas.append(now.network.theta.detach().clone().unflatten(0, (2, M)))
        return False

    train(state, data, training, record)
    losses = state.losses[:, 1].tolist()
    lowest, stop, waited = float("inf"), None, 0
    for epoch, loss in enumerate(losses):
        waited = 0 if loss < lowest else waited + 1
        lowest = min(lowest, loss)
        if waited == 3:
            stop = epoch
            break
    assert stop is not None
    assert stop < 30
    assert state.schedule.rate.tolist() == [1e-4, 0.0]
    for epoch in range(1, 40):
        still = [torch.equal(thetas[epoch][e], thetas[epoch - 1][e]) for e in range(2)]
        assert still == [False, epoch > stop]
    assert state.epoch == 40


@pytest.mark.parametrize("kwargs", [{"rate": 0.0}, {"rate": 2.0, "early_stopping": 3}])
def test_training_ends_at_a_look_once_all_ensembles_are_left_as_they_are(kwargs):
    training = Training(
        max_epochs=500, early_stopping=kwargs.get("early_stopping"), batch_size=None
    )
    state = trained(problem(), training, kwargs["rate"], batch_norm=False)
    assert state.schedule.rate.tolist() == [0.0] * 3
    assert state.epoch % CHECK_EVERY == 0
    assert state.epoch < 500
    assert not state.diverged.any()


WILD = Training(max_epochs=130, optimiser="sgd", batch_size=None)


def test_a_training_that_diverged_ends_at_the_next_look_and_says_so():
    state = trained(problem(), WILD, rate=1e30, batch_norm=False, activation="relu")
    assert state.epoch == CHECK_EVERY
    assert state.diverged.tolist() == [True] * 3


@pytest.mark.parametrize("batch_norm", [True, False])
def test_an_ensemble_that_diverged_neither_stops_nor_changes_the_others(batch_norm):
    data = problem()
    kwargs = {"batch_norm": batch_norm, "activation": "relu"}
    rates = torch.tensor([1e200, 0.01, 0.02], dtype=torch.float64)
    together = trained(data, WILD, rates, **kwargs)
    assert together.diverged.tolist() == [True, False, False]
    assert together.epoch == WILD.max_epochs
    alone = trained(dataclasses.replace(data, lam=LAMS[1:]), WILD, rates[1:], **kwargs)
    expected = predictions(alone, data.X)
    assert expected.isfinite().all()
    found = predictions(together, data.X)[1:]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_weights_that_are_not_finite_have_diverged_whatever_the_loss_was():
    training = Training(max_epochs=3, batch_size=None)
    state = started(problem(), training)
    with torch.no_grad():
        state.network.theta[M, 2] = torch.inf
    assert state.diverged.tolist() == [False, True, False]
    train(state, problem(), dataclasses.replace(training, max_epochs=1))
    assert state.diverged.tolist() == [False, True, False]
    with torch.no_grad():
        state.network.theta[2 * M :] = torch.nan
    assert state.losses[0, 2].isfinite()
    assert state.diverged.tolist() == [False, True, True]


def test_a_loss_that_is_not_finite_has_diverged_whatever_the_weights_are():
    # Targets of 10²⁰⁰ are finite, and their squares are not.
    data = dataclasses.replace(problem(), Y=1e200 * problem().Y)
    state = trained(data, Training(max_epochs=1, batch_size=None), rate=0.0)
    assert state.network.theta.isfinite().all()
    assert not state.losses[0].isfinite().any()
    assert state.diverged.tolist() == [True] * 3


def test_a_training_is_over_when_all_ensembles_diverged_or_were_left_as_they_are():
    state = started(problem(), Training(max_epochs=1, batch_size=None))
    assert not state.over
    state.schedule.rate[0] = 0.0
    with torch.no_grad():
        state.network.theta[M : 2 * M] = torch.nan
    assert not state.over
    state.schedule.rate[2] = 0.0
    assert state.over


def test_nothing_has_diverged_before_or_after_a_tame_training():
    training = Training(max_epochs=3, batch_size=None)
    state = started(problem(), training)
    assert state.diverged.tolist() == [False] * 3
    train(state, problem(), training)
    assert state.diverged.tolist() == [False] * 3


def test_large_losses_of_double_precision_are_no_divergence():
    data = dataclasses.replace(problem(), Y=1e25 * problem().Y)
    state = trained(data, Training(max_epochs=2, batch_size=None))
    assert state.losses.min() > 1e39
    assert not state.diverged.any()


def test_defaults_are_adam_in_batches_without_penalties():
    training = Training()
    assert (training.optimiser, training.patience, training.batch_size) == ("adam", "auto", "auto")
    assert (training.early_stopping, training.weight_decay, training.clip) == (None, 0.0, None)


@pytest.mark.parametrize(
    ("given", "n", "size"),
    [("auto", 40, 32), ("auto", 3200, 100), ("auto", 10**6, 200), (None, 40, 40), (7, 40, 7)],
)
def test_rows_of_a_step_follow_the_number_of_rows(given, n, size):
    assert Training(batch_size=given).rows_per_step(n) == size


def test_a_step_has_no_more_rows_than_there_are():
    assert Training().rows_per_step(20) == Training(batch_size=50).rows_per_step(20) == 20


@pytest.mark.parametrize(
    ("given", "batch_size", "patience"),
    [("auto", None, 100), ("auto", N, 100), ("auto", 8, 10), (7, None, 7), (np.int64(7), 8, 7)],
)
def test_patience_is_the_papers_for_full_batches(given, batch_size, patience):
    assert Training(batch_size=batch_size, patience=given).patience_for(N) == patience


def test_what_is_left_to_the_rows_is_filled_in_by_the_loop():
    auto = everything_in(trained(problem(), Training(max_epochs=30), 0.5))
    given = Training(max_epochs=30, batch_size=32, patience=10)
    assert_same_bits(auto, everything_in(trained(problem(), given, 0.5)))


def test_it_has_parameters_as_estimators_have():
    training = Training(max_epochs=7, clip=2.0)
    assert clone(training) == training
    assert clone(training) is not training
    assert training.set_params(max_epochs=8).get_params() == vars(Training(8, clip=2.0))
    assert repr(training) == "Training(clip=2.0, max_epochs=8)"


def test_training_may_go_on_beyond_its_first_number_of_epochs():
    X, Y = torch.randn(8, 2), torch.randn(8, 1)
    problem = Problem(X, Y, torch.tensor([0.5]))
    ends = []
    for stages in ((3, 7), (7,)):
        network = EnsembleMLP(2, (3,), n_members=2, n_ensembles=1)
        initialise(network, X, seed=0)
        state = TrainingState.start(
            network, torch.tensor([0.01]), Training(max_epochs=stages[0], batch_size=None), 0
        )
        for epochs in stages:
            train(state, problem, Training(max_epochs=epochs, batch_size=None))
        ends.append((network.theta.detach().clone(), state.losses))
    assert torch.equal(ends[0][0], ends[1][0])
    assert torch.equal(ends[0][1], ends[1][1])


def test_epochs_beyond_the_first_number_have_no_loss_until_they_are_done():
    data, training = problem(), Training(max_epochs=3, batch_size=None)
    state = trained(data, training)
    first = state.losses.clone()
    training = Training(max_epochs=120, batch_size=None)
    train(state, data, training, after_epochs=lambda t: True)
    assert state.losses.shape == (120, 3)
    assert torch.equal(state.losses[:3], first)
    assert state.losses[3 : state.epoch].isfinite().all()
    assert state.epoch == CHECK_EVERY
    assert state.losses[CHECK_EVERY:].isnan().all()


@pytest.mark.parametrize(
    ("X", "Y", "lam", "message"),
    [
        ((5, 2), (6, 1), (1,), "X has 5 rows and Y 6"),
        ((5, 2), (5,), (1,), r"must have the shapes \(n, d\) and \(n, p\)"),
        ((5,), (5, 1), (1,), r"must have the shapes \(n, d\) and \(n, p\)"),
        ((5, 2), (5, 1), (), r"lam must have the shape \(E,\)"),
    ],
)
def test_problems_whose_parts_do_not_fit_are_refused(X, Y, lam, message):
    with pytest.raises(ValueError, match=message):
        Problem(torch.zeros(X), torch.zeros(Y), torch.zeros(lam))
