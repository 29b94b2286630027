"""``negcorr fit`` and ``negcorr demo``: from a file to a tuned ensemble, files and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.datasets import load_diabetes

from negcorr._common.files import check_replaceable, in_use, staged, write_atomically
from negcorr._common.memory import available_bytes, in_words
from negcorr._common.number_text import amount, listed
from negcorr.bases.named import as_basis
from negcorr.cli.arguments import UsageError, check_target, columns_asked_for, errors_about
from negcorr.cli.fit_files import FILES, comparison_tables, facts_of, metrics_of, titled, write_all
from negcorr.cli.fit_options import FitOptions
from negcorr.cli.loaded_model import NOTICEABLE, share_in_words
from negcorr.cli.output import Output
from negcorr.cli.plain_text import printable
from negcorr.columns.kinds import infer_columns
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks, is_large
from negcorr.spectrum.gap import lam_text
from negcorr.tables.large_trial import try_out_large
from negcorr.tables.trial import Trial, try_out

__all__ = ["check_memory", "rebuilding_code", "run_demo", "run_fit", "say_columns", "say_outcome"]

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

#: About how many matrices of the size of the Gram matrix or the features a fit holds at a time.
MATRICES = 8


def run_fit(options: FitOptions, output: Output) -> None:
    """Read a table, fit and compare, fit again to all rows, write the files, and report.

    Parameters
    ----------
    options : FitOptions
        Checked.
    output : Output
    """
    check_target(options.target, options.data)
    for file in FILES:
        check_replaceable(options.folder / file)
    with staged(options.folder) as stage:
        trial, metrics = _fitted(options, output, stage)
    output.give_json(metrics | {"files": [str(options.folder / file) for file in FILES]})
    say_outcome(output, trial, options.folder)


def _fitted(options: FitOptions, output: Output, stage: Path) -> tuple[Trial, dict[str, Any]]:
    """The trial of a fit and its figures; the files are written to a folder ``stage``."""
    name, in_pieces = options.data.name, bool(options.stream)
    if options.stream is None and is_large(options.data):
        in_pieces = not options.needs_memory
        output.note(
            f"{name} is large: it is read in pieces (--no-stream reads it whole)."
            if in_pieces
            else f"{name} is large, and {options.needs_memory} needs all of it in memory."
        )
    with output.busy(f"reading {name}", spinner=not in_pieces) as tell:
        settings = {
            "test_size": options.test_share,
            "seed": options.seed,
            "baselines": options.rivals_named,
            "n_jobs": cpu_count() if options.jobs is None else options.jobs,
            "parameters": options.parameters,
            "tell": tell,
        }
        tried = _tried_in_pieces if in_pieces else _tried_in_memory
        with errors_about(name):
            trial, remarks = tried(options, output, settings)
        metrics = metrics_of(trial, name, options.command, remarks)
        tell("writing the report")
        snippet = rebuilding_code(options, trial.schema, in_pieces)
        title = titled(name, trial.schema.targets)
        write_all(stage, trial, metrics, title=title, snippet=snippet)
    return trial, metrics


def _tried_in_memory(
    options: FitOptions, output: Output, settings: dict[str, Any]
) -> tuple[Trial, tuple[str, ...]]:
    """The trial of a table that is read as a whole, and remarks for the report."""
    table = read_table(options.data)
    output.note(*table.notes)
    check_memory(options, len(table.frame))
    schema = infer_columns(
        table.frame,
        **columns_asked_for(options, table.frame.columns),
        weights=options.weights,
        group=options.group,
        time=options.time,
    )
    say_columns(output, options.data.name, schema)
    if options.deep:
        from negcorr.deep import DeepNCLRegressor

        networks = DeepNCLRegressor(random_state=options.seed, **options.parameters)
        settings |= {"estimator": networks}
    if options.test is None:
        return try_out(table.frame, schema, **settings), table.notes
    settings["tell"](f"reading {options.test.name}")
    second = read_table(options.test)
    output.note(*(f"{options.test.name}: {note}" for note in second.notes))
    trial = try_out(table.frame, schema, test=second.frame, **settings)
    share = trial.seen.share_of(trial.test, trial.schema)
    if share < NOTICEABLE:
        return trial, table.notes
    remark = (
        f"{share_in_words(share)} of the rows of {options.test.name} are rows of "
        f"{options.data.name} too: figures on them are too good, and favour methods that remember."
    )
    output.note(remark)
    return trial, (*table.notes, remark)


def _tried_in_pieces(
    options: FitOptions, output: Output, settings: dict[str, Any]
) -> tuple[Trial, tuple[str, ...]]:
    """The trial of a table that is read piece by piece, and remarks for the report."""
    chunks = TableChunks.open(options.data)
    trial = try_out_large(
        chunks,
        **columns_asked_for(options, chunks.names),
        weights=options.weights,
        progress=output.shows_progress,
        **settings,
    )
    say_columns(output, options.data.name, trial.schema)
    output.note(*trial.notes)
    return trial, trial.notes


def say_columns(output: Output, name: str, schema: Schema) -> None:
    """Print the role of every column, in short, or in full with --verbose.

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
    n_members = saved["n_members"]
    members = "1 member" if n_members == 1 else f"{n_members} members"
    output.say(f"{saved['kind']}: {members}{features}{chosen}")
    for number, line in enumerate(saved.get("features", ())):
        output.say(f"  {'' if number else 'features':<15}{line}")
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


