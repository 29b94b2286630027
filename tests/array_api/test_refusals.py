"""What cannot be done on a device is said, and says what can."""

import sys
import types

import numpy as np
import pytest
import sklearn
from models import ncl
from places import SMALL, problem, somewhere
from sklearn.kernel_approximation import RBFSampler
from sklearn.utils import get_tags

from negcorr import NCLRegressor
from negcorr._common.arrays import place_of
from negcorr.bases import ClonedFeatures, FourierFeatures, NystroemFeatures

X, y = problem()


@pytest.mark.parametrize("method", ["predict", "predict_members", "predict_interval"])
def test_inputs_of_another_place_name_both_and_the_way_home(place, method):
    there = ncl(**SMALL).fit(place.put(X), y)
    home = ncl(**SMALL).fit(X, y)
    here = str(place_of(place.put(X)))
    with pytest.raises(ValueError, match=r"to_numpy\(\)") as error:
        getattr(there, method)(X)
    assert f"that was {here}, these are numpy" in str(error.value)
    with pytest.raises(ValueError, match=r"to_numpy\(\)") as error:
        getattr(home, method)(place.put(X))
    assert f"that was numpy, these are {here}" in str(error.value)


@pytest.mark.parametrize("kind", [FourierFeatures, NystroemFeatures])
def test_features_of_another_place(place, kind):
    there, home = kind(3, 4).fit(place.put(X)), kind(3, 4).fit(X)
    with pytest.raises(ValueError, match=r"\.transform\(\) .*these are numpy"):
        there.transform(X)
    with pytest.raises(ValueError, match=r"\.transform\(\) .*that was numpy"):
        home.transform(place.put(X))


def test_another_device_of_the_same_library_is_another_place():
    one, other = somewhere("strict"), somewhere("strict-cpu")
    model = ncl(**SMALL).fit(one.put(X), y)
    with pytest.raises(ValueError, match=r"on array_api_strict\.Device\('device1'\), these are"):
        model.predict(other.put(X))


def test_without_dispatch_a_model_of_a_device_says_what_to_set(torch):
    model = ncl(**SMALL).fit(torch.put(X), y)
    with (
        sklearn.config_context(array_api_dispatch=False),
        pytest.raises(ValueError, match="array_api_dispatch=True"),
    ):
        model.predict(torch.put(X))


@pytest.mark.parametrize(
    "basis",
    [
        RBFSampler(),
        [FourierFeatures(1, 3, inputs="none"), FourierFeatures(1, 4, inputs="none")],
    ],
    ids=str,
)
def test_features_that_need_numpy(place, basis):
    model = ncl(**SMALL | {"basis": basis})
    for call in (model.fit, model.partial_fit):
        with pytest.raises(TypeError, match="takes NumPy arrays only, got X of type"):
            call(place.put(X), place.put(y))
    with pytest.raises(TypeError, match="takes NumPy arrays only"):
        model.draw(place.put(X))
    assert not get_tags(model).array_api_support
    assert get_tags(NCLRegressor()).array_api_support
    assert get_tags(NCLRegressor(basis=FourierFeatures(inputs="none"))).array_api_support


def test_a_basis_that_needs_numpy_says_so_itself(place):
    basis = ClonedFeatures(RBFSampler(), 3, inputs="standard")
    with pytest.raises(TypeError, match="ClonedFeatures takes NumPy arrays only"):
        basis.fit(place.put(X))


def test_neighbours_are_not_looked_for_on_a_device(place):
    model = ncl(**SMALL, noise_variance="difference", criterion="sure")
    with pytest.raises(ValueError, match="needs X as a dense NumPy array"):
        model.fit(place.put(X), place.put(y))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("basis", ["fourier", FourierFeatures(4, 4, inputs="none")], ids=str)
def test_numbers_that_are_none(place, value, basis):
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[5, 2] = bad_y[7] = value
    model = ncl(**SMALL | {"basis": basis})
    said = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"X contains {said}"):
        model.fit(place.put(bad_X), place.put(y))
    for target in (place.put(bad_y), bad_y, bad_y.tolist()):
        with pytest.raises(ValueError, match=f"y contains {said}"):
            model.fit(place.put(X), target)
    assert not hasattr(model, "coef_")


def test_predictions_of_numbers_that_are_none(place):
    bad = X.copy()
    bad[0, 0] = np.nan
    model = ncl(**SMALL).fit(place.put(X), y)
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict(place.put(bad))


