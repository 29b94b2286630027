"""Scores of fitted models: by hand, against the bare formulas, and against the true error."""

import numpy as np
import pandas as pd
import pytest
from models import ncl
from numpy.testing import assert_allclose
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge

from negcorr import (
    aic,
    aicc,
    bic,
    degrees_of_freedom,
    difference_noise_variance,
    gcv_score,
    mallows_cp,
    monte_carlo_dof,
    sure_score,
)
from negcorr.criteria import closed_form as criteria
from negcorr.optimism.scores import check_noise_variance, training_error

WITH_NOISE = {sure_score: criteria.sure, mallows_cp: criteria.mallows_cp}
WITHOUT = {
    gcv_score: criteria.gcv,
    aic: criteria.aic,
    aicc: criteria.aicc,
    bic: criteria.bic,
}
ALL = [*WITH_NOISE, *WITHOUT]

#: Twos predicted for 0, 2, 4 and 6: squared errors 4, 0, 4 and 16.
FOUR = np.arange(4.0)[:, np.newaxis], np.array([0.0, 2.0, 4.0, 6.0])
TWO = DummyRegressor(strategy="constant", constant=2.0).fit(*FOUR)


def name_of(function):
    return function.__name__


def data(outputs=None, n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=(outputs or 1, n))).T
    return X, y[:, 0] if outputs is None else y


def fitted(X, y, weight=None):
    return Ridge(2.0).fit(X, y, sample_weight=weight)


def score(function, *args, noise_variance=0.7, **settings):
    """Any of the scores; the noise goes to those that take it."""
    if function in WITH_NOISE:
        settings["noise_variance"] = noise_variance
    return function(*args, **settings)


# ---------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "settings", "wanted"),
    [
        # The mean of the squares is 6, and n is 4.
        (sure_score, {"noise_variance": 2.0}, 6.0 + 2.0 * (2.0 / 4.0 - 1.0)),
        (mallows_cp, {"noise_variance": 2.0}, 24.0 / 2.0 - 4.0 + 2.0),
        (gcv_score, {}, 6.0 / (3.0 / 4.0) ** 2),
        (gcv_score, {"inflation": 2.0}, 6.0 / (2.0 / 4.0) ** 2),
        (aic, {}, 4.0 * np.log(6.0) + 2.0 * 2.0),
        (aicc, {}, 4.0 * np.log(6.0) + 4.0 + 2.0 * 2.0 * 3.0 / (4.0 - 2.0 - 1.0)),
        (bic, {}, 4.0 * np.log(6.0) + 2.0 * np.log(4.0)),
    ],
    ids=["sure", "cp", "gcv", "gcv inflated", "aic", "aicc", "bic"],
)
def test_scores_by_hand(function, settings, wanted):
    found = function(TWO, *FOUR, 1.0, **settings)
    assert type(found) is float
    assert found == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(
    ("function", "settings", "wanted"),
    [
        # Weights 3, 0, 2 and 5 add up to 10, and the mean of the squares is 100/10.
        (sure_score, {"noise_variance": 2.0}, 10.0 + 2.0 * (2.0 / 10.0 - 1.0)),
        (mallows_cp, {"noise_variance": 2.0}, 100.0 / 2.0 - 10.0 + 2.0),
        (gcv_score, {}, 10.0 / (9.0 / 10.0) ** 2),
        (aic, {}, 10.0 * np.log(10.0) + 4.0),
        (aicc, {}, 10.0 * np.log(10.0) + 4.0 + 12.0 / 7.0),
        (bic, {}, 10.0 * np.log(10.0) + 2.0 * np.log(10.0)),
    ],
    ids=["sure", "cp", "gcv", "aic", "aicc", "bic"],
)
def test_weighted_scores_by_hand(function, settings, wanted):
    found = function(TWO, *FOUR, 1.0, sample_weight=[3.0, 0.0, 2.0, 5.0], **settings)
    assert found == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("function", ALL, ids=name_of)
@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_scores_are_the_formulas_with_the_training_error_of_the_model(function, outputs):
    X, y = data(outputs)
    model = fitted(X, y)
    error = np.mean((y - model.predict(X).reshape(y.shape)) ** 2, axis=0)
    dof = 2.5 if outputs is None else np.arange(outputs) + 2.5
    noise = 0.7 if outputs is None else np.arange(outputs) + 0.7
    found = score(function, model, X, y, dof, noise_variance=noise)
    formula = (WITH_NOISE | WITHOUT)[function]
    wanted = formula(error, dof, 30, *([noise] if function in WITH_NOISE else []))
    assert np.shape(found) == (() if outputs is None else (outputs,))
    assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("function", ALL, ids=name_of)
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("noise", [0.7, "difference"])
def test_integer_weights_equal_repeated_rows(function, outputs, noise):
    X, y = data(outputs, seed=1)
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    weighted = score(
        function, fitted(X, y, weight), X, y, 4.0, sample_weight=weight, noise_variance=noise
    )
    more = X[copies], y[copies]
    assert_allclose(
        weighted, score(function, fitted(*more), *more, 4.0, noise_variance=noise), rtol=1e-10
    )


