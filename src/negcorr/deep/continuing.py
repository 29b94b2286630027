"""Going on from a fitted ensemble: another epoch, or new heads."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import torch

from negcorr._common.types import FloatArray
from negcorr.deep.closed_form_heads import refit_heads
from negcorr.deep.deep_fit import DeepFit
from negcorr.deep.fitting import check_networks, scalings, single_ensemble, tensors
from negcorr.deep.grid import picked
from negcorr.deep.history import History
from negcorr.deep.settings import Settings, seed_of
from negcorr.deep.training.loop import Problem, Training, train
from negcorr.exceptions import DivergenceError
from negcorr.path.path import NCLPath

__all__ = ["continued", "with_new_heads"]


def continued(
    model: Any, settings: Settings, rows: FloatArray, targets: FloatArray, single: bool
) -> DeepFit:
    """One more epoch over these rows, from a fitted ensemble or a new one."""
    before: DeepFit | None = getattr(model, "_fit", None)
    recipe = dataclasses.replace(settings.recipe, max_epochs=1)
    if before is None:
        inputs, target = scalings(model, rows, targets, None)
        lam, rate = settings.lams[0], settings.rate
        assert rate is not None  # the estimator sees to that
        dtype, device = settings.dtype, settings.device
    else:
        check_networks(before, settings, rows, targets, "partial_fit")
        inputs, target = before.inputs, before.target
        lam, rate = _one_lam(before.lam), before.last_rate
        dtype, device = before.network.theta.dtype, before.network.theta.device
    X, Y = tensors(dtype, device, X=inputs.apply(rows), y=target.apply(targets))
    # A copy: an epoch that fails, or is interrupted, leaves the fitted model as it was.
    training = None if before is None else copy.deepcopy(before.training)
    if training is None:
        seed = seed_of(model)
        if before is None:
            network = settings.architecture.started(X, Y.shape[1], None, seed)
        else:
            network = picked(before.network, [0])
        training = Training.start(network, torch.tensor([rate], dtype=torch.float64), recipe, seed)
    problem = Problem(X, Y, torch.tensor([lam], dtype=torch.float64))
    recipe = dataclasses.replace(recipe, max_epochs=training.epoch + 1)
    train(training, problem, recipe)
    if bool(training.diverged.any()):
        raise DivergenceError(
            f"training diverged: the loss was not finite after epoch {training.epoch} of "
            f"partial_fit, with learning_rate={rate:g}. Give a lower learning_rate, or clip; the "
            "estimator is as it was.",
            epoch=training.epoch,
            learning_rate=rate,
            network=None if before is None else before.network,
        )
    nothing = np.full(targets.shape[1], np.nan)
    losses = training.losses[training.epoch - 1 : training.epoch].to("cpu", torch.float64).numpy()
    if before is not None:
        # New heads may stand at a λ that no network was trained at.
        trained = np.flatnonzero(before.history.lams == lam)[:1]
        losses = (
            np.concatenate([before.history.losses[:, trained], losses]) if len(trained) else losses
        )
    return DeepFit(
        network=single_ensemble(picked(training.network, [0])),
        twins=None,
        twin_centre=np.zeros((0, 1, 1)),
        twin_scale=np.ones((0, 1, 1)),
        inputs=inputs,
        target=target,
        lam=lam,
        dof=nothing,
        dof_std_error=nothing,
        noise_variance=nothing,
        learning_rate=rate if before is None else before.learning_rate,
        last_rate=float(training.schedule.rate[0]),
        eps=settings.eps,
        table=None,
        history=History(
            np.array([lam]), losses, training.schedule.rate.to("cpu", torch.float64).numpy()
        ),
        n_epochs=(before.n_epochs if before is not None else 0) + 1,
        training=training,
        single=single if before is None else before.single,
    )


def _one_lam(lam: float | FloatArray) -> float:
    """The λ of all outputs; heads that were refitted can have one for each."""
    values = np.unique(lam)
    if len(values) > 1:
        raise ValueError(
            f"partial_fit trains all outputs at one λ, and these heads have lam_={values.tolist()}:"
            " call refit_heads with one number for lam before."
        )
    return float(values[0])


def with_new_heads(
    found: DeepFit,
    rows: FloatArray,
    targets: FloatArray,
    single: bool,
    criterion: str,
    lam: Any,
    cv: Any,
) -> tuple[DeepFit, NCLPath]:
    """The ensemble with the heads of Theorem 4, and the path that they come from."""
    if targets.shape[1] != len(found.target.scale):
        raise ValueError(
            f"y has {targets.shape[1]} output(s), the fitted networks {len(found.target.scale)}."
        )
    scaled = found.target.apply(targets)
    heads = refit_heads(
        found.network,
        found.inputs.apply(rows),
        scaled[:, 0] if single else scaled,
        criterion=criterion,
        lam=lam,
        cv=cv,
    )
    changed = dataclasses.replace(
        found,
        network=heads.network,
        twins=None,
        lam=heads.lam,
        dof=np.atleast_1d(heads.dof),
        dof_std_error=np.zeros(targets.shape[1]),
        noise_variance=np.atleast_1d(heads.noise_variance) * found.target.scale**2,
        table=None,
        training=None,
        single=single,
    )
    return changed, heads.path
