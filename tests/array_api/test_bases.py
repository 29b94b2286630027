"""Bases make features of device arrays where these are, whatever is done to the columns first."""

import numpy as np
import pytest
from places import somewhere
from sklearn import config_context
from sklearn.base import clone

from negcorr._common.arrays import place_within, to_host
from negcorr.bases import FourierFeatures, KernelFeatures, LinearFeatures, NystroemFeatures
from negcorr.bases.input_maps import INPUTS

BASES = [
    FourierFeatures(3, 4, kernel="laplacian", random_state=0),
    FourierFeatures(3, 4, orthogonal=True, random_state=0),
    NystroemFeatures(3, 4, random_state=0),
    KernelFeatures(3, 4, random_state=0),
    LinearFeatures(3, 2, random_state=0),
]


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("relevance", [None, [1.0, 0.3, 2.0]], ids=["all alike", "relevance"])
def test_features_are_made_where_the_rows_are(place, basis, inputs, relevance):
    X = np.random.default_rng(0).standard_t(2, size=(50, 3)) + np.array([0.0, 10.0, -3.0])
    basis = clone(basis).set_params(inputs=inputs, relevance=relevance)
    home = clone(basis).fit(X)
    with config_context(array_api_dispatch=True):
        there = basis.fit(place.put(X))
        features = there.transform(place.put(X))
    assert place_within(there) != place_within(home)
    assert place.has(features)
    np.testing.assert_allclose(to_host(features), home.transform(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_rows_elsewhere_than_the_fit_are_refused(place, basis):
    X = np.random.default_rng(0).normal(size=(50, 3))
    with config_context(array_api_dispatch=True):
        there = clone(basis).fit(place.put(X))
        with pytest.raises(ValueError, match="must use the same namespace and device"):
            there.transform(X)
        if place.name != "strict-cpu":
            with pytest.raises(ValueError, match="must use the same namespace and device"):
                there.transform(somewhere("strict-cpu").put(X))
