"""``negcorr evaluate`` and ``negcorr report``: a stored model on rows whose targets are known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from negcorr.cli.artefacts import figures_in_words, titled
from negcorr.cli.errors import UsageError
from negcorr.cli.loaded_model import StoredModel, open_model, pieces_of
from negcorr.cli.output import Screen
from negcorr.columns.samples import Samples
from negcorr.exceptions import TableError
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks, is_large
from negcorr.reporting import report
from negcorr.tables.held_out_errors import Figures, held_out_figures
from negcorr.tables.table_sample import sample_of
from negcorr.tables.trial import predicted_by

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
        tell(f"predicting {data.name}")
        figures, share = _measured(stored, data, screen)
    warning = stored.warning_about(share)
    n_rows = figures[0].n_rows
    screen.give_json(
        {
            "model": str(model),
            "data": str(data),
            "n_rows": n_rows,
            "figures": [asdict(one) for one in figures],
            "warning": warning or None,
        }
    )
    _say_figures(screen, figures, f"{data.name}: {n_rows} rows")
    if warning:
        screen.note(warning)


def _measured(stored: StoredModel, data: Path, screen: Screen) -> tuple[tuple[Figures, ...], float]:
    """Figures, and the share of rows that the model was fitted to; piece by piece."""
    parts: dict[str, list[Any]] = {n: [] for n in ("y", "mean", "interval", "weight", "groups")}
    judged: list[tuple[int, float]] = []
    stored.known_schema  # noqa: B018 - an error before a long reading
    for piece in pieces_of(stored, data, screen.note):
        stored.check_columns(piece.raw.columns, data, targets=True)
        rows = stored.rows(piece.frame)
        if not len(rows.positions):
            continue
        judged.append(stored.shares_of(rows))
        with stored.placing(data, piece):
            found = predicted_by(stored.last, stored.features(rows.inputs))
        given = (rows.y, *found, rows.weight, rows.groups)
        for column, values in zip(parts.values(), given, strict=True):
            column += [] if values is None else [values]
    _check_enough(sum(map(len, parts["y"])), data)
    y, mean, interval, weight, groups = (
        np.concatenate(column) if column else None for column in parts.values()
    )
    assert y is not None  # there are enough rows
    assert mean is not None
    figures = held_out_figures(
        y, mean, stored.targets, interval=interval, weight=weight, groups=groups
    )
    n_judged = sum(n for n, _ in judged)
    return figures, sum(n * share for n, share in judged) / n_judged if n_judged else 0.0


def _check_enough(n_rows: int, data: Path) -> None:
    if n_rows < 2:
        raise TableError(f"{n_rows} rows of {data.name} have their targets; 2 at least are needed.")


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
        rows: Samples | None = None
        notes: list[str] = []
        if data is not None:
            tell(f"reading {data.name}")
            rows, notes = _some_rows(stored, data, screen)
        tell("writing the report")
        title = titled(str(stored.notes.get("data") or model.name), stored.targets)
        try:
            report(
                stored.model,
                None if rows is None else rows.inputs,
                None if rows is None else rows.y,
                path=out,
                title=title if data is None else f"{title}, on {data.name}",
                outputs=stored.targets,
                verdict=str(stored.notes.get("verdict") or "") if data is None else "",
                notes=notes,
            )
        except TypeError as error:
            raise UsageError(f"{model}: {error}") from error
    for note in notes:
        screen.note(note)
    screen.give_json({"report": str(out)})
    screen.say(f"Wrote {out}.")


def _some_rows(stored: StoredModel, data: Path, screen: Screen) -> tuple[Samples, list[str]]:
    """Rows to show, a sample of a large table, and what is to be said of them."""
    stored.known_schema  # noqa: B018 - an error before a long reading
    notes: list[str] = []
    if is_large(data):
        sample = sample_of(TableChunks.open(data))
        frame = sample.frame
        notes.append(f"{data.name} is large: a sample of {len(frame)} of its rows is shown.")
    else:
        table = read_table(data)
        frame = table.frame
        for note in table.notes:
            screen.note(note)
    stored.check_columns(frame.columns, data, targets=True)
    rows = stored.rows(frame)
    _check_enough(len(rows.positions), data)
    warning = stored.warning_about(stored.shares_of(rows)[1])
    return rows, [*notes, *([warning] if warning else [])]


def _say_figures(screen: Screen, figures: tuple[Figures, ...], title: str) -> None:
    rows = [[f.output, *figures_in_words(f)] for f in figures]
    screen.table(["target", "RMSE", "MAE", "R²", "95 % covers"], rows, title)
