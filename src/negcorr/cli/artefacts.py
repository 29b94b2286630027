"""The files of a fit: the model, the report, the figures and the path, all of them or none."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.files import staged, write_atomically
from negcorr._common.number_text import amount, amount_with_error
from negcorr.cli.output import finite, printable
from negcorr.exceptions import PrecisionWarning
from negcorr.reporting import report
from negcorr.reporting.contents import ExtraTable
from negcorr.storage.save_load import save
from negcorr.tables.comparison import Comparison
from negcorr.tables.held_out_errors import Figures
from negcorr.tables.trial import Trial

__all__ = [
    "FILES",
    "comparison_tables",
    "figures_in_words",
    "path_table",
    "target_rows",
    "titled",
    "write_all",
]

#: What a fit writes.
FILES = ("model.skops", "report.html", "metrics.json", "path.csv")

#: Targets that a title has room for.
MOST_TITLED = 3

#: Points of the path in a decade of the gap.
POINTS = 10


def write_all(
    folder: Path,
    trial: Trial,
    metrics: dict[str, Any],
    notes: dict[str, Any],
    *,
    title: str,
    snippet: str,
) -> None:
    """Write the four files into a folder; where one fails, none of them changes.

    Parameters
    ----------
    folder : Path
    trial : Trial
    metrics : dict
        What ``metrics.json`` holds.
    notes : dict
        What the model's file carries.
    title : str
        Of the report.
    snippet : str
        Code that rebuilds the model.
    """
    with staged(folder) as stage:
        save(trial.model, stage / "model.skops", notes=notes, keep="path")
        report(
            trial.model,
            trial.test.inputs,
            trial.test.y,
            path=stage / "report.html",
            title=title,
            outputs=trial.schema.targets,
            tables=comparison_tables(trial),
            details=[columns_table(trial)],
            verdict=trial.comparison.verdict(),
            notes=metrics["notes"],
            snippet=snippet,
            evaluated=trial.tried,
        )
        text = json.dumps(finite(metrics), indent=2, ensure_ascii=False)
        write_atomically(stage / "metrics.json", text.encode())
        write_atomically(stage / "path.csv", path_table(trial.model[-1], trial.schema.targets))


def titled(name: str, targets: Sequence[str]) -> str:
    """The title of a page about a table."""
    few = len(targets) <= MOST_TITLED
    return f"{name}: {', '.join(targets) if few else f'{len(targets)} targets'}"


def comparison_tables(trial: Trial) -> list[ExtraTable]:
    """Methods side by side, for the report; several targets have a table of their own."""
    found = trial.comparison
    saved = f"; the saved model has all {trial.n_rows}" if trial.refitted else ""
    title = f"On {found.n_test} rows held out, fitted to {found.n_train}{saved}"
    if len(found.targets) > 1:
        each = target_rows(found)
        return [(title, ["Target", *each[0]], each[1:]), _overall(found)]
    head = ["Method", "RMSE", "MAE", "R²", "95 % covers", "Fit"]
    rows = [
        [method.name, *figures_in_words(method.figures[0]), f"{method.fit_seconds:.2f} s"]
        for method in found.methods
    ]
    return [(title, head, rows)]


def target_rows(found: Comparison) -> list[list[str]]:
    """NCL on each target, and the best of the others there; names of columns come first."""
    rows = [["RMSE", "MAE", "R²", "95 % covers", "Best other"]]
    for k, f in enumerate(found.methods[0].figures):
        best = min(found.methods[1:], key=lambda method: method.figures[k].rmse, default=None)
        other = "" if best is None else f"{amount(best.figures[k].rmse)} {best.name}"
        rows.append([f.output, *figures_in_words(f), other])
    return rows


def _overall(found: Comparison) -> ExtraTable:
    rows = [
        [m.name, amount(float(np.sqrt(m.loss)), 3), f"{m.fit_seconds:.2f} s"] for m in found.methods
    ]
    return "Over all targets", ["Method", "RMSE in standard deviations", "Fit"], rows


def figures_in_words(f: Figures) -> list[str]:
    """RMSE and MAE with their errors, R², and the share of targets in their interval."""
    return [
        amount_with_error(f.rmse, f.rmse_se),
        amount_with_error(f.mae, f.mae_se),
        f"{f.r2 + 0.0:.3f}",
        "" if np.isnan(f.coverage) else f"{f.coverage:.1%}",
    ]


def columns_table(trial: Trial) -> ExtraTable:
    """What was made of every column, for the report."""
    rows = [
        [printable(c.name, 200), c.role, str(c.n_missing), str(c.n_distinct), c.remark]
        for c in trial.schema.columns
    ]
    return "Columns", ["Column", "Taken as", "Missing", "Distinct", "Remark"], rows


def path_table(ensemble: Any, targets: Sequence[str]) -> bytes:
    """Curves along λ as CSV, or the grid of a deep ensemble.

    Parameters
    ----------
    ensemble : NCLRegressor or DeepNCLRegressor
    targets : sequence of str
        Their names stand in the header where there are several.
    """
    if hasattr(ensemble, "path_"):
        path = ensemble.path_
        smallest = max(path.spectrum.smallest_useful_gap, path.smallest_trusted_gap, 1e-16)
        decades = int(np.ceil(-np.log10(min(smallest, 1.0))))
        gaps = np.power(10.0, -np.arange(0, POINTS * decades + 1) / POINTS)
        marked = np.concatenate([gaps[gaps >= smallest], path.chosen_gap])
        with warnings.catch_warnings():
            # Of the chosen λ, and the fit has said so.
            warnings.simplefilter("ignore", PrecisionWarning)
            curves = path.curves(np.unique(marked)[::-1])
        named = {_named(name, targets): values for name, values in curves.items()}
    else:
        named = {
            _named(name, targets): values.to_numpy()
            for name, values in ensemble.lam_table_.to_frame().items()
        }
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(named)
    writer.writerows(map(float, row) for row in zip(*named.values(), strict=True))
    return text.getvalue().encode()


def _named(column: str, targets: Sequence[str]) -> str:
    """``train_error_0`` by the name of its target."""
    name, _, number = column.rpartition("_")
    if name and number.isdigit() and len(targets) > 1:
        return f"{name}_{targets[int(number)]}"
    return column
