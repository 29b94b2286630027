"""What a fit costs, from the shape of the problem and the rates of one core: time, memory, traffic.

Nothing is measured here: ``scale_bare.py`` in ``benchmarks/scale`` measures the rates, and the page
compares the predictions with measured fits. d inputs, Q features, p outputs, K folds, n rows.

A row costs, in floating-point operations unless other units are given,

=================  =========================================================================
reading            8(d + p) bytes, twice: one pass for the basis, one for the moments
first pass         8(d + p) bytes of checks, counts and hashes
book-keeping       8(d + p) bytes of checks, hashes, folds and gathers in the second pass
features           2(d + 1)Q, the phase being the weight of a constant input, and Q cosines
Gram product       (Q + p + 1)²: multiply and add for one half of a symmetric matrix
=================  =========================================================================

and a fit K + 1 reductions to tridiagonal form of 4/3·Q³ each, beside the search for λ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ClusterCost",
    "Rates",
    "Shape",
    "cluster_cost",
    "cluster_memory",
    "device_line",
    "moment_bytes",
    "one_process_memory",
    "one_process_seconds",
    "result_bytes",
    "row_parts",
    "row_work",
    "summary_bytes",
    "travelling_results",
    "tree_levels",
]

#: As in negcorr: results that one task adds up, bytes of features that a thread holds, rows that
#: are kept for intervals and for the first pass, and rows of a chunk that is read from files.
FAN_IN, BLOCK_BYTES, KEPT_ROWS, SAMPLE_ROWS, CHUNK_ROWS = 8, 32 * 2**20, 4096, 20_000, 131_072

#: Chunks that are in memory when files are read ahead, and further copies of one that is read (as
#: it comes, by columns, by rows) and of one that is worked on (checked, gathered, hashed).
CHUNKS, READING, COPIES = 4, 3, 3

_DOUBLE = 8


@dataclass(frozen=True)
class Shape:
    """Of an ensemble and its rows.

    Attributes
    ----------
    inputs, members, width : int
        d, M and H.
    outputs, folds : int
        p and K.
    """

    inputs: int
    members: int
    width: int
    outputs: int = 1
    folds: int = 5

    @property
    def features(self) -> int:
        """Q."""
        return self.members * self.width

    @property
    def row_bytes(self) -> int:
        """Of a row as doubles, from whatever file."""
        return _DOUBLE * (self.inputs + self.outputs)


@dataclass(frozen=True)
class Rates:
    """What one core does per second while the others do the same.

    Attributes
    ----------
    read_bytes, summary_bytes, book_bytes : float
        Bytes of rows that are read, gone through by the first pass, and by the second but for
        features.
    product_flops, cosines, gram_flops, reduction_flops : float
        Operations.
    merges : float
        Sets of moments that are added to others, for the shape that was measured.
    search_seconds : float
        Of choosing λ when all is reduced.
    """

    read_bytes: float
    summary_bytes: float
    book_bytes: float
    product_flops: float
    cosines: float
    gram_flops: float
    reduction_flops: float
    merges: float
    search_seconds: float = 0.0

    @classmethod
    def of(cls, stored: Mapping[str, float]) -> Rates:
        """From the stored report."""
        return cls(**stored)


def row_work(shape: Shape) -> dict[str, float]:
    """What a row asks for: bytes to read, operations and cosines, bytes of features."""
    Q = shape.features
    return {
        "row_bytes": float(shape.row_bytes),
        "feature_bytes": float(_DOUBLE * (Q + shape.outputs + 1)),
        "product_flops": 2.0 * (shape.inputs + 1) * Q,
        "cosines": float(Q),
        "gram_flops": float((Q + shape.outputs + 1) ** 2),
    }


def row_parts(shape: Shape, rates: Rates) -> dict[str, float]:
    """Core-seconds of a row, part by part; ``read`` is one of the two passes over the files."""
    work = row_work(shape)
    return {
        "read": work["row_bytes"] / rates.read_bytes,
        "summary": work["row_bytes"] / rates.summary_bytes,
        "book": work["row_bytes"] / rates.book_bytes,
        "product": work["product_flops"] / rates.product_flops,
        "cosines": work["cosines"] / rates.cosines,
        "gram": work["gram_flops"] / rates.gram_flops,
    }


def tuning_seconds(shape: Shape, rates: Rates) -> float:
    """K + 1 reductions on one core, and the search."""
    reductions = (shape.folds + 1) * 4.0 / 3.0 * shape.features**3
    return reductions / rates.reduction_flops + rates.search_seconds


def one_process_seconds(
    shape: Shape, rates: Rates, n_rows: int, cores: int, chunk_rows: int = CHUNK_ROWS
) -> float:
    """A fit from files in one process.

    In the first pass a thread reads while another sums up; in the second book-keeping is done by
    one thread, features and Gram products by all, and reading takes its share of the cores.
    """
    part = row_parts(shape, rates)
    first = max(part["read"], part["summary"]) if cores > 1 else part["read"] + part["summary"]
    shared = part["read"] + part["product"] + part["cosines"] + part["gram"]
    chunks = -(-n_rows // chunk_rows)
    merging = chunks / rates.merges
    rows = n_rows * (first + part["book"] + shared / cores)
    return rows + merging + tuning_seconds(shape, rates)


def one_process_memory(
    shape: Shape, base_bytes: float, cores: int, chunk_rows: int = CHUNK_ROWS
) -> float:
    """Peak bytes: what the libraries take, chunks, a block of features and moments per thread."""
    chunks = (CHUNKS + READING + COPIES) * chunk_rows * shape.row_bytes
    return base_bytes + chunks + cores * BLOCK_BYTES + (cores + 2) * moment_bytes(shape)


def moment_bytes(shape: Shape) -> int:
    """Of all folds: scatter matrix, means, squares and weight are (Q + p + 1)² doubles each."""
    return _DOUBLE * shape.folds * (shape.features + shape.outputs + 1) ** 2


def basis_bytes(shape: Shape) -> int:
    """Frequencies and phases, as they are and in turns."""
    return _DOUBLE * 2 * (shape.inputs + 1) * shape.features


def result_bytes(shape: Shape, task_rows: int) -> int:
    """What a task of the second pass gives: moments, rows kept for intervals, and the basis."""
    kept = min(task_rows, KEPT_ROWS) * (shape.row_bytes + 3 * _DOUBLE)
    return moment_bytes(shape) + kept + basis_bytes(shape)


def summary_bytes(shape: Shape, task_rows: int) -> int:
    """What a task of the first pass gives: a sample of rows, with weights and two hashes each."""
    return (shape.row_bytes + 3 * _DOUBLE) * min(task_rows, SAMPLE_ROWS)


def tree_levels(n_tasks: int, fan_in: int = FAN_IN) -> list[int]:
    """Results on each level of the tree, from those of the blocks to the last one.

    Examples
    --------
    >>> tree_levels(100)
    [100, 13, 2, 1]
    """
    levels = [n_tasks]
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // fan_in))
    return levels


def travelling_results(n_tasks: int, workers: int, fan_in: int = FAN_IN) -> int:
    """Most results that go from one worker to another.

    If a sum of g results is made where most of them are, ⌈g/workers⌉ of them stay.

    Examples
    --------
    >>> travelling_results(8, workers=2), travelling_results(8, workers=8)
    (4, 7)
    """
    moved = 0
    for count in tree_levels(n_tasks, fan_in)[:-1]:
        for first in range(0, count, fan_in):
            group = min(fan_in, count - first)
            moved += group - -(-group // workers)
    return moved


@dataclass(frozen=True)
class ClusterCost:
    """Of a fit on a cluster of workers of one core each.

    Attributes
    ----------
    seconds : float
        Without network, storage that is slower than the cores, scheduling, and stragglers.
    tasks : int
        Of one pass, the sums not counted.
    worker_bytes : float
        Peak memory of a worker.
    wire_bytes : float
        Between workers, at most, and from and to the client.
    read_bytes_per_second : float
        What files must deliver to all workers together.
    """

    seconds: float
    tasks: int
    worker_bytes: float
    wire_bytes: float
    read_bytes_per_second: float


def cluster_cost(
    shape: Shape, rates: Rates, n_rows: int, cores: int, task_rows: int, base_bytes: float
) -> ClusterCost:
    """A fit of blocks of ``task_rows`` rows on a cluster.

    Blocks are worked on by whole rounds: the last one may leave cores without work.
    """
    tasks = -(-n_rows // task_rows)
    rounds = -(-tasks // cores)
    part = row_parts(shape, rates)
    row = 2.0 * part["read"] + sum(part[name] for name in part if name != "read")
    levels = tree_levels(tasks)
    # Sums on the way, shared by all cores, and those of the last levels, which wait for each other.
    merging = tasks / cores / rates.merges + FAN_IN * (len(levels) - 1) / rates.merges
    seconds = rounds * min(task_rows, n_rows) * row + merging + tuning_seconds(shape, rates)
    each = result_bytes(shape, task_rows) + summary_bytes(shape, task_rows)
    wire = (travelling_results(tasks, cores) + 1) * each + tasks * basis_bytes(shape)
    return ClusterCost(
        seconds=seconds,
        tasks=tasks,
        worker_bytes=cluster_memory(shape, base_bytes, task_rows, tasks),
        wire_bytes=float(wire),
        read_bytes_per_second=2.0 * n_rows * shape.row_bytes / seconds,
    )


def cluster_memory(shape: Shape, base_bytes: float, task_rows: int, tasks: int) -> float:
    """Peak bytes of a worker of one core: libraries, a block, features, and results to be added."""
    block = (1 + COPIES) * task_rows * shape.row_bytes
    results = (min(FAN_IN, tasks) + 1) * result_bytes(shape, task_rows)
    return base_bytes + block + BLOCK_BYTES + 2 * moment_bytes(shape) + results


def device_line(by_rows: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    """Fits on a device as a line through the two largest: what they take at all, and by the row.

    Parameters
    ----------
    by_rows : sequence of mappings
        ``rows``, ``rows_per_second`` and ``peak_device_bytes`` of at least two fits.

    Returns
    -------
    fixed : float
        Seconds however few the rows are.
    seconds : float
        For each row.
    size : float
        Bytes of the device for each row.
    """
    few, many = sorted(by_rows, key=lambda each: each["rows"])[-2:]
    apart = many["rows"] - few["rows"]
    first, last = (each["rows"] / each["rows_per_second"] for each in (few, many))
    seconds = (last - first) / apart
    size = (many["peak_device_bytes"] - few["peak_device_bytes"]) / apart
    return last - seconds * many["rows"], seconds, size
