"""Deflation: an identity for any square S, exact whatever was taken out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import all_signs, smoothing_matrix

from negcorr.dof.monte_carlo.precision import Deflation, leftover_share

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None, max_examples=40)

KINDS = ("symmetric", "neighbours", "local means", "low rank")


def deflated(S, k, rng):
    """After the images of k random directions have been taken out."""
    none = Deflation.none(len(S))
    basis = none.new_directions(S @ rng.normal(size=(len(S), k)))
    return none.extended(basis, S @ basis)


def rest_of(S, deflation):
    """(I − QQᵀ) S (I − QQᵀ), as it is written."""
    Q = deflation.directions
    outside = np.eye(len(S)) - Q @ Q.T
    return outside @ S @ outside


@repeatable
@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 10_000))
def test_trace_is_the_part_taken_out_and_the_part_left(n, k, seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, n))
    deflation = deflated(S, min(k, n), rng)
    assert_allclose(
        deflation.trace + np.trace(rest_of(S, deflation)), np.trace(S), rtol=0.0, atol=1e-10
    )


@repeatable
@given(st.integers(1, 7), st.integers(0, 7), st.integers(0, 10_000))
def test_mean_over_all_signs_is_the_trace(n, k, seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, n))
    deflation = deflated(S, min(k, n), rng)
    signs = all_signs(n).T
    values, variances = deflation.values(signs, S @ signs)
    assert_allclose(values.mean(), np.trace(S), rtol=0.0, atol=1e-10)
    rest = np.linalg.norm(rest_of(S, deflation)) ** 2
    # The images of what is left have a mean square of ‖(I − QQᵀ) S (I − QQᵀ)‖².
    assert_allclose(variances.mean(), 2.0 * rest, rtol=0.0, atol=1e-10)
    assert values.var() <= variances.mean() + 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_probes_that_avoid_what_was_taken_out(kind):
    rng = np.random.default_rng(0)
    S = smoothing_matrix(kind, n=30)
    deflation = deflated(S, 4, rng)
    probes = rng.normal(size=(30, 6))
    values, variances = deflation.values(probes, S @ probes)
    rest = rest_of(S, deflation)
    for j, b in enumerate(probes.T):
        assert_allclose(values[j], deflation.trace + b @ rest @ b, rtol=1e-10)
        assert_allclose(variances[j], 2.0 * np.sum((rest @ b) ** 2), rtol=1e-8, atol=1e-20)


def test_nothing_taken_out_leaves_plain_probes():
    rng = np.random.default_rng(0)
    S, probes = rng.normal(size=(9, 9)), rng.normal(size=(9, 4))
    values, variances = Deflation.none(9).values(probes, S @ probes)
    assert_allclose(values, np.sum(probes * (S @ probes), axis=0), rtol=1e-12)
    assert_allclose(variances, 2.0 * np.sum((S @ probes) ** 2, axis=0), rtol=1e-12)
    assert Deflation.none(9).trace == 0.0


@repeatable
@given(st.integers(2, 12), st.integers(1, 6), st.integers(1, 6), st.integers(0, 10_000))
def test_directions_are_orthonormal_and_new(n, first, second, seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, n)) / np.arange(1, n + 1) ** 4
    deflation = deflated(S, first, rng)
    basis = deflation.new_directions(S @ rng.normal(size=(n, second)))
    both = np.column_stack([deflation.directions, basis])
    assert_allclose(both.T @ both, np.eye(both.shape[1]), atol=1e-12)
    assert both.shape[1] <= n


@pytest.mark.parametrize("probes", [1, 3, 5, 8, 20])
def test_a_low_rank_is_found_and_leaves_nothing(probes):
    rng = np.random.default_rng(0)
    S = smoothing_matrix("low rank", n=40)
    deflation = deflated(S, probes, rng)
    assert deflation.directions.shape[1] == min(probes, 5)
    fresh = rng.normal(size=(40, 10))
    values, variances = deflation.values(fresh, S @ fresh)
    assert (np.sqrt(variances).max() < 1e-12) == (probes >= 5)
    if probes >= 5:
        assert_allclose(values, np.trace(S), rtol=1e-12)


def test_images_that_vanish_have_no_directions():
    none = Deflation.none(6)
    basis = none.new_directions(np.zeros((6, 3)))
    assert basis.shape == (6, 0)
    assert none.extended(basis, basis).trace == 0.0


def test_directions_already_taken_are_not_taken_twice():
    rng = np.random.default_rng(0)
    S = smoothing_matrix("low rank", n=20)
    deflation = deflated(S, 5, rng)
    assert deflation.new_directions(S @ rng.normal(size=(20, 4))).shape == (20, 0)


def by_hand(images):
    """Each column's squared distance from the span of the others, over all squares."""
    left = 0.0
    for j in range(images.shape[1]):
        others = np.delete(images, j, axis=1)
        fit = others @ np.linalg.lstsq(others, images[:, j])[0]
        left += np.sum((images[:, j] - fit) ** 2)
    return left / np.sum(images**2)


@repeatable
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_share_left_is_the_distance_of_each_image_from_the_others(count, seed):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(9, count))
    share = leftover_share(Deflation.none(9), images)
    assert_allclose(share, by_hand(images), rtol=1e-9)
    assert 0.0 <= share <= 1.0


def test_share_left_counts_what_lies_outside_only():
    rng = np.random.default_rng(0)
    S = smoothing_matrix("symmetric", n=40)
    deflation = deflated(S, 6, rng)
    images = S @ rng.normal(size=(40, 5))
    assert_allclose(
        leftover_share(deflation, images), by_hand(deflation.outside(images)), rtol=1e-8
    )


def test_share_left_of_unrelated_images_is_all_and_of_related_ones_nothing():
    none = Deflation.none(8)
    assert leftover_share(none, np.eye(8)[:, :5]) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    assert leftover_share(none, rng.normal(size=(8, 2)) @ rng.normal(size=(2, 5))) == 0.0
    assert leftover_share(none, rng.normal(size=(8, 9))) == 0.0
    assert leftover_share(none, np.zeros((8, 3))) == 0.0


@pytest.mark.parametrize("kind", ["symmetric", "neighbours", "local means"])
def test_share_left_predicts_the_images_of_fresh_probes(kind):
    S, none = smoothing_matrix(kind), Deflation.none(100)
    predicted, found = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        images = S @ rng.choice([-1.0, 1.0], size=(100, 24))
        predicted.append(leftover_share(none, images))
        # It looks ahead to the span of all images but one.
        basis = none.new_directions(images[:, 1:])
        left = none.extended(basis, S @ basis).outside(S)
        found.append(np.linalg.norm(left) ** 2 / np.linalg.norm(S) ** 2)
    assert_allclose(np.mean(predicted), np.mean(found), rtol=0.1)
