"""``negcorr reproduce``: options to a study, progress on the screen, verdicts at the end."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from joblib import cpu_count
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from negcorr._common.files import write_atomically
from negcorr.cli.errors import UsageError
from negcorr.datasets import DatasetError
from negcorr.paper.pieces import Piece, Store
from negcorr.paper.setup import FULL, QUICK, Setup
from negcorr.paper.study import Study

__all__ = ["Request", "run_reproduce"]


@dataclass(frozen=True)
class Request:
    """What the user typed."""

    names: Sequence[str]
    data: Path | None
    sets: str | None
    out: Path
    protocol: str
    shuffle: bool
    jobs: int | None
    seed: int
    quick: bool
    times: bool
    download: bool
    device: str
    tables: Path | None

    @property
    def command(self) -> str:
        """The command that asks for the same numbers; folders and processes do not matter."""
        words = ["negcorr", "reproduce", *self.names]
        if self.sets is not None:
            words += ["--sets", self.sets]
        if self.protocol != "paper":
            words += ["--protocol", self.protocol]
        if self.seed != 0:
            words += ["--seed", str(self.seed)]
        if self.device != "auto":
            words += ["--device", self.device]
        if self.tables is not None:
            words += ["--tables", str(self.tables)]
        flags = {
            "--shuffle": self.shuffle,
            "--quick": self.quick,
            "--times": self.quick and self.times,
            "--no-times": not self.quick and not self.times,
        }
        return shlex.join(words + [flag for flag, given in flags.items() if given])


def run_reproduce(request: Request) -> None:
    """Carry out a request; errors of usage are :class:`~negcorr.cli.errors.UsageError`."""
    missing = [name for name in ("matplotlib", "pandas") if find_spec(name) is None]
    if missing:
        raise OSError(
            f"figures and tables need {' and '.join(missing)}, not installed: "
            "pip install 'negcorr[cli,plot]'"
        )
    from negcorr.paper.page import QUICK_NOTICE
    from negcorr.paper.reproduce import experiments_of, plan, reproduce

    study = _study(request)
    try:
        experiments_of(study, request.names)
        pieces = plan(study, request.names, request.times)
    except DatasetError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error
    _check_writable(request.out)
    console = Console(stderr=True)
    if request.quick:
        console.print(QUICK_NOTICE.replace("*", ""), highlight=False)
    with _progress(console) as progress:
        left = sum(piece.effort for piece in pieces)
        bar = progress.add_task("starting", total=left, done=0, pieces=len(pieces))
        done = 0

        def show(piece: Piece, stored: bool) -> None:
            nonlocal done, left
            done += 1
            # What was stored takes no time, and says nothing about the time that is left.
            left -= piece.effort if stored else 0.0
            advance = 0.0 if stored else piece.effort
            progress.update(bar, total=left, advance=advance, description=piece.title, done=done)

        study.on_piece = show
        try:
            page = reproduce(
                study, request.names, request.out, times=request.times, command=request.command
            )
        except KeyboardInterrupt:
            progress.stop()
            console.print(
                f"Stopped. {done} of {len(pieces)} pieces are stored in {request.out / 'pieces'}: "
                "the same command goes on from there.",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
            raise
        progress.update(bar, description="done")
    _print_verdicts(page)


def _study(request: Request) -> Study:
    if request.jobs is not None and (request.jobs == 0 or request.jobs < -1):
        raise UsageError(f"--jobs {request.jobs}: give a number of processes, or -1 for all cores.")
    sets = None
    if request.sets is not None:
        sets = [name.strip() for name in request.sets.split(",") if name.strip()]
        if not sets:
            raise UsageError(f"--sets {request.sets!r}: name at least one data set.")
    try:
        study = Study(
            Setup(
                protocol=request.protocol,
                shuffle=request.shuffle,
                seed=request.seed,
                size=QUICK if request.quick else FULL,
            ),
            data_home=request.data,
            sets=sets,
            n_jobs=cpu_count() if request.jobs is None else request.jobs,
            store=Store(request.out / "pieces"),
            download=request.download,
            tables=request.tables,
        )
        study.device = _device(request, study)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return study


def _device(request: Request, study: Study) -> str:
    """Where deep networks will be trained; torch is asked only if some are."""
    from negcorr.paper.catalogue import DEEP

    if request.device not in ("auto", "cpu", "cuda") and not request.device.startswith("cuda:"):
        raise UsageError(f"--device {request.device}: allowed are cpu, cuda and auto.")
    trained = {name for name in DEEP if study.table_elsewhere(name) is None}
    by_name = trained & set(request.names)
    if not (by_name or ("all" in request.names and trained)):
        return "cpu"
    if find_spec("torch") is None:
        if by_name or request.device not in ("auto", "cpu"):
            raise OSError("deep networks need torch, not installed: pip install 'negcorr[deep]'")
        return "cpu"
    if request.device == "cpu":
        return "cpu"
    from negcorr.deep.training.devices import resolve_device

    return str(resolve_device(request.device))


def _check_writable(out: Path) -> None:
    """Fail now rather than after an hour."""
    try:
        probe = out / f".negcorr-{os.getpid()}"
        write_atomically(probe, b"")
        probe.unlink()
    except OSError as error:
        raise OSError(f"--out {out}: cannot write there ({error.strerror or error}).") from error


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:<28.28}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[done]}/{task.fields[pieces]}"),
        TimeElapsedColumn(),
        TextColumn("passed"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=False,
    )


def _print_verdicts(page: Path) -> None:
    console = Console(markup=False)
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(("### ", "- ✓", "- ✗")):
            plain = line.removeprefix("### ").removeprefix("- ").replace("*", "")
            console.print(plain, style="bold" if line.startswith("#") else "", highlight=False)
    console.print(f"\nThe page is {page}.", highlight=False, soft_wrap=True)
