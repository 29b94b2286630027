"""What ``metrics.json`` says about a trial, and what the model's file remembers of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import negcorr
from negcorr.reading.schema import Schema
from negcorr.tables.trial import Trial

__all__ = ["facts_of", "metrics_of", "model_notes", "schema_in", "source_of"]

#: Of the layout of ``metrics.json`` and of the notes in a model's file.
LAYOUT = 1


def facts_of(model: Any) -> dict[str, Any]:
    """λ, degrees of freedom and σ of a pipeline's ensemble, a list for several outputs.

    Parameters
    ----------
    model : Pipeline
        Fitted.
    """
    last = model[-1]
    facts: dict[str, Any] = {"kind": type(last).__name__, "n_inputs": int(last.n_features_in_)}
    if hasattr(last, "path_"):
        path = last.path_
        facts["n_members"] = int(path.spectrum.n_members)
        facts["n_features"] = int(path.starts[-1])
        sigma = np.sqrt(np.asarray(path.residual_noise_variance()))
        return facts | {
            "criterion": path.criterion,
            "solver": path.solver,
            "lam": _plain(path.lam),
            "gap": _plain(path.gap),
            "dof": _plain(path.dof()),
            "sigma": _plain(sigma),
        }
    return facts | {
        "n_members": int(last.n_estimators),
        "criterion": last.criterion,
        "lam": float(last.lam_),
        "gap": 1.0 - float(last.lam_),
        "dof": _plain(last.dof_),
        "dof_std_error": _plain(last.dof_std_error_),
        "sigma": _plain(np.sqrt(np.asarray(last.noise_variance_))),
    }


def metrics_of(trial: Trial, source: dict[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    """All figures of a trial as plain values.

    Parameters
    ----------
    trial : Trial
    source : dict
        Where the rows came from: file, command.
    notes : sequence of str
        Remarks that were made.
    """
    schema, found = trial.schema, trial.comparison
    return {
        "layout": LAYOUT,
        "negcorr": negcorr.__version__,
        **source,
        "n_rows": schema.n_rows,
        "fingerprint": trial.seen.digest,
        "targets": list(schema.targets),
        "inputs": list(schema.inputs),
        "columns": [asdict(column) for column in schema.columns],
        "held_out": {
            "n_train": found.n_train,
            "n_train_of_rivals": found.n_rivals,
            "n_test": found.n_test,
        },
        "tried": facts_of(trial.tried),
        "model": facts_of(trial.model) | {"n_rows": trial.n_rows, "refitted": trial.refitted},
        "methods": [asdict(method) | _noise(method) for method in found.methods],
        "verdict": found.verdict(),
        "notes": list(notes),
    }


def model_notes(trial: Trial, source: dict[str, Any], verdict: str) -> dict[str, Any]:
    """What the file of a model carries, for the commands that read it.

    Parameters
    ----------
    trial : Trial
    source : dict
        Where the rows came from.
    verdict : str
    """
    return {
        "layout": LAYOUT,
        **source,
        "schema": trial.schema.to_json(),
        "fingerprint": trial.seen.to_dict(),
        "verdict": verdict,
    }


def schema_in(notes: dict[str, Any]) -> Schema | None:
    """The schema that a model's file carries, None for files of other origin."""
    return Schema.from_json(notes["schema"]) if isinstance(notes.get("schema"), str) else None


def source_of(path: Path, command: str) -> dict[str, Any]:
    """Where rows came from, as plain values."""
    return {"data": path.name, "command": command}


def _noise(method: Any) -> dict[str, Any]:
    return {"within_noise": method.within_noise}


def _plain(value: Any) -> Any:
    """A float, or a list of floats."""
    return np.asarray(value, dtype=float).tolist()
