"""The one training loop: E ensembles on the NCL loss, in one program.

A :class:`Problem` holds the data and λ, a :class:`Training` the options, and a
:class:`TrainingState` the progress. :class:`Step` does one step; :class:`Replayed` records it for
a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from negcorr.deep.training.loss import NCLLoss
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.deep.training.optimise import Schedule, Steps

__all__ = [
    "Problem",
    "Replayed",
    "Step",
    "Training",
    "TrainingState",
    "epochs_between_checks",
    "train",
]

#: Steps between two checks of the losses, but at least an epoch; a check waits for the device.
CHECK_EVERY = 50

#: Batches of an epoch for "auto", and the fewest and most rows of such a batch.
BATCHES, FEWEST, MOST = 32, 32, 200

#: Epochs for "auto" after which a rate is halved: the paper's for full batches, and fewer for
#: smaller ones, since an epoch of many batches does as much as many epochs of one.
PATIENCE_FULL, PATIENCE = 100, 10

#: Runs of a step before it is recorded as a CUDA graph, in which libraries initialise themselves.
WARM_UP = 3


@dataclass(repr=False)
class Training(BaseEstimator):
    """How networks are trained, for how long and by which steps.

    Parameters
    ----------
    max_epochs : int, default=200
        Passes over the data.
    batch_size : int, "auto" or None, default="auto"
        Rows of a step; "auto" is a 32nd of the rows, but at least 32 and at most 200; None is
        all rows.
    patience : int or "auto", default="auto"
        Epochs without a lower loss after which a learning rate is halved; "auto" is the paper's
        100 for full batches, and 10 for smaller ones, which make many steps in an epoch.
    early_stopping : int or None, default=None
        Epochs without a lower loss after which an ensemble is trained no further.
    optimiser : {"adam", "sgd"}, default="adam"
        Adam, or plain gradient descent.
    weight_decay : float, default=0.0
        L2 penalty.
    clip : float or None, default=None
        Largest norm of an ensemble's gradient.

    Examples
    --------
    >>> from negcorr.deep import Training
    >>> Training(max_epochs=50).rows_per_step(3200)
    100
    """

    max_epochs: int = 200
    batch_size: int | Literal["auto"] | None = "auto"
    patience: int | Literal["auto"] = "auto"
    early_stopping: int | None = None
    optimiser: str = "adam"
    weight_decay: float = 0.0
    clip: float | None = None

    def rows_per_step(self, n: int) -> int:
        """Rows of a batch, where there are n rows."""
        size = self.batch_size
        if isinstance(size, str):
            size = min(max(n // BATCHES, FEWEST), MOST)
        return n if size is None else min(int(size), n)

    def patience_for(self, n: int) -> int:
        """Epochs without a lower loss after which a rate is halved, where there are n rows."""
        if not isinstance(self.patience, str):
            return int(self.patience)
        return PATIENCE_FULL if self.rows_per_step(n) == n else PATIENCE


@dataclass(frozen=True, repr=False)
class Problem:
    """Inputs, targets and λ of E ensembles.

    Attributes
    ----------
    X : tensor of shape (n, d) or (E, n, d)
        Inputs, the same for all ensembles or a set for each.
    Y : tensor of shape (n, p) or (E, n, p)
        Targets.
    lam : tensor of shape (E,)
        λ of each ensemble.
    """

    X: Tensor
    Y: Tensor
    lam: Tensor

    def __post_init__(self) -> None:
        if self.lam.ndim != 1:
            raise ValueError(f"lam must have the shape (E,), got {tuple(self.lam.shape)}.")
        if self.X.ndim not in (2, 3) or self.Y.ndim not in (2, 3):
            raise ValueError(
                "X and Y must have the shapes (n, d) and (n, p), or one set for each ensemble, got "
                f"{tuple(self.X.shape)} and {tuple(self.Y.shape)}."
            )
        if self.X.shape[-2] != self.Y.shape[-2]:
            raise ValueError(f"X has {self.X.shape[-2]} rows and Y {self.Y.shape[-2]}.")

    @property
    def n_samples(self) -> int:
        """Rows of a training set."""
        return self.X.shape[-2]


@dataclass(repr=False)
class TrainingState:
    """The state of a training: all that is needed to continue it.

    Attributes
    ----------
    network : EnsembleMLP
        The networks, E·M of them.
    steps : Steps
        The optimiser's averages.
    schedule : Schedule
        Learning rates.
    losses : tensor of shape (max_epochs, E)
        Mean loss of every epoch, NaN for those to come.
    epoch : int
        Epochs done.
    seed : int
        Of the order of batches; that of epoch k does not depend on the epochs before.
    """

    network: EnsembleMLP
    steps: Steps
    schedule: Schedule
    losses: Tensor
    epoch: int
    seed: int

    @classmethod
    def start(
        cls, network: EnsembleMLP, rate: Tensor, training: Training, seed: int
    ) -> TrainingState:
        """Nothing trained so far, with learning rates of shape (E,)."""
        theta = network.theta.detach()
        rate = rate.to(theta)
        steps = Steps.start(theta, training.optimiser, training.weight_decay, training.clip)
        losses = rate.new_full((training.max_epochs, len(rate)), torch.nan)
        return cls(network, steps, Schedule.start(rate), losses, 0, seed)

    @property
    def diverged(self) -> Tensor:
        """Whether an ensemble's loss or weights are no longer finite, shape (E,)."""
        weights = self.network.theta.detach().view(self.losses.shape[1], -1)
        finite = torch.isfinite(weights).all(dim=1)
        if self.epoch > 0:
            finite &= torch.isfinite(self.losses[self.epoch - 1])
        return ~finite.cpu()

    @property
    def over(self) -> bool:
        """Whether every ensemble has diverged, or was stopped early."""
        return bool((self.diverged | (self.schedule.rate == 0).cpu()).all())


