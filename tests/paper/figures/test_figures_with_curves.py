"""Figures 1, 3, 4 and 5: tables from a run, pictures and verdicts from tables alone."""

import itertools

import numpy as np
import pandas as pd
import pytest
from toy_data import toy_study

from negcorr.paper.curves import GRID, LITERAL, TINY_GAPS, curves
from negcorr.paper.figures import figure1, figure3, figure4, figure5

FIGURES = [figure1, figure3, figure4, figure5]
COLUMNS = {
    "set",
    "protocol",
    "width",
    "members",
    "fold",
    "output",
    "n_train",
    "gap",
    "lam",
    "dof",
    "literal_dof",
    "train_error",
    "member_error",
    "diversity",
    "test_error",
    "test_member_error",
    "test_diversity",
}
FIVE = ("machine", "california", "wisconsin", "housing", "triazines")


def constructed(sets=(*FIVE, "kinematics"), widths=(10,), folds=5, gaps=GRID, **columns):
    """A table whose columns are functions of set, λ (or gap) and fold."""
    rows = []
    for name, width, fold, gap in itertools.product(sets, widths, range(folds), gaps):
        row = {"set": name, "width": width, "members": 1000 // width, "fold": fold, "output": 0}
        row |= {"protocol": "paper", "gap": gap, "lam": 1.0 - gap}
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
    assert module.__name__ == f"negcorr.paper.figures.{module.NAME}"
    assert module.TITLE.startswith(f"Figure {module.NAME[-1]}: ")
    assert module.CAPTION.endswith(".")


# ---------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy(toy_home):
    return toy_study(toy_home, sets=("machine", "slump", "kinematics"))


@pytest.mark.parametrize(
    ("module", "sets", "widths", "gaps", "protocols"),
    [
        (figure1, ["machine", "kinematics"], [3], GRID, ["paper"]),
        (figure3, ["kinematics"], [3], (*TINY_GAPS, 0.0), ["paper", "printed"]),
        (figure4, ["machine", "kinematics"], [2, 3, 4], GRID, ["paper"]),
        (figure5, ["machine", "kinematics"], [2, 3, 4], GRID, ["paper"]),
    ],
    ids=lambda value: getattr(value, "NAME", None),
)
def test_a_run_has_a_row_for_everything_that_is_drawn(toy, module, sets, widths, gaps, protocols):
    table = module.run(toy)
    assert set(table) == COLUMNS
    assert list(dict.fromkeys(table["set"])) == sets
    assert list(dict.fromkeys(table["protocol"])) == protocols
    keys = ["protocol", "set", "width", "fold", "gap"]
    found = set(table[keys].itertuples(index=False, name=None))
    assert found == set(itertools.product(protocols, sets, widths, range(5), gaps))
    assert len(table) == len(found)
    assert list(table.index) == list(range(len(table)))
    assert table.drop(columns="literal_dof").notna().all(axis=None)
    assert (table["literal_dof"].notna() == table["gap"].isin(LITERAL)).all()
    assert len(visible(module.plot(table))) == len(sets)
    assert all(type(claim.holds) is bool for claim in module.claims(table))


def test_figures_share_what_has_been_computed(toy):
    first = set(figure1.pieces(toy))
    assert first < set(figure4.pieces(toy)) == set(figure5.pieces(toy))
    third = figure3.pieces(toy)
    assert len(third) == 10
    assert {dict(piece.choice)["protocol"] for piece in set(third) & first} == {"paper"}
    assert len(set(third) & first) == 5


def test_the_theorems_hold_on_toy_data(toy):
    assert verdicts(figure4, figure4.run(toy)) == [True, True, True]
    assert verdicts(figure5, figure5.run(toy)) == [True]


@pytest.mark.parametrize("own", ["paper", "printed"])
def test_figure_3_has_both_protocols_the_studys_own_first(toy_home, own):
    study = toy_study(toy_home, sets=("kinematics",), protocol=own)
    table = figure3.run(study)
    other = {"paper": "printed", "printed": "paper"}[own]
    assert list(dict.fromkeys(table["protocol"])) == [own, other]
    for protocol, part in table.groupby("protocol"):
        expected = pd.DataFrame(curves(study.setup, str(toy_home), "kinematics", 3, 0, protocol))
        expected = expected[expected["gap"].isin((*TINY_GAPS, 0.0))].reset_index(drop=True)
        ours = part[part["fold"] == 0].reset_index(drop=True)
        pd.testing.assert_frame_equal(ours, expected)
        assert part["fold"].is_monotonic_increasing
    assert f"under *{own}*" in figure3.claims(table)[1].evidence.split(";")[0]


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
    first, second = figure1.claims(constructed(**GOOD_1))
    assert (first.nature, first.about_paper) == ("finding", False)
    assert (second.nature, second.about_paper) == ("finding", True)
    assert second.statement == (
        "The test error rises from λ = 0.95 to λ = 1 on all sets but Kinematics."
    )


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


def test_only_the_last_step_counts_as_rising():
    def falls_at_last(name, lam, fold):
        """Rises from the middle on, but for the last step."""
        wrong = abs(lam - 0.5) + 1.0 - 0.2 * (lam > 0.97)
        return wrong if name == "machine" else turning(name, lam, fold)

    def rises_at_last(name, lam, fold):
        """Falls all the way, but for the last step."""
        right = 1.0 - 0.5 * lam + 0.1 * (lam > 0.97)
        return right if name == "machine" else turning(name, lam, fold)

    wrong = figure1.claims(constructed(train_error=falling, test_error=falls_at_last))[1]
    assert not wrong.holds
    assert "it rises on 4 of 6; not on Machine, Kinematics" in wrong.evidence
    right = figure1.claims(constructed(train_error=falling, test_error=rises_at_last))[1]
    assert right.holds
    assert "it rises on 5 of 6; not on Kinematics" in right.evidence


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


def both(first, second, order=("paper", "printed")):
    """Two such tables, each under a protocol."""
    parts = [part.assign(protocol=p) for part, p in zip((first, second), order, strict=True)]
    return pd.concat(parts, ignore_index=True)


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


def steep(table):
    """With a test error at λ = 0.99 that leaves room above the rest of the curve."""
    return table.assign(test_error=table["test_error"].where(table["gap"] != 0.01, 2.0))


@pytest.mark.parametrize(
    ("table", "insets"),
    [(steep(tiny(1e-12)), 1), (tiny(1e-12), 0), (steep(tiny(1e-9)), 1), (steep(tiny(1e-8)), 0)],
    ids=["room", "no room", "least at its end", "least outside"],
)
def test_figure_3_has_an_inset_where_there_is_room_and_something_to_see(table, insets):
    (axes,) = visible(figure3.plot(table))
    assert len(axes.child_axes) == insets


def test_the_inset_of_figure_3_has_differences_from_lam_1_in_per_cent():
    (axes,) = visible(figure3.plot(steep(tiny(1e-12))))
    (inset,) = axes.child_axes
    x, y = inset.lines[0].get_xdata(), inset.lines[0].get_ydata()
    assert x.max() == pytest.approx(1e-9)
    at = int(np.argmin(np.abs(x - 1e-14)))
    within = [100 * (0.402 + 0.01 * f - 0.4001 - 0.01 * f) / (0.4001 + 0.01 * f) for f in range(5)]
    assert y[at] == pytest.approx(np.mean(within))


@pytest.mark.parametrize("order", [("paper", "printed"), ("printed", "paper")])
def test_figure_3_draws_the_other_protocol_thin(order):
    own, other = order
    (axes,) = visible(figure3.plot(both(tiny(1e-12), tiny(1e-5, at_one=0.7), order)))
    lines = {line.get_label(): line for line in axes.lines}
    for protocol, best in ((own, 12), (other, 5)):
        line = lines[f"protocol {protocol}"]
        downwards = np.argsort(line.get_xdata())[::-1]
        decades = np.abs(np.arange(2, 21) - best)
        np.testing.assert_allclose(line.get_ydata()[downwards], 0.42 + 0.001 * decades)
    assert lines[f"protocol {other}"].get_linewidth() < lines[f"protocol {own}"].get_linewidth()
    np.testing.assert_allclose(lines["λ = 1"].get_ydata(), 0.4201)
    assert any("-12" in text.get_text() for text in axes.texts)
    assert set(legend_of(axes.figure)) == {f"protocol {own}", f"protocol {other}", "λ = 1"}


def test_claims_of_figure_3_are_about_the_first_protocol_and_tell_of_the_other():
    good, bad = tiny(1e-12), tiny(1e-5)
    assert verdicts(figure3, both(good, bad)) == [True, True]
    assert verdicts(figure3, both(bad, good)) == [True, False]
    claim = figure3.claims(both(good, bad, ("printed", "paper")))[1]
    assert claim.evidence == "under *printed* 1e-12; under *paper* 1e-05"
    assert figure3.claims(good)[1].evidence == "under *paper* 1e-12"


def test_figure_3_gives_the_difference_within_folds():
    def error(name, gap, fold):
        if gap == 0.0:
            return 0.4 * 2**fold
        if gap == 1e-12:
            return 0.4 * 2**fold * (1.1 if fold == 0 else 0.9)
        return 0.5 * 2**fold

    table = constructed(("kinematics",), gaps=(*TINY_GAPS, 0.0), test_error=error)
    first, second = figure3.claims(table)
    assert first.holds
    assert first.statement.startswith("The least mean test error is at a λ strictly below 1")
    # −10 % four times and +10 % once: mean −6, standard error √80/√5.
    assert "a difference of -6.0 ± 4.0 % within folds, lower on 4 of 5," in first.evidence
    assert first.evidence.endswith(
        "this figure alone would not prove it; best gap of each fold 0, 1e-12, 1e-12, 1e-12, 1e-12"
    )
    assert "2.2480 at 1 − λ = 1e-12, 2.4800 at λ = 1" in first.evidence
    assert (first.nature, first.about_paper) == ("finding", False)
    assert (second.nature, second.about_paper) == ("finding", True)


def test_figure_3_has_claims_of_a_single_fold():
    table = tiny(1e-12)
    first, second = figure3.claims(table[table["fold"] == 0])
    assert first.holds
    assert second.holds
    assert "lower on 1 of 1" in first.evidence


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


def with_literal(dof, off=0.0):
    """Columns of degrees of freedom, the literal ones off on one curve at λ = 0.5."""

    def literal(name, lam, fold):
        if round(1.0 - lam, 2) not in LITERAL:
            return np.nan
        wrong = (name, fold) == ("housing", 3) and lam == 0.5
        return dof(name, lam, fold) * (1.0 + off * wrong)

    return {"dof": dof, "literal_dof": literal}


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
    table = constructed(widths=WIDTHS, **with_literal(on_one_curve(curve, convex)))
    assert verdicts(figure4, table) == [*expected, True]
    for claim in figure4.claims(table)[:2]:
        assert ("90 of 90" in claim.evidence) == claim.holds


@pytest.mark.parametrize(
    ("off", "holds", "told"),
    [
        (0.0, True, "0e+00"),
        (1e-7, True, "1e-07"),
        (-1e-7, True, "1e-07"),
        (1e-5, False, "1e-05"),
        (-1e-5, False, "1e-05"),
    ],
)
def test_a_single_trace_that_is_not_theorem_5s_is_seen(off, holds, told):
    table = constructed(widths=WIDTHS, **with_literal(convex, off))
    claims = figure4.claims(table)
    assert [claim.holds for claim in claims] == [True, True, holds]
    assert "solved literally at λ = 0, 0.5 and 0.95" in claims[2].statement
    assert claims[2].evidence == f"relative difference at most {told} in 270 cases"


def test_traces_that_nobody_computed_bear_nothing_out():
    table = constructed(dof=convex, literal_dof=lambda name, lam, fold: np.nan)
    assert verdicts(figure4, table) == [True, True, False]


def test_claims_of_figures_4_and_5_are_theorems():
    table = constructed(widths=WIDTHS, train_error=falling, **with_literal(convex))
    for claim in (*figure4.claims(table), *figure5.claims(table)):
        assert (claim.nature, claim.about_paper) == ("theorem", False)
        assert type(claim.holds) is bool


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
    assert "curves (set, width, fold), measured on predictions" in figure5.claims(table)[0].evidence


@pytest.mark.parametrize("module", [figure4, figure5], ids=["figure4", "figure5"])
def test_verdicts_do_not_depend_on_the_order_of_rows(module):
    table = constructed(widths=WIDTHS, train_error=falling, **with_literal(convex))
    mixed = table.sample(frac=1.0, random_state=0)
    assert module.claims(mixed) == module.claims(table)
