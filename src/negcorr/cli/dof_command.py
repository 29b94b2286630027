"""``negcorr dof``: degrees of freedom of a regressor that is named by its class."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.number_text import amount_with_error
from negcorr.cli.errors import UsageError
from negcorr.cli.names import check_choice, check_target, columns_named
from negcorr.cli.output import Screen
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.dof.degrees import METHODS, degrees_of_freedom
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import NotLinearError
from negcorr.reading.table import read_table
from negcorr.tables.pipeline import make_tabular

__all__ = ["DofOptions", "estimator_named", "run_dof"]


@dataclass(frozen=True)
class DofOptions:
    """A request for degrees of freedom.

    Attributes
    ----------
    data : Path
    target, drop, categorical : sequence of str
        Columns, as they were typed.
    estimator : str
        A class with its module.
    parameters : sequence of str
        Of the form name=value.
    method : str
    probes : int or None
    seed : int
    """

    data: Path
    target: Sequence[str]
    estimator: str
    parameters: Sequence[str] = ()
    method: str = "auto"
    probes: int | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    seed: int = 0


def run_dof(options: DofOptions, screen: Screen) -> None:
    """Find the degrees of freedom and say how.

    Parameters
    ----------
    options : DofOptions
    screen : Screen
    """
    check_choice("--method", options.method, METHODS)
    if not 0 <= options.seed < 2**32:
        raise UsageError(f"--seed {options.seed}: must be at least 0 and below 2**32.")
    estimator = estimator_named(options.estimator, options.parameters)
    if isinstance(estimator, NCLRegressor):
        # As negcorr fit has it: inputs are scaled already.
        given = {text.partition("=")[0].strip() for text in options.parameters}
        usual: dict[str, Any] = {"basis": "fourier", "gamma": "kwok-tsang", "standardize": False}
        usual["random_state"] = options.seed
        estimator.set_params(**{k: v for k, v in usual.items() if k not in given})
    check_target(options.target, options.data)
    with screen.busy(f"reading {options.data.name}") as tell:
        table = read_table(options.data)
        for note in table.notes:
            screen.note(note)
        known = [str(name) for name in table.frame.columns]
        schema = infer_columns(
            table.frame,
            columns_named(options.target, known),
            drop=columns_named(options.drop, known),
            categorical=columns_named(options.categorical, known),
        )
        rows = samples(table.frame, schema)
        features = make_tabular(table.frame, schema.targets, schema=schema)[:-1]
        X = features.fit_transform(rows.inputs)
        tell(f"degrees of freedom of {estimator}")
        asked: dict[str, Any] = {"method": options.method, "random_state": options.seed}
        asked |= {} if options.probes is None else {"n_probes": options.probes}
        try:
            found = degrees_of_freedom(estimator, X, rows.y, **asked)
        except NotLinearError as error:
            raise UsageError(f"--method exact: {error}") from error
        except (TypeError, ValueError) as error:
            # The regressor's own words about its parameters or the numbers.
            raise OSError(f"{options.estimator}: {error}") from error
    dofs, errors = np.atleast_1d(found.dof), np.atleast_1d(found.std_error)
    n_rows, n_features = X.shape
    screen.give_json(
        {
            "estimator": repr(estimator),
            "targets": list(schema.targets),
            "dof": dofs.tolist(),
            "std_error": errors.tolist(),
            "method": found.method,
            "reason": found.reason,
            "n_rows": n_rows,
            "n_features": n_features,
        }
    )
    screen.say(f"{estimator} on {n_rows} rows, {n_features} features")
    rows_shown = [
        [name, amount_with_error(float(dof), float(error)), f"{dof / n_rows:.1%}"]
        for name, dof, error in zip(schema.targets, dofs, errors, strict=True)
    ]
    screen.table(["target", "degrees of freedom", "of the rows"], rows_shown)
    screen.say(f"{found.method}: {found.reason}")


def estimator_named(name: str, parameters: Sequence[str] = ()) -> Any:
    """A regressor from the name of its class and its parameters.

    Parameters
    ----------
    name : str
        Such as ``sklearn.linear_model.Ridge``. Its module is imported.
    parameters : sequence of str
        Such as ``alpha=0.1``: numbers, True, False, None, tuples and lists as in Python; all else
        is text.

    Raises
    ------
    UsageError
        Naming what is not there.

    Examples
    --------
    >>> from negcorr.cli.dof_command import estimator_named
    >>> estimator_named("sklearn.linear_model.Ridge", ["alpha=0.5", "solver=svd"])
    Ridge(alpha=0.5, solver='svd')
    """
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
    given = dict(_parameter(text) for text in parameters)
    known = [n for n in inspect.signature(kind).parameters if n not in ("args", "kwargs")]
    for parameter in given:
        if known and parameter not in known:
            check_choice(f"--param: {last} has no parameter", parameter, known)
    try:
        return kind(**given)
    except TypeError as error:
        raise UsageError(f"--param: {error}.") from error


def _parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip().isidentifier():
        raise UsageError(f"--param {text}: must be name=value.")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip(), value
