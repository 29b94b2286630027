"""to_numpy() leaves nothing of another library in a model."""

import dataclasses
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from models import ncl
from places import SMALL, apart, problem
from sklearn.model_selection import KFold

from negcorr import NCLRegressor
from negcorr._common.arrays import is_device_array, to_host
from negcorr.bases import FourierFeatures, NystroemFeatures

X, Y = problem(outputs=2)


def foreign(thing, path="model", seen=None):
    """Where in an object arrays of other libraries are, by attributes and items."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    if is_device_array(thing):
        return [path]
    parts = []
    if isinstance(thing, dict):
        parts = [(f"{path}[{key!r}]", part) for key, part in thing.items()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts = [(f"{path}[{i}]", part) for i, part in enumerate(thing)]
    if isinstance(thing, np.ndarray) and thing.dtype == object:
        parts += [(f"{path}[{i}]", part) for i, part in enumerate(thing.ravel())]
    if hasattr(thing, "__dict__") and not isinstance(thing, type):
        parts += [(f"{path}.{name}", part) for name, part in vars(thing).items()]
    return [found for name, part in parts for found in foreign(part, name, seen)]


def asked_everything(model, inputs):
    """The same model after it has computed what it computes late."""
    model.predict_interval(inputs)
    model.predict_members(inputs)
    model.path_.curves([1.0, 0.1])
    return model


class Mine(NCLRegressor):
    """Somebody's own estimator."""


def estimator(place, how):
    return {
        "at once": ncl(**SMALL),
        "alone": ncl(**SMALL, criterion="loo"),
        "accurate": ncl(**SMALL, solver="qr", alpha=0.1),
        "nystroem": ncl(
            **SMALL | {"basis": NystroemFeatures(8, 5, kernel="laplacian", inputs="none")}
        ),
        "given": ncl(**SMALL, lam=place.put([0.3, 0.6]), noise_variance=place.put([1.0])),
        "splitter": ncl(**SMALL, cv=KFold(3)),
        "subclass": Mine(ncl(**SMALL).basis),
    }[how]


def fitted(place, how):
    if how == "stream":
        return streamed(place, "at once")
    return estimator(place, how).fit(place.put(X), place.put(Y))


def streamed(place, how):
    inputs, target = place.put(X), place.put(Y)
    model = estimator(place, how).partial_fit(inputs[:60, :], target[:60, :])
    return model.partial_fit(inputs[60:, :], target[60:, :])


KINDS = ["at once", "alone", "accurate", "nystroem", "given", "splitter", "subclass", "stream"]


@pytest.mark.parametrize("how", KINDS)
def test_nothing_foreign_is_left(place, how):
    model = asked_everything(fitted(place, how), place.put(X))
    assert foreign(model)
    home = model.to_numpy()
    assert foreign(home) == []
    assert type(home) is type(model)
    assert foreign(model), "the model itself stays where it is"
    assert place.name.encode()[:5] not in pickle.dumps(home)


@pytest.mark.parametrize("how", KINDS)
def test_it_says_the_same_at_home(place, how):
    model = fitted(place, how)
    home = model.to_numpy()
    np.testing.assert_array_equal(to_host(model.lam_), home.lam_)
    inputs, frame = place.put(X), pd.DataFrame(X)
    for method in ("predict", "predict_members", partial_std):
        call = method if callable(method) else partial(calling, method)
        there = call(model, inputs)
        assert type(call(home, X)) is np.ndarray
        assert apart(there, call(home, X)) < 1e-12
        assert apart(there, call(home, frame)) < 1e-12
    # The folds are factorised anew, by the ways of NumPy.
    assert apart(model.predict_interval(inputs), home.predict_interval(X)) < 1e-9
    assert str(model.summary()) == str(home.summary())
    assert apart(model.with_lam(0.4).coef_, home.with_lam(0.4).coef_) < 1e-12


def calling(method, model, inputs):
    return getattr(model, method)(inputs)


def partial_std(model, inputs):
    return model.predict(inputs, return_std=True)[1]


@pytest.mark.parametrize("how", ["at once", "accurate", "nystroem", "given", "subclass"])
def test_it_goes_on_at_home(place, how):
    model = streamed(place, how)
    more_X, more_Y = problem(40, outputs=2, seed=7)
    home = model.to_numpy().partial_fit(more_X, more_Y)
    there = model.partial_fit(place.put(more_X), place.put(more_Y))
    np.testing.assert_array_equal(to_host(there.lam_), home.lam_)
    assert apart(there.predict(place.put(X)), home.predict(X)) < 1e-9
    assert foreign(home) == []


@pytest.mark.parametrize("path", [False, True])
@pytest.mark.parametrize("how", ["at once", "accurate", "stream"])
def test_a_compact_model_comes_home(place, how, path):
    model = fitted(place, how).compact(path=path)
    home = model.to_numpy()
    assert foreign(home) == []
    assert apart(model.predict(place.put(X)), home.predict(X)) < 1e-12
    assert apart(model.predict_interval(place.put(X)), home.predict_interval(X)) < 1e-12


def test_no_memory_is_shared(torch):
    model = fitted(torch, "at once")
    home = model.to_numpy()
    before = home.coef_.copy()
    model.coef_.zero_()
    np.testing.assert_array_equal(home.coef_, before)
    assert home.coef_.flags.writeable
    assert home.coef_.flags.c_contiguous


def test_arrays_that_were_shared_stay_shared(torch):
    model = fitted(torch, "stream")
    assert model.coef_ is model._state.answers.solution.coef
    home = model.to_numpy()._state
    assert home.stream.basis is home.basis
    assert home.answers.kept.rows.X is home.stream.kept.X


def test_whitening_at_home_works_block_by_block(torch):
    model = fitted(torch, "at once")
    assert model.path_.spectrum.whitening._stack is not None
    copy = model.to_numpy().path_.spectrum
    copy.coef_path(np.array([0.5]))
    assert "_stack" not in vars(copy.whitening)


def test_what_is_at_home_already_is_copied_and_not_computed():
    model = ncl(**SMALL | {"basis": FourierFeatures(8, 5, inputs="none")}).fit(X, Y)
    spectrum = model.path_.spectrum
    known = set(vars(spectrum))
    home = model.to_numpy()
    assert home is not model
    assert home.path_.spectrum is not spectrum
    assert set(vars(home.path_.spectrum)) == known == set(vars(spectrum))
    np.testing.assert_array_equal(home.predict(X), model.predict(X))


def test_the_walker_finds_what_is_hidden(torch):
    @dataclasses.dataclass
    class Box:
        inside: object

    hidden = {"a": [(1, Box({"b": torch.put([1.0])}))]}
    assert foreign(hidden) == ["model['a'][0][1].inside['b']"]