@pytest.mark.parametrize(
    ("rows", "target", "said"),
    [
        (X, y[:-1], "inconsistent numbers of samples"),
        (X[:, 0], y, "Expected 2D array, got 1D array"),
        (X[:, :, None], y, "dim 3"),
        (X, np.zeros((120, 2, 2)), "dim 3"),
        (X, np.zeros((120, 0)), "0 feature"),
        (X[:, :0], y, "0 feature"),
        (X[:1], y[:1], "minimum of 2 is required"),
        (X, np.full(120, 1e200) * np.sign(y), "whose squares overflow"),
        (X, y * 1e-160, "whose squares vanish"),
    ],
)
def test_shapes_and_sizes_that_do_not_fit(place, rows, target, said):
    with pytest.raises(ValueError, match=said):
        ncl(**SMALL).fit(place.put(rows), place.put(target))


def test_another_number_of_columns(place):
    model = ncl(**SMALL).fit(place.put(X), y)
    with pytest.raises(ValueError, match="X has 3 features, but NCLRegressor is expecting 4"):
        model.predict(place.put(X[:, :3]))


@pytest.mark.parametrize("basis", ["fourier", FourierFeatures(4, 4, inputs="none")], ids=str)
def test_a_target_is_needed(place, basis):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        ncl(**SMALL | {"basis": basis}).fit(place.put(X), None)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (np.zeros(120), "non-zero"),
        (-np.ones(120), "Negative values"),
        (np.ones(119), "sample_weight"),
        (np.full(120, np.nan), "NaN"),
    ],
)
def test_weights_that_are_none(place, weight, said):
    for given_weight in (weight, place.put(weight)):
        with pytest.raises(ValueError, match=said):
            ncl(**SMALL).fit(place.put(X), place.put(y), given_weight)


@pytest.mark.parametrize("basis", ["fourier", FourierFeatures(4, 4, inputs="none")], ids=str)
def test_complex_numbers(torch, basis):
    model = ncl(**SMALL | {"basis": basis}, lam=0.5)
    with pytest.raises(ValueError, match="Complex data not supported, got X"):
        model.fit(torch.put(X) + 1j, torch.put(y))
    with pytest.raises(ValueError, match="Complex data not supported, got y"):
        model.fit(torch.put(X), torch.put(y) + 1j)
    model.fit(torch.put(X), torch.put(y))
    with pytest.raises(ValueError, match="Complex data not supported, got X"):
        model.predict(torch.put(X) + 1j)
    with pytest.raises(ValueError, match="Complex data not supported, got X"):
        FourierFeatures(inputs="none").fit(torch.put(X) + 1j)


def test_a_device_without_double_precision():
    xp = pytest.importorskip("array_api_strict")
    try:
        device = xp.Device("no_float64")
    except ValueError:
        pytest.skip("this version pretends to no such device")
    rows = xp.asarray(X.astype(np.float32), device=device)
    with pytest.raises(TypeError, match="has no double precision"):
        ncl(**SMALL).fit(rows, y)
    with pytest.raises(TypeError, match="has no double precision"):
        FourierFeatures(inputs="none").fit(rows)


class TestArraysThatCannotBeWrittenInto:
    @pytest.fixture
    def immutable(self, monkeypatch):
        """A table of a library that looks like JAX."""

        class Array:
            shape, ndim, dtype = X.shape, 2, np.dtype(np.float64)

            def __array_namespace__(self, api_version=None):
                return types.ModuleType("jax.numpy")

        fake = types.ModuleType("jax")
        fake.Array = Array
        fake.core = types.SimpleNamespace(Tracer=type("Tracer", (), {}))
        for name, module in {"jax": fake, "jax.core": fake.core}.items():
            monkeypatch.setitem(sys.modules, name, module)
        return Array()

    def test_are_refused_by_name(self, immutable):
        said = "Array cannot be written into; allowed are arrays of NumPy, PyTorch, CuPy"
        model = ncl(**SMALL)
        for call in (model.fit, model.partial_fit):
            with pytest.raises(TypeError, match=said):
                call(immutable, y)
        with pytest.raises(TypeError, match=said):
            ncl(**SMALL).fit(X, y).predict(immutable)
        with pytest.raises(TypeError, match=said):
            FourierFeatures(inputs="none").fit(immutable)
