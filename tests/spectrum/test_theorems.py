"""What the paper proves, on random ensembles and by simulation.

Numbers follow the paper. Where its text slips, the corrected statement is tested: γ of
Theorem 7, the degenerate case of Theorem 6, the factor 2 in the second derivative of dof.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import (
    Problem,
    fitted_by,
    gradient_descent,
    gram_and_diagonal,
    literal_fit,
    literal_whitened_gram,
    make_problem,
    ncl_hessian,
    random_problem,
    spectrum_of,
    tikhonov_fit,
)

from negcorr import ncl_loss
from negcorr.criteria.closed_form import sure

LAMS = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0])

quick = settings(max_examples=30, deadline=None, derandomize=True)


@st.composite
def ensembles(draw):
    """Random ensembles: tall or wide, weighted or not, some with dependent columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    widths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    n = draw(st.integers(max(widths) + 2, 30))
    problem = random_problem(rng, n, widths, weighted=draw(st.booleans()))
    damage = draw(st.sampled_from(["none", "duplicate", "constant", "shared"]))
    features = problem.features.copy()
    if damage == "duplicate" and widths[0] > 1:
        features[:, 1] = features[:, 0]
    elif damage == "constant":
        features[:, 0] = 5.0
    elif damage == "shared":
        features[:, -1] = features[:, 0]
    return replace(problem, features=features)


def identical_blocks(n_members=3):
    one = make_problem("one member")
    width = one.features.shape[1]
    return replace(
        one,
        features=np.tile(one.features, n_members),
        starts=np.arange(n_members + 1) * width,
    )


class TestProposition12:
    @quick
    @given(ensembles())
    def test_dof_is_the_trace_of_the_smoothing_matrix(self, problem):
        spectrum = spectrum_of(problem)
        for lam in (0.0, 0.4, 0.99):
            S = spectrum.smoothing_matrix(problem.features, lam, sample_weight=problem.weight)
            assert_allclose(np.trace(S), spectrum.dof(lam), rtol=1e-8)

    @quick
    @given(ensembles())
    def test_training_error_is_y_times_i_minus_s_squared_times_y(self, problem):
        problem = replace(problem, weight=np.ones(len(problem.y)))
        spectrum = spectrum_of(problem)
        for lam in (0.0, 0.4, 0.99):
            left = np.eye(len(problem.y)) - spectrum.smoothing_matrix(problem.features, lam)
            wanted = problem.y.T @ left @ left @ problem.y / len(problem.y)
            assert_allclose(spectrum.train_error(lam), wanted[0], rtol=1e-8, atol=1e-12)


class TestLemmas13And14:
    @quick
    @given(ensembles())
    def test_rho_lies_between_0_and_m(self, problem):
        rho = spectrum_of(problem).rho
        assert (rho > 0).all()
        assert (rho <= problem.n_members * (1 + 1e-12)).all()

    @quick
    @given(ensembles())
    def test_trace_of_p_is_the_sum_of_block_ranks(self, problem):
        spectrum = spectrum_of(problem)
        _, ranks = literal_whitened_gram(problem)
        assert_allclose(spectrum.rho.sum(), sum(ranks), rtol=1e-10)

    @quick
    @given(ensembles())
    def test_rank_of_p_is_the_rank_of_the_features(self, problem):
        phi = problem.features - np.average(problem.features, axis=0, weights=problem.weight)
        assert len(spectrum_of(problem).rho) == np.linalg.matrix_rank(phi, rtol=1e-10)

    @quick
    @given(ensembles(), st.floats(1e-3, 10.0))
    def test_a_ridge_inside_the_blocks_keeps_rho_between_0_and_m(self, problem, alpha):
        plain, ridged = spectrum_of(problem), spectrum_of(problem, alpha=alpha)
        assert (ridged.rho > 0).all()
        assert (ridged.rho < problem.n_members).all()
        assert ridged.rho.sum() < plain.rho.sum()


class TestProposition15:
    @quick
    @given(ensembles(), st.floats(0.0, 0.999))
    def test_eigenvalues_of_the_smoothing_matrix(self, problem, lam):
        problem = replace(problem, weight=np.ones(len(problem.y)))
        P, _ = literal_whitened_gram(problem, fit_intercept=False)
        rho = np.linalg.eigvalsh(P)
        wanted = rho / (problem.n_members * (1 - lam) + lam * rho)
        S = literal_fit(problem, 1.0 - lam, fit_intercept=False).smoothing
        smoother = np.linalg.eigvalsh((S + S.T) / 2)
        shared = min(len(wanted), len(smoother))
        assert_allclose(np.sort(smoother)[-shared:], np.sort(wanted)[-shared:], atol=1e-8)
        shrinkage = np.sort(spectrum_of(problem, fit_intercept=False).shrinkage(lam))
        assert_allclose(shrinkage, np.sort(smoother)[-len(shrinkage) :], atol=1e-8)