def check_memory(options: FitOptions, n_rows: int) -> None:
    """Refuse an ensemble whose fit would take more memory than there is.

    Parameters
    ----------
    options : FitOptions
    n_rows : int

    Raises
    ------
    UsageError
        Saying how much it would take, and what takes less.
    """
    if options.deep:
        return
    basis: Any = as_basis(options.features or "auto", options.seed)
    if basis.n_members == "auto":
        asked, n_features = "--basis auto: up to", basis.budget
    else:
        asked = f"--members {basis.n_members}:"
        n_features = basis.n_members * basis.n_components
    needed = 8.0 * MATRICES * n_features * min(n_features, max(n_rows, 1))
    there = available_bytes()
    if there is not None and needed > there:
        raise UsageError(
            f"{asked} {n_features} features of {n_rows} rows would take about "
            f"{in_words(needed)} of memory, and {in_words(there)} are there. Use fewer "
            "--members or --components."
        )


def rebuilding_code(options: FitOptions, schema: Schema, in_pieces: bool = False) -> str:
    """Python that fits the same model to the same file.

    Parameters
    ----------
    options : FitOptions
    schema : Schema
        Roles of the columns.
    in_pieces : bool, default=False
        Whether the file was read in pieces.
    """

    def keywords(given: dict[str, Any]) -> str:
        return "".join(f", {name}={value!r}" for name, value in given.items())

    asked: dict[str, Any] = {
        option: [c.name for c in schema.columns if (c.role, c.remark) == (role, "as asked")]
        for option, role in (("drop", "dropped"), ("categorical", "category"))
    }
    asked |= {"weights": schema.weights, "group": schema.group, "time": schema.time}
    columns = f"{list(schema.targets)!r}" + keywords({k: v for k, v in asked.items() if v})
    basis = options.features
    imports = ""
    if basis is not None and not isinstance(basis, str):
        imports = f"from negcorr.bases import {type(basis).__name__}\n"
    if in_pieces:
        asked = {"seed": options.seed, "test_size": options.test_share}
        asked |= {"parameters": options.parameters} if options.parameters else {}
        return f"""\
{imports}from negcorr.tables import try_out_large

trial = try_out_large({options.data.name!r}, {columns}{keywords(asked)}, baselines=[])
model = trial.model
"""
    kind = "DeepNCLRegressor" if options.deep else "NCLRegressor"
    imports += f"from negcorr.deep import {kind}\n" if options.deep else ""
    ours, used = "read_table", "infer_columns, samples"
    settings = keywords({"random_state": options.seed, **options.parameters})
    if not options.deep:
        ours = f"{kind}, {ours}"
        if schema.group or schema.time:
            used = f"folds_for, {used}"
            settings += ", cv=folds_for(schema, frame.iloc[rows.positions])"
    given = ""
    if not options.deep and (schema.weights or schema.group):
        given = ", **rows.fit_parameters"
    return f"""\
from negcorr import {ours}
{imports}from negcorr.tables import {used}

frame = read_table({options.data.name!r}).frame
schema = infer_columns(frame, {columns})
rows = samples(frame, schema)
model = {kind}({settings.removeprefix(", ")})
model.fit(rows.inputs, rows.y{given})
"""


def run_demo(out: Path, output: Output) -> None:
    """Write scikit-learn's diabetes data as a CSV file, and fit it as a user would.

    Parameters
    ----------
    out : Path
        Folder for the data and the files.
    output : Output
    """
    frame = load_diabetes(as_frame=True, scaled=False).frame
    data, frame = out / "diabetes.csv", frame.rename(columns={"target": "progression"})
    table = frame.to_csv(index=False, float_format="%g", lineterminator="\n")
    with in_use(out):  # another run there has its data already
        write_atomically(data, table.encode())
    output.say(f"$ negcorr fit {data} --target progression --out {out}", style="dim")
    run_fit(FitOptions(data, ["progression"], out), output)
    output.say()
    output.say(f"Open {out / 'report.html'} in a browser and move the slider. Then try:")
    for words in (
        f"predict {out / 'model.skops'} {data} --interval 0.9 | head",
        f"evaluate {out / 'model.skops'} {data}",
        f"dof {data} --target progression --estimator sklearn.ensemble.RandomForestRegressor",
    ):
        output.say(f"  negcorr {words}")
