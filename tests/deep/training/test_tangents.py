"""Tangents against differences of whole trainings, and against matrices where fits are linear."""

import dataclasses
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from negcorr.deep.training.loop import (
    Problem,
    Training,
    TrainingState,
    _batches,
    train,
)
from negcorr.deep.training.networks import EnsembleMLP, initialise
from negcorr.deep.training.perturbed_copies import PerturbedCopies, draw_probes
from negcorr.deep.training.tangents import Tangents, train_with_tangents
from negcorr.exceptions import ChaoticTrainingWarning

D, M, SEED = 3, 5, 2
LAMS = torch.tensor([0.0, 0.6, 1.0], dtype=torch.float64)
SMOOTH = [
    pytest.param(Training(30, optimiser="sgd", batch_size=None), 0.1, id="sgd"),
    pytest.param(
        Training(20, batch_size=10, optimiser="sgd", clip=0.2, weight_decay=0.05, patience=2),
        0.1,
        id="sgd-batches-clip-decay",
    ),
    pytest.param(Training(30, patience=5, batch_size=None), 0.02, id="adam"),
    pytest.param(
        Training(15, batch_size=8, clip=0.3, weight_decay=0.01, early_stopping=7, patience=100),
        0.01,
        id="adam-batches-clip-decay",
    ),
]


def data(outputs=1, n=25, lams=LAMS, own=False, dtype=torch.float64):
    """Inputs and targets, shared by all ensembles or each its own."""
    generator = torch.Generator().manual_seed(0)
    before = (len(lams),) if own else ()
    X = torch.randn(*before, n, D, generator=generator, dtype=torch.float64)
    noise = torch.randn(*before, n, outputs, generator=generator, dtype=torch.float64)
    return Problem(X.to(dtype), (torch.sin(X[..., :1]) + 0.3 * noise).to(dtype), lams)


def started(problem, training, rate, hidden=(4, 3), **kwargs):
    network = EnsembleMLP(
        D,
        hidden,
        problem.Y.shape[-1],
        n_members=M,
        n_ensembles=len(problem.lam),
        dtype=problem.X.dtype,
        **kwargs,
    )
    initialise(network, problem.X, seed=1)
    rates = torch.as_tensor(rate, dtype=torch.float64).expand(len(problem.lam))
    return TrainingState.start(network, rates, training, SEED)


def carried(problem, training, rate, probes, **kwargs):
    return train_with_tangents(
        started(problem, training, rate, **kwargs), problem, training, probes
    )


def fitted(problem, training, rate, **kwargs):
    """Averages over members of a training without tangents, on statistics of the training set."""
    network = train(started(problem, training, rate, **kwargs), problem, training).network.eval()
    with torch.no_grad():
        return network(problem.X).mean(dim=1)


def differences(problem, training, rate, probes, step=1e-6, **kwargs):
    """Images of probes from whole trainings on targets moved both ways, shape (E, K, n, p)."""
    images = []
    for b in probes.to(problem.Y):
        up, down = (dataclasses.replace(problem, Y=problem.Y + s * b) for s in (step, -step))
        ends = [fitted(moved, training, rate, **kwargs) for moved in (up, down)]
        images.append((ends[0] - ends[1]) / (2 * step))
    return torch.stack(images, dim=1)


def assert_near(found, expected, tolerance=1e-5):
    assert (found - expected).abs().max() < tolerance * expected.abs().max()


# ---------------------------------------------------------------------------------------
# The training itself
# ---------------------------------------------------------------------------------------


