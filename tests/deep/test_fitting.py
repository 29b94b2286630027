"""From rows to a fitted ensemble: one batched training equals many of one, and λ is the best."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from models import deep_ncl

from negcorr.deep.settings import LAMS, seed_of
from negcorr.deep.training.perturbed_copies import draw_probes
from negcorr.deep.training.rates import RATES

GRID = (0.0, 0.6, 0.9)


def data(outputs=None, n=45, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 20.0, 0.1] + [0.0, 5.0, -3.0]
    waves = np.stack([np.sin(2.0 * X[:, 0]), X[:, 1] / 20.0 * X[:, 0]], axis=1)
    Y = 7.0 * (waves + 0.5 * rng.normal(size=(n, 2))) + 50.0
    return X, Y[:, 0] if outputs is None else Y[:, :outputs]


def estimator(**changes):
    small = {"n_members": 3, "hidden_layer_sizes": (4,), "max_epochs": 30, "dtype": "float64"}
    return deep_ncl(**{**small, "lam": GRID, "learning_rate": 0.02, "random_state": 0, **changes})


def probes(model, y):
    """The directions b of the fit, and its step ε in the units of y."""
    found = draw_probes(model.n_probes, len(y), y.shape[1] if y.ndim == 2 else 1, seed_of(model))
    return found.numpy().reshape(-1, *y.shape), 0.1 * y.std(axis=0)


@pytest.fixture(scope="module", params=[None, 2], ids=["one output", "two outputs"])
def fitted(request):
    X, y = data(request.param)
    return estimator().fit(X, y), X, y


# The choice


@pytest.mark.parametrize("criterion", ["sure", "gcv"])
def test_lam_is_where_the_criterion_is_smallest(fitted, criterion):
    model, X, y = fitted
    model = model if criterion == "sure" else estimator(criterion=criterion).fit(X, y)
    table = model.lam_table_
    total = getattr(table, criterion).sum(axis=1)
    assert table.lam.tolist() == list(GRID)
    assert table.chosen == np.argmin(total)
    assert model.lam_ == GRID[table.chosen]
    assert len(set(total)) == 3


def test_auto_is_a_grid_of_eleven():
    X, y = data()
    model = estimator(lam="auto", max_epochs=10, n_probes=1).fit(X, y)
    assert tuple(model.lam_table_.lam) == LAMS
    assert model.lam_ == LAMS[int(np.argmin(model.lam_table_.sure))]
    assert model.history_.losses.shape == (10, 11)


def test_a_grid_in_any_order_gives_the_same_ensemble(fitted):
    model, X, y = fitted
    turned = estimator(lam=GRID[::-1]).fit(X, y)
    assert turned.lam_ == model.lam_
    np.testing.assert_allclose(turned.predict(X), model.predict(X), rtol=1e-10)


@pytest.mark.parametrize("batch_size", [None, 16])
def test_ensembles_side_by_side_equal_those_trained_alone(batch_size):
    X, y = data()
    together = estimator(batch_size=batch_size).fit(X, y)
    alone = estimator(batch_size=batch_size, lam=together.lam_).fit(X, y)
    np.testing.assert_allclose(alone.predict_members(X), together.predict_members(X), rtol=1e-10)
    np.testing.assert_allclose(alone.dof_, together.dof_, rtol=1e-8)
    row = together.lam_table_.chosen
    np.testing.assert_allclose(alone.history_.losses[:, 0], together.history_.losses[:, row])
    without_copies = estimator(batch_size=batch_size, lam=together.lam_, n_probes=0).fit(X, y)
    np.testing.assert_allclose(without_copies.predict(X), together.predict(X), rtol=1e-10)


def test_every_row_of_the_table_is_that_of_a_fit_alone(fitted):
    model, X, y = fitted
    table = model.lam_table_
    for g, lam in enumerate(GRID):
        alone = estimator(lam=lam).fit(X, y)
        np.testing.assert_allclose(alone.dof_, np.squeeze(table.dof[g]), rtol=1e-8)
        error = np.mean((alone.predict(X) - y) ** 2, axis=0)
        np.testing.assert_allclose(np.squeeze(table.train_error[g]), error, rtol=1e-9)


# Degrees of freedom


def test_degrees_of_freedom_are_algorithm_1_with_one_fit_after_another(fitted):
    model, X, y = fitted
    b, step = probes(model, y)
    values = []
    for direction in b:
        moved = estimator(lam=model.lam_, n_probes=0).fit(X, y + step * direction)
        answer = moved.predict(X) - model.predict(X)
        values.append(np.sum(direction * answer / step, axis=0))
    np.testing.assert_allclose(model.dof_, np.mean(values, axis=0), rtol=1e-8)
    assert np.shape(model.dof_) == np.shape(model.dof_std_error_) == y.shape[1:]
    assert np.all(np.asarray(model.dof_std_error_) > 0)


def test_another_step_is_taken_as_given():
    X, y = data()
    model = estimator(lam=0.6, eps=0.5, n_probes=1).fit(X, y)
    (b,), _ = probes(model, y)
    step = 0.5 * y.std()
    moved = estimator(lam=0.6, n_probes=0).fit(X, y + step * b)
    assert model.dof_ == pytest.approx(b @ (moved.predict(X) - model.predict(X)) / step, rel=1e-8)


def test_one_probe_has_no_standard_error_and_none_has_nothing():
    X, y = data()
    one = estimator(lam=0.6, n_probes=1).fit(X, y)
    assert np.isfinite(one.dof_)
    assert np.isnan(one.dof_std_error_)
    none = estimator(lam=0.6, n_probes=0).fit(X, y)
    assert np.isnan([none.dof_, none.dof_std_error_, none.noise_variance_]).all()
    assert np.isnan(none.lam_table_.sure).all()
    known = estimator(lam=0.6, n_probes=0, noise_variance=2.0).fit(X, y)
    assert known.noise_variance_ == pytest.approx(2.0, rel=1e-15)


# The noise, in the units of the target


def test_sure_is_that_of_definition_2(fitted):
    model, X, _ = fitted
    table, n = model.lam_table_, len(X)
    assert (np.atleast_1d(model.noise_variance_) == table.noise_variance).all()
    expected = table.train_error + table.noise_variance * (2.0 * table.dof / n - 1.0)
    np.testing.assert_allclose(table.sure, expected, rtol=1e-12)
    np.testing.assert_allclose(table.gcv, table.train_error / (1 - table.dof / n) ** 2)


def test_known_noise_is_used_as_it_is(fitted):
    _, X, y = fitted
    known = 4.0 if y.ndim == 1 else [4.0, 5.0]
    model = estimator(noise_variance=known).fit(X, y)
    np.testing.assert_allclose(model.noise_variance_, known, rtol=1e-14)
    table, n = model.lam_table_, len(X)
    expected = table.train_error + np.asarray(known) * (2.0 * table.dof / n - 1.0)
    np.testing.assert_allclose(table.sure, expected, rtol=1e-12)


def test_much_noise_asks_for_few_degrees_of_freedom(fitted):
    model, X, y = fitted
    noisy = estimator(noise_variance=1000.0).fit(X, y)
    assert noisy.lam_ == GRID[int(np.argmin(noisy.lam_table_.dof.sum(axis=1)))] < model.lam_
    assert np.sum(noisy.dof_) < np.sum(model.dof_)


def test_the_papers_noise_is_that_of_the_residuals_at_the_smallest_lam(fitted):
    model, X, y = fitted
    paper = estimator(noise_variance="paper").fit(X, y)
    table, n = model.lam_table_, len(X)
    expected = n * table.train_error[0] / (n - table.dof[0])
    np.testing.assert_allclose(np.atleast_1d(paper.noise_variance_), expected, rtol=1e-10)


@pytest.mark.parametrize("noise_variance", [None, "paper", "difference"])
def test_units_of_the_target_come_back_in_every_number(noise_variance):
    X, y = data()
    model, other = (
        estimator(noise_variance=noise_variance, lam=(0.0, 0.6), max_epochs=10).fit(X, t)
        for t in (y, 100.0 * y - 3.0)
    )
    assert other.lam_ == model.lam_
    np.testing.assert_allclose(other.noise_variance_, 1e4 * model.noise_variance_, rtol=1e-6)
    for name in ("sure", "gcv", "train_error"):
        found, before = getattr(other.lam_table_, name), getattr(model.lam_table_, name)
        np.testing.assert_allclose(found, 1e4 * before, rtol=1e-5)


def test_units_of_the_inputs_do_not_matter_unless_asked_for():
    X, y = data()
    moved = 1000.0 * X - 77.0
    first, second = (estimator(lam=0.6).fit(rows, y).predict(rows) for rows in (X, moved))
    np.testing.assert_allclose(first, second, rtol=1e-7)
    first, second = (
        estimator(lam=0.6, standardize=False, batch_norm=False).fit(rows, y).predict(rows)
        for rows in (X, moved)
    )
    assert np.abs(first - second).max() > 0.1


# Learning rates


def test_auto_takes_a_learning_rate_of_the_papers():
    X, y = data()
    model = estimator(learning_rate="auto", lam=0.6).fit(X, y)
    assert model.learning_rate_ in RATES
    fixed = estimator(learning_rate=model.learning_rate_, lam=0.6).fit(X, y)
    np.testing.assert_array_equal(fixed.predict(X), model.predict(X))
    slow = estimator(learning_rate=1e-6, lam=0.6).fit(X, y)
    assert model.score(X, y) > slow.score(X, y) + 0.2


def test_a_rate_that_is_given_is_kept():
    X, y = data()
    model = estimator(lam=0.6, learning_rate=0.125, patience=1, max_epochs=60).fit(X, y)
    assert model.learning_rate_ == 0.125
    assert 0 < model.history_.rates[0] < 0.125


# Tables


def test_tables_have_a_row_for_everything(fitted):
    model, _, y = fitted
    outputs = 1 if y.ndim == 1 else 2
    frame = model.lam_table_.to_frame()
    assert len(frame) == 3 * outputs
    assert set(frame.lam[frame.chosen]) == {model.lam_}
    history = model.history_.to_frame()
    assert len(history) == 3 * 30
    assert history.columns.tolist() == ["lam", "epoch", "loss"]
    assert model.n_epochs_ == model.history_.n_epochs == 30
    assert (model.history_.losses[-1] < model.history_.losses[0]).all()


def test_stopped_early_there_are_fewer_epochs():
    X, y = data()
    model = estimator(early_stopping=1, patience=1, learning_rate=1.0, max_epochs=3000).fit(X, y)
    assert model.n_epochs_ < 3000
    assert len(model.history_.losses) == model.n_epochs_
    assert np.isfinite(model.history_.losses).all()
    assert (model.history_.rates == 0).all()


# Warm starts


def test_a_warm_start_begins_at_the_last_weights_and_scales():
    X, y = data()
    model = estimator(lam=0.6, warm_start=True).fit(X, y)
    before = model.predict(X)
    model.set_params(learning_rate=1e-12, training__max_epochs=2)
    np.testing.assert_allclose(model.fit(X, y).predict(X), before, rtol=1e-8)
    # Targets of other units: with scales of their own, the same weights would predict others.
    np.testing.assert_allclose(model.fit(X, 9.0 * y - 5.0).predict(X), before, rtol=1e-8)
    cold = estimator(lam=0.6, learning_rate=1e-12, max_epochs=2).fit(X, y)
    assert np.abs(cold.predict(X) - before).max() > 1.0


def test_a_warm_start_goes_on_where_a_fit_ended():
    X, y = data()
    model = estimator(lam=0.6, warm_start=True, n_probes=1).fit(X, y)
    first = model.score(X, y)
    assert model.fit(X, y).score(X, y) > first
    assert np.isfinite(model.dof_)


def test_the_first_of_warm_starts_is_cold():
    X, y = data()
    warm, cold = (estimator(lam=0.6, warm_start=flag).fit(X, y) for flag in (True, False))
    np.testing.assert_array_equal(warm.predict(X), cold.predict(X))


@pytest.mark.parametrize(
    ("changes", "outputs", "columns", "words"),
    [
        ({"n_members": 4}, None, 3, "4 of 3-4-1 nodes"),
        ({"hidden_layer_sizes": (4, 4)}, None, 3, "3 of 3-4-4-1 nodes"),
        ({"batch_norm": False}, None, 3, "without batch norm"),
        ({"activation": "relu"}, None, 3, "relu"),
        ({}, 2, 3, "3 of 3-4-2 nodes"),
        ({}, None, 2, "3 of 2-4-1 nodes"),
    ],
)
def test_a_warm_start_from_other_networks_is_refused(changes, outputs, columns, words):
    X, y = data()
    model = estimator(lam=0.6, warm_start=True, max_epochs=2).fit(X, y)
    before = model.predict(X)
    model.set_params(**changes)
    X_other, y_other = data(outputs)
    with pytest.raises(ValueError, match=f"warm_start=True continues .* 3 of 3-4-1 .*{words}"):
        model.fit(X_other[:, :columns], y_other)
    np.testing.assert_array_equal(model.predict(X), before)
