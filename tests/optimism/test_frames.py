"""Corrections of the training error on data frames, as they are."""

import numpy as np
import pytest
from models import ncl
from toy_tables import homes

from negcorr import (
    SURESearch,
    degrees_of_freedom,
    difference_noise_variance,
    excess_optimism,
    random_x_dof,
    sure_score,
)


@pytest.fixture(scope="module", params=["pandas", "polars", "pyarrow"])
def table(request):
    frame = homes(60)
    X, y = frame[["size", "kind", "built"]], frame["price"].to_numpy()
    if request.param == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    elif request.param == "pyarrow":
        X = pytest.importorskip("pyarrow").Table.from_pandas(X, preserve_index=False)
    return X, y


def test_scores_take_data_frames(table):
    X, y = table
    model = ncl(4, 3, lam=0.6).fit(X, y)
    noise = difference_noise_variance(X, y)
    error = np.mean((model.predict(X) - y) ** 2)
    wanted = error + noise * (2.0 * model.dof_ / 60 - 1.0)
    assert sure_score(model, X, y, model.dof_) == pytest.approx(wanted)
    exact = degrees_of_freedom(ncl(4, 3, lam=0.6), X, y)
    assert (exact.method, exact.dof) == ("exact", pytest.approx(model.dof_))


def test_searches_take_data_frames(table):
    X, y = table
    search = SURESearch(ncl(4, 3), {"lam": [0.2, 0.8]}).fit(X, y)
    assert search.predict(X).shape == (60,)
    assert set(search.cv_results_["method"]) == {"exact"}
    model = ncl(4, 3, criterion="sure")
    found = excess_optimism(model, X, y, n_probes=2, random_state=0)
    assert found.dof_at_choice == pytest.approx(model.fit(X, y).dof_)


@pytest.mark.filterwarnings("ignore::negcorr.exceptions.SearchBoundaryWarning")
@pytest.mark.parametrize(("lam", "method"), [(0.6, "exact"), ("auto", "monte-carlo")])
def test_new_inputs_are_rows_of_data_frames(table, lam, method):
    X, y = table
    found = random_x_dof(ncl(4, 3, lam=lam), X, y, cv=3, n_probes=2, random_state=0)
    assert found.method == method
    assert np.isfinite([found.fixed_x, found.predictive]).all()
