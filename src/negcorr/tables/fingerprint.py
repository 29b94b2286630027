"""Which rows a model has seen: a digest of all of them, and a sample of their hashes."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from negcorr.columns.samples import Samples, hashes
from negcorr.reading.schema import Schema
from negcorr.rows.keys import HashArray
from negcorr.rows.smallest_keys import smallest_keys

__all__ = ["Fingerprint"]

#: Hashes that are kept: a share of rows is then known to a few hundredths.
SKETCH = 512


@dataclass(frozen=True)
class Fingerprint:
    """Rows as hashes of what they hold, in any order.

    Attributes
    ----------
    n_rows : int
    total, mixed : int
        Sum (modulo 2⁶⁴) and exclusive or of all hashes.
    smallest : tuple of int
        The smallest hashes, ascending: a random sample of the rows.
    seed : int
        Of the hash.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tables import infer_columns, samples
    >>> from negcorr.tables.fingerprint import Fingerprint
    >>> frame = pd.DataFrame({"x": range(0, 200, 2), "y": range(100)})
    >>> schema = infer_columns(frame, "y")
    >>> seen = Fingerprint.of(samples(frame.head(80), schema), schema)
    >>> seen.share_of(samples(frame.tail(40), schema), schema)
    0.5
    """

    n_rows: int = 0
    total: int = 0
    mixed: int = 0
    smallest: tuple[int, ...] = ()
    seed: int = 0

    @classmethod
    def of(cls, rows: Samples, schema: Schema, seed: int = 0) -> Self:
        """The fingerprint of rows.

        Parameters
        ----------
        rows : Samples
        schema : Schema
            What the columns are for.
        seed : int, default=0
            Of the hash.
        """
        return cls(seed=seed).with_hashes(hashes(rows, schema, seed))

    @property
    def digest(self) -> str:
        """The same for the same rows, in any order and however their cells are written."""
        text = f"{self.n_rows} {self.total} {self.mixed} {self.seed}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def with_hashes(self, keys: HashArray) -> Self:
        """The fingerprint of these rows and of others, hashed with the same seed."""
        other = type(self)(
            n_rows=len(keys),
            total=int(keys.sum(dtype=np.uint64)),
            mixed=int(np.bitwise_xor.reduce(keys, initial=np.uint64(0))),
            smallest=tuple(smallest_keys(keys, SKETCH, distinct=True).keys.tolist()),
        )
        return self.merged(other)

    def merged(self, other: Self) -> Self:
        """The fingerprint of the rows of both, hashed with the seed of this one."""
        both = np.array([*self.smallest, *other.smallest], dtype=np.uint64)
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            total=(self.total + other.total) % 2**64,
            mixed=self.mixed ^ other.mixed,
            smallest=tuple(smallest_keys(both, SKETCH, distinct=True).keys.tolist()),
        )

    def share_of(self, rows: Samples, schema: Schema) -> float:
        """Share of some rows that are among these, exact where these are few.

        Parameters
        ----------
        rows : Samples
        schema : Schema
        """
        keys = hashes(rows, schema, self.seed)
        if len(self.smallest) == SKETCH:
            # Above the largest hash that is kept nothing is known of rows that were seen.
            keys = keys[keys <= np.uint64(self.smallest[-1])]
        known = np.array(self.smallest, dtype=np.uint64)
        return float(np.isin(keys, known).mean()) if len(keys) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """From what :meth:`to_dict` gave.

        Raises
        ------
        ValueError
            If it is something else.
        """
        single: dict[str, Any] = {n: stored.get(n) for n in ("n_rows", "total", "mixed", "seed")}
        smallest = stored.get("smallest")
        numbers = [*single.values(), *(smallest if isinstance(smallest, list | tuple) else [None])]
        if not all(type(number) is int and 0 <= number < 2**64 for number in numbers):
            raise ValueError("a fingerprint holds other than numbers of 64 bits")
        return cls(**single, smallest=tuple(numbers[len(single) :]))
