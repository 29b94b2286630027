"""Diversity grows with degrees of freedom: the argument, the table, the picture, the verdicts."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from toy_data import toy_setup, toy_study

from negcorr.paper.beyond import diversity_dof
from negcorr.paper.curves import all_gaps
from negcorr.paper.protocol import fit_ncl, task


@pytest.fixture(scope="module")
def table(toy_home):
    return diversity_dof.run(toy_study(toy_home))


def test_the_least_loss_is_concave_with_slope_minus_the_diversity(toy_home):
    setup = toy_setup(n_features=20, width=4, max_rows=60)
    model = fit_ncl(setup, task(setup, str(toy_home), "slump", 0), 4)
    spectrum, lams, step = model.path_.spectrum, np.linspace(0.05, 0.95, 19), 1e-5

    def loss(lam):
        return spectrum.member_error(lam) - lam[:, np.newaxis] * spectrum.diversity(lam)

    slopes = (loss(lams + step) - loss(lams - step)) / (2.0 * step)
    assert_allclose(slopes, -spectrum.diversity(lams), rtol=1e-6)
    assert (np.diff(slopes, axis=0) < 0).all()


def test_a_run_has_every_set_fold_output_and_gap(table):
    sizes = table.groupby(["set", "fold", "output"]).size()
    assert len(sizes) == 5 * (1 + 3)
    assert set(sizes) == {len(all_gaps())}
    assert table["diversity"].notna().all()


def test_the_theorem_holds_on_a_run(table):
    assert diversity_dof.claims(table)[0].holds


def constructed(train, test=None, sets=("machine", "slump"), outputs=1, error=None):
    """dof 1 to 6 at gaps 1 to 0; diversity as functions of dof, set, fold and output."""
    rows = []
    gaps = (1.0, 0.5, 0.1, 1e-3, 1e-6, 0.0)
    for name, fold, output in itertools.product(sets, range(5), range(outputs)):
        for dof, gap in enumerate(gaps, start=1):
            place = (float(dof), name, fold, output)
            row = {"set": name, "fold": fold, "output": output, "n_train": 80, "gap": gap}
            row |= {"lam": 1.0 - gap, "dof": float(dof), "diversity": train(*place)}
            row["test_diversity"] = (test or train)(*place)
            row["test_error"] = 1.0 if error is None else error(*place)
            rows.append(row)
    return pd.DataFrame(rows)


def grows(dof, name, fold, output):
    return dof**2


def holds(table):
    return [claim.holds for claim in diversity_dof.claims(table)]


def test_claims_hold_where_diversity_grows():
    table = constructed(grows)
    assert holds(table) == [True, True]
    train, test = (claim.evidence for claim in diversity_dof.claims(table))
    assert train.startswith("10 of 10 curves")
    assert "grows 36 to 36 times" in train
    assert "10 of 10 curves; Spearman's correlation 1.0000 (median)" in test


def test_the_theorem_is_told_from_the_finding():
    claims = diversity_dof.claims(constructed(grows))
    assert [claim.nature for claim in claims] == ["theorem", "finding"]
    assert not any(claim.about_paper for claim in claims)


def test_one_curve_that_falls_on_training_rows_is_enough():
    def falls_once(dof, name, fold, output):
        return 1.0 if (dof, name, fold) == (5.0, "slump", 3) else dof**2

    table = constructed(falls_once, test=grows)
    assert holds(table) == [False, True]
    assert diversity_dof.claims(table)[0].evidence.startswith("9 of 10 curves")


def test_test_rows_are_checked_separately():
    def falls(dof, name, fold, output):
        return 1.0 / dof if (name, fold) == ("slump", 0) else dof

    table = constructed(grows, test=falls)
    assert holds(table) == [True, False]
    assert "at least -1.0000 (Slump)" in diversity_dof.claims(table)[1].evidence


def test_the_order_of_rows_does_not_matter():
    table = constructed(grows).sample(frac=1.0, random_state=0)
    assert holds(table) == [True, True]


def test_a_tie_is_allowed_only_where_dof_does_not_grow():
    def flat_at_the_end(dof, name, fold, output):
        return min(dof, 5.0)

    table = constructed(flat_at_the_end)
    assert holds(table) == [False, False]
    table["dof"] = table["dof"].where(table["gap"] > 0, 5.0 * (1.0 + 1e-12))
    assert holds(table) == [True, True]


def test_every_output_is_a_curve_of_its_own():
    def second_falls(dof, name, fold, output):
        return dof if output == 0 else 1.0 / dof

    table = constructed(second_falls, outputs=2)
    assert diversity_dof.claims(table)[0].evidence.startswith("10 of 20 curves")


def test_the_figure_averages_over_outputs_and_marks_the_best_lam():
    def decades(dof, name, fold, output):
        return dof * 100.0**output

    def error(dof, name, fold, output):
        return abs(dof - 4.0)

    figure = diversity_dof.plot(constructed(decades, outputs=2, error=error))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    train, test, dot = axes.get_lines()[:3]
    assert train.get_label() == "on training rows"
    for line in (train, test):
        assert_allclose(sorted(line.get_xdata()), np.arange(1.0, 7.0))
        assert_allclose(line.get_ydata(), 10.0 * line.get_xdata())
    assert_allclose([dot.get_xdata()[0], dot.get_ydata()[0]], [4.0, 40.0])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "on training rows",
        "on test rows",
        "λ of least test error",
    ]


def test_values_beyond_the_axis_are_told(table):
    figure = diversity_dof.plot(
        constructed(lambda dof, name, fold, output: 10.0 ** (2 * dof if name == "slump" else 1))
    )
    texts = {axes.get_title(): [t.get_text() for t in axes.texts] for axes in figure.axes}
    assert texts == {"Machine": [], "Slump": ["10$^{12}$ at λ = 1"]}


def test_no_diversity_at_all_can_be_drawn(table):
    diversity_dof.plot(table.assign(diversity=0.0)).draw_without_rendering()


def test_a_run_can_be_drawn(table):
    figure = diversity_dof.plot(table)
    figure.draw_without_rendering()
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == ["Machine", "Slump"]
