"""``negcorr reproduce``: options to a study, progress in the terminal, verdicts at the end."""

from __future__ import annotations

from importlib.util import find_spec

from joblib import cpu_count
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from negcorr._common.files import in_use
from negcorr.cli.arguments import UsageError, check_jobs
from negcorr.cli.paper_commands import ReproduceOptions
from negcorr.datasets import DatasetError
from negcorr.paper.pieces import Piece, Store
from negcorr.paper.setup import FULL, QUICK, Setup
from negcorr.paper.study import Study

__all__ = ["run_reproduce"]


def run_reproduce(options: ReproduceOptions) -> None:
    """Compute and write what was asked for, show progress, and print the verdicts."""
    missing = [name for name in ("matplotlib", "pandas") if find_spec(name) is None]
    if missing:
        raise OSError(
            f"figures and tables need {' and '.join(missing)}, not installed: "
            "pip install 'negcorr[cli,plot]'"
        )
    from negcorr.paper.catalogue import experiments_of
    from negcorr.paper.page import QUICK_NOTICE
    from negcorr.paper.reproduce import plan, reproduce

    out, names = options.folder, options.names
    try:
        study = _study(options)
        experiments_of(study, names)
        pieces = plan(study, names, options.timed)
    except DatasetError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error
    console = Console(stderr=True)
    # The folder is taken first: an error now is better than one after an hour.
    with in_use(out), _progress(console) as progress:
        if options.quick:
            console.print(QUICK_NOTICE.replace("*", ""), highlight=False)
        left = sum(piece.effort for piece in pieces)
        bar = progress.add_task("starting", total=left, done=0, pieces=len(pieces))
        done = 0

        def show(piece: Piece, stored: bool) -> None:
            nonlocal done, left
            done += 1
            # A stored piece takes no time, so the time that is left is not estimated from it.
            left -= piece.effort if stored else 0.0
            advance = 0.0 if stored else piece.effort
            progress.update(bar, total=left, advance=advance, description=piece.title, done=done)

        study.on_piece = show
        try:
            page = reproduce(study, names, out, times=options.timed, command=options.command)
        except KeyboardInterrupt as error:
            error.add_note(
                f"{done} of {len(pieces)} pieces are stored in {out / 'pieces'}: "
                "the same command goes on from there."
            )
            raise
        progress.update(bar, description="done")
    console = Console(markup=False, highlight=False)
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(("### ", "- ✓", "- ✗")):
            plain = line.removeprefix("### ").removeprefix("- ").replace("*", "")
            console.print(plain, style="bold" if line.startswith("#") else "")
    console.print(f"\nThe page is {page}.", soft_wrap=True)


def _progress(console: Console) -> Progress:
    """A bar for the pieces of a study."""
    return Progress(
        TextColumn("{task.description:<28.28}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[done]}/{task.fields[pieces]}"),
        TimeElapsedColumn(),
        TextColumn("passed"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
    )


def _study(options: ReproduceOptions) -> Study:
    """The study that a request asks for, with the device that its deep networks are trained on."""
    check_jobs(options.jobs, "processes")
    sets = None
    if options.sets is not None:
        sets = [name.strip() for name in options.sets.split(",") if name.strip()]
        if not sets:
            raise UsageError(f"--sets {options.sets!r}: name at least one data set.")
    setup = Setup(
        protocol=options.protocol,
        shuffle=options.shuffle,
        seed=options.seed,
        size=QUICK if options.quick else FULL,
    )
    study = Study(
        setup,
        data_home=options.data,
        sets=sets,
        n_jobs=cpu_count() if options.jobs is None else options.jobs,
        store=Store(options.folder / "pieces"),
        download=options.download,
        tables=options.tables,
    )
    study.device = _device(options, study)
    return study


def _device(options: ReproduceOptions, study: Study) -> str:
    """The device that deep networks are trained on; torch is imported only if some are."""
    from negcorr.paper.catalogue import DEEP

    device = options.device
    if device not in ("auto", "cpu", "cuda") and not device.startswith("cuda:"):
        raise UsageError(f"--device {device}: allowed are cpu, cuda and auto.")
    trained = {name for name in DEEP if study.table_elsewhere(name) is None}
    by_name, there = trained & set(options.names), find_spec("torch") is not None
    wanted = by_name or ("all" in options.names and trained)
    if wanted and not there and (by_name or device not in ("auto", "cpu")):
        raise OSError("deep networks need torch, not installed: pip install 'negcorr[deep]'")
    if not wanted or not there or device == "cpu":
        return "cpu"
    from negcorr.deep.settings import resolve_device

    return str(resolve_device(device))
