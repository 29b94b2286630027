"""M members × E ensembles of multilayer perceptrons, in one set of batched tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["ACTIVATIONS", "EnsembleMLP"]

#: Names of activations and what they are.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": functional.relu,
    "gelu": functional.gelu,
}

#: Added to variances before they are divided by, as in torch.
EPSILON = 1e-5


class EnsembleMLP(nn.Module):
    """Perceptrons of one shape, all evaluated at once.

    Member m of ensemble e is linear → batch norm → activation, for each hidden layer, and a linear
    output. All of them are rows of one parameter: a step of any optimiser moves all members, and
    none of them sees another but through the loss.

    Parameters
    ----------
    n_features : int
        Inputs d.
    hidden_layer_sizes : sequence of int, default=(5, 5, 5)
        Nodes of the hidden layers.
    n_outputs : int, default=1
        Outputs p.
    n_members : int, default=30
        Members M of an ensemble.
    n_ensembles : int or None, default=None
        Independent ensembles E; None for one, without an axis of its own.
    activation : {"tanh", "relu", "gelu"}, default="tanh"
        After every hidden layer.
    batch_norm : bool, default=True
        Whether hidden layers are normalised, each member for itself: over the batch while training,
        and with the statistics of the training set (:meth:`calibrate`) afterwards.
    dtype, device
        As in torch.

    Attributes
    ----------
    theta : Parameter of shape (E·M, parameters of a member)
        Weights and biases; :meth:`layers` has them by name.
    """

    theta: nn.Parameter
    statistics: Tensor

    def __init__(
        self,
        n_features: int,
        hidden_layer_sizes: Sequence[int] = (5, 5, 5),
        n_outputs: int = 1,
        *,
        n_members: int = 30,
        n_ensembles: int | None = None,
        activation: str = "tanh",
        batch_norm: bool = True,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation={activation!r} is unknown; allowed are {list(ACTIVATIONS)}."
            )
        self.widths = (n_features, *hidden_layer_sizes, n_outputs)
        if min(*self.widths, n_members, 1 if n_ensembles is None else n_ensembles) < 1:
            raise ValueError(
                f"widths {self.widths}, n_members={n_members} and n_ensembles={n_ensembles} "
                "must all be at least 1."
            )
        self.n_members = n_members
        self.n_ensembles = n_ensembles
        self.activation = activation
        self.batch_norm = batch_norm
        self._places = _places(self.widths, batch_norm)
        size = self._places[-1][1].stop
        rows = n_members * (n_ensembles or 1)
        self.theta = nn.Parameter(torch.zeros(rows, size, dtype=dtype, device=device))
        hidden = sum(hidden_layer_sizes)
        # No variance is negative: −1 says that there are none yet, NaN those of diverged weights.
        self.register_buffer(
            "statistics", torch.full((2, rows, hidden), -1.0, dtype=dtype, device=device)
        )

    @property
    def n_rows(self) -> int:
        """Networks in all, E·M."""
        return len(self.theta)

    def layers(self, theta: Tensor | None = None) -> list[dict[str, Tensor]]:
        """Weights and biases, or scales and shifts of batch norm, as views of ``theta``.

        ``weight`` has the shape (E·M, out, in), all others (E·M, out, 1). Layers with a batch norm
        have no bias, which it would take away again.
        """
        theta = self.theta if theta is None else theta
        found: list[dict[str, Tensor]] = [{} for _ in self.widths[1:]]
        for (layer, name, shape), place in self._places:
            found[layer][name] = theta[:, place].view(-1, *shape)
        return found

    def forward(self, X: Tensor) -> Tensor:
        """Predictions of all members.

        Parameters
        ----------
        X : tensor of shape (n, d) or (E, n, d)
            Inputs, the same for all ensembles or a set for each.

        Returns
        -------
        tensor of shape (M, n, p) or (E, M, n, p)
        """
        members = self.by_ensemble(self.run(X.transpose(-1, -2), self.layers()))
        return members[0] if self.n_ensembles is None else members

    def by_ensemble(self, out: Tensor) -> Tensor:
        """Outputs (E·M, p, n) of :meth:`run` as predictions (E, M, n, p)."""
        _, n_outputs, n = out.shape
        return out.view(self.n_rows // self.n_members, self.n_members, n_outputs, n).transpose(2, 3)

    def run(self, inputs: Tensor, layers: Sequence[dict[str, Tensor]]) -> Tensor:
        """From inputs (d, n) or (E, d, n), a column for each sample, to outputs (E·M, p, n)."""
        signal = inputs
        seen = 0
        for k, layer in enumerate(layers):
            signal = self._linear(signal, layer) if k else self._first(signal, layer)
            if k == len(layers) - 1:
                break
            if self.batch_norm:
                width = self.widths[k + 1]
                signal = self._normalised(signal, layer, slice(seen, seen + width))
                seen += width
            signal = ACTIVATIONS[self.activation](signal)
        return signal

    def calibrate(self, X: Tensor) -> None:
        """Take the statistics of batch norm from these rows, the whole training set."""
        if not self.batch_norm:
            return
        with torch.no_grad():
            signal = X.transpose(-1, -2)
            seen = 0
            for k, layer in enumerate(self.layers()[:-1]):
                signal = self._linear(signal, layer) if k else self._first(signal, layer)
                width = self.widths[k + 1]
                variance, mean = torch.var_mean(signal, dim=2, correction=0)
                place = slice(seen, seen + width)
                self.statistics[0][:, place] = mean
                self.statistics[1][:, place] = variance
                signal = self._scaled(signal, layer, mean, variance)
                signal = ACTIVATIONS[self.activation](signal)
                seen += width

    def _first(self, inputs: Tensor, layer: dict[str, Tensor]) -> Tensor:
        weight = layer["weight"]
        rows, out, d = weight.shape
        ensembles = rows // self.n_members
        if tuple(inputs.shape[:-1]) not in ((d,), (ensembles, d)):
            raise ValueError(
                f"X of shape {tuple(inputs.transpose(-1, -2).shape)} does not fit: expected "
                f"(n, {d}) or ({ensembles}, n, {d})."
            )
        if inputs.ndim == 2:
            # One product for all networks, since all have the same inputs.
            product = weight.reshape(rows * out, -1) @ inputs
        else:
            product = torch.bmm(weight.reshape(len(inputs), -1, weight.shape[2]), inputs)
        signal = product.view(rows, out, -1)
        return signal + layer["bias"] if "bias" in layer else signal

    @staticmethod
    def _linear(signal: Tensor, layer: dict[str, Tensor]) -> Tensor:
        if "bias" in layer:
            return torch.baddbmm(layer["bias"], layer["weight"], signal)
        return torch.bmm(layer["weight"], signal)

    def _normalised(self, signal: Tensor, layer: dict[str, Tensor], place: slice) -> Tensor:
        if not self.training:
            mean, variance = self.statistics[0][:, place], self.statistics[1][:, place]
            if bool(variance[0, 0] < 0):
                raise RuntimeError(
                    "the network has no statistics for its batch norm: call calibrate(X) with "
                    "the training inputs before eval() is used."
                )
            return self._scaled(signal, layer, mean, variance)
        rows, width, n = signal.shape
        if n < 2:
            raise ValueError(
                "batch norm needs batches of at least 2 samples, got 1; give another batch_size, "
                "or batch_norm=False."
            )
        # Channels are the nodes of all networks: torch's own kernel then normalises each apart.
        flat = functional.batch_norm(
            signal.reshape(1, rows * width, n),
            None,
            None,
            layer["scale"].reshape(-1),
            layer["shift"].reshape(-1),
            training=True,
            eps=EPSILON,
        )
        return flat.view(rows, width, n)

    @staticmethod
    def _scaled(signal: Tensor, layer: dict[str, Tensor], mean: Tensor, variance: Tensor) -> Tensor:
        factor = layer["scale"] * torch.rsqrt(variance + EPSILON).unsqueeze(2)
        return (signal - mean.unsqueeze(2)) * factor + layer["shift"]


Place = tuple[tuple[int, str, tuple[int, int]], slice]


def _places(widths: Sequence[int], batch_norm: bool) -> list[Place]:
    """Layer, name and shape of every tensor of a member, and where it stands in its row."""
    shapes: list[tuple[int, str, tuple[int, int]]] = []
    for layer, (before, after) in enumerate(itertools.pairwise(widths)):
        shapes.append((layer, "weight", (after, before)))
        if batch_norm and layer < len(widths) - 2:
            # No bias: it would be subtracted again, and only gather rounding errors.
            shapes += [(layer, "scale", (after, 1)), (layer, "shift", (after, 1))]
        else:
            shapes.append((layer, "bias", (after, 1)))
    stops = list(itertools.accumulate(shape[2][0] * shape[2][1] for shape in shapes))
    return [
        (shape, slice(start, stop))
        for shape, start, stop in zip(shapes, [0, *stops], stops, strict=False)
    ]
