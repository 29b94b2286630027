"""Going on from a fitted ensemble: another epoch, or new heads."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from negcorr._typing import FloatArray
from negcorr.deep.deep_fit import DeepFit
from negcorr.deep.fitting import scalings, single_ensemble, tensors
from negcorr.deep.grid import picked
from negcorr.deep.heads import refit_heads
from negcorr.deep.history import History
from negcorr.deep.settings import Settings
from negcorr.deep.training import Problem, Training, train
from negcorr.path import NCLPath

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
    else:
        inputs, target = before.inputs, before.target
        lam, rate = float(np.atleast_1d(before.lam)[0]), before.last_rate
        if (len(target.scale), before.single) != (targets.shape[1], single):
            raise ValueError(
                f"y has {targets.shape[1]} output(s), the fitted ensemble {len(target.scale)}."
            )
    X, Y = tensors(settings, inputs.apply(rows), target.apply(targets))
    training = None if before is None else before.training
    if training is None:
        seed = int(check_random_state(model.random_state).randint(2**31 - 1))
        if before is None:
            network = settings.architecture.started(X, Y.shape[1], None, seed)
        else:
            network = picked(before.network, [0])
        training = Training.start(network, torch.tensor([rate]), recipe, seed)
    problem = Problem(X, Y, torch.tensor([lam], dtype=torch.float64))
    recipe = dataclasses.replace(recipe, max_epochs=training.epoch + 1)
    train(training, problem, recipe)
    nothing = np.full(targets.shape[1], np.nan)
    losses = training.losses[: training.epoch].to("cpu", torch.float64).numpy()
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
        single=single,
    )


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
    )
    return changed, heads.path
