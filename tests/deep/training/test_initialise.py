"""Layer-sequential unit-variance initialisation, checked on plain modules of torch."""

import pytest

torch = pytest.importorskip("torch")

from negcorr.deep.training.networks import ACTIVATIONS, EnsembleMLP, initialise

D, M = 6, 4

#: More nodes than inputs, fewer, as many, and one.
HIDDEN = [(), (5, 5, 5), (9, 3), (2, 8, 6), (1,)]


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def made(hidden=(5, 5), X=None, seed=0, ensembles=2, dtype=torch.float64, **kwargs):
    network = EnsembleMLP(D, hidden, 1, n_members=M, n_ensembles=ensembles, dtype=dtype, **kwargs)
    initialise(network, random(40, D) if X is None else X, seed)
    return network


def weights(network):
    return [layer["weight"].detach() for layer in network.layers()]


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_every_layer_of_every_member_gives_unit_variance(
    hidden, activation, batch_norm, plain_members
):
    X = 3.0 + 5.0 * random(40, D, seed=3)
    network = made(hidden, X, activation=activation, batch_norm=batch_norm)
    for member in plain_members(network):
        signal = X
        for module in member:
            signal = module(signal)
            if isinstance(module, torch.nn.Linear):
                assert float(signal.detach().var(correction=0)) == pytest.approx(1.0, abs=0.011)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_directions_are_orthonormal_up_to_one_scale_for_each_member(hidden):
    for W in weights(made(hidden)):
        short = W if W.shape[1] <= W.shape[2] else W.transpose(1, 2)
        products = short @ short.transpose(1, 2)
        scale = products[:, :1, :1]
        assert (scale > 0).all()
        torch.testing.assert_close(
            products / scale, torch.eye(short.shape[1]).to(W).expand_as(products)
        )


def test_directions_have_no_preferred_sign():
    # Without Mezzadri's signs the first entries of Householder's factors are all negative.
    first = torch.cat([made(seed=seed).layers()[0]["weight"][:M, 0, 0] for seed in range(20)])
    assert 20 < int((first > 0).sum()) < 60


def test_members_differ_and_ensembles_do_not():
    network = made(ensembles=3)
    rows = network.theta.detach().unflatten(0, (3, M))
    assert (rows == rows[:1]).all()
    for left in range(M):
        for right in range(left):
            assert not torch.equal(rows[0, left], rows[0, right])


@pytest.mark.parametrize("ensembles", [None, 1, 3])
def test_weights_do_not_depend_on_the_number_of_ensembles(ensembles):
    expected = made(ensembles=2).theta[:M]
    assert torch.equal(made(ensembles=ensembles).theta[:M], expected)


def test_weights_follow_from_the_seed_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = made(seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(made(seed=5).theta, first.theta)
    assert not torch.equal(made(seed=6).theta, first.theta)


def test_single_precision_gets_the_same_weights_rounded():
    double, single = made(), made(dtype=torch.float32)
    assert single.theta.dtype == torch.float32
    assert torch.equal(single.theta, double.theta.float())


def test_whatever_was_in_the_network_is_overwritten():
    network = made()
    expected = network.theta.detach().clone()
    network.calibrate(random(9, D))
    with torch.no_grad():
        network.theta.fill_(7.0)
    initialise(network, random(40, D), 0)
    assert torch.equal(network.theta, expected)
    with pytest.raises(RuntimeError, match="call calibrate"):
        network.eval()(random(9, D))


def test_biases_and_shifts_are_0_and_scales_are_1():
    for batch_norm in (True, False):
        network = made(batch_norm=batch_norm)
        for layer in network.layers():
            for name, value in layer.items():
                if name != "weight":
                    assert (value == (1.0 if name == "scale" else 0.0)).all()


def test_of_several_sets_of_inputs_the_first_is_used():
    X = random(2, 40, D, seed=4)
    assert torch.equal(made(X=X).theta, made(X=X[0]).theta)
    assert not torch.equal(made(X=X).theta, made(X=X[1]).theta)


def test_the_unit_of_the_inputs_goes_into_the_first_layer_alone():
    X = random(40, D)
    expected = weights(made(X=X))
    first, *others = weights(made(X=1e-9 * X))
    torch.testing.assert_close(first, 1e9 * expected[0], rtol=0.02, atol=0)
    for found, same in zip(others, expected[1:], strict=True):
        torch.testing.assert_close(found, same, rtol=0.05, atol=0)


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("value", [0.0, 0.1, 3.7])
def test_rounding_errors_of_constant_inputs_are_not_blown_up(value, hidden, batch_norm):
    X = torch.full((20, D), value, dtype=torch.float64)
    for W in weights(made(hidden, X, batch_norm=batch_norm)):
        assert W.isfinite().all()
        assert W.abs().max() < 1e3


@pytest.mark.parametrize("batch_norm", [True, False])
def test_constant_columns_and_a_single_row_give_finite_weights(batch_norm):
    X = random(20, D)
    X[:, 1:] = 2.0
    for inputs in (X, X[:1]):
        network = made(X=inputs, batch_norm=batch_norm)
        assert network.theta.isfinite().all()
        assert network.theta.abs().max() < 1e3
