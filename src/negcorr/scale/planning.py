"""Rows of a chunk: as the user has it, or as many as a budget of memory allows.

The memory of a fit is an upper bound, counted from what the code holds at a time: moments of
the folds while those of a chunk are added to them, features of the rows that threads work on, and
chunks that wait. Nothing is measured, so that the same settings give the same chunks.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

from negcorr._common.memory import available_bytes, in_words, parse_bytes
from negcorr._common.threads import blas_threads
from negcorr._common.validation import check_positive_int
from negcorr.bases.named import as_basis
from negcorr.criteria.kfold import MOST_KEPT_ROWS
from negcorr.moments.scan import BLOCK_BYTES
from negcorr.rows.folds import number_of_folds
from negcorr.rows.sample import SAMPLE_ROWS
from negcorr.scale.chunks import Source, Width

__all__ = [
    "Budget",
    "Costs",
    "chunks_within",
    "costs_of_first_pass",
    "costs_of_fit",
    "known_columns",
    "known_features",
]

#: Share of the available memory that a fit may take unless the user names a budget.
SHARE = 0.25

#: Rows of a chunk at most: enough to keep the cores busy.
MOST_ROWS = 131_072

#: Rows of a chunk at least: with fewer, most of the time goes to what each chunk costs by itself.
FEWEST_ROWS = 1024

#: Chunks that are alive at a time, one of them in the making.
CHUNKS = 4

#: Copies of a chunk beside these: as pyarrow has it, by columns, and as the estimator validates it.
COPIES = 3

#: Copies of the text of a chunk that is read from text: as it comes, and joined.
TEXT_COPIES = 2

#: Numbers for each row of a chunk beside its columns: hashes, folds, orders, and what they take.
NUMBERS = 24

#: What allocators hold beyond what is asked of them.
SLACK = 1.25

#: Bytes that are taken whatever is fitted: stacks and heaps of threads, libraries that are loaded.
BASE_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Costs:
    """Bytes that a pass over the rows takes.

    Attributes
    ----------
    moments : int
        Moments of all folds, or what the first pass keeps, with what is added and the sum.
    reading : int
        What a reader of files holds of each column, whatever the size of chunks.
    row : int
        For each row of a chunk.
    feature_row : int
        For each row of which threads hold features.
    most_feature_rows : int
        Of such rows, however many there are in a chunk.
    """

    moments: int
    reading: int
    row: int
    feature_row: int = 0
    most_feature_rows: int = 0

    def total(self, n_rows: int) -> int:
        """Of chunks of so many rows.

        Examples
        --------
        >>> from negcorr.scale.planning import Costs
        >>> Costs(moments=1000, reading=0, row=8, feature_row=80, most_feature_rows=5).total(100)
        33557182
        """
        rows = self.row * n_rows + self.feature_row * min(n_rows, self.most_feature_rows)
        return BASE_BYTES + int(SLACK * (self.moments + self.reading + rows))

    def most_rows(self, budget: int) -> int | None:
        """Rows of a chunk that a budget allows: a power of two times the fewest, or None.

        Parameters
        ----------
        budget : int
            Bytes.

        Examples
        --------
        >>> from negcorr.scale.planning import Costs
        >>> costs = Costs(moments=2**20, reading=0, row=1000)
        >>> costs.most_rows(2**30), costs.most_rows(2**26), costs.most_rows(2**20)
        (131072, 16384, None)
        """
        n_rows = MOST_ROWS
        while self.total(n_rows) > budget:
            n_rows //= 2
            if n_rows < FEWEST_ROWS:
                return None
        return n_rows


def costs_of_first_pass(width: Width) -> Costs:
    """The bytes of the first pass over the rows.

    Parameters
    ----------
    width : Width
        Columns of the rows.
    """
    # Those so far, those of a chunk, both, and the smallest of both; drawing sorts and copies them,
    # where text has become columns. How many is not known yet: about as many as it counts for.
    text = max(width.n_numbers - width.n_inputs - width.n_outputs, 0)
    kept = 8 * SAMPLE_ROWS * (6 * width.n_numbers + 2 * text)
    return Costs(kept, width.reading, _row(width))


def costs_of_fit(
    width: Width, n_features: int, n_folds: int, n_threads: int, accurate: bool = False
) -> Costs:
    """The bytes of a pass that adds up moments chunk by chunk.

    Parameters
    ----------
    width : Width
        Columns of the rows.
    n_features : int
        Of all members.
    n_folds : int
        Each fold has moments of its own.
    n_threads : int
        Threads that work on features.
    accurate : bool, default=False
        Whether moments are factors (``solver="qr"``).

    Examples
    --------
    >>> from negcorr.scale.chunks import Width
    >>> from negcorr.scale.planning import costs_of_fit
    >>> costs_of_fit(Width(20, 1, 21), n_features=1000, n_folds=5, n_threads=2).moments // 2**20
    156
    """
    size = n_features + width.n_outputs + 1
    # So far, of the chunk, and the sum; and each thread has the product of a block beside its own.
    # Factorising takes copies, of the factor and of the rows that are stacked below it.
    n_matrices = 3 * n_folds + (6 if accurate else 2) * n_threads + 1
    copies = 3 if accurate else 1
    n_columns = width.n_encoded or width.n_inputs
    n_numbers = max(width.n_numbers, width.n_encoded + width.n_outputs + 1)
    kept = 4 * 8 * MOST_KEPT_ROWS * n_numbers
    basis = 3 * 8 * (n_columns + 1) * n_features
    # Blocks are of nearly equal size, which can be half as much again as is aimed at.
    block = max(BLOCK_BYTES // (8 * size), 64) * 3 // 2
    # The sample of the first pass as numbers, with a copy in order and one that is scaled.
    sample = 3 * 8 * SAMPLE_ROWS * width.n_encoded
    moments = 8 * size**2 * n_matrices + kept + basis + sample
    feature_row = 8 * (copies * size + n_numbers)
    return Costs(moments, width.reading, _row(width), feature_row, block * n_threads)


def _row(width: Width) -> int:
    numbers = (CHUNKS + COPIES) * width.n_numbers + width.n_encoded + NUMBERS
    return 8 * numbers + TEXT_COPIES * width.row_of_text


@dataclass(frozen=True)
class Budget:
    """What chunks may take.

    Attributes
    ----------
    block_size : int or None
        Rows of a chunk that the user has asked for; memory is then the user's own concern.
    n_bytes : int or None
        What a fit should stay below; None where nothing is known of the machine's memory.
    most_bytes : int or None
        What a fit whose smallest chunks are larger than that may take, before it is refused.
    told : str
        The budget in words.
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
        found = costs.most_rows(self.n_bytes)
        if found is not None:
            return found
        least = costs.total(FEWEST_ROWS)
        if least <= self.most_bytes:
            return FEWEST_ROWS
        chunks = least - SLACK * (costs.moments + costs.reading)
        parts = {
            "the moments of all folds, while others are added to them,": SLACK * costs.moments,
            "reading the columns": SLACK * costs.reading,
            f"chunks of {FEWEST_ROWS} rows and all else": chunks,
        }
        listed = ", ".join(f"{part} {in_words(size)}" for part, size in parts.items() if size)
        kind = ValueError if self.asked_for else MemoryError
        raise kind(
            f"{self.told} is too little for this fit, which takes {in_words(least)}: {listed}. "
            "Use fewer members or components (n_members, n_components), fewer folds (cv), fewer "
            "columns, or more memory."
        )


