"""The application that commands are added to, and how a command gets its options.

If an argument of a command is a dataclass, each of its fields becomes an argument or an option of
the command line. The command gets all of them as one object of this dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import join
from typing import Annotated, Any, get_type_hints

import rich  # noqa: F401 - commands print with it: missing rich is reported here
import typer
from typer import Abort
from typer.models import OptionInfo

import negcorr
from negcorr.cli.stopping import StoppedError

__all__ = [
    "Abort",
    "CategoricalOption",
    "DataArgument",
    "DropOption",
    "ModelArgument",
    "SeedOption",
    "TargetOption",
    "app",
    "command",
    "command_line",
    "usage_errors",
]

app = typer.Typer(
    name="negcorr",
    help="Regression ensembles whose diversity is trained, measured and tuned.",
    epilog="Begin with `negcorr demo`, or `negcorr fit data.csv --target COLUMN`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DATA_HELP = "CSV, TSV, Parquet, Feather, ARFF or Excel; .gz, .bz2, .xz and .zip of these too."
_TARGET_HELP = "Column to predict; several with commas, or repeated."
_DROP_HELP = "Columns to leave out, with commas."
_CATEGORICAL_HELP = "Columns that are categories although they are numbers."
_MODEL_HELP = "A file that `negcorr fit` wrote: model.skops."

DataArgument = Annotated[Path, typer.Argument(metavar="DATA", help=_DATA_HELP)]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help=_MODEL_HELP)]
TargetOption = Annotated[
    list[str], typer.Option("--target", "-t", metavar="COL,COL", help=_TARGET_HELP)
]
DropOption = Annotated[list[str], typer.Option(metavar="COL,COL", help=_DROP_HELP)]
CategoricalOption = Annotated[list[str], typer.Option(metavar="COL,COL", help=_CATEGORICAL_HELP)]
SeedOption = Annotated[int, typer.Option(help="Seed of all that is random.")]


def command(*examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function as a command; fields of its dataclass arguments become its options.

    Parameters
    ----------
    *examples : str
        Command lines, for the end of its help.
    """

    def add(run: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(run, include_extras=True)
        groups: dict[str, Any] = {n: kind for n, kind in hints.items() if is_dataclass(kind)}
        parameters: list[Parameter] = []
        for name, parameter in signature(run).parameters.items():
            if name in groups:
                parameters += _parameters_of(groups[name])
            else:
                changes = {"kind": Parameter.KEYWORD_ONLY, "annotation": hints[name]}
                parameters.append(parameter.replace(**changes))

        @wraps(run)
        def carry_out(**given: Any) -> None:
            for name, kind in groups.items():
                given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            try:
                run(**given)
            except KeyboardInterrupt as error:
                raise StoppedError(error) from error

        carry_out.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        shown = "\n\n".join(f"`{example}`" for example in examples)
        app.command(epilog=f"**Examples**\n\n{shown}")(carry_out)
        return run

    return add


def command_line(name: str, options: Any, wanted: Sequence[str]) -> str:
    """The command line that sets some fields of an object of options as they are.

    Parameters
    ----------
    name : str
        Of the command.
    options : dataclass
    wanted : sequence of str
        Fields, in the order of the words. Those that have their default value are left out.
    """
    words = ["negcorr", name]
    parameters = {parameter.name: parameter for parameter in _parameters_of(type(options))}
    for field in wanted:
        value, parameter = getattr(options, field), parameters[field]
        if value == parameter.default:
            continue
        (kind,) = parameter.annotation.__metadata__
        option = [f"--{field.replace('_', '-')}"] if isinstance(kind, OptionInfo) else []
        if isinstance(value, bool):
            words += option if value else [option[0].replace("--", "--no-")]
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [*option, str(each)]
    return join(words)


def _parameters_of(kind: type) -> list[Parameter]:
    """The fields of a dataclass as parameters of a function."""
    hints = get_type_hints(kind, include_extras=True)
    parameters = []
    for field in fields(kind):
        default = Parameter.empty if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        words = {"default": default, "annotation": hints[field.name]}
        parameters.append(Parameter(field.name, Parameter.KEYWORD_ONLY, **words))
    return parameters


def usage_errors() -> Any:
    """The class of usage errors; versions of typer keep it in different modules."""
    parents = typer.BadParameter.__mro__
    return next(parent for parent in parents if parent.__name__ == "ClickException")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"negcorr {negcorr.__version__}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version."
)


@app.callback()
def _options(version: Annotated[bool, _VERSION] = False) -> None:
    pass
