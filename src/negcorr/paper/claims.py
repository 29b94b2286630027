"""What the paper says of a figure or table, and whether a run bears it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Claim"]


@dataclass(frozen=True)
class Claim:
    """A statement and what was found.

    Attributes
    ----------
    statement : str
        A sentence that a run can bear out or not.
    holds : bool
        Whether it did.
    evidence : str
        The numbers behind it.
    nature : {"finding", "theorem", "fitted"}
        Something that could have been otherwise; a theorem or an identity, where only a mistake
        in the code could; a comparison with numbers that a choice was fitted to.
    about_paper : bool
        Whether it is about the paper's own numbers, which only a run of full size, with rows in
        the order of the files, can be compared with.

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
