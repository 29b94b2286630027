"""Data on which a fast route goes wrong without a sound: what must hold there."""

import contextlib
import threading
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed
from models import ncl
from sklearn.model_selection import LeaveOneGroupOut
from threadpoolctl import threadpool_info, threadpool_limits

from negcorr import ContentKFold, NCLRegressor, difference_noise_variance, ncl_path
from negcorr.exceptions import NegcorrWarning, PrecisionWarning
from negcorr.rows.rows import Rows, canonical_order

ignore_our_warnings = pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")


def refitted_kfold(features, y, path, gap):
    """Mean squared error of refits on the training rows alone, of the same folds."""
    total = 0.0
    for held_out in path.folds.cells:
        train = np.setdiff1d(np.arange(len(y)), held_out)
        refit = ncl_path(features[train], y[train], path.starts, gap=gap, solver="qr")
        coef = refit.coef()
        intercept = refit.spectrum.intercept(coef[np.newaxis])[0]
        total += np.sum((y[held_out] - features[held_out] @ coef - intercept) ** 2)
    return total / len(y)


@ignore_our_warnings
@pytest.mark.parametrize("solver", ["auto", "qr", "gram"])
@pytest.mark.parametrize("seed", range(8))
def test_leaves_that_are_empty_in_a_fold_do_not_wreck_its_error(seed, solver):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([40, 150, 600]))
    X = np.exp(2.5 * rng.normal(size=(n, 3)))
    X[:, 2] = rng.choice([0, 1, 5], p=[0.9, 0.09, 0.01], size=n)
    y = np.log(X[:, 0]) + 0.3 * rng.normal(size=n)
    rows = Rows(X, y[:, np.newaxis])
    order = canonical_order(rows)  # that of the folds
    model = ncl(10, 8, random_state=seed, basis="trees", solver=solver).fit(X, y)
    for gap in (1.0, 1e-2):
        features = model.basis_.transform(X[order])
        refits = refitted_kfold(features, y[order], model.path_, gap)
        assert model.path_.kfold(gap=gap) == pytest.approx(refits, rel=1e-6)


@pytest.mark.parametrize("solver", ["gram", "qr"])
def test_a_column_with_a_single_entry_beside_a_constant_one(solver):
    rng = np.random.default_rng(0)
    n = 3000
    x, rare = rng.normal(size=n), np.zeros(n)
    rare[5] = 1.0
    y = x + 0.1 * rng.normal(size=n)
    features = np.column_stack([np.ones(n), x, rare, np.ones(n), x**2, rng.normal(size=n)])
    starts = np.array([0, 3, 6])
    path = ncl_path(features, y, starts, gap=0.1, solver=solver)
    for gap in (1.0, 0.1):
        refits = refitted_kfold(features, y, path, gap)
        assert path.kfold(gap=gap) == pytest.approx(refits, rel=1e-8)


@ignore_our_warnings
def test_a_direction_that_the_gram_matrix_loses_is_found_by_auto():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 3000))
    y = z + 0.1 * rng.normal(size=3000)
    features = np.column_stack([x, x + 1e-8 * z, rng.normal(size=(3000, 4))])
    path = ncl_path(features, y, [0, 2, 4, 6])
    assert path.solver == "qr"
    assert path.kfold() < 0.02


def test_a_direction_that_the_gram_matrix_loses_is_named_where_gram_was_asked_for():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 3000))
    features = np.column_stack([x, x + 1e-8 * z, rng.normal(size=(3000, 4))])
    with pytest.warns(PrecisionWarning, match="lost directions"):
        ncl_path(features, z, [0, 2, 4, 6], solver="gram", gap=0.5)


def test_curves_below_what_the_gram_route_resolves_say_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=2500)
    path = ncl().fit(X, y).path_
    assert path.solver == "gram"
    assert path.smallest_trusted_gap > 0
    for ask in (lambda: path.dof(1.0), lambda: path.kfold(gap=0), lambda: path.curves([0.0])):
        with pytest.warns(PrecisionWarning, match="solver='qr'") as record:
            ask()
        assert len(record) == 1


def test_a_failed_refit_leaves_the_model_as_it_was():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    model = ncl(10, 5).fit(X, y)
    before = model.predict(X)
    model.set_params(random_state=7, basis__n_components=3, noise_variance="bogus")
    with pytest.raises(ValueError, match="noise_variance='bogus'"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_neighbours_are_distinct_rows_so_weights_equal_repeats():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    weight = rng.integers(0, 4, size=50)
    repeated = np.repeat(np.arange(50), weight)
    assert difference_noise_variance(X, y, weight) == pytest.approx(
        difference_noise_variance(X[repeated], y[repeated])
    )
    with pytest.raises(ValueError, match="fewer than two distinct rows"):
        difference_noise_variance(np.ones((4, 1)), np.ones(4))


@ignore_our_warnings
def test_weight_in_one_fold_only_leaves_a_model_that_can_still_be_shown():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    weight = np.zeros(200)
    weight[next(iter(ContentKFold(5).split(X, y)))[1]] = 1.0
    model = ncl(10, 5, lam=0.5).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.compact().predict(X), model.predict(X))
    assert "kfold" not in model.path_.curves([0.5])
    with pytest.raises(ValueError, match="could not be"):
        model.predict_interval(X)


def test_groups_are_not_ignored_by_the_function_either():
    with pytest.raises(ValueError, match="GroupKFold"):
        ncl_path(np.eye(6), np.arange(6.0), [0, 3, 6], groups=np.arange(6))


