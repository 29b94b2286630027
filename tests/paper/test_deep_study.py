"""Figures 7 and 8 and their companions: pictures and verdicts from tables alone."""

import itertools

import numpy as np
import pytest
from toy_data import LAMS, deep_rows, toy_setup, toy_study

from negcorr.paper.beyond import dof_per_epoch, held_out_error
from negcorr.paper.deep_study import epochs_shown, falls, monotone_claims, trained_on
from negcorr.paper.figures import figure7, figure8
from negcorr.paper.page import checkable
from negcorr.paper.protocol import SIX_SETS
from negcorr.paper.setup import FULL, Setup

MODULES = [figure7, figure8, dof_per_epoch, held_out_error]
OWN = {
    "figure7": ["dof", "dof_std_error"],
    "figure8": ["train_error", "member_error"],
    "dof-per-epoch": ["dof", "dof_std_error"],
    "held-out-error": ["test_error", "test_member_error"],
}
COMMON = ["set", "depth", "fold", "epoch", "lam", "rate", "n_train", "trained_on"]

#: A set that is interpolated, and one that is not.
SETS = ("machine", "wisconsin")


def rising(name, depth, fold, epoch, lam):
    """From a tenth of the rows to nearly all of them, later in training sooner."""
    return (10.0 + depth) * (1 + epoch / 1000) * (1 + lam) + 0.1 * fold


def falling(name, depth, fold, epoch, lam):
    return 0.4 * (2 - epoch / 1000) * (1.1 - lam) * (1 + 0.01 * fold) / depth


def valley(name, depth, fold, epoch, lam):
    """Lowest at λ = 0.5, and twice as high at the ends."""
    return (1.0 + 4.0 * (lam - 0.5) ** 2) * (1 + 0.1 * fold)


VALUES = {"dof": rising, "train_error": falling, "test_error": valley}


def table_for(module, sets=SETS, **changes):
    columns = {key: VALUES[key] for key in VALUES if key == OWN[module.NAME][0]}
    epochs = (3, 10, 30) if module is dof_per_epoch else (100, 1000)
    return deep_rows(sets, **{"epochs": epochs, **columns, **changes})


def axes_of(figure):
    return [axes for axes in figure.axes if axes.get_visible()]


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def each(*modules):
    return pytest.mark.parametrize("module", modules, ids=lambda module: module.NAME)


EVERY = each(*MODULES)


# ---------------------------------------------------------------------------------------
# What they are, and runs
# ---------------------------------------------------------------------------------------


@EVERY
def test_modules_say_what_they_are(module):
    folder = "figures" if module.NAME.startswith("figure") else "beyond"
    assert module.__name__ == f"negcorr.paper.{folder}.{module.NAME.replace('-', '_')}"
    assert module.CAPTION.endswith(".")
    assert module.SETS == SIX_SETS
    if module.NAME.startswith("figure"):
        assert module.TITLE.startswith(f"Figure {module.NAME[-1]}: ")


def test_the_caption_tells_of_the_size_that_is_run():
    pytest.importorskip("torch")
    from negcorr.paper.deep_training import EPS, FULL_DEEP

    for words in (
        f"{FULL_DEEP.members} networks with {FULL_DEEP.width} nodes per hidden layer",
        f"at most {FULL_DEEP.stops[-1]} epochs",
        f"ε = {EPS:g} for targets of variance 1",
        "the same two probes",
    ):
        assert words in figure7.CAPTION
    assert FULL_DEEP.probes == 2


@pytest.mark.usefixtures("tiny_deep")
def test_a_run_has_a_row_for_everything_that_is_drawn(toy_home):
    study = toy_study(toy_home, sets=("machine", "slump", "triazines"))
    for module in MODULES:
        table = module.run(study)
        assert list(table) == [*COMMON, *OWN[module.NAME]]
        found = list(table[COMMON[:5]].itertuples(index=False, name=None))
        sets, epochs, lams = ("machine", "triazines"), (1, 2), (0.0, 0.5, 1.0)
        assert found == list(itertools.product(sets, (1, 2), range(5), epochs, lams))
        assert list(table.index) == list(range(len(table)))
        assert table.notna().all(axis=None)
        assert len(axes_of(module.plot(table))) == 2
        assert all(type(claim.holds) is bool for claim in module.claims(table))
        assert "Trained on a CPU (torch " in module.remarks(table)
        assert module.pieces(study) == figure7.pieces(study)


