"""Relevance of columns is the size of the slopes of an ensemble that was fitted first."""

import numpy as np
import pytest
from reference import Problem, literal_fit
from scipy.spatial.distance import cdist

from negcorr.relevance import DECIMALS, LEAST, POWER, column_relevance
from negcorr.screening import screen

GAPS = np.logspace(0, -6, 13)
STARTS = np.arange(0, 101, 10)


def noise(n=150, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def relevance(X, y, landmarks=None, gaps=GAPS, weight=None):
    landmarks = X[:100] if landmarks is None else landmarks
    return column_relevance(X, y.reshape(len(X), -1), landmarks, STARTS, gaps, weight)


@pytest.mark.parametrize("useful", range(5))
def test_the_one_useful_column_among_noise_is_found(useful):
    X = noise()
    found = relevance(X, np.sin(2.0 * X[:, useful]))
    assert found[useful] == 1.0
    assert np.delete(found, useful).max() < 0.5


def test_columns_count_by_how_much_they_matter():
    X = noise(300)
    y = 4.0 * X[:, 3] + X[:, 1]
    found = relevance(X, y)
    assert found[3] == 1.0 > found[1] > np.delete(found, [1, 3]).max()


def test_the_order_of_columns_does_not_matter():
    X = noise()
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    one, order = relevance(X, y), np.array([3, 1, 4, 0, 2])
    np.testing.assert_array_equal(relevance(X[:, order], y), one[order])
    assert len(np.unique(one.round(3))) == 5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gap", [0.3, 1e-3])
def test_relevance_is_by_slopes_of_the_fitted_function(gap, weighted):
    X, landmarks = noise(n=60, d=3), noise(100, 3, seed=1)
    y = np.column_stack([np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1], X[:, 2] ** 2])
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    gamma = 1.0 / cdist(X, landmarks, "cityblock").mean()

    def kernel(Z):
        return np.exp(-gamma * cdist(Z, landmarks, "cityblock"))

    fit = literal_fit(Problem(kernel(X), y, weight, STARTS), gap)
    step, slopes = 1e-6, []
    for shift in step * np.eye(3):
        moved = fit.predict(kernel(X + shift)) - fit.predict(kernel(X - shift))
        slopes.append(np.mean((moved / (2.0 * step)) ** 2))
    expected = np.maximum((slopes / np.max(slopes)) ** (POWER / 2.0), LEAST)
    found = relevance(X, y, landmarks, np.array([gap]), weight if weighted else None)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=0.5 * 10.0**-DECIMALS)


def test_the_gap_is_the_best_by_leave_one_out():
    X = noise()
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
    kernel = cdist(X, X[:100], "cityblock")
    kernel = np.exp(-kernel / kernel.mean())
    losses = screen(kernel, y[:, np.newaxis], STARTS).losses(GAPS).mean(axis=1)
    best = GAPS[[np.argmin(losses)]]
    assert 0 < np.argmin(losses) < len(GAPS) - 1
    np.testing.assert_array_equal(relevance(X, y), relevance(X, y, gaps=best))
    assert not np.allclose(relevance(X, y), relevance(X, y, gaps=GAPS[:1]))


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_target_that_does_not_vary_makes_all_columns_alike(value, outputs):
    X = noise()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    for w in (None, weight):
        found = relevance(X, np.full((len(X), outputs), value), weight=w)
        np.testing.assert_array_equal(found, np.ones(5))


def test_units_of_the_target_do_not_matter_and_no_column_is_lost():
    X = noise()
    X[:, 4] = 0.5
    y = np.sin(2.0 * X[:, 0])
    found = relevance(X, y)
    np.testing.assert_array_equal(relevance(X, 1e6 * y - 3.0), found)
    assert found.min() == found[4] == LEAST


def test_equal_rows_everywhere_have_no_slopes():
    X = np.ones((20, 3))
    found = column_relevance(X, noise(20, 1), X[:10], np.array([0, 5, 10]), GAPS)
    np.testing.assert_array_equal(found, np.ones(3))