class TestTheorem5:
    @quick
    @given(ensembles())
    def test_dof_increases_and_is_convex(self, problem):
        dof = spectrum_of(problem).dof(LAMS)
        slopes = np.diff(dof) / np.diff(LAMS)
        assert (slopes >= -1e-9).all()
        assert (np.diff(slopes) >= -1e-7 * (1 + slopes[1:])).all()

    @quick
    @given(ensembles())
    def test_strictly_where_a_rho_lies_inside_0_and_m_and_only_there(self, problem):
        spectrum = spectrum_of(problem)
        inside = (spectrum.rho < problem.n_members * (1 - 1e-9)).any()
        dof = spectrum.dof(LAMS)
        assert bool((np.diff(dof) > 1e-9).all()) == bool(inside)
        assert bool(spectrum.dof_derivative(0.5) > 1e-9) == bool(inside)
        assert bool(spectrum.dof_second_derivative(0.5) > 1e-9) == bool(inside)

    def test_identical_members_have_constant_dof(self):
        problem = identical_blocks()
        spectrum = spectrum_of(problem)
        assert_allclose(spectrum.rho, 3.0, rtol=1e-12)
        assert_allclose(spectrum.dof(LAMS), 5.0, rtol=1e-12)
        assert_allclose(spectrum.dof_derivative(LAMS), 0.0, atol=1e-10)
        assert_allclose(spectrum.dof_second_derivative(LAMS), 0.0, atol=1e-10)
        error = spectrum.train_error(LAMS)
        assert_allclose(error, np.broadcast_to(error[0], error.shape), rtol=1e-12)
        assert_allclose(spectrum.diversity(LAMS), 0.0, atol=1e-12)

    @quick
    @given(ensembles(), st.floats(0.05, 0.9))
    def test_derivatives_against_finite_differences(self, problem, lam):
        spectrum = spectrum_of(problem)
        step = 1e-3 * (1.0 - lam)
        at = np.asarray(spectrum.dof(lam + step * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])))
        first = at @ np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * step)
        assert_allclose(spectrum.dof_derivative(lam), first, rtol=1e-6, atol=1e-8)
        second = at @ np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * step**2)
        assert_allclose(spectrum.dof_second_derivative(lam), second, rtol=1e-3, atol=1e-5)

    @quick
    @given(ensembles())
    def test_training_error_decreases(self, problem):
        error = spectrum_of(problem).train_error(LAMS)[:, 0]
        assert (np.diff(error) <= 1e-12 * error[0]).all()

    def test_training_error_decreases_strictly_where_y_meets_a_mode_inside(self):
        problem = make_problem("tall")
        spectrum = spectrum_of(problem)
        assert (np.diff(spectrum.train_error(LAMS)[:, 0]) < 0).all()

    def test_training_error_is_constant_where_y_misses_every_mode(self):
        problem = make_problem("tall")
        literal = literal_fit(problem, 0.0)
        orthogonal = replace(problem, y=problem.y - literal.fitted)
        error = spectrum_of(orthogonal).train_error(LAMS)[:, 0]
        assert_allclose(error, error[-1], rtol=1e-12)
        assert spectrum_of(orthogonal).dof_derivative(0.5) > 0.1

    @quick
    @given(ensembles(), st.booleans())
    def test_dof_runs_from_the_mean_block_rank_to_the_rank(self, problem, fit_intercept):
        G, D = gram_and_diagonal(problem, fit_intercept)
        block_ranks = [np.linalg.matrix_rank(D[b, b], rtol=1e-10) for b in problem.blocks]
        spectrum = spectrum_of(problem, fit_intercept=fit_intercept)
        rank = np.linalg.matrix_rank(G, rtol=1e-10)
        assert_allclose(spectrum.dof(0.0), np.mean(block_ranks) + fit_intercept, rtol=1e-9)
        assert_allclose(spectrum.dof(1.0), rank + fit_intercept, rtol=1e-9)

    @quick
    @given(ensembles(), st.floats(1e-3, 10.0))
    def test_dof_with_a_ridge_increases_to_the_rank_too(self, problem, alpha):
        plain, ridged = spectrum_of(problem), spectrum_of(problem, alpha=alpha)
        dof = ridged.dof(LAMS)
        assert (np.diff(dof) > 0).all()
        assert dof[0] < plain.dof(0.0)
        assert_allclose(dof[-1], plain.dof(1.0), rtol=1e-9)