def everything_in(state):
    parts = {"steps": state.steps, "schedule": state.schedule}
    tensors = {
        f"{part}.{name}": value
        for part, holder in parts.items()
        for name, value in vars(holder).items()
        if torch.is_tensor(value)
    }
    network = state.network
    tensors |= {"theta": network.theta.detach(), "statistics": network.statistics}
    return tensors | {"losses": state.losses, "epoch": torch.tensor(state.epoch)}


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize(("training", "rate"), SMOOTH)
def test_weights_and_losses_are_those_of_a_training_without_tangents(training, rate, batch_norm):
    problem = data()
    probes = draw_probes(2, problem.n_samples, 1, seed=0)
    state = started(problem, training, rate, batch_norm=batch_norm)
    train_with_tangents(state, problem, training, probes)
    expected = train(started(problem, training, rate, batch_norm=batch_norm), problem, training)
    for name, value in everything_in(expected).items():
        torch.testing.assert_close(
            everything_in(state)[name], value, rtol=1e-12, atol=1e-12, equal_nan=True, msg=name
        )


def test_training_ends_early_where_it_ends_early_without_tangents():
    problem = data(lams=LAMS[:1])
    training = Training(max_epochs=200, patience=2, early_stopping=3, batch_size=None)
    probes = draw_probes(1, problem.n_samples, 1, seed=0)
    state = started(problem, training, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChaoticTrainingWarning)
        train_with_tangents(state, problem, training, probes)
    assert state.epoch == train(started(problem, training, 1.0), problem, training).epoch < 200


# ---------------------------------------------------------------------------------------
# Derivatives
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kwargs", [{}, {"batch_norm": False}, {"activation": "gelu"}], ids=str)
@pytest.mark.parametrize(("training", "rate"), SMOOTH)
def test_tangents_are_the_limit_of_differences_of_whole_trainings(training, rate, kwargs):
    problem = data(outputs=2)
    probes = draw_probes(2, problem.n_samples, 2, seed=3)
    found = carried(problem, training, rate, probes, **kwargs)
    assert found.images.shape == (3, 2, problem.n_samples, 2)
    assert_near(found.images, differences(problem, training, rate, probes, **kwargs))


@pytest.mark.parametrize(("training", "rate"), SMOOTH[::2])
def test_networks_with_kinks_have_tangents_between_them(training, rate):
    problem = data()
    probes = draw_probes(2, problem.n_samples, 1, seed=3)
    found = carried(problem, training, rate, probes, activation="relu")
    expected = differences(problem, training, rate, probes, step=1e-7, activation="relu")
    assert_near(found.images, expected)


def test_ensembles_may_have_inputs_and_targets_of_their_own():
    problem, training = data(own=True), Training(max_epochs=15, batch_size=9, patience=100)
    probes = draw_probes(2, problem.n_samples, 1, seed=3)
    found = carried(problem, training, 0.01, probes)
    assert_near(found.images, differences(problem, training, 0.01, probes))


def test_images_are_linear_in_the_probe():
    problem, training = data(), Training(max_epochs=25, batch_size=10, patience=100)
    one, other = torch.from_numpy(np.random.default_rng(1).normal(size=(2, 25, 1)))
    images = carried(problem, training, 0.02, torch.stack([one, other, 2 * one - 3 * other])).images
    assert_near(images[:, 2], 2.0 * images[:, 0] - 3.0 * images[:, 1], 1e-12)


def test_the_estimate_is_that_of_perturbed_copies_with_a_small_step():
    problem, training, eps = data(outputs=2), Training(max_epochs=30, batch_size=None), 1e-6
    probes = draw_probes(3, problem.n_samples, 2, seed=3)
    found = carried(problem, training, 0.02, probes).dof()
    copies = PerturbedCopies(LAMS, probes, eps)
    expected = copies.dof(fitted(copies.problem(problem.X, problem.Y), training, 0.02))
    for name in ("dof", "std_error", "values"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-4)


def test_single_precision_is_near_double():
    training = Training(max_epochs=30, batch_size=None)
    probes = draw_probes(2, 25, 1, seed=0)
    single, double = (
        carried(data(dtype=dtype), training, 0.005, probes).dof()
        for dtype in (torch.float32, torch.float64)
    )
    np.testing.assert_allclose(single.dof, double.dof, rtol=1e-3)


