"""Twins against Algorithm 1 by hand, one training after another."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from negcorr.deep import EnsembleMLP, Problem, Recipe, Training, initialise, train  # noqa: E402
from negcorr.deep.twins import Twins, draw_probes  # noqa: E402

LAMS = torch.tensor([0.0, 0.6, 1.0], dtype=torch.float64)
RECIPE = Recipe(max_epochs=40)


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
    train(Training.start(network, rates, RECIPE, seed=2), problem, RECIPE)
    network.eval()
    with torch.no_grad():
        return network(problem.X).mean(dim=1)


@pytest.mark.parametrize("outputs", [1, 2])
def test_twins_are_algorithm_1_one_after_another(outputs):
    X, Y = data(outputs)
    probes = draw_probes(2, len(X), outputs, seed=3)
    twins = Twins(LAMS, probes, eps=0.05)
    found = twins.dof(fitted(twins.problem(X, Y), outputs))
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
    twins = Twins(torch.tensor([0.5]), probes, eps=0.5)
    problem = twins.problem(torch.zeros(n, 1), y)
    found = twins.dof(S @ problem.Y)
    np.testing.assert_allclose(found.dof, [[21.0]])
    assert found.std_error < 1e-10


def test_without_probes_there_is_nothing_to_tell():
    twins = Twins(LAMS, draw_probes(0, 5, 1, seed=0), eps=0.1)
    problem = twins.problem(torch.zeros(5, 2), torch.ones(5, 1))
    assert problem.lam.tolist() == LAMS.tolist()
    found = twins.dof(torch.zeros(3, 5, 1))
    assert np.isnan(found.dof).all()
    assert found.values.shape == (3, 0, 1)


def test_one_probe_has_a_value_and_no_error():
    twins = Twins(LAMS[:1], draw_probes(1, 4, 1, seed=0), eps=0.1)
    found = twins.dof(twins.problem(torch.zeros(4, 1), torch.ones(4, 1)).Y)
    np.testing.assert_allclose(found.dof, [[4.0]], rtol=1e-6)
    assert np.isnan(found.std_error).all()


def test_originals_are_those_without_perturbation():
    twins = Twins(LAMS, draw_probes(2, 4, 1, seed=0), eps=0.1)
    Y = torch.arange(4.0).reshape(4, 1)
    originals = twins.originals(twins.problem(torch.zeros(4, 1), Y).Y)
    assert originals.shape == (3, 4, 1)
    assert (originals == Y).all()


def test_probes_are_signs_of_a_seed():
    first, second, other = (draw_probes(3, 50, 2, seed=s) for s in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert set(first.unique().tolist()) == {-1.0, 1.0}
