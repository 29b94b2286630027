"""Algorithm 1 for many λ in one training: every ensemble beside twins with perturbed targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.deep.training.loop import Problem
from negcorr.dof.monte_carlo.probe_variance import variance_from_images
from negcorr.dof.monte_carlo.result import mean_and_error

__all__ = ["TwinDof", "Twins", "draw_probes"]


@dataclass(frozen=True, repr=False)
class TwinDof:
    """Degrees of freedom at every λ, from ensembles and their twins.

    Attributes
    ----------
    dof, std_error : ndarray of shape (lams, outputs)
        Mean over probes and its standard error; NaN without probes, and an error of NaN with one.
    values : ndarray of shape (lams, probes, outputs)
        What each probe says.
    """

    dof: FloatArray
    std_error: FloatArray
    values: FloatArray


@dataclass(frozen=True, repr=False)
class Twins:
    """Which ensembles train side by side: at each λ one for the targets and one for each probe.

    Ensemble g·(1 + K) learns the targets at the g-th λ, the K after it the targets moved by ε along
    a probe each. All start from the same weights and see the same batches, so that what differs at
    the end is the answer to the targets alone.

    Attributes
    ----------
    lams : tensor of shape (G,)
        Values of λ.
    probes : tensor of shape (K, n, p)
        Directions b; those of all λ are the same, so that curves over λ are smooth.
    eps : float
        Step ε.
    own_scale : bool, default=False
        Whether the moved targets are brought to the mean and the standard deviation of the targets
        again, as a model does that standardises what it is given. Its answer, by
        :meth:`in_units`, then has both in it. Of targets that do not vary, only the mean.

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep.training.perturbed_copies import Twins, draw_probes
    >>> twins = Twins(torch.tensor([0.0, 0.5, 1.0]), draw_probes(2, 7, 1, seed=0), eps=0.1)
    >>> problem = twins.problem(torch.zeros(7, 3), torch.zeros(7, 1))
    >>> problem.lam
    tensor([0.0000, 0.0000, 0.0000, 0.5000, 0.5000, 0.5000, 1.0000, 1.0000, 1.0000])
    """

    lams: Tensor
    probes: Tensor
    eps: float
    own_scale: bool = False

    @property
    def n_probes(self) -> int:
        """K."""
        return len(self.probes)

    def problem(self, X: Tensor, Y: Tensor) -> Problem:
        """What all ensembles are to learn.

        Parameters
        ----------
        X : tensor of shape (n, d)
            Inputs.
        Y : tensor of shape (n, p)
            Targets.
        """
        centre, scale = self.scales(Y)
        moved = (self._moved(Y) - centre) / scale
        n_lams, group = len(self.lams), 1 + self.n_probes
        return Problem(X, moved.repeat(n_lams, 1, 1), self.lams.repeat_interleave(group))

    def scales(self, Y: Tensor) -> tuple[Tensor, Tensor]:
        """What is taken from the targets of an ensemble and of its twins, and what they are over.

        Returns
        -------
        centre, scale : tensor of shape (1 + K, 1, p)
        """
        moved = self._moved(Y)
        centre = torch.zeros_like(moved[:, :1])
        scale = torch.ones_like(centre)
        if self.own_scale:
            mean = moved.mean(dim=1, keepdim=True)
            spread = moved.std(dim=1, keepdim=True, correction=0)
            # torch's is exactly 0 for a constant.
            varies = (spread > 0) & (spread[:1] > 0)
            # Relative to the targets as they are, which keep their own units.
            scale = torch.where(varies, spread / torch.where(varies[:1], spread[:1], 1.0), 1.0)
            centre = mean - mean[:1] * scale
        return centre, scale

    def in_units(self, fitted: Tensor, Y: Tensor) -> Tensor:
        """Fitted values of all ensembles in the units of the targets Y.

        Parameters
        ----------
        fitted : tensor of shape (G·(1 + K), n, p)
            Averages over members.
        Y : tensor of shape (n, p)
            Targets.
        """
        centre, scale = (part.to(fitted).repeat(len(self.lams), 1, 1) for part in self.scales(Y))
        return fitted * scale + centre

    def _moved(self, Y: Tensor) -> Tensor:
        return torch.cat([Y.unsqueeze(0), Y.unsqueeze(0) + self.eps * self.probes.to(Y)])

    def originals(self, per_ensemble: Tensor) -> Tensor:
        """Of anything with a first axis of ensembles, the part of those without perturbation."""
        return per_ensemble[:: 1 + self.n_probes]

    def dof(self, fitted: Tensor) -> TwinDof:
        """Degrees of freedom from the ensembles' predictions at the training inputs.

        Parameters
        ----------
        fitted : tensor of shape (G·(1 + K), n, p)
            Averages over members.
        """
        groups = fitted.detach().cpu().to(torch.float64)
        groups = groups.view(len(self.lams), 1 + self.n_probes, *groups.shape[1:])
        probes = self.probes.cpu().to(torch.float64).numpy()
        images = ((groups[:, 1:] - groups[:, :1]) / self.eps).numpy()
        values = np.sum(images * probes, axis=2)
        shape = values.shape[0], values.shape[2]
        if self.n_probes == 0:
            return TwinDof(np.full(shape, np.nan), np.full(shape, np.nan), values)
        means, errors = np.empty(shape), np.empty(shape)
        for g, (value, image) in enumerate(zip(values, images, strict=True)):
            variance = variance_from_images(probes, image, signs=True) if len(value) > 1 else None
            means[g], errors[g] = mean_and_error(value, np.zeros_like(value), variance)
        return TwinDof(means, errors, values)


def draw_probes(n_probes: int, n: int, n_outputs: int, seed: int) -> Tensor:
    """Directions of signs, shape (probes, n, outputs)."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(n_probes, n, n_outputs))
    return torch.from_numpy(signs)
