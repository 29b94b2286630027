"""``negcorr evaluate`` and ``negcorr report``: a stored model on rows whose targets are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from negcorr.cli.codes import UsageError
from negcorr.cli.screen import Screen
from negcorr.cli.stored import StoredModel, open_model
from negcorr.reporting import report
from negcorr.tabular import Figures, Samples, held_out_figures, read_table
from negcorr.tabular.trial import predicted_by
from negcorr.tabular.wording import amount_with_error

__all__ = ["run_evaluate", "run_report"]


def run_evaluate(model: Path, data: Path, screen: Screen) -> None:
    """Figures of a model on the rows of a table.

    Parameters
    ----------
    model, data : Path
    screen : Screen
    """
    with screen.busy(f"reading {model.name}") as tell:
        stored = open_model(model)
        rows = _rows(stored, data, screen, tell)
        features = stored.features(rows.inputs)
        predicted, interval = predicted_by(stored.last, features)
        figures = held_out_figures(
            rows.y,
            predicted,
            stored.targets,
            interval=interval,
            weight=rows.weight,
            groups=rows.groups,
        )
    warning = stored.warning_about(rows)
    screen.give_json(
        {
            "model": str(model),
            "data": str(data),
            "n_rows": len(rows.positions),
            "figures": [asdict(one) for one in figures],
            "warning": warning or None,
        }
    )
    _say_figures(screen, figures, f"{data.name}: {len(rows.positions)} rows")
    if warning:
        screen.note(warning)


def run_report(model: Path, data: Path | None, out: Path, screen: Screen) -> None:
    """The interactive page about a model.

    Parameters
    ----------
    model : Path
    data : Path or None
        Rows for the parts that show predictions.
    out : Path
        The page.
    screen : Screen
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {out}: a page must end with .html.")
    with screen.busy(f"reading {model.name}") as tell:
        stored = open_model(model)
        rows, notes = None, []
        if data is not None:
            rows = _rows(stored, data, screen, tell)
            notes = [note for note in [stored.warning_about(rows)] if note]
        tell("writing the report")
        source = stored.notes.get("data")
        try:
            report(
                stored.model,
                None if rows is None else rows.inputs,
                None if rows is None else rows.y,
                path=out,
                title=f"{source or model.name}: {', '.join(stored.targets)}",
                outputs=stored.targets,
                verdict=str(stored.notes.get("verdict") or ""),
                notes=notes,
            )
        except TypeError as error:
            raise UsageError(f"{model}: {error}") from error
    for note in notes:
        screen.note(note)
    screen.give_json({"report": str(out)})
    screen.say(f"Wrote {out}.")


def _rows(stored: StoredModel, data: Path, screen: Screen, tell: Callable[[str], None]) -> Samples:
    tell(f"reading {data.name}")
    table = read_table(data)
    for note in table.notes:
        screen.note(note)
    return stored.rows(table.frame, data.name)


def _say_figures(screen: Screen, figures: tuple[Figures, ...], title: str) -> None:
    rows: list[list[Any]] = [
        [
            f.output,
            amount_with_error(f.rmse, f.rmse_se),
            amount_with_error(f.mae, f.mae_se),
            f"{f.r2:.3f}",
            "" if np.isnan(f.coverage) else f"{f.coverage:.1%}",
        ]
        for f in figures
    ]
    screen.table(["target", "RMSE", "MAE", "R²", "95 % covers"], rows, title=title)
