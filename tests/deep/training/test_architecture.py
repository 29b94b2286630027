"""An architecture against the network and the initial weights that it stands for."""

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from negcorr.deep.training.networks import Architecture, EnsembleMLP, initialise

SHAPE = Architecture((4, 3), n_members=5, activation="relu", batch_norm=False)


def inputs(dtype=torch.float64, sets=()):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*sets, 12, 2, generator=generator, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("n_ensembles", [None, 1, 3])
@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_started_networks_are_new_ones_with_initial_weights(n_ensembles, batch_norm, dtype):
    X = inputs(dtype)
    shape = dataclasses.replace(SHAPE, batch_norm=batch_norm)
    found = shape.started(X, 2, n_ensembles, seed=3)
    expected = EnsembleMLP(
        2,
        (4, 3),
        2,
        n_members=5,
        n_ensembles=n_ensembles,
        activation="relu",
        batch_norm=batch_norm,
        dtype=dtype,
    )
    initialise(expected, X, seed=3)
    assert found.theta.dtype == dtype
    assert found.n_ensembles == n_ensembles
    assert torch.equal(found.theta, expected.theta)
    assert torch.equal(found.train()(X), expected.train()(X))


def test_ensembles_start_alike_and_seeds_differ():
    first, other = (SHAPE.started(inputs(), 1, 3, seed=seed).theta for seed in (0, 1))
    assert torch.equal(first[:5], first[5:10])
    assert torch.equal(first[:5], first[10:])
    assert len(torch.unique(first[:5], dim=0)) == 5
    assert not torch.equal(first, other)


def test_inputs_of_every_ensemble_have_the_columns_that_count():
    X = inputs(sets=(3,))
    found = SHAPE.started(X, 1, 3, seed=0)
    assert found.widths[0] == 2
    assert torch.equal(found.theta, SHAPE.started(X[0], 1, 3, seed=0).theta)


def test_networks_are_on_the_device_of_the_inputs():
    assert SHAPE.started(inputs(), 1, None, seed=0).theta.device == torch.device("cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_networks_of_a_gpu_have_the_weights_of_the_cpu():
    found = SHAPE.started(inputs().cuda(), 1, 2, seed=0)
    assert found.theta.is_cuda
    assert found.statistics.is_cuda
    assert torch.equal(found.theta.cpu(), SHAPE.started(inputs(), 1, 2, seed=0).theta)


@pytest.mark.parametrize("dtype", [None, torch.float64])
def test_empty_networks_have_the_shape_and_no_weights(dtype):
    found = SHAPE.empty(2, 3, 2, dtype)
    assert found.widths == (2, 4, 3, 3)
    assert (found.n_members, found.n_ensembles, found.activation) == (5, 2, "relu")
    assert found.batch_norm is False
    assert found.theta.dtype == (dtype or torch.get_default_dtype())
    assert not found.theta.any()
    assert found.theta.shape == SHAPE.started(inputs(), 3, 2, seed=0).theta.shape


def test_defaults_are_those_of_section_8():
    assert Architecture() == Architecture((5, 5, 5), 30, "tanh", True)
