"""Rows unlike those of the fit: predictions there are less certain than their intervals say."""

from __future__ import annotations

from typing import Any

import numpy as np

from negcorr.cli.loaded_model import LoadedModel
from negcorr.columns.typed_columns import MISSING_LEVEL

__all__ = ["UnseenValues"]

#: Most columns that a remark names.
MOST_NAMES = 5

_GAPS = "have gaps where no row of the fit had any"
_LEVELS = "have levels that no row of the fit had"
_RANGE = "have values outside the range of those of the fit"


class UnseenValues:
    """Counts rows with gaps, levels or values that no row of the fit had.

    Parameters
    ----------
    loaded : LoadedModel
        A model for tables; for other models nothing is counted.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        self._counts: dict[str, dict[str, int]] = {_GAPS: {}, _LEVELS: {}, _RANGE: {}}
        self._levels: dict[str, list[Any]] = {}
        self._ranges: dict[str, tuple[float, float]] = {}
        if loaded.schema is None:
            return
        for part, fitted, columns in loaded.model[1].transformers_:
            if part == "categories":
                self._levels = dict(zip(columns, map(list, fitted.categories_), strict=True))
            elif part == "numbers" and hasattr(fitted[-1], "data_min_"):
                ends = zip(fitted[-1].data_min_, fitted[-1].data_max_, strict=True)
                self._ranges = dict(zip(columns, ends, strict=True))

    def look_at(self, frame: Any) -> None:
        """Count in some more rows."""
        schema = self._loaded.schema
        if schema is None:
            return
        typed = self._loaded.model[0].transform(frame)
        unseen: dict[str, dict[str, Any]] = {_GAPS: {}, _LEVELS: {}, _RANGE: {}}
        for name in schema.named("number"):
            values = typed[name].to_numpy()
            if schema[name].n_missing == 0:
                unseen[_GAPS][name] = np.isnan(values)
            low, high = self._ranges.get(name, (-np.inf, np.inf))
            unseen[_RANGE][name] = (values < low) | (values > high)
        for name, levels in self._levels.items():
            unseen[_LEVELS][name] = ~typed[name].isin([*levels, MISSING_LEVEL]).to_numpy()
        for kind, columns in unseen.items():
            for name, rows in columns.items():
                self._counts[kind][name] = self._counts[kind].get(name, 0) + int(rows.sum())

    def remarks(self) -> list[str]:
        """A sentence for each kind of unseen value that was found."""
        remarks = []
        for kind, counts in self._counts.items():
            listed = [f"{n} in {name}" for name, n in counts.items() if n]
            if listed:
                others = " and others" if len(listed) > MOST_NAMES else ""
                remarks.append(
                    f"some rows {kind} ({', '.join(listed[:MOST_NAMES])}{others}): predictions "
                    "there are less certain than their intervals say."
                )
        return remarks
