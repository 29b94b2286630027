"""The page: what was run, what holds, and tables that Markdown can read."""

from negcorr.experiments import FULL, QUICK, Claim, Setup
from negcorr.experiments.page import Section, page

GOOD = Claim("Two is more than one.", True, "two of two")
BAD = Claim("One is more than two.", False, "none of two")
SECTIONS = [
    Section("Figure 1: errors", "Errors.", "figures/figure1.svg", claims=[GOOD]),
    Section("Table 1: choices", "Choices.", body="| a | b |\n| - | - |\n| 1 | 2 |\n", claims=[BAD]),
]


def page_of(setup=None, groups=None, command="negcorr reproduce all"):
    groups = {"Of the paper": SECTIONS, "Beyond": []} if groups is None else groups
    return page(Setup() if setup is None else setup, groups, command)


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
    assert "Of 2 statements that were checked, 1 hold and 1 do not." in text
    fine = page_of(groups={"All": SECTIONS[:1]})
    assert "Of 1 statements that were checked, 1 hold.**" in fine
    assert "✗" not in fine


def test_the_page_says_how_it_was_made():
    text = page_of(Setup("printed", True, 7), command="negcorr reproduce figure1 --seed 7")
    assert "Made by `negcorr reproduce figure1 --seed 7`." in text
    assert "protocol *printed*, rows shuffled, seed 7, Q = 1000 features" in text
    assert "rows in the order of the files" in page_of()


def test_the_reconstruction_is_said_to_be_one():
    text = " ".join(page_of().split())
    assert "an inference from the authors' numbers, not knowledge of their code" in text


def test_a_quick_look_is_not_taken_for_a_reproduction():
    assert "A quick look, not a reproduction" in page_of(Setup(size=QUICK))
    assert "quick look" not in page_of(Setup(size=FULL))


def test_the_page_ends_with_one_line_break():
    text = page_of()
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
