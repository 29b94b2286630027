"""``negcorr fit`` and ``negcorr demo``: from a file to a tuned ensemble, figures and four files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from joblib import cpu_count
from sklearn.datasets import load_diabetes

from negcorr._common.files import check_writable, write_atomically
from negcorr._common.memory import available_bytes, in_words
from negcorr.bases import AutoBasis, FourierFeatures
from negcorr.cli.arguments import UsageError, check_target, columns_asked_for
from negcorr.cli.fit_files import FILES, metrics_of, titled, write_all
from negcorr.cli.fit_options import FitOptions
from negcorr.cli.loaded_model import NOTICEABLE, share_in_words
from negcorr.cli.messages import say_columns, say_outcome
from negcorr.cli.output import Output
from negcorr.columns.kinds import infer_columns
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks, is_large
from negcorr.tables.large_trial import try_out_large
from negcorr.tables.pipeline import make_tabular
from negcorr.tables.trial import Trial, try_out

__all__ = ["check_memory", "rebuilding_code", "run_demo", "run_fit"]

#: A fit holds about so many matrices of the size of the Gram matrix, or of the features, at a time.
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
    check_writable(options.folder)
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
        trial, remarks = tried(options, output, settings)
        metrics = metrics_of(trial, name, options.command, remarks)
        tell("writing the report")
        snippet = rebuilding_code(options, trial.schema, in_pieces)
        title = titled(name, trial.schema.targets)
        write_all(options.folder, trial, metrics, title=title, snippet=snippet)
    output.give_json(metrics | {"files": [str(options.folder / file) for file in FILES]})
    say_outcome(output, trial, options.folder)


def _tried_in_memory(
    options: FitOptions, output: Output, settings: dict[str, Any]
) -> tuple[Trial, tuple[str, ...]]:
    """The trial of a table that is read as a whole, and remarks for the report."""
    table = read_table(options.data)
    for note in table.notes:
        output.note(note)
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
        settings |= {
            "pipeline": make_tabular(table.frame, schema.targets, schema=schema, estimator=networks)
        }
    if options.test is None:
        return try_out(table.frame, schema, **settings), table.notes
    settings["tell"](f"reading {options.test.name}")
    second = read_table(options.test)
    for note in second.notes:
        output.note(f"{options.test.name}: {note}")
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
    for note in trial.notes:
        output.note(note)
    return trial, trial.notes


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
    usual = options.features or FourierFeatures()
    if isinstance(usual, AutoBasis) and options.members is None:
        members, n_features = "auto", usual.budget
    else:
        members = usual.get_params()["n_members"]
        n_features = members * usual.get_params()["n_components"]
    needed = 8.0 * MATRICES * n_features * min(n_features, max(n_rows, 1))
    there = available_bytes()
    if there is not None and needed > there:
        raise UsageError(
            f"--members {members}: {n_features} features of {n_rows} rows would take about "
            f"{in_words(needed)} of memory, and {in_words(there)} are there. Use fewer members or "
            "--components."
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
    basis = [] if options.features is None else [type(options.features).__name__]
    imports = [f"from negcorr.bases import {name}" for name in basis]
    if in_pieces:
        asked = {"seed": options.seed, "test_size": options.test_share}
        asked |= {"parameters": options.parameters} if options.parameters else {}
        head = "\n".join([*imports, "from negcorr.tables import try_out_large"])
        return (
            f"{head}\n\ntrial = try_out_large({options.data.name!r}, {columns}{keywords(asked)}, "
            "baselines=[])\nmodel = trial.model\n"
        )
    settings = keywords({"random_state": options.seed, **options.parameters})
    if options.deep:
        model = [
            "from negcorr.deep import DeepNCLRegressor",
            "",
            f"networks = DeepNCLRegressor({settings.removeprefix(', ')})",
            "model = make_tabular(frame, schema.targets, schema=schema, estimator=networks)",
        ]
    else:
        model = [
            "folds = folds_for(schema, frame.iloc[rows.positions])",
            "model = make_tabular(",
            f"    frame, schema.targets, schema=schema, cv=folds{settings}",
            ")",
        ]
    lines = [
        "from negcorr import make_tabular",
        *imports,
        "from negcorr.reading import read_table",
        "from negcorr.tables import folds_for, infer_columns, samples",
        "",
        f"frame = read_table({options.data.name!r}).frame",
        f"schema = infer_columns(frame, {columns})",
        "rows = samples(frame, schema)",
        *model,
        "model.fit(rows.inputs, rows.y, **rows.fit_parameters)",
    ]
    return "\n".join(lines) + "\n"


def run_demo(out: Path, output: Output) -> None:
    """Write scikit-learn's diabetes data as a CSV file, and fit it as a user would.

    Parameters
    ----------
    out : Path
        Folder for the data and the files.
    output : Output
    """
    check_writable(out)
    frame = load_diabetes(as_frame=True, scaled=False).frame
    data, frame = out / "diabetes.csv", frame.rename(columns={"target": "progression"})
    table = frame.to_csv(index=False, float_format="%g", lineterminator="\n")
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
