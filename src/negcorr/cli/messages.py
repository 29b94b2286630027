"""What ``negcorr fit`` says: the columns, the figures, and a verdict as the last line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.number_text import amount, listed
from negcorr.cli.fit_files import FILES, comparison_tables, facts_of
from negcorr.cli.output import Output, printable
from negcorr.reading.schema import Schema
from negcorr.spectrum.gap import lam_text
from negcorr.tables.trial import Trial

__all__ = ["say_columns", "say_outcome"]

#: Roles of columns that are left out.
LEFT_OUT = ("constant", "identifier", "text", "dropped")

#: Roles whose columns are named in a line, with the plural.
NAMED = (
    ("number", "numbers"),
    ("category", "categories"),
    ("date", "dates"),
    *((role, f"{role}s") for role in ("target", "weights", "group", "time")),
)

#: With fewer rows held out than this, a note says that the figures are uncertain.
FEW_ROWS = 20

#: Most names of columns in a line.
MOST_NAMES = 12

#: Columns of a table that are left out on a narrow terminal, in this order.
SPARE = ("fit, s", "MAE", "95 % covers", "Best other")


def say_columns(output: Output, name: str, schema: Schema) -> None:
    """Say what every column was taken for, in short, or in full with --verbose.

    Parameters
    ----------
    output : Output
    name : str
        Of the file.
    schema : Schema
    """
    output.say(f"{printable(name)}: {schema.n_rows} rows, {len(schema.columns)} columns")
    for role, plural in NAMED:
        names = schema.named(role)
        if names:
            shown = listed([printable(name) for name in names], MOST_NAMES)
            one = len(names) == 1 and role not in ("number", "category", "date")
            output.say(f"  {role if one else plural:<15}{shown}")
    for column in schema.columns:
        if column.role in LEFT_OUT:
            output.say(f"  left out       {printable(column.name)} ({printable(column.remark)})")
        elif column.n_missing:
            what = "rows left out" if column.role == "target" else "cells missing"
            output.say(f"  {what:<15}{column.n_missing} in {printable(column.name)}")
    if output.verbose:
        output.say()
        output.say(str(schema))


def say_outcome(output: Output, trial: Trial, folder: Path) -> None:
    """Say λ, degrees of freedom and σ, compare the methods, and name files and verdict.

    Parameters
    ----------
    output : Output
    trial : Trial
    folder : Path
        Where the files are.
    """
    found, schema = trial.comparison, trial.schema
    saved, tried = facts_of(trial.model), facts_of(trial.tried)
    features = f", {saved['n_features']} features" if "n_features" in saved else ""
    chosen = f", λ chosen by {saved['criterion']}" if saved["criterion"] else ""
    rows = f"fitted to all {trial.n_rows} rows" if trial.refitted else f"{trial.n_rows} rows"
    output.say()
    output.say(f"{saved['kind']}: {saved['n_members']} members{features}{chosen}")
    if len(schema.targets) == 1:
        lam, dof, sigma = _outputs_in_words(saved)[0]
        words = f"λ = {lam}, {dof} degrees of freedom, σ = {sigma or 'unknown'}"
        output.say(f"  saved model, {rows}: {words}")
        if trial.refitted:
            lam, dof, _ = _outputs_in_words(tried)[0]
            words = f"λ = {lam}, {dof} degrees of freedom"
            output.say(f"  for the figures, {found.n_train} rows: {words}")
        units = f"units of {printable(schema.targets[0])}"
    else:
        output.say(f"  saved model, {rows}:")
        outputs = zip(schema.targets, _outputs_in_words(saved), strict=True)
        output.table(["target", "λ", "dof", "σ"], [[name, *words] for name, words in outputs])
        units = "each target's units"
    if not trial.refitted:
        which = " of the second file"
    elif trial.test.groups is not None:
        n_groups = len(set(trial.test.groups))
        groups = "1 group" if n_groups == 1 else f"{n_groups} groups"
        which = f" held out, {groups} of {printable(str(schema.group))}"
    else:
        which = f" held out, the last by {printable(schema.time)}" if schema.time else " held out"
    output.say()
    for title, head, lines in comparison_tables(
        found, f"On {found.n_test} rows{which}, in {units}"
    ):
        output.table(head, lines, f"{title}:", SPARE)
    if found.n_test < FEW_ROWS:
        output.note(f"{found.n_test} rows held out are few: the figures say little.")
    output.say(f"Wrote {folder}: {', '.join(FILES)}.")
    output.say(f"New rows: negcorr predict {folder / FILES[0]} NEW_DATA")
    output.say(found.verdict(), style="bold")


def _outputs_in_words(facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """λ, degrees of freedom and σ of each output, σ empty where it is not known."""
    values = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(facts[name], dtype=float)) for name in ("gap", "dof", "sigma"))
    )
    return [
        (lam_text(float(gap), 3), f"{dof:.1f}", amount(float(sigma)))
        for gap, dof, sigma in zip(*values, strict=True)
    ]
