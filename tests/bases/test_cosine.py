"""The cosine of the Fourier features: accurate, and at home in any buffer."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.bases.fourier import ROWS_IN_CACHE, cos_turns

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

ACCURACY = 1e-13


def cosines(turns):
    """cos(2π·turns) with inputs kept and room of its own."""
    out = np.empty_like(turns)
    cos_turns(turns.copy(), out, np.empty((2, *turns.shape)))
    return out


def exact(turns):
    with mpmath.workdps(40):
        return np.array(
            [float(mpmath.cos(2 * mpmath.pi * mpmath.mpf(float(t)))) for t in turns.ravel()]
        ).reshape(turns.shape)


def test_error_is_below_1e_13_for_angles_below_100():
    turns = np.random.default_rng(0).uniform(-100 / (2 * np.pi), 100 / (2 * np.pi), (40, 50))
    assert np.max(np.abs(cosines(turns) - exact(turns))) < ACCURACY


@repeatable
@given(st.floats(-100 / (2 * np.pi), 100 / (2 * np.pi)))
def test_error_is_below_1e_13_for_any_angle_below_100(turn):
    turns = np.array([[turn]])
    assert abs(cosines(turns) - exact(turns))[0, 0] < ACCURACY


def test_error_is_below_1e_13_at_and_beside_every_eighth_of_a_turn():
    eighths = np.arange(-128, 129) / 8
    turns = np.stack([np.nextafter(eighths, -np.inf), eighths, np.nextafter(eighths, np.inf)])
    assert np.max(np.abs(cosines(turns) - exact(turns))) < ACCURACY


def test_accuracy_in_turns_does_not_fade_for_large_ones():
    turns = np.random.default_rng(1).uniform(-1e9, 1e9, (10, 20))
    assert np.max(np.abs(cosines(turns) - exact(turns))) < ACCURACY


def test_values_stay_within_one():
    turns = np.linspace(-3.0, 3.0, 24_001).reshape(1, -1)
    assert np.max(np.abs(cosines(turns))) <= 1.0 + ACCURACY


@pytest.mark.parametrize("n_rows", [0, 1, ROWS_IN_CACHE - 1, ROWS_IN_CACHE, 3 * ROWS_IN_CACHE + 5])
def test_any_number_of_rows_is_filled(n_rows):
    turns = np.random.default_rng(2).normal(size=(n_rows, 7))
    np.testing.assert_allclose(cosines(turns), np.cos(2 * np.pi * turns), rtol=0, atol=2e-13)


def test_result_goes_into_a_view_of_a_wider_array_and_nowhere_else():
    turns = np.random.default_rng(3).normal(size=(20, 6))
    wide = np.full((40, 15), 7.0)
    cos_turns(turns.copy(), wide[::2, 3:15:2], np.empty((2, 20, 6)))
    np.testing.assert_array_equal(wide[::2, 3:15:2], cosines(turns))
    wide[::2, 3:15:2] = 7.0
    assert (wide == 7.0).all()


def test_turns_and_scratch_may_be_views_too():
    turns = np.random.default_rng(4).normal(size=(9, 5))
    room, scratch = np.zeros((20, 11)), np.zeros((2, 30, 8))
    room[4:13, 2:7] = turns
    out = np.empty((9, 5))
    cos_turns(room[4:13, 2:7], out, scratch[:, 3:12, 1:6])
    np.testing.assert_array_equal(out, cosines(turns))