def test_figures_have_two_epochs_and_the_companion_has_few_lambda(toy_home, tiny_deep, monkeypatch):
    size = tiny_deep.DeepSize(members=2, depths=(1,), stops=(1, 2, 3, 10), steps=10)
    monkeypatch.setattr(tiny_deep, "QUICK_DEEP", size)
    study = toy_study(toy_home, sets=("machine",))
    for module in (figure7, figure8, held_out_error):
        table = module.run(study)
        assert set(table["epoch"]) == {1, 10}
        assert sorted(set(table["lam"])) == [k / 10 for k in range(11)]
    table = dof_per_epoch.run(study)
    assert set(table["epoch"]) == {1, 2, 3, 10}
    assert sorted(set(table["lam"])) == [0.0, 0.5, 0.9, 1.0]


@pytest.mark.parametrize(
    ("epochs", "shown"),
    [
        ((3, 10, 30, 100, 300, 1000), (100, 1000)),
        ((1000, 100), (100, 1000)),
        ((3, 10, 30), (3, 30)),
        ((1, 2), (1, 2)),
        ((50, 120, 1000), (120, 1000)),
        ((7,), (7, 7)),
    ],
)
def test_epochs_shown_are_the_last_and_that_nearest_to_a_tenth(epochs, shown):
    found = epochs_shown(deep_rows(["machine"], epochs=epochs))
    assert found == shown
    assert all(type(epoch) is int for epoch in found)


def test_where_and_how_networks_were_trained_is_told_once():
    table = deep_rows(["machine", "housing"])
    table.loc[table["depth"] == 5, "rate"] = 0.1
    table.loc[table["set"] == "housing", "rate"] = 1e-6
    table.loc[table["fold"] == 4, "trained_on"] = "two hands"
    assert trained_on(table) == (
        "Trained on an abacus (torch 0), two hands. "
        "Initial learning rates chosen: machine 0.01, 0.1; housing 1e-06.\n"
    )


def test_errors_below_the_panels_are_told_with_the_lowest_of_each_set():
    def error(name, depth, fold, epoch, lam):
        lowest = {"machine": 0.2, "wisconsin": 3e-14, "triazines": 2e-5}[name]
        return lowest if lam == 1.0 and depth == 5 else 0.3

    table = table_for(figure8, ("machine", "wisconsin", "triazines"), train_error=error)
    assert figure8.remarks(table).endswith("down to: Wisconsin 3e-14, Triazines 2e-05.\n")
    assert figure8.remarks(table_for(figure8)) == trained_on(table_for(figure8))


# ---------------------------------------------------------------------------------------
# Pictures
# ---------------------------------------------------------------------------------------


@EVERY
def test_there_is_a_panel_for_each_set_with_its_title(module):
    figure = module.plot(table_for(module, ("machine", "wisconsin", "triazines", "kinematics")))
    titles = [axes.get_title() for axes in axes_of(figure)]
    assert titles == ["Machine", "Wisconsin", "Triazines", "Kinematics"]
    assert {axes.get_yscale() for axes in axes_of(figure)} == {"log"}
    figure.draw_without_rendering()


