"""Models that come back from a file: every number, every parameter, and nothing that runs."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from models import deep_ncl

from negcorr.deep.checkpoint import read_tensors, write_tensors
from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.exceptions import CheckpointError

SMALL = {
    "n_members": 3,
    "hidden_layer_sizes": (3,),
    "learning_rate": 0.02,
    "max_epochs": 4,
    "lam": [0.0, 0.6],
    "random_state": 0,
}


def data(outputs=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) * [1.0, 50.0] + [0.0, 7.0]
    shape = (30,) if outputs is None else (30, outputs)
    noise = 0.3 * rng.normal(size=shape)
    wave = np.sin(X[:, 0])
    return X, 100.0 + 20.0 * ((wave if outputs is None else wave[:, None]) + noise)


def fitted(outputs=None, **kwargs):
    return deep_ncl(**{**SMALL, **kwargs}).fit(*data(outputs))


def reloaded(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    return DeepNCLRegressor.load(path)


def assert_same(found, model, std=True):
    X, _ = data()
    new = np.random.default_rng(1).normal(size=(11, 2)) * 60.0
    for rows in (X, new):
        assert (found.predict(rows) == model.predict(rows)).all()
        assert (found.predict_members(rows) == model.predict_members(rows)).all()
        if std:
            for left, right in zip(
                found.predict(rows, return_std=True),
                model.predict(rows, return_std=True),
                strict=True,
            ):
                assert (left == right).all()
    for name in ("lam_", "dof_", "dof_std_error_", "noise_variance_", "learning_rate_"):
        left, right = getattr(found, name), getattr(model, name)
        assert type(left) is type(right), name
        np.testing.assert_array_equal(left, right)
    for name in ("n_epochs_", "n_features_in_"):
        assert getattr(found, name) == getattr(model, name)
    for name in ("lams", "losses", "rates"):
        np.testing.assert_array_equal(getattr(found.history_, name), getattr(model.history_, name))


@pytest.mark.parametrize("outputs", [None, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_model_comes_back_to_the_bit(tmp_path, outputs, dtype):
    model = fitted(outputs, dtype=dtype)
    found = reloaded(model, tmp_path)
    assert_same(found, model)
    assert found.network_.theta.dtype == getattr(torch, dtype)
    for name, value in vars(model.lam_table_).items():
        np.testing.assert_array_equal(getattr(found.lam_table_, name), value)
    assert found.predict(data()[0]).shape == data(outputs)[1].shape


@pytest.mark.parametrize(
    "kwargs",
    [
        {"activation": "gelu", "batch_norm": False},
        {"hidden_layer_sizes": (4, 2)},
        {"hidden_layer_sizes": ()},
        {"standardize": False, "max_epochs": 1},
        {"noise_variance": 30.0},
        {"n_probes": 1},
    ],
    ids=str,
)
def test_models_of_other_shapes_come_back(tmp_path, kwargs):
    model = fitted(**kwargs)
    assert_same(reloaded(model, tmp_path), model)


def test_a_model_without_perturbed_copies_comes_back_without(tmp_path):
    model = fitted(lam=0.4, n_probes=0)
    found = reloaded(model, tmp_path)
    assert_same(found, model, std=False)
    assert np.isnan(found.dof_)
    with pytest.raises(ValueError, match="return_std=True"):
        found.predict(data()[0], return_std=True)


def test_a_model_that_was_trained_further_comes_back(tmp_path):
    model = fitted(lam=0.4).partial_fit(*data())
    found = reloaded(model, tmp_path)
    assert_same(found, model, std=False)
    assert found.lam_table_ is None
    assert found.n_epochs_ == 5
    before = found.predict(data()[0])
    assert (found.partial_fit(*data()).predict(data()[0]) != before).any()


@pytest.mark.parametrize("outputs", [None, 2])
def test_a_model_with_new_heads_comes_back(tmp_path, outputs):
    model = fitted(outputs).refit_heads(*data(outputs))
    found = reloaded(model, tmp_path)
    assert_same(found, model, std=False)
    assert found.lam_table_ is None


def test_names_of_columns_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=["width", "λ"])
    model = deep_ncl(**SMALL).fit(frame, y)
    found = reloaded(model, tmp_path)
    assert found.feature_names_in_.tolist() == ["width", "λ"]
    assert (found.predict(frame) == model.predict(frame)).all()
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame.rename(columns={"width": "height"}))


def test_a_model_without_names_has_none(tmp_path):
    assert not hasattr(reloaded(fitted(), tmp_path), "feature_names_in_")


def test_parameters_come_back(tmp_path):
    kwargs = {"patience": 7, "weight_decay": 0.01, "clip": 2.0, "eps": 0.2, "optimiser": "sgd"}
    model = fitted(**kwargs, criterion="gcv", early_stopping=3, noise_variance="difference")
    assert reloaded(model, tmp_path).get_params() == model.get_params()


def test_numbers_of_numpy_and_sequences_come_back_as_plain_ones(tmp_path):
    model = fitted(
        n_members=np.int64(3),
        hidden_layer_sizes=[np.int32(3), np.int64(2)],
        lam=(np.float32(0.5), np.float64(0.25)),
        learning_rate=np.float32(0.25),
        noise_variance=np.array([30.0]),
        batch_norm=np.True_,
        random_state=np.int64(3),
    )
    found = reloaded(model, tmp_path)
    assert_same(found, model)
    params = found.get_params()
    assert params["n_members"] == 3
    assert type(params["n_members"]) is int
    assert params["hidden_layer_sizes"] == (3, 2)
    assert params["lam"] == [0.5, 0.25]
    assert params["learning_rate"] == 0.25
    assert params["noise_variance"] == [30.0]
    assert params["batch_norm"] is True
    assert params["random_state"] == 3
    assert np.isfinite(found.fit(*data()).predict(data()[0])).all()


@pytest.mark.parametrize("sizes", [range(3, 5), np.array([3, 4])])
def test_layers_may_be_any_sequence(tmp_path, sizes):
    model = fitted(hidden_layer_sizes=sizes)
    found = reloaded(model, tmp_path)
    assert_same(found, model)
    assert found.hidden_layer_sizes == (3, 4)


def test_objects_are_left_out(tmp_path):
    model = fitted(random_state=np.random.RandomState(0), progress=False)
    found = reloaded(model, tmp_path)
    assert_same(found, model)
    assert found.random_state is None


def test_a_file_that_was_kept_while_training_is_named_by_no_other_model(tmp_path):
    model = fitted(checkpoint=tmp_path / "kept")
    found = reloaded(model, tmp_path)
    assert_same(found, model)
    assert found.checkpoint is None


def test_a_loaded_model_is_saved_as_the_same_file(tmp_path):
    model = fitted(2)
    model.save(tmp_path / "first")
    DeepNCLRegressor.load(tmp_path / "first").save(tmp_path / "second")
    first, second = (read_tensors(tmp_path / name) for name in ("first", "second"))
    assert first[1] == second[1]
    assert first[0].keys() == second[0].keys()
    for name, value in first[0].items():
        assert torch.equal(value, second[0][name]), name


def test_a_loaded_model_does_not_change_with_its_file(tmp_path):
    model = fitted()
    found = reloaded(model, tmp_path)
    path = tmp_path / "model.safetensors"
    with path.open("r+b") as file:
        file.write(b"\0" * path.stat().st_size)
    assert_same(found, model)


def test_a_class_of_ones_own_loads_as_such(tmp_path):
    class Own(DeepNCLRegressor):
        pass

    fitted().save(tmp_path / "model")
    assert type(Own.load(tmp_path / "model")) is Own


def test_the_file_is_json_and_numbers(tmp_path):
    fitted().save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    about = json.loads(header.pop("__metadata__")["about"])
    assert about["kind"] == "DeepNCLRegressor"
    assert about["params"]["training"]["max_epochs"] == 4
    sizes = {"F32": 4, "F64": 8}
    numbers = sum(sizes[t["dtype"]] * int(np.prod(t["shape"])) for t in header.values())
    assert len(content) == 8 + length + numbers


def test_no_tensor_may_be_missing(tmp_path):
    fitted().save(tmp_path / "model")
    tensors, about = read_tensors(tmp_path / "model")
    # Without "copies.theta" the model has no copies, and what belongs to them is not looked at.
    for name in tensors.keys() - {"copies.theta"}:
        left = {other: value for other, value in tensors.items() if other != name}
        write_tensors(tmp_path / "left", left, about)
        with pytest.raises(CheckpointError, match=r"missing|cannot be built"):
            DeepNCLRegressor.load(tmp_path / "left")


def test_a_training_is_no_model(tmp_path):
    fitted(checkpoint=tmp_path / "kept")
    with pytest.raises(CheckpointError, match="holds a training, not a DeepNCLRegressor"):
        DeepNCLRegressor.load(tmp_path / "kept")


def test_other_tensors_are_no_model(tmp_path):
    write_tensors(tmp_path / "file", {"a": torch.ones(1)}, {})
    with pytest.raises(CheckpointError, match="holds a None, not a DeepNCLRegressor"):
        DeepNCLRegressor.load(tmp_path / "file")


def test_damage_anywhere_is_an_error(tmp_path):
    path = tmp_path / "model"
    fitted().save(path)
    content = path.read_bytes()
    for place in [*range(0, len(content), 97), len(content) - 1]:
        damaged = bytearray(content)
        damaged[place] ^= 0x04
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError):
            DeepNCLRegressor.load(path)
    path.write_bytes(content[:-1])
    with pytest.raises(CheckpointError):
        DeepNCLRegressor.load(path)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        DeepNCLRegressor.load(tmp_path / "nowhere")


def test_an_unknown_device_is_an_error(tmp_path):
    fitted().save(tmp_path / "model")
    with pytest.raises(ValueError, match="device='gpu' is unknown"):
        DeepNCLRegressor.load(tmp_path / "model", device="gpu")


@pytest.mark.parametrize("about", ["[]", "3", "{", '{"kind": "DeepNCLRegressor"}', "[" * 5000])
def test_a_forged_description_is_refused_with_the_name_of_the_file(about, tmp_path):
    from safetensors.torch import save

    from negcorr.deep import checkpoint

    header = {"format": str(checkpoint.FORMAT), "about": about}
    file = tmp_path / "forged.safetensors"
    file.write_bytes(save({}, header | {"sha256": checkpoint._digest({}, about)}))
    with pytest.raises(CheckpointError, match=r"forged\.safetensors"):
        DeepNCLRegressor.load(file)
