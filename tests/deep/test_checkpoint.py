"""Files of tensors: every bit comes back, and no damage goes unnoticed."""

import dataclasses
import json

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from negcorr._common import files as _files
from negcorr.deep import checkpoint as module
from negcorr.deep.checkpoint import read_tensors, restore, state_of, write_tensors
from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.networks import Architecture
from negcorr.exceptions import CheckpointError

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
]

ABOUT = {"kind": "training", "rate": 0.1, "names": ["a", "λ"], "nothing": None}


def small():
    return {"one": torch.tensor([1.0, -2.5]), "two": torch.tensor(3, dtype=torch.int64)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.safetensors"


@pytest.fixture
def written(path):
    write_tensors(path, small(), ABOUT)
    return path


# ---------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (0, 4)])
def test_tensors_of_every_kind_come_back(path, dtype, shape):
    value = (10 * torch.rand(shape, generator=torch.Generator().manual_seed(0))).to(dtype)
    write_tensors(path, {"value": value}, {})
    found, about = read_tensors(path)
    assert list(found) == ["value"]
    assert (found["value"].dtype, found["value"].shape) == (dtype, value.shape)
    assert torch.equal(found["value"], value)
    assert about == {}


def test_numbers_that_are_none_come_back_to_the_bit(path):
    bits = torch.tensor([0x7FC00001, 0x7F800000, -0x80000000, 1], dtype=torch.int32)
    write_tensors(path, {"value": bits.view(torch.float32)}, {})
    assert torch.equal(read_tensors(path)[0]["value"].view(torch.int32), bits)


def test_parameters_and_views_may_be_written(path):
    rows = torch.arange(12.0).reshape(3, 4)
    tensors = {"leaf": torch.nn.Parameter(torch.ones(2)), "view": rows.T, "part": rows[:, 1:3]}
    write_tensors(path, tensors, {})
    found, _ = read_tensors(path)
    assert not found["leaf"].requires_grad
    for name, value in tensors.items():
        assert torch.equal(found[name], value)


def test_what_tensors_are_about_comes_back(written):
    assert read_tensors(written)[1] == ABOUT


def test_nothing_but_a_header_of_json_and_numbers_is_in_the_file(written):
    content = written.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert set(header) == {"__metadata__", "one", "two"}
    assert set(header["__metadata__"]) == {"format", "about", "sha256"}
    assert len(content) == 8 + length + 2 * 4 + 8


def test_tensors_that_were_read_do_not_change_with_the_file(written):
    found, _ = read_tensors(written)
    with written.open("r+b") as file:
        file.write(b"\0" * written.stat().st_size)
    for name, value in small().items():
        assert torch.equal(found[name], value)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("old", [True, False])
def test_a_write_that_fails_leaves_the_old_file_and_no_half_of_the_new(
    path, monkeypatch, failing, old
):
    if old:
        write_tensors(path, small(), ABOUT)
    before = path.read_bytes() if old else None

    def full(*args):
        raise OSError("the disk is full")

    target = _files.os if failing == "fsync" else type(path)
    monkeypatch.setattr(target, failing, full)
    with pytest.raises(OSError, match="the disk is full"):
        write_tensors(path, {"other": torch.zeros(1000)}, {})
    assert [p.read_bytes() for p in path.parent.iterdir()] == ([before] if old else [])


def test_what_json_cannot_hold_is_an_error_before_anything_is_written(path):
    with pytest.raises(TypeError, match="JSON"):
        write_tensors(path, small(), {"object": object()})
    assert not path.exists()


@pytest.mark.parametrize("flip", [0x01, 0x10, 0x80])
def test_no_flipped_bit_goes_unnoticed(written, flip):
    content = written.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= flip
        written.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"file\.safetensors"):
            read_tensors(written)


def test_a_file_cut_anywhere_is_an_error(written):
    content = written.read_bytes()
    for length in range(0, len(content), 7):
        written.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="is damaged or no safetensors file"):
            read_tensors(written)


@pytest.mark.parametrize("content", [b"", b"{}", b"lam,loss\n0.5,1.0\n" * 50, b"\x80\x04."])
def test_other_files_are_errors(path, content):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged or no safetensors file"):
        read_tensors(path)


def test_a_folder_is_an_error(tmp_path):
    with pytest.raises(CheckpointError, match="is damaged or no safetensors file"):
        read_tensors(tmp_path)


