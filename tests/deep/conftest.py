"""One thread, and the members of an ensemble as modules of their own."""

import pytest

# Each test file skips itself without torch: a conftest that does so ends ``pytest tests/deep``.
try:
    import torch
except ImportError:
    torch = None

ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU", "gelu": "GELU"}


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def plain_members():
    return _plain_members


def _plain_members(network):
    """Every row of the network as a plain nn.Sequential, with weights copied by name."""
    layers = network.layers(network.theta.detach())
    return [_plain(network, [_of_row(layer, r) for layer in layers]) for r in range(network.n_rows)]


def _of_row(layer, row):
    flat = {name: value[row, :, 0] for name, value in layer.items() if name != "weight"}
    return {"weight": layer["weight"][row], **flat}


def _plain(network, layers):
    modules = []
    for k, layer in enumerate(layers):
        out, before = layer["weight"].shape
        hidden = k < len(layers) - 1
        normalised = hidden and network.batch_norm
        linear = torch.nn.Linear(before, out, bias=not normalised, dtype=network.theta.dtype)
        modules.append(linear)
        with torch.no_grad():
            linear.weight.copy_(layer["weight"])
            if normalised:
                norm = torch.nn.BatchNorm1d(out, dtype=network.theta.dtype)
                norm.weight.copy_(layer["scale"])
                norm.bias.copy_(layer["shift"])
                modules.append(norm)
            else:
                linear.bias.copy_(layer["bias"])
        if hidden:
            modules.append(getattr(torch.nn, ACTIVATIONS[network.activation])())
    return torch.nn.Sequential(*modules)
