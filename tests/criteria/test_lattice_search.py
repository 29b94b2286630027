"""The minimum on the lattice: ties, valleys, ends and infinities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from negcorr.criteria.lattice_search import search_lattice
from negcorr.spectrum.gap import lattice


def valley(centre, width=1.0, depth=1.0):
    """A parabola in log₁₀(gap)."""
    return lambda g: depth * ((np.log10(g) - centre) / width) ** 2


def column(*curves):
    return lambda g: np.stack([curve(g) for curve in curves], axis=1)


@pytest.mark.parametrize("centre", [-0.001, -1.23, -3.5, -7.777, -9.95])
def test_the_choice_is_the_lattice_point_nearest_a_smooth_minimum(centre):
    found = search_lattice(column(valley(centre)), 1e-10)
    gaps = lattice(1e-10)
    assert found.chosen[0] == gaps[np.argmin(valley(centre)(gaps))]
    assert abs(np.log10(found.chosen[0]) - centre) <= 0.01 + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_that_of_a_full_scan_for_sums_of_shrinking_modes(seed):
    """What criteria are made of: squared bias that grows and variance that falls with the gap."""
    rng = np.random.default_rng(seed)
    stiffness = np.power(10.0, rng.uniform(-1, 9, size=15))
    signal, noise = rng.exponential(size=15) * 3, 0.3

    def curve(g):
        s = 1.0 / (1.0 + g[:, None] * stiffness)
        return (signal * (1 - s) ** 2 + noise * s**2).sum(axis=1, keepdims=True)

    gaps = lattice(1e-12)
    found = search_lattice(curve, 1e-12)
    assert found.chosen[0] == gaps[np.argmin(curve(gaps)[:, 0])]


def test_what_was_evaluated_is_reported_in_descending_order():
    curve = column(valley(-2.5), valley(-6.0))
    found = search_lattice(curve, 1e-8)
    assert found.values.shape == (len(found.gaps), 2)
    assert (np.diff(found.gaps) < 0).all()
    assert np.isin(found.gaps, lattice(1e-8)).all()
    assert_array_equal(found.values, curve(found.gaps))
    assert len(found.gaps) < len(lattice(1e-8)) / 2


def test_every_output_has_its_own_choice():
    found = search_lattice(column(valley(-1.0), valley(-5.0), lambda g: g), 1e-8)
    assert_allclose(np.log10(found.chosen), [-1.0, -5.0, -8.0], atol=0.011)
    assert found.at_small_end.tolist() == [False, False, True]


def test_a_flat_curve_chooses_lam_0():
    found = search_lattice(column(lambda g: np.full_like(g, 2.0)), 1e-8)
    assert found.chosen[0] == 1.0
    assert not found.at_small_end[0]


def test_of_equal_values_the_largest_gap_wins():
    found = search_lattice(column(lambda g: np.where(g < 1e-4, 1.0, 2.0)), 1e-9)
    assert found.chosen[0] == lattice(1e-9)[lattice(1e-9) < 1e-4][0]
    assert not found.at_small_end[0]


@pytest.mark.parametrize("seed", range(5))
def test_rounding_on_a_flat_end_does_not_decide(seed):
    rng = np.random.default_rng(seed)

    def noisy(g):
        return (2.0 + np.where(g > 1e-3, np.log10(g) + 3.0, 0.0))[:, None] * (
            1.0 + 1e-14 * rng.normal(size=(len(g), 1))
        )

    exact = search_lattice(column(lambda g: 2.0 + np.maximum(np.log10(g) + 3.0, 0.0)), 1e-9)
    assert search_lattice(noisy, 1e-9).chosen[0] == exact.chosen[0]


def test_of_two_valleys_the_deeper_one_wins_even_between_coarse_points():
    """The coarse scan sees the wrong valley lower; refining both finds the right one."""

    def curve(g):
        t = np.log10(g)
        wide = 1.0 + 0.05 * (t + 2.0) ** 2
        narrow = 0.995 + 3.0 * (t + 5.1) ** 2
        return np.minimum(wide, narrow)[:, None]

    gaps = lattice(1e-8)
    coarse = curve(gaps[::10])[:, 0]
    assert abs(np.log10(gaps[::10][np.argmin(coarse)]) + 2.0) < 0.2
    found = search_lattice(curve, 1e-8)
    assert_allclose(np.log10(found.chosen[0]), -5.1, atol=0.011)


def test_a_criterion_that_falls_to_the_end_is_flagged():
    found = search_lattice(column(lambda g: g**0.1), 1e-6)
    assert found.at_small_end[0]
    assert found.chosen[0] == found.gaps[-1] == lattice(1e-6)[-1]


def test_a_criterion_that_rises_from_lam_0_is_not_flagged():
    found = search_lattice(column(lambda g: -g), 1e-6)
    assert found.chosen[0] == 1.0
    assert not found.at_small_end[0]


def test_a_search_of_one_point_is_not_at_its_small_end():
    found = search_lattice(column(lambda g: g), 1.0)
    assert found.chosen[0] == 1.0
    assert found.gaps.tolist() == [1.0]
    assert not found.at_small_end[0]


def test_the_end_is_looked_at_where_it_is_no_coarse_point():
    smallest = 10.0 ** (-3 - 7 / 50)
    found = search_lattice(column(lambda g: g), smallest)
    assert_allclose(found.chosen[0], smallest, rtol=1e-9)
    assert found.at_small_end[0]


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_gaps_where_the_criterion_has_no_value_are_not_chosen(bad):
    curve = column(lambda g: np.where(g < 1e-3, bad, np.log10(g) ** 2 * 0.0 + g))
    found = search_lattice(curve, 1e-8)
    assert 1e-3 <= found.chosen[0] <= 1.05e-3
    assert not found.at_small_end[0]


def test_the_edge_of_the_finite_values_is_found_between_coarse_points():
    edge = 10.0 ** (-2 - 13 / 50)
    curve = column(lambda g: np.where(g < edge * 0.999, np.inf, g))
    assert_allclose(search_lattice(curve, 1e-8).chosen[0], edge, rtol=1e-9)


def test_minus_infinity_is_the_best_value_there_is():
    found = search_lattice(column(lambda g: np.where(g < 1e-4, -np.inf, 1.0)), 1e-8)
    assert found.chosen[0] == lattice(1e-8)[lattice(1e-8) < 1e-4][0]


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_no_finite_value_at_all_is_an_error_that_names_the_way_out(bad):
    with pytest.raises(ValueError, match=r"not finite at any lam.*criterion='kfold'"):
        search_lattice(column(lambda g: np.full_like(g, bad)), 1e-6)


def test_one_output_without_finite_values_is_enough_for_that_error():
    with pytest.raises(ValueError, match="not finite at any lam"):
        search_lattice(column(valley(-2.0), lambda g: np.full_like(g, np.inf)), 1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_the_rounding_of_residuals_does_not_decide(seed, noise):
    rng = np.random.default_rng(seed)
    deviation = 3.0

    def rounded(g):
        return (noise + 1e-15 * deviation * rng.normal(size=(len(g), 1))) ** 2

    assert search_lattice(rounded, 1e-8, np.array([deviation])).chosen[0] == 1.0
