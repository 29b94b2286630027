"""``negcorr.scale.fit`` takes chunks and tables on a device, and gives the model of all rows."""

import array_api_strict
import numpy as np
import pytest
import sklearn
import torch
from models import ncl

from negcorr import scale
from negcorr._common.arrays import to_host
from negcorr.exceptions import ChunkError

KINDS = {
    "torch": lambda values: torch.from_numpy(np.array(values)),
    "strict": array_api_strict.asarray,
}


@pytest.fixture(params=KINDS)
def move(request):
    with sklearn.config_context(array_api_dispatch=True):
        yield KINDS[request.param]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    return X, np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=1500), rng.integers(0, 3, 1500) + 0.0


def model(**parameters):
    return ncl(12, 4, **parameters)


def assert_same(found, wanted, X, move):
    assert type(found.coef_) is type(move(X))
    assert found.lam_ == wanted.lam_
    assert found.dof_ == pytest.approx(wanted.dof_, rel=1e-9)
    expected = wanted.predict(X)
    predicted = to_host(found.predict(move(X)))
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("basis", ["fourier", "orthogonal"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_on_a_device(move, rows, basis, weighted):
    X, y, weight = rows
    weight = weight if weighted else None
    given = {} if weight is None else {"sample_weight": move(weight)}
    found = scale.fit(model(basis=basis), move(X), move(y), block_size=400, **given)
    assert_same(found, model(basis=basis).fit(X, y, weight), X, move)


def test_chunks_on_a_device_that_can_be_read_twice(move, rows):
    X, y, weight = rows
    chunks = [
        (move(X[a : a + 400]), move(y[a : a + 400]), move(weight[a : a + 400]))
        for a in range(0, 1500, 400)
    ]
    assert_same(scale.fit(model(), chunks), model().fit(X, y, weight), X, move)


def test_chunks_on_a_device_that_can_be_read_once(move, rows):
    X, y, _ = rows
    drawn = model().draw(move(X))
    chunks = ((move(X[a : a + 400]), move(y[a : a + 400])) for a in range(0, 1500, 400))
    assert_same(scale.fit(drawn, chunks), model().fit(X, y), X, move)


def test_landmarks_come_from_the_rows_on_the_device(move, rows):
    X, y, _ = rows
    found = scale.fit(model(basis="nystroem", alpha=1e-3), move(X), move(y), block_size=400)
    assert_same(found, model(basis="nystroem", alpha=1e-3).fit(X, y), X, move)


def test_a_value_that_is_missing_is_found_where_it_is(move, rows):
    X, y, _ = rows
    X[901, 2] = np.nan
    with pytest.raises(ChunkError, match=r"chunk 2 \(rows 801 to 1200\).*NaN"):
        scale.fit(model(), move(X), move(y), block_size=400)
