"""Figures 1, 3, 4 and 5: tables from a run, pictures and verdicts from tables alone."""

import itertools

import numpy as np
import pandas as pd
import pytest
from toy_data import toy_study

from negcorr.experiments import figure1, figure3, figure4, figure5
from negcorr.experiments.curves import GRID, TINY_GAPS

FIGURES = [figure1, figure3, figure4, figure5]
COLUMNS = {
    "set",
    "width",
    "members",
    "fold",
    "output",
    "gap",
    "lam",
    "dof",
    "train_error",
    "test_error",
}
FIVE = ("machine", "california", "wisconsin", "housing", "triazines")


def constructed(sets=(*FIVE, "kinematics"), widths=(10,), folds=5, gaps=GRID, **columns):
    """A table whose columns are functions of set, λ (or gap) and fold."""
    rows = []
    for name, width, fold, gap in itertools.product(sets, widths, range(folds), gaps):
        row = {"set": name, "width": width, "members": 1000 // width, "fold": fold, "output": 0}
        row |= {"gap": gap, "lam": 1.0 - gap}
        for column, function in columns.items():
            row[column] = function(name, gap if gaps != GRID else 1.0 - gap, fold)
        rows.append(row)
    return pd.DataFrame(rows)


def verdicts(module, table):
    return [claim.holds for claim in module.claims(table)]


def visible(figure):
    return [axes for axes in figure.axes if axes.get_visible()]


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("module", FIGURES, ids=lambda module: module.NAME)
def test_modules_say_what_they_are(module):
    assert module.__name__ == f"negcorr.experiments.{module.NAME}"
    assert module.TITLE.startswith(f"Figure {module.NAME[-1]}: ")
    assert module.CAPTION.endswith(".")


# ---------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy(toy_home):
    return toy_study(toy_home, sets=("machine", "slump", "kinematics"))


@pytest.mark.parametrize(
    ("module", "sets", "widths", "gaps"),
    [
        (figure1, ["machine", "kinematics"], [3], GRID),
        (figure3, ["kinematics"], [3], (*TINY_GAPS, 0.0)),
        (figure4, ["machine", "kinematics"], [2, 3, 4], GRID),
        (figure5, ["machine", "kinematics"], [2, 3, 4], GRID),
    ],
    ids=lambda value: getattr(value, "NAME", None),
)
def test_a_run_has_a_row_for_everything_that_is_drawn(toy, module, sets, widths, gaps):
    table = module.run(toy)
    assert set(table) >= COLUMNS
    assert list(dict.fromkeys(table["set"])) == sets
    found = set(zip(table["set"], table["width"], table["fold"], table["gap"], strict=True))
    assert found == set(itertools.product(sets, widths, range(5), gaps))
    assert len(table) == len(found)
    assert list(table.index) == list(range(len(table)))
    assert table.notna().all(axis=None)
    assert len(visible(module.plot(table))) == len(sets)
    assert all(isinstance(claim.holds, bool | np.bool_) for claim in module.claims(table))


def test_figures_share_what_has_been_computed(toy):
    assert set(figure1.pieces(toy)) < set(figure4.pieces(toy)) == set(figure5.pieces(toy))
    assert set(figure3.pieces(toy)) < set(figure1.pieces(toy))


def test_the_theorems_hold_on_toy_data(toy):
    assert verdicts(figure4, figure4.run(toy)) == [True, True]
    assert verdicts(figure5, figure5.run(toy)) == [True]


# ---------------------------------------------------------------------------------------
# Figure 1
# ---------------------------------------------------------------------------------------


def falling(name, lam, fold):
    return 0.9 - 0.5 * lam + 0.01 * fold


def turning(name, lam, fold):
    """Rises at the end, on Kinematics excepted."""
    return 1.0 - 0.5 * lam + (0.1 if name == "kinematics" else 0.6) * lam**4 + 0.01 * fold


GOOD_1 = {"train_error": falling, "test_error": turning}


def test_figure_1_draws_means_over_folds_in_one_panel_for_each_set():
    table = constructed(**GOOD_1)
    figure = figure1.plot(table)
    grid = visible(figure)
    assert [axes.get_title() for axes in grid] == [
        "Machine",
        "California",
        "Wisconsin",
        "Housing",
        "Triazines",
        "Kinematics",
    ]
    assert {axes.get_xlim() for axes in grid} == {(0.0, 1.02)}
    assert {axes.get_ylim() for axes in grid} == {(0.0, 1.75)}
    assert legend_of(figure) == ["training error", "test error"]
    assert "λ" in figure.get_supxlabel()
    assert "squared error" in figure.get_supylabel()
    train, test = grid[5].lines
    lams = np.linspace(0, 1, 21)
    np.testing.assert_allclose(train.get_xdata(), lams, atol=1e-12)
    np.testing.assert_allclose(train.get_ydata(), 0.92 - 0.5 * lams)
    np.testing.assert_allclose(test.get_ydata(), 1.02 - 0.5 * lams + 0.1 * lams**4)
    assert train.get_color() != test.get_color()


def test_figure_1_marks_what_lies_beyond_its_axis():
    def exploding(name, lam, fold):
        return 321.0 if name == "machine" and lam == 1.0 else turning(name, lam, fold)

    figure = figure1.plot(constructed(train_error=falling, test_error=exploding))
    texts = [[text.get_text() for text in axes.texts] for axes in visible(figure)]
    assert texts == [["321"], [], [], [], [], []]


def test_figure_1_draws_fewer_sets_and_a_single_fold():
    figure = figure1.plot(constructed(sets=("slump",), folds=1, **GOOD_1))
    assert [axes.get_title() for axes in visible(figure)] == ["Slump"]


def test_claims_of_figure_1_hold_where_they_should():
    assert verdicts(figure1, constructed(**GOOD_1)) == [True, True]
    assert verdicts(figure1, constructed(sets=FIVE, **GOOD_1)) == [True, True]
    assert verdicts(figure1, constructed(sets=("kinematics",), **GOOD_1)) == [True, True]


def test_a_gap_that_shrinks_on_one_set_is_seen():
    def wrong(name, lam, fold):
        return falling(name, lam, fold) + 0.7 * lam**4 * (name == "housing")

    first, second = figure1.claims(constructed(train_error=wrong, test_error=turning))
    assert (first.holds, second.holds) == (False, True)
    assert "5 of 6" in first.evidence
    assert "Housing" in first.evidence


def test_a_gap_that_is_largest_before_the_end_is_seen():
    def wrong(name, lam, fold):
        return turning(name, lam, fold) + 2.0 * (name == "machine") * (0.4 < lam < 0.6)

    assert verdicts(figure1, constructed(train_error=falling, test_error=wrong))[0] is False


def test_a_gap_that_wavers_but_grows_is_told_and_no_failure():
    def wavering(name, lam, fold):
        return turning(name, lam, fold) + 0.1 * (name == "machine") * (0.44 < lam < 0.46)

    claim = figure1.claims(constructed(train_error=falling, test_error=wavering))[0]
    assert claim.holds
    assert "on 5, not on Machine" in claim.evidence


def test_a_test_error_that_does_not_rise_is_seen():
    def wrong(name, lam, fold):
        return 1.0 - 0.4 * lam if name == "triazines" else turning(name, lam, fold)

    claim = figure1.claims(constructed(train_error=falling, test_error=wrong))[1]
    assert not claim.holds
    assert "it rises on 4 of 6; not on Triazines, Kinematics" in claim.evidence


def test_a_test_error_that_rises_on_kinematics_is_seen():
    def wrong(name, lam, fold):
        return turning("machine", lam, fold)

    claim = figure1.claims(constructed(train_error=falling, test_error=wrong))[1]
    assert not claim.holds
    assert "it rises on 6 of 6" in claim.evidence


# ---------------------------------------------------------------------------------------
# Figure 3
# ---------------------------------------------------------------------------------------


def tiny(best, at_one=0.4001):
    """Test errors with a minimum at one gap, and another value at λ = 1."""

    def error(name, gap, fold):
        if gap == 0.0:
            return at_one + 0.01 * fold
        return 0.4 + 0.001 * abs(np.log10(gap / best)) + 0.01 * fold

    return constructed(("kinematics",), gaps=(*TINY_GAPS, 0.0), test_error=error)


def test_figure_3_draws_the_gaps_and_the_line_at_lam_1():
    (axes,) = visible(figure3.plot(tiny(1e-12)))
    curve = axes.lines[0]
    order = np.argsort(curve.get_xdata())[::-1]
    np.testing.assert_allclose(curve.get_xdata()[order], TINY_GAPS)
    decades = np.abs(np.arange(2, 21) - 12)
    np.testing.assert_allclose(curve.get_ydata()[order], 0.42 + 0.001 * decades)
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose(dashed.get_ydata(), 0.4201)
    assert axes.get_xscale() == "log"
    left, right = axes.get_xlim()
    assert left > 1e-2 > 1e-20 > right
    assert axes.get_ylim()[0] == 0.0
    assert "1 − λ" in axes.get_xlabel()
    assert "test error" in axes.get_ylabel()
    assert any("-12" in text.get_text() for text in axes.texts)


def test_the_inset_of_figure_3_has_differences_from_lam_1_in_per_cent():
    (axes,) = visible(figure3.plot(tiny(1e-12)))
    (inset,) = axes.child_axes
    x, y = inset.lines[0].get_xdata(), inset.lines[0].get_ydata()
    assert x.max() == pytest.approx(1e-9)
    at = int(np.argmin(np.abs(x - 1e-14)))
    within = [100 * (0.402 + 0.01 * f - 0.4001 - 0.01 * f) / (0.4001 + 0.01 * f) for f in range(5)]
    assert y[at] == pytest.approx(np.mean(within))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (tiny(1e-12), [True, True]),
        (tiny(1e-11), [True, True]),
        (tiny(1e-13), [True, True]),
        (tiny(1e-10), [True, False]),
        (tiny(1e-5), [True, False]),
        (tiny(1e-12, at_one=0.39), [False, False]),
    ],
)
def test_claims_of_figure_3(table, expected):
    assert verdicts(figure3, table) == expected


