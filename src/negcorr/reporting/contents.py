"""What a report says: gathered from a model and rows, before a word of HTML is written."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from negcorr._common.types import Table
from negcorr.diversity.decompositions import USELESS_NOTE
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.ensemble.summary import Summary
from negcorr.path.path import NCLPath
from negcorr.reporting.curves import CurveData, curve_data
from negcorr.reporting.held_out import (
    HeldOut,
    Importance,
    checked_target,
    fingerprint,
    held_out_rows,
    importances_of,
    last_step,
    members_in_words,
)
from negcorr.reporting.lam_grid import LamGrid, deep_facts, deep_notes, lam_grid
from negcorr.storage.stored_types import deep_kind

__all__ = ["Contents", "ExtraTable", "ensemble_of", "gather"]


#: Title, header and rows.
ExtraTable = tuple[str, Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Contents:
    """Everything on the page.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        What was fitted.
    outputs : tuple of str
        Names of the targets.
    curves : CurveData or None
        What every curve follows from; None for a deep ensemble.
    grid : LamGrid or None
        What λ was chosen from, of a deep ensemble.
    held_out : tuple of HeldOut
        For each output; empty without rows.
    members : tuple of str
        How members of a deep ensemble differ on these rows, for each output.
    importances : tuple of Importance
        The largest first.
    tables, details : tuple of (str, header, rows)
        Further tables, as the caller has them: at the top, and before the settings.
    verdict : str
        One sentence, or nothing.
    notes : tuple of str
        Warnings in plain words.
    fingerprint : str
        Of the rows, empty without.
    versions : tuple of (str, str)
    snippet : str
        Code that rebuilds the model.
    n_rows : int
        Rows held out, of which some are drawn.
    by_another : bool
        Whether rows held out are predicted by another model than that of the curves.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    curves: CurveData | None
    grid: LamGrid | None
    held_out: tuple[HeldOut, ...]
    members: tuple[str, ...]
    importances: tuple[Importance, ...]
    tables: tuple[ExtraTable, ...]
    details: tuple[ExtraTable, ...]
    verdict: str
    notes: tuple[str, ...]
    fingerprint: str
    versions: tuple[tuple[str, str], ...]
    snippet: str
    n_rows: int = 0
    by_another: bool = False


def ensemble_of(model: Any) -> Any:
    """The ensemble that a model is, or that stands at the end of its pipeline."""
    last = last_step(model)
    if deep_kind(last) is not None:
        check_is_fitted(last, "_fit")
        return last
    if not isinstance(last, NCLRegressor):
        raise TypeError(
            f"model={model!r} must be an NCLRegressor, a DeepNCLRegressor or a Pipeline that ends "
            f"with one, got {type(last).__name__}."
        )
    check_is_fitted(last)
    if not hasattr(last, "path_"):
        raise ValueError(
            "a report needs the factorisation, which compact() or save(keep='predictions') has "
            "dropped."
        )
    return last


def gather(
    model: Any,
    X: Table = None,
    y: Any = None,
    *,
    title: str,
    outputs: Sequence[str] | None,
    tables: Sequence[ExtraTable],
    details: Sequence[ExtraTable] = (),
    verdict: str,
    notes: Sequence[str],
    snippet: str | None,
    evaluated: Any = None,
) -> Contents:
    """Measure what the page shows.

    Parameters
    ----------
    model : NCLRegressor, DeepNCLRegressor or Pipeline
    X, y : rows and targets that the model has not seen, optional
    title, outputs, tables, details, verdict, notes, snippet
        As in :class:`Contents`.
    evaluated : estimator, optional
        A model fitted without these rows, which predicts them in place of ``model``, whose curves
        are shown.
    """
    ensemble = ensemble_of(model)
    deep = deep_kind(ensemble) is not None
    n_outputs = ensemble.network_.widths[-1] if deep else ensemble.path_.spectrum.n_outputs
    names = _output_names(outputs, n_outputs)
    if evaluated is not None:
        _check_evaluated(evaluated, X)
    predictor = model if evaluated is None else evaluated
    held_out: tuple[HeldOut, ...] = ()
    importances: tuple[Importance, ...] = ()
    members: tuple[str, ...] = ()
    if X is not None:
        target = checked_target(X, y, n_outputs)
        held_out = held_out_rows(predictor, X, target)
        importances = importances_of(predictor, X, target)
        members = members_in_words(predictor, X, target) if deep else ()
    summary = None if deep else ensemble.summary(names)
    return Contents(
        title=title,
        facts=deep_facts(ensemble) if summary is None else _facts_of(ensemble.path_, summary),
        outputs=names,
        curves=None if deep else curve_data(ensemble.path_),
        grid=lam_grid(ensemble.lam_table_) if deep else None,
        held_out=held_out,
        members=members,
        importances=importances,
        tables=tuple(tables),
        details=tuple(details),
        verdict=verdict,
        notes=(*notes, *(deep_notes(ensemble) if summary is None else _notes_of(summary))),
        fingerprint="" if X is None else fingerprint(X, y),
        versions=_versions(deep),
        snippet=_snippet(ensemble) if snippet is None else snippet,
        n_rows=0 if X is None else len(target),
        by_another=evaluated is not None,
    )


def _facts_of(path: NCLPath, summary: Summary) -> tuple[tuple[str, str], ...]:
    """What was fitted, and the σ² that SURE is made with."""
    variances = ", ".join(f"{value:.6g}" for value in path.noise_variance)
    return (*summary.facts, ("σ² in SURE", variances))


def _notes_of(summary: Summary) -> list[str]:
    """Warnings but that about members, which have a section of their own."""
    return [note for note in summary.notes if not note.startswith(USELESS_NOTE)]


def _check_evaluated(evaluated: Any, X: Table) -> None:
    if isinstance(evaluated, type) or not hasattr(evaluated, "predict"):
        raise TypeError(f"evaluated={evaluated!r} must be a fitted model with predict.")
    if X is None:
        raise ValueError(f"evaluated={evaluated!r} needs the rows that it is to predict: X and y.")
    check_is_fitted(last_step(evaluated))


def _output_names(outputs: Sequence[str] | None, n_outputs: int) -> tuple[str, ...]:
    if outputs is None:
        return ("y",) if n_outputs == 1 else tuple(f"output {j}" for j in range(n_outputs))
    if isinstance(outputs, str) or len(outputs) != n_outputs:
        raise ValueError(f"outputs={outputs!r} must name each of the {n_outputs} outputs.")
    return tuple(str(name) for name in outputs)


def _versions(deep: bool) -> tuple[tuple[str, str], ...]:
    return (
        ("negcorr", version("negcorr")),
        ("scikit-learn", sklearn.__version__),
        ("NumPy", np.__version__),
        *((("PyTorch", version("torch")),) if deep else ()),
        ("Python", platform.python_version()),
    )


def _snippet(ensemble: Any) -> str:
    home = "negcorr" if isinstance(ensemble, NCLRegressor) else "negcorr.deep"
    kind = "NCLRegressor" if isinstance(ensemble, NCLRegressor) else "DeepNCLRegressor"
    call = f"{kind}({_parameters(ensemble)})"
    return f"from {home} import {kind}\n\nmodel = {call}\nmodel.fit(X, y)\n"


def _parameters(ensemble: Any) -> str:
    """Those that are not the defaults, as arguments of a call."""
    default = type(ensemble)().get_params(deep=False)
    changed = {
        name: value
        for name, value in ensemble.get_params(deep=False).items()
        if repr(value) != repr(default[name])
    }
    return ", ".join(f"{name}={value!r}" for name, value in changed.items())
