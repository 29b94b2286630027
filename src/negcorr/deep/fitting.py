"""Functions that fit an ensemble: a whole fit, one more epoch, or new output layers (heads).

:func:`trained_grid` and :func:`chosen` are the two halves of a fit; :func:`continued` and
:func:`with_new_heads` change what a fit has made.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray
from negcorr.columns.encoding import Encoding
from negcorr.deep.checkpoint import checkpoint_of
from negcorr.deep.closed_form_heads import refit_heads
from negcorr.deep.fitted import DeepFit, History, Scaling
from negcorr.deep.grid import GridFit, fit_grid
from negcorr.deep.settings import Settings, seed_of
from negcorr.deep.sure import lam_table
from negcorr.deep.training.loop import Problem, TrainingState, epochs_between_checks, train
from negcorr.deep.training.rates import choose_rate
from negcorr.exceptions import DivergenceError
from negcorr.path.path import NCLPath

__all__ = [
    "TrainedGrid",
    "TrainingRows",
    "chosen",
    "continued",
    "tensors",
    "trained_grid",
    "with_new_heads",
]


@dataclass(frozen=True, repr=False)
class TrainingRows:
    """Validated rows of a fit, as numbers.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Inputs, not yet scaled.
    Y : ndarray of shape (n, outputs)
        Targets.
    single : bool
        Whether y had one dimension.
    encoding : Encoding or None
        How the columns of a data frame became X; None for arrays of numbers.
    """

    X: FloatArray
    Y: FloatArray
    single: bool
    encoding: Encoding | None = None

    @property
    def target(self) -> FloatArray:
        """Targets in the shape in which they were given."""
        return self.Y[:, 0] if self.single else self.Y


@dataclass(frozen=True, repr=False)
class TrainedGrid:
    """Ensembles at every λ of a grid, with the scales and the learning rate of their training.

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
    rows: TrainingRows,
    before: DeepFit | None = None,
) -> TrainedGrid:
    """Train ensembles at every λ of the settings.

    Parameters
    ----------
    model : DeepNCLRegressor
        For its parameters.
    settings : Settings
        The same, checked.
    rows : TrainingRows
    before : DeepFit, optional
        Whose weights and scales to start from.
    """
    seed = seed_of(model)
    if before is not None:
        _check_networks(before, settings, rows, "warm_start=True")
    inputs, target = _scalings(model, rows, before)
    checkpoint = checkpoint_of(model, settings, rows.X, rows.Y, inputs, before)
    X, Y = tensors(settings.dtype, settings.device, X=inputs.apply(rows.X), y=target.apply(rows.Y))
    training, rate = settings.training, settings.rate
    checks = math.ceil(training.max_epochs / epochs_between_checks(training, len(rows.X)))
    with progress_bar(model.progress, checks * (1 if rate is not None else 2), "training") as step:
        if rate is None and checkpoint is not None:
            rate = checkpoint.about.get("rate")  # chosen before the fit was interrupted
        if rate is None:
            lam, shape = settings.lams[0] if len(settings.lams) == 1 else 0.5, settings.architecture
            rate = choose_rate(
                shape, X, Y, training, lam=lam, seed=seed, after_epochs=lambda _: step()
            ).rate
        if checkpoint is not None:
            about = {**checkpoint.about, "rate": rate}
            checkpoint = dataclasses.replace(checkpoint, about=about)
        start = None if before is None else before.network.theta.detach()
        grid = fit_grid(
            settings, X, Y, rate, seed, start=start, checkpoint=checkpoint, advance=step
        )
    return TrainedGrid(grid, inputs, target, rate)


def chosen(trained: TrainedGrid, settings: Settings, rows: TrainingRows) -> DeepFit:
    """The ensemble at the best λ of a trained grid, by the criterion of the settings.

    Parameters
    ----------
    trained : TrainedGrid
    settings : Settings
    rows : TrainingRows
        What it was trained on.
    """
    grid, target = trained.grid, trained.target
    square = target.scale**2
    known = settings.noise_variance
    known = known / square if isinstance(known, np.ndarray) else known
    X, Y = trained.inputs.apply(rows.X), target.apply(rows.Y)
    table = lam_table(grid, X, Y, known, settings.criterion)
    g, state = table.chosen, grid.state
    group = grid.network(g)
    losses = grid.copies.originals(state.losses[: state.epoch].T).T
    rates = grid.copies.originals(state.schedule.rate).to("cpu", torch.float64).numpy()
    # In the units of the target from here on.
    scaled = ("train_error", "sure", "gcv", "noise_variance")
    table = dataclasses.replace(table, **{name: getattr(table, name) * square for name in scaled})
    return DeepFit(
        network=group.pick(0),
        copies=group.pick(range(1, 1 + settings.n_probes)) if settings.n_probes else None,
        copy_scaling=grid.copy_scaling,
        inputs=trained.inputs,
        target=target,
        lam=float(table.lam[g]),
        dof=table.dof[g],
        dof_std_error=table.dof_std_error[g],
        noise_variance=table.noise_variance,
        learning_rate=trained.learning_rate,
        # Ensembles that were stopped early have a rate of 0, with which nothing would move.
        last_rate=float(rates[g]) or trained.learning_rate,
        eps=settings.eps,
        table=table,
        history=History(table.lam, losses.to("cpu", torch.float64).numpy(), rates),
        n_epochs=state.epoch,
        single=rows.single,
        encoding=rows.encoding,
    )