# ---------------------------------------------------------------------------------------
# Figures 4 and 5
# ---------------------------------------------------------------------------------------

WIDTHS = (5, 10, 20)


def convex(name, lam, fold):
    return 5.0 + 100.0 * lam + 50.0 * lam**2 + fold


@pytest.mark.parametrize(
    ("module", "column", "limits", "scale"),
    [(figure4, "dof", (3, 1500), "log"), (figure5, "train_error", (0, 1.05), "linear")],
    ids=["figure4", "figure5"],
)
def test_there_is_a_panel_for_each_set_with_a_line_for_each_width(module, column, limits, scale):
    figure = module.plot(constructed(widths=WIDTHS, **{column: convex}))
    grid = visible(figure)
    assert len(grid) == 6
    assert legend_of(figure) == ["H = 5, M = 200", "H = 10, M = 100", "H = 20, M = 50"]
    assert "λ" in figure.get_supxlabel()
    assert figure.get_supylabel()
    for axes in grid:
        assert axes.get_ylim() == limits
        assert axes.get_xlim() == (0.0, 1.02)
        assert axes.get_yscale() == scale
        assert len(axes.lines) == 3
        assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 3
        for line in axes.lines:
            lams = np.linspace(0, 1, 21)
            np.testing.assert_allclose(line.get_ydata(), 7.0 + 100 * lams + 50 * lams**2)


