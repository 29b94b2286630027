"""Trainings on disk: tensors and what they belong to in one file, written in one step.

The file is of the safetensors format, with JSON in its header; nothing in it can run. A training
that was killed goes on from its last checkpoint, and ends with the same bits as one that was not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from negcorr._common.files import write_atomically
from negcorr.deep.training.loop import Training
from negcorr.exceptions import CheckpointError

__all__ = ["read_tensors", "restore", "state_of", "write_tensors"]

#: Of the files; raised when older readers could not make sense of them.
FORMAT = 1


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Replace a file by these tensors in one step.

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

    ready = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    text = json.dumps(dict(about), sort_keys=True)
    head = {"format": str(FORMAT), "about": text, "sha256": _digest(ready, text)}
    write_atomically(path, save(ready, head))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors of a file, and what they are about.

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
            head = file.metadata() or {}
            # Copies: what is handed out lies in the file, and changes with it.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged or no safetensors file ({error}).") from error
    if not {"format", "about", "sha256"} <= set(head):
        raise CheckpointError(f"{path} is a safetensors file, but was not written by negcorr.")
    if head["format"] != str(FORMAT):
        raise CheckpointError(
            f"{path} has format {head['format']}; this version of negcorr reads format {FORMAT}."
        )
    if head["sha256"] != _digest(tensors, head["about"]):
        raise CheckpointError(f"{path} is damaged: what it holds does not match its checksum.")
    about: dict[str, Any] = json.loads(head["about"])
    return tensors, about


def _digest(tensors: Mapping[str, Tensor], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        # As bytes, since NumPy does not have every dtype of torch.
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def state_of(training: Training) -> dict[str, Tensor]:
    """Every tensor that the rest of a training depends on, by name."""
    return {
        "theta": training.network.theta.detach(),
        "statistics": training.network.statistics,
        "first": training.steps.first,
        "second": training.steps.second,
        "count": training.steps.count,
        "rate": training.schedule.rate,
        "best": training.schedule.best,
        "stale": training.schedule.stale,
        "waited": training.schedule.waited,
        "losses": training.losses,
        "epoch": torch.tensor(training.epoch),
    }


def restore(training: Training, tensors: Mapping[str, Tensor]) -> None:
    """Put a training where another of the same shape stood.

    Parameters
    ----------
    training : Training
        Just started; moved on in place.
    tensors : mapping of str to tensor
        From :func:`state_of`.
    """
    own = state_of(training)
    for name, value in own.items():
        wanted = _kind(value)
        found = _kind(tensors[name]) if name in tensors else "nothing"
        if found != wanted:
            raise CheckpointError(f"the checkpoint has {found} for {name!r}, not {wanted}.")
    for name, value in own.items():
        value.copy_(tensors[name])
    training.epoch = int(tensors["epoch"])


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