class TestTheorem7:
    @pytest.mark.parametrize("lam", [0.05, 0.5, 0.9, 0.999])
    def test_ridge_with_the_corrected_gamma_is_lam_times_the_ensemble(self, lam):
        problem = make_problem("unequal blocks")
        spectrum = spectrum_of(problem, fit_intercept=False)
        ensemble = problem.features @ spectrum.coef(lam).T
        m = problem.n_members
        ridge = tikhonov_fit(problem, (1.0 - lam) / (m * lam))
        assert_allclose(ridge, lam * ensemble, atol=1e-11)

    @pytest.mark.parametrize("lam", [0.05, 0.5, 0.9])
    def test_the_gamma_printed_in_the_paper_is_not_it(self, lam):
        problem = make_problem("unequal blocks")
        spectrum = spectrum_of(problem, fit_intercept=False)
        ensemble = problem.features @ spectrum.coef(lam).T
        printed = tikhonov_fit(problem, (1.0 - lam) / (problem.n_members**2 * lam))
        assert np.abs(printed - lam * ensemble).max() > 1e-2 * np.abs(ensemble).max()


class TestTraining:
    @pytest.mark.parametrize("lam", [0.0, 0.4, 0.8])
    def test_gradient_descent_on_linear_heads_reaches_theorem_4(self, lam):
        problem = random_problem(np.random.default_rng(4), 60, [2, 3, 2])
        problem = replace(problem, features=problem.features - problem.features.mean(axis=0))
        by_descent = gradient_descent(problem, lam, steps=4000)
        spectrum = spectrum_of(problem, fit_intercept=False)
        assert_allclose(by_descent, problem.features @ spectrum.coef(lam).T, atol=1e-8)

    @pytest.mark.parametrize("lam", [0.0, 0.5, 0.95])
    def test_no_nearby_weights_have_a_smaller_loss(self, lam):
        problem = make_problem("tall")
        spectrum = spectrum_of(problem, fit_intercept=False)
        weights = problem.n_members * spectrum.coef(lam)[0]
        rng = np.random.default_rng(0)

        def loss(w):
            members = [problem.features[:, b] @ w[b] for b in problem.blocks]
            return ncl_loss(members, problem.y[:, 0], lam)

        best = loss(weights)
        for _ in range(20):
            assert loss(weights + 1e-3 * rng.normal(size=weights.shape)) > best

    def test_a_ridge_inside_the_blocks_minimises_its_stated_objective(self):
        problem, lam, alpha = make_problem("tall"), 0.7, 0.2
        spectrum = spectrum_of(problem, fit_intercept=False, alpha=alpha)
        weights = problem.n_members * spectrum.coef(lam)[0]
        rng = np.random.default_rng(0)

        def objective(w):
            members = [problem.features[:, b] @ w[b] for b in problem.blocks]
            penalty = (1.0 - lam) / problem.n_members * alpha * (w**2).sum()
            return ncl_loss(members, problem.y[:, 0], lam) + penalty

        best = objective(weights)
        for _ in range(20):
            assert objective(weights + 1e-3 * rng.normal(size=weights.shape)) > best


class TestLamAboveOne:
    @pytest.mark.parametrize("lam", [1.001, 1.2, 2.0])
    def test_the_loss_falls_without_bound_where_members_can_cancel(self, lam):
        """With n < Q some change of the heads leaves F alone and lets the members run apart."""
        problem = make_problem("wide")
        unseen = np.linalg.svd(problem.features)[2][-1]
        assert np.abs(problem.features @ unseen).max() < 1e-12

        def losses(at):
            heads = [size * unseen for size in 10.0 ** np.arange(2, 7)]
            members = [[problem.features[:, b] @ w[b] for b in problem.blocks] for w in heads]
            return [ncl_loss(f, problem.y[:, 0], at, form="combined") for f in members]

        assert (np.diff(losses(lam)) < 0).all()
        assert losses(lam)[-1] < -1e6
        assert_allclose(losses(1.0), losses(1.0)[0], rtol=1e-6)

    @quick
    @given(ensembles(), st.floats(1e-3, 5.0))
    def test_the_hessian_is_indefinite_above_m_over_m_minus_1(self, problem, excess):
        problem = replace(problem, weight=np.ones(len(problem.y)))
        m = problem.n_members
        values = np.linalg.eigvalsh(ncl_hessian(problem, m / (m - 1) + excess))
        assert values.min() < 0

    @quick
    @given(ensembles())
    def test_with_fixed_features_it_turns_indefinite_at_m_over_m_minus_the_smallest_rho(
        self, problem
    ):
        problem = replace(problem, weight=np.ones(len(problem.y)))
        P, ranks = literal_whitened_gram(problem, fit_intercept=False)
        m = problem.n_members
        rho = np.linalg.eigvalsh(P)[-sum(ranks) :]
        bound = m / (m - max(rho[0], 0.0))
        # Smallest eigenvalues of the Hessian in whitened weights just below and above.
        below, above = ((1 - lam) * m + lam * rho for lam in (bound - 1e-6, bound + 1e-6))
        assert below.min() > -1e-9
        assert above.min() < 0
        assert bound <= m / (m - 1) * (1 + 1e-12)


