"""The choice of λ against sums by hand."""

import types

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from negcorr.criteria import closed_form as criteria
from negcorr.criteria.noise import difference_noise_variance
from negcorr.deep.settings import CHOICES
from negcorr.deep.sure import lam_table, noise_variance_of
from negcorr.deep.training.perturbed_copies import DofEstimate, PerturbedCopies, draw_probes
from negcorr.exceptions import ChaoticTrainingWarning, NoiseVarianceWarning

N = 40


def grid(error, dof, lams=(0.0, 0.5, 1.0), n_probes=2):
    """What a choice needs of a trained grid."""
    error, dof = (np.array(part, dtype=np.float64) for part in (error, dof))
    error, dof = (part.reshape(len(lams), -1) for part in (error, dof))
    copies = PerturbedCopies(
        torch.tensor(lams), draw_probes(n_probes, N, error.shape[1], 0), eps=0.1
    )
    values = np.repeat(dof[:, None], n_probes, axis=1)
    found = DofEstimate(dof, np.full(dof.shape, 0.3), values)
    return types.SimpleNamespace(copies=copies, train_error=error, dof=found)


def data(outputs=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, np.sin(X[:, :1]) + 0.5 * rng.normal(size=(N, outputs))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("criterion", CHOICES["criterion"])
def test_table_has_the_criteria_of_every_lam_and_the_smallest_sum_is_chosen(criterion, outputs):
    rng = np.random.default_rng(outputs)
    error, dof = rng.uniform(0.2, 1.0, (3, outputs)), rng.uniform(2.0, 15.0, (3, outputs))
    variance = rng.uniform(0.1, 0.6, outputs)
    table = lam_table(grid(error, dof), *data(outputs), variance, criterion)
    scores = np.zeros(3)
    for g in range(3):
        for p in range(outputs):
            left = 1 - dof[g, p] / N
            sure = error[g, p] + variance[p] * (2 * dof[g, p] / N - 1)
            gcv = error[g, p] / left**2
            np.testing.assert_allclose(table.sure[g, p], sure, rtol=1e-12)
            np.testing.assert_allclose(table.gcv[g, p], gcv, rtol=1e-12)
            scores[g] += sure if criterion == "sure" else gcv
    assert table.chosen == scores.tolist().index(min(scores))
    np.testing.assert_allclose(table.sure, criteria.sure(error, dof, N, variance))
    np.testing.assert_allclose(table.gcv, criteria.gcv(error, dof, N))
    assert table.lam.tolist() == [0.0, 0.5, 1.0]
    for name, value in (("train_error", error), ("dof", dof), ("noise_variance", variance)):
        assert (getattr(table, name) == value).all()
    assert (table.dof_std_error == 0.3).all()


def test_criteria_choose_each_its_own():
    # 0.5 + 0.2 (2·4/40 − 1) < 0.42 + 0.2 (2·10/40 − 1), and 0.5 / 0.9² < 0.42 / 0.75².
    fit = grid([0.9, 0.5, 0.42], [1.0, 4.0, 10.0])
    assert lam_table(fit, *data(), np.array([0.2])).chosen == 2
    assert lam_table(fit, *data(), np.array([2.0])).chosen == 1
    assert lam_table(fit, *data(), np.array([0.2]), "gcv").chosen == 1


@pytest.mark.parametrize("criterion", CHOICES["criterion"])
@pytest.mark.parametrize("lost", ["error", "dof"])
def test_a_lam_without_error_or_degrees_of_freedom_is_not_chosen(criterion, lost):
    error, dof = [0.1, 0.5, 0.4], [1.0, 4.0, 5.0]
    (error if lost == "error" else dof)[0] = np.nan
    table = lam_table(grid(error, dof), *data(), np.array([0.2]), criterion)
    assert table.chosen == 2


def test_a_lam_that_diverged_is_not_chosen_where_all_others_interpolate():
    # Generalised cross-validation is infinite everywhere.
    table = lam_table(grid([np.nan, 0.5, 0.4], [np.nan, 40.0, 40.5]), *data(), [0.2], "gcv")
    assert np.isinf(table.gcv).all()
    assert table.chosen == 1


@pytest.mark.parametrize("criterion", CHOICES["criterion"])
def test_no_lam_with_degrees_of_freedom_is_an_error(criterion):
    with pytest.raises(ValueError, match="no λ has degrees of freedom between 0 and the number"):
        lam_table(grid([0.1, 0.5, 0.4], [np.nan] * 3), *data(), None, criterion)


@pytest.mark.parametrize("impossible", [-0.7, -30.0, N + 0.7, 1e6])
@pytest.mark.parametrize("criterion", CHOICES["criterion"])
def test_degrees_of_freedom_that_no_fit_has_are_told_and_not_chosen(criterion, impossible):
    # The lowest error, and by SURE the lowest risk of all where degrees of freedom are negative.
    fit = grid([0.1, 0.5, 0.4], [impossible, 4.0, 5.0])
    with pytest.warns(ChaoticTrainingWarning, match=r"at lam=0 are not between 0 and the 40 rows"):
        table = lam_table(fit, *data(), None, criterion)
    assert table.chosen == 2
    # Nor is the noise taken from there.
    assert table.noise_variance == pytest.approx(N * 0.4 / (N - 5.0))


def test_degrees_of_freedom_within_two_standard_errors_of_what_is_possible_are_kept():
    table = lam_table(grid([0.1, 0.5, 0.4], [-0.5, 4.0, N + 0.5]), *data(), np.array([0.2]))
    assert table.chosen == 0
    one_probe = grid([0.1, 0.5, 0.4], [-10.0, 4.0, 5.0], n_probes=1)
    one_probe.dof.std_error[:] = np.nan
    assert lam_table(one_probe, *data(), np.array([0.2])).chosen == 0


@pytest.mark.parametrize("n_probes", [0, 2])
def test_a_single_lam_is_the_choice_whatever_is_known(n_probes):
    fit = grid([0.5], [np.nan], lams=(0.7,), n_probes=n_probes)
    table = lam_table(fit, *data(), None)
    assert table.chosen == 0
    assert np.isnan(table.sure).all()
    assert np.isnan(table.noise_variance).all()


# ---------------------------------------------------------------------------------------
# Noise
# ---------------------------------------------------------------------------------------


def test_a_variance_that_is_given_is_taken():
    fit = grid([0.5] * 6, [np.nan] * 6)
    assert noise_variance_of(fit, *data(2), np.array([0.1, 0.2])).tolist() == [0.1, 0.2]
    assert noise_variance_of(fit, *data(2), np.array([0.1, 0.1])).tolist() == [0.1, 0.1]
    assert noise_variance_of(fit, *data(2), 0.3).tolist() == [0.3, 0.3]


@pytest.mark.parametrize("outputs", [1, 2])
def test_differences_are_those_of_the_targets(outputs):
    X, Y = data(outputs)
    fit = grid(np.full((3, outputs), np.nan), np.full((3, outputs), np.nan))
    found = noise_variance_of(fit, X, Y, "difference")
    assert found.shape == (outputs,)
    expected = [difference_noise_variance(X, Y[:, p]) for p in range(outputs)]
    np.testing.assert_allclose(found, expected)


def test_the_paper_takes_the_smallest_lam_wherever_it_stands():
    fit = grid([0.3, 0.8, 0.5], [9.0, 2.0, 4.0], lams=(0.9, 0.1, 0.5))
    np.testing.assert_allclose(noise_variance_of(fit, *data(), "paper"), [40 * 0.8 / 38])


def test_the_default_is_the_smallest_of_those_that_leave_half_of_the_rows():
    error, dof = np.array([0.8, 0.5, 0.35, 0.01]), np.array([2.0, 6.0, 19.0, 25.0])
    estimates = N * error / (N - dof)
    assert estimates[3] < estimates.min(initial=np.inf, where=dof <= 20)
    fit = grid(error, dof, lams=(0.0, 0.3, 0.6, 1.0))
    np.testing.assert_allclose(noise_variance_of(fit, *data(), None), [estimates[1]])


def test_outputs_have_each_its_own_smallest_estimate():
    error = np.array([[0.8, 0.5], [0.4, 0.6], [0.1, 0.1]])
    dof = np.array([[2.0, 2.0], [4.0, 4.0], [30.0, 30.0]])
    found = noise_variance_of(grid(error, dof), *data(2), None)
    np.testing.assert_allclose(found, [40 * 0.4 / 36, 40 * 0.5 / 38])


def test_where_none_leaves_half_of_the_rows_it_is_the_smallest_lam():
    fit = grid([0.2, 0.1, 0.05], [25.0, 30.0, 35.0])
    np.testing.assert_allclose(noise_variance_of(fit, *data(), None), [40 * 0.2 / 15])


@pytest.mark.parametrize("rule", [None, "paper"])
def test_networks_that_interpolate_are_a_warning_and_differences_are_taken(rule):
    X, Y = data()
    fit = grid([0.01, 0.005, 0.001], [37.0, 38.0, 41.0])
    with pytest.warns(NoiseVarianceWarning, match=r"interpolate 40 rows with 37 .* at lam=0:"):
        found = noise_variance_of(fit, X, Y, rule)
    np.testing.assert_allclose(found, [difference_noise_variance(X, Y[:, 0])])


@pytest.mark.parametrize("rule", [None, "paper"])
def test_a_lam_that_diverged_tells_nothing_of_the_noise(rule):
    fit = grid([np.nan, 0.5, 0.2], [np.nan, 4.0, 3.0])
    expected = 40 * 0.5 / 36 if rule == "paper" else 40 * 0.2 / 37
    np.testing.assert_allclose(noise_variance_of(fit, *data(), rule), [expected])


@pytest.mark.parametrize("rule", [None, "paper"])
def test_without_degrees_of_freedom_the_variance_is_not_known(rule):
    assert np.isnan(noise_variance_of(grid([0.5] * 3, [np.nan] * 3), *data(), rule)).all()
    none = grid([0.5] * 3, [np.nan] * 3, n_probes=0)
    assert np.isnan(noise_variance_of(none, *data(), rule)).all()