@pytest.mark.parametrize("head", [None, {"format": "pt"}])
def test_safetensors_of_others_are_errors(path, head):
    path.write_bytes(safetensors.save(small(), head))
    with pytest.raises(CheckpointError, match="was not written by negcorr"):
        read_tensors(path)


def test_another_format_is_an_error_with_both_numbers(path, monkeypatch):
    monkeypatch.setattr(module, "FORMAT", 7)
    write_tensors(path, small(), ABOUT)
    monkeypatch.setattr(module, "FORMAT", 6)
    with pytest.raises(CheckpointError, match=r"has format 7; .* reads format 6"):
        read_tensors(path)


def test_a_file_that_is_not_there_is_an_error(path):
    with pytest.raises(FileNotFoundError, match=r"file\.safetensors does not exist"):
        read_tensors(path)


# ---------------------------------------------------------------------------------------
# Trainings
# ---------------------------------------------------------------------------------------

TRAINING = Training(max_epochs=23, batch_size=8, patience=2)
SHAPE = Architecture((4, 3), n_members=3)


def problem(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(20, 2, generator=generator, dtype=torch.float64)
    Y = torch.sin(X[:, :1]) + 0.1 * torch.randn(20, 1, generator=generator, dtype=torch.float64)
    return Problem(X.to(dtype), Y.to(dtype), torch.tensor([0.0, 0.9], dtype=torch.float64))


def started(data, seed=0, training=TRAINING):
    network = SHAPE.started(data.X, 1, 2, seed)
    rates = torch.tensor([0.5, 0.01], dtype=torch.float64)
    return TrainingState.start(network, rates, training, seed=3)


def copied(state):
    return {name: value.clone() for name, value in state_of(state).items()}


def assert_same_bits(left, right):
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert torch.equal(value.nan_to_num(-7.0), right[name].nan_to_num(-7.0)), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("epochs", [0, 9, 23])
def test_a_restored_training_ends_with_the_bits_of_one_that_was_not_stopped(path, dtype, epochs):
    data = problem(dtype)
    whole = copied(train(started(data), data, TRAINING))
    assert whole["rate"][0] < 0.5
    first = started(data)
    train(first, data, dataclasses.replace(TRAINING, max_epochs=epochs))
    write_tensors(path, state_of(first), {})
    second = started(data, seed=1)  # other weights, that must all go
    restore(second, read_tensors(path)[0])
    assert second.epoch == epochs
    assert_same_bits(copied(second), copied(first))
    assert_same_bits(copied(train(second, data, TRAINING)), whole)


def test_a_training_that_diverged_comes_back_as_it_was(path):
    data = problem()
    first = started(data)
    with torch.no_grad():
        first.network.theta[:3] = torch.nan
    train(first, data, dataclasses.replace(TRAINING, max_epochs=2))
    write_tensors(path, state_of(first), {})
    second = started(data)
    restore(second, read_tensors(path)[0])
    assert second.diverged.tolist() == [True, False]
    assert_same_bits(copied(second), copied(first))


def test_the_state_is_every_tensor_of_a_training():
    state = started(problem())
    parts = (state.network.state_dict(), vars(state.steps), vars(state.schedule))
    names = {name for part in parts for name, value in part.items() if torch.is_tensor(value)}
    assert set(state_of(state)) == names | {"losses", "epoch"}


NAMES = [
    "theta",
    "statistics",
    "first",
    "second",
    "count",
    "rate",
    "best",
    "stale",
    "waited",
    "losses",
    "epoch",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", ["missing", "shape", "dtype"])
def test_a_state_that_does_not_fit_changes_nothing(name, damage):
    data = problem()
    other = copied(train(started(data, seed=1), data, TRAINING))
    if damage == "missing":
        del other[name]
    elif damage == "shape":
        other[name] = other[name].unsqueeze(0)
    else:
        other[name] = other[name].to(torch.float16)
    state = started(data)
    before = copied(state)
    with pytest.raises(CheckpointError, match=f"for '{name}', not "):
        restore(state, other)
    assert state.epoch == 0
    assert_same_bits(copied(state), before)


def test_a_training_of_more_epochs_does_not_fit():
    data = problem()
    other = state_of(started(data, training=Training(max_epochs=24, batch_size=None)))
    with pytest.raises(CheckpointError, match=r"\(24, 2\) for 'losses', not .*\(23, 2\)"):
        restore(started(data), other)
