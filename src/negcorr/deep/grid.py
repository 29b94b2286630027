"""All values of λ and their twins in one training, watched over: checkpoints, divergence."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.deep.training.architecture import Architecture
from negcorr.deep.training.checkpoint import restore, state_of, write_tensors
from negcorr.deep.training.loop import Recipe, Training, train
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.deep.training.perturbed_copies import TwinDof, Twins, draw_probes
from negcorr.exceptions import DivergenceError, DivergenceWarning, warn_caller

__all__ = ["Checkpoint", "GridFit", "fit_grid"]

#: Seconds between two checkpoints, which take time themselves.
CHECKPOINT_SECONDS = 5.0


@dataclass(frozen=True, repr=False)
class GridFit:
    """Ensembles at every λ of a grid, and how they answer to the targets.

    Attributes
    ----------
    twins : Twins
        Which ensembles there are.
    training : Training
        Where their training ended.
    train_error : ndarray of shape (G, p)
        Mean squared errors on the training rows; NaN where training diverged.
    dof : TwinDof
        Degrees of freedom.
    twin_scales : tuple of ndarray of shape (K, 1, p)
        Centre and scale that bring predictions of twins to the units of the targets.
    """

    twins: Twins
    training: Training
    train_error: FloatArray
    dof: TwinDof
    twin_scales: tuple[FloatArray, FloatArray]

    def network(self, g: int) -> EnsembleMLP:
        """A copy of the ensemble at the g-th λ and of its twins, the twins after it."""
        group = 1 + self.twins.n_probes
        return picked(self.training.network, range(g * group, (g + 1) * group))


@dataclass(frozen=True)
class Checkpoint:
    """Where a training is kept while it lasts.

    Attributes
    ----------
    path : Path
        File.
    about : mapping
        What the training is of, for whoever goes on with it.
    tensors : mapping of str to tensor, optional
        What an earlier training left there.
    """

    path: Path
    about: Mapping[str, Any]
    tensors: Mapping[str, Tensor] | None = None


def fit_grid(
    architecture: Architecture,
    X: Tensor,
    Y: Tensor,
    lams: Sequence[float],
    rate: float,
    recipe: Recipe,
    *,
    n_probes: int,
    eps: float,
    seed: int,
    start: Tensor | None = None,
    checkpoint: Checkpoint | None = None,
    advance: Callable[[], None] = lambda: None,
) -> GridFit:
    """Train an ensemble at every λ, each beside its twins (Algorithm 1), in one program.

    Targets are expected to be standardised; those of twins are, once they are moved, so that the
    degrees of freedom are those of the whole procedure.

    Parameters
    ----------
    architecture : Architecture
    X : tensor of shape (n, d)
        Inputs.
    Y : tensor of shape (n, p)
        Targets.
    lams : sequence of float
        Values of λ.
    rate : float
        Initial learning rate.
    recipe : Recipe
    n_probes : int
        Twins K of each ensemble; 0 for none.
    eps : float
        Step ε of Algorithm 1, in the units of Y.
    seed : int
        Of weights, batches and probes.
    start : tensor of shape (M, parameters), optional
        Weights to start from in place of new ones. Their targets had scales of their own, which
        those of Y are expected to have too: twins are then not standardised.
    checkpoint : Checkpoint, optional
        Where to keep the training, and from where to go on with it.
    advance : callable
        Called whenever the losses are looked at.

    Raises
    ------
    DivergenceError
        If training diverged at every λ.
    """
    twins = Twins(
        torch.tensor(lams, dtype=torch.float64),
        draw_probes(n_probes, len(X), Y.shape[1], seed),
        eps,
        own_scale=start is None,
    )
    problem = twins.problem(X, Y)
    network = architecture.started(X, Y.shape[1], len(problem.lam), seed)
    if start is not None:
        with torch.no_grad():
            network.theta.copy_(start.to(network.theta).repeat(len(problem.lam), 1))
    rates = torch.full((len(problem.lam),), rate, dtype=torch.float64)
    training = Training.start(network, rates, recipe, seed)
    if checkpoint is not None and checkpoint.tensors is not None:
        restore(training, checkpoint.tensors)
    watch = _Watch(twins, training, checkpoint, advance)
    if training.epoch > 0 and training.over:
        # A checkpoint of the end: another epoch would be one too many.
        network.calibrate(X)
    else:
        train(training, problem, recipe, watch)
    watch.finish(rate, X)
    network.eval()
    with torch.no_grad():
        fitted = network(X).mean(dim=1).to("cpu", torch.float64)
    # A loss can overflow where predictions do not.
    lost = training.diverged | ~torch.isfinite(fitted).flatten(1).all(dim=1)
    fitted[lost] = torch.nan
    targets = Y.to("cpu", torch.float64)
    fitted = twins.in_units(fitted, targets)
    error = (twins.originals(fitted) - targets) ** 2
    centre, scale = (part[1:].numpy() for part in twins.scales(targets))
    return GridFit(twins, training, error.mean(dim=1).numpy(), twins.dof(fitted), (centre, scale))


def picked(network: EnsembleMLP, ensembles: Sequence[int]) -> EnsembleMLP:
    """A copy of some of the ensembles of a network."""
    members = network.n_members
    rows = torch.cat([torch.arange(e * members, (e + 1) * members) for e in ensembles])
    found = EnsembleMLP(
        network.widths[0],
        network.widths[1:-1],
        network.widths[-1],
        n_members=members,
        n_ensembles=len(ensembles),
        activation=network.activation,
        batch_norm=network.batch_norm,
        dtype=network.theta.dtype,
        device=network.theta.device,
    )
    with torch.no_grad():
        found.theta.copy_(network.theta[rows])
        found.statistics.copy_(network.statistics[:, rows])
    return found.eval()


class _Watch:
    """Looks at a training every few epochs: keeps it on disk, and its last finite weights."""

    def __init__(
        self,
        twins: Twins,
        training: Training,
        checkpoint: Checkpoint | None,
        advance: Callable[[], None],
    ) -> None:
        self.twins, self.training = twins, training
        self.checkpoint, self.advance = checkpoint, advance
        self.good = training.network.theta.detach().clone()
        self.good_epoch = training.epoch
        self.written = time.monotonic()
        if checkpoint is not None and checkpoint.tensors is None:
            # At once: what was chosen before, the learning rate, is in it.
            write_tensors(checkpoint.path, state_of(training), checkpoint.about)

    def __call__(self, training: Training) -> bool:
        """Whether to stop: nothing is left to be trained."""
        self.advance()
        diverged = training.diverged
        if bool(self.twins.originals(diverged).all()):
            return True
        if not bool(diverged.any()):
            self.good.copy_(training.network.theta.detach())
            self.good_epoch = training.epoch
        if self.checkpoint is not None and time.monotonic() > self.written + CHECKPOINT_SECONDS:
            write_tensors(self.checkpoint.path, state_of(training), self.checkpoint.about)
            self.written = time.monotonic()
        return False

    def finish(self, rate: float, X: Tensor) -> None:
        """Tell of ensembles that diverged; keep a training that did not."""
        training = self.training
        lams = self.twins.lams.numpy()
        groups = training.diverged.numpy().reshape(len(lams), -1)
        diverged, twins = groups[:, 0], groups[:, 1:].any(axis=1)
        if diverged.all():
            losses = self.twins.originals(training.losses[: training.epoch].T).cpu()
            # Weights can overflow in the very last step, whose loss was still finite.
            lost = ~torch.isfinite(losses).all(dim=0)
            epoch = int(lost.int().argmax()) + 1 if bool(lost.any()) else training.epoch
            network = training.network
            with torch.no_grad():
                network.theta.copy_(self.good)
            network.calibrate(X)
            raise DivergenceError(
                f"training diverged: the loss was not finite in epoch {epoch}, with "
                f"learning_rate={rate:g} and lam={_listed(lams)}. Give a lower learning_rate, or "
                "clip; the error's attribute network has the weights of epoch "
                f"{self.good_epoch}.",
                epoch=epoch,
                learning_rate=rate,
                network=network,
            )
        if diverged.any():
            warn_caller(
                f"training diverged at lam={_listed(lams[diverged])} with learning_rate={rate:g}; "
                "these values are not chosen. A lower learning_rate, or clip, helps.",
                DivergenceWarning,
            )
        if (twins & ~diverged).any():
            warn_caller(
                f"training diverged at lam={_listed(lams[twins & ~diverged])} with "
                f"learning_rate={rate:g} where targets were moved: degrees of freedom are not "
                "known there. A lower learning_rate, or clip, helps.",
                DivergenceWarning,
            )
        if self.checkpoint is not None:
            write_tensors(self.checkpoint.path, state_of(training), self.checkpoint.about)


def _listed(lams: FloatArray) -> str:
    return ", ".join(f"{lam:g}" for lam in np.atleast_1d(lams))
