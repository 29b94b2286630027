"""Linear members have columns of X as their features, drawn without replacement."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from models import ncl
from sklearn.base import clone

from negcorr.bases import LinearFeatures
from negcorr.exceptions import IdenticalMembersWarning


def table(n=40, d=6, seed=0):
    """Values that single precision holds exactly, a third of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64) + 2.0
    return np.where(rng.random((n, d)) < 1 / 3, 0.0, X)


def test_features_are_columns_of_the_inputs():
    X = table()
    basis = LinearFeatures(5, 3, random_state=0, inputs="none").fit(X)
    np.testing.assert_array_equal(basis.block_starts_, [0, 3, 6, 9, 12, 15])
    np.testing.assert_array_equal(basis.transform(X), X[:, basis.columns_])


def test_no_member_has_a_column_twice_and_members_differ():
    basis = LinearFeatures(30, 3, random_state=0, inputs="none").fit(table())
    draws = [basis.columns_[a:b] for a, b in itertools.pairwise(basis.block_starts_)]
    assert all(len(set(draw)) == 3 for draw in draws)
    assert len({frozenset(draw) for draw in draws}) > 5
    assert set(basis.columns_) == set(range(6))


@pytest.mark.parametrize("weighted", [False, True])
def test_standardised_columns_have_weighted_mean_zero_and_unit_variance(weighted):
    X = table()
    weight = np.random.default_rng(1).integers(0, 4, len(X)) if weighted else None
    basis = LinearFeatures(5, 3, random_state=0, inputs="standard").fit(X, sample_weight=weight)
    features = basis.transform(X)
    mean = np.average(features, axis=0, weights=weight)
    np.testing.assert_allclose(mean, 0.0, atol=1e-7)
    variance = np.average(features**2, axis=0, weights=weight)
    np.testing.assert_allclose(variance, 1.0, rtol=1e-7)


@pytest.mark.parametrize("inputs", ["none", "standard"])
def test_sparse_rows_and_single_precision_give_the_same_features(inputs):
    X = table()
    basis = LinearFeatures(4, 3, inputs=inputs, random_state=0)
    dense = clone(basis).fit(X).transform(X)
    rows = sp.csr_array(X)
    np.testing.assert_allclose(clone(basis).fit(X).transform(rows), dense, atol=1e-12)
    np.testing.assert_allclose(clone(basis).fit(rows).transform(rows), dense, atol=1e-12)
    single = clone(basis).fit(X).transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, dense, rtol=1e-6, atol=1e-6)


def test_the_draw_depends_on_the_seed_and_on_no_row():
    draws = [
        LinearFeatures(4, 3, random_state=seed, inputs="none").fit(X).columns_
        for seed, X in ((0, table()), (0, table(7, seed=1)), (1, table()))
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


@pytest.mark.parametrize("n_components", [6, 9])
def test_members_of_all_columns_are_the_same_and_that_is_said(n_components):
    with pytest.warns(IdenticalMembersWarning, match=rf"n_components={n_components} .* all 6 col"):
        basis = LinearFeatures(3, n_components, random_state=0, inputs="none").fit(table())
    np.testing.assert_array_equal(basis.block_starts_, [0, 6, 12, 18])
    assert sorted(basis.columns_[:6]) == list(range(6))
    # One member is like no other.
    assert LinearFeatures(1, n_components, inputs="none").fit(table()).transform(table()).shape == (
        40,
        6,
    )


@pytest.mark.parametrize(("name", "value"), [("n_members", 0), ("n_components", -1)])
def test_sizes_below_one_are_named(name, value):
    with pytest.raises(ValueError, match=rf"{name}={value} must be at least 1"):
        LinearFeatures(inputs="none").set_params(**{name: value}).fit(table())


def test_at_lam_1_the_ensemble_is_least_squares_on_all_columns():
    X = table()
    y = X @ np.arange(1.0, 7.0) + np.random.default_rng(2).normal(size=len(X))
    model = ncl(20, 3, basis="linear", lam=1.0).fit(X, y)
    design = np.column_stack([np.ones(len(X)), X])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8)


def test_predictions_do_not_depend_on_units():
    X = table()
    y = X[:, 0] - X[:, 1] + np.random.default_rng(2).normal(size=len(X))
    scaled = X * 10.0 ** np.arange(-3.0, 3.0)
    models = [
        ncl(9, 2, basis="linear", lam=0.7, inputs=inputs).fit(Z, y)
        for inputs, Z in (("standard", X), ("none", X), ("standard", scaled), ("none", scaled))
    ]
    one, *others = (m.predict(Z) for m, Z in zip(models, (X, X, scaled, scaled), strict=True))
    for other in others:
        np.testing.assert_allclose(other, one, rtol=1e-9)
