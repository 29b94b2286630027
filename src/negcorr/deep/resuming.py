"""Whether a checkpoint is of the training that is about to begin."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from negcorr._typing import FloatArray
from negcorr.deep.checkpoint import read_tensors
from negcorr.deep.deep_fit import DeepFit
from negcorr.deep.grid import Checkpoint
from negcorr.exceptions import CheckpointError

__all__ = ["checkpoint_of"]

#: Parameters that do not decide on the numbers of a training.
ASIDE = ("checkpoint", "progress", "warm_start")


def checkpoint_of(
    model: Any,
    rows: FloatArray,
    targets: FloatArray,
    before: DeepFit | None,
) -> Checkpoint | None:
    """Where to keep the training, with what an earlier one of the same left there."""
    if model.checkpoint is None:
        return None
    if not isinstance(model.random_state, int | np.integer):
        raise ValueError(
            f"checkpoint={str(model.checkpoint)!r} needs an integer random_state, got "
            f"{model.random_state!r}: without one, a training could not be gone on with."
        )
    path = Path(model.checkpoint)
    about: dict[str, Any] = {"kind": "training", "of": _identity(model, rows, targets, before)}
    if not path.exists():
        return Checkpoint(path, about)
    tensors, stored = read_tensors(path)
    if stored.get("of") != about["of"]:
        raise CheckpointError(
            f"checkpoint={str(path)!r} is of a training with other settings or other data; remove "
            "the file, or name another one."
        )
    return Checkpoint(path, stored, tensors)


def _identity(model: Any, rows: FloatArray, targets: FloatArray, before: DeepFit | None) -> str:
    """A hash of all that decides on the numbers of a training."""
    params = {k: str(v) for k, v in model.get_params(deep=False).items() if k not in ASIDE}
    digest = hashlib.sha256(json.dumps([params, torch.__version__], sort_keys=True).encode())
    arrays = [rows, targets]
    if before is not None:
        arrays.append(before.network.theta.detach().cpu().numpy())
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
