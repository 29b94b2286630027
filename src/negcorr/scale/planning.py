"""Rows of a chunk: as the user has it, or as many as a budget of memory allows."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

from negcorr._common.memory import available_bytes, in_words, parse_bytes
from negcorr._common.threads import blas_threads
from negcorr._common.validation import check_positive_int
from negcorr.scale.chunks import Source, Width
from negcorr.scale.costs import (
    FEWEST_ROWS,
    MOST_ROWS,
    SLACK,
    Costs,
    Shape,
    costs_of_first_pass,
    costs_of_fit,
    rows_within,
)
from negcorr.scale.first_pass import needs_sample

__all__ = ["Budget", "Plan"]

#: Share of the available memory that a fit may take unless the user names a budget.
SHARE = 0.25


@dataclass(frozen=True)
class Budget:
    """What chunks may take.

    Attributes
    ----------
    block_size : int or None
        Rows of a chunk as the user has them; then memory is the user's care.
    n_bytes : int or None
        What a fit should stay below; None where nothing is known of the machine's memory.
    most_bytes : int or None
        What a fit whose smallest chunks are larger than that may take, before it is refused.
    told : str
        The budget for people.
    """

    block_size: int | None
    n_bytes: int | None
    most_bytes: int | None
    told: str

    @classmethod
    def of(cls, block_size: Any, memory: Any) -> Budget:
        """From the arguments of ``negcorr.scale.fit``.

        Examples
        --------
        >>> from negcorr.scale.planning import Budget
        >>> Budget.of(None, "64MB").n_bytes
        64000000
        """
        if memory is not None:
            n_bytes = parse_bytes(memory)
            if block_size is not None:
                raise ValueError(
                    f"block_size={block_size!r} and memory={memory!r} exclude each other: rows of "
                    "a chunk follow from the memory."
                )
            return cls(None, n_bytes, n_bytes, f"memory={memory!r} ({in_words(n_bytes)})")
        if block_size is not None:
            check_positive_int("block_size", block_size)
            return cls(int(block_size), None, None, "")
        left = available_bytes()
        if left is None:
            return cls(None, None, None, "")
        return cls(None, int(SHARE * left), left, f"available memory of {in_words(left)}")

    @property
    def most_rows(self) -> int:
        """Rows of a chunk where memory does not ask for fewer."""
        return MOST_ROWS if self.block_size is None else self.block_size

    @property
    def asked_for(self) -> bool:
        """Whether the user has named a budget."""
        return self.told.startswith("memory=")

    def rows(self, costs: Costs) -> int:
        """Rows of a chunk."""
        if self.n_bytes is None or self.most_bytes is None:
            return self.most_rows
        found = rows_within(costs, self.n_bytes)
        if found is None and costs.total(FEWEST_ROWS) <= self.most_bytes:
            found = FEWEST_ROWS
        if found is None:
            kind = ValueError if self.asked_for else MemoryError
            raise kind(_too_little(costs, self.told))
        return found


def _too_little(costs: Costs, told: str) -> str:
    """What takes how much, and what to do about it."""
    chunks = costs.total(FEWEST_ROWS) - SLACK * (costs.moments + costs.reading)
    parts = {
        "the moments of all folds, while others are added to them,": SLACK * costs.moments,
        "reading the columns": SLACK * costs.reading,
        f"chunks of {FEWEST_ROWS} rows and all else": chunks,
    }
    list_of_parts = ", ".join(f"{part} {in_words(size)}" for part, size in parts.items() if size)
    return (
        f"{told} is too little for this fit, which takes {in_words(costs.total(FEWEST_ROWS))}: "
        f"{list_of_parts}. Use fewer members or components (n_estimators, n_components), fewer "
        "folds (cv), fewer columns, or more memory."
    )


@dataclass(frozen=True, repr=False)
class Plan:
    """Chunks of a source for a model.

    Attributes
    ----------
    model : NCLRegressor
    n_folds : int
    budget : Budget
    n_features : int or None
        Features of all members as far as they are known before the basis is drawn.
    """

    model: Any
    n_folds: int
    budget: Budget
    n_features: int | None

    @classmethod
    def of(cls, model: Any, n_folds: int, budget: Budget, drawn: bool) -> Plan:
        """For a model before its fit, whose basis is drawn or not."""
        sizes = (model.n_estimators, model.n_components)
        n_features = None
        if drawn:
            n_features = int(model.basis_.block_starts_[-1])
        elif isinstance(model.basis, str) and all(isinstance(n, numbers.Integral) for n in sizes):
            n_features = int(sizes[0]) * int(sizes[1])
        return cls(model, n_folds, budget, n_features)

    def before(self, source: Source, first_pass: bool) -> Source:
        """The source in chunks for the first pass and, as far as that is known, for the second."""
        width = self._width(source)
        if width is None:
            return source
        costs = []
        if self.n_features is not None:
            costs.append(self._costs(width, self.n_features))
        if first_pass:
            costs.append(costs_of_first_pass(width, sampled=needs_sample(self.model)))
        return source.in_chunks_of(min(map(self.budget.rows, costs))) if costs else source

    def after(self, source: Source) -> Source:
        """The source in chunks for the second pass, now that the basis is drawn."""
        n_features = int(self.model.basis_.block_starts_[-1])
        width = self._width(source)
        if width is None or n_features == self.n_features:
            return source
        return source.in_chunks_of(self.budget.rows(self._costs(width, n_features)))

    def _width(self, source: Source) -> Width | None:
        # Not asked for in vain: files have to be opened for it.
        return None if self.budget.n_bytes is None else source.width

    def _costs(self, width: Width, n_features: int) -> Costs:
        accurate = self.model.solver == "qr"
        return costs_of_fit(Shape(width, n_features, self.n_folds, blas_threads(), accurate))
