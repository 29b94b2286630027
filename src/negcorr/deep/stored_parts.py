"""Deep ensembles as parts that files can hold: tensors, and a description in JSON; no pickle.

:func:`stored_parts` turns an estimator into tensors by name and a description, and
:func:`model_from_parts` builds it again, after checking that the parts fit together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.deep.fitted import DeepFit, History, LamTable, Scaling
from negcorr.deep.settings import resolve_device
from negcorr.deep.training.loop import Training
from negcorr.deep.training.networks import Architecture, EnsembleMLP
from negcorr.exceptions import CheckpointError

__all__ = ["KIND", "model_from_parts", "stored_parts"]

#: The kind of the content, as files of models name it.
KIND = "DeepNCLRegressor"

#: Parameters that belong to a machine or a session rather than to a model.
LOCAL_PARAMETERS = ("checkpoint", "device", "progress")

#: The entries of a description, and their types.
ENTRIES: dict[str, tuple[type, ...]] = {
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
ARCHITECTURE_ENTRIES: dict[str, tuple[type, ...]] = {
    "hidden_layer_sizes": (list,),
    "n_members": (int,),
    "activation": (str,),
    "batch_norm": (bool,),
}

#: Attributes of a fit: numbers in the description, arrays with a value for each output, scales.
PLAIN = ("learning_rate", "last_rate", "eps", "n_epochs", "single")
PER_OUTPUT = ("dof", "dof_std_error", "noise_variance")
SCALINGS = ("inputs", "target", "copy_scaling")
COPY_SCALING = ("copy_scaling.centre", "copy_scaling.scale")

#: Arrays of a table over λ, and of a history.
TABLE = tuple(f.name for f in dataclasses.fields(LamTable) if f.name != "chosen")
HISTORY = tuple(f.name for f in dataclasses.fields(History))

#: Names of arrays in a file, and where a fit has them.
ARRAYS = (
    *(f"{name}.{part}" for name in SCALINGS for part in ("centre", "scale")),
    *("lam", *PER_OUTPUT),
    *(f"history.{name}" for name in HISTORY),
)


def stored_parts(model: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An estimator as tensors by name, and a description that JSON can hold.

    Parameters that are Python objects (a RandomState, a callback) are left out: predictions do not
    need them. An estimator that is not fitted has no tensors.
    """
    params = _plain_parameters(model)
    for name in LOCAL_PARAMETERS:
        params.pop(name, None)
    if model.training is not None:
        params["training"] = _plain_parameters(model.training)
    about: dict[str, Any] = {"kind": KIND, "version": version("negcorr"), "params": params}
    found: DeepFit | None = getattr(model, "_fit", None)
    if found is None:
        return {}, about
    network, table = found.network, found.table
    arrays = {name: attrgetter(name)(found) for name in ARRAYS}
    if table is not None:
        arrays |= {f"table.{name}": getattr(table, name) for name in TABLE}
    # A copy: arrays of a model may be views of one another, which the format cannot hold.
    tensors = {
        name: torch.tensor(np.asarray(value, dtype=np.float64)) for name, value in arrays.items()
    }
    for name, part in (("network", network), ("copies", found.copies)):
        if part is not None:
            tensors |= {f"{name}.theta": part.theta, f"{name}.statistics": part.statistics}
    names = getattr(model, "feature_names_in_", None)
    shape = dataclasses.asdict(network.architecture)
    about |= {
        "architecture": shape | {"hidden_layer_sizes": list(shape["hidden_layer_sizes"])},
        "n_outputs": network.widths[-1],
        "n_features_in": model.n_features_in_,
        "feature_names_in": None if names is None else [str(name) for name in names],
        "chosen": None if table is None else table.chosen,
        **{name: getattr(found, name) for name in PLAIN},
    }
    return tensors, about


def model_from_parts(
    cls: type[Any], tensors: dict[str, Tensor], about: dict[str, Any], device: str
) -> Any:
    """An estimator from what :func:`stored_parts` returned.

    Parameters
    ----------
    cls : type
        Class of the estimator.
    tensors, about
        Checked here: nothing is built of parts that do not fit together.
    device : str
        Device of its networks.

    Raises
    ------
    CheckpointError
        Where parts are missing, unknown, or of another shape than the rest.
    """
    params = about.get("params") if isinstance(about, dict) else None
    if not isinstance(params, dict) or about.get("kind") != KIND:
        raise CheckpointError(f"what should be a {KIND} does not say so, or has no parameters.")
    training = params.get("training")
    if not isinstance(training, dict | None):
        raise CheckpointError(f"training={training!r} is not of the kind that belongs there.")
    for kind, given in ((cls, params), (Training, training or {})):
        unknown = set(given) - (set(kind._get_param_names()) - set(LOCAL_PARAMETERS))
        if unknown:
            name = kind.__name__
            raise CheckpointError(f"a {name} has the unknown parameters {sorted(unknown)}.")
    model = cls(**params, device=device)
    if training is not None:
        model.training = Training(**training)
    if isinstance(model.hidden_layer_sizes, list):
        model.hidden_layer_sizes = tuple(model.hidden_layer_sizes)
    if not tensors:
        return model
    _check_description(about)
    _check_tensors(tensors, about)
    model.n_features_in_ = about["n_features_in"]
    if about["feature_names_in"] is not None:
        model.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
    networks = {
        name: network.to(resolve_device(device)).eval()
        for name, network in _networks(tensors, about, "cpu").items()
    }
    with torch.no_grad():
        for name, network in networks.items():
            network.theta.copy_(tensors[f"{name}.theta"])
            network.statistics.copy_(tensors[f"{name}.statistics"])
    arrays: dict[str, FloatArray] = {name: value.numpy() for name, value in tensors.items()}
    lam, table = arrays["lam"], None
    if about["chosen"] is not None:
        table = LamTable(**{n: arrays[f"table.{n}"] for n in TABLE}, chosen=about["chosen"])
    values: dict[str, Any] = {name: about[name] for name in PLAIN}
    values |= {name: arrays[name] for name in PER_OUTPUT}
    for name in SCALINGS:
        values[name] = Scaling(arrays[f"{name}.centre"], arrays[f"{name}.scale"])
    fit = DeepFit(
        network=networks["network"],
        copies=networks.get("copies"),
        lam=float(lam) if lam.ndim == 0 else lam,
        table=table,
        history=History(**{name: arrays[f"history.{name}"] for name in HISTORY}),
        **values,
    )
    return model._adopt(fit)


