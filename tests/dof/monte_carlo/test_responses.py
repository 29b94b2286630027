"""Finite differences along directions: exact where they can be, counted, never lost."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import (
    adaptive_kernel_ridge,
    all_signs,
    complex_step_trace,
    directional_derivative,
)
from sklearn.linear_model import Ridge

from negcorr.dof.monte_carlo.refits import Refit
from negcorr.dof.monte_carlo.responses import Direction, ResponseMeter
from negcorr.exceptions import ProbeError

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None, max_examples=40)

SCHEMES = ("central", "forward")


def meter_of(fit_predict, y, eps=0.1, scheme="central", n_jobs=None, X=None, advance=None):
    y = np.asarray(y, dtype=float)
    X = np.zeros((len(y), 1)) if X is None else X
    refit = Refit.of(fit_predict, X, y)
    step = np.broadcast_to(np.asarray(eps, dtype=float), (refit.y.shape[1],))
    return ResponseMeter(refit, step, scheme, n_jobs, advance or (lambda: None))


def directions(vectors, seed=0):
    return [Direction(np.reshape(v, (len(v), -1)), seed) for v in vectors]


def linear(S):
    return lambda X, y: S @ y


@pytest.mark.parametrize("scheme", SCHEMES)
@repeatable
@given(st.integers(1, 6), st.integers(0, 10_000), st.sampled_from([1e-3, 0.1, 10.0]))
def test_mean_over_all_signs_is_the_trace(scheme, n, seed, eps):
    """Every b of ±1 once: the entries off the diagonal cancel, whatever S is."""
    rng = np.random.default_rng(seed)
    S, y = rng.normal(size=(n, n)), rng.normal(size=n)
    meter = meter_of(linear(S), y, eps, scheme)
    every = directions(all_signs(n))
    responses = meter.responses(every)
    values = [r.along(d.vector) for d, r in zip(every, responses, strict=True)]
    # Rounding leaves what rounding of values of this size leaves.
    slack = 1e-13 * n**2 * (1.0 + np.abs(S).max()) * (1.0 + np.abs(y).max()) / min(eps, 1.0)
    np.testing.assert_allclose(np.mean(values), np.trace(S), rtol=0.0, atol=slack)
    assert meter.n_fits == (2 * 2**n if scheme == "central" else 2**n + 1)


def test_mean_over_all_signs_is_the_trace_of_a_jacobian_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 1)), rng.normal(size=8)
    every = directions(all_signs(8))
    meter = meter_of(adaptive_kernel_ridge, y, 1e-4, X=X)
    pairs = zip(every, meter.responses(every), strict=True)
    mean = np.mean([r.along(d.vector) for d, r in pairs])
    exact = complex_step_trace(adaptive_kernel_ridge, X, y)
    assert mean == pytest.approx(exact, abs=1e-6)
    # The bandwidth follows y: with the bandwidth held, the trace is another one.
    held = np.trace(held_bandwidth_smoother(X, y))
    assert abs(exact - held) > 0.1


def held_bandwidth_smoother(X, y):
    gamma = 0.5 + 0.4 * np.sin(y @ np.linspace(-1.0, 1.0, len(y)))
    kernel = np.exp(-gamma * (X - X.T) ** 2)
    return kernel @ np.linalg.inv(kernel + 0.3 * np.eye(len(y)))


@pytest.mark.parametrize(("scheme", "order"), [("central", 2), ("forward", 1)])
def test_derivatives_have_the_order_of_their_scheme(scheme, order):
    rng = np.random.default_rng(1)
    X, y, b = rng.normal(size=(12, 1)), rng.normal(size=12), rng.normal(size=12)
    exact = directional_derivative(adaptive_kernel_ridge, X, y, b)
    errors = []
    for eps in (4e-3, 2e-3, 1e-3):
        (response,) = meter_of(adaptive_kernel_ridge, y, eps, scheme, X=X).responses(
            directions([b])
        )
        errors.append(np.linalg.norm(response.derivative[:, 0] - exact))
    assert errors[0] > 1e-6
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), order, atol=0.1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_output_has_its_own_step_and_direction(scheme):
    y = np.random.default_rng(0).normal(size=(6, 2))
    seen = []

    def fit_predict(X, target):
        seen.append((target - y).copy())
        return target * [2.0, -3.0]

    meter = meter_of(fit_predict, y, [0.1, 10.0], scheme)
    b = np.random.default_rng(1).normal(size=(6, 2))
    (response,) = meter.responses([Direction(b, 0)])
    np.testing.assert_allclose(response.derivative, b * [2.0, -3.0], rtol=1e-12)
    np.testing.assert_allclose(response.along(b), [2, -3] * (b**2).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(seen[-1] if scheme == "forward" else seen[0], b * [0.1, 10.0])


def test_only_training_rows_make_the_value():
    rng = np.random.default_rng(0)
    X, y, b = rng.normal(size=(9, 2)), rng.normal(size=9), rng.normal(size=9)
    refit = Refit.of(Ridge(random_state=0), X, y)
    further = replace(refit, X_new=X[::-1] + 1.0)
    plain, both = (
        ResponseMeter(r, np.array([0.1]), "central", None).responses(directions([b]))[0]
        for r in (refit, further)
    )
    assert both.derivative.shape == (18, 1)
    np.testing.assert_array_equal(both.derivative[:9], plain.derivative)
    vector = b[:, np.newaxis]
    np.testing.assert_array_equal(both.along(vector), plain.along(vector))
    np.testing.assert_array_equal(both.rounding, plain.rounding)


def test_a_share_of_the_step_may_be_taken():
    y, seen = np.zeros(4), []

    def fit_predict(X, target):
        seen.append(target.copy())
        return target**2

    meter = meter_of(fit_predict, y, 0.5, "forward")
    b = np.ones(4)
    (whole,) = meter.responses(directions([b]))
    (half,) = meter.responses(directions([b]), factor=0.5)
    np.testing.assert_allclose(whole.derivative[:, 0], 0.5)
    np.testing.assert_allclose(half.derivative[:, 0], 0.25)
    np.testing.assert_allclose([s[0] for s in seen], [0.0, 0.5, 0.25])
    # The fit on the targets as given is not repeated.
    assert meter.n_fits == 3


# ---------------------------------------------------------------------------------------
# Counting
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@repeatable
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=3))
def test_every_seed_has_one_fit_to_the_targets_as_given(scheme, batches):
    calls, advances = [], []

    def fit_predict(X, y):
        calls.append(1)
        return y

    meter = meter_of(fit_predict, np.arange(3.0), 0.1, scheme, advance=lambda: advances.append(1))
    for seeds in batches:
        meter.responses([Direction(np.ones((3, 1)), s) for s in seeds])
    every = [seed for seeds in batches for seed in seeds]
    wanted = 2 * len(every) if scheme == "central" else len(every) + len(set(every))
    assert len(calls) == len(advances) == meter.n_fits == meter.n_good == wanted


def test_the_fit_on_the_targets_as_given_is_kept_for_each_seed():
    seen = []

    def fit_predict(X, y):
        seen.append(y.copy())
        return y

    meter = meter_of(fit_predict, np.arange(3.0))
    np.testing.assert_array_equal(*meter.fit_as_given([7]), *meter.fit_as_given([7]))
    meter.fit_as_given([7, 8, 8, 7])
    assert meter.n_fits == 2
    assert all((y == np.arange(3.0)).all() for y in seen)


# ---------------------------------------------------------------------------------------
# Rounding
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("level", [0.0, 1e3])
def test_rounding_of_fitted_values_is_within_what_is_said(scheme, dtype, level):
    rng = np.random.default_rng(0)
    y = rng.normal(size=50) + level
    meter = meter_of(lambda X, y: y.astype(dtype), y, 0.1, scheme)
    every = directions(rng.choice([-1.0, 1.0], size=(40, 50)))
    for d, response in zip(every, meter.responses(every), strict=True):
        error = abs(response.along(d.vector) - 50.0)
        assert error <= 3.0 * response.rounding
        assert response.rounding < 1e6 * np.finfo(dtype).eps


def test_differences_of_whole_numbers_do_not_wrap_around():
    meter = meter_of(lambda X, y: np.round(y).astype(np.uint8), np.full(4, 10.0), 3.0, "forward")
    (response,) = meter.responses(directions([-np.ones(4)]))
    np.testing.assert_array_equal(response.derivative[:, 0], -np.ones(4))


# ---------------------------------------------------------------------------------------
# Failures, and several fits at a time
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_fit_that_fails_does_not_cost_the_others(scheme):
    def fit_predict(X, y):
        if abs(y[0]) > 1.0:
            raise ZeroDivisionError("too far")
        return y

    meter = meter_of(fit_predict, np.zeros(2), 0.5, scheme)
    bad, good = np.array([3.0, 0.0]), np.array([1.0, 1.0])
    outcomes = meter.responses(directions([good, bad, good]))
    assert [isinstance(o, Exception) for o in outcomes] == [False, True, False]
    assert isinstance(outcomes[1], ZeroDivisionError)
    assert str(outcomes[1]) == "too far"
    assert meter.n_fits - meter.n_good == (2 if scheme == "central" else 1)
    np.testing.assert_array_equal(outcomes[2].derivative[:, 0], good)


def test_a_failing_fit_to_the_targets_as_given_is_no_probe():
    def fit_predict(X, y):
        if not y.any():
            raise ZeroDivisionError("as given")
        return y

    fresh = meter_of(fit_predict, np.zeros(2), scheme="forward")
    with pytest.raises(ZeroDivisionError, match="as given"):
        fresh.responses(directions([np.ones(2)]))
    used = meter_of(fit_predict, np.zeros(2))
    used.responses(directions([np.ones(2)]))
    with pytest.raises(ProbeError, match="ZeroDivisionError: as given") as caught:
        used.fit_as_given([0])
    assert caught.value.probe is None
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class TwoWordsError(Exception):
    """Cannot be made again from its message, as unpickling would."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def raise_two_words(X, y):
    raise TwoWordsError("no", "way")


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_errors_that_do_not_travel_are_told_by_their_text(n_jobs):
    meter = meter_of(raise_two_words, np.zeros(2), n_jobs=n_jobs)
    (outcome,) = meter.responses(directions([np.ones(2)]))
    assert isinstance(outcome, Exception)
    assert "no way" in str(outcome)


def add_up(X, y):
    return np.cumsum(y) * 0.1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fits_side_by_side_give_the_same(scheme):
    y = np.random.default_rng(0).normal(size=7)
    every = directions(np.random.default_rng(1).normal(size=(5, 7)))
    alone = meter_of(add_up, y, scheme=scheme).responses(every)
    meter = meter_of(add_up, y, scheme=scheme, n_jobs=2)
    for one, two in zip(alone, meter.responses(every), strict=True):
        np.testing.assert_array_equal(one.derivative, two.derivative)
    assert meter.n_fits == (10 if scheme == "central" else 6)


def test_fits_are_told_of_in_the_thread_that_asked():
    threads = []
    meter = meter_of(
        add_up, np.arange(4.0), n_jobs=2, advance=lambda: threads.append(threading.get_ident())
    )
    meter.responses(directions(np.eye(4)))
    assert threads == [threading.get_ident()] * 8
