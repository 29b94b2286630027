"""Kernels are tried again on more rows, in the span of those of the search."""

import numpy as np
import pytest
from reference import span_loo

from negcorr.bases.kernel_functions import kernel_values
from negcorr.rows.rows import Rows
from negcorr.selection import sample as sampling
from negcorr.selection.rescoring import rescored
from negcorr.selection.sample import PARTS, SEARCH_RIDGES, SearchSample
from negcorr.selection.space import Candidate, SearchSpace


@pytest.fixture(autouse=True)
def small_numbers(monkeypatch):
    monkeypatch.setattr(sampling, "ROWS", 40)
    monkeypatch.setattr(sampling, "MANY_ROWS", 90)
    monkeypatch.setattr(sampling, "MORE_ROWS", 100)
    monkeypatch.setattr(sampling, "ROWS_FOR_RELEVANCE", 60)


def sample_of(n=150, seed=0, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    y = np.sin(2 * X[:, :outputs]) + 0.1 * rng.normal(size=(n, outputs))
    weight = rng.integers(1, 4, n).astype(float)
    return SearchSample.of(Rows(X, y, weight), SearchSpace(), 0, most_rows=40)


CANDIDATES = [
    Candidate("kernel", "laplacian", 0.3, "clip"),
    Candidate("kernel", "rbf", 1.0, "standard"),
    Candidate("kernel", "rbf", 3.0, "rank", subspace=0.5),
    Candidate("kernel", "cauchy", 1.0, "none"),
    Candidate("kernel", "linear"),
    Candidate("kernel", "laplacian", 1.0, "clip", relevant=True),
]


@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
def test_errors_are_those_of_refits_on_rows_beyond_the_search(candidate):
    sample = sample_of(outputs=2)
    larger, trial = sample.larger, rescored(sample, candidate)
    relevance = sample.relevance_of(candidate)
    assert (relevance is not None) == candidate.relevant
    rows = larger.mapped(candidate.inputs) * (1.0 if relevance is None else relevance.columns)
    gamma = sample.gamma(candidate)
    values = kernel_values(candidate.kernel, rows, rows[:40], gamma, candidate.subspace)
    literal = span_loo(values, values[:40], larger.y, larger.weight, trial.strength)[40:]
    # The span is cut where it is rounding, which the literal equations keep.
    np.testing.assert_allclose(trial.losses, literal, rtol=1e-4, atol=1e-8)
    weight = larger.weight[40:]
    assert trial.error == pytest.approx(weight @ trial.losses / weight.sum(), rel=1e-12)
    best = list(SEARCH_RIDGES).index(trial.strength)
    parts = np.arange(60) % PARTS
    expected = [(weight * trial.losses)[parts == k].sum() for k in range(PARTS)]
    np.testing.assert_allclose(trial.by_part[best], expected, rtol=1e-12)
    assert trial.by_part.sum(axis=1).min() == pytest.approx(trial.by_part[best].sum())


def test_relevance_is_what_the_rows_of_the_search_have_taught():
    sample = sample_of()
    candidate = CANDIDATES[-1]
    assert sample.relevance_of(candidate) is sample.relevance("clip", "laplacian", "both")
    assert sample.gamma(candidate) == sample.relevance_of(candidate).gamma
    # In the end more rows teach it.
    assert sample.gamma(candidate, "all") != sample.gamma(candidate)


def test_needs_more_rows():
    with pytest.raises(ValueError, match="no more rows than those of the search"):
        rescored(sample_of(80), CANDIDATES[0])
