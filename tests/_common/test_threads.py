"""Threads of our own: as many as the caller's limit, each with one BLAS thread."""

import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from negcorr._common.threads import blas_threads, lanes, one_blas_thread, pause_point, spread


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


def test_one_blas_thread_holds_inside_the_block_only():
    with one_blas_thread():
        assert set(blas_limits()) == {1}
    assert set(blas_limits()) == {2}


def test_limit_returns_after_an_error():
    with pytest.raises(RuntimeError, match="inside"), one_blas_thread():
        raise RuntimeError("inside")
    assert set(blas_limits()) == {2}


def test_blocks_may_be_nested():
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_limits()) == {1}
        assert set(blas_limits()) == {1}
    assert set(blas_limits()) == {2}


def test_blocks_of_two_threads_that_overlap_leave_the_limit_as_it_was():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    inside = set(blas_limits())
    second.__exit__(None, None, None)
    assert inside == {1}
    assert set(blas_limits()) == {2}


@pytest.mark.parametrize("n_lanes", [1, 2, 5])
def test_results_come_in_the_order_of_lanes(n_lanes):
    with lanes(n_lanes) as run:
        assert run(lambda lane: lane**2) == [lane**2 for lane in range(n_lanes)]
        assert run(lambda lane: -lane) == [-lane for lane in range(n_lanes)]


def test_lanes_run_side_by_side_with_one_blas_thread_each():
    meeting = threading.Barrier(3, timeout=30)

    def work(lane):
        meeting.wait()  # passes only when all three lanes are here at once
        return threading.get_ident(), max(blas_limits())

    with lanes(3) as run:
        results = run(work)
    assert len({thread for thread, _ in results}) == 3
    assert {limit for _, limit in results} == {1}
    assert set(blas_limits()) == {2}


def test_one_lane_runs_in_the_callers_thread_with_the_callers_limit():
    with lanes(1) as run:
        assert run(lambda lane: (lane, threading.get_ident(), max(blas_limits()))) == [
            (0, threading.get_ident(), 2)
        ]


@pytest.mark.parametrize("n_lanes", [1, 3])
def test_error_in_a_lane_reaches_the_caller_and_the_limit_returns(n_lanes):
    def work(lane):
        if lane == n_lanes - 1:
            raise RuntimeError(f"lane {lane}")
        return lane

    with (
        pytest.raises(RuntimeError, match=f"lane {n_lanes - 1}"),
        lanes(n_lanes) as run,
    ):
        run(work)
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


def test_lanes_end_at_a_pause_point_when_the_block_is_left_by_an_exception():
    finished = []

    def work(lane):
        if lane == 0:
            raise RuntimeError("this lane fails")
        for _ in range(1000):
            pause_point()
            time.sleep(0.01)
        finished.append(lane)

    with pytest.raises(RuntimeError, match="this lane fails"), lanes(2) as run:
        run(work)
    assert finished == []


def test_a_pause_point_outside_lanes_does_nothing():
    pause_point()


def test_lanes_do_not_open_lanes_of_their_own():
    with lanes(2) as run:
        assert run(lambda lane: blas_threads()) == [1, 1]
