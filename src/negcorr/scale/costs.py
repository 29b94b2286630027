"""What a fit in chunks takes of memory, and how many rows of a chunk a budget allows.

Upper bounds, counted from what the code holds at a time: moments of the folds while those of a
chunk are added to them, features of the rows that threads work on, chunks that wait. Nothing is
measured, so that the same settings give the same chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

from negcorr.ensemble.intervals import MAX_CALIBRATION_ROWS
from negcorr.moments.scan import BLOCK_BYTES
from negcorr.scale.chunks import Width
from negcorr.scale.first_pass import SAMPLE_ROWS

__all__ = ["Costs", "Shape", "costs_of_first_pass", "costs_of_fit", "rows_within"]

#: Rows of a chunk at most: enough to keep the cores busy.
MOST_ROWS = 131_072

#: And at least: below it, what each chunk costs by itself is most of the time.
FEWEST_ROWS = 1024

#: Chunks that are alive at a time, one of them in the making.
CHUNKS = 4

#: Copies of a chunk beside: as pyarrow has it, by columns, and as the estimator validates it.
COPIES = 3

#: Numbers for each row of a chunk beside its columns: hashes, folds, orders, and what they take.
NUMBERS = 24

#: What allocators hold beyond what is asked of them.
SLACK = 1.25

#: Bytes that are taken whatever is fitted: stacks and heaps of threads, libraries that are loaded.
BASE_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Shape:
    """What is fitted.

    Attributes
    ----------
    width : Width
        Columns of the rows.
    n_features : int
        Of all members.
    n_folds : int
        Whose moments are kept apart.
    n_lanes : int
        Threads.
    accurate : bool
        Whether moments are factors (``solver="qr"``).
    """

    width: Width
    n_features: int
    n_folds: int
    n_lanes: int
    accurate: bool = False


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
        >>> from negcorr.scale.costs import Costs
        >>> Costs(moments=1000, reading=0, row=8, feature_row=80, most_feature_rows=5).total(100)
        33557182
        """
        features = self.feature_row * min(n_rows, self.most_feature_rows)
        rows = self.row * n_rows + features
        return BASE_BYTES + int(SLACK * (self.moments + self.reading + rows))


def costs_of_first_pass(width: Width, *, sampled: bool) -> Costs:
    """Those of a look at the inputs.

    Parameters
    ----------
    width : Width
        Columns of the rows.
    sampled : bool
        Whether rows are kept, for a basis that is drawn from rows.
    """
    # Those so far, those of a chunk, both, and the smallest of both; drawing sorts and copies them.
    kept = 6 * 8 * SAMPLE_ROWS * width.n_inputs if sampled else 0
    return Costs(kept, width.reading, _row(width))


def costs_of_fit(shape: Shape) -> Costs:
    """Those of moments that are added up chunk by chunk.

    Parameters
    ----------
    shape : Shape
        What is fitted.

    Examples
    --------
    >>> from negcorr.scale.chunks import Width
    >>> from negcorr.scale.costs import Shape, costs_of_fit
    >>> shape = Shape(Width(20, 1, 21), n_features=1000, n_folds=5, n_lanes=2)
    >>> costs_of_fit(shape).moments // 2**20
    156
    """
    width = shape.width
    size = shape.n_features + width.n_outputs + 1
    matrix = 8 * size**2
    # So far, of the chunk, and the sum; and each lane has the product of a block beside its own.
    n_matrices = 3 * shape.n_folds + 2 * shape.n_lanes + 1
    copies = 1
    if shape.accurate:
        # Factorising takes copies, of the factor and of the rows that are stacked below it.
        n_matrices, copies = n_matrices + 4 * shape.n_lanes, 3
    kept = 4 * 8 * MAX_CALIBRATION_ROWS * width.n_numbers
    basis = 3 * 8 * (width.n_inputs + 1) * shape.n_features
    # Blocks are of nearly equal size, which can be half as much again as is aimed at.
    block = max(BLOCK_BYTES // (8 * size), 64) * 3 // 2
    return Costs(
        matrix * n_matrices + kept + basis,
        width.reading,
        _row(width),
        8 * (copies * size + width.n_numbers),
        block * shape.n_lanes,
    )


def _row(width: Width) -> int:
    return 8 * ((CHUNKS + COPIES) * width.n_numbers + NUMBERS)


def rows_within(costs: Costs, budget: int) -> int | None:
    """Rows of a chunk that a budget allows: a power of two times the fewest, or None.

    Parameters
    ----------
    costs : Costs
    budget : int
        Bytes.

    Examples
    --------
    >>> from negcorr.scale.costs import Costs, rows_within
    >>> costs = Costs(moments=2**20, reading=0, row=1000)
    >>> rows_within(costs, 2**30), rows_within(costs, 2**26), rows_within(costs, 2**20)
    (131072, 16384, None)
    """
    n_rows = MOST_ROWS
    while costs.total(n_rows) > budget:
        n_rows //= 2
        if n_rows < FEWEST_ROWS:
            return None
    return n_rows
