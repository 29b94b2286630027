"""Commands that are killed, that find the disk full, or that meet another writer.

Whatever happens, what was to be written is complete and old, or complete and new; the next run
removes what is left besides, and works.
"""

from __future__ import annotations

import atexit
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hostile import killed_saves, lost_clusters
from hostile.killed_processes import SIGNALS, Ended, faults_of_ending, here, started, stopped
from hostile.outcome import Outcome
from hostile.written_files import faults_of_fit, faults_of_table, files_in, leftovers, seed_of_fit
from toy_data import write_home
from toy_tables import QUICK, write_homes

import negcorr
from negcorr._common.files import remove_leftovers

__all__ = ["CASES", "MEMORY", "SECONDS", "run"]

CASES = 200
SECONDS = 180.0
MEMORY = None

#: Of everything random here.
SEED = 2026

#: Endings of tables of predictions.
TABLES = (".csv", ".csv.gz", ".parquet", ".feather")

#: A part of a study.
STUDY = ("reproduce", "figure4", "--quick", "--sets", "machine")

Faults = list[str]


def run(number: int, folder: Path) -> Outcome:
    """One case: a kind of work, and what happens to it.

    Parameters
    ----------
    number : int
        Of the case; everything random follows from it, but for what the other process is doing at
        the moment at which the signal arrives.
    folder : Path
        Empty, for this case alone.
    """
    kind, case = _ORDER[number % len(_ORDER)]
    rng = np.random.default_rng([SEED, number])
    answer, faults = case(rng, folder)
    return Outcome(kind, answer, tuple(faults))


