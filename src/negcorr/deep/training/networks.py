"""M members × E ensembles of multilayer perceptrons, in one set of batched tensors.

Their shape (:class:`Architecture`), their evaluation and their initial weights; the training loop
moves the weights.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["ACTIVATIONS", "Architecture", "EnsembleMLP", "initialise"]

#: Names of activations and what they are.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": functional.relu,
    "gelu": functional.gelu,
}

#: Added to variances before they are divided by, as in torch.
EPSILON = 1e-5


@dataclass(frozen=True)
class Architecture:
    """The shape of an ensemble of networks; the paper's is the default (Section 8).

    Attributes
    ----------
    hidden_layer_sizes : tuple of int
        Nodes of the hidden layers.
    n_members : int
        Members M.
    activation : {"tanh", "relu", "gelu"}
        After every hidden layer.
    batch_norm : bool
        Whether hidden layers are normalised.

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep import Architecture
    >>> network = Architecture((5, 5), n_members=4).started(
    ...     torch.randn(20, 3), n_outputs=1, n_ensembles=2, seed=0
    ... )
    >>> network.n_rows
    8
    """

    hidden_layer_sizes: tuple[int, ...] = (5, 5, 5)
    n_members: int = 30
    activation: str = "tanh"
    batch_norm: bool = True

    def empty(
        self,
        n_features: int,
        n_outputs: int,
        n_ensembles: int | None,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> EnsembleMLP:
        """Networks of this shape, their weights all zero."""
        count: dict[str, Any] = {"n_outputs": n_outputs, "n_ensembles": n_ensembles}
        return EnsembleMLP(n_features, **count, dtype=dtype, device=device, **vars(self))

    def started(self, X: Tensor, n_outputs: int, n_ensembles: int | None, seed: int) -> EnsembleMLP:
        """Networks with initial weights, in the precision and on the device of ``X``.

        Parameters
        ----------
        X : tensor of shape (n, d) or (E, n, d)
            Training inputs, for which the weights are scaled.
        n_outputs : int
            Outputs p.
        n_ensembles : int or None
            Ensembles E, all with the same weights.
        seed : int
            Of the weights.
        """
        network = self.empty(X.shape[-1], n_outputs, n_ensembles, X.dtype)
        initialise(network, X, seed)
        return network.to(X.device)


class EnsembleMLP(nn.Module):
    """Perceptrons of one shape, all evaluated at once.

    A member is linear → batch norm → activation, for each hidden layer, and a linear output. Every
    member is a row of one parameter: a step of any optimiser moves all members, and one member
    depends on the others through the loss only.

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
        self.n_members, self.n_ensembles = n_members, n_ensembles
        self.activation, self.batch_norm = activation, batch_norm
        # Layer, name and shape of every tensor of a member, and its columns in a row of theta.
        self._places: list[tuple[int, str, tuple[int, int], slice]] = []
        size = 0
        for layer, (before, after) in enumerate(itertools.pairwise(self.widths)):
            # No bias before batch norm, which subtracts it again: only rounding errors would stay.
            normalised = batch_norm and layer < len(hidden_layer_sizes)
            for name in ("weight", "scale", "shift") if normalised else ("weight", "bias"):
                shape = (after, before if name == "weight" else 1)
                self._places.append((layer, name, shape, slice(size, size := size + prod(shape))))
        rows = n_members * (n_ensembles or 1)
        self.theta = nn.Parameter(torch.zeros(rows, size, dtype=dtype, device=device))
        hidden = sum(hidden_layer_sizes)
        # −1, which no variance is, means that there are none yet; NaN is that of diverged weights.
        none = torch.full((2, rows, hidden), -1.0, dtype=dtype, device=device)
        self.register_buffer("statistics", none)

    @property
    def architecture(self) -> Architecture:
        """The shape of an ensemble, without inputs and outputs."""
        return Architecture(self.widths[1:-1], self.n_members, self.activation, self.batch_norm)

    @property
    def n_rows(self) -> int:
        """Networks in all, E·M."""
        return len(self.theta)

    def layers(self, theta: Tensor | None = None) -> list[dict[str, Tensor]]:
        """Weights and biases, or scales and shifts of batch norm, as views of ``theta``.

        ``weight`` has the shape (E·M, out, in), all others (E·M, out, 1). Layers with batch norm
        have no bias, since batch norm would subtract it again.
        """
        theta = self.theta if theta is None else theta
        found: list[dict[str, Tensor]] = [{} for _ in self.widths[1:]]
        for layer, name, shape, place in self._places:
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

    def run(
        self, inputs: Tensor, layers: Sequence[dict[str, Tensor]], *, take_statistics: bool = False
    ) -> Tensor:
        """From inputs (d, n) or (E, d, n), a column for each sample, to outputs (E·M, p, n).

        With ``take_statistics`` batch norm takes its statistics from these inputs and uses them.
        """
        weight = layers[0]["weight"]
        rows, out, d = weight.shape
        ensembles = rows // self.n_members
        if tuple(inputs.shape[:-1]) not in ((d,), (ensembles, d)):
            raise ValueError(
                f"X of shape {tuple(inputs.transpose(-1, -2).shape)} does not fit: expected "
                f"(n, {d}) or ({ensembles}, n, {d})."
            )
        by_batch = self.training and not take_statistics
        if self.batch_norm and len(layers) > 1:
            if by_batch and inputs.shape[-1] < 2:
                raise ValueError(
                    "batch norm needs batches of at least 2 samples, got 1; give another "
                    "batch_size, or batch_norm=False."
                )
            if not self.training and not take_statistics and bool(self.statistics[1, 0, 0] < 0):
                raise RuntimeError(
                    "the network has no statistics for its batch norm: call calibrate(X) with "
                    "the training inputs before eval() is used."
                )
        if inputs.ndim == 2:
            # One product for all networks, since all have the same inputs.
            product = weight.reshape(rows * out, -1) @ inputs
        else:
            product = torch.bmm(weight.reshape(len(inputs), -1, d), inputs)
        signal = product.view(rows, out, -1)
        if "bias" in layers[0]:
            signal = signal + layers[0]["bias"]
        start = 0
        for layer, following in itertools.pairwise(layers):
            if self.batch_norm:
                nodes = slice(start, start := start + signal.shape[1])
                if by_batch:
                    # Channels are the nodes of all networks: torch's function normalises each.
                    flat = signal.reshape(1, -1, signal.shape[2])
                    scale, shift = layer["scale"].reshape(-1), layer["shift"].reshape(-1)
                    flat = functional.batch_norm(flat, None, None, scale, shift, True, eps=EPSILON)
                    signal = flat.view(signal.shape)
                else:
                    if take_statistics:
                        variance, mean = torch.var_mean(signal, dim=2, correction=0)
                        self.statistics[0][:, nodes] = mean
                        self.statistics[1][:, nodes] = variance
                    mean, variance = self.statistics[:, :, nodes, None]
                    factor = layer["scale"] * torch.rsqrt(variance + EPSILON)
                    signal = (signal - mean) * factor + layer["shift"]
            signal = ACTIVATIONS[self.activation](signal)
            if "bias" in following:
                signal = torch.baddbmm(following["bias"], following["weight"], signal)
            else:
                signal = torch.bmm(following["weight"], signal)
        return signal

    def calibrate(self, X: Tensor) -> None:
        """Take the statistics of batch norm from these rows, the whole training set."""
        if self.batch_norm:
            with torch.no_grad():
                self.run(X.transpose(-1, -2), self.layers(), take_statistics=True)

    def pick(self, ensembles: int | Sequence[int]) -> EnsembleMLP:
        """A copy of some of the ensembles, in evaluation mode.

        Parameters
        ----------
        ensembles : int or sequence of int
            Their numbers; of a single number the copy has no axis of ensembles.
        """
        single = isinstance(ensembles, numbers.Integral)
        first = self.n_members * torch.as_tensor(ensembles).reshape(-1, 1)
        rows = (first + torch.arange(self.n_members)).flatten()
        found = self.architecture.empty(
            self.widths[0], self.widths[-1], None if single else len(first), self.theta.dtype
        ).to(self.theta.device)
        with torch.no_grad():
            found.theta.copy_(self.theta[rows])
            found.statistics.copy_(self.statistics[:, rows])
        return found.eval()