# ---------------------------------------------------------------------------------------
# Simulations. Draws of y are outputs of one fit, since outputs share all but y.
# ---------------------------------------------------------------------------------------

N_DRAWS = 4000
SIGMA = 0.5


def simulated(sigma=SIGMA, in_span=False):
    """A fixed design, μ on it, and many draws of y = μ + noise."""
    rng = np.random.default_rng(11)
    design = random_problem(rng, 30, [3, 3, 3, 3])
    mu = np.sin(design.features[:, [0]]) + 0.3 * design.features[:, [4]]
    if in_span:
        mu = 1.0 + design.features @ rng.normal(size=(12, 1))
    y = mu + sigma * rng.normal(size=(30, N_DRAWS))
    return Problem(design.features, y, design.weight, design.starts), mu


def true_errors(problem, mu, gap):
    spectrum = spectrum_of(problem)
    return ((fitted_by(spectrum, problem.features, gap) - mu) ** 2).mean(axis=0)


class TestTheorem3:
    @pytest.mark.parametrize("gap", [1.0, 0.3, 1e-2, 0.0])
    def test_sure_with_known_noise_is_unbiased_for_the_true_error(self, gap):
        problem, mu = simulated()
        spectrum = spectrum_of(problem)
        estimate = sure(spectrum.train_error(gap=gap), spectrum.dof(gap=gap), len(mu), SIGMA**2)
        difference = estimate - true_errors(problem, mu, gap)
        standard_error = difference.std() / np.sqrt(N_DRAWS)
        assert abs(difference.mean()) < 4.0 * standard_error
        # The test would see a bias of the size of one degree of freedom.
        assert 2.0 * SIGMA**2 / len(mu) > 8.0 * standard_error


class TestTheorem6:
    def test_with_noise_some_lam_below_1_has_a_smaller_expected_error(self):
        problem, mu = simulated()
        at_one = true_errors(problem, mu, 0.0)
        for gap in (1e-2, 3e-2):
            gain = at_one - true_errors(problem, mu, gap)
            assert gain.mean() > 4.0 * gain.std() / np.sqrt(N_DRAWS)

    def test_even_where_mu_is_in_the_span_of_the_features(self):
        problem, mu = simulated(in_span=True)
        gap = 1e-4
        gain = true_errors(problem, mu, 0.0) - true_errors(problem, mu, gap)
        assert gain.mean() > 4.0 * gain.std() / np.sqrt(N_DRAWS)

    def test_the_slope_at_lam_1_is_that_of_the_corrected_last_line(self):
        """dE R_true/dλ at 1 is 2σ²/n Σ(M − ρ)/ρ; the paper prints Σ1/ρ."""
        problem, mu = simulated()
        spectrum = spectrum_of(problem)
        step = 1e-2 * spectrum.rho[0] / problem.n_members
        slopes = (true_errors(problem, mu, 0.0) - true_errors(problem, mu, step)) / step
        n, m, rho = len(mu), problem.n_members, spectrum.rho
        wanted = 2.0 * SIGMA**2 / n * ((m - rho) / rho).sum()
        printed = 2.0 * SIGMA**2 / n * (1.0 / rho).sum()
        noise = 4.0 * slopes.std() / np.sqrt(N_DRAWS)
        curvature = 0.05 * wanted
        assert abs(slopes.mean() - wanted) < noise + curvature
        assert abs(slopes.mean() - printed) > 2.0 * (noise + curvature)

    def test_without_noise_and_mu_in_the_span_lam_1_is_best(self):
        problem, mu = simulated(sigma=0.0, in_span=True)
        at_one = true_errors(problem, mu, 0.0)
        assert_allclose(at_one, 0.0, atol=1e-20)
        for gap in (1e-6, 1e-3, 0.1, 1.0):
            assert (true_errors(problem, mu, gap) > 1e-18).all()

    def test_in_the_degenerate_case_of_identical_members_lam_does_not_matter(self):
        problem = identical_blocks()
        mu = np.sin(problem.features[:, [0]])
        noise = SIGMA * np.random.default_rng(0).normal(size=(len(mu), 50))
        problem = replace(problem, y=mu + noise)
        at_one = true_errors(problem, mu, 0.0)
        for gap in (1e-6, 1e-2, 1.0):
            assert_allclose(true_errors(problem, mu, gap), at_one, rtol=1e-9)
