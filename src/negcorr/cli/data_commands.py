"""Commands for people with a table: fit, predict, evaluate, report, dof, demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from negcorr.cli.app import JsonOption, QuietOption, VerboseOption, app, examples
from negcorr.cli.errors import UsageError
from negcorr.cli.fit_options import BASES, CRITERIA, LOSSES, RIVALS, SOLVERS, FitOptions

if TYPE_CHECKING:
    from negcorr.cli.output import Screen

__all__ = ["demo", "dof", "evaluate", "fit", "predict", "report"]

DATA = "CSV, TSV, Parquet, Feather, ARFF or Excel; .gz, .bz2, .xz and .zip of these too."

DataArgument = Annotated[Path, typer.Argument(metavar="DATA", help=DATA)]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that `negcorr fit` wrote: model.skops.")
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL,COL",
        help="Column to predict; several with commas, or repeated.",
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL,COL", help="Columns to leave out, with commas."),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COL,COL",
        help="Columns that are categories although they are numbers.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of all that is random.")]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", help="Cores that rivals may use; by default all.")
]


@app.command(
    epilog=examples(
        "negcorr fit homes.csv --target price",
        "negcorr fit water.csv.gz --target no3,no2,ph --out water",
        "negcorr fit sales.parquet --target sold --time day --drop id,comment",
        "negcorr fit patients.xlsx --target dose --group hospital --json",
    )
)
def fit(
    data: DataArgument,
    target: TargetOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for the files; DATA-negcorr."),
    ] = None,
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="COL", help="Column that says how often a row counts."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="COL", help="Column of rows that belong together."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="COL", help="Column that rows follow in: the last are held out."
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test", metavar="FILE", help="Second file for the figures, never fitted to."
        ),
    ] = None,
    test_size: Annotated[
        float | None, typer.Option("--test-size", help="Share of rows held out for figures; 0.2.")
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            "--criterion",
            help=f"What chooses λ: {', '.join(CRITERIA)}; kfold, or sure with --deep.",
            autocompletion=lambda: list(CRITERIA),
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option("--members", min=1, help="Members of the ensemble; 100, or 30 with --deep."),
    ] = None,
    components: Annotated[
        int | None, typer.Option("--components", min=1, help="Features of each member; 10.")
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            "--basis",
            help=f"Features of members: {', '.join(BASES)}; fourier. auto lets the data choose, "
            "which takes seconds more and often predicts better.",
            autocompletion=lambda: list(BASES),
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            "--solver",
            help="gram is fast, qr accurate near λ = 1; auto moves on where it can.",
            autocompletion=lambda: list(SOLVERS),
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            help=f"{', '.join(LOSSES)}, or huber's threshold as a number of standard deviations; "
            "squared. huber is for targets with gross errors, and needs the table in memory.",
            autocompletion=lambda: list(LOSSES),
        ),
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Members are deep networks (needs PyTorch).")
    ] = False,
    rivals: Annotated[
        str | None,
        typer.Option(
            "--rivals",
            metavar="NAME,NAME",
            help=f"What to compare with: {', '.join(RIVALS)}, or none.",
        ),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream", help="Read the file in pieces; by default where it is large."
        ),
    ] = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Fit a tuned ensemble to a table, and say honestly how good it is.

    Numbers, categories, dates and missing values are found out. A fifth of the rows is held out
    for the figures; the saved model is then fitted to all rows. Writes model.skops, report.html,
    metrics.json and path.csv.
    """
    options = FitOptions(
        data=data,
        target=target or (),
        drop=drop or (),
        categorical=categorical or (),
        weights=weights,
        group=group,
        time=time,
        test=test,
        test_size=test_size,
        criterion=criterion,
        basis=basis,
        solver=solver,
        loss=loss,
        members=members,
        components=components,
        seed=seed,
        deep=deep,
        rivals_given=rivals,
        jobs=jobs,
        stream=stream,
        out=out,
    )
    options.check()
    screen = _screen(as_json, quiet, verbose)
    from negcorr.cli.fitting import run_fit  # takes a second or two, and errors should not

    run_fit(options, screen)