def train(
    state: TrainingState,
    problem: Problem,
    training: Training,
    after_epochs: Callable[[TrainingState], object] | None = None,
    *,
    step: Callable[[Tensor | None], Tensor] | None = None,
) -> TrainingState:
    """Train until the last epoch, or until every ensemble has diverged or stopped.

    Parameters
    ----------
    state : TrainingState
        The state to start from; changed in place.
    problem : Problem
    training : Training
    after_epochs : callable, optional
        Called every few epochs; training stops where it returns True.
    step : callable, optional
        Replaces :class:`Step`: takes the rows of a batch, or None for all, moves the weights
        and returns losses of shape (E,).

    Returns
    -------
    TrainingState
        The same.
    """
    network = state.network
    network.train()
    missing = training.max_epochs - len(state.losses)
    if missing > 0:
        # More epochs than it was started for.
        state.losses = torch.nn.functional.pad(state.losses, (0, 0, 0, missing), value=torch.nan)
    if step is None:
        step = Step(state, problem)
        if problem.X.is_cuda:
            steps = state.steps
            step = Replayed(step, [network.theta.detach(), steps.first, steps.second, steps.count])
    n = problem.n_samples
    size, patience = training.rows_per_step(n), training.patience_for(n)
    epochs_between = epochs_between_checks(training, n)
    while state.epoch < training.max_epochs:
        loss = torch.zeros_like(state.losses[0])
        for batch in _batches(n, size, state.seed, state.epoch, problem.X.device):
            loss += step(batch) * (1.0 if batch is None else len(batch) / n)
        state.losses[state.epoch] = loss
        state.schedule.see(loss, patience)
        if training.early_stopping is not None:
            done = state.schedule.waited >= training.early_stopping
            state.schedule.rate.masked_fill_(done, 0.0)
        state.epoch += 1
        if state.epoch % epochs_between and state.epoch < training.max_epochs:
            continue
        stop = after_epochs is not None and after_epochs(state) is True
        # An ensemble that diverged, or was stopped early, must not stop the others.
        if stop or state.over:
            break
    network.calibrate(problem.X)
    return state


class Step:
    """One step on one batch: losses, their gradient, and a move of the weights."""

    def __init__(self, state: TrainingState, problem: Problem) -> None:
        self.state = state
        network = state.network
        self.loss = NCLLoss(problem.lam).to(problem.X.device)
        self.inputs = problem.X.transpose(-1, -2).contiguous()
        self.targets = problem.Y.expand(len(problem.lam), -1, -1)
        self.theta = network.theta.detach()
        # Leaves share their memory with theta: gradients are by tensor, moves by row.
        self.layers = [
            {name: value.detach().requires_grad_() for name, value in layer.items()}
            for layer in network.layers(self.theta)
        ]
        self.leaves = [value for layer in self.layers for value in layer.values()]

    def __call__(self, batch: Tensor | None) -> Tensor:
        """Move the weights by these rows, None for all; losses of shape (E,)."""
        network = self.state.network
        inputs, targets = self.inputs, self.targets
        if batch is not None:
            inputs, targets = inputs[..., batch], targets[:, batch]
        out = network.run(inputs, self.layers)
        loss: Tensor = self.loss(network.by_ensemble(out), targets)
        parts = torch.autograd.grad(loss.sum(), self.leaves)
        gradient = torch.cat([part.flatten(1) for part in parts], dim=1)
        self.state.steps.move(self.theta, gradient, self.state.schedule.rate, len(loss))
        return loss.detach()


class Replayed:
    """A step on a CUDA device, recorded once for each length of a batch, and then replayed.

    With small networks a GPU often waits for the start of the next kernel. A CUDA graph starts
    all kernels of a step at once.

    Parameters
    ----------
    step : callable
        Takes the rows of a batch, or None for all, and returns losses of shape (E,). All that it
        changes is in ``state``.
    state : sequence of tensor
        Changed by a step in place; restored after the runs that precede a recording.
    """

    def __init__(self, step: Callable[[Tensor | None], Tensor], state: Sequence[Tensor]) -> None:
        self.step = step
        self.state = list(state)
        # By length of a batch: the graph, where it reads its rows, and where it writes the losses.
        self._records: dict[int, tuple[torch.cuda.CUDAGraph, Tensor | None, Tensor]] = {}

    def __call__(self, batch: Tensor | None) -> Tensor:
        """One step on these rows."""
        length = 0 if batch is None else len(batch)
        if length not in self._records:
            rows = None if batch is None else batch.clone()
            before = [tensor.clone() for tensor in self.state]
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP):
                    self.step(rows)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = self.step(rows)
            for tensor, value in zip(self.state, before, strict=True):
                tensor.copy_(value)
            self._records[length] = graph, rows, loss
        graph, rows, loss = self._records[length]
        if rows is not None and batch is not None:
            rows.copy_(batch)
        graph.replay()
        return loss.clone()


def _batches(n: int, size: int, seed: int, epoch: int, device: torch.device) -> list[Tensor | None]:
    """Rows of the batches of an epoch, the same for all ensembles; None for all rows."""
    if size == n:
        return [None]
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order = torch.randperm(n, generator=generator).to(device)
    parts: list[Tensor | None] = list(torch.split(order, size))
    if size > 1 and n % size == 1:
        # Batch norm needs two rows: a single last row joins the batch before.
        parts[-2:] = [order[-size - 1 :]]
    return parts


def epochs_between_checks(training: Training, n: int) -> int:
    """Epochs of n rows from one check of the losses to the next."""
    return max(1, CHECK_EVERY * training.rows_per_step(n) // n)
