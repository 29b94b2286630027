"""Criteria and spectra of arrays of other libraries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import apart, problem, somewhere

from negcorr._common.arrays import to_host
from negcorr.criteria import closed_form as criteria
from negcorr.moments.moments import FactorMoments, GramMoments, total
from negcorr.moments.update import difference
from negcorr.spectrum.factorise import factorise

STARTS = np.array([0, 3, 6, 9])

repeatable = settings(derandomize=True, deadline=None, max_examples=40)

FUNCTIONS = {
    "sure": (criteria.sure, [0.3]),
    "gcv": (criteria.gcv, []),
    "inflated": (criteria.gcv, [1.4]),
    "aic": (criteria.aic, []),
    "aicc": (criteria.aicc, []),
    "bic": (criteria.bic, []),
    "cp": (criteria.mallows_cp, [0.3]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@repeatable
@given(
    errors=st.lists(st.one_of(st.just(0.0), st.floats(1e-12, 1e6)), min_size=1, max_size=5),
    dof=st.floats(0.0, 60.0),
    where=st.sampled_from(["torch", "strict"]),
)
def test_criteria_are_those_of_numpy(name, errors, dof, where):
    place = somewhere(where)
    function, more = FUNCTIONS[name]
    errors = np.array(errors)
    wanted = function(errors, dof, 50.0, *more)
    for given_dof in (dof, place.put(dof), place.put([dof])):
        found = function(place.put(errors), given_dof, 50.0, *more)
        assert place.has(found)
        np.testing.assert_allclose(to_host(found), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_criteria_broadcast_and_keep_their_place(place, name):
    function, more = FUNCTIONS[name]
    errors, dof = np.linspace(0.1, 2.0, 6).reshape(3, 2), np.array([[1.0], [10.0], [49.5]])
    wanted = function(errors, dof, 50, *more)
    for first, second in ((place.put(errors), dof), (errors, place.put(dof))):
        found = function(first, second, 50, *more)
        assert place.has(found)
        assert found.dtype == place.xp.float64
        np.testing.assert_allclose(to_host(found), wanted, rtol=1e-12)
    single = function(place.put(0.5), 3.0, 50, *more)
    assert place.has(single)
    assert single.ndim == 0


def test_a_noise_variance_may_be_anywhere(place):
    errors, variance = np.array([0.1, 0.2]), np.array([0.3, 0.4])
    wanted = criteria.sure(errors, 5.0, 50, variance)
    for given_variance in (variance, place.put(variance)):
        found = criteria.sure(place.put(errors), 5.0, 50, given_variance)
        np.testing.assert_allclose(to_host(found), wanted, rtol=1e-14)
    np.testing.assert_allclose(criteria.sure(errors, 5.0, 50, place.put(variance)), wanted)


def spectra(place, form, alpha=0.0, intercept=True):
    X, Y = problem(70, d=9, outputs=2)
    z = np.hstack([X, Y])
    weight = np.random.default_rng(1).integers(0, 3, 70).astype(float)
    route = "gram" if form is GramMoments else "qr"
    options = {"alpha": alpha, "fit_intercept": intercept, "route": route}
    there = form.from_rows(place.put(z), place.put(weight), 2)
    home = form.from_rows(z, weight, 2)
    return factorise(there, STARTS, **options), factorise(home, STARTS, **options), X, weight


@pytest.mark.parametrize("form", [GramMoments, FactorMoments])
@pytest.mark.parametrize("alpha", [0.0, 0.4])
@pytest.mark.parametrize("intercept", [True, False])
def test_curves_of_a_spectrum_are_those_at_home(place, form, alpha, intercept):
    there, home, X, weight = spectra(place, form, alpha, intercept)
    gaps = np.array([[1.0, 0.3], [1e-3, 0.0]])
    curves = ["shrinkage", "dof", "dof_derivative", "dof_second_derivative", "residual_dof"]
    for name in (*curves, "train_error", "diversity", "member_error"):
        for gap in (gaps, 0.2, place.put(gaps)):
            found = getattr(there, name)(gap=gap)
            assert place.has(found), name
            assert apart(found, getattr(home, name)(gap=to_host(gap))) < 1e-9, name
    assert apart(there.coef(gap=0.2), home.coef(gap=0.2)) < 1e-9
    assert apart(there.coef(gap=[0.2, 0.9]), home.coef(gap=[0.2, 0.9])) < 1e-9
    assert apart(there.coef_path(gaps.ravel()), home.coef_path(gaps.ravel())) < 1e-9
    members = there.member_coef(0.5)
    assert apart(there.member_intercepts(members), home.member_intercepts(to_host(members))) < 1e-9
    rows = place.put(X)
    assert apart(there.variance_factor(rows, 0.2), home.variance_factor(X, 0.2)) < 1e-9
    for name in ("leverage", "smoothing_matrix"):
        found = getattr(there, name)(rows, 0.5, sample_weight=place.put(weight))
        assert place.has(found)
        assert apart(found, getattr(home, name)(X, 0.5, sample_weight=weight)) < 1e-9
    wanted = (float(home.dof(gap=1.0)) + float(home.dof(gap=0.0))) / 2
    assert there.gap_for_dof(wanted) == pytest.approx(float(home.gap_for_dof(wanted)), rel=1e-9)


def test_a_single_number_is_an_array_of_the_place(place):
    there, home, _, _ = spectra(place, GramMoments)
    for name in ("dof", "dof_derivative", "dof_second_derivative", "residual_dof"):
        assert place.has(getattr(there, name)(0.5))
        assert getattr(there, name)(0.5).ndim == 0
        assert type(getattr(home, name)(0.5)) is np.ndarray


@pytest.mark.parametrize("form", [GramMoments, FactorMoments])
def test_moments_add_up_there(place, form):
    X, Y = problem(70, d=9, outputs=2)
    z = np.hstack([X, Y])
    parts = [z[:1], z[1:40], z[40:40], z[40:]]
    there = total([form.from_rows(place.put(p), place.put(np.ones(len(p))), 2) for p in parts])
    home = form.from_rows(z, np.ones(70), 2)
    assert there.weight == home.weight
    assert there.n_rows == home.n_rows
    assert apart(there.mean, home.mean) < 1e-12
    coef, centre = np.random.default_rng(0).normal(size=(2, 9, 3)), np.zeros(11)
    found = there.squared_error(place.put(coef), place.put(centre))
    assert place.has(found)
    assert apart(found, home.squared_error(coef, centre)) < 1e-11


def test_moments_are_taken_away_there(place):
    X, Y = problem(70, d=9, outputs=2)
    z = np.hstack([X, Y])
    whole, part, rest = (
        GramMoments.from_rows(place.put(rows), place.put(np.ones(len(rows))), 2)
        for rows in (z, z[:30], z[30:])
    )
    left = difference(whole, part)
    assert place.has(left.scatter)
    assert apart(left.mean, rest.mean) < 1e-12
    assert apart(left.scatter, rest.scatter) < 1e-12
    gone = difference(whole, whole)
    assert gone.weight == 0.0
    assert place.has(gone.scatter)
