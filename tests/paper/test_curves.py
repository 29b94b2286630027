"""Every column of the curves, computed again from members' predictions one λ at a time."""

import itertools

import numpy as np
import pandas as pd
import pytest
from reference import Problem, literal_fit
from toy_data import toy_setup, toy_study

from negcorr import ambiguity_decomposition
from negcorr.exceptions import PrecisionWarning
from negcorr.paper.curves import GRID, LITERAL, TINY_GAPS, all_gaps, curves, pieces_of
from negcorr.paper.protocol import fit_ncl, task
from negcorr.spectrum.spectrum import Spectrum

WIDTH, FOLD = 3, 2


def test_grid_goes_from_0_to_1_in_steps_of_a_twentieth():
    lams = 1.0 - np.array(GRID)
    np.testing.assert_allclose(lams, np.arange(21) / 20, atol=1e-15)
    assert GRID[0] == 1.0
    assert GRID[-1] == 0.0
    assert GRID[1] == 0.95


def test_tiny_gaps_are_powers_of_ten_down_to_the_twentieth():
    assert len(TINY_GAPS) == 19
    np.testing.assert_allclose(np.log10(TINY_GAPS), -np.arange(2.0, 21.0), atol=1e-12)
    assert TINY_GAPS[0] == 0.01
    assert TINY_GAPS[-1] == 1e-20


def test_all_gaps_are_both_grids_once_and_downwards():
    gaps = all_gaps()
    assert set(gaps) == {*GRID, *TINY_GAPS}
    assert len(gaps) == 40
    assert (np.diff(gaps) < 0).all()
    assert (gaps[0], gaps[-1]) == (1.0, 0.0)


def test_dof_is_taken_literally_at_lam_0_a_half_and_095():
    assert LITERAL == (1.0, 0.5, 0.05)
    assert set(LITERAL) < set(GRID)


@pytest.fixture(
    scope="module",
    params=itertools.product(["machine", "slump"], ["paper", "printed"]),
    ids="-".join,
)
def case(request, toy_home):
    """Under one protocol, whatever that of the setup is."""
    name, protocol = request.param
    setup = toy_setup(protocol={"paper": "printed", "printed": "paper"}[protocol])
    rows = curves(setup, str(toy_home), name=name, width=WIDTH, fold=FOLD, protocol=protocol)
    table = pd.DataFrame(rows)
    assert set(table["protocol"]) == {protocol}
    setup = setup.under(protocol)
    data = task(setup, str(toy_home), name, FOLD)
    basis = fit_ncl(setup, data, WIDTH).basis_
    problem = Problem(
        basis.transform(data.X), data.Y, np.ones(len(data.X)), np.arange(0, 13, WIDTH)
    )
    literal = {gap: literal_fit(problem, gap, fit_intercept=False) for gap in all_gaps()}
    return table, data, basis.transform(data.X_test), literal


def column(table, name):
    """(gaps, outputs)"""
    return table.pivot(index="gap", columns="output", values=name).sort_index(ascending=False)


def compare(table, name, literal, value):
    expected = np.array([value(fit) for fit in literal.values()])
    np.testing.assert_allclose(column(table, name).to_numpy(), expected, rtol=1e-6, atol=1e-12)


def test_there_is_one_row_for_every_gap_and_output(case):
    table, data, _, _ = case
    assert len(table) == 40 * data.Y.shape[1]
    np.testing.assert_array_equal(column(table, "lam").index, all_gaps())
    np.testing.assert_array_equal(table["lam"], 1.0 - table["gap"])
    assert set(table["set"]) == {data.name}
    for name, value in {"width": 3, "members": 4, "fold": 2, "n_train": 32}.items():
        assert set(table[name]) == {value}


@pytest.mark.parametrize("part", ["train", "test"])
def test_errors_and_diversity_are_those_of_the_members(case, part):
    table, data, features, literal = case
    if part == "train":
        features = next(iter(literal.values())).problem.features
    target, prefix = (data.Y, "") if part == "train" else (data.Y_test, "test_")

    def split(fit):
        return ambiguity_decomposition(fit.predict_members(features), target)

    def mean_error_of_members(fit):
        return ((fit.predict_members(features) - target) ** 2).mean(axis=(0, 1))

    compare(table, f"{part}_error", literal, lambda fit: split(fit).ensemble_error)
    compare(table, f"{prefix}member_error", literal, mean_error_of_members)
    compare(table, f"{prefix}diversity", literal, lambda fit: split(fit).diversity)


