"""Only few numbers are brought home during a fit: no rows, no features, no matrices of moments."""

import sys

import numpy as np
import pytest
from models import ncl
from places import problem, somewhere

from negcorr._common import arrays as _arrays
from negcorr._common.arrays import is_device_array

N_ROWS, MEMBERS, WIDTH = 3000, 10, 6
N_FEATURES = MEMBERS * WIDTH


@pytest.fixture
def brought_home(monkeypatch):
    """Sizes of the arrays that come home, one for each time."""
    sizes = []
    original = _arrays.to_host

    def to_host(values):
        if is_device_array(values):
            sizes.append(int(np.prod(values.shape)))
        return original(values)

    watched = 0
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "negcorr" and getattr(module, "to_host", None) is original:
            monkeypatch.setattr(module, "to_host", to_host)
            watched += 1
    assert watched > 10
    return sizes


@pytest.fixture(params=["torch", "torch-cuda", "cupy", "strict"])
def somewhere_else(request):
    return somewhere(request.param)


@pytest.mark.parametrize("options", [{}, {"solver": "qr"}, {"basis": "nystroem"}], ids=str)
@pytest.mark.parametrize("criterion", ["sure", "kfold"])
def test_a_fit_brings_little_home(somewhere_else, brought_home, criterion, options):
    place = somewhere_else
    X, y = problem(N_ROWS)
    inputs, target = place.put(X), place.put(y)
    model = ncl(MEMBERS, WIDTH, criterion=criterion, **options)
    model.fit(inputs, target)
    assert brought_home
    # Row numbers of the folds are most of it: fewer than Q², than n·Q, than X has numbers.
    few = [size for size in brought_home if size <= N_ROWS]
    assert max(few) <= N_ROWS < N_FEATURES**2 < X.size < N_ROWS * N_FEATURES
    if place.name != "strict":  # which cannot look at the bits of a number
        assert sum(size > N_FEATURES * WIDTH for size in few) <= 14
    # Beside that only held-out predictions of the rows that are kept for intervals, at every λ.
    more = [size for size in brought_home if size > N_ROWS]
    if criterion == "kfold":
        assert sum(more) == N_ROWS * len(model.path_.tabulated_gaps)
        assert len(more) == 10  # five folds, 512 rows at a time
    else:
        assert more == []


def test_a_prediction_brings_nothing_home(brought_home):
    place = somewhere("torch")
    X, y = problem(N_ROWS)
    model = ncl(MEMBERS, WIDTH, criterion="sure")
    model.fit(place.put(X), place.put(y))
    brought_home.clear()
    model.predict(place.put(X))
    model.predict_members(place.put(X))
    model.predict(place.put(X), return_std=True)
    assert max(brought_home, default=0) <= 1
    model.predict_interval(place.put(X))
    # Residuals of the rows that intervals are calibrated on, by folds, and diagonal blocks.
    assert max(brought_home) <= N_ROWS


def test_the_watch_sees_a_transfer(brought_home):
    place = somewhere("torch")
    X, y = problem(60)
    ncl(4, 3, criterion="loo").fit(place.put(X), place.put(y))
    assert 60 * 12 in brought_home