@each(figure7, figure8, held_out_error)
def test_there_is_a_line_for_each_depth_and_epoch(module):
    figure = module.plot(table_for(module))
    expected = [f"{depth} layers, {epoch} epochs" for depth in (3, 5) for epoch in (100, 1000)]
    assert legend_of(figure) == expected
    assert figure.get_supxlabel() == "diversity parameter λ"
    assert figure.get_supylabel().endswith("(logarithmic)")
    for axes in axes_of(figure):
        assert axes.get_xscale() == "linear"
        lines = {line.get_label(): line for line in axes.get_lines()}
        assert set(expected) <= set(lines)
        for (depth, epoch), label in zip(
            itertools.product((3, 5), (100, 1000)), expected, strict=True
        ):
            name = {"Machine": "machine", "Wisconsin": "wisconsin"}[axes.get_title()]
            value = VALUES[OWN[module.NAME][0]]
            means = [np.mean([value(name, depth, f, epoch, lam) for f in range(5)]) for lam in LAMS]
            np.testing.assert_allclose(lines[label].get_xdata(), LAMS)
            np.testing.assert_allclose(lines[label].get_ydata(), means)
            assert (lines[label].get_linestyle() == "-") == (epoch == 1000)
        assert len({lines[label].get_color() for label in expected}) == 2


def test_the_number_of_rows_is_a_line_of_figure_7_and_no_curve():
    figure = figure7.plot(table_for(figure7, n_train=77))
    for axes in axes_of(figure):
        levels = [line for line in axes.get_lines() if list(line.get_ydata()) == [77, 77]]
        assert len(levels) == 1
        assert len(axes.get_lines()) == 5
        low, high = axes.get_ylim()
        assert low < 77 < high


def test_panels_of_figure_8_share_a_scale_and_others_have_their_own():
    assert len({axes.get_ylim() for axes in axes_of(figure8.plot(table_for(figure8)))}) == 1

    def uneven(name, *where):
        return rising(name, *where) * (50.0 if name == "wisconsin" else 1.0)

    figure = figure7.plot(table_for(figure7, dof=uneven))
    assert len({axes.get_ylim() for axes in axes_of(figure)}) == 2


def test_folds_of_the_held_out_error_are_brought_to_one_mean():
    def uneven(name, depth, fold, epoch, lam):
        return 10.0**fold * (1.0 + lam)

    figure = held_out_error.plot(table_for(held_out_error, test_error=uneven))
    axes = axes_of(figure)[0]
    for line in axes.get_lines():
        np.testing.assert_allclose(line.get_ydata(), 2222.2 * (1.0 + np.array(LAMS)))
    # All folds have the same shape: bands have no width.
    for band in axes.collections:
        heights = band.get_paths()[0].vertices[:, 1]
        assert max(min(abs(heights[k] - 2222.2 * (1 + lam)) for lam in LAMS) for k in range(9)) < 1


def test_degrees_of_freedom_are_drawn_over_epochs_at_the_smallest_depth():
    table = table_for(dof_per_epoch, lams=(0.0, 0.5, 0.9, 1.0), n_train=77)
    figure = dof_per_epoch.plot(table)
    assert legend_of(figure) == ["λ = 0", "λ = 0.5", "λ = 0.9", "λ = 1"]
    assert figure.get_supxlabel() == "epochs"
    assert figure.get_supylabel() == "degrees of freedom"
    for axes in axes_of(figure):
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert len({(line.get_color(), line.get_linestyle()) for line in axes.get_lines()}) == 5
        for line, lam in zip(axes.get_lines(), (0.0, 0.5, 0.9, 1.0), strict=False):
            values = [
                np.mean([rising("", 3, fold, epoch, lam) for fold in range(5)])
                for epoch in (3, 10, 30)
            ]
            np.testing.assert_allclose(line.get_xdata(), (3, 10, 30))
            np.testing.assert_allclose(line.get_ydata(), values)
        assert list(axes.get_lines()[4].get_ydata()) == [77, 77]


# ---------------------------------------------------------------------------------------
# Falls
# ---------------------------------------------------------------------------------------