@cache
def place() -> Path:
    """A folder of this process with tables and models."""
    folder = Path(tempfile.mkdtemp(prefix="negcorr-kills-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_homes(folder / "homes.csv")
    write_homes(folder / "many.csv", n=5000, seed=1)
    write_home(folder / "sets", ("machine",))
    for seed in (0, 1):
        well(here(*fit(folder / f"fit{seed}", seed)))
    return folder


def well(ended: Ended) -> None:
    """Raise an error where a command that nobody disturbed has failed."""
    assert ended.code == 0, f"exit code {ended.code}: {ended.err[-1500:]}"


def fit(out: Path, seed: int, *more: Any) -> list[Any]:
    """The words of a short fit."""
    data = out.parent / "homes.csv" if out.name.startswith("fit") else place() / "homes.csv"
    return ["fit", data, "-t", "price", *(more or QUICK), "--seed", seed, "-o", out]


@cache
def seconds(kind: str) -> float:
    """How long a command takes in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        process = started(_COMMANDS[kind](np.random.default_rng(0), Path(folder)).words)
        out, err = process.communicate()
        well(Ended(process.returncode, out, err))
        return time.monotonic() - begin


# Commands, and what they leave


class Command:
    """A command that writes below a folder, and how its files are judged."""

    def __init__(self, words: list[Any], out: Path, faults: Callable[[], Faults]) -> None:
        self.words, self.out, self.faults = words, out, faults

    def put_old(self) -> None:
        """Write files as an older run has left them."""
        well(here(*self.words))

    def faults_after_kill(self, before: dict[str, bytes]) -> Faults:
        """What is wrong with the files after the command was killed."""
        if any(self.out.glob(".negcorr-run.part/begun")):
            remove_leftovers(self.out)  # in the middle of its last step, which the next run undoes
        found = files_in(self.out)
        if found == before:
            return []
        kept = [name for name in before if found.get(name) == before[name]]
        faults = [f"{kept} of {sorted(before)} are old, others new"] if kept else []
        return faults + self.faults()


class Fit(Command):
    """``negcorr fit`` with a seed of its own."""

    def __init__(self, rng: np.random.Generator, folder: Path, *more: Any) -> None:
        out = folder / "out"
        super().__init__(fit(out, 1, *more), out, lambda: faults_of_fit(out))

    def put_old(self) -> None:
        shutil.copytree(place() / "fit0", self.out)


class Demo(Command):
    """``negcorr demo``, whose data are complete before the other files."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        out = folder / "out"
        super().__init__(["demo", "--out", out], out, lambda: faults_of_fit(out))

    def put_old(self) -> None:
        shutil.copytree(place() / "fit0", self.out)

    def faults_after_kill(self, before: dict[str, bytes]) -> Faults:
        data = self.out / "diabetes.csv"
        if data.exists():
            n_rows = len(negcorr.read_table(data).frame)
            data.unlink()
            if n_rows != 442:
                return [f"{n_rows} rows of data"]
        return super().faults_after_kill(before)


class Predict(Command):
    """``negcorr predict`` in one of the formats."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self.file = folder / "out" / f"made{rng.choice(TABLES)}"
        words = predict(0, self.file)
        faults = lambda: faults_of_table(self.file, predictions(0))  # noqa: E731
        super().__init__(words, self.file.parent, faults)

    def put_old(self) -> None:
        self.out.mkdir()
        self.file.write_bytes(b"older")


class Report(Command):
    """``negcorr report``."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self.file = folder / "out" / "page.html"
        data = place()
        words = ["report", data / "fit0" / "model.skops", data / "homes.csv", "-o", self.file]
        super().__init__(words, self.file.parent, self._faults)

    def put_old(self) -> None:
        self.out.mkdir()
        self.file.write_bytes(b"older")

    def _faults(self) -> Faults:
        whole = self.file.read_text(encoding="utf-8").rstrip().endswith("</html>")
        return [] if whole else ["the page has no end"]


class Reproduce(Command):
    """``negcorr reproduce``, which keeps what it has finished."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        jobs = int(rng.integers(1, 3))
        out = folder / "out"
        words = [*STUDY, "--jobs", jobs, "--data", place() / "sets", "--out", out]
        super().__init__(words, out, lambda: self.faults_after_kill({}, whole=True))

    def faults_after_kill(self, before: dict[str, bytes], whole: bool = False) -> Faults:
        expected, found = study(), files_in(self.out)
        faults = [f"{name} has other bytes" for name in found if found[name] != expected.get(name)]
        lost = sorted(set(expected if whole else before) - set(found))
        return [*faults, f"{lost} are lost"] if lost else faults


class Dof(Command):
    """``negcorr dof``, which writes no file."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        (folder / "out").mkdir()
        words = ["dof", place() / "homes.csv", "-t", "price", "--drop", "kind,built,rent"]
        words += ["-e", "sklearn.ensemble.RandomForestRegressor", "-p", "n_estimators=5"]
        super().__init__(words, folder / "out", list)

    def put_old(self) -> None:
        pass


@cache
def study() -> dict[str, bytes]:
    """Files of a study that nobody disturbed."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*STUDY, "--jobs", 1, "--data", place() / "sets", "--out", folder]
        well(here(*words))
        return files_in(Path(folder))


def predict(model: int, file: Path) -> list[Any]:
    """The words of a prediction."""
    return ["predict", place() / f"fit{model}" / "model.skops", place() / "many.csv", "-o", file]


@cache
def predictions(model: int) -> Any:
    """What ``negcorr predict`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        well(here(*predict(model, Path(folder, "made.csv"))))
        return negcorr.read_table(Path(folder, "made.csv")).frame


_COMMANDS: dict[str, Callable[[np.random.Generator, Path], Command]] = {
    "fit killed": Fit,
    "deep fit killed": lambda rng, folder: Fit(rng, folder, "--deep", "--members", 2),
    "demo killed": Demo,
    "predict killed": Predict,
    "report killed": Report,
    "reproduce killed": Reproduce,
    "dof killed": Dof,
}


# Cases


def killed(kind: str) -> Callable[[np.random.Generator, Path], tuple[str, Faults]]:
    """Cases of a command that is killed at a random moment, and run again."""

    def case(rng: np.random.Generator, folder: Path) -> tuple[str, Faults]:
        command = _COMMANDS[kind](rng, folder)
        if rng.random() < 0.5:
            command.put_old()
        before = files_in(command.out)
        number = SIGNALS[rng.integers(len(SIGNALS))]
        process = started(command.words)
        time.sleep(rng.uniform(0.0, 1.05) * seconds(kind))
        ended = stopped(process, number, to_all=bool(rng.random() < 0.5))
        faults = faults_of_ending(process, ended, number)
        if number != signal.SIGKILL and ended.code != -number and leftovers(folder):
            faults.append(f"{leftovers(folder)} are left after signal {number}")
        faults += command.faults_after_kill(before)
        again = here(*command.words)
        if again.code != 0:
            return "refused", [*faults, f"the next run failed: {again.err[-1500:]}"]
        faults += command.faults()
        if left := leftovers(folder):
            faults.append(f"{left} are left after the next run")
        return "answered" if ended.code == 0 else "refused", faults

    return case


def full_disk(rng: np.random.Generator, folder: Path) -> tuple[str, Faults]:
    """A command whose files do not fit on the disk, or just."""
    kind = ("fit killed", "predict killed", "report killed")[rng.integers(3)]
    with small_disk(folder / "disk", int(rng.integers(12, 700))) as disk:
        command = _COMMANDS[kind](rng, disk)
        if rng.random() < 0.5:
            command.out.mkdir()
            for name in files_in(place() / "fit0") if kind == "fit killed" else ():
                (command.out / name).write_bytes(b"older")
        before = files_in(command.out)
        ended = here(*command.words)
        faults = []
        if ended.code == 0:
            faults += command.faults()
        else:
            told = ended.err.splitlines()
            if ended.code != 1 or sum(line.startswith("negcorr: ") for line in told) != 1:
                faults.append(f"exit code {ended.code} with {ended.err[-1500:]}")
            if files_in(command.out) != before:
                faults.append("files have changed although the disk was full")
        if left := leftovers(disk):
            faults.append(f"{left} are left")
    return "refused" if ended.code else "answered", faults


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of some size; where none may be mounted, files may only have that size."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, before[1]))
        yield folder
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def two_writers(rng: np.random.Generator, folder: Path) -> tuple[str, Faults]:
    """Two commands that write to the same place at the same time."""
    is_fit = bool(rng.random() < 0.5)
    out = folder / "out"
    file = out / f"made{rng.choice(TABLES)}"
    processes = []
    for k in range(2):
        processes.append(started(fit(out, k) if is_fit else predict(k, file)))
        time.sleep(rng.uniform(0.0, 0.5) if rng.random() < 0.5 else 0.0)
    ends = [(p.communicate(timeout=SECONDS / 2), p.returncode) for p in processes]
    errors, codes = [err for (_, err), _ in ends], [code for _, code in ends]
    faults = []
    if is_fit:
        for error, code in zip(errors, codes, strict=True):
            if code != 0 and (code != 1 or f"{out} is in use by another run" not in error):
                faults.append(f"exit code {code} with {error[-1500:]}")
        if 0 not in codes:
            faults.append(f"both were refused: {errors}")
        faults += faults_of_fit(out)
        if not faults and codes[seed_of_fit(out)] != 0:
            faults.append("the files are those of the run that was refused")
    else:
        if codes != [0, 0]:
            faults.append(f"exit codes {codes} with {errors}")
        elif all(faults_of_table(file, predictions(k)) for k in range(2)):
            faults.append("the file is neither's")
    if left := leftovers(folder):
        faults.append(f"{left} are left")
    return "refused" if any(codes) else "answered", faults


_KILLED = {kind: (kind, killed(kind)) for kind in _COMMANDS}
_FULL = ("disk full", full_disk)
_SAVED = ("save and export killed", killed_saves.saved)
_TRAINED = ("deep training killed", killed_saves.trained)
_TWO = ("two writers", two_writers)
_LOST = ("Dask cluster lost", lost_clusters.lost)

#: Kinds in the order in which cases take turns.
_ORDER = (
    _KILLED["fit killed"],
    _SAVED,
    _FULL,
    _KILLED["predict killed"],
    _TWO,
    _KILLED["reproduce killed"],
    _TRAINED,
    _KILLED["fit killed"],
    _LOST,
    _KILLED["report killed"],
    _SAVED,
    _KILLED["predict killed"],
    _KILLED["dof killed"],
    _KILLED["fit killed"],
    _FULL,
    _KILLED["reproduce killed"],
    _KILLED["demo killed"],
    _TWO,
    _KILLED["deep fit killed"],
    _TRAINED,
)
