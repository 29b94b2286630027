"""``negcorr fit``: from a file to a tuned ensemble, honest figures and four files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from joblib import cpu_count

from negcorr._common.files import check_writable
from negcorr.cli.artefacts import FILES, titled, write_all
from negcorr.cli.errors import UsageError
from negcorr.cli.fit_options import FitOptions
from negcorr.cli.loaded_model import NOTICEABLE, share_in_words
from negcorr.cli.memory_use import check_memory
from negcorr.cli.messages import say_columns, say_outcome
from negcorr.cli.metrics import metrics_of, model_notes, source_of
from negcorr.cli.names import check_target, columns_named
from negcorr.cli.output import Screen
from negcorr.columns.kinds import infer_columns
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks, is_large
from negcorr.tables.large_trial import try_out_large
from negcorr.tables.pipeline import make_tabular
from negcorr.tables.trial import Trial, try_out

__all__ = ["rebuilding_code", "run_fit"]


def run_fit(options: FitOptions, screen: Screen) -> None:
    """Read, infer, fit, compare, refit, write, and say all of it.

    Parameters
    ----------
    options : FitOptions
    screen : Screen
    """
    options.check()
    check_target(options.target, options.data)
    check_writable(options.folder)
    streamed = _is_streamed(options, screen)
    with screen.busy(f"reading {options.data.name}", spinner=not streamed) as tell:
        read = _in_pieces if streamed else _in_memory
        trial, remarks = read(options, screen, tell)
        source = source_of(options.data, options.command)
        metrics = metrics_of(trial, source, remarks)
        notes = model_notes(trial, source, metrics["verdict"])
        tell("writing the report")
        title = titled(options.data.name, trial.schema.targets)
        snippet = rebuilding_code(options, trial.schema, streamed)
        write_all(options.folder, trial, metrics, notes, title=title, snippet=snippet)
    screen.give_json(metrics | {"files": [str(options.folder / name) for name in FILES]})
    say_outcome(screen, trial, options.folder)


def _is_streamed(options: FitOptions, screen: Screen) -> bool:
    if options.stream is not None:
        return options.stream
    if not is_large(options.data):
        return False
    if options.needs_memory:
        screen.note(
            f"{options.data.name} is large, and {options.needs_memory} needs all of it in memory."
        )
        return False
    screen.note(f"{options.data.name} is large: it is read in pieces (--no-stream reads it whole).")
    return True


def _in_memory(
    options: FitOptions, screen: Screen, tell: Callable[[str], None]
) -> tuple[Trial, tuple[str, ...]]:
    table = read_table(options.data)
    for note in table.notes:
        screen.note(note)
    check_memory(options.parameters, len(table.frame))
    asked = _columns(options, table.frame.columns)
    schema = infer_columns(
        table.frame, **asked, weights=options.weights, group=options.group, time=options.time
    )
    say_columns(screen, options.data.name, schema)
    other = None
    if options.test is not None:
        tell(f"reading {options.test.name}")
        second = read_table(options.test)
        other = second.frame
        for note in second.notes:
            screen.note(f"{options.test.name}: {note}")
    trial = try_out(
        table.frame,
        schema,
        test=other,
        test_size=options.test_share,
        seed=options.seed,
        baselines=options.rivals,
        n_jobs=_jobs(options),
        pipeline=_deep_pipeline(options, table.frame, schema),
        parameters=options.parameters,
        tell=tell,
    )
    return trial, (*table.notes, *_seen_before(options, screen, trial))


def _seen_before(options: FitOptions, screen: Screen, trial: Trial) -> list[str]:
    """A remark where rows of the second file are rows of the first."""
    if options.test is None:
        return []
    share = trial.seen.share_of(trial.test, trial.schema)
    if share < NOTICEABLE:
        return []
    remark = (
        f"{share_in_words(share)} of the rows of {options.test.name} are rows of "
        f"{options.data.name} too: figures on them are too good, and favour methods that remember."
    )
    screen.note(remark)
    return [remark]


def _in_pieces(
    options: FitOptions, screen: Screen, tell: Callable[[str], None]
) -> tuple[Trial, tuple[str, ...]]:
    chunks = TableChunks.open(options.data)
    trial = try_out_large(
        chunks,
        **_columns(options, chunks.names),
        weights=options.weights,
        test_size=options.test_share,
        seed=options.seed,
        baselines=options.rivals,
        n_jobs=_jobs(options),
        parameters=options.parameters,
        tell=tell,
        progress=screen.shows_progress,
    )
    say_columns(screen, options.data.name, trial.schema)
    for note in trial.notes:
        screen.note(note)
    return trial, trial.notes


def _columns(options: FitOptions, names: Iterable[Any]) -> dict[str, Any]:
    """Columns that were asked for, by what they were asked for."""
    known = [str(name) for name in names]
    return {
        "target": columns_named(options.target, known),
        "drop": columns_named(options.drop, known),
        "categorical": columns_named(options.categorical, known),
    }


def _jobs(options: FitOptions) -> int:
    return cpu_count() if options.jobs is None else options.jobs


def _deep_pipeline(options: FitOptions, frame: Any, schema: Schema) -> Any:
    """A pipeline of deep networks, None where the ensemble is the usual one."""
    if not options.deep:
        return None
    try:
        from negcorr.deep.regressor import DeepNCLRegressor
    except ImportError as error:
        raise UsageError(
            "--deep needs PyTorch, which is not installed: pip install 'negcorr[cli,deep]'"
        ) from error
    networks = DeepNCLRegressor(random_state=options.seed, **options.deep_parameters)
    return make_tabular(frame, schema.targets, schema=schema, estimator=networks)


def rebuilding_code(options: FitOptions, schema: Schema, streamed: bool = False) -> str:
    """Python that fits the same model to the same file.

    Parameters
    ----------
    options : FitOptions
    schema : Schema
        What the columns were taken for.
    streamed : bool, default=False
        Whether the file was read in pieces.
    """
    given: dict[str, Any] = {
        "drop": [c.name for c in schema.columns if (c.role, c.remark) == ("dropped", "as asked")],
        "categorical": [
            c.name for c in schema.columns if (c.role, c.remark) == ("category", "as asked")
        ],
        "weights": schema.weights,
        "group": schema.group,
        "time": schema.time,
    }
    asked = "".join(f", {name}={value!r}" for name, value in given.items() if value)
    targets = list(schema.targets)
    if streamed:
        return _streaming_code(options, f"{targets!r}{asked}")
    lines = [
        "from negcorr import make_tabular",
        "from negcorr.tables import folds_for, infer_columns, read_table, samples",
        "",
        f"frame = read_table({options.data.name!r}).frame",
        f"schema = infer_columns(frame, {targets!r}{asked})",
        "rows = samples(frame, schema)",
        *_pipeline_code(options),
        "model.fit(rows.inputs, rows.y, **rows.fit_parameters)",
    ]
    return "\n".join(lines) + "\n"


def _streaming_code(options: FitOptions, asked: str) -> str:
    settings = f"seed={options.seed}, test_size={options.test_share}"
    settings += f", parameters={options.parameters!r}" if options.parameters else ""
    return (
        "from negcorr.tables import try_out_large\n\n"
        f"trial = try_out_large({options.data.name!r}, {asked}, {settings}, baselines=[])\n"
        "model = trial.model\n"
    )


def _pipeline_code(options: FitOptions) -> Sequence[str]:
    if options.deep:
        settings = {"random_state": options.seed, **options.deep_parameters}
        made = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        return [
            "from negcorr.deep import DeepNCLRegressor",
            "",
            f"networks = DeepNCLRegressor({made})",
            "model = make_tabular(frame, schema.targets, schema=schema, estimator=networks)",
        ]
    made = "".join(f", {name}={value!r}" for name, value in options.parameters.items())
    return [
        "folds = folds_for(schema, frame.iloc[rows.positions])",
        "model = make_tabular(",
        f"    frame, schema.targets, schema=schema, cv=folds, random_state={options.seed}{made}",
        ")",
    ]
