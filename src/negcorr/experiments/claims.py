"""What the paper says of a figure or table, and whether a run bears it out."""

from __future__ import annotations

from dataclasses import dataclass

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

    Examples
    --------
    >>> from negcorr.experiments import Claim
    >>> print(Claim("Two is more than one.", 2 > 1, "2 − 1 = 1"))
    ✓ Two is more than one. (2 − 1 = 1)
    """

    statement: str
    holds: bool
    evidence: str

    def __str__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.statement} ({self.evidence})"
