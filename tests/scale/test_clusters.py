"""Dask's tables, by threads and by processes, against rows in memory."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from models import auto, ncl

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

from negcorr import scale
from negcorr.exceptions import ChunkError
from negcorr.moments.moments import FactorMoments
from negcorr.scale import clusters

SMALL = {"n_members": 8, "n_components": 4}


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
    expected = ncl(**SMALL).fit(X, y)
    with dask.config.set(scheduler=scheduler):
        rows, targets = da.from_array(X, chunks=chunks), da.from_array(y, chunks=250)
        found = scale.fit(ncl(**SMALL), rows, targets)
        same(found, expected, X)
        lazy = scale.predict(found, rows)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == (900,)
        np.testing.assert_allclose(lazy.compute(), expected.predict(X), rtol=1e-9, atol=1e-9)


def test_weights_and_several_outputs():
    X, y = data(outputs=2)
    weight = np.random.default_rng(1).integers(0, 3, 900).astype(float)
    expected = ncl(**SMALL).fit(X, y, weight)
    with dask.config.set(scheduler="synchronous"):
        found = scale.fit(
            ncl(**SMALL),
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
        found = scale.fit(ncl(**SMALL), table, target=target)
        expected = ncl(**SMALL).fit(X, y[:, 0] if target == "t" else y)
        np.testing.assert_array_equal(found.lam_, expected.lam_)
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]
        lazy = scale.predict(found, table[["a", "b", "c"]])
        np.testing.assert_allclose(lazy.compute(), expected.predict(X), rtol=1e-9, atol=1e-9)


def test_the_accurate_route_is_a_tree_of_factors():
    X, y = data()
    with dask.config.set(scheduler="synchronous"):
        found = scale.fit(
            ncl(**SMALL, solver="qr"), da.from_array(X, chunks=50), da.from_array(y, 50)
        )
    assert all(isinstance(cell, FactorMoments) for cell in found.path_.cells)
    same(found, ncl(**SMALL, solver="qr").fit(X, y), X)


def test_a_drawn_model_needs_no_first_pass(monkeypatch):
    X, y = data()
    monkeypatch.setattr(clusters.first_pass, "draw_from", None)
    drawn = ncl(**SMALL).draw(X)
    with dask.config.set(scheduler="synchronous"):
        found = scale.fit(drawn, da.from_array(X, chunks=200), da.from_array(y, chunks=200))
    same(found, ncl(**SMALL).fit(X, y), X)


def test_bad_blocks_are_named_and_leave_the_model_as_it_was():
    X, y = data()
    model = ncl(**SMALL).fit(X, y)
    before = model.predict(X)
    bad = X.copy()
    bad[450, 1] = np.inf
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ChunkError, match=r"^block 2: Input X contains infinity"),
    ):
        scale.fit(model, da.from_array(bad, chunks=200), da.from_array(y, chunks=200))
    np.testing.assert_array_equal(model.predict(X), before)


def test_values_may_be_missing_in_some_blocks_only():
    X, y = data()
    X[450:460, 1] = np.nan
    expected = ncl(**SMALL).fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(X, chunks=(200, 3))
        found = scale.fit(ncl(**SMALL), rows, da.from_array(y, chunks=200))
        lazy = scale.predict(found, rows).compute()
    same(found, expected, X)
    np.testing.assert_allclose(lazy, expected.predict(X), rtol=1e-9, atol=1e-9)
    assert str(found.columns_) == str(expected.columns_)


def test_features_may_be_chosen():
    X, y = data(300)
    expected = auto().fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        found = scale.fit(auto(), da.from_array(X, chunks=100), da.from_array(y, chunks=100))
    assert str(found.choice_) == str(expected.choice_)
    np.testing.assert_array_equal(found.lam_, expected.lam_)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda X, y: (X, None), r"a Dask array needs y, another Dask array"),
        (lambda X, y: (X, y.compute()), r"must be Dask arrays of 900 rows"),
        (lambda X, y: (X, y[:10]), r"must be Dask arrays of 900 rows"),
        (lambda X, y: (X[X[:, 0] > 3.0], y), r"chunks of unknown length: call X\.compute_chunk"),
        (lambda X, y: (X, y[y > 3.0]), r"y has chunks of unknown length: call y\.compute_chunk"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    X, y = data()
    X, y = da.from_array(X, chunks=200), da.from_array(y, chunks=200)
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=message):
        scale.fit(ncl(**SMALL), *arguments(X, y))


def test_data_frames_without_targets_are_refused():
    table = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(ValueError, match="a Dask data frame needs target"):
        scale.fit(ncl(**SMALL), table)


def test_predictions_of_other_tables_are_left_to_the_model():
    X, y = data()
    with pytest.raises(TypeError, match=r"must be a Dask array or data frame, got ndarray"):
        scale.predict(ncl(**SMALL).fit(X, y), X)


def missing(block):
    raise FileNotFoundError("part-7 is gone")


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_files_that_tasks_do_not_find_are_no_loss_of_the_cluster(scheduler):
    X, y = data()
    rows = da.from_array(X, chunks=200).map_blocks(missing, meta=np.empty((0, 0)))
    with dask.config.set(scheduler=scheduler), pytest.raises(FileNotFoundError, match="part-7"):
        scale.fit(ncl(**SMALL), rows, da.from_array(y, chunks=200))


def test_weights_of_data_frames_are_a_column():
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, 900).astype(float)
    weight[:180] = 0.0  # the first partition, and nothing of it
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(t=y, w=weight)
    expected = ncl(**SMALL).fit(X, y, weight)
    with dask.config.set(scheduler="synchronous"):
        table = dd.from_pandas(frame, npartitions=5)
        found = scale.fit(ncl(**SMALL), table, target="t", sample_weight="w")
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    same(found, expected, X, ["a", "b", "c"])


def test_partitions_without_rows_change_nothing():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(t=y, k=np.arange(900))
    with dask.config.set(scheduler="synchronous"):
        table = dd.from_pandas(frame, npartitions=6)
        table = table[table["k"] < 500].drop(columns="k")
        assert 0 in table.map_partitions(len).compute().tolist()
        found = scale.fit(ncl(**SMALL), table, target="t")
        assert len(scale.predict(found, table[["a", "b", "c"]]).compute()) == 500
    same(found, ncl(**SMALL).fit(X[:500], y[:500]), X, ["a", "b", "c"])


@pytest.mark.parametrize("outputs", [None, 2])
def test_blocks_without_rows_are_predicted_as_such(outputs):
    X, y = data(outputs=outputs)
    model = ncl(**SMALL).fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(X, chunks=(300, 3))
        some = scale.predict(model, rows[rows[:, 0] > X[300:, 0].max()])
        assert some.compute().shape == ((X[:, 0] > X[300:, 0].max()).sum(), *y.shape[1:])
        frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
        model.fit(frame.compute(), y)
        assert scale.predict(model, frame[frame["a"] > 99.0]).compute().shape == (0, *y.shape[1:])


@pytest.mark.parametrize("weight", [None, 0.0])
def test_no_rows_of_any_weight_are_an_error(weight):
    frame = pd.DataFrame({"a": [1.0, 2.0], "t": [1.0, 2.0], "w": [0.0, 0.0]})
    table = dd.from_pandas(frame, npartitions=1)
    if weight is None:
        table = table[table["a"] > 9.0]
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ChunkError, match="X has no rows of positive weight"),
    ):
        scale.fit(ncl(**SMALL), table, target="t", sample_weight="w")


@pytest.mark.parametrize("chunks", [900, 100])
def test_single_precision_is_taken_and_given(chunks):
    X, y = data()
    single = X.astype(np.float32)
    expected = ncl(**SMALL).fit(single.astype(float), y)
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(single, chunks=(chunks, 3))
        found = scale.fit(ncl(**SMALL), rows, da.from_array(y, chunks=chunks))
        same(found, expected, single.astype(float))
        lazy = scale.predict(found, rows)
        assert lazy.dtype == lazy.compute().dtype == np.float32
        np.testing.assert_allclose(lazy.compute(), expected.predict(X), rtol=1e-4, atol=1e-4)
        frame = dd.from_dask_array(rows, columns=["a", "b", "c"]).assign(t=1.0)
        names = scale.fit(ncl(**SMALL, lam=0.5), frame, target="t")
        lazy = scale.predict(names, frame[["a", "b", "c"]])
        assert lazy.dtype == lazy.compute().dtype == np.float64


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"target": 3}, TypeError, "target=3 must be the name of a column"),
        ({"target": "q"}, ChunkError, r"X has no column 'q' \(target\)"),
        ({"target": "a", "sample_weight": "q"}, ChunkError, r"no column 'q' \(sample_weight\)"),
        ({"target": "a", "sample_weight": "a"}, ValueError, "'a' is a target as well"),
        ({"target": "a", "sample_weight": [1.0]}, ValueError, "must be the name of a column"),
        ({"target": "a", "y": [1.0]}, ValueError, "y is for Dask arrays"),
        ({"target": "a", "memory": "1GB"}, ValueError, "memory='1GB' .* blocks of Dask are as"),
    ],
)
def test_wrong_names_are_told_before_any_work(given, kind, message, monkeypatch):
    monkeypatch.setattr("dask.base.compute", None)
    table = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(kind, match=message):
        scale.fit(ncl(**SMALL), table, **given)


def slowly(block):
    time.sleep(0.3)
    return block


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.filterwarnings("ignore")
def test_processes_give_the_same_model_though_one_is_killed():
    X, y = data()
    expected = ncl(**SMALL).fit(X, y)
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows = da.from_array(X, chunks=(100, 3)).map_blocks(slowly, dtype=float)
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
        killer.start()
        found = scale.fit(ncl(**SMALL), rows, da.from_array(y, chunks=100))
        assert found.lam_ == expected.lam_
        killer.join()
        assert victim not in client.run(os.getpid).values()
    same(found, expected, X)


def test_rows_of_a_block_are_not_for_the_user_to_say():
    rows = da.ones((20, 2), chunks=(10, 2))
    with pytest.raises(ValueError, match=r"block_size=5 .*blocks of Dask"):
        scale.fit(ncl(), rows, rows[:, 0], block_size=5)


def test_dask_arrays_are_arrays_to_a_fit_in_memory():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    model = ncl(n_members=5).fit(da.from_array(X), da.from_array(y))
    np.testing.assert_array_equal(model.predict(da.from_array(X)), model.predict(X))