def test_falls_are_differences_of_means_over_their_standard_errors():
    # Means 1, 3, 2; standard errors 1, 0, 1/√2 of two folds each.
    wide = np.array([[0.0, 3.0, 2.0 - np.sqrt(0.5)], [2.0, 3.0, 2.0 + np.sqrt(0.5)]])
    expected = np.zeros((3, 3))
    expected[0, 1] = -2.0 / 1.0
    expected[0, 2] = -1.0 / np.sqrt(1.0 + 0.5)
    expected[1, 2] = 1.0 / np.sqrt(0.5)
    np.testing.assert_allclose(falls(wide), expected, atol=1e-14)
    np.testing.assert_allclose(falls(wide, -1.0), -expected, atol=1e-14)


def test_falls_within_folds_are_over_the_standard_error_of_differences():
    # Differences from the first point: 2 and 4, then 1 and 1, which have no spread.
    wide = np.array([[0.0, -2.0, 1.0], [10.0, 6.0, 11.0]])
    steps = falls(wide, within_folds=True)
    assert steps[0, 1] == pytest.approx(3.0 / (np.std([2.0, 4.0], ddof=1) / np.sqrt(2.0)))
    assert steps[0, 2] == -np.inf
    assert falls(wide)[0, 1] < 1.0


def test_a_fall_between_any_two_points_counts_not_only_neighbours():
    wide = np.array([[10.0, 9.0, 8.0, 7.0]]) + np.array([[-1.0], [1.0]])
    steps = falls(wide)
    assert steps.max() == steps[0, 3] == pytest.approx(3.0 / np.sqrt(2.0))
    assert steps[0, 1] == pytest.approx(1.0 / np.sqrt(2.0))


def test_a_fall_without_any_spread_is_certain_unless_it_is_rounding():
    steps = falls(np.array([[2.0, 1.0, 1.0 - 1e-15, 3.0]] * 5))
    assert steps[0].tolist() == [0.0, np.inf, np.inf, -np.inf]
    assert steps[1].tolist() == [0.0, 0.0, 0.0, -np.inf]
    assert not falls(np.zeros((5, 3))).any()


# ---------------------------------------------------------------------------------------
# Verdicts
# ---------------------------------------------------------------------------------------

MONOTONE = [(figure7, "dof", 1.0), (figure8, "train_error", -1.0)]


def verdicts(module, table):
    return [claim.holds for claim in module.claims(table)]


@pytest.mark.parametrize(("module", "column", "sign"), MONOTONE)
def test_curves_without_a_step_back_hold(module, column, sign):
    claims = module.claims(table_for(module))[:2]
    assert [claim.holds for claim in claims] == [True, True]
    assert "after 1000 epochs" in claims[0].statement
    assert "after 100 epochs" in claims[1].statement
    # One set of two at two depths, then both sets.
    assert claims[0].evidence.startswith("2 of 2 curves; ")
    assert claims[1].evidence.startswith("4 of 4 curves; ")
    assert all("is 0.0 standard errors of the two means (0.0" in claim.evidence for claim in claims)
    assert not any(claim.about_paper for claim in claims)


def planted(size, epoch, name="machine", sign=1.0):
    """Curves that rise, but for a step back of so many standard errors in one of them."""

    def value(set_, depth, fold, when, lam):
        noise = [-2.0, -1.0, 0.0, 1.0, 2.0][fold] * np.sqrt(2.0)  # of standard error 1
        rise = 100.0 * lam
        if (set_, depth, when) == (name, 5, epoch) and lam == 0.75:
            # Two points of the same error: their difference has √2 times as much.
            rise = 50.0 - size * np.sqrt(2.0)
        return 1000.0 + sign * (rise + noise)

    return value


@pytest.mark.parametrize(("module", "column", "sign"), MONOTONE)
@pytest.mark.parametrize(("epoch", "which"), [(1000, 0), (100, 1)])
def test_a_step_back_of_more_than_two_standard_errors_does_not_hold(
    module, column, sign, epoch, which
):
    for size, holds in ((1.9, True), (2.1, False)):
        table = table_for(module, **{column: planted(size, epoch, sign=sign)})
        claims = module.claims(table)[:2]
        assert claims[which].holds == holds
        assert f"any two λ is {size} standard errors of the two means" in claims[which].evidence
        assert claims[1 - which].holds
        total = (2, 4)[which]
        assert claims[which].evidence.startswith(f"{total - (not holds)} of {total} curves")


