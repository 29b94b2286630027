"""Mapped features are those of a basis on mapped columns, and nothing else."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from places import somewhere
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

from negcorr._common.arrays import place_within, to_host
from negcorr.bases import (
    ClonedFeatures,
    FourierFeatures,
    LinearFeatures,
    MappedFeatures,
    NystroemFeatures,
    TreeFeatures,
)
from negcorr.bases.input_maps import INPUTS, fit_input_map
from negcorr.exceptions import IdenticalMembersWarning

INNER = [
    FourierFeatures(3, 4, kernel="laplace", random_state=0),
    NystroemFeatures(3, 4, random_state=0),
    LinearFeatures(3, 2, random_state=0),
    TreeFeatures(3, 4, random_state=0),
    ClonedFeatures(RBFSampler(n_components=4, random_state=0), 3, random_state=0),
]

every_inner = pytest.mark.parametrize("inner", INNER, ids=lambda basis: type(basis).__name__)
every_kind = pytest.mark.parametrize("inputs", INPUTS)


def table(n=50, seed=0):
    """Values that single precision holds exactly."""
    X = np.random.default_rng(seed).standard_t(2, size=(n, 3))
    return X.astype(np.float32).astype(np.float64) + np.array([0.0, 10.0, -3.0])


@every_inner
@every_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_those_of_the_basis_on_mapped_columns(inner, inputs, weighted):
    X, new = table(), table(20, seed=1)
    weight = np.random.default_rng(2).integers(0, 4, len(X)).astype(float) if weighted else None
    relevance = [1.0, 0.2, 2.0]
    basis = MappedFeatures(inner, inputs=inputs, relevance=relevance).fit(X, sample_weight=weight)
    used = slice(None) if weight is None else weight > 0
    kept = None if weight is None else weight[used]
    learnt = fit_input_map(inputs, X[used], kept, relevance)
    by_hand = clone(inner).fit(learnt(X[used]), sample_weight=kept)
    np.testing.assert_array_equal(basis.transform(new), by_hand.transform(learnt(new)))
    np.testing.assert_array_equal(basis.block_starts_, by_hand.block_starts_)
    np.testing.assert_array_equal(basis.relevance_, relevance)
    assert not hasattr(inner, "block_starts_")


@every_inner
@every_kind
def test_order_and_repetition_of_rows_do_not_move_the_draw(inner, inputs):
    X, rng = table(), np.random.default_rng(1)
    weight = rng.integers(0, 4, 50)
    if isinstance(inner, ClonedFeatures):
        inner = NystroemFeatures(3, 4, kernel="cauchy", random_state=0)
    basis = MappedFeatures(inner, inputs=inputs, relevance=[1.0, 0.3, 0.7])
    one, moved, weighted, repeated = (
        clone(basis).fit(rows, sample_weight=w).transform(X)
        for rows, w in (
            (X, None),
            (X[rng.permutation(50)], None),
            (X, weight),
            (np.repeat(X, weight, axis=0), None),
        )
    )
    np.testing.assert_allclose(moved, one, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-9)


def test_rows_of_no_weight_may_hold_anything():
    X = table()
    wild = np.where(np.arange(50)[:, np.newaxis] % 2 == 0, X, 1e12)
    weight = np.where(np.arange(50) % 2 == 0, 1.0, 0.0)
    for inputs in INPUTS:
        basis = MappedFeatures(INNER[0], inputs=inputs)
        one = clone(basis).fit(wild, sample_weight=weight).transform(X)
        np.testing.assert_allclose(one, basis.fit(X[::2]).transform(X), rtol=0, atol=1e-12)


def test_clone_set_params_and_pickle():
    X = table()
    basis = MappedFeatures(INNER[0], inputs="rank", relevance=np.array([1.0, 0.0, 2.0])).fit(X)
    features = basis.transform(X)
    np.testing.assert_array_equal(clone(basis).fit(X).transform(X), features)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(basis)).transform(X), features)
    assert basis.get_params()["basis__kernel"] == "laplace"
    other = clone(basis).set_params(basis__n_components=2, inputs="clip").fit(X)
    assert other.transform(X).shape == (50, 6)
    assert basis.basis.n_components == 4
    assert INNER[0].n_components == 4


@every_inner
def test_single_precision_gives_the_same_features_in_single_precision(inner):
    X = table()
    basis = MappedFeatures(inner, inputs="clip").fit(X)
    single = basis.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, basis.transform(X), rtol=1e-5, atol=1e-5)


@every_inner
def test_sparse_rows_are_the_same_to_a_basis_that_was_fitted_to_dense_ones(inner):
    X = table()
    for inputs in INPUTS:
        basis = MappedFeatures(inner, inputs=inputs, relevance=[1.0, 2.0, 0.5]).fit(X)
        features = basis.transform(sp.csr_array(X))
        np.testing.assert_allclose(features, basis.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("inputs", ["standard", "none"])
@every_inner
def test_dense_rows_are_the_same_to_a_basis_that_was_fitted_to_sparse_ones(inner, inputs):
    X = np.where(np.abs(table()) > 1.0, table(), 0.0)
    basis = MappedFeatures(inner, inputs=inputs, relevance=[1.0, 2.0, 0.5]).fit(sp.csr_array(X))
    features = basis.transform(sp.csr_array(X))
    np.testing.assert_allclose(features, basis.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("inputs", ["clip", "rank"])
def test_sparse_rows_are_refused_where_they_would_become_dense(inputs):
    with pytest.raises(ValueError, match=f"inputs='{inputs}' would make sparse X dense"):
        MappedFeatures(INNER[0], inputs=inputs).fit(sp.csr_array(table()))


def test_members_that_are_the_same_are_said_to_be():
    with pytest.warns(IdenticalMembersWarning, match="all 3 columns"):
        MappedFeatures(LinearFeatures(2, 3)).fit(table())
    # A column that does not count leaves too few distinct rows for landmarks.
    X = np.column_stack([np.arange(9.0) % 3, np.arange(9.0)])
    with pytest.warns(IdenticalMembersWarning, match=r"distinct rows \(3\)"):
        MappedFeatures(NystroemFeatures(2, 5), relevance=[1.0, 0.0]).fit(X)


def test_ranks_make_features_blind_to_monotone_changes_of_columns():
    X = table()
    changed = np.column_stack([np.exp(X[:, 0] / 9.0), X[:, 1] ** 3, np.arctan(X[:, 2])])
    basis = MappedFeatures(INNER[0], inputs="rank")
    one, other = (clone(basis).fit(Z).transform(Z) for Z in (X, changed))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("basis", ["fourier", None, RBFSampler(), FourierFeatures])
def test_what_is_no_basis_is_named(basis):
    with pytest.raises(TypeError, match=r"basis=.* must be a negcorr\.bases\.Basis"):
        MappedFeatures(basis).fit(table())


def test_mistakes_in_what_is_done_to_columns_are_named():
    with pytest.raises(ValueError, match="inputs='log' is unknown"):
        MappedFeatures(INNER[0], inputs="log").fit(table())
    with pytest.raises(ValueError, match=r"relevance=\[1, 2\] must be 3 finite numbers"):
        MappedFeatures(INNER[0], relevance=[1, 2]).fit(table())


def test_threads_are_let_in_where_the_basis_lets_them_in():
    assert MappedFeatures(FourierFeatures()).thread_safe
    assert not MappedFeatures(ClonedFeatures(RBFSampler())).thread_safe


@pytest.mark.parametrize("name", ["torch", "strict"])
@pytest.mark.parametrize("inputs", INPUTS)
def test_features_are_made_where_the_rows_are(name, inputs):
    place, X = somewhere(name), table()
    inner = FourierFeatures(3, 4, random_state=0, gamma=0.2)
    home = MappedFeatures(inner, inputs=inputs).fit(X)
    there = MappedFeatures(inner, inputs=inputs)
    there.input_map_ = fit_input_map(inputs, place.put(X))
    there.relevance_ = there.input_map_.relevance
    assert place_within(there) == place_within(there.input_map_) != place_within(home)
    mapped = there.input_map_(place.put(X))
    assert place.has(mapped)
    features = home.basis_.transform(to_host(mapped))
    np.testing.assert_allclose(features, home.transform(X), rtol=1e-9, atol=1e-9)
