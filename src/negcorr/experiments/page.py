"""The page that sets our numbers beside the paper's, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from negcorr.experiments.claims import Claim
from negcorr.experiments.setup import FULL, Setup

__all__ = ["Section", "page"]

_PROTOCOLS = """\
Two protocols are run. **paper** is a reconstruction of what the authors must have run: rows in the
order of the files, five folds; targets and features standardised over all rows; no intercept; λ at
most 0.99, for the column of λ shows 0.99 ten times and never 1.00; and γ = 1/(mean Euclidean
distance between the *columns* of the standardised training matrix), about n^(−1/2), as if a routine
for pairwise distances had been handed the transposed data and its result had not been squared. It
was found by fitting the column of SURE. It is an inference from the authors' numbers, not knowledge
of their code. **printed** does what the text says: the bandwidth of Kwok and Tsang, λ up to 1.
"""


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
        Tables and words, in Markdown.
    claims : sequence of Claim
        Statements that were checked.
    """

    title: str
    caption: str
    figure: str | None = None
    body: str = ""
    claims: Sequence[Claim] = field(default_factory=tuple)


def page(setup: Setup, groups: Mapping[str, Sequence[Section]], command: str) -> str:
    """All sections under a head that says what was run, and how much of it holds.

    Parameters
    ----------
    setup : Setup
        What decided on the numbers.
    groups : mapping of str to sequence of Section
        Headings and what stands under them; groups without sections are left out.
    command : str
        What makes this page.
    """
    claims = [claim for group in groups.values() for one in group for claim in one.claims]
    good = sum(claim.holds for claim in claims)
    parts = [
        "# The paper's figures and tables, reproduced\n",
        "Reeve and Brown, *Diversity and degrees of freedom in regression ensembles*, beside what "
        "this library computes." + (f" Made by `{command}`.\n" if command else "\n"),
        _settings(setup),
        _PROTOCOLS,
        f"**Of {len(claims)} statements that were checked, {good} hold"
        + (".**\n" if good == len(claims) else f" and {len(claims) - good} do not.**\n"),
    ]
    if setup.size != FULL:
        parts.insert(
            1,
            "> **A quick look, not a reproduction:** few rows, few features, few repeats. Numbers "
            "are not to be compared with the paper's.\n",
        )
    for heading, group in groups.items():
        if group:
            parts += [f"## {heading}\n", *(_section(section) for section in group)]
    return "\n".join(parts).rstrip() + "\n"


def _settings(setup: Setup) -> str:
    rows = "shuffled" if setup.shuffle else "in the order of the files"
    return (
        f"Figures follow the protocol *{setup.protocol}*, rows {rows}, seed {setup.seed}, "
        f"Q = {setup.size.n_features} features. Table 1 shows both protocols.\n"
    )


def _section(section: Section) -> str:
    lines = [f"### {section.title}\n"]
    if section.figure is not None:
        lines.append(f"![{section.title}]({section.figure})\n")
    lines.append(f"{section.caption}\n")
    if section.body:
        lines.append(section.body)
    lines += [
        f"- {'✓' if claim.holds else '✗ **does not hold:**'} {claim.statement} "
        f"*{claim.evidence[:1].upper()}{claim.evidence[1:]}.*"
        for claim in section.claims
    ]
    return "\n".join(lines) + "\n"
