"""Whitening makes every block's scatter the identity on what has information."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import KINDS, gram_and_diagonal, make_problem, moments_of

from negcorr._common.lapack import EPS
from negcorr.moments.moments import FactorMoments
from negcorr.spectrum.whitening import whiten_factor, whiten_gram


def both(problem, alpha=0.0):
    """Whitenings of one problem from its Gram matrix and from its factor."""
    G, _ = gram_and_diagonal(problem)
    q = problem.features.shape[1]
    moments = moments_of(problem, FactorMoments)
    factor = moments.factor_about(moments.mean)[:, :q] / np.sqrt(moments.weight)
    rounding = moments.rounding[:q]
    most = moments.n_rows - 1
    size = np.hypot(lengths(factor), moments.mean[:q])
    by_factor, whitened = whiten_factor(factor, rounding, size, problem.starts, alpha, most)
    assert_allclose(whitened, by_factor.rows(factor), atol=1e-9)
    scatter = G * moments.weight
    return whiten_gram(scatter, moments.weight, rounding, problem.starts, alpha, most), by_factor


def lengths(factor):
    """Root mean squares of centred columns over √n."""
    return np.linalg.norm(factor, axis=0)


def ranks_of(whitening):
    return np.diff(whitening.rank_starts).tolist()


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_block_becomes_the_identity(kind, alpha):
    problem = make_problem(kind)
    G, _ = gram_and_diagonal(problem)
    for whitening in both(problem, alpha):
        for W, b in zip(whitening.blocks, problem.blocks, strict=True):
            block = G[b, b] + alpha * np.eye(b.stop - b.start)
            assert_allclose(W.T @ block @ W, np.eye(W.shape[1]), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_both_keep_the_rank_of_every_block(kind):
    problem = make_problem(kind)
    G, _ = gram_and_diagonal(problem)
    ranks = [np.linalg.matrix_rank(G[b, b], rtol=1e-10) for b in problem.blocks]
    for whitening in both(problem):
        assert ranks_of(whitening) == ranks
        assert whitening.rank_starts.tolist() == [0, *np.cumsum(ranks)]


def test_duplicate_constant_zero_and_dependent_columns_are_cut():
    problem = make_problem("rank-deficient")
    for whitening in both(problem):
        assert ranks_of(whitening) == [2, 2, 4]
        first = whitening.blocks[0]
        assert_allclose(first[2], 0.0, atol=0)
        assert_allclose(first[0], first[1], rtol=1e-9)


def test_a_constant_column_does_not_come_back_with_a_ridge():
    problem = make_problem("rank-deficient")
    for whitening in both(problem, alpha=0.3):
        assert_allclose(whitening.blocks[0][2], 0.0, atol=0)
        assert ranks_of(whitening) == [3, 3, 4]


@pytest.mark.parametrize("value", [1.0, 0.1, 1e6 / 3.0, 1e-12, 1e12])
def test_a_column_whose_spread_is_rounding_of_its_mean_counts_as_constant(value):
    rng = np.random.default_rng(0)
    wobble = value * (1.0 + np.finfo(float).eps * rng.integers(-1, 2, size=30))
    features = np.column_stack([wobble, rng.normal(size=30)])
    mean = features.mean(axis=0)
    rounding = 32.0 * EPS * np.abs(mean)
    centred = (features - mean) / np.sqrt(30)
    starts = np.array([0, 2])
    by_gram = whiten_gram(centred.T @ centred, 1.0, rounding, starts, 0.0, 99)
    by_factor, _ = whiten_factor(centred, rounding, lengths(centred), starts, 0.0, 99)
    assert ranks_of(by_gram) == ranks_of(by_factor) == [1]


def test_without_centring_a_constant_column_is_information():
    features = np.column_stack([np.ones(20), np.random.default_rng(0).normal(size=20)])
    starts = np.array([0, 2])
    scaled = features / np.sqrt(20)
    rounding = np.zeros(starts[-1])
    assert ranks_of(whiten_gram(scaled.T @ scaled, 1.0, rounding, starts, 0.0, 99)) == [2]
    assert ranks_of(whiten_factor(scaled, rounding, lengths(scaled), starts, 0.0, 99)[0]) == [2]


@pytest.mark.parametrize("max_rank", [0, 1, 2, 3])
def test_no_block_has_more_rank_than_there_are_rows(max_rank):
    """Rounding can make nearly dependent columns look like more than the rows allow."""
    features = np.random.default_rng(0).normal(size=(30, 3)) / np.sqrt(30)
    starts = np.array([0, 3])
    by_gram = whiten_gram(features.T @ features, 1.0, np.zeros(starts[-1]), starts, 0.0, max_rank)
    size = lengths(features)
    by_factor, whitened = whiten_factor(features, np.zeros(3), size, starts, 0.0, max_rank)
    assert ranks_of(by_gram) == ranks_of(by_factor) == [max_rank]
    assert whitened.shape == (30, max_rank)
    # What is left are the directions of most information.
    scale = np.linalg.norm(features, axis=0)
    best = np.linalg.svd(features / scale)[0][:, :max_rank]
    assert_allclose(whitened @ whitened.T, best @ best.T, atol=1e-12)


def test_the_rank_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30, 4))
    features -= features.mean(axis=0)
    starts = np.array([0, 4])
    for units in ([1e-150, 1.0, 1.0, 1.0], [1e8, 1e-8, 1e3, 1e-20]):
        scaled = features * np.array(units) / np.sqrt(30)
        by_factor, whitened = whiten_factor(scaled, np.zeros(4), lengths(scaled), starts, 0.0, 99)
        assert ranks_of(by_factor) == [4]
        assert_allclose(whitened.T @ whitened, np.eye(4), atol=1e-12)
        by_gram = whiten_gram(scaled.T @ scaled, 1.0, np.zeros(4), starts, 0.0, 99)
        assert ranks_of(by_gram) == [4]


def test_the_factor_stays_orthonormal_however_ill_conditioned_a_block_is():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(40, 3))
    columns = np.column_stack([columns, columns.sum(axis=1) + 1e-8 * rng.normal(size=40)])
    size, starts = lengths(columns), np.array([0, 4])
    whitening, whitened = whiten_factor(columns, np.zeros(4), size, starts, 0.0, 99)
    assert ranks_of(whitening) == [4]
    assert whitening.condition > 1e8
    assert_allclose(whitened.T @ whitened, np.eye(4), atol=1e-14)


def test_condition_is_that_of_the_worst_block_with_unit_columns():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 6)) * np.power(10.0, np.arange(6))
    features[:, 4] = 1e3 * features[:, 3] * 10 + features[:, 4] * 1e2
    starts = np.array([0, 3, 6])
    units = features / np.linalg.norm(features, axis=0)
    worst = max(np.linalg.cond(units[:, a:b]) for a, b in itertools.pairwise(starts))
    size = lengths(features)
    by_factor, _ = whiten_factor(features, np.zeros(starts[-1]), size, starts, 0.0, 99)
    assert by_factor.condition == pytest.approx(worst, rel=1e-6)
    by_gram = whiten_gram(features.T @ features, 1.0, np.zeros(starts[-1]), starts, 0.0, 99)
    assert by_gram.condition == pytest.approx(worst, rel=1e-4)


def test_products_are_those_of_the_block_diagonal_matrix():
    problem = make_problem("rank-deficient")
    rng = np.random.default_rng(0)
    for whitening in both(problem):
        q, r = int(whitening.starts[-1]), int(whitening.rank_starts[-1])
        W = np.zeros((q, r))
        for block, rows, columns in zip(
            whitening.blocks,
            itertools.pairwise(whitening.starts),
            itertools.pairwise(whitening.rank_starts),
            strict=True,
        ):
            W[slice(*rows), slice(*columns)] = block
        x, v, rows = rng.normal(size=(r, 3)), rng.normal(size=(q, 2)), rng.normal(size=(5, q))
        assert_allclose(whitening.times(x), W @ x, atol=1e-12)
        assert_allclose(whitening.transposed_times(v), W.T @ v, atol=1e-12)
        assert_allclose(whitening.rows(rows), rows @ W, atol=1e-12)
        gram = rng.normal(size=(q, q))
        assert_allclose(whitening.congruence(gram), W.T @ gram @ W, atol=1e-11)