def _check_description(about: Mapping[str, Any]) -> None:
    """Refuse a description with missing entries, or entries of other types."""
    for entries, kinds_by_name in (
        (about, ENTRIES),
        (about.get("architecture"), ARCHITECTURE_ENTRIES),
    ):
        for name, kinds in kinds_by_name.items():
            value = entries.get(name, "missing") if isinstance(entries, dict) else "missing"
            # Truth values count as integers, which is not meant here.
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise CheckpointError(f"{name}={value!r} is not of the kind that belongs there.")
    shape, names, inputs = about["architecture"], about["feature_names_in"], about["n_features_in"]
    integers = all(type(n) is int for n in shape["hidden_layer_sizes"])
    if set(shape) != set(ARCHITECTURE_ENTRIES) or not integers:
        raise CheckpointError(f"architecture={shape!r} is not one of networks.")
    if names is not None and (len(names) != inputs or not all(type(n) is str for n in names)):
        raise CheckpointError(f"feature_names_in has {len(names)} names for {inputs} columns.")


def _check_tensors(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Refuse tensors that are missing, not of floats, or of shapes that do not fit together."""
    outputs, inputs = about["n_outputs"], about["n_features_in"]
    shapes: dict[str, tuple[int, ...]] = {}
    dtype = _floats(tensors, "network.theta").dtype
    # Shapes without numbers: the networks of a description may be larger than memory.
    for name, network in _networks(tensors, about, "meta").items():
        for part in ("theta", "statistics"):
            shapes[f"{name}.{part}"] = tuple(getattr(network, part).shape)
            if _floats(tensors, f"{name}.{part}").dtype != dtype:
                raise CheckpointError(f"{name}.{part} is not of {dtype}.")
        if name == "copies":
            n_copies = len(network.theta) // network.n_members
            shapes |= dict.fromkeys(COPY_SCALING, (n_copies, 1, outputs))
    n_lams = _floats(tensors, "history.lams").numel()
    shapes |= {
        **dict.fromkeys(("inputs.centre", "inputs.scale"), (inputs,)),
        **dict.fromkeys(("target.centre", "target.scale", *PER_OUTPUT), (outputs,)),
        **dict.fromkeys(("history.lams", "history.rates"), (n_lams,)),
        "history.losses": (len(_floats(tensors, "history.losses")), n_lams),
    }
    if about["chosen"] is not None:
        n_rows = _floats(tensors, "table.lam").numel()
        if not 0 <= about["chosen"] < n_rows:
            raise CheckpointError(f"chosen={about['chosen']} is no row of a table of {n_rows}.")
        shapes |= {f"table.{name}": (n_rows, outputs) for name in TABLE}
        shapes |= {"table.lam": (n_rows,), "table.noise_variance": (outputs,)}
    for name in COPY_SCALING:
        # Without perturbed copies any shape will do, since they are not used.
        shapes.setdefault(name, tuple(_floats(tensors, name).shape))
    for name, shape in shapes.items():
        found = tuple(_floats(tensors, name).shape)
        if found != shape:
            raise CheckpointError(f"{name} has shape {found}, not {shape}.")
    lam = tensors.get("lam")
    if lam is None or not lam.is_floating_point() or tuple(lam.shape) not in ((), (outputs,)):
        raise CheckpointError("lam is neither one number nor one for each output.")


def _floats(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in tensors or not tensors[name].is_floating_point():
        raise CheckpointError(f"{name} is missing, or not made of floats.")
    if tensors[name].ndim == 0:
        raise CheckpointError(f"{name} is one number, not an array.")
    return tensors[name]


def _networks(
    tensors: Mapping[str, Tensor], about: Mapping[str, Any], device: str
) -> dict[str, EnsembleMLP]:
    """Networks of the shapes in a description, without their weights."""
    shape = about["architecture"]
    found = {}
    for name in ("network", "copies") if "copies.theta" in tensors else ("network",):
        theta = _floats(tensors, f"{name}.theta")
        try:
            architecture = Architecture(
                **shape | {"hidden_layer_sizes": tuple(shape["hidden_layer_sizes"])}
            )
            ensembles = max(len(theta) // max(architecture.n_members, 1), 1)
            found[name] = architecture.empty(
                about["n_features_in"],
                about["n_outputs"],
                None if name == "network" else ensembles,
                theta.dtype,
                device,
            )
        except (ValueError, RuntimeError, OverflowError) as error:
            raise CheckpointError(f"{name} cannot be built: {error}") from error
    return found


def _plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Parameters that JSON can hold."""
    plain = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    return {n: v for n, v in plain.items() if isinstance(v, bool | int | float | str | list | None)}


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's, and sequences as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
