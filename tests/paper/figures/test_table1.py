"""Table 1: the paper's numbers as printed, and ours set beside them."""

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_data import COMBINATIONS, table1_rows, table1_times, toy_study

import negcorr
from negcorr.datasets import DATASETS, info
from negcorr.paper.figures import table1

PAPER = Path(negcorr.__file__).parents[3] / "shared" / "paper.md"


def tables_in(text):
    """Lines of every Markdown table."""
    tables, last = [], None
    for number, line in enumerate(text.splitlines()):
        if line.startswith("|"):
            if last != number - 1:
                tables.append([])
            tables[-1].append(line)
            last = number
    return tables


def cells(line):
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def row_of(table, name):
    (line,) = [line for line in table if cells(line)[0] == info(name).title]
    return cells(line)


def rows(errors=None, lams=None, sets=None, kfold=1.0, kfold_lams=None):
    """The paper's own numbers, five folds with their own λ, but for what is given."""
    table = table1_rows(errors, lams, sets, kfold)
    there = {**table1.paper_values()["kfold_lam"], **(kfold_lams or {})}
    folds = table["criterion"] == "kfold"
    table.loc[folds, "lam"] = table.loc[folds, "set"].map(there)
    return table


def verdicts(table):
    return [bool(claim.holds) for claim in table1.claims(table)]


# ---------------------------------------------------------------------------------------
# The paper's numbers
# ---------------------------------------------------------------------------------------


def test_the_paper_has_a_row_for_each_of_twenty_sets():
    paper = table1.paper_values()
    assert paper.shape == (20, 10)
    assert set(paper.index) == set(DATASETS)
    assert paper.notna().all(axis=None)


@pytest.mark.skipif(not PAPER.is_file(), reason="no shared/paper.md beside the project")
def test_every_number_is_the_papers():
    number = r"(\d+\.\d+)"
    pair = rf"{number}±{number}"
    bar = r" \| "
    line = re.compile(rf"\| (\w+){bar}{bar.join([pair] * 4 + [number] * 2)} \|")
    found = {}
    for title, *numbers in line.findall(PAPER.read_text(encoding="utf-8")):
        found[title] = [float(one) for one in numbers]
    columns = [
        f"{method}_{what}{spread}"
        for what in ("error", "seconds")
        for method, spread in itertools.product(("kfold", "sure"), ("", "_sd"))
    ]
    columns += ["kfold_lam", "sure_lam"]
    assert len(found) == 20
    paper = table1.paper_values()
    titles = [DATASETS[name].title for name in paper.index]
    assert titles == list(found)
    np.testing.assert_array_equal(paper[columns].to_numpy(), np.array(list(found.values())))


# ---------------------------------------------------------------------------------------
# Summaries
# ---------------------------------------------------------------------------------------


def test_summary_averages_outputs_first_and_then_folds():
    rows = []
    rng = np.random.default_rng(0)
    for name, (protocol, criterion), fold, output in itertools.product(
        ("slump", "jura"), COMBINATIONS, range(5), range(3)
    ):
        rows.append(
            {
                "set": name,
                "protocol": protocol,
                "criterion": criterion,
                "fold": fold,
                "output": output,
                "lam": rng.uniform(),
                "test_error": rng.uniform(),
            }
        )
    table = pd.DataFrame(rows).sample(frac=1.0, random_state=3)
    summary = table1.summary(table)
    assert list(summary.index) == list(dict.fromkeys(table["set"]))
    assert summary.shape == (2, 12)
    for name, (protocol, criterion) in itertools.product(("slump", "jura"), COMBINATIONS):
        ours = [
            [row for row in rows if (row["set"], row["fold"]) == (name, fold)] for fold in range(5)
        ]
        ours = [
            [row for row in part if (row["protocol"], row["criterion"]) == (protocol, criterion)]
            for part in ours
        ]
        errors = [sum(row["test_error"] for row in part) / 3 for part in ours]
        mean = sum(errors) / 5
        spread = np.sqrt(sum((error - mean) ** 2 for error in errors) / 5)
        lam = sum(sum(row["lam"] for row in part) / 3 for part in ours) / 5
        behind = f"{criterion}_{protocol}"
        assert summary.loc[name, f"error_{behind}"] == pytest.approx(mean)
        assert summary.loc[name, f"error_sd_{behind}"] == pytest.approx(spread)
        assert summary.loc[name, f"lam_{behind}"] == pytest.approx(lam)


