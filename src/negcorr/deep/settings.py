"""Parameters of the estimator, checked, and the settings of a training that they describe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from negcorr._common.types import FloatArray
from negcorr._common.validation import check_positive_int, is_integer, is_number
from negcorr.deep.training.loop import Training
from negcorr.deep.training.networks import ACTIVATIONS, Architecture
from negcorr.deep.training.optimise import OPTIMISERS

__all__ = ["LAMS", "Settings", "resolve_device", "seed_of", "settings_of", "to_be_chosen"]

#: The grid of λ for "auto": finer near 1, where errors and dof change faster.
LAMS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)

#: Step ε for "auto", in standard deviations of the target: the effect of smaller steps is less
#: than that of rounding errors, which training amplifies.
EPS = 0.1

#: Precisions by name.
DTYPES = {"float32": torch.float32, "float64": torch.float64}

#: Parameters that are one of several names.
CHOICES: dict[str, tuple[str, ...]] = {
    "activation": tuple(ACTIVATIONS),
    "criterion": ("sure", "gcv"),
    "optimiser": OPTIMISERS,
    "dtype": tuple(DTYPES),
}

#: Parameters that are integers of at least 1, and numbers above 0, with the other values of each.
COUNTS: dict[str, tuple[str | None, ...]] = {
    "n_members": (),
    "max_epochs": (),
    "batch_size": ("auto", None),
    "patience": ("auto",),
    "early_stopping": (None,),
}
ABOVE_ZERO: dict[str, tuple[str | None, ...]] = {
    "learning_rate": ("auto",),
    "eps": ("auto",),
    "clip": (None,),
}


@dataclass(frozen=True)
class Settings:
    """Checked settings of a fit.

    Attributes
    ----------
    architecture : Architecture
    training : Training
    lams : tuple of float
        Values of λ to train.
    rate : float or None
        Initial learning rate, None to choose one.
    n_probes : int
        Perturbed copies of each ensemble.
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
    training: Training
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
    training = Training() if model.training is None else model.training
    if not isinstance(training, Training):
        raise TypeError(
            f"training={training!r} must be a Training or None, got {type(training).__name__}."
        )
    _check_each(model, training)
    lams = _lams(model.lam, model.n_members)
    if len(lams) > 1 and model.n_probes == 0:
        raise ValueError(
            f"lam={model.lam!r} is chosen by degrees of freedom, which n_probes=0 does not "
            "measure; give n_probes of at least 1, or a number for lam."
        )
    sizes = model.hidden_layer_sizes
    sizes = (sizes,) if is_integer(sizes) else sizes
    if isinstance(sizes, str) or not isinstance(sizes, Sequence | np.ndarray):
        kind = type(sizes).__name__
        raise TypeError(f"hidden_layer_sizes={sizes!r} must be a sequence of integers, got {kind}.")
    for size in sizes:
        if not is_integer(size):
            raise TypeError(f"hidden_layer_sizes={sizes!r} must have integers only.")
        if size < 1:
            raise ValueError(f"hidden_layer_sizes={sizes!r} must have integers of at least 1 only.")
    variance = model.noise_variance
    if variance is not None and not _is_one_of(variance, ("paper", "difference")):
        found = _numbers(variance)
        fits = found is not None and found.shape in ((), (n_outputs,))
        if found is None or not fits or not ((found >= 0) & np.isfinite(found)).all():
            raise ValueError(
                f"noise_variance={variance!r} must be a finite number of at least 0, "
                f"one for each of {n_outputs} output(s), 'paper', 'difference' or None."
            )
        variance = np.broadcast_to(found, n_outputs)
    if training.rows_per_step(n_samples) == 1 and model.batch_norm and n_samples > 1:
        raise ValueError(
            "batch_size=1 leaves nothing to normalise over: give batch_size of at least 2, or "
            "batch_norm=False."
        )
    widths, norm = tuple(int(size) for size in sizes), bool(model.batch_norm)
    return Settings(
        architecture=Architecture(widths, int(model.n_members), model.activation, norm),
        training=training,
        lams=lams,
        rate=None if isinstance(model.learning_rate, str) else float(model.learning_rate),
        n_probes=int(model.n_probes),
        eps=EPS if isinstance(model.eps, str) else float(model.eps),
        noise_variance=variance,
        criterion=model.criterion,
        device=resolve_device(model.device),
        dtype=DTYPES[model.dtype],
    )


