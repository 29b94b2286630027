"""The page: what was run, what holds, and tables that Markdown can read."""

import dataclasses

import numpy as np
import pytest

from negcorr.paper.figures import table1
from negcorr.paper.page import QUICK_NOTICE, Claim, Section, page
from negcorr.paper.setup import FULL, QUICK, Setup

GOOD = Claim("Two is more than one.", True, "two of two")
BAD = Claim("One is more than two.", False, "none of two")
SECTIONS = [
    Section("Figure 1: errors", "Errors.", "figures/figure1.svg", claims=[GOOD]),
    Section("Table 1: choices", "Choices.", body="| a | b |\n| - | - |\n| 1 | 2 |\n", claims=[BAD]),
]


def page_of(setup=None, groups=None, command="negcorr reproduce all", **keywords):
    groups = {"Of the paper": SECTIONS, "Beyond": []} if groups is None else groups
    return page(Setup() if setup is None else setup, groups, command, **keywords)


# ---------------------------------------------------------------------------------------
# Claims
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("holds", "mark"), [(True, "✓"), (False, "✗")])
def test_a_claim_is_a_mark_a_statement_and_its_evidence(holds, mark):
    assert str(Claim("It is so.", holds, "3 of 4")) == f"{mark} It is so. (3 of 4)"


def test_claims_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Claim("It is so.", False, "").holds = True


def test_a_claim_is_a_finding_of_ours_unless_it_says_otherwise():
    claim = Claim("It is so.", True, "")
    assert (claim.nature, claim.about_paper) == ("finding", False)
    assert Claim("It is so.", True, "", nature="theorem").nature == "theorem"
    assert Claim("It is so.", True, "", about_paper=True).about_paper


@pytest.mark.parametrize("holds", [True, False])
def test_verdicts_of_numpy_become_pythons(holds):
    assert Claim("It is so.", np.bool_(holds), "").holds is holds


# ---------------------------------------------------------------------------------------
# Head and sections
# ---------------------------------------------------------------------------------------


def test_sections_stand_under_the_headings_of_their_groups():
    lines = page_of().splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings[0].startswith("# ")
    assert headings[1:] == ["## Of the paper", "### Figure 1: errors", "### Table 1: choices"]
    assert "![Figure 1: errors](figures/figure1.svg)" in lines
    assert sum(line.startswith("![") for line in lines) == 1
    assert "Choices." in lines


def test_verdicts_are_marked_and_counted():
    text = page_of()
    assert "- ✓ Two is more than one. *Two of two.*" in text.splitlines()
    assert "- ✗ **does not hold:** One is more than two. *None of two.*" in text.splitlines()
    assert "**Statements that were checked: 2. 1 hold, 1 do not.**" in text.splitlines()
    fine = page_of(groups={"All": SECTIONS[:1]})
    assert "**Statements that were checked: 1. 1 hold, 0 do not.**" in fine.splitlines()
    assert "✗" not in fine


def test_the_nature_of_a_statement_stands_behind_it_and_is_counted():
    natures = ("finding", "theorem", "theorem", "fitted")
    claims = [Claim("It is so.", True, "yes", nature=nature) for nature in natures]
    lines = page_of(groups={"All": [Section("One", "", claims=claims)]}).splitlines()
    assert [line for line in lines if line.startswith("- ")] == [
        "- ✓ It is so. *Yes.*",
        "- ✓ It is so. (theorem) *Yes.*",
        "- ✓ It is so. (theorem) *Yes.*",
        "- ✓ It is so. (fitted) *Yes.*",
    ]
    assert (
        "**Statements that were checked: 4. 4 hold, 0 do not.** Among them theorems and "
        "identities, which test the code (2) and those about the column that the protocol was "
        "fitted to (1)."
    ) in lines


def test_only_natures_that_there_are_are_counted():
    theorem = Section("One", "", claims=[Claim("It is so.", True, "yes", nature="theorem")])
    text = page_of(groups={"All": [*SECTIONS, theorem]})
    assert "Among them theorems and identities, which test the code (1).\n" in text
    assert "the protocol was fitted to" not in text


def test_the_page_says_how_it_was_made():
    text = page_of(Setup("printed", True, 7), command="negcorr reproduce figure1 --seed 7")
    assert "Made by `negcorr reproduce figure1 --seed 7`." in text
    assert "protocol *printed*, rows shuffled before they are split, seed 7, Q = 1000" in text
    assert "protocol *paper*, rows in the order of the files, seed 0, Q = 1000" in page_of()
    assert "shuffled" not in page_of()
    assert "Made by" not in page_of(command="")


def test_the_reconstruction_is_said_to_be_one():
    text = " ".join(page_of().split())
    assert "an inference from the authors' numbers, not knowledge of their code" in text


def test_the_cap_is_read_off_the_papers_own_column():
    assert "shows 0.99 nine times and never 1.00" in " ".join(page_of().split())
    lams = table1.paper_values()["sure_lam"]
    assert (lams == 0.99).sum() == 9
    assert not (lams == 1.0).any()


def test_experiments_that_were_left_out_are_named():
    reasons = {"they need no sets": ["figure3", "split"], "of the rain": ["figure7"]}
    lines = page_of(left_out=reasons).splitlines()
    assert [line for line in lines if line.startswith("Left out")] == [
        "Left out, since they need no sets: figure3, split.",
        "Left out, since of the rain: figure7.",
    ]
    for nothing in (None, {}):
        assert "Left out" not in page_of(left_out=nothing)
    assert "Left out" not in page_of()


def test_a_quick_look_is_not_taken_for_a_reproduction():
    lines = page_of(Setup(size=QUICK)).splitlines()
    assert [line for line in lines if line][1] == f"> {QUICK_NOTICE}"
    assert "A quick look, not a reproduction" in QUICK_NOTICE
    assert "quick look" not in page_of(Setup(size=FULL))


def test_the_page_ends_with_one_line_break():
    text = page_of()
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