def test_summary_keeps_the_order_of_the_table():
    table = table1_rows(sets=("slump", "abalone", "machine"))
    assert list(table1.summary(table).index) == ["slump", "abalone", "machine"]


def test_seconds_are_means_over_folds_in_the_order_of_the_papers_table():
    assert list(dict.fromkeys(table1_times()["set"])) == ["slump", "machine"]
    seconds = table1.time_summary(table1_times())
    assert list(seconds.index) == ["machine", "slump"]
    assert set(seconds) == {"sure", "kfold", "refits"}
    np.testing.assert_allclose(seconds["sure"], 1.1)
    np.testing.assert_allclose(seconds["kfold"], 2.2)
    np.testing.assert_allclose(seconds["refits"], 80.0)


# ---------------------------------------------------------------------------------------
# Claims
# ---------------------------------------------------------------------------------------


def test_the_papers_own_numbers_bear_out_all_claims():
    claims = table1.claims(rows(kfold=1.01))
    assert [claim.holds for claim in claims] == [True] * 5
    assert claims[0].evidence == "20 of 20 sets"
    for claim in claims[1:3]:
        assert claim.evidence == "20 of 20 sets; mean absolute difference 0.000"


def test_claims_say_what_was_fitted_and_what_is_about_the_paper():
    claims = table1.claims(rows())
    assert [claim.nature for claim in claims] == ["fitted"] * 2 + ["finding"] * 3
    assert [claim.about_paper for claim in claims] == [True] * 3 + [False] * 2
    assert [claim.nature for claim in table1.time_claims(table1_times())] == ["finding"]
    assert not table1.time_claims(table1_times())[0].about_paper


def test_an_error_above_the_papers_mean_and_deviation_is_seen():
    paper = table1.paper_values().loc["jura"]
    bound = paper["sure_error"] + paper["sure_error_sd"]
    assert verdicts(rows({"jura": bound - 1e-9})) == [True] * 5
    table = rows({"jura": bound + 1e-6})
    assert verdicts(table) == [False, True, True, True, True]
    assert table1.claims(table)[0].evidence == "19 of 20 sets, not on Jura"


@pytest.mark.parametrize(("lam", "holds"), [(0.91 - 0.049, True), (0.91 - 0.051, False)])
def test_a_lam_far_from_the_papers_is_seen(lam, holds):
    table = rows(lams={"machine": lam})
    assert verdicts(table) == [True, holds, True, True, True]
    assert ("not on Machine" in table1.claims(table)[1].evidence) == (not holds)


@pytest.mark.parametrize(("lam", "holds"), [(0.40 + 0.049, True), (0.40 + 0.051, False)])
def test_a_lam_of_five_folds_far_from_the_papers_is_seen(lam, holds):
    table = rows(kfold_lams={"machine": lam})
    assert verdicts(table) == [True, True, holds, True, True]
    assert ("not on Machine" in table1.claims(table)[2].evidence) == (not holds)


def test_lams_are_compared_under_the_papers_protocol_alone():
    table = rows()
    table.loc[table["protocol"] == "printed", "lam"] = 0.0
    assert verdicts(table) == [True] * 5


@pytest.mark.parametrize(
    ("kfold", "holds"), [(1.0, True), (1.099, True), (0.91, True), (1.101, False), (0.909, False)]
)
def test_five_folds_that_do_much_better_or_worse_are_seen(kfold, holds):
    assert verdicts(rows(kfold=kfold)) == [True, True, True, holds, holds]


@pytest.mark.parametrize("protocol", ["paper", "printed"])
def test_one_set_is_enough_and_protocols_are_checked_separately(protocol):
    table = rows(kfold=1.01)
    here = (table["set"] == "slump") & (table["protocol"] == protocol)
    table.loc[here & (table["criterion"] == "kfold"), "test_error"] *= 0.8
    similar = {"paper": 3, "printed": 4}[protocol]
    assert verdicts(table) == [number != similar for number in range(5)]
    claim = table1.claims(table)[similar]
    assert claim.statement.startswith(f"Under *{protocol}* SURE and 5-fold")
    assert f"; beyond a tenth: Slump {1 / 0.808 - 1:+.0%}" in claim.evidence
    assert all("beyond a tenth" not in other.evidence for other in table1.claims(rows()))


