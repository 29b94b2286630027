"""A spectrum without eigenvectors answers as one that has them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import make_problem, moments_of, random_problem

from negcorr.moments.moments import GramMoments
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.spectrum import Spectrum
from negcorr.spectrum.tridiagonal import BandedSpectrum

GAPS = np.array([1.0, 0.3, 1e-3, 1e-6])


def banded(problem, **settings):
    spectrum = factorise(moments_of(problem, GramMoments), problem.starts, **settings)
    assert isinstance(spectrum, BandedSpectrum)
    return spectrum


@pytest.mark.parametrize("kind", ["tall", "weighted", "multi-output", "unequal blocks"])
@pytest.mark.parametrize("settings", [{}, {"alpha": 0.2}, {"fit_intercept": False}])
def test_banded_solves_equal_the_formulas_in_the_modes(kind, settings):
    spectrum = banded(make_problem(kind), **settings)
    scale = spectrum.total.max()
    assert_allclose(
        spectrum.train_error(gap=GAPS), Spectrum.train_error(spectrum, gap=GAPS), atol=1e-12 * scale
    )
    for gap in GAPS:
        by_modes = Spectrum.coef(spectrum, gap=gap)
        assert_allclose(spectrum.coef(gap=gap), by_modes, atol=1e-8 * np.abs(by_modes).max())
    by_modes = Spectrum.coef_path(spectrum, GAPS)
    assert_allclose(spectrum.coef_path(GAPS), by_modes, atol=1e-8 * np.abs(by_modes).max())


def test_eigenvectors_are_left_for_later():
    spectrum = banded(make_problem("tall"))
    spectrum.dof(gap=GAPS)
    spectrum.train_error(gap=GAPS)
    spectrum.coef_path(GAPS)
    assert not {"modes", "kappa", "outside"} & set(vars(spectrum))
    spectrum.diversity(gap=GAPS)
    assert {"modes", "kappa"} <= set(vars(spectrum))


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-20])
def test_gaps_below_the_noise_leave_out_modes_of_no_size(gap):
    problem = make_problem("rank-deficient")
    spectrum = banded(problem)
    accurate = factorise(moments_of(problem), problem.starts)
    assert len(spectrum.rho) == len(accurate.rho)
    assert_allclose(spectrum.dof(gap=gap), accurate.dof(gap=gap), rtol=1e-8)
    assert_allclose(
        spectrum.train_error(gap=gap),
        accurate.train_error(gap=gap),
        atol=1e-9 * spectrum.total.max(),
    )


def test_one_gap_for_each_output():
    problem = random_problem(np.random.default_rng(0), 60, [4, 4, 4], outputs=3)
    spectrum = banded(problem)
    gaps = np.array([0.5, 1e-2, 1e-4])
    together = spectrum.coef(gap=gaps)
    for j, gap in enumerate(gaps):
        assert_allclose(together[j], spectrum.coef(gap=gap)[j], rtol=1e-12)
