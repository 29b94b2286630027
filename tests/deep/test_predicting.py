"""What a fitted deep ensemble answers, against the same by hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from models import deep_ncl
from sklearn.exceptions import NotFittedError

from negcorr.deep import regressor as module
from negcorr.deep.settings import seed_of
from negcorr.deep.training.perturbed_copies import draw_probes
from negcorr.diversity.collusion import collusion
from negcorr.exceptions import CollusionWarning


def data(outputs=None, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.stack([np.sin(2.0 * X[:, 0]), X[:, 1] * X[:, 0]], axis=1) + 0.3 * rng.normal(size=(n, 2))
    return X, 10.0 * Y[:, 0] if outputs is None else 10.0 * Y[:, :outputs]


def estimator(**changes):
    small = {"n_members": 3, "hidden_layer_sizes": (4,), "max_epochs": 25, "n_probes": 2}
    given = {"lam": 0.6, "learning_rate": 0.02, "dtype": "float64", "random_state": 0}
    return deep_ncl(**{**small, **given, **changes})


@pytest.fixture(scope="module", params=[None, 1, 2], ids=["flat", "one column", "two columns"])
def fitted(request):
    X, y = data(request.param)
    return estimator().fit(X, y), X, y


def test_predictions_have_the_shape_of_the_target(fitted):
    model, _, y = fitted
    new, _ = data(n=7, seed=1)
    assert model.predict(new).shape == (7, *y.shape[1:])
    assert model.predict_members(new).shape == (3, 7, *y.shape[1:])
    mean, std = model.predict(new, return_std=True)
    assert mean.shape == std.shape == (7, *y.shape[1:])
    for name in ("dof_", "dof_std_error_", "noise_variance_"):
        assert np.shape(getattr(model, name)) == y.shape[1:]
    assert isinstance(model.lam_, float)


def test_the_mean_of_members_is_the_prediction(fitted):
    model, X, _ = fitted
    np.testing.assert_allclose(model.predict_members(X).mean(axis=0), model.predict(X), rtol=1e-12)
    assert model.predict_members(X).std(axis=0).min() > 0


def test_predictions_are_those_of_the_plain_networks(fitted, plain_members):
    model, X, y = fitted
    rows = torch.from_numpy((X - X.mean(axis=0)) / X.std(axis=0))
    members = model.predict_members(X).reshape(3, len(X), -1)
    for plain, found in zip(plain_members(model.network_), members, strict=True):
        # A plain module's own statistics, of the whole training set, are its batch's.
        out = plain.train()(rows).detach().numpy()
        flat = y.reshape(len(y), -1)
        np.testing.assert_allclose(found, out * flat.std(axis=0) + flat.mean(axis=0), rtol=1e-9)


def test_standard_deviations_are_the_noise_and_how_fits_on_moved_targets_differ(fitted):
    model, X, y = fitted
    new, _ = data(n=9, seed=1)
    step = 0.1 * y.std(axis=0)
    probes = draw_probes(2, len(y), model.network_.widths[-1], seed_of(model)).numpy()
    answers = []
    for b in probes.reshape(2, *y.shape):
        moved = estimator(n_probes=0).fit(X, y + step * b)
        answers.append((moved.predict(new) - model.predict(new)) / step)
    expected = np.sqrt(model.noise_variance_ * (1.0 + np.mean(np.square(answers), axis=0)))
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(new))
    np.testing.assert_allclose(std, expected, rtol=1e-7)


def test_standard_deviations_need_probes():
    X, y = data()
    model = estimator(n_probes=0, noise_variance=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"n_probes of at least 1 \(n_probes=0\)"):
        model.predict(X, return_std=True)


def test_diversity_is_what_averaging_gains(fitted):
    model, X, y = fitted
    terms = model.diversity(X, y)
    gained = np.asarray(terms.member_error) - np.asarray(terms.diversity)
    np.testing.assert_allclose(terms.ensemble_error, gained, rtol=1e-12)
    error = np.mean((model.predict(X) - y) ** 2, axis=0)
    np.testing.assert_allclose(terms.ensemble_error, error, rtol=1e-12)
    assert np.all(np.asarray(terms.diversity) > 0)
    with pytest.raises(ValueError, match="y contains NaN"):
        model.diversity(X, np.full_like(y, np.nan))


def test_collusion_is_that_of_the_members(fitted):
    model, X, y = fitted
    new, target = data(None if y.ndim == 1 else y.shape[1], n=30, seed=1)
    found = model.collusion(X, y, new, target)
    members, members_new = model.predict_members(X), model.predict_members(new)
    expected = collusion(members, y, members_new, target)
    assert str(found) == str(expected)
    assert found.held_out is not None
    assert model.collusion(X, y).held_out is None


def test_members_that_are_useless_alone_are_told_of():
    X, y = data()
    with pytest.warns(CollusionWarning, match=r"at lam=1\.0 members are useless alone") as caught:
        model = estimator(lam=1.0, max_epochs=100).fit(X, y)
    assert caught[0].filename == __file__
    assert model.score(X, y) > 0.5
    assert np.mean((model.predict_members(X) - y) ** 2) > y.var()
    assert "useless alone" in str(model.collusion(X, y))


def test_blocks_of_rows_change_nothing(monkeypatch):
    X, y = data()
    model = estimator().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    monkeypatch.setattr(module, "BLOCK", 7)
    in_blocks = model.predict(X, return_std=True)
    np.testing.assert_allclose(in_blocks[0], mean, rtol=1e-12)
    np.testing.assert_allclose(in_blocks[1], std, rtol=1e-9)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X, y: model.predict(X),
        lambda model, X, y: model.predict_members(X),
        lambda model, X, y: model.diversity(X, y),
        lambda model, X, y: model.collusion(X, y),
        lambda model, X, y: model.refit_heads(X, y),
        lambda model, X, y: model.save("never-written"),
    ],
    ids=["predict", "predict_members", "diversity", "collusion", "refit_heads", "save"],
)
def test_nothing_is_answered_before_a_fit(ask):
    with pytest.raises(NotFittedError, match="DeepNCLRegressor instance is not fitted yet"):
        ask(estimator(), *data())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inputs_beyond_the_networks_precision_are_refused(dtype):
    X, y = data()
    model = estimator(dtype=dtype).fit(X, y)
    # In single precision networks see no more than 3.4e38; in double a float64 always fits.
    far = np.full((2, 2), 1e300)
    if dtype == "float64":
        assert np.isfinite(model.predict(far)).all()
        return
    with pytest.raises(ValueError, match=r"X has values of .*e\+300.* 3\.4e\+38 of float32"):
        model.predict(far)
