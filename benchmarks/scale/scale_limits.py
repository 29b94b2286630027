"""The limits that fits at scale must keep, and whether a run keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Line", "lines"]

#: Limits of what must hold.
MOST_BYTES, LEAST_RATE_RATIO, LEAST_SHARE, MOST_DASK_RATIO = 1.2e9, 0.8, 0.6, 1.25

MILLION = 1_000_000

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """Something that must hold.

    Attributes
    ----------
    claim : str
    value : str
        What was found.
    held : bool or None
        None where it was not measured.
    """

    claim: str
    value: str
    held: bool | None

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "held", False: "not held", None: "not measured"}[self.held]

    @property
    def printed(self) -> str:
        """For the terminal."""
        return f"{self.verdict}: {self.claim} ({self.value})"


def lines(report: Report) -> list[Line]:
    """What must hold, and whether it does."""
    fits = {each["rows"]: each for each in report["streamed"]}
    million, ten = fits.get(MILLION), fits.get(10 * MILLION)
    large = [each for n, each in fits.items() if n >= MILLION]
    dask = [each for each in report["dask"] if each["rows"] >= MILLION]
    return [
        _line(
            "peak memory at 10⁷ rows is below 1.2 GB",
            None if ten is None else ten["peak_bytes"],
            lambda found: found < MOST_BYTES,
            lambda found: f"{found / 1e9:.2f} GB",
        ),
        _line(
            f"rows per second at 10⁷ rows are at least {LEAST_RATE_RATIO:g} times those at 10⁶",
            None
            if ten is None or million is None
            else ten["rows_per_second"] / million["rows_per_second"],
            lambda found: found >= LEAST_RATE_RATIO,
            lambda found: f"{found:.2f}",
        ),
        _line(
            f"fits of 10⁶ rows and more reach at least {LEAST_SHARE:.0%} of the bare rate".replace(
                "%", " %"
            ),
            min((each["share_of_bare"] for each in large), default=None),
            lambda found: found >= LEAST_SHARE,
            lambda found: f"{100 * found:.0f} %",
        ),
        _line(
            f"two Dask workers take at most {MOST_DASK_RATIO:g} times as long as one process "
            "with both cores",
            max((each["ratio"] for each in dask), default=None),
            lambda found: found <= MOST_DASK_RATIO,
            lambda found: f"{found:.2f}",
        ),
    ]


def _line(claim: str, found: float | None, holds: Any, shown: Any) -> Line:
    if found is None:
        return Line(claim, "not among the numbers of rows of this run", None)
    return Line(claim, shown(found), bool(holds(found)))
