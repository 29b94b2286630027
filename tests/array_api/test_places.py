"""Where results are: arrays stay with the inputs, single numbers are Python's."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
from models import ncl
from places import NAMES, PER_OUTPUT, SMALL, apart, problem, somewhere
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import NCLRegressor
from negcorr._common.arrays import is_device_array, to_host
from negcorr.bases import FourierFeatures, NystroemFeatures

X, Y = problem(outputs=2)

CURVES = ["dof", "train_error", "member_error", "diversity", "sure", "gcv", "kfold", "aic", "cp"]


def fit(place, single=True, **parameters):
    target = Y[:, 0] if single else Y
    return ncl(**SMALL | parameters).fit(place.put(X), place.put(target))


@pytest.mark.parametrize("name", NAMES)
def test_every_place_that_is_here_can_be_fitted_and_predicted_on(name):
    place = somewhere(name)
    assert place.has(fit(place).predict(place.put(X)))


@pytest.mark.parametrize("single", [True, False])
def test_predictions_are_where_the_inputs_are(place, single):
    model, inputs = fit(place, single), place.put(X[:7])
    shape = (7,) if single else (7, 2)
    for found in (model.predict(inputs), *model.predict(inputs, return_std=True)):
        assert place.has(found)
        assert tuple(found.shape) == shape
        assert found.dtype == place.xp.float64
    interval, members = model.predict_interval(inputs), model.predict_members(inputs)
    assert place.has(interval)
    assert place.has(members)
    assert tuple(interval.shape) == (7, 2, *shape[1:])
    assert tuple(members.shape) == (8, *shape)
    mean = place.xp.mean(members, axis=0) if place.name != "torch" else members.mean(0)
    assert apart(mean, model.predict(inputs)) < 1e-9


def test_one_output_has_python_numbers(place):
    model = fit(place)
    for name in PER_OUTPUT:
        assert type(getattr(model, name)) is float
    assert place.has(model.coef_)
    assert tuple(model.coef_.shape) == (40,)
    for name in CURVES:
        assert type(getattr(model.path_, name)()) is float
        assert type(getattr(model.path_, name)(0.5)) is float


def test_several_outputs_have_arrays_there(place):
    model = fit(place, single=False)
    for name in (*PER_OUTPUT, "coef_"):
        assert place.has(getattr(model, name)), name
    assert tuple(model.coef_.shape) == (2, 40)
    for name in CURVES:
        assert place.has(getattr(model.path_, name)())
        assert place.has(getattr(model.path_, name)(0.5)) or name == "dof"


def test_curves_over_many_lam_are_there(place):
    lams = [[0.1, 0.5], [0.7, 0.9]]
    alone, several = fit(place).path_, fit(place, single=False).path_
    home = ncl(**SMALL).fit(X, Y).path_
    for name in CURVES:
        assert place.has(getattr(alone, name)(lams)), name
        assert tuple(getattr(alone, name)(lams).shape) == (2, 2)
        found = getattr(several, name)(lams)
        assert place.has(found), name
        assert apart(found, getattr(home, name)(lams)) < 1e-9, name


def test_coefficients_of_a_path_are_there(place):
    path = fit(place, single=False).path_
    for found in (path.coef(0.3), path.member_coef(0.3), path.coef()):
        assert place.has(found)
        assert tuple(found.shape) == (2, 40)


def test_what_is_for_reading_is_at_home(place):
    model, home = fit(place, single=False), ncl(**SMALL).fit(X, Y)
    assert str(model.summary()) == str(home.summary())
    here, there = home.path_.curves([1.0, 0.1, 0.01]), model.path_.curves([1.0, 0.1, 0.01])
    assert here.keys() == there.keys()
    for name, column in there.items():
        assert type(column) is np.ndarray
        np.testing.assert_allclose(column, here[name], rtol=1e-9)
    assert type(model.path_.values) is np.ndarray
    assert type(model.path_.gaps) is np.ndarray
    terms = model.diversity(place.put(X), place.put(Y))
    assert type(terms.diversity) is np.ndarray
    np.testing.assert_allclose(terms.diversity, home.diversity(X, Y).diversity, rtol=1e-9)
    assert "NCLPath" in repr(model.path_)
    assert "Negative Correlation" in model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("change", [{"lam": 0.3}, {"gap": 1e-2}, {"dof": 12.0}], ids=str)
def test_another_lam_of_the_same_fit(place, change):
    model, home = fit(place).with_lam(**change), ncl(**SMALL).fit(X, Y[:, 0])
    home = home.with_lam(**change)
    assert model.lam_ == pytest.approx(home.lam_, rel=1e-9)
    assert place.has(model.coef_)
    for method in ("predict", "predict_interval", "predict_members"):
        found = getattr(model, method)(place.put(X))
        assert apart(found, getattr(home, method)(X)) < 1e-9


def test_lam_may_be_an_array_of_the_device(place):
    lams = np.array([0.25, 0.75])
    there = fit(place, single=False, lam=place.put(lams))
    np.testing.assert_array_equal(to_host(there.lam_), lams)
    np.testing.assert_array_equal(to_host(there.with_lam(place.put(lams[::-1])).lam_), lams[::-1])


def test_a_compact_model_stays_there(place):
    model = fit(place)
    small = model.compact()
    for curve in CURVES:
        found, wanted = (getattr(each.path_, curve)([0.5, 0.9]) for each in (small, model))
        assert place.has(found) == place.has(wanted), curve
        assert apart(found, wanted) < 1e-4, curve
    for method in ("predict", "predict_interval", "predict_members"):
        found = getattr(small, method)(place.put(X))
        assert place.has(found)
        assert apart(found, getattr(model, method)(place.put(X))) == 0.0


@pytest.mark.parametrize("how", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_pickles_say_the_same(torch, how):
    for model in (fit(torch), ncl(**SMALL).partial_fit(torch.put(X), torch.put(Y))):
        before = model.predict(torch.put(X))
        again = how(model)
        assert apart(again.predict(torch.put(X)), before) == 0.0
        assert (
            apart(again.predict_interval(torch.put(X)), model.predict_interval(torch.put(X)))
            < 1e-12
        )


def test_a_pickle_holds_the_blocks_once(torch):
    whitening = fit(torch).path_.spectrum.whitening
    before = len(pickle.dumps(whitening))
    assert whitening._stack is not None
    assert len(pickle.dumps(whitening)) == before


def test_a_clone_is_fitted_anew_wherever_its_rows_are(place):
    model = fit(place)
    again = clone(model).fit(X, Y[:, 0])
    assert type(again.coef_) is np.ndarray
    assert again.lam_ == model.lam_
    assert place.has(again.fit(place.put(X), Y[:, 0]).coef_)


@pytest.mark.parametrize(
    "kind",
    [FourierFeatures, partial(FourierFeatures, orthogonal=True), NystroemFeatures],
    ids=["fourier", "orthogonal", "nystroem"],
)
def test_features_alone(place, kind):
    there = kind(3, 4, random_state=0).fit(place.put(X))
    home = kind(3, 4, random_state=0).fit(X)
    found = there.transform(place.put(X))
    assert place.has(found)
    assert apart(found, home.transform(X)) < 1e-11
    single = there.transform(place.put(X, np.float32))
    assert single.dtype == place.xp.float32
    for name, value in vars(there).items():
        assert place.has(value) == is_device_array(value), name


def test_scikit_learns_tools_around_it(torch):
    inputs, target = torch.put(X), torch.put(Y[:, 0])
    whole = make_pipeline(StandardScaler(), ncl(**SMALL)).fit(inputs, target)
    assert torch.has(whole.predict(inputs))
    scores = cross_val_score(ncl(**SMALL), inputs, target, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(ncl(**SMALL), X, Y[:, 0], cv=3), rtol=1e-9)


def test_targets_and_weights_come_from_anywhere(place):
    home = ncl(**SMALL).fit(X, Y[:, 0], np.arange(120.0))
    weights = np.arange(120.0)
    for y in (Y[:, 0], Y[:, 0].tolist(), place.put(Y[:, 0])):
        for weight in (weights, weights.tolist(), place.put(weights)):
            there = ncl(**SMALL).fit(place.put(X), y, weight)
            assert place.has(there.coef_)
            assert apart(there.coef_, home.coef_) < 1e-9
    # Inputs decide.
    there = ncl(**SMALL).fit(X, place.put(Y[:, 0]), place.put(weights))
    assert type(there.coef_) is np.ndarray
    np.testing.assert_array_equal(there.coef_, home.coef_)


def test_without_dispatch_tensors_are_read_as_numpy_arrays(torch):
    home = ncl(**SMALL).fit(X, Y)
    with sklearn.config_context(array_api_dispatch=False):
        model = ncl(**SMALL).fit(torch.put(X), torch.put(Y))
        assert type(model.coef_) is np.ndarray
        np.testing.assert_array_equal(model.coef_, home.coef_)
        found = model.predict(torch.put(X))
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, home.predict(X))


def test_gradients_leave_no_history_in_a_model(torch):
    home = fit(torch)
    inputs, target = torch.put(X).requires_grad_(), torch.put(Y[:, 0]).requires_grad_()
    for model in (
        ncl(**SMALL).fit(inputs, target, torch.put(np.ones(120)).requires_grad_()),
        ncl(**SMALL).partial_fit(inputs, target),
        ncl(**SMALL | {"basis": NystroemFeatures(8, 5, inputs="none")}).fit(inputs, target),
    ):
        assert not model.coef_.requires_grad
        assert not model.predict(torch.put(X)).requires_grad
        assert copy.deepcopy(model).lam_ == model.lam_
    assert ncl(**SMALL).fit(inputs, target).lam_ == home.lam_
    assert not FourierFeatures().fit(inputs).input_map_.center.requires_grad


def test_features_that_are_seeded_late_are_those_of_numpy(place):
    # Asking whether a basis can take the arrays must not draw from the random state.
    states = [np.random.RandomState(3), np.random.RandomState(3)]
    models = [
        NCLRegressor(basis=FourierFeatures(4, 4, inputs="none"), random_state=s, lam=0.5)
        for s in states
    ]
    for _ in range(2):
        there, home = models[0].fit(place.put(X), Y), models[1].fit(X, Y)
        assert apart(there.coef_, home.coef_) < 1e-9
