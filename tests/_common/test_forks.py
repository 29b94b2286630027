"""Forked children do not wait for threads that they do not have."""

import os
import signal
import threading
import time
import warnings
from functools import cached_property

import numpy as np
import pytest
import threadpoolctl
from models import ncl

from negcorr._common.forks import OwnLock, late, lock_before_forks
from negcorr._common.threads import blas_threads, our_own_threads
from negcorr.criteria.kfold import KFold
from negcorr.ensemble.stream import Stream
from negcorr.reading.delimited import delimiter_of
from negcorr.spectrum.tridiagonal import Tridiagonal

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")

#: Seconds after which a child counts as hanging.
PATIENCE = 60.0


def in_child(work):
    """Do work in a forked child; whether it came to its end."""
    with warnings.catch_warnings():
        # From Python 3.12 on it warns of what is tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


class Slow:
    """Has a late value that takes as long as a test wants."""

    def __init__(self, begun=None, go_on=None):
        self.begun, self.go_on = begun, go_on

    @late
    def value(self):
        """What is computed."""
        if self.begun is not None:
            self.begun.set()
            assert self.go_on.wait(PATIENCE)
        return object()


@pytest.fixture
def busy():
    """Runs a function in a thread that waits in it, while the block lasts."""
    threads, events = [], []

    def start(work):
        begun, go_on = threading.Event(), threading.Event()
        thread = threading.Thread(target=work, args=(begun, go_on))
        events.append(go_on)
        threads.append(thread)
        thread.start()
        assert begun.wait(PATIENCE)

    yield start
    for event in events:
        event.set()
    for thread in threads:
        thread.join()


class TestLate:
    def test_it_is_computed_once_and_kept(self):
        slow = Slow()
        assert slow.value is slow.value
        assert vars(slow)["value"] is slow.value
        assert Slow.value.__doc__ == "What is computed."
        assert isinstance(Slow.value, late)

    def test_threads_that_ask_at_once_get_the_same_value(self, busy):
        found = []

        def ask(begun, go_on):
            nonlocal slow
            slow = Slow(begun, go_on)
            found.append(slow.value)

        slow = None
        busy(ask)
        vars(slow).update(begun=None)
        mine = slow.value
        assert mine is slow.value

    @forks
    def test_a_child_does_not_wait_for_a_thread_that_computes(self, busy):
        busy(lambda begun, go_on: Slow(begun, go_on).value)
        assert in_child(lambda: Slow().value)


def test_the_package_has_no_cached_property():
    """Until Python 3.12 it holds a lock for the class while it computes."""
    import importlib
    import pkgutil

    import negcorr

    left = []
    for module in pkgutil.walk_packages(negcorr.__path__, "negcorr."):
        if module.name.endswith("__main__"):
            continue
        for owner in vars(importlib.import_module(module.name)).values():
            if isinstance(owner, type) and owner.__module__ == module.name:
                kept = [n for n, v in vars(owner).items() if isinstance(v, cached_property)]
                left += [f"{module.name}.{owner.__name__}.{name}" for name in kept]
    assert left == []


@forks
def test_a_fork_waits_for_short_work(busy):
    lock, whole = lock_before_forks(), []

    def work(begun, go_on):
        with lock:
            whole.append("half")
            begun.set()
            time.sleep(0.2)
            whole.append("all")

    busy(work)

    def check():
        with lock:
            assert whole == ["half", "all"]

    assert in_child(check)


@forks
def test_a_child_has_a_lock_of_its_own_for_long_work(busy):
    lock = OwnLock()

    def work(begun, go_on):
        with lock:
            begun.set()
            assert go_on.wait(PATIENCE)

    busy(work)

    def check():
        with lock, lock:
            pass

    assert in_child(check)


@forks
def test_threads_of_blas_are_those_from_before_in_a_child(busy):
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("BLAS has one thread here")

        def work(begun, go_on):
            with our_own_threads():
                begun.set()
                assert go_on.wait(PATIENCE)

        busy(work)

        def check():
            found = [each["num_threads"] for each in threadpoolctl.threadpool_info()]
            assert blas_threads() == 2
            assert 2 in found

        assert in_child(check)
        with our_own_threads():
            assert in_child(lambda: blas_threads() == 2)


def rows(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


def fit():
    """Needs spectra of folds, which are computed at first use."""
    return ncl(10, 4, cv=3).fit(*rows()).predict(rows()[0])


def modes():
    """Needs eigenvectors of a tridiagonal matrix, which are computed at first use."""
    return ncl(10, 8, criterion="gcv").fit(*rows()).predict(rows()[0])


def stream():
    """Needs a path at the first prediction."""
    return ncl(5, 3, criterion="gcv").partial_fit(*rows()).predict(rows()[0])


def scan():
    """Reads a table."""
    return delimiter_of("a;b\n1;2\n")


@forks
@pytest.mark.parametrize(
    ("work", "owner", "name"),
    [
        (fit, KFold, "from_cells"),
        (modes, Tridiagonal, "eigenvectors"),
        (stream, Stream, "path"),
    ],
    ids=["folds", "modes", "stream"],
)
def test_a_child_works_while_a_thread_is_in_the_middle(busy, monkeypatch, work, owner, name):
    usual, expected = getattr(owner, name), work()
    thread = None

    def slow(*arguments, **keywords):
        if threading.current_thread() is thread:
            begun.set()
            assert go_on.wait(PATIENCE)
        return usual(*arguments, **keywords)

    def in_thread(*events):
        nonlocal thread, begun, go_on
        begun, go_on = events
        thread = threading.current_thread()
        work()

    begun = go_on = None
    monkeypatch.setattr(owner, name, slow)
    busy(in_thread)
    assert in_child(lambda: np.testing.assert_array_equal(work(), expected))


@forks
def test_children_work_while_threads_do():
    """At any moment, many times."""
    stop = threading.Event()
    work = (fit, modes, stream, scan)

    def keep_on(one):
        while not stop.is_set():
            one()

    threads = [threading.Thread(target=keep_on, args=(one,)) for one in work]
    rng = np.random.default_rng(0)
    for thread in threads:
        thread.start()
    try:
        for number in range(24):
            time.sleep(rng.uniform(0.0, 0.02))
            assert in_child(work[number % 4]), f"{work[number % 4].__name__} hangs or fails"
    finally:
        stop.set()
        for thread in threads:
            thread.join()
