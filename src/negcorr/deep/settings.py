"""Parameters of the estimator, checked and turned into what training takes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from negcorr._common.types import FloatArray
from negcorr._common.validation import check_positive_int
from negcorr.deep.sure import CRITERIA
from negcorr.deep.training.architecture import Architecture
from negcorr.deep.training.devices import resolve_device
from negcorr.deep.training.loop import Recipe
from negcorr.deep.training.networks import ACTIVATIONS
from negcorr.deep.training.optimise import OPTIMISERS

__all__ = ["LAMS", "Settings", "seed_of", "settings_of", "to_be_chosen"]

#: The grid of λ behind "auto": finer where a step changes more.
LAMS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)

#: Batches of an epoch behind "auto", and the fewest and most rows that a batch then has.
BATCHES, FEWEST, MOST = 32, 32, 200

#: Epochs behind "auto" after which a rate is halved: the paper's, for full batches, and ours.
PATIENCE_FULL, PATIENCE = 100, 10

#: Step ε behind "auto", in standard deviations of the target: smaller ones drown in rounding that
#: training amplifies.
EPS = 0.1

#: By name.
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class Settings:
    """What a fit is to do.

    Attributes
    ----------
    architecture : Architecture
    recipe : Recipe
    lams : tuple of float
        Values of λ to train.
    rate : float or None
        Initial learning rate, None to choose one.
    n_probes : int
        Twins of each ensemble.
    eps : float
        Step ε in standard deviations of the target.
    noise_variance : ndarray, str or None
        In the units of the target squared.
    criterion : str
        What chooses λ.
    device : torch.device
    dtype : torch.dtype
    """

    architecture: Architecture
    recipe: Recipe
    lams: tuple[float, ...]
    rate: float | None
    n_probes: int
    eps: float
    noise_variance: FloatArray | str | None
    criterion: str
    device: torch.device
    dtype: torch.dtype


def settings_of(model: Any, n_samples: int, n_outputs: int) -> Settings:
    """Check all parameters of an estimator against each other and the data's shape."""
    check_positive_int("n_estimators", model.n_estimators)
    lams = _lams(model.lam, model.n_estimators)
    n_probes = _count("n_probes", model.n_probes)
    if len(lams) > 1 and n_probes == 0:
        raise ValueError(
            f"lam={model.lam!r} is chosen by degrees of freedom, which n_probes=0 does not "
            "measure; give n_probes of at least 1, or a number for lam."
        )
    _flag("standardize", model.standardize)
    _flag("warm_start", model.warm_start)
    _one_of("criterion", model.criterion, CRITERIA)
    _one_of("dtype", model.dtype, tuple(DTYPES))
    return Settings(
        architecture=_architecture(model),
        recipe=_recipe(model, n_samples),
        lams=lams,
        rate=None if _is_auto(model.learning_rate) else _above_zero("learning_rate", model),
        n_probes=n_probes,
        eps=EPS if _is_auto(model.eps) else _above_zero("eps", model),
        noise_variance=_noise_variance(model.noise_variance, n_outputs),
        criterion=model.criterion,
        device=resolve_device(model.device),
        dtype=DTYPES[model.dtype],
    )


def to_be_chosen(model: Any) -> bool:
    """Whether λ or the learning rate are not given as numbers."""
    return not (_real(model.lam) and _real(model.learning_rate))


