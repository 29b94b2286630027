"""lam and gap become one number, and nonsense is named."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from negcorr.spectrum.gap import LATTICE_PER_DECADE, lattice, resolve_gap


@pytest.mark.parametrize(("lam", "gap"), [(0.0, 1.0), (1.0, 0.0), (0.75, 0.25), (1, 0)])
def test_lam_becomes_its_complement(lam, gap):
    assert float(resolve_gap(lam=lam)) == gap


def test_truth_values_are_no_numbers_here():
    with pytest.raises(TypeError, match="lam=True must be a number"):
        resolve_gap(lam=True)


@pytest.mark.parametrize("gap", [0.0, 1e-300, 1e-20, 0.3, 1.0])
def test_a_gap_stays_as_it_is_to_the_last_bit(gap):
    assert float(resolve_gap(gap=gap)) == gap


def test_the_shape_of_the_input_is_kept():
    assert resolve_gap(lam=[[0.0, 0.5], [1.0, 0.25]]).tolist() == [[1.0, 0.5], [0.0, 0.75]]
    assert resolve_gap(gap=0.5).shape == ()
    assert resolve_gap(gap=[]).shape == (0,)
    assert resolve_gap(lam=np.float32(0.5)).dtype == np.float64


@pytest.mark.parametrize("lam", [1.0 + 1e-15, 1.5, np.inf, [0.5, 2.0]])
def test_lam_above_1_is_refused_with_the_papers_reason(lam):
    with pytest.raises(ValueError, match=r"lam=.* is outside \[0, 1\].*unbounded below.*diverge"):
        resolve_gap(lam=lam)


@pytest.mark.parametrize("lam", [-0.1, -np.inf, np.nan, [0.5, -1e-9]])
def test_other_lam_outside_0_and_1_is_refused_without_that_reason(lam):
    with pytest.raises(ValueError, match=r"lam=\S+ is outside \[0, 1\]\.$"):
        resolve_gap(lam=lam)


@pytest.mark.parametrize("gap", [-1e-20, 1.1, np.nan, np.inf])
def test_a_gap_outside_0_and_1_is_refused_by_its_own_name(gap):
    with pytest.raises(ValueError, match=r"gap=\S+ is outside \[0, 1\]\.$"):
        resolve_gap(gap=gap)


def test_the_first_bad_value_is_named():
    with pytest.raises(ValueError, match=r"gap=7\.0 is outside"):
        resolve_gap(gap=[0.5, 7.0, -3.0])


@pytest.mark.parametrize("value", ["half", {"a": 1}, [[0.1], [0.1, 0.2]], [0.5, None], 0.5j])
def test_what_is_no_number_is_named(value):
    with pytest.raises(ValueError, match=r"lam=.* (is not a number|is outside)"):
        resolve_gap(lam=value)


def test_exactly_one_of_lam_and_gap():
    with pytest.raises(ValueError, match=r"exactly one of lam and gap.*neither"):
        resolve_gap()
    with pytest.raises(ValueError, match=r"exactly one of lam and gap.*lam=0\.5 and gap=0\.5"):
        resolve_gap(lam=0.5, gap=0.5)


@pytest.mark.parametrize("smallest", [0.9, 1e-3, 3e-7, 1e-20])
def test_the_lattice_has_50_points_a_decade_from_1_to_the_smallest(smallest):
    gaps = lattice(smallest)
    assert gaps[0] == 1.0
    assert_allclose(np.diff(np.log10(gaps)), -1.0 / LATTICE_PER_DECADE, rtol=1e-9)
    assert gaps[-1] <= smallest * (1 + 1e-12)
    assert gaps[-2] > smallest * (1 - 1e-12)


def test_a_lattice_that_ends_at_1_is_one_point():
    assert lattice(1.0).tolist() == [1.0]


def test_longer_lattices_begin_with_the_shorter_ones():
    short, long = lattice(1e-3), lattice(1e-9)
    assert_array_equal(long[: len(short)], short)