def test_targets_may_have_less_precision_than_networks_and_probes():
    training, probes = Training(max_epochs=5, batch_size=None), draw_probes(2, 25, 1, seed=0)
    exact = data()
    rounded = dataclasses.replace(exact, Y=exact.Y.float())
    found, expected = (
        carried(problem, training, 0.01, probes).images for problem in (rounded, exact)
    )
    assert_near(found, expected, 1e-5)


def test_a_probe_of_zeros_has_no_answer():
    found = carried(data(), Training(max_epochs=5, batch_size=None), 0.01, torch.zeros(2, 25, 1))
    assert (found.images == 0).all()
    assert (found.responses == 0).all()


# ---------------------------------------------------------------------------------------
# Networks without hidden layers, whose fit is linear in the targets
# ---------------------------------------------------------------------------------------


def every_direction(n):
    return torch.eye(n, dtype=torch.float64).unsqueeze(2)


@pytest.mark.parametrize("epochs", [1, 7, 60])
def test_gradient_descent_on_linear_members_has_its_trace(epochs):
    # The average of members moves by ∂L/∂F alone, which λ is not in.
    problem, rate = data(), 2.0
    training = Training(max_epochs=epochs, optimiser="sgd", batch_size=None)
    found = carried(problem, training, rate, every_direction(25), hidden=()).dof()
    A = np.column_stack([problem.X.numpy(), np.ones(25)])
    kept = 1.0 - rate * 2.0 / (M * 25) * np.linalg.eigvalsh(A.T @ A)
    np.testing.assert_allclose(found.values.sum(axis=1)[:, 0], np.sum(1.0 - kept**epochs))


def test_decay_and_batches_on_linear_members_are_products_of_matrices():
    n, rate, decay = 25, 0.5, 0.1
    problem = data(n=n)
    training = Training(
        max_epochs=4, batch_size=8, optimiser="sgd", weight_decay=decay, patience=100
    )
    found = carried(problem, training, rate, every_direction(n), hidden=())
    A = torch.cat([problem.X, torch.ones(n, 1, dtype=torch.float64)], dim=1)
    answer = torch.zeros(D + 1, n, dtype=torch.float64)
    for epoch in range(4):
        for batch in _batches(n, 8, SEED, epoch, torch.device("cpu")):
            residual = A[batch] @ answer - torch.eye(n, dtype=torch.float64)[batch]
            answer -= rate * (2.0 / (M * len(batch)) * A[batch].T @ residual + decay * answer)
    for images in found.images:
        torch.testing.assert_close(images[..., 0].T, A @ answer, rtol=0, atol=1e-13)


# ---------------------------------------------------------------------------------------
# Gradients that are exactly zero
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [None, 0.5])
def test_weights_without_a_gradient_have_finite_tangents(clip):
    problem, training = data(), Training(max_epochs=20, clip=clip, batch_size=None)
    X = problem.X.clone()
    X[:, 1] = 0.0  # its weights get no gradient at all
    problem = dataclasses.replace(problem, X=X)
    probes = draw_probes(2, 25, 1, seed=0)
    state = started(problem, training, 0.02)
    found = train_with_tangents(state, problem, training, probes)
    assert (state.steps.second == 0).any()
    assert_near(found.images, differences(problem, training, 0.02, probes))


def test_at_a_gradient_of_zero_adam_divides_by_its_epsilon():
    # All weights and targets 0: whatever moves is smaller than 10⁻⁸ for a step of 10⁻¹⁴.
    problem, training, rate = data(), Training(max_epochs=1, batch_size=None), 1e-9
    problem = dataclasses.replace(problem, Y=torch.zeros_like(problem.Y))
    probes = draw_probes(1, 25, 1, seed=0)
    images = []
    for Y in (problem.Y, 1e-14 * probes[0]):
        moved = dataclasses.replace(problem, Y=Y)
        state = started(moved, training, rate, hidden=())
        state.network.theta.data.zero_()
        if Y is problem.Y:
            found = train_with_tangents(state, problem, training, probes).images[:, 0]
        else:
            train(state, moved, training)
            images.append(state.network.eval()(problem.X).detach().mean(dim=1) / 1e-14)
    assert found.abs().min() > 0
    assert_near(found, images[0], 1e-4)


