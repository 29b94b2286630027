"""``negcorr evaluate`` and ``negcorr report``: a stored model on rows whose targets are known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from negcorr.cli.arguments import UsageError, errors_about
from negcorr.cli.fit_files import FIGURE_NAMES, figures_in_words, titled
from negcorr.cli.loaded_model import open_model, pieces_of, warning_about
from negcorr.cli.output import Output
from negcorr.exceptions import TableError
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks, is_large
from negcorr.reporting import report
from negcorr.tables.held_out_errors import held_out_figures
from negcorr.tables.large_trial import rows_of_large
from negcorr.tables.trial import predicted_by

__all__ = ["run_evaluate", "run_report"]


def run_evaluate(model: Path, data: Path, output: Output) -> None:
    """Figures of a model on the rows of a table, which is read piece by piece.

    Parameters
    ----------
    model, data : Path
    output : Output
    """
    parts: list[tuple[Any, ...]] = []
    n_seen = 0.0
    with output.busy(f"reading {model.name}") as tell, errors_about(data.name):
        loaded = open_model(model)
        tell(f"predicting {data.name}")
        loaded.known_schema  # noqa: B018 - raises an error before a long file is read
        for piece in pieces_of(loaded, data, output.note):
            loaded.check_columns(piece.columns, data, targets=True)
            rows = loaded.rows(piece.frame)
            if not len(rows.positions):
                continue
            n_seen += len(rows.positions) * loaded.share_of(rows)
            with loaded.placing(data, piece):
                found = predicted_by(*loaded.ensemble_and_features(rows.inputs))
            parts.append((rows.y, *found, rows.weight, rows.groups))
        n_rows = sum(len(part[0]) for part in parts)
        _check_enough(n_rows, data)
        whole: list[Any] = [
            None if column[0] is None else np.concatenate(column)
            for column in zip(*parts, strict=True)
        ]
        names = ("y", "predicted", "interval", "weight", "groups")
        figures = held_out_figures(names=loaded.targets, **dict(zip(names, whole, strict=True)))
    warning = warning_about(n_seen / n_rows)
    answer = {"model": str(model), "data": str(data), "n_rows": n_rows}
    listed = [asdict(one) for one in figures]
    output.give_json(answer | {"figures": listed, "warning": warning or None})
    table = [[f.output, *figures_in_words(f)] for f in figures]
    output.table(["target", *FIGURE_NAMES], table, f"{data.name}: {n_rows} rows")
    if warning:
        output.note(warning)


def run_report(model: Path, data: Path | None, out: Path, output: Output) -> None:
    """The interactive page about a model.

    Parameters
    ----------
    model : Path
    data : Path or None
        Rows for the parts that show predictions; of a large table a sample is shown.
    out : Path
        The page.
    output : Output
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {out}: a page must end with .html.")
    with output.busy(f"reading {model.name}") as tell, errors_about((data or model).name):
        loaded = open_model(model)
        notes: list[str] = []
        title = titled(str(loaded.notes.get("data") or model.name), loaded.targets)
        shown: dict[str, Any] = {"title": title, "verdict": str(loaded.notes.get("verdict") or "")}
        if data is not None:
            tell(f"reading {data.name}")
            loaded.known_schema  # noqa: B018 - raises an error before a long file is read
            if is_large(data):
                frame = rows_of_large(TableChunks.open(data))
                notes.append(
                    f"{data.name} is large: a sample of {len(frame)} of its rows is shown."
                )
            else:
                table = read_table(data)
                frame = table.frame
                output.note(*table.notes)
            loaded.check_columns(list(map(str, frame.columns)), data, targets=True)
            rows = loaded.rows(frame)
            _check_enough(len(rows.positions), data)
            warning = warning_about(loaded.share_of(rows))
            notes += [warning] if warning else []
            shown = {"X": rows.inputs, "y": rows.y, "title": f"{title}, on {data.name}"}
        tell("writing the report")
        try:
            report(loaded.model, path=out, outputs=loaded.targets, notes=notes, **shown)
        except TypeError as error:
            raise UsageError(f"{model}: {error}") from error
    output.note(*notes)
    output.give_json({"report": str(out)})
    output.say(f"Wrote {out}.")


def _check_enough(n_rows: int, data: Path) -> None:
    if n_rows < 2:
        raise TableError(f"{n_rows} rows of {data.name} have their targets; 2 at least are needed.")
