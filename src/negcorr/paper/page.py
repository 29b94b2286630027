"""Statements of the paper that are checked, and the Markdown page that shows them with figures."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from negcorr.datasets import info
from negcorr.paper.setup import FULL, Setup

__all__ = [
    "QUICK_NOTICE",
    "TEXTS",
    "Claim",
    "Section",
    "checkable",
    "comparable",
    "markdown_table",
    "page",
    "theorem",
    "titles",
]

#: Title and caption of every figure and table by name, and under "page" the texts around them.
TEXTS: dict[str, dict[str, str]] = tomllib.loads(
    files("negcorr.paper").joinpath("texts.toml").read_text(encoding="utf-8")
)

#: Note on pages of runs that are not of full size.
QUICK_NOTICE = TEXTS["page"]["quick"]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper or about it, and whether a run confirms it.

    Attributes
    ----------
    statement : str
        A sentence that a run can confirm or not.
    holds : bool
        Whether the run confirms it.
    evidence : str
        The numbers on which ``holds`` depends.
    nature : {"finding", "theorem", "fitted"}
        A finding could have been otherwise. A theorem or an identity fails only by a mistake in
        the code. "fitted": a comparison with numbers to which a setting was fitted.
    about_paper : bool
        Whether it is about the paper's own numbers. Only a run of full size, with rows in the
        order of the files, can be compared with them.

    Examples
    --------
    >>> from negcorr.paper import Claim
    >>> print(Claim("Two is more than one.", 2 > 1, "2 − 1 = 1"))
    ✓ Two is more than one. (2 − 1 = 1)
    """

    statement: str
    holds: bool
    evidence: str
    nature: Literal["finding", "theorem", "fitted"] = "finding"
    about_paper: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))

    def __str__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.statement} ({self.evidence})"


def theorem(statement: str, holds: bool, evidence: str) -> Claim:
    """A claim about a theorem or an identity."""
    return Claim(statement, holds, evidence, nature="theorem")


@dataclass(frozen=True)
class Section:
    """One experiment on the page.

    Attributes
    ----------
    title : str
        Heading.
    caption : str
        What the picture or the tables show.
    figure : str or None
        Address of the picture, relative to the page.
    body : str
        Tables and text, in Markdown.
    claims : sequence of Claim
        Statements that were checked.
    """

    title: str
    caption: str
    figure: str | None = None
    body: str = ""
    claims: Sequence[Claim] = ()


def comparable(setup: Setup) -> bool:
    """Whether the numbers of a run can be compared with the paper's.

    They can if the run is of full size, with rows in the order of the files.
    """
    return setup.size == FULL and not setup.shuffle


def checkable(setup: Setup, claims: Iterable[Claim]) -> list[Claim]:
    """The claims that a run can check; those about the paper's numbers only if it is comparable."""
    return [claim for claim in claims if comparable(setup) or not claim.about_paper]


def titles(names: Iterable[object]) -> str:
    """Names of data sets as the paper writes them, separated by commas."""
    return ", ".join(info(str(name)).title for name in names)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, its first column aligned left and all others right.

    Examples
    --------
    >>> from negcorr.paper.page import markdown_table
    >>> print(markdown_table(["Data set", "λ"], [["Housing", "0.93"]]), end="")
    | Data set | λ |
    | :-- | --: |
    | Housing | 0.93 |
    """
    rule = [":--", *["--:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *rows))


def page(
    setup: Setup,
    groups: Mapping[str, Sequence[Section]],
    command: str,
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The page: an introduction with the settings and the number of true statements, then sections.

    Parameters
    ----------
    setup : Setup
        What decided on the numbers.
    groups : mapping of str to sequence of Section
        Headings and the sections below them; groups without sections are left out.
    command : str
        The command that makes this page.
    left_out : mapping of str to sequence of str, optional
        Experiments that "all" leaves out, by the reason.
    """
    claims = [claim for group in groups.values() for one in group for claim in one.claims]
    good = sum(claim.holds for claim in claims)
    of = Counter(claim.nature for claim in claims)
    kinds = [f"{TEXTS['page'][k]} ({of[k]})" for k in ("theorem", "fitted") if of[k]]
    rows = "shuffled before they are split" if setup.shuffle else "in the order of the files"
    notice = "" if setup.size == FULL else f"> {QUICK_NOTICE}\n\n"
    made = f" Made by `{command}`." if command else ""
    among = f" Among them {' and '.join(kinds)}." if kinds else ""
    counts = {"count": len(claims), "good": good, "bad": len(claims) - good}
    words = {"setup": setup, "rows": rows, "notice": notice, "made": made, "among": among}
    parts = [TEXTS["page"]["head"].format(**words, **counts)]
    for reason, missing in (left_out or {}).items():
        parts.append(f"Left out, since {reason}: {', '.join(missing)}.\n")
    for heading, sections in groups.items():
        parts += [f"## {heading}\n"] if sections else []
        for section in sections:
            picture = section.figure and f"![{section.title}]({section.figure})\n"
            above = (f"### {section.title}\n", picture, f"{section.caption}\n", section.body)
            parts += [text for text in above if text]
            for claim in section.claims:
                verdict = "✓" if claim.holds else "✗ **does not hold:**"
                nature = "" if claim.nature == "finding" else f" ({claim.nature})"
                evidence = claim.evidence[:1].upper() + claim.evidence[1:]
                parts.append(f"- {verdict} {claim.statement}{nature} *{evidence}.*")
            parts.append("")
    return "\n".join(parts).rstrip() + "\n"
