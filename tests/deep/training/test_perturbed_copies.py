"""PerturbedCopies against Algorithm 1 by hand, one training after another."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.networks import EnsembleMLP, initialise
from negcorr.deep.training.perturbed_copies import PerturbedCopies, draw_probes

LAMS = torch.tensor([0.0, 0.6, 1.0], dtype=torch.float64)
TRAINING = Training(max_epochs=40, batch_size=None)


def data(outputs=1, n=25):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    noise = torch.randn(n, outputs, generator=generator, dtype=torch.float64)
    return X, torch.sin(X[:, :1]) + 0.3 * noise


def fitted(problem, outputs=1):
    network = EnsembleMLP(
        3,
        (4, 3),
        outputs,
        n_members=5,
        n_ensembles=len(problem.lam),
        dtype=torch.float64,
    )
    initialise(network, problem.X, seed=1)
    rates = torch.full((len(problem.lam),), 0.02, dtype=torch.float64)
    train(TrainingState.start(network, rates, TRAINING, seed=2), problem, TRAINING)
    network.eval()
    with torch.no_grad():
        return network(problem.X).mean(dim=1)


@pytest.mark.parametrize("outputs", [1, 2])
def test_perturbed_copies_are_algorithm_1_one_after_another(outputs):
    X, Y = data(outputs)
    probes = draw_probes(2, len(X), outputs, seed=3)
    copies = PerturbedCopies(LAMS, probes, eps=0.05)
    found = copies.dof(fitted(copies.problem(X, Y), outputs))
    for g, lam in enumerate(LAMS):
        alone = fitted(Problem(X, Y, lam.reshape(1)), outputs)[0]
        for k, b in enumerate(probes):
            moved = fitted(Problem(X, Y + 0.05 * b, lam.reshape(1)), outputs)[0]
            value = (b * (moved - alone)).sum(dim=0) / 0.05
            np.testing.assert_allclose(found.values[g, k], value, rtol=1e-6)
    np.testing.assert_allclose(found.dof, found.values.mean(axis=1))
    spread = found.values.std(axis=1, ddof=1) / np.sqrt(2)
    assert (found.std_error >= spread * (1 - 1e-12)).all()


def test_a_linear_answer_has_its_trace():
    n = 6
    probes = draw_probes(40, n, 1, seed=0)
    S = torch.diag(torch.arange(1.0, n + 1, dtype=torch.float64))
    y = torch.ones(n, 1, dtype=torch.float64)
    copies = PerturbedCopies(torch.tensor([0.5]), probes, eps=0.5)
    problem = copies.problem(torch.zeros(n, 1), y)
    found = copies.dof(S @ problem.Y)
    np.testing.assert_allclose(found.dof, [[21.0]])
    assert found.std_error < 1e-10


def test_without_probes_there_is_nothing_to_tell():
    copies = PerturbedCopies(LAMS, draw_probes(0, 5, 1, seed=0), eps=0.1)
    problem = copies.problem(torch.zeros(5, 2), torch.ones(5, 1))
    assert problem.lam.tolist() == LAMS.tolist()
    found = copies.dof(torch.zeros(3, 5, 1))
    assert np.isnan(found.dof).all()
    assert found.values.shape == (3, 0, 1)


def test_one_probe_has_a_value_and_no_error():
    copies = PerturbedCopies(LAMS[:1], draw_probes(1, 4, 1, seed=0), eps=0.1)
    found = copies.dof(copies.problem(torch.zeros(4, 1), torch.ones(4, 1)).Y)
    np.testing.assert_allclose(found.dof, [[4.0]], rtol=1e-6)
    assert np.isnan(found.std_error).all()


def test_originals_are_those_without_perturbation():
    copies = PerturbedCopies(LAMS, draw_probes(2, 4, 1, seed=0), eps=0.1)
    Y = torch.arange(4.0).reshape(4, 1)
    originals = copies.originals(copies.problem(torch.zeros(4, 1), Y).Y)
    assert originals.shape == (3, 4, 1)
    assert (originals == Y).all()


# ---------------------------------------------------------------------------------------
# Targets that are standardised again
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2])
def test_own_scale_is_a_procedure_that_standardises_what_it_is_given(outputs):
    X, Y = data(outputs)
    Y = (Y - Y.mean(dim=0)) / Y.std(dim=0, correction=0)
    probes = draw_probes(2, len(X), outputs, seed=3)
    copies = PerturbedCopies(LAMS, probes, eps=0.1, own_scale=True)
    found = copies.dof(copies.in_units(fitted(copies.problem(X, Y), outputs), Y))

    def procedure(y, lam):
        mean, spread = y.mean(dim=0), y.std(dim=0, correction=0)
        return fitted(Problem(X, (y - mean) / spread, lam), outputs)[0] * spread + mean

    for g, lam in enumerate(LAMS):
        plain = procedure(Y, lam.reshape(1))
        for k, b in enumerate(probes):
            answer = procedure(Y + 0.1 * b, lam.reshape(1))
            value = (b * (answer - plain)).sum(dim=0) / 0.1
            np.testing.assert_allclose(found.values[g, k], value, rtol=1e-6)


def test_targets_as_they_are_keep_their_units_and_copies_get_them():
    Y = torch.tensor([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0], [9.0, 50.0]], dtype=torch.float64)
    copies = PerturbedCopies(LAMS, draw_probes(3, 4, 2, seed=1), eps=0.5, own_scale=True)
    targets = copies.problem(torch.zeros(4, 1), Y).Y
    assert torch.equal(copies.originals(targets), Y.expand(3, 4, 2))
    for e in range(12):
        torch.testing.assert_close(targets[e].mean(dim=0), Y.mean(dim=0))
        torch.testing.assert_close(targets[e].std(dim=0), Y.std(dim=0))
    # And back again, to what was moved.
    moved = torch.cat([Y[None], Y + 0.5 * copies.probes])
    torch.testing.assert_close(copies.in_units(targets, Y), moved.repeat(3, 1, 1))


def test_a_fit_that_returns_its_targets_has_all_degrees_of_freedom_in_any_scale():
    Y = data(outputs=2, n=9)[1]
    for own_scale in (False, True):
        copies = PerturbedCopies(LAMS, draw_probes(2, 9, 2, seed=0), eps=0.1, own_scale=own_scale)
        answer = copies.in_units(copies.problem(torch.zeros(9, 1), Y).Y, Y)
        np.testing.assert_allclose(copies.dof(answer).dof, 9.0, rtol=1e-10)


def test_a_fit_of_mean_and_scale_has_two_degrees_of_freedom():
    # A prediction that never changes in standardised units follows the two numbers alone.
    n = 400
    generator = torch.Generator().manual_seed(0)
    Y = torch.randn(n, 1, generator=generator, dtype=torch.float64)
    Y = (Y - Y.mean()) / Y.std(correction=0)
    copies = PerturbedCopies(LAMS[:1], draw_probes(800, n, 1, seed=0), eps=1e-3, own_scale=True)
    found = copies.dof(copies.in_units(Y.expand(801, n, 1), Y))
    assert abs(float(found.dof[0, 0]) - 2.0) < 4 * float(found.std_error[0, 0])
    assert found.std_error < 0.2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
def test_constant_targets_are_centred_and_not_scaled(value, dtype):
    # NumPy's standard deviation of many times 0.1 is a rounding error, which must not divide.
    Y = torch.full((1000, 2), value, dtype=dtype)
    Y[:, 1] = torch.arange(1000)
    copies = PerturbedCopies(LAMS, draw_probes(2, 1000, 2, seed=0), eps=0.1, own_scale=True)
    _, scale = copies.scales(Y)
    assert (scale[..., 0] == 1).all()
    assert (scale[1:, :, 1] != 1).all()
    targets = copies.problem(torch.zeros(1000, 1), Y).Y
    size = max(1.0, abs(value)) * torch.finfo(dtype).eps
    torch.testing.assert_close(
        targets[..., 0].mean(dim=1), Y[0, 0].expand(9), rtol=0, atol=100 * size
    )
    assert targets.isfinite().all()


def test_targets_that_a_probe_makes_constant_are_finite():
    probes = torch.tensor([[[-1.0], [1.0]]], dtype=torch.float64)
    Y = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    copies = PerturbedCopies(LAMS[:1], probes, eps=1.0, own_scale=True)
    assert copies.problem(torch.zeros(2, 1), Y).Y[1].tolist() == [[0.0], [0.0]]
    centre, scale = copies.scales(Y)
    assert scale.flatten().tolist() == [1.0, 1.0]
    assert centre.flatten().tolist() == [0.0, 0.0]


def test_scales_of_single_precision_are_those_of_double():
    Y = data(outputs=2, n=500)[1]
    copies = PerturbedCopies(LAMS, draw_probes(3, 500, 2, seed=0), eps=0.1, own_scale=True)
    for single, double in zip(copies.scales(Y.float()), copies.scales(Y), strict=True):
        assert single.dtype == torch.float32
        torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=1e-6)


def test_probes_are_signs_of_a_seed():
    first, second, other = (draw_probes(3, 50, 2, seed=s) for s in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert set(first.unique().tolist()) == {-1.0, 1.0}
