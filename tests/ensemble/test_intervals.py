"""Intervals from held-out residuals: ranks as in conformal prediction."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit

from negcorr.bases import FourierFeatures
from negcorr.criteria import kfold
from negcorr.criteria.kfold import HeldOutPredictions, KeptRows
from negcorr.ensemble.intervals import Residuals
from negcorr.exceptions import CalibrationWarning
from negcorr.path.tune import PathSettings, build_path
from negcorr.rows.folds import Folds, make_folds
from negcorr.rows.keys import content_hash
from negcorr.rows.rows import Rows

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)


def residuals(values, weight=None):
    values = np.asarray(values, dtype=float)
    values = values.reshape(len(values), -1)
    return Residuals(values, np.ones(len(values)) if weight is None else np.asarray(weight, float))


def shuffled(n, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(1.0, n + 1))


# With residuals 1 … n the k-th smallest is k and the k-th largest n + 1 − k, and
# k is the whole part of (1 − coverage)/2 · (n + 1).
@pytest.mark.parametrize(
    ("n", "coverage", "lower", "upper"),
    [
        (99, 0.9, 5, 95),
        (99, 0.95, 2, 98),
        (100, 0.9, 5, 96),
        (39, 0.95, 1, 39),
        (40, 0.95, 1, 40),
        (79, 0.95, 2, 78),
        (78, 0.95, 1, 78),
        (999, 0.8, 100, 900),
        (3, 0.5, 1, 3),
        (101, 0.001, 50, 52),
        (4, 0.2, 2, 3),
    ],
)
def test_ranks_count_the_new_observation(n, coverage, lower, upper):
    found = residuals(shuffled(n)).quantiles(coverage)
    np.testing.assert_array_equal(found, [[lower], [upper]])


@repeatable
@given(
    st.integers(1, 400),
    st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]),
)
def test_coverage_of_exchangeable_residuals_is_at_least_what_was_asked(n, coverage):
    assume((1 - coverage) / 2 * (n + 1) > 1 - 1e-9)  # with fewer it warns
    (lower,), (upper,) = residuals(shuffled(n)).quantiles(coverage)
    # A new one falls into each of the n + 1 spaces between residuals with equal probability.
    exact = (upper - lower) / (n + 1)
    assert coverage - 1e-9 <= exact < coverage + 2 / (n + 1)


@repeatable
@given(
    hnp.arrays(np.float64, st.integers(40, 60), elements=st.integers(-9, 9).map(float)),
    st.data(),
)
def test_integer_weights_equal_repeated_residuals(values, data):
    weight = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(1, 4)))
    for coverage in (0.5, 0.8, 0.95):
        np.testing.assert_array_equal(
            residuals(values, weight).quantiles(coverage),
            residuals(np.repeat(values, weight)).quantiles(coverage),
        )


def test_outputs_have_quantiles_of_their_own():
    values = np.column_stack([shuffled(99, 1), 10 * shuffled(99, 2)])
    found = residuals(values).quantiles(0.9)
    np.testing.assert_array_equal(found, [[5, 50], [95, 950]])


def test_order_of_residuals_does_not_matter():
    values, weight = shuffled(60), np.random.default_rng(1).integers(1, 4, 60)
    order = np.random.default_rng(2).permutation(60)
    np.testing.assert_array_equal(
        residuals(values, weight).quantiles(0.8),
        residuals(values[order], weight[order]).quantiles(0.8),
    )


@pytest.mark.parametrize(("n", "coverage"), [(38, 0.95), (1, 0.5), (198, 0.99)])
def test_too_few_residuals_warn_and_span_all_of_them(n, coverage):
    reached = f"{(n - 1) / (n + 1):.1%}"
    with pytest.warns(CalibrationWarning, match=f"coverage={coverage}.* {n} .*{reached}"):
        found = residuals(shuffled(n)).quantiles(coverage)
    np.testing.assert_array_equal(found, [[1], [n]])


@pytest.mark.parametrize(("n", "coverage"), [(39, 0.95), (199, 0.99), (3, 0.5)])
def test_just_enough_residuals_do_not_warn(n, coverage):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        residuals(shuffled(n)).quantiles(coverage)


def test_weights_count_towards_enough():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        residuals(shuffled(20), np.full(20, 2.0)).quantiles(0.95)


def rows(n=50, outputs=1, weight=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sin(X) @ rng.normal(size=(2, outputs)) + 0.3 * rng.normal(size=(n, outputs))
    return Rows(X, y, weight)


def test_rows_are_kept_with_the_split_that_holds_them_out():
    data = rows()
    folds = make_folds(KFold(5), data)
    kept = KeptRows.of(data, folds)
    np.testing.assert_array_equal(kept.rows.X, data.X)
    np.testing.assert_array_equal(kept.rows.y, data.y)
    np.testing.assert_array_equal(kept.split, np.repeat(np.arange(5), 10))


def test_rows_that_several_splits_hold_out_belong_to_the_first():
    data = rows()
    splitter = ShuffleSplit(4, test_size=0.4, random_state=0)
    kept = KeptRows.of(data, make_folds(splitter, data))
    first = {}
    for number, (_, test) in enumerate(splitter.split(data.X)):
        for i in test:
            first.setdefault(int(i), number)
    expected = sorted(first)
    np.testing.assert_array_equal(kept.rows.X, data.X[expected])
    np.testing.assert_array_equal(kept.split, [first[i] for i in expected])


def test_rows_that_no_split_holds_out_are_not_kept():
    data = rows(30)
    kept = KeptRows.of(data, make_folds(TimeSeriesSplit(4), data))
    np.testing.assert_array_equal(kept.rows.X, data.X[6:])
    np.testing.assert_array_equal(kept.split, np.repeat(np.arange(4), 6))


def test_no_more_rows_are_kept_than_allowed(monkeypatch):
    monkeypatch.setattr(kfold, "MOST_KEPT_ROWS", 12)
    data = rows(weight=np.arange(50.0))
    kept = KeptRows.of(data, make_folds(KFold(5, shuffle=True, random_state=0), data))
    # Rows of weight 0 do not count; of the others a hash of (x, y) chooses, not their order.
    chosen = np.sort(1 + np.argsort(content_hash(data.X, data.y)[1:])[:12])
    np.testing.assert_array_equal(kept.rows.X, data.X[chosen])
    np.testing.assert_array_equal(kept.rows.weight, chosen.astype(float))
    assert len(kept.split) == 12


def test_without_folds_nothing_is_kept():
    assert KeptRows.of(rows(), Folds.none(50)) is None


def least_squares(features, y, weight, starts, gap):
    """β and intercept of Theorem 4 by its own formula, with centred features and target."""
    share = weight / weight.sum()
    mean, level = share @ features, share @ y
    centred = features - mean
    gram = centred.T @ (share[:, np.newaxis] * centred)
    diagonal = np.zeros_like(gram)
    for a, b in itertools.pairwise(starts):
        diagonal[a:b, a:b] = gram[a:b, a:b]
    m = len(starts) - 1
    coef = np.linalg.solve(
        m * gap * diagonal + (1 - gap) * gram, centred.T @ (share[:, np.newaxis] * (y - level))
    )
    return coef, level - mean @ coef


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_are_those_of_refits_without_the_rows_fold(weighted):
    weight = np.random.default_rng(3).integers(0, 4, 60).astype(float) if weighted else None
    data = rows(60, outputs=2, weight=weight)
    basis = FourierFeatures(3, 2, gamma=0.5, random_state=0, inputs="none").fit(data.X)
    folds = make_folds(KFold(4), data)
    gap = np.array([0.3, 0.01])
    path = build_path(data, basis, folds, PathSettings(gap=gap, solver="qr"), False)
    kept, fits = KeptRows.of(data, folds), path.cross_validation
    held_out = HeldOutPredictions.of(kept, fits, basis, path.chosen_gap, np.empty(0))
    found = Residuals(held_out.residuals(path.chosen_gap), held_out.weight)

    features = basis.transform(data.X)
    count = np.ones(60) if weight is None else weight
    expected = np.empty((60, 2))
    for train, test in KFold(4).split(data.X):
        for j in range(2):
            coef, level = least_squares(
                features[train], data.y[train][:, [j]], count[train], basis.block_starts_, gap[j]
            )
            expected[test, j] = data.y[test, j] - (features[test] @ coef + level)[:, 0]
    np.testing.assert_allclose(found.values, expected[count > 0], atol=1e-8)
    np.testing.assert_array_equal(found.weight, count[count > 0])
