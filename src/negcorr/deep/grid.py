"""All values of λ and their perturbed copies in one training, with checkpoints.

A grid trained here goes to :mod:`negcorr.deep.sure`, which chooses λ.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.deep.checkpoint import Checkpoint, restore
from negcorr.deep.fitted import Scaling
from negcorr.deep.settings import Settings
from negcorr.deep.training.loop import TrainingState, train
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.deep.training.perturbed_copies import DofEstimate, PerturbedCopies, draw_probes
from negcorr.exceptions import DivergenceError, DivergenceWarning, warn_caller

__all__ = ["GridFit", "fit_grid"]

#: Seconds between two checkpoints, which take time themselves.
CHECKPOINT_SECONDS = 5.0


@dataclass(frozen=True, repr=False)
class GridFit:
    """Trained ensembles at every λ of a grid, their errors and degrees of freedom.

    Attributes
    ----------
    copies : PerturbedCopies
        Which ensembles there are.
    state : TrainingState
        The state at the end.
    train_error : ndarray of shape (G, p)
        Mean squared errors on the training rows; NaN where training diverged.
    dof : DofEstimate
        Degrees of freedom.
    copy_scaling : Scaling
        Of shape (K, 1, p): its ``undo`` brings predictions of the copies to the units of the
        targets.
    """

    copies: PerturbedCopies
    state: TrainingState
    train_error: FloatArray
    dof: DofEstimate
    copy_scaling: Scaling

    def network(self, g: int) -> EnsembleMLP:
        """A copy of the ensemble at the g-th λ, followed by its perturbed copies."""
        group = 1 + self.copies.n_probes
        return self.state.network.pick(range(g * group, (g + 1) * group))


def fit_grid(
    settings: Settings,
    X: Tensor,
    Y: Tensor,
    rate: float,
    seed: int,
    *,
    start: Tensor | None = None,
    checkpoint: Checkpoint | None = None,
    advance: Callable[[], None] = lambda: None,
) -> GridFit:
    """Train an ensemble and its perturbed copies at every λ (Algorithm 1), in one program.

    Targets are expected to be standardised. Perturbed targets are standardised again, so that the
    degrees of freedom are those of the whole procedure.

    Parameters
    ----------
    settings : Settings
        The architecture, how they are trained, the values of λ, and ε in the units of Y.
    X : tensor of shape (n, d)
        Inputs.
    Y : tensor of shape (n, p)
        Targets.
    rate : float
        Initial learning rate.
    seed : int
        Of weights, batches and probes.
    start : tensor of shape (M, parameters), optional
        Initial weights in place of new ones. They were trained on targets of some scale, and Y is
        expected to have the same: perturbed targets are then not standardised again.
    checkpoint : Checkpoint, optional
        Where to keep the training, and what to continue.
    advance : callable
        Called whenever the losses are checked.

    Raises
    ------
    DivergenceError
        If training diverged at every λ.
    """
    lams = torch.tensor(settings.lams, dtype=torch.float64)
    probes = draw_probes(settings.n_probes, len(X), Y.shape[1], seed)
    copies = PerturbedCopies(lams, probes, settings.eps, own_scale=start is None)
    problem = copies.problem(X, Y)
    network = settings.architecture.started(X, Y.shape[1], len(problem.lam), seed)
    if start is not None:
        with torch.no_grad():
            network.theta.copy_(start.to(network.theta).repeat(len(problem.lam), 1))
    rates = torch.full((len(problem.lam),), rate, dtype=torch.float64)
    state = TrainingState.start(network, rates, settings.training, seed)
    if checkpoint is not None and checkpoint.tensors is not None:
        restore(state, checkpoint.tensors)
    watch = _Watch(copies, state, checkpoint, advance)
    if state.epoch > 0 and state.over:
        # The checkpoint is of the end: another epoch would be one too many.
        network.calibrate(X)
    else:
        train(state, problem, settings.training, watch)
    watch.finish(rate, X)
    network.eval()
    with torch.no_grad():
        fitted = network(X).mean(dim=1).to("cpu", torch.float64)
    # A loss can overflow where predictions do not.
    lost = state.diverged | ~torch.isfinite(fitted).flatten(1).all(dim=1)
    fitted[lost] = torch.nan
    targets = Y.to("cpu", torch.float64)
    fitted = copies.in_units(fitted, targets)
    error = ((copies.originals(fitted) - targets) ** 2).mean(dim=1).numpy()
    scaling = Scaling(*(part[1:].numpy() for part in copies.scales(targets)))
    return GridFit(copies, state, error, copies.dof(fitted), scaling)


@dataclass
class _Watch:
    """Called every few epochs of a training: keeps it on disk, and its last finite weights."""

    copies: PerturbedCopies
    state: TrainingState
    checkpoint: Checkpoint | None
    advance: Callable[[], None]

    def __post_init__(self) -> None:
        self.finite = self.state.network.theta.detach().clone()
        self.finite_epoch = self.state.epoch
        self.written = time.monotonic()
        if self.checkpoint is not None and self.checkpoint.tensors is None:
            # At once, since the file also keeps the learning rate that was chosen before.
            self.checkpoint.write(self.state)

    def __call__(self, state: TrainingState) -> bool:
        """Whether to stop, since training diverged at every λ."""
        self.advance()
        diverged = state.diverged
        if bool(self.copies.originals(diverged).all()):
            return True
        if not bool(diverged.any()):
            self.finite.copy_(state.network.theta.detach())
            self.finite_epoch = state.epoch
        if self.checkpoint is not None and time.monotonic() > self.written + CHECKPOINT_SECONDS:
            self.checkpoint.write(state)
            self.written = time.monotonic()
        return False

    def finish(self, rate: float, X: Tensor) -> None:
        """Report ensembles that diverged; write the last checkpoint of a training that did not."""
        state = self.state
        lams = self.copies.lams.numpy()
        groups = state.diverged.numpy().reshape(len(lams), -1)
        diverged, only_copies = groups[:, 0], ~groups[:, 0] & groups[:, 1:].any(axis=1)
        if diverged.all():
            losses = self.copies.originals(state.losses[: state.epoch].T).cpu()
            # Weights can overflow in the very last step, whose loss was still finite.
            lost = ~torch.isfinite(losses).all(dim=0)
            epoch = int(lost.int().argmax()) + 1 if bool(lost.any()) else state.epoch
            network = state.network
            with torch.no_grad():
                network.theta.copy_(self.finite)
            network.calibrate(X)
            raise DivergenceError(
                f"training diverged: the loss was not finite in epoch {epoch}, with "
                f"learning_rate={rate:g} and lam={_listed(lams)}. Give a lower learning_rate, or "
                "clip; the error's attribute network has the weights of epoch "
                f"{self.finite_epoch}.",
                epoch=epoch,
                learning_rate=rate,
                network=network,
            )
        for where, result in (
            (diverged, "; these values are not chosen"),
            (only_copies, " where targets were perturbed: degrees of freedom are not known there"),
        ):
            if where.any():
                warn_caller(
                    f"training diverged at lam={_listed(lams[where])} with learning_rate={rate:g}"
                    f"{result}. A lower learning_rate, or clip, helps.",
                    DivergenceWarning,
                )
        if self.checkpoint is not None:
            self.checkpoint.write(state)


def _listed(lams: FloatArray) -> str:
    return ", ".join(f"{lam:g}" for lam in np.atleast_1d(lams))