def known_columns(model: Any) -> int:
    """Columns that inputs of several kinds become; 0 for numbers, and before anything is drawn."""
    drawn = vars(model).get("_drawn")
    encoding = None if drawn is None else drawn.cells.encoding
    return 0 if encoding is None else len(encoding.feature_names)


def known_features(model: Any, drawn: bool) -> int | None:
    """Features of all members, None where only drawing the basis would tell."""
    if drawn:
        return int(model.basis_.block_starts_[-1])
    basis = as_basis(model.basis, 0)
    n_members, width = getattr(basis, "n_members", None), getattr(basis, "n_components", None)
    if isinstance(n_members, numbers.Integral) and isinstance(width, numbers.Integral):
        return int(n_members) * int(width)
    return None


def chunks_within(
    budget: Budget, source: Source, model: Any, n_features: int | None, first_pass: bool = False
) -> Source:
    """The source in chunks that a budget allows.

    Parameters
    ----------
    budget : Budget
    source : Source
    model : NCLRegressor
    n_features : int or None
        Features of all members; where they are not known, the fit is not counted.
    first_pass : bool, default=False
        Whether the chunks are for a look at the inputs too.
    """
    # Files have to be opened to know their width.
    width = None if budget.n_bytes is None else source.width
    if width is None:
        return source
    width = replace(width, n_encoded=0 if first_pass else known_columns(model))
    costs = []
    if n_features is not None:
        n_folds, accurate = number_of_folds(model.cv), model.solver == "qr"
        costs.append(costs_of_fit(width, n_features, n_folds, blas_threads(), accurate))
    if first_pass:
        costs.append(costs_of_first_pass(width))
    return source.in_chunks_of(min(map(budget.rows, costs))) if costs else source