@pytest.mark.parametrize(("module", "column", "sign"), MONOTONE)
def test_the_sign_matters(module, column, sign):
    wrong = table_for(module, **{column: planted(0.0, 1000, sign=-sign)})
    claims = module.claims(wrong)[:2]
    assert [claim.holds for claim in claims] == [False, False]
    assert claims[0].evidence.startswith("0 of 2 curves")


@pytest.mark.parametrize(("module", "column", "sign"), MONOTONE)
def test_sets_that_are_interpolated_may_step_back_at_the_end_only(module, column, sign):
    for epoch, expected in ((1000, [True, True]), (100, [True, False])):
        value = planted(30.0, epoch, name="wisconsin", sign=sign)
        assert verdicts(module, table_for(module, **{column: value}))[:2] == expected


@pytest.mark.parametrize(("module", "column", "sign"), MONOTONE)
def test_flat_curves_do_not_increase(module, column, sign):
    table = table_for(module, **{column: lambda *_: 5.0})
    claims = module.claims(table)[:2]
    assert [claim.holds for claim in claims] == [False, False]
    assert [claim.evidence[:6] for claim in claims] == ["0 of 2", "0 of 4"]


@pytest.mark.parametrize(("module", "column", "sign"), MONOTONE)
def test_a_network_that_diverged_does_not_pass(module, column, sign):
    table = table_for(module)
    where = (table["set"] == "machine") & (table["fold"] == 2) & (table["lam"] == 0.5)
    table.loc[where, column] = np.nan
    claims = module.claims(table)[:2]
    assert [claim.holds for claim in claims] == [False, False]
    assert all("nan standard errors of" in claim.evidence for claim in claims)
    assert all("(nan of" in claim.evidence for claim in claims)


def test_a_network_that_diverged_at_one_lambda_passes_nowhere():
    table = table_for(figure7, ("wisconsin", "triazines"), dof=near(0.9))
    assert figure7.claims(table)[-1].holds
    where = (table["fold"] == 2) & (table["lam"] == 0.5) & (table["set"] == "wisconsin")
    table.loc[where, "dof"] = np.nan
    assert not figure7.claims(table)[-1].holds
    for module, column in ((dof_per_epoch, "dof"), (held_out_error, "test_error")):
        table = table_for(module)
        assert all(verdicts(module, table))
        table.loc[(table["fold"] == 2) & (table["lam"] == 1.0), column] = np.nan
        assert not verdicts(module, table)[-1]


def test_a_statement_without_any_curves_is_not_made():
    table = table_for(figure7, ("wisconsin",))
    (claim,) = monotone_claims(table, "dof", 1.0, "It rises")
    assert claim.statement.startswith("It rises, up to two standard errors, after 100 epochs")


def near(share, at=0.0):
    """Degrees of freedom at a share of 100 rows, but for a λ of Triazines at the end."""

    def value(name, depth, fold, epoch, lam):
        if (name, epoch, lam) == ("triazines", 1000, at):
            return 100.0 * share
        return (90.0 if epoch == 1000 else 50.0) + lam + 0.01 * fold

    return value


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("share", "holds"), [(0.81, True), (0.79, False), (0.1, False)])
def test_interpolation_needs_four_fifths_of_the_rows_at_every_lambda(at, share, holds):
    table = table_for(figure7, ("machine", "wisconsin", "triazines"), dof=near(share, at))
    claim = figure7.claims(table)[2]
    assert claim.statement.startswith("Wisconsin and Triazines are interpolated at every λ")
    assert claim.holds == holds
    assert claim.about_paper
    assert "after 100 epochs: Wisconsin 0.50 to 0.51, Triazines 0.50 to 0.51;" in claim.evidence
    first = f"{share:.2f}" if at == 0.0 else "0.90"
    last = f"{share:.2f}" if at == 1.0 else "0.91"
    assert claim.evidence.endswith(f"Wisconsin 0.90 to 0.91, Triazines {first} to {last}")


