"""Passes over the rows: chunks are read ahead by a thread, and progress is shown."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from negcorr._common.progress import Advance, is_bar, progress_bar
from negcorr.scale.chunks import Chunk, Source, usable

__all__ = ["Passes", "read_ahead", "watched_passes"]

Item = TypeVar("Item")

#: The end of a stream.
_END = object()


def read_ahead(items: Iterator[Item], depth: int = 2) -> Generator[Item]:
    """The same items, such as chunks, read by a thread while those before are worked on.

    Parameters
    ----------
    items : iterator
    depth : int, default=2
        Items that may wait, which bounds the memory. There are never more than ``depth + 2``, if
        the caller's loop drops one when the next comes.

    Examples
    --------
    >>> from negcorr.scale.passes import read_ahead
    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    waiting: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    places = threading.Semaphore(depth + 2)
    stop = threading.Event()

    def read() -> None:
        try:
            item: Any = None
            while item is not _END:
                item = None
                places.acquire()
                if stop.is_set():
                    return
                item = next(items, _END)
                waiting.put((item, None))
        except BaseException as error:  # raised again in the thread that waits, whatever it is
            waiting.put((None, error))

    thread = threading.Thread(target=read, name="negcorr-read-ahead", daemon=True)
    thread.start()
    try:
        for number in itertools.count():
            if number >= 2:
                # The caller has dropped the last item but one when it took the last one.
                places.release()
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
            del item
    finally:
        stop.set()
        places.release()
        thread.join()


@dataclass(repr=False)
class Passes:
    """Passes over the rows of a fit, and their progress.

    Attributes
    ----------
    shown : bool
        Whether bars are drawn.
    count : int
        How many passes there are.
    advance : callable
        To be called for each chunk of the last pass.
    n_rows : int or None
        How many rows there are, as far as that is known.
    """

    shown: bool
    count: int
    advance: Advance
    n_rows: int | None = None

    def chunks(self, source: Source, name: str, number: int) -> Generator[Chunk]:
        """The chunks of one pass, each of which counts as done when the next one is asked for.

        Its thread and its bar end when the generator is closed.

        Parameters
        ----------
        source : Source
        name : str
            What is read, for the error when there are no rows.
        number : int
            Number of the pass, from 1.
        """
        title = f"pass {number} of {self.count}"
        with (
            closing(read_ahead(usable(source.chunks(), name))) as ahead,
            progress_bar(self.shown, self.n_rows, title, "rows") as advance_rows,
        ):
            done = 0
            for chunk in ahead:
                yield chunk
                # Chunks without rows of positive weight were left out.
                advance_rows(chunk.first_row + chunk.n_rows - done)
                done = chunk.first_row + chunk.n_rows
                if number == self.count:
                    self.advance()
            if self.n_rows is None:
                self.n_rows = done
            advance_rows(max(self.n_rows - done, 0))  # of text it is known about


@contextmanager
def watched_passes(progress: Any, source: Source, count: int) -> Iterator[Passes]:
    """Passes over a source; what the user asked to be shown is checked before a row is read.

    Parameters
    ----------
    progress : bool, None or scikit-learn callback
        A callback is called for each chunk of the last pass.
    source : Source
        What is read.
    count : int
        How often.
    """
    callback: AbstractContextManager[Advance] = nullcontext(lambda units=1: None)
    if not is_bar(progress):
        callback = progress_bar(progress, source.n_chunks, "chunks")
    with callback as advance:
        shown = is_bar(progress) and bool(progress)
        yield Passes(shown, count, advance, source.count_rows() if shown else None)
