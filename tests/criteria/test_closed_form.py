"""Criteria against numbers worked out by hand, and their rules where dof reaches n."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression

from negcorr.criteria.closed_form import aic, aicc, bic, gcv, mallows_cp, sure


def test_sure_by_hand():
    # 0.25 + 0.1·(2·8/40 − 1) = 0.25 − 0.06
    assert sure(0.25, 8, 40, 0.1) == pytest.approx(0.19)


def test_gcv_by_hand():
    # 0.25 / (1 − 8/40)² = 0.25/0.64
    assert gcv(0.25, 8, 40) == pytest.approx(0.390625)
    # 0.25 / (1 − 1.4·8/40)² = 0.25/0.5184
    assert gcv(0.25, 8, 40, inflation=1.4) == pytest.approx(0.25 / 0.5184)


def test_aic_by_hand():
    # 40·ln(e⁻²) + 2·9 = −80 + 18
    assert aic(np.exp(-2.0), 8, 40) == pytest.approx(-62.0)


def test_aicc_by_hand():
    # k = 9: −62 + 2·9·10/(40 − 9 − 1) = −62 + 6
    assert aicc(np.exp(-2.0), 8, 40) == pytest.approx(-56.0)


def test_bic_by_hand():
    # n = e³: e³·ln(1) + 3·(4 + 1)
    assert bic(1.0, 4, np.exp(3.0)) == pytest.approx(15.0)


def test_mallows_cp_by_hand():
    # 40·0.25/0.1 − 40 + 16
    assert mallows_cp(0.25, 8, 40, 0.1) == pytest.approx(76.0)


def test_mallows_cp_is_sure_in_units_of_the_noise():
    error, dof = np.array([0.2, 0.5, 0.9]), np.array([30.0, 12.0, 3.0])
    assert_allclose(mallows_cp(error, dof, 50, 0.3), 50 / 0.3 * sure(error, dof, 50, 0.3))


def test_mallows_cp_of_a_full_linear_model_is_its_number_of_parameters():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    residual = y - LinearRegression().fit(X, y).predict(X)
    unbiased = residual @ residual / (30 - 5)
    assert mallows_cp(np.mean(residual**2), 5, 30, unbiased) == pytest.approx(5.0)


def test_aicc_tends_to_aic_with_many_samples():
    assert aicc(0.5, 10, 1e9) == pytest.approx(float(aic(0.5, 10, 1e9)), abs=1e-5)


@pytest.mark.parametrize("dof", [40.0, 41.0, 1e6])
def test_gcv_is_infinite_without_freedom_left(dof):
    assert gcv(0.25, dof, 40) == np.inf
    assert gcv(0.0, dof, 40) == np.inf


def test_gcv_is_infinite_where_inflated_dof_reach_n():
    assert gcv(0.25, 30, 40, inflation=1.4) == np.inf
    assert np.isfinite(gcv(0.25, 30, 40, inflation=1.3))


@pytest.mark.parametrize("dof", [38.0, 39.5, 40.0, 100.0])
def test_aicc_is_infinite_where_dof_plus_2_reach_n(dof):
    assert aicc(0.25, dof, 40) == np.inf
    assert np.isfinite(aicc(0.25, 37.9, 40))


def test_a_fit_without_error_and_without_freedom_is_not_chosen_by_aicc():
    assert aicc(0.0, 40, 40) == np.inf
    assert aicc(0.0, 4, 40) == -np.inf


def test_a_fit_without_error_has_the_smallest_aic_and_bic_there_is():
    assert aic(0.0, 4, 40) == -np.inf
    assert bic(0.0, 4, 40) == -np.inf


def test_sure_goes_on_beyond_n_and_grows_with_dof():
    values = sure(0.0, np.array([39.0, 40.0, 41.0]), 40, 1.0)
    assert_allclose(values, [0.95, 1.0, 1.05])


@pytest.mark.parametrize("inflation", [0.0, -1.0, np.nan, np.inf])
def test_inflation_must_be_positive_and_finite(inflation):
    with pytest.raises(ValueError, match=r"inflation=.* finite number greater than 0"):
        gcv(0.5, 3, 40, inflation=inflation)


def test_curves_of_several_outputs_broadcast_against_their_shared_dof():
    error = np.array([[0.2, 0.4], [0.5, 0.6], [0.9, 0.7]])
    dof = np.array([[30.0], [12.0], [3.0]])
    for name in (gcv, aic, aicc, bic):
        values = name(error, dof, 50)
        assert values.shape == (3, 2)
        assert values[1, 1] == pytest.approx(float(name(0.6, 12.0, 50)))
    noise = np.array([0.1, 0.3])
    for name in (sure, mallows_cp):
        values = name(error, dof, 50, noise)
        assert values.shape == (3, 2)
        assert values[2, 1] == pytest.approx(float(name(0.7, 3.0, 50, 0.3)))
