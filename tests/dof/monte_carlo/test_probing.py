"""Random directions and their seeds, and what is kept of each."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.linear_model import Ridge

from negcorr.dof.monte_carlo.probe_variance import Spread
from negcorr.dof.monte_carlo.probing import Probes, ProbeSource, measured
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.dof.monte_carlo.responses import Direction, ResponseMeter
from negcorr.exceptions import ProbeError


def source_of(kind="rademacher", per_probe=False, n=200, outputs=None, weight=None, seed=0):
    y = np.zeros(n if outputs is None else (n, outputs))
    refit = Refit.of(Ridge(), np.zeros((n, 1)), y, weight)
    streams = [np.random.default_rng([seed, k]) for k in range(2)]
    return ProbeSource(refit, kind, per_probe, *streams)


def test_signs_are_fair_and_independent():
    vectors = np.array([d.vector[:, 0] for d in source_of().draw(100)])
    assert set(np.unique(vectors)) == {-1.0, 1.0}
    # 20000 signs, and as many products of neighbours: four standard deviations.
    assert abs(vectors.mean()) < 4 / np.sqrt(20000)
    assert abs((vectors[:, 1:] * vectors[:, :-1]).mean()) < 4 / np.sqrt(19900)
    assert abs((vectors[1:] * vectors[:-1]).mean()) < 4 / np.sqrt(19800)


def test_gaussian_entries_are_standard():
    vectors = np.array([d.vector[:, 0] for d in source_of("gaussian").draw(50)])
    assert kstest(vectors.ravel(), "norm").pvalue > 0.01
    assert abs((vectors[:, 1:] * vectors[:, :-1]).mean()) < 4 / np.sqrt(9950)


@pytest.mark.parametrize("kind", ["rademacher", "gaussian"])
def test_outputs_have_directions_of_their_own(kind):
    (direction,) = source_of(kind, outputs=3).draw(1)
    assert direction.vector.shape == (200, 3)
    assert np.abs(np.corrcoef(direction.vector.T) - np.eye(3)).max() < 4 / np.sqrt(200)


@pytest.mark.parametrize("kind", ["rademacher", "gaussian"])
def test_rows_that_do_not_count_are_not_moved(kind):
    weight = np.tile([0.0, 2.0], 100)
    for direction in source_of(kind, weight=weight).draw(3):
        assert (direction.vector[weight == 0] == 0.0).all()
        assert (direction.vector[weight > 0] != 0.0).all()


def test_seeds_are_of_a_probe_or_of_all():
    own = [d.seed for d in source_of(per_probe=True).draw(20)]
    assert len(set(own)) == 20
    source = source_of(per_probe=False)
    assert {d.seed for d in source.draw(20)} == {source.shared_seed}


@pytest.mark.parametrize("kind", ["rademacher", "gaussian"])
def test_directions_do_not_depend_on_how_seeds_are_dealt(kind):
    own, shared = (source_of(kind, per_probe=p).draw(5) for p in (True, False))
    for a, b in zip(own, shared, strict=True):
        np.testing.assert_array_equal(a.vector, b.vector)


def meter_of(fit_predict, n=3):
    refit = Refit.of(fit_predict, np.zeros((n, 1)), np.zeros(n))
    return ResponseMeter(refit, np.array([1.0]), "forward", None)


class Given:
    """Hands out the directions that it was made with."""

    def __init__(self, *vectors):
        self.directions = [Direction(np.reshape(v, (-1, 1)), 0) for v in vectors]

    def draw(self, count):
        taken, self.directions = self.directions[:count], self.directions[count:]
        return taken


def test_values_are_kept_and_derivatives_only_on_request():
    meter = meter_of(lambda X, y: 2.0 * y)
    for keeps in (True, False):
        probes = Probes(keeps_derivatives=keeps, spread=Spread(signs=False))
        probes.extend(meter, Given([1.0, 2.0, 0.0], np.ones(3)), 2)
        np.testing.assert_allclose(np.ravel(probes.values), [10.0, 6.0])
        assert len(probes.derivatives) == (2 if keeps else 0)
        assert probes.moved
    np.testing.assert_allclose(probes.mean_and_error()[0], [8.0])


def test_fits_that_never_move_are_noticed():
    probes = Probes(keeps_derivatives=False, spread=Spread(signs=False))
    probes.extend(meter_of(lambda X, y: np.ones(3)), Given(np.ones(3)), 1)
    assert not probes.moved
    probes.extend(meter_of(lambda X, y: y), Given(np.ones(3)), 1)
    assert probes.moved


def test_first_failure_is_raised_after_all_others_were_used():
    def fit_predict(X, y):
        if y[0] in (2.0, 4.0):
            raise ArithmeticError(f"at {y[0]}")
        return y

    used = []
    moves = [Direction(np.full((3, 1), float(k)), 0) for k in range(1, 6)]
    with pytest.raises(ProbeError, match="the fit of probe 11 failed with ArithmeticError: at 2"):
        used.extend(d.vector[0, 0] for d, _ in measured(meter_of(fit_predict), moves, first=10))
    assert used == [1.0, 3.0, 5.0]


def test_failures_name_their_probe_and_chain_their_cause():
    def fit_predict(X, y):
        if y[0] > 1.0:
            raise ArithmeticError("too far")
        return y

    probes = Probes(keeps_derivatives=False, spread=Spread(signs=False))
    meter = meter_of(fit_predict)
    near, far = np.ones(3), 2.0 * np.ones(3)
    probes.extend(meter, Given(near, near), 2)
    with pytest.raises(ProbeError) as caught:
        probes.extend(meter, Given(near, far), 2)
    assert caught.value.probe == 3
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert len(probes.values) == 3


@pytest.mark.parametrize("keeps", [True, False])
def test_many_directions_are_measured_as_a_few_are(keeps):
    source = source_of("gaussian", n=3)
    S = np.random.default_rng(0).normal(size=(3, 3))
    probes = Probes(keeps_derivatives=keeps, spread=Spread(signs=False))
    probes.extend(meter_of(lambda X, y: S @ y), source, 100)
    vectors = [d.vector[:, 0] for d in source_of("gaussian", n=3).draw(100)]
    np.testing.assert_allclose(np.ravel(probes.values), [b @ S @ b for b in vectors], atol=1e-12)
    kept = len(probes.directions)
    assert kept == 100 if keeps else 4 <= kept < 100
    for direction, vector in zip(probes.directions, vectors, strict=False):
        np.testing.assert_array_equal(direction.vector[:, 0], vector)


def test_probes_may_go_on_in_two_ways():
    meter = meter_of(lambda X, y: y)
    probes = Probes(keeps_derivatives=True, spread=Spread(signs=False))
    probes.extend(meter, Given(np.ones(3)), 1)
    other = probes.copied()
    other.extend(meter, Given(2.0 * np.ones(3)), 1)
    np.testing.assert_allclose(np.ravel(other.values), [3.0, 12.0])
    assert probes.spread.variance() is None
    assert other.spread.variance() is not None
    assert [len(p.values) for p in (probes, other)] == [1, 2]
    assert [len(p.directions) for p in (probes, other)] == [1, 2]
    assert [len(p.derivatives) for p in (probes, other)] == [1, 2]
