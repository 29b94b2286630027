"""Bias, variance and covariance along λ: against brute force and closed forms, at toy sizes."""

import warnings

import numpy as np
import pytest
from matplotlib.image import imread
from models import ncl
from sklearn.datasets import make_friedman1

from negcorr import ambiguity_decomposition, bias_variance_covariance
from negcorr.paper.beyond import bias_variance_covariance as experiment
from negcorr.paper.figure_style import save
from negcorr.paper.setup import Setup, Size
from negcorr.paper.study import Study

TOY = Setup(size=Size(n_features=40, max_rows=60, repeats=5, width=5), seed=3)


@pytest.fixture(scope="module")
def table():
    return experiment.run(Study(TOY))


@pytest.fixture
def draws():
    """Members that differ in bias and scale, with noise of their own and in common."""
    rng = np.random.default_rng(0)
    own, common = rng.normal(size=(7, 4, 9)), rng.normal(size=(7, 1, 9))
    members = np.arange(1, 5)[:, np.newaxis] * (own + 2.0 * common + 0.3)
    return members, rng.normal(size=9)


def refitted(n_draws, gap):
    """Member predictions and the truth at the new inputs of design 2, by one fit for each draw."""
    n, name = TOY.size.max_rows, experiment.NAME
    seed = TOY.seed_for(name, "inputs", 2)
    X, raw = make_friedman1(n + experiment.NEW_ROWS, noise=0.0, random_state=seed)
    truth = (raw - experiment.CENTRE) / experiment.SPREAD
    noise = np.random.default_rng(TOY.seed_for(name, "noise", 2)).normal(size=(n, n_draws)) / 2
    features = {"basis": "fourier", "gamma": "kwok-tsang", "solver": "qr"}
    features["random_state"] = TOY.seed_for(name, "features", 2)
    model = ncl(8, 5, gap=gap, **features)
    members = [
        model.fit(X[:n], truth[:n] + noise[:, k]).predict_members(X[n:]) for k in range(n_draws)
    ]
    return np.array(members), truth[n:]


def test_terms_agree_with_loops_over_members(draws):
    members, truth = draws
    found = experiment.terms(members, truth)
    pairs = [
        np.mean(
            (members[:, i] - members[:, i].mean(axis=0))
            * (members[:, j] - members[:, j].mean(axis=0))
        )
        for i in range(4)
        for j in range(4)
        if i != j
    ]
    assert found["covariance"] == pytest.approx(np.mean(pairs))
    assert found["variance"] == pytest.approx(
        np.mean([members[:, m].var(axis=0).mean() for m in range(4)])
    )
    assert found["error"] == pytest.approx(np.mean((members.mean(axis=1) - truth) ** 2))
    one_by_one = [ambiguity_decomposition(one, truth) for one in members]
    assert found["diversity"] == pytest.approx(np.mean([one.diversity for one in one_by_one]))
    assert found["member_error"] == pytest.approx(np.mean([one.member_error for one in one_by_one]))


def test_covariance_on_pairs_is_that_of_the_library(draws):
    library = bias_variance_covariance(*draws)
    assert experiment.terms(*draws)["covariance"] == pytest.approx(library.covariance)


@pytest.mark.parametrize("gap", [1.0, 0.1, 0.0])
def test_rows_agree_with_one_fit_for_each_draw(gap):
    rows = experiment.simulated(TOY, None, design=2)
    row = next(row for row in rows if row["gap"] == gap)
    for name, value in experiment.terms(*refitted(TOY.size.repeats, gap)).items():
        assert row[name] == pytest.approx(value, rel=1e-6), name


def test_truth_has_mean_0_and_variance_1():
    _, raw = make_friedman1(200_000, noise=0.0, random_state=0)
    assert raw.mean() == pytest.approx(experiment.CENTRE, abs=0.05)
    assert raw.std() == pytest.approx(experiment.SPREAD, abs=0.05)


def test_one_row_for_each_design_and_gap(table):
    assert len(table) == experiment.DESIGNS * len(experiment.GAPS)
    assert not table.duplicated(["design", "gap"]).any()
    assert np.isfinite(table.to_numpy(dtype=float)).all()
    assert set(table["members"]) == {8}
    assert table["gap"].max() == 1.0
    assert table["gap"].min() == 0.0


def test_features_are_at_most_two_thirds_of_the_rows():
    size = Size(n_features=1000, max_rows=30, repeats=2, width=5)
    rows = experiment.simulated(Setup(size=size), None, design=0)
    assert rows[0]["members"] * 5 <= 20


def test_identity_of_ueda_and_nakano(table):
    m = table["members"]
    parts = table["bias_squared"] + table["variance"] / m + (1 - 1 / m) * table["covariance"]
    assert np.allclose(table["error"], parts, rtol=1e-9, atol=1e-10 * table["variance"])
    assert np.allclose(table["ensemble_variance"] + table["bias_squared"], table["error"])


def test_claims_about_sums_are_checked(table):
    assert all(claim.holds for claim in experiment.claims(table)[:3])
    for column in ("covariance_term", "diversity", "bias_spread"):
        broken = table.copy()
        broken.loc[5, column] *= 1.001
        assert not all(claim.holds for claim in experiment.claims(broken)[:3]), column


def test_identities_are_told_from_findings(table):
    claims = experiment.claims(table)
    assert [claim.nature for claim in claims] == ["theorem"] * 3 + ["finding"] * 5
    assert not any(claim.about_paper for claim in claims)


@pytest.mark.parametrize(
    ("which", "column", "value"),
    [
        (3, "variance", lambda table: table["gap"]),
        (4, "correlation", lambda table: table["gap"]),  # falls, but is never negative
        (4, "correlation", lambda table: -table["correlation"]),
        (5, "error", lambda table: table["gap"]),
        (5, "error", lambda table: -table["gap"]),
        (6, "bias_squared", lambda table: table["lam"]),
        (6, "ensemble_variance", lambda table: table["gap"]),
        (7, "member_error", lambda table: table["gap"]),
    ],
)
def test_claims_about_curves_can_fail(table, which, column, value):
    assert experiment.claims(table)[which].holds
    assert not experiment.claims(table.assign(**{column: value(table)}))[which].holds


def test_one_design_is_enough_to_break_a_claim_about_all(table):
    odd = table.copy()
    odd.loc[odd["design"] == 4, "error"] += odd["lam"]
    claim = experiment.claims(odd)[5]
    assert not claim.holds
    assert "9 of 10 designs" in claim.evidence


def test_correlation_is_no_less_than_is_possible(table):
    assert (table["correlation"] >= -1 / (table["members"] - 1) - 1e-12).all()


def test_same_study_twice(table):
    assert experiment.run(Study(TOY)).equals(table)
    other = experiment.simulated(Setup(size=TOY.size, seed=4), None, design=0)
    assert other[0]["error"] != table["error"][0]


def test_designs_differ(table):
    assert table[table["gap"] == 1.0]["error"].nunique() == experiment.DESIGNS


def test_four_labelled_panels_are_drawn_without_warnings(table, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = experiment.plot(table)
        _, png = save(figure, tmp_path / "figure")
    assert len(figure.axes) == 4
    for axes in figure.axes:
        assert axes.get_title()
        assert axes.get_xscale() == "log"
        left, right = axes.get_xlim()
        assert left > right  # λ grows to the right
    labels = {text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()}
    assert {"bias²", "variance/M", "correlation", "member error", "diversity"} <= labels
    assert imread(png)[:, :, :3].std() > 0.05
