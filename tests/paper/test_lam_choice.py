"""λ by Brent's method: minima on a fine grid, the cap, and errors on held-out rows."""

import numpy as np
import pandas as pd
import pytest
import toy_data
from reference import Problem, literal_fit
from toy_data import toy_setup, toy_study

from negcorr.paper.lam_choice import (
    CRITERIA,
    brent,
    chosen_lams,
    held_out_error,
    pieces_of,
    selection,
)
from negcorr.paper.protocol import fit_ncl, task


@pytest.fixture(scope="module")
def case(toy_home):
    setup = toy_setup(n_features=24, seed=7)
    data = task(setup, str(toy_home), "slump", 0)
    return data, fit_ncl(setup, data, 3)


@pytest.mark.parametrize("best", [0.05, 0.5, 0.93])
def test_brent_finds_a_minimum_inside(best):
    assert brent(lambda lam: (lam - best) ** 4 + 2.0, 0.99) == pytest.approx(best, abs=0.02)


@pytest.mark.parametrize("largest", [0.99, 1.0])
def test_brent_does_not_leave_its_interval(largest):
    assert largest - 1e-4 < brent(lambda lam: -lam, largest) <= largest
    assert 0.0 <= brent(lambda lam: lam, largest) < 1e-4


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_output_gets_the_minimum_of_its_own_criterion(case, criterion):
    _, model = case
    path = model.path_
    grid = np.linspace(0.0, 0.99, 2001)
    values = getattr(path, criterion)(lam=grid)
    lams = chosen_lams(path, criterion, 0.99)
    assert lams.shape == (3,)
    for output, lam in enumerate(lams):
        here = getattr(path, criterion)(lam=float(lam))[output]
        assert here <= values[:, output].min() + 1e-6
        assert lam == pytest.approx(grid[values[:, output].argmin()], abs=2e-3)
    assert ((lams > 0.01) & (lams < 0.98)).sum() >= 2
    assert len(set(lams.round(2))) == 3


def test_criteria_are_the_papers():
    assert set(CRITERIA) == {"sure", "kfold"}


def test_sure_is_the_papers_formula(case):
    """Definition 2 with σ² by the squared residuals of F_0 over N − H."""
    data, model = case
    features = model.basis_.transform(data.X)
    problem = Problem(features, data.Y, np.ones(len(data.X)), np.arange(0, 25, 3))
    start = literal_fit(problem, 1.0, fit_intercept=False)
    n = len(data.X)
    noise = ((start.fitted - data.Y) ** 2).sum(axis=0) / (n - 3)
    for lam in (0.0, 0.4, 0.9):
        fit = literal_fit(problem, 1.0 - lam, fit_intercept=False)
        expected = fit.train_error - noise + 2.0 * noise * fit.dof / n
        np.testing.assert_allclose(model.path_.sure(lam=lam), expected, rtol=1e-7)


def test_held_out_error_has_one_lam_for_each_output(case):
    data, model = case
    lams = np.array([0.1, 0.6, 0.98])
    features = model.basis_.transform(data.X_test)
    ours = held_out_error(model.path_, features, data, lams)
    problem = Problem(
        model.basis_.transform(data.X), data.Y, np.ones(len(data.X)), np.arange(0, 25, 3)
    )
    for k, lam in enumerate(lams):
        predicted = literal_fit(problem, 1.0 - lam, fit_intercept=False).predict(features)[:, k]
        assert ours[k] == pytest.approx(np.mean((predicted - data.Y_test[:, k]) ** 2), rel=1e-7)


@pytest.mark.parametrize("protocol", ["paper", "printed"])
@pytest.mark.parametrize("outer", ["paper", "printed"])
def test_a_piece_has_a_row_for_each_criterion_and_output(toy_home, protocol, outer):
    setup = toy_setup(protocol=outer)
    table = pd.DataFrame(selection(setup, str(toy_home), name="slump", protocol=protocol, fold=1))
    assert list(table) == [
        "set",
        "protocol",
        "criterion",
        "fold",
        "output",
        "lam",
        "dof",
        "test_error",
    ]
    assert table["criterion"].tolist() == ["sure"] * 3 + ["kfold"] * 3
    assert table["output"].tolist() == [0, 1, 2] * 2
    assert set(table["protocol"]) == {protocol}
    assert set(table["fold"]) == {1}
    data = task(setup, str(toy_home), "slump", 1)
    model = fit_ncl(setup.under(protocol), data, 3)
    features = model.basis_.transform(data.X_test)
    for row in table.itertuples():
        coef = model.path_.coef(lam=row.lam)[row.output]
        error = np.mean((features @ coef - data.Y_test[:, row.output]) ** 2)
        assert row.test_error == pytest.approx(error, rel=1e-7)
        assert row.dof == pytest.approx(model.path_.dof(lam=row.lam), rel=1e-7)
        assert 0.0 <= row.lam <= (0.99 if protocol == "paper" else 1.0)


def test_what_the_study_follows_makes_no_difference_to_either_protocol(toy_home):
    ours = [
        selection(toy_setup(protocol=outer), str(toy_home), "machine", "printed", 0)
        for outer in ("paper", "printed")
    ]
    assert ours[0] == ours[1]


def test_only_the_reconstruction_stops_at_0_99(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(209, 6))
    toy_data.write_columns(tmp_path, "machine", X, X @ rng.normal(size=6))
    setup = toy_setup(max_rows=200)
    lams = {
        protocol: {row["lam"] for row in selection(setup, str(tmp_path), "machine", protocol, 0)}
        for protocol in ("paper", "printed")
    }
    assert all(0.985 < lam <= 0.99 for lam in lams["paper"])
    assert all(0.99 < lam <= 1.0 for lam in lams["printed"])


def test_pieces_are_one_for_each_set_protocol_and_fold(toy_home):
    study = toy_study(toy_home)
    choices = [dict(piece.choice) for piece in pieces_of(study, ("machine", "slump"))]
    assert choices == [
        {"name": name, "protocol": protocol, "fold": fold}
        for name in ("machine", "slump")
        for protocol in ("paper", "printed")
        for fold in range(5)
    ]
