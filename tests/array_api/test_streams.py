"""Chunks on a device: the same ensemble as all rows at once, in NumPy or there."""

import itertools
from copy import deepcopy

import numpy as np
import pytest
from models import ncl
from places import SMALL, apart, assert_agrees, problem

from negcorr._common.arrays import to_host

X, Y = problem(150, outputs=2)
y = Y[:, 0]


def streamed(model, put, sizes=(40, 1, 109), weight=None, target=y):
    borders = np.cumsum([0, *sizes])
    for a, b in itertools.pairwise(borders):
        w = None if weight is None else put(weight[a:b])
        model.partial_fit(put(X[a:b]), put(target[a:b]), w)
    return model


def drawn(put, **parameters):
    return ncl(**SMALL | parameters).draw(put(X))


@pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
@pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv"])
def test_chunks_are_a_fit_at_once(place, criterion, solver):
    options = {"criterion": criterion, "solver": solver}
    there = streamed(drawn(place.put, **options), place.put)
    assert_agrees(there, ncl(**SMALL, **options).fit(X, y), place, X)


@pytest.mark.parametrize("target", [y, Y], ids=["one output", "two outputs"])
def test_weighted_chunks_are_numpy_chunks(place, target):
    weight = np.random.default_rng(0).integers(0, 3, size=150).astype(float)
    weight[40:41] = 0.0  # a whole chunk of no weight
    there = streamed(drawn(place.put), place.put, weight=weight, target=target)
    home = streamed(drawn(np.asarray), np.asarray, weight=weight, target=target)
    assert_agrees(there, home, place, X)
    found, wanted = there._state.stream, home._state.stream
    assert type(found.keys) is np.ndarray
    np.testing.assert_array_equal(found.keys, wanted.keys)
    assert place.has(found.kept.X)


def test_the_first_chunk_draws_the_basis(place):
    there, home = streamed(ncl(**SMALL), place.put), streamed(ncl(**SMALL), np.asarray)
    assert_agrees(there, home, place, X)


def test_a_fit_in_memory_has_no_moments(place):
    there = ncl(**SMALL).fit(place.put(X), place.put(y))
    other = drawn(place.put).partial_fit(place.put(X), place.put(y))
    assert hasattr(other, "partial_fit")
    assert not hasattr(there, "partial_fit")
    for call in (lambda: there.merge(other), lambda: other.subtract(there)):
        with pytest.raises(ValueError, match="this model has no moments"):
            call()


@pytest.mark.parametrize("solver", ["auto", "qr"])
def test_parts_are_merged_and_taken_away_again(place, solver):
    start = drawn(place.put, solver=solver)
    one, other = deepcopy(start), deepcopy(start)
    one.partial_fit(place.put(X[:90]), place.put(y[:90]))
    other.partial_fit(place.put(X[90:]), place.put(y[90:]))
    both = one.merge(other)
    home = ncl(**SMALL, solver=solver).fit(X, y)
    assert_agrees(both, home, place, X)
    rest = both.subtract(other)
    assert rest.lam_ == one.lam_
    assert apart(rest.predict(place.put(X)), one.predict(place.put(X))) < 1e-7
    assert place.has(rest.coef_)


def test_a_chunk_that_fails_leaves_all_as_it_was(place):
    model = drawn(place.put).partial_fit(place.put(X), place.put(y))
    before = dict(vars(model))
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(place.put(bad), place.put(y))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(place.put(bad), place.put(y))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_chunks_stay_in_one_place(place):
    there, home = drawn(place.put), drawn(np.asarray)
    for _ in range(2):  # after draw, and after a chunk
        with pytest.raises(ValueError, match=r"partial_fit.*these are numpy.*to_numpy\(\)"):
            there.partial_fit(X, y)
        with pytest.raises(ValueError, match=r"partial_fit.*that was numpy.*to_numpy\(\)"):
            home.partial_fit(place.put(X), place.put(y))
        there.partial_fit(place.put(X[:50]), place.put(y[:50]))
        home.partial_fit(X[:50], y[:50])
    assert there._state.stream.n_rows == home._state.stream.n_rows == 100


@pytest.mark.parametrize("method", ["merge", "subtract"])
def test_models_of_two_places_do_not_mix(place, method):
    there = drawn(place.put).partial_fit(place.put(X), place.put(y))
    home = drawn(np.asarray).partial_fit(X, y)
    for one, other in ((there, home), (home, there)):
        with pytest.raises(ValueError, match=r"in numpy.*make NumPy models .* by to_numpy\(\)"):
            getattr(one, method)(other)
    doubled = there.to_numpy().merge(home)
    assert doubled.path_.spectrum.weight == 300.0


def test_lam_is_chosen_when_it_is_asked_for(place):
    model = drawn(place.put).partial_fit(place.put(X), place.put(y))
    assert model._state.known is None
    assert to_host(model.lam_) == ncl(**SMALL).fit(X, y).lam_
    assert model._state.known is not None
