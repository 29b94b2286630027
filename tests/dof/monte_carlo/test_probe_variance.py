"""The variance of a probe's value from images, against sums over all probes there are."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from negcorr.dof.monte_carlo.probe_variance import AT_ONCE, Spread, variance_from_images

RNG = np.random.default_rng(0)
J = RNG.normal(size=(4, 4))


def exact_variance(matrix, signs):
    if signs:
        matrix = matrix - np.diag(np.diag(matrix))
    return np.sum(matrix**2) + np.trace(matrix @ matrix)


def drawn(count, n, signs, rng=RNG):
    shape = (count, n, 1)
    return rng.choice([-1.0, 1.0], size=shape) if signs else rng.normal(size=shape)


def images_of(matrix, vectors):
    return np.einsum("rs,ksp->krp", matrix, vectors)


def test_formula_is_the_variance_over_all_signs():
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    values = np.einsum("ki,ij,kj->k", every, J, every)
    assert_allclose(exact_variance(J, signs=True), values.var())


@pytest.mark.parametrize("count", [2, 3, 4])
def test_estimate_has_no_bias(count):
    """Its mean over all probes of signs that there are is the variance."""
    matrix = J[:3, :3]
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))[:, :, np.newaxis]
    found = [
        variance_from_images(chosen, images_of(matrix, chosen), signs=True)[0]
        for chosen in map(np.array, itertools.product(every, repeat=count))
    ]
    assert_allclose(np.mean(found), exact_variance(matrix, signs=True))


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("kind", ["symmetric", "skew", "one direction", "general"])
def test_estimate_is_near_the_variance(kind, signs):
    rng = np.random.default_rng(1)
    n = 30
    matrix = rng.normal(size=(n, n))
    matrix = {
        "symmetric": matrix + matrix.T,
        "skew": matrix - matrix.T + np.eye(n),
        "one direction": np.full((n, n), 1.0 / n),
        "general": matrix,
    }[kind]
    runs = []
    for _ in range(300):
        vectors = drawn(AT_ONCE, n, signs, rng)
        runs.append(variance_from_images(vectors, images_of(matrix, vectors), signs)[0])
    exact = exact_variance(matrix, signs)
    tolerance = 4.0 * np.std(runs) / np.sqrt(len(runs))
    assert abs(np.mean(runs) - exact) <= tolerance + 1e-9


def test_a_diagonal_does_not_vary_with_signs():
    vectors = drawn(5, 6, signs=True)
    diagonal = np.diag(np.arange(6.0))
    assert variance_from_images(vectors, images_of(diagonal, vectors), True) <= 1e-28
    assert variance_from_images(vectors, images_of(diagonal, vectors), False) > 1.0


def test_outputs_are_apart():
    vectors = RNG.normal(size=(7, 5, 3))
    images = RNG.normal(size=(7, 5, 3))
    for signs in (True, False):
        together = variance_from_images(vectors, images, signs)
        for p in range(3):
            alone = variance_from_images(vectors[:, :, [p]], images[:, :, [p]], signs)
            assert_allclose(together[p], alone[0])


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("count", [2, AT_ONCE, AT_ONCE + 1, 2 * AT_ONCE + 3])
def test_probes_are_taken_in_a_few_at_a_time(count, signs):
    vectors = drawn(count, 4, signs)
    images = images_of(J, vectors)
    spread = Spread(signs)
    for vector, image in zip(vectors, images, strict=True):
        spread.add(vector, image)
    starts = range(0, count, AT_ONCE)
    parts = [slice(k, min(k + AT_ONCE, count)) for k in starts]
    parts = [part for part in parts if part.stop - part.start > 1]
    expected = np.average(
        [variance_from_images(vectors[part], images[part], signs) for part in parts],
        axis=0,
        weights=[part.stop - part.start - 1 for part in parts],
    )
    assert_allclose(spread.variance(), expected)
    assert_allclose(spread.variance(), expected)


def test_one_probe_says_nothing_and_copies_are_apart():
    spread = Spread(signs=True)
    assert spread.variance() is None
    spread.add(np.ones((3, 1)), np.ones((3, 1)))
    assert spread.variance() is None
    other = spread.copied()
    other.add(np.array([[1.0], [-1.0], [1.0]]), np.zeros((3, 1)))
    assert other.variance() is not None
    assert spread.variance() is None