def continued(model: Any, settings: Settings, rows: TrainingRows) -> DeepFit:
    """The fit after one more epoch over these rows, from a fitted ensemble or a new one."""
    before: DeepFit | None = getattr(model, "_fit", None)
    inputs, target = _scalings(model, rows, before)
    if before is None:
        lam, rate = settings.lams[0], settings.rate
        assert rate is not None  # the estimator calls fit where a rate is to be chosen
        dtype, device = settings.dtype, settings.device
    else:
        _check_networks(before, settings, rows, "partial_fit")
        lams = np.unique(before.lam)
        if len(lams) > 1:
            raise ValueError(
                "partial_fit trains all outputs at one λ, and these heads have "
                f"lam_={lams.tolist()}: call refit_heads with one number for lam before."
            )
        lam, rate = float(lams[0]), before.last_rate
        dtype, device = before.network.theta.dtype, before.network.theta.device
    X, Y = tensors(dtype, device, X=inputs.apply(rows.X), y=target.apply(rows.Y))
    # A copy: an epoch that fails, or is interrupted, leaves the fitted model as it was.
    state = None if before is None else copy.deepcopy(before.state)
    training = dataclasses.replace(settings.training, max_epochs=1)
    if state is None:
        seed = seed_of(model)
        if before is None:
            network = settings.architecture.started(X, Y.shape[1], None, seed)
        else:
            network = before.network.pick([0])
        start = torch.tensor([rate], dtype=torch.float64)
        state = TrainingState.start(network, start, training, seed)
    problem = Problem(X, Y, torch.tensor([lam], dtype=torch.float64))
    train(state, problem, dataclasses.replace(training, max_epochs=state.epoch + 1))
    if bool(state.diverged.any()):
        raise DivergenceError(
            f"training diverged: the loss was not finite after epoch {state.epoch} of "
            f"partial_fit, with learning_rate={rate:g}. Give a lower learning_rate, or clip; the "
            "estimator is as it was.",
            epoch=state.epoch,
            learning_rate=rate,
            network=None if before is None else before.network,
        )
    losses = state.losses[state.epoch - 1 : state.epoch].to("cpu", torch.float64).numpy()
    if before is not None and (before.history.lams == lam).any():
        # New heads can have a λ at which no networks were trained.
        earlier = before.history.losses[:, np.flatnonzero(before.history.lams == lam)[:1]]
        losses = np.concatenate([earlier, losses])
    rates = state.schedule.rate.to("cpu", torch.float64).numpy()
    unknown = np.full(rows.Y.shape[1], np.nan)
    return DeepFit(
        network=state.network.pick(0),
        inputs=inputs,
        target=target,
        lam=lam,
        dof=unknown,
        dof_std_error=unknown,
        noise_variance=unknown,
        learning_rate=rate if before is None else before.learning_rate,
        last_rate=float(rates[0]),
        eps=settings.eps,
        history=History(np.array([lam]), losses, rates),
        n_epochs=1 + (0 if before is None else before.n_epochs),
        state=state,
        single=rows.single if before is None else before.single,
        encoding=rows.encoding,
    )


def with_new_heads(found: DeepFit, rows: TrainingRows, **options: Any) -> tuple[DeepFit, NCLPath]:
    """The fit with the output layers (heads) of Theorem 4, and the path that they come from.

    Options are those of :func:`~negcorr.deep.refit_heads`.
    """
    outputs = rows.Y.shape[1]
    if outputs != (p := len(found.target.scale)):
        raise ValueError(f"y has {outputs} output(s), the fitted networks {p}.")
    scaled = found.target.apply(rows.Y)
    scaled = scaled[:, 0] if rows.single else scaled
    heads = refit_heads(found.network, found.inputs.apply(rows.X), scaled, **options)
    changed = dataclasses.replace(
        found,
        network=heads.network,
        copies=None,
        lam=heads.lam,
        dof=np.atleast_1d(heads.dof),
        dof_std_error=np.zeros(outputs),
        noise_variance=np.atleast_1d(heads.noise_variance) * found.target.scale**2,
        table=None,
        state=None,
        single=rows.single,
    )
    return changed, heads.path


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


def _check_networks(before: DeepFit, settings: Settings, rows: TrainingRows, caller: str) -> None:
    """Raise unless the networks of a fit are those of the settings and rows."""
    network = before.network
    have, want = (
        f"{shape.n_members} of {'-'.join(map(str, (d, *shape.hidden_layer_sizes, p)))} nodes, "
        f"{shape.activation}, {'with' if shape.batch_norm else 'without'} batch norm"
        for (d, *_, p), shape in (
            (network.widths, network.architecture),
            ((rows.X.shape[1], rows.Y.shape[1]), settings.architecture),
        )
    )
    if have != want:
        raise ValueError(
            f"{caller} continues the networks of the last fit, which are {have}; data and "
            f"parameters now require {want}."
        )


def _scalings(model: Any, rows: TrainingRows, before: DeepFit | None) -> tuple[Scaling, Scaling]:
    """Those that the weights to start from were trained with, or new ones."""
    if before is not None:
        return before.inputs, before.target
    if not model.standardize:
        return Scaling.none(rows.X.shape[1]), Scaling.of(rows.Y)
    marks = None if rows.encoding is None else rows.encoding.as_they_are
    return Scaling.of(rows.X, marks), Scaling.of(rows.Y)
