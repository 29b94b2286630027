"""NIST's reference sets for least squares, which λ = 1 is: digits by default, beside ``lstsq``."""

import numpy as np
import pytest
from nist import SETS

from negcorr import ncl_path

#: Digits that the fast route by products does not reach.
LEAST = {"Wampler3": 9.0, "Wampler4": 7.5, "Filip": 6.5}


@pytest.mark.parametrize("name", SETS)
def test_coefficients_have_about_as_many_digits_as_those_of_lstsq(name):
    given = SETS[name]
    k = given.columns.shape[1]
    path = ncl_path(given.columns, given.y, [0, k], lam=1.0, fit_intercept=given.fit_intercept)
    coef = path.coef()
    if given.fit_intercept:
        coef = np.append(path.spectrum.intercept(coef[None, :]), coef)
    usual = given.digits(np.linalg.lstsq(given.design, given.y, rcond=None)[0])
    digits = given.digits(coef)
    assert digits >= usual - 0.5
    assert digits >= LEAST.get(name, 0.0)
    assert path.dof() == pytest.approx(given.design.shape[1], abs=1e-9)


@pytest.mark.parametrize("name", ["Pontius", "Longley", "Wampler3", "Wampler4", "Filip"])
def test_members_of_one_column_each_have_as_many_digits(name):
    given = SETS[name]
    k = given.columns.shape[1]
    path = ncl_path(given.columns, given.y, np.arange(k + 1), lam=1.0)
    coef = path.coef()
    coef = np.append(path.spectrum.intercept(coef[None, :]), coef)
    usual = given.digits(np.linalg.lstsq(given.design, given.y, rcond=None)[0])
    assert given.digits(coef) >= usual - 0.5
    assert given.digits(coef) >= LEAST.get(name, 0.0)
