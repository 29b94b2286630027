"""Entry point: which command, and what becomes of errors."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from negcorr.cli.codes import FAILURE, INTERRUPTED, USAGE, UsageError

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
        from negcorr.cli.commands import app
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
    except UsageError as error:
        _complain(str(error))
        return USAGE
    except Exception as error:
        return _explained(error)
    return int(code or 0)


def _explained(error: Exception) -> int:
    """Say what went wrong in one line where that says it all; else let Python say it."""
    from negcorr.cli.commands import click_errors
    from negcorr.datasets import DatasetError, MissingDatasetError

    usage, aborted = click_errors()
    if isinstance(error, aborted):
        return INTERRUPTED
    if isinstance(error, usage):
        error.show()
        return USAGE
    if isinstance(error, (DatasetError, MissingDatasetError, OSError)):
        _complain(str(error))
        return FAILURE
    raise error


def _complain(message: str) -> None:
    print(f"negcorr: {message}", file=sys.stderr)
