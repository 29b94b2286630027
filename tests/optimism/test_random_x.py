"""Random-X degrees of freedom: against weights from refits, theory, and real inputs."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import ncl
from reference import literal_random_x, refitted
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toy_regressors import CountedPieces, MyRidge

from negcorr import (
    ContentKFold,
    difference_noise_variance,
    monte_carlo_dof,
    random_x_dof,
)
from negcorr.optimism.random_x import RandomXDof, matched_dof

DATA = Path(os.environ.get("NEGCORR_DATA", Path(__file__).parents[2] / "shared" / "data"))

KNOWN = {
    "least squares": LinearRegression(),
    "ridge": Ridge(alpha=2.0),
    "kernel ridge": KernelRidge(alpha=0.4, kernel="rbf", gamma=0.2),
    "ncl": ncl(4, 3, gap=1e-2),
    "mean": DummyRegressor(),
    "neighbours": KNeighborsRegressor(3),
    "pipeline": make_pipeline(StandardScaler(), Ridge(alpha=2.0)),
}
WEIGHTED = ["least squares", "ridge", "kernel ridge", "ncl", "mean"]


def data(outputs=None, n=20, m=9, seed=0):
    """Training rows and targets, new rows and targets."""
    rng = np.random.default_rng(seed)
    X, X_new = rng.normal(size=(n, 3)), 1.5 * rng.normal(size=(m, 3))
    shape = [(n,), (m,)] if outputs is None else [(n, outputs), (m, outputs)]
    return X, rng.normal(size=shape[0]) + 1.0, X_new, rng.normal(size=shape[1]) + 1.0


def optimism(k, n):
    """Random-X optimism of least squares with k of n features, over σ²."""
    return k / n + k / (n - k)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


# ---------------------------------------------------------------------------------------
# The map between optimism and features
# ---------------------------------------------------------------------------------------


@given(share=st.floats(0.0, 0.999), n=st.floats(2.0, 1e6))
def test_matched_dof_inverts_the_optimism_of_least_squares(share, n):
    found = matched_dof(optimism(share * n, n), n)
    assert found == pytest.approx(share * n, abs=1e-9 * n)


@given(
    first=st.floats(-50.0, 1e9),
    step=st.floats(1e-6, 1e3),
    n=st.floats(2.0, 1e6),
)
def test_matched_dof_grows_with_optimism(first, step, n):
    low, high = matched_dof([first, first + step], n)
    assert low <= high <= n
    if first < 1e3 and step > 1e-3:
        assert low < high


@given(n=st.floats(2.0, 1e6))
def test_limits_of_matched_dof(n):
    assert matched_dof(0.0, n) == 0.0
    assert matched_dof(np.inf, n) == n
    assert matched_dof(1e300, n) == n
    # Little optimism is 2k/n, as at fixed inputs; a lot is n/(n − k).
    assert matched_dof(2e-6, n) == pytest.approx(1e-6 * n, rel=1e-5)
    assert n - matched_dof(1e6, n) == pytest.approx(1e-6 * n, rel=1e-5)
    assert matched_dof(-0.1, n) < 0.0


def test_matched_dof_of_arrays():
    found = matched_dof([[0.0, optimism(3.0, 10.0)], [optimism(5.0, 10.0), np.inf]], 10)
    close(found, [[0.0, 3.0], [5.0, 10.0]])


# ---------------------------------------------------------------------------------------
# The exact route
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("outputs", [None, 2])
def test_exact_numbers_follow_from_weights_found_by_refits(name, outputs):
    X, y, X_new, _ = data(outputs)
    found = random_x_dof(KNOWN[name], X, y, X_new=X_new)
    trace, excess, predictive = literal_random_x(KNOWN[name], X, y, X_new)
    assert found.method == "exact"
    assert np.shape(found.intrinsic) == (() if outputs is None else (2,))
    close(found.fixed_x, trace if outputs else trace[0])
    close(found.excess_variance, excess if outputs else excess[0])
    close(found.predictive, predictive if outputs else predictive[0])
    # n·o/2 is what Luan, Lee and Zhu report.
    close(optimism(found.intrinsic, 20), 2.0 * found.predictive / 20)
    assert found.emergent is None
    assert (found.n_samples, found.n_new) == (20.0, 9)


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("folds", [False, True])
def test_exact_numbers_have_no_standard_error(outputs, folds):
    X, y, X_new, _ = data(outputs)
    found = random_x_dof(Ridge(), X, y, **({"cv": 3} if folds else {"X_new": X_new}))
    assert np.shape(found.std_error) == np.shape(found.intrinsic)
    assert (np.asarray(found.std_error) == 0.0).all()


def test_each_output_may_have_its_own_penalty():
    X, y, X_new, _ = data(outputs=2)
    both = random_x_dof(Ridge(alpha=[0.1, 30.0]), X, y, X_new=X_new)
    alone = [
        random_x_dof(Ridge(alpha), X, target, X_new=X_new)
        for alpha, target in zip((0.1, 30.0), y.T, strict=True)
    ]
    for number in ("fixed_x", "intrinsic", "predictive", "excess_variance"):
        close(getattr(both, number), [getattr(one, number) for one in alone])
    assert both.intrinsic[0] > 1.5 * both.intrinsic[1]


@pytest.mark.parametrize("name", WEIGHTED)
def test_exact_numbers_with_weights(name):
    X, y, X_new, _ = data(seed=1)
    weight = np.random.default_rng(2).uniform(0.3, 2.0, 20)
    weight[[2, 11]] = 0.0
    found = random_x_dof(KNOWN[name], X, y, X_new=X_new, sample_weight=weight)
    trace, excess, predictive = literal_random_x(KNOWN[name], X, y, X_new, weight)
    close([found.fixed_x, found.excess_variance], [trace[0], excess[0]])
    close(found.predictive, predictive[0])
    assert found.n_samples == pytest.approx(weight.sum())


@pytest.mark.parametrize("name", WEIGHTED)
def test_integer_weights_equal_repeated_rows(name):
    X, y, X_new, y_new = data(seed=3)
    weight = np.random.default_rng(4).integers(0, 4, 20)
    copies = np.repeat(np.arange(20), weight)
    settings = {"X_new": X_new, "y_new": y_new, "noise_variance": 0.7}
    weighted = random_x_dof(KNOWN[name], X, y, sample_weight=weight, **settings)
    repeated = random_x_dof(KNOWN[name], X[copies], y[copies], **settings)
    for number in ("fixed_x", "intrinsic", "predictive", "emergent", "excess_variance"):
        close(getattr(weighted, number), getattr(repeated, number))
    assert weighted.n_samples == repeated.n_samples == len(copies)


FOLDS = {
    "splitter": (KFold(4, shuffle=True, random_state=0),) * 2,
    "number": (4, ContentKFold(4)),
    "pairs": (list(KFold(3).split(np.zeros((20, 1)))), KFold(3)),
}


@pytest.mark.parametrize("folds", FOLDS)
@pytest.mark.parametrize("name", ["ridge", "kernel ridge", "ncl"])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_new_rows_numbers_are_means_over_folds(name, folds, weighted):
    X, y, _, _ = data()
    weight = np.random.default_rng(5).uniform(0.5, 2.0, 20) if weighted else None
    given_folds, splitter = FOLDS[folds]
    found = random_x_dof(
        KNOWN[name], X, y, cv=given_folds, sample_weight=weight, noise_variance=0.7
    )
    wanted = []
    for train, test in splitter.split(X, y):
        w, w_new = (None, None) if weight is None else (weight[train], weight[test])
        numbers = literal_random_x(KNOWN[name], X[train], y[train], X[test], w, w_new)
        trace, excess, predictive = (number[0] for number in numbers)
        n = len(train) if w is None else w.sum()
        model = refitted(KNOWN[name], X[train], y[train], w)
        errors = [
            np.average((y[rows] - model.predict(X[rows])) ** 2, weights=of_rows)
            for rows, of_rows in ((test, w_new), (train, w))
        ]
        emergent = matched_dof((errors[0] - errors[1]) / 0.7, n)
        intrinsic = matched_dof(2.0 * predictive / n, n)
        wanted.append([trace, intrinsic, predictive, emergent, excess, n])
    numbers = [found.fixed_x, found.intrinsic, found.predictive, found.emergent]
    close([*numbers, found.excess_variance, found.n_samples], np.mean(wanted, axis=0))
    assert found.n_new == 20


def test_new_rows_that_are_the_training_rows_leave_fixed_x():
    X, y, _, _ = data()
    for estimator in KNOWN.values():
        found = random_x_dof(estimator, X, y, X_new=X)
        assert abs(found.excess_variance) < 1e-12
        assert found.predictive == pytest.approx(found.fixed_x, rel=1e-10)
        assert found.intrinsic < found.fixed_x


@pytest.mark.parametrize("name", ["least squares", "ridge", "ncl"])
def test_inputs_further_out_give_larger_numbers(name):
    X, y, X_new, _ = data(n=40, m=200)
    numbers = [
        random_x_dof(KNOWN[name], X, y, X_new=scale * X_new) for scale in (0.0, 0.5, 1.0, 2.0, 4.0)
    ]
    # Features of an ensemble are waves: they do not grow for ever.
    numbers = numbers[:4] if name == "ncl" else numbers
    for of in ("predictive", "intrinsic", "excess_variance"):
        values = [getattr(number, of) for number in numbers]
        assert (np.diff(values) > 0).all()
    assert len({number.fixed_x for number in numbers}) == 1


def test_a_mean_is_not_worse_at_new_inputs():
    X, y, X_new, _ = data()
    found = random_x_dof(DummyRegressor(), X, y, X_new=1e6 * X_new)
    assert found.excess_variance == pytest.approx(0.0, abs=1e-15)
    assert found.predictive == found.fixed_x == 1.0


def test_least_squares_on_gaussian_inputs_has_as_many_as_it_has_features():
    rng = np.random.default_rng(0)
    n, k, found = 80, 16, []
    for _ in range(40):
        X, X_new = rng.normal(size=(n, k)), rng.normal(size=(2000, k))
        model = LinearRegression(fit_intercept=False)
        found.append(random_x_dof(model, X, np.zeros(n), X_new=X_new))
    assert all(number.fixed_x == k for number in found)
    # E‖h*‖² is k/(n − k − 1), by the mean of an inverse Wishart matrix.
    optimisms = [2.0 * number.predictive / n for number in found]
    error = np.std(optimisms) / np.sqrt(40)
    assert abs(np.mean(optimisms) - (k / n + k / (n - k - 1))) < 4 * error
    assert 4 * error < 0.01
    # Least squares matches itself, but for that one.
    assert np.mean([number.intrinsic for number in found]) == pytest.approx(k, abs=0.4)


# ---------------------------------------------------------------------------------------
# The Monte-Carlo route
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folds", [False, True])
def test_probes_agree_with_the_closed_form(outputs, weighted, folds):
    X, y, X_new, y_new = data(outputs)
    weight = np.arange(20) % 4 if weighted else None
    settings = {"cv": KFold(2)} if folds else {"X_new": X_new, "y_new": y_new}
    settings |= {"sample_weight": weight, "noise_variance": 0.7}
    exact = random_x_dof(Ridge(2.0), X, y, **settings)
    found = random_x_dof(MyRidge(2.0), X, y, n_probes=150, random_state=0, **settings)
    assert (exact.method, found.method) == ("exact", "monte-carlo")
    assert np.shape(found.intrinsic) == np.shape(found.std_error) == np.shape(exact.intrinsic)
    error = np.asarray(found.std_error)
    assert (np.abs(found.intrinsic - exact.intrinsic) < 4 * error).all()
    assert (error < 0.1 * np.asarray(exact.intrinsic)).all()
    # n·o/2 has an error of its own, that of o times n/2; here less than twice as large.
    assert (np.abs(found.predictive - exact.predictive) < 8 * error).all()
    assert (np.abs(found.fixed_x - exact.fixed_x) < 1.0).all()
    close(found.emergent, exact.emergent)
    assert (found.n_samples, found.n_new) == (exact.n_samples, exact.n_new)


@pytest.mark.parametrize("folds", [False, True])
def test_std_error_is_the_spread_between_runs(folds):
    X, y, X_new, _ = data()
    settings = {"cv": KFold(5), "n_probes": 6} if folds else {"X_new": X_new, "n_probes": 12}
    runs = [random_x_dof(MyRidge(2.0), X, y, random_state=s, **settings) for s in range(40)]
    claimed = np.sqrt(np.mean([run.std_error**2 for run in runs]))
    seen = np.std([run.intrinsic for run in runs], ddof=1)
    assert 0.7 < claimed / seen < 1.4


def test_fixed_x_of_probes_is_that_of_monte_carlo_dof():
    X, y, X_new, _ = data()
    found = random_x_dof(Lasso(0.05), X, y, X_new=X_new, n_probes=60, random_state=0)
    plain = monte_carlo_dof(Lasso(0.05), X, y, n_probes=60, random_state=1)
    assert abs(found.fixed_x - plain.dof) < 6 * plain.std_error
    assert found.predictive > found.fixed_x


def test_one_probe_has_no_standard_error():
    X, y, X_new, _ = data()
    assert np.isnan(random_x_dof(MyRidge(), X, y, X_new=X_new, n_probes=1).std_error)


def test_step_does_not_matter_to_a_linear_fit():
    X, y, X_new, _ = data()
    first, second = (
        random_x_dof(MyRidge(), X, y, X_new=X_new, eps=eps, random_state=0) for eps in (0.01, 10.0)
    )
    assert first.intrinsic == pytest.approx(second.intrinsic, rel=1e-7)


@pytest.mark.parametrize(
    "estimator",
    [
        MyRidge(),
        ncl(4, 3, gap=1e-2, random_state=None),
        ncl(4, 3, criterion="gcv", random_state=None),
    ],
)
def test_random_state_makes_runs_equal(estimator):
    X, y, X_new, _ = data()
    first, again, other = (
        random_x_dof(estimator, X, y, X_new=X_new, n_probes=2, random_state=state)
        for state in (0, np.random.RandomState(0), 1)
    )
    assert (first.intrinsic, first.fixed_x) == (again.intrinsic, again.fixed_x)
    assert abs(first.intrinsic - other.intrinsic) > 1e-6
    assert not [key for key in vars(estimator) if key.endswith("_") and key[0] != "_"]


@pytest.mark.parametrize("folds", [1, 3])
def test_progress_is_told_of_every_fit(folds):
    pytest.importorskip("sklearn.callback")
    X, y, X_new, _ = data()
    ticks = CountedPieces()
    settings = {"X_new": X_new} if folds == 1 else {"cv": folds}
    random_x_dof(MyRidge(), X, y, n_probes=4, progress=ticks, **settings)
    assert ticks.done == ticks.total == folds * 9


# ---------------------------------------------------------------------------------------
# Emergent degrees of freedom
# ---------------------------------------------------------------------------------------


def test_emergent_is_intrinsic_on_average_where_targets_are_noise():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(30, 3)), 1.5 * rng.normal(size=(200, 3))
    gains = []
    for _ in range(300):
        y, y_new = 0.8 * rng.normal(size=30), 0.8 * rng.normal(size=200)
        found = random_x_dof(Ridge(2.0), X, y, X_new=X_new, y_new=y_new, noise_variance=0.64)
        gains.append(optimism(found.emergent, 30))
    error = np.std(gains) / np.sqrt(300)
    assert abs(np.mean(gains) - optimism(found.intrinsic, 30)) < 4 * error
    assert 4 * error < 0.25 * optimism(found.intrinsic, 30)


def test_emergent_counts_bias():
    rng = np.random.default_rng(1)
    X, X_new = rng.normal(size=(60, 2)), rng.normal(size=(500, 2)) + 1.0
    y, y_new = (4.0 * x[:, 0] ** 2 + 0.1 * rng.normal(size=len(x)) for x in (X, X_new))
    found = random_x_dof(Ridge(), X, y, X_new=X_new, y_new=y_new, noise_variance=0.01)
    assert found.emergent > 5 * found.intrinsic
    assert found.emergent < 60


def test_noise_of_neighbours_for_emergent():
    X, y, X_new, y_new = data()
    settings = {"X_new": X_new, "y_new": y_new}
    named = random_x_dof(Ridge(), X, y, noise_variance="difference", **settings)
    noise = difference_noise_variance(X, y)
    close(named.emergent, random_x_dof(Ridge(), X, y, noise_variance=noise, **settings).emergent)
    with pytest.raises(ValueError, match="y_new is for emergent, which needs noise_variance"):
        random_x_dof(Ridge(), X, y, **settings)
    assert random_x_dof(Ridge(), X, y, X_new=X_new, noise_variance=1.0).emergent is None
    assert random_x_dof(Ridge(), X, y, noise_variance=1.0).emergent is not None


# ---------------------------------------------------------------------------------------
# Real inputs
# ---------------------------------------------------------------------------------------


def some_to_train(name, n=1500):
    """Rows of a data set in random order: some to train, all others new."""
    entries = json.loads((DATA / "datasets.json").read_text())
    entry = next(entry for entry in entries if entry["name"] == name)
    frame = pd.read_csv(DATA / entry["file"])
    rows = np.random.default_rng(0).permutation(len(frame))
    y = frame[entry["targets"][0]].to_numpy(dtype=float)[rows]
    X = frame.drop(columns=entry["targets"]).to_numpy(dtype=float)[rows]
    return X[:n], y[:n], X[n:]


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the data sets are not at {DATA}")
def test_inputs_with_outliers_part_the_two_kinds_of_dof():
    flexible, careful = (ncl(50, 10, gap=g) for g in (1e-6, 1e-2))
    wild, tame = some_to_train("california"), some_to_train("kinematics")

    def inflation(model, rows):
        X, y, X_new = rows
        found = random_x_dof(model, X, y, X_new=X_new)
        assert found.method == "exact"
        return found.predictive / found.fixed_x

    # Other rows to train on give 9 to 23 here, and 1.3 to 1.5 there.
    assert inflation(flexible, wild) > 5.0
    assert inflation(flexible, tame) < 2.0
    for rows in (wild, tame):
        assert inflation(careful, rows) == pytest.approx(1.0, abs=0.1)


# ---------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_probes": 0}, ValueError, "n_probes=0 must be at least 1"),
        ({"n_probes": 2.5}, TypeError, "n_probes=2.5 must be an integer"),
        ({"X_new": None}, ValueError, "y_new was given without X_new"),
        ({"y_new": np.zeros((9, 2))}, ValueError, r"y_new has 2 output\(s\), y has 1"),
        ({"y_new": np.zeros(8)}, ValueError, "inconsistent"),
        ({"y_new": np.full(9, np.nan)}, ValueError, "y_new contains NaN"),
        ({"X_new": np.zeros((9, 2)), "y_new": None}, ValueError, "features"),
        ({"noise_variance": 0.0}, ValueError, "noise_variance=0.0 must be greater than 0"),
        ({"noise_variance": -1.0}, ValueError, "noise_variance=-1.0"),
        ({"noise_variance": "paper"}, ValueError, "noise_variance='paper' is unknown"),
        ({"noise_variance": [1.0, 1.0]}, ValueError, r"noise_variance=\[1.0, 1.0\]"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_bad_arguments_are_named(settings, error, message):
    X, y, X_new, y_new = data()
    with pytest.raises(error, match=message):
        random_x_dof(Ridge(), X, y, **{"X_new": X_new, "y_new": y_new} | settings)


@pytest.mark.parametrize("eps", [0.0, -1.0, "small", [0.1, 0.1]])
def test_bad_steps_are_named(eps):
    X, y, X_new, _ = data()
    with pytest.raises(ValueError, match="eps="):
        random_x_dof(MyRidge(), X, y, X_new=X_new, eps=eps)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (lambda X, y: y, "a callable cannot predict at new X"),
        (LogisticRegression(), "is a classifier"),
        (Ridge, "is a class"),
        (None, "must be a regressor"),
    ],
    ids=["callable", "classifier", "class", "none"],
)
def test_what_cannot_predict_at_new_rows_is_refused(estimator, message):
    X, y, X_new, _ = data()
    with pytest.raises(TypeError, match=message):
        random_x_dof(estimator, X, y, X_new=X_new)


@pytest.mark.parametrize("cv", [1, 0, KFold(21)])
def test_folds_must_be_possible(cv):
    X, y, _, _ = data()
    with pytest.raises(ValueError, match=r"n_splits"):
        random_x_dof(Ridge(), X, y, cv=cv)


def test_results_say_what_they_are():
    found = RandomXDof(3.0, 3.5, 4.25, None, 0.1, 0.0, "exact", 20.0, 9)
    assert repr(found) == (
        "RandomXDof(fixed_x=3, intrinsic=3.5, predictive=4.25, n_samples=20, method='exact')"
    )
    pair = np.array([1.0, 2.0])
    found = RandomXDof(pair, pair, pair, pair, pair, pair, "monte-carlo", 20.0, 9)
    assert "emergent=[1, 2], n_samples=20, method='monte-carlo'" in repr(found)


def test_tables_of_other_kinds():
    X, y, X_new, y_new = data()
    names = ["a", "b", "c"]
    wanted = random_x_dof(Ridge(), X, y, X_new=X_new, y_new=y_new, noise_variance=1.0)
    frames = [pd.DataFrame(table, columns=names) for table in (X, X_new)]
    settings = {"y_new": pd.Series(y_new), "noise_variance": 1.0}
    found = random_x_dof(Ridge(), frames[0], pd.Series(y), X_new=frames[1], **settings)
    close([found.intrinsic, found.emergent], [wanted.intrinsic, wanted.emergent])
    folded = random_x_dof(Ridge(), frames[0], pd.Series(y), cv=KFold(4))
    close(folded.intrinsic, random_x_dof(Ridge(), X, y, cv=KFold(4)).intrinsic)
