"""What ``negcorr fit`` says: the columns, the figures, and a verdict as the last line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from negcorr.cli.artefacts import FILES
from negcorr.cli.metrics import facts_of
from negcorr.cli.screen import Screen, printable
from negcorr.tabular import Comparison, Schema, Trial
from negcorr.tabular.wording import amount, amount_with_error, lam_in_words

__all__ = ["say_columns", "say_outcome"]

#: Roles of columns that are left out.
LEFT_OUT = ("constant", "identifier", "text", "dropped")

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
        if column.role in LEFT_OUT and column.remark != "as asked":
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
    title = (
        f"Figures from {found.n_train} rows to fit and {found.n_test} held out"
        + ("" if trial.refitted else " (the second file)")
        + f", in {_units(trial.schema.targets)}:"
    )
    screen.say()
    if len(found.targets) == 1:
        _say_methods(screen, found, title)
    else:
        _say_outputs(screen, found, title)
    files = ", ".join(FILES)
    screen.say(f"Wrote {folder}: {files}.")
    if trial.refitted:
        screen.say(f"The saved model is fitted to all {trial.n_rows} rows, held-out ones too.")
    screen.say(f"New rows: negcorr predict {folder / FILES[0]} NEW_DATA")
    screen.say(found.verdict(), style="bold")


def _say_model(screen: Screen, trial: Trial) -> None:
    facts = facts_of(trial.model)
    gaps, dofs, sigmas = (np.atleast_1d(facts[name]) for name in ("gap", "dof", "sigma"))
    chosen = f"chosen by {facts['criterion']}" if facts["criterion"] else "given"
    screen.say()
    features = f", {facts['n_features']} features" if "n_features" in facts else ""
    screen.say(
        f"{facts['kind']}: {facts['n_members']} members{features} of {facts['n_inputs']} encoded "
        f"inputs, {trial.n_rows} rows, λ {chosen}"
    )
    if len(dofs) == 1:
        screen.say(
            f"  λ = {lam_in_words(float(gaps[0]))}, {dofs[0]:.1f} degrees of freedom, "
            f"σ = {amount(float(sigmas[0]))}"
        )
        return
    gaps = np.broadcast_to(gaps, dofs.shape)
    rows = [
        [name, lam_in_words(float(gap)), f"{dof:.1f}", amount(float(sigma))]
        for name, gap, dof, sigma in zip(trial.schema.targets, gaps, dofs, sigmas, strict=True)
    ]
    screen.table(["target", "λ", "dof", "σ"], rows)


def _say_methods(screen: Screen, found: Comparison, title: str) -> None:
    rows = [
        [
            method.name,
            amount_with_error(f.rmse, f.rmse_se),
            amount_with_error(f.mae, f.mae_se),
            f"{f.r2:.3f}",
            "" if np.isnan(f.coverage) else f"{f.coverage:.1%}",
            f"{method.fit_seconds:.2f}",
        ]
        for method in found.methods
        for f in method.figures
    ]
    head = ["method", "RMSE", "MAE", "R²", "95 % covers", "seconds"]
    screen.table(head, rows, title=title)


def _say_outputs(screen: Screen, found: Comparison, title: str) -> None:
    """Several targets: NCL for each of them, then methods over all."""
    rivals = found.methods[1:]
    rows = []
    for k, f in enumerate(found.methods[0].figures):
        best = min(rivals, key=lambda method: method.figures[k].rmse, default=None)
        rows.append(
            [
                f.output,
                amount_with_error(f.rmse, f.rmse_se),
                amount_with_error(f.mae, f.mae_se),
                f"{f.r2:.3f}",
                "" if np.isnan(f.coverage) else f"{f.coverage:.1%}",
                "" if best is None else f"{amount(best.figures[k].rmse)} {best.name}",
            ]
        )
    head = ["target", "RMSE", "MAE", "R²", "95 % covers", "best other"]
    screen.table(head, rows, title=title)
    overall = [
        [m.name, amount(float(np.sqrt(m.loss)), 3), f"{m.fit_seconds:.2f}"] for m in found.methods
    ]
    head = ["method", "RMSE in standard deviations", "seconds"]
    screen.table(head, overall, title="Over all targets:")


def _units(targets: tuple[str, ...]) -> str:
    return f"units of {printable(targets[0])}" if len(targets) == 1 else "each target's units"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(printable(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
