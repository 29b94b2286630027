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
        0 before there is one.
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
        number = signal.Signals(self.number or signal.SIGINT)
        return "Ctrl-C" if number == signal.SIGINT else number.name


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """Let SIGTERM end the block as Ctrl-C does, by a KeyboardInterrupt, and note which it was.

    What is raised then may be another error, from the clean-up that was interrupted.

    Yields
    ------
    StopSignal
        Tells which signal there was.
    """
    stop, process = StopSignal(), os.getpid()

    def end(number: int, frame: Any) -> None:
        if os.getpid() != process:  # a forked child, which has nothing to clean up
            signal.signal(number, before[number])
            signal.raise_signal(number)
        elif number == signal.SIGINT or time.monotonic() > stop.again:
            stop.number, stop.again = number, time.monotonic() + TWICE
            raise KeyboardInterrupt

    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before: dict[int, Any] = {n: h for n, h in usual.items() if signal.getsignal(n) is h}
    if threading.current_thread() is not threading.main_thread():
        before = {}
    for number in before:
        signal.signal(number, end)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
