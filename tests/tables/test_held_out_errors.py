import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negcorr.tables.held_out_errors import held_out_figures, held_out_mean


def test_figures_against_slow_versions():
    rng = np.random.default_rng(0)
    y, noise = rng.normal(size=50), rng.normal(size=50)
    found = held_out_figures(y, y + noise, ("y",))[0]
    assert found.rmse == pytest.approx(np.sqrt(np.mean(noise**2)))
    assert found.mae == pytest.approx(np.mean(np.abs(noise)))
    assert found.r2 == pytest.approx(1 - np.mean(noise**2) / np.var(y))
    assert found.mae_se == pytest.approx(np.std(np.abs(noise), ddof=1) / np.sqrt(50))
    assert np.isnan(found.coverage)


def test_standard_errors_are_the_spread_over_samples():
    rng = np.random.default_rng(1)
    zero = np.zeros(200)
    found = [held_out_figures(zero, rng.normal(size=200), ("y",))[0] for _ in range(400)]
    assert np.mean([f.rmse_se for f in found]) == pytest.approx(
        np.std([f.rmse for f in found]), rel=0.1
    )
    assert np.mean([f.mae_se for f in found]) == pytest.approx(
        np.std([f.mae for f in found]), rel=0.1
    )


def test_groups_widen_standard_errors():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 25)
    errors = []
    for _ in range(200):
        shared = rng.normal(size=20)[groups] + 0.1 * rng.normal(size=500)
        errors.append(held_out_figures(np.zeros(500), shared, ("y",), groups=groups)[0])
    spread = np.std([f.rmse for f in errors])
    assert np.mean([f.rmse_se for f in errors]) == pytest.approx(spread, rel=0.2)
    alone = held_out_figures(np.zeros(500), shared, ("y",))[0]
    assert errors[-1].rmse_se > 2 * alone.rmse_se
    assert errors[-1].mae_se > 2 * alone.mae_se


def test_jackknife_of_single_rows_is_the_usual_error():
    values = np.random.default_rng(3).normal(size=30)
    _, usual = held_out_mean(values)
    _, jackknife = held_out_mean(values, groups=np.arange(30))
    assert jackknife == pytest.approx(usual)


def test_few_rows_have_no_error():
    assert np.isnan(held_out_mean(np.array([1.0]))[1])
    assert np.isnan(held_out_mean(np.array([1.0, 2.0]), groups=["a", "a"])[1])
    assert held_out_figures(np.ones(3), np.ones(3), ("y",))[0].rmse_se == 0.0
    assert np.isnan(held_out_figures(np.ones(3), np.ones(3), ("y",))[0].r2)


@given(st.lists(st.integers(1, 4), min_size=2, max_size=8))
def test_weights_are_repeated_rows_in_every_mean(weights):
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=(2, len(weights)))
    weighted = held_out_figures(y, predicted, ("y",), weight=np.array(weights, dtype=float))[0]
    repeated = held_out_figures(np.repeat(y, weights), np.repeat(predicted, weights), ("y",))[0]
    for name in ("rmse", "mae", "r2"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name))


def test_outputs_and_intervals():
    y = np.array([[0.0, 10.0], [1.0, 20.0], [2.0, 30.0], [3.0, 40.0]])
    ends = np.stack([y - 1.0, y + np.array([1.0, -0.5])], axis=1)
    one, two = held_out_figures(y, y + np.array([0.0, 2.0]), ("a", "b"), interval=ends)
    assert (one.output, one.rmse, one.coverage) == ("a", 0.0, 1.0)
    assert (two.output, two.rmse, two.coverage) == ("b", 2.0, 0.0)


def test_paired_errors_are_smaller():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=300) ** 2
    mean, error = held_out_mean((shared + 0.1) - (shared + 0.01 * rng.normal(size=300)))
    assert mean == pytest.approx(0.1, abs=0.01)
    assert error < 0.001
