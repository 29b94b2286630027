"""Rows unlike those of the fit: predictions there rest on less, and intervals do not know it."""

from __future__ import annotations

from typing import Any

import numpy as np

from negcorr._common.types import BoolArray
from negcorr.cli.loaded_model import StoredModel
from negcorr.columns.squash import TamedScaler
from negcorr.columns.typed_columns import MISSING_LEVEL

__all__ = ["Strangers"]

#: Columns that a remark names.
MOST_NAMES = 5


class Strangers:
    """Counts rows with gaps, levels or values that no row of the fit had.

    Parameters
    ----------
    stored : StoredModel
        A model for tables; of others nothing is known, and nothing is said.
    """

    def __init__(self, stored: StoredModel) -> None:
        self._stored = stored
        self._counts: dict[str, dict[str, int]] = {"gaps": {}, "levels": {}, "range": {}}

    def look_at(self, frame: Any) -> None:
        """Count among some more rows."""
        schema = self._stored.schema
        if schema is None:
            return
        typed = self._stored.model[0].transform(frame)
        for name in schema.named("number"):
            values = typed[name].to_numpy()
            if schema[name].n_missing == 0:
                self._count("gaps", name, np.isnan(values))
            low, high = self._range(name)
            self._count("range", name, (values < low) | (values > high))
        for name in schema.named("category"):
            known = self._levels(name)
            if known is not None:
                strange = ~typed[name].isin([*known, MISSING_LEVEL]).to_numpy()
                self._count("levels", name, strange)

    def remarks(self) -> list[str]:
        """A sentence for each kind of them."""
        words = {
            "gaps": "have gaps where no row of the fit had any",
            "levels": "have levels that no row of the fit had",
            "range": "have values outside the range of those of the fit",
        }
        return [
            f"some rows {words[kind]} ({_listed(counts)}): predictions there are less sure than "
            "their intervals."
            for kind, counts in self._counts.items()
            if counts
        ]

    def _count(self, kind: str, name: str, strange: BoolArray) -> None:
        found = int(np.count_nonzero(strange))
        if found:
            self._counts[kind][name] = self._counts[kind].get(name, 0) + found

    def _part(self, name: str) -> Any:
        """A part of the encoder with its columns, None where it has no such part."""
        encoder = self._stored.model[1]
        for part, fitted, columns in encoder.transformers_:
            if part == name:
                return fitted, list(columns)
        return None

    def _range(self, name: str) -> tuple[float, float]:
        found = self._part("numbers")
        if found is None or not isinstance(found[0][-1], TamedScaler):
            return -np.inf, np.inf
        scaler, at = found[0][-1], found[1].index(name)
        if not hasattr(scaler, "data_min_"):
            return -np.inf, np.inf
        return float(scaler.data_min_[at]), float(scaler.data_max_[at])

    def _levels(self, name: str) -> list[str] | None:
        found = self._part("categories")
        return None if found is None else [*found[0].categories_[found[1].index(name)]]


def _listed(counts: dict[str, int]) -> str:
    shown = ", ".join(f"{n} in {name}" for name, n in list(counts.items())[:MOST_NAMES])
    more = len(counts) - MOST_NAMES
    return f"{shown} and others" if more > 0 else shown
