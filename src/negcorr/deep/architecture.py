"""The shape of an ensemble's networks, from which any number of ensembles can be started."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from negcorr.deep.init import initialise
from negcorr.deep.networks import EnsembleMLP

__all__ = ["Architecture"]


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