# ---------------------------------------------------------------------------------------
# Chaos
# ---------------------------------------------------------------------------------------


def test_chaotic_training_is_told_and_a_finite_step_is_not_fooled():
    problem, training = data(n=30, lams=LAMS[:2]), Training(max_epochs=200, batch_size=None)
    probes = draw_probes(4, 30, 1, seed=0)
    with pytest.warns(
        ChaoticTrainingWarning, match=r"2 of 2 values of λ.* Use PerturbedCopies with a step"
    ):
        found = carried(problem, training, 0.1, probes, hidden=(5, 5, 5))
    assert (found.responses.amax(dim=1) > 1e4).all()
    copies = PerturbedCopies(problem.lam, probes, eps=0.3)
    moved = copies.problem(problem.X, problem.Y)
    by_copies = copies.dof(fitted(moved, training, 0.1, hidden=(5, 5, 5)))
    assert ((by_copies.dof > 20) & (by_copies.dof < 32)).all()
    calm = carried(
        problem, Training(max_epochs=60, batch_size=None), 0.003, probes, hidden=(5, 5, 5)
    )
    assert (calm.responses < 1).all()


def test_tangents_of_which_no_digit_is_determined_are_no_numbers():
    # Rates above 2 over the largest curvature: the weights grow with every step, but stay finite.
    problem, training = (
        data(lams=LAMS[:2]),
        Training(max_epochs=100, optimiser="sgd", batch_size=None),
    )
    probes = draw_probes(2, 25, 1, seed=0)
    state = started(problem, training, [0.1, 6.0], hidden=())
    with pytest.warns(ChaoticTrainingWarning, match=r"1 of 2 .* up to inf times .* λ = 0\.6;"):
        found = train_with_tangents(state, problem, training, probes)
    assert not state.diverged.any()
    assert found.images[0].isfinite().all()
    assert found.images[1].isnan().all()
    assert np.isnan(found.dof().dof).tolist() == [[False], [True]]


def test_diverged_trainings_have_no_tangents_and_say_so_themselves():
    problem, training = (
        data(lams=LAMS[:1]),
        Training(max_epochs=200, optimiser="sgd", batch_size=None),
    )
    state = started(problem, training, 1e4, hidden=())
    found = train_with_tangents(state, problem, training, draw_probes(2, 25, 1, seed=0))
    assert state.diverged.all()
    assert np.isnan(found.dof().dof).all()


# ---------------------------------------------------------------------------------------
# Arguments
# ---------------------------------------------------------------------------------------


def test_one_probe_has_a_value_and_no_error():
    images = torch.ones(2, 1, 4, 1)
    found = Tangents(LAMS[:2], torch.ones(1, 4, 1), images).dof()
    assert found.dof.tolist() == [[4.0], [4.0]]
    assert np.isnan(found.std_error).all()


@pytest.mark.parametrize("shape", [(25, 1), (2, 24, 1), (2, 25, 2), (0, 25, 1)])
def test_probes_that_do_not_fit_are_refused(shape):
    problem, training = data(), Training(max_epochs=1, batch_size=None)
    message = r"probes of shape .* expected \(K, 25, 1\) with K of at least 1"
    with pytest.raises(ValueError, match=message):
        carried(problem, training, 0.1, torch.ones(shape))


def test_trainings_on_their_way_are_refused():
    problem, training = data(), Training(max_epochs=3, batch_size=None)
    probes = draw_probes(2, 25, 1, seed=0)
    state = started(problem, training, 0.01)
    train_with_tangents(state, problem, training, probes)
    with pytest.raises(ValueError, match="training has done 3 epochs"):
        train_with_tangents(state, problem, training, probes)
