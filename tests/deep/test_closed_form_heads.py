"""Refitted heads against the literal Theorems 4 and 5, the core, and the networks they replace."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Problem as Rows
from reference import literal_fit

from negcorr import NCLRegressor, difference_noise_variance
from negcorr.deep.closed_form_heads import head_features, refit_heads
from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.loss import NCLLoss
from negcorr.deep.training.networks import EnsembleMLP, initialise
from negcorr.exceptions import PrecisionWarning
from negcorr.path.path import CRITERIA
from negcorr.path.tune import GivenFeatures

N, D, M = 90, 3, 4
LAMS = (0.0, 0.5, 0.9, 0.99)


def data(outputs=1, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    waves = np.stack([np.sin(2.0 * X[:, 0]), X[:, 1] * X[:, 2]], axis=1)[:, :outputs]
    return X, waves + 0.3 * rng.normal(size=(n, outputs)) + 2.0


def trained(outputs=1, hidden=(6, 3), lams=LAMS, epochs=60, dtype=torch.float64, **kwargs):
    X, Y = (torch.from_numpy(a).to(dtype) for a in data(outputs))
    network = EnsembleMLP(
        D, hidden, outputs, n_members=M, n_ensembles=len(lams), dtype=dtype, **kwargs
    )
    initialise(network, X, seed=1)
    training = Training(max_epochs=epochs, batch_size=None)
    rates = torch.full((len(lams),), 0.02, dtype=dtype)
    train(
        TrainingState.start(network, rates, training, seed=2),
        Problem(X, Y, torch.tensor(lams)),
        training,
    )
    return network


@pytest.fixture(scope="module", params=[1, 2], ids=["one output", "two outputs"])
def outputs(request):
    return request.param


@pytest.fixture(scope="module")
def network(outputs):
    return trained(outputs)


def literal(features, Y, gap, width=3):
    starts = width * np.arange(M + 1)
    return literal_fit(Rows(features, Y, np.ones(len(Y)), starts), gap)


def predictions(network, X):
    network.eval()
    with torch.no_grad():
        return network(torch.from_numpy(X).to(network.theta)).double().numpy()


def close(left, right, tolerance=1e-9):
    left, right = np.asarray(left), np.asarray(right)
    np.testing.assert_allclose(left, right, rtol=0, atol=tolerance * np.abs(right).max())


# Features


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
def test_features_are_what_plain_modules_hand_to_their_heads(plain_members, batch_norm, activation):
    network = trained(lams=(0.3, 0.9), epochs=5, batch_norm=batch_norm, activation=activation)
    X, _ = data()
    rows = torch.from_numpy(X)
    for e in range(2):
        features = head_features(network, X, ensemble=e).reshape(N, M, 3)
        for m, member in enumerate(plain_members(network)[e * M : (e + 1) * M]):
            # A plain module's own statistics, of the whole training set, are its batch's.
            body = member[:-1].train()
            close(features[:, m], body(rows).detach().numpy(), 1e-12)


def test_features_times_the_networks_own_heads_are_its_predictions(network, outputs):
    X, _ = data(outputs, n=20, seed=5)
    own = predictions(network, X)
    head = network.layers(network.theta.detach())[-1]
    for e in range(len(LAMS)):
        features = head_features(network, X, ensemble=e).reshape(20, M, 3)
        weight, bias = (head[name][e * M : (e + 1) * M].numpy() for name in ("weight", "bias"))
        close(np.einsum("nmh,mph->mnp", features, weight) + bias.transpose(0, 2, 1), own[e], 1e-13)


def test_features_without_hidden_layers_are_the_inputs():
    network = EnsembleMLP(D, (), n_members=M, batch_norm=False)
    X, y = data()
    np.testing.assert_array_equal(head_features(network, X), np.tile(X, M))
    heads = refit_heads(network.double(), X, y[:, 0], lam=[0.3])
    # Equal members: every λ is least squares.
    np.testing.assert_allclose(heads.path.dof([0.0, 0.5, 1.0]), D + 1)


def test_features_of_single_precision_are_computed_in_double():
    network = trained(lams=(0.5,), epochs=5, dtype=torch.float32)
    X, _ = data()
    single = head_features(network, X)
    assert single.dtype == np.float64
    np.testing.assert_array_equal(single, head_features(network.double(), X))


@pytest.mark.parametrize("kind", [list, np.asarray, torch.tensor, lambda X: torch.tensor(X).half()])
def test_inputs_of_every_kind_are_taken(network, kind):
    X = np.round(data()[0], 1)
    found = head_features(network, kind(X), ensemble=0)
    np.testing.assert_allclose(found, head_features(network, X, ensemble=0), atol=1e-2)


# The core and the theorems


@pytest.mark.parametrize("gap", [1.0, 0.5, 1e-3])
def test_heads_and_degrees_of_freedom_are_those_of_theorems_4_and_5(network, outputs, gap):
    X, Y = data(outputs)
    new, _ = data(outputs, n=30, seed=9)
    for e in (0, 2):
        heads = refit_heads(network, X, Y, gap=gap, ensemble=e)
        theorem = literal(head_features(network, X, ensemble=e), Y, gap)
        np.testing.assert_allclose(heads.dof, theorem.dof, rtol=1e-7)
        expected = theorem.predict_members(head_features(network, new, ensemble=e))
        close(predictions(heads.network, new), expected, 1e-6)
        np.testing.assert_allclose(heads.path.train_error(), theorem.train_error, rtol=1e-7)


def test_an_intercept_for_each_member_counts_once(network, outputs):
    """Theorems 4 and 5 as printed, with a constant among the features of every member."""
    X, Y = data(outputs)
    features = head_features(network, X, ensemble=1).reshape(N, M, 3)
    extended = np.concatenate([features, np.ones((N, M, 1))], axis=2).reshape(N, -1)
    rows = Rows(extended, Y, np.ones(N), 4 * np.arange(M + 1))
    theorem = literal_fit(rows, 0.1, fit_intercept=False)
    heads = refit_heads(network, X, Y, gap=0.1, ensemble=1)
    np.testing.assert_allclose(heads.dof, theorem.dof, rtol=1e-7)
    members = M * theorem.coef.reshape(-1, M, 4)
    expected = np.einsum("nmh,pmh->mnp", extended.reshape(N, M, 4), members)
    close(predictions(heads.network, X), expected, 1e-7)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_heads_are_those_of_the_regressor_on_the_same_features(network, outputs, criterion):
    X, Y = data(outputs)
    new, _ = data(outputs, n=30, seed=9)
    heads = refit_heads(network, X, Y, criterion=criterion, ensemble=2)
    features, features_new = (head_features(network, rows, ensemble=2) for rows in (X, new))
    basis = GivenFeatures(3 * np.arange(M + 1))
    model = NCLRegressor(basis=basis, criterion=criterion, solver="qr").fit(features, Y)
    np.testing.assert_array_equal(heads.gap, model.gap_)
    np.testing.assert_array_equal(heads.lam, model.lam_)
    np.testing.assert_allclose(heads.dof, model.dof_)
    np.testing.assert_allclose(heads.noise_variance, model.noise_variance_)
    close(predictions(heads.network, new), model.predict_members(features_new))
    close(predictions(heads.network, new).mean(axis=0), model.predict(features_new))
    assert heads.path.criterion == criterion


def test_degrees_of_freedom_are_the_trace_of_how_predictions_answer_to_targets():
    network = trained(lams=(0.9,), epochs=20)
    X, y = data()
    heads = refit_heads(network, X, y[:, 0], gap=0.05)
    before = predictions(heads.network, X).mean(axis=0)[:, 0]
    trace = 0.0
    for i in range(N):
        moved = y[:, 0].copy()
        moved[i] += 1.0
        after = refit_heads(network, X, moved, gap=0.05).network
        trace += predictions(after, X).mean(axis=0)[i, 0] - before[i]
    np.testing.assert_allclose(heads.dof, trace, rtol=1e-8)


@settings(max_examples=25, deadline=None)
@given(
    gap=st.floats(-6.0, 0.0).map(lambda power: 10.0**power),
    batch_norm=st.booleans(),
    seed=st.integers(0, 50),
)
def test_identities_hold_at_any_gap_and_for_any_bodies(gap, batch_norm, seed):
    network = EnsembleMLP(D, (5, 3), n_members=M, batch_norm=batch_norm, dtype=torch.float64)
    X, y = data(n=40, seed=seed)
    initialise(network, torch.from_numpy(X), seed)
    network.calibrate(torch.from_numpy(X))
    heads = refit_heads(network, X, y[:, 0], gap=gap)
    members = predictions(heads.network, X)[..., 0]
    average = members.mean(axis=0)
    np.testing.assert_allclose(np.mean((average - y[:, 0]) ** 2), heads.path.train_error())
    spread = np.mean((members - average) ** 2)
    np.testing.assert_allclose(spread, heads.path.diversity(), rtol=1e-6, atol=1e-12)
    assert 1.0 <= heads.dof <= min(M * 3 + 1, len(y)) + 1e-9
    np.testing.assert_allclose(heads.lam, 1.0 - gap)


# The loss


@pytest.mark.parametrize("lam", [*LAMS, 1 - 1e-6])
@pytest.mark.parametrize("batch_norm", [True, False])
def test_no_trained_network_has_a_lower_loss_than_its_refitted_heads(outputs, lam, batch_norm):
    network = trained(outputs, lams=(lam,), epochs=300, batch_norm=batch_norm)
    X, Y = data(outputs)
    target, loss = torch.from_numpy(Y), NCLLoss(lam)
    own = float(loss(torch.from_numpy(predictions(network, X))[0], target))
    refitted = refit_heads(network, X, Y, lam=lam).network
    best = float(loss(torch.from_numpy(predictions(refitted, X)), target))
    assert best <= own * (1 + 1e-12)
    # Not by much: the training was on its way to the same heads.
    assert best > 0.2 * own or lam > 0.99
    assert largest_head_gradient(refitted, X, target, loss) < 1e-8


def largest_head_gradient(network, X, target, loss):
    theta = network.theta.detach().requires_grad_()
    out = network.run(torch.from_numpy(X).T, network.layers(theta))
    (gradient,) = torch.autograd.grad(loss(network.by_ensemble(out)[0], target), theta)
    return max(float(part.abs().max()) for part in network.layers(gradient)[-1].values())


def test_each_output_has_a_lam_of_its_own():
    network = trained(2, lams=(0.5,))
    X, Y = data(2)
    heads = refit_heads(network, X, Y, lam=[0.2, 0.9])
    members = predictions(heads.network, X)
    for j, lam in enumerate([0.2, 0.9]):
        alone = literal(head_features(network, X), Y[:, [j]], 1.0 - lam)
        close(members[..., [j]], alone.predict_members(alone.problem.features), 1e-6)
    assert heads.dof[0] < heads.dof[1]


# Near λ = 1, and what precision can hold


def test_near_one_members_are_large_and_the_average_is_still_that_of_the_core():
    network = trained(lams=(0.99,))
    X, y = data()
    for gap in (1e-6, 1e-12, 0.0):
        heads = refit_heads(network, X, y[:, 0], gap=gap)
        error = np.mean((predictions(heads.network, X).mean(axis=0) - y) ** 2)
        np.testing.assert_allclose(error, heads.path.train_error(), rtol=1e-7)
        assert heads.gap == gap
    np.testing.assert_allclose(heads.dof, M * 3 + 1)


def test_single_precision_keeps_its_type_and_its_digits():
    network = trained(lams=(0.9,), dtype=torch.float32)
    X, y = data()
    heads = refit_heads(network, X, y[:, 0], lam=0.5)
    assert heads.network.theta.dtype == torch.float32
    double = refit_heads(network.double(), X, y[:, 0], lam=0.5)
    assert heads.dof == double.dof
    close(predictions(heads.network, X), predictions(double.network, X), 2e-5)


def test_heads_too_large_for_single_precision_are_announced():
    X, y = data()
    network = EnsembleMLP(D, (4,), n_members=M, batch_norm=False)
    initialise(network, torch.from_numpy(X), seed=0)
    with torch.no_grad():
        # Signals in the linear part of tanh: nearly the same three features for every member.
        network.layers()[0]["weight"].mul_(1e-3)
    with pytest.warns(PrecisionWarning, match=r"float32.*standard deviations of y") as caught:
        refit_heads(network, X, y[:, 0], gap=1e-9)
    assert caught[0].filename == __file__
    refit_heads(network.double(), X, y[:, 0], gap=1e-3)


# What is given stays as it is


@pytest.mark.parametrize("mode", [True, False])
def test_the_given_network_is_not_changed(mode):
    network = trained(lams=(0.5, 0.9), epochs=5)
    network.train(mode)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    X, y = data()
    heads = refit_heads(network, X, y, ensemble=1, gap=0.1)
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert network.training is mode
    assert network.n_ensembles == 2
    assert not heads.network.training
    assert heads.network.n_ensembles is None
    assert heads.network.theta.requires_grad
    # Bodies are the same bits, and no memory is shared.
    bodies = network.theta[M:, :-4].detach().clone()
    assert torch.equal(heads.network.theta[:, :-4], bodies)
    with torch.no_grad():
        heads.network.theta.fill_(7.0)
    assert torch.equal(network.theta[M:, :-4], bodies)


def test_an_ensemble_among_others_is_refitted_as_if_alone():
    several, alone = trained(), trained(lams=LAMS[2:3])
    X, y = data()
    left = refit_heads(several, X, y[:, 0], lam=0.9, ensemble=2)
    right = refit_heads(alone, X, y[:, 0], lam=0.9)
    np.testing.assert_allclose(left.dof, right.dof, rtol=1e-6)
    close(predictions(left.network, X), predictions(right.network, X), 1e-6)


def test_weights_are_frequencies(network, outputs):
    X, Y = data(outputs)
    weight = np.random.default_rng(0).integers(1, 4, size=N)
    rows = np.repeat(np.arange(N), weight)
    left = refit_heads(network, X, Y, gap=0.1, sample_weight=weight, ensemble=1)
    right = refit_heads(network, X[rows], Y[rows], gap=0.1, ensemble=1)
    np.testing.assert_allclose(left.dof, right.dof)
    close(predictions(left.network, X), predictions(right.network, X), 1e-8)


def test_noise_by_differences_compares_neighbours_in_the_inputs(network, outputs):
    X, Y = data(outputs)
    heads = refit_heads(network, X, Y, noise_variance="difference", ensemble=0)
    np.testing.assert_allclose(heads.path.noise_variance, difference_noise_variance(X, Y))


def test_a_target_of_one_axis_gives_numbers_and_of_two_an_axis_of_outputs():
    network = trained(lams=(0.5,), epochs=5)
    X, y = data()
    flat, column = refit_heads(network, X, y[:, 0]), refit_heads(network, X, torch.tensor(y))
    for name in ("lam", "gap", "dof", "noise_variance"):
        assert isinstance(getattr(flat, name), float)
        np.testing.assert_array_equal(getattr(column, name), [getattr(flat, name)])
    assert "criterion='sure', n_members=4)" in repr(flat)


# Errors


def test_errors_name_the_argument_and_what_is_allowed():
    network = trained(2, lams=(0.5, 0.9), epochs=2)
    X, Y = data(2)
    cases = [
        ((X[:, :2], Y), {"ensemble": 0}, r"X must have the shape \(n, 3\), .*got \(90, 2\)"),
        ((X[0], Y), {"ensemble": 0}, r"X must have .* got \(3,\)"),
        ((X, Y[:-1]), {"ensemble": 0}, r"y must have the shape \(90, 2\), .*got \(89, 2\)"),
        ((X, Y[:, 0]), {"ensemble": 0}, r"y must have .*of 2 outputs, got \(90,\)"),
        ((X, Y), {}, r"ensemble=None must be a whole number from 0 to 1\."),
        ((X, Y), {"ensemble": 2}, r"ensemble=2 must be a whole number from 0 to 1\."),
        ((X, Y), {"ensemble": 0.5}, r"ensemble=0\.5 must be"),
        ((X, Y), {"ensemble": 0, "criterion": "r2"}, r"criterion='r2' .*'kfold', 'sure', 'gcv'"),
        ((X, Y), {"ensemble": 0, "lam": 1.5}, r"lam=1\.5 is outside \[0, 1\]"),
        ((X, Y), {"ensemble": 0, "lam": 0.5, "gap": 0.5}, "exactly one of lam and gap"),
        ((X, np.where(Y > 2, np.nan, Y)), {"ensemble": 0}, "y contains NaN"),
    ]
    for arguments, settings_, message in cases:
        with pytest.raises(ValueError, match=message):
            refit_heads(network, *arguments, **settings_)


def test_a_network_without_statistics_is_refused():
    X, y = data()
    network = EnsembleMLP(D, (4,), n_members=M)
    initialise(network, torch.from_numpy(X), seed=0)
    with pytest.raises(RuntimeError, match=r"call calibrate\(X\)"):
        refit_heads(network, X, y)


def test_a_training_that_diverged_is_refused():
    X, _ = data()
    for bad in (np.nan, np.inf):
        network = EnsembleMLP(D, (4,), n_members=M, batch_norm=False, activation="relu")
        with torch.no_grad():
            network.theta.fill_(bad)
        with pytest.raises(ValueError, match="not finite: the training has diverged"):
            head_features(network, X)


def test_dead_and_equal_nodes_are_ordinary():
    X, y = data()
    network = EnsembleMLP(D, (4,), n_members=M, batch_norm=False, activation="relu")
    initialise(network, torch.from_numpy(X), seed=0)
    with torch.no_grad():
        layer = network.layers()[0]
        layer["weight"][:, 0] = layer["weight"][:, 1]
        layer["bias"][:, 2] = -100.0
    network = network.double()
    heads = refit_heads(network, X, y[:, 0], gap=0.2)
    theorem = literal(head_features(network, X), y, 0.2, width=4)
    np.testing.assert_allclose(heads.dof, theorem.dof)
    close(predictions(heads.network, X).mean(axis=0), theorem.fitted, 1e-8)
    for e, f in itertools.pairwise(heads.path.dof([0.0, 0.5, 0.9])):
        assert e < f
