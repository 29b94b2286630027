"""Deep ensembles as parts that files can hold: tensors, and a description in JSON; no pickle.

:func:`stored_parts` turns an estimator into tensors by name and a description, and
:func:`model_from_parts` builds it again, after checking that the parts fit together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from importlib.metadata import version
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from negcorr.columns.encoding import CategoryPart, DatePart, Encoding, NumberPart
from negcorr.deep.fitted import DeepFit, History, LamTable, Scaling
from negcorr.deep.settings import resolve_device
from negcorr.deep.training.loop import Training
from negcorr.deep.training.networks import Architecture, EnsembleMLP
from negcorr.exceptions import CheckpointError, TableError
from negcorr.reading.schema import Schema

__all__ = ["KIND", "model_from_parts", "stored_parts"]

#: The kind of the content, as files of models name it.
KIND = "DeepNCLRegressor"

#: Parameters that describe a machine or a session, not the model.
LOCAL_PARAMETERS = ("checkpoint", "device", "progress")

#: The entries of a description, by their types.
ENTRIES: dict[tuple[type, ...], tuple[str, ...]] = {
    (list,): ("hidden_layer_sizes",),
    (int,): ("n_members", "n_epochs"),
    (str,): ("activation",),
    (bool,): ("batch_norm", "single"),
    (int, float): ("learning_rate", "last_rate", "eps"),
    (int, type(None)): ("chosen",),
    (list, type(None)): ("feature_names_in",),
    (dict, type(None)): ("encoding",),
}

#: Types of the items of entries that are lists.
ITEMS = {"hidden_layer_sizes": int, "feature_names_in": str}

#: Entries that describe the networks, and those that are attributes of a fit.
SHAPE = ("hidden_layer_sizes", "n_members", "activation", "batch_norm")
NUMBERS = ("learning_rate", "last_rate", "eps", "n_epochs", "single")

#: What is made of a column, by its role, and the types of its fields in JSON.
MADE_OF: dict[str, type[Any]] = {"number": NumberPart, "category": CategoryPart, "date": DatePart}
FIELDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "float": (int, float),
    "bool": (bool,),
    "tuple[str, ...]": (list,),
}

#: Tensors of networks.
WEIGHTS = ("theta", "statistics")

#: Networks and scales, whose numbers predictions are made from.
NETWORKS, SCALES = ("network", "copies"), ("centre", "scale")

#: Tensors by name.
Tensors = Mapping[str, Tensor]

#: Names of arrays by their axes, a letter for each.
Layout = dict[str, tuple[str, ...]]

#: Arrays of a fit: columns d, outputs p, epochs e, values of λ in the history h and
#: in the table g, perturbed copies k.
ARRAYS: Layout = {
    "d": ("inputs.centre", "inputs.scale"),
    "p": ("target.centre", "target.scale", "dof", "dof_std_error", "noise_variance"),
    "h": ("history.lams", "history.rates"),
    "eh": ("history.losses",),
}
OF_COPIES: Layout = {"k1p": ("copy_scaling.centre", "copy_scaling.scale")}
OF_TABLE: Layout = {
    "g": ("table.lam",),
    "gp": tuple(f"table.{name}" for name in ("train_error", "dof", "dof_std_error", "sure", "gcv")),
    "p": ("table.noise_variance",),
}

#: What arrays with the same first name belong to.
PARTS: dict[str, type[Any]] = {
    "inputs": Scaling,
    "target": Scaling,
    "copy_scaling": Scaling,
    "history": History,
    "table": LamTable,
}


def stored_parts(model: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An estimator as tensors by name, and a description that JSON can hold.

    Parameters that are Python objects (a RandomState, a callback) are left out: predictions do not
    need them. An estimator that is not fitted has no tensors.
    """
    params = {n: v for n, v in _plain_parameters(model).items() if n not in LOCAL_PARAMETERS}
    if model.training is not None:
        params["training"] = _plain_parameters(model.training)
    about: dict[str, Any] = {"kind": KIND, "version": version("negcorr"), "params": params}
    found: DeepFit | None = getattr(model, "_fit", None)
    if found is None:
        return {}, about
    # A copy: arrays of a model may be views of one another, which the format cannot hold.
    tensors = {
        name: torch.tensor(np.asarray(attrgetter(name)(found), dtype=np.float64))
        for name in ("lam", *_axes(found.copies is not None, found.table is not None))
    }
    for name, part in (("network", found.network), ("copies", found.copies)):
        if part is not None:
            tensors |= {f"{name}.{key}": value for key, value in part.state_dict().items()}
    shape = found.network.architecture
    about |= {
        **{name: _plain(getattr(shape, name)) for name in SHAPE},
        **{name: getattr(found, name) for name in NUMBERS},
        "feature_names_in": _plain(getattr(model, "feature_names_in_", None)),
        "chosen": None if found.table is None else found.table.chosen,
        "encoding": None if found.encoding is None else _plain_encoding(found.encoding),
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
    model = _not_fitted(cls, about, device)
    if not tensors:
        return model
    for kinds, name in ((kinds, name) for kinds, names in ENTRIES.items() for name in names):
        value = about.get(name, "missing")
        items = {type(item) for item in value} if isinstance(value, list) else set()
        if type(value) not in kinds or not items <= {ITEMS.get(name)}:
            raise CheckpointError(f"{name}={value!r} is not of the kind that belongs there.")
    axes = _axes("copies.theta" in tensors, about["chosen"] is not None)
    sizes = _sizes(tensors, axes)
    encoding = None if about["encoding"] is None else _encoding(about["encoding"], sizes["d"])
    n_columns = sizes["d"] if encoding is None else len(encoding.schema.columns)
    model.n_features_in_, names, chosen = n_columns, about["feature_names_in"], about["chosen"]
    if names is not None:
        if len(names) != n_columns:
            raise CheckpointError(
                f"feature_names_in has {len(names)} names for {n_columns} columns."
            )
        model.feature_names_in_ = np.array(names, dtype=object)
    parts: dict[str, dict[str, Any]] = {}
    for name in axes:
        part, _, array = name.rpartition(".")
        parts.setdefault(part, {})[array] = tensors[name].numpy()
    if chosen is not None:
        if not 0 <= chosen < sizes["g"]:
            raise CheckpointError(f"chosen={chosen} is no row of a table of {sizes['g']}.")
        parts["table"]["chosen"] = chosen
    lam = tensors["lam"].numpy()
    _check_numbers(tensors)
    fit = DeepFit(
        network=_network("network", tensors, about, sizes, device),
        copies=_network("copies", tensors, about, sizes, device) if "k" in sizes else None,
        lam=float(lam) if lam.ndim == 0 else lam,
        encoding=encoding,
        **{name: about[name] for name in NUMBERS},
        **parts.pop(""),
        **{name: PARTS[name](**arrays) for name, arrays in parts.items()},
    )
    return model._adopt(fit)


def _not_fitted(cls: type[Any], about: Any, device: str) -> Any:
    """The estimator with the parameters of a description, which are checked."""
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
    return model


def _plain_encoding(encoding: Encoding) -> dict[str, Any]:
    """An encoding as JSON can hold it."""
    return {
        "schema": encoding.schema.to_json(),
        "parts": [{k: _plain(v) for k, v in asdict(part).items()} for part in encoding.parts],
    }


def _encoding(stored: dict[str, Any], n_features: int) -> Encoding:
    """An encoding from what :func:`_plain_encoding` returned, which is checked."""
    problem = "the encoding of columns is damaged"
    try:
        schema = Schema.from_json(stored["schema"])
        made = []
        for name, given in zip(schema.inputs, stored["parts"], strict=True):
            kind = MADE_OF[schema[name].role]
            for field in fields(kind):
                value = given[field.name]
                items = {type(item) for item in value} if type(value) is list else set()
                if type(value) not in FIELDS[str(field.type)] or not items <= {str}:
                    raise ValueError(f"{field.name}={value!r} of column {name!r}")
            if given["name"] != name:
                raise ValueError(f"{given['name']!r} stands in the place of {name!r}")
            made.append(kind(**{k: tuple(v) if type(v) is list else v for k, v in given.items()}))
    except (TypeError, ValueError, KeyError, TableError) as error:
        raise CheckpointError(f"{problem}: {error}.") from error
    encoding = Encoding(schema, tuple(made))
    if len(encoding.feature_names) != n_features:
        raise CheckpointError(
            f"{problem}: it makes {len(encoding.feature_names)} columns, the networks have "
            f"{n_features}."
        )
    return encoding


def _axes(with_copies: bool, with_table: bool) -> dict[str, str]:
    """Names and axes of the arrays of a fit."""
    groups = [ARRAYS, OF_COPIES if with_copies else {}, OF_TABLE if with_table else {}]
    return {name: axes for group in groups for axes, names in group.items() for name in names}


def _sizes(tensors: Tensors, axes: dict[str, str]) -> dict[str, int]:
    """The size of every axis, after checking that all arrays exist and agree on it."""
    sizes = {"1": 1}
    several = "p" if "lam" in tensors and tensors["lam"].ndim else ""
    for name, letters in (axes | {"lam": several}).items():
        array = tensors.get(name)
        if array is None or not array.is_floating_point():
            raise CheckpointError(f"{name} is missing, or not made of floats.")
        known = [sizes.setdefault(a, n) for a, n in zip(letters, array.shape, strict=False)]
        if array.ndim != len(letters) or tuple(known) != tuple(array.shape):
            raise CheckpointError(
                f"{name} of shape {tuple(array.shape)} does not fit the arrays before it."
            )
    return sizes


def _check_numbers(tensors: Tensors) -> None:
    """Refuse numbers from which no prediction can be made."""
    for name, value in tensors.items():
        part, _, what = name.rpartition(".")
        if (part in NETWORKS or what in SCALES) and not value.isfinite().all():
            raise CheckpointError(f"{name} is not finite.")
        if what == "scale" and not (value > 0).all():
            raise CheckpointError(f"{name} is not positive.")
    if not ((tensors["lam"] >= 0) & (tensors["lam"] <= 1)).all():
        raise CheckpointError("lam is not between 0 and 1.")


def _network(
    name: str, tensors: Tensors, about: dict[str, Any], sizes: dict[str, int], device: str
) -> EnsembleMLP:
    """The networks of a name, after checking that their weights are those of the description."""
    weights = {key: tensors[f"{name}.{key}"] for key in WEIGHTS if f"{name}.{key}" in tensors}
    theta = tensors.get("network.theta")
    if theta is None or {weight.dtype for weight in weights.values()} != {theta.dtype}:
        raise CheckpointError(f"the weights of {name} are missing, or not of one precision.")
    shape = {key: about[key] for key in SHAPE}
    shape["hidden_layer_sizes"] = tuple(shape["hidden_layer_sizes"])
    try:
        # Without numbers at first: the networks of a description may be larger than memory.
        network = Architecture(**shape).empty(
            sizes["d"], sizes["p"], None if name == "network" else sizes["k"], device="meta"
        )
        wanted = {key: tuple(value.shape) for key, value in network.state_dict().items()}
        found = {key: tuple(value.shape) for key, value in weights.items()}
        if found != wanted:
            raise ValueError(f"it has tensors of the shapes {found}, not {wanted}.")
        network.load_state_dict(weights, assign=True)
    except (ValueError, RuntimeError, OverflowError) as error:
        raise CheckpointError(f"{name} cannot be built: {error}") from error
    return network.to(resolve_device(device)).eval()


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
