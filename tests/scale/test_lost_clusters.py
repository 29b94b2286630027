"""Clusters that are lost in the middle of a fit: an error that says so, and the same model."""

import copy
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from models import ncl

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask.array as da
import distributed.scheduler
from distributed import Client, LocalCluster

from negcorr import scale
from negcorr.scale import clusters

#: What Dask warns of when it is torn apart is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore")

SMALL = {"n_members": 4, "n_components": 3}

#: Seconds after which a fit counts as hanging.
PATIENCE = 45.0


@pytest.fixture(autouse=True)
def no_trace_of_clients():
    """A client that was lost may leave itself behind as the scheduler to use."""
    before = copy.deepcopy(dask.config.config)
    yield
    dask.config.config.clear()
    dask.config.config.update(before)


def slowly(block):
    time.sleep(0.2)
    return block


def at_once(block):
    return block


def deadly(block):
    os._exit(1)


def missing(block):
    raise FileNotFoundError("part-7 is gone")


def fit_and_lose(lose=None, work=slowly, after=1.0):
    """Fit in a thread, and lose something after a while; the model, its state before, the error."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    model = ncl(**SMALL).fit(X[:100], X[:100, 0])
    before = dict(vars(model))
    rows = da.from_array(X, chunks=(50, 3)).map_blocks(work, meta=np.empty((0, 0)))
    targets = da.from_array(X[:, 0], chunks=50)
    errors = []

    def fit():
        try:
            scale.fit(model, rows, targets)
        except BaseException as error:
            errors.append(error)

    fitting = threading.Thread(target=fit, daemon=True)
    fitting.start()
    if lose is not None:
        time.sleep(after)
        assert fitting.is_alive(), "finished before anything was lost"
        lose()
    fitting.join(PATIENCE)
    assert not fitting.is_alive(), "the fit hangs"
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert errors, "the fit ended without an error"
    return errors[0]


MESSAGE = r"the Dask cluster did not finish \(.*connect a client again, and fit again"


def check(error, kind):
    with pytest.raises(ConnectionError, match=f"(?s){MESSAGE}"):
        raise error
    assert type(error.__cause__).__name__ == kind


def test_a_client_that_is_closed():
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        check(fit_and_lose(client.close), "FutureCancelledError")


def test_a_client_that_is_closed_between_the_passes(monkeypatch):
    draw_from = clusters.first_pass.draw_from
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def close_after(model, summary):
            draw_from(model, summary)
            client.close()

        monkeypatch.setattr(clusters.first_pass, "draw_from", close_after)
        error = fit_and_lose(work=at_once)
    with pytest.raises(ConnectionError, match=r"the client that the first pass used is closed"):
        raise error


def test_workers_that_die_of_a_block():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        check(fit_and_lose(work=deadly), "KilledWorker")


@pytest.mark.skipif(
    not hasattr(distributed.scheduler, "NoWorkerError"), reason="this Dask waits for ever"
)
def test_a_scheduler_that_has_no_workers_for_too_long():
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "1s"}),
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        cluster.scale(0)
        deadline = time.monotonic() + 20.0
        while cluster.scheduler.workers and time.monotonic() < deadline:
            time.sleep(0.05)
        check(fit_and_lose(), "NoWorkerError")


def test_a_file_that_a_worker_does_not_find_is_no_loss_of_the_cluster():
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        error = fit_and_lose(work=missing)
    assert type(error) is FileNotFoundError


@pytest.fixture
def processes(tmp_path):
    """A scheduler and a worker in processes of their own."""
    file = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    commands = [
        ["scheduler", "--host", "127.0.0.1", "--port", "0", *common],
        ["worker", "--no-nanny", "--nthreads", "1", "--death-timeout", "10", *common],
    ]
    started = []
    try:
        for command in commands:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *command],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=tmp_path,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            )
            deadline = time.monotonic() + 30.0
            while not file.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
        yield str(file), *started
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_scheduler_that_is_killed(processes):
    file, scheduler, _ = processes
    with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
        client = Client(scheduler_file=file, timeout=30)
        try:
            client.wait_for_workers(1, timeout=30)
            check(fit_and_lose(scheduler.kill), "FutureCancelledError")
        finally:
            client.close(timeout=2)
