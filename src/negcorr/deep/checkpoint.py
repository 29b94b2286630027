"""Files of tensors, and checkpoints, which store the state of a training while it runs.

Files have the safetensors format, with JSON in the header; they contain no code. A training that
was killed continues from its checkpoint. Its result is bitwise that of an uninterrupted training.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from negcorr._common.files import write_atomically
from negcorr._common.types import FloatArray
from negcorr.deep.fitted import DeepFit, Scaling
from negcorr.deep.settings import Settings
from negcorr.deep.training.loop import TrainingState
from negcorr.exceptions import CheckpointError

__all__ = ["Checkpoint", "checkpoint_of", "read_tensors", "restore", "state_of", "write_tensors"]

#: Settings that do not change the numbers of a training, only what is computed from them.
AFTER_TRAINING = ("noise_variance", "criterion")

#: Version of the file format; increased when older versions cannot read the new files.
FORMAT = 2


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors to a file, which is replaced in one step.

    Parameters
    ----------
    path : Path
        What to write.
    tensors : mapping of str to tensor
        By name.
    about : mapping
        Anything that JSON can hold.
    """
    from safetensors.torch import save

    # Copies: torch calls a single number contiguous whatever its stride, and cannot view its bytes.
    ready = {
        name: value.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, value in tensors.items()
    }
    text = json.dumps(dict(about), sort_keys=True)
    header = {"format": str(FORMAT), "about": text, "sha256": _digest(ready, text)}
    write_atomically(path, save(ready, header))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors of a file, and the description that was stored with them.

    Raises
    ------
    CheckpointError
        If the file is damaged, or not one of ours.
    FileNotFoundError
        If there is none.
    """
    from safetensors import SafetensorError, safe_open

    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            # Copies: the tensors of the file are memory-mapped, and would change with it.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged or no safetensors file ({error}).") from error
    if not {"format", "about", "sha256"} <= set(header):
        raise CheckpointError(f"{path} is a safetensors file, but was not written by negcorr.")
    if header["format"] != str(FORMAT):
        raise CheckpointError(
            f"{path} has format {header['format']}; this version of negcorr reads format {FORMAT}."
        )
    if header["sha256"] != _digest(tensors, header["about"]):
        raise CheckpointError(f"{path} is damaged: what it holds does not match its checksum.")
    try:
        about: dict[str, Any] = json.loads(header["about"])
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: its description is no JSON.") from error
    if not isinstance(about, dict):
        raise CheckpointError(f"{path} is damaged: its description is no mapping.")
    return tensors, about


def _digest(tensors: Mapping[str, Tensor], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        # As bytes, since NumPy does not have every dtype of torch.
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def state_of(state: TrainingState) -> dict[str, Tensor]:
    """Every tensor that the rest of a training depends on, by name."""
    parts = (state.network.state_dict(), vars(state.steps), vars(state.schedule))
    tensors = {name: t for part in parts for name, t in part.items() if isinstance(t, Tensor)}
    return tensors | {"losses": state.losses, "epoch": torch.tensor(state.epoch)}


def restore(state: TrainingState, tensors: Mapping[str, Tensor]) -> None:
    """Set the state of a training to that of another training of the same shape.

    Parameters
    ----------
    state : TrainingState
        Just started; changed in place.
    tensors : mapping of str to tensor
        From :func:`state_of`.
    """
    own = state_of(state)
    for name, value in own.items():
        wanted, found = _kind(value), _kind(tensors[name]) if name in tensors else "nothing"
        if found != wanted:
            raise CheckpointError(f"the checkpoint has {found} for {name!r}, not {wanted}.")
    for name, value in own.items():
        value.copy_(tensors[name])
    state.epoch = int(tensors["epoch"])


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


@dataclass(frozen=True)
class Checkpoint:
    """The file that stores a training while it runs.

    Attributes
    ----------
    path : Path
        File.
    about : mapping
        Description of the training, for the fit that continues it.
    tensors : mapping of str to tensor, optional
        What an earlier training left in the file.
    """

    path: Path
    about: Mapping[str, Any]
    tensors: Mapping[str, Tensor] | None = None

    def write(self, state: TrainingState) -> None:
        """Replace the file by the present state of the training."""
        write_tensors(self.path, state_of(state), self.about)


def checkpoint_of(
    model: Any,
    settings: Settings,
    rows: FloatArray,
    targets: FloatArray,
    inputs: Scaling,
    before: DeepFit | None,
) -> Checkpoint | None:
    """The checkpoint of a fit, with the tensors that an earlier equal fit left in it."""
    given, seed = model.checkpoint, model.random_state
    if given is None:
        return None
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"checkpoint={given!r} must be a path or None, got {type(given).__name__}.")
    path = Path(given)
    if not isinstance(seed, int | np.integer):
        raise ValueError(
            f"checkpoint={str(path)!r} needs an integer random_state, got {seed!r}: without one, a "
            "training could not be continued."
        )
    if path.is_dir():
        raise ValueError(f"checkpoint={str(path)!r} is a folder; name a file, in it or elsewhere.")
    # A hash of everything that determines the numbers of the training.
    training = settings.training
    known: dict[str, Any] = {
        name: repr(value) for name, value in vars(settings).items() if name not in AFTER_TRAINING
    }
    known["training"] = {
        **{name: np.asarray(value).tolist() for name, value in training.get_params().items()},
        "batch_size": training.rows_per_step(len(rows)),
        "patience": training.patience_for(len(rows)),
    }
    known |= {"standardize": bool(model.standardize), "random_state": int(seed)}
    digest = hashlib.sha256(json.dumps([known, torch.__version__], sort_keys=True).encode())
    arrays = [rows, targets, *vars(inputs).values()]
    if before is not None:
        arrays += vars(before.target).values()
        arrays.append(before.network.theta.detach().cpu().numpy())
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    about = {"kind": "training", "of": digest.hexdigest()}
    if not path.exists():
        return Checkpoint(path, about)
    tensors, stored = read_tensors(path)
    if stored.get("of") != about["of"]:
        raise CheckpointError(
            f"checkpoint={str(path)!r} is of a training with other settings or other data; remove "
            "the file, or name another one."
        )
    return Checkpoint(path, stored, tensors)
