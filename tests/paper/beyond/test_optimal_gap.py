"""The risk with a known mean against literal matrices, its minimum, and what is said of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from toy_data import toy_setup

from negcorr.bases import FourierFeatures, kwok_tsang_gamma
from negcorr.criteria.closed_form import sure
from negcorr.moments.moments import FactorMoments
from negcorr.paper.beyond import optimal_gap
from negcorr.paper.beyond.optimal_gap import KNOBS, NAME, KnownRisk, simulated, sweep
from negcorr.paper.study import Study
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.gap import LATTICE_PER_DECADE

STEP = 10.0 ** (1.0 / LATTICE_PER_DECADE)


class Problem:
    """Few rows and features, with the smoothing matrix of Theorem 4 as it is printed."""

    def __init__(self, n=40, members=4, width=3, seed=0):
        rng = np.random.default_rng(seed)
        self.n, self.members, self.width = n, members, width
        self.features = rng.normal(size=(n, members * width)) + rng.normal(size=(n, 1))
        self.mu = np.sin(np.arange(n)) + self.features @ rng.normal(size=members * width)
        self.noise = rng.normal(size=(n, 2000))

    def smoother(self, gap):
        gram = self.features.T @ self.features / self.n
        blocks = np.kron(np.eye(self.members), np.ones((self.width, self.width)))
        matrix = self.members * gap * gram * blocks + (1.0 - gap) * gram
        return self.features @ np.linalg.solve(matrix, self.features.T) / self.n

    def literal_risk(self, gap, sigma):
        S = self.smoother(gap)
        return np.mean((S @ self.mu - self.mu) ** 2) + sigma**2 * np.sum(S**2) / self.n

    def spectrum(self, target):
        z = np.column_stack([self.features, target])
        moments = FactorMoments.from_rows(z, np.ones(self.n), z.shape[1] - self.features.shape[1])
        starts = np.arange(self.members + 1) * self.width
        return factorise(moments, starts, fit_intercept=False)

    def known(self):
        spectrum = self.spectrum(np.column_stack([self.mu, self.noise]))
        stiffness = (self.members - spectrum.rho) / spectrum.rho
        kappa = spectrum.kappa
        known = KnownRisk(stiffness, kappa[:, 0], float(spectrum.outside[0]), float(self.n))
        return known, kappa[:, 1:]


@pytest.fixture(scope="module")
def problem():
    return Problem()


@pytest.fixture(scope="module")
def known(problem):
    return problem.known()[0]


@pytest.fixture(scope="module")
def table():
    return optimal_gap.run(Study(toy_setup(n_features=40, width=4, repeats=20)))


# ---------------------------------------------------------------------------------------
# The risk
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [1.0, 0.4, 1e-2, 0.0])
@pytest.mark.parametrize("sigma", [0.0, 0.5, 4.0])
def test_risk_is_bias_and_variance_of_the_printed_smoother(problem, known, gap, sigma):
    found = known.risk(np.array([gap]), sigma)[0]
    assert found == pytest.approx(problem.literal_risk(gap, sigma), rel=1e-9)


def test_risk_is_the_mean_error_of_simulated_fits(problem, known):
    S = problem.smoother(0.2)
    fitted = S @ (problem.mu[:, np.newaxis] + 1.5 * problem.noise)
    losses = np.mean((fitted - problem.mu[:, np.newaxis]) ** 2, axis=0)
    error = losses.std() / np.sqrt(len(losses))
    assert abs(losses.mean() - known.risk(np.array([0.2]), 1.5)[0]) < 4.0 * error


def test_losses_are_those_of_literal_fits(problem):
    known, noise = problem.known()
    gaps = np.geomspace(1.0, 1e-4, 5)
    found = known.losses(gaps, noise[:, :5], 0.7)
    for k, gap in enumerate(gaps):
        fitted = problem.smoother(gap) @ (problem.mu + 0.7 * problem.noise[:, k])
        assert found[k] == pytest.approx(np.mean((fitted - problem.mu) ** 2), rel=1e-9)


def test_excess_resolves_gains_that_the_risk_cannot(known):
    tiny = np.array([1e-25])
    assert known.risk(tiny, 1.0) == known.risk(np.zeros(1), 1.0)
    assert known.excess(tiny, 1.0)[0] < 0 < known.excess(tiny, 0.0)[0]


# ---------------------------------------------------------------------------------------
# Its minimum
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_the_best_gap_minimises_the_literal_risk(problem, known, sigma):
    def literal(log_gap):
        return problem.literal_risk(10.0**log_gap, sigma)

    truth = 10.0 ** minimize_scalar(literal, bounds=(-7, 0), method="bounded").x
    assert known.self_consistent_gap(sigma) == pytest.approx(truth, rel=1e-3)
    assert truth / STEP < known.best_gap(sigma) < truth * STEP


def test_the_self_consistent_gap_solves_its_equation(known):
    gap = known.self_consistent_gap(1.0)
    s = 1.0 / (1.0 + gap * known.stiffness)
    top = np.sum(known.stiffness * s**3)
    bottom = np.sum(known.signal**2 * known.stiffness**2 * s**3)
    assert gap == pytest.approx(top / bottom / known.n, rel=1e-9)


def test_the_leading_order_is_the_limit_of_little_noise(known):
    assert known.self_consistent_gap(1e-6) == pytest.approx(known.leading_order(1e-6), rel=1e-6)
    assert known.leading_order(2e-3) == pytest.approx(4.0 * known.leading_order(1e-3))


def test_without_noise_the_best_gap_is_none(known):
    assert known.best_gap(0.0) == known.self_consistent_gap(0.0) == known.leading_order(0.0) == 0.0


def test_with_noise_alone_the_best_lam_is_0(known):
    assert known.best_gap(1e6) == known.self_consistent_gap(1e6) == 1.0


@pytest.mark.parametrize(("faint", "valley"), [(0.004, "high"), (0.02, "low")])
def test_of_two_valleys_the_deeper_one_is_found(faint, valley):
    # A soft mode full of signal, and a hundred stiff ones of hardly anything but noise.
    stiffness = np.append(np.full(100, 1e9), 1.0)
    known = KnownRisk(stiffness, np.append(np.full(100, faint), 3.0), 0.0, 100.0)
    gaps = known.lattice(1.0)[:-1]
    curve = known.excess(gaps, 1.0)
    minima = (curve[1:-1] < curve[:-2]) & (curve[1:-1] < curve[2:])
    assert minima.sum() == 2
    found = known.self_consistent_gap(1.0)
    assert found / STEP < known.best_gap(1.0) < found * STEP
    assert known.best_gap(1.0) == gaps[curve.argmin()]
    assert (found > 1e-5) == (valley == "high")


def test_sure_chooses_as_its_formula_does(problem):
    known, noise = problem.known()
    chosen = known.sure_gaps(noise[:, :30], 1.0)
    targets = problem.mu[:, np.newaxis] + problem.noise[:, :30]
    spectrum, gaps = problem.spectrum(targets), known.lattice(1.0)
    curve = sure(
        spectrum.train_error(gap=gaps), spectrum.dof(gap=gaps)[:, np.newaxis], problem.n, 1.0
    )
    at_chosen = [curve[np.flatnonzero(gaps == gap)[0], k] for k, gap in enumerate(chosen)]
    assert_allclose(at_chosen, curve.min(axis=0), rtol=1e-12)
    assert len(set(chosen)) > 5


# ---------------------------------------------------------------------------------------
# The experiment
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", optimal_gap.DESIGNS)
def test_simulated_functions_are_standardised(design):
    X, mu = simulated(design, 500, np.random.default_rng(0))
    assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose([X.std(axis=0).min(), X.std(axis=0).max(), mu.std()], 1.0)
    assert mu.mean() == pytest.approx(0.0, abs=1e-12)


def test_a_row_is_the_risk_of_the_printed_smoother():
    setup = toy_setup(n_features=20, width=4, repeats=4)
    row = next(r for r in sweep(setup, None, "kinks", "n") if r["n"] == 40)
    X, mu = simulated("kinks", 160, np.random.default_rng(setup.seed_for(NAME, "kinks")))
    seed = setup.seed_for(NAME, "kinks", "features")
    basis = FourierFeatures(5, 4, gamma=kwok_tsang_gamma(X), random_state=seed, inputs="none").fit(
        X
    )
    problem = Problem(members=5, width=4)
    problem.features, problem.mu = basis.transform(X[:40]), mu[:40]
    for column, gap in {"risk": row["best_gap"], "risk_lam0": 1.0, "risk_lam1": 0.0}.items():
        assert row[column] == pytest.approx(problem.literal_risk(gap, row["sigma"]), rel=1e-5)


def test_tables_move_one_knob_at_a_time(table):
    assert len(table) == 3 * (16 + 6 + 7)
    for knob in KNOBS:
        part = table[table["knob"] == knob]
        assert (part["value"] == part[knob]).all()
        assert all(part[other].nunique() == 1 for other in KNOBS if other != knob)
    centres = [table.loc[table["knob"] != knob, knob].unique() for knob in KNOBS]
    assert [len(centre) for centre in centres] == [1, 1, 1]
    # The three sweeps meet in the centre, where they are the same problem.
    centre = table[
        (table["sigma"] == centres[0][0])
        & (table["n"] == centres[1][0])
        & (table["gamma"] == centres[2][0])
    ]
    assert len(centre) == 9
    assert (centre.groupby("design")["best_gap"].nunique() == 1).all()


def test_the_same_settings_give_the_same_rows():
    setup = toy_setup()
    first, second = (sweep(setup, None, "waves", "gamma") for _ in range(2))
    assert first == second
    assert first != sweep(toy_setup(seed=1), None, "waves", "gamma")


def test_theorem_6_holds_at_any_size(table):
    theorem, equation, leading, *_ = optimal_gap.claims(table)
    assert theorem.holds
    assert equation.holds
    assert leading.holds


def test_theorems_are_told_from_findings(table):
    claims = optimal_gap.claims(table)
    assert [claim.nature for claim in claims] == ["theorem"] * 2 + ["finding"] * 4
    assert not any(claim.about_paper for claim in claims)


def test_simulated_losses_agree_with_the_risk(table):
    noisy = table[table["sigma"] > 0]
    assert_allclose(np.mean(noisy["best_loss"] / noisy["risk"]), 1.0, atol=0.05)


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, lambda t: t.assign(best_gap=t["best_gap"].where(t["n"] > t["n"].min(), 0.0))),
        (0, lambda t: t.assign(gain=-t["gain"])),
        (0, lambda t: t.assign(best_gap=t["best_gap"].clip(lower=1e-30))),
        (1, lambda t: t.assign(self_consistent_gap=1.06 * t["self_consistent_gap"])),
        (2, lambda t: t.assign(leading_gap=2.2 * t["leading_gap"])),
        (3, lambda t: t.assign(best_gap=1.0 / t["best_gap"].clip(lower=1e-30))),
        (4, lambda t: t.assign(best_gap=1.0 / t["best_gap"].clip(lower=1e-30))),
        (5, lambda t: t.assign(sure_loss=1.2 * t["best_loss"])),
    ],
)
def test_claims_fail_where_they_are_wrong(table, number, change):
    good = table.assign(sure_loss=table["best_loss"])
    # Slopes of 1, whatever the toy says.
    n = good["n"].astype(float)
    gap = 1e-3 * good["sigma"] ** 2 / n * good["gamma"]
    good = good.assign(best_gap=gap, self_consistent_gap=gap, leading_gap=gap)
    good = good.assign(leading_stiffest=0.01)
    assert [claim.holds for claim in optimal_gap.claims(good)] == [True] * 6
    with np.errstate(divide="ignore"):
        assert not optimal_gap.claims(change(good))[number].holds


def test_the_figure_has_a_panel_for_each_knob(table):
    figure = optimal_gap.plot(table)
    assert [axes.get_xlabel() for axes in figure.axes] == list(KNOBS.values())
    figure.draw_without_rendering()
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert texts == [
        *optimal_gap.DESIGNS.values(),
        "found",
        "self-consistent",
        "leading order",
        "SURE, quartiles",
    ]