@pytest.mark.parametrize("function", ALL, ids=name_of)
def test_dof_come_in_any_form_that_names_them(function):
    X, y = data()
    model = fitted(X, y)
    exact = degrees_of_freedom(model, X, y)
    wanted = score(function, model, X, y, exact.dof)
    for dof in (exact, np.float64(exact.dof), np.array(exact.dof), [exact.dof], (exact.dof,)):
        assert score(function, model, X, y, dof) == wanted
    run = monte_carlo_dof(model, X, y, n_probes=2, random_state=0)
    assert score(function, model, X, y, run) == score(function, model, X, y, run.dof)
    assert score(function, model, X, y, run) != wanted
    assert score(function, model, X, y, 3) == score(function, model, X, y, 3.0)


@pytest.mark.parametrize("function", ALL, ids=name_of)
def test_one_number_stands_for_all_outputs(function):
    X, y = data(outputs=2)
    model = fitted(X, y)
    exact = degrees_of_freedom(model, X, y)
    assert exact.dof.shape == (2,)
    for_each = score(function, model, X, y, exact)
    for_all = score(function, model, X, y, float(exact.dof[0]))
    assert_allclose(score(function, model, X, y, [exact.dof[0]]), for_all)
    by_one = [score(function, fitted(X, t), X, t, exact.dof[0]) for t in y.T]
    assert_allclose(for_each, by_one, rtol=1e-12)
    assert_allclose(for_all, by_one, rtol=1e-12)


@pytest.mark.parametrize("function", WITH_NOISE, ids=name_of)
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_noise_comes_from_differences_of_neighbours_unless_given(function, outputs, weighted):
    X, y = data(outputs)
    weight = np.linspace(0.0, 2.0, len(y)) if weighted else None
    model = fitted(X, y, weight)
    noise = difference_noise_variance(X, y, weight)
    wanted = function(model, X, y, 3.0, noise_variance=noise, sample_weight=weight)
    assert_allclose(function(model, X, y, 3.0, sample_weight=weight), wanted, rtol=1e-12)


def test_cp_is_sure_in_units_of_the_noise():
    X, y = data()
    model = fitted(X, y)
    sure = sure_score(model, X, y, 3.5, noise_variance=0.4)
    cp = mallows_cp(model, X, y, 3.5, noise_variance=0.4)
    assert cp == pytest.approx(30 / 0.4 * sure, rel=1e-12)


def test_cp_of_least_squares_with_its_own_noise_is_its_number_of_parameters():
    X, y = data()
    model = LinearRegression().fit(X, y)
    dof = degrees_of_freedom(model, X, y)
    noise = np.sum((y - model.predict(X)) ** 2) / (30 - 4)
    assert mallows_cp(model, X, y, dof, noise_variance=noise) == pytest.approx(4.0, rel=1e-12)


def test_scores_where_no_freedom_is_left():
    X, y = data()
    model = fitted(X, y)
    assert gcv_score(model, X, y, 30.0) == np.inf
    assert gcv_score(model, X, y, 20.0, inflation=1.5) == np.inf
    assert np.isfinite(gcv_score(model, X, y, 20.0, inflation=1.4))
    assert aicc(model, X, y, 28.0) == np.inf
    assert sure_score(model, X, y, 40.0, noise_variance=0.0) == pytest.approx(
        np.mean((y - model.predict(X)) ** 2)
    )


def test_sure_is_right_on_average():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 4))
    mean = np.sin(X[:, 0]) + X[:, 1]
    dof = degrees_of_freedom(Ridge(3.0), X, mean)
    differences = []
    for _ in range(300):
        y = mean + 0.8 * rng.normal(size=25)
        model = Ridge(3.0).fit(X, y)
        true = np.mean((model.predict(X) - mean) ** 2)
        differences.append(sure_score(model, X, y, dof, noise_variance=0.64) - true)
    error = np.std(differences) / np.sqrt(300)
    assert abs(np.mean(differences)) < 4 * error
    # An error of one degree of freedom would be seen.
    assert 4 * error < 2 * 0.64 / 25


def test_data_frames_lists_and_models_of_our_own():
    X, y = data()
    wanted = sure_score(fitted(X, y), X, y, 3.0)
    assert sure_score(fitted(X, y), X.tolist(), y.tolist(), 3.0) == pytest.approx(wanted)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = sure_score(fitted(frame, y), frame, pd.Series(y), 3.0)
    assert found == pytest.approx(wanted)
    model = ncl(5, 3, lam=0.5).fit(X, y)
    found = gcv_score(model, X, y, model.dof_)
    assert found == pytest.approx(np.mean((y - model.predict(X)) ** 2) / (1 - model.dof_ / 30) ** 2)


