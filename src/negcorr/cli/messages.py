"""What ``negcorr fit`` says: the columns, the figures, and a verdict as the last line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from negcorr._common.number_text import amount
from negcorr.cli.artefacts import FILES, figures_in_words, target_rows
from negcorr.cli.metrics import facts_of
from negcorr.cli.output import Screen, printable
from negcorr.reading.schema import Schema
from negcorr.spectrum.gap import lam_in_words
from negcorr.tables.comparison import Comparison
from negcorr.tables.trial import Trial

__all__ = ["say_columns", "say_outcome"]

#: Roles of columns that are left out.
LEFT_OUT = ("constant", "identifier", "text", "dropped")

#: Fewer rows held out than this say little.
FEW_ROWS = 20

#: Names of columns that a line has at most.
MOST_NAMES = 12


def say_columns(screen: Screen, name: str, schema: Schema) -> None:
    """What every column was taken for, in short; in full where that was asked for.

    Parameters
    ----------
    screen : Screen
    name : str
        Of the file.
    schema : Schema
    """
    screen.say(f"{printable(name)}: {schema.n_rows} rows, {len(schema.columns)} columns")
    for role, plural in (("number", "numbers"), ("category", "categories"), ("date", "dates")):
        names = schema.named(role)
        if names:
            screen.say(f"  {plural:<15}{_listed(names)}")
    for role in ("target", "weights", "group", "time"):
        names = schema.named(role)
        if names:
            screen.say(f"  {role if len(names) == 1 else role + 's':<15}{_listed(names)}")
    for column in schema.columns:
        if column.role in LEFT_OUT:
            screen.say(f"  left out       {printable(column.name)} ({printable(column.remark)})")
        elif column.n_missing and column.role not in LEFT_OUT:
            what = "rows left out" if column.role == "target" else "cells missing"
            screen.say(f"  {what:<15}{column.n_missing} in {printable(column.name)}")
    if screen.verbose:
        screen.say()
        screen.say(str(schema))


def say_outcome(screen: Screen, trial: Trial, folder: Path) -> None:
    """λ, degrees of freedom and σ, methods side by side, files, and the verdict.

    Parameters
    ----------
    screen : Screen
    trial : Trial
    folder : Path
        Where the files are.
    """
    found = trial.comparison
    _say_model(screen, trial)
    screen.say()
    title = f"On {found.n_test} rows{_which_rows(trial)}, in {_units(trial.schema.targets)}:"
    if len(found.targets) == 1:
        _say_methods(screen, found, title)
    else:
        _say_outputs(screen, found, title)
    if found.n_test < FEW_ROWS:
        screen.note(f"{found.n_test} rows held out are few: the figures say little.")
    files = ", ".join(FILES)
    screen.say(f"Wrote {folder}: {files}.")
    screen.say(f"New rows: negcorr predict {folder / FILES[0]} NEW_DATA")
    screen.say(found.verdict(), style="bold")


def _say_model(screen: Screen, trial: Trial) -> None:
    facts = facts_of(trial.model)
    gaps, dofs, sigmas = (np.atleast_1d(facts[name]) for name in ("gap", "dof", "sigma"))
    chosen = f", λ chosen by {facts['criterion']}" if facts["criterion"] else ""
    screen.say()
    features = f", {facts['n_features']} features" if "n_features" in facts else ""
    screen.say(f"{facts['kind']}: {facts['n_members']} members{features}{chosen}")
    rows_of = f"fitted to all {trial.n_rows} rows" if trial.refitted else f"{trial.n_rows} rows"
    if len(dofs) == 1:
        sigma = amount(float(sigmas[0])) or "unknown"
        screen.say(f"  saved model, {rows_of}: {_at(gaps[0], dofs[0])}, σ = {sigma}")
        if trial.refitted:
            tried = facts_of(trial.tried)
            at = _at(tried["gap"], tried["dof"])
            screen.say(f"  for the figures, {trial.comparison.n_train} rows: {at}")
        return
    screen.say(f"  saved model, {rows_of}:")
    gaps = np.broadcast_to(gaps, dofs.shape)
    rows = [
        [name, lam_in_words(float(gap)), f"{dof:.1f}", amount(float(sigma))]
        for name, gap, dof, sigma in zip(trial.schema.targets, gaps, dofs, sigmas, strict=True)
    ]
    screen.table(["target", "λ", "dof", "σ"], rows)


def _say_methods(screen: Screen, found: Comparison, title: str) -> None:
    rows = [
        [method.name, *figures_in_words(method.figures[0]), f"{method.fit_seconds:.2f}"]
        for method in found.methods
    ]
    head = ["method", "RMSE", "MAE", "R²", "95 % covers", "fit, s"]
    screen.table(head, rows, title, spare=["fit, s", "MAE", "95 % covers"])


def _say_outputs(screen: Screen, found: Comparison, title: str) -> None:
    """Several targets: NCL for each of them, then methods over all."""
    each = target_rows(found)
    spare = ["MAE", "95 % covers", "Best other"]
    screen.table(["target", *each[0]], each[1:], title, spare)
    overall = [
        [m.name, amount(float(np.sqrt(m.loss)), 3), f"{m.fit_seconds:.2f}"] for m in found.methods
    ]
    head = ["method", "RMSE in standard deviations", "fit, s"]
    screen.table(head, overall, "Over all targets:")


def _at(gap: float, dof: float) -> str:
    return f"λ = {lam_in_words(float(gap))}, {float(dof):.1f} degrees of freedom"


def _which_rows(trial: Trial) -> str:
    """How the rows of the figures were chosen."""
    schema, test = trial.schema, trial.test
    if not trial.refitted:
        return " of the second file"
    if test.groups is not None:
        n_groups = len(set(test.groups))
        groups = "1 group" if n_groups == 1 else f"{n_groups} groups"
        return f" held out, {groups} of {printable(str(schema.group))}"
    return f" held out, the last by {printable(schema.time)}" if schema.time else " held out"


def _units(targets: tuple[str, ...]) -> str:
    return f"units of {printable(targets[0])}" if len(targets) == 1 else "each target's units"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(printable(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