def to_be_chosen(model: Any) -> bool:
    """Whether λ or the learning rate are not given as numbers."""
    return not (is_number(model.lam) and is_number(model.learning_rate))


def seed_of(model: Any) -> int:
    """The seed of weights, batches and probes."""
    try:
        return int(check_random_state(model.random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ValueError(
            f"random_state={model.random_state!r} must be None, an integer from 0 to 2**32 - 1, or "
            "a numpy.random.RandomState."
        ) from error


def resolve_device(device: Any = "auto") -> torch.device:
    """The torch device of a name, if it is there.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"} or str or torch.device, default="auto"
        "auto" is "cuda" where there is one, else "cpu"; "cuda:1" and the like name one of several.

    Returns
    -------
    torch.device

    Examples
    --------
    >>> from negcorr.deep import resolve_device
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not isinstance(device, str | torch.device):
        raise TypeError(
            f"device={device!r} must be 'cpu', 'cuda' or 'auto', got {type(device).__name__}."
        )
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"device={device!r} is unknown; allowed are 'cpu', 'cuda' and 'auto'.")
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found.type == "cuda" and (found.index or 0) >= there:
        seen = f"{there} CUDA device(s), counted from 0" if there else "no CUDA device here"
        raise ValueError(
            f"device={str(device)!r}, but torch sees {seen}; allowed are 'cpu' and 'auto'."
        )
    return found


def _check_each(model: Any, training: Training) -> None:
    """Check the parameters whose conditions do not depend on other parameters or the data."""
    given = model.get_params(deep=False) | training.get_params()
    for name in ("batch_norm", "standardize", "warm_start"):
        if not isinstance(value := given[name], bool | np.bool_):
            raise TypeError(f"{name}={value!r} must be True or False.")
    for name, names in CHOICES.items():
        if not isinstance(value := given[name], str) or value not in names:
            raise ValueError(f"{name}={value!r} is unknown; allowed are {list(names)}.")
    for name, others in COUNTS.items():
        if not _is_one_of(value := given[name], others):
            check_positive_int(name, value)
    check_positive_int("n_probes", model.n_probes, least=0)
    for name, others in ABOVE_ZERO.items():
        value = given[name]
        if not _is_one_of(value, others) and not (is_number(value) and 0 < value < math.inf):
            auto = "'auto', or " if "auto" in others else ""
            raise ValueError(f"{name}={value!r} must be {auto}a finite number above 0.")
    decay = training.weight_decay
    if not is_number(decay) or not 0 <= decay < math.inf:
        raise ValueError(f"weight_decay={decay!r} must be a number of at least 0.")


def _lams(lam: Any, n_members: int) -> tuple[float, ...]:
    if isinstance(lam, str):
        if lam != "auto":
            raise ValueError(
                f"lam={lam!r} is unknown; allowed are 'auto', a number in [0, 1], or a sequence of "
                "such."
            )
        # A single member is its own average: the loss is the same at every λ.
        return LAMS if n_members > 1 else LAMS[:1]
    values = _numbers(lam)
    if values is None or values.ndim > 1 or not values.size:
        raise TypeError(f"lam={lam!r} must be 'auto', a number in [0, 1], or a sequence of them.")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"lam={lam!r} must lie in [0, 1].")
    return tuple(float(value) for value in np.atleast_1d(values))


def _numbers(value: Any) -> FloatArray | None:
    """An array of a number or of numbers, None for anything else."""
    try:
        found = np.asarray(value)
    except ValueError:  # a ragged sequence
        return None
    return found.astype(np.float64) if found.dtype.kind in "fiu" else None


def _is_one_of(value: Any, others: tuple[str | None, ...]) -> bool:
    return (value is None or isinstance(value, str)) and value in others
