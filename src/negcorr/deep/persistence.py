"""Fitted deep ensembles in one file: safetensors for numbers, JSON for the rest, no pickle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.deep.deep_fit import DeepFit
from negcorr.deep.history import History, LamTable
from negcorr.deep.scaling import Scaling
from negcorr.deep.stored_parts import architecture_of, check_parts
from negcorr.deep.training.checkpoint import read_tensors, write_tensors
from negcorr.deep.training.devices import resolve_device
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.exceptions import CheckpointError

__all__ = ["assembled", "load_model", "parts_of", "save_model"]

#: What a file of a model says it is.
KIND = "DeepNCLRegressor"

#: Parameters that belong to a place rather than to a model.
OF_A_PLACE = ("checkpoint", "device", "progress")


def save_model(model: Any, path: Path) -> None:
    """Write a fitted estimator to one file, in one step."""
    write_tensors(path, *parts_of(model))


def parts_of(model: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An estimator as tensors by name, and what else there is to it in words of JSON.

    Parameters of Python objects (a RandomState, a callback) are left out: predictions do not need
    them. An estimator that is not fitted has no tensors.
    """
    about = {"kind": KIND, "version": version("negcorr"), "params": _plain_params(model)}
    found: DeepFit | None = getattr(model, "_fit", None)
    if found is None:
        return {}, about
    return _tensors_of(found), {**about, **_words_of(model, found)}


def _tensors_of(found: DeepFit) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {
        "network.theta": found.network.theta,
        "network.statistics": found.network.statistics,
    }
    if found.twins is not None:
        tensors["twins.theta"] = found.twins.theta
        tensors["twins.statistics"] = found.twins.statistics
    arrays = {
        "twin_centre": found.twin_centre,
        "twin_scale": found.twin_scale,
        "inputs.centre": found.inputs.centre,
        "inputs.scale": found.inputs.scale,
        "target.centre": found.target.centre,
        "target.scale": found.target.scale,
        "lam": np.asarray(found.lam, dtype=np.float64),
        "dof": found.dof,
        "dof_std_error": found.dof_std_error,
        "noise_variance": found.noise_variance,
        **{f"history.{f.name}": getattr(found.history, f.name) for f in _fields(History)},
    }
    if found.table is not None:
        names = [f.name for f in _fields(LamTable) if f.name != "chosen"]
        arrays |= {f"table.{name}": getattr(found.table, name) for name in names}
    # A copy: arrays of a model may be views of one another, which the format has no word for.
    return tensors | {name: torch.tensor(np.asarray(value)) for name, value in arrays.items()}


def _words_of(model: Any, found: DeepFit) -> dict[str, Any]:
    network = found.network
    return {
        "architecture": {
            "hidden_layer_sizes": list(network.widths[1:-1]),
            "n_members": network.n_members,
            "activation": network.activation,
            "batch_norm": network.batch_norm,
        },
        "n_outputs": network.widths[-1],
        "n_features_in": model.n_features_in_,
        "feature_names_in": _names(model),
        "learning_rate": found.learning_rate,
        "last_rate": found.last_rate,
        "eps": found.eps,
        "n_epochs": found.n_epochs,
        "single": found.single,
        "chosen": None if found.table is None else found.table.chosen,
    }


def load_model(cls: type[Any], path: Path, device: str) -> Any:
    """A fitted estimator from its file."""
    resolve_device(device)  # a device that is not there is refused before the file is read
    tensors, about = read_tensors(path)
    if about.get("kind") != KIND:
        raise CheckpointError(f"{path} holds a {about.get('kind')}, not a {KIND}.")
    return assembled(cls, tensors, about, device)


def assembled(
    cls: type[Any], tensors: dict[str, Tensor], about: dict[str, Any], device: str
) -> Any:
    """An estimator from what :func:`parts_of` gave.

    Parameters
    ----------
    cls : type
        Kind of the estimator.
    tensors, about
        Checked here: nothing is built of parts that do not fit together.
    device : str
        Where its networks are to be.

    Raises
    ------
    CheckpointError
        Where parts are missing, unknown, or of another shape than the rest.
    """
    params = about.get("params") if isinstance(about, dict) else None
    if not isinstance(params, dict) or about.get("kind") != KIND:
        raise CheckpointError(f"what should be a {KIND} does not say so, or has no parameters.")
    unknown = set(params) - (set(cls._get_param_names()) - set(OF_A_PLACE))
    if unknown:
        raise CheckpointError(f"a {KIND} has the unknown parameters {sorted(unknown)}.")
    model = cls(**params, device=device)
    if isinstance(model.hidden_layer_sizes, list):
        model.hidden_layer_sizes = tuple(model.hidden_layer_sizes)
    if not tensors:
        return model
    check_parts(tensors, about)
    model.n_features_in_ = about["n_features_in"]
    if about["feature_names_in"] is not None:
        model.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
    return model._adopt(_fit_from(tensors, about, resolve_device(device)))


def _fit_from(tensors: dict[str, Tensor], about: dict[str, Any], device: torch.device) -> DeepFit:
    def array(name: str) -> FloatArray:
        return np.asarray(tensors[name].numpy())

    table = None
    if about["chosen"] is not None:
        names = [f.name for f in _fields(LamTable) if f.name != "chosen"]
        table = LamTable(**{name: array(f"table.{name}") for name in names}, chosen=about["chosen"])
    lam = array("lam")
    network = _network(tensors, about, "network", device)
    assert network is not None
    return DeepFit(
        network=network,
        twins=_network(tensors, about, "twins", device),
        twin_centre=array("twin_centre"),
        twin_scale=array("twin_scale"),
        inputs=Scaling(array("inputs.centre"), array("inputs.scale")),
        target=Scaling(array("target.centre"), array("target.scale")),
        lam=float(lam) if lam.ndim == 0 else lam,
        dof=array("dof"),
        dof_std_error=array("dof_std_error"),
        noise_variance=array("noise_variance"),
        learning_rate=about["learning_rate"],
        last_rate=about["last_rate"],
        eps=about["eps"],
        table=table,
        history=History(**{f.name: array(f"history.{f.name}") for f in _fields(History)}),
        n_epochs=about["n_epochs"],
        training=None,
        single=about["single"],
    )


def _network(
    tensors: dict[str, Tensor], about: dict[str, Any], name: str, device: torch.device
) -> EnsembleMLP | None:
    if f"{name}.theta" not in tensors:
        return None
    architecture = architecture_of(about)
    theta = tensors[f"{name}.theta"]
    ensembles = None if name == "network" else len(theta) // architecture.n_members
    network = architecture.empty(about["n_features_in"], about["n_outputs"], ensembles, theta.dtype)
    with torch.no_grad():
        network.theta.copy_(theta)
        network.statistics.copy_(tensors[f"{name}.statistics"])
    return network.to(device).eval()


def _plain_params(model: Any) -> dict[str, Any]:
    """Parameters that JSON can hold, arrays as lists; others are left at their defaults."""
    found = {}
    for name, value in model.get_params(deep=False).items():
        plain = _plain(value)
        if name not in OF_A_PLACE and isinstance(plain, bool | int | float | str | list | None):
            found[name] = plain
    return found


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's, and sequences as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _fields(kind: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)
