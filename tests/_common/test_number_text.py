import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negcorr._common.number_text import amount, amount_with_error, mean_and_error, with_error
from negcorr.spectrum.gap import lam_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "-0.5"),
        (123456.0, "123500"),
        (99999.6, "100000"),
        (0.0001, "0.0001"),
        (12.3456, "12.35"),
        (1e12, "1e+12"),
        (float("inf"), "inf"),
        (-2.5e-9, "-2.5e-09"),
    ],
)
def test_amounts(value, text):
    assert amount(value) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3.1732, 0.3441, "3.17 ± 0.34"),
        (0.0, 0.012, "0.000 ± 0.012"),
        (1.0, 0.0996, "1.000 ± 0.100"),
        (1e10, 2e7, "1e+10 ± 2e+07"),
        (1e-6, 1e-7, "1e-06 ± 1e-07"),
        (5.0, 0.0, "5"),
        (5.0, float("inf"), "5"),
        (float("nan"), 1.0, ""),
    ],
)
def test_amounts_with_errors(value, error, text):
    assert amount_with_error(value, error) == text


@given(st.floats(-1e8, 1e8), st.integers(2, 6))
def test_amounts_keep_their_digits(value, digits):
    text = amount(value, digits)
    assert math.isclose(float(text), value, rel_tol=0.51 * 10.0 ** (1 - digits), abs_tol=0.0)


def test_lam():
    gaps = (1.0, 0.5, 1e-3, 9e-4, 0.0)
    assert [lam_text(gap, 3) for gap in gaps] == ["0", "0.5", "0.999", "1−9·10⁻⁴", "1"]
    assert [lam_text(gap) for gap in gaps[2:]] == ["0.999", "0.9991", "1"]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (11.08, 0.5512, "11.08 ± 0.55"),
        (3.0, math.nan, "3 ± nan"),
        (3.0, 0.0, "3"),
        (np.array([1.5, 22.25]), np.array([0.1, 0.0]), "[1.5 ± 0.1, 22.25]"),
    ],
)
def test_numbers_with_errors(value, error, text):
    assert with_error(value, error) == text


def test_a_mean_has_the_spread_over_the_root_of_the_number_as_its_error():
    values = np.random.default_rng(0).normal(size=(9, 2))
    mean, error = mean_and_error(values)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(error, values.std(axis=0, ddof=1) / 3)
    with_zeros = mean_and_error(np.concatenate([values, values]), np.repeat([2.0, 0.0], 9))
    np.testing.assert_allclose(with_zeros, (mean, error))
    assert np.isnan(mean_and_error(values[:, 0], np.arange(9) == 3)[1])