@app.command(
    epilog=examples(
        "negcorr predict homes-negcorr/model.skops new.csv --out prices.csv",
        "negcorr predict homes-negcorr/model.skops new.csv --interval 0.9 --keep id",
    )
)
def predict(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help=".csv, .csv.gz, .tsv, .parquet or .feather; standard output.",
        ),
    ] = None,
    interval: Annotated[
        float | None, typer.Option("--interval", help="Add intervals that cover this share.")
    ] = None,
    members: Annotated[
        bool, typer.Option("--members", help="Add the predictions of single members.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COL,COL", help="Columns of DATA to copy, with commas; 'all' for all."
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Predict the rows of a table, one line for each, in their order."""
    from negcorr.cli.predicting import PredictOptions, run_predict

    options = PredictOptions(model, data, out, interval, members, tuple(keep or ()))
    run_predict(options, _screen(as_json, quiet, verbose))


@app.command(epilog=examples("negcorr evaluate homes-negcorr/model.skops sold-in-may.csv"))
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Measure a model on rows whose targets are known.

    Says so where the model has seen them: figures on such rows are too good.
    """
    from negcorr.cli.evaluating import run_evaluate

    run_evaluate(model, data, _screen(as_json, quiet, verbose))


@app.command(
    epilog=examples(
        "negcorr report homes-negcorr/model.skops",
        "negcorr report homes-negcorr/model.skops sold-in-may.csv --out may.html",
    )
)
def report(
    model: ModelArgument,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Rows with targets that the model has not seen."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page.")] = Path(
        "report.html"
    ),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Write the interactive page about a model, with other rows if you like."""
    from negcorr.cli.evaluating import run_report

    run_report(model, data, out, _screen(as_json, quiet, verbose))


@app.command(
    epilog=examples(
        "negcorr dof homes.csv --target price --estimator sklearn.linear_model.Ridge",
        "negcorr dof homes.csv -t price --estimator sklearn.ensemble.RandomForestRegressor "
        "--param max_depth=4 --param n_estimators=50",
    )
)
def dof(
    data: DataArgument,
    target: TargetOption = None,
    estimator: Annotated[
        str,
        typer.Option("--estimator", "-e", help="Class of a regressor, with its module."),
    ] = "negcorr.NCLRegressor",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="Parameter of it, as name=value; may be repeated.",
        ),
    ] = None,
    method: Annotated[str, typer.Option("--method", help="auto, exact or monte-carlo.")] = "auto",
    probes: Annotated[
        int | None, typer.Option("--probes", min=1, help="Perturbed targets of Monte Carlo.")
    ] = None,
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Degrees of freedom of any regressor on a table: exact where there is a formula.

    Columns are encoded as for `negcorr fit`; the regressor gets the numbers.
    """
    from negcorr.cli.dof_command import DofOptions, run_dof

    options = DofOptions(
        data=data,
        target=target or (),
        estimator=estimator,
        parameters=tuple(param or ()),
        method=method,
        probes=probes,
        drop=drop or (),
        categorical=categorical or (),
        seed=seed,
    )
    run_dof(options, _screen(as_json, quiet, verbose))


@app.command(epilog=examples("negcorr demo", "negcorr demo --out somewhere"))
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the files.")
    ] = Path("negcorr-demo"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Fit the diabetes data that ship with scikit-learn, and show what to try next."""
    from negcorr.cli.demonstration import run_demo

    run_demo(out, _screen(as_json, quiet, verbose))


def _screen(as_json: bool, quiet: bool, verbose: bool) -> Screen:
    from negcorr.cli.output import Screen

    if quiet and verbose:
        raise UsageError("--quiet and --verbose: give one of them.")
    return Screen(quiet, verbose, as_json)
