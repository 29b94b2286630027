"""The settings that determine the numbers of a study: protocol, order of rows, seed and size."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from negcorr._common.validation import check_positive_int

__all__ = ["FULL", "PROTOCOLS", "QUICK", "Setup", "Size"]

#: The fewest rows that a study accepts, for five outer folds and five inner folds.
FEWEST_ROWS = 25

#: Ways of reading the paper; :mod:`negcorr.paper.protocol` says what they mean.
PROTOCOLS = ("paper", "printed")


@dataclass(frozen=True)
class Size:
    """The size of a study: features, widths of members, rows and repeats.

    Attributes
    ----------
    n_features : int
        Q = H·M, the features of all members together.
    widths : tuple of int
        Features per member, H, in Figures 4 and 5.
    width : int
        H in all other experiments.
    max_rows : int or None
        Number of rows of a set that are used, evenly spaced; None for all.
    repeats : int
        Number of draws in each simulation.
    """

    n_features: int = 1000
    widths: tuple[int, ...] = (5, 10, 20)
    width: int = 10
    max_rows: int | None = None
    repeats: int = 200

    def __post_init__(self) -> None:
        if not isinstance(self.widths, tuple) or not self.widths:
            raise TypeError(f"widths={self.widths!r} must be a tuple of integers, and not empty.")
        for width in self.widths:
            check_positive_int("widths", width)
        # Integers of numpy would not go into the names and files of stored pieces.
        object.__setattr__(self, "widths", tuple(int(width) for width in self.widths))
        for name in ("n_features", "width", "repeats", "max_rows"):
            if (value := getattr(self, name)) is not None or name != "max_rows":
                check_positive_int(name, value)
                object.__setattr__(self, name, int(value))
        widest = max(self.width, *self.widths)
        if widest > self.n_features:
            raise ValueError(
                f"n_features={self.n_features!r} must be at least the width of a member, {widest}."
            )
        if self.max_rows is not None and self.max_rows < FEWEST_ROWS:
            raise ValueError(
                f"max_rows={self.max_rows!r} must be at least {FEWEST_ROWS}: rows are split "
                "into five folds, twice."
            )


#: The size in the paper.
FULL = Size()

#: A small size: every experiment in a minute.
QUICK = Size(n_features=100, max_rows=200, repeats=20)


@dataclass(frozen=True)
class Setup:
    """The settings that decide on the numbers of a study.

    Attributes
    ----------
    protocol : {"paper", "printed"}
        "paper" is what the authors must have run, "printed" is what the text says.
    shuffle : bool
        Whether rows are shuffled before they are split into folds.
    seed : int
        Seed of features, shuffles and simulations.
    size : Size
        Features, widths of members, rows and repeats.

    Examples
    --------
    >>> from negcorr.paper import Setup
    >>> Setup(protocol="printed").size.n_features
    1000
    """

    protocol: str = "paper"
    shuffle: bool = False
    seed: int = 0
    size: Size = FULL

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol={self.protocol!r} is unknown; allowed are {PROTOCOLS}.")
        shuffle, size = (vars(self)[name] for name in ("shuffle", "size"))
        if not isinstance(shuffle, bool):
            raise TypeError(f"shuffle={shuffle!r} must be True or False.")
        if not isinstance(size, Size):
            raise TypeError(f"size={size!r} must be a Size, such as FULL or QUICK.")
        check_positive_int("seed", self.seed, least=0)
        # Integers of numpy would not go into the names and files of stored pieces.
        object.__setattr__(self, "seed", int(self.seed))

    def under(self, protocol: str) -> Setup:
        """These settings with another protocol."""
        return replace(self, protocol=protocol)

    def members(self, width: int) -> int:
        """Number of members M of an ensemble whose members have ``width`` features each."""
        return max(1, self.size.n_features // width)

    def seed_for(self, *labels: Any) -> int:
        """A seed for one purpose; it does not depend on which seeds were taken before."""
        text = json.dumps([self.seed, *(str(label) for label in labels)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % 2**31