def on_one_curve(function, good):
    def both(name, lam, fold):
        return (function if (name, fold) == ("housing", 3) else good)(name, lam, fold)

    return both


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (convex, [True, True]),
        (lambda name, lam, fold: 5.0 + 100.0 * np.sqrt(lam), [True, False]),
        (lambda name, lam, fold: 100.0 - 90.0 * lam + 40.0 * lam**2, [False, True]),
        (lambda name, lam, fold: 7.0, [False, False]),
        (lambda name, lam, fold: 5.0 + max(0.0, lam - 0.1) ** 2, [False, False]),
    ],
    ids=["good", "concave", "falling", "flat", "flat at first"],
)
def test_claims_of_figure_4_see_a_single_wrong_curve(curve, expected):
    table = constructed(widths=WIDTHS, dof=on_one_curve(curve, convex))
    assert verdicts(figure4, table) == expected
    for claim in figure4.claims(table):
        assert ("90 of 90" in claim.evidence) == bool(claim.holds)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (falling, [True]),
        (lambda name, lam, fold: 0.5, [False]),
        (lambda name, lam, fold: 0.9 - 0.5 * lam + 0.6 * lam**8, [False]),
    ],
    ids=["good", "flat", "rising at the end"],
)
def test_claims_of_figure_5_see_a_single_wrong_curve(curve, expected):
    table = constructed(widths=WIDTHS, train_error=on_one_curve(curve, falling))
    assert verdicts(figure5, table) == expected


@pytest.mark.parametrize("module", [figure4, figure5], ids=["figure4", "figure5"])
def test_verdicts_do_not_depend_on_the_order_of_rows(module):
    table = constructed(widths=WIDTHS, dof=convex, train_error=falling)
    mixed = table.sample(frac=1.0, random_state=0)
    assert module.claims(mixed) == module.claims(table)
