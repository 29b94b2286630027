"""A grid of λ with perturbed copies against single trainings; checkpoints and divergence."""

import dataclasses
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from negcorr.deep import checkpoint as checkpoint_module
from negcorr.deep import grid as module
from negcorr.deep.checkpoint import Checkpoint, read_tensors, state_of
from negcorr.deep.grid import fit_grid
from negcorr.deep.settings import Settings
from negcorr.deep.sure import lam_table
from negcorr.deep.training import loop as training_module
from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.networks import Architecture
from negcorr.deep.training.perturbed_copies import draw_probes
from negcorr.exceptions import DivergenceError, DivergenceWarning

N, LAMS, K, EPS, SEED, RATE = 20, (0.0, 0.6, 1.0), 2, 0.1, 5, 0.02
SHAPE = Architecture((4, 3), n_members=3)
TRAINING = Training(max_epochs=24, batch_size=8, patience=100)


def data(outputs=1, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(N, 2, generator=generator, dtype=torch.float64)
    noise = torch.randn(N, outputs, generator=generator, dtype=torch.float64)
    Y = torch.sin(X[:, :1]) + 0.3 * noise
    Y = (Y - Y.mean(dim=0)) / Y.std(dim=0, correction=0)
    return X.to(dtype), Y.to(dtype)


def fitted_grid(X, Y, lams=LAMS, rate=RATE, training=TRAINING, shape=SHAPE, n_probes=K, **kwargs):
    settings = Settings(
        architecture=shape,
        training=training,
        lams=lams,
        rate=rate,
        n_probes=n_probes,
        eps=EPS,
        noise_variance=None,
        criterion="sure",
        device=X.device,
        dtype=X.dtype,
    )
    return fit_grid(settings, X, Y, rate, SEED, **kwargs)


def alone(X, Y, lam, start=None):
    """The average over members of one ensemble that is trained for itself."""
    network = SHAPE.started(X, Y.shape[1], 1, SEED)
    if start is not None:
        network.theta.data.copy_(start)
    rate = torch.tensor([RATE], dtype=torch.float64)
    problem = Problem(X, Y, torch.tensor([lam], dtype=torch.float64))
    train(TrainingState.start(network, rate, TRAINING, SEED), problem, TRAINING)
    network.eval()
    with torch.no_grad():
        return network(X)[0].mean(dim=0)


@pytest.fixture
def check_often(monkeypatch):
    """A check after every other epoch."""
    monkeypatch.setattr(training_module, "CHECK_EVERY", 5)


# ---------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_grid_is_one_training_after_another_that_standardises_what_it_is_given(outputs):
    X, Y = data(outputs)
    found = fitted_grid(X, Y)
    assert found.dof.values.shape == (3, K, outputs)
    probes = draw_probes(K, N, outputs, SEED)
    for g, lam in enumerate(LAMS):
        plain = alone(X, Y, lam)
        np.testing.assert_allclose(found.train_error[g], ((plain - Y) ** 2).mean(dim=0), rtol=1e-10)
        for k, b in enumerate(probes):
            moved = Y + EPS * b
            mean, spread = moved.mean(dim=0), moved.std(dim=0, correction=0)
            answer = alone(X, (moved - mean) / spread, lam) * spread + mean
            value = (b * (answer - plain)).sum(dim=0) / EPS
            np.testing.assert_allclose(found.dof.values[g, k], value, rtol=1e-7)
            np.testing.assert_allclose(found.copy_scaling.centre[k, 0], mean, atol=1e-12)
            np.testing.assert_allclose(found.copy_scaling.scale[k, 0], spread, rtol=1e-12)
    assert (found.dof.dof > 0.5).all()


def test_single_precision_comes_near_to_double():
    found, exact = fitted_grid(*data(dtype=torch.float32)), fitted_grid(*data())
    assert found.state.network.theta.dtype == torch.float32
    np.testing.assert_allclose(found.train_error, exact.train_error, rtol=1e-4)
    np.testing.assert_allclose(found.dof.dof, exact.dof.dof, rtol=1e-3)
    assert found.train_error.dtype == found.dof.dof.dtype == np.float64


def test_the_rate_of_double_precision_is_not_rounded():
    found = fitted_grid(*data(), training=Training(max_epochs=1, batch_size=None))
    assert found.state.schedule.rate.tolist() == [RATE] * 9


def test_without_probes_there_are_errors_and_no_degrees_of_freedom():
    found = fitted_grid(*data(), n_probes=0)
    np.testing.assert_allclose(found.train_error, fitted_grid(*data()).train_error, rtol=1e-10)
    assert np.isnan(found.dof.dof).all()
    assert found.network(1).n_rows == 3


def test_weights_to_start_from_are_those_of_every_ensemble():
    X, Y = data()
    start = SHAPE.started(X, 1, None, seed=99).theta.detach()
    found = fitted_grid(X, Y, training=Training(max_epochs=0, batch_size=None), start=start)
    assert torch.equal(found.state.network.theta, start.repeat(9, 1))


def test_weights_to_start_from_keep_the_scale_of_their_targets():
    X, Y = data()
    start = SHAPE.started(X, 1, None, seed=99).theta.detach()
    Y = 2.0 * Y + 0.5  # new rows in the scale of old ones
    found = fitted_grid(X, Y, lams=(0.6,), start=start)
    plain = alone(X, Y, 0.6, start)
    np.testing.assert_allclose(found.train_error[0], ((plain - Y) ** 2).mean(dim=0), rtol=1e-10)
    for k, b in enumerate(draw_probes(K, N, 1, SEED)):
        value = (b * (alone(X, Y + EPS * b, 0.6, start) - plain)).sum(dim=0) / EPS
        np.testing.assert_allclose(found.dof.values[0, k], value, rtol=1e-7)
    assert (found.copy_scaling.centre == 0).all()
    assert (found.copy_scaling.scale == 1).all()


def test_picked_ensembles_are_copies_of_the_ones_that_were_asked_for():
    X, Y = data(outputs=2)
    network = fitted_grid(X, Y).state.network
    with torch.no_grad():
        expected = network.eval()(X)
    found = network.pick([4, 0])
    assert not found.training
    assert found.n_ensembles == 2
    with torch.no_grad():
        torch.testing.assert_close(found(X), expected[[4, 0]], rtol=1e-13, atol=1e-13)
        found.theta.zero_()
        found.statistics.zero_()
        assert torch.equal(network(X), expected)


def test_network_of_a_lam_has_its_ensemble_and_then_its_copies():
    X, Y = data()
    found = fitted_grid(X, Y)
    with torch.no_grad():
        expected = found.state.network.eval()(X)
        for g in range(3):
            group = found.network(g)
            assert group.n_ensembles == 1 + K
            torch.testing.assert_close(
                group(X), expected[3 * g : 3 * g + 3], rtol=1e-13, atol=1e-13
            )


# ---------------------------------------------------------------------------------------
# Checkpoints
# ---------------------------------------------------------------------------------------


class KilledError(Exception):
    """Stands for the end of a process."""


def killed_at(look):
    """An ``advance`` that ends everything when the losses are looked at for this time."""
    seen = []

    def advance():
        seen.append(None)
        if len(seen) == look:
            raise KilledError

    return advance


def same(left, right):
    for name, value in state_of(left.state).items():
        other = state_of(right.state)[name]
        assert torch.equal(value.nan_to_num(-7.0), other.nan_to_num(-7.0)), name
    assert (left.train_error == right.train_error).all()
    assert (left.dof.values == right.dof.values).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kills", [[2], [7], [3, 4], [12]])
def test_a_grid_that_was_killed_ends_with_the_bits_of_one_that_was_not(
    tmp_path, monkeypatch, check_often, dtype, kills
):
    monkeypatch.setattr(module, "CHECKPOINT_SECONDS", 0.0)
    X, Y = data(dtype=dtype)
    training = dataclasses.replace(TRAINING, patience=2)
    path, tensors, epoch = tmp_path / "kept", None, 0
    for look in kills:
        kept = Checkpoint(path, {"of": "this"}, tensors)
        with pytest.raises(KilledError):
            fitted_grid(X, Y, training=training, checkpoint=kept, advance=killed_at(look))
        tensors, about = read_tensors(path)
        # The look at which it was killed is not in it.
        epoch += 2 * (look - 1)
        assert int(tensors["epoch"]) == epoch
        assert about == {"of": "this"}
    found = fitted_grid(X, Y, training=training, checkpoint=Checkpoint(path, {}, tensors))
    same(found, fitted_grid(X, Y, training=training))


def test_a_checkpoint_of_the_end_is_the_end(tmp_path):
    X, Y = data()
    path = tmp_path / "kept"
    first = fitted_grid(X, Y, checkpoint=Checkpoint(path, {"of": "this"}))
    tensors, about = read_tensors(path)
    assert about == {"of": "this"}
    for name, value in state_of(first.state).items():
        assert torch.equal(tensors[name], value), name
    again = fitted_grid(X, Y, checkpoint=Checkpoint(path, about, tensors), advance=killed_at(1))
    same(again, first)


def test_a_training_that_was_stopped_early_is_not_continued(tmp_path, check_often):
    X, Y = data()
    training = dataclasses.replace(TRAINING, max_epochs=300, early_stopping=2)
    kept = Checkpoint(tmp_path / "kept", {})
    first = fitted_grid(X, Y, rate=0.5, training=training, checkpoint=kept)
    assert first.state.epoch < 300
    assert first.state.schedule.rate.tolist() == [0.0] * 9
    tensors, _ = read_tensors(kept.path)
    tensors["statistics"].fill_(-1.0)  # as they are while a training lasts
    kept = dataclasses.replace(kept, tensors=tensors)
    again = fitted_grid(X, Y, rate=0.5, training=training, checkpoint=kept, advance=killed_at(1))
    same(again, first)


def test_checkpoints_are_seconds_apart_and_the_last_is_of_the_end(
    tmp_path, monkeypatch, check_often
):
    clock, epochs = [0.0], []
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(
        checkpoint_module,
        "write_tensors",
        lambda path, state, about: epochs.append(int(state["epoch"])),
    )

    def advance():
        clock[0] += 2.0

    fitted_grid(*data(), checkpoint=Checkpoint(tmp_path / "kept", {}), advance=advance)
    # Looks at epochs 2, 4, 6, … are at seconds 2, 4, 6, …: more than five later is every third.
    assert epochs == [0, 6, 12, 18, 24, 24]


def test_without_a_checkpoint_nothing_is_written(monkeypatch, check_often):
    monkeypatch.setattr(module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint_module, "write_tensors", None)
    assert np.isfinite(fitted_grid(*data()).train_error).all()


# ---------------------------------------------------------------------------------------
# Divergence
# ---------------------------------------------------------------------------------------


def wild(batch_norm=True, max_epochs=60):
    """An architecture, a training and a rate with which weights grow until they overflow."""
    shape = dataclasses.replace(SHAPE, activation="relu", batch_norm=batch_norm)
    return {
        "shape": shape,
        "training": Training(max_epochs=max_epochs, optimiser="sgd", batch_size=None),
        "rate": 1e30,
    }


def test_divergence_at_every_lam_is_an_error_that_says_where(monkeypatch):
    monkeypatch.setattr(training_module, "CHECK_EVERY", 1)
    X, Y = data(dtype=torch.float32)
    kwargs = wild(batch_norm=False)
    with pytest.raises(DivergenceError, match=r"learning_rate=1e\+30 and lam=0, 0.6, 1\.") as info:
        fitted_grid(X, Y, **kwargs)
    losses = []
    for lam in LAMS:
        network = kwargs["shape"].started(X, 1, 1, SEED)
        state = TrainingState.start(network, torch.tensor([1e30]), kwargs["training"], SEED)
        train(state, Problem(X, Y, torch.tensor([lam])), kwargs["training"])
        losses.append(state.losses[:, 0].isfinite().tolist().index(False) + 1)
    assert info.value.epoch == min(losses)
    assert info.value.learning_rate == 1e30
    assert f"not finite in epoch {min(losses)}," in str(info.value)


@pytest.mark.parametrize("batch_norm", [True, False])
def test_the_error_has_the_network_as_it_was_when_last_seen_to_be_finite(monkeypatch, batch_norm):
    monkeypatch.setattr(training_module, "CHECK_EVERY", 1)
    X, Y = data(dtype=torch.float32)
    kwargs = {**wild(batch_norm), "rate": 1e3}
    with pytest.raises(DivergenceError) as info:
        fitted_grid(X, Y, **kwargs)
    good = int(str(info.value).rstrip(".").rpartition(" ")[2])
    assert 0 < good < info.value.epoch
    training = dataclasses.replace(kwargs["training"], max_epochs=good)
    expected = fitted_grid(X, Y, **{**kwargs, "training": training}).state.network
    found = info.value.network
    assert torch.equal(found.theta, expected.theta)
    assert torch.equal(found.statistics, expected.statistics)
    assert found.theta.isfinite().all()


def test_weights_that_overflow_in_the_last_step_are_an_error_too():
    X, Y = data(dtype=torch.float32)
    kwargs = {**wild(batch_norm=False, max_epochs=1), "rate": 1e39}
    with pytest.raises(DivergenceError) as info:
        fitted_grid(X, Y, **kwargs)
    assert info.value.epoch == 1


def test_a_grid_that_diverged_leaves_the_checkpoint_of_its_start(tmp_path):
    kept = Checkpoint(tmp_path / "kept", {})
    with pytest.raises(DivergenceError):
        fitted_grid(*data(dtype=torch.float32), checkpoint=kept, **wild(batch_norm=False))
    assert int(read_tensors(kept.path)[0]["epoch"]) == 0


@pytest.fixture
def poison(monkeypatch):
    """Lose the weights of these ensembles before training."""

    def lose(*ensembles):
        def lost(state, *args):
            for e in ensembles:
                state.network.theta.data[3 * e] = torch.nan
            return train(state, *args)

        monkeypatch.setattr(module, "train", lost)

    return lose


def test_divergence_at_some_lams_is_a_warning_and_they_are_not_chosen(poison):
    X, Y = data()
    whole = fitted_grid(X, Y)
    poison(3)
    with pytest.warns(DivergenceWarning, match=r"diverged at lam=0\.6 with learning_rate=0\.02"):
        found = fitted_grid(X, Y)
    assert np.isnan(found.train_error).ravel().tolist() == [False, True, False]
    assert np.isnan(found.dof.dof).ravel().tolist() == [False, True, False]
    for name in ("train_error", "dof"):
        left, right = getattr(found, name), getattr(whole, name)
        left, right = (getattr(part, "dof", part) for part in (left, right))
        np.testing.assert_allclose(left[[0, 2]], right[[0, 2]], rtol=1e-10)
    for criterion in ("sure", "gcv"):
        table = lam_table(found, X.numpy(), Y.numpy(), np.array([0.1]), criterion)
        assert table.chosen != 1


def test_an_infinite_loss_is_divergence_however_finite_predictions_are(monkeypatch):
    def lost(state, *args):
        train(state, *args)
        state.losses[state.epoch - 1, 0] = torch.inf
        return state

    monkeypatch.setattr(module, "train", lost)
    with pytest.warns(DivergenceWarning, match="lam=0 "):
        found = fitted_grid(*data())
    assert np.isnan(found.train_error).ravel().tolist() == [True, False, False]
    assert np.isnan(found.dof.values[0]).all()
    assert np.isfinite(found.dof.values[1:]).all()


def test_predictions_that_overflow_are_none(monkeypatch):
    def lost(state, *args):
        train(state, *args)
        state.network.theta.data[:3] *= 1e200
        return state

    monkeypatch.setattr(module, "train", lost)
    shape = dataclasses.replace(SHAPE, activation="relu", batch_norm=False)
    found = fitted_grid(*data(), shape=shape)
    assert np.isnan(found.train_error).ravel().tolist() == [True, False, False]
    assert np.isfinite(found.dof.dof).ravel().tolist() == [False, True, True]


def test_divergence_of_copies_alone_is_a_warning_of_degrees_of_freedom(poison):
    poison(1, 8)
    with pytest.warns(DivergenceWarning, match=r"lam=0, 1 .* degrees of freedom are not known"):
        found = fitted_grid(*data())
    assert np.isfinite(found.train_error).all()
    assert np.isnan(found.dof.dof).ravel().tolist() == [True, False, True]
    assert np.isfinite(found.dof.values[0, 1]).all()


def test_nothing_is_said_where_nothing_diverged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted_grid(*data())
