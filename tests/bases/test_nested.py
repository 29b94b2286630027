"""Members that are ensembles themselves: what their features are, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

from negcorr.bases import FourierFeatures, NestedFeatures, NystroemFeatures, TreeFeatures


def made(gaps=(0.1, 0.01)):
    bases = [
        FourierFeatures(4, 5, random_state=0, inputs="none"),
        NystroemFeatures(3, 2, random_state=1, inputs="none"),
    ]
    return NestedFeatures(bases, gaps=list(gaps))


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


def test_features_are_those_of_the_bases_side_by_side(X):
    basis = made().fit(X)
    expected = np.hstack([clone(part).fit(X).transform(X) for part in basis.bases])
    np.testing.assert_array_equal(basis.transform(X), expected)
    assert basis.block_starts_.tolist() == [0, 20, 26]
    assert basis.nesting_.starts.tolist() == [0, 5, 10, 15, 20, 22, 24, 26]
    assert basis.nesting_.gaps == (0.1, 0.01)
    assert basis.nesting_.counts(basis.block_starts_) == [4, 3]


def test_unequal_trees_make_a_member_too(X):
    basis = NestedFeatures([TreeFeatures(5, 4, random_state=0)], gaps=[0.5]).fit(X)
    assert basis.n_members_ == 1
    assert basis.nesting_.counts(basis.block_starts_) == [5]


def test_given_bases_stay_unfitted_and_rows_of_no_weight_are_not_seen(X):
    basis = made()
    weight = np.ones(40)
    weight[:5] = 0.0
    fitted = clone(basis).fit(X, sample_weight=weight)
    assert not hasattr(basis.bases[0], "frequencies_")
    np.testing.assert_allclose(
        fitted.transform(X), made().fit(X[5:]).transform(X), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("bases", [[], "fourier", [FourierFeatures, 3], [made()]])
def test_bases_that_are_none_are_named(X, bases):
    with pytest.raises(TypeError, match="bases"):
        NestedFeatures(bases, gaps=[0.1] * max(len(bases), 1)).fit(X)


@pytest.mark.parametrize("gaps", [[0.1], [0.1, 0.0], [0.1, 1.0], [0.1, np.nan], [0.1, 0.2, 0.3]])
def test_gaps_that_do_not_fit_are_named(X, gaps):
    with pytest.raises(ValueError, match=r"gaps=.* must be 2 numbers between 0 and 1"):
        made(gaps).fit(X)
