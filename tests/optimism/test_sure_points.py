"""One point of a grid, and the table of all of them, by hand."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import degrees_of_freedom, monte_carlo_dof
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.exceptions import NotLinearError
from negcorr.optimism.sure_search import GridPoint, at_point, results_table, score_point

OPTIONS = {
    "eps": np.array([0.1]),
    "n_probes": 2,
    "probe": "rademacher",
    "scheme": "forward",
    "random_state": 5,
}


def data(outputs=None, n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=(outputs or 1, n))).T
    return X, y[:, 0] if outputs is None else y


def point(error, dof, std_error=0.0):
    """A point with the same numbers as arrays."""
    return GridPoint(*(np.atleast_1d(v) for v in (error, dof, std_error)), "exact", 1, 0.5)


# ---------------------------------------------------------------------------------------
# One point
# ---------------------------------------------------------------------------------------


def test_a_point_is_a_clone_with_values_of_its_own():
    inner = Ridge(3.0)
    pipeline = make_pipeline(StandardScaler(), Ridge())
    found = at_point(pipeline, {"ridge": inner, "ridge__alpha": 7.0})
    assert found.named_steps["ridge"].alpha == 7.0
    assert found is not pipeline
    assert found.named_steps["ridge"] is not inner
    assert inner.alpha == 3.0
    assert pipeline.named_steps["ridge"].alpha == 1.0


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("method", ["auto", "exact"])
def test_exact_point(outputs, method):
    X, y = data(outputs)
    weight = np.arange(30) % 3
    refit = Refit.of(Ridge(), X, y, weight, "shared")
    found = score_point(Ridge(), {"alpha": 4.0}, refit, method, OPTIONS, 0)
    model = Ridge(4.0).fit(X, y, sample_weight=weight)
    squares = (y - model.predict(X)) ** 2
    np.testing.assert_allclose(
        found.train_error, np.atleast_1d(np.average(squares, axis=0, weights=weight))
    )
    dof = degrees_of_freedom(Ridge(4.0), X, y, sample_weight=weight).dof
    np.testing.assert_allclose(found.dof, np.atleast_1d(dof))
    np.testing.assert_array_equal(found.dof_std_error, np.zeros(outputs or 1))
    assert (found.method, found.n_fits) == ("exact", 1)
    assert found.seconds > 0


@pytest.mark.parametrize(("scheme", "fits"), [("forward", 3), ("central", 5)])
@pytest.mark.parametrize("weight", [None, np.arange(30) % 3])
def test_point_by_probes(scheme, fits, weight):
    X, y = data()
    refit = Refit.of(Ridge(), X, y, weight, "shared")
    options = OPTIONS | {"scheme": scheme}
    found = score_point(Ridge(), {"alpha": 4.0}, refit, "monte-carlo", options, 0)
    wanted = monte_carlo_dof(Ridge(4.0), X, y, seeding="shared", sample_weight=weight, **options)
    np.testing.assert_allclose(found.dof, [wanted.dof])
    np.testing.assert_allclose(found.dof_std_error, [wanted.std_error])
    squares = (y - Ridge(4.0).fit(X, y, sample_weight=weight).predict(X)) ** 2
    np.testing.assert_allclose(found.train_error, [np.average(squares, weights=weight)])
    assert (found.method, found.n_fits) == ("monte-carlo", fits)


@pytest.mark.parametrize(
    ("estimator", "params", "method", "kind"),
    [
        (Ridge(), {"alpha": -1.0}, "auto", ValueError),
        (Ridge(), {"alpha": -1.0}, "monte-carlo", ValueError),
        (Ridge(), {"beta": 1.0}, "auto", ValueError),
        (Lasso(), {"alpha": 1.0}, "exact", NotLinearError),
    ],
)
def test_what_goes_wrong_is_handed_back(estimator, params, method, kind):
    X, y = data()
    refit = Refit.of(estimator, X, y, None, "shared")
    assert isinstance(score_point(estimator, params, refit, method, OPTIONS, 0), kind)


# ---------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------


def test_table_by_hand():
    X, y = np.zeros((10, 1)), np.arange(10.0)
    grid = [{"a": 1}, {"a": 2, "b": "x"}, {"b": "y"}]
    points = [point(0.5, 4.0, 0.2), point(0.3, 5.0), point(0.3, 5.0)]
    table = results_table(grid, points, Refit.of(Ridge(), X, y), np.array([2.0]), None)
    assert table["params"] == grid
    np.testing.assert_allclose(table["sure"], [0.5 - 0.4, 0.3, 0.3])
    np.testing.assert_allclose(table["sure_std_error"], [0.4 * 0.2, 0.0, 0.0])
    np.testing.assert_allclose(table["mean_test_score"], [-0.1, -0.3, -0.3])
    assert table["rank_sure"].tolist() == table["rank_test_score"].tolist() == [1, 2, 2]
    assert table["train_error"].tolist() == [0.5, 0.3, 0.3]
    assert table["dof"].tolist() == [4.0, 5.0, 5.0]
    assert table["dof_std_error"].tolist() == [0.2, 0.0, 0.0]
    assert table["method"].tolist() == ["exact"] * 3
    assert table["n_fits"].tolist() == [1, 1, 1]
    assert table["fit_time"].tolist() == [0.5] * 3
    assert table["param_a"].mask.tolist() == [False, False, True]
    assert table["param_b"].mask.tolist() == [True, False, False]
    assert table["param_a"].tolist() == [1, 2, None]
    assert table["param_b"].tolist() == [None, "x", "y"]


def test_weights_add_up_to_the_number_of_samples():
    X, y = np.zeros((10, 1)), np.arange(10.0)
    refit = Refit.of(Ridge(), X, y, np.full(10, 4.0))
    table = results_table([{}], [point(0.5, 4.0, 1.0)], refit, np.array([2.0]), None)
    np.testing.assert_allclose(table["sure"], [0.5 + 2.0 * (8.0 / 40.0 - 1.0)])
    np.testing.assert_allclose(table["sure_std_error"], [2.0 * 2.0 / 40.0])


def test_outputs_are_averaged_in_units_of_their_variance():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(10, 2)) * [1.0, 100.0]
    refit = Refit.of(Ridge(), np.zeros((10, 1)), y)
    noise = np.array([0.2, 300.0])
    points = [point([0.5, 2000.0], [4.0, 2.0], [0.3, 0.6])]
    table = results_table([{}], points, refit, noise, None)
    sure = np.array([0.5, 2000.0]) + noise * (np.array([0.8, 0.4]) - 1.0)
    np.testing.assert_allclose(table["sure"], [np.mean(sure / y.var(axis=0))])
    errors = 2.0 * noise / 10.0 * [0.3, 0.6] / y.var(axis=0)
    np.testing.assert_allclose(table["sure_std_error"], [np.linalg.norm(errors) / 2.0])


def test_constant_outputs_have_no_say():
    y = np.column_stack([np.arange(10.0), np.full(10, 7.0)])
    refit = Refit.of(Ridge(), np.zeros((10, 1)), y)
    points = [point([0.5, 1e-12], [4.0, 4.0]), point([0.6, 0.0], [4.0, 4.0])]
    table = results_table([{}, {}], points, refit, np.array([2.0, 0.0]), None)
    np.testing.assert_allclose(table["sure"], np.array([0.1, 0.2]) / y[:, 0].var() / 2.0)


def test_constant_outputs_do_not_divide_by_zero():
    refit = Refit.of(Ridge(), np.zeros((10, 1)), np.zeros((10, 2)))
    points = [point([0.0, 0.0], [4.0, 2.0], [0.3, 0.6])]
    table = results_table([{}], points, refit, np.zeros(2), None)
    assert table["sure"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("penalty", "ranks"), [(np.nan, [1, 3, 2]), (9.0, [1, 3, 2]), (-9.0, [2, 1, 3])]
)
def test_failed_points_in_the_table(penalty, ranks):
    refit = Refit.of(Ridge(), np.zeros((10, 1)), np.arange(10.0))
    points = [point(0.5, 4.0), ValueError("no"), point(0.6, 4.0)]
    table = results_table([{}, {}, {}], points, refit, np.array([2.0]), penalty)
    np.testing.assert_allclose(table["sure"], [0.1, penalty, 0.2])
    assert table["rank_sure"].tolist() == ranks
    assert table["method"].tolist() == ["exact", "failed", "exact"]
    assert table["n_fits"].tolist() == [1, 0, 1]
    assert np.isnan(table["train_error"][1])
    assert np.isnan(table["dof"][1])


def test_values_that_are_arrays_stay_whole():
    refit = Refit.of(Ridge(), np.zeros((10, 1)), np.arange(10.0))
    values = [np.array([1.0, 2.0]), [3.0, 4.0], (5.0,), None]
    grid = [{"a": value} for value in values]
    table = results_table(grid, [point(0.5, 4.0)] * 4, refit, np.array([2.0]), None)
    for i, value in enumerate(values):
        assert table["param_a"][i] is value
