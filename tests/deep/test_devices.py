"""Names of devices, with and without a GPU that torch says it sees."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from negcorr.deep.settings import resolve_device


@pytest.fixture
def see(monkeypatch):
    """Make torch see this many GPUs."""

    def pretend(count):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    return pretend


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu"), "cpu:0"])
@pytest.mark.parametrize("count", [0, 1])
def test_the_cpu_is_there_whatever_else_is(see, device, count):
    see(count)
    assert resolve_device(device).type == "cpu"


@pytest.mark.parametrize(("count", "expected"), [(0, "cpu"), (1, "cuda"), (4, "cuda")])
def test_auto_is_a_gpu_where_there_is_one(see, count, expected):
    see(count)
    assert resolve_device("auto") == torch.device(expected)
    assert resolve_device() == torch.device(expected)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:3"])
@pytest.mark.parametrize("made", [str, torch.device])
def test_gpus_have_their_names(see, device, made):
    see(4)
    assert resolve_device(made(device)) == torch.device(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", torch.device("cuda")])
def test_a_gpu_that_is_not_there_is_an_error_with_what_is_allowed(see, device):
    see(0)
    with pytest.raises(ValueError, match=r"device='cuda.*allowed are 'cpu' and 'auto'"):
        resolve_device(device)


@pytest.mark.parametrize("device", ["cuda:3", torch.device("cuda", 3)])
def test_a_gpu_beyond_the_last_is_an_error_with_their_number(see, device):
    see(3)
    with pytest.raises(ValueError, match="device='cuda:3', but torch sees 3 CUDA device"):
        resolve_device(device)


@pytest.mark.parametrize(
    "device", ["gpu", "CPU", "", "cuda:", "cuda:x", "meta", "mps", torch.device("meta")]
)
@pytest.mark.parametrize("count", [0, 1])
def test_unknown_names_are_errors_with_what_is_allowed(see, device, count):
    see(count)
    with pytest.raises(ValueError, match=r"device=.* is unknown; allowed are 'cpu', 'cuda' and"):
        resolve_device(device)


@pytest.mark.parametrize("device", [None, 0, 1.0, True, ["cpu"], np.array("auto")])
def test_what_is_no_name_is_an_error_with_its_type(device):
    with pytest.raises(TypeError, match=rf"device=.* got {type(device).__name__}"):
        resolve_device(device)
