"""Commands for people with a table: fit, predict, evaluate, report, dof, demo.

The functions that carry them out are imported when a command runs: they take a second or two to
load, and help must not wait for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from negcorr.cli.app import (
    CategoricalOption,
    DataArgument,
    DropOption,
    ModelArgument,
    SeedOption,
    TargetOption,
    command,
)
from negcorr.cli.arguments import UsageError
from negcorr.cli.fit_options import FitOptions
from negcorr.cli.output import Output
from negcorr.cli.table_writing import ENDINGS

__all__ = ["DofOptions", "PredictOptions", "demo", "dof", "evaluate", "fit", "predict", "report"]


@command(
    "negcorr fit homes.csv --target price",
    "negcorr fit water.csv.gz --target no3,no2,ph --out water",
    "negcorr fit sales.parquet --target sold --time day --drop id,comment",
    "negcorr fit patients.xlsx --target dose --group hospital --json",
)
def fit(options: FitOptions, output: Output) -> None:
    """Fit a tuned ensemble to a table, and report how accurate it is on held-out rows.

    Numbers, categories, dates and missing values are recognised. A fifth of the rows is held out
    for the figures; the saved model is then fitted to all rows. Writes model.skops, report.html,
    metrics.json and path.csv.
    """
    options.check()
    from negcorr.cli.fitting import run_fit

    run_fit(options, output)


_OUT_HELP = ".csv, .csv.gz, .tsv, .parquet or .feather; standard output."
_MEMBERS_HELP = "Add the predictions of single members."
_RAW_HELP = "Write text as it is, also where spreadsheets take it for a formula."
_KEEP_HELP = "Columns of DATA to copy, with commas; 'all' for all."

KeepOption = Annotated[list[str], Option(metavar="COL,COL", help=_KEEP_HELP)]


@dataclass(frozen=True)
class PredictOptions:
    """A request to predict; its fields are the arguments and options of ``negcorr predict``."""

    model: ModelArgument
    data: DataArgument
    out: Annotated[Path | None, Option("--out", "-o", metavar="FILE", help=_OUT_HELP)] = None
    interval: Annotated[float | None, Option(help="Add intervals that cover this share.")] = None
    members: Annotated[bool, Option("--members", help=_MEMBERS_HELP)] = False
    keep: KeepOption = field(default_factory=list)
    raw: Annotated[bool, Option("--raw", help=_RAW_HELP)] = False

    def check(self) -> None:
        """Refuse what cannot be carried out."""
        if self.interval is not None and not 0.0 < self.interval < 1.0:
            raise UsageError(f"--interval {self.interval}: must be between 0 and 1.")
        if self.model.suffix != ".skops" and self.data.suffix == ".skops":
            raise UsageError(
                f"the model comes first, then the data: negcorr predict {self.data} {self.model}"
            )
        if self.out is None:
            return
        for name, path in (("DATA", self.data), ("MODEL", self.model)):
            if self.out.resolve() == path.resolve():
                raise UsageError(f"--out {self.out} is {name}, which it would replace.")
        if not self.out.name.lower().endswith(ENDINGS):
            raise UsageError(f"--out {self.out}: allowed endings are {', '.join(ENDINGS)}.")


@command(
    "negcorr predict homes-negcorr/model.skops new.csv --out prices.csv",
    "negcorr predict homes-negcorr/model.skops new.csv --interval 0.9 --keep id",
)
def predict(options: PredictOptions, output: Output) -> None:
    """Predict the rows of a table, one line for each, in their order."""
    options.check()
    from negcorr.cli.predicting import run_predict

    run_predict(options, output)


@command("negcorr evaluate homes-negcorr/model.skops sold-in-may.csv")
def evaluate(model: ModelArgument, data: DataArgument, output: Output) -> None:
    """Measure a model on rows whose targets are known.

    A warning is printed if the model was fitted to these rows: figures on them are too good.
    """
    from negcorr.cli.evaluating import run_evaluate

    run_evaluate(model, data, output)


NewDataArgument = Annotated[
    Path | None, Argument(metavar="[DATA]", help="Rows with targets that the model has not seen.")
]
PageOption = Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page.")]


@command(
    "negcorr report homes-negcorr/model.skops",
    "negcorr report homes-negcorr/model.skops sold-in-may.csv --out may.html",
)
def report(
    model: ModelArgument,
    data: NewDataArgument = None,
    out: PageOption = Path("report.html"),
    *,
    output: Output,
) -> None:
    """Write the interactive page about a model, with other rows if you like."""
    from negcorr.cli.evaluating import run_report

    run_report(model, data, out, output)


_USUAL = "negcorr.NCLRegressor"
_CLASS_HELP = "Class of a regressor, with its module."
_PARAM_HELP = (
    "Parameter of it, as name=value, or of its basis, as basis__n_members=20; may be repeated."
)

ParamOption = Annotated[list[str], Option("--param", "-p", metavar="NAME=VALUE", help=_PARAM_HELP)]


@dataclass(frozen=True)
class DofOptions:
    """A request for degrees of freedom; its fields are the options of ``negcorr dof``."""

    data: DataArgument
    target: TargetOption = field(default_factory=list)
    estimator: Annotated[str, Option("--estimator", "-e", help=_CLASS_HELP)] = _USUAL
    param: ParamOption = field(default_factory=list)
    method: Annotated[str, Option(help="auto, exact or monte-carlo.")] = "auto"
    probes: Annotated[int | None, Option(min=1, help="Perturbed targets of Monte Carlo.")] = None
    drop: DropOption = field(default_factory=list)
    categorical: CategoricalOption = field(default_factory=list)
    seed: SeedOption = 0


@command(
    "negcorr dof homes.csv --target price --estimator sklearn.linear_model.Ridge",
    "negcorr dof homes.csv -t price --estimator sklearn.ensemble.RandomForestRegressor "
    "--param max_depth=4 --param n_estimators=50",
)
def dof(options: DofOptions, output: Output) -> None:
    """Degrees of freedom of any regressor on a table: exact where there is a formula.

    Columns are encoded as for `negcorr fit`. Ensembles of negcorr scale them themselves; all other
    regressors get them with mean 0 and standard deviation 1.
    """
    from negcorr.cli.dof_command import run_dof

    run_dof(options, output)


FolderOption = Annotated[Path, Option("--out", "-o", metavar="DIR", help="Folder for the files.")]


@command("negcorr demo", "negcorr demo --out somewhere")
def demo(out: FolderOption = Path("negcorr-demo"), *, output: Output) -> None:
    """Fit the diabetes data that ship with scikit-learn, and show what to try next."""
    from negcorr.cli.fitting import run_demo

    run_demo(out, output)
