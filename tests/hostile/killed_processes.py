"""Commands in processes of their own that are ended by a signal, and commands in this process."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["SIGNALS", "Ended", "faults_of_ending", "here", "started", "stopped"]

#: What ends a process: without a warning, politely, from the keyboard.
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

#: Seconds within which a process ends after a signal, and those that it has started.
PATIENCE = 30.0

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def here(*words: Any) -> Ended:
    """A command in this process."""
    from negcorr.cli import main

    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            main([str(word) for word in words])
        except SystemExit as left:
            code = left.code
    return Ended(int(code or 0), out.getvalue(), err.getvalue())


def started(words: Sequence[Any], code: str | None = None) -> subprocess.Popen[str]:
    """``python -m negcorr`` with these words, or other code, in a session of its own."""
    begin = ["-m", "negcorr"] if code is None else ["-c", code]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", *begin, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
        | {"PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )


def stopped(process: subprocess.Popen[str], number: int, to_all: bool) -> Ended:
    """Send a signal to a process, or to all that it has started too, and wait for the end."""
    with contextlib.suppress(ProcessLookupError):
        if to_all or number == signal.SIGKILL:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
        name = signal.Signals(number).name
        raise AssertionError(f"it runs {PATIENCE} s after {name}: {err[-500:]}") from None
    return Ended(process.returncode, out, err)


def faults_of_ending(process: subprocess.Popen[str], ended: Ended, number: int) -> list[str]:
    """What is wrong with how a command ended after a signal."""
    faults = []
    if number != signal.SIGKILL and "Traceback" in ended.err and "cli/main.py" in ended.err:
        faults.append(f"a traceback after {signal.Signals(number).name}: {ended.err[-1500:]}")
    # Before the command runs, signals do what they do to any program; it may also have ended.
    allowed = {0, -number, 128 + number}
    if ended.code not in allowed:
        faults.append(f"exit code {ended.code} after signal {number}: {ended.err[-1500:]}")
    said = ended.err.count("negcorr: stopped by ")
    if ended.code == 128 + number and number != signal.SIGKILL and said != 1:
        faults.append(f"said {said} times that it was stopped: {ended.err[-1500:]}")
    end = time.monotonic() + PATIENCE
    while _is_alive(process.pid):
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            faults.append(f"processes of the command are alive {PATIENCE} s after its end")
            break
        time.sleep(0.02)
    return faults


def _is_alive(group: int) -> bool:
    """Whether a process of a group is alive."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
