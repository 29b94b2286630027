"""Entry point: runs the command, and turns its errors into one line and an exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence

from negcorr.cli.arguments import UsageError
from negcorr.cli.stopping import StoppedError, StopSignal, stop_signal

__all__ = ["main"]

#: Exit codes: something went wrong, the command was not understood.
FAILURE, USAGE = 1, 2


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
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as by >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - to the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal cannot show must not end a long run with an error.
        sys.stdout.reconfigure(errors="replace")
    with stop_signal() as stop:
        try:
            code = _run(arguments)
            if code and stop.number:  # a library gave another reason for being stopped
                raise KeyboardInterrupt
        except BrokenPipeError:
            # The program that reads the output has closed it, as ``head`` does. What is still in
            # the buffer is thrown away.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILURE
        except (KeyboardInterrupt, StoppedError, Exception) as error:
            code = exit_code_of(error, stop)
            # Python marks an interrupt of code that a library makes of text, as dataclasses do, and
            # ``python -m`` then ends as if by SIGINT, whatever the exit code. Other text, even
            # none, takes the mark away.
            exec("")
    raise SystemExit(code)


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command; its exit code."""
    try:
        # The import adds the commands, in the order of the help. It is here so that this module
        # loads without typer.
        from negcorr.cli import data_commands, paper_commands  # noqa: F401
        from negcorr.cli.app import Abort, app
    except ImportError as error:
        return _complain(
            f"the command line needs {error.name or error}, which is not installed: "
            "pip install 'negcorr[cli,plot]'"
        )
    words = None if arguments is None else list(arguments)
    try:
        code = int(app(args=words, standalone_mode=False) or 0)
    except Abort as error:
        raise KeyboardInterrupt from error
    if code == 128 + signal.SIGINT:  # as newer releases of typer say the same
        raise KeyboardInterrupt
    return code


def exit_code_of(error: BaseException, stop: StopSignal) -> int:
    """The exit code of an error, after one line that says what went wrong.

    Errors that users can cause are explained by their message; any other is raised again, for its
    traceback.
    """
    if stop.number or isinstance(error, KeyboardInterrupt | StoppedError):
        if not isinstance(error, StoppedError):
            error = StoppedError(KeyboardInterrupt())
        return _complain(f"stopped by {stop.name}; {error}", stop.exit_code)
    from negcorr.cli.app import usage_errors
    from negcorr.datasets import DatasetError, MissingDatasetError
    from negcorr.exceptions import ChunkError, ModelFileError, TableError

    if isinstance(error, usage_errors()):
        error.show()
        return USAGE
    if isinstance(error, UsageError):
        return _complain(str(error), USAGE)
    explained = (DatasetError, MissingDatasetError, ModelFileError, TableError, ChunkError, OSError)
    not_installed = isinstance(error, ImportError) and "pip install" in str(error)
    if isinstance(error, explained) or not_installed:
        return _complain(str(error))
    raise error


def _complain(message: str, code: int = FAILURE) -> int:
    """Say on standard error what went wrong."""
    # In one line, and without what a terminal would carry out.
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    print(f"negcorr: {shown}", file=sys.stderr)
    return code