def test_interpolation_is_told_only_of_sets_that_are_there():
    assert len(figure7.claims(table_for(figure7, ("machine", "housing")))) == 2
    (*_, claim) = figure7.claims(table_for(figure7, ("triazines",), dof=near(0.9)))
    assert claim.statement.startswith("Triazines is interpolated at every λ")
    assert "Wisconsin" not in claim.statement + claim.evidence


def test_degrees_of_freedom_grow_from_the_first_epoch_to_the_last():
    def doubled(name, depth, fold, epoch, lam):
        return 5.0 * (2.0 if epoch == 30 else 1.0) + fold

    table = table_for(dof_per_epoch, dof=doubled)
    (claim,) = dof_per_epoch.claims(table)
    assert claim.holds
    assert "from 3 to 30 epochs" in claim.statement
    assert claim.evidence == "20 of 20 curves; by 1.7 times in the median"  # (10 + 2)/(5 + 2)
    where = (table["set"] == "wisconsin") & (table["depth"] == 5) & (table["lam"] == 0.25)
    table.loc[where & (table["epoch"] == 30), "dof"] = 6.9
    (claim,) = dof_per_epoch.claims(table)
    assert not claim.holds
    assert claim.evidence.startswith("19 of 20 curves")


def test_estimates_below_zero_early_in_training_are_no_accident():
    def early(name, depth, fold, epoch, lam):
        return -0.5 if epoch == 3 and lam == 0.0 else float(epoch)

    (claim,) = dof_per_epoch.claims(table_for(dof_per_epoch, dof=early))
    assert claim.holds
    assert claim.evidence == "20 of 20 curves; by 10.0 times in the median"


@pytest.mark.parametrize(
    ("best", "expected"),
    [(0.5, [True, True]), (0.0, [False, True]), (1.0, [False, False])],
)
def test_the_best_lambda_lies_inside(best, expected):
    def error(name, depth, fold, epoch, lam):
        middle = best if (name, depth, epoch) == ("machine", 5, 1000) else 0.5
        return (1.0 + (lam - middle) ** 2) * (1 + 0.1 * fold)

    table = table_for(held_out_error, test_error=error)
    claims = held_out_error.claims(table)
    assert [claim.holds for claim in claims] == expected
    assert claims[0].evidence.endswith(
        f"best λ by depth: Machine 0.5, {best:g}, Wisconsin 0.5, 0.5"
    )
    assert claims[0].evidence.startswith(f"{3 + expected[0]} of 4 curves")
    assert claims[1].evidence == f"{3 + expected[1]} of 4 curves"
    assert all(claim.about_paper for claim in claims)


@pytest.mark.parametrize(("rise", "holds"), [(1.11, True), (1.09, False)])
def test_training_all_members_as_one_is_worse_by_a_tenth(rise, holds):
    def error(name, depth, fold, epoch, lam):
        last = {"machine": rise, "wisconsin": 3.0}[name] if epoch == 1000 else 0.1
        return {0.0: 2.0, 0.25: 1.5, 0.5: 1.0, 0.75: 1.05, 1.0: last}[lam]

    assert verdicts(held_out_error, table_for(held_out_error, test_error=error)) == [True, holds]


@EVERY
def test_quick_runs_leave_out_what_is_about_the_paper(module):
    found = module.claims(table_for(module))
    quick, full = checkable(toy_setup(), found), checkable(Setup(size=FULL), found)
    assert full == found
    assert (
        len(quick)
        == {"figure7": 2, "figure8": 2, "dof-per-epoch": 1, "held-out-error": 0}[module.NAME]
    )
    assert len(full) - len(quick) == {"figure7": 1, "held-out-error": 2}.get(module.NAME, 0)