def test_similarity_is_told_in_numbers():
    for claim in table1.claims(rows(kfold=1 / 1.03))[3:]:
        assert claim.evidence.startswith("the error of SURE differs by +3.0% in the geometric mean")
        assert claim.evidence.endswith("Wilcoxon's signed-rank test over the sets: p = 0.00")
    for claim in table1.claims(rows(kfold=1.0))[3:]:
        assert claim.evidence.endswith("p = 1.00")


def test_sets_with_both_lams_at_the_cap_are_counted():
    paper = table1.paper_values()
    both = int(((paper["sure_lam"] == 0.99) & (paper["kfold_lam"] == 0.99)).sum())
    under_paper, under_printed = table1.claims(rows())[3:]
    assert f"; on {both} sets both λ are at the cap. Wilcoxon" in under_paper.evidence
    assert "cap" not in under_printed.evidence
    capped = table1.claims(rows(kfold_lams={"abalone": 0.99}))[3]
    assert f"; on {both + 1} sets both λ are at the cap. Wilcoxon" in capped.evidence


@pytest.mark.parametrize("sets", [("slump",), ("slump", "machine")])
def test_claims_speak_of_few_sets_too(sets):
    claims = table1.claims(rows(sets=sets, kfold=1.01))
    assert claims[0].evidence == f"{len(sets)} of {len(sets)} sets"
    assert [claim.holds for claim in claims] == [True] * 5


def test_claims_take_ties_on_some_sets():
    table = rows(sets=("slump", "machine", "jura", "water"))
    same = (table["criterion"] == "kfold") & (table["set"] != "slump")
    table.loc[same, "test_error"] *= 1.01
    assert verdicts(table) == [True] * 5


@pytest.mark.parametrize(("refits", "holds"), [(56.0, True), (54.0, False)])
def test_sure_must_be_fifty_times_faster_in_total(refits, holds):
    (claim,) = table1.time_claims(table1_times(refits=refits))
    assert bool(claim.holds) == holds
    ratio = f"{refits / 1.1:.0f}"
    assert claim.evidence.startswith(f"{ratio} times, {ratio} on those of one output. Refits")
    assert "2.0 times as long as SURE" in claim.evidence


def test_the_ratio_is_told_for_sets_of_one_output_alone():
    times = pd.concat(
        [table1_times(refits=99.0, sets=("slump",)), table1_times(refits=22.0, sets=("machine",))]
    )
    (claim,) = table1.time_claims(times)
    assert claim.evidence.startswith("55 times, 20 on those of one output. Refits")
    (claim,) = table1.time_claims(table1_times(refits=99.0, sets=("slump",)))
    assert claim.evidence.startswith("90 times. Refits")


def test_the_papers_own_ratios_are_told():
    paper = table1.paper_values()
    ratios = paper["kfold_seconds"] / paper["sure_seconds"]
    (claim,) = table1.time_claims(table1_times())
    assert f"{ratios.min():.1f} to {ratios.max():.1f} times" in claim.evidence


# ---------------------------------------------------------------------------------------
# Markdown
# ---------------------------------------------------------------------------------------

SOME = ("machine", "slump")


@pytest.fixture(scope="module")
def body():
    return table1.table(rows(sets=SOME))


def test_every_line_of_a_table_has_as_many_cells_as_its_head():
    body = table1.table(table1_rows(sets=SOME), table1_times())
    tables = tables_in(body)
    assert len(tables) == 3
    for table in tables:
        assert {len(cells(line)) for line in table} == {len(cells(table[0]))}
        assert all(cell.strip(":-") == "" for cell in cells(table[1]))
        assert len(table) > 3


def test_both_criteria_have_a_line_for_each_set_of_the_paper(body):
    tables = tables_in(body)
    assert len(tables) == 2
    for table in tables:
        assert sorted(cells(line)[0] for line in table[2:]) == sorted(
            entry.title for entry in DATASETS.values()
        )


