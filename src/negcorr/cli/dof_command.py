"""``negcorr dof``: degrees of freedom of a regressor that is named by its class."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from negcorr._common.number_text import amount_with_error
from negcorr.bases.named import BASES, as_basis
from negcorr.cli.arguments import (
    UsageError,
    check_choice,
    check_seed,
    check_target,
    columns_asked_for,
    errors_about,
)
from negcorr.cli.data_commands import DofOptions
from negcorr.cli.output import Output
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.dof.degrees import METHODS, degrees_of_freedom
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import NotLinearError
from negcorr.reading.table import read_table
from negcorr.storage.stored_types import deep_kind

__all__ = ["estimator_named", "run_dof"]


def run_dof(options: DofOptions, output: Output) -> None:
    """Compute degrees of freedom, and print them and how they were found.

    Parameters
    ----------
    options : DofOptions
    output : Output
    """
    check_choice("--method", options.method, METHODS)
    check_seed(options.seed)
    estimator = estimator_named(options.estimator, options.param)
    if isinstance(estimator, NCLRegressor):
        given = {text.partition("=")[0].strip() for text in options.param}
        if "random_state" not in given:
            estimator.set_params(random_state=options.seed)
    check_target(options.target, options.data)
    with output.busy(f"reading {options.data.name}") as tell, errors_about(options.data.name):
        table = read_table(options.data)
        output.note(*table.notes)
        asked_for = columns_asked_for(options, table.frame.columns)
        schema = infer_columns(table.frame, **asked_for)
        rows = samples(table.frame, schema)
        encoder = FrameEncoder().fit(rows.inputs)
        X = rows.inputs
        if not (isinstance(estimator, NCLRegressor) or deep_kind(estimator)):
            X = StandardScaler().fit_transform(encoder.transform(X))
        tell(f"degrees of freedom of {estimator}")
        asked: dict[str, Any] = {"method": options.method, "random_state": options.seed}
        asked |= {} if options.probes is None else {"n_probes": options.probes}
        try:
            found = degrees_of_freedom(estimator, X, rows.y, **asked)
        except NotLinearError as error:
            raise UsageError(f"--method exact: {error}") from error
        except (TypeError, ValueError) as error:
            # The regressor's own message about its parameters or the numbers.
            raise OSError(f"{options.estimator}: {error}") from error
    dofs, errors = np.atleast_1d(found.dof), np.atleast_1d(found.std_error)
    n_rows, n_features = len(X), len(encoder.get_feature_names_out())
    answer: dict[str, Any] = {"estimator": repr(estimator), "targets": list(schema.targets)}
    answer |= {"dof": dofs.tolist(), "std_error": errors.tolist()}
    answer |= {"method": found.method, "reason": found.reason}
    output.give_json(answer | {"n_rows": n_rows, "n_features": n_features})
    output.say(f"{estimator} on {n_rows} rows, {n_features} features")
    rows_shown = [
        [name, amount_with_error(float(dof), float(error)), f"{dof / n_rows:.1%}"]
        for name, dof, error in zip(schema.targets, dofs, errors, strict=True)
    ]
    output.table(["target", "degrees of freedom", "of the rows"], rows_shown)
    output.say(f"{found.method}: {found.reason}")


def estimator_named(name: str, parameters: Sequence[str] = ()) -> Any:
    """A regressor from the name of its class and its parameters.

    Parameters
    ----------
    name : str
        Such as ``sklearn.linear_model.Ridge``. Its module is imported.
    parameters : sequence of str
        Such as ``alpha=0.1``: numbers, True, False, None, tuples and lists as in Python; all else
        is text. ``basis__gamma=0.1`` sets a parameter of a parameter.

    Raises
    ------
    UsageError
        If the class or a parameter does not exist.

    Examples
    --------
    >>> from negcorr.cli.dof_command import estimator_named
    >>> estimator_named("sklearn.linear_model.Ridge", ["alpha=0.5", "solver=svd"])
    Ridge(alpha=0.5, solver='svd')
    """
    kind = _class_named(name)
    known = [n for n in inspect.signature(kind).parameters if n not in ("args", "kwargs")]
    own: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    for text in parameters:
        parameter, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not parameter.isidentifier():
            raise UsageError(f"--param {text}: must be name=value.")
        outer = parameter.partition("__")[0]
        if known:
            check_choice(f"--param: {kind.__name__} has no parameter", outer, known)
        given = own if outer == parameter else inner
        try:
            given[parameter] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            given[parameter] = text.partition("=")[2]
    if issubclass(kind, NCLRegressor) and any(name.startswith("basis__") for name in inner):
        basis = own.get("basis", "auto")
        if isinstance(basis, str) and basis in ("auto", *BASES):
            # A name has no parameters, the basis that it stands for has.
            own["basis"] = as_basis(basis, None)
    try:
        estimator = kind(**own)
    except TypeError as error:
        raise UsageError(f"--param: {error}.") from error
    for parameter, value in inner.items():
        outer, _, name_inside = parameter.partition("__")
        holder: Any = getattr(estimator, outer, None)
        if not hasattr(holder, "set_params"):
            raise UsageError(f"--param {parameter}: {outer}={holder!r} has no parameters.")
        try:
            holder.set_params(**{name_inside: value})
        except ValueError as error:
            raise UsageError(f"--param {parameter}: {error}") from error
    return estimator


def _class_named(name: str) -> Any:
    """The class of a regressor, from a module that is imported."""
    module, _, last = name.rpartition(".")
    if not module:
        raise UsageError(
            f"--estimator {name}: give the class with its module, such as "
            "sklearn.ensemble.RandomForestRegressor."
        )
    try:
        kind = getattr(importlib.import_module(module), last)
    except ImportError as error:
        raise UsageError(f"--estimator {name}: {error}.") from error
    except AttributeError as error:
        raise UsageError(f"--estimator {name}: {module} has no {last}.") from error
    if not (inspect.isclass(kind) and hasattr(kind, "fit") and hasattr(kind, "predict")):
        raise UsageError(f"--estimator {name}: must be a class with fit and predict.")
    return kind
