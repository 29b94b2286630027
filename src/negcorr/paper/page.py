"""The page that sets our numbers beside the paper's, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from negcorr.paper.claims import Claim
from negcorr.paper.setup import FULL, Setup

__all__ = ["QUICK_NOTICE", "Section", "page"]

#: For runs that are not of full size.
QUICK_NOTICE = (
    "**A quick look, not a reproduction:** few rows, few features, few repeats. Numbers are not to "
    "be compared with the paper's, and statements about them are left out."
)

_PROTOCOLS = """\
There are two protocols. **paper** is a reconstruction of what the authors must have run: targets
and features standardised over all rows; rows in the order of the files; no intercept; γ = 1/(mean
Euclidean distance between the *columns* of the standardised training matrix), about n^(−1/2), as if
a routine for pairwise distances had been handed the transposed data and its result had not been
squared; and, where λ is tuned, λ at most 0.99, for the column of SURE in Table 1 shows 0.99 nine
times and never 1.00. It was found by fitting that column: an inference from the authors' numbers,
not knowledge of their code. **printed** does what the text says: the bandwidth of Kwok and Tsang,
and λ up to 1. Figures go to λ = 1 under both, so the error on Kinematics is far lower there than in
Table 1.
"""

#: What a claim's nature is called.
_NATURES = {"finding": "", "theorem": " (theorem)", "fitted": " (fitted)"}


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


def page(
    setup: Setup,
    groups: Mapping[str, Sequence[Section]],
    command: str,
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """All sections under a head that says what was run, and how much of it holds.

    Parameters
    ----------
    setup : Setup
        What decided on the numbers.
    groups : mapping of str to sequence of Section
        Headings and what stands under them; groups without sections are left out.
    command : str
        What makes this page.
    left_out : mapping of str to sequence of str, optional
        Experiments that "all" would have had, by the reason why it has not.
    """
    claims = [claim for group in groups.values() for one in group for claim in one.claims]
    parts = [
        "# The paper's figures and tables, reproduced\n",
        "Reeve and Brown, *Diversity and degrees of freedom in regression ensembles*, beside what "
        "this library computes." + (f" Made by `{command}`.\n" if command else "\n"),
        _settings(setup),
        _PROTOCOLS,
        _count(claims),
    ]
    if setup.size != FULL:
        parts.insert(1, f"> {QUICK_NOTICE}\n")
    parts += [
        f"Left out, since {reason}: {', '.join(missing)}.\n"
        for reason, missing in (left_out or {}).items()
    ]
    for heading, group in groups.items():
        if group:
            parts += [f"## {heading}\n", *(_section(section) for section in group)]
    return "\n".join(parts).rstrip() + "\n"


def _settings(setup: Setup) -> str:
    rows = "shuffled before they are split" if setup.shuffle else "in the order of the files"
    return (
        f"Figures follow the protocol *{setup.protocol}*, rows {rows}, seed {setup.seed}, "
        f"Q = {setup.size.n_features} features in M members of H each. Table 1 has both "
        "protocols.\n"
    )


def _count(claims: Sequence[Claim]) -> str:
    """How many statements hold, and how many of them could have failed but by a mistake."""
    good = sum(claim.holds for claim in claims)
    theorems = sum(claim.nature == "theorem" for claim in claims)
    fitted = sum(claim.nature == "fitted" for claim in claims)
    kinds = [f"theorems and identities, which test the code ({theorems})"] if theorems else []
    kinds += (
        [f"those about the column that the protocol was fitted to ({fitted})"] if fitted else []
    )
    return (
        f"**Statements that were checked: {len(claims)}. {good} hold, {len(claims) - good} do "
        "not.**" + (f" Among them {' and '.join(kinds)}." if kinds else "") + "\n"
    )


def _section(section: Section) -> str:
    lines = [f"### {section.title}\n"]
    if section.figure is not None:
        lines.append(f"![{section.title}]({section.figure})\n")
    lines.append(f"{section.caption}\n")
    if section.body:
        lines.append(section.body)
    lines += [
        f"- {'✓' if claim.holds else '✗ **does not hold:**'} {claim.statement}"
        f"{_NATURES[claim.nature]} "
        f"*{claim.evidence[:1].upper()}{claim.evidence[1:]}.*"
        for claim in section.claims
    ]
    return "\n".join(lines) + "\n"
