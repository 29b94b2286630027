"""Ensembles of ensembles: the same theory, with A in place of D (Theorems 4 and 5)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures, NestedFeatures, NystroemFeatures
from negcorr.rows.folds import make_folds
from negcorr.rows.rows import Rows
from tests.reference import nested_coef

SOLVERS = ("gram", "qr")


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    noise = 0.1 * rng.normal(size=(n, 2))
    return X, np.stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]], axis=1) + noise


def parts():
    return FourierFeatures(6, 4, random_state=0, inputs="none"), NystroemFeatures(
        5, 3, random_state=1, inputs="none"
    )


def nested(gaps=(0.1, 0.003)):
    return NestedFeatures(list(parts()), gaps=list(gaps))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_at_lam_0_it_is_the_average_of_ensembles_fitted_alone(solver, alpha):
    X, y = data()
    whole = NCLRegressor(basis=nested(), lam=0.0, solver=solver, alpha=alpha).fit(X, y)
    alone = [
        NCLRegressor(basis=part, gap=gap, solver="qr", alpha=alpha).fit(X, y)
        for part, gap in zip(parts(), (0.1, 0.003), strict=True)
    ]
    predictions = np.stack([model.predict(X) for model in alone])
    np.testing.assert_allclose(whole.predict_members(X), predictions, rtol=0, atol=1e-11)
    np.testing.assert_allclose(whole.predict(X), predictions.mean(axis=0), rtol=0, atol=1e-11)
    np.testing.assert_allclose(whole.dof_, np.mean([m.dof_ for m in alone], axis=0), rtol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("gap", [1.0, 0.2, 1e-3])
def test_coefficients_are_those_of_the_normal_equations(solver, alpha, gap):
    X, y = data()
    model = NCLRegressor(basis=nested(), gap=gap, solver=solver, alpha=alpha).fit(X, y)
    features = model.basis_.transform(X)
    expected, hat = nested_coef(
        features, y, model.basis_.block_starts_, model.basis_.nesting_, gap, alpha
    )
    np.testing.assert_allclose(model.coef_, expected.T, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.dof_, np.trace(hat) + 1.0, rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_diversity_is_that_of_predictions(solver, alpha):
    X, y = data()
    model = NCLRegressor(basis=nested(), lam=0.5, solver=solver, alpha=alpha).fit(X, y)
    for lam in (0.0, 0.5, 0.99):
        moved = model.with_lam(lam)
        seen = moved.diversity(X, y)
        np.testing.assert_allclose(moved.path_.diversity(), seen.diversity, rtol=1e-8)
        np.testing.assert_allclose(moved.path_.member_error(), seen.member_error, rtol=1e-8)


def test_kfold_equals_refits():
    X, y = data()
    model = NCLRegressor(basis=nested(), gap=0.05).fit(X, y)
    folds = make_folds(5, Rows(X, y))
    total = np.zeros(2)
    for train, test in folds.splits:
        a = np.concatenate([folds.cells[i] for i in train])
        b = np.concatenate([folds.cells[i] for i in test])
        features = model.basis_.transform(X)
        coef, _ = nested_coef(
            features[a], y[a], model.basis_.block_starts_, model.basis_.nesting_, 0.05, 0.0
        )
        fit = y[a].mean(axis=0) + (features[b] - features[a].mean(axis=0)) @ coef
        total += ((y[b] - fit) ** 2).sum(axis=0)
    np.testing.assert_allclose(model.path_.kfold(gap=0.05), total / len(y), rtol=1e-8)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 100),
    gaps=st.tuples(*[st.floats(1e-4, 0.9)] * 2),
    solver=st.sampled_from(SOLVERS),
)
def test_modes_lie_between_0_and_the_number_of_members(seed, gaps, solver):
    X, y = data(60, seed)
    path = NCLRegressor(basis=nested(gaps), lam=0.5, solver=solver).fit(X, y).path_
    rho = path.spectrum.rho
    assert (rho > 0).all()
    assert (rho <= 2.0 * (1 + 1e-9)).all()
    dof = path.dof(np.linspace(0.0, 0.9, 7))
    assert (np.diff(dof) > 0).all()


def test_fewer_rows_than_features():
    X, y = data(25)
    one, other = (
        NCLRegressor(basis=nested(), gap=0.3, solver=solver).fit(X, y) for solver in SOLVERS
    )
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.path_.diversity(), other.path_.diversity(), rtol=1e-6)


def test_what_is_about_plain_members_is_refused():
    X, y = data()
    model = NCLRegressor(basis=nested(), lam=0.5).fit(X, y[:, 0])
    with pytest.raises(ValueError, match="ensembles themselves"):
        model.path_.tikhonov_equivalent()
    with pytest.raises(ValueError, match=r"criterion='loo'.*'kfold'"):
        NCLRegressor(basis=nested(), criterion="loo").fit(X, y[:, 0])


def test_rows_can_come_in_parts():
    X, y = data()
    whole = NCLRegressor(basis=nested(), gap=0.2).fit(X, y)
    stream = NCLRegressor(basis=nested(), gap=0.2).draw(X)
    stream.partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    np.testing.assert_allclose(stream.predict(X), whole.predict(X), rtol=0, atol=1e-9)
