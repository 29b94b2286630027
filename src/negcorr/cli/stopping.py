"""What ends a command early: Ctrl-C, and SIGTERM in the same way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["StopSignal", "StoppedError", "stop_signal"]


#: Seconds in which a second SIGTERM is not heard: some programs send two, and the first has begun
#: the clean-up.
TWICE = 1.0


class StoppedError(BaseException):
    """A command was stopped; its message says what is left of its work.

    Libraries for command lines have an answer of their own to KeyboardInterrupt, so commands raise
    this one in its place.
    """

    def __init__(self, error: KeyboardInterrupt) -> None:
        notes = getattr(error, "__notes__", [])
        super().__init__(" ".join(notes) or "no file is half-written.")


@dataclass
class StopSignal:
    """The signal that has asked a command to stop.

    Attributes
    ----------
    number : int
        0 before there is one, or after Ctrl-C.
    again : float
        Time at which another one is heard.
    """

    number: int = 0
    again: float = 0.0

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal, as shells have it."""
        return 128 + (self.number or signal.SIGINT)

    @property
    def name(self) -> str:
        """How people call it."""
        return signal.Signals(self.number).name if self.number else "Ctrl-C"


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """Let SIGTERM end the block as Ctrl-C does: by a KeyboardInterrupt.

    Yields
    ------
    StopSignal
        Tells which signal there was.
    """
    stop, process = StopSignal(), os.getpid()

    def end(number: int, frame: Any) -> None:
        if os.getpid() != process:  # a forked child, which has nothing to clean up
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif time.monotonic() > stop.again:
            stop.number, stop.again = number, time.monotonic() + TWICE
            raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield stop
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
