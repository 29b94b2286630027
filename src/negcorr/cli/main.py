"""Entry point: which command, and what becomes of errors."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from negcorr.cli.errors import FAILURE, INTERRUPTED, USAGE, UsageError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands behind ``negcorr``; by default what the shell gave.

    Examples
    --------
    >>> from negcorr.cli import main
    >>> main(["--version"])  # doctest: +SKIP
    negcorr 0.1.0
    """
    raise SystemExit(_exit_code(arguments))


def _exit_code(arguments: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A check mark that the terminal cannot show must not end an hour's run.
        sys.stdout.reconfigure(errors="replace")
    try:
        # Importing them adds the commands, in the order of the help.
        from negcorr.cli import data_commands, paper_commands  # noqa: F401
        from negcorr.cli.app import app
    except ImportError as error:
        _complain(
            f"the command line needs {error.name or error}, which is not installed: "
            "pip install 'negcorr[cli,plot]'"
        )
        return FAILURE
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read has enough, as ``head`` does; what is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except UsageError as error:
        _complain(str(error))
        return USAGE
    except Exception as error:
        return _explained(error)
    return int(code or 0)


def _explained(error: Exception) -> int:
    """Say what went wrong in one line where that says it all; else let Python say it."""
    from negcorr.cli.app import click_errors
    from negcorr.datasets import DatasetError, MissingDatasetError
    from negcorr.exceptions import ModelFileError, TableError

    usage, aborted = click_errors()
    if isinstance(error, aborted):
        return INTERRUPTED
    if isinstance(error, usage):
        error.show()
        return USAGE
    ours = (DatasetError, MissingDatasetError, ModelFileError, TableError)
    if isinstance(error, (*ours, OSError)) or _names_a_package(error):
        _complain(str(error))
        return FAILURE
    raise error


def _names_a_package(error: Exception) -> bool:
    """Whether something is not installed, and the message says how to get it."""
    return isinstance(error, ImportError) and "pip install" in str(error)


def _complain(message: str) -> None:
    print(f"negcorr: {message}", file=sys.stderr)
