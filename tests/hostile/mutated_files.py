"""Campaign: damaged, mislabelled and oversized files of every kind that is read.

A file gives a table or our error; through the command line a fit or one sentence and exit code 1.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import traceback
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
from hostile.large_contents import LARGE
from hostile.mutations import MUTATIONS, mutated_member
from hostile.outcome import Outcome
from hostile.valid_tables import KINDS, packed, valid_table

from negcorr import read_table
from negcorr.exceptions import TableError
from negcorr.reading import TableChunks

__all__ = ["CASES", "MEMORY", "SECONDS", "run"]

CASES = 5_000
SECONDS = 240.0

#: Address space: what pandas, pyarrow and openpyxl map, and what one file may take.
MEMORY = 6 * 2**30

SEED = 20_261

#: Seconds and bytes of memory that one small file may take.
MOST_SECONDS, MOST_BYTES = 60.0, 2 * 2**30

#: One case in so many goes through the command line, and one in so many is a large content.
COMMAND_LINE, LARGE_CONTENT = 10, 50

FIT = ("--target", "y", "--basis", "fourier", "--members", "2", "--components", "2")
OPTIONS = (*FIT, "--rivals", "mean", "--quiet")

ARCHIVES = (".gz", ".bz2", ".xz", ".zip")
ENDINGS = (".csv", ".tsv", ".arff", ".parquet", ".feather", ".xlsx", ".gz", ".zip", ".txt", "")


def run(number: int, folder: Path) -> Outcome:
    """One file, read in this process or by a command in another."""
    rng = np.random.default_rng([SEED, number])
    if number % LARGE_CONTENT == 7:
        ending, make = LARGE[number // LARGE_CONTENT % len(LARGE)]
        kind, content = "large content", make()
    else:
        kind, ending, content = mutated(rng)
    file = folder / f"data{ending}"
    file.write_bytes(content)
    if number % COMMAND_LINE == 3:
        return by_command(f"{kind}, command line", file, folder)
    return read(kind, file, in_chunks=bool(rng.random() < 0.3))


def mutated(rng: np.random.Generator) -> tuple[str, str, bytes]:
    """Kind, ending and bytes of a damaged file."""
    kind = str(rng.choice(list(KINDS), p=[0.4, 0.15, 0.15, 0.15, 0.15]))
    ending, content = valid_table(kind, rng)
    for _ in range(int(rng.choice(4, p=[0.1, 0.65, 0.15, 0.1]))):
        if kind == "Excel" and rng.random() < 0.6 and content[:2] == b"PK":
            content = _member(content, rng)
        elif content:
            content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](content, rng)
    while rng.random() < 0.25:
        how = str(rng.choice(ARCHIVES))
        ending, content = ending + how, packed(content, how)
        if rng.random() < 0.4:
            content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](content, rng)
    if rng.random() < 0.15:
        ending = str(rng.choice(ENDINGS))
    return kind, ending, content


def _member(content: bytes, rng: np.random.Generator) -> bytes:
    """A workbook with one damaged part, or as it is where another mutation has damaged it."""
    try:
        return mutated_member(content, rng)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error):
        return content


def read(kind: str, file: Path, in_chunks: bool) -> Outcome:
    """Read a file in this process: a table, or our error, within the limits."""
    faults: list[str] = []
    answer = "refused"
    _forget_peak()
    # Of this process alone: others may be at work.
    before, began = _memory("VmRSS"), time.process_time()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            if in_chunks:
                for frame in TableChunks.open(file):
                    assert frame.shape[1] > 0
            else:
                assert read_table(file).frame.shape[1] > 0
            answer = "answered"
        except TableError as error:
            faults += _faults_of_message(str(error))
        except Exception:
            faults.append(traceback.format_exc(limit=-4))
    seconds = time.process_time() - began
    taken = _memory("VmHWM") - before - file.stat().st_size
    faults += [f"warning: {each.message}" for each in warned]
    if seconds > MOST_SECONDS:
        faults.append(f"it took {seconds:.0f} s.")
    if taken > MOST_BYTES:
        faults.append(f"it took {taken / 2**30:.1f} GiB above the file.")
    return Outcome(kind, answer, tuple(faults))


def _faults_of_message(message: str) -> list[str]:
    """What is wrong with the text of an error."""
    if len(message) > 2_000:
        return [f"a message of {len(message)} characters."]
    return []


def by_command(kind: str, file: Path, folder: Path) -> Outcome:
    """Fit a file by a command in a process of its own."""
    out = folder / "out"
    words = [sys.executable, "-m", "negcorr", "fit", str(file), *OPTIONS, "--out", str(out)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="backslashreplace",
        timeout=SECONDS - 10,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
    )
    faults = []
    left = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    lines = done.stderr.strip().splitlines()
    if "Traceback" in done.stderr:
        faults.append("\n".join(lines[-4:]))
    elif done.returncode == 1:
        if len(lines) != 1 or not lines[0].startswith("negcorr: "):
            faults.append(f"exit code 1 with {len(lines)} lines: {done.stderr[:500]!r}.")
        if left:
            faults.append(f"exit code 1 and files: {left}.")
    elif done.returncode == 0:
        if left != ["metrics.json", "model.skops", "path.csv", "report.html"]:
            faults.append(f"exit code 0 and files: {left}.")
    else:
        faults.append(f"exit code {done.returncode}: {done.stderr[-500:]!r}.")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr):
        faults.append("control characters were printed.")
    return Outcome(kind, "answered" if done.returncode == 0 else "refused", tuple(faults))


def _forget_peak() -> None:
    """Let the peak of resident memory begin anew, where the system has that."""
    place = Path("/proc/self/clear_refs")
    if place.exists():
        place.write_text("5", encoding="ascii")


def _memory(name: str) -> int:
    """A number of bytes that the system knows of this process; 0 where it does not."""
    place = Path("/proc/self/status")
    found = re.search(rf"{name}:\s*(\d+) kB", place.read_text()) if place.exists() else None
    return 1024 * int(found[1]) if found else 0
