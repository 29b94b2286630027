"""Training of deep ensembles on one outer fold, for every λ at once (needs torch).

The paper does not say all settings. Ours: full batches, at most 1000 epochs, a step ε of 0.1 for
targets of variance 1, single precision, and the learning rate that
:func:`~negcorr.deep.choose_rate` finds on the first fold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor

from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.networks import Architecture
from negcorr.deep.training.perturbed_copies import PerturbedCopies, draw_probes
from negcorr.deep.training.rates import choose_rate
from negcorr.paper.pieces import Row
from negcorr.paper.protocol import fingerprint, task
from negcorr.paper.setup import Setup

__all__ = ["DeepSize", "deep_training", "size_of"]

#: The step ε of Algorithm 1; targets have variance 1.
EPS = 0.1


@dataclass(frozen=True)
class DeepSize:
    """The size of the deep ensembles and of their training.

    Attributes
    ----------
    members, width : int
        M members with H nodes in every hidden layer.
    depths : tuple of int
        Numbers of hidden layers.
    stops : tuple of int
        Epochs after which dof and errors are measured; training ends with the last.
    probes : int
        Number of probes K of Algorithm 1.
    steps : int
        Number of steps of λ from 0 to 1.
    """

    members: int = 30
    width: int = 5
    depths: tuple[int, ...] = (3, 4, 5)
    stops: tuple[int, ...] = (3, 10, 30, 100, 300, 1000)
    probes: int = 2
    steps: int = 20

    @property
    def lams(self) -> tuple[float, ...]:
        """The grid of λ."""
        return tuple(round(k / self.steps, 10) for k in range(self.steps + 1))


#: The size in the paper, if it says one.
FULL_DEEP = DeepSize()

#: A small size for quick runs.
QUICK_DEEP = DeepSize(members=10, depths=(3, 5), stops=(3, 10, 30), probes=2, steps=5)


def size_of(setup: Setup) -> DeepSize:
    """Full size if all rows are used, else a small one."""
    return FULL_DEEP if setup.size.max_rows is None else QUICK_DEEP


def deep_training(
    setup: Setup, data_home: str | None, name: str, depth: int, fold: int, device: str
) -> list[Row]:
    """Degrees of freedom and errors at every λ after each of the epochs ``stops``.

    Parameters
    ----------
    setup : Setup
    data_home : str or None
    name : str
        Data set.
    depth : int
        Hidden layers.
    fold : int
        The fold that is held out.
    device : str
        The device on which torch computes.
    """
    size = size_of(setup)
    data = task(setup, data_home, name, fold)
    X, Y, X_test, Y_test = (
        torch.tensor(array, dtype=torch.float32, device=device)
        for array in (data.X, data.Y, data.X_test, data.Y_test)
    )
    seed = setup.seed_for("deep", name, fold)
    probes = draw_probes(size.probes, len(X), Y.shape[1], seed)
    copies = PerturbedCopies(torch.tensor(size.lams, dtype=torch.float64), probes, EPS)
    problem = copies.problem(X, Y)
    known = fingerprint(name, data_home, setup.size.max_rows)
    rate = _rate(setup, data_home, name, depth, device, known)
    network = _architecture(setup, depth).started(X, Y.shape[1], len(problem.lam), seed)
    training = Training(max_epochs=size.stops[-1], batch_size=None)
    start = torch.full((len(problem.lam),), rate)
    state = TrainingState.start(network, start, training, seed)
    device_name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "a CPU"
    where = f"{device_name} (torch {torch.__version__})"
    common: Row = {"set": name, "depth": depth, "fold": fold, "n_train": len(X), "rate": rate}
    rows: list[Row] = []
    for stop in size.stops:
        train(state, problem, replace(training, max_epochs=stop))
        measured = _measured(state, copies, problem, X_test, Y_test)
        rows += [{**common, "trained_on": where, "epoch": stop, **row} for row in measured]
    return rows


def _measured(
    state: TrainingState, copies: PerturbedCopies, problem: Problem, X_test: Tensor, Y_test: Tensor
) -> list[Row]:
    """Degrees of freedom and errors of the networks as they are now, one row for each λ."""
    network = state.network.eval()
    with torch.no_grad():
        fitted, held_out = network(problem.X), network(X_test)
    dof = copies.dof(fitted.mean(dim=1))
    own = copies.originals(fitted).to(torch.float64)
    error = (own.mean(dim=1) - copies.originals(problem.Y)) ** 2
    member_error = (own - copies.originals(problem.Y).unsqueeze(1)) ** 2
    test = copies.originals(held_out).to(torch.float64)
    test_error = (test.mean(dim=1) - Y_test) ** 2
    columns = {
        "dof": dof.dof.mean(axis=1),
        "dof_std_error": dof.std_error.mean(axis=1),
        "train_error": error.mean(dim=(1, 2)),
        "member_error": member_error.mean(dim=(1, 2, 3)),
        "test_error": test_error.mean(dim=(1, 2)),
        "test_member_error": ((test - Y_test) ** 2).mean(dim=(1, 2, 3)),
    }
    return [
        {"lam": float(lam), **{name: float(values[g]) for name, values in columns.items()}}
        for g, lam in enumerate(copies.lams.tolist())
    ]


@lru_cache(maxsize=32)
def _rate(
    setup: Setup, data_home: str | None, name: str, depth: int, device: str, known: str
) -> float:
    """The learning rate for a set and depth, from the training rows of the first fold.

    ``known`` is the fingerprint of the data: other data have a rate of their own.
    """
    data = task(setup, data_home, name, 0)
    X, Y = (torch.tensor(a, dtype=torch.float32, device=device) for a in (data.X, data.Y))
    training = Training(max_epochs=size_of(setup).stops[-1], batch_size=None)
    seed = setup.seed_for("rate", name)
    return choose_rate(_architecture(setup, depth), X, Y, training, seed=seed).rate


def _architecture(setup: Setup, depth: int) -> Architecture:
    size = size_of(setup)
    return Architecture((size.width,) * depth, size.members)