def test_numbers_stand_beside_the_papers(body):
    sure, kfold = tables_in(body)
    assert row_of(sure, "machine") == [
        "Machine",
        "0.76 ± 0.85",
        "0.76 ± 0.00",
        "0.76 ± 0.00",
        "0.91",
        "0.91",
        "0.91",
    ]
    assert row_of(kfold, "machine")[1] == "0.76 ± 0.83"
    assert row_of(kfold, "machine")[4] == "0.40"


def test_columns_are_not_mixed_up():
    table = table1_rows(sets=SOME)
    values = {("paper", "sure"): 1, ("paper", "kfold"): 2, ("printed", "sure"): 3}
    for (protocol, criterion), value in values.items():
        here = (table["protocol"] == protocol) & (table["criterion"] == criterion)
        table.loc[here, "test_error"] = value + 0.1 * table.loc[here, "fold"]
        table.loc[here, "lam"] = value / 10
    sure, kfold = tables_in(table1.table(table))
    assert row_of(sure, "slump")[2:4] == ["1.20 ± 0.14", "3.20 ± 0.14"]
    assert row_of(sure, "slump")[5:] == ["0.10", "0.30"]
    assert row_of(kfold, "slump")[2] == "2.20 ± 0.14"
    assert row_of(kfold, "slump")[5] == "0.20"


@pytest.mark.parametrize(
    ("asked", "scm1d", "kinematics"),
    [
        (None, "data not at hand", "data not at hand"),
        (SOME, "not asked for", "not asked for"),
        ((*SOME, "kinematics"), "not asked for", "data not at hand"),
    ],
)
def test_sets_that_were_not_run_say_why(asked, scm1d, kinematics):
    for table in tables_in(table1.table(rows(sets=SOME), asked=asked)):
        assert row_of(table, "scm1d")[2:4] == [scm1d, ""]
        assert row_of(table, "kinematics")[2:4] == [kinematics, ""]
        assert row_of(table, "scm1d")[5:] == ["", ""]
        assert row_of(table, "machine")[2] == "0.76 ± 0.00"


def test_seconds_have_their_ratios_and_totals():
    body = table1.table(table1_rows(sets=SOME), table1_times())
    seconds = tables_in(body)[-1]
    assert row_of(seconds, "machine") == [
        "Machine",
        "1.10 ± 0.08",
        "2.20 ± 0.16",
        "80.0",
        "73",
        "12.8",
        "3.9",
        "3.3",
    ]
    names = [cells(line)[0] for line in seconds[2:]]
    assert names == ["Machine", "Slump", "**all**"]
    assert cells(seconds[-1]) == ["**all**", "2.2", "4.4", "160", "**73**", "", "", ""]


def test_without_seconds_none_are_spoken_of(body):
    assert "Seconds" not in body
    assert "refits" not in body


# ---------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------


def test_a_run_has_a_row_for_everything(toy_home):
    study = toy_study(toy_home)
    table = table1.run(study)
    outputs = {"machine": 1, "slump": 3}
    expected = [
        (name, protocol, criterion, fold, output)
        for name in outputs
        for protocol in ("paper", "printed")
        for fold in range(5)
        for criterion in ("sure", "kfold")
        for output in range(outputs[name])
    ]
    keys = ["set", "protocol", "criterion", "fold", "output"]
    assert list(table[keys].itertuples(index=False, name=None)) == expected
    assert table[["lam", "dof", "test_error"]].notna().all(axis=None)
    assert table1.summary(table).notna().all(axis=None)
    assert len(table1.claims(table)) == 5


def test_a_timed_run_can_be_summarised(toy_home):
    study = toy_study(toy_home)
    times = table1.run_times(study)
    assert list(table1.time_summary(times).index) == ["machine", "slump"]
    assert table1.time_summary(times).notna().all(axis=None)
    assert len(table1.time_claims(times)) == 1


def test_pieces_of_errors_and_of_seconds_are_different(toy_home):
    study = toy_study(toy_home)
    assert not set(table1.pieces(study)) & set(table1.time_pieces(study))
    assert {piece.kind for piece in table1.time_pieces(study)} == {"timing"}
