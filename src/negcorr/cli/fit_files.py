"""The four files of a fit: model, report, figures, path."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import negcorr
from negcorr._common.files import write_atomically
from negcorr._common.number_text import amount, amount_with_error
from negcorr.cli.plain_text import finite, for_spreadsheets, printable
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import PrecisionWarning
from negcorr.reporting import report
from negcorr.reporting.contents import ExtraTable
from negcorr.storage.save_load import save
from negcorr.tables.comparison import Comparison
from negcorr.tables.held_out_errors import Figures
from negcorr.tables.trial import Trial

__all__ = [
    "FIGURE_NAMES",
    "FILES",
    "comparison_tables",
    "facts_of",
    "figures_in_words",
    "metrics_of",
    "path_table",
    "titled",
    "write_all",
]

#: Names of the files that a fit writes.
FILES = ("model.skops", "report.html", "metrics.json", "path.csv")

#: Number of the layout of ``metrics.json`` and of the notes in a model's file.
LAYOUT = 1

#: Most targets in a title.
MOST_TITLED = 3

#: Points of the path for each decade of the gap.
POINTS = 10

#: Names of the columns that :func:`figures_in_words` fills.
FIGURE_NAMES = ("RMSE", "MAE", "R²", "95 % covers")


def titled(name: str, targets: Sequence[str]) -> str:
    """The title of a page about a table."""
    few = len(targets) <= MOST_TITLED
    return f"{name}: {', '.join(targets) if few else f'{len(targets)} targets'}"


def facts_of(model: Any) -> dict[str, Any]:
    """λ, degrees of freedom and σ of an ensemble, a list for several outputs.

    Parameters
    ----------
    model : NCLRegressor or DeepNCLRegressor
        Fitted.
    """
    path = getattr(model, "path_", None)
    facts: dict[str, Any] = {"kind": type(model).__name__, "n_inputs": int(model.n_features_in_)}
    if path is None:
        facts |= {"n_members": int(model.n_members), "criterion": model.criterion}
        numbers = {"lam": model.lam_, "gap": 1.0 - model.lam_, "dof": model.dof_}
        numbers |= {"dof_std_error": model.dof_std_error_, "sigma": np.sqrt(model.noise_variance_)}
    else:
        facts |= {"n_members": int(path.spectrum.n_members), "n_features": int(path.starts[-1])}
        facts |= {"criterion": path.criterion, "solver": path.solver}
        if model.choice_ is not None:
            facts["features"] = model.choice_.lines()
        sigma = np.sqrt(np.asarray(path.residual_noise_variance()))
        numbers = {"lam": path.lam, "gap": path.gap, "dof": path.dof(), "sigma": sigma}
    return facts | {name: np.asarray(n, dtype=float).tolist() for name, n in numbers.items()}


def metrics_of(trial: Trial, data: str, command: str, notes: Sequence[str]) -> dict[str, Any]:
    """All figures of a trial as plain values, for ``metrics.json``.

    Parameters
    ----------
    trial : Trial
    data : str
        Name of the file that the rows are from.
    command : str
        The command that gives the same files.
    notes : sequence of str
        Remarks that were made.
    """
    schema, found = trial.schema, trial.comparison
    held_out = {"n_train": found.n_train, "n_train_of_rivals": found.n_rivals}
    return {
        "layout": LAYOUT,
        "negcorr": negcorr.__version__,
        "data": data,
        "command": command,
        "n_rows": schema.n_rows,
        "fingerprint": trial.seen.digest,
        "targets": list(schema.targets),
        "inputs": list(schema.inputs),
        "columns": [asdict(column) for column in schema.columns],
        "held_out": held_out | {"n_test": found.n_test},
        "tried": facts_of(trial.tried),
        "model": facts_of(trial.model) | {"n_rows": trial.n_rows, "refitted": trial.refitted},
        "methods": [asdict(m) | {"within_noise": m.within_noise} for m in found.methods],
        "verdict": found.verdict(),
        "notes": list(notes),
    }


def write_all(
    folder: Path, trial: Trial, metrics: dict[str, Any], *, title: str, snippet: str
) -> None:
    """Write the four files.

    Parameters
    ----------
    folder : Path
        A new one, from which they go to their places together.
    trial : Trial
    metrics : dict
        What ``metrics.json`` holds.
    title : str
        Of the report.
    snippet : str
        Code that rebuilds the model.
    """
    schema, found = trial.schema, trial.comparison
    # The model's file carries these for the commands that read it.
    notes = {name: metrics[name] for name in ("layout", "data", "command", "verdict")}
    notes |= {"schema": schema.to_json(), "fingerprint": trial.seen.to_dict()}
    saved = f"; the saved model has all {trial.n_rows}" if trial.refitted else ""
    rows = f"On {found.n_test} rows held out, fitted to {found.n_train}{saved}"
    tables = [
        (name, [word[:1].upper() + word[1:] for word in head], lines)
        for name, head, lines in comparison_tables(found, rows)
    ]
    fitted = getattr(trial.model, "columns_", None)
    made = {} if fitted is None else {c.name: c.made for c in fitted.columns}
    columns = []
    for c in schema.columns:
        counted = [str(c.n_missing), str(c.n_distinct), c.remark]
        columns.append([printable(c.name, 200), c.role, *counted, made.get(c.name, "")])
    distinct = schema.distinct_head.capitalize()
    heads = ("Column", "Taken as", "Missing", distinct, "Remark", "Made of it")
    model = trial.model
    if isinstance(model, NCLRegressor):
        model = model.compact(path=True)  # every λ, and no training rows
    save(model, folder / "model.skops", notes=notes)
    report(
        trial.model,
        trial.test.inputs,
        trial.test.y,
        path=folder / "report.html",
        title=title,
        outputs=schema.targets,
        tables=tables,
        details=[("Columns", heads, columns)],
        verdict=metrics["verdict"],
        notes=metrics["notes"],
        snippet=snippet,
        evaluated=trial.tried,
    )
    text = json.dumps(finite(metrics), indent=2, ensure_ascii=False)
    write_atomically(folder / "metrics.json", text.encode("utf-8", "backslashreplace"))
    write_atomically(folder / "path.csv", path_table(trial.model, schema.targets))


def comparison_tables(found: Comparison, title: str) -> list[ExtraTable]:
    """Tables that compare the methods: on the target, or on each of several and over all.

    Parameters
    ----------
    found : Comparison
    title : str
        Of the first table.
    """
    if len(found.targets) == 1:
        head = ["method", *FIGURE_NAMES, "fit, s"]
        rows = [
            [m.name, *figures_in_words(m.figures[0]), f"{m.fit_seconds:.2f}"] for m in found.methods
        ]
        return [(title, head, rows)]
    each = []
    for k, f in enumerate(found.methods[0].figures):
        best = min(found.methods[1:], key=lambda method: method.figures[k].rmse, default=None)
        other = "" if best is None else f"{amount(best.figures[k].rmse)} {best.name}"
        each.append([f.output, *figures_in_words(f), other])
    overall = [
        [m.name, amount(float(np.sqrt(m.loss)), 3), f"{m.fit_seconds:.2f}"] for m in found.methods
    ]
    return [
        (title, ["target", *FIGURE_NAMES, "Best other"], each),
        ("Over all targets", ["method", "RMSE in standard deviations", "fit, s"], overall),
    ]


def figures_in_words(f: Figures) -> list[str]:
    """RMSE and MAE with their errors, R², and the share of targets in their interval."""
    return [
        amount_with_error(f.rmse, f.rmse_se),
        amount_with_error(f.mae, f.mae_se),
        f"{f.r2 + 0.0:.3f}",
        "" if np.isnan(f.coverage) else f"{f.coverage:.1%}",
    ]


def path_table(ensemble: Any, targets: Sequence[str]) -> bytes:
    """Curves along λ as CSV, or the grid of a deep ensemble.

    Parameters
    ----------
    ensemble : NCLRegressor or DeepNCLRegressor
    targets : sequence of str
        Their names stand in the header where there are several.
    """
    import pandas

    if hasattr(ensemble, "path_"):
        path = ensemble.path_
        smallest = max(path.spectrum.smallest_useful_gap, path.smallest_trusted_gap, 1e-16)
        decades = int(np.ceil(-np.log10(min(smallest, 1.0))))
        gaps = np.power(10.0, -np.arange(0, POINTS * decades + 1) / POINTS)
        gaps = np.unique(np.concatenate([gaps[gaps >= smallest], path.chosen_gap]))[::-1]
        with warnings.catch_warnings():
            # It would be about the chosen λ, and the fit has given it already.
            warnings.simplefilter("ignore", PrecisionWarning)
            table = pandas.DataFrame(path.curves(gaps), dtype=float)
    else:
        table = ensemble.lam_table_.to_frame().astype(float)

    def named(column: str) -> str:  # train_error_0 becomes train_error_price
        name, _, number = column.rpartition("_")
        several = name and number.isdigit() and len(targets) > 1
        return f"{name}_{targets[int(number)]}" if several else column

    named_table = for_spreadsheets(table.rename(columns=named))
    text: str = named_table.to_csv(index=False, na_rep="nan", lineterminator="\r\n")
    return text.encode()
