"""Threads of our own over blocks of rows, each with one BLAS thread.

Two Python threads that each run single-threaded BLAS on blocks in cache beat one call on
many BLAS threads, and do not stall when the machine is busy. Their number is whatever
threadpoolctl's current limit allows, so a caller's limits are respected.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

import threadpoolctl
from threadpoolctl import ThreadpoolController

__all__ = [
    "blas_threads",
    "lanes",
    "one_blas_thread",
    "our_own_threads",
    "pause_point",
    "spread",
]

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Limit:
    """How many callers hold BLAS at one thread, what restores it, and what was before."""

    lock = threading.Lock()
    callers = 0
    limiter: Any = None
    before = 1


_limit = _Limit()


@cache
def _controller() -> Any:
    return ThreadpoolController().select(user_api="blas")


# What our_own_threads() found in this thread: the lanes that may replace BLAS threads.
_lanes_allowed: ContextVar[int | None] = ContextVar("_lanes_allowed", default=None)


def blas_threads() -> int:
    """Number of threads that BLAS may use now, or could before we took them over.

    1 inside a lane, and where no BLAS can be asked.
    """
    if getattr(_lane, "stop", None) is not None:
        # Inside a lane: its neighbours have the other cores.
        return 1
    allowed = _lanes_allowed.get()
    if allowed is not None:
        return allowed
    with _limit.lock:
        if _limit.callers:
            return _limit.before
    return _threads_now()


def _threads_now() -> int:
    return max((library["num_threads"] for library in _controller().info()), default=1)


def _take_control() -> None:
    """Let this thread set the limits of BLAS, whichever thread set them last.

    Newer releases of threadpoolctl let one thread only do so and ignore the others in
    silence; but of callers that overlap in time the last to leave need not be the first.
    """
    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


@contextmanager
def our_own_threads() -> Iterator[None]:
    """Replace the threads of BLAS by lanes of ours for as long as the block lasts.

    Threads of BLAS go on spinning for a while after each call, on cores that lanes need.
    """
    token = _lanes_allowed.set(blas_threads())
    try:
        with one_blas_thread():
            yield
    finally:
        _lanes_allowed.reset(token)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any caller is inside the block.

    The limit belongs to the process: of callers that overlap in time the first sets it and the
    last restores what was there before.
    """
    with _limit.lock:
        if _limit.callers == 0:
            _limit.before = _threads_now()
            _take_control()
            _limit.limiter = _controller().limit(limits=1)
        _limit.callers += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.callers -= 1
            if _limit.callers == 0:
                _take_control()
                _limit.limiter.restore_original_limits()
                _take_control()


class _StoppedError(Exception):
    """Ends a lane after the caller was interrupted or another lane failed."""


_lane = threading.local()


def pause_point() -> None:
    """End this lane here if its caller does not wait for it any more.

    Work of several seconds calls it now and then, so that Ctrl-C does not have to wait.
    """
    stop = getattr(_lane, "stop", None)
    if stop is not None and stop.is_set():
        raise _StoppedError


@contextmanager
def lanes(n_lanes: int) -> Iterator[Callable[[Callable[[int], Result]], list[Result]]]:
    """A function that runs ``work(0), …, work(n_lanes - 1)`` side by side and lists results.

    BLAS has one thread while there is more than one lane; the threads live as long as the
    block, so that work in many small steps does not pay for starting them. When the block is
    left by an exception, Ctrl-C among them, lanes end at their next :func:`pause_point`.
    """
    if n_lanes == 1:
        yield lambda work: [work(0)]
        return
    stop = threading.Event()

    def run(work: Callable[[int], Result]) -> list[Result]:
        def in_lane(lane: int) -> Result:
            _lane.stop = stop
            return work(lane)

        return list(pool.map(in_lane, range(n_lanes)))

    with one_blas_thread(), ThreadPoolExecutor(n_lanes) as pool:
        try:
            yield run
        except BaseException:
            stop.set()
            raise


def spread(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[work(item) for item in items]``, dealt out to as many lanes as BLAS may use threads."""
    n_lanes = max(1, min(blas_threads(), len(items)))
    with lanes(n_lanes) as run:
        dealt = run(lambda lane: [_work_on(work, item) for item in items[lane::n_lanes]])
    return [dealt[i % n_lanes][i // n_lanes] for i in range(len(items))]


def _work_on(work: Callable[[Item], Result], item: Item) -> Result:
    pause_point()
    return work(item)
