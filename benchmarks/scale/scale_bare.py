"""The least that a fit must do, as fast as NumPy can do it, and the rates of its parts.

A fit of random Fourier features cannot do without the product X·W + b, its cosines and the Gram
product ΦᵀΦ. :func:`bare_seconds` does these and nothing else, on rows in memory: threads with one
BLAS thread each take blocks from a common pile, write into buffers of their own, and use the
symmetric rank-k update. :func:`rates` measures the parts one by one for the cost model.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from negcorr.bases.fourier import cos_turns

__all__ = [
    "CONFIGURATIONS",
    "Configuration",
    "bare_gram",
    "bare_seconds",
    "configuration_rates",
    "rates",
]


@dataclass(frozen=True)
class Configuration:
    """How the bare loop is cut.

    Attributes
    ----------
    cosine : {"numpy", "polynomial"}
        ``numpy.cos``, or :func:`negcorr.bases.fourier.cos_turns`.
    rows_in_cache : int
        Rows whose features are made at a time.
    rows_per_block : int
        Rows of one Gram product.
    """

    cosine: str
    rows_in_cache: int
    rows_per_block: int


CONFIGURATIONS = (
    *(Configuration("numpy", 128, block) for block in (2048, 8192)),
    *(
        Configuration("polynomial", cache, block)
        for cache in (64, 128, 256, 512)
        for block in (1024, 2048, 8192, 16384)
    ),
)


def bare_seconds(X: np.ndarray, n_features: int, how: Configuration, n_threads: int) -> float:
    """Seconds of features and Gram product of all rows, the sum over threads included."""
    weights = np.random.default_rng(1).normal(size=(X.shape[1] + 1, n_features))
    return bare_gram(X, weights, how, n_threads)[1]


def bare_gram(
    X: np.ndarray, weights: np.ndarray, how: Configuration, n_threads: int
) -> tuple[np.ndarray, float]:
    """ΦᵀΦ with Φ = cos([X, 1]·weights), and the seconds that it took."""
    n_features = weights.shape[1]
    if how.cosine == "polynomial":
        weights = weights / (2.0 * np.pi)
    starts = itertools.count(0, how.rows_per_block)  # a thread that is held up takes fewer

    def lane(_: int) -> np.ndarray:
        rows = np.ones((how.rows_in_cache, X.shape[1] + 1))
        angles = np.empty((how.rows_in_cache, n_features))
        scratch = np.empty((2, *angles.shape))
        features = np.empty((how.rows_per_block, n_features))
        product, gram = np.empty((n_features,) * 2), np.zeros((n_features,) * 2)
        for start in starts:
            block = X[start : start + how.rows_per_block]
            if len(block) == 0:
                return gram
            for first in range(0, len(block), how.rows_in_cache):
                part = block[first : first + how.rows_in_cache]
                size = len(part)
                rows[:size, :-1] = part
                np.matmul(rows[:size], weights, out=angles[:size])
                out = features[first : first + size]
                if how.cosine == "numpy":
                    np.cos(angles[:size], out=out)
                else:
                    cos_turns(angles[:size], out, scratch[:, :size])
            filled = features[: len(block)]
            np.matmul(filled.T, filled, out=product)
            gram += product
        return gram

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(abs, range(n_threads)))  # threads are there before the clock starts
        before = perf_counter()
        parts = list(pool.map(lane, range(n_threads)))
        for part in parts[1:]:
            parts[0] += part
        return parts[0], perf_counter() - before


def configuration_rates(
    n_rows: int, n_inputs: int, n_features: int, n_threads: int, repeats: int
) -> list[dict[str, Any]]:
    """Rows per second of every configuration, the best of rounds over all of them."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_inputs))
    bare_seconds(X[:50_000], n_features, CONFIGURATIONS[0], n_threads)
    best = dict.fromkeys(CONFIGURATIONS, 0.0)
    for _ in range(repeats):
        for how in CONFIGURATIONS:
            best[how] = max(best[how], n_rows / bare_seconds(X, n_features, how, n_threads))
    return [asdict(how) | {"rows_per_second": rate} for how, rate in best.items()]


def rates(
    folder: Path, n_inputs: int, n_members: int, width: int, meet: Callable[[], Any]
) -> dict[str, float]:
    """What one core does per second, part by part; ``meet`` waits for the other cores.

    Parameters
    ----------
    folder : Path
        Parquet files to read.
    n_inputs, n_members, width : int
        Inputs, members, and features of each.
    meet : callable
        Called before each part: all cores are to do the same at the same time.
    """
    import pandas

    from negcorr import NCLRegressor
    from negcorr.bases import FourierFeatures
    from negcorr.scale.files import open_files
    from negcorr.scale.first_pass import look_at
    from negcorr.scale.planning import MOST_ROWS
    from negcorr.spectrum.tridiagonal import tridiagonalise

    rng = np.random.default_rng(0)
    n_features = n_members * width
    # As files give it.
    X = pandas.DataFrame({f"x{k}": rng.normal(size=MOST_ROWS) for k in range(n_inputs)})
    y = np.sin(X["x0"].to_numpy()) + rng.normal(size=MOST_ROWS)
    row_bytes = 8.0 * (n_inputs + 1)
    rows = np.ones((64, n_inputs + 1))
    weights = rng.normal(size=(n_inputs + 1, n_features))
    angles, cosines = np.empty((2, 64, n_features))
    scratch = np.empty((2, 64, n_features))
    features = rng.normal(size=(4096, n_features + 2))
    product = np.empty((n_features + 2,) * 2)
    square = features.T @ features
    one = NCLRegressor(FourierFeatures(1, 1)).draw(X)
    parts = [
        NCLRegressor(FourierFeatures(n_members, width)).draw(X).partial_fit(X[:5000], y[:5000])
        for _ in range(2)
    ]

    def read() -> float:
        chunks = open_files(folder, "y", None, MOST_ROWS).chunks()
        return row_bytes * sum(chunk.n_rows for chunk in itertools.islice(chunks, 8))

    def book() -> float:
        # All that a partial fit does to rows but for features: checks, hashes, folds, gathers.
        one.partial_fit(X, y)
        return row_bytes * len(X)

    first = look_at(one, X, y, None)

    def summary() -> float:
        first.merged(look_at(one, X, y, None, first))
        return row_bytes * len(X)

    def make_product() -> float:
        np.matmul(rows, weights, out=angles)
        return 2.0 * rows.size * n_features

    def make_cosines() -> float:
        cos_turns(angles, cosines, scratch)
        return float(angles.size)

    def gram() -> float:
        np.matmul(features.T, features, out=product)
        return float(len(features) * features.shape[1] ** 2)

    def reduction() -> float:
        tridiagonalise(square.copy())
        return 4.0 / 3.0 * len(square) ** 3

    def merge() -> float:
        parts[0]._state.stream.merged(parts[1]._state.stream)
        return 1.0

    work: dict[str, Callable[[], float]] = {
        "read_bytes": read,
        "summary_bytes": summary,
        "book_bytes": book,
        "product_flops": make_product,
        "cosines": make_cosines,
        "gram_flops": gram,
        "reduction_flops": reduction,
        "merges": merge,
    }
    found = {}
    with threadpool_limits(1, user_api="blas"):
        for name, do in work.items():
            do()
            meet()
            found[name] = statistics.median(_per_second(do) for _ in range(5))
        before = perf_counter()
        tuned = parts[0].lam_
        seconds = perf_counter() - before
    # Beside the reductions of five folds and of all rows there is the search for λ.
    reduced = 6.0 * 4.0 / 3.0 * n_features**3 / found["reduction_flops"]
    found["search_seconds"] = max(seconds - reduced, 0.0) if 0.0 <= tuned <= 1.0 else np.nan
    return found


def _per_second(do: Callable[[], float], seconds: float = 0.3) -> float:
    """Of the amounts that ``do`` returns."""
    amount, before = 0.0, perf_counter()
    while perf_counter() - before < seconds:
        amount += do()
    return amount / (perf_counter() - before)
