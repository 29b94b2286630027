"""What came out of one case of a campaign."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One case of a campaign.

    Attributes
    ----------
    kind : str
        What was tried, in a few words; the table counts cases by it.
    answer : str
        "answered", "refused" (an error that is meant for users) or "warned".
    faults : tuple of str
        What went wrong, one sentence each; empty where all is well.
    """

    kind: str
    answer: str
    faults: tuple[str, ...] = ()
