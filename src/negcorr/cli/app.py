"""The application that commands are added to, and the options that many of them share."""

from __future__ import annotations

from typing import Annotated, Any

import rich  # noqa: F401 - what commands print with: met here, so that its lack is told
import typer

import negcorr

__all__ = ["JsonOption", "QuietOption", "VerboseOption", "app", "click_errors", "examples"]

app = typer.Typer(
    name="negcorr",
    help="Regression ensembles whose diversity is trained, measured and tuned.",
    epilog="Begin with `negcorr demo`, or `negcorr fit data.csv --target COLUMN`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

JsonOption = Annotated[bool, typer.Option("--json", help="For machines: one JSON value.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print every column and every step.")
]


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "**Examples**\n\n" + "\n\n".join(f"`{command}`" for command in commands)


def click_errors() -> tuple[Any, Any]:
    """Classes of usage errors and of aborts, wherever this typer has them from."""
    parents = typer.BadParameter.__mro__
    usage = next(parent for parent in parents if parent.__name__ == "ClickException")
    return usage, typer.Abort


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"negcorr {negcorr.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass
