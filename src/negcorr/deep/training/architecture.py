"""The shape of an ensemble's networks, from which any number of ensembles can be started."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from negcorr.deep.training.networks import ACTIVATIONS, EnsembleMLP

__all__ = ["Architecture", "initialise"]


@dataclass(frozen=True)
class Architecture:
    """What all ensembles of a study have in common; the paper's are the defaults (Section 8).

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
    ) -> EnsembleMLP:
        """Networks of this shape on the CPU, their weights all zero."""
        return EnsembleMLP(
            n_features,
            self.hidden_layer_sizes,
            n_outputs,
            n_members=self.n_members,
            n_ensembles=n_ensembles,
            activation=self.activation,
            batch_norm=self.batch_norm,
            dtype=dtype,
        )

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


#: How near to 1 the variance of a layer must come, and how often it is tried.
TOLERANCE, ATTEMPTS = 0.01, 10

#: Variances below this fraction of a signal's square are its rounding errors.
ROUNDING = 1e-20


def initialise(network: EnsembleMLP, X: Tensor, seed: int) -> None:
    """Orthonormal weights, scaled layer by layer until every member's signal has variance 1.

    All ensembles get the same weights, so that they differ by what they are trained for alone.
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
    one = EnsembleMLP(
        network.widths[0],
        network.widths[1:-1],
        network.widths[-1],
        n_members=members,
        activation=network.activation,
        batch_norm=network.batch_norm,
        dtype=torch.float64,
    )
    inputs = (X if X.ndim == 2 else X[0]).detach().to("cpu", torch.float64)
    with torch.no_grad():
        signal = inputs.T.expand(members, -1, -1)
        layers = one.layers()
        for k, layer in enumerate(layers):
            layer["weight"].copy_(_orthonormal(layer["weight"].shape, generator))
            signal = _unit_variance(layer["weight"], signal)
            if "scale" in layer:
                layer["scale"].fill_(1.0)
                variance, mean = torch.var_mean(signal, dim=2, keepdim=True, correction=0)
                varies = variance > ROUNDING * mean**2
                signal = torch.where(varies, signal - mean, 0.0) / torch.sqrt(variance + 1e-5)
            if k < len(layers) - 1:
                signal = ACTIVATIONS[network.activation](signal)
        copies = network.n_rows // members
        network.theta.copy_(one.theta.repeat(copies, 1))
        network.statistics.fill_(-1.0)  # those of the weights before


def _orthonormal(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """A random matrix with orthonormal rows or columns for each member."""
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    wide = shape[1] <= shape[2]
    basis, triangle = torch.linalg.qr(drawn.transpose(1, 2) if wide else drawn)
    # Signs of the triangle's diagonal make the distribution uniform (Mezzadri 2007).
    signs = torch.sign(torch.diagonal(triangle, dim1=1, dim2=2))
    uniform: Tensor = basis * signs.unsqueeze(1)
    return uniform.transpose(1, 2) if wide else uniform


def _unit_variance(weight: Tensor, signal: Tensor) -> Tensor:
    """Scale the weights of each member until its outputs have variance 1; give the outputs.

    Weights of members whose outputs do not vary stay as they are.
    """
    out = torch.bmm(weight, signal)
    floor = ROUNDING * signal.square().mean(dim=(1, 2))
    for _ in range(ATTEMPTS):
        variance = out.flatten(1).var(dim=1, correction=0)
        varies = variance > floor
        if bool(((variance - 1.0).abs() < TOLERANCE)[varies].all()):
            break
        weight /= torch.where(varies, variance, 1.0).sqrt()[:, None, None]
        out = torch.bmm(weight, signal)
    return out
