"""Dask's tables, by threads and by processes, against rows in memory."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

from negcorr import NCLRegressor, scale  # noqa: E402
from negcorr.exceptions import ChunkError  # noqa: E402
from negcorr.moments import FactorMoments  # noqa: E402
from negcorr.scale import clusters  # noqa: E402

SMALL = {"n_estimators": 8, "n_components": 4, "random_state": 0}


def data(n=900, outputs=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1] + 3.0
    signal_ = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    if outputs is None:
        return X, signal_ + 0.5 * rng.normal(size=n)
    return X, signal_[:, None] + 0.5 * rng.normal(size=(n, outputs))


def same(found, expected, X, names=None):
    assert found.lam_ == pytest.approx(expected.lam_, abs=0)
    np.testing.assert_allclose(found.dof_, expected.dof_, rtol=1e-9)
    rows = X if names is None else pd.DataFrame(X, columns=names)
    np.testing.assert_allclose(found.predict(rows), expected.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("chunks", [(100, 3), (130, 2), (900, 3), ((1, 899), 1)])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_arrays_give_the_model_of_rows_in_memory(chunks, scheduler):
    X, y = data()
    expected = NCLRegressor(**SMALL).fit(X, y)
    with dask.config.set(scheduler=scheduler):
        rows, targets = da.from_array(X, chunks=chunks), da.from_array(y, chunks=250)
        found = scale.fit(NCLRegressor(**SMALL), rows, targets)
        same(found, expected, X)
        lazy = scale.predict(found, rows)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == (900,)
        np.testing.assert_allclose(lazy.compute(), expected.predict(X), rtol=1e-9, atol=1e-9)


def test_weights_and_several_outputs():
    X, y = data(outputs=2)
    weight = np.random.default_rng(1).integers(0, 3, 900).astype(float)
    expected = NCLRegressor(**SMALL).fit(X, y, weight)
    with dask.config.set(scheduler="synchronous"):
        found = scale.fit(
            NCLRegressor(**SMALL),
            da.from_array(X, chunks=200),
            da.from_array(y, chunks=(300, 1)),
            sample_weight=da.from_array(weight, chunks=77),
        )
        np.testing.assert_array_equal(found.lam_, expected.lam_)
        np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-8, atol=1e-9)
        lazy = scale.predict(found, da.from_array(X, chunks=200))
        assert lazy.shape == (900, 2)
        np.testing.assert_allclose(lazy.compute(), expected.predict(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("target", ["t", ["t", "u"]])
def test_data_frames_name_their_targets(target):
    X, y = data(outputs=2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(t=y[:, 0], u=y[:, 1])
    if target == "t":
        frame = frame.drop(columns="u")
    with dask.config.set(scheduler="synchronous"):
        table = dd.from_pandas(frame, npartitions=5)
        found = scale.fit(NCLRegressor(**SMALL), table, target=target)
        expected = NCLRegressor(**SMALL).fit(X, y[:, 0] if target == "t" else y)
        np.testing.assert_array_equal(found.lam_, expected.lam_)
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]
        lazy = scale.predict(found, table[["a", "b", "c"]])
        np.testing.assert_allclose(lazy.compute(), expected.predict(X), rtol=1e-9, atol=1e-9)


def test_the_accurate_route_is_a_tree_of_factors():
    X, y = data()
    with dask.config.set(scheduler="synchronous"):
        found = scale.fit(
            NCLRegressor(**SMALL, solver="qr"), da.from_array(X, chunks=50), da.from_array(y, 50)
        )
    assert all(isinstance(cell, FactorMoments) for cell in found.path_.cells)
    same(found, NCLRegressor(**SMALL, solver="qr").fit(X, y), X)


def test_a_drawn_model_needs_no_first_pass(monkeypatch):
    X, y = data()
    monkeypatch.setattr(clusters, "_summarised", None)
    drawn = NCLRegressor(**SMALL).draw(X)
    with dask.config.set(scheduler="synchronous"):
        found = scale.fit(drawn, da.from_array(X, chunks=200), da.from_array(y, chunks=200))
    same(found, NCLRegressor(**SMALL).fit(X, y), X)


def test_bad_blocks_are_named_and_leave_the_model_as_it_was():
    X, y = data()
    model = NCLRegressor(**SMALL).fit(X, y)
    before = model.predict(X)
    bad = X.copy()
    bad[450, 1] = np.nan
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ChunkError, match=r"^block 2: Input X contains NaN"),
    ):
        scale.fit(model, da.from_array(bad, chunks=200), da.from_array(y, chunks=200))
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda X, y: (X, None), r"a Dask array needs y, another Dask array"),
        (lambda X, y: (X, y.compute()), r"must be Dask arrays of 900 rows"),
        (lambda X, y: (X, y[:10]), r"must be Dask arrays of 900 rows"),
        (lambda X, y: (X[X[:, 0] > 3.0], y), r"chunks of unknown length: call X\.compute_chunk"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    X, y = data()
    X, y = da.from_array(X, chunks=200), da.from_array(y, chunks=200)
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=message):
        scale.fit(NCLRegressor(**SMALL), *arguments(X, y))


def test_data_frames_without_targets_are_refused():
    table = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(ValueError, match="a Dask data frame needs target"):
        scale.fit(NCLRegressor(**SMALL), table)


def test_predictions_of_other_tables_are_left_to_the_model():
    X, y = data()
    with pytest.raises(TypeError, match=r"must be a Dask array or data frame, got ndarray"):
        scale.predict(NCLRegressor(**SMALL).fit(X, y), X)


def test_a_cluster_that_is_lost_is_told(monkeypatch):
    def lost(*_):
        raise OSError("connection closed")

    monkeypatch.setattr("dask.base.compute", lost)
    X, y = data()
    with pytest.raises(ConnectionError, match=r"did not finish \(OSError: connection closed\)"):
        scale.fit(NCLRegressor(**SMALL), da.from_array(X, chunks=200), da.from_array(y, 200))


def slowly(block):
    time.sleep(0.3)
    return block


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.filterwarnings("ignore")
def test_processes_give_the_same_model_though_one_is_killed():
    X, y = data()
    expected = NCLRegressor(**SMALL).fit(X, y)
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows = da.from_array(X, chunks=(100, 3)).map_blocks(slowly, dtype=float)
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
        killer.start()
        found = scale.fit(NCLRegressor(**SMALL), rows, da.from_array(y, chunks=100))
        assert found.lam_ == expected.lam_
        killer.join()
        assert victim not in client.run(os.getpid).values()
    same(found, expected, X)
