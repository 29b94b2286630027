"""From checked settings and rows to a fitted ensemble: scales, learning rate, grid, choice."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray
from negcorr.deep.deep_fit import DeepFit
from negcorr.deep.grid import Checkpoint, GridFit, fit_grid, picked
from negcorr.deep.history import History, LamTable
from negcorr.deep.resuming import checkpoint_of
from negcorr.deep.scaling import Scaling
from negcorr.deep.settings import Settings, seed_of
from negcorr.deep.sure import lam_table
from negcorr.deep.training.loop import LOOK_EVERY, Recipe, Training
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.deep.training.rates import choose_rate

__all__ = [
    "TrainedGrid",
    "check_networks",
    "chosen",
    "scalings",
    "single_ensemble",
    "tensors",
    "trained_grid",
]


@dataclass(frozen=True, repr=False)
class TrainedGrid:
    """Ensembles at every λ of a grid, with the scales and the learning rate they were trained by.

    Attributes
    ----------
    grid : GridFit
        For standardised inputs and targets.
    inputs, target : Scaling
        Of X and of y.
    learning_rate : float
        Initial one.
    """

    grid: GridFit
    inputs: Scaling
    target: Scaling
    learning_rate: float


def trained_grid(
    model: Any,
    settings: Settings,
    rows: FloatArray,
    targets: FloatArray,
    before: DeepFit | None = None,
) -> TrainedGrid:
    """Train ensembles at every λ of the settings.

    Parameters
    ----------
    model : DeepNCLRegressor
        For its parameters.
    settings : Settings
        The same, checked.
    rows, targets : ndarray of shape (n, d) and (n, outputs)
    before : DeepFit, optional
        Whose weights and scales to start from.
    """
    seed = seed_of(model)
    if before is not None:
        check_networks(before, settings, rows, targets, "warm_start=True")
    checkpoint = checkpoint_of(model, settings, rows, targets, before)
    inputs, target = scalings(model, rows, targets, before)
    X, Y = tensors(settings.dtype, settings.device, X=inputs.apply(rows), y=target.apply(targets))
    total = _looks(settings.recipe, len(rows)) * (1 if settings.rate is not None else 2)
    with progress_bar(model.progress, total, "training") as advance:
        rate = _rate(settings, X, Y, seed, checkpoint, advance)
        if checkpoint is not None:
            about = {**checkpoint.about, "rate": rate}
            checkpoint = dataclasses.replace(checkpoint, about=about)
        grid = fit_grid(
            settings.architecture,
            X,
            Y,
            settings.lams,
            rate,
            settings.recipe,
            n_probes=settings.n_probes,
            eps=settings.eps,
            seed=seed,
            start=None if before is None else before.network.theta.detach(),
            checkpoint=checkpoint,
            advance=advance,
        )
    return TrainedGrid(grid, inputs, target, rate)


def chosen(
    trained: TrainedGrid, settings: Settings, rows: FloatArray, targets: FloatArray, single: bool
) -> DeepFit:
    """The ensemble at the best λ of a trained grid, by the criterion of the settings.

    Parameters
    ----------
    trained : TrainedGrid
    settings : Settings
    rows, targets : ndarray of shape (n, d) and (n, outputs)
        What it was trained on.
    single : bool
        Whether y had one dimension.
    """
    target = trained.target
    known = settings.noise_variance
    if isinstance(known, np.ndarray):
        known = known / target.scale**2
    table = lam_table(
        trained.grid,
        trained.inputs.apply(rows),
        target.apply(targets),
        known,
        settings.criterion,
    )
    return _picked(trained, table, settings, single)


def _picked(trained: TrainedGrid, table: LamTable, settings: Settings, single: bool) -> DeepFit:
    """The ensemble at the chosen λ, with numbers in the units of the target."""
    grid, target = trained.grid, trained.target
    g, square = table.chosen, target.scale**2
    group = grid.network(g)
    twins = picked(group, range(1, 1 + settings.n_probes)) if settings.n_probes else None
    centre, scale = grid.twin_scales
    training = grid.training
    epochs = training.epoch
    history = History(
        table.lam,
        grid.twins.originals(training.losses[:epochs].T).T.to("cpu", torch.float64).numpy(),
        grid.twins.originals(training.schedule.rate).to("cpu", torch.float64).numpy(),
    )
    return DeepFit(
        network=single_ensemble(picked(group, [0])),
        twins=twins,
        twin_centre=centre,
        twin_scale=scale,
        inputs=trained.inputs,
        target=target,
        lam=float(table.lam[g]),
        dof=table.dof[g],
        dof_std_error=table.dof_std_error[g],
        noise_variance=table.noise_variance * square,
        learning_rate=trained.learning_rate,
        # Ensembles that were stopped early have a rate of 0, from which nothing could go on.
        last_rate=float(history.rates[g]) or trained.learning_rate,
        eps=settings.eps,
        table=dataclasses.replace(
            table,
            train_error=table.train_error * square,
            sure=table.sure * square,
            gcv=table.gcv * square,
            noise_variance=table.noise_variance * square,
        ),
        history=history,
        n_epochs=epochs,
        training=None,
        single=single,
    )


def check_networks(
    before: DeepFit, settings: Settings, rows: FloatArray, targets: FloatArray, caller: str
) -> None:
    """Raise unless the networks of a fit are those that settings and rows ask for."""
    network, wanted = before.network, settings.architecture
    have = _described(
        network.widths, network.n_members, network.activation, bool(network.batch_norm)
    )
    widths = (rows.shape[1], *wanted.hidden_layer_sizes, targets.shape[1])
    want = _described(widths, wanted.n_members, wanted.activation, wanted.batch_norm)
    if have != want:
        raise ValueError(
            f"{caller} goes on with the networks of the last fit, which are {have}; data and "
            f"parameters now ask for {want}."
        )


def _described(widths: tuple[int, ...], n_members: int, activation: str, batch_norm: bool) -> str:
    layers = "-".join(map(str, widths))
    with_norm = "with" if batch_norm else "without"
    return f"{n_members} of {layers} nodes, {activation}, {with_norm} batch norm"


def _looks(recipe: Recipe, n: int) -> int:
    """How often a training is looked at."""
    size = n if recipe.batch_size is None else min(recipe.batch_size, n)
    return math.ceil(recipe.max_epochs / max(1, LOOK_EVERY * size // n))


def _rate(
    settings: Settings,
    X: Tensor,
    Y: Tensor,
    seed: int,
    checkpoint: Checkpoint | None,
    advance: Callable[[], None],
) -> float:
    """The learning rate: given, chosen before the fit was stopped, or chosen now."""
    if settings.rate is not None:
        return settings.rate
    if checkpoint is not None and "rate" in checkpoint.about:
        return float(checkpoint.about["rate"])

    def look(_: Training) -> bool:
        advance()
        return False

    lam = settings.lams[0] if len(settings.lams) == 1 else 0.5
    choice = choose_rate(
        settings.architecture, X, Y, settings.recipe, lam=lam, seed=seed, after_epochs=look
    )
    return choice.rate


def scalings(
    model: Any, rows: FloatArray, targets: FloatArray, before: DeepFit | None
) -> tuple[Scaling, Scaling]:
    """New ones, or those that the weights to start from were trained with."""
    if before is not None:
        return before.inputs, before.target
    inputs = Scaling.of(rows) if model.standardize else Scaling.none(rows.shape[1])
    return inputs, Scaling.of(targets)


def tensors(dtype: torch.dtype, device: torch.device, **arrays: FloatArray) -> list[Tensor]:
    """Arrays in the precision and on the device of networks."""
    largest = torch.finfo(dtype).max
    for name, values in arrays.items():
        if np.abs(values).max() > largest:
            raise ValueError(
                f"{name} has values of {np.abs(values).max():.1e}, in the units that networks "
                f"see, beyond the largest {largest:.1e} of {str(dtype).removeprefix('torch.')}."
            )
    return [torch.tensor(a, dtype=dtype, device=device) for a in arrays.values()]


def single_ensemble(network: EnsembleMLP) -> EnsembleMLP:
    """Without an axis of ensembles."""
    network.n_ensembles = None
    return network
