"""The step: from the noise where it can be seen, from the spread where it cannot."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import norm

from negcorr import difference_noise_variance
from negcorr.criteria.noise import neighbour_differences
from negcorr.dof.monte_carlo import step_size as module
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.dof.monte_carlo.step_size import check_steps, choose_step, noise_scale


def ignore(X, y):
    return y


class Weighted:
    """Takes weights, and does nothing with them."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def get_params(self, deep=True):
        return {}


def data(n=60, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    smooth = 10.0 * X[:, 0] if outputs is None else 10.0 * X[:, [0] * outputs]
    return X, smooth + rng.normal(size=smooth.shape)


def refit_of(X, y, weight=None):
    return Refit.of(ignore if weight is None else Weighted(), X, y, weight)


# ---------------------------------------------------------------------------------------
# The choice
# ---------------------------------------------------------------------------------------


def noise_by_hand(X, y):
    """Median distance of a target from that of the nearest row, in units of Gaussian noise."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    apart = np.linalg.norm(scaled[:, None] - scaled[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    differences = np.abs(y - y[apart.argmin(axis=1)])
    return np.median(differences) / (np.sqrt(2.0) * norm.ppf(0.75))


@pytest.mark.parametrize("n", [10, 60, 300])
def test_step_is_twice_the_noise_over_a_power_of_n(n):
    X, y = data(n)
    sigma = noise_by_hand(X, y)
    assert_allclose(choose_step("auto", refit_of(X, y)), [2.0 * sigma / n**0.3], rtol=1e-4)
    assert sigma < y.std()


def test_noise_is_that_of_a_smooth_function_and_no_outlier_moves_it():
    X, y = data(1500)
    assert_allclose(noise_scale(refit_of(X, y)), 1.0, rtol=0.15)
    y[:3] += 1e4
    assert_allclose(noise_scale(refit_of(X, y)), 1.0, rtol=0.15)


def test_step_follows_the_units_of_each_output():
    X, y = data(outputs=3)
    plain = choose_step("auto", refit_of(X, y))
    scaled = choose_step("auto", refit_of(X, y * [10.0, 1.0, 1e-6] + [0.0, 5.0, 0.0]))
    assert plain.shape == (3,)
    assert_allclose(scaled, plain * [10.0, 1.0, 1e-6], rtol=1e-9)


def test_step_does_not_depend_on_the_kind_of_table():
    X, y = data()
    wanted = choose_step("auto", refit_of(X, y))
    columns = {"a": X[:, 0], "b": X[:, 1]}
    sparse = [sp.csr_array(X), sp.coo_array(X), sp.bsr_array(X)]
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), X.tolist(), *sparse):
        assert_allclose(choose_step("auto", refit_of(table, y)), wanted)


@pytest.mark.parametrize(
    "table",
    [
        lambda X: X[:, 0],
        lambda X: X[:, :, np.newaxis],
        lambda X: [{"a": row[0]} for row in X],
        lambda X: X.astype(object).astype(str).astype(object) + np.array(["a", "b"], object),
    ],
    ids=["1d", "3d", "dicts", "strings"],
)
def test_where_no_neighbours_can_be_found_the_spread_is_used(table):
    X, y = data()
    assert_allclose(noise_scale(refit_of(table(X), y)), [y.std()])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_neighbours_in_data_frames_are_those_of_their_numbers(library):
    X, y = data()
    wanted = noise_scale(refit_of(X, y))
    columns = {"a": X[:, 0], "b": X[:, 1], "unit": ["m"] * len(X)}
    assert_allclose(noise_scale(refit_of(library.DataFrame(columns), y)), wanted)
    kinds = np.where(y > np.median(y), "high", "low")
    nearer = noise_scale(refit_of(library.DataFrame(columns | {"kind": kinds}), y))
    assert 0 < nearer[0] < wanted[0]


@pytest.mark.parametrize(("level", "wanted"), [(5.0, 5e-3), (-2.0, 2e-3), (0.0, 1.0)])
def test_constant_targets_have_a_step_in_their_units(level, wanted):
    X, _ = data()
    assert_allclose(noise_scale(refit_of(X, np.full(60, level))), [wanted])


def test_outputs_without_noise_do_not_change_the_others():
    X, y = data()
    both = np.column_stack([y, np.full(60, 3.0)])
    assert_allclose(noise_scale(refit_of(X, both)), [noise_scale(refit_of(X, y))[0], 3e-3])


def test_noise_is_never_more_than_the_spread():
    # Alternating targets: neighbours differ by more than any two rows on average.
    X, y = np.arange(40.0)[:, np.newaxis], np.tile([0.0, 1.0], 20)
    assert difference_noise_variance(X, y) > y.var()
    assert_allclose(noise_scale(refit_of(X, y)), [y.std()])


def test_targets_without_noise_fall_back_on_their_spread():
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0.0, 0.0], 20)
    y[:20] = 7.0
    # Two clusters of equal rows: the nearest distinct row is the other cluster.
    assert_allclose(noise_scale(refit_of(X, y)), [y.std()])


def test_rows_that_do_not_count_are_not_looked_at():
    X, y = data()
    weight = np.ones(60)
    weight[::2] = 0.0
    wild = np.where(weight == 0, 1e3 * y, y)
    wanted = noise_by_hand(X[1::2], y[1::2])
    assert_allclose(noise_scale(refit_of(X, wild, weight)), [wanted], rtol=1e-4)
    table = pd.DataFrame({"name": ["red"] * 60})
    assert_allclose(noise_scale(refit_of(table, wild, weight)), [y[1::2].std()])


def test_integer_weights_are_repeated_rows():
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    weighted = noise_scale(refit_of(X, y, weight))
    assert_allclose(weighted, noise_scale(refit_of(X[copies], y[copies])))


def test_of_many_rows_some_are_looked_at(monkeypatch):
    X, y = data(2000)
    whole = noise_scale(refit_of(X, y))
    monkeypatch.setattr(module, "MOST_NEIGHBOUR_ROWS", 500)
    seen = []

    def spy(rows, *rest):
        seen.append(len(rows))
        return neighbour_differences(rows, *rest)

    monkeypatch.setattr(module, "neighbour_differences", spy)
    some = noise_scale(refit_of(X, y))
    assert seen == [500]
    assert_allclose(some, whole, rtol=0.2)
    assert_allclose(some, noise_scale(refit_of(X, y)), rtol=0.0)


# ---------------------------------------------------------------------------------------
# Steps that are given
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("eps", "wanted"),
    [
        (0.5, [0.5, 0.5]),
        (1, [1.0, 1.0]),
        (np.float32(0.25), [0.25, 0.25]),
        ([0.1, 2.0], [0.1, 2.0]),
        ((0.1, 2), [0.1, 2.0]),
        (np.array(0.3), [0.3, 0.3]),
        (np.array([0.3, 0.4]), [0.3, 0.4]),
    ],
)
def test_numbers_are_taken_as_they_are(eps, wanted):
    found = choose_step(eps, refit_of(*data(outputs=2)))
    assert found.dtype == np.float64
    assert_allclose(found, wanted)


@pytest.mark.parametrize(
    ("eps", "error", "message"),
    [
        (0.0, ValueError, "eps=0.0 must be greater than 0 and finite"),
        (-1.0, ValueError, "eps=-1.0 must be greater"),
        (np.nan, ValueError, "eps=nan must be greater"),
        (np.inf, ValueError, "eps=inf must be greater"),
        ([0.1, 0.0], ValueError, r"eps=\[0.1, 0.0\] must be greater"),
        ([0.1, 0.2, 0.3], ValueError, "one number or one for each of 2 output"),
        ([0.1], ValueError, "one number or one for each of 2 output"),
        ([[0.1, 0.2]], ValueError, "one number or one for each"),
        ("small", ValueError, "eps='small' is unknown; allowed are 'auto' and positive"),
        (None, TypeError, "eps=None must be 'auto' or positive"),
        (True, TypeError, "eps=True must be"),
        (1j, TypeError, "eps=1j must be"),
    ],
)
def test_bad_steps_are_refused(eps, error, message):
    with pytest.raises(error, match=message):
        choose_step(eps, refit_of(*data(outputs=2)))


@pytest.mark.parametrize("eps", [1e-6, [1.0, 1e-6]])
def test_steps_that_targets_cannot_resolve_are_refused(eps):
    X, y = data(outputs=2)
    assert choose_step(eps, refit_of(X, y)).shape == (2,)
    with pytest.raises(ValueError, match=r"too small for targets as large as 1e\+09"):
        choose_step(eps, refit_of(X, np.clip(y + 1e9, None, 1e9)))


# ---------------------------------------------------------------------------------------
# The check by a second step
# ---------------------------------------------------------------------------------------

EXACT = np.zeros(1)
HALF = np.array([0.05])


def column(*values):
    return np.array(values, dtype=float)[:, np.newaxis]


def checked(probes, second, error=None, rounding=EXACT, eps=HALF):
    """The check, with the standard error of the mean of all probes unless it is given."""
    if error is None:
        error = probes.std(axis=0, ddof=1) / np.sqrt(len(probes))
    return check_steps(probes, second, np.atleast_1d(error), rounding, eps)


def test_equal_values_agree():
    values = column(3.0, 5.0, 4.0, 6.0, 9.0)
    check = checked(values, values[:3])
    assert check.agree
    assert (float(check.difference[0]), float(check.std_error[0])) == (0.0, 0.0)
    assert (float(check.eps[0]), float(check.dof[0]), check.n_probes) == (0.05, 4.0, 3)


def test_difference_is_first_minus_second_with_its_error():
    values, second = column(3.0, 5.0, 4.0), column(2.9, 5.1, 3.7)
    check = checked(values, second)
    assert check.difference[0] == pytest.approx(0.1)
    assert check.std_error[0] == pytest.approx(np.std([0.1, -0.1, 0.3], ddof=1) / np.sqrt(3))
    assert check.dof[0] == pytest.approx(second.mean())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_difference_of_more_than_two_standard_errors_is_too_much(sign):
    values = column(3.0, 5.0, 4.0, 6.0, 9.0)
    # The mean of four of five probes is that much less certain.
    twice = 2.0 * 0.5 * np.sqrt(5.0 / 4.0)
    for share, agree in ((0.95, True), (1.05, False)):
        assert checked(values, values[:4] + sign * share * twice, error=0.5).agree == agree


@pytest.mark.parametrize(("size", "agree"), [(0.9, True), (1.1, False)])
def test_values_that_jump_disagree_although_their_means_do_not(size, agree):
    values = np.random.default_rng(0).normal(size=(8, 1))
    jumps = size * values.std(ddof=1) * column(1, -1, 1, -1)
    check = checked(values, values[:4] + jumps)
    assert_allclose(check.difference, 0.0, atol=1e-15)
    assert check.agree == agree


def test_rounding_is_no_difference():
    values = np.full((6, 1), 40.0)
    moved = values[:4] + 1e-7 * column(1, -1, 1, 1)
    assert checked(values, moved, rounding=np.array([1e-7])).agree
    # Without a spread between probes a few percent pass, and no more.
    for share, agree in ((0.019, True), (0.021, False)):
        assert checked(values, (1.0 + share) * values[:4]).agree == agree
    alternate = 1.0 + column(1, -1, 1, -1) * 0.1
    assert checked(values, values[:4] * (0.99 * (alternate - 1.0) + 1.0)).agree
    assert not checked(values, values[:4] * (1.01 * (alternate - 1.0) + 1.0)).agree


def test_one_output_that_differs_is_enough():
    values = np.random.default_rng(0).normal(size=(8, 2))
    second = values[:4] + np.array([0.0, 5.0])
    check = checked(values, second, error=[0.4, 0.4], eps=np.array([0.1, 0.2]))
    assert not check.agree
    assert_allclose(check.difference, [0.0, -5.0], atol=1e-15)
    assert_allclose(check.eps, [0.1, 0.2])
    assert checked(values[:, :1], second[:, :1], error=0.4).agree


def test_one_probe_is_compared_with_its_size():
    same = checked(column(4.0), column(4.0), error=np.nan)
    assert same.agree
    assert np.isnan(same.std_error).all()
    assert checked(column(4.0), column(4.1), error=np.nan).agree
    assert not checked(column(4.0), column(9.0), error=np.nan).agree
