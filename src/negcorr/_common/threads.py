"""Our own threads, each with one BLAS thread.

Two Python threads that each run single-threaded BLAS on blocks in cache are faster than one call on
many BLAS threads, and do not stall when the machine is busy. Their number is the current limit of
threadpoolctl, so a caller's limits are respected.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol, TypeVar

import threadpoolctl
from threadpoolctl import ThreadpoolController

from negcorr._common.forks import lock_before_forks

__all__ = ["blas_threads", "our_own_threads", "spread", "stop_if_abandoned", "worker_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Limit:
    """Threads that hold BLAS at one thread, how many it had before, and what restores them.

    A thread is listed once for each block that it is in.
    """

    lock = lock_before_forks()
    callers: ClassVar[list[int]] = []
    before = 1
    controller: Any = None
    limiter: Any = None


_limit = _Limit()

#: In a worker thread, ``stop`` is the event that is set when its caller no longer waits for it.
_worker = threading.local()


#: Lets this thread set the limits of BLAS, whichever thread set them last. Newer releases of
#: threadpoolctl accept limits from one thread only and silently ignore other threads. But if
#: callers overlap in time, the thread that entered first may leave before the others.
_take_control = getattr(
    threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda force: None
)


def blas_threads() -> int:
    """Number of threads that BLAS may use now, or could use before we limited it to one.

    It is 1 inside a worker thread, and where the number is not known.
    """
    if getattr(_worker, "stop", None) is not None:
        return 1  # the other workers use the other cores
    with _limit.lock:
        if _limit.callers:
            return _limit.before
        if _limit.controller is None:
            _limit.controller = ThreadpoolController().select(user_api="blas")
        return max((library["num_threads"] for library in _limit.controller.info()), default=1)


@contextmanager
def our_own_threads() -> Iterator[None]:
    """Limit BLAS to one thread while any caller is inside the block: our threads use the cores.

    Threads of BLAS stay busy for a while after each call, on cores that ours need. The limit
    holds for the whole process. If callers overlap in time, the first one sets it and the last one
    restores the limit from before.
    """
    caller = threading.get_ident()  # another thread may close a generator
    with _limit.lock:
        if not _limit.callers:
            _limit.before = blas_threads()
            _take_control(force=True)
            _limit.limiter = _limit.controller.limit(limits=1)
        _limit.callers.append(caller)
    try:
        yield
    finally:
        with _limit.lock:
            _limit.callers.remove(caller)
            if not _limit.callers:
                _restore()


def _restore() -> None:
    """Give BLAS the threads that it had before."""
    _take_control(force=True)
    _limit.limiter.restore_original_limits()
    _take_control(force=True)


def _only_this_thread() -> None:
    """Forget the callers of other threads, which do not go on in a forked child."""
    held = bool(_limit.callers)
    _limit.callers[:] = [each for each in _limit.callers if each == threading.get_ident()]
    if held and not _limit.callers:
        _restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_only_this_thread)


class _AbandonedError(Exception):
    """Raised to end a worker whose caller was interrupted, or when another worker has failed."""


def stop_if_abandoned() -> None:
    """End this worker thread here if its caller no longer waits for it.

    Work of several seconds calls it regularly, so that Ctrl-C takes effect soon.
    """
    stop = getattr(_worker, "stop", None)
    if stop is not None and stop.is_set():
        raise _AbandonedError


class Run(Protocol):
    """The function of :func:`worker_threads`."""

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[work(item) for item in items]``."""


@contextmanager
def worker_threads(n_workers: int) -> Iterator[Run]:
    """A function that computes ``[work(item) for item in items]`` on so many threads.

    BLAS has one thread while there is more than one worker. The threads live as long as the block,
    so that work in many small steps does not start them each time. When an exception, such as
    Ctrl-C, leaves the block, no item is begun, and workers end at their next
    :func:`stop_if_abandoned`.
    """
    if n_workers == 1:
        yield lambda work, items: [work(item) for item in items]
        return
    stop = threading.Event()
    pool = ThreadPoolExecutor(n_workers, initializer=setattr, initargs=(_worker, "stop", stop))
    with our_own_threads(), pool:
        try:
            yield lambda work, items: list(pool.map(work, items))
        except BaseException:
            stop.set()
            raise


def spread(
    work: Callable[[Item], Result], items: Sequence[Item], *, parallel: bool = True
) -> list[Result]:
    """``[work(item) for item in items]``, on as many worker threads as BLAS may use threads.

    With ``parallel=False`` all work is done in the caller's thread.
    """
    n_workers = max(1, min(blas_threads(), len(items))) if parallel else 1
    with worker_threads(n_workers) as run:
        return run(work, items)
