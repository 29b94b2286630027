"""Features are made of mapped columns: of every basis, by every map."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

from negcorr.bases import (
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    KernelFeatures,
    LinearFeatures,
    NystroemFeatures,
    TreeFeatures,
)
from negcorr.bases.input_maps import INPUTS, fit_input_map
from negcorr.exceptions import IdenticalMembersWarning
from negcorr.rows.keys import row_keys
from negcorr.rows.rows import Rows

BASES = [
    FourierFeatures(3, 4, kernel="laplacian", random_state=0),
    FourierFeatures(3, 4, orthogonal=True, random_state=0),
    NystroemFeatures(3, 4, random_state=0),
    KernelFeatures(3, 4, random_state=0),
    LinearFeatures(3, 2, random_state=0),
    TreeFeatures(3, 4, random_state=0),
    ClonedFeatures(RBFSampler(n_components=4, random_state=0), 3, random_state=0),
    BlockFeatures([RBFSampler(n_components=n, random_state=n) for n in (2, 3)]),
]
DRAWN = BASES[:-2]

every_basis = pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
every_kind = pytest.mark.parametrize("inputs", INPUTS)


def table(n=50, seed=0):
    """Values that single precision holds exactly."""
    X = np.random.default_rng(seed).standard_t(2, size=(n, 3))
    return X.astype(np.float32).astype(np.float64) + np.array([0.0, 10.0, -3.0])


def with_inputs(basis, inputs, relevance=None):
    return clone(basis).set_params(inputs=inputs, relevance=relevance)


@every_basis
@every_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_those_of_the_basis_on_mapped_columns(basis, inputs, weighted):
    X, new = table(), table(20, seed=1)
    weight = np.random.default_rng(2).integers(0, 4, len(X)).astype(float) if weighted else None
    relevance = [1.0, 0.2, 2.0]
    made = with_inputs(basis, inputs, relevance).fit(X, sample_weight=weight)
    used = np.arange(len(X))
    if weight is not None and hasattr(basis, "n_components"):
        used = np.flatnonzero(weight > 0)
    kept = None if weight is None else weight[used]
    learnt = fit_input_map(inputs, X[used], kept, relevance)
    # Draws go by the content of the rows before they are mapped.
    keys = row_keys(X, np.empty((len(X), 0))).take(used)
    mapped = Rows(learnt(X[used]), np.empty((len(used), 0)), kept, keys)
    by_hand = with_inputs(basis, "none").fit_rows(mapped)
    np.testing.assert_allclose(
        made.transform(new), by_hand.transform(learnt(new)), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(made.block_starts_, by_hand.block_starts_)
    np.testing.assert_array_equal(made.input_map_.relevance, relevance)


@pytest.mark.parametrize("basis", DRAWN, ids=lambda basis: type(basis).__name__)
@every_kind
@pytest.mark.parametrize("relevance", [None, [1.0, 0.3, 0.7]], ids=["all alike", "relevance"])
def test_order_and_repetition_of_rows_do_not_move_the_draw(basis, inputs, relevance):
    X, rng = table(), np.random.default_rng(1)
    weight = rng.integers(0, 4, 50)
    basis = with_inputs(basis, inputs, relevance)
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


@every_kind
def test_rows_of_no_weight_may_hold_anything(inputs):
    X = table()
    wild = np.where(np.arange(50)[:, np.newaxis] % 2 == 0, X, 1e12)
    weight = np.where(np.arange(50) % 2 == 0, 1.0, 0.0)
    basis = with_inputs(BASES[0], inputs)
    one = clone(basis).fit(wild, sample_weight=weight).transform(X)
    np.testing.assert_allclose(one, basis.fit(X[::2]).transform(X), rtol=0, atol=1e-9)


@every_basis
def test_clone_set_params_and_pickle(basis):
    X = table()
    basis = with_inputs(basis, "rank", np.array([1.0, 0.0, 2.0])).fit(X)
    features = basis.transform(X)
    np.testing.assert_array_equal(clone(basis).fit(X).transform(X), features)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(basis)).transform(X), features)


@every_basis
def test_single_precision_gives_the_same_features(basis):
    X = table()
    basis = with_inputs(basis, "clip").fit(X)
    single = basis.transform(X.astype(np.float32))
    np.testing.assert_allclose(single, basis.transform(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("basis", DRAWN, ids=lambda basis: type(basis).__name__)
@every_kind
def test_sparse_rows_are_the_same_to_a_basis_that_was_fitted_to_dense_ones(basis, inputs):
    X = table()
    basis = with_inputs(basis, inputs, [1.0, 2.0, 0.5]).fit(X)
    features = basis.transform(sp.csr_array(X))
    np.testing.assert_allclose(features, basis.transform(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("basis", DRAWN, ids=lambda basis: type(basis).__name__)
@pytest.mark.parametrize("inputs", ["standard", "none"])
def test_dense_rows_are_the_same_to_a_basis_that_was_fitted_to_sparse_ones(basis, inputs):
    X = np.where(np.abs(table()) > 1.0, table(), 0.0)
    basis = with_inputs(basis, inputs, [1.0, 2.0, 0.5]).fit(sp.csr_array(X))
    features = basis.transform(sp.csr_array(X))
    np.testing.assert_allclose(features, basis.transform(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("inputs", ["clip", "rank"])
@every_basis
def test_sparse_rows_are_refused_where_they_would_become_dense(basis, inputs):
    with pytest.raises(ValueError, match=f"inputs='{inputs}' would make sparse X dense"):
        with_inputs(basis, inputs).fit(sp.csr_array(table()))


def test_members_that_are_the_same_are_said_to_be():
    with pytest.warns(IdenticalMembersWarning, match="all 3 columns"):
        LinearFeatures(2, 3, inputs="clip").fit(table())
    # A column that does not count leaves too few distinct rows for landmarks.
    X = np.column_stack([np.arange(9.0) % 3, np.arange(9.0)])
    with pytest.warns(IdenticalMembersWarning, match=r"distinct rows \(3\)"):
        NystroemFeatures(2, 5, inputs="clip", relevance=[1.0, 0.0]).fit(X)


def test_ranks_make_features_blind_to_monotone_changes_of_columns():
    X = table()
    changed = np.column_stack([np.exp(X[:, 0] / 9.0), X[:, 1] ** 3, np.arctan(X[:, 2])])
    basis = with_inputs(BASES[0], "rank")
    one, other = (clone(basis).fit(Z).transform(Z) for Z in (X, changed))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@every_basis
def test_mistakes_in_what_is_done_to_columns_are_named(basis):
    with pytest.raises(ValueError, match="inputs='log' is unknown"):
        with_inputs(basis, "log").fit(table())
    with pytest.raises(ValueError, match=r"relevance=\[1, 2\] must be None or 3 finite numbers"):
        with_inputs(basis, "clip", [1, 2]).fit(table())


def test_transformers_get_rows_as_they_are_unless_columns_are_mapped():
    X = table()
    plain = ClonedFeatures(RBFSampler(n_components=3, random_state=0), 2, random_state=0)
    assert plain.fit(X).input_map_ is None
    assert plain.set_params(inputs="standard").fit(X).input_map_.kind == "standard"
