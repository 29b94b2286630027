"""Layer-sequential unit-variance initialisation (Mishkin and Matas 2016), all members at once."""

from __future__ import annotations

import torch
from torch import Tensor

from negcorr.deep.networks import ACTIVATIONS, EnsembleMLP

__all__ = ["initialise"]

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
