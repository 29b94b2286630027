"""Going on: partial_fit equals one fit, and refitted heads are those of the core."""

import copy
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from models import deep_ncl
from reference import Problem as Rows
from reference import literal_fit

from negcorr.deep.closed_form_heads import head_features
from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.deep.training.loop import Step, Training
from negcorr.exceptions import DivergenceError
from negcorr.path.path import NCLPath

M, H = 3, 4


def data(outputs=None, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + 1.0
    Y = np.stack([np.sin(2.0 * X[:, 0]), X[:, 1] * X[:, 0]], axis=1) + 0.3 * rng.normal(size=(n, 2))
    return X, 10.0 * Y[:, 0] if outputs is None else 10.0 * Y[:, :outputs]


def estimator(**changes):
    small = {"n_members": M, "hidden_layer_sizes": (H,), "max_epochs": 20, "n_probes": 1}
    given = {"lam": 0.6, "learning_rate": 0.02, "dtype": "float64", "random_state": 0}
    return deep_ncl(**{**small, **given, **changes})


# One epoch after another


@pytest.mark.parametrize("changes", [{}, {"optimiser": "sgd"}, {"batch_norm": False}])
@pytest.mark.parametrize("batch_size", [None, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_epochs_one_by_one_are_a_fit_bit_for_bit(changes, batch_size, dtype):
    X, y = data()
    changes = {**changes, "batch_size": batch_size, "dtype": dtype, "n_probes": 0}
    model = estimator(**changes)
    for k in range(1, 5):
        model.partial_fit(X, y)
        if k in (1, 4):
            whole = estimator(max_epochs=k, **changes).fit(X, y)
            np.testing.assert_array_equal(model.predict_members(X), whole.predict_members(X))
            np.testing.assert_array_equal(model.history_.losses, whole.history_.losses)
            assert model.n_epochs_ == whole.n_epochs_ == k


def test_halvings_of_the_rate_are_gone_on_with():
    X, y = data()
    changes = {"n_probes": 0, "learning_rate": 0.5, "patience": 1, "batch_size": None}
    model = estimator(**changes)
    for _ in range(12):
        model.partial_fit(X, y)
    whole = estimator(max_epochs=12, **changes).fit(X, y)
    assert whole.history_.rates[0] < 0.5
    np.testing.assert_array_equal(model.history_.rates, whole.history_.rates)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_an_epoch_has_no_degrees_of_freedom():
    X, y = data(2)
    model = estimator().fit(X, y)
    assert np.isfinite(model.dof_).all()
    model.partial_fit(X, y)
    for name in ("dof_", "dof_std_error_", "noise_variance_"):
        assert np.isnan(getattr(model, name)).tolist() == [True, True]
    assert model.lam_table_ is None
    assert model.n_epochs_ == 21
    with pytest.raises(ValueError, match="partial_fit and refit_heads drop them"):
        model.predict(X, return_std=True)


def test_after_a_fit_weights_lam_and_rate_are_its_own():
    X, y = data()
    model = estimator(lam=(0.2, 0.6), learning_rate=0.05).fit(X, y)
    before, lam = model.predict(X), model.lam_
    model.set_params(lam=0.1, learning_rate=1.0).partial_fit(X, y)
    assert (model.lam_, model.learning_rate_) == (lam, 0.05)
    change = np.abs(model.predict(X) - before).max()
    assert 0 < change < 0.2 * np.ptp(y)


def test_epochs_go_on_after_a_fit_that_stopped_early():
    X, y = data()
    changes = {"early_stopping": 1, "learning_rate": 1.0, "max_epochs": 3000, "n_probes": 0}
    model = estimator(batch_size=None, **changes).fit(X, y)
    assert model.history_.rates[0] == 0.0
    before = model.predict(X)
    assert np.abs(model.partial_fit(X, y).predict(X) - before).max() > 1e-3


@pytest.mark.parametrize("auto", [{"lam": "auto"}, {"lam": (0.2, 0.6)}, {"learning_rate": "auto"}])
def test_what_is_to_be_chosen_is_chosen_by_a_fit(auto):
    X, y = data()
    first = estimator(max_epochs=3, **auto).partial_fit(X, y)
    whole = estimator(max_epochs=3, **auto).fit(X, y)
    assert first.lam_ == whole.lam_
    assert first.n_epochs_ == 3
    np.testing.assert_array_equal(first.predict(X), whole.predict(X))
    assert first.partial_fit(X, y).n_epochs_ == 4


def test_scales_are_those_of_the_first_rows():
    X, y = data()
    model = estimator().partial_fit(X, y)
    inputs, target = model._fit.inputs, model._fit.target
    model.partial_fit(100.0 * X[:10], 5.0 * y[:10])
    assert model._fit.inputs is inputs
    assert model._fit.target is target
    np.testing.assert_allclose(target.centre, y.mean())


def test_a_stream_of_batches_is_learned():
    X, y = data(n=400)
    model = estimator(learning_rate=0.05)
    for _ in range(10):
        for start in range(0, 400, 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert model.n_epochs_ == 40
    assert model.score(*data(n=200, seed=1)) > 0.6


def test_a_column_is_as_good_as_a_flat_target():
    X, y = data()
    flat = estimator().partial_fit(X, y).partial_fit(X, y)
    mixed = estimator().partial_fit(X, y).partial_fit(X, y[:, None])
    np.testing.assert_array_equal(mixed.predict(X), flat.predict(X))
    assert estimator().partial_fit(X, y[:, None]).predict(X).shape == (60, 1)


@pytest.mark.parametrize("fitted_by", ["fit", "partial_fit"])
def test_other_outputs_columns_and_networks_are_refused(fitted_by):
    X, y = data()
    model = getattr(estimator(), fitted_by)(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2"):
        model.partial_fit(X[:, :1], y)
    with pytest.raises(ValueError, match=r"partial_fit cont.* 3 of 2-4-1 .* 3 of 2-4-2 nodes"):
        model.partial_fit(*data(2))
    with pytest.raises(ValueError, match=r"partial_fit cont.* 3 of 2-4-1 .* 5 of 2-4-1 nodes"):
        copy.deepcopy(model).set_params(n_members=5).partial_fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_the_precision_is_that_of_the_networks():
    X, y = data()
    model = estimator(dtype="float32").partial_fit(X, y)
    same = copy.deepcopy(model).set_params(dtype="float64").partial_fit(X, y)
    np.testing.assert_array_equal(same.predict(X), model.partial_fit(X, y).predict(X))
    assert same.network_.theta.dtype == torch.float32


def test_an_interrupted_epoch_has_not_happened(monkeypatch):
    X, y = data()
    model = estimator(batch_size=16).partial_fit(X, y)
    undisturbed = copy.deepcopy(model).partial_fit(X, y).predict(X)
    before = model.predict(X)
    step, calls = Step.__call__, []

    def interrupted(self, batch):
        calls.append(batch)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return step(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Step, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_epochs_ == 1
    np.testing.assert_array_equal(model.partial_fit(X, y).predict(X), undisturbed)


def test_a_first_epoch_that_fails_leaves_an_estimator_that_is_not_fitted():
    X, y = data()
    model = estimator(optimiser="sgd", learning_rate=1e300)
    with pytest.raises(DivergenceError, match="learning_rate=1e\\+300") as error:
        model.partial_fit(X, y)
    assert (error.value.epoch, error.value.learning_rate) == (1, 1e300)
    assert error.value.network is None
    assert not [name for name in vars(model) if name.endswith("_")]
    assert not hasattr(model, "_fit")


def test_an_epoch_that_diverges_leaves_the_model_as_it_was():
    X, y = data()
    model = estimator(dtype="float32").partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(DivergenceError, match="the estimator is as it was") as error:
        model.partial_fit(X, 1e30 * y)
    assert error.value.epoch == 2
    assert error.value.network is model.network_
    np.testing.assert_array_equal(model.predict(X), before)
    assert np.isfinite(model.partial_fit(X, y).predict(X)).all()


# New heads


@pytest.fixture(scope="module", params=[None, 2], ids=["one output", "two outputs"])
def with_heads(request):
    X, y = data(request.param)
    model = estimator().fit(X, y)
    X_other, y_other = data(request.param, seed=1)
    return model, X_other, y_other, model.refit_heads(X_other, y_other, lam=0.75)


def test_heads_and_their_degrees_of_freedom_are_those_of_theorems_4_and_5(with_heads):
    model, X, y, heads = with_heads
    features = head_features(model.network_, model._fit.inputs.apply(X))
    rows = Rows(features, y.reshape(len(y), -1), np.ones(len(y)), H * np.arange(M + 1))
    theorem = literal_fit(rows, 0.25)
    np.testing.assert_allclose(heads.dof_, theorem.dof, rtol=1e-7)
    np.testing.assert_allclose(heads.lam_, 0.75)
    expected = theorem.fitted.reshape(y.shape)
    np.testing.assert_allclose(heads.predict(X), expected, rtol=1e-6, atol=1e-6 * np.ptp(y))
    S = theorem.smoothing
    left = len(y) - 2.0 * np.trace(S) + np.sum(S**2)
    noise = np.sum((y - expected) ** 2, axis=0) / left
    np.testing.assert_allclose(heads.noise_variance_, noise, rtol=1e-6)
    assert np.shape(heads.dof_) == np.shape(heads.noise_variance_) == y.shape[1:]
    np.testing.assert_allclose(heads.dof_std_error_, 0.0)


def test_heads_have_a_path_and_their_noise_the_units_of_the_target(with_heads):
    _, X, y, heads = with_heads
    assert isinstance(heads.path_, NCLPath)
    np.testing.assert_allclose(heads.path_.dof([0.75]).ravel()[0], np.ravel(heads.dof_)[0])
    more = heads.refit_heads(X, 10.0 * y, lam=0.75)
    np.testing.assert_allclose(more.noise_variance_, 100.0 * np.asarray(heads.noise_variance_))
    assert heads.lam_table_ is None
    with pytest.raises(ValueError, match="partial_fit and refit_heads drop them"):
        heads.predict(X, return_std=True)


def test_new_heads_are_a_new_estimator(with_heads):
    model, X, y, _ = with_heads
    theta, attributes = model.network_.theta.detach().clone(), dict(vars(model))
    heads = model.refit_heads(X, y)
    assert heads is not model
    assert torch.equal(model.network_.theta, theta)
    assert all(vars(model)[name] is value for name, value in attributes.items())
    assert heads.get_params() == model.get_params()
    assert heads.n_features_in_ == 2
    error = np.mean((heads.predict(X) - y) ** 2, axis=0)
    assert (error < np.mean((model.predict(X) - y) ** 2, axis=0)).all()


def test_heads_are_chosen_by_any_criterion_of_the_core(with_heads):
    model, X, y, _ = with_heads
    for criterion in ("kfold", "gcv", "bic"):
        heads = model.refit_heads(X, y, criterion, cv=4)
        assert heads.path_.criterion == criterion
        assert np.shape(heads.lam_) == y.shape[1:]


def test_a_fit_after_new_heads_has_no_path():
    X, y = data()
    heads = estimator().fit(X, y).refit_heads(X, y)
    assert not hasattr(heads.fit(X, y), "path_")
    heads = heads.refit_heads(X, y)
    assert not hasattr(heads.partial_fit(X, y), "path_")


def test_epochs_go_on_from_new_heads_at_one_lam():
    X, y = data(2)
    model = estimator(learning_rate=1e-9).fit(X, y)
    heads = model.refit_heads(X, y, lam=0.5)
    before = heads.predict(X)
    heads.partial_fit(X, y)
    assert heads.lam_ == 0.5
    np.testing.assert_allclose(heads.predict(X), before, rtol=1e-4, atol=1e-4)
    two = model.refit_heads(X, y, lam=[0.25, 0.5])
    with pytest.raises(ValueError, match=re.escape("lam_=[0.25, 0.5]")):
        two.partial_fit(X, y)


def test_heads_have_the_shape_of_their_own_target():
    X, y = data()
    heads = estimator().fit(X, y).refit_heads(X, y[:, None])
    assert heads.predict(X).shape == (60, 1)
    assert heads.dof_.shape == (1,)


def test_heads_for_other_targets_or_columns_are_refused():
    X, y = data(2)
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match=r"y has 1 output\(s\), the fitted networks 2"):
        model.refit_heads(X, y[:, :1])
    with pytest.raises(ValueError, match=r"y has 1 output\(s\), the fitted networks 2"):
        model.refit_heads(X, y[:, 0])
    with pytest.raises(ValueError, match="X has 1 features"):
        model.refit_heads(X[:, :1], y)


def test_history_goes_on_with_the_chosen_lam():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    model = DeepNCLRegressor(
        2,
        (3,),
        lam=[0.0, 0.5],
        learning_rate=0.01,
        training=Training(max_epochs=4),
        n_probes=1,
        random_state=0,
    ).fit(X, y)
    before = model.history_.losses[:, model.lam_table_.chosen]
    model.partial_fit(X, y).partial_fit(X, y)
    assert model.n_epochs_ == model.history_.n_epochs == 6
    np.testing.assert_array_equal(model.history_.losses[:4, 0], before)
