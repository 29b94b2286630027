"""Exit codes, and the error that stands for a command that was not understood."""

from __future__ import annotations

__all__ = ["FAILURE", "INTERRUPTED", "USAGE", "UsageError"]

#: Something went wrong, the command was not understood, Ctrl-C.
FAILURE, USAGE, INTERRUPTED = 1, 2, 130


class UsageError(Exception):
    """The command cannot be carried out as given."""