def test_test_error_is_that_of_the_ensemble_on_held_out_rows(case):
    table, data, features, literal = case
    errors = [((fit.predict(features) - data.Y_test) ** 2).mean(axis=0) for fit in literal.values()]
    found = column(table, "test_error").to_numpy()
    np.testing.assert_allclose(found, np.array(errors), rtol=1e-6, atol=1e-12)


def test_columns_are_those_of_a_tidy_table(case):
    assert list(case[0]) == [
        *("set", "protocol", "width", "members", "fold", "output", "n_train", "gap", "lam"),
        *("dof", "literal_dof"),
        *("train_error", "member_error", "diversity"),
        *("test_error", "test_member_error", "test_diversity"),
    ]


def test_literal_degrees_of_freedom_are_theorem_5s_trace_at_three_gaps(case):
    table, _, _, literal = case
    known = table[table["literal_dof"].notna()]
    assert sorted(set(known["gap"])) == sorted(LITERAL)
    assert len(known) == len(LITERAL) * table["output"].nunique()
    expected = [literal[gap].dof for gap in known["gap"]]
    np.testing.assert_allclose(known["literal_dof"], expected, rtol=1e-9)


@pytest.fixture
def measured_and_doubled(toy_home, monkeypatch):
    """Rows of one fold, and the same with every formula of the spectrum doubled."""

    def rows():
        return pd.DataFrame(curves(toy_setup(), str(toy_home), "slump", WIDTH, FOLD, "paper"))

    plain = rows()
    for name in ("train_error", "member_error", "diversity", "dof"):
        formula = getattr(Spectrum, name)
        monkeypatch.setattr(
            Spectrum, name, lambda self, *a, formula=formula, **k: 2.0 * formula(self, *a, **k)
        )
    with pytest.warns(PrecisionWarning, match="where the fit claims"):
        return plain, rows()


def test_errors_and_diversity_are_measured_and_not_taken_from_formulas(measured_and_doubled):
    plain, doubled = measured_and_doubled
    np.testing.assert_allclose(doubled["dof"], 2.0 * plain["dof"])
    same = [name for name in plain if name != "dof"]
    pd.testing.assert_frame_equal(doubled[same], plain[same])


def test_degrees_of_freedom_are_the_trace_of_the_smoother(case):
    table, _, _, literal = case
    compare(
        table,
        "dof",
        literal,
        lambda fit: np.full(len(fit.coef), np.trace(fit.smoothing)),
    )
    ends = table.set_index("gap")["dof"]
    np.testing.assert_allclose(ends[1.0], WIDTH, rtol=1e-9)
    np.testing.assert_allclose(ends[0.0], 12.0, rtol=1e-9)


def test_pieces_are_one_for_each_set_width_and_fold(toy_home):
    study = toy_study(toy_home)
    pieces = pieces_of(study, ("machine", "slump"), (2, 3))
    assert [dict(piece.choice) for piece in pieces] == [
        {"name": name, "width": width, "fold": fold, "protocol": "paper"}
        for name in ("machine", "slump")
        for width in (2, 3)
        for fold in range(5)
    ]


@pytest.mark.parametrize("own", ["paper", "printed"])
def test_pieces_follow_the_study_or_another_protocol(toy_home, own):
    study = toy_study(toy_home, protocol=own)

    def protocols(*given):
        return {dict(piece.choice)["protocol"] for piece in pieces_of(study, ("slump",), *given)}

    assert protocols((3,)) == {own}
    assert protocols((3,), "paper") == {"paper"}
    assert protocols((3,), "printed") == {"printed"}


def test_protocols_differ_and_are_checked(toy_home):
    tables = [
        pd.DataFrame(curves(toy_setup(), str(toy_home), "slump", WIDTH, FOLD, protocol))
        for protocol in ("paper", "printed")
    ]
    assert not np.allclose(tables[0]["test_error"], tables[1]["test_error"])
    with pytest.raises(ValueError, match=r"protocol='else' is unknown"):
        curves(toy_setup(), str(toy_home), "slump", WIDTH, FOLD, "else")


def test_larger_sets_start_first(toy_home):
    study = toy_study(toy_home, sets=None, max_rows=None)
    small, large = (pieces_of(study, (name,), (3,))[0] for name in ("andromeda", "kinematics"))
    assert large.effort > small.effort > 0