# ---------------------------------------------------------------------------------------
# Ingredients
# ---------------------------------------------------------------------------------------


def test_training_error_of_each_output():
    y = np.array([[0.0, 0.0], [1.0, 2.0]])
    assert_allclose(training_error(np.ones((2, 2)), y), [0.5, 1.0])
    assert_allclose(training_error(np.ones((2, 2)), y, [1.0, 3.0]), [0.25, 1.0])
    # Some models answer a single output with a column.
    assert_allclose(training_error(np.ones((2, 1)), y[:, 0]), [0.5])


def test_noise_variance_is_one_number_for_each_output():
    X, y = data(outputs=2)
    assert_allclose(check_noise_variance(0.5, X, y), [0.5, 0.5])
    assert_allclose(check_noise_variance([0.5, 0.0], X, y), [0.5, 0.0])
    assert_allclose(check_noise_variance(0.5, X, y[:, 0]), [0.5])
    assert_allclose(check_noise_variance(np.array([0.5]), X, y[:, 0]), [0.5])
    found = check_noise_variance("difference", X, y[:, 0])
    assert found.shape == (1,)
    assert found[0] == difference_noise_variance(X, y[:, 0])


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ALL, ids=name_of)
@pytest.mark.parametrize(
    ("dof", "error", "message"),
    [
        (None, TypeError, "dof=None must be"),
        ("4", TypeError, "dof='4' must be"),
        (True, TypeError, "dof=True must be"),
        (1j, TypeError, "dof=1j must be"),
        (np.nan, ValueError, "dof=nan must be finite"),
        (np.inf, ValueError, "dof=inf must be finite"),
        ([1.0, 2.0], ValueError, r"dof=\[1.0, 2.0\] must be one number or one for each of 1 "),
        (np.ones((1, 1)), ValueError, r"dof=.* must be one number"),
        ([], ValueError, r"dof=\[\] must be one number"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_bad_dof_are_named(function, dof, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        score(function, fitted(X, y), X, y, dof)


@pytest.mark.parametrize("function", WITH_NOISE, ids=name_of)
@pytest.mark.parametrize(
    ("noise", "error", "message"),
    [
        (-0.1, ValueError, "noise_variance=-0.1 must be finite and not negative"),
        (np.nan, ValueError, "noise_variance=nan must be finite"),
        (np.inf, ValueError, "noise_variance=inf must be finite"),
        ("paper", ValueError, "noise_variance='paper' is unknown"),
        (None, TypeError, "noise_variance=None must be numbers"),
        (True, TypeError, "noise_variance=True must be numbers"),
        ([1.0, 2.0], ValueError, r"noise_variance=\[1.0, 2.0\].* each of 1 output"),
        (np.ones((1, 1)), ValueError, r"noise_variance=.* each of 1 output"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_bad_noise_is_named(function, noise, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        function(fitted(X, y), X, y, 3.0, noise_variance=noise)


@pytest.mark.parametrize("noise", [0.0, [0.3, 0.0]])
def test_cp_needs_noise(noise):
    X, y = data(outputs=2)
    with pytest.raises(ValueError, match=r"noise_variance=.* greater than 0 for C_p"):
        mallows_cp(fitted(X, y), X, y, 3.0, noise_variance=noise)


@pytest.mark.parametrize("function", ALL, ids=name_of)
def test_models_and_data_that_do_not_belong_together(function):
    X, y = data()
    with pytest.raises(NotFittedError):
        score(function, Ridge(), X, y, 3.0)
    with pytest.raises(ValueError, match="inconsistent"):
        score(function, fitted(X, y), X, y[:-1], 3.0)
    with pytest.raises(ValueError, match=r"predictions have shape \(30,\), y has shape \(30, 2\)"):
        score(function, fitted(X, y), X, np.column_stack([y, y]), 3.0)
    with pytest.raises(ValueError, match="NaN"):
        score(function, fitted(X, y), X, np.where(y > 0, y, np.nan), 3.0)
    with pytest.raises(ValueError, match="sample_weight"):
        score(function, fitted(X, y), X, y, 3.0, sample_weight=np.ones(29))
    with pytest.raises(ValueError, match="Negative"):
        score(function, fitted(X, y), X, y, 3.0, sample_weight=-np.ones(30))


@pytest.mark.parametrize("inflation", [0.0, -1.0, np.nan])
def test_bad_inflation_is_named(inflation):
    X, y = data()
    with pytest.raises(ValueError, match="inflation="):
        gcv_score(fitted(X, y), X, y, 3.0, inflation=inflation)
