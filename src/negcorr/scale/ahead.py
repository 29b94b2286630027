"""A thread that reads chunks while those before are worked on."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any

from negcorr.scale.chunks import Chunk

__all__ = ["read_ahead"]

#: The end of a stream.
_END = object()


def read_ahead(chunks: Iterator[Chunk], depth: int = 2) -> Generator[Chunk]:
    """The same chunks, read by a thread while those before are worked on.

    Parameters
    ----------
    chunks : iterator of Chunk
    depth : int, default=2
        Chunks that may wait: what bounds the memory. There are never more than ``depth + 2``, if
        whoever loops over them drops one when the next comes.
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
                item = next(chunks, _END)
                waiting.put((item, None))
        except BaseException as error:  # told to the thread that waits, whatever it is
            waiting.put((None, error))

    thread = threading.Thread(target=read, name="negcorr-read-ahead", daemon=True)
    thread.start()
    try:
        for number in itertools.count():
            if number >= 2:
                # The last chunk but one is gone, for the last has taken its place.
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
