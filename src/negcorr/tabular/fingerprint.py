"""Which rows a model has seen: a digest of them all, and a sketch that finds them again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from negcorr.rowhash import HashArray
from negcorr.tabular.samples import Samples, hashes
from negcorr.tabular.schema import Schema

__all__ = ["Fingerprint"]

#: Hashes that are kept: a share of rows is then known to a few hundredths.
SKETCH = 512


@dataclass(frozen=True)
class Fingerprint:
    """Rows as hashes of what they hold, in any order.

    Attributes
    ----------
    n_rows : int
    digest : str
        The same for the same rows, in any order and however their cells are written.
    smallest : tuple of int
        The smallest hashes, ascending: a fair sample of the rows, found again among others.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tabular import infer_columns, samples
    >>> from negcorr.tabular.fingerprint import Fingerprint
    >>> frame = pd.DataFrame({"x": range(0, 200, 2), "y": range(100)})
    >>> schema = infer_columns(frame, "y")
    >>> seen = Fingerprint.of(samples(frame.head(80), schema), schema)
    >>> seen.share_of(samples(frame.tail(40), schema), schema)
    0.5
    """

    n_rows: int
    digest: str
    smallest: tuple[int, ...]

    @classmethod
    def of(cls, rows: Samples, schema: Schema) -> Self:
        """The fingerprint of rows.

        Parameters
        ----------
        rows : Samples
        schema : Schema
            What the columns are for.
        """
        return cls.of_hashes(hashes(rows, schema))

    @classmethod
    def of_hashes(cls, keys: HashArray) -> Self:
        """The fingerprint of rows that are hashed already."""
        ordered = np.sort(keys)
        digest = hashlib.sha256(ordered.astype("<u8").tobytes()).hexdigest()[:16]
        return cls(len(keys), digest, tuple(int(key) for key in np.unique(ordered)[:SKETCH]))

    def share_of(self, rows: Samples, schema: Schema) -> float:
        """Share of some rows that are among these, exact where these are few.

        Parameters
        ----------
        rows : Samples
        schema : Schema
        """
        keys = hashes(rows, schema)
        if len(self.smallest) == SKETCH:
            # Above the largest hash that is kept nothing is known of rows that were seen.
            keys = keys[keys <= np.uint64(self.smallest[-1])]
        known = np.array(self.smallest, dtype=np.uint64)
        return float(np.isin(keys, known).mean()) if len(keys) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"n_rows": self.n_rows, "digest": self.digest, "smallest": list(self.smallest)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """From what :meth:`to_dict` gave."""
        smallest = tuple(map(int, stored["smallest"]))
        return cls(int(stored["n_rows"]), str(stored["digest"]), smallest)