def test_more_folds_than_memory_are_refused_with_a_way_out():
    n = 60_000
    X, y = np.random.default_rng(0).normal(size=(2, n, 1))
    model = ncl(100, 100, cv=LeaveOneGroupOut())
    with pytest.raises(ValueError, match=r"GiB; use fewer folds"):
        model.fit(X, y[:, 0], groups=np.arange(n) // 6000)


def test_targets_whose_squares_vanish_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="squares vanish"):
        ncl(5, 3).fit(X, 1e-170 * X[:, 0])


@pytest.mark.parametrize("basis", ["fourier", "kernel", "linear", "trees"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "power", [-300, -160, -150, -139, -100, -40, -29, 29, 40, 100, 139, 150, 300]
)
def test_targets_of_any_size_give_the_same_answer_or_an_error(power, dtype, basis):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)).astype(dtype)
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    model = ncl(5, 3, basis=basis, criterion="gcv")
    expected = model.fit(X, y).predict(X)
    largest = 30 if dtype == np.float32 else 140
    if abs(power) >= largest:
        with pytest.raises(ValueError, match="rescale y"):
            model.fit(X, 10.0**power * y)
        return
    found = model.fit(X, 10.0**power * y).predict(X)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(np.float64) / 10.0**power, expected, rtol=1e-5)


@pytest.mark.parametrize("basis", ["fourier", "kernel", "linear", "trees"])
@pytest.mark.parametrize("inputs", ["standard", "clip", "rank", "none"])
@pytest.mark.parametrize("power", [-320, -160, -140, -60, -20, 20, 60, 139, 150, 160, 200, 300])
def test_inputs_of_any_size_give_finite_predictions_or_an_error(power, inputs, basis):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    moved = X * 10.0 ** (power / 2) * 10.0 ** (power / 2)
    model = ncl(5, 3, basis=basis, inputs=inputs, lam=0.5)
    in_single = inputs == "none" and basis == "trees"
    if power > 140 or (in_single and power in (-140, -60, -20, 60, 139)):
        with pytest.raises(ValueError, match="rescale"):
            model.fit(moved, X[:, 0])
        return
    if power < -140:  # squares vanish: columns count as constant, or are refused
        with contextlib.suppress(ValueError):
            assert np.isfinite(model.fit(moved, X[:, 0]).predict(moved)).all()
        return
    model.fit(moved, X[:, 0])
    assert np.isfinite(model.predict(moved)).all()
    if inputs != "none":
        found, expected = model.score(moved, X[:, 0]), model.fit(X, X[:, 0]).score(X, X[:, 0])
        assert found == pytest.approx(expected, abs=0.3)


@pytest.mark.parametrize("power", [-100, -40, 40, 100])
def test_predictions_that_single_precision_cannot_hold_are_refused(power):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ncl(5, 3, lam=0.5).fit(X, 10.0**power * X[:, 0])
    assert np.isfinite(model.predict(X)).all()
    for method in (model.predict, model.predict_members, model.predict_interval):
        with pytest.raises(ValueError, match="Give X in double precision"):
            method(X.astype(np.float32))


def test_predictions_that_single_precision_rounds_to_steps_come_with_a_warning():
    """Seconds since 1970 are multiples of 128 in single precision."""
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    y = np.sin(X[:, 0].astype(float))
    model = ncl(5, 3, lam=0.5).fit(X, y + 1.7e9)
    with pytest.warns(PrecisionWarning, match=r"of the target's standard deviation here"):
        model.predict(X)
    inside = model.predict(X.astype(float)) - 1.7e9
    assert np.corrcoef(inside, y)[0, 1] > 0.9
    near = ncl(5, 3, lam=0.5).fit(X, y + 1e4)
    np.testing.assert_allclose(near.predict(X) - 1e4, inside, atol=2e-3)


@pytest.mark.parametrize("basis", ["kernel", "fourier"])
def test_columns_whose_differences_keys_do_not_see_come_with_a_warning(basis):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    far = X + np.array([0.0, 1e9])
    with pytest.warns(PrecisionWarning, match=r"column 1 of X lies between .*Subtract a constant"):
        NCLRegressor(basis).fit(far, y)
    for fine in (X + 1e6, X * 1e9, np.column_stack([X[:, 0], np.full(80, 1e9)])):
        NCLRegressor(basis).fit(fine, y)


def test_an_estimator_with_a_bad_basis_can_still_be_shown():
    assert "NCLRegressor" in repr(NCLRegressor(basis=5))
    assert NCLRegressor(basis=5)._repr_mimebundle_()


def blas_limits():
    return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]


def test_fits_in_threads_equal_fits_in_turn_and_leave_the_limits_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), rng.normal(size=600)

    def fit(seed):
        return ncl(20, 8, random_state=seed).fit(X, y).coef_

    before = blas_limits()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NegcorrWarning)
        in_turn = [fit(seed) for seed in range(6)]
        in_threads = Parallel(3, backend="threading")(delayed(fit)(seed) for seed in range(6))
    assert blas_limits() == before
    for a, b in zip(in_turn, in_threads, strict=True):
        np.testing.assert_array_equal(a, b)


def test_after_a_fit_another_thread_can_still_limit_blas():
    rng = np.random.default_rng(0)
    ncl(5, 3, lam=0.5).fit(rng.normal(size=(60, 2)), rng.normal(size=60))
    seen = []

    def limit():
        with threadpool_limits(1, user_api="blas"):
            seen.extend(blas_limits())

    worker = threading.Thread(target=limit)
    worker.start()
    worker.join()
    assert set(seen) == {1}