#: Largest distance from 1 of the variance of a layer, and how often the weights are scaled.
TOLERANCE, ATTEMPTS = 0.01, 10

#: Variances below this fraction of a signal's square are its rounding errors.
ROUNDING = 1e-20


def initialise(network: EnsembleMLP, X: Tensor, seed: int) -> None:
    """Set orthonormal weights, scaled layer by layer until every member's outputs have variance 1.

    All ensembles get the same weights, so that they differ only by what they are trained for.
    Numbers are drawn on the CPU: the same seed gives the same weights on every device.

    Parameters
    ----------
    network : EnsembleMLP
        Its parameters are overwritten.
    X : tensor of shape (n, d) or (E, n, d)
        Training inputs; of several sets the first is used.
    seed : int
        Of the weights.
    """
    members = network.n_members
    generator = torch.Generator().manual_seed(seed)
    one = network.architecture.empty(network.widths[0], network.widths[-1], None, torch.float64)
    inputs = (X if X.ndim == 2 else X[0]).detach().to("cpu", torch.float64)
    with torch.no_grad():
        signal = inputs.T.expand(members, -1, -1)
        layers = one.layers()
        for k, layer in enumerate(layers):
            layer["weight"].copy_(_orthonormal(layer["weight"].shape, generator))
            # Scaled until each member's outputs have variance 1, unless they do not vary.
            floor = ROUNDING * signal.square().mean(dim=(1, 2))
            for _ in range(ATTEMPTS):
                out = torch.bmm(layer["weight"], signal)
                variance = out.flatten(1).var(dim=1, correction=0)
                varies = variance > floor
                if bool(((variance - 1.0).abs() < TOLERANCE)[varies].all()):
                    break
                layer["weight"] /= torch.where(varies, variance, 1.0).sqrt()[:, None, None]
            signal = torch.bmm(layer["weight"], signal)
            if "scale" in layer:
                layer["scale"].fill_(1.0)
                variance, mean = torch.var_mean(signal, dim=2, keepdim=True, correction=0)
                varies = variance > ROUNDING * mean**2
                signal = torch.where(varies, signal - mean, 0.0) / torch.sqrt(variance + EPSILON)
            if k < len(layers) - 1:
                signal = ACTIVATIONS[network.activation](signal)
        copies = network.n_rows // members
        network.theta.copy_(one.theta.repeat(copies, 1))
        network.statistics.fill_(-1.0)  # the statistics belong to other weights


def _orthonormal(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """A random matrix with orthonormal rows or columns for each member."""
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    wide = shape[1] <= shape[2]
    basis, triangle = torch.linalg.qr(drawn.transpose(1, 2) if wide else drawn)
    # Signs of the triangle's diagonal make the distribution uniform (Mezzadri 2007).
    signs = torch.sign(torch.diagonal(triangle, dim1=1, dim2=2))
    uniform: Tensor = basis * signs.unsqueeze(1)
    return uniform.transpose(1, 2) if wide else uniform
