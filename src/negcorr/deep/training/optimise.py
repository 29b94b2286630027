"""Adam and gradient descent for many ensembles at once, each with its own learning rate."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["OPTIMISERS", "Schedule", "Steps"]

#: Names of optimisers.
OPTIMISERS = ("adam", "sgd")

#: Adam's, as in its paper and in torch.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


@dataclass
class Steps:
    """Moves parameters against their gradients, in place and without waiting for the device.

    Attributes
    ----------
    first, second : tensor of the shape of the parameters
        Moving averages of gradients and of their squares (Adam).
    count : tensor of shape ()
        Steps so far.
    kind : {"adam", "sgd"}
        Which optimiser.
    weight_decay : float
        L2 penalty, added to the gradient as torch.optim does.
    clip : float or None
        Largest norm of an ensemble's gradient; longer ones are shortened to it.
    """

    first: Tensor
    second: Tensor
    count: Tensor
    kind: str = "adam"
    weight_decay: float = 0.0
    clip: float | None = None

    @classmethod
    def start(
        cls, theta: Tensor, kind: str, weight_decay: float = 0.0, clip: float | None = None
    ) -> Steps:
        """The state before the first step."""
        if kind not in OPTIMISERS:
            raise ValueError(f"optimiser={kind!r} is unknown; allowed are {list(OPTIMISERS)}.")
        # Double precision: in single precision 1 − 0.999 has a relative error of 10⁻⁴.
        zero = torch.zeros((), dtype=torch.float64, device=theta.device)
        return cls(torch.zeros_like(theta), torch.zeros_like(theta), zero, kind, weight_decay, clip)

    def move(self, theta: Tensor, gradient: Tensor, rate: Tensor, n_ensembles: int) -> None:
        """One step.

        Parameters
        ----------
        theta, gradient : tensor of shape (E·M, parameters)
        rate : tensor of shape (E,)
            Learning rates; an ensemble of rate 0 does not move.
        n_ensembles : int
            E.
        """
        if self.clip is not None:
            parts = gradient.view(n_ensembles, -1)
            norm = parts.norm(dim=1, keepdim=True)
            gradient = (parts * (self.clip / norm.clamp(min=self.clip))).view_as(gradient)
        if self.weight_decay > 0:
            gradient = gradient.add(theta, alpha=self.weight_decay)
        members = len(theta) // n_ensembles
        per_row = rate.unsqueeze(1).expand(-1, members).reshape(-1, 1)
        self.count.add_(1.0)
        if self.kind == "sgd":
            theta.addcmul_(gradient, per_row, value=-1.0)
            return
        self.first.lerp_(gradient, 1.0 - BETA_1)
        self.second.mul_(BETA_2).addcmul_(gradient, gradient, value=1.0 - BETA_2)
        first_share = (1.0 - torch.pow(BETA_1, self.count)).to(theta.dtype)
        second_share = (1.0 - torch.pow(BETA_2, self.count)).to(theta.dtype)
        size = (self.second / second_share).sqrt_().add_(EPSILON)
        theta.addcdiv_(self.first * (per_row / first_share), size, value=-1.0)


@dataclass
class Schedule:
    """Learning rates that are halved where the loss has not fallen for a while.

    Attributes
    ----------
    rate : tensor of shape (E,)
        Learning rates.
    best : tensor of shape (E,)
        Lowest loss of an epoch so far.
    stale : tensor of shape (E,)
        Epochs since the lowest loss, or since the last halving.
    waited : tensor of shape (E,)
        Epochs since the lowest loss.
    """

    rate: Tensor
    best: Tensor
    stale: Tensor
    waited: Tensor

    @classmethod
    def start(cls, rate: Tensor) -> Schedule:
        """The state before the first epoch."""
        zero = torch.zeros_like(rate)
        return cls(rate.clone(), torch.full_like(rate, torch.inf), zero.clone(), zero)

    def see(self, loss: Tensor, patience: int) -> None:
        """Update the rates by the losses of an epoch, of shape (E,); halve them after patience."""
        lower = loss < self.best
        self.best.copy_(torch.where(lower, loss, self.best))
        self.stale.copy_(torch.where(lower, 0.0, self.stale + 1.0))
        self.waited.copy_(torch.where(lower, 0.0, self.waited + 1.0))
        halve = self.stale >= patience
        self.rate.copy_(torch.where(halve, 0.5 * self.rate, self.rate))
        self.stale.copy_(torch.where(halve, 0.0, self.stale))
