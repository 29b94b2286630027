"""Algorithm 1 for many λ in one training: each ensemble, and copies with perturbed targets.

:class:`PerturbedCopies` makes the problem that the training loop solves, and degrees of freedom of
what the trained ensembles predict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.deep.training.loop import Problem
from negcorr.dof.monte_carlo.probe_variance import variance_from_images
from negcorr.dof.monte_carlo.result import mean_and_error

__all__ = ["DofEstimate", "PerturbedCopies", "draw_probes"]


@dataclass(frozen=True, repr=False)
class DofEstimate:
    """Degrees of freedom at every λ, from the response of trained ensembles to probes.

    Attributes
    ----------
    dof, std_error : ndarray of shape (lams, outputs)
        Mean over probes and its standard error; NaN without probes, and an error of NaN with one.
    values : ndarray of shape (lams, probes, outputs)
        The estimate of each probe.
    """

    dof: FloatArray
    std_error: FloatArray
    values: FloatArray


@dataclass(frozen=True, repr=False)
class PerturbedCopies:
    """Ensembles that are trained together: at each λ one on the targets, K on perturbed targets.

    Ensemble g·(1 + K) learns the targets at the g-th λ. Each of the K copies after it learns the
    targets plus ε times one probe. All start from the same weights and get the same batches, so
    that at the end they differ only by their response to the targets.

    Attributes
    ----------
    lams : tensor of shape (G,)
        Values of λ.
    probes : tensor of shape (K, n, p)
        Directions b, the same for all λ, so that curves over λ are smooth.
    eps : float
        Step ε.
    own_scale : bool, default=False
        Whether perturbed targets get the mean and the standard deviation of the targets again, as
        in a model that standardises its targets. Predictions in the units of the targets
        (:meth:`in_units`) then respond to both. Targets that do not vary get the mean only.

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep.training.perturbed_copies import PerturbedCopies, draw_probes
    >>> probes = draw_probes(2, 7, 1, seed=0)
    >>> copies = PerturbedCopies(torch.tensor([0.0, 0.5, 1.0]), probes, eps=0.1)
    >>> problem = copies.problem(torch.zeros(7, 3), torch.zeros(7, 1))
    >>> problem.lam
    tensor([0.0000, 0.0000, 0.0000, 0.5000, 0.5000, 0.5000, 1.0000, 1.0000, 1.0000])
    """

    lams: Tensor
    probes: Tensor
    eps: float
    own_scale: bool = False

    @property
    def n_probes(self) -> int:
        """Probes K, and perturbed copies at each λ."""
        return len(self.probes)

    def problem(self, X: Tensor, Y: Tensor) -> Problem:
        """The inputs, the targets and the λ of all ensembles.

        Parameters
        ----------
        X : tensor of shape (n, d)
            Inputs.
        Y : tensor of shape (n, p)
            Targets.
        """
        centre, scale = self.scales(Y)
        targets = ((self._targets(Y) - centre) / scale).repeat(len(self.lams), 1, 1)
        return Problem(X, targets, self.lams.repeat_interleave(1 + self.n_probes))

    def scales(self, Y: Tensor) -> tuple[Tensor, Tensor]:
        """Centre and scale by which the targets of an ensemble and of its copies are standardised.

        Returns
        -------
        centre, scale : tensor of shape (1 + K, 1, p)
            0 and 1 for the ensemble itself, whose targets keep their units.
        """
        targets = self._targets(Y)
        mean = targets.mean(dim=1, keepdim=True)
        if not self.own_scale:
            return torch.zeros_like(mean), torch.ones_like(mean)
        spread = targets.std(dim=1, keepdim=True, correction=0)
        # torch's standard deviation of a constant is exactly 0.
        varies = (spread > 0) & (spread[:1] > 0)
        scale = torch.where(varies, spread / torch.where(varies[:1], spread[:1], 1.0), 1.0)
        return mean - mean[:1] * scale, scale

    def in_units(self, fitted: Tensor, Y: Tensor) -> Tensor:
        """Predictions of all ensembles at the training inputs, in the units of the targets Y.

        Parameters
        ----------
        fitted : tensor of shape (G·(1 + K), n, p)
            Averages over members.
        Y : tensor of shape (n, p)
            Targets.
        """
        centre, scale = (part.to(fitted).repeat(len(self.lams), 1, 1) for part in self.scales(Y))
        return fitted * scale + centre

    def _targets(self, Y: Tensor) -> Tensor:
        """The targets and their K perturbed copies, shape (1 + K, n, p)."""
        return torch.cat([Y.unsqueeze(0), Y.unsqueeze(0) + self.eps * self.probes.to(Y)])

    def originals(self, per_ensemble: Tensor) -> Tensor:
        """The entries of the unperturbed ensembles, from a first axis of all ensembles."""
        return per_ensemble[:: 1 + self.n_probes]

    def dof(self, fitted: Tensor) -> DofEstimate:
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
            return DofEstimate(np.full(shape, np.nan), np.full(shape, np.nan), values)
        means, errors = np.empty(shape), np.empty(shape)
        for g, (value, image) in enumerate(zip(values, images, strict=True)):
            variance = variance_from_images(probes, image, signs=True) if len(value) > 1 else None
            means[g], errors[g] = mean_and_error(value, np.zeros_like(value), variance)
        return DofEstimate(means, errors, values)


def draw_probes(n_probes: int, n: int, n_outputs: int, seed: int) -> Tensor:
    """Directions of signs, shape (probes, n, outputs)."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(n_probes, n, n_outputs))
    return torch.from_numpy(signs)
