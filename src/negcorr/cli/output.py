"""What commands print: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Option

from negcorr.cli.arguments import UsageError
from negcorr.cli.plain_text import json_text, printable

__all__ = ["Output"]

#: Columns of text where the width of the terminal is not known.
WIDTH = 110

#: Spaces between columns of a table, and the least room for names.
PADDING, NARROWEST = 3, 10


@dataclass(frozen=True)
class Output:
    """What a command prints, for people or machines; its fields are options of most commands."""

    as_json: Annotated[bool, Option("--json", help="For machines: one JSON value.")] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print errors only.")] = False
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="Print every column and every step.")
    ] = False

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise UsageError("--quiet and --verbose: give one of them.")

    @property
    def shows_progress(self) -> bool:
        """Whether progress is shown: standard error is a terminal, without --quiet."""
        return not self.quiet and sys.stderr.isatty()

    def say(self, words: str = "", style: str = "") -> None:
        """Print text for people on standard output."""
        if not self.quiet and not self.as_json:
            lines = [printable(line, None) for line in words.split("\n")]
            _console().print(Text("\n".join(lines), style=style), soft_wrap=True)

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        title: str = "",
        spare: Sequence[str] = (),
    ) -> None:
        """Print a table for people: names in the first column, numbers in the others.

        Parameters
        ----------
        head, rows : sequences of str
        title : str
            A line above it.
        spare : sequence of str
            Columns to leave out on a narrow terminal, in this order.
        """
        if self.quiet or self.as_json:
            return
        console = _console()
        widths = [max(len(printable(line[j])) for line in [head, *rows]) for j in range(len(head))]
        shown = list(range(len(head)))
        for name in spare:
            if sum(widths[j] + PADDING for j in shown) <= console.width:
                break
            shown = [j for j in shown if head[j] != name]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        if title:
            self.say(title, style="bold")
        for j in shown:
            if j == 0:
                table.add_column(Text(head[j]), overflow="fold", min_width=NARROWEST)
            else:
                table.add_column(Text(head[j]), justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(printable(row[j])) for j in shown))
        console.print(table)

    def note(self, *remarks: str) -> None:
        """Print remarks on standard error, a line each."""
        for words in () if self.quiet else remarks:
            _console(stderr=True).print(Text(f"note: {printable(words, 2000)}"), soft_wrap=True)

    def detail(self, words: str) -> None:
        """Print a remark on standard error with --verbose."""
        if self.verbose:
            _console(stderr=True).print(Text(printable(words, 2000)), soft_wrap=True)

    def give_json(self, value: Any) -> None:
        """Print a value as JSON with --json."""
        if self.as_json:
            print(json_text(value, 2))

    @contextmanager
    def busy(self, words: str, spinner: bool = True) -> Iterator[Callable[[str], None]]:
        """Show what is being done while the block runs; warnings become notes.

        Parameters
        ----------
        words : str
            What is done first.
        spinner : bool, default=True
            Whether it is shown; not beside bars, which need the same line.

        Yields
        ------
        tell : callable
            Takes what is being done now.
        """
        shown = spinner and self.shows_progress
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            with _console(stderr=True).status(words) if shown else nullcontext() as status:

                def tell(now: str) -> None:
                    self.detail(now)
                    if status is not None:
                        status.update(Text(now))

                yield tell
        # Warnings that differ in their numbers only are printed once.
        said = {re.sub(r"\d[\d.e+-]*", "#", str(w.message)): str(w.message) for w in caught}
        self.note(*said.values())


def _console(stderr: bool = False) -> Console:
    """A console for one line: the streams may have changed since the module was loaded."""
    stream = sys.stderr if stderr else sys.stdout
    wide = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(file=stream, width=wide, markup=False, highlight=False, emoji=False)
