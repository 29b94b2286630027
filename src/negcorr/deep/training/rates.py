"""The initial learning rate, chosen among powers of ten by the losses that training reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.networks import Architecture

__all__ = ["RATES", "RateChoice", "choose_rate"]

#: The paper's candidates (Section 8).
RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

#: A smaller rate is preferred if its loss is at most this many times the lowest: predictions then
#: depend more smoothly on the targets.
TOLERANCE = 1.1


@dataclass(frozen=True)
class RateChoice:
    """A learning rate, and the candidates with their losses.

    Attributes
    ----------
    rate : float
        The chosen one.
    rates : tuple of float
        Candidates.
    losses : ndarray of shape (candidates,)
        Lowest loss of an epoch with each; infinite where training diverged.
    """

    rate: float
    rates: tuple[float, ...]
    losses: FloatArray


def choose_rate(
    architecture: Architecture,
    X: Tensor,
    Y: Tensor,
    training: Training,
    *,
    lam: float = 0.5,
    seed: int = 0,
    rates: Sequence[float] = RATES,
    after_epochs: Callable[[TrainingState], object] | None = None,
) -> RateChoice:
    """The smallest learning rate that comes within a tenth of the lowest training loss.

    The paper selects the initial rate from {10⁻⁶, …, 1} and does not say how. Here one ensemble
    is trained with each candidate, all in one program.

    Parameters
    ----------
    architecture : Architecture
    X : tensor of shape (n, d)
        Inputs.
    Y : tensor of shape (n, p)
        Targets.
    training : Training
        As the ensembles will be trained.
    lam : float, default=0.5
        λ of the trial.
    seed : int, default=0
        Of weights and batches.
    rates : sequence of float, default=RATES
        Candidates, in ascending order.
    after_epochs : callable, optional
        As in :func:`~negcorr.deep.train`.

    Returns
    -------
    RateChoice

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep import Architecture, Training, choose_rate
    >>> X = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    >>> training = Training(max_epochs=100, batch_size=None)
    >>> choose_rate(Architecture((5,), 5), X, X[:, :1], training).rate
    0.1
    """
    network = architecture.started(X, Y.shape[1], len(rates), seed)
    problem = Problem(X, Y, torch.full((len(rates),), lam, dtype=torch.float64))
    start = torch.tensor(rates, dtype=X.dtype)
    state = TrainingState.start(network, start, training, seed)
    train(state, problem, training, after_epochs)
    losses = state.schedule.best.to("cpu", torch.float64).numpy().copy()
    losses[state.diverged.numpy()] = np.inf
    if not np.isfinite(losses).any():
        raise FloatingPointError(
            f"training diverged with every learning rate of {list(rates)}: rescale the data."
        )
    good = losses <= TOLERANCE * losses.min()
    return RateChoice(float(rates[int(np.argmax(good))]), tuple(rates), losses)
