"""Parts of a stored deep ensemble, checked against each other before anything is built of them.

Tensors are copied into networks by torch, which stretches what is too small without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from negcorr.deep.training.architecture import Architecture
from negcorr.exceptions import CheckpointError

__all__ = ["architecture_of", "check_parts"]

#: What a description must have, and of what kind.
WORDS: dict[str, tuple[type, ...]] = {
    "architecture": (dict,),
    "n_outputs": (int,),
    "n_features_in": (int,),
    "feature_names_in": (list, type(None)),
    "learning_rate": (int, float),
    "last_rate": (int, float),
    "eps": (int, float),
    "n_epochs": (int,),
    "single": (bool,),
    "chosen": (int, type(None)),
}

_SHAPE: dict[str, type] = {
    "hidden_layer_sizes": list,
    "n_members": int,
    "activation": str,
    "batch_norm": bool,
}


def architecture_of(about: Mapping[str, Any]) -> Architecture:
    """The shape of the networks that a description tells of."""
    shape = about["architecture"]
    return Architecture(**{**shape, "hidden_layer_sizes": tuple(shape["hidden_layer_sizes"])})


def check_parts(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Refuse parts that are missing, of another kind, or that do not fit together.

    Parameters
    ----------
    tensors : mapping of str to tensor
    about : mapping
        As in :func:`negcorr.deep.persistence.parts_of`.

    Raises
    ------
    CheckpointError
        Naming the part.
    """
    for name, kinds in WORDS.items():
        _check_kind(name, about.get(name, "missing"), kinds)
    for name, kind in _SHAPE.items():
        _check_kind(name, about["architecture"].get(name, "missing"), (kind,))
    sizes = about["architecture"]["hidden_layer_sizes"]
    if set(about["architecture"]) != set(_SHAPE) or not all(type(n) is int for n in sizes):
        raise CheckpointError(f"architecture={about['architecture']!r} is not one of networks.")
    outputs, inputs = about["n_outputs"], about["n_features_in"]
    names = about["feature_names_in"]
    if names is not None and (len(names) != inputs or not all(type(n) is str for n in names)):
        raise CheckpointError(f"feature_names_in has {len(names)} names for {inputs} columns.")
    _check_networks(tensors, about)
    wanted: dict[str, tuple[int, ...]] = {
        "inputs.centre": (inputs,),
        "inputs.scale": (inputs,),
        **dict.fromkeys(("target.centre", "target.scale"), (outputs,)),
        **dict.fromkeys(("dof", "dof_std_error", "noise_variance"), (outputs,)),
        **_table_shapes(tensors, about),
    }
    if "twins.theta" in tensors:
        twins = len(tensors["twins.theta"]) // about["architecture"]["n_members"]
        wanted |= dict.fromkeys(("twin_centre", "twin_scale"), (twins, 1, outputs))
    for name, shape in wanted.items():
        _check_shape(tensors, name, shape)
    if tuple(_tensor(tensors, "lam").shape) not in ((), (outputs,)):
        raise CheckpointError("lam is neither one number nor one for each output.")


def _table_shapes(
    tensors: Mapping[str, Tensor], about: Mapping[str, Any]
) -> dict[str, tuple[int, ...]]:
    """Of the tables over λ."""
    outputs = about["n_outputs"]
    count = _tensor(tensors, "history.lams").numel()
    epochs = _tensor(tensors, "history.losses").shape[0]
    found: dict[str, tuple[int, ...]] = {
        "history.lams": (count,),
        "history.rates": (count,),
        "history.losses": (epochs, count),
    }
    if about["chosen"] is None:
        return found
    rows = _tensor(tensors, "table.lam").numel()
    if not 0 <= about["chosen"] < rows:
        raise CheckpointError(f"chosen={about['chosen']} is no row of a table of {rows}.")
    columns = ("train_error", "dof", "dof_std_error", "sure", "gcv")
    found |= {"table.lam": (rows,), "table.noise_variance": (outputs,)}
    return found | {f"table.{name}": (rows, outputs) for name in columns}


def _check_networks(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    architecture = architecture_of(about)
    dtype = _tensor(tensors, "network.theta").dtype
    for name in ("network", "twins") if "twins.theta" in tensors else ("network",):
        rows = len(_tensor(tensors, f"{name}.theta"))
        ensembles = None if name == "network" else max(rows // architecture.n_members, 1)
        # Shapes without numbers: what a description asks for may be larger than memory.
        with torch.device("meta"):
            try:
                like = architecture.empty(
                    about["n_features_in"], about["n_outputs"], ensembles, dtype
                )
            except (ValueError, RuntimeError, OverflowError) as error:
                raise CheckpointError(f"{name} cannot be built: {error}") from error
        _check_shape(tensors, f"{name}.theta", tuple(like.theta.shape), dtype)
        _check_shape(tensors, f"{name}.statistics", tuple(like.statistics.shape), dtype)


def _tensor(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in tensors or not tensors[name].is_floating_point():
        raise CheckpointError(f"{name} is missing, or not made of floats.")
    if name not in ("lam",) and tensors[name].ndim == 0:
        raise CheckpointError(f"{name} is one number, not an array.")
    return tensors[name]


def _check_shape(
    tensors: Mapping[str, Tensor],
    name: str,
    shape: tuple[int, ...],
    dtype: torch.dtype | None = None,
) -> None:
    found = _tensor(tensors, name)
    if tuple(found.shape) != shape or (dtype is not None and found.dtype != dtype):
        raise CheckpointError(f"{name} has shape {tuple(found.shape)}, not {shape}.")


def _check_kind(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    # Truth values count as integers, which nobody means.
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise CheckpointError(f"{name}={value!r} is not of the kind that belongs there.")