def seed_of(model: Any) -> int:
    """The seed of weights, batches and probes."""
    try:
        return int(check_random_state(model.random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ValueError(
            f"random_state={model.random_state!r} must be None, an integer from 0 to 2**32 - 1, or "
            "a numpy.random.RandomState."
        ) from error


def _architecture(model: Any) -> Architecture:
    sizes = model.hidden_layer_sizes
    sizes = (sizes,) if isinstance(sizes, numbers.Integral) else sizes
    if isinstance(sizes, str) or not isinstance(sizes, Sequence | np.ndarray):
        raise TypeError(
            f"hidden_layer_sizes={sizes!r} must be a sequence of integers, got "
            f"{type(sizes).__name__}."
        )
    if any(isinstance(size, bool) or not isinstance(size, numbers.Integral) for size in sizes):
        raise TypeError(f"hidden_layer_sizes={sizes!r} must have integers only.")
    if any(size < 1 for size in sizes):
        raise ValueError(f"hidden_layer_sizes={sizes!r} must have integers of at least 1 only.")
    _one_of("activation", model.activation, tuple(ACTIVATIONS))
    _flag("batch_norm", model.batch_norm)
    return Architecture(
        tuple(int(size) for size in sizes),
        int(model.n_estimators),
        model.activation,
        bool(model.batch_norm),
    )


def _recipe(model: Any, n_samples: int) -> Recipe:
    check_positive_int("max_epochs", model.max_epochs)
    if not _is_auto(model.patience):
        check_positive_int("patience", model.patience)
    if model.early_stopping is not None:
        check_positive_int("early_stopping", model.early_stopping)
    size: int | None = min(max(n_samples // BATCHES, FEWEST), MOST)
    if model.batch_size is None:
        size = None
    elif not _is_auto(model.batch_size):
        check_positive_int("batch_size", model.batch_size)
        size = int(model.batch_size)
    if size == 1 and model.batch_norm and n_samples > 1:
        raise ValueError(
            "batch_size=1 leaves nothing to normalise over: give batch_size of at least 2, or "
            "batch_norm=False."
        )
    _one_of("optimiser", model.optimiser, OPTIMISERS)
    decay = model.weight_decay
    if not _real(decay) or not 0 <= decay < math.inf:
        raise ValueError(f"weight_decay={decay!r} must be a number of at least 0.")
    return Recipe(
        max_epochs=int(model.max_epochs),
        batch_size=size,
        patience=_patience(model.patience, full=size is None or size >= n_samples),
        early_stopping=None if model.early_stopping is None else int(model.early_stopping),
        optimiser=model.optimiser,
        weight_decay=float(decay),
        clip=None if model.clip is None else _above_zero("clip", model),
    )


def _patience(patience: Any, full: bool) -> int:
    """An epoch of many batches does what many epochs of one do."""
    if not _is_auto(patience):
        return int(patience)
    return PATIENCE_FULL if full else PATIENCE


def _lams(lam: Any, n_members: int) -> tuple[float, ...]:
    if isinstance(lam, str):
        _one_of("lam", lam, ("auto",), "a number in [0, 1], or a sequence of such")
        # A member alone is its own average: the loss is the same at every λ.
        return LAMS if n_members > 1 else LAMS[:1]
    values = _numbers(lam)
    if values is None or values.ndim > 1 or not values.size:
        raise TypeError(f"lam={lam!r} must be 'auto', a number in [0, 1], or a sequence of them.")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"lam={lam!r} must lie in [0, 1].")
    return tuple(float(value) for value in np.atleast_1d(values))


def _noise_variance(value: Any, n_outputs: int) -> FloatArray | str | None:
    if value is None:
        return None
    if isinstance(value, str):
        _one_of("noise_variance", value, ("paper", "difference"), "a number, or None")
        return value
    found = _numbers(value)
    fits = found is not None and found.shape in ((), (n_outputs,))
    if found is None or not fits or not ((found >= 0) & np.isfinite(found)).all():
        raise ValueError(
            f"noise_variance={value!r} must be a finite number of at least 0, one for each of "
            f"{n_outputs} output(s), 'paper', 'difference' or None."
        )
    return np.asarray(np.broadcast_to(found, n_outputs))


def _numbers(value: Any) -> FloatArray | None:
    """An array of a number or of numbers, None where it is anything else."""
    try:
        found = np.asarray(value)
    except ValueError:  # a ragged sequence
        return None
    return found.astype(np.float64) if found.dtype.kind in "fiu" else None


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _one_of(name: str, value: Any, allowed: tuple[str, ...], others: str = "") -> None:
    if not isinstance(value, str) or value not in allowed:
        names = f"{', '.join(map(repr, allowed))}, {others}" if others else str(list(allowed))
        raise ValueError(f"{name}={value!r} is unknown; allowed are {names}.")


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False.")


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={value!r} must be an integer, got {type(value).__name__}.")
    if value < 0:
        raise ValueError(f"{name}={value!r} must be at least 0.")
    return int(value)


def _real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _above_zero(name: str, model: Any) -> float:
    value = getattr(model, name)
    if not _real(value) or not 0 < value < math.inf:
        auto = "'auto', or " if name in ("learning_rate", "eps") else ""
        raise ValueError(f"{name}={value!r} must be {auto}a finite number above 0.")
    return float(value)
