"""Mean and standard error over probes, and how a result shows itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from negcorr.dof.monte_carlo.result import MonteCarloDof, mean_and_error


def test_mean_and_spread_over_the_root_of_the_number():
    values = np.array([[1.0, 0.0], [2.0, 0.0], [6.0, 3.0]])
    mean, error = mean_and_error(values, np.zeros((3, 2)))
    assert_allclose(mean, [3.0, 1.0])
    # Squares about the means add up to 4 + 1 + 9 and 1 + 1 + 4; over 2, over 3.
    assert_allclose(error, np.sqrt([14.0 / 6.0, 1.0]))


def test_one_value_has_no_spread():
    mean, error = mean_and_error(np.array([[4.0, 5.0]]), np.ones((1, 2)))
    assert_allclose(mean, [4.0, 5.0])
    assert np.isnan(error).all()


def test_rounding_is_not_averaged_out():
    _, error = mean_and_error(np.full((9, 1), 4.0), np.full((9, 1), 1e-3))
    assert_allclose(error, 1e-3)
    values = np.array([[1.0], [3.0]])
    assert_allclose(mean_and_error(values, np.full((2, 1), 2.0))[1], np.sqrt(1.0 + 4.0))
    _, none = mean_and_error(np.full((9, 1), 4.0), np.zeros((9, 1)))
    assert none == 0.0


def test_of_two_variances_the_larger_counts():
    values, still = np.array([[1.0], [3.0]]), np.zeros((2, 1))
    plain = mean_and_error(values, still)[1]
    assert_allclose(plain, 1.0)
    assert_allclose(mean_and_error(values, still, np.array([0.5]))[1], plain)
    assert_allclose(mean_and_error(values, still, np.array([8.0]))[1], 2.0)


@pytest.mark.parametrize(
    ("dof", "error", "shown"),
    [
        (11.08, 0.5512, "11.08 ± 0.55"),
        (3.0, np.nan, "3 ± nan"),
        (np.array([1.5, 22.25]), np.array([0.1, 2.0]), "[1.5 ± 0.1, 22.25 ± 2]"),
        (np.array([1.5]), np.array([0.1]), "[1.5 ± 0.1]"),
    ],
)
def test_result_shows_its_value_and_error(dof, error, shown):
    values = np.zeros((7, *np.shape(dof)))
    result = MonteCarloDof(dof, error, values, 0.1, 14, 40, "rademacher", "central")
    assert repr(result) == f"MonteCarloDof(dof={shown}, n_probes=7, n_fits=14, n_samples=40)"
    assert (result.linear, result.n_deflated, result.step_check) == (None, 0, None)
