"""The contents of a report: gathered from a model and rows, before any HTML is written."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from negcorr import bases
from negcorr._common.number_text import amount_with_error
from negcorr._common.types import Table
from negcorr._common.validation import target_columns
from negcorr.diversity.decompositions import USELESS_NOTE
from negcorr.diversity.inner_model import inner_model
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.ensemble.summary import columns_in_words, output_names
from negcorr.reading.schema import Schema
from negcorr.reporting.curves import CurveData, LamGrid, curve_data, lam_grid
from negcorr.reporting.held_out import (
    HeldOut,
    Importance,
    drawn_rows,
    fingerprint,
    held_out_rows,
    importances_of,
    members_in_words,
)
from negcorr.storage.stored_types import deep_kind

__all__ = ["Contents", "ExtraTable", "gather"]


#: Classes in the code on a page, by the module that a user takes them from.
SHOWN = {
    "negcorr": {"ContentKFold", "NCLRegressor"},
    "negcorr.bases": set(bases.__all__),
    "negcorr.deep": {"DeepNCLRegressor", "Training"},
}

#: Names and values.
Facts: TypeAlias = tuple[tuple[str, str], ...]

#: Title, header and rows.
ExtraTable = tuple[str, Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Contents:
    """Everything on the page.

    Attributes
    ----------
    facts : tuple of (str, str)
        What was fitted.
    outputs : tuple of str
        Names of the targets.
    curves : CurveData or None
        What every curve follows from; None for a deep ensemble.
    grid : LamGrid or None
        What λ was chosen from, of a deep ensemble.
    snippet : str
        Code that rebuilds the model.
    versions : tuple of (str, str)
    notes : tuple of str
        Warnings in plain words.
    held_out : tuple of HeldOut
        For each output; empty without rows.
    importances : tuple of Importance
        The largest first.
    members : tuple of str
        How members of a deep ensemble differ on these rows, for each output.
    fingerprint : str
        Of the rows, empty without.
    n_rows : int
        Rows held out, of which some are drawn.
    by_another : bool
        Whether rows held out are predicted by another model than that of the curves.
    title : str
    verdict : str
        One sentence, or nothing.
    tables, details : sequence of (str, header, rows)
        Further tables: at the top, and before the settings.
    """

    facts: Facts
    outputs: tuple[str, ...]
    curves: CurveData | None
    grid: LamGrid | None
    snippet: str
    versions: Facts
    notes: tuple[str, ...] = ()
    held_out: tuple[HeldOut, ...] = ()
    importances: tuple[Importance, ...] = ()
    members: tuple[str, ...] = ()
    fingerprint: str = ""
    n_rows: int = 0
    by_another: bool = False
    title: str = ""
    verdict: str = ""
    tables: Sequence[ExtraTable] = ()
    details: Sequence[ExtraTable] = ()


def gather(
    model: Any,
    X: Table = None,
    y: Any = None,
    *,
    outputs: Sequence[str] | None = None,
    evaluated: Any = None,
) -> Contents:
    """Measure what the page shows.

    Parameters
    ----------
    model : NCLRegressor, DeepNCLRegressor, or a pipeline or search that ends in one
    X, y : rows and targets that the model has not seen, optional
    outputs : sequence of str, optional
        Names of the targets.
    evaluated : estimator, optional
        A model fitted without these rows, which predicts them in place of ``model``, whose curves
        are shown.

    Returns
    -------
    Contents
        Without what only the caller knows: title, verdict and tables. Its details say what was
        made of the columns of a data frame.
    """
    ensemble = inner_model(model)[0]
    deep = deep_kind(ensemble) is not None
    if not deep and not isinstance(ensemble, NCLRegressor):
        raise TypeError(
            f"model={model!r} must be an NCLRegressor, a DeepNCLRegressor or a Pipeline that ends "
            f"with one, got {type(ensemble).__name__}."
        )
    check_is_fitted(ensemble, "_fit" if deep else None)
    n_outputs = ensemble.network_.widths[-1] if deep else ensemble.path_.spectrum.n_outputs
    single = ("y",) if n_outputs == 1 else None
    names = output_names(single if outputs is None else outputs, n_outputs)
    default = type(ensemble)().get_params(deep=False)
    changed = ", ".join(
        f"{name}={value!r}"
        for name, value in ensemble.get_params(deep=False).items()
        if repr(value) != repr(default[name])
    )
    line = f"model = {'DeepNCLRegressor' if deep else 'NCLRegressor'}({changed})"
    called = set(re.findall(r"\w+(?=\()", line))
    imports = [
        f"from {module} import {', '.join(sorted(used))}"
        for module, known in SHOWN.items()
        if (used := called & known)
    ]
    if deep:
        facts, notes = _facts_of_networks(ensemble)
    else:
        summary = ensemble.summary(names)
        variances = ", ".join(f"{value:.6g}" for value in ensemble.path_.noise_variance)
        facts = (*summary.facts, ("σ² in SURE", variances))
        # The page has a section about members.
        notes = tuple(note for note in summary.notes if not note.startswith(USELESS_NOTE))
    if evaluated is not None:
        if isinstance(evaluated, type) or not hasattr(evaluated, "predict"):
            raise TypeError(f"evaluated={evaluated!r} must be a fitted model with predict.")
        if X is None:
            raise ValueError(f"evaluated={evaluated!r} needs the rows to predict: X and y.")
        check_is_fitted(inner_model(evaluated)[0])
    of_rows: dict[str, Any] = {}
    if X is not None:
        if y is None:
            raise ValueError("y=None: the rows of X need their targets.")
        target = target_columns(y, X, n_outputs)
        predictor, drawn = model if evaluated is None else evaluated, drawn_rows(X, target)
        of_rows = {
            "held_out": held_out_rows(predictor, *drawn),
            "importances": importances_of(predictor, *drawn, float(np.var(target, axis=0).mean())),
            "members": members_in_words(predictor, *drawn) if deep else (),
            "fingerprint": fingerprint(X, y),
            "n_rows": len(target),
            "by_another": evaluated is not None,
        }
    libraries = {"negcorr": "negcorr", "scikit-learn": "scikit-learn", "NumPy": "numpy"}
    libraries |= {"PyTorch": "torch"} if deep else {}
    versions = ((title, version(name)) for title, name in libraries.items())
    return Contents(
        facts=facts,
        outputs=names,
        curves=None if deep else curve_data(ensemble.path_),
        grid=lam_grid(ensemble.lam_table_) if deep else None,
        snippet="\n".join([*imports, "", line, "model.fit(X, y)", ""]),
        versions=(*versions, ("Python", platform.python_version())),
        notes=notes,
        details=() if ensemble.columns_ is None else (_table_of_columns(ensemble.columns_),),
        **of_rows,
    )


def _table_of_columns(schema: Schema) -> ExtraTable:
    """What was made of each column, or why it was left out."""
    distinct = schema.distinct_head.capitalize()
    header = ("Column", "Taken as", "Missing", distinct, "Remark", "Made of it")
    rows = [
        (c.name, c.role, str(c.n_missing), str(c.n_distinct), c.remark, c.made)
        for c in schema.columns
    ]
    return "Columns", header, rows


def _facts_of_networks(model: Any) -> tuple[Facts, tuple[str, ...]]:
    """The table of settings of a deep ensemble, and warnings in plain words."""
    network, table = model.network_, model.lam_table_
    layers = ", ".join(str(width) for width in network.widths[1:-1])
    norm = ", batch norm" if network.batch_norm else ""
    chosen = "given" if table is None or len(table.lam) == 1 else model.criterion
    if chosen == model.criterion:
        chosen += f", over {len(table.lam)} values of λ"
    facts = (
        *(() if model.columns_ is None else columns_in_words(model.columns_)),
        ("Networks", f"M = {network.n_members} members, {network.activation}{norm}"),
        ("Nodes of hidden layers", layers),
        ("λ", ", ".join(f"{lam:.6g}" for lam in np.atleast_1d(model.lam_))),
        ("Criterion", chosen),
        ("Degrees of freedom", _with_errors(model.dof_, model.dof_std_error_)),
        ("σ", _with_errors(np.sqrt(model.noise_variance_), np.nan)),
        ("Learning rate", f"{model.learning_rate_:.3g}"),
        ("Epochs", str(model.n_epochs_)),
    )
    notes = {
        "Degrees of freedom are not known: the ensemble was trained without probes, in parts, or "
        "by new heads.": np.isnan(np.atleast_1d(model.dof_)).any(),
        "SURE estimates the error against the noise-free function at the training inputs; errors "
        "on new data are larger by σ², and more outside the training cloud.": (
            model.criterion == "sure"
        ),
    }
    return facts, tuple(note for note, holds in notes.items() if holds)[:1]


def _with_errors(values: Any, errors: Any) -> str:
    """Numbers of several outputs with their standard errors, where these are known."""
    pairs = np.broadcast_arrays(np.atleast_1d(values), np.atleast_1d(errors))
    listed = (amount_with_error(float(v), float(e)) for v, e in zip(*pairs, strict=True))
    return ", ".join(text or "unknown" for text in listed)
