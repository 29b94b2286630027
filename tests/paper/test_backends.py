"""Every backend of joblib gives the numbers of this process: threads, processes, a cluster."""

import joblib
import numpy as np
import pandas as pd
import pytest
from models import ncl
from sklearn.tree import DecisionTreeRegressor
from toy_data import toy_study

from negcorr import monte_carlo_dof
from negcorr.paper.curves import pieces_of

BACKENDS = ["threading", "loky", "dask"]


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as running,
        distributed.Client(running),
    ):
        yield running


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "dask":
        request.getfixturevalue("cluster")
    with joblib.parallel_config(backend=request.param):
        yield request.param


MODELS = {
    "ncl": ncl(n_members=5, n_components=4, random_state=None),
    "tree": DecisionTreeRegressor(max_depth=3, max_features=2),
}


def probes_of(model, n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=60)
    return monte_carlo_dof(MODELS[model], X, y, n_probes=4, eps=0.1, random_state=0, n_jobs=n_jobs)


@pytest.fixture(scope="module")
def alone():
    return {model: probes_of(model, 1) for model in MODELS}


@pytest.mark.parametrize("model", MODELS)
def test_probes_are_the_same(model, backend, alone):
    found = probes_of(model, 2)
    # But for rounding: processes may have another number of threads.
    np.testing.assert_allclose(found.values, alone[model].values, rtol=1e-11)
    assert found.dof == pytest.approx(alone[model].dof, rel=1e-11)
    assert found.n_fits == alone[model].n_fits


@pytest.fixture(scope="module")
def rows_alone(toy_home):
    study = toy_study(toy_home)
    return study.rows(pieces_of(study, ("machine", "slump"), (2, 3)))


def test_a_study_is_the_same(backend, toy_home, rows_alone):
    finished = []
    study = toy_study(toy_home, n_jobs=2, on_piece=lambda piece, _: finished.append(piece))
    pieces = pieces_of(study, ("machine", "slump"), (2, 3))
    found = pd.DataFrame(study.rows(pieces))
    pd.testing.assert_frame_equal(found, pd.DataFrame(rows_alone), rtol=1e-9)
    assert set(finished) == set(pieces)
