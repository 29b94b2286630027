"""Threads of our own: as many as the caller's limit, each with one BLAS thread."""

import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from negcorr._common.threads import (
    blas_threads,
    our_own_threads,
    spread,
    stop_if_abandoned,
    worker_threads,
)


def blas_limits():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads():
    """Every test starts from a limit of two, and leaves the limits as they were."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.parametrize("limit", [1, 2])
def test_callers_limit_is_the_number_of_threads(limit):
    with threadpool_limits(limit, user_api="blas"):
        assert blas_threads() == limit
        assert blas_threads() == max(blas_limits())


def test_one_blas_thread_is_left_inside_the_block_only():
    with our_own_threads():
        assert set(blas_limits()) == {1}
    assert set(blas_limits()) == {2}


def test_limit_returns_after_an_error():
    with pytest.raises(RuntimeError, match="inside"), our_own_threads():
        raise RuntimeError("inside")
    assert set(blas_limits()) == {2}


def test_blocks_may_be_nested():
    with our_own_threads():
        with our_own_threads():
            assert set(blas_limits()) == {1}
        assert set(blas_limits()) == {1}
    assert set(blas_limits()) == {2}


def test_blocks_of_two_threads_that_overlap_leave_the_limit_as_it_was():
    first, second = our_own_threads(), our_own_threads()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    inside = set(blas_limits())
    second.__exit__(None, None, None)
    assert inside == {1}
    assert set(blas_limits()) == {2}


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_results_come_in_the_order_of_items(n_workers):
    with worker_threads(n_workers) as run:
        assert run(lambda item: item**2, range(7)) == [item**2 for item in range(7)]
        assert run(lambda item: -item, range(2)) == [0, -1]


def test_workers_run_in_parallel_with_one_blas_thread_each():
    meeting = threading.Barrier(3, timeout=30)

    def work(worker):
        meeting.wait()  # passes only when all three workers are here at once
        return threading.get_ident(), max(blas_limits())

    with worker_threads(3) as run:
        results = run(work, range(3))
    assert len({thread for thread, _ in results}) == 3
    assert {limit for _, limit in results} == {1}
    assert set(blas_limits()) == {2}


def test_one_worker_runs_in_the_callers_thread_with_the_callers_limit():
    with worker_threads(1) as run:
        assert run(lambda item: (item, threading.get_ident(), max(blas_limits())), [0]) == [
            (0, threading.get_ident(), 2)
        ]


@pytest.mark.parametrize("n_workers", [1, 3])
def test_error_in_a_worker_reaches_the_caller_and_the_limit_returns(n_workers):
    def work(worker):
        if worker == n_workers - 1:
            raise RuntimeError(f"worker {worker}")
        return worker

    with (
        pytest.raises(RuntimeError, match=f"worker {n_workers - 1}"),
        worker_threads(n_workers) as run,
    ):
        run(work, range(n_workers))
    assert set(blas_limits()) == {2}


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("n_items", [0, 1, 2, 7])
def test_spread_work_comes_back_in_the_order_of_its_items(limit, n_items):
    with threadpool_limits(limit, user_api="blas"):
        assert spread(lambda item: item**2, list(range(n_items))) == [
            item**2 for item in range(n_items)
        ]


def test_work_is_spread_over_as_many_threads_as_the_limit_allows():
    meeting = threading.Barrier(2, timeout=30)

    def work(item):
        meeting.wait()
        return threading.get_ident(), max(blas_limits())

    results = spread(work, [0, 1, 2, 3])
    assert len({thread for thread, _ in results}) == 2
    assert {limit for _, limit in results} == {1}


def test_workers_stop_when_the_block_is_left_by_an_exception():
    finished = []

    def work(worker):
        if worker == 0:
            raise RuntimeError("this worker fails")
        for _ in range(1000):
            stop_if_abandoned()
            time.sleep(0.01)
        finished.append(worker)

    with pytest.raises(RuntimeError, match="this worker fails"), worker_threads(2) as run:
        run(work, range(2))
    assert finished == []


def test_outside_workers_nothing_is_abandoned():
    stop_if_abandoned()


def test_workers_start_no_workers_of_their_own():
    with worker_threads(2) as run:
        assert run(lambda _: blas_threads(), range(2)) == [1, 1]


def test_work_that_is_not_parallel_stays_in_the_callers_thread():
    assert (
        spread(lambda _: threading.get_ident(), [0, 1, 2], parallel=False)
        == [threading.get_ident()] * 3
    )
