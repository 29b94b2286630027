"""Places, and objects that are converted to NumPy, as far as NumPy alone can tell."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.utils import get_tags

from negcorr import NCLRegressor
from negcorr._common.arrays import (
    NUMPY,
    arrays_to_numpy,
    contiguous,
    place_of,
    place_within,
    rows_at,
    thin_svd,
)
from negcorr.bases import FourierFeatures


class Mine(FourierFeatures):
    """A class made from one of the package's."""


def test_tables_that_are_no_arrays_are_numpys():
    for table in (np.ones((2, 2)), [[1.0]], (1.0, 2.0), 3.0, np.float64(2.0)):
        assert place_of(table) == NUMPY
    assert NUMPY.is_numpy
    assert str(NUMPY) == "numpy"
    assert place_within(FourierFeatures(inputs="none").fit(np.ones((3, 2)))) == NUMPY


def test_numbers_in_numpy_are_double_precision_and_not_copied():
    values = np.arange(3.0)
    assert NUMPY.floats(values) is values
    assert NUMPY.floats([1, 2]).dtype == np.float64
    assert NUMPY.integers([1, 2]).dtype == np.int64
    with pytest.raises(TypeError):
        NUMPY.floats(1j)


def test_contiguous_is_the_same_numbers_in_order():
    values = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    found = contiguous(values)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, values)
    assert contiguous(np.empty((0, 3)).T).shape == (3, 0)


def test_rows_of_numpys_arrays():
    np.testing.assert_array_equal(rows_at(np.arange(5.0), [3, 1]), [3.0, 1.0])


def test_objects_that_hold_each_other_are_copied_once():
    one, other = Mine(), Mine()
    one.friend, other.friend = other, one
    found = arrays_to_numpy(one)
    assert found is not one
    assert found.friend is not other
    assert found.friend.friend is found


def test_what_is_shared_stays_shared_and_what_is_foreign_stays_itself():
    array, lock = np.ones(3), threading.Lock()
    basis = Mine()
    basis.parts = {"a": [array, (array, lock)]}
    found = arrays_to_numpy(basis).parts
    assert found is not basis.parts
    assert found["a"][0] is found["a"][1][0]
    assert found["a"][1][1] is lock

    @dataclass
    class Theirs:
        basis: object

    theirs = Theirs(basis)
    assert arrays_to_numpy(theirs) is theirs


class Cached(Mine):
    """An object whose copies leave out what can be computed again."""

    def __getstate__(self):
        return {name: part for name, part in vars(self).items() if name != "cache"}


def test_a_copy_may_leave_out_what_is_computed_again():
    thing = Cached()
    thing.cache = np.ones(3)
    assert "cache" not in vars(arrays_to_numpy(thing))


def test_a_model_in_numpy_computes_nothing_for_its_copy():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = NCLRegressor(FourierFeatures(4, 3), lam=0.5, solver="gram").fit(X, X[:, 0])
    before = set(vars(model.path_.spectrum))
    assert "vectors" not in before
    assert set(vars(model.to_numpy().path_.spectrum)) == before
    assert set(vars(model.path_.spectrum)) == before


def test_asking_for_tags_draws_no_seeds():
    state = np.random.RandomState(0)
    wanted = np.random.RandomState(0).randint(2**31 - 1)
    assert get_tags(NCLRegressor(basis=FourierFeatures())).array_api_support
    assert get_tags(NCLRegressor(basis="trees", random_state=state)).array_api_support
    assert not get_tags(NCLRegressor(basis="none such", random_state=state)).array_api_support
    assert state.randint(2**31 - 1) == wanted


def give_up(*args, **kwargs):
    raise np.linalg.LinAlgError("SVD did not converge")


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5)])
@pytest.mark.parametrize("fails", [False, True])
def test_both_drivers_give_the_thin_decomposition(shape, fails, monkeypatch):
    matrix = np.random.default_rng(0).normal(size=shape)
    if fails:
        monkeypatch.setattr(np.linalg, "svd", give_up)
    left, values, right = thin_svd(matrix)
    assert left.shape[1] == right.shape[0] == len(values) == min(shape)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose((left * values) @ right, matrix, atol=1e-13)


def test_what_no_driver_can_do_is_an_error():
    with pytest.raises((np.linalg.LinAlgError, ValueError)):
        thin_svd(np.full((3, 3), np.nan))
