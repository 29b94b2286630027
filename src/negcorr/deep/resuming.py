"""Whether a checkpoint is of the training that is about to begin."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

from negcorr._common.types import FloatArray
from negcorr.deep.deep_fit import DeepFit
from negcorr.deep.grid import Checkpoint
from negcorr.deep.settings import Settings
from negcorr.deep.training.checkpoint import read_tensors
from negcorr.exceptions import CheckpointError

__all__ = ["checkpoint_of"]

#: Settings that do not decide on the numbers of a training, but on what is made of them.
ASIDE = ("noise_variance", "criterion")


def checkpoint_of(
    model: Any,
    settings: Settings,
    rows: FloatArray,
    targets: FloatArray,
    before: DeepFit | None,
) -> Checkpoint | None:
    """Where to keep the training, with what an earlier one of the same left there."""
    if model.checkpoint is None:
        return None
    if not isinstance(model.checkpoint, str | os.PathLike):
        raise TypeError(
            f"checkpoint={model.checkpoint!r} must be a path or None, got "
            f"{type(model.checkpoint).__name__}."
        )
    if not isinstance(model.random_state, int | np.integer):
        raise ValueError(
            f"checkpoint={str(model.checkpoint)!r} needs an integer random_state, got "
            f"{model.random_state!r}: without one, a training could not be gone on with."
        )
    path = Path(model.checkpoint)
    if path.is_dir():
        raise ValueError(f"checkpoint={str(path)!r} is a folder; name a file, in it or elsewhere.")
    identity = _identity(model, settings, rows, targets, before)
    about: dict[str, Any] = {"kind": "training", "of": identity}
    if not path.exists():
        return Checkpoint(path, about)
    tensors, stored = read_tensors(path)
    if stored.get("of") != about["of"]:
        raise CheckpointError(
            f"checkpoint={str(path)!r} is of a training with other settings or other data; remove "
            "the file, or name another one."
        )
    return Checkpoint(path, stored, tensors)


def _identity(
    model: Any, settings: Settings, rows: FloatArray, targets: FloatArray, before: DeepFit | None
) -> str:
    """A hash of all that decides on the numbers of a training."""
    fields = {f.name: repr(getattr(settings, f.name)) for f in dataclasses.fields(settings)}
    known: dict[str, Any] = {name: fields[name] for name in fields if name not in ASIDE}
    known |= {"standardize": bool(model.standardize), "random_state": int(model.random_state)}
    digest = hashlib.sha256(json.dumps([known, torch.__version__], sort_keys=True).encode())
    arrays = [rows, targets]
    if before is not None:
        scales = (before.inputs, before.target)
        arrays += [part for scaling in scales for part in (scaling.centre, scaling.scale)]
        arrays.append(before.network.theta.detach().cpu().numpy())
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
