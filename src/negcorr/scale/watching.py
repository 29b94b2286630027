"""Progress of passes over rows: rows and their rate in bars, chunks for callbacks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from negcorr._common.progress import Advance, is_bar, progress_bar
from negcorr.scale.chunks import Chunk, Source

__all__ = ["Watch", "watching"]


@dataclass(repr=False)
class Watch:
    """What is told while chunks are worked on.

    Attributes
    ----------
    shown : bool
        Whether bars are drawn.
    n_passes : int
        How often the rows will be read.
    advance : callable
        To be called for each chunk of the last pass.
    n_rows : int or None
        How many rows there are, as far as that is known.
    """

    shown: bool
    n_passes: int
    advance: Advance
    n_rows: int | None = None

    def over(self, chunks: Iterator[Chunk], number: int) -> Generator[Chunk]:
        """The same chunks, each of which counts as done when the next one is asked for.

        Parameters
        ----------
        chunks : iterator of Chunk
        number : int
            Of the pass, from 1.
        """
        title = f"pass {number} of {self.n_passes}"
        with progress_bar(self.shown, self.n_rows, title, "rows") as told:
            done = 0
            for chunk in chunks:
                yield chunk
                # Chunks without rows of positive weight were passed over.
                told(chunk.first_row + chunk.n_rows - done)
                done = chunk.first_row + chunk.n_rows
                if number == self.n_passes:
                    self.advance()
            if self.n_rows is None:
                self.n_rows = done
            told(self.n_rows - done)


@contextmanager
def watching(progress: Any, source: Source, n_passes: int) -> Iterator[Watch]:
    """Show progress by what the user asked for, which is checked before a row is read.

    Parameters
    ----------
    progress : bool, None or scikit-learn callback
        A callback hears of each chunk of the last pass.
    source : Source
        What is read.
    n_passes : int
        How often.
    """
    callback: AbstractContextManager[Advance] = nullcontext(_nothing)
    if not is_bar(progress):
        callback = progress_bar(progress, source.n_chunks, "chunks")
    with callback as advance:
        shown = is_bar(progress) and bool(progress)
        yield Watch(shown, n_passes, advance, source.count_rows() if shown else None)


def _nothing(units: int = 1) -> None:
    """Nobody wants to know."""
