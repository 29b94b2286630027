"""EnsembleMLP against a Python loop over plain modules of torch."""

import copy
import itertools

import pytest

torch = pytest.importorskip("torch")

from torch.nn.utils import parameters_to_vector

from negcorr.deep.training.networks import ACTIVATIONS, EnsembleMLP

D, M, N = 4, 3, 11


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def network(hidden=(5, 3), outputs=1, ensembles=2, seed=0, dtype=torch.float64, **kwargs):
    """Random weights everywhere, also for scales, shifts and biases."""
    made = EnsembleMLP(
        D, hidden, outputs, n_members=M, n_ensembles=ensembles, dtype=dtype, **kwargs
    )
    with torch.no_grad():
        made.theta.copy_(0.7 * random(*made.theta.shape, seed=seed))
    return made


def inputs(shared, ensembles=2, n=N, seed=1):
    """Inputs, and those of every row of the network."""
    X = 2.0 + 3.0 * (random(n, D, seed=seed) if shared else random(ensembles, n, D, seed=seed))
    return X, [X if shared else X[r // M] for r in range(M * ensembles)]


def measure(member, X):
    """Give batch norms of a plain member the mean and the biased variance of their inputs."""
    with torch.no_grad():
        for module in member:
            if isinstance(module, torch.nn.BatchNorm1d):
                module.running_mean.copy_(X.mean(dim=0))
                module.running_var.copy_(((X - X.mean(dim=0)) ** 2).mean(dim=0))
                X = torch.nn.functional.batch_norm(
                    X, None, None, module.weight, module.bias, training=True
                )
            else:
                X = module(X)


def close(left, right, tolerance=1e-12):
    torch.testing.assert_close(left, right, rtol=tolerance, atol=tolerance)


CASES = [
    pytest.param(dict(zip(("hidden", "outputs", "batch_norm"), case, strict=True)), id=str(case))
    for case in itertools.product([(), (1,), (5, 3), (2, 6, 4)], [1, 3], [True, False])
]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kwargs", CASES)
def test_forward_and_gradients_are_those_of_a_loop_over_members(kwargs, shared, plain_members):
    many = network(**kwargs)
    plain = plain_members(many)
    X, rows = inputs(shared)
    out = many(X)
    expected = torch.stack([member(x) for member, x in zip(plain, rows, strict=True)])
    assert out.shape == (2, M, N, kwargs["outputs"])
    close(out.flatten(0, 1), expected)
    pull = random(*expected.shape, seed=2)
    out.flatten(0, 1).mul(pull).sum().backward()
    expected.mul(pull).sum().backward()
    for row, member in enumerate(plain):
        found = many.theta.grad[row]
        close(found, parameters_to_vector([p.grad for p in member.parameters()]), 1e-11)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kwargs", CASES)
def test_eval_uses_the_statistics_of_the_training_set(kwargs, shared, plain_members):
    many = network(**kwargs)
    plain = plain_members(many)
    X, rows = inputs(shared)
    many.calibrate(X)
    many.eval()
    new_X, new_rows = inputs(shared, n=5, seed=7)
    found = many(new_X)
    expected = []
    for member, x, new in zip(plain, rows, new_rows, strict=True):
        measure(member, x)
        member.eval()
        expected.append(member(new))
    close(found.flatten(0, 1), torch.stack(expected))
    pull = random(*found.shape, seed=2)
    found.mul(pull).sum().backward()
    torch.stack(expected).mul(pull.flatten(0, 1)).sum().backward()
    for row, member in enumerate(plain):
        gradient = parameters_to_vector([p.grad for p in member.parameters()])
        close(many.theta.grad[row], gradient, 1e-11)


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_is_that_of_torch(activation, batch_norm, plain_members):
    many = network(activation=activation, batch_norm=batch_norm)
    X, _ = inputs(shared=True)
    expected = torch.stack([member(X) for member in plain_members(many)])
    close(many(X).flatten(0, 1), expected)


@pytest.mark.parametrize("hidden", [(5,), (5, 3, 4)])
def test_eval_after_calibration_is_the_forward_of_training_on_the_same_rows(hidden):
    many = network(hidden)
    for shared in (True, False):
        X, _ = inputs(shared)
        many.train()
        expected = many(X)
        many.calibrate(X)
        many.eval()
        close(many(X), expected)


def test_statistics_are_mean_and_biased_variance_of_what_each_layer_gives():
    many = network((5, 3))
    X, _ = inputs(shared=True)
    many.calibrate(X)
    mean, variance = many.statistics
    signal = torch.einsum("roi,ni->rno", many.layers()[0]["weight"].detach(), X)
    close(mean[:, :5], signal.mean(dim=1))
    close(variance[:, :5], signal.var(dim=1, correction=0))


def test_eval_takes_one_sample_or_none_and_gives_what_it_gives_among_others():
    many = network()
    X, _ = inputs(shared=True)
    many.calibrate(X)
    many.eval()
    close(many(X[:1]), many(X)[:, :, :1])
    assert many(X[:0]).shape == (2, M, 0, 1)


def test_one_ensemble_has_no_axis_of_its_own():
    single, several = network(ensembles=None), network(ensembles=1)
    X, _ = inputs(shared=True)
    assert single(X).shape == (M, N, 1)
    torch.testing.assert_close(single(X), several(X)[0], rtol=0, atol=0)


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_no_network_influences_another(shared, batch_norm):
    many = network(batch_norm=batch_norm)
    X, _ = inputs(shared)
    for row in range(2 * M):
        out = many(X).flatten(0, 1)[row]
        gradient = torch.autograd.grad(out.square().sum(), many.theta)[0]
        touched = (gradient != 0).any(dim=1)
        assert touched.nonzero().flatten().tolist() == [row]


def test_diverged_weights_spoil_no_other_ensemble():
    many = network()
    X, _ = inputs(shared=True)
    many.calibrate(X)
    many.eval()
    expected = many(X)[1]
    with torch.no_grad():
        many.theta[:M] = torch.nan
    many.calibrate(X)
    close(many(X)[1], expected)
    assert many(X)[0].isnan().all()


def test_eval_without_calibration_is_an_error():
    many = network().eval()
    with pytest.raises(RuntimeError, match="call calibrate"):
        many(inputs(shared=True)[0])


@pytest.mark.parametrize("kwargs", [{"batch_norm": False}, {"hidden": ()}])
def test_eval_needs_no_calibration_without_batch_norm(kwargs):
    many = network(**kwargs)
    X, _ = inputs(shared=True)
    expected = many(X)
    many.eval()
    torch.testing.assert_close(many(X), expected, rtol=0, atol=0)
    many.calibrate(X)
    torch.testing.assert_close(many(X), expected, rtol=0, atol=0)


def test_batch_norm_of_a_single_sample_is_an_error():
    X, _ = inputs(shared=True)
    with pytest.raises(ValueError, match="at least 2 samples"):
        network()(X[:1])
    assert network(batch_norm=False)(X[:1]).shape == (2, M, 1, 1)


def test_statistics_and_weights_are_saved_and_loaded(tmp_path):
    many = network()
    X, _ = inputs(shared=True)
    many.calibrate(X)
    many.eval()
    torch.save(many.state_dict(), tmp_path / "network.pt")
    other = network(seed=5).eval()
    other.load_state_dict(torch.load(tmp_path / "network.pt", weights_only=True))
    torch.testing.assert_close(other(X), many(X), rtol=0, atol=0)


def test_a_deep_copy_is_the_same_and_apart():
    many = network()
    X, _ = inputs(shared=True)
    many.calibrate(X)
    many.eval()
    duplicate = copy.deepcopy(many)
    torch.testing.assert_close(duplicate(X), many(X), rtol=0, atol=0)
    before = many(X)
    with torch.no_grad():
        duplicate.theta.zero_()
        duplicate.statistics.zero_()
    torch.testing.assert_close(many(X), before, rtol=0, atol=0)


def test_weights_and_statistics_change_precision_together():
    many = network(dtype=torch.float32)
    X, _ = inputs(shared=True)
    many.calibrate(X.float())
    many.eval()
    single = many(X.float())
    assert single.dtype == torch.float32
    double = many.to(torch.float64)(X)
    assert {p.dtype for p in (*many.parameters(), *many.buffers())} == {torch.float64}
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)


def test_layers_are_views_of_the_parameter_by_name():
    many = network((5, 3), outputs=2)
    shapes = [{name: tuple(v.shape) for name, v in layer.items()} for layer in many.layers()]
    assert shapes == [
        {"weight": (6, 5, 4), "scale": (6, 5, 1), "shift": (6, 5, 1)},
        {"weight": (6, 3, 5), "scale": (6, 3, 1), "shift": (6, 3, 1)},
        {"weight": (6, 2, 3), "bias": (6, 2, 1)},
    ]
    with torch.no_grad():
        for layer in many.layers():
            for value in layer.values():
                value.fill_(3.0)
    assert (many.theta == 3.0).all()


def test_all_members_are_rows_of_one_parameter():
    many = network((5, 3), outputs=2)
    assert [name for name, _ in many.named_parameters()] == ["theta"]
    assert many.theta.shape == (6, 4 * 5 + 2 * 5 + 5 * 3 + 2 * 3 + 3 * 2 + 2)
    assert many.n_rows == 6


def test_unknown_activation_is_an_error():
    with pytest.raises(ValueError, match=r"'sine' is unknown; allowed are \['tanh'"):
        EnsembleMLP(3, activation="sine")


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_features": 0},
        {"hidden_layer_sizes": (5, 0)},
        {"n_outputs": 0},
        {"n_members": 0},
        {"n_ensembles": 0},
        {"n_ensembles": -1},
    ],
)
def test_sizes_below_1_are_an_error(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        EnsembleMLP(**{"n_features": 3, **wrong})


@pytest.mark.parametrize("ensembles", [None, 2])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(N, D + 1), (3, N, D), (M, N, D), (6, N, D), (1, 2, N, D)])
def test_inputs_that_do_not_fit_are_an_error(shape, training, ensembles):
    # Six sets of inputs divide the rows evenly, and must not pass for a set for each member.
    many = network(ensembles=ensembles)
    many.calibrate(random(N, D))
    many.train(training)
    with pytest.raises(ValueError, match=r"X of shape .* does not fit"):
        many(random(*shape))
    with pytest.raises(ValueError, match=r"X of shape .* does not fit"):
        many.calibrate(random(*shape))
